"""Gomoku 6x6, four in a row: after half an hour of training, against its own network of minute 5 and the random player.

command    python experiments/gomoku.py
"""

from __future__ import annotations

import jax
from timeline import arguments, last_minute, network_at, trained

import envs
from azjax.arena import play_match
from azjax.players import random_player
from azjax.rating import network_player


def main() -> None:
    """Trains the laptop preset and plays both matches."""
    options = arguments(__doc__, run_dir="runs/experiment-gomoku")
    run = trained(envs.make("gomoku", size=6, in_row=4), options.run_dir, {}, smoke=options.smoke)
    simulations, games = (4, 4) if options.smoke else (64, 100)
    last = network_at(run, last_minute(run))
    early = network_at(run, 0 if options.smoke else 5)

    def player(iteration: int):
        return network_player(run, run.load_network(iteration), num_simulations=simulations)

    print(f"{simulations} simulations a move, {games} games, colours balanced")
    for opponent in (player(early), random_player(run.config.game)):
        for plies in (0,) if options.smoke else (0, 1, 2, 4):
            result = play_match(
                run.config.game, player(last), opponent, games=games, key=jax.random.key(0), opening_plies=plies
            )
            print(
                f"iteration {last} - {opponent.name}, {plies} random plies first: {result.wins} wins, {result.draws} "
                f"draws, {result.losses} losses; as the first player {result.as_first.wins}, as the second "
                f"{result.as_second.wins} won; {result.unique_games} games distinct",
                flush=True,
            )


if __name__ == "__main__":
    main()
