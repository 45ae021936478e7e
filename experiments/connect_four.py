"""Connect four: how often network and search keep the game-theoretic result, over half an hour of training.

command    python experiments/connect_four.py
"""

from __future__ import annotations

from timeline import arguments, last_minute, network_at, trained

import envs
from azjax.check import check_run


def main() -> None:
    """Trains the laptop preset and prints one line for each time."""
    options = arguments(__doc__, run_dir="runs/experiment-connect-four")
    run = trained(envs.make("connect_four"), options.run_dir, {}, smoke=options.smoke)
    times = [last_minute(run)] if options.smoke else [5, 10, 20, last_minute(run)]
    simulations = 4 if options.smoke else 64
    print(f"minutes  iteration  keeps the result: network  with {simulations} simulations  knows the winner: network")
    for minutes in times:
        iteration = network_at(run, minutes)
        raw, searched = check_run(run, num_simulations=simulations, iteration=iteration)
        assert raw.kept and searched.kept and raw.knows_winner is not None
        kept = [100 * one.kept.kept / one.kept.positions for one in (raw, searched) if one.kept]
        print(f"{minutes:7.1f}  {iteration:9d}  {kept[0]:25.1f}  {kept[1]:18.1f}  {100 * raw.knows_winner:25.1f}")


if __name__ == "__main__":
    main()
