"""What every search policy shares: its interface, and a game and a network as mctx's root and recurrent functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from jaxtyping import Array, Bool, Float, Int

from azjax.network import Evaluate, Variables
from azjax.search.slots import Slots, gather, make_slots, mask_logits, num_slots
from envs.core import Game


class SearchOutput(NamedTuple):
    """What a search of a batch of root states brings. Rows whose game is over mean nothing: drop them.

    Where the game's actions far outnumber the legal ones, `slots` are the legal actions alone (`slots`);
    elsewhere slot k is action k.
    """

    action: Int[Array, " batch"]  # an action of the game, whatever the slots
    action_weights: Float[Array, "batch slots"]  # the policy target; 0 on illegal actions
    value: Float[Array, " batch"]  # the root's, for the player to move, in [-1, 1]
    visit_counts: Int[Array, "batch slots"]
    qvalues: Float[Array, "batch slots"]  # for the player to move; 0 where unvisited
    main_line: Int[Array, "batch depth"]  # the most visited actions from the root on, padded with -1
    is_full: Bool[Array, " batch"]  # False where playout cap randomisation made a cheap search: nothing to train on


Search = Callable[..., SearchOutput]
"""(variables, key, root states [batch]) -> SearchOutput. Consumes the key."""


class Node(NamedTuple):
    """What a tree keeps of a position, [batch, nodes] in every leaf."""

    state: Any
    actions: Any  # int16 [slots]: the action of each slot; None where slot k is action k


# Type checkers don't see the fields of chex's dataclasses.
RootFnOutput: Any = mctx.RootFnOutput
RecurrentFnOutput: Any = mctx.RecurrentFnOutput

MAIN_LINE = 8  # how many plies of the main line are kept


def make_tree_functions(game: Game, evaluate: Evaluate) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """(root, recurrent_fn) of mctx: `root(variables, states)`, `recurrent_fn(variables, key, slot, nodes)`.

    The value of a node is seen by its player to move, the reward of an edge by the player who moved along it. A
    finished node has its result on its edge, discount 0, value 0 and a uniform prior, whatever the network says of it.
    """
    observe, step = jax.vmap(game.observe), jax.vmap(game.step)

    def look(variables: Variables, states: Any) -> tuple[Array, Array, Node]:
        logits, value = evaluate(variables, observe(states))
        slots = make_slots(game, states)
        over = states.terminated
        prior = jnp.where(over[:, None], 0.0, mask_logits(gather(logits, slots), slots.legal))
        return prior, jnp.where(over, 0.0, value), make_node(game, states, slots)

    def root(variables: Variables, states: Any) -> mctx.RootFnOutput:
        prior, value, node = look(variables, states)
        return RootFnOutput(prior_logits=prior, value=value, embedding=node)

    def recurrent_fn(variables: Variables, key: jax.Array, slot: Array, nodes: Node) -> tuple[Any, Node]:
        del key  # the rules have no chance
        states, transition = step(nodes.state, action_of(nodes, slot))
        prior, value, children = look(variables, states)
        output = RecurrentFnOutput(
            reward=transition.reward, discount=transition.discount, prior_logits=prior, value=value
        )
        return output, children

    return root, recurrent_fn


def make_node(game: Game, states: Any, slots: Slots) -> Node:
    """The node of each state."""
    if slots.actions is None:
        return Node(states, None)
    return Node(states, slots.actions.astype(jnp.int16 if game.num_actions < 2**15 else jnp.int32))


def action_of(nodes: Node, slot: Int[Array, " batch"]) -> Int[Array, " batch"]:
    """The game's action that one slot of each node stands for."""
    if nodes.actions is None:
        return slot
    return jnp.take_along_axis(nodes.actions, slot[:, None], axis=-1)[:, 0].astype(jnp.int32)


def tree_bytes(game: Game, num_nodes: int) -> int:
    """Bytes of one game's tree of that many nodes, the root among them."""

    def one() -> Node:
        states = jax.tree.map(lambda x: x[None], game.init())
        return make_node(game, states, make_slots(game, states))

    held = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(jax.eval_shape(one)))
    return num_nodes * (24 * num_slots(game) + 20 + held)


def summarise(slot: Any, action_weights: Any, tree: Any, legal: Bool[Array, "batch slots"]) -> SearchOutput:
    """The output of a search from its tree and the slot it chose. What the caller doesn't use costs nothing under
    `jit`."""
    summary = tree.summary()
    slot = slot.astype(jnp.int32)
    return SearchOutput(
        action=action_of(jax.tree.map(lambda x: x[:, 0], tree.embeddings), slot),
        action_weights=jnp.where(legal, action_weights, 0.0),
        value=summary.value,
        visit_counts=summary.visit_counts.astype(jnp.int32),
        qvalues=jnp.where(summary.visit_counts > 0, summary.qvalues, 0.0),
        main_line=_main_line(tree, slot),
        is_full=jnp.ones_like(slot, jnp.bool),
    )


def _main_line(tree: Any, slot: Int[Array, " batch"]) -> Int[Array, "batch depth"]:
    """The chosen action of each root, then the most visited of its child, and so on."""
    rows = jnp.arange(slot.shape[0])

    def descend(carry: tuple[Array, Array, Array], _: None) -> tuple[tuple[Array, Array, Array], Array]:
        node, slot, known = carry
        action = action_of(jax.tree.map(lambda x: x[rows, node], tree.embeddings), slot)
        child = tree.children_index[rows, node, slot]
        visits = tree.children_visits[rows, child]
        further = known & (child != tree.UNVISITED) & (jnp.max(visits, axis=-1) > 0)
        best = jnp.argmax(visits, axis=-1).astype(jnp.int32)
        return (jnp.maximum(child, 0), best, further), jnp.where(known, action, -1)

    start = (jnp.zeros_like(slot), slot, jnp.ones_like(slot, jnp.bool))
    return jnp.moveaxis(jax.lax.scan(descend, start, None, length=MAIN_LINE)[1], 0, 1)
