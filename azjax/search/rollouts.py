"""Monte Carlo tree search without a network: UCB1 and random playouts, the baseline of the papers and the textbooks."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import mctx
from jaxtyping import Array, Float, Int

from azjax.openings import random_action
from azjax.search.loop import make_loop
from azjax.search.puct import most_visited
from azjax.search.slots import make_slots, mask_logits
from azjax.search.tree import (
    Node,
    RecurrentFnOutput,
    RootFnOutput,
    Search,
    SearchOutput,
    action_of,
    make_node,
    summarise,
)
from envs.core import Game


@functools.cache
def make_rollouts(game: Game, num_simulations: int) -> Search:
    """The search that values a position by one random game to its end; the same object for equal arguments.

    Moves are selected by UCB1 (Auer et al. 2002): mean + sqrt(2 ln n / n_j), where n_j counts the move's visits, n all
    of the node's, and the mean is a score between 0 (lost) and 1 (won). Moves not yet visited come first, in random
    order. The most visited move is made. The search asks for no variables.
    """

    def look(key: jax.Array, states: Any) -> tuple[Array, Array, Node]:
        order_key, game_key = jax.random.split(key)
        slots = make_slots(game, states)
        order = jax.random.uniform(order_key, slots.legal.shape)
        prior = jnp.where(states.terminated[:, None], 0.0, mask_logits(order, slots.legal))
        value = jax.vmap(functools.partial(playout, game))(jax.random.split(game_key, prior.shape[0]), states)
        return prior, value, make_node(game, states, slots)

    def recurrent_fn(variables: Any, key: Any, slot: Any, nodes: Any) -> tuple[Any, Any]:
        del variables
        states, transition = jax.vmap(game.step)(nodes.state, action_of(nodes, slot))
        prior, value, children = look(key, states)
        output = RecurrentFnOutput(
            reward=transition.reward, discount=transition.discount, prior_logits=prior, value=value
        )
        return output, children

    def search(variables: Any, key: jax.Array, states: Any, plies: Int[Array, " batch"] | None = None) -> SearchOutput:
        del plies
        root_key, key = jax.random.split(key)
        prior, value, nodes = look(root_key, states)
        loop = make_loop(variables, recurrent_fn, select_ucb1, select_ucb1, max_depth=num_simulations)
        tree: Any = mctx.search(
            params=variables,
            rng_key=key,
            root=RootFnOutput(prior_logits=prior, value=value, embedding=nodes),
            recurrent_fn=recurrent_fn,
            root_action_selection_fn=select_ucb1,
            interior_action_selection_fn=select_ucb1,
            num_simulations=num_simulations,
            loop_fn=loop,
        )
        summary = tree.summary()
        slot = most_visited(tree.children_visits[:, tree.ROOT_INDEX], summary.qvalues)
        return summarise(slot, summary.visit_probs, tree, make_slots(game, states).legal)

    return search


def select_ucb1(key: Any, tree: Any, node: Any, depth: Any = None) -> Int[Array, ""]:
    """The slot of one tree's node with the highest upper confidence bound, those not yet visited first."""
    del key, depth
    visits, order = tree.children_visits[node], tree.children_prior_logits[node]
    mean = (1 + tree.qvalues(node)) / 2
    total = jnp.maximum(jnp.sum(visits), 1).astype(jnp.float32)
    bound = mean + jnp.sqrt(2 * jnp.log(total) / jnp.maximum(visits, 1))
    # The order of the unvisited lies in [-1, 0], that of the illegal is the lowest number.
    first = jnp.where(order >= -1, 10 + order, -jnp.inf)
    return jnp.argmax(jnp.where(visits > 0, bound, first)).astype(jnp.int32)


def playout(game: Game, key: jax.Array, state: Any) -> Float[Array, ""]:
    """What one uniformly random game from one state brings its player to move; 0 where it is over. Consumes the key."""

    def going(carry: tuple[Any, ...]) -> Array:
        return ~carry[1].terminated

    def play(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        key, state, won, sign = carry
        key, draw_key = jax.random.split(key)
        state, transition = game.step(state, random_action(draw_key, game.legal_action_mask(state)))
        return key, state, won + sign * transition.reward, sign * transition.discount

    return jax.lax.while_loop(going, play, (key, state, jnp.float32(0), jnp.float32(1)))[2]
