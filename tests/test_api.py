"""The public API: its names, and the README's programs as they stand there."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from positions import random_states
from tiny import CHANGES

import azjax
import envs
from azjax.search import make_search
from envs.chess import Chess

ROOT = Path(__file__).parents[1]
TINY = CHANGES | {"devices": 1}


def readme(word):
    """The one Python program of the README that has this word in it."""
    programs = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (program,) = [program for program in programs if word in program]
    return program


def run_program(program, directory):
    """What a program prints in a process of its own, as a user's."""
    environment = os.environ | {"XLA_FLAGS": "", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=directory, env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- names ---


def test_every_name_is_there_for_python_and_for_type_checkers():
    tree = ast.parse((ROOT / "azjax" / "__init__.py").read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {(node.module, alias.name) for node in block.body for alias in node.names}  # pyright: ignore
    lazy = {(module, name) for module, names in azjax._HOMES.items() for name in names}
    assert lazy == typed
    assert sorted(name for _, name in lazy) == azjax.__all__
    for name in azjax.__all__:
        documented = getattr(azjax, name).__doc__
        assert documented and name in (azjax.__doc__ or ""), f"the docstring of azjax does not tell of {name}"
    assert set(azjax.__all__) <= set(dir(azjax))
    with pytest.raises(AttributeError, match="module 'azjax' has no attribute 'nothing'"):
        azjax.nothing  # noqa: B018


def test_importing_it_imports_nothing_slow():
    program = "import sys, azjax; print(azjax.__version__); assert not {'jax', 'flax', 'numpy'} & set(sys.modules)"
    assert run_program(program, ROOT).strip() == azjax.__version__


# --- the README ---


@pytest.mark.slow
def test_the_readmes_program_trains_plays_and_rates(tmp_path):
    printed = run_program(readme("azjax.train_game"), tmp_path)
    assert "iteration 40, " in printed and "random          0          fixed" in printed
    rows = [json.loads(line) for line in (tmp_path / "runs" / "python" / "metrics.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in rows] == list(range(1, 61)) and rows[0]["learning_rate"] == pytest.approx(1e-3)


@pytest.mark.slow
def test_the_readmes_pure_layer_runs(tmp_path):
    printed = run_program(readme("azjax.make_trainer"), tmp_path)
    assert "'games': " in printed and "'loss': " in printed


@pytest.mark.slow
def test_the_readmes_network_and_player_play(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_net.py").write_text(readme("game.observation_shape"))
    (tmp_path / "middle.py").write_text(readme("azjax.Thinker"))
    monkeypatch.syspath_prepend(str(tmp_path))
    changes = TINY | {"network": {"make": "my_net:make", "channels": 8}}
    run = azjax.train_game("tic_tac_toe", "run", changes)
    middle = __import__("middle").make(run.config.game)
    network = run.load_network()
    match = azjax.play_match(run.config.game, network.player(num_simulations=2), middle, games=4, key=jax.random.key(0))
    assert match.names == ("iteration 6", "the middle") and match.games == 4
    ratings = azjax.rate_run(run, others=[middle])
    assert "the middle" in ratings.table()


# --- train, go on, open ---


def test_bad_input_is_refused_before_anything_is_written(tmp_path):
    where = tmp_path / "run"
    for game, changes, message in (
        ("tictactoe", {}, "no game named 'tictactoe'"),
        ("tic_tac_toe", {"learning_rate": 1.0}, "unknown setting learning_rate; settings: game, seed"),
        ("tic_tac_toe", {"selfplay.lanes": 0}, "selfplay.lanes must be at least 1, got 0"),
        ("tic_tac_toe", {"search.puct.c_puct": 2.0}, "has no effect with search.policy=gumbel"),
        ("tic_tac_toe", {"learner.optimizer": "sdg"}, "is not an optimiser of optax"),
        ("tic_tac_toe", {"network.make": "nowhere:make"}, "there is no module nowhere"),
        ("tic_tac_toe", {"selfplay.starts": ("@nowhere.txt",)}, "cannot read nowhere.txt"),
        ("go", {"game.size": 19, "selfplay.lanes": 2**20, "devices": 1}, "would fit [0-9]+ games: lower search"),
        ("tic_tac_toe", {"replay.capacity": 2**40, "devices": 1}, "the replay of .* lower replay.capacity"),
        ("tic_tac_toe", {"rating.games": 10**9, "devices": 1}, "rating: .* or set rating.every=-1"),
    ):
        with pytest.raises(ValueError, match=message):
            azjax.train_game(game, where, changes)
        assert not where.exists()


@pytest.mark.slow
def test_a_run_goes_on_and_is_opened(tmp_path, capsys):
    """Silently, unless a bar is wanted; a file of start positions is read, and the run stands alone."""
    (tmp_path / "openings.txt").write_text("# two of them\nstartpos\n\nstartpos moves b2\n")
    changes = {**TINY, "iterations": 2, "selfplay": {**CHANGES["selfplay"], "starts": (f"@{tmp_path}/openings.txt",)}}
    run = azjax.train_game("tic_tac_toe", tmp_path / "run", changes)
    assert run.config.selfplay.starts == ("startpos", "startpos moves b2")
    printed = capsys.readouterr()
    assert not printed.out and not printed.err
    (tmp_path / "openings.txt").unlink()
    run = azjax.resume(tmp_path / "run", {"iterations": 4}, progress=True)
    assert "Going on after iteration 2." in capsys.readouterr().out
    assert [row["iteration"] for row in azjax.open_run(str(tmp_path / "run")).metrics()] == [1, 2, 3, 4]
    with pytest.raises(azjax.RunError, match=r"cannot change when it goes on:\n  seed: 0 -> 1"):
        azjax.resume(tmp_path / "run", {"seed": 1})
    with pytest.raises(azjax.RunError, match="is not a run of azjax"):
        azjax.open_run(tmp_path)


def test_ctrl_c_is_raised_when_everything_is_saved(tmp_path, monkeypatch):
    from azjax import api
    from azjax.runs.session import Outcome

    monkeypatch.setattr(api, "train_run", lambda run, reporter: Outcome("interrupted", 1, 0.0, signal=2))
    with pytest.raises(KeyboardInterrupt):
        azjax.train_game("tic_tac_toe", tmp_path / "run", TINY)


# --- a trained network ---


@pytest.fixture(scope="module")
def chess_network():
    """Untrained, of a game whose policies are lists of legal moves inside, and as wide as the actions here."""
    config = azjax.replace(azjax.Config(Chess()), {"network": {"blocks": 0, "channels": 2, "value_hidden": 2}})
    evaluator = azjax.network.make_network(config.game, config.network)  # pyright: ignore
    variables = evaluator.init(jax.random.key(0))
    params = jax.tree.map(lambda x: x + 0.1 * jax.random.normal(jax.random.key(1), x.shape), variables.params)
    variables = variables._replace(params=params)
    return azjax.TrainedNetwork(config.game, config.network, config.search, variables, 0, 0, 0.0)


def test_evaluations_are_probabilities_of_legal_moves(chess_network):
    states = random_states(Chess(), 4, 30)
    policy, value = chess_network.evaluate(states)
    legal = jax.vmap(Chess().legal_action_mask)(states)
    assert policy.shape == legal.shape and value.shape == (4,)
    np.testing.assert_allclose(policy.sum(-1), 1, atol=1e-5)
    assert ((policy > 0) == legal).all() and (np.abs(value) <= 1).all()


def test_an_analysis_is_the_search_over_all_actions(chess_network):
    state = jax.tree.map(lambda x: x[0], random_states(Chess(), 1, 30))
    found = chess_network.search(state, num_simulations=8)
    legal = np.asarray(Chess().legal_action_mask(state))
    assert found.policy.shape == found.visit_counts.shape == found.qvalues.shape == (Chess().num_actions,)
    assert found.visit_counts.sum() == 8 and found.policy.sum() == pytest.approx(1, abs=1e-5)
    assert not found.visit_counts[~legal].any() and not found.policy[~legal].any()
    assert found.main_line[0] == found.action and legal[found.action]
    config = chess_network.search_config.with_simulations(8)
    evaluate = azjax.network.make_network(Chess(), chess_network.config).evaluate  # pyright: ignore
    batch = jax.tree.map(lambda x: x[None], state)
    inside = jax.jit(make_search(Chess(), evaluate, config))(chess_network.variables, jax.random.key(0), batch)
    assert found.action == inside.action[0] and found.value == inside.value[0]
    np.testing.assert_array_equal(np.sort(found.visit_counts)[-8:], np.sort(inside.visit_counts[0])[-8:])
    thought = chess_network.thinker(num_simulations=8).think(state, jax.random.key(0))
    assert thought.action == found.action and thought.line == found.main_line
    assert int(chess_network.player(num_simulations=8).act(chess_network.variables, jax.random.key(0), batch)[0]) == (
        found.action
    )
    with pytest.raises(ValueError, match="num_simulations=0; it must be at least 1"):
        chess_network.search(state, num_simulations=0)


def test_games_are_by_name_or_made(tmp_path):
    """A game of other settings, or a whole configuration, is taken as it is."""
    config = azjax.replace(azjax.preset(envs.make("hex", size=4)), {"iterations": 1})
    assert config.game == envs.make("hex", size=4)
    with pytest.raises(ValueError, match=r"selfplay\.lanes must be at least 1"):
        azjax.train_game(config, tmp_path / "run", {"selfplay.lanes": 0})
