"""Self-play: lanes restart clean, and what is recorded is what was played."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny import assert_equal_trees

import envs
from azjax import selfplay
from azjax.config import SearchConfig
from azjax.network import Variables
from azjax.openings import read_starts
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


def open_all_lanes(game, lanes, ended, key, *, opening_plies, starts=None):
    """What `renew_lanes` returns, by opening every lane."""
    new = selfplay.init_lanes(game, key, lanes=len(ended), opening_plies=opening_plies, starts=starts)
    wide = {leaf.ndim: jnp.expand_dims(ended, range(1, leaf.ndim)) for leaf in jax.tree.leaves(lanes)}
    return jax.tree.map(lambda a, b: jnp.where(wide[a.ndim], a, b), new, lanes)


def renewals(renew, name, opening_plies, starts=None):
    """(lanes, ended, key) -> lanes, of that game."""
    game = GAMES[name]
    lines = read_starts(game, starts) if starts else None
    return jax.jit(functools.partial(renew, game, opening_plies=opening_plies, starts=lines))


def some_lanes(name, number):
    """Lanes that tell themselves apart from new ones."""
    lanes = selfplay.init_lanes(GAMES[name], jax.random.key(1), lanes=number, opening_plies=3)
    return lanes._replace(plies=lanes.plies + 1 + jnp.arange(number), score=lanes.score + 0.5)


# How many are renewed at once: 1 of 1, 7 of 7, 8 of 43, which it does not divide, and 16 of 256.
@pytest.mark.parametrize("number", [1, 7, 43, 256])
@pytest.mark.parametrize(
    ("name", "opening_plies", "starts"),
    [
        ("tic_tac_toe", 0, None),
        ("tic_tac_toe", 4, None),
        ("tic_tac_toe", 0, ("startpos", "startpos moves a1", "startpos moves b2 c1")),
        ("tic_tac_toe", 3, ("startpos moves a1", "startpos moves b2 c1")),
        ("dots_and_boxes", 9, None),
    ],
)
def test_renewed_lanes_are_those_of_opening_all(name, opening_plies, starts, number):
    """Bit for bit: where no game ended, where some did, in more than one pass or not, and where all did."""
    lanes = some_lanes(name, number)
    renew, reference = (renewals(how, name, opening_plies, starts) for how in (selfplay.renew_lanes, open_all_lanes))
    for count in sorted({0, 1, number // 20, number // 3, number - 1, number}):
        ended = jax.random.permutation(jax.random.key(count), jnp.arange(number) < count)
        key = jax.random.key(100 + count)
        assert_equal_trees(renew(lanes, ended, key), reference(lanes, ended, key))


def test_lanes_that_did_not_end_are_left_as_they_are():
    """And those that did begin anew, each in its own way, whoever else ended."""
    lanes, key = some_lanes("tic_tac_toe", 43), jax.random.key(0)
    renew = renewals(selfplay.renew_lanes, "tic_tac_toe", 4)
    everyone = renew(lanes, jnp.ones(43, bool), key)
    assert not everyone.plies.any() and len(set(everyone.moves_hash.tolist())) > 10
    for seed in range(5):
        ended = jax.random.bernoulli(jax.random.key(seed), 0.2 * seed, (43,))
        renewed = jax.device_get(renew(lanes, ended, key))
        for lane in range(43):
            expected = everyone if ended[lane] else lanes
            assert equal(jax.tree.map(lambda x: x[lane], renewed), jax.tree.map(lambda x: x[lane], expected))  # noqa: B023


def test_lanes_are_renewed_alike_by_vmap_and_on_several_devices():
    """Each group needs its own number of passes: none, one, several."""
    groups, number = 4, 20
    lanes = jax.tree.map(lambda x: x.reshape(groups, number, *x.shape[1:]), some_lanes("tic_tac_toe", groups * number))
    ended = jnp.arange(number)[None] < jnp.array([0, 3, 11, 20])[:, None]
    keys = jax.random.split(jax.random.key(0), groups)
    renew = renewals(selfplay.renew_lanes, "tic_tac_toe", 4)
    each = [renew(jax.tree.map(lambda x: x[i], lanes), ended[i], keys[i]) for i in range(groups)]  # noqa: B023
    expected = jax.tree.map(lambda *x: jnp.stack(x), *each)
    assert_equal_trees(jax.jit(jax.vmap(renew))(lanes, ended, keys), expected)
    mesh = jax.make_mesh((groups,), ("data",), axis_types=(jax.sharding.AxisType.Auto,))
    by_group = jax.sharding.PartitionSpec("data")
    alone = jax.shard_map(jax.vmap(renew), mesh=mesh, in_specs=by_group, out_specs=by_group, check_vma=False)
    assert_equal_trees(jax.jit(alone)(lanes, ended, keys), expected)


@pytest.mark.parametrize(("name", "opening_plies"), [("tic_tac_toe", 4), ("tic_tac_toe", 0), ("dots_and_boxes", 5)])
def test_self_play_is_that_of_opening_all_lanes(name, opening_plies, monkeypatch):
    """Bit for bit, games and random numbers: runs of before go on."""
    now = played(name, opening_plies)[1:]
    monkeypatch.setattr(selfplay, "renew_lanes", open_all_lanes)
    assert_equal_trees(now, played.__wrapped__(name, opening_plies)[1:])


def test_distinct_games_are_counted():
    _, _, _, games = played("tic_tac_toe")
    ended = games.ended
    expected = len(np.unique(games.moves_hash[ended] >> 1))
    assert int(selfplay.count_unique(jax.tree.map(jnp.asarray, games))) == expected
    same = games._replace(moves_hash=np.zeros_like(games.moves_hash))
    assert int(selfplay.count_unique(jax.tree.map(jnp.asarray, same))) == 1
    none = games._replace(ended=np.zeros_like(ended))
    assert int(selfplay.count_unique(jax.tree.map(jnp.asarray, none))) == 0
