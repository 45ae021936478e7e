"""A run small enough for tests, and how to compare two of its states."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import envs
from azjax import config as configs

CHANGES = {
    "iterations": 6,
    "network": {"blocks": 1, "channels": 4, "value_hidden": 4},
    "search": {"num_simulations": 4},
    "selfplay": {"lanes": 4, "moves": 6, "opening_plies": 2},
    "replay": {"capacity": 96, "min_fill": 24},
    "learner": {"batch_size": 8, "updates": 2, "average_decay": 0.5},
    "checkpoint": {"every": 2, "network_every": 3},
    "rating": {"every": -1, "games": 4, "num_simulations": 2},
}

ONE_DEVICE = {"XLA_FLAGS": "--xla_force_host_platform_device_count=1"}

TRAIN = """
import sys
from pathlib import Path
from azjax.runs.directory import RunDirectory
from azjax.runs.session import train_run
from azjax.runs.progress import PlainReporter
from rich.console import Console
train_run(RunDirectory.open(Path(sys.argv[1])), PlainReporter(Console()))
"""


def tiny_config(changes=None, game="tic_tac_toe"):
    """The tiny run, with further changes put over it."""
    return configs.replace(configs.Config(game=envs.make(game)), configs.merge(CHANGES, changes or {}))


def start_training(directory: Path, environment=None) -> subprocess.Popen:
    """A process that trains the run in `directory` to its end."""
    return subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(directory)],
        env=os.environ | (environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def lines_of(directory: Path) -> int:
    """How many iterations metrics.jsonl tells of."""
    file = directory / "metrics.jsonl"
    return len(file.read_text().splitlines()) if file.exists() else 0


def assert_equal_trees(one, other):
    """Every leaf equal bit for bit, random keys and structure included."""
    assert jax.tree.structure(one) == jax.tree.structure(other)
    paths = jax.tree.leaves_with_path(one)
    for (path, a), b in zip(paths, jax.tree.leaves(other), strict=True):
        if jnp.issubdtype(a.dtype, jax.dtypes.prng_key):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), jax.tree_util.keystr(path)


def stable_metrics(directory: Path):
    """The lines of metrics.jsonl without what the clock says."""
    rows = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    timed = ("seconds", "minutes")
    return [{k: v for k, v in row.items() if k not in timed and not k.endswith("_per_second")} for row in rows]
