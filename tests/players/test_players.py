"""Players and random openings: what every one of them must do, and that they share their compiled code."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import envs
from azjax import players
from azjax.openings import random_action, random_opening

TIC_TAC_TOE = envs.make("tic_tac_toe")


def openings(game, count, *, plies, max_plies, seed=0):
    keys = jax.random.split(jax.random.key(seed), count)
    start = jax.jit(jax.vmap(lambda key, plies: random_opening(game, key, plies, max_plies=max_plies), (0, None)))
    return start(keys, jnp.int32(plies))


def batch_of(game, *actions):
    """A batch of one state: the one after these actions."""
    state = game.init()
    for action in actions:
        state, _ = game.step(state, jnp.int32(action))
    return jax.tree.map(lambda x: x[None], state)


# --- openings ---


def test_random_opening_ends_no_game_and_replays():
    made = openings(TIC_TAC_TOE, 300, plies=9, max_plies=9)
    assert not made.state.terminated.any() and not made.score.any()
    lengths = np.asarray(made.length)
    assert lengths.min() >= 4 and lengths.max() == 8  # the earliest win is the fifth move, the ninth ends every game
    step = jax.jit(TIC_TAC_TOE.step)
    for i in range(20):
        state = TIC_TAC_TOE.init()
        for action in made.actions[i, : lengths[i]]:
            state, transition = step(state, action)
            assert transition.reward == 0  # an illegal move would lose
        jax.tree.map(lambda x, y, i=i: np.testing.assert_array_equal(x[i], y), made.state, state)
        assert (made.actions[i, lengths[i] :] == TIC_TAC_TOE.num_actions).all()


def test_random_opening_depends_on_its_key_alone():
    long, cut = (openings(TIC_TAC_TOE, 50, plies=3, max_plies=most) for most in (9, 3))
    np.testing.assert_array_equal(long.actions[:, :3], cut.actions)
    jax.tree.map(np.testing.assert_array_equal, long.state, cut.state)
    assert (cut.length == 3).all()


def test_no_opening():
    none = random_opening(TIC_TAC_TOE, jax.random.key(0), 0, max_plies=0)
    jax.tree.map(np.testing.assert_array_equal, none.state, TIC_TAC_TOE.init())
    assert none.actions.shape == (0,) and none.length == 0


def test_random_opening_may_use_extra_turns():
    """On one box, the third line is never the last; the fourth closes the box and would end the game."""
    made = openings(envs.make("dots_and_boxes", rows=1, columns=1), 20, plies=4, max_plies=4)
    assert (made.length == 3).all() and not made.state.terminated.any()


def test_random_action_is_uniform_over_the_mask():
    mask = jnp.array([False, True, True, False, False, True])
    drawn = jax.vmap(random_action, (0, None))(jax.random.split(jax.random.key(0), 3000), mask)
    counts = np.bincount(drawn, minlength=6)
    assert drawn.dtype == jnp.int32 and not counts[[0, 3, 4]].any()
    np.testing.assert_allclose(counts[[1, 2, 5]], 1000, atol=4 * np.sqrt(3000 * 2 / 9))


# --- players ---


def test_random_player_draws_legal_actions_differently_in_every_game():
    states = openings(TIC_TAC_TOE, 200, plies=2, max_plies=2).state
    player = players.random_player(TIC_TAC_TOE)
    actions = jax.jit(player.act)(player.params, jax.random.key(1), states)
    assert jax.jit(jax.vmap(TIC_TAC_TOE.is_legal))(states, actions).all()
    assert (np.bincount(actions, minlength=9) > 0).all()


def test_solver_player_draws_among_the_best():
    game = envs.make("dots_and_boxes", rows=1, columns=2)
    player, solver = players.solver_player(game), game.solver()
    assert solver is not None
    state = openings(game, 1, plies=4, max_plies=4).state
    values = np.asarray(jax.jit(solver.values)(solver.table, jax.tree.map(lambda x: x[0], state)))
    best = np.flatnonzero(values == values.max())
    assert 0 < len(best) < np.isfinite(values).sum()
    states = jax.tree.map(lambda x: jnp.repeat(x, 100, axis=0), state)
    actions = jax.jit(player.act)(player.params, jax.random.key(0), states)
    assert set(np.asarray(actions).tolist()) == set(best.tolist())


def test_solver_player_needs_a_solver():
    with pytest.raises(ValueError, match=r"ConnectFour.*no solver"):
        players.solver_player(envs.make("connect_four"))


def evaluate(params, observations):
    """The logits are the params, whatever the position."""
    return jnp.tile(params, (observations.shape[0], 1)), jnp.zeros(observations.shape[0])


class Found(NamedTuple):
    action: jax.Array


def search(params, key, states) -> Any:
    del key
    return Found(jnp.full(states.player.shape, params, jnp.int32))


def test_raw_network_player_takes_the_likeliest_legal_move():
    logits = jnp.arange(9.0)
    player = players.raw_network_player(TIC_TAC_TOE, evaluate, logits, "net")
    assert player.name == "net"
    assert player.act(player.params, jax.random.key(0), batch_of(TIC_TAC_TOE)) == 8
    assert player.act(player.params, jax.random.key(0), batch_of(TIC_TAC_TOE, 8, 6)) == 7
    # Masked, not multiplied by the mask: an illegal move with logit 0 does not beat negative ones.
    assert player.act(logits - 20, jax.random.key(0), batch_of(TIC_TAC_TOE, 8, 6)) == 7


def test_search_player_plays_the_search_action():
    player = players.search_player(search, jnp.int32(5))
    assert player.act(player.params, jax.random.key(0), batch_of(TIC_TAC_TOE)) == 5


def test_players_of_a_kind_share_their_act():
    other = envs.make("connect_four")
    for make in (
        lambda game, params: players.random_player(game),
        lambda game, params: players.raw_network_player(game, evaluate, params, "net"),
    ):
        assert make(TIC_TAC_TOE, 0).act is make(envs.make("tic_tac_toe"), 1).act
        assert make(TIC_TAC_TOE, 0).act is not make(other, 0).act
    assert players.search_player(search, 0).act is players.search_player(search, 1, "other").act
    boxes = [players.solver_player(envs.make("dots_and_boxes", rows=1, columns=2)) for _ in range(2)]
    assert boxes[0].act is boxes[1].act
