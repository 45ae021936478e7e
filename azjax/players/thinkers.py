"""Players that think about one position at a time, on the host, and say what they make of it: a person's opponents, and
the place for programs that are not ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from azjax.players.batched import Player, solver_of, solver_player
from azjax.search import Reusing, Search, make_rollouts, with_memory
from envs.core import Game


class Thought(NamedTuple):
    """What a player makes of a position."""

    action: int
    score: float | None = (
        None  # what it expects for the player to move: 1 a win, 0.5 a draw, 0 a loss; None: no opinion
    )
    line: tuple[int, ...] = ()  # the moves it expects, its own first


class Thinker(NamedTuple):
    """A player that thinks about one state whose game is not over: `think(state, key) -> Thought`.

    It runs on the host, may take its time, and may keep what it likes from one call to the next; it is asked about the
    positions of several games in turn.
    """

    name: str
    think: Callable[[Any, jax.Array], Thought]


def as_thinker(player: Player | Thinker) -> Thinker:
    """Any player as one that thinks about one position; a batched one has no opinion to tell."""
    if isinstance(player, Thinker):
        return player
    act, memory = jax.jit(player.act), None

    def think(state: Any, key: jax.Array) -> Thought:
        nonlocal memory
        states = batch_of_one(state)
        if player.init_memory is None:
            return Thought(int(act(player.params, key, states)[0]))
        memory = player.init_memory(player.params, states) if memory is None else memory
        actions, memory = act(player.params, key, states, memory)
        return Thought(int(actions[0]))

    return Thinker(player.name, think)


def search_thinker(game: Game, search: Search | Reusing, variables: Any, name: str) -> Thinker:
    """A search that says what it expects; its tree goes on from move to move where the search reuses trees."""
    init_memory, search_on = with_memory(search)

    @jax.jit
    def ponder(variables: Any, state: Any, key: jax.Array, memory: Any) -> tuple[Any, Any]:
        found, memory = search_on(variables, key, batch_of_one(state), None, memory)
        return (found.action[0], found.value[0], found.main_line[0]), memory

    memory = init_memory(variables, batch_of_one(game.init()))

    def think(state: Any, key: jax.Array) -> Thought:
        nonlocal memory
        found, memory = ponder(variables, state, key, memory)
        action, value, line = jax.device_get(found)
        return Thought(int(action), score_of(value), tuple(int(a) for a in line if a >= 0))

    return Thinker(name, think)


def rollout_thinker(game: Game, num_simulations: int) -> Thinker:
    """Monte Carlo tree search with random playouts, without a network."""
    name = f"rollouts with {num_simulations} simulations a move"
    return search_thinker(game, make_rollouts(game, num_simulations), None, name)


def solver_thinker(game: Game) -> Thinker:
    """Perfect play. Raises ValueError where the game has no solver."""
    player, solver = solver_player(game), solver_of(game)
    assert solver is not None
    act, values = jax.jit(player.act), jax.jit(solver.values)

    def think(state: Any, key: jax.Array) -> Thought:
        action = int(act(player.params, key, batch_of_one(state))[0])
        return Thought(action, score_of(np.sign(np.max(values(solver.table, state)))))

    return Thinker("the solver", think)


def batch_of_one(state: Any) -> Any:
    """A state with a leading axis of one."""
    return jax.tree.map(lambda x: jnp.asarray(x)[None], state)


def score_of(value: Any) -> float:
    """A value in [-1, 1] as a score in [0, 1]."""
    return 0.5 + 0.5 * float(value)
