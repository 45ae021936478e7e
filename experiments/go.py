"""Go 5x5: a quarter of an hour of training, its Elo curve, and 50 games against GNU Go at level 10.

command    taskset -c 0 python experiments/go.py            (--smoke: seconds, meaningless numbers)
           It needs GNU Go (on Debian: apt-get install gnugo); --smoke goes without where it is missing.
hardware   one core of a shared two-core x86 VM, CPU only; the other core was busy with tests
software   jax 0.10.2, mctx 0.0.71, GNU Go 3.8
date       2026-11-30; 15 minutes of training: 1,060 iterations, 1.1 million moves, 31,000 games; 8 minutes of games
outcome    ratings with 32 simulations a move and 2 random plies first, 64 games a match, random moves 0, 95 % interval
           about 150 either way (go_elo.png):

           minutes    0    2    3    5    6    7    8   10   11   12   14   15
           Elo      155  555  825  963  969 1021 1025 1047 1049 1080 1071 1100

           Against GNU Go at level 10, komi 7.5, area scored on the board as it stands: 25 of 50 games won with 200
           simulations a move, all 25 as Black and none of 25 as White. That is what perfect play of both sides would
           score: on 5x5 Black wins by more than 7.5. Only 6 of the 50 games are distinct, so that there is no
           meaningful error bar. 100 of 100 against random moves with 64 simulations.

caution    One run and seed; no games from openings that are even.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from timeline import arguments, print_elo, print_match, trained

import envs
from azjax.network import make_network
from azjax.players import random_player
from azjax.players.gtp import GtpEngine, find_program
from azjax.runs.directory import RunDirectory
from azjax.search import make_search

KOMI = 7.5
GNU_GO = ["gnugo", "--mode", "gtp", "--level", "10", "--chinese-rules", "--positional-superko", "--forbid-suicide"]
GNU_GO += ["--capture-all-dead", "--play-out-aftermath", "--never-resign"]


def main() -> None:
    """Trains the laptop preset, rates its networks, and plays the games."""
    options = arguments(__doc__, run_dir="runs/experiment-go")
    game = envs.make("go", size=3 if options.smoke else 5, komi=KOMI)
    if not options.smoke and find_program("gnugo") is None:
        raise SystemExit("GNU Go is missing; on Debian: apt-get install gnugo")
    run = trained(game, options.run_dir, smoke=options.smoke)
    print_elo(run, smoke=options.smoke)
    simulations, games = (4, 2) if options.smoke else (200, 50)
    network = run.load_network().player(num_simulations=min(64, simulations))
    print_match(game, network, random_player(game), games=100 if games > 2 else 2, opening_plies=2)
    if find_program("gnugo"):
        against_gnu_go(run, simulations, games)
    else:
        print("the network against GNU Go: not played, GNU Go is missing")


def against_gnu_go(run: RunDirectory, num_simulations: int, games: int) -> None:
    """Games from the empty board with alternate colours; GNU Go draws its moves by another seed in each."""
    game: Any = run.config.game
    evaluate = make_network(game, run.config.network).evaluate
    search = jax.jit(make_search(game, evaluate, run.config.search.with_simulations(num_simulations)))
    variables = run.load_network().variables

    def think(state: Any) -> int:
        batch = jax.tree.map(lambda x: jnp.asarray(x)[None], state)
        return int(search(variables, jax.random.key(0), batch).action[0])

    step = jax.jit(game.step)
    results, records = [], set()
    for number in range(games):
        ours = number % 2
        result, moves = play_game(game, step, think, ours, seed=number + 1)
        results.append(result)
        records.add((ours, *moves))
    as_black, as_white = results[0::2], results[1::2]
    points = np.array(results) / 2 + 0.5
    error = np.std(np.append(points, (0.0, 1.0))) / math.sqrt(len(points) + 2)
    print(
        f"the network against GNU Go, {num_simulations} simulations a move: "
        f"{results.count(1)} wins, {results.count(0)} draws, {results.count(-1)} losses, {100 * points.mean():.0f} +- "
        f"{100 * error:.0f} %; as Black {as_black.count(1)} of {len(as_black)} won, as White {as_white.count(1)} of "
        f"{len(as_white)}; {len(records)} games distinct",
        flush=True,
    )


def play_game(game: Any, step: Any, think: Any, ours: int, *, seed: int) -> tuple[int, list[str]]:
    """One game's result for us, who play Black (0) or White (1), and its moves; the board is scored as it stands."""
    state, moves, outcome = game.init(), [], 0.0
    with GtpEngine([*GNU_GO, "--seed", str(seed)]) as engine:
        for command in (f"boardsize {game.size}", "clear_board", f"komi {game.komi}"):
            engine.send(command)
        while not state.terminated:
            colour = ("black", "white")[int(state.player)]
            if int(state.player) == ours:
                action = think(state)
                engine.send(f"play {colour} {game.action_to_text(state, action)}")
            else:
                action = game.action_from_text(state, engine.send(f"genmove {colour}"))
            moves.append(game.action_to_text(state, action))
            mover = int(state.player)
            state, transition = step(state, jnp.int32(action))
            outcome += float(transition.reward) * (1 if mover == ours else -1)
    return round(outcome), moves


if __name__ == "__main__":
    main()
