"""Gomoku 6x6, four in a row: after half an hour of training, against its own early networks and the random player.

command    taskset -c 1 python experiments/gomoku.py            (--smoke: seconds, meaningless numbers)
hardware   one core of a shared two-core x86 VM, CPU only; the other core was busy with another run
software   jax 0.10.2, mctx 0.0.71
date       2026-11-30; 30 minutes of training: 1,465 iterations, 1.5 million moves
outcome    wins / draws / losses of 100 games with 64 simulations a move, colours balanced, after so many random plies:

           opponent    no random ply               2 random plies               4 random plies
           minute 1    100 /   0 /   0             95 / 0 /  5                  90 / 0 / 10
           minute 2    100 /   0 /   0             83 / 0 / 17                  73 / 0 / 27
           minute 5     50 /   0 /  50             64 / 3 / 33                  56 / 4 / 40
           random      100 /   0 /   0            100 / 0 /  0                 100 / 0 /  0

           The aim was 90 of 100 against minute 5, and cannot be reached: the game is the first player's, and the
           network of minute 5 wins it from the empty board every time, as the last one does, so that 50 of 100 is
           what perfect play would score. Without random plies the games against minute 1, 2 and 5 are 2 distinct
           ones, repeated: their results are facts about those two games, without an error bar.
"""

from __future__ import annotations

from timeline import arguments, last_minute, network_at, print_match, trained

import envs
from azjax.players import random_player


def main() -> None:
    """Trains the laptop preset and plays both matches."""
    options = arguments(__doc__, run_dir="runs/experiment-gomoku")
    run = trained(envs.make("gomoku", size=6, in_row=4), options.run_dir, smoke=options.smoke)
    simulations, games = (4, 4) if options.smoke else (64, 100)
    last = network_at(run, last_minute(run))
    early = {network_at(run, minutes): minutes for minutes in ((0,) if options.smoke else (1, 2, 5))}

    def player(iteration: int):
        return run.load_network(iteration).player(num_simulations=simulations)

    minutes = ", ".join(f"iteration {iteration} is minute {minute}" for iteration, minute in early.items())
    print(f"{simulations} simulations a move, {games} games, colours balanced; {minutes}")
    for opponent in (*map(player, early), random_player(run.config.game)):
        for plies in (0,) if options.smoke else (0, 2, 4):
            print_match(run.config.game, player(last), opponent, games=games, opening_plies=plies)


if __name__ == "__main__":
    main()
