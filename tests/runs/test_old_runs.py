"""Runs that azjax 0.1.0 wrote before its modules moved, when all settings of the search stood in one group: they are
read, and go on as they would have gone on then.

Each archive holds a run of four iterations and `expected.json`: the metrics and checksums after four more, by the
same code.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import jax
import numpy as np
import pytest
from data import DATA
from rich.console import Console
from tiny import stable_metrics

from azjax import config as configs
from azjax.runs.directory import RunDirectory
from azjax.runs.progress import PlainReporter
from azjax.runs.session import train_run


def processor() -> str:
    """The name of this machine's processor, where the system tells it."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")


@pytest.mark.parametrize("policy", ["gumbel", "puct"])
def test_goes_on(policy, tmp_path):
    """Bit for bit by the same JAX and processor; elsewhere as near as their rounding lets it be."""
    with tarfile.open(DATA / f"run_0_1_{policy}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    directory = tmp_path / policy
    expected = json.loads((directory / "expected.json").read_text())
    run = RunDirectory.open(directory)
    assert run.network_iterations() == [4]
    run.change(configs.replace(run.config, {"iterations": 8}))
    train_run(run, PlainReporter(Console()))
    rows = stable_metrics(directory)[4:]
    about = json.loads((directory / "checkpoints" / "8" / "about" / "metadata").read_text())
    if expected["jax"] == jax.__version__ and expected["processor"] == processor():
        assert about["checksums"] == expected["checksums"]
        assert rows == expected["metrics"]
    assert about["checksums"].keys() == expected["checksums"].keys()
    for row, before in zip(rows, expected["metrics"], strict=True):
        assert row.keys() == before.keys()
        for name, value in before.items():
            if value is not None:
                np.testing.assert_allclose(row[name], value, rtol=1e-2, atol=1e-3, err_msg=name)
