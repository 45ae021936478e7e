"""What the commands share: bad input as one line, opening a run, and what is printed."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

import envs
from azjax.config import Config
from envs.core import Game

if TYPE_CHECKING:  # what takes seconds to import is imported where it is used
    from azjax.evaluate.bayeselo import Ratings
    from azjax.runs.directory import RunDirectory


@contextlib.contextmanager
def bad_input(*kinds: type[Exception]) -> Iterator[None]:
    """Errors of these kinds are the user's to set right: they become one line."""
    try:
        yield
    except kinds as error:
        raise SystemExit(str(error)) from error


def default_game(name: str) -> Game:
    """The game of that name with its default settings. Raises ValueError if there is none."""
    kind = envs.game_class(name)
    try:
        return kind()
    except TypeError as error:
        raise ValueError(f"{name} cannot be made: {error}; every setting of a game needs a default") from error


def require_simulations(config: Config, num_simulations: int, *, games: int) -> None:
    """Raises ValueError for a number of simulations that cannot be, or whose trees don't fit."""
    from azjax.devices.memory import require_search_fits

    if num_simulations < 0:
        raise ValueError(f"--num-simulations must be at least 0, got {num_simulations}")
    require_search_fits(config.game, config.search.with_simulations(num_simulations), games=games)


def open_run(directory: Path) -> RunDirectory:
    """The run in a directory. From here on, damaged checkpoints are warned of."""
    from azjax.runs.checkpoint import CheckpointWarning
    from azjax.runs.directory import RunDirectory, RunError

    warnings.simplefilter("always", CheckpointWarning)
    with bad_input(RunError):
        return RunDirectory.open(directory)


def program() -> str:
    """How the user calls us: plain `azjax` where the shell finds the same one, else by its path."""
    called, found = Path(sys.argv[0]), shutil.which("azjax")
    if called.stem != "azjax" or not called.exists() or (found and Path(found).samefile(called)):
        return "azjax"
    return os.path.relpath(called)


def say(console: Console, text: str) -> None:
    """Plain text, no markup, and no line broken by us: paths and commands are copied."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def print_ratings(console: Console, ratings: Ratings) -> None:
    """The table, framed in a terminal."""
    if console.is_terminal:
        from azjax.runs.progress import ratings_table

        console.print(ratings_table(ratings))
    else:
        say(console, ratings.table())
