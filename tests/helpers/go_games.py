"""Random games of Go for the tests: many lanes, every ply, with captures and kos made likely."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from envs.go import Go


class Games(NamedTuple):
    """[time, lane] each, as NumPy arrays."""

    mask: Any
    action: Any
    player: Any
    transition: Any


def random_games(game: Go, lanes: int, *, seed: int = 0, passes: float = 0.02) -> Games:
    """Games from the empty board. A pass is played as rarely as said; points that capture four times as often."""

    def pick(state, mask, key):
        pass_key, key = jax.random.split(key)
        grid, opponent = game._grid, state.boards[0, 1 - state.player]
        captures = grid.points(grid.near(opponent & state.atari)).reshape(-1)
        points = jnp.where(mask[:-1], jnp.where(captures, jnp.log(4.0), 0.0), -jnp.inf)
        passing = (jax.random.uniform(pass_key) < passes) | ~mask[:-1].any()
        return jnp.where(passing, game.size**2, jax.random.categorical(key, points)).astype(jnp.int32)

    def ply(state, key):
        mask = game.legal_action_mask(state)
        action = pick(state, mask, key)
        after, transition = game.step(state, action)
        return after, Games(mask, action, state.player, transition)

    def play(key):
        return jax.lax.scan(ply, game.init(), jax.random.split(key, game.max_moves))[1]

    played = jax.jit(jax.vmap(play, out_axes=1))(jax.random.split(jax.random.key(seed), lanes))
    return jax.tree.map(np.asarray, played)


LONG = pytest.mark.skipif(
    not os.environ.get("AZJAX_LONG_TESTS"), reason="takes minutes: set AZJAX_LONG_TESTS=1 to run it"
)
"""Marks tests for which the suite has no time."""
