"""azjax check: a run's network, measured exactly."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from azjax.cli.common import bad_input, open_run, require_simulations
from azjax.cli.options import parse


@dataclasses.dataclass(frozen=True)
class CheckOptions:
    """Measures a run's network exactly, alone and with search.

    Where solved positions come with the game: the shares of its moves and values that perfect play agrees with. Where
    the game is small: its games against every possible opponent.
    """

    directory: Annotated[Positional[Path], arg(metavar="DIR")]
    """The run."""
    num_simulations: int = 64
    """Simulations a move; 0 measures the network alone."""
    iteration: Annotated[int | None, arg(metavar="INT", help_behavior_hint="(default: the newest)")] = None
    """Which of the run's networks."""
    json: bool = False
    """Print JSON."""


def run(args: list[str]) -> int:
    """Runs the command and returns the exit status."""
    options = parse(CheckOptions, args, prog="azjax check")
    run = open_run(options.directory)
    from azjax.runs.directory import RunError
    from azjax.runs.strength import check_run, table

    with bad_input(RunError, ValueError):
        require_simulations(run.config, options.num_simulations, games=256)
        network = run.load_network(options.iteration)
        strengths = check_run(run, num_simulations=options.num_simulations, iteration=network.iteration)
    if options.json:
        about = {"game": str(run.config.game), "iteration": network.iteration, "minutes": network.minutes}
        print(json.dumps(about | {"players": [one.to_dict() for one in strengths]}, indent=2))
    else:
        print(
            f"{run.config.game}, network of iteration {network.iteration} ({network.minutes:.1f} minutes of training)"
        )
        print(table(strengths))
    return 0
