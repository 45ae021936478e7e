"""What subtree reuse is worth: the same network and as many new simulations a move, with and without the last tree.

command    python experiments/subtree_reuse.py                        (--smoke: seconds, meaningless numbers)
           It trains connect four's puct preset first, or takes the run of puct_or_gumbel.py.
hardware   one core of a shared two-core x86 VM, CPU only
software   jax 0.10.2, mctx 0.0.71
date       2026-11-30; 5 minutes of games
outcome    the network of puct_or_gumbel.py after 25 minutes, 400 games, the first 4 plies random, both colours of each
           opening; the score with its standard error, and the 95 % interval of the difference:

           simulations   with reuse: won   drawn   lost   score              Elo difference
                    16               187      57    156   53.9 +- 1.5 %      +27 (+6 to +48)
                    32               166      72    162   50.5 +- 1.5 %       +3 (-17 to +24)
                    64               205      48    147   57.2 +- 1.7 %      +51 (+28 to +74)
                   128               199      55    146   56.6 +- 1.8 %      +46 (+22 to +71)

           Reuse is worth about 50 Elo from 64 new simulations a move on, and little below.
"""

from __future__ import annotations

import time

import jax
from puct_or_gumbel import MINUTES, elo
from timeline import arguments, trained

import envs
from azjax.config import replace
from azjax.evaluate.arena import play_match
from azjax.network import make_network
from azjax.players import search_player
from azjax.search import make_match_search


def main() -> None:
    """Prints one line a budget."""
    options = arguments(__doc__, run_dir="runs/experiment-policies/puct")
    game = envs.make("connect_four")
    changes = {"minutes": MINUTES}
    run = trained(game, options.run_dir, smoke=options.smoke, name="puct", changes=changes)
    evaluate = make_network(game, run.config.network).evaluate
    variables = run.load_network().variables
    print("simulations  with reuse: won  drawn  lost           score  Elo difference")
    for simulations in (2, 4) if options.smoke else (16, 32, 64, 128):
        players = [
            search_player(
                make_match_search(
                    game,
                    evaluate,
                    replace(run.config.search, {"num_simulations": simulations, "puct.reuse": reuse}),
                ),
                variables,
                name,
            )
            for reuse, name in (("evaluation", "with reuse"), ("never", "without"))
        ]
        start = time.perf_counter()
        games = 4 if options.smoke else 400
        result = play_match(game, *players, games=games, key=jax.random.key(simulations), opening_plies=4)
        score, error = result.score(), result.score_error()
        print(
            f"{simulations:11d}  {result.wins:15d}  {result.draws:5d}  {result.losses:4d}  "
            f"{100 * score:5.1f} +- {100 * error:4.1f} %  {elo(score):+9.0f} ({elo(score - 1.96 * error):+.0f} to "
            f"{elo(score + 1.96 * error):+.0f}), {result.unique_games} games distinct, "
            f"{time.perf_counter() - start:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
