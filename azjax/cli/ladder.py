"""azjax ladder: a run's network against rollouts that get stronger as they lose."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from azjax.cli.common import bad_input, open_run, require_simulations
from azjax.cli.options import parse
from azjax.config import LadderConfig, SearchConfig


@dataclasses.dataclass(frozen=True)
class LadderOptions:
    """Lets a run's network climb the textbook's ladder: matches against Monte Carlo tree search with random playouts,
    which gets more simulations whenever it has lost every game."""

    directory: Annotated[Positional[Path], arg(metavar="DIR")]
    """The run."""
    ladder: Annotated[LadderConfig, arg(name="")] = dataclasses.field(default_factory=LadderConfig)
    num_simulations: int = 64
    """The network's simulations a move; 0 plays without search."""
    iteration: Annotated[int | None, arg(metavar="INT", help_behavior_hint="(default: the newest)")] = None
    """Which of the run's networks."""
    seed: int = 0
    """Of the playouts."""


def run(args: list[str]) -> int:
    """Runs the command and returns the exit status."""
    options = parse(LadderOptions, args, prog="azjax ladder")
    run = open_run(options.directory)
    import jax

    from azjax.devices.memory import require_search_fits
    from azjax.evaluate.climb import Rung, climb, require_ladder
    from azjax.runs.directory import RunError

    with bad_input(RunError, ValueError):
        require_ladder(options.ladder)
        require_simulations(run.config, options.num_simulations, games=options.ladder.games // 2)
        rollouts = SearchConfig(num_simulations=options.ladder.most)
        require_search_fits(run.config.game, rollouts, games=options.ladder.games // 2)
        network = run.load_network(options.iteration)

    def report(rung: Rung) -> None:
        result = rung.result
        print(
            f"rollouts with {rung.simulations} simulations: {result.wins} won, {result.draws} drawn, "
            f"{result.losses} lost of {result.games}",
            flush=True,
        )

    player = network.player(num_simulations=options.num_simulations)
    print(f"{run.config.game}, network of iteration {network.iteration}, {options.num_simulations} simulations a move")
    rungs = climb(run.config.game, player, options.ladder, key=jax.random.key(options.seed), report=report)
    beaten = [rung.simulations for rung in rungs if rung.result.wins == rung.result.games]
    print(f"Won every game up to {beaten[-1]} simulations." if beaten else "Won no match in full.")
    return 0
