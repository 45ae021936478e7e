"""Networks of a user's own: every kind is one like the built-in one, is kept in the run, and what does not fit is
refused."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import own_network
import pytest
from positions import random_states
from rich.console import Console
from tiny import assert_equal_trees, tiny_config

import envs
from azjax import cli, learner
from azjax.config import NetworkConfig
from azjax.devices.mesh import make_mesh
from azjax.network import make_network
from azjax.runs.checkpoint import abstract
from azjax.runs.directory import RunDirectory, RunError
from azjax.runs.progress import PlainReporter
from azjax.runs.session import train_run
from azjax.train import make_trainer

GAME = envs.make("tic_tac_toe")
KINDS = ("perceptron", "squeeze", "equivariant", "knows_nothing")


def network_of(name, game=GAME):
    return make_network(game, NetworkConfig(make=f"own_network:{name}", channels=4))


def observations(count):
    return jax.vmap(GAME.observe)(random_states(GAME, count, 6))


# --- laws ---


@pytest.mark.parametrize("name", KINDS)
def test_rows_are_independent_when_it_plays(name):
    """Law 13, in evaluation: batch statistics are those that learning has left."""
    network = network_of(name)
    variables = network.init(jax.random.key(0))
    batch = observations(16)
    *_, stats = network.learn(*variables, batch)
    moved = variables._replace(batch_stats=stats)
    logits, value = jax.jit(network.evaluate)(moved, batch)
    assert logits.shape == (16, 9) and value.shape == (16,) and logits.dtype == value.dtype == jnp.float32
    alone = network.evaluate(moved, batch[:1])
    np.testing.assert_allclose(logits[:1], alone[0], atol=1e-5)
    np.testing.assert_allclose(value[:1], alone[1], atol=1e-5)


def test_an_equivariant_network_turns_with_the_board():
    network = network_of("equivariant")
    variables, batch = network.init(jax.random.key(0)), observations(16)
    logits, value = network.evaluate(variables, batch)
    assert jnp.std(logits) > 1e-3
    for symmetry in GAME.symmetries:
        turned, same = network.evaluate(variables, jax.vmap(symmetry.observation)(batch))
        np.testing.assert_allclose(turned[:, symmetry.actions], logits, atol=1e-5)
        np.testing.assert_allclose(same, value, atol=1e-5)


@pytest.mark.parametrize("name", ["squeeze", "equivariant"])
def test_batch_normalisation_learns_from_the_batch_and_plays_from_the_means(name):
    network, batch = network_of(name), observations(16)
    variables = network.init(jax.random.key(0))
    logits, _, stats = network.learn(*variables, batch)
    assert any(np.any(a != b) for a, b in zip(*map(jax.tree.leaves, (stats, variables.batch_stats)), strict=True))
    assert np.abs(logits - network.evaluate(variables, batch)[0]).max() > 1e-4
    for _ in range(600):  # the running means reach the batch's own
        *_, stats = network.learn(variables.params, stats, batch)
    near = network.evaluate(variables._replace(batch_stats=stats), batch)[0]
    np.testing.assert_allclose(near, logits, atol=2e-2)


@pytest.mark.parametrize("name", KINDS)
def test_learning_lowers_the_loss(name):
    network, config = network_of(name), learner.LearnerConfig(learning_rate=0.02, average_decay=0.5)
    optimizer = learner.make_optimizer(config, total_updates=1)
    state = learner.init_learner(network, optimizer, jax.random.key(0))
    states = random_states(GAME, 32, 6)
    legal = jax.vmap(GAME.legal_action_mask)(states)
    target = legal / legal.sum(-1, keepdims=True)
    batch = learner.Batch(jax.vmap(GAME.observe)(states), learner.make_slots(GAME, states), target, jnp.full(32, 0.5))
    step = jax.jit(lambda state: learner.train_step(network, optimizer, config, state, batch))
    losses = []
    for _ in range(30):
        state, metrics = step(state)
        losses.append(float(metrics["value_loss"]))
    assert losses[-1] < 0.5 * losses[0]
    assert np.isfinite(jax.tree.leaves(state.average.params)[0]).all()
    if name == "knows_nothing":
        assert int(state.average.batch_stats) == 30, "a counter is not averaged"


# --- in a run ---


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A directory of the user's, on Python's path, with a network in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    shutil.copyfile(own_network.__file__, "my_net.py")
    yield tmp_path
    sys.modules.pop("my_net", None)


@pytest.mark.slow
def test_a_run_goes_on_bit_for_bit_with_the_network_it_began_with(here):
    """Whatever becomes of the file, and wherever the run is moved."""
    config = tiny_config({"iterations": 4, "devices": 1, "network.make": "my_net:squeeze"})
    whole = RunDirectory.create(here / "whole", config)
    train_run(whole, PlainReporter(Console()))
    RunDirectory.create(here / "first", tiny_config({**vars_of(config), "iterations": 2}))
    train_run(RunDirectory.open(here / "first"), PlainReporter(Console()))
    (here / "my_net.py").write_text("raise RuntimeError('gone')")
    shutil.move(here / "first", here / "moved")
    half = RunDirectory.open(here / "moved")
    half.change(tiny_config({**vars_of(half.config), "iterations": 4}))
    train_run(half, PlainReporter(Console()))
    states = []
    for run in (whole, RunDirectory.open(here / "moved")):
        trainer = make_trainer(run.config, make_mesh(run.config))
        checkpoints = run.checkpoints()
        states.append(checkpoints.restore_newest(abstract(trainer.init, trainer.shardings))[:2])
        checkpoints.close()
    assert states[0][0] == states[1][0] == 4
    assert_equal_trees(states[0][1], states[1][1])


def vars_of(config):
    """The changes that make the tiny run this one."""
    return {"devices": config.devices, "network.make": config.network.make}


def test_another_network_is_not_taken_for_the_runs(here):
    config = tiny_config({"network.make": "my_net:perceptron"})
    run = RunDirectory.create(here / "run", config)
    assert (here / "run" / "network.py").read_text() == (here / "my_net.py").read_text()
    again = RunDirectory.create(here / "run", config)
    assert again.config == run.config
    assert make_network(GAME, again.config.network) is make_network(GAME, run.config.network)
    with (here / "my_net.py").open("a") as file:
        file.write("\n# another one\n")
    with pytest.raises(RunError, match=r"network.make: .*my_net.py is not what it was when the run began"):
        RunDirectory.create(here / "run", config)
    with pytest.raises(RunError, match=r"network.make: .*network.py:perceptron -> .*network.py:squeeze"):
        RunDirectory.create(here / "run", tiny_config({"network.make": "my_net:squeeze"}))
    (here / "run" / "network.py").write_text((here / "my_net.py").read_text())
    changed = RunDirectory.open(here / "run")
    assert make_network(GAME, changed.config.network) is not make_network(GAME, config.network)


@pytest.mark.slow
def test_every_command_takes_it(here, capsys):
    tiny = "--devices 1 --iterations 4 --minutes 0 --selfplay.lanes 4 --selfplay.moves 6 --selfplay.opening-plies 2"
    tiny += " --replay.capacity 96 --replay.min-fill 24 --learner.batch-size 8 --learner.updates 2 --rating.games 4"
    tiny += " --search.num-simulations 4 --rating.num-simulations 2 --network.channels 4"
    for words in (
        f"train tic_tac_toe --network my_net:perceptron --run-dir run {tiny}",
        "train --resume run --iterations 5",
        "elo run --games 4",
        "check run --num-simulations 2",
        "play run --num-simulations 2 --you none",
    ):
        capsys.readouterr()
        assert cli.main(words.split()) == 0, capsys.readouterr().err
        assert not capsys.readouterr().err
    assert cli.main(f"train tic_tac_toe --network=my_net:too_wide --run-dir other {tiny}".split()) == 2
    assert "the network my_net:too_wide does not fit TicTacToe(): evaluate returns logits" in capsys.readouterr().err
    assert not Path("other").exists()


# --- what does not fit ---


@pytest.mark.parametrize(
    "name, message",
    [
        ("own_network", "network.make='own_network' is neither resnet nor module:function nor file.py:function"),
        ("nowhere:make", "no network 'nowhere:make': there is no module nowhere on Python's path"),
        ("nowhere.py:make", "no network 'nowhere.py:make': there is no file nowhere.py"),
        ("own_network:nothing", "no network 'own_network:nothing': module '.*' has no attribute 'nothing'"),
        ("own_network:number", "'own_network:number' is not a function make.game, config. that makes a network: 3"),
        ("own_network:fails", "own_network:fails cannot be made for TicTacToe.*: this board is too small for me"),
        ("own_network:built_already", "got an NNX module that is built already, Squeeze; return a function"),
        (
            "own_network:too_wide",
            r"does not fit TicTacToe\(\): evaluate returns logits float32\[2, 10\] for 2 positions, expected floats of "
            r"shape \[2, 9\]",
        ),
        ("own_network:column_of_values", r"evaluate returns values float32\[2, 1\] .*expected floats of shape \[2\]"),
    ],
)
def test_what_is_no_network_for_the_game_is_refused(name, message):
    with pytest.raises(ValueError, match=message):
        make_network(GAME, NetworkConfig(make=name, channels=4))


def test_a_file_that_fails_says_so(here):
    (here / "broken.py").write_text("import nothing_like_this\n")
    with pytest.raises(ValueError, match=r"no network 'broken.py:make': ModuleNotFoundError: No module named 'nothing"):
        make_network(GAME, NetworkConfig(make="broken.py:make"))
