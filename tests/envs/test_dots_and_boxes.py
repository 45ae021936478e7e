"""Dots and boxes: its two encodings against each other, its solver against plain negamax and solved positions.

What every game keeps is in test_envs, the comparison with OpenSpiel in test_oracles.
"""

import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from data import DATA

import envs
from azjax.evaluate.exact import solved_states
from envs._dots_and_boxes_solver import margins
from envs.dots_and_boxes import DotsAndBoxes, State

SIZES = [(1, 1), (1, 4), (2, 2), (3, 2), (3, 3)]


@functools.partial(jax.jit, static_argnums=0)
def step(game, state, action):
    state, transition = game.step(state, action)
    return state, transition, game.legal_action_mask(state)


def play(game, moves):
    """The state after moves in the game's notation, or as action ids."""
    state = game.init()
    for move in moves:
        action = game.action_from_text(state, move) if isinstance(move, str) else move
        state, _, _ = step(game, state, jnp.int32(action))
    return state


def random_games(game, count, seed):
    """Actions of random games, one list a game."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        state, mask, actions = game.init(), np.asarray(game.legal_action_mask(game.init())), []
        while not state.terminated:
            actions.append(int(rng.choice(np.flatnonzero(mask))))
            state, _, mask = step(game, state, jnp.int32(actions[-1]))
        yield actions


# --- laws ---


@pytest.mark.parametrize("rows, columns", SIZES)
def test_both_encodings_are_one_game(rows, columns):
    turns, passes = DotsAndBoxes(rows, columns), DotsAndBoxes(rows, columns, encoding="pass")
    for actions in random_games(turns, 20, seed=0):
        one, two = turns.init(), passes.init()
        for number, action in enumerate(actions, start=1):
            assert one.player == two.player
            np.testing.assert_array_equal(passes.legal_action_mask(two)[:-1], turns.legal_action_mask(one))
            before = one
            one, won, _ = step(turns, one, jnp.int32(action))
            two, also_won, mask = step(passes, two, jnp.int32(action))
            assert also_won.discount == (0 if number == len(actions) else -1)
            if one.player == before.player and not one.terminated:
                assert won.discount == 1
                assert two.must_pass and np.flatnonzero(mask).tolist() == [turns.num_lines]
                two, transition, _ = step(passes, two, jnp.int32(turns.num_lines))
                assert transition.discount == -1 and transition.reward == 0
            np.testing.assert_array_equal(one.lines, two.lines)
            np.testing.assert_array_equal(one.score, two.score)
            assert won.reward == also_won.reward and one.terminated == two.terminated
        assert len(actions) == turns.num_lines == turns.max_moves
        assert one.score.sum() == rows * columns
        mover = int(before.player)
        assert won.reward == np.sign(int(one.score[mover]) - int(one.score[1 - mover]))


def test_the_longest_game_with_passes():
    game = DotsAndBoxes(2, 2, encoding="pass")
    lengths = [len(actions) for actions in random_games(game, 60, seed=1)]
    assert max(lengths) == game.max_moves == 15


@pytest.mark.parametrize("encoding", ["turns", "pass"])
@pytest.mark.parametrize("rows, columns, order", [(3, 3, 8), (2, 3, 4), (1, 1, 8)])
def test_a_symmetric_game_is_the_same_game(rows, columns, order, encoding):
    game = DotsAndBoxes(rows, columns, encoding)
    observe = jax.jit(game.observe)
    assert len({symmetry.actions.tobytes() for symmetry in game.symmetries}) == order
    np.testing.assert_array_equal(game.symmetries[0].actions, np.arange(game.num_actions))
    (actions,) = random_games(game, 1, seed=2)
    for symmetry in game.symmetries:
        one = two = game.init()
        for action in actions:
            np.testing.assert_array_equal(symmetry.observation(observe(one)), observe(two))
            one, won, mask = step(game, one, jnp.int32(action))
            two, also_won, turned_mask = step(game, two, jnp.int32(symmetry.actions[action]))
            np.testing.assert_array_equal(mask, turned_mask[symmetry.actions])
            assert won == also_won


# --- rules ---


@pytest.mark.parametrize(
    "encoding, moves, illegal",
    [("turns", ["h00"], 0), ("pass", ["h00"], 0), ("pass", [], 7), ("pass", ["h00", "h10", "v00", "v01"], 6)],
)
def test_an_illegal_move_loses(encoding, moves, illegal):
    """A line drawn twice, a pass out of turn, a line where a pass is due."""
    game = DotsAndBoxes(1, 2, encoding)
    state = play(game, moves)
    after, transition, mask = step(game, state, jnp.int32(illegal))
    assert transition.reward == -1 and transition.terminated and not mask.any()
    np.testing.assert_array_equal(after.lines, state.lines)


def test_observation():
    game = DotsAndBoxes(1, 2, encoding="pass")
    state = play(game, ["h00", "h10", "v00", "v01"])
    planes = np.asarray(game.observe(state))  # by the first player, who has to pass
    #                                       top bottom left right two three lead pass
    np.testing.assert_array_equal(planes[0], [[1, 1, 1, 1, 0, 0, -0.5, 1], [0, 0, 1, 0, 0, 0, -0.5, 1]])
    planes = np.asarray(game.observe(play(game, ["h00", "h10", "v00", "v01", "pass", "h01", "v02"])))
    np.testing.assert_array_equal(planes[0], [[1, 1, 1, 1, 0, 0, 0.5, 0], [1, 0, 1, 1, 0, 1, 0.5, 0]])


def test_render_and_notation():
    game = DotsAndBoxes(2, 3, encoding="pass")
    state = play(game, ["h00", "h10", "v00", "v01"])
    assert game.render(state) == "\n".join(
        [
            " +-----+ h01 + h02 +",
            " |  #  |    v02   v03",
            " +-----+ h11 + h12 +",
            "v10   v11   v12   v13",
            " + h20 + h21 + h22 +",
            "boxes: first player 0, second player 1",
            "first player must pass",
        ]
    )
    assert game.action_from_text(state, "PASS") == 17 and game.action_to_text(state, 16) == "v13"
    assert DotsAndBoxes(1, 10).action_to_text(state, 33 - 3) == "v0010"
    names = [DotsAndBoxes(11, 11).action_to_text(state, action) for action in range(264)]
    assert len(set(names)) == 264
    with pytest.raises(ValueError, match="legal moves: pass"):
        game.action_from_text(state, "h01")


@pytest.mark.parametrize("settings", [{"rows": 0}, {"rows": 12, "columns": 11}, {"encoding": "alternate"}])
def test_impossible_settings(settings):
    with pytest.raises((ValueError, TypeError), match=r"(?i)expected"):  # a type checker may be first
        envs.make("dots_and_boxes", **settings)


# --- oracles ---


def negamax(rows, columns):
    """The margins of every set of lines, from the names of the lines and plain recursion."""
    game = DotsAndBoxes(rows, columns)
    number = {game.action_to_text(game.init(), line): line for line in range(game.num_lines)}
    boxes = [
        {number[f"h{r}{c}"], number[f"h{r + 1}{c}"], number[f"v{r}{c}"], number[f"v{r}{c + 1}"]}
        for r in range(rows)
        for c in range(columns)
    ]

    @functools.cache
    def margin(drawn):
        values = []
        for line in set(range(game.num_lines)) - drawn:
            after = drawn | {line}
            closed = sum(line in box and box <= after for box in boxes)
            values.append(closed + margin(after) if closed else -margin(after))
        return max(values, default=0)

    lines = range(game.num_lines)
    return [margin(frozenset(line for line in lines if drawn >> line & 1)) for drawn in range(2**game.num_lines)]


@pytest.mark.parametrize("rows, columns, start", [(1, 1, -1), (1, 2, 0), (1, 3, -1), (2, 2, 2), (2, 3, -2), (3, 3, -3)])
def test_the_first_player_wins_by(rows, columns, start):
    assert margins(rows, columns)[0] == start


@pytest.mark.parametrize("rows, columns", [(1, 1), (1, 2), (2, 1), (1, 3), (2, 2)])
def test_solver_agrees_with_negamax(rows, columns):
    np.testing.assert_array_equal(margins(rows, columns), negamax(rows, columns))


def test_solver_agrees_with_the_solved_positions():
    game = DotsAndBoxes()
    solver, positions = game.solver(), solved_states(game)
    assert solver is not None and positions is not None and len(positions.values) == 1000
    values = jax.vmap(solver.values, in_axes=(None, 0))(solver.table, positions.states)
    np.testing.assert_array_equal(values, np.nan_to_num(positions.values, nan=-np.inf))


@pytest.mark.parametrize("encoding", ["turns", "pass"])
def test_values_are_what_perfect_play_brings(encoding):
    """A move's value is the value of the best answer, as the mover sees it: at every position of random games."""
    game = DotsAndBoxes(2, 2, encoding)
    solver = game.solver()
    assert solver is not None
    values = jax.jit(functools.partial(solver.values, solver.table))
    for actions in random_games(game, 5, seed=5):
        state = game.init()
        for action in actions:
            before, value = state, values(state)[action]
            state, transition, _ = step(game, state, jnp.int32(action))
            if transition.terminated:
                assert np.sign(value) == transition.reward
                assert value == (1 - 2 * before.player) * (state.score[0] - state.score[1])
            else:
                assert value == transition.discount * values(state).max()
        assert np.all(values(state) == -np.inf)


def test_large_boards_have_no_solver():
    assert DotsAndBoxes(3, 4).solver() is None
    with pytest.raises(ValueError, match="at most 24"):
        margins(3, 4)


# --- golden: the worked position of the article ---


@pytest.mark.parametrize("encoding", ["turns", "pass"])
def test_the_position_of_the_article(encoding):
    golden = json.loads((DATA / "dots_and_boxes_article_position.json").read_text())
    board = np.array(golden["board"])
    lines = np.concatenate([board[:4, :3].ravel(), board[4:].ravel()]) == 1
    own, opponent, must_pass = board[:3, 3]
    game = DotsAndBoxes(encoding=encoding)
    state = State(
        lines=jnp.asarray(lines),
        score=jnp.array([own, opponent], jnp.int8),
        must_pass=jnp.asarray(must_pass == 1),
        player=jnp.int8(0),
        terminated=jnp.bool_(False),
    )
    assert np.flatnonzero(game.legal_action_mask(state)).tolist() == golden["legal_lines"]
    solver = game.solver()
    assert solver is not None
    values = np.asarray(solver.values(solver.table, state))
    expected = {int(line): -2 + margin for line, margin in golden["exact_margin_of_remaining_boxes"].items()}
    assert {line: values[line] for line in golden["legal_lines"]} == expected
    winning, then = golden["winning_line"]
    assert (values > 0).sum() == 1 and values.argmax() == winning == 23

    state, transition, _ = step(game, state, jnp.int32(winning))
    if encoding == "pass":
        assert np.asarray(solver.values(solver.table, state))[24] == -1
        state, transition, _ = step(game, state, jnp.int32(24))
        assert transition.discount == -1
    else:
        assert transition.discount == 1
    assert state.player == 0
    values = np.asarray(solver.values(solver.table, state))
    after = {int(line): -1 + margin for line, margin in golden["after_23"].items()}  # a box closed: the lead is now -1
    assert {line: values[line] for line in after} == after
    assert values.argmax() == then == 9 and values[golden["losing_line"][1]] == -3
