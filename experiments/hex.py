"""Hex 5x5: 25 minutes of training, its Elo curve, and the won game of the first player against rollouts.

command    taskset -c 1 python experiments/hex.py            (--smoke: seconds, meaningless numbers)
hardware   one core of a shared two-core x86 VM, CPU only; the other core was busy with another run
software   jax 0.10.2, mctx 0.0.71
date       2026-11-30; 25 minutes of training: 1,865 iterations, 1.9 million moves, 190,000 games; 2 minutes of games
outcome    ratings with 32 simulations a move and 2 random plies first, 64 games a match, random moves 0, 95 % interval
           about 200 either way (hex_elo.png): untrained 12, after 2.5 minutes 1,189, after 5 minutes 1,225, and 1,227
           to 1,230 from then on: whoever has the won position wins it.

           With 64 simulations against rollouts of 1,000 simulations, 100 games, colours balanced:
           from the empty board, which the first player wins: 50 of 50 won as the first player, 43 of 50 as the second;
           after 2 random plies: 50 of 50 and 41 of 50. Against random moves 100 of 100.

caution    One run and seed. Five minutes of training would have been enough.
"""

from __future__ import annotations

from timeline import arguments, print_elo, print_match, trained

import envs
from azjax.players import random_player, rollout_player


def main() -> None:
    """Trains the laptop preset, rates its networks, and plays the matches; the first player's share is what counts."""
    options = arguments(__doc__, run_dir="runs/experiment-hex")
    game = envs.make("hex", size=3 if options.smoke else 5)
    run = trained(game, options.run_dir, smoke=options.smoke)
    print_elo(run, smoke=options.smoke)
    simulations, playouts, games = (4, 4, 2) if options.smoke else (64, 1_000, 100)
    network = run.load_network().player(num_simulations=simulations)
    for opponent in (rollout_player(game, playouts), random_player(game)):
        for plies in (0,) if options.smoke else (0, 2):
            print_match(game, network, opponent, games=games, opening_plies=plies)


if __name__ == "__main__":
    main()
