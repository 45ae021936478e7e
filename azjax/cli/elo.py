"""azjax elo: rates a run's networks."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Annotated

from rich.console import Console
from tyro.conf import Positional, arg

from azjax.cli.common import bad_input, open_run, print_ratings, require_simulations, say
from azjax.cli.options import parse
from azjax.config import require_in_bounds


@dataclasses.dataclass(frozen=True)
class EloOptions:
    """Rates a run's networks and the random player by games between them.

    Matches played before with the same settings are not played again. What is not given is as the run's settings say.
    """

    directory: Annotated[Positional[Path], arg(metavar="DIR")]
    """The run."""
    games: Annotated[int | None, arg(metavar="INT", help_behavior_hint="(default: the run's rating.games)")] = None
    """Games of a match, half of them with either colour."""
    num_simulations: Annotated[
        int | None, arg(metavar="INT", help_behavior_hint="(default: the run's rating.num_simulations)")
    ] = None
    """Simulations a move; 0 plays the raw network."""
    opening_plies: Annotated[
        int | None, arg(metavar="INT", help_behavior_hint="(default: the run's rating.opening_plies)")
    ] = None
    """Uniformly random moves before each pair of games."""
    max_networks: Annotated[
        int | None, arg(metavar="INT", help_behavior_hint="(default: the run's rating.max_networks)")
    ] = None
    """At most this many of the run's networks, evenly spaced, play."""


def run(args: list[str]) -> int:
    """Runs the command and returns the exit status."""
    options = parse(EloOptions, args, prog="azjax elo")
    run = open_run(options.directory)
    given = {name: value for name, value in dataclasses.asdict(options).items() if name != "directory"}
    settings = dataclasses.replace(run.config.rating, **{n: v for n, v in given.items() if v is not None})
    with bad_input(ValueError):
        require_in_bounds(settings, "rating.")
        require_simulations(run.config, settings.num_simulations, games=settings.games // 2)
    if not os.access(run.path, os.W_OK):
        raise SystemExit(f"cannot write to {run.path}, where the ratings would go")
    from azjax.runs.directory import RunError
    from azjax.runs.rating import rate_run

    console = Console()
    with bad_input(RunError):
        run.load_network()  # there is one
        ratings = rate_run(run, settings, report=lambda line: say(console, line))
    print_ratings(console, ratings)
    say(console, f"Written: {', '.join(str(run.path / name) for name in ('ratings.csv', 'ratings.json', 'elo.png'))}.")
    return 0
