"""Positions and networks that the tests of the search share."""

import functools

import jax
import jax.numpy as jnp

from azjax.network import Variables

NOTHING = Variables((), ())
"""The variables of networks that have none."""


@functools.cache
def uniform(actions):
    """A network that knows nothing."""

    def evaluate(variables, observations):
        del variables
        rows = observations.shape[0]
        return jnp.zeros((rows, actions)), jnp.zeros(rows)

    return evaluate


@functools.cache
def hashed(actions):
    """A network with definite opinions that mean nothing, on illegal actions too; rounded, so that they do not depend
    on the batch that a position is in."""

    def evaluate(variables, observations):
        del variables
        flat = observations.reshape(observations.shape[0], -1).astype(jnp.float32)
        weights = jax.random.normal(jax.random.key(7), (flat.shape[1], actions + 1))
        mixed = jnp.round(1024 * jnp.sin(3 * flat @ weights)) / 1024
        return 8 * mixed[:, :-1], mixed[:, -1]

    return evaluate


def play_out(game, moves):
    """The state after some moves."""
    state = game.init()
    for move in moves:
        state, _ = game.step(state, jnp.int32(move))
    return state


def stack(states):
    """A batch of states."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


@functools.cache
def random_states(game, count, most_plies):
    """Live positions of random games of 0 to `most_plies` plies."""

    def one(key):
        plies = jax.random.randint(key, (), 0, most_plies + 1)

        def body(ply, state):
            mask = game.legal_action_mask(state)
            draw = jax.random.uniform(jax.random.fold_in(key, ply), mask.shape)
            after, transition = game.step(state, jnp.argmax(jnp.where(mask, draw, -1)).astype(jnp.int32))
            plays = (ply < plies) & ~transition.terminated
            return jax.tree.map(lambda new, old: jnp.where(plays, new, old), after, state)

        return jax.lax.fori_loop(0, most_plies, body, jax.tree.map(jnp.asarray, game.init()))

    return jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(5), count))
