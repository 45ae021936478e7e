"""azjax play: a person against a network, rollouts, a solver, random moves or a player of one's own."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import arg

import envs
from azjax.cli.common import bad_input, default_game, open_run, require_simulations
from azjax.cli.options import parse
from azjax.config import Config
from envs.core import Game

if TYPE_CHECKING:  # what takes seconds to import is imported where it is used
    from azjax.players import Player, Thinker
    from azjax.runs.directory import RunDirectory


@dataclasses.dataclass(frozen=True)
class PlayRunOptions:
    """A game in the terminal against a run's network, or against rollouts, a solver or random moves."""

    you: Literal["first", "second", "none"] = "first"
    """Whether you move first or second; with none the opponent plays both sides."""
    opponent: str = "network"
    """Whom to play against: network, rollouts, solver, random, or a player of your own as module:function."""
    num_simulations: int = 64
    """The opponent's simulations a move; 0 plays the network without search."""
    iteration: Annotated[int | None, arg(metavar="INT", help_behavior_hint="(default: the newest)")] = None
    """Which of the run's networks."""
    seed: int = 0
    """Of the opponent's random choices, where it makes any."""
    start: Annotated[str, arg(help_behavior_hint="(default: the usual start)")] = "startpos"
    """The position to begin with: in the game's notation, or "startpos moves ..."."""


@dataclasses.dataclass(frozen=True)
class PlayGameOptions:
    """A game in the terminal against random moves, rollouts or, where the game has one, a solver."""

    game: Game
    """The rules' settings."""
    you: Literal["first", "second", "none"] = "first"
    """Whether you move first or second; with none the opponent plays both sides."""
    opponent: str = "random"
    """Whom to play against: rollouts (Monte Carlo tree search without a network), solver, random, or a player of your
    own as module:function."""
    num_simulations: int = 1_000
    """The rollouts' simulations a move."""
    seed: int = 0
    """Of the opponent's random choices, where it makes any."""
    start: Annotated[str, arg(help_behavior_hint="(default: the usual start)")] = "startpos"
    """The position to begin with: in the game's notation, or "startpos moves ..."."""


USAGE = """\
usage: azjax play DIR [OPTIONS]
       azjax play GAME [OPTIONS]

Plays a game in the terminal: against the network of a run, or by a game's name against rollouts, a solver or random
moves.

  azjax play DIR --help     the options
  azjax play GAME --help    the options and the game's settings

Games: {games}; your own: module:Class."""


def run(args: list[str]) -> int:
    """Runs the command and returns the exit status."""
    if not args or args[0].startswith("-"):
        print(USAGE.format(games=", ".join(envs.available())))
        if args[:1] not in (["-h"], ["--help"]):
            raise SystemExit("against whom or what? A run's directory or the name of a game comes first")
        return 0
    target, *rest = args
    prog = f"azjax play {target}"
    if Path(target).exists() or os.sep in target:
        run = open_run(Path(target))
        options = parse(PlayRunOptions, rest, prog=prog)
        game = run.config.game
    else:
        run = None
        with bad_input(ValueError):
            default = PlayGameOptions(game=default_game(target))
        options = parse(PlayGameOptions, rest, prog=prog, default=default)
        game = options.game
    import jax
    import jax.numpy as jnp

    from azjax.openings import read_starts
    from azjax.runs.directory import RunError
    from azjax.serve import terminal

    with bad_input(RunError, ValueError):
        start = jax.tree.map(lambda x: jnp.asarray(x[0]), read_starts(game, (options.start,)))
        opponent = _opponent(game, run, options)
    with contextlib.suppress(KeyboardInterrupt):
        terminal.play(game, opponent, you=options.you, seed=options.seed, start=start, ask=_ask)
    return 0


def _opponent(game: Game, run: RunDirectory | None, options: PlayRunOptions | PlayGameOptions) -> Player | Thinker:
    """Whom the options name. Raises ValueError, with what is allowed, for nobody."""
    from azjax.players import random_player, rollout_thinker, solver_thinker
    from azjax.players.own import load_player

    name = options.opponent
    if ":" in name:
        return load_player(name, game)
    known = (["network"] if run else []) + ["rollouts", "solver", "random"]
    if name not in known:
        raise ValueError(f"--opponent: invalid choice {name!r}, expected {', '.join(known)} or module:function")
    if name in ("network", "rollouts"):
        least = 0 if name == "network" else 1
        if options.num_simulations < least:
            raise ValueError(f"--num-simulations must be at least {least}, got {options.num_simulations}")
        require_simulations(run.config if run else Config(game=game), options.num_simulations, games=1)
    if name == "random":
        return random_player(game, "random moves")
    if name == "rollouts":
        return rollout_thinker(game, options.num_simulations)
    if name == "solver":
        return solver_thinker(game)
    assert run is not None and isinstance(options, PlayRunOptions)
    return run.load_network(options.iteration).thinker(num_simulations=options.num_simulations)


def _ask(prompt: str) -> str:
    """The next line of the person, or of a file; a file's is echoed, so that it all reads as a dialogue."""
    line = input(prompt)
    if not sys.stdin.isatty():
        print(line)
    return line
