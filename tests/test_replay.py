"""Replay: outcomes and eligibility against a NumPy restatement, and uniform sampling."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from azjax.replay import Trajectory, add, eligible, init_replay, sample

LANES, TIME = 5, 4


def random_moves(rng, count, *, end=0.2):
    """Rewards and discounts [count, lanes] of games with extra turns, rewards within the game, and draws."""
    ended = rng.random((count, LANES)) < end
    discount = np.where(ended, 0.0, rng.choice([-1.0, 1.0], (count, LANES)))
    reward = np.where(rng.random((count, LANES)) < 0.5, rng.choice([-1.0, 0.0, 0.5, 1.0], (count, LANES)), 0.0)
    return reward, discount


def trajectory(reward, discount, start, is_full=None):
    shape = reward.shape
    number = np.broadcast_to(start + np.arange(shape[0])[:, None], shape)
    return Trajectory(
        state=(jnp.asarray(number, jnp.int32), jnp.broadcast_to(jnp.arange(LANES), shape)),
        policy_target=jnp.ones((*shape, 2), jnp.float16) / 2,
        search_value=jnp.zeros(shape, jnp.float16),
        reward=jnp.asarray(reward, jnp.float32),
        discount=jnp.asarray(discount, jnp.float32),
        is_full=jnp.ones(shape, bool) if is_full is None else jnp.asarray(is_full),
    )


def outcomes_by_hand(reward, discount):
    """Outcome of every position for its mover, NaN where its game has not ended."""
    outcome = np.full(reward.shape, np.nan)
    for lane in range(reward.shape[1]):
        later = np.nan
        for move in reversed(range(reward.shape[0])):
            later = (
                reward[move, lane] if discount[move, lane] == 0 else reward[move, lane] + discount[move, lane] * later
            )
            outcome[move, lane] = later
    return outcome


def filled(reward, discount, rows, max_moves, is_full=None):
    example = jax.tree.map(lambda x: x[0, 0], trajectory(reward, discount, 0))
    replay = init_replay(example, rows=rows, lanes=LANES)
    write = jax.jit(add, static_argnames="max_moves")
    for start in range(0, len(reward), TIME):
        part = slice(start, start + TIME)
        full = None if is_full is None else is_full[part]
        replay = write(replay, trajectory(reward[part], discount[part], start, full), max_moves=max_moves)
    return replay


@pytest.mark.parametrize("rows, max_moves, end", [(400, 30, 0.2), (24, 100, 0.2), (24, 100, 0.03), (400, 120, 0.03)])
def test_outcomes_and_eligible_positions_are_those_of_ended_games(rows, max_moves, end):
    """Longer games than the ring included: their last positions get the outcome, the others are gone."""
    reward, discount = random_moves(np.random.default_rng(rows), 120, end=end)
    if rows == 400:  # here no game may be longer than max_moves
        discount[max_moves - 1 :: max_moves] = 0
    expected = outcomes_by_hand(reward, discount)
    replay = filled(reward, discount, rows, max_moves)
    counts = np.asarray(eligible(replay).sum(axis=0))
    checked = 0
    for lane in range(LANES):
        last_end = np.flatnonzero(discount[:, lane] == 0).max() + 1
        oldest = max(0, 120 - rows)
        assert counts[lane] == max(0, last_end - oldest)
        for number in range(oldest, last_end):
            row = number % rows
            assert int(replay.moves.state[0][row, lane]) == number
            assert replay.outcome[row, lane] == expected[number, lane]
            checked += 1
    assert checked > 40


def test_nothing_is_eligible_before_a_game_has_ended():
    reward, discount = random_moves(np.random.default_rng(0), 8)
    replay = filled(reward, np.where(discount == 0, -1.0, discount), 16, 100)
    assert not np.any(eligible(replay))


def test_samples_are_uniform_over_the_eligible_positions():
    reward, discount = random_moves(np.random.default_rng(3), 40)
    rows = 24
    replay = filled(reward, discount, rows, 100)
    expected = outcomes_by_hand(reward, discount)
    drawn = jax.jit(sample, static_argnames="shape")(replay, jax.random.key(0), shape=(40_000,))
    number, lane = (np.asarray(leaf) for leaf in drawn.state)
    np.testing.assert_array_equal(drawn.outcome, expected[number, lane])
    total = int(eligible(replay).sum())
    _, times = np.unique(number * LANES + lane, return_counts=True)
    assert len(times) == total
    # Chi-square of uniformity: mean total - 1, standard deviation sqrt(2 total).
    chi = float(((times - 40_000 / total) ** 2 / (40_000 / total)).sum())
    assert abs(chi - (total - 1)) < 5 * np.sqrt(2 * total)


def test_positions_of_cheap_searches_are_never_drawn():
    """Playout cap randomisation trains on full searches alone; outcomes run through the cheap ones all the same."""
    rng = np.random.default_rng(4)
    reward, discount = random_moves(rng, 40)
    is_full = rng.random((40, LANES)) < 0.3
    replay = filled(reward, discount, 24, 100, is_full)
    expected = outcomes_by_hand(reward, discount)
    drawn = jax.jit(sample, static_argnames="shape")(replay, jax.random.key(0), shape=(5_000,))
    number, lane = (np.asarray(leaf) for leaf in drawn.state)
    assert is_full[number, lane].all()
    np.testing.assert_array_equal(drawn.outcome, expected[number, lane])
    there = is_full & ~np.isnan(expected) & (np.arange(40) >= 16)[:, None]
    assert set(zip(number, lane, strict=True)) == set(zip(*np.nonzero(there), strict=True))


def test_views_of_both_players_add_up_to_nothing():
    """TR-21, SE-16: in an alternating game won at its end, values of neighbours are opposite; in a draw all are 0."""
    discount = np.array([[-1.0], [-1.0], [-1.0], [0.0]]).repeat(LANES, 1)
    won = filled(np.array([[0.0], [0], [0], [1]]).repeat(LANES, 1), discount, 8, 4).outcome[:4]
    np.testing.assert_array_equal(won[:, 0], [-1, 1, -1, 1])
    drawn = filled(np.zeros_like(discount), discount, 8, 4).outcome[:4]
    np.testing.assert_array_equal(drawn, np.zeros((4, LANES)))
