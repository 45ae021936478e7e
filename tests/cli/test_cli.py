"""The command line as a user meets it: help, bad input, and every command on a tiny run."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import jax
import pytest
from tiny import CHANGES, tiny_config

import envs
from azjax import cli
from azjax.cli import options
from azjax.cli import train as train_command
from azjax.config import merge
from azjax.config.settings import flatten
from azjax.runs import progress, session
from azjax.runs.directory import RunDirectory

ROOT = Path(__file__).parents[2]
TINY = ["--devices", "1", "--minutes", "0"] + [
    word
    for name, value in flatten(merge(CHANGES, {"rating": {"every": 0, "games": 4, "num_simulations": 2}})).items()
    for word in (f"--{name}", str(value))
]


class Answer:
    """What a command printed, and its exit status."""

    def __init__(self, status, printed):
        self.status, self.out, self.err = status, printed.out, printed.err


@pytest.fixture
def azjax(capsys, monkeypatch, tmp_path):
    """Runs a command in an empty directory, in this process."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def run(*words):
        capsys.readouterr()
        status = cli.main([str(word) for word in words])
        return Answer(status, capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run that `azjax train` has trained to its end."""
    directory = tmp_path_factory.mktemp("cli") / "run"
    assert cli.main(["train", "tic_tac_toe", *TINY, "--run-dir", str(directory)]) == 0
    return directory


@pytest.fixture
def run(trained, tmp_path):
    """A copy of the trained run that a test may change, beside the directory that commands run in."""
    return shutil.copytree(trained, tmp_path / "run")


# --- help ---


def test_the_overview_names_every_command_and_imports_no_jax():
    program = "import sys; from azjax.cli import main; main(['--help']); assert 'jax' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(re.search(rf"^  {name} ", done.stdout, re.MULTILINE) for name in cli.COMMANDS)


@pytest.mark.parametrize(
    "words, expected",
    [
        ([], "usage: azjax COMMAND"),
        (["train", "--help"], "azjax train --resume DIR"),
        (["train", "gomoku", "--help"], "--game.in-row INT"),
        (["train", "gomoku", "--preset", "accelerator", "--help"], "Presets: laptop, accelerator"),
        (["elo", "--help"], "the run's rating.games"),
        (["check", "--help"], "--num-simulations INT"),
        (["ladder", "--help"], "--most INT"),
        (["play", "--help"], "azjax play GAME"),
        (["play", "gomoku", "--help"], "--game.size INT"),
        (["games", "--help"], "[GAME]"),
    ],
)
def test_help(azjax, words, expected):
    answer = azjax(*words)
    assert answer.status == 0 and expected in answer.out and not answer.err
    assert max(map(len, answer.out.splitlines())) <= 200


def test_help_shows_the_presets_defaults(azjax):
    laptop, accelerator = (
        azjax("train", "gomoku", "--preset", name, "--help").out for name in ("laptop", "accelerator")
    )
    assert re.search(r"--selfplay.lanes INT\s[^(]*\(default:\s+64\)", laptop.replace("│", " "))
    assert re.search(r"--selfplay.lanes INT\s[^(]*\(default:\s+1024\)", accelerator.replace("│", " "))


def test_help_of_a_run_shows_its_settings(azjax, run):
    answer = azjax("train", "--resume", run, "--help")
    assert answer.status == 0 and "What may change: iterations" in answer.out
    assert re.search(r"--iterations INT\s[^(]*\(default:\s+6\)", answer.out.replace("│", " "))


def test_games(azjax):
    answer = azjax("games")
    assert answer.status == 0
    for name in ("tic_tac_toe", "connect_four", "gomoku", "dots_and_boxes"):
        assert re.search(rf"^{name} +\d+ actions, at most +\d+ moves", answer.out, re.MULTILINE)
    answer = azjax("games", "dots_and_boxes")
    assert "--game.rows int (default: 3)" in answer.out and "solver: on small boards" in answer.out
    assert "accelerator: " in answer.out
    assert azjax("games", "own_game:Nim").out.startswith("own_game:Nim: One heap;")


# --- bad input: one line, before anything is written ---


@pytest.mark.parametrize(
    "words, expected",
    [
        ("trian", "no command 'trian'; commands: train, elo, check, ladder, play, games"),
        ("train", "which game?"),
        ("train checkers", f"no game named 'checkers'; known games: {', '.join(envs.available())}"),
        ("train nowhere:Chess", "no game 'nowhere:Chess': No module named 'nowhere'"),
        ("train --preset laptop gomoku", "the game comes first"),
        ("train gomoku --preset", "--preset needs a value"),
        ("train gomoku --preset huge", "no preset 'huge' for gomoku; its presets: laptop, accelerator"),
        ("train gomoku --game.size 99", "gomoku's size is 2 to 26 (columns are letters), got size=99"),
        ("train gomoku --game.size 4", "gomoku's in_row is 2 to size, got in_row=5 with size=4"),
        ("train gomoku --game.komi 7", "Unrecognized options: --game.komi"),
        ("train gomoku --search.simulations 7", "perhaps --search.cheap-simulations or --search.num-simulations"),
        ("train gomoku --seed many", "Error parsing --seed: invalid literal"),
        ("train gomoku --learner.schedule linear", "invalid choice 'linear'"),
        ("train gomoku --search.policy uct", "invalid choice 'uct'"),
        ("train gomoku --search.puct.fpu draw", "invalid choice 'draw'"),
        ("train gomoku --search.puct.reuse sometimes", "invalid choice 'sometimes'"),
        ("train gomoku --search.puct.reuse always", "search.puct.reuse has no effect with search.policy=gumbel"),
        ("train gomoku --preset laptop --search.puct.dirichlet-fraction=0.2", "search.policy=puct or leave it out"),
        ("train gomoku --search.full-search-share 0.5", "search.cheap_simulations=0: with full_search_share=0.5"),
        ("train tic_tac_toe --search.num-simulations 1000000000", "takes 242,000,000,242 bytes a game"),
        ("train tic_tac_toe --rating.num-simulations 1000000000", "would fit 0 games"),
        ("train tic_tac_toe --replay.capacity 1000000000000", "lower replay.capacity=1000000000000"),
        ("train gomoku --learner.optimizer-options fast", "'fast' is not NAME=VALUE"),
        ("train gomoku --learner.optimizer newton", "learner.optimizer='newton' is not an optimiser of optax"),
        ("train gomoku --learner.optimizer-options speed=1", "optax.adamw has no option speed; its options: b1"),
        ("train gomoku --learner.batch-size 10000000", "learner.batch_size=10000000 is larger than the replay"),
        ("train gomoku --selfplay.lanes 63", "selfplay.lanes=63 cannot be split over 4 devices"),
        ("train gomoku --devices 5", "devices=5, but there are 4"),
        ("train gomoku --run-dir {file}/run", "cannot write to"),
        ("train gomoku --run-dir {file}", "exists and is not a run of azjax"),
        ("train --resume", "--resume needs a value"),
        ("train --resume nowhere", "nowhere is not a run of azjax: it has no config.json"),
        ("elo", "DIR is missing; see azjax elo --help"),
        ("elo nowhere", "nowhere is not a run of azjax"),
        ("check nowhere", "nowhere is not a run of azjax"),
        ("ladder", "DIR is missing; see azjax ladder --help"),
        ("ladder nowhere", "nowhere is not a run of azjax"),
        ("play", "against whom or what?"),
        ("play nowhere", "no game named 'nowhere'"),
        ("play some/where", "some/where is not a run of azjax"),
        ("play connect_four --opponent solver", "has no solver"),
        ("play connect_four --opponent network", "invalid choice 'network'"),
        ("play connect_four --opponent rollouts --num-simulations 0", "--num-simulations must be at least 1, got 0"),
        ("play connect_four --opponent rollouts --num-simulations 1000000000", "204,000,000,204 bytes a game"),
        ("play connect_four --start here", "start position 1: connect_four has no notation of positions, got 'here'"),
        ("play chess --start 8/8", "start position 1: a FEN has the fields board, side to move"),
        ("train connect_four --selfplay.starts startpos there", "start position 2: connect_four has no notation"),
        ("train connect_four --network.policy-head planes", "the 7 actions of connect_four are not as many for each"),
        ("games checkers", "no game named 'checkers'"),
    ],
)
def test_bad_input_is_one_line_before_work(azjax, tmp_path, words, expected):
    file = tmp_path / "file"
    file.write_text("")
    answer = azjax(*words.format(file=file).split())
    assert answer.status == 2
    assert answer.err.startswith("azjax: error: ") and expected in answer.err
    assert answer.err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == [file]


def test_bad_input_about_a_run(azjax, run):
    def error(*words):
        answer = azjax(*words)
        assert answer.status == 2 and answer.err.startswith("azjax: error: ")
        return answer.err

    before = (run / "config.json").read_text()
    assert "seed: 0 -> 3" in error("train", "--resume", run, "--seed", 3)
    assert "network.channels: 4 -> 32" in error("train", "tic_tac_toe", "--run-dir", run)
    assert "rating.games must be a multiple of 2, got 5" in error("train", "--resume", run, "--rating.games", 5)
    assert "rating.games must be a multiple of 2, got 5" in error("elo", run, "--games", 5)
    assert "no network of iteration 5; it has those of 0 3 6" in error("check", run, "--iteration", 5)
    assert "no network of iteration 5" in error("play", run, "--iteration", 5)
    assert "--num-simulations must be at least 0" in error("play", run, "--num-simulations", -1)
    assert "--num-simulations must be at least 1" in error(
        "play", run, "--opponent", "rollouts", "--num-simulations", 0
    )
    for command in ("elo", "check", "ladder", "play"):
        assert "would fit 0 games" in error(command, run, "--num-simulations", 10**9)
    assert "no network of iteration 5" in error("ladder", run, "--iteration", 5)
    assert "first must be at least 1, got 0" in error("ladder", run, "--first", 0)
    assert "step must be at least 1, got 0" in error("ladder", run, "--step", 0)
    assert "most=9 simulations is below the ladder's first=1000" in error("ladder", run, "--most", 9)
    assert "games must be a multiple of 2, got 3" in error("ladder", run, "--games", 3)
    assert "would fit 0 games" in error("ladder", run, "--most", 10**9)
    assert (run / "config.json").read_text() == before
    shutil.rmtree(run / "networks")
    for command in ("elo", "check", "ladder", "play"):
        assert "has no network yet; train it first" in error(command, run)


def test_a_foreign_checkpoint_is_named(azjax, run):
    config = json.loads((run / "config.json").read_text())
    config["network"]["channels"] = 5
    (run / "config.json").write_text(json.dumps(config))
    for words in (["play", run], ["train", "--resume", run]):
        answer = azjax(*words)
        *warned, last = answer.err.splitlines()
        assert answer.status == 2 and last.startswith("azjax: error: no usable checkpoint in")
        assert warned and all("belongs to another configuration" in line for line in warned)


# --- the commands at work ---


def test_train_says_what_it_did_and_what_to_do_next(azjax, run):
    answer = azjax("train", "tic_tac_toe", *TINY, "--run-dir", run)  # the same settings: the run goes on, and is done
    assert answer.status == 0 and not answer.err
    assert "Going on after iteration 6." in answer.out and "Done: 6 iterations" in answer.out
    assert re.search(r"^random +0 +fixed", answer.out, re.MULTILINE)
    assert f"azjax play {run}" in answer.out and f"azjax train --resume {run} --iterations 12" in answer.out
    made = {"config.json", "metrics.jsonl", "metrics.png", "matches.jsonl", "ratings.csv", "ratings.json", "elo.png"}
    assert made <= {file.name for file in run.iterdir()}


def test_resume_takes_what_may_change(azjax, run):
    answer = azjax("train", "--resume", run, "--iterations", 7, "--rating.every", -1)
    assert answer.status == 0 and "iteration 7/7" in answer.out
    assert RunDirectory.open(run).config.iterations == 7
    assert [row["iteration"] for row in RunDirectory.open(run).metrics()] == list(range(1, 8))


@pytest.mark.parametrize("number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stop_saves_and_says_how_to_go_on(azjax, run, monkeypatch, number, status):
    def stop(self, metrics):
        if metrics["iteration"] == 8:
            signal.raise_signal(number)

    monkeypatch.setattr(progress.PlainReporter, "iteration", stop)
    answer = azjax("train", "--resume", run, "--iterations", 50)
    assert answer.status == status
    assert "Stopped after iteration 8; everything is saved." in answer.out
    assert answer.out.endswith(f"azjax train --resume {run}\n")
    assert (run / "checkpoints" / "8").is_dir()


def test_a_second_stop_is_at_once(azjax, run, monkeypatch):
    def stop(self, metrics):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(progress.PlainReporter, "iteration", stop)
    answer = azjax("train", "--resume", run, "--iterations", 50)
    assert answer.status == 130 and answer.err == "azjax: error: stopped\n"


def test_a_loss_that_is_not_finite(azjax, run, monkeypatch):
    def diverge(metrics, iteration):
        raise session.NonFiniteError(f"loss is nan in iteration {iteration}")

    monkeypatch.setattr(session, "_check_finite", diverge)
    answer = azjax("train", "--resume", run, "--iterations", 50)
    assert answer.status == 1 and answer.err == "azjax: error: loss is nan in iteration 7\n"


def test_elo(azjax, run):
    answer = azjax("elo", run)
    assert answer.status == 0 and " - " not in answer.out.split("player")[0]  # every match is on file
    answer = azjax("elo", run, "--games", 2, "--num-simulations", 0, "--max-networks", 2)
    assert answer.status == 0 and not answer.err
    assert "iteration 6 - iteration 0: " in answer.out
    assert re.search(r"^iteration 6 +-?\d+ +-?\d+ to -?\d+ +4 ", answer.out, re.MULTILINE)
    assert f"{run / 'ratings.csv'}, {run / 'ratings.json'}, {run / 'elo.png'}" in answer.out


def test_check(azjax, run):
    answer = azjax("check", run, "--num-simulations", 4)
    assert answer.status == 0 and re.search(r"^network alone +[\d,]+ +[\d,]+", answer.out, re.MULTILINE)
    found = json.loads(azjax("check", run, "--num-simulations", 0, "--iteration", 3, "--json").out)
    assert found["game"] == "TicTacToe()" and found["iteration"] == 3
    (player,) = found["players"]
    assert player["player"] == "network alone" and player["kept"] is None
    assert sum(player["games"][name] for name in ("wins", "draws", "losses")) == player["games"]["games"] > 500


PLAY_ROLLOUTS = ["--opponent", "rollouts", "--num-simulations", 20, "--you", "none"]
LADDER = ["--first", 2, "--step", 2, "--most", 4, "--games", 2, "--num-simulations", 2]


def test_ladder(azjax, run):
    answer = azjax("ladder", run, *LADDER)
    assert answer.status == 0 and not answer.err
    title, *rungs, last = answer.out.splitlines()
    assert title == "TicTacToe(), network of iteration 6, 2 simulations a move"
    counts = [re.fullmatch(r"rollouts with (\d) simulations: (\d) won, \d drawn, \d lost of 2", rung) for rung in rungs]
    won = {int(found[1]): int(found[2]) for found in counts if found}
    assert list(won) == [2, 4][: len(rungs)]
    beaten = [simulations for simulations, games in won.items() if games == 2]
    assert last == (f"Won every game up to {beaten[-1]} simulations." if beaten else "Won no match in full.")


@pytest.mark.parametrize("target", ["run", "tic_tac_toe"])
def test_rollouts_play_a_game_to_its_end(azjax, run, target):
    answer = azjax("play", run if target == "run" else target, *PLAY_ROLLOUTS)
    assert answer.status == 0 and not answer.err
    assert "rollouts with 20 simulations a move, both sides." in answer.out
    assert re.search(r"(The (first|second) player wins|The game is drawn)\.$", answer.out)


@pytest.mark.slow
def test_a_run_of_puct_trains_and_every_command_takes_it(azjax, tmp_path):
    """Its trees are reused in self-play, as asked for, and in matches and play."""
    puct = ["--search.policy", "puct", "--search.puct.reuse", "always", "--rating.every", -1]
    answer = azjax("train", "tic_tac_toe", *TINY, *puct, "--run-dir", "run")
    assert answer.status == 0 and "Done: 6 iterations" in answer.out and not answer.err
    answer = azjax("elo", "run", "--games", 2, "--max-networks", 2)
    assert answer.status == 0 and "iteration 6 - iteration 0: " in answer.out and not answer.err
    found = json.loads(azjax("check", "run", "--num-simulations", 3, "--json").out)
    assert [player["player"] for player in found["players"]] == ["network alone", "with 3 simulations"]
    answer = azjax("play", "run", "--num-simulations", 3, "--you", "none")
    assert answer.status == 0 and re.search(r"(wins|drawn)\.$", answer.out) and not answer.err
    answer = azjax("ladder", "run", *LADDER)
    assert answer.status == 0 and "rollouts with 2 simulations: " in answer.out and not answer.err


def test_a_user_of_the_shell(trained, tmp_path):
    """In a process of its own, as installed: nothing on stderr, and compiled programs where JAX is told to put them."""
    run = shutil.copytree(trained, tmp_path / "run")
    (run / "networks" / "6" / "state" / "manifest.ocdbt").write_bytes(b"damaged")
    command = [sys.executable, "-m", "azjax.cli", "play", "run", "--you", "none", "--num-simulations", "2"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "the network of iteration 3" in done.stdout
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("azjax: warning: checkpoint")


def test_the_compilation_cache(monkeypatch, tmp_path):
    changed = {}
    monkeypatch.setattr(jax.config, "update", changed.__setitem__)
    cli.use_cache()
    assert not changed, "JAX_COMPILATION_CACHE_DIR is the user's word"
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cli.use_cache()
    assert changed["jax_compilation_cache_dir"] == str(tmp_path / "azjax" / "jax")
    changed.clear()
    monkeypatch.setenv("AZJAX_NO_CACHE", "1")
    cli.use_cache()
    assert not changed


def test_options_of_an_optimiser():
    parsed = options.parse(
        train_command.TrainOptions,
        ["--learner.optimizer", "sgd", "--learner.optimizer-options", "momentum=0.9", "nesterov=1"],
        prog="azjax train",
        default=train_command.TrainOptions(config=tiny_config()),
    )
    assert parsed.config.learner.optimizer_options == {"momentum": 0.9, "nesterov": 1.0}


# --- the README ---


def readme_blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_readmes_commands_are_understood(azjax, monkeypatch, tmp_path):
    started = []
    monkeypatch.setattr(train_command, "_train", lambda run: started.append(run.config) or 0)
    lines = [shlex.split(line, comments=True) for block in readme_blocks("sh") for line in block.splitlines()]
    lines = [
        line[1:] for line in lines if line[:2] == ["azjax", "train"] and "--resume" not in line and ":" not in line[2]
    ]
    for number, line in enumerate(lines):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "openings.txt").write_text("startpos moves E5\n")
        (network,) = [block for block in readme_blocks("python") if "game.observation_shape" in block]
        (tmp_path / str(number) / "my_net.py").write_text(network)
        monkeypatch.chdir(tmp_path / str(number))  # runs of one second have one name
        answer = azjax(*line)
        assert answer.status == 0, answer.err
    assert len(started) == len(lines) >= 3


@pytest.mark.slow
def test_the_readmes_game_plays_and_trains(azjax, tmp_path):
    (program,) = [block for block in readme_blocks("python") if "class Nim" in block]
    (tmp_path / "nim.py").write_text(program)
    answer = azjax("play", "nim:Nim", "--game.sticks", 7, "--you", "none")
    assert answer.status == 0 and re.search(r"The (first|second) player wins\.$", answer.out)
    answer = azjax("train", "nim:Nim", "--game.sticks", 9, *TINY, "--run-dir", "nim", "--rating.num-simulations", 0)
    assert answer.status == 0, answer.err
    assert RunDirectory.open(tmp_path / "nim").config.game.max_moves == 9
