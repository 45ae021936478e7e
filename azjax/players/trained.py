"""A trained network: evaluates positions, searches them, plays and thinks. This is the one place where the variables of
a run become a player."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from azjax.config import NetworkConfig, SearchConfig
from azjax.network import Evaluate, Variables, make_network
from azjax.players.batched import Player, raw_network_player, search_player
from azjax.players.thinkers import Thinker, Thought, batch_of_one, score_of, search_thinker
from azjax.search import make_match_search, make_search
from azjax.search.slots import make_slots, mask_logits, scatter
from envs.core import Game


class Analysis(NamedTuple):
    """What a search found about one position, over all actions of the game."""

    action: int  # the move it makes
    policy: Float[np.ndarray, " actions"]  # the policy target: sums to 1, 0 on illegal actions
    value: float  # for the player to move, in [-1, 1]
    visit_counts: Int[np.ndarray, " actions"]
    qvalues: Float[np.ndarray, " actions"]  # for the player to move; 0 where unvisited
    main_line: tuple[int, ...]  # the most visited actions, the move first


@dataclasses.dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A network of a run, with what it takes to play by it."""

    game: Game
    config: NetworkConfig
    search_config: SearchConfig  # of the run
    variables: Variables
    iteration: int  # of the run when it was kept
    games: int  # that self-play had finished by then
    minutes: float  # of training by then

    @property
    def name(self) -> str:
        """What it is called in matches and ratings."""
        return f"iteration {self.iteration}"

    def evaluate(self, states: Any) -> tuple[Float[Array, "batch actions"], Float[Array, " batch"]]:
        """(policy, value) of a batch of states: probabilities, 0 on illegal actions, and for the player to move what it
        expects in [-1, 1]. Where a game is over both mean nothing."""
        return _evaluation(self.game, self._evaluate)(self.variables, states)

    def search(self, state: Any, *, num_simulations: int | None = None) -> Analysis:
        """What the run's search, without noise, finds about one state whose game is not over.

        None takes as many simulations as self-play. Raises ValueError for less than 1.
        """
        search = self._search_config(self.search_config.num_simulations if num_simulations is None else num_simulations)
        return _analysis(self.game, self._evaluate, search)(self.variables, state)

    def player(self, *, num_simulations: int) -> Player:
        """Plays a batch of games, without randomness: by search or, with 0 simulations, its likeliest legal move."""
        if num_simulations == 0:
            return raw_network_player(self.game, self._evaluate, self.variables, self.name)
        search = make_match_search(self.game, self._evaluate, self._search_config(num_simulations))
        return search_player(search, self.variables, self.name)

    def values(self, states: Any, *, num_simulations: int) -> Float[Array, " batch"]:
        """What it expects for the player to move in each state, in [-1, 1]: by search or, with 0 simulations, raw."""
        if num_simulations == 0:
            return self.evaluate(states)[1]
        return _root_values(self.game, self._evaluate, self._search_config(num_simulations))(self.variables, states)

    def thinker(self, *, num_simulations: int) -> Thinker:
        """Thinks about one position, as `player` does about many."""
        name = f"the network of iteration {self.iteration}"
        if num_simulations:
            search = make_match_search(self.game, self._evaluate, self._search_config(num_simulations))
            name = f"{name} with {num_simulations} simulations a move"
            return search_thinker(self.game, search, self.variables, name)

        def think(state: Any, key: jax.Array) -> Thought:
            del key
            policy, value = jax.device_get(self.evaluate(batch_of_one(state)))
            return Thought(int(np.argmax(policy[0])), score_of(value[0]))

        return Thinker(f"{name}, without search", think)

    @property
    def _evaluate(self) -> Evaluate:
        return make_network(self.game, self.config).evaluate

    def _search_config(self, num_simulations: int) -> SearchConfig:
        if num_simulations < 1:
            raise ValueError(f"got num_simulations={num_simulations}; it must be at least 1")
        return self.search_config.with_simulations(num_simulations)


# Each function below is built once for its arguments, so that all networks of a run share what is compiled.


@functools.lru_cache
def _evaluation(game: Game, evaluate: Evaluate) -> Callable[..., Any]:
    @jax.jit
    def run(variables: Variables, states: Any) -> tuple[Array, Array]:
        logits, value = evaluate(variables, jax.vmap(game.observe)(states))
        legal = jax.vmap(game.legal_action_mask)(states)
        return jnp.where(legal, jax.nn.softmax(mask_logits(logits, legal)), 0.0), value

    return run


@functools.lru_cache
def _root_values(game: Game, evaluate: Evaluate, config: SearchConfig) -> Callable[..., Any]:
    search = make_search(game, evaluate, config)
    return jax.jit(lambda variables, states: search(variables, jax.random.key(0), states).value)


@functools.lru_cache
def _analysis(game: Game, evaluate: Evaluate, config: SearchConfig) -> Callable[..., Analysis]:
    search = make_search(game, evaluate, config)

    @jax.jit
    def run(variables: Variables, state: Any) -> Any:
        states = batch_of_one(state)
        found, slots = search(variables, jax.random.key(0), states), make_slots(game, states)
        wide = [scatter(game, x, slots) for x in (found.action_weights, found.visit_counts, found.qvalues)]
        return jax.tree.map(lambda x: x[0], (found.action, *wide, found.value, found.main_line))

    def analyse(variables: Variables, state: Any) -> Analysis:
        action, policy, visits, qvalues, value, line = jax.device_get(run(variables, state))
        return Analysis(int(action), policy, float(value), visits, qvalues, tuple(int(a) for a in line if a >= 0))

    return analyse
