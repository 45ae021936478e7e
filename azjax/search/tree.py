"""What every search policy shares: its interface, and a game and a network as mctx's root and recurrent functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from jaxtyping import Array, Bool, Float, Int

from azjax.network import Evaluate, Variables
from envs.core import Game


class SearchOutput(NamedTuple):
    """What a search of `lanes` root states brings. Rows whose game is over mean nothing: drop them."""

    action: Int[Array, " lanes"]
    action_weights: Float[Array, "lanes actions"]  # the policy target; 0 on illegal actions
    value: Float[Array, " lanes"]  # the root's, for the player to move, in [-1, 1]
    visit_counts: Int[Array, "lanes actions"]
    qvalues: Float[Array, "lanes actions"]  # for the player to move; 0 where unvisited
    main_line: Int[Array, "lanes depth"]  # the most visited actions from the root on, padded with -1


Search = Callable[[Variables, jax.Array, Any], SearchOutput]
"""(variables, key, root states [lanes]) -> SearchOutput. Consumes the key."""

# Type checkers don't see the fields of chex's dataclasses.
RootFnOutput: Any = mctx.RootFnOutput
RecurrentFnOutput: Any = mctx.RecurrentFnOutput

MAIN_LINE = 8  # how many plies of the main line are kept


def mask_logits(logits: Float[Array, "*batch actions"], legal: Bool[Array, "*batch actions"]) -> Float[Array, "..."]:
    """Logits with illegal actions at the lowest finite value, shifted so that the best legal one is 0.

    The mask comes first, so that whatever the network says of illegal actions can't push the legal ones out of range.
    """
    lowest = jnp.finfo(logits.dtype).min
    masked = jnp.where(legal, logits, lowest)
    best = jnp.max(masked, axis=-1, keepdims=True)
    return jnp.where(legal, logits - best, lowest)


def make_tree_functions(game: Game, evaluate: Evaluate) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """(root, recurrent_fn) of mctx: `root(variables, states)`, `recurrent_fn(variables, key, actions, states)`.

    The value of a node is seen by its player to move, the reward of an edge by the player who moved along it. A
    finished node has its result on its edge, discount 0, value 0 and a uniform prior, whatever the network says of it.
    """
    observe, legal_mask, step = jax.vmap(game.observe), jax.vmap(game.legal_action_mask), jax.vmap(game.step)

    def prior_and_value(variables: Variables, states: Any) -> tuple[Array, Array]:
        logits, value = evaluate(variables, observe(states))
        over = states.terminated
        prior = jnp.where(over[:, None], 0.0, mask_logits(logits, legal_mask(states)))
        return prior, jnp.where(over, 0.0, value)

    def root(variables: Variables, states: Any) -> mctx.RootFnOutput:
        prior, value = prior_and_value(variables, states)
        return RootFnOutput(prior_logits=prior, value=value, embedding=states)

    def recurrent_fn(variables: Variables, key: jax.Array, actions: Array, states: Any) -> tuple[Any, Any]:
        del key  # the rules have no chance
        states, transition = step(states, actions)
        prior, value = prior_and_value(variables, states)
        output = RecurrentFnOutput(
            reward=transition.reward, discount=transition.discount, prior_logits=prior, value=value
        )
        return output, states

    return root, recurrent_fn


def summarise(action: Any, action_weights: Any, tree: Any, illegal: Bool[Array, "lanes actions"]) -> SearchOutput:
    """The output of a search from its tree. What the caller doesn't use costs nothing under `jit`."""
    summary = tree.summary()
    return SearchOutput(
        action=action.astype(jnp.int32),
        action_weights=jnp.where(illegal, 0.0, action_weights),
        value=summary.value,
        visit_counts=summary.visit_counts,
        qvalues=jnp.where(summary.visit_counts > 0, summary.qvalues, 0.0),
        main_line=jax.vmap(_main_line)(action.astype(jnp.int32), tree.children_index, tree.children_visits),
    )


def _main_line(action: Array, children: Array, visits: Array) -> Int[Array, " depth"]:
    """The chosen action of one tree, then the most visited child's, and so on."""

    def descend(carry: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Array]:
        node, action = carry
        child = jnp.where(action >= 0, children[node, action], -1)
        best = jnp.argmax(visits[child]).astype(jnp.int32)
        known = (child >= 0) & (visits[child, best] > 0)
        return (jnp.maximum(child, 0), jnp.where(known, best, -1)), action

    _, line = jax.lax.scan(descend, (jnp.int32(0), action), None, length=MAIN_LINE)
    return line
