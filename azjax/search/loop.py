"""The loop of simulations, written so that no array as wide as the actions is copied.

mctx's own loop backs values up by a `while_loop` under `vmap`, which carries the whole tree and selects between the
old and the new one at every level. Here the way up is one batched loop over the four arrays that change. The trees are
equal to mctx's, number for number, for every selection function that draws no random numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import mctx
from jaxtyping import Array, Int

ROOT, UNVISITED = mctx.Tree.ROOT_INDEX, mctx.Tree.UNVISITED

SelectRoot = Callable[[Any, Any, Any], Any]
"""mctx's root selection: (key, tree, node) -> action, of one tree."""
SelectInterior = Callable[[Any, Any, Any, Any], Any]
"""mctx's interior selection: (key, tree, node, depth) -> action, of one tree."""


def make_loop(
    variables: Any,
    recurrent_fn: Callable[..., Any],
    select_root: SelectRoot,
    select_interior: SelectInterior,
    *,
    max_depth: int,
    prepare: Callable[[Any], Any] = lambda tree: tree,
    lower: int = 0,
) -> Callable[..., tuple[Array, Any]]:
    """A `loop_fn` for `mctx.search` and its policies that runs simulations `lower` to the end of the tree's capacity.

    The selection functions get no key. `prepare` changes the tree before the first simulation, and a tree that already
    holds nodes leaves `lower` rows for them: a node first expanded by simulation i has index i + 1.
    """

    def simulation(sim: Array, carry: tuple[Array, Any]) -> tuple[Array, Any]:
        key, tree = carry
        key, _, expand_key = jax.random.split(key, 3)  # as mctx splits it
        parent, action, child = _select(tree, select_root, select_interior, max_depth)
        node = jnp.where(child == UNVISITED, sim + 1, child)
        tree = _expand(variables, expand_key, tree, recurrent_fn, parent, action, node)
        return key, _back_up(tree, node)

    def loop_fn(start: int, stop: int, body: Any, carry: tuple[Array, Any]) -> tuple[Array, Any]:
        del start, body  # mctx's own
        key, tree = carry
        return jax.lax.fori_loop(lower, stop, simulation, (key, prepare(tree)))

    return loop_fn


def _select(
    tree: Any, select_root: SelectRoot, select_interior: SelectInterior, max_depth: int
) -> tuple[Int[Array, " batch"], Int[Array, " batch"], Int[Array, " batch"]]:
    """From the root down to an edge that leads nowhere yet, or to `max_depth`: (parent, action, child) of that edge."""
    rows = jnp.arange(tree.node_visits.shape[0])
    interior = jax.vmap(select_interior, (None, 0, 0, None))

    def child_of(node: Array, action: Array) -> Array:
        return tree.children_index[rows, node, action]

    def going(carry: tuple[Array, ...]) -> Array:
        *_, child, depth = carry
        return jnp.any(child != UNVISITED) & (depth < max_depth)

    def descend(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        node, action, child, depth = carry
        deeper = child != UNVISITED
        node = jnp.where(deeper, child, node)
        action = jnp.where(deeper, interior(None, tree, node, depth), action)
        return node, action, jnp.where(deeper, child_of(node, action), UNVISITED), depth + 1

    # All rows are at the root together, and nowhere else: its selection runs once, outside the loop.
    root = jnp.full_like(rows, ROOT)
    action = jax.vmap(select_root, (None, 0, 0))(None, tree, root)
    start = (root, action, child_of(root, action), jnp.int32(1))
    node, action, child, _ = jax.lax.while_loop(going, descend, start)
    return node, action, child


def _expand(
    variables: Any, key: Array, tree: Any, recurrent_fn: Callable[..., Any], parent: Array, action: Array, node: Array
) -> Any:
    """The tree with `node` evaluated and hung under its parent; a node that is there already is evaluated again."""
    rows = jnp.arange(parent.shape[0])
    step, embedding = recurrent_fn(variables, key, action, jax.tree.map(lambda x: x[rows, parent], tree.embeddings))
    return tree.replace(
        children_prior_logits=tree.children_prior_logits.at[rows, node].set(step.prior_logits),
        raw_values=tree.raw_values.at[rows, node].set(step.value),
        node_values=tree.node_values.at[rows, node].set(step.value),
        node_visits=tree.node_visits.at[rows, node].add(1),
        embeddings=jax.tree.map(lambda old, new: old.at[rows, node].set(new), tree.embeddings, embedding),
        children_index=tree.children_index.at[rows, parent, action].set(node),
        children_rewards=tree.children_rewards.at[rows, parent, action].set(step.reward),
        children_discounts=tree.children_discounts.at[rows, parent, action].set(step.discount),
        parents=tree.parents.at[rows, node].set(parent),
        action_from_parent=tree.action_from_parent.at[rows, node].set(action),
    )


def _back_up(tree: Any, leaf: Int[Array, " batch"]) -> Any:
    """The tree with the leaf's value counted in every node and edge above it."""
    rows = jnp.arange(leaf.shape[0])
    nowhere = tree.node_visits.shape[1]  # out of range: rows that have reached the root write nothing

    def going(carry: tuple[Any, ...]) -> Array:
        *_, index = carry
        return jnp.any(index != ROOT)

    def ascend(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        node_values, node_visits, children_values, children_visits, value, index = carry
        climbs = index != ROOT
        parent, action = tree.parents[rows, index], tree.action_from_parent[rows, index]
        value = tree.children_rewards[rows, parent, action] + tree.children_discounts[rows, parent, action] * value
        count = node_visits[rows, parent]
        mean = (node_values[rows, parent] * count + value) / (count + 1.0)
        written = jnp.where(climbs, parent, nowhere)
        child_value = node_values[rows, index]
        return (
            node_values.at[rows, written].set(mean, mode="drop"),
            node_visits.at[rows, written].add(1, mode="drop"),
            children_values.at[rows, written, action].set(child_value, mode="drop"),
            children_visits.at[rows, written, action].add(1, mode="drop"),
            value,
            jnp.where(climbs, parent, ROOT),
        )

    start = (tree.node_values, tree.node_visits, tree.children_values, tree.children_visits)
    *changed, _, _ = jax.lax.while_loop(going, ascend, (*start, tree.node_values[rows, leaf], leaf))
    names = ("node_values", "node_visits", "children_values", "children_visits")
    return tree.replace(**dict(zip(names, changed, strict=True)))
