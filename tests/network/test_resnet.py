"""The network: laws of initialisation, inference and batch statistics, and the convolution's own gradient."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import envs
from azjax.config import NetworkConfig
from azjax.network import Variables, make_network
from azjax.network.resnet import convolve

GAME = envs.make("connect_four")
SMALL = NetworkConfig(blocks=1, channels=8, value_hidden=8)


def observations(rows):
    return jax.random.bernoulli(jax.random.key(1), 0.4, (rows, *GAME.observation_shape))


def trained(config):
    """Variables of a network whose last layers are no longer zero, and whose batch statistics have moved."""
    variables = make_network(GAME, config).init(jax.random.key(0))
    leaves, tree = jax.tree.flatten(variables.params)
    keys = jax.random.split(jax.random.key(2), len(leaves))
    params = [leaf + 0.3 * jax.random.normal(key, leaf.shape) for leaf, key in zip(leaves, keys, strict=True)]
    return Variables(jax.tree.unflatten(tree, params), jax.tree.map(lambda x: x + 0.1, variables.batch_stats))


def test_first_policy_is_uniform_and_first_value_zero():
    network = make_network(GAME, SMALL)
    logits, value = jax.jit(network.evaluate)(network.init(jax.random.key(0)), observations(5))
    assert logits.shape == (5, 7)
    assert value.shape == (5,)
    np.testing.assert_array_equal(logits, 0)
    np.testing.assert_array_equal(value, 0)


@pytest.mark.parametrize("normalisation", ["batch", "layer"])
def test_a_row_does_not_depend_on_its_companions(normalisation):
    """Law 13."""
    config = dataclasses.replace(SMALL, normalisation=normalisation)
    evaluate = jax.jit(make_network(GAME, config).evaluate)
    variables = trained(config)
    batch = observations(64)
    together = evaluate(variables, batch)
    alone = evaluate(variables, batch[:1])
    np.testing.assert_allclose(together[0][:1], alone[0], atol=1e-5)
    np.testing.assert_allclose(together[1][:1], alone[1], atol=1e-5)
    assert float(jnp.std(together[1])) > 1e-3  # the rows do differ


def test_a_policy_of_planes_follows_the_board():
    """What lies one row further up gives the same logits for the squares one row further up, away from the edges."""
    game = envs.make("gomoku", size=15)
    config = NetworkConfig(blocks=1, channels=8, value_hidden=8, policy_head="planes")
    network = make_network(game, config)
    fresh = network.init(jax.random.key(0))
    np.testing.assert_array_equal(network.evaluate(fresh, jnp.zeros((1, *game.observation_shape)))[0], 0)
    keys = iter(jax.random.split(jax.random.key(2), len(jax.tree.leaves(fresh.params))))
    params = jax.tree.map(lambda x: x + 0.3 * jax.random.normal(next(keys), x.shape), fresh.params)
    seen = (
        jnp.zeros((1, *game.observation_shape))
        .at[0, 5:10, 5:10]
        .set(jax.random.normal(jax.random.key(1), (5, 5, game.observation_shape[-1])))
    )
    moved = jnp.roll(seen, 1, axis=1)
    logits, _ = network.evaluate(fresh._replace(params=params), jnp.concatenate([seen, moved]))
    here, there = np.asarray(logits).reshape(2, 15, 15)
    np.testing.assert_allclose(there[6:10, 6:9], here[5:9, 6:9], rtol=1e-4)
    assert np.std(here[5:9, 6:9]) > 0.01


def test_a_chess_policy_of_planes_has_73_for_each_square():
    config = dataclasses.replace(SMALL, policy_head="planes")
    variables = jax.eval_shape(make_network(envs.make("chess"), config).init, jax.random.key(0))
    assert variables.params["policy_out"]["kernel"].shape == (8, 73)


def test_batch_statistics_change_in_training_only():
    network = make_network(GAME, SMALL)
    variables = trained(SMALL)
    _, value, batch_stats = jax.jit(network.learn)(variables.params, variables.batch_stats, observations(16))
    moved = jax.tree.map(lambda a, b: bool(jnp.any(a != b)), batch_stats, variables.batch_stats)
    assert all(jax.tree.leaves(moved))
    assert jax.tree.structure(batch_stats) == jax.tree.structure(variables.batch_stats)
    # Training normalises by the batch at hand, inference by the running statistics.
    inference = jax.jit(network.evaluate)(variables, observations(16))[1]
    assert float(jnp.max(jnp.abs(inference - value))) > 1e-4


def test_layer_normalisation_has_no_batch_statistics():
    variables = make_network(GAME, dataclasses.replace(SMALL, normalisation="layer")).init(jax.random.key(0))
    assert not jax.tree.leaves(variables.batch_stats)


def test_bfloat16_computes_near_float32_with_float32_parameters():
    config = dataclasses.replace(SMALL, dtype="bfloat16")
    variables = trained(SMALL)
    assert all(
        leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(make_network(GAME, config).init(jax.random.key(0)))
    )
    exact = jax.jit(make_network(GAME, SMALL).evaluate)(variables, observations(16))
    rough = jax.jit(make_network(GAME, config).evaluate)(variables, observations(16))
    assert rough[0].dtype == rough[1].dtype == jnp.float32
    np.testing.assert_allclose(rough[0], exact[0], rtol=0.1, atol=0.1)
    assert float(jnp.max(jnp.abs(rough[0] - exact[0]))) > 0


def test_sizes_come_from_the_configuration():
    def count(config):
        shapes = jax.eval_shape(make_network(GAME, config).init, jax.random.key(0))
        return sum(leaf.size for leaf in jax.tree.leaves(shapes.params))

    def by_hand(blocks, channels, hidden):
        cells, planes = 6 * 7, 2
        tower = 9 * planes * channels + 2 * channels + blocks * 2 * (9 * channels**2 + 2 * channels)
        policy = channels * 2 + 2 * 2 + cells * 2 * 7 + 7
        value = channels + 2 + cells * hidden + hidden + hidden + 1
        return tower + policy + value

    assert count(NetworkConfig(blocks=4, channels=32, value_hidden=64)) == by_hand(4, 32, 64)
    assert count(NetworkConfig(blocks=2, channels=16, value_hidden=32)) == by_hand(2, 16, 32)


def test_equal_arguments_give_the_same_network():
    equal = NetworkConfig(blocks=1, channels=8, value_hidden=8)
    assert make_network(GAME, SMALL) is make_network(envs.make("connect_four"), equal)


@pytest.mark.parametrize("size", [1, 3])
def test_gradient_of_the_convolution_is_that_of_xla(size):
    x = jax.random.normal(jax.random.key(0), (3, 5, 4, 6))
    kernel = jax.random.normal(jax.random.key(1), (size, size, 6, 7))
    weights = jax.random.normal(jax.random.key(2), (3, 5, 4, 7))

    def by_xla(x, kernel):
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    ours = jax.grad(lambda *args: jnp.sum(convolve(*args) * weights), argnums=(0, 1))(x, kernel)
    theirs = jax.grad(lambda *args: jnp.sum(by_xla(*args) * weights), argnums=(0, 1))(x, kernel)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


def test_variables_are_plain_arrays():
    variables = make_network(GAME, SMALL).init(jax.random.key(0))
    assert isinstance(variables, Variables)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(variables))
