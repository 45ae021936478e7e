"""Random openings: what makes games differ when the players do not."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from azjax.starts import draw_start
from envs.core import Game


class Opening(NamedTuple):
    """Where a random opening led, and how."""

    state: Any  # one state, never finished
    start: Int[Array, ""]  # int32, the number of the start position; 0 where there is but the usual one
    actions: Int[Array, " max_plies"]  # int32, the moves made, padded with num_actions
    length: Int[Array, ""]  # int32, how many were made
    score: Float[Array, ""]  # what the moves won, for the first player; 0 where a game pays at its end only


def random_action(key: Array, mask: Bool[Array, " actions"]) -> Int[Array, ""]:
    """A uniformly drawn True entry of `mask`, int32, by one random number; 0 if there is none. Consumes the key."""
    rank = jax.random.randint(key, (), 0, mask.sum(dtype=jnp.int32))
    return jnp.argmax(jnp.cumsum(mask, dtype=jnp.int32) > rank).astype(jnp.int32)


def random_opening(
    game: Game, key: Array, plies: Int[Array, ""] | int, *, max_plies: int, starts: Any = None
) -> Opening:
    """The state after `plies` uniformly random legal moves from the start, at most `max_plies`.

    The start is one of `starts` (`read_starts`), uniformly drawn, or the usual one.

    The opening stops before the first drawn move that would end the game, so it may be shorter and never ends one.
    For one game: `vmap` over keys (and plies). Consumes the key; the moves do not depend on `max_plies`.
    """

    def body(ply, carry):
        opening, open_ = carry
        action = random_action(jax.random.fold_in(key, ply), game.legal_action_mask(opening.state))
        after, transition = game.step(opening.state, action)
        plays = open_ & (ply < plies) & ~transition.terminated
        sign = jnp.where(opening.state.player == 0, 1.0, -1.0)
        opening = Opening(
            state=jax.tree.map(lambda new, old: jnp.where(plays, new, old), after, opening.state),
            start=opening.start,
            actions=opening.actions.at[ply].set(jnp.where(plays, action, game.num_actions)),
            length=opening.length + plays,
            score=opening.score + jnp.where(plays, sign * transition.reward, 0.0),
        )
        return opening, plays

    state, which = draw_start(game, starts, jax.random.fold_in(key, 2**31))
    start = Opening(
        state=state,
        start=which,
        actions=jnp.full(max_plies, game.num_actions, jnp.int32),
        length=jnp.int32(0),
        score=jnp.float32(0.0),
    )
    if max_plies == 0:
        return start
    opening, _ = jax.lax.fori_loop(0, max_plies, body, (start, jnp.bool_(True)))
    return opening
