"""Othello 6x6: 25 minutes of training, its Elo curve, and matches against rollouts and random moves.

command    taskset -c 0 python experiments/othello.py            (--smoke: seconds, meaningless numbers)
hardware   one core of a shared two-core x86 VM, CPU only; the other core was busy with another run
software   jax 0.10.2, mctx 0.0.71
date       2026-11-30; 25 minutes of training: 1,263 iterations, 1.3 million moves, 48,000 games; 3 minutes of games
outcome    ratings with 32 simulations a move and 2 random plies first, 64 games a match; random moves are 0, and the
           95 % interval (about 200 either way) is mostly that of the distance to random moves (othello_elo.png):

           minutes    0    3    5    7   10   12   14   16   18   21   23   25
           Elo       89  767  930 1039 1103 1182 1236 1270 1273 1309 1406 1462

           With 64 simulations: 99 of 100 games won against rollouts of 1,000 simulations, 100 of 100 against random
           moves.

caution    One run and seed. In the matches among the last networks only 20 to 24 of 64 games are distinct, so that the
           steps between them are less sure than they look.
"""

from __future__ import annotations

from timeline import arguments, print_elo, print_match, trained

import envs
from azjax.players import random_player, rollout_player


def main() -> None:
    """Trains the laptop preset, rates its networks, and plays the matches."""
    options = arguments(__doc__, run_dir="runs/experiment-othello")
    game = envs.make("othello", size=4 if options.smoke else 6)
    run = trained(game, options.run_dir, smoke=options.smoke)
    print_elo(run, smoke=options.smoke)
    simulations, playouts, games = (4, 4, 2) if options.smoke else (64, 1_000, 100)
    network = run.load_network().player(num_simulations=simulations)
    for opponent in (rollout_player(game, playouts), random_player(game)):
        print_match(game, network, opponent, games=games, opening_plies=2)


if __name__ == "__main__":
    main()
