"""Self-play: lanes restart clean, and what is recorded is what was played."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import envs
from azjax import selfplay
from azjax.config import SearchConfig
from azjax.network import Variables
from azjax.search import make_gumbel

LANES, MOVES = 8, 60


def knows_nothing(actions):
    def evaluate(variables, observations):
        del variables
        return jnp.zeros((observations.shape[0], actions)), jnp.zeros(observations.shape[0])

    return evaluate


GAMES = {
    "tic_tac_toe": envs.make("tic_tac_toe"),
    "dots_and_boxes": envs.make("dots_and_boxes", rows=2, columns=2),
}


@functools.cache
def played(name, opening_plies=0):
    game = GAMES[name]
    search = make_gumbel(game, knows_nothing(game.num_actions), SearchConfig(num_simulations=8), explore=True)

    @jax.jit
    def run(key):
        lanes_key, play_key = jax.random.split(key)
        lanes = selfplay.init_lanes(game, lanes_key, lanes=LANES, opening_plies=opening_plies)
        return selfplay.play(game, search, Variables((), ()), lanes, play_key, moves=MOVES, opening_plies=opening_plies)

    lanes, trajectory, games = jax.device_get(run(jax.random.key(0)))
    return game, lanes, trajectory, games


def at(states, time, lane):
    return jax.tree.map(lambda leaf: leaf[time, lane], states)


def equal(one, other):
    return all(np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True))


@pytest.mark.parametrize("name", GAMES)
def test_every_searched_state_is_live_and_a_finished_lane_begins_anew(name):
    """TR-01: the state after a game's end is the start of a new one, searched on a live root."""
    game, lanes, trajectory, games = played(name)
    assert not trajectory.state.terminated.any() and not lanes.state.terminated.any()
    start = jax.tree.map(np.asarray, game.init())
    ends = np.argwhere(games.ended[:-1])
    assert len(ends) > 20
    for time, lane in ends:
        assert equal(at(trajectory.state, time + 1, lane), start)
        assert trajectory.discount[time, lane] == 0
    assert np.array_equal(trajectory.discount == 0, games.ended)
    np.testing.assert_allclose(trajectory.policy_target.astype(np.float32).sum(-1), 1, atol=2e-3)


@pytest.mark.parametrize("name", GAMES)
def test_records_are_the_games_that_were_played(name):
    """SE-21: every recorded successor is reached by one legal move, with that move's reward and discount."""
    game, _, trajectory, games = played(name)
    step = jax.jit(jax.vmap(game.step, in_axes=(None, 0)))
    legal_mask = jax.jit(game.legal_action_mask)
    actions = jnp.arange(game.num_actions)
    for lane in range(2):
        for time in range(MOVES - 1):
            state = at(trajectory.state, time, lane)
            after, transition = jax.device_get(step(state, actions))
            legal = np.asarray(legal_mask(state))
            assert not np.any(trajectory.policy_target[time, lane][~legal])
            fits = legal & (transition.reward == trajectory.reward[time, lane])
            fits &= transition.discount == trajectory.discount[time, lane]
            if not games.ended[time, lane]:
                follower = at(trajectory.state, time + 1, lane)
                reached = [jax.tree.map(lambda leaf, a=a: leaf[a], after) for a in range(game.num_actions)]
                fits &= [equal(state, follower) for state in reached]
            assert fits.any()


@pytest.mark.parametrize("name", GAMES)
def test_lengths_and_scores_are_those_of_the_games(name):
    game, _, trajectory, games = played(name)
    for lane in range(LANES):
        began, score = 0, 0.0
        for time in range(MOVES):
            sign = 1 if trajectory.state.player[time, lane] == 0 else -1
            score += sign * trajectory.reward[time, lane]
            if games.ended[time, lane]:
                assert games.plies[time, lane] == time + 1 - began <= game.max_moves
                assert games.score[time, lane] == score
                began, score = time + 1, 0.0
    if name == "dots_and_boxes":
        assert (trajectory.discount == 1).any()  # extra turns did occur


def test_random_openings_vary_the_first_searched_positions():
    _, _, trajectory, games = played("tic_tac_toe", 4)
    stones = np.bitwise_count(trajectory.state.own) + np.bitwise_count(trajectory.state.opponent)
    first = np.concatenate([stones[:1].ravel(), stones[1:][games.ended[:-1]]])
    assert set(first.tolist()) == {0, 1, 2, 3, 4}
    assert not trajectory.state.terminated.any()


def test_distinct_games_are_counted():
    _, _, _, games = played("tic_tac_toe")
    ended = games.ended
    expected = len(np.unique(games.moves_hash[ended] >> 1))
    assert int(selfplay.count_unique(jax.tree.map(jnp.asarray, games))) == expected
    same = games._replace(moves_hash=np.zeros_like(games.moves_hash))
    assert int(selfplay.count_unique(jax.tree.map(jnp.asarray, same))) == 1
    none = games._replace(ended=np.zeros_like(ended))
    assert int(selfplay.count_unique(jax.tree.map(jnp.asarray, none))) == 0
