"""The slots of a policy: every action or, where few actions are legal at once, the legal ones alone.

A tree, a policy target and a loss over chess' 4,672 actions would be empty but for the 218 that can be legal at once.
In such a game slot k stands for the k-th legal action of a position; the position tells which, so that no action id
is kept beside a target. In all other games slot k is action k, and nothing is gathered or scattered.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from envs.core import Game


class Slots(NamedTuple):
    """Which action each slot stands for."""

    actions: Int[Array, "*batch slots"] | None  # increasing, `num_actions` in empty slots; None: slot k is action k
    legal: Bool[Array, "*batch slots"]


def are_legal_lists(game: Game) -> bool:
    """Whether the slots are the legal actions alone: where at most half of all actions can be legal at once."""
    return 2 * game.max_legal_actions <= game.num_actions


def num_slots(game: Game) -> int:
    """How many slots a policy of this game has."""
    return game.max_legal_actions if are_legal_lists(game) else game.num_actions


def make_slots(game: Game, states: Any) -> Slots:
    """The slots at each of a batch of states."""
    if are_legal_lists(game):
        actions = jax.vmap(game.legal_actions)(states)
        return Slots(actions, actions < game.num_actions)
    return Slots(None, jax.vmap(game.legal_action_mask)(states))


def gather(values: Shaped[Array, "batch actions"], slots: Slots) -> Shaped[Array, "batch slots"]:
    """The values of all actions -> those of the slots; what an empty slot gets means nothing."""
    if slots.actions is None:
        return values
    return jnp.take_along_axis(values, jnp.minimum(slots.actions, values.shape[-1] - 1), axis=-1)


def scatter(game: Game, values: Shaped[Array, "batch slots"], slots: Slots) -> Shaped[Array, "batch actions"]:
    """The values of the slots -> those of all actions, 0 for those that no slot stands for."""
    if slots.actions is None:
        return values
    rows = jnp.arange(values.shape[0])[:, None]
    empty = jnp.zeros((values.shape[0], game.num_actions), values.dtype)
    return empty.at[rows, slots.actions].set(values, mode="drop")


def mask_logits(logits: Float[Array, "*batch slots"], legal: Bool[Array, "*batch slots"]) -> Float[Array, "..."]:
    """Logits with illegal slots at the lowest finite value, shifted so that the best legal one is 0.

    The mask comes first, so that whatever the network says of illegal actions can't push the legal ones out of range.
    """
    lowest = jnp.finfo(logits.dtype).min
    masked = jnp.where(legal, logits, lowest)
    best = jnp.max(masked, axis=-1, keepdims=True)
    return jnp.where(legal, logits - best, lowest)
