"""Every experiment runs to its end in its smoke size, from a process of its own, and prints its figures."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tiny import ONE_DEVICE

EXPERIMENTS = Path(__file__).parents[1] / "experiments"

LAST_WORDS = {
    "bench/bench_envs.py": "pyffish, position by position",
    "bench/bench_openings.py": "connect_four 6x7",
    "bench/bench_search.py": "time at a capacity of 1,025 nodes",
    "bench/bench_selfplay.py": "evals/s",
    "chess_endings.py": "positions won against perfect defence",
    "chess_family.py": "value_loss",
    "connect_four.py": "knows the winner",
    "dots_and_boxes.py": "the article's position: lines",
    "go.py": "the network against GNU Go",
    "gomoku.py": "random, 0 random plies first",
    "hex.py": "random, 0 random plies first",
    "kill_test.py": "0 differ",
    "othello.py": "random, 2 random plies first",
    "paper_recipes.py": "TPU v5p",
    "puct_or_gumbel.py": "gumbel's score against puct",
    "subtree_reuse.py": "games distinct",
    "tic_tac_toe.py": "with 4 simulations",
}


def test_every_experiment_has_a_smoke_size():
    scripts = {
        str(file.relative_to(EXPERIMENTS)) for file in EXPERIMENTS.rglob("*.py") if "def main" in file.read_text()
    }
    assert scripts == set(LAST_WORDS)


@pytest.mark.slow
@pytest.mark.parametrize("script", LAST_WORDS)
def test_smoke(script, tmp_path):
    command = [sys.executable, str(EXPERIMENTS / script), "--smoke"]
    if any(word in (EXPERIMENTS / script).read_text() for word in ("run_dir=", "--run-dir")):
        command += ["--run-dir", str(tmp_path / "run")]
    ran = subprocess.run(command, env=os.environ | ONE_DEVICE, capture_output=True, text=True, timeout=900)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert LAST_WORDS[script] in ran.stdout


@pytest.mark.parametrize("script", LAST_WORDS)
def test_header_tells_command_hardware_date_and_outcome(script):
    header = (EXPERIMENTS / script).read_text().split('"""')[1]
    for word in (f"python experiments/{script}", "hardware", "date", "outcome"):
        assert word in header, word
