"""AlphaZero's PUCT or Gumbel: connect four, trained by either for the same time, compared at several budgets.

command    taskset -c 0 python experiments/puct_or_gumbel.py --only gumbel &
           taskset -c 1 python experiments/puct_or_gumbel.py --only puct & wait
           python experiments/puct_or_gumbel.py                        (--smoke: seconds, meaningless numbers)
hardware   two cores of a shared x86 VM, CPU only, one for each run, side by side; other processes took a sixth of each
software   jax 0.10.2, mctx 0.0.71
date       2026-11-30; 25 minutes of training each, then 5 minutes of games
outcome    share of the 819 decisive solved positions in which the chosen move keeps the result, in per cent (standard
           error 1.0 to 1.5), for the network alone and with 64 simulations of the search that it was trained by:

           minutes   gumbel: moves   alone   searched      puct: moves   alone   searched
                 5         230,400    80.6       85.7           76,800    70.0       79.7
                10         486,400    83.2       89.6          179,200    79.2       86.9
                15         716,800    86.2       90.6          256,000    83.4       88.0
                20         972,800    86.2       91.5          358,400    85.1       88.3
                25       1,228,800    87.9       91.9          460,800    86.0       88.3

           The last networks, each with its own search, against each other: 400 games, the first 4 plies random, both
           colours of each opening; score of gumbel with its standard error, and the 95 % interval of the difference:

           simulations   keeps: gumbel   puct    score of gumbel      Elo difference
                    16            89.3   88.2    67.1 +- 2.1 %        +124 (+93 to +157)
                    32            91.0   88.3    68.6 +- 1.9 %        +136 (+107 to +167)
                    64            91.7   88.3    75.2 +- 1.9 %        +193 (+161 to +229)
                   128            92.2   89.1    76.9 +- 1.8 %        +209 (+176 to +245)

           Gumbel is ahead at every budget. All but the search is the same: network, optimiser, random openings. Gumbel
           searched 16 simulations a move in self-play, PUCT 64, AlphaZero's 800 scaled down, with its constants, noise
           of alpha 10 / legal moves and temperature 1 for 30 plies; so PUCT played 2.7 times fewer moves in its time.

caution    One run and seed each; nothing of PUCT's was tuned, while gumbel's value_scale had been chosen in earlier
           runs on these solved positions. PUCT's matches reuse its subtrees, gumbel's search can't.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import jax
from timeline import network_at, trained

import envs
from azjax.evaluate.arena import play_match
from azjax.runs.directory import RunDirectory
from azjax.runs.strength import check_run

PRESET = {"gumbel": "laptop", "puct": "puct"}
MINUTES = 25.0


def main() -> None:
    """Trains what is not trained yet, and compares the two."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run-dir", type=Path, default=Path("runs/experiment-policies"), help="holds both runs")
    parser.add_argument("--only", choices=PRESET, help="train by this policy, and compare nothing")
    parser.add_argument("--smoke", action="store_true", help="runs of seconds, whose numbers mean nothing")
    options = parser.parse_args()
    game = envs.make("connect_four")
    runs = {
        policy: trained(
            game,
            options.run_dir / policy,
            smoke=options.smoke,
            name=PRESET[policy],
            changes={"minutes": MINUTES},
        )
        for policy in ([options.only] if options.only else PRESET)
    }
    if not options.only:
        over_time(runs, smoke=options.smoke)
        at_budgets(runs, smoke=options.smoke)


def over_time(runs: dict[str, RunDirectory], *, smoke: bool) -> None:
    """How often each network keeps the result of solved positions, by the minutes that it was trained."""
    print("minutes  policy  moves played  network keeps the result  with 64 simulations")
    for minutes in [1.0] if smoke else [5.0, 10.0, 15.0, 20.0, MINUTES]:
        for policy, run in runs.items():
            iteration = network_at(run, minutes)
            raw, searched = check_run(run, num_simulations=4 if smoke else 64, iteration=iteration)
            assert raw.kept and searched.kept
            kept = [100 * one.kept / one.positions for one in (raw.kept, searched.kept)]
            moves = iteration * run.config.moves_per_iteration
            print(f"{minutes:7.0f}  {policy:6}  {moves:12,}  {kept[0]:24.1f}  {kept[1]:19.1f}", flush=True)


def at_budgets(runs: dict[str, RunDirectory], *, smoke: bool) -> None:
    """The last networks, each with the search it was trained by: solved positions, and games against each other."""
    print("\nsimulations  keeps the result: gumbel   puct  gumbel's score against puct  Elo difference")
    for simulations in (2, 4) if smoke else (16, 32, 64, 128):
        kept = []
        for run in runs.values():
            _, searched = check_run(run, num_simulations=simulations)
            assert searched.kept
            kept.append(100 * searched.kept.kept / searched.kept.positions)
        players = [
            run.load_network().player(num_simulations=simulations)._replace(name=policy) for policy, run in runs.items()
        ]
        games = 4 if smoke else 400
        key = jax.random.key(simulations)
        result = play_match(envs.make("connect_four"), *players, games=games, key=key, opening_plies=4)
        score, error = result.score(), result.score_error()
        print(
            f"{simulations:11d}  {kept[0]:24.1f}  {kept[1]:5.1f}  {100 * score:17.1f} +- {100 * error:4.1f} %  "
            f"{elo(score):+9.0f} ({elo(score - 1.96 * error):+.0f} to {elo(score + 1.96 * error):+.0f})",
            flush=True,
        )


def elo(score: float) -> float:
    """The difference in rating that brings this score."""
    score = min(max(score, 1e-3), 1 - 1e-3)
    return 400 * math.log10(score / (1 - score))


if __name__ == "__main__":
    main()
