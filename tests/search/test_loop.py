"""The loop of simulations: equal to mctx's own, tree for tree, and without copies as wide as the actions (law 5)."""

import functools
import re
from typing import Any

import jax
import mctx
import numpy as np
import pytest
from positions import NOTHING, hashed, random_states

import envs
from azjax.config import PuctConfig
from azjax.search.loop import make_loop
from azjax.search.puct import select_action
from azjax.search.rollouts import select_ucb1
from azjax.search.tree import make_tree_functions

BOXES = envs.make("dots_and_boxes", rows=2, columns=2)
LANES, SIMULATIONS, ACTIONS = 11, 48, BOXES.num_actions
SHAPE = f"{LANES},{SIMULATIONS + 1},{ACTIONS}"
GUMBEL: dict[str, Any] = {"num_simulations": SIMULATIONS, "max_num_considered_actions": 8}
SELECTIONS = {
    "gumbel": (
        functools.partial(mctx.gumbel_muzero_root_action_selection, **GUMBEL),
        mctx.gumbel_muzero_interior_action_selection,
    ),
    "puct": (functools.partial(select_action, config=PuctConfig()),) * 2,
    "puct, parent": (functools.partial(select_action, config=PuctConfig(fpu="parent")),) * 2,
    "ucb1": (select_ucb1, select_ucb1),
}


def searching(selection, max_depth, *, ours):
    """A jitted search of dots and boxes by our loop or by mctx's: states -> tree."""
    root_fn, recurrent_fn = make_tree_functions(BOXES, hashed(ACTIONS))
    select_root, select = SELECTIONS[selection]

    def search(states):
        root = root_fn(NOTHING, states)
        illegal = ~jax.vmap(BOXES.legal_action_mask)(states)
        loop = make_loop(NOTHING, recurrent_fn, select_root, select, max_depth=max_depth or SIMULATIONS)
        chosen = loop if ours else jax.lax.fori_loop
        if selection == "gumbel":
            return mctx.gumbel_muzero_policy(
                NOTHING,
                jax.random.key(0),
                root,
                recurrent_fn,
                invalid_actions=illegal,
                max_depth=max_depth,
                loop_fn=chosen,
                **GUMBEL,
            ).search_tree
        return mctx.search(
            NOTHING,
            jax.random.key(0),
            root=root,
            recurrent_fn=recurrent_fn,
            root_action_selection_fn=select_root,
            interior_action_selection_fn=select,
            num_simulations=SIMULATIONS,
            max_depth=max_depth,
            loop_fn=chosen,
        )

    return jax.jit(search)


@pytest.mark.parametrize("selection, max_depth", [*((name, None) for name in SELECTIONS), ("gumbel", 3), ("puct", 2)])
def test_trees_equal_those_of_mctx(selection, max_depth):
    """Law 5: tree for tree, for every policy and depth."""
    states = random_states(BOXES, LANES, BOXES.max_moves - 2)
    ours, theirs = (searching(selection, max_depth, ours=which)(states) for which in (True, False))
    for name in ("parents", "action_from_parent", "children_index", "children_visits", "node_visits"):
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
    for name in ("node_values", "raw_values", "children_values", "children_rewards", "children_discounts"):
        np.testing.assert_allclose(ours[name], theirs[name], atol=1e-6, err_msg=name)
    np.testing.assert_allclose(ours.children_prior_logits, theirs.children_prior_logits, rtol=1e-5, atol=1e-5)
    jax.tree.map(np.testing.assert_array_equal, ours.embeddings, theirs.embeddings)


def test_keys_are_those_of_mctx():
    """A network that draws random numbers draws the same ones in both loops."""
    root_fn, recurrent_fn = make_tree_functions(BOXES, hashed(ACTIONS))
    select = functools.partial(select_action, config=PuctConfig())

    def noisy_fn(variables, key, slot, nodes):
        output, nodes = recurrent_fn(variables, key, slot, nodes)
        return output.replace(value=jax.random.uniform(key, output.value.shape)), nodes

    def search(states, loop):
        return mctx.search(
            NOTHING,
            jax.random.key(4),
            root=root_fn(NOTHING, states),
            recurrent_fn=noisy_fn,
            root_action_selection_fn=select,
            interior_action_selection_fn=select,
            num_simulations=8,
            loop_fn=loop,
        ).raw_values

    states = random_states(BOXES, LANES, BOXES.max_moves - 2)
    ours = jax.jit(functools.partial(search, loop=make_loop(NOTHING, noisy_fn, select, select, max_depth=8)))(states)
    theirs = jax.jit(functools.partial(search, loop=jax.lax.fori_loop))(states)
    np.testing.assert_array_equal(ours, theirs)


def wide_copies_in_loops(hlo) -> list[str]:
    """The instructions of a compiled module that copy or select an array [lanes, nodes, actions] inside a loop."""
    computations = {}
    for block in re.split(r"\n(?=\S)", hlo):
        if match := re.match(r"(?:ENTRY )?(%[\w.\-]+) ", block):
            computations[match[1]] = block
    called = {name: set(re.findall(r"%[\w.\-]+", text)) & set(computations) for name, text in computations.items()}
    inside = {body for text in computations.values() for body in re.findall(r"body=(%[\w.\-]+)", text)}
    while added := {name for known in inside for name in called[known]} - inside:
        inside |= added
    wide = re.compile(rf"= \w+\[{SHAPE}\]\S* (?:copy|select)\(")
    return [line.strip() for name in inside for line in computations[name].splitlines() if wide.search(line)]


@pytest.mark.parametrize("selection", SELECTIONS)
def test_no_array_as_wide_as_the_actions_is_copied_inside_the_loop(selection):
    """Law 5: in the compiled body of the loop, for every policy."""
    states = random_states(BOXES, LANES, BOXES.max_moves - 2)
    hlo: Any = searching(selection, None, ours=True).lower(states).compile().as_text()
    assert re.search(rf"\[{SHAPE}\]", hlo) and " while(" in hlo
    assert not wide_copies_in_loops(hlo)


def test_the_copies_of_mctx_are_seen():
    """The measure measures: stock mctx copies or selects such arrays at every level of the way up."""
    states = random_states(BOXES, LANES, BOXES.max_moves - 2)
    assert wide_copies_in_loops(searching("puct", None, ours=False).lower(states).compile().as_text())
