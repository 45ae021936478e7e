"""Rollouts: laws 2 and 3, UCB1 and playouts against the formula and exact values, right moves, strength."""

import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from positions import play_out, random_states
from wide_game import Wide

import envs
from azjax.evaluate.arena import play_match
from azjax.players import rollout_player
from azjax.search import make_rollouts, rollouts
from azjax.search.rollouts import playout, select_ucb1
from azjax.search.tree import summarise

TIC_TAC_TOE = envs.make("tic_tac_toe")
CONNECT_FOUR = envs.make("connect_four")
BOXES = envs.make("dots_and_boxes", rows=2, columns=2)
SMALL_BOXES = envs.make("dots_and_boxes", rows=1, columns=2)


GAMES = [TIC_TAC_TOE, CONNECT_FOUR, BOXES, Wide()]


def copies(state, count):
    """A batch of one state."""
    return jax.tree.map(lambda x: jnp.repeat(jnp.asarray(x)[None], count, axis=0), state)


@functools.cache
def rollouts_of(game, num_simulations):
    return jax.jit(make_rollouts(game, num_simulations))


@functools.cache
def with_trees(game, num_simulations):
    """The search, which brings its tree, too, and which slots of every node are legal."""

    def search(key, states):
        grown = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rollouts, "summarise", lambda *found: grown.append(found[2]) or summarise(*found))
            found = make_rollouts.__wrapped__(game, num_simulations)(None, key, states)
        (tree,) = grown
        nodes = tree.embeddings
        legal = jax.vmap(jax.vmap(game.legal_action_mask))(nodes.state)
        if nodes.actions is not None:
            legal = jnp.take_along_axis(jnp.pad(legal, ((0, 0), (0, 0), (0, 1))), nodes.actions.astype(int), axis=-1)
        return found, tree, legal

    return jax.jit(search)


@functools.cache
def searched(game):
    """64 searches of 60 simulations from all over the game, of lost positions too."""
    states = random_states(game, 64, game.max_moves - 1)
    return states, *jax.device_get(with_trees(game, 60)(jax.random.key(1), states))


# --- laws ---


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_no_visit_falls_on_an_illegal_action(game):
    """Law 2: at the root and inside, in lost positions too."""
    _, _, tree, legal = searched(game)
    live = (tree.node_visits > 0) & ~tree.embeddings.state.terminated
    assert live[:, 1:].sum() > 500
    assert (tree.node_values[live] < -0.5).sum() > 10
    assert not np.any(tree.children_visits[live][~legal[live]])
    assert all(np.all(np.isfinite(leaf)) for leaf in (tree.node_values, tree.children_values, tree.raw_values))


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_what_comes_back(game):
    states, found, *_ = searched(game)
    assert jax.jit(jax.vmap(game.is_legal))(states, found.action).all()
    np.testing.assert_array_equal(found.visit_counts.sum(-1), 60)
    np.testing.assert_allclose(found.action_weights, found.visit_counts / 60, atol=1e-6)
    np.testing.assert_array_equal(found.main_line[:, 0], found.action)
    slots = jax.jit(jax.vmap(game.legal_actions))(states) if type(game) is Wide else np.arange(game.num_actions)[None]
    most = found.visit_counts == found.visit_counts.max(-1, keepdims=True)
    assert np.any(most & (slots == found.action[:, None]), axis=-1).all()
    assert np.all(np.abs(found.value) <= 1) and np.all(np.abs(found.qvalues) <= 1)
    assert found.is_full.all()


def test_a_winning_edge_keeps_its_value():
    """Law 3: hundreds of visits to a mate leave Q = 1 exactly."""
    state = play_out(TIC_TAC_TOE, [0, 3, 1, 4])
    found = rollouts_of(TIC_TAC_TOE, 400)(None, jax.random.key(0), copies(state, 8))
    assert (found.visit_counts[:, 2] > 100).all() and (found.qvalues[:, 2] == 1).all()


# --- against the formula and exact values ---


def path_to(tree, lane, node):
    """The edges from the root to a node, as (parent, slot)."""
    path = []
    while node:
        edge = int(tree.parents[lane, node]), int(tree.action_from_parent[lane, node])
        path.insert(0, edge)
        node = edge[0]
    return path


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_every_simulation_goes_where_ucb1_says(game):
    """Every tree once more in NumPy: node k hangs where the formula says, after what the k - 1 before it had brought.

    The unvisited come first, in the order drawn for their node. Of equal bounds rounding may prefer either.
    """
    _, _, tree, legal = searched(game)
    over = tree.embeddings.state.terminated
    deepest = 0
    for lane in range(legal.shape[0]):
        visits, totals = np.zeros(legal.shape[1:], int), np.zeros(legal.shape[1:])
        for last in range(1, legal.shape[1]):
            path = path_to(tree, lane, last)
            deepest = max(deepest, len(path))
            for node, slot in path:
                n = visits[node]
                fresh = (n == 0) & (legal[lane, node] | over[lane, node])
                if fresh.any():
                    assert slot == np.argmax(np.where(fresh, tree.children_prior_logits[lane, node], -np.inf))
                    continue
                mean = (1 + totals[node] / np.maximum(n, 1)) / 2
                bound = np.where(n > 0, mean + np.sqrt(2 * math.log(n.sum()) / np.maximum(n, 1)), -np.inf)
                assert bound[slot] > bound.max() - 1e-5
            value = tree.raw_values[lane, last]
            for edge in reversed(path):
                value = tree.children_rewards[lane][edge] + tree.children_discounts[lane][edge] * value
                visits[edge] += 1
                totals[edge] += value
        np.testing.assert_array_equal(tree.children_visits[lane], visits)
    assert deepest >= 4


class Chosen(NamedTuple):
    """What UCB1 reads of a tree: one node, given the means on a scale of 0 to 1."""

    children_visits: Any
    children_prior_logits: Any
    means: Any

    def qvalues(self, node):
        return 2 * self.means[node] - 1


def test_the_bound_far_from_small_numbers():
    """Up to millions of visits, and for the least of differences between unvisited moves."""
    rng = np.random.default_rng(0)
    choose = jax.jit(jax.vmap(lambda *fields: select_ucb1(None, Chosen(*(x[None] for x in fields)), 0)))
    visits = np.exp(rng.uniform(0, 15, (2_000, 6))).astype(np.int32)
    means = rng.random((2_000, 6))
    bound = means + np.sqrt(2 * np.log(visits.sum(-1, keepdims=True)) / visits)
    chosen = choose(visits, jnp.zeros(visits.shape), means.astype(np.float32))
    assert (np.take_along_axis(bound, np.asarray(chosen)[:, None], 1)[:, 0] > bound.max(-1) - 1e-5).all()
    assert (np.bincount(chosen, minlength=6) > 200).all()

    order = np.array(2 * [[-1e-5, 0, -0.5, np.finfo(np.float32).min]], np.float32)
    one, some = choose(np.array([[0, 0, 0, 0], [9, 9, 0, 0]], np.int32), order, np.full((2, 4), 0.9, np.float32))
    assert one == 1 and some == 2


def test_unvisited_moves_come_in_any_order():
    """The three moves of 6,000 trees are first visited in each of the six orders equally often."""
    state = play_out(TIC_TAC_TOE, [0, 1, 2, 4, 3, 5])
    _, tree, _ = with_trees(TIC_TAC_TOE, 3)(jax.random.key(2), copies(state, 6_000))
    assert not tree.parents[:, 1:].any()
    _, counts = np.unique(tree.action_from_parent[:, 1:], axis=0, return_counts=True)
    assert len(counts) == 6
    assert scipy.stats.chisquare(counts).pvalue > 1e-3


def test_the_first_of_many_moves_is_any():
    found = rollouts_of(CONNECT_FOUR, 1)(None, jax.random.key(3), copies(CONNECT_FOUR.init(), 7_000))
    assert scipy.stats.chisquare(np.bincount(found.action, minlength=7)).pvalue > 1e-3


def outcomes(game, step, state):
    """The outcome of every random game for the player to move, with its probability, by the rules alone."""
    if state.terminated:
        return [(0.0, 1.0)]
    legal = np.flatnonzero(game.legal_action_mask(state))
    found = []
    for action in legal:
        after, transition = step(state, jnp.int32(action))
        for outcome, probability in outcomes(game, step, after):
            sign = 1 if after.player == state.player else -1
            value = float(transition.reward) + (0 if transition.terminated else sign * outcome)
            found.append((value, probability / len(legal)))
    return found


@pytest.mark.parametrize(
    "game, moves",
    [
        (TIC_TAC_TOE, [0, 1, 2, 4, 3, 5]),
        (TIC_TAC_TOE, [0, 1, 3, 4, 8]),
        (SMALL_BOXES, [0, 1, 2]),
        (SMALL_BOXES, [0, 1, 2, 5]),
        (BOXES, [0, 1, 2, 3, 4, 6, 7, 8]),
    ],
    ids=["tic_tac_toe", "tic_tac_toe, second player", "two boxes, second player", "two boxes", "four boxes"],
)
def test_playouts_bring_the_mover_what_random_games_do(game, moves):
    state = play_out(game, moves)
    values, probabilities = np.array(outcomes(game, jax.jit(game.step), state)).T
    expected = values @ probabilities
    deviation = np.sqrt((values - expected) ** 2 @ probabilities)
    assert abs(expected) > 0.05 and deviation > 0.05
    drawn = played(game)(jax.random.split(jax.random.key(4), 20_000), state)
    assert abs(drawn.mean() - expected) < 5 * deviation / math.sqrt(20_000)


@functools.cache
def played(game):
    return jax.jit(jax.vmap(functools.partial(playout, game), (0, None)))


def test_a_game_that_is_over_brings_nothing():
    over = play_out(TIC_TAC_TOE, [0, 3, 1, 4, 2])
    assert not played(TIC_TAC_TOE)(jax.random.split(jax.random.key(0), 20_000), over).any()


@pytest.mark.parametrize("moves, best", [([0, 3, 8, 4], 5), ([0, 3, 1, 4], 2), ([1, 0, 3, 8, 7], 4)])
def test_block_and_win_in_one(moves, best):
    """SE-01: the first is lost but for 5, which a wrong sign of the discount misses; for the second player too."""
    found = rollouts_of(TIC_TAC_TOE, 400)(None, jax.random.key(0), copies(play_out(TIC_TAC_TOE, moves), 8))
    np.testing.assert_array_equal(found.action, best)


def test_value_has_the_exact_sign_where_players_move_twice():
    """SE-02: in the last four plies of dots and boxes a big search finds the best line, with the solver's sign."""
    solver = BOXES.solver()
    assert solver is not None
    states = random_states(BOXES, 64, BOXES.max_moves - 1)
    values = jax.vmap(solver.values, in_axes=(None, 0))(solver.table, states)
    exact = values.max(-1)
    late = np.asarray(states.lines.sum(-1) >= BOXES.num_actions - 4)
    decided = late & np.asarray(exact != 0)
    assert decided.sum() >= 10
    found = rollouts_of(BOXES, 400)(None, jax.random.key(0), states)
    chosen, of_chosen = (
        jnp.take_along_axis(table, found.action[:, None], axis=1)[:, 0] for table in (values, found.qvalues)
    )
    np.testing.assert_array_equal(np.sign(chosen)[late], np.sign(exact)[late])
    np.testing.assert_array_equal(np.sign(of_chosen)[decided], np.sign(exact)[decided])


# --- as a player ---


def test_equal_budgets_share_their_search():
    assert rollout_player(TIC_TAC_TOE, 24).act is rollout_player(TIC_TAC_TOE, 24, "other").act
    assert rollout_player(TIC_TAC_TOE, 24).name == "rollouts 24"


def test_rollouts_need_a_simulation():
    with pytest.raises(ValueError, match="got 0 simulations; rollouts need at least 1"):
        rollout_player(TIC_TAC_TOE, 0)


def test_more_simulations_are_stronger():
    game = envs.make("connect_four", rows=4, columns=5)
    strong, weak = rollout_player(game, 64), rollout_player(game, 4)
    result = play_match(game, strong, weak, games=32, key=jax.random.key(0))
    assert result.score() - 4 * result.score_error() > 0.5, result.score()
