"""Every experiment runs to its end in its smoke size, from a process of its own, prints its figures, and records what
it ran on."""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import record
from tiny import ONE_DEVICE, tiny_config

import azjax
from azjax import config as configs
from azjax.runs.directory import RunDirectory

EXPERIMENTS = Path(__file__).parents[1] / "experiments"

HEADING = re.compile(
    r"^azjax \S+, commit ([0-9a-f]{12}|unknown)( with changes)?, python \S+, jax \S+, .*\n"
    r"1 x cpu, processor .+, cores \d+, \d{4}-\d\d-\d\dT\S+: python \S+\.py --smoke.*\n"
    r"settings: ",
    re.MULTILINE,
)

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


def test_the_table_has_every_experiment():
    rows = re.findall(
        r"^\| \[(.*?)\]\((.*?)\) \|.*\| `(.*?)` \|$", (EXPERIMENTS / "README.md").read_text(), re.MULTILINE
    )
    assert sorted(rows) == sorted((script, script, f"python experiments/{script}") for script in LAST_WORDS)


@pytest.mark.slow
@pytest.mark.parametrize("script", LAST_WORDS)
def test_smoke(script, tmp_path):
    command = [sys.executable, str(EXPERIMENTS / script), "--smoke"]
    trains = any(word in (EXPERIMENTS / script).read_text() for word in ("run_dir=", "--run-dir"))
    if trains:
        command += ["--run-dir", str(tmp_path / "run")]
    ran = subprocess.run(command, env=os.environ | ONE_DEVICE, capture_output=True, text=True, timeout=900)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert LAST_WORDS[script] in ran.stdout
    assert HEADING.search(ran.stdout)
    runs = [config.parent for config in (tmp_path / "run").rglob("config.json")]
    assert bool(runs) == trains
    for run in runs:
        (entry,) = json.loads((run / "experiment.json").read_text())
        assert entry["configuration"] == json.loads((run / "config.json").read_text())
        printed = (run / "experiment.txt").read_text()
        assert HEADING.match(printed) and LAST_WORDS[script] in printed


@pytest.mark.parametrize("script", LAST_WORDS)
def test_header_tells_command_hardware_date_and_outcome(script):
    header = (EXPERIMENTS / script).read_text().split('"""')[1]
    for word in (f"python experiments/{script}", "hardware", "date", "outcome"):
        assert word in header, word


def test_record_of_every_call_is_kept(tmp_path, monkeypatch, capsys):
    config = tiny_config()
    run = RunDirectory.create(tmp_path / "run", config)
    monkeypatch.setattr(sys, "argv", ["experiments/some.py", "--run-dir", "a run"])
    for result in ("first", "second"):
        with contextlib.redirect_stdout(sys.stdout):  # puts it back: an experiment copies until its process ends
            record.begin(configs.to_dict(config), run.path)
            print(f"the {result} result")
    entries = json.loads((run.path / "experiment.json").read_text())
    assert [entry["command"] for entry in entries] == ["python experiments/some.py --run-dir 'a run'"] * 2
    for entry in entries:
        assert entry["version"] == azjax.__version__
        assert (entry["commit"], entry["changed"]) == record.checkout()
        assert configs.from_dict(entry["configuration"]) == RunDirectory.open(run.path).config
        assert set(entry["software"]) >= {"python", "jax", "jaxlib", "mctx", "flax", "optax"}
    printed = (run.path / "experiment.txt").read_text()
    assert printed == capsys.readouterr().out
    assert re.search(r"^azjax.*^the first result.*^azjax.*^the second result", printed, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("damaged", [b"", b'[{"command": "python', b'{"command": ""}', b"\xff\x00"])
def test_damaged_record_is_put_aside(damaged, tmp_path, capsys):
    file = tmp_path / "experiment.json"
    file.write_bytes(damaged)
    record.append(file, {"command": "new"})
    assert json.loads(file.read_text()) == [{"command": "new"}]
    (aside,) = tmp_path.glob("experiment-damaged-*.json")
    assert aside.read_bytes() == damaged
    assert aside.name in capsys.readouterr().err


def test_record_names_the_commit_of_the_checkout(tmp_path, monkeypatch):
    def git(*words):
        names = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        return subprocess.run(
            ["git", "-C", tmp_path, *names, *words], check=True, capture_output=True, text=True
        ).stdout

    package = tmp_path / "azjax"
    package.mkdir()
    (package / "__init__.py").write_text("")
    monkeypatch.setattr(azjax, "__file__", str(package / "__init__.py"))
    assert record.checkout() == ("unknown", False), "outside git"
    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message", "nothing")
    assert record.checkout() == ("unknown", False), "a copy that git doesn't know"
    git("add", "azjax")
    git("commit", "--quiet", "--message", "azjax")
    head = git("rev-parse", "HEAD").strip()
    assert record.checkout() == (head, False)
    (package / "__init__.py").write_text("changed = True")
    assert record.checkout() == (head, True)
