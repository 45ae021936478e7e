"""AlphaZero in JAX. What Python's users need is here, by these names; the README's program shows them at work:

train, look
    train_game, resume, open_run -> RunDirectory; rate_run -> Ratings; check_run -> Strength
a trained network
    RunDirectory.load_network -> TrainedNetwork: evaluate, search -> Analysis, player, thinker
play
    play_match -> MatchResult, between any two of Player (a batch of games) and Thinker (one position -> Thought);
    random_player, rollout_player, solver_player; play, for a person in the terminal
settings
    Config, preset, replace
one's own network
    Evaluator, Variables
the pure layer
    make_trainer(config, make_mesh(config)) -> Trainer: init() -> RunState, iterate(RunState) -> (RunState, metrics)
errors
    RunError, CheckpointError, NonFiniteError

Nothing is imported before its name is used. The modules and packages, in the order the data flows; each imports only
from above it:

    config      frozen dataclasses, one per stage, where every default stands, and presets
    openings    how games begin: start positions read from text, random first moves
    network     observation -> policy logits, value: the built-in network, or one's own
    search      state + network -> action, policy target, root value; the only place that knows mctx
    replay      trajectories -> finished games' samples, on the device
    selfplay    search -> trajectories [time, lane]
    learner     samples -> params
    train       the loop on one page: self-play, store, learn as one function of the whole run's state
    devices     the devices of a run, what it takes on them, and whether it fits
    players     anything that picks a move: a trained network, rollouts, random, solver, one's own, programs
    evaluate    players -> game records, ratings with error bars, exact strength
    runs        a run's directory: trained from where it stands, kept on disk, rated, drawn
    serve       a person against any player
    api         the verbs of Python's users: train, go on, open
    cli         the command line

The rules of the games are the package `envs`, which knows nothing of this one.
"""

from __future__ import annotations

import importlib
from importlib import metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from azjax.api import open_run, resume, train_game
    from azjax.config import Config, preset, replace
    from azjax.devices.mesh import make_mesh
    from azjax.evaluate.arena import MatchResult, play_match
    from azjax.evaluate.bayeselo import Ratings
    from azjax.network import Evaluator, Variables
    from azjax.players import (
        Analysis,
        Player,
        Thinker,
        Thought,
        TrainedNetwork,
        random_player,
        rollout_player,
        solver_player,
    )
    from azjax.runs.checkpoint import CheckpointError
    from azjax.runs.directory import RunDirectory, RunError
    from azjax.runs.rating import rate_run
    from azjax.runs.session import NonFiniteError
    from azjax.runs.strength import Strength, check_run
    from azjax.serve.terminal import play
    from azjax.train import RunState, Trainer, make_trainer

__all__ = [
    "Analysis",
    "CheckpointError",
    "Config",
    "Evaluator",
    "MatchResult",
    "NonFiniteError",
    "Player",
    "Ratings",
    "RunDirectory",
    "RunError",
    "RunState",
    "Strength",
    "Thinker",
    "Thought",
    "TrainedNetwork",
    "Trainer",
    "Variables",
    "check_run",
    "make_mesh",
    "make_trainer",
    "open_run",
    "play",
    "play_match",
    "preset",
    "random_player",
    "rate_run",
    "replace",
    "resume",
    "rollout_player",
    "solver_player",
    "train_game",
]

_HOMES = {
    "azjax.api": ("open_run", "resume", "train_game"),
    "azjax.config": ("Config", "preset", "replace"),
    "azjax.devices.mesh": ("make_mesh",),
    "azjax.evaluate.arena": ("MatchResult", "play_match"),
    "azjax.evaluate.bayeselo": ("Ratings",),
    "azjax.network": ("Evaluator", "Variables"),
    "azjax.players": (
        "Analysis",
        "Player",
        "Thinker",
        "Thought",
        "TrainedNetwork",
        "random_player",
        "rollout_player",
        "solver_player",
    ),
    "azjax.runs.checkpoint": ("CheckpointError",),
    "azjax.runs.directory": ("RunDirectory", "RunError"),
    "azjax.runs.rating": ("rate_run",),
    "azjax.runs.session": ("NonFiniteError",),
    "azjax.runs.strength": ("Strength", "check_run"),
    "azjax.serve.terminal": ("play",),
    "azjax.train": ("RunState", "Trainer", "make_trainer"),
}
"""The module of each public name; a test holds it equal to what type checkers read above."""

try:
    __version__ = metadata.version("azjax")
except metadata.PackageNotFoundError:  # a checkout on the path, not installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'azjax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
