"""Trajectories -> samples of finished games, on the device: a ring of positions per lane."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


class Trajectory(NamedTuple):
    """Moves of self-play, [time, lane] in every leaf."""

    state: Any  # before the move
    policy_target: Float[Array, "*time lanes slots"]  # float16; which actions they are, the state tells (search.slots)
    search_value: Float[Array, "*time lanes"]  # the root's, for the player to move; float16
    reward: Float[Array, "*time lanes"]  # for the player who moved
    discount: Float[Array, "*time lanes"]  # 0 where the move ended the game
    is_full: Bool[Array, "*time lanes"]  # False where the search was a cheap one, not to be learnt from


class Sample(NamedTuple):
    """Positions to learn from, [batch] in every leaf. Values are for the player to move."""

    state: Any
    policy_target: Float[Array, "*batch slots"]
    search_value: Float[Array, " *batch"]
    outcome: Float[Array, " *batch"]


class Replay(NamedTuple):
    """The newest `rows` positions of every lane. Position i of a lane, counted from its first, is in row i % rows."""

    moves: Trajectory  # [rows, lanes]
    outcome: Float[Array, "rows lanes"]  # for the player to move; meaningless until the game has ended
    written: Int[Array, ""]  # positions written so far to every lane
    finished: Int[Array, " lanes"]  # positions below this count belong to games that have ended


def init_replay(example: Trajectory, *, rows: int, lanes: int) -> Replay:
    """An empty replay. `example` is one move, without time and lane axes."""
    moves = jax.tree.map(lambda x: jnp.zeros((rows, lanes, *x.shape), x.dtype), example)
    return Replay(moves, jnp.zeros((rows, lanes)), jnp.int32(0), jnp.zeros(lanes, jnp.int32))


def add(replay: Replay, moves: Trajectory, *, max_moves: int) -> Replay:
    """Writes T new moves of every lane over its oldest ones, and outcomes backwards over the games that ended in them.

    `rows` must be a multiple of T. A game longer than the ring keeps the outcome of the positions that are still there.
    """
    rows, time = replay.outcome.shape[0], moves.reward.shape[0]
    row = replay.written % rows
    ring = jax.tree.map(lambda old, new: jax.lax.dynamic_update_slice_in_dim(old, new, row, 0), replay.moves, moves)
    written = replay.written + time
    # No game that ended in these T moves began before this window; all its other games have their outcomes, and get
    # them again, unless they have not ended.
    window = (written - 1 - jnp.arange(min(rows, time + max_moves))) % rows

    def backward(later: tuple[Array, Array], move: tuple[Array, Array, Array]) -> tuple[Any, Array]:
        outcome, known = later
        reward, discount, old = move
        known = known | (discount == 0)
        outcome = jnp.where(known, reward + discount * outcome, old)
        return (outcome, known), outcome

    start = jnp.zeros_like(replay.outcome[0]), jnp.zeros_like(replay.finished, jnp.bool)
    _, outcomes = jax.lax.scan(backward, start, (ring.reward[window], ring.discount[window], replay.outcome[window]))
    ended = moves.discount == 0
    last = time - jnp.argmax(ended[::-1], axis=0).astype(jnp.int32)  # moves up to the last game's end
    finished = jnp.where(ended.any(axis=0), replay.written + last, replay.finished)
    return Replay(ring, replay.outcome.at[window].set(outcomes), written, finished)


def eligible(replay: Replay) -> Bool[Array, "rows lanes"]:
    """Which positions may be trained on: those whose game has ended, if they were searched in full."""
    rows = replay.outcome.shape[0]
    last = replay.written - 1
    position = last - (last - jnp.arange(rows)) % rows  # the newest that went into each row; below 0 there is none
    ended = (position >= 0)[:, None] & (position[:, None] < replay.finished[None])
    return ended & replay.moves.is_full


def sample(replay: Replay, key: jax.Array, shape: tuple[int, ...]) -> Sample:
    """Positions drawn uniformly, with replacement, from all eligible ones; there must be one. Consumes the key."""
    lanes = replay.outcome.shape[1]
    ends = jnp.cumsum(eligible(replay).reshape(-1), dtype=jnp.int32)
    drawn = jax.random.randint(key, shape, 0, jnp.maximum(ends[-1], 1), jnp.int32)
    place = jnp.searchsorted(ends, drawn, side="right").astype(jnp.int32)
    row, lane = place // lanes, place % lanes
    moves = jax.tree.map(lambda x: x[row, lane], replay.moves)
    return Sample(moves.state, moves.policy_target, moves.search_value, replay.outcome[row, lane])
