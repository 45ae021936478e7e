"""Networks of a user's own, one of each kind that `network.make` takes: the smallest that do something."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import linen, nnx

import azjax


def perceptron(game, config):
    """Two layers, as a pair of pure functions."""
    sizes = (game.observation_shape[0] * game.observation_shape[1] * game.observation_shape[2], config.channels)

    def init(key):
        hidden_key, policy_key = jax.random.split(key)
        return {
            "hidden": jax.random.normal(hidden_key, sizes) / sizes[0] ** 0.5,
            "policy": 0.1 * jax.random.normal(policy_key, (config.channels, game.num_actions)),
            "value": jnp.zeros((config.channels, 1)),
        }

    def apply(params, observations):
        hidden = jax.nn.relu(observations.reshape(observations.shape[0], -1) @ params["hidden"])
        return hidden @ params["policy"], jnp.tanh(hidden @ params["value"])[:, 0]

    return init, apply


class Squeeze(nnx.Module):
    """A convolution with batch normalisation, whose channels are weighed by what is on the whole board (a squeeze and
    excitation block, Hu et al. 2018)."""

    def __init__(self, planes, channels, num_actions, *, rngs):
        self.conv = nnx.Conv(planes, channels, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(channels, rngs=rngs)
        self.squeeze = nnx.Linear(channels, 2, rngs=rngs)
        self.excite = nnx.Linear(2, channels, rngs=rngs)
        self.policy = nnx.Linear(channels, num_actions, rngs=rngs)
        self.value = nnx.Linear(channels, 1, rngs=rngs)

    def __call__(self, x):
        x = jax.nn.relu(self.norm(self.conv(x)))
        weight = jax.nn.sigmoid(self.excite(jax.nn.relu(self.squeeze(x.mean((1, 2))))))
        pooled = (x * weight[:, None, None]).mean((1, 2))
        return self.policy(pooled), jnp.tanh(self.value(pooled))[:, 0]


def squeeze(game, config):
    """NNX, switched to learning and back by its train() and eval()."""
    planes = game.observation_shape[-1]
    return lambda rngs: Squeeze(planes, config.channels, game.num_actions, rngs=rngs)


class Equivariant(linen.Module):
    """A policy of one logit a square that turns with the board: the mean over the game's symmetries of what a small
    network says of each turned position, turned back. For square boards whose action a is square a."""

    channels: int

    @linen.compact
    def __call__(self, x, train: bool):
        conv = linen.Conv(self.channels, (3, 3))
        norm = linen.BatchNorm(use_running_average=not train)
        head, value = linen.Conv(1, (1, 1)), linen.Dense(1)
        turned = jnp.concatenate([self.turn(x, turns, mirrored) for turns in range(4) for mirrored in (False, True)])
        features = jax.nn.relu(norm(conv(turned)))
        back = [
            self.turn_back(logits, turns, mirrored)
            for logits, (turns, mirrored) in zip(
                jnp.split(head(features), 8), [(t, m) for t in range(4) for m in (False, True)], strict=True
            )
        ]
        values = jnp.tanh(value(features.mean((1, 2))))[:, 0]
        return jnp.stack(back).mean(0).reshape(x.shape[0], -1), values.reshape(8, -1).mean(0)

    @staticmethod
    def turn(x, turns, mirrored):
        x = jnp.rot90(x, turns, (1, 2))
        return x[:, :, ::-1] if mirrored else x

    @staticmethod
    def turn_back(x, turns, mirrored):
        x = x[:, :, ::-1] if mirrored else x
        return jnp.rot90(x, -turns, (1, 2))


def equivariant(game, config):
    """Flax linen, with batch statistics and an argument `train`."""
    return Equivariant(config.channels)


def knows_nothing(game, config):
    """An Evaluator: every policy uniform, every value that of a single parameter."""

    def evaluate(variables, observations):
        rows = observations.shape[0]
        return jnp.zeros((rows, game.num_actions)), jnp.broadcast_to(jnp.tanh(variables.params), (rows,))

    def learn(params, batch_stats, observations):
        return *evaluate(azjax.Variables(params, batch_stats), observations), batch_stats + 1

    return azjax.Evaluator(lambda key: azjax.Variables(jax.random.normal(key), jnp.int32(0)), evaluate, learn)


# --- what does not fit ---


def too_wide(game, config):
    """One logit too many."""
    init, apply = perceptron(game, config)
    return init, lambda params, x: (jnp.pad(apply(params, x)[0], ((0, 0), (0, 1))), apply(params, x)[1])


def column_of_values(game, config):
    """Values [batch, 1]."""
    init, apply = perceptron(game, config)
    return init, lambda params, x: (apply(params, x)[0], apply(params, x)[1][:, None])


def built_already(game, config):
    """A module whose parameters are drawn."""
    return squeeze(game, config)(nnx.Rngs(0))


def fails(game, config):
    """Raises as it is made."""
    raise RuntimeError("this board is too small for me")


number = 3
