"""The search: laws 2, 3, 8 and 9, signs against exact values, and positions with one right move."""

import functools

import jax
import jax.numpy as jnp
import mctx
import numpy as np
import pytest
from positions import NOTHING, hashed, play_out, random_states, stack, uniform

import envs
from azjax.config import PuctConfig, SearchConfig
from azjax.search import make_gumbel, make_puct
from azjax.search.loop import make_loop
from azjax.search.puct import select_action
from azjax.search.rollouts import select_ucb1
from azjax.search.slots import mask_logits
from azjax.search.tree import make_tree_functions


@functools.cache
def searching(policy, game, evaluate, num_simulations, explore=False):
    config = SearchConfig(policy=policy, num_simulations=num_simulations)
    return jax.jit((make_puct if policy == "puct" else make_gumbel)(game, evaluate, config, explore=explore))


either_policy = pytest.mark.parametrize("policy", ["gumbel", "puct"])
TIC_TAC_TOE = envs.make("tic_tac_toe")
CONNECT_FOUR = envs.make("connect_four")
BOXES = envs.make("dots_and_boxes", rows=2, columns=2)


@either_policy
@pytest.mark.parametrize("game", [TIC_TAC_TOE, CONNECT_FOUR, BOXES], ids=lambda game: game.name)
def test_no_visit_falls_on_an_illegal_action_at_the_root(game, policy):
    """Law 2 at the root, and SE-04."""
    states = random_states(game, 1_000, game.max_moves - 1)
    legal = jax.vmap(game.legal_action_mask)(states)
    found = searching(policy, game, hashed(game.num_actions), 24, explore=True)(NOTHING, jax.random.key(0), states)
    assert not np.any(found.visit_counts[~legal])
    assert not np.any(found.action_weights[~legal])
    assert np.all(jnp.take_along_axis(legal, found.action[:, None], axis=1))
    np.testing.assert_allclose(found.action_weights.sum(-1), 1, atol=1e-5)
    np.testing.assert_array_equal(found.visit_counts.sum(-1), 24)
    assert np.all(np.isfinite(found.value)) and np.all(np.abs(found.value) <= 1)


SELECTIONS = {
    "gumbel": mctx.gumbel_muzero_interior_action_selection,
    "rollouts": select_ucb1,
    "puct": functools.partial(select_action, config=PuctConfig()),
    "puct, parent": functools.partial(select_action, config=PuctConfig(fpu="parent", c_puct=5.0)),
}


@pytest.mark.parametrize("value", ["hashed", "lost"])
@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("game", [TIC_TAC_TOE, BOXES], ids=lambda game: game.name)
def test_no_visit_falls_on_an_illegal_action_inside(game, selection, value):
    """Law 2 inside the tree: every visited edge of every live node is a legal move of that node's state. Where every
    position looks lost, an unvisited illegal move would look better than all others."""
    states = random_states(game, 64, game.max_moves - 1)
    network = hashed(game.num_actions)

    def evaluate(variables, observations):
        logits, opinion = network(variables, observations)
        mover_sees = observations.sum(axis=(1, 2, 3)) % 2 == 0
        return logits, jnp.where(mover_sees, 1.0, -1.0) if value == "lost" else opinion

    root, recurrent_fn = make_tree_functions(game, evaluate)
    select = SELECTIONS[selection]

    @jax.jit
    def tree_of(states):
        loop = make_loop(NOTHING, recurrent_fn, lambda *args: select(*args, 0), select, max_depth=48)
        tree = mctx.search(
            NOTHING,
            jax.random.key(0),
            root=root(NOTHING, states),
            recurrent_fn=recurrent_fn,
            root_action_selection_fn=lambda *args: select(*args, 0),
            interior_action_selection_fn=select,
            num_simulations=48,
            loop_fn=loop,
        )
        nodes = tree.embeddings.state
        return tree, jax.vmap(jax.vmap(game.legal_action_mask))(nodes), nodes.terminated

    tree, legal, over = tree_of(states)
    live = (tree.node_visits > 0) & ~over
    assert live[:, 1:].sum() > 500  # there is an inside
    assert not np.any(np.asarray(tree.children_visits)[live][~np.asarray(legal)[live]])
    assert all(np.all(np.isfinite(leaf)) for leaf in (tree.node_values, tree.children_values, tree.children_rewards))


@either_policy
@pytest.mark.parametrize(
    "moves, mate, num_simulations",
    [([0, 3, 1, 4], 2, 2), ([3, 1, 5, 2, 7, 4, 6, 8], 0, 150)],
    ids=["the prior's choice", "the only move"],
)
def test_a_winning_edge_keeps_its_value_and_nan_does_not_leak(policy, moves, mate, num_simulations):
    """Law 3: 150 visits to a mate leave Q = 1 exactly, though the network is NaN in the finished position."""

    def evaluate(variables, observations):
        del variables
        over = observations.sum(axis=(1, 2, 3)) > len(moves)
        logits = jnp.zeros((over.shape[0], 9)).at[:, mate].set(50.0)
        return jnp.where(over[:, None], jnp.nan, logits), jnp.where(over, jnp.nan, -0.9)

    state = play_out(TIC_TAC_TOE, moves)
    found = searching(policy, TIC_TAC_TOE, evaluate, num_simulations)(NOTHING, jax.random.key(0), stack([state]))
    assert int(found.visit_counts[0, mate]) == num_simulations
    assert found.qvalues[0, mate] == 1.0
    assert np.isfinite(found.value[0])
    assert int(found.action[0]) == mate and float(found.action_weights[0, mate]) > 0.99


@either_policy
def test_rows_do_not_influence_each_other(policy):
    """Law 8: permuting the batch permutes the result, and a row alone is as among others."""
    states = random_states(CONNECT_FOUR, 64, 30)
    search = searching(policy, CONNECT_FOUR, hashed(7), 24)
    order = np.random.default_rng(0).permutation(64)
    straight = search(NOTHING, jax.random.key(0), states)
    permuted = search(NOTHING, jax.random.key(0), jax.tree.map(lambda x: x[order], states))
    alone = search(NOTHING, jax.random.key(0), jax.tree.map(lambda x: x[3:4], states))
    np.testing.assert_array_equal(permuted.visit_counts, straight.visit_counts[order])
    np.testing.assert_array_equal(permuted.action, straight.action[order])
    np.testing.assert_allclose(permuted.action_weights, straight.action_weights[order], atol=1e-5)
    np.testing.assert_array_equal(alone.visit_counts[0], straight.visit_counts[3])
    np.testing.assert_allclose(alone.value[0], straight.value[3], atol=1e-6)


@either_policy
@pytest.mark.parametrize("moves, best", [([0, 3, 8, 4], 5), ([0, 3, 1, 4], 2), ([1, 0, 3, 8, 7], 4)])
def test_block_and_win_in_one(policy, moves, best):
    """SE-01: the first is lost but for 5, which a wrong sign of the discount misses; for the second player too."""
    states = stack([play_out(TIC_TAC_TOE, moves)])
    found = searching(policy, TIC_TAC_TOE, uniform(9), 64)(NOTHING, jax.random.key(0), states)
    assert int(found.action[0]) == best


@either_policy
@pytest.mark.parametrize("rows, columns", [(1, 2), (2, 2)])
def test_value_has_the_exact_sign_where_players_move_twice(rows, columns, policy):
    """SE-02: in the last four plies of dots and boxes a big search finds the best line, with the solver's sign."""
    game = envs.make("dots_and_boxes", rows=rows, columns=columns)
    solver = game.solver()
    assert solver is not None
    states = random_states(game, 64, game.max_moves - 1)
    exact = jax.vmap(solver.values, in_axes=(None, 0))(solver.table, states).max(-1)
    late = np.asarray(states.lines.sum(-1) >= game.num_actions - 4)
    decided = late & np.asarray(exact != 0)
    assert decided.sum() >= 10

    found = searching(policy, game, uniform(game.num_actions), 400)(NOTHING, jax.random.key(0), states)
    values = jax.vmap(solver.values, in_axes=(None, 0))(solver.table, states)
    chosen = jnp.take_along_axis(values, found.action[:, None], axis=1)[:, 0]
    np.testing.assert_array_equal(np.sign(chosen)[late], np.sign(exact)[late])
    of_chosen = jnp.take_along_axis(found.qvalues, found.action[:, None], axis=1)[:, 0]
    np.testing.assert_array_equal(np.sign(of_chosen)[decided], np.sign(exact)[decided])


@either_policy
def test_the_target_improves_on_the_prior(policy):
    """SE-13: by exact values, what the search says to play is far better than the uniform prior it began with."""
    solver = BOXES.solver()
    assert solver is not None
    states = random_states(BOXES, 64, BOXES.max_moves - 1)
    values = jnp.sign(jax.vmap(solver.values, in_axes=(None, 0))(solver.table, states))
    legal = jax.vmap(BOXES.legal_action_mask)(states)
    values = jnp.where(legal, values, 0.0)
    found = searching(policy, BOXES, uniform(12), 400)(NOTHING, jax.random.key(0), states)
    prior = legal / legal.sum(-1, keepdims=True)
    better = jnp.sum((found.action_weights - prior) * values, axis=-1)
    near = states.lines.sum(-1) >= 8  # the end, which 400 simulations can see
    assert float(better.mean()) > 0.1 and float(better[near].min()) > -1e-3


def test_equal_values_leave_the_target_at_the_prior():
    """Law 9: where all moves have the same Q but for rounding, the policy target is the prior to 1e-3."""

    def evaluate(variables, observations):
        logits, _ = hashed(7)(variables, observations)
        stones = observations.sum(axis=(1, 2, 3))
        return logits, jnp.where(stones % 2 == 0, 0.3, -0.3)  # the first player's advantage is always the same

    start = stack([CONNECT_FOUR.init(), play_out(CONNECT_FOUR, [3])])
    found = searching("gumbel", CONNECT_FOUR, evaluate, 32)(NOTHING, jax.random.key(0), start)
    prior = jax.nn.softmax(evaluate(NOTHING, jax.vmap(CONNECT_FOUR.observe)(start))[0])
    np.testing.assert_allclose(found.action_weights, prior, atol=1e-3)
    np.testing.assert_allclose(found.value, [0.3, -0.3], atol=1e-5)


def test_masked_logits_stay_a_distribution():
    """SE-06 and SE-15: whatever is said of illegal actions, the legal ones share all of the mass, finitely."""
    legal = jnp.array([[True, True, False, False], [False, True, False, False]])
    for dtype in (jnp.float32, jnp.bfloat16):
        masked = mask_logits(jnp.where(legal, -50.0, 50.0).astype(dtype), legal)
        assert np.all(np.isfinite(np.asarray(masked, np.float32)))
        np.testing.assert_array_equal(np.asarray(jax.nn.softmax(masked), np.float32), [[0.5, 0.5, 0, 0], [0, 1, 0, 0]])


def test_finished_roots_are_harmless_companions():
    """SE-05."""
    over = play_out(TIC_TAC_TOE, [0, 3, 1, 4, 2])
    live = play_out(TIC_TAC_TOE, [0, 3, 8, 4])
    both = searching("gumbel", TIC_TAC_TOE, uniform(9), 64)(NOTHING, jax.random.key(0), stack([over, live]))
    alone = searching("gumbel", TIC_TAC_TOE, uniform(9), 64)(NOTHING, jax.random.key(0), stack([live]))
    np.testing.assert_array_equal(both.visit_counts[1], alone.visit_counts[0])
    assert all(np.all(np.isfinite(np.asarray(leaf))) for leaf in both)


def test_main_line_is_a_legal_continuation():
    states = random_states(CONNECT_FOUR, 64, 30)
    found = searching("gumbel", CONNECT_FOUR, hashed(7), 24)(NOTHING, jax.random.key(0), states)
    np.testing.assert_array_equal(found.main_line[:, 0], found.action)
    step = jax.jit(CONNECT_FOUR.step)
    deepest = 0
    for row in range(16):
        state = jax.tree.map(lambda x, row=row: x[row], states)
        line = [int(action) for action in found.main_line[row] if action >= 0]
        deepest = max(deepest, len(line))
        for action in line:
            if state.terminated:
                break  # mctx goes on visiting a finished node
            assert CONNECT_FOUR.legal_action_mask(state)[action]
            state, _ = step(state, jnp.int32(action))
    assert deepest >= 3


def test_exploration_draws_and_evaluation_does_not():
    states = stack([TIC_TAC_TOE.init()] * 32)
    explored = searching("gumbel", TIC_TAC_TOE, uniform(9), 8, explore=True)(NOTHING, jax.random.key(0), states)
    settled = searching("gumbel", TIC_TAC_TOE, uniform(9), 8)(NOTHING, jax.random.key(0), states)
    assert len(np.unique(explored.action)) > 3
    assert len(np.unique(settled.action)) == 1
