"""Subtree reuse: a re-rooted search equals the search that went on (law 7), and starts afresh where it must."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy_mcts import Search as NumpySearch
from positions import NOTHING, hashed, random_states

import envs
from azjax.config import PuctConfig, SearchConfig, replace
from azjax.evaluate.arena import play_match
from azjax.players import search_player
from azjax.search import make_match_search, make_puct, make_reusing_puct
from azjax.search.reuse import Reusing, with_memory

TIC_TAC_TOE = envs.make("tic_tac_toe")
CONNECT_FOUR = envs.make("connect_four")
BOXES = envs.make("dots_and_boxes", rows=2, columns=2)
CONFIG = SearchConfig(policy="puct", num_simulations=40, puct=PuctConfig(reuse_nodes=60))


@functools.cache
def reusing(game, config=CONFIG, explore=False):
    search = make_reusing_puct(game, hashed(game.num_actions), config, explore=explore)
    return search, jax.jit(search.search)


def fresh(game, config=CONFIG):
    return jax.jit(make_puct(game, hashed(game.num_actions), config, explore=False))


def forget(root, kept):
    """The root's tree cut to its oldest `kept` descendants, as the compaction does: older ones were simulated first."""
    order = []

    def walk(node):
        for action, child in node.children.items():
            order.append((child.born, node, action))
            walk(child)

    walk(root)
    for _, node, action in sorted(order, key=lambda entry: entry[0])[kept:]:
        node.children.pop(action, None)
        node.visits[action], node.totals[action] = 0, 0.0
    return len(order) > kept


@pytest.mark.parametrize("kept", [60, 5], ids=["whole", "cut"])
@pytest.mark.parametrize("game", [TIC_TAC_TOE, CONNECT_FOUR, BOXES], ids=lambda game: game.name)
def test_going_on_after_two_moves_equals_the_continued_search(game, kept):
    """Law 7, after our move and a reply, with kept turns; with room for 5 nodes the NumPy tree is cut alike."""
    config = replace(CONFIG, {"puct.reuse_nodes": kept})
    search, run = reusing(game, config)
    states = random_states(game, 6, game.max_moves // 3)
    first, memory = run(NOTHING, jax.random.key(0), states, None, search.init_memory(NOTHING, states))
    step = jax.jit(jax.vmap(game.step))
    middle, _ = step(states, first.action)
    reply = jnp.maximum(first.main_line[:, 1], 0)  # what the search expects
    later, _ = step(middle, reply)
    second, _ = run(NOTHING, jax.random.key(1), later, None, memory)
    cuts = compared = 0
    for row in range(6):
        reference = NumpySearch(game, hashed(game.num_actions), config)
        root = reference.root(jax.tree.map(lambda x, row=row: x[row], states))
        reference.run(root, 40)
        top = root.children[int(first.action[row])].children.get(int(reply[row]))
        if top is None or bool(later.terminated[row]):
            continue
        cuts += forget(top, kept)
        inherited = top.visits.sum()
        reference.run(top, 40)
        np.testing.assert_array_equal(second.visit_counts[row], top.visits)
        np.testing.assert_allclose(second.qvalues[row], top.q, atol=1e-6)
        assert second.visit_counts[row].sum() == inherited + 40
        compared += inherited > 0
    assert compared >= 3 and (cuts >= 3 or kept == 60)


def test_a_position_that_the_last_tree_does_not_hold_starts_afresh():
    """Law 7, where nothing is to be continued: a new game, and a reply that was never expanded."""
    search, run = reusing(CONNECT_FOUR)
    states = random_states(CONNECT_FOUR, 8, 20)
    _, memory = run(NOTHING, jax.random.key(0), states, None, search.init_memory(NOTHING, states))
    others = jax.tree.map(lambda x: x[::-1], states)
    found, _ = run(NOTHING, jax.random.key(1), others, None, memory)
    expected = fresh(CONNECT_FOUR)(NOTHING, jax.random.key(1), others)
    held = _holds(memory, others)
    for row in range(8):
        if not held[row]:
            np.testing.assert_array_equal(found.visit_counts[row], expected.visit_counts[row])
            np.testing.assert_allclose(found.value[row], expected.value[row], atol=1e-6)
    assert held.sum() <= 4


def _holds(memory, states):
    """Which lanes' trees have a node with the lane's state."""
    pairs = zip(jax.tree.leaves(memory.embeddings.state), jax.tree.leaves(states), strict=True)
    equal = [np.all((nodes == leaf[:, None]).reshape(*nodes.shape[:2], -1), axis=-1) for nodes, leaf in pairs]
    return np.any(np.all(equal, axis=0) & (memory.node_visits > 0), axis=1)


def test_an_empty_memory_changes_nothing():
    states = random_states(BOXES, 8, 6)
    search, run = reusing(BOXES)
    found, _ = run(NOTHING, jax.random.key(1), states, None, search.init_memory(NOTHING, states))
    expected = fresh(BOXES)(NOTHING, jax.random.key(1), states)
    np.testing.assert_array_equal(found.visit_counts, expected.visit_counts)
    np.testing.assert_array_equal(found.action_weights, expected.action_weights)


@pytest.mark.parametrize("name", envs.available())
def test_equal_positions_have_equal_states(name):
    """SE-20: states hold whole numbers and truth values, so that no position has two, as 0.0 and -0.0 would give it."""
    for leaf in jax.tree.leaves(jax.eval_shape(envs.make(name).init)):
        assert not jnp.issubdtype(leaf.dtype, jnp.floating)


def test_the_memory_never_grows_beyond_its_rows():
    search, run = reusing(CONNECT_FOUR)
    states = random_states(CONNECT_FOUR, 8, 5)
    memory = search.init_memory(NOTHING, states)
    most = 0
    for move in range(8):
        found, memory = run(NOTHING, jax.random.key(move), states, None, memory)
        held = np.asarray(memory.node_visits > 0)
        assert held.shape == (8, 101) and not held[:, 61 + 40 :].any()
        most = max(most, held[:, 1:61].sum(-1).max())
        np.testing.assert_array_equal(memory.node_visits[:, 0] > 40, True)
        children = np.asarray(memory.children_index)
        used = children[children >= 0]
        assert np.take_along_axis(held, children.reshape(8, -1).clip(0), 1)[children.reshape(8, -1) >= 0].all()
        assert used.max() < 101
        states, _ = jax.vmap(CONNECT_FOUR.step)(states, found.action)
    assert 10 < most <= 60


def test_noise_is_mixed_into_the_inherited_root_once_more():
    """In self-play the new root's prior is the network's with fresh noise, not an inherited one."""
    config = replace(CONFIG, {"puct.reuse": "always", "puct.dirichlet_fraction": 0.5})
    search, run = reusing(CONNECT_FOUR, config, True)
    states = random_states(CONNECT_FOUR, 8, 10)
    found, memory = run(NOTHING, jax.random.key(0), states, None, search.init_memory(NOTHING, states))
    after, _ = jax.vmap(CONNECT_FOUR.step)(states, found.action)
    trees = [run(NOTHING, jax.random.key(seed), after, None, memory)[1] for seed in (1, 2)]
    priors = [np.asarray(jax.nn.softmax(tree.children_prior_logits[:, 0])) for tree in trees]
    live = ~np.asarray(after.terminated)
    assert np.abs(priors[0] - priors[1])[live].max(-1).min() > 0.01


def test_matches_go_on_with_their_trees():
    """In the arena each side keeps its own tree a game, and a side's moves are those of its search with memory."""
    game, config = BOXES, replace(CONFIG, {"num_simulations": 24, "puct.reuse_nodes": 0})
    configs = (config, replace(config, {"puct.reuse": "never"}))
    searches = [make_match_search(game, hashed(game.num_actions), one) for one in configs]
    assert isinstance(searches[0], Reusing) and not isinstance(searches[1], Reusing)
    names = ("reuses", "forgets")
    players = [search_player(search, NOTHING, name) for search, name in zip(searches, names, strict=True)]
    result = play_match(game, *players, games=4, key=jax.random.key(0), opening_plies=3)
    runs = [jax.jit(with_memory(search).search) for search in searches]
    for record in result.records:
        order = (0, 1) if record.first == "reuses" else (1, 0)
        state = game.init()
        batch = jax.tree.map(lambda x: jnp.asarray(x)[None], state)
        memories = [with_memory(search).init_memory(NOTHING, batch) for search in searches]
        for ply, action in enumerate(record.actions):
            if ply >= record.opening_plies:
                mover = order[int(state.player)]
                batch = jax.tree.map(lambda x: jnp.asarray(x)[None], state)
                found, memories[mover] = runs[mover](NOTHING, jax.random.key(0), batch, None, memories[mover])
                assert int(found.action[0]) == action
            state, _ = game.step(state, jnp.int32(action))


def test_two_networks_of_one_search_share_its_compilation_and_not_their_trees():
    """Both sides reuse trees by one `act`: the match is that of two players with separate functions."""
    game = TIC_TAC_TOE
    search = make_match_search(game, hashed(9), dataclasses.replace(CONFIG, num_simulations=16))
    one = search_player(search, NOTHING, "one")
    other = search_player(search, NOTHING, "other")
    assert one.act is other.act

    def act(params, key, states, memory):
        return one.act(params, key, states, memory)

    shared = play_match(game, one, other, games=8, key=jax.random.key(0), opening_plies=2)
    apart = play_match(game, one, other._replace(act=act), games=8, key=jax.random.key(0), opening_plies=2)
    assert [record.actions for record in shared.records] == [record.actions for record in apart.records]
