"""Gumbel AlphaZero: sequential halving at the root, completed Q-values as the policy target (Danihelka et al. 2022)."""

from __future__ import annotations

import functools
from typing import Any

import jax
import mctx
from jaxtyping import Array, Int

from azjax.config import SearchConfig
from azjax.network import Evaluate, Variables
from azjax.search.loop import make_loop
from azjax.search.slots import make_slots
from azjax.search.tree import Search, SearchOutput, make_tree_functions, summarise
from envs.core import Game


@functools.cache
def make_gumbel(game: Game, evaluate: Evaluate, config: SearchConfig, *, explore: bool) -> Search:
    """The Gumbel search, the same object for equal arguments. `explore` draws the Gumbel noise that self-play needs;
    without it the search is deterministic, for evaluation and play."""
    gumbel = config.gumbel
    root_fn, recurrent_fn = make_tree_functions(game, evaluate)
    considered = max(1, min(gumbel.max_num_considered_actions, config.num_simulations // 2))
    qtransform = functools.partial(
        mctx.qtransform_completed_by_mix_value,
        value_scale=gumbel.value_scale,
        maxvisit_init=gumbel.maxvisit_init,
        rescale_values=gumbel.rescale_values,
    )
    select_root = functools.partial(
        mctx.gumbel_muzero_root_action_selection,
        num_simulations=config.num_simulations,
        max_num_considered_actions=considered,
        qtransform=qtransform,
    )
    select_interior = functools.partial(mctx.gumbel_muzero_interior_action_selection, qtransform=qtransform)

    def search(
        variables: Variables, key: jax.Array, states: Any, plies: Int[Array, " batch"] | None = None
    ) -> SearchOutput:
        del plies
        legal = make_slots(game, states).legal
        output = mctx.gumbel_muzero_policy(
            params=variables,
            rng_key=key,
            root=root_fn(variables, states),
            recurrent_fn=recurrent_fn,
            num_simulations=config.num_simulations,
            invalid_actions=~legal,
            qtransform=qtransform,
            max_num_considered_actions=considered,
            gumbel_scale=1.0 if explore else 0.0,
            loop_fn=make_loop(
                variables,
                recurrent_fn,
                select_root,
                select_interior,
                max_depth=config.max_depth or config.num_simulations,
            ),
        )
        return summarise(output.action, output.action_weights, output.search_tree, legal)

    return search
