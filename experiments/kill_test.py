"""Twenty SIGKILLs at random moments of one run: it ends bit for bit as the undisturbed run does.

command    python experiments/kill_test.py            (--smoke: two kills of a shorter run)
hardware   one core of a shared two-core x86 VM, CPU only
software   jax 0.10.2, orbax-checkpoint 0.12.8
date       2026-11-30; 3 minutes
outcome    20 kills, 400 iterations, 128 leaves: 0 differ
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from record import begin

import envs
from azjax import config as configs
from azjax.config.presets import preset
from azjax.devices.mesh import make_mesh
from azjax.runs.checkpoint import Checkpoints, abstract
from azjax.runs.directory import RunDirectory
from azjax.train import make_trainer

CHANGES = {
    "iterations": 400,
    "minutes": 0.0,
    "network": {"blocks": 1, "channels": 8},
    "selfplay": {"lanes": 16, "moves": 8},
    "replay": {"capacity": 4_096, "min_fill": 512},
    "learner": {"batch_size": 32, "updates": 4},
    "checkpoint": {"every": 5, "network_every": 50},
    "rating": {"every": -1},
}


def main() -> None:
    """Trains twice, once undisturbed and once killed again and again, and compares every leaf of the final states."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--smoke", action="store_true", help="two kills of a shorter run")
    options = parser.parse_args()
    kills = 2 if options.smoke else options.kills
    changes = CHANGES | ({"iterations": 60, "minutes": 0.0} if options.smoke else {})
    config = configs.replace(preset(envs.make("connect_four")), changes)
    with tempfile.TemporaryDirectory() as folder:
        runs = [Path(folder) / name for name in ("undisturbed", "killed")]
        for path in runs:
            RunDirectory.create(path, config)
        finish(runs[0])
        happened = kill_and_finish(runs[1], kills, config.iterations)
        begin(configs.to_dict(config))  # only now: it takes the device, which the runs needed
        states = [final_state(path, config) for path in runs]
    differing = [
        jax.tree_util.keystr(path)
        for (path, one), other in zip(jax.tree.leaves_with_path(states[0]), jax.tree.leaves(states[1]), strict=True)
        if not np.array_equal(plain(one), plain(other), equal_nan=True)
    ]
    leaves = len(jax.tree.leaves(states[0]))
    print(f"{happened} kills, {config.iterations} iterations, {leaves} leaves: {len(differing)} differ {differing}")
    sys.exit(bool(differing) or happened < kills)


def command(run: Path) -> list[str]:
    """What trains the run in a process of its own, from where it stands."""
    return [sys.executable, "-m", "azjax.cli", "train", "--resume", str(run)]


def finish(run: Path) -> None:
    """Trains to the end."""
    subprocess.run(command(run), check=True, stdout=subprocess.DEVNULL)


def kill_and_finish(run: Path, kills: int, iterations: int) -> int:
    """How many processes were killed before the run ended: at random moments, checkpoints being written among them."""
    rng, killed = random.Random(0), 0
    for number in range(kills):
        process = subprocess.Popen(command(run), stdout=subprocess.DEVNULL)
        aim = lines(run) + max(1, (iterations - lines(run)) // (kills - number + 1) + rng.randint(-3, 3))
        while process.poll() is None and lines(run) < aim:
            time.sleep(0.005)
        time.sleep(0.1 * rng.random())
        if process.poll() is None:
            process.kill()
            killed += 1
        process.wait()
        print(f"kill {number + 1}: after iteration {lines(run)}", flush=True)
    finish(run)
    return killed


def lines(run: Path) -> int:
    """Iterations that metrics.jsonl tells of."""
    file = run / "metrics.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def final_state(run: Path, config: configs.Config):
    """The newest state of the whole run."""
    trainer = make_trainer(config, make_mesh(config))
    store = Checkpoints(run / "checkpoints", read_only=True)
    _, state, _ = store.restore_newest(abstract(trainer.init, trainer.shardings))
    store.close()
    return state


def plain(leaf: jax.Array) -> np.ndarray:
    """A leaf's bits, a random key's too."""
    key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if key else leaf)


if __name__ == "__main__":
    main()
