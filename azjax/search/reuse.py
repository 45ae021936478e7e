"""Subtree reuse: a search that goes on with the part of its last tree that the moves since have led to."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from azjax.search.tree import Search


class Reusing(NamedTuple):
    """A search with a memory, its last trees. The network must stay the same as long as a memory is used."""

    init_memory: Callable[[Any, Any], Any]
    """(variables, states [batch]) -> the memory of that many games, which remembers nothing."""
    search: Callable[..., Any]
    """(variables, key, states, plies, memory) -> (SearchOutput, memory)."""


def with_memory(search: Search | Reusing) -> Reusing:
    """Any search as one with a memory, which stays empty where the search doesn't reuse trees."""
    if isinstance(search, Reusing):
        return search

    def forgetful(variables: Any, key: jax.Array, states: Any, plies: Any, memory: Any) -> tuple[Any, Any]:
        return search(variables, key, states, plies), memory

    return Reusing(lambda variables, states: (), forgetful)


def reroot(old: Any, new: Any, *, kept: int) -> Any:
    """Fresh trees, each with the old tree's subtree of its root's position in rows 0 to `kept`, where there is one.

    The root keeps its new prior, noise included. A subtree is found by its position: the state of a game says all that
    the rules need, so a node with an equal state was searched under the same rules, whoever moved in between and
    however often; a new game, a move never expanded or a memory of nothing find none: the search starts afresh.
    Nodes keep the order of their creation; of a larger subtree the oldest stay, and edges to the others are unvisited.
    """
    same = _same_state(old.embeddings.state, jax.tree.map(lambda x: x[:, :1], new.embeddings.state))
    return jax.vmap(functools.partial(_reroot, kept=kept))(same & (old.node_visits > 0), old, new)


def _same_state(states: Any, root: Any) -> Bool[Array, "batch nodes"]:
    equal = jax.tree.map(lambda a, b: jnp.all((a == b).reshape(*a.shape[:2], -1), axis=-1), states, root)
    return jnp.stack(jax.tree.leaves(equal)).all(axis=0)


def _reroot(same: Bool[Array, " nodes"], old: Any, new: Any, *, kept: int) -> Any:
    """One game of `reroot`."""
    top = jnp.argmax(jnp.where(same, old.node_visits, -1))  # of transpositions the most visited
    below = _descendants(top, old.parents) & (old.node_visits > 0)
    row = jnp.cumsum(below) - 1  # parents are older than their children, so the new root comes first
    stays = below & (row <= kept)
    nodes = same.shape[0]
    source = jnp.zeros(nodes, jnp.int32).at[jnp.where(stays, row, nodes)].set(jnp.arange(nodes), mode="drop")
    taken = jnp.any(same) & (jnp.arange(nodes) < jnp.sum(stays))

    def take(past: Array, fresh: Array) -> Array:
        return jnp.where(taken.reshape(-1, *[1] * (past.ndim - 1)), past[source], fresh)

    child = old.children_index
    leads = (child != old.UNVISITED) & stays[child]
    old = old.replace(
        children_index=jnp.where(leads, row[child], old.UNVISITED),
        children_visits=jnp.where(leads, old.children_visits, 0),
        children_values=jnp.where(leads, old.children_values, 0.0),
        parents=jnp.where(jnp.arange(nodes) == top, old.NO_PARENT, row[old.parents]),
        action_from_parent=old.action_from_parent.at[top].set(old.NO_PARENT),
        children_prior_logits=old.children_prior_logits.at[top].set(new.children_prior_logits[0]),
    )
    past = old.replace(root_invalid_actions=(), extra_data=())
    fresh = new.replace(root_invalid_actions=(), extra_data=())
    return jax.tree.map(take, past, fresh).replace(
        root_invalid_actions=new.root_invalid_actions, extra_data=new.extra_data
    )


def _descendants(top: Int[Array, ""], parents: Int[Array, " nodes"]) -> Bool[Array, " nodes"]:
    """Which nodes lie below `top`, itself included, by pointer doubling: log2(nodes) steps."""
    nodes = parents.shape[0]
    ancestor = jnp.where(jnp.arange(nodes) == top, top, jnp.maximum(parents, 0))
    for _ in range(nodes.bit_length()):
        ancestor = ancestor[ancestor]
    return ancestor == top
