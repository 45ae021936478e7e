"""Start positions: what games begin with where they are not to begin at the usual start, as for an ending."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from envs.core import Game

USUAL = "startpos"


@functools.lru_cache(maxsize=8)
def read_starts(game: Game, lines: tuple[str, ...]) -> Any:
    """The states that these lines describe, stacked [start, ...] as NumPy arrays; None for no lines.

    A line is a position in the game's notation (FEN for chess) or "startpos", and may go on with "moves" and the moves
    from there: "startpos moves e2e4 e7e5". Raises ValueError, naming the line, for one that is none, or where the game
    is over.
    """
    step = jax.jit(game.step)
    states = []
    for number, line in enumerate(lines, 1):
        try:
            position, _, moves = line.strip().partition(" moves ")
            state = game.init() if position == USUAL else game.from_text(position)
            for move in moves.split():
                state, _ = step(state, jnp.int32(game.action_from_text(state, move)))
            if state.terminated:
                raise ValueError(f"the game is over in {line!r}")
        except ValueError as error:
            raise ValueError(f"start position {number}: {error}") from error
        states.append(jax.tree.map(np.asarray, state))
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states) if states else None


def draw_start(game: Game, starts: Any, key: Array) -> tuple[Any, Int[Array, ""]]:
    """One of the start positions, uniformly drawn, and which; the usual one, and 0, where `starts` is None.

    Consumes the key.
    """
    if starts is None:
        return jax.tree.map(jnp.asarray, game.init()), jnp.int32(0)
    which = jax.random.randint(key, (), 0, len(starts.terminated), jnp.int32)
    return jax.tree.map(lambda x: jnp.asarray(x)[which], starts), which
