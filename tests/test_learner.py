"""The learner: the loss against NumPy, laws of masks and symmetries, schedules and optimisers."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import envs
from azjax import learner
from azjax.config import LearnerConfig, NetworkConfig
from azjax.network import make_network
from azjax.replay import Sample

GAME = envs.make("connect_four")
NETWORK = make_network(GAME, NetworkConfig(blocks=1, channels=8, value_hidden=8))


def samples(rows=16):
    """Positions of random games, random policies over the legal moves, random outcomes."""

    def one(key):
        def body(ply, state):
            mask = GAME.legal_action_mask(state)
            draw = jax.random.uniform(jax.random.fold_in(key, ply), mask.shape)
            after, transition = GAME.step(state, jnp.argmax(jnp.where(mask, draw, -1)).astype(jnp.int32))
            plays = (ply < jax.random.randint(key, (), 0, 36)) & ~transition.terminated
            return jax.tree.map(lambda new, old: jnp.where(plays, new, old), after, state)

        return jax.lax.fori_loop(0, 36, body, jax.tree.map(jnp.asarray, GAME.init()))

    states = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(5), rows))
    legal = jax.vmap(GAME.legal_action_mask)(states)
    policy = jax.random.uniform(jax.random.key(1), legal.shape) * legal
    outcome = jax.random.choice(jax.random.key(2), jnp.array([-1.0, 0.0, 1.0]), (rows,))
    value = jax.random.uniform(jax.random.key(3), (rows,), minval=-1)
    return Sample(states, (policy / policy.sum(-1, keepdims=True)).astype(jnp.float16), value, outcome)


def moved(variables):
    return jax.tree.map(lambda x: x + 0.1 * jnp.sin(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape), variables)


def test_loss_is_the_papers():
    config = LearnerConfig(l2=1e-3, symmetries=False)
    batch = learner.make_batch(GAME, config, samples(), jax.random.key(0))
    params, batch_stats = moved(NETWORK.init(jax.random.key(0)))
    total, (_, metrics) = learner.loss(NETWORK, config, params, batch_stats, batch)
    outputs = NETWORK.learn(params, batch_stats, batch.observation)
    logits, value = np.asarray(outputs[0], np.float64), np.asarray(outputs[1], np.float64)
    legal = np.asarray(batch.slots.legal)
    exponents = np.exp(logits) * legal
    log_policy = np.log(np.where(legal, exponents / exponents.sum(-1, keepdims=True), 1))
    policy_loss = -(np.asarray(batch.policy_target, np.float64) * log_policy).sum(-1).mean()
    value_loss = ((np.asarray(batch.value_target) - value) ** 2).mean()
    l2 = sum((np.asarray(leaf, np.float64) ** 2).sum() for leaf in jax.tree.leaves(params))
    np.testing.assert_allclose(metrics["policy_loss"], policy_loss, rtol=1e-5)
    np.testing.assert_allclose(metrics["value_loss"], value_loss, rtol=1e-5)
    np.testing.assert_allclose(total, policy_loss + value_loss + 1e-3 * l2, rtol=1e-5)
    assert not legal.all()


def test_illegal_logits_get_no_gradient():
    """Law 12 and TR-06."""
    batch = learner.make_batch(GAME, LearnerConfig(), samples(), jax.random.key(0))

    def policy_loss(logits):
        network = NETWORK._replace(learn=lambda params, stats, x: (logits, jnp.zeros(16), stats))
        return learner.loss(network, LearnerConfig(), {}, {}, batch)[0]

    gradient = jax.grad(policy_loss)(jnp.ones((16, 7)))
    assert not np.any(gradient[~batch.slots.legal])
    assert np.any(gradient[batch.slots.legal])


def test_symmetry_turns_observation_mask_and_policy_together():
    """Law 11: each augmented row equals the row of the turned position; all symmetries occur."""
    game = envs.make("gomoku", size=6, in_row=4)
    states = jax.vmap(lambda a, b: game.step(game.step(game.init(), a)[0], b)[0])(
        jnp.arange(32, dtype=jnp.int32), jnp.arange(1, 33, dtype=jnp.int32)
    )
    policy = jax.nn.softmax(jax.random.normal(jax.random.key(0), (32, 36))) * jax.vmap(game.legal_action_mask)(states)
    policy = policy / policy.sum(-1, keepdims=True)
    drawn = Sample(states, policy, jnp.zeros(32), jnp.zeros(32))
    plain = learner.make_batch(game, LearnerConfig(symmetries=False), drawn, jax.random.key(1))
    turned = learner.make_batch(game, LearnerConfig(), drawn, jax.random.key(1))
    seen = set()
    for row in range(32):
        fits = [
            number
            for number, symmetry in enumerate(game.symmetries)
            if np.array_equal(turned.observation[row], symmetry.observation(plain.observation[row]))
            and np.array_equal(turned.slots.legal[row][symmetry.actions], plain.slots.legal[row])
            and np.allclose(turned.policy_target[row][symmetry.actions], plain.policy_target[row])
        ]
        assert fits
        seen.add(fits[0])
    assert len(seen) >= 6


def test_search_value_is_mixed_into_the_value_target():
    drawn = samples()
    batch = learner.make_batch(GAME, LearnerConfig(search_value_weight=0.25), drawn, jax.random.key(0))
    np.testing.assert_allclose(batch.value_target, 0.75 * drawn.outcome + 0.25 * drawn.search_value, rtol=1e-6)


def rates(total_updates, counts, **settings):
    """Learning rates after so many updates."""
    schedule: Any = learner.make_schedule(LearnerConfig(**settings), total_updates=total_updates)
    return [float(schedule(count)) for count in counts]


def test_schedules():
    steps = rates(50, (0, 9, 11, 31), learning_rate=0.2, schedule="steps", boundaries=(10, 30))
    np.testing.assert_allclose(steps, [0.2, 0.2, 0.02, 0.002], rtol=1e-6)
    cosine = rates(110, (0, 9, 10, 60, 110), learning_rate=1.0, schedule="cosine", warmup=10)
    np.testing.assert_allclose(cosine, [0.1, 1, 1, 0.5, 0], atol=1e-6)
    np.testing.assert_allclose(rates(5, (0, 1000), learning_rate=0.3), 0.3, rtol=1e-6)


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"optimizer": "adamm"}, "not an optimiser of optax"),
        (
            {"optimizer": "sgd", "optimizer_options": {"weight_decay": 0.1}},
            "no option weight_decay; its options: momentum",
        ),
    ],
)
def test_unknown_optimisers_and_options_are_named(changes, words):
    with pytest.raises(ValueError, match=words):
        learner.make_optimizer(dataclasses.replace(LearnerConfig(), **changes), total_updates=1)


@pytest.mark.parametrize(
    "optimizer, options", [("sgd", {"momentum": 0.9}), ("adamw", {"weight_decay": 1e-4}), ("lion", {})]
)
def test_updates_reduce_the_loss_of_a_batch(optimizer, options):
    rate = 0.02 if optimizer == "sgd" else 0.005
    config = LearnerConfig(optimizer=optimizer, optimizer_options=options, learning_rate=rate, max_gradient_norm=5.0)
    transform = learner.make_optimizer(config, total_updates=60)
    batch = learner.make_batch(GAME, config, samples(), jax.random.key(0))

    @jax.jit
    def learn(state):
        return jax.lax.scan(lambda s, _: learner.train_step(NETWORK, transform, config, s, batch), state, length=60)

    state, metrics = learn(learner.init_learner(NETWORK, transform, jax.random.key(0)))
    assert metrics["policy_kl"][-1] < 0.5 * metrics["policy_kl"][0]
    assert metrics["value_loss"][-1] < 0.5 * metrics["value_loss"][0]
    assert all(bool(jnp.all(a == b)) for a, b in zip(*map(jax.tree.leaves, (state.average, state.newest)), strict=True))


def test_average_follows_the_newest_weights():
    config = LearnerConfig(average_decay=0.9, learning_rate=0.01)
    transform = learner.make_optimizer(config, total_updates=1)
    batch = learner.make_batch(GAME, config, samples(), jax.random.key(0))
    before = learner.init_learner(NETWORK, transform, jax.random.key(0))
    after, _ = jax.jit(lambda state: learner.train_step(NETWORK, transform, config, state, batch))(before)
    expected = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, before.average, after.newest)
    for ours, theirs in zip(jax.tree.leaves(after.average), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_decoupled_decay_is_optax_adamw():
    config = LearnerConfig(optimizer_options={"weight_decay": 0.1}, learning_rate=0.01)
    ours = learner.make_optimizer(config, total_updates=1)
    params = {"w": jnp.arange(3.0)}
    gradient = {"w": jnp.ones(3)}
    theirs = optax.adamw(0.01, weight_decay=0.1)
    one: Any
    other: Any
    one, _ = ours.update(gradient, ours.init(params), params)
    other, _ = theirs.update(gradient, theirs.init(params), params)
    np.testing.assert_array_equal(one["w"], other["w"])
