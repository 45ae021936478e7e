"""The verbs of Python's users: train, go on, open. Nouns and the pure layer come from the modules that hold them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console

import envs
from azjax.config import Config, preset, replace, require_effect
from azjax.config.settings import flatten
from azjax.runs.directory import RunDirectory
from azjax.runs.progress import SilentReporter, make_reporter
from azjax.runs.session import require_trainable, train_run
from envs.core import Game


def train_game(
    game: str | Game | Config,
    directory: str | os.PathLike[str],
    changes: Mapping[str, Any] | None = None,
    *,
    preset_name: str = "laptop",
    progress: bool = False,
) -> RunDirectory:
    """Trains a network for a game by self-play into a directory, and rates it at the end; returns the run.

    The game is its name, `module:Class` for one's own, an `envs.Game` with other settings, or a whole `Config`. The
    settings are those of the preset, with `changes` put in by their names on the command line: {"minutes": 5,
    "learner.learning_rate": 1e-3}. A run of the same settings that is there goes on from where it stands. `progress`
    shows a bar in a terminal, and lines elsewhere.

    Ctrl-C saves, and then raises KeyboardInterrupt. Raises ValueError for settings that make no sense or do not fit on
    this machine, and RunError for a directory that holds something else, before anything is written; NonFiniteError for
    a loss that is not finite.
    """
    if isinstance(game, Config):
        config = game
    else:
        config = preset(envs.make(game) if isinstance(game, str) else game, preset_name)
    config = replace(config, changes or {})
    require_effect(config, flatten(changes or {}))
    require_trainable(config)
    run = RunDirectory.create(Path(directory), config)
    _train(run, progress=progress)
    return run


def resume(
    directory: str | os.PathLike[str], changes: Mapping[str, Any] | None = None, *, progress: bool = False
) -> RunDirectory:
    """Goes on with a run, bit for bit as if it had never stopped, and rates it at the end; returns it.

    What may change: iterations, minutes, devices, checkpoint.*, rating.*. Raises RunError for everything else, and what
    `train_game` raises.
    """
    run = open_run(directory)
    config = replace(run.config, changes or {})
    require_trainable(config)
    run.change(config)
    _train(run, progress=progress)
    return run


def open_run(directory: str | os.PathLike[str]) -> RunDirectory:
    """A run that is there, finished or not: its `config`, `metrics()`, and networks, by `load_network(iteration)`, the
    newest where no iteration is given. Raises RunError if there is none."""
    return RunDirectory.open(Path(directory))


def _train(run: RunDirectory, *, progress: bool) -> None:
    with make_reporter(Console()) if progress else SilentReporter() as reporter:
        ended = train_run(run, reporter)
    if ended.reason == "interrupted":
        raise KeyboardInterrupt
