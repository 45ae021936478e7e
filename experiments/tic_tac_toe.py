"""Tic-tac-toe: after five minutes the network with 32 simulations never loses, whatever its opponent plays.

command    taskset -c 0 python experiments/tic_tac_toe.py            (--smoke: seconds, meaningless numbers)
hardware   one core of a shared two-core x86 VM, CPU only; the other core was busy with another run
software   jax 0.10.2, mctx 0.0.71
date       2026-11-30; 5 minutes of training: 2,486 iterations, 2.5 million moves
outcome    every line of play that an opponent can choose, once with either side; no line is lost from minute 1 on:

           minutes   lines   won by network   drawn   lost   won with 32 simulations   drawn   lost
                 1     559              461      98      0                       461      98      0
                 2     583              447     136      0                       449     134      0
                 3     583              446     137      0                       446     137      0
                 5     562              425     137      0                       425     137      0
"""

from __future__ import annotations

from timeline import arguments, last_minute, network_at, trained

import envs
from azjax.runs.strength import check_run


def main() -> None:
    """Trains the laptop preset and plays every line of play that an opponent can choose, with either side."""
    options = arguments(__doc__, run_dir="runs/experiment-tic-tac-toe")
    run = trained(envs.make("tic_tac_toe"), options.run_dir, smoke=options.smoke)
    times = [last_minute(run)] if options.smoke else [1, 2, 3, last_minute(run)]
    print("minutes  iteration  player                     lines     won   drawn    lost")
    for minutes in times:
        iteration = network_at(run, minutes)
        for strength in check_run(run, num_simulations=4 if options.smoke else 32, iteration=iteration):
            counts = strength.games
            assert counts is not None
            print(f"{minutes:7.1f}  {iteration:9d}  {strength.player:22s}  ", end="")
            print(f"{counts.games:7d} {counts.wins:7d} {counts.draws:7d} {counts.losses:7d}", flush=True)


if __name__ == "__main__":
    main()
