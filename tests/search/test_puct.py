"""PUCT: equal to AlphaZero's search in NumPy, noise, temperature, worked examples, and KataGo's switches."""

import dataclasses
import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from data import DATA
from numpy_mcts import Search as NumpySearch
from positions import NOTHING, hashed, play_out, random_states, stack, uniform

import envs
from azjax.config import SearchConfig, replace
from azjax.search import Reusing, make_gumbel, make_puct, make_reusing_puct, make_selfplay_search, puct
from envs.tic_tac_toe import TicTacToe

TIC_TAC_TOE = envs.make("tic_tac_toe")
CONNECT_FOUR = envs.make("connect_four")
BOXES = envs.make("dots_and_boxes", rows=2, columns=2)
PUCT = SearchConfig(policy="puct", num_simulations=64)


@functools.cache
def searching(game, evaluate, config, explore=False):
    return jax.jit(make_puct(game, evaluate, config, explore=explore))


def tree_of(game, evaluate, config, states):
    """The whole search tree."""
    search = make_reusing_puct(game, evaluate, config, explore=False)
    return jax.jit(search.search)(NOTHING, jax.random.key(0), states, None, search.init_memory(NOTHING, states))[1]


@pytest.mark.parametrize(
    "settings",
    [{}, {"c_puct": 3.0}, {"c_init": 0.5, "c_base": 20.0, "fpu": "loss"}, {"fpu": "parent", "fpu_reduction": 0.4}],
    ids=str,
)
@pytest.mark.parametrize("game", [TIC_TAC_TOE, CONNECT_FOUR, BOXES], ids=lambda game: game.name)
def test_equals_alphazero_in_numpy(game, settings):
    """Law 1: visits exactly and Q to 1e-6, with kept turns, finished nodes and positions with a single reply."""
    config = replace(PUCT, {"puct": settings})
    evaluate, states = hashed(game.num_actions), random_states(game, 12, game.max_moves - 1)
    found = searching(game, evaluate, config)(NOTHING, jax.random.key(0), states)
    reference = NumpySearch(game, evaluate, config)
    for row in range(12):
        root = reference.run(reference.root(jax.tree.map(lambda x, row=row: x[row], states)), config.num_simulations)
        np.testing.assert_array_equal(found.visit_counts[row], root.visits)
        np.testing.assert_allclose(found.qvalues[row], root.q, atol=1e-6)
        np.testing.assert_allclose(found.value[row], root.mean, atol=1e-6)
        assert root.visits[found.action[row]] == root.visits.max()


# --- worked examples ---


def test_the_textbooks_three_simulations():
    """White moves to 2, which the network likes, and Black's 9 refutes it: N, W and Q after every step.

    Squares are counted from 1 there and from 0 here. O threatens 7, 8, 9; White is X.
    """
    state = play_out(TIC_TAC_TOE, [0, 6, 5, 7])

    def evaluate(variables, observations):
        del variables
        stones = observations.sum(axis=(1, 2, 3))
        ours = jnp.zeros((len(stones), 9)).at[:, 1].set(20.0)
        theirs = jnp.zeros((len(stones), 9)).at[:, 8].set(20.0)
        return jnp.where((stones == 4)[:, None], ours, theirs), jnp.where(stones == 5, -0.1, 0.0)

    for simulations, root_count, (n, w), (reply_n, reply_w) in (
        (1, 2, (1, 0.1), (0, 0.0)),
        (2, 3, (2, -0.9), (1, 1.0)),
    ):
        config = SearchConfig(policy="puct", num_simulations=simulations)
        tree = tree_of(TIC_TAC_TOE, evaluate, config, stack([state]))
        assert int(tree.node_visits[0, 0]) == root_count
        visits, q = tree.children_visits[0], tree.qvalues(jnp.array([0]))[0]
        assert int(visits[0, 1]) == n
        np.testing.assert_allclose(q[1], w / n, atol=1e-6)
        below = int(tree.children_index[0, 0, 1])
        assert int(visits[below, 8]) == reply_n
        if reply_n:
            np.testing.assert_allclose(tree.qvalues(jnp.array([below]))[0, 8], reply_w / reply_n, atol=1e-6)
    at_rest = TIC_TAC_TOE.observe(state)[None]
    assert float(evaluate(NOTHING, at_rest)[1][0]) == 0.0  # step 1: the root is expanded, N = 1


def test_root_counts_one_more_than_its_edges():
    config = dataclasses.replace(PUCT, num_simulations=400)
    tree = tree_of(TIC_TAC_TOE, uniform(9), config, stack([TIC_TAC_TOE.init()]))
    assert int(tree.node_visits[0, 0]) == 401
    assert int(tree.children_visits[0, 0].sum()) == 400


def test_the_articles_position():
    """With its published priors at the root, 50 simulations find line 23, the only one that wins, as the article's did
    although its network took the position for lost."""
    article = json.loads((DATA / "dots_and_boxes_article_position.json").read_text())
    game = envs.make("dots_and_boxes")
    board = np.array(article["board"])
    lines = np.concatenate([board[:4, :3].ravel(), board[4:].ravel()]).astype(bool)
    state = game.init()
    state = state._replace(lines=jnp.asarray(lines), score=jnp.asarray(board[:2, 3].astype(np.int8)))
    assert np.flatnonzero(game.legal_action_mask(state)).tolist() == article["legal_lines"]
    published = jnp.full(24, -40.0)
    for line, prior in article["network_prior"].items():
        published = published.at[int(line)].set(jnp.log(prior))

    def evaluate(variables, observations):
        del variables
        drawn = game.observe(state)
        at_root = (observations == drawn[None]).all(axis=(1, 2, 3))
        logits = jnp.where(at_root[:, None], published[None], 0.0)
        return logits, jnp.where(at_root, article["network_value"], 0.0)

    config = replace(PUCT, {"num_simulations": article["num_simulations"], "puct.c_puct": article["c_puct"]})
    found = searching(game, evaluate, config)(NOTHING, jax.random.key(0), stack([state]))
    assert int(found.action[0]) == article["chosen"] == 23
    assert int(found.visit_counts[0].sum()) == sum(article["root_visit_counts"].values()) + 1  # it counts one less


def test_a_wrong_sign_misses_the_block_but_not_the_win():
    """SE-01: with every discount +1 the search makes the winning move all the same, and doesn't see the threat."""

    class WrongSign(TicTacToe):
        def step(self, state, action):
            after, transition = super().step(state, action)
            return after, transition._replace(discount=jnp.abs(transition.discount))

    win, block = play_out(TIC_TAC_TOE, [0, 3, 1, 4]), play_out(TIC_TAC_TOE, [0, 3, 8, 4])
    for game, expected in ((TIC_TAC_TOE, [2, 5]), (WrongSign(), None)):
        found = searching(game, uniform(9), PUCT)(NOTHING, jax.random.key(0), stack([win, block]))
        if expected:
            assert found.action.tolist() == expected
        else:
            assert found.action[0] == 2 and found.action[1] != 5


# --- noise ---


def test_noise_is_drawn_over_the_legal_moves_alone():
    """Law 4 and SE-07: 30 legal moves of 300 get the whole noise, whose mean and variance are Dirichlet's."""
    legal = jnp.zeros(300, bool).at[jnp.arange(30) * 10].set(True)
    logits = jnp.where(legal, jnp.linspace(-2, 2, 300), jnp.finfo(jnp.float32).min)
    rows, fraction = 2_000, 0.25
    for alpha in (0.3, 0.03, 0.0):
        mixed = puct.mix_noise(
            jax.random.key(1), jnp.tile(logits, (rows, 1)), jnp.tile(legal, (rows, 1)), fraction, alpha
        )[:, legal]
        prior = jax.nn.softmax(logits)[legal]
        noise = (np.exp(np.asarray(mixed, np.float64)) - (1 - fraction) * np.asarray(prior)) / fraction
        np.testing.assert_allclose(noise.sum(axis=-1), 1, atol=1e-4)
        assert noise.min() > -1e-5
        concentration = alpha or 10 / 30
        variance = (1 / 30) * (29 / 30) / (30 * concentration + 1)
        np.testing.assert_allclose(noise.mean(axis=0), 1 / 30, atol=5 * np.sqrt(variance / rows))
        np.testing.assert_allclose(noise.var(axis=0).mean(), variance, rtol=0.05)


@pytest.mark.parametrize("concentration", [0.03, 0.3, 1.0, 4.0])
def test_log_gamma(concentration):
    """As SciPy has the distribution (Kolmogorov and Smirnov's test), and finite where the draw itself is 0."""
    shape = (40, 500)
    wanted = jnp.broadcast_to(jnp.arange(500) % 2 == 0, shape)
    draws = np.asarray(puct.log_gamma(jax.random.key(3), jnp.full(shape, concentration), wanted))
    assert np.isfinite(draws[wanted]).all()
    assert scipy.stats.kstest(draws[wanted], scipy.stats.loggamma(concentration).cdf).pvalue > 0.01
    assert abs(np.corrcoef(draws[:, 0], draws[:, 2])[0, 1]) < 0.5


def test_illegal_moves_stay_impossible_under_noise():
    legal = jnp.array([[True, False, True], [False, True, False]])
    mixed = puct.mix_noise(jax.random.key(0), jnp.zeros((2, 3)), legal, 1.0, 0.0001)
    assert np.all(np.isfinite(mixed))
    np.testing.assert_array_equal(jax.nn.softmax(mixed)[~legal], 0)
    np.testing.assert_allclose(jax.nn.softmax(mixed)[1], [0, 1, 0])


def test_noise_is_at_the_root_only_and_only_in_self_play():
    """SE-10: drawn once; below the root, and in evaluation, the prior is the network's."""
    states = random_states(CONNECT_FOUR, 16, 20)
    evaluate = hashed(7)
    search = make_reusing_puct(CONNECT_FOUR, evaluate, PUCT, explore=True)
    start = search.init_memory(NOTHING, states)
    tree = jax.jit(search.search)(NOTHING, jax.random.key(3), states, None, start)[1]
    quiet = tree_of(CONNECT_FOUR, evaluate, PUCT, states)
    noisy, plain = (jax.nn.softmax(one.children_prior_logits[:, 0]) for one in (tree, quiet))
    assert np.abs(noisy - plain).max() > 0.05
    nodes = jax.tree.map(lambda x: x[:, 1:], tree.embeddings.state)
    logits, _ = jax.vmap(lambda states: evaluate(NOTHING, jax.vmap(CONNECT_FOUR.observe)(states)))(nodes)
    legal = jax.vmap(jax.vmap(CONNECT_FOUR.legal_action_mask))(nodes)
    live = (tree.node_visits[:, 1:] > 0) & ~nodes.terminated
    expected = jax.nn.softmax(jnp.where(legal, logits, -1e9))
    np.testing.assert_allclose(jax.nn.softmax(tree.children_prior_logits[:, 1:])[live], expected[live], atol=1e-6)
    again = searching(CONNECT_FOUR, evaluate, PUCT)
    one, other = (again(NOTHING, jax.random.key(seed), states) for seed in (0, 1))
    jax.tree.map(np.testing.assert_array_equal, one, other)


def test_the_first_visit_follows_the_prior_without_a_favourite():
    """SE-11: one simulation under a uniform prior and noise goes to every move equally often."""
    states = stack([CONNECT_FOUR.init()] * 2_000)
    config = dataclasses.replace(PUCT, num_simulations=1)
    found = searching(CONNECT_FOUR, uniform(7), config, explore=True)(NOTHING, jax.random.key(0), states)
    counts = np.bincount(found.action, minlength=7)
    chi = ((counts - 2_000 / 7) ** 2 / (2_000 / 7)).sum()
    assert chi < 22.5  # 0.1 % of uniform counts are worse
    opinion = searching(CONNECT_FOUR, hashed(7), config)(
        NOTHING, jax.random.key(0), random_states(CONNECT_FOUR, 32, 20)
    )
    np.testing.assert_array_equal(opinion.visit_counts.sum(-1), 1)
    root = tree_of(CONNECT_FOUR, hashed(7), config, random_states(CONNECT_FOUR, 32, 20))
    np.testing.assert_array_equal(opinion.action, root.children_prior_logits[:, 0].argmax(-1))


def test_even_values_spread_visits_like_the_prior():
    """SE-12: with value 0 everywhere an unvisited move is a draw, not a loss, and visits are split like the prior."""

    def evaluate(variables, observations):
        del variables
        rows = observations.shape[0]
        return jnp.tile(jnp.log(jnp.array([0.05, 0.1, 0.15, 0.4, 0.15, 0.1, 0.05])), (rows, 1)), jnp.zeros(rows)

    config = dataclasses.replace(PUCT, num_simulations=200)
    found = searching(CONNECT_FOUR, evaluate, config)(NOTHING, jax.random.key(0), stack([CONNECT_FOUR.init()]))
    np.testing.assert_allclose(found.action_weights[0], [0.05, 0.1, 0.15, 0.4, 0.15, 0.1, 0.05], atol=0.01)


# --- temperature ---


def test_moves_are_drawn_in_proportion_to_tempered_visits():
    """SE-09: visits 3 to 1 are drawn 9 to 1 at temperature 0.5; the target stays 3 to 1."""
    visits = jnp.tile(jnp.array([3, 1, 0]), (20_000, 1))
    drawn = puct.draw_action(jax.random.key(0), visits, jnp.full(20_000, 0.5))
    shares = np.bincount(drawn, minlength=3) / 20_000
    np.testing.assert_allclose(shares, [0.9, 0.1, 0.0], atol=5 * np.sqrt(0.09 / 20_000))
    assert shares[2] == 0


def test_no_temperature_overflows():
    visits = jnp.array([[800, 799, 0], [1, 0, 0], [0, 5, 5]])
    for temperature in (0.0, 1e-3, 1e-30, 1.0, 1e6):
        drawn = puct.draw_action(jax.random.key(0), visits, jnp.full(3, temperature))
        assert np.all(np.take_along_axis(np.asarray(visits), np.asarray(drawn)[:, None], 1) > 0)
        if temperature < 1e-2:
            assert drawn[0] == 0


def test_temperature_falls_to_zero_after_its_plies():
    states, config = stack([CONNECT_FOUR.init()] * 64), replace(PUCT, {"puct.temperature_plies": 4})
    search = searching(CONNECT_FOUR, uniform(7), config, explore=True)
    plies = jnp.where(jnp.arange(64) < 32, 3, 4)
    found = search(NOTHING, jax.random.key(0), states, plies)
    chosen = jnp.take_along_axis(found.visit_counts, found.action[:, None], 1)[:, 0]
    best = found.visit_counts.max(-1)
    assert np.all(chosen[32:] == best[32:]) and np.sum(chosen[:32] < best[:32]) > 10
    np.testing.assert_allclose(found.action_weights, found.visit_counts / 64, atol=1e-6)


def test_equally_visited_moves_are_told_apart_by_their_value():
    visits = jnp.array([[5, 7, 7, 1]])
    assert int(puct.most_visited(visits, jnp.array([[0.9, -0.5, 0.2, 1.0]]))[0]) == 2


# --- KataGo's switches ---


def test_no_node_lies_deeper_than_max_depth():
    """SE-19: in a chain of single replies the depth is bounded, and the budget is used up all the same."""
    states = random_states(CONNECT_FOUR, 16, 35)
    for depth in (1, 3):
        config = dataclasses.replace(PUCT, max_depth=depth)
        tree = tree_of(CONNECT_FOUR, hashed(7), config, states)
        parents, depths = np.asarray(tree.parents), np.zeros(tree.parents.shape, int)
        for node in range(1, parents.shape[1]):
            rows = np.arange(len(parents))
            depths[:, node] = np.where(parents[:, node] >= 0, depths[rows, parents[:, node]] + 1, 0)
        assert depths.max() == depth
        np.testing.assert_array_equal(tree.children_visits[:, 0].sum(-1), 64)


@pytest.mark.parametrize("policy", ["gumbel", "puct"])
def test_playout_caps_make_cheap_moves_that_are_not_trained_on(policy):
    config = SearchConfig(policy=policy, num_simulations=16, full_search_share=0.3, cheap_simulations=4)
    search = make_selfplay_search(CONNECT_FOUR, hashed(7), config)
    assert not isinstance(search, Reusing)
    search = jax.jit(search)
    states, plies = random_states(CONNECT_FOUR, 8, 20), jnp.full(8, 100)
    full = 0
    cheap = (make_puct if policy == "puct" else make_gumbel)(
        CONNECT_FOUR, hashed(7), SearchConfig(policy=policy, num_simulations=4), explore=False
    )
    expected = jax.jit(cheap)(NOTHING, jax.random.key(0), states)
    for seed in range(100):
        found = search(NOTHING, jax.random.key(seed), states, plies)
        assert len(set(found.is_full.tolist())) == 1
        full += bool(found.is_full[0])
        np.testing.assert_array_equal(found.visit_counts.sum(-1), 16 if found.is_full[0] else 4)
        if not found.is_full[0]:  # no noise
            np.testing.assert_array_equal(found.visit_counts, expected.visit_counts)
    assert abs(full - 30) < 5 * np.sqrt(100 * 0.3 * 0.7)


def test_forced_playouts_give_every_visited_move_its_share():
    """A move of the root that was visited has at least sqrt(k P N) visits, but for what its last visits added to N."""
    states = random_states(CONNECT_FOUR, 32, 20)
    plain = dataclasses.replace(PUCT, num_simulations=200)
    forced = replace(plain, {"puct.forced_playouts": 2.0})
    search = make_reusing_puct(CONNECT_FOUR, hashed(7), forced, explore=True)
    output, tree = jax.jit(search.search)(NOTHING, jax.random.key(0), states, None, search.init_memory(NOTHING, states))
    prior = jax.nn.softmax(tree.children_prior_logits[:, 0])
    visits = np.asarray(tree.children_visits[:, 0])
    owed = np.sqrt(2 * prior * visits.sum(-1, keepdims=True))
    assert np.all((visits >= owed - 1) | (visits == 0))
    usual = make_reusing_puct(CONNECT_FOUR, hashed(7), plain, explore=True)
    other = jax.jit(usual.search)(NOTHING, jax.random.key(0), states, None, usual.init_memory(NOTHING, states))[1]
    unforced = np.asarray(other.children_visits[:, 0])
    assert np.any((unforced < owed - 1) & (unforced > 0))
    for row in range(32):
        pruned = prune_by_hand(
            visits[row], np.asarray(prior[row], float), np.asarray(output.qvalues[row], float), forced
        )
        np.testing.assert_allclose(output.action_weights[row], pruned / pruned.sum(), atol=1e-6)
    assert np.any(output.action_weights * 200 < visits - 1)  # something was pruned


def prune_by_hand(visits, prior, q, config):
    """Policy target pruning as the paper tells it: one visit at a time is taken away."""
    total, best = visits.sum(), int(visits.argmax())
    c = np.log((1 + total + config.puct.c_base) / config.puct.c_base) + config.puct.c_init

    def score(action, count):
        return q[action] + c * prior[action] * np.sqrt(total) / (1 + count)

    left = visits.astype(float).copy()
    for action in range(len(visits)):
        if action == best or not visits[action]:
            continue
        for _ in range(int(np.sqrt(config.puct.forced_playouts * prior[action] * total))):
            if left[action] > 0 and score(action, left[action] - 1) < score(best, visits[best]):
                left[action] -= 1
        if left[action] <= 1:
            left[action] = 0
    return left


def test_evaluation_forces_nothing():
    states = random_states(CONNECT_FOUR, 16, 20)
    forced = replace(PUCT, {"puct.forced_playouts": 2.0})
    one, other = (searching(CONNECT_FOUR, hashed(7), c)(NOTHING, jax.random.key(0), states) for c in (PUCT, forced))
    jax.tree.map(np.testing.assert_array_equal, one, other)
