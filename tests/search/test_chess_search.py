"""Search, memory and training of the games with long lists of actions, on chess."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from data import CASES
from positions import NOTHING, uniform
from rich.console import Console
from tiny import tiny_config

from azjax.config import SearchConfig
from azjax.devices.memory import position_bytes
from azjax.runs.directory import RunDirectory
from azjax.runs.progress import PlainReporter
from azjax.runs.session import train_run
from azjax.search import make_search
from azjax.search.tree import tree_bytes
from envs.chess import Chess

CHESS = Chess()


def test_a_tree_of_800_simulations_fits_in_8_megabytes():
    assert tree_bytes(CHESS, 801) <= 8_000_000


def test_a_position_in_the_replay_takes_less_than_2_kilobytes():
    assert position_bytes(CHESS) <= 2_048


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["gumbel", "puct"])
def test_search_mates_and_answers_after_its_own_end(policy):
    """Two mates in one; and case SE-17, where the rules of training see a draw and a bridge still needs a move."""
    search = jax.jit(make_search(CHESS, uniform(CHESS.num_actions), SearchConfig(policy=policy, num_simulations=128)))
    drawn = CHESS.init()
    step = jax.jit(CHESS.step)
    for move in CASES["SE-17"]["input"].split("moves ")[1].split():
        drawn = drawn._replace(terminated=jnp.bool(False))  # the file's players went on
        drawn, _ = step(drawn, jnp.int32(CHESS.action_from_text(drawn, move)))
    assert CHESS.termination(drawn) == "threefold repetition"
    drawn = drawn._replace(terminated=jnp.bool(False))
    positions = ["6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1", "k2r4/8/8/8/8/8/5PPP/6K1 b - - 0 1"]
    states = [*(CHESS.from_text(text) for text in positions), drawn]
    found = search(NOTHING, jax.random.key(0), jax.tree.map(lambda *x: jnp.stack(x), *states))
    moves = [CHESS.action_to_text(s, int(a)) for s, a in zip(states, found.action, strict=True)]
    assert moves == ["d1d8", "d8d1", "h2h1"]
    assert found.action_weights.shape == (3, 218)


@pytest.mark.slow
def test_training_and_going_on(tmp_path):
    """The loss is finite, the network changes, and a run that was stopped goes on as if it had not been."""
    config = tiny_config(
        {
            "devices": 1,
            "network": {"policy_head": "planes"},
            "search": {"policy": "puct", "num_simulations": 4},
            "selfplay": {"starts": ("7k/8/5KQ1/8/8/8/8/8 w - - 0 1", "k7/2K5/8/8/8/8/8/1R6 w - - 94 60")},
        },
        game="chess",
    )
    networks = []
    for name, stops in (("straight", (4,)), ("in two", (2, 4))):
        run = RunDirectory.create(tmp_path / name, config)
        for iterations in stops:
            run.change(dataclasses.replace(config, iterations=iterations))
            train_run(run, PlainReporter(Console(quiet=True)))
        networks.append(run.load_network(4).variables)
    run = RunDirectory.open(tmp_path / "straight")
    metrics = run.metrics()[-1]
    assert metrics["learning"] and np.isfinite(metrics["loss"]) and metrics["games"] > 0
    one, other = (jax.tree.leaves(network) for network in networks)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
    first = jax.tree.leaves(run.load_network(0).variables)
    assert any((a != b).any() for a, b in zip(one, first, strict=True))
