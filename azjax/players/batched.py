"""Players that pick moves for a batch of games at once, on the device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from azjax.network import Evaluate
from azjax.openings import random_action
from azjax.search import Reusing, Search, make_rollouts
from envs.core import Game, Solver

Act = Callable[..., Any]


class Player(NamedTuple):
    """Picks moves for a batch of games at once.

    `act(params, key, states)` is pure and batched: states with a leading axis B -> int32 [B] actions. It consumes the
    key. Players that differ only in `params` share one `act`, so that a whole pool of checkpoints compiles once.
    In a game that is over, the action means nothing.

    A player that remembers has `init_memory(params, states) -> memory`, for games that begin, and its act is
    `act(params, key, states, memory) -> (actions, memory)`; the memory has a leading axis B in every leaf.
    """

    name: str
    act: Act
    params: Any = None
    init_memory: Callable[[Any, Any], Any] | None = None


def random_player(game: Game, name: str = "random") -> Player:
    """The player that draws uniformly from the legal actions."""
    return Player(name, _random_act(game))


def solver_player(game: Game, name: str = "solver") -> Player:
    """The player that plays perfectly by `game.solver()`, drawing uniformly from equally good actions.

    Its params are the solver's table. Raises ValueError where the game has no solver.
    """
    solver = solver_of(game)
    if solver is None:
        raise ValueError(f"{game} has no solver: its solver() returned None; use a smaller board or another player")
    return Player(name, _solver_act(game), solver.table)


def raw_network_player(game: Game, evaluate: Evaluate, params: Any, name: str = "network") -> Player:
    """The player that makes the network's likeliest legal move, without search.

    `evaluate(params, observations)` returns policy logits [B, A] and values [B], as seen by the player to move.
    """
    return Player(name, _raw_network_act(game, evaluate), params)


def search_player(search: Search | Reusing, params: Any, name: str = "search") -> Player:
    """The player that makes the move `search(params, key, states).action`; it remembers if the search reuses its trees.
    The search consumes the key."""
    init_memory = search.init_memory if isinstance(search, Reusing) else None
    return Player(name, _search_act(search), params, init_memory)


def rollout_player(game: Game, num_simulations: int, name: str = "") -> Player:
    """The player of pure Monte Carlo tree search: UCB1 and random playouts, as many simulations a move as said."""
    if num_simulations < 1:
        raise ValueError(f"got {num_simulations} simulations; rollouts need at least 1")
    return search_player(make_rollouts(game, num_simulations), None, name or f"rollouts {num_simulations}")


# Each act below is built once for its arguments, so that two players of a kind hold the same function: under `jit` the
# function is a static argument, and equal functions mean one compilation.


@functools.lru_cache
def _random_act(game: Game) -> Act:
    def act(params, key, states):
        del params
        masks = jax.vmap(game.legal_action_mask)(states)
        return jax.vmap(random_action)(jax.random.split(key, masks.shape[0]), masks)

    return act


@functools.lru_cache(maxsize=8)
def solver_of(game: Game) -> Solver | None:
    """The game's solver, built once."""
    return game.solver()


@functools.lru_cache
def _solver_act(game: Game) -> Act:
    solver = solver_of(game)
    assert solver is not None

    def act(params, key, states):
        values = jax.vmap(solver.values, in_axes=(None, 0))(params, states)
        best = values == values.max(axis=-1, keepdims=True)
        return jax.vmap(random_action)(jax.random.split(key, best.shape[0]), best)

    return act


@functools.lru_cache
def _raw_network_act(game: Game, evaluate: Evaluate) -> Act:
    def act(params, key, states):
        del key
        logits, _ = evaluate(params, jax.vmap(game.observe)(states))
        masks = jax.vmap(game.legal_action_mask)(states)
        return jnp.argmax(jnp.where(masks, logits, -jnp.inf), axis=-1).astype(jnp.int32)

    return act


@functools.lru_cache
def _search_act(search: Search | Reusing) -> Act:
    if isinstance(search, Reusing):

        def act_on(params, key, states, memory):
            found, memory = search.search(params, key, states, None, memory)
            return found.action, memory

        return act_on

    def act(params, key, states):
        return search(params, key, states).action

    return act
