"""Chess, shogi and xiangqi by AlphaZero's settings scaled down: losses fall, games end by rule, stopped runs go on.

command    taskset -c 1 python experiments/chess_family.py            (--smoke: seconds, meaningless numbers)
hardware   one core of a shared two-core x86 VM, CPU only; the other core was busy with tests
software   jax 0.10.2, mctx 0.0.71
date       2026-11-30; 12 minutes, of them 6.5 of training
outcome    60 iterations of 512 moves, 16 simulations, 2 blocks of 32 channels; the losses are means over the first and
           the last tenth of the iterations that learn (51 of the 60):

           game      policy loss      value loss       games   ended by rule   stopped half way and gone on with
           chess     3.245 -> 3.200   0.132 -> 0.049   192     18              equal, bit for bit
           shogi     3.650 -> 3.623   0.054 -> 0.031   192      9              equal, bit for bit
           xiangqi   3.433 -> 2.936   0.051 -> 0.032   192     14              equal, bit for bit

caution    Minutes of training: the networks still play at random, and nine games of ten reach the cap of 160 moves, set
           here for want of time (512 in the presets). It shows that the parts work together, no strength.
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
from pathlib import Path
from typing import Any

import jax
import numpy as np
from record import begin
from rich.console import Console

import envs
from azjax import config as configs
from azjax.cli import use_cache
from azjax.config import Config
from azjax.config.presets import preset
from azjax.runs.directory import RunDirectory
from azjax.runs.progress import PlainReporter
from azjax.runs.session import train_run

GAMES = "chess", "shogi", "xiangqi"
SMOKE: dict[str, Any] = {
    "iterations": 4,
    "network": {"blocks": 1, "channels": 4},
    "search": {"num_simulations": 2},
    "selfplay": {"lanes": 4},
    "replay": {"capacity": 256, "min_fill": 32},
    "learner": {"batch_size": 8},
}
SMALL: dict[str, Any] = {
    "iterations": 60,
    "devices": 1,
    "network": {"blocks": 2, "channels": 32, "value_hidden": 64, "dtype": "float32"},
    "search": {"num_simulations": 16},
    "selfplay": {"lanes": 32, "moves": 16},
    "replay": {"capacity": 32_768, "min_fill": 1_024},
    "learner": {"batch_size": 64, "updates": 8, "learning_rate": 0.02, "boundaries": ()},
    "checkpoint": {"every": 20, "network_every": 40},
    "rating": {"every": -1},
}


def main() -> None:
    """For each game one run, and the same run stopped half way; prints what the metrics say of the first."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--run-dir", type=Path, default=Path("runs/experiment-chess-family"))
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    use_cache()
    for name in GAMES[:1] if options.smoke else GAMES:
        game = envs.make(name, max_plies=8 if options.smoke else 160)
        config = configs.replace(configs.replace(preset(game, "paper"), SMALL), SMOKE if options.smoke else {})
        straight, halved = (options.run_dir / f"{name}-{kind}" for kind in ("straight", "halved"))
        begin(configs.to_dict(config), RunDirectory.create(straight, config).path)
        metrics = run_to(straight, config, config.iterations)
        run_to(halved, config, config.iterations // 2)
        run_to(halved, config, config.iterations)
        one, other = (jax.tree.leaves(RunDirectory.open(path).load_network().variables) for path in (straight, halved))
        equal = all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
        report(name, metrics, equal=equal)
        shutil.rmtree(halved)


def run_to(directory: Path, config: Config, iterations: int) -> list[dict[str, Any]]:
    """The metrics of the run in this directory, trained as far as this iteration."""
    run = RunDirectory.create(directory, config) if not directory.exists() else RunDirectory.open(directory)
    run.change(dataclasses.replace(config, iterations=iterations))
    train_run(run, PlainReporter(Console(quiet=True)))
    return run.metrics()


def report(name: str, metrics: list[dict[str, Any]], *, equal: bool) -> None:
    """One game's lines."""
    learnt = [row for row in metrics if row["learning"]]
    games = sum(row["games_ended"] for row in metrics)
    cut = sum(row["games_ended"] * (row["truncated"] or 0) for row in metrics)
    tenth = max(1, len(learnt) // 10)
    print(
        f"{name}: {len(metrics)} iterations in {metrics[-1]['minutes']:.1f} minutes, {games:.0f} games, "
        f"{games - cut:.0f} of them ended by rule; the run stopped half way is {'equal' if equal else 'DIFFERENT'}"
    )
    for loss in ("policy_loss", "value_loss"):
        first, last = (np.mean([row[loss] for row in rows]) for rows in (learnt[:tenth], learnt[-tenth:]))
        print(f"  {loss}: {first:.3f} in the first tenth of learning, {last:.3f} in the last", flush=True)


if __name__ == "__main__":
    main()
