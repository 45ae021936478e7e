"""Slots: a search on the legal actions alone equals the search on the full width (law 6), up to the loss."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from positions import NOTHING, hashed, random_states
from tiny import tiny_config
from wide_game import Wide

import envs
from azjax import learner
from azjax.config import LearnerConfig, SearchConfig
from azjax.network import make_network
from azjax.replay import Sample
from azjax.search import make_gumbel, make_puct, slots
from azjax.train import make_trainer

SLOTS, FULL = Wide(slots=True), Wide(slots=False)
MAKE = {"gumbel": make_gumbel, "puct": make_puct}


@functools.cache
def found(game, policy):
    states = random_states(game, 48, 8)
    search = MAKE[policy](game, hashed(63), SearchConfig(policy=policy, num_simulations=64), explore=False)
    return states, jax.jit(search)(NOTHING, jax.random.key(0), states)


@pytest.mark.parametrize("policy", MAKE)
def test_search_on_slots_equals_search_on_the_full_width(policy):
    """Law 6, after mapping back: visits and actions exactly, values and targets up to rounding."""
    (states, narrow), (same, wide) = found(SLOTS, policy), found(FULL, policy)
    jax.tree.map(np.testing.assert_array_equal, states, same)
    listed = slots.make_slots(SLOTS, states)
    assert narrow.visit_counts.shape == (48, 9) and wide.visit_counts.shape == (48, 63)
    np.testing.assert_array_equal(slots.scatter(SLOTS, narrow.visit_counts, listed), wide.visit_counts)
    np.testing.assert_array_equal(narrow.action, wide.action)
    np.testing.assert_allclose(slots.scatter(SLOTS, narrow.action_weights, listed), wide.action_weights, atol=1e-5)
    np.testing.assert_allclose(slots.scatter(SLOTS, narrow.qvalues, listed), wide.qvalues, atol=1e-6)
    np.testing.assert_allclose(narrow.value, wide.value, atol=1e-6)
    np.testing.assert_array_equal(narrow.main_line[:, 0], narrow.action)
    assert np.all(jax.vmap(SLOTS.is_legal)(states, narrow.action))


def test_slots_are_the_identity_where_the_widths_are_near():
    """Then they cost nothing: no action list is made or kept, and gathering is no operation."""
    for name in ("connect_four", "gomoku", "dots_and_boxes", "tic_tac_toe"):
        game = envs.make(name)
        states = random_states(game, 2, 1)
        listed = slots.make_slots(game, states)
        assert listed.actions is None and slots.num_slots(game) == game.num_actions
        logits = jnp.ones((2, game.num_actions))
        assert slots.gather(logits, listed) is logits and slots.scatter(game, logits, listed) is logits


def test_gather_and_scatter_are_inverse_on_legal_actions():
    states = random_states(SLOTS, 32, 8)
    listed = slots.make_slots(SLOTS, states)
    legal = jax.vmap(SLOTS.legal_action_mask)(states)
    values = jax.random.normal(jax.random.key(0), (32, 63))
    back = slots.scatter(SLOTS, jnp.where(listed.legal, slots.gather(values, listed), 0.0), listed)
    np.testing.assert_array_equal(back, jnp.where(legal, values, 0.0))
    np.testing.assert_array_equal(listed.legal.sum(-1), legal.sum(-1))


@pytest.mark.parametrize("symmetries", [False, True])
def test_loss_and_gradient_on_slots_equal_those_of_the_full_width(symmetries):
    """Law 6 up to the loss: the same samples, turned alike, with targets in slots and in full."""
    states, narrow = found(SLOTS, "puct")
    targets = {
        SLOTS: narrow.action_weights,
        FULL: slots.scatter(SLOTS, narrow.action_weights, slots.make_slots(SLOTS, states)),
    }
    outcome = jax.random.choice(jax.random.key(1), jnp.array([-1.0, 0.0, 1.0]), (48,))
    config, results = LearnerConfig(symmetries=symmetries), []
    for game, target in targets.items():
        network = make_network(game, tiny_config().network)
        params, stats = network.init(jax.random.key(0))
        params = jax.tree.map(lambda x: x + 0.1 * jnp.sin(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape), params)
        batch = learner.make_batch(game, config, Sample(states, target, outcome, outcome), jax.random.key(2))
        loss = functools.partial(learner.loss, network, config)
        gradient, (_, metrics) = jax.grad(loss, has_aux=True)(params, stats, batch)
        results.append((gradient, metrics))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-6), *results)


def test_targets_stay_sparse_from_search_to_learner():
    """A run on slots plays, keeps 9 weights a position instead of 63, and learns the same rules as any run."""
    config = tiny_config({"search": {"policy": "puct"}}, game="wide_game:Wide")
    mesh = jax.make_mesh((1,), ("data",), devices=jax.devices()[:1], axis_types=(jax.sharding.AxisType.Auto,))
    trainer = make_trainer(config, mesh)
    run = trainer.init()
    for _ in range(config.iterations):
        run, metrics = trainer.iterate(run)
    assert run.replay.moves.policy_target.shape[-1] == 9
    assert int(run.updates) > 0 and np.isfinite(metrics["loss"])
    kept = np.asarray(run.replay.moves.policy_target, np.float32).sum(-1)
    np.testing.assert_allclose(kept[kept > 0], 1, atol=2e-3)
    assert int(metrics["games"]) > 10
