"""Perft: how many ways there are to play so many legal moves from a position. A finished game has none."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import envs

CHUNK = 1024


@functools.cache
def _programs(game: envs.Game):
    def moves(states):
        lists = jax.vmap(game.legal_actions)(states)
        return lists, jnp.sum(lists < game.num_actions, axis=-1)

    def follow(states, parents, actions):
        return jax.vmap(game.step)(jax.tree.map(lambda x: x[parents], states), actions)[0]

    return jax.jit(moves), jax.jit(follow)


def perft(game: envs.Game, state: Any, depth: int) -> list[int]:
    """The counts for 1 to `depth` moves, by the legal lists of whole batches of positions."""
    moves, follow = _programs(game)
    level = jax.tree.map(lambda x: np.asarray(x)[None], state)
    counts = []
    for ply in range(depth):
        count, next_level = 0, []
        for first in range(0, len(level.player), CHUNK):
            chunk = jax.tree.map(lambda x: x[first : first + CHUNK], level)  # noqa: B023
            size = len(chunk.player)
            padded = jax.tree.map(lambda x: np.concatenate([x, np.repeat(x[:1], CHUNK - len(x), 0)]), chunk)
            lists, numbers = jax.device_get(moves(padded))
            count += int(numbers[:size].sum())
            if ply + 1 == depth:
                continue
            parents, columns = np.nonzero(lists[:size] < game.num_actions)
            actions = lists[parents, columns]
            for start in range(0, len(parents), CHUNK):
                p, a = parents[start : start + CHUNK], actions[start : start + CHUNK]
                fill = CHUNK - len(p)
                children = jax.device_get(follow(padded, np.pad(p, (0, fill)), np.pad(a, (0, fill))))
                next_level.append(jax.tree.map(lambda x: x[: len(p)], children))  # noqa: B023
        counts.append(count)
        if next_level:
            level = jax.tree.map(lambda *x: np.concatenate(x), *next_level)
        elif ply + 1 < depth:
            return counts + [0] * (depth - ply - 1)
    return counts
