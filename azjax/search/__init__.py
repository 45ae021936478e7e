"""State and network -> action, policy target and root value. The only package that knows mctx.

slots       which actions a policy's slots stand for: all, or the legal ones
tree        what every search shares: its interface, and a game and a network as mctx's functions
loop        the loop of simulations, which copies no array as wide as the actions
reuse       a search that goes on with its last tree
gumbel      Gumbel AlphaZero's search
puct        AlphaZero's own
rollouts    random playouts in place of a network
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp

from azjax.config import SearchConfig
from azjax.network import Evaluate
from azjax.search.gumbel import make_gumbel
from azjax.search.puct import make_puct, make_reusing_puct
from azjax.search.reuse import Reusing, with_memory
from azjax.search.rollouts import make_rollouts
from azjax.search.tree import Search, SearchOutput
from envs.core import Game

__all__ = [
    "Reusing",
    "Search",
    "SearchOutput",
    "make_gumbel",
    "make_match_search",
    "make_puct",
    "make_reusing_puct",
    "make_rollouts",
    "make_search",
    "make_selfplay_search",
    "reuses_trees",
    "with_memory",
]


def make_search(game: Game, evaluate: Evaluate, config: SearchConfig) -> Search:
    """The search of single positions: deterministic and in full."""
    make = make_gumbel if config.policy == "gumbel" else make_puct
    return make(game, evaluate, config, explore=False)


def make_match_search(game: Game, evaluate: Evaluate, config: SearchConfig) -> Search | Reusing:
    """The search of the moves of a game: as `make_search`, but going on with its last tree where the policy can."""
    if not reuses_trees(config):
        return make_search(game, evaluate, config)
    return make_reusing_puct(game, evaluate, config, explore=False)


def reuses_trees(config: SearchConfig) -> bool:
    """Whether the moves of a game in play and matches are searched with one tree."""
    return config.policy == "puct" and config.puct.reuse != "never"


@functools.cache
def make_selfplay_search(game: Game, evaluate: Evaluate, config: SearchConfig) -> Search | Reusing:
    """The search of self-play, which explores."""
    if config.puct.reuse == "always":
        return make_reusing_puct(game, evaluate, config, explore=True)
    if config.policy == "puct":
        full = make_puct(game, evaluate, config, explore=True)
    else:
        full = make_gumbel(game, evaluate, config, explore=True)
    if config.full_search_share == 1:
        return full
    budget = config.with_simulations(config.cheap_simulations)
    if config.policy == "puct":
        puct = dataclasses.replace(config.puct, dirichlet_fraction=0.0, forced_playouts=0.0)
        quiet = dataclasses.replace(budget, puct=puct)
        cheap = make_puct(game, evaluate, quiet, explore=True)
    else:
        cheap = make_gumbel(game, evaluate, budget, explore=False)

    def search(variables: Any, key: jax.Array, states: Any, plies: Any = None) -> SearchOutput:
        # One coin for the whole batch: in lockstep all wait for the slowest.
        coin_key, key = jax.random.split(key)
        is_full = jax.random.bernoulli(coin_key, config.full_search_share)
        found = jax.lax.cond(is_full, full, cheap, variables, key, states, plies)
        return found._replace(is_full=jnp.broadcast_to(is_full, found.is_full.shape))

    return search
