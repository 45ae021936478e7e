"""Measures of exact strength, against players and enumerations written here."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from own_game import Nim

import envs
from azjax.evaluate import exact
from azjax.players import Player, random_player, solver_player
from envs.connect_four import ConnectFour

KEY = jax.random.key(0)


@functools.cache
def solved(name):
    game = envs.make(name)
    positions = exact.solved_states(game)
    assert positions is not None
    return game, positions


def from_table(positions, values):
    """The player that looks a position up among `positions` and plays its largest value."""

    def key_of(states):
        leaves = [leaf.reshape(leaf.shape[0], -1).astype(jnp.int32) for leaf in jax.tree.leaves(states)]
        return jnp.concatenate(leaves, axis=1)

    def act(params, key, states):
        del key
        known, best = params
        same = (key_of(states)[:, None] == known[None]).all(-1)
        return best[jnp.argmax(same, axis=1)]

    return Player("table", act, (key_of(positions.states), np.nanargmax(values, axis=1).astype(np.int32)))


def first_legal_player(game):
    """The player of the lowest legal action, and a list that grows by one whenever it is traced."""
    traced = []

    def act(params, key, states):
        del params, key
        traced.append(jax.tree.leaves(states)[0].shape)
        return jnp.argmax(jax.vmap(game.legal_action_mask)(states), axis=1).astype(jnp.int32)

    return Player("first legal", act), traced


# --- solved positions ---


@pytest.mark.parametrize(
    "name, settings",
    [("tic_tac_toe", {}), ("connect_four", {"rows": 5}), ("dots_and_boxes", {"encoding": "pass"})],
)
def test_no_positions_for_other_games_or_settings(name, settings):
    assert exact.solved_states(envs.make(name, **settings)) is None


def test_no_positions_for_a_game_derived_from_a_solved_one():
    """Its rules may be others."""

    class Unlike(ConnectFour):
        def _legal(self, state):
            return super()._legal(state)[::-1]

    assert ConnectFour().solved_positions() is not None and exact.solved_states(Unlike()) is None


@pytest.mark.parametrize("name, count, share", [("connect_four", 1332, 0.36), ("dots_and_boxes", 1000, None)])
def test_solved_positions(name, count, share):
    game, positions = solved(name)
    assert positions.values.shape == (count, game.num_actions)
    masks = jax.vmap(game.legal_action_mask)(positions.states)
    np.testing.assert_array_equal(masks, ~np.isnan(positions.values))
    for values, keeps, decisive, outcome in zip(
        positions.values, positions.keeps, positions.decisive, positions.outcome, strict=True
    ):
        signs = [np.sign(value) for value in values if not np.isnan(value)]
        assert decisive == (len(set(signs)) > 1) and outcome == max(signs)
        assert keeps.sum() == signs.count(max(signs))
    assert share is None or abs(exact.kept_result(game, random_player(game), positions, KEY).random - share) < 0.005


@functools.cache
def can_win(left):
    """Whether who moves wins at Nim with 1 to 3 sticks a move, by trying every move."""
    return any(not can_win(left - take) for take in range(1, min(3, left) + 1))


def test_an_own_games_solved_positions():
    game = Nim(sticks=9)
    positions = exact.solved_states(game)
    assert positions is not None and sorted(positions.states.left) == list(range(1, 10))
    for left, values in zip(positions.states.left.tolist(), positions.values, strict=True):
        results = [(-1.0 if can_win(left - take) else 1.0) if take <= left else np.nan for take in (1, 2, 3)]
        np.testing.assert_array_equal(values, results)
    # With 4 or 8 sticks every move loses, with 1 the only one wins.
    perfect = exact.kept_result(game, solver_player(game), positions, KEY)
    assert perfect.kept == perfect.positions == 6 and abs(perfect.random - (1 / 2 + 5 / 3) / 6) < 1e-6
    first, _ = first_legal_player(game)
    assert exact.kept_result(game, first, positions, KEY).kept == 2  # taking one leaves 4 or 8


def test_the_start_alone_may_be_solved():
    positions = exact.solved_states(Given(given=(np.zeros((1, 0), int), [[1, -1, -1]])))
    assert positions is not None and positions.states.left == [5] and positions.keeps.tolist() == [[True, False, False]]


@dataclasses.dataclass(frozen=True)
class Given(Nim):
    """Nim with the solved positions that a test gives."""

    sticks: int = 5
    given: Any = dataclasses.field(default=None, compare=False, repr=False)

    def solved_positions(self):
        return envs.SolvedPositions(*map(np.array, self.given))


NAN = np.nan


@pytest.mark.parametrize(
    "moves, values, message",
    [
        ([], [], r"moves float64 \(0,\) and values \(0,\), expected integers .*, 3\] of at least one .* return None"),
        (np.zeros((0, 1), int), np.zeros((0, 3)), r"moves int64 \(0, 1\) .* of at least one position"),
        ([[0]], [[1, 1]], r"values \(1, 2\), expected .* values \[positions, 3\]"),
        ([[0], [1]], [[1, 1, 1]], r"moves int64 \(2, 1\) and values \(1, 3\)"),
        ([[0.0]], [[1, 1, 1]], r"moves float64 \(1, 1\).*expected integers"),
        (
            [[0], [1], [2]],
            [[1, 1, 1], [1, 1, 1], [1, 1, 1]],
            r"position 2 after \[2\] .* \[0, 1, 2\], legal are \[0, 1\]",
        ),
        (
            [[1, -1]],
            [[1, NAN, 1]],
            r"position 0 after \[1\] has values for the actions \[0, 2\], legal are \[0, 1, 2\]",
        ),
        ([[2, 1]], [[NAN] * 3], r"position 0 after \[2, 1\] .* \[\], legal are none, the game is over"),
        (
            [[0, 0], [2, 2]],
            [[1, 1, 1]] * 2,
            r"move 2 is not legal in position 1 after \[2\]; give the moves from the start",
        ),
        ([[2, 1, 0]], [[1, 1, 1]], r"move 0 is not legal in position 0 after \[2, 1\]"),
        ([[3]], [[1, 1, 1]], r"move 3 is not legal in position 0 after \[\]"),
        ([[-2]], [[1, 1, 1]], r"move -2 is not legal"),
        ([[-1, 0]], [[1, 1, 1]], r"move 0 is not legal in position 0 after \[-1\].* -1 only after the last"),
    ],
)
def test_solved_positions_that_do_not_fit_the_rules_are_refused(moves, values, message):
    with pytest.raises(ValueError, match=r"^Given\(sticks=5, most=3\).solved_positions\(\).*" + message):
        exact.solved_states(Given(given=(moves, values)))


@pytest.mark.parametrize("name", ["connect_four", "dots_and_boxes"])
def test_perfect_worst_and_random_players(name):
    game, positions = solved(name)
    perfect = exact.kept_result(game, from_table(positions, positions.values), positions, KEY)
    assert perfect.kept == perfect.positions == positions.decisive.sum()
    worst = exact.kept_result(game, from_table(positions, -positions.values), positions, KEY, batch=100)
    assert worst.kept == 0
    uniform = exact.kept_result(game, random_player(game), positions, KEY)
    deviation = np.sqrt(0.25 * uniform.positions)
    assert abs(uniform.kept - uniform.random * uniform.positions) < 4 * deviation


def test_the_solver_keeps_every_outcome():
    game, positions = solved("dots_and_boxes")
    result = exact.kept_result(game, solver_player(game), positions, KEY)
    assert result.kept == result.positions


def test_an_illegal_move_keeps_nothing():
    game, positions = solved("connect_four")
    illegal = np.isnan(positions.values)
    some = np.flatnonzero(illegal.any(axis=1) & positions.decisive)
    some_positions = jax.tree.map(lambda x: x[some], positions)
    player = from_table(some_positions, np.where(illegal, 1.0, -1.0)[some])
    result = exact.kept_result(game, player, some_positions, KEY)
    assert result.positions == len(some) > 0 and result.kept == 0


def test_without_decisive_positions():
    game, positions = solved("connect_four")
    even = positions._replace(values=np.where(np.isnan(positions.values), np.nan, 1.0))
    assert exact.kept_result(game, random_player(game), even, KEY)[:2] == (0, 0)
    with pytest.raises(ValueError, match="7 actions"):
        exact.kept_result(envs.make("connect_four", columns=8), random_player(game), positions, KEY)


def test_knows_winner():
    _, positions = solved("connect_four")
    right = positions.outcome * 0.1
    assert exact.knows_winner(right, positions) == 1
    assert exact.knows_winner(-right, positions) == exact.knows_winner(np.zeros_like(right), positions) == 0
    assert exact.knows_winner(jnp.ones(len(right)), positions) == (positions.outcome > 0).sum() / (right != 0).sum()


# --- every possible opponent ---

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def winner(board):
    """1 or 2 who has three in a line, 0 for nobody. A board is nine numbers; 1 is the mover's stone, 2 the other's."""
    return next((board[a] for a, b, c in LINES if board[a] and board[a] == board[b] == board[c]), 0)


def after_move(board, square):
    """The board as the opponent sees it."""
    return tuple((0, 2, 1)[1 if i == square else stone] for i, stone in enumerate(board))


@functools.cache
def minimax(board):
    """The mover's outcome and its best square."""
    if winner(board) or 0 not in board:
        return -bool(winner(board)), 0
    return max((-minimax(after_move(board, square))[0], -square) for square in range(9) if board[square] == 0)


def minimax_square(board):
    return -minimax(board)[1]


def first_square(board):
    return board.index(0)


def enumerate_games(board, chooses, mine):
    """Wins, draws, losses of the player of `chooses` over all lines, one by one."""
    if winner(board):
        return np.array([0, 0, 1] if mine else [1, 0, 0])
    if 0 not in board:
        return np.array([0, 1, 0])
    squares = [chooses(board)] if mine else [i for i in range(9) if board[i] == 0]
    return np.sum([enumerate_games(after_move(board, square), chooses, not mine) for square in squares], axis=0)


def both_sides(chooses):
    return enumerate_games((0,) * 9, chooses, True) + enumerate_games((0,) * 9, chooses, False)


@functools.cache
def minimax_player():
    """Minimax as a table indexed by the board, read as a number in base 3."""
    best = np.zeros(3**9, np.int32)
    stack, seen = [(0,) * 9], set()
    while stack:
        board = stack.pop()
        if board not in seen and not winner(board) and 0 in board:
            seen.add(board)
            best[sum(stone * 3**i for i, stone in enumerate(board))] = minimax_square(board)
            stack += [after_move(board, square) for square in range(9) if board[square] == 0]
    game = envs.make("tic_tac_toe")

    def act(params, key, states):
        del key
        planes = jax.vmap(game.observe)(states).reshape(-1, 9, 2).astype(jnp.int32)
        boards = planes[..., 0] + 2 * planes[..., 1]
        return params[(boards * 3 ** jnp.arange(9)[None]).sum(-1)]

    return Player("minimax", act, best)


def test_minimax_never_loses():
    game = envs.make("tic_tac_toe")
    result = exact.exhaustive(game, minimax_player(), KEY)
    both = both_sides(minimax_square)
    assert list(result[1:]) == both.tolist() and result.games == both.sum()
    assert result.losses == 0 and result.wins > 0


def test_a_weak_player_loses_and_compiles_once():
    game = envs.make("tic_tac_toe")
    player, traced = first_legal_player(game)
    result = exact.exhaustive(game, player, KEY, batch=32)
    both = both_sides(first_square)
    assert list(result[1:]) == both.tolist() and result.losses > 0
    assert len(traced) == 1 and traced[0][0] == 32
    assert exact.exhaustive(game, random_player(game), KEY).losses > 0


def test_an_illegal_player_loses_every_game():
    game = envs.make("tic_tac_toe")
    player = Player("zero", lambda params, key, states: jnp.zeros(states.player.shape, jnp.int32))
    result = exact.exhaustive(game, player, KEY)
    # First: 0, any of 8, 0 again. Second: 0 is taken at once, or 8 other squares, 0, any of 7, 0 again.
    assert result.games == result.losses == 8 + 1 + 8 * 7


def test_extra_turns():
    """Extra turns and passes are one game, and a player of the lowest free line meets the same opponents in both."""
    results = []
    for encoding in ("turns", "pass"):
        game = envs.make("dots_and_boxes", rows=1, columns=2, encoding=encoding)
        results.append(exact.exhaustive(game, first_legal_player(game)[0], KEY))
        assert exact.exhaustive(game, solver_player(game), KEY).losses == 0  # the game is a draw
    assert results[0] == results[1] and results[0].losses > 0


def test_lines_that_meet_are_all_counted():
    """On a single box whoever draws the fourth line wins: the second player."""
    game = envs.make("dots_and_boxes", rows=1, columns=1)
    result = exact.exhaustive(game, first_legal_player(game)[0], KEY)
    assert (result.wins, result.draws, result.losses) == (4 * 2, 0, 3 * 1)  # the opponent's choices


def test_a_large_game_is_refused():
    game = envs.make("connect_four")
    with pytest.raises(ValueError, match="too large"):
        exact.exhaustive(game, random_player(game), KEY, max_positions=1000)
