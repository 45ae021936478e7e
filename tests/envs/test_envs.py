"""The contract of `envs.core`, checked on every game that `envs` finds, on some settings, and on a user's own game."""

from __future__ import annotations

import dataclasses
import functools
import os
import subprocess
import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import envs
from azjax.evaluate.exact import solved_states

GAMES = [envs.make(name) for name in (*envs.available(), "own_game:Nim")] + [
    envs.make("connect_four", rows=4, columns=9),
    envs.make("gomoku", size=6, in_row=4, exactly_five=True),
    envs.make("dots_and_boxes", rows=1, columns=3),
    envs.make("dots_and_boxes", encoding="pass"),
    envs.make("othello", size=4),
    envs.make("othello", size=6),
    envs.make("hex", size=5, swap=True),
    envs.make("hex", size=12),
]
MAX_PLIES = 128  # longer games are checked as far as this
LANES = 16
every_game = pytest.mark.parametrize("game", GAMES, ids=repr)
solved_games = pytest.mark.parametrize(
    "game", [game for game in GAMES if game.solved_positions() is not None], ids=repr
)
games_with_a_solver = pytest.mark.parametrize(
    "game", [game for game in GAMES if type(game).solver is not envs.Game.solver], ids=repr
)


class Record(NamedTuple):
    """Random play: [time, symmetry, lane, ...]. Every symmetry plays the images of the games of symmetry 0, the
    identity. Finished games are stepped on, by random actions."""

    state: Any  # before the action
    mask: Any
    legal_actions: Any
    observation: Any
    is_legal: Any  # of the actions -1 ... num_actions
    action: Any
    next_state: Any
    transition: Any
    illegal_action: Any  # some action that is not legal, perhaps -1 or num_actions
    illegal_state: Any  # after it
    illegal_transition: Any


@functools.cache
def record(game: envs.Game) -> Record:
    """Random games, as NumPy arrays."""
    images = jnp.stack([s.actions for s in game.symmetries] or [jnp.arange(game.num_actions)])
    ids = jnp.arange(-1, game.num_actions + 1)

    def some(key, mask):
        """A random action for every lane of symmetry 0; where none is legal any action."""
        allowed = mask[0] | ~mask[0].any(-1, keepdims=True)
        return jax.random.categorical(key, jnp.where(allowed, 0.0, -jnp.inf))

    def each(function, *in_axes):
        return jax.vmap(jax.vmap(function, *in_axes), *in_axes)

    def ply(state, key):
        legal_key, illegal_key = jax.random.split(key)
        mask = each(game.legal_action_mask)(state)
        is_legal = each(lambda s: jax.vmap(game.is_legal, (None, 0))(s, ids))(state)
        action = images[:, some(legal_key, mask)]
        illegal = jnp.broadcast_to(ids[some(illegal_key, ~jnp.pad(mask, ((0, 0), (0, 0), (1, 1))))], action.shape)
        illegal = jnp.where(
            (illegal >= 0) & (illegal < game.num_actions), images.at[:, illegal[0]].get(mode="clip"), illegal
        )
        next_state, transition = each(game.step)(state, action)
        illegal_state, illegal_transition = each(game.step)(state, illegal)
        seen = (each(game.legal_actions)(state), each(game.observe)(state), is_legal)
        out = (state, mask, *seen, action, next_state, transition, illegal, illegal_state, illegal_transition)
        return next_state, Record(*out)

    @jax.jit
    def play(key):
        start = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(images), LANES, *x.shape)), game.init())
        return jax.lax.scan(ply, start, jax.random.split(key, min(game.max_moves + 2, MAX_PLIES)))[1]

    return jax.tree.map(np.asarray, play(jax.random.key(0)))


def assert_equal(actual, expected, where=True):
    """Two pytrees agree wherever `where` says so."""
    for one, other in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype
        chosen = np.broadcast_to(where, one.shape[: np.ndim(where)])
        np.testing.assert_array_equal(one[chosen], other[chosen])


def some_positions(game):
    """The first, a middle, the last and the finished position of lane 0, and the index of their record."""
    played = record(game)
    plies = int(np.sum(~played.state.terminated[:, 0, 0]))
    for ply in sorted({0, plies // 2, plies - 1, min(plies, len(played.mask) - 1)}):
        index = (ply, 0, 0)
        yield jax.tree.map(lambda x: jnp.asarray(x[index]), played.state), index  # noqa: B023


# --- laws ---


@every_game
def test_settings(game):
    assert game == dataclasses.replace(game) and hash(game) == hash(dataclasses.replace(game))
    assert envs.make(game.name) == type(game)()
    with pytest.raises(dataclasses.FrozenInstanceError):
        game.other = 1
    for number in (game.num_actions, game.max_legal_actions, game.max_moves):
        assert type(number) is int and number > 0
    assert game.max_legal_actions <= game.num_actions
    assert len(game.observation_shape) == 3 and all(type(n) is int for n in game.observation_shape)


@every_game
def test_shapes_and_types(game):
    def everything(action):
        state = game.init()
        seen = (
            game.legal_action_mask(state),
            game.legal_actions(state),
            game.observe(state),
            game.is_legal(state, action),
        )
        return state, *seen, *game.step(state, action)

    out = jax.eval_shape(everything, jax.ShapeDtypeStruct((), jnp.int32))
    state, mask, legal_actions, observation, is_legal, next_state, transition = out
    assert jax.tree.structure(state) == jax.tree.structure(next_state)
    assert [(x.shape, x.dtype) for x in state] == [(x.shape, x.dtype) for x in next_state]
    assert state.player.shape == () and jnp.issubdtype(state.player.dtype, jnp.integer)
    assert state.terminated.shape == () and state.terminated.dtype == bool
    assert mask.shape == (game.num_actions,) and mask.dtype == bool
    assert legal_actions.shape == (game.max_legal_actions,) and legal_actions.dtype == jnp.int32
    assert observation.shape == game.observation_shape
    assert observation.dtype == bool or jnp.issubdtype(observation.dtype, jnp.floating)
    assert is_legal.shape == () and is_legal.dtype == bool
    assert isinstance(transition, envs.Transition) and all(x.shape == () for x in transition)
    assert transition.reward.dtype == transition.discount.dtype == jnp.float32
    assert transition.terminated.dtype == transition.truncated.dtype == bool


@every_game
def test_legal_actions(game):
    """The mask, the list and the question of one action say the same; a finished game has no legal action."""
    played = record(game)
    np.testing.assert_array_equal(played.is_legal[..., 1:-1], played.mask)
    assert not played.is_legal[..., 0].any() and not played.is_legal[..., -1].any()
    np.testing.assert_array_equal(played.mask.any(-1), ~played.state.terminated)
    assert played.mask.sum(-1).max() <= game.max_legal_actions
    lists = np.where(played.mask, np.arange(game.num_actions), game.num_actions)
    np.testing.assert_array_equal(np.sort(lists, -1)[..., : game.max_legal_actions], played.legal_actions)


@every_game
def test_transition(game):
    """Player 0 begins, the discount tells who moves next, the reward is an outcome, and no game outlasts max_moves."""
    played = record(game)
    before, after, transition = played.state, played.next_state, played.transition
    over = ~before.terminated & after.terminated
    assert not before.player[0].any() and np.isin(before.player, (0, 1)).all()
    again = np.where(after.player == before.player, 1.0, -1.0)
    np.testing.assert_array_equal(transition.discount, np.where(after.terminated, 0.0, again))
    np.testing.assert_array_equal(transition.terminated, after.terminated)
    assert np.isfinite(transition.reward).all() and np.abs(transition.reward).max() <= 1
    assert not transition.truncated[~over].any()
    if len(played.mask) > game.max_moves:
        assert after.terminated[game.max_moves - 1].all()
        winners = (transition.reward * (1 - 2 * before.player))[over]
        assert {-1.0, 1.0} <= set(winners.tolist())


@every_game
def test_finished_game_stays(game):
    played = record(game)
    finished = played.state.terminated
    assert_equal(played.next_state, played.state, finished)
    assert_equal(played.illegal_state, played.state, finished)
    for transition in (played.transition, played.illegal_transition):
        assert transition.terminated[finished].all() and not transition.truncated[finished].any()
        assert not transition.reward[finished].any() and not transition.discount[finished].any()


@every_game
def test_illegal_action_loses(game):
    played = record(game)
    running = ~played.state.terminated
    lost = played.illegal_transition
    assert running.any()
    assert (lost.reward[running] == -1).all() and not lost.discount[running].any()
    assert lost.terminated[running].all() and not lost.truncated[running].any()
    assert played.illegal_state.terminated.all()
    assert_equal(played.illegal_state._replace(terminated=played.state.terminated), played.state)


@every_game
def test_symmetries(game):
    """Law 11: playing the images of the actions gives the image of the game."""
    played = record(game)
    for index, symmetry in enumerate(game.symmetries):
        image = symmetry.actions
        assert image.dtype == np.int32 and sorted(image) == list(range(game.num_actions))
        if index == 0:
            np.testing.assert_array_equal(image, np.arange(game.num_actions))
        same = functools.partial(np.take, indices=0, axis=1)
        turned = functools.partial(np.take, indices=index, axis=1)
        assert_equal(turned(played.mask)[..., image], same(played.mask))
        assert_equal(jax.tree.map(turned, played.transition), jax.tree.map(same, played.transition))
        assert_equal(turned(played.next_state.player), same(played.next_state.player))
        seen = same(played.observation)
        moved = jax.vmap(symmetry.observation)(seen.reshape(-1, *game.observation_shape)).reshape(seen.shape)
        assert_equal(np.asarray(moved), turned(played.observation))
    assert len({symmetry.actions.tobytes() for symmetry in game.symmetries}) == len(game.symmetries)


@solved_games
def test_solved_positions(game):
    """They fit the rules, an action that ends the game is worth what it brings, and the solver agrees."""
    positions = solved_states(game)  # refuses moves and values that do not fit
    assert positions is not None and positions.decisive.any()

    def step_all(state):
        return jax.vmap(game.step, (None, 0))(state, jnp.arange(game.num_actions))[1]

    transition = jax.tree.map(np.asarray, jax.jit(jax.vmap(step_all))(positions.states))
    signs = np.sign(positions.values)
    last = transition.terminated & ~np.isnan(signs)
    np.testing.assert_array_equal(signs[last], transition.reward[last])
    if (solver := game.solver()) is not None:
        values = jax.jit(jax.vmap(solver.values, (None, 0)))(solver.table, positions.states)
        np.testing.assert_array_equal(np.sign(values), np.nan_to_num(signs, nan=-1))


@games_with_a_solver
def test_solver(game):
    """In random games, a move is worth what it brings at the end of the game, and the best answer's value before."""
    solver = game.solver()
    assert solver is not None
    played = jax.tree.map(lambda x: x[:, 0], record(game))  # without the games' images
    values = jax.jit(jax.vmap(jax.vmap(solver.values, (None, 0)), (None, 0)))
    before, after = (np.asarray(values(solver.table, state)) for state in (played.state, played.next_state))
    np.testing.assert_array_equal(np.isneginf(before), ~played.mask)
    value = np.sign(np.take_along_axis(before, played.action[..., None], axis=-1)[..., 0])
    answered = played.transition.discount * np.sign(after.max(axis=-1))
    brought = np.where(played.transition.terminated, played.transition.reward, answered)
    running = ~played.state.terminated
    np.testing.assert_array_equal(value[running], brought[running])


@every_game
def test_eager_equals_batch_under_jit(game):
    """Law 10."""
    played = record(game)
    for state, index in some_positions(game):
        at = functools.partial(jax.tree.map, lambda x: x[index])  # noqa: B023
        after = game.step(state, jnp.asarray(played.action[index]))
        seen = game.legal_action_mask(state), game.legal_actions(state), game.observe(state)
        assert_equal(jax.tree.map(np.asarray, after), at((played.next_state, played.transition)))
        assert_equal(jax.tree.map(np.asarray, seen), at((played.mask, played.legal_actions, played.observation)))


@every_game
def test_text(game):
    """Every legal move has a text of its own that leads back to it; anything else is refused with the list."""
    for state, index in some_positions(game):
        board = game.render(state)
        assert board.strip() and not board.endswith("\n")
        actions = np.flatnonzero(record(game).mask[index]).tolist()
        texts = [game.action_to_text(state, action) for action in actions]
        assert len(set(texts)) == len(texts)
        for action, text in [*zip(actions, texts, strict=True)][:: len(texts) // 8 + 1]:
            assert game.action_from_text(state, f" {text.upper()}\n") == action
        with pytest.raises(ValueError, match="'elsewhere' is not a legal move here") as error:
            game.action_from_text(state, "elsewhere")
        assert all(text in str(error.value) for text in texts or ["the game is over"])


def test_importing_starts_no_backend():
    """Importing every game and reading its numbers works where no backend can start, and opens no file; so does asking
    for its solved positions, which opens theirs. Playing does not work."""
    program = """
import envs, sys
files = []
sys.addaudithook(lambda event, args: event == "open" and str(args[0]).endswith(".json") and files.append(args[0]))
games = [envs.make(name) for name in envs.available()]
for game in games:
    game.num_actions, game.max_legal_actions, game.max_moves, game.observation_shape, game.symmetries, hash(game)
print("read", len(games), len(files))
print("solved", sum(game.solved_positions() is not None for game in games), len(files))
envs.make("connect_four").init()
"""
    environment = {**os.environ, "JAX_PLATFORMS": "nonsense", "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert run.stdout == f"read {len(envs.available())} 0\nsolved 2 2\n", run.stderr
    assert "nonsense" in run.stderr and run.returncode != 0


# --- making games by name ---


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("checkers", {}, "no game named 'checkers'; known games: .*connect_four.*module:Class"),
        ("core", {}, "no game named 'core'"),
        ("nowhere:Game", {}, "no game 'nowhere:Game': No module named 'nowhere'"),
        ("own_game:Chess", {}, "no game 'own_game:Chess': .* has no attribute 'Chess'"),
        ("own_game:State", {}, "'own_game:State' is not a game: it must be a class derived from envs.Game"),
        ("connect_four", {"size": 8}, "connect_four has no setting size; its settings: rows, columns"),
        ("tic_tac_toe", {"size": 8}, "tic_tac_toe has no setting size; its settings: none"),
        ("connect_four", {"columns": 17}, "4 to 16 rows and columns, got 6 rows, 17 columns"),
        ("connect_four", {"rows": 3}, "4 to 16 rows and columns, got 3 rows, 7 columns"),
        ("gomoku", {"size": 27}, "size is 2 to 26 .*, got size=27"),
        ("gomoku", {"size": 4}, "in_row is 2 to size, got in_row=5 with size=4"),
        ("gomoku", {"in_row": 1}, "in_row is 2 to size, got in_row=1 with size=15"),
        ("othello", {"size": 7}, "size is 4, 6 or 8 .*, got size=7"),
        ("hex", {"size": 1}, "size is 2 to 26 .*, got size=1"),
        ("hex", {"size": 27}, "size is 2 to 26 .*, got size=27"),
    ],
)
def test_make_explains(name, settings, message):
    with pytest.raises(ValueError, match=message):
        envs.make(name, **settings)


def test_make():
    assert dataclasses.asdict(envs.make("gomoku", size=8)) == {"size": 8, "in_row": 5, "exactly_five": False}
    own = envs.make("own_game:Nim", sticks=7)
    assert own.max_moves == 7 and own.name == "own_game:Nim"
    assert {"tic_tac_toe", "connect_four", "gomoku", "dots_and_boxes", "othello", "hex"} <= set(envs.available())
