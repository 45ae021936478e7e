"""Othello: all moves of random boards by rules written square by square, rare positions, and the solved 4x4 board."""

from __future__ import annotations

from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from envs import _square_board
from envs.core import Transition
from envs.othello import Othello, State

every_size = pytest.mark.parametrize("size", [4, 6, 8])


def states_of(boards: np.ndarray) -> State:
    """A batch of states from boards [batch, row, column]: the ones are the first player's, and it is his move."""
    bits = np.arange(boards.shape[1] ** 2 // 2)
    own, opponent = ((boards.reshape(len(boards), 2, -1) == colour) << bits for colour in (1, -1))
    words = (jnp.asarray(discs.sum(-1).astype(np.uint32)) for discs in (own, opponent))
    return State(*words, player=jnp.zeros(len(boards), jnp.int8), terminated=jnp.zeros(len(boards), bool))


def boards_of(game: Othello, states: State) -> np.ndarray:
    """The other way round, seen by the player to move."""
    own, opponent = np.moveaxis(np.asarray(jax.vmap(game.observe)(states)).astype(int), -1, 0)
    return own - opponent


def position(drawing: str) -> State:
    """One state from its rows, x to move."""
    board = np.array([["o.x".index(mark) - 1 for mark in row] for row in drawing.split()])
    return jax.tree.map(lambda x: x[0], states_of(board[None]))


def play(game: Othello, state: State, *moves: str):
    """The state and the transition after these moves."""
    transition = cast(Transition, None)
    for move in moves:
        state, transition = game.step(state, jnp.int32(game.action_from_text(state, move)))
    return state, transition


def legal_moves(game: Othello, state: State) -> list[str]:
    return [game.action_to_text(state, action) for action in np.flatnonzero(game.legal_action_mask(state)).tolist()]


def turned(board: np.ndarray, row: int, column: int) -> list[tuple[int, int]]:
    """The squares whose discs the ones turn over by a disc on this square."""
    found = []
    for down, right in [(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)]:
        line, at = [], (row + down, column + right)
        while 0 <= at[0] < len(board) and 0 <= at[1] < len(board) and board[at] == -1:
            line.append(at)
            at = at[0] + down, at[1] + right
        if 0 <= at[0] < len(board) and 0 <= at[1] < len(board) and board[at] == 1:
            found += line
    return found


def moves_of(board: np.ndarray) -> dict[int, np.ndarray]:
    """The ones' moves, and the board after each, still with the mover's discs as ones."""
    moves = {}
    for row, column in np.argwhere(board == 0):
        if squares := turned(board, row, column):
            after = board.copy()
            after[tuple(np.transpose([*squares, (row, column)]))] = 1
            moves[int(row * len(board) + column)] = after
    return moves or {board.size: board}


def random_boards(size: int, count: int) -> np.ndarray:
    """Boards from nearly empty to full, whether games reach them or not."""
    rng = np.random.default_rng(size)
    filled = rng.random((count, size, size)) < rng.uniform(0.1, 1.1, (count, 1, 1))
    return np.where(filled, rng.choice([-1, 1], (count, size, size), p=[0.6, 0.4]), 0)


# --- laws ---


@every_size
def test_moves_of_random_boards(size):
    """The mask, every board that a move leads to, who moves next, the end and the result."""
    game, boards = Othello(size), random_boards(size, 60)
    states = states_of(boards)
    np.testing.assert_array_equal(boards_of(game, states), boards)
    masks = jax.vmap(game.legal_action_mask)(states)
    every = jax.vmap(jax.vmap(game.step, (None, 0)), (0, None))
    after, transitions = jax.tree.map(np.asarray, jax.jit(every)(states, jnp.arange(game.num_actions)))
    finished = passes = 0
    for index, board in enumerate(boards):
        moves = moves_of(board)
        assert np.flatnonzero(masks[index]).tolist() == sorted(moves)
        passes += board.size in moves
        reached = jax.tree.map(lambda x: x[index, sorted(moves)], after)  # noqa: B023
        np.testing.assert_array_equal(boards_of(game, reached), [-moves[action] for action in sorted(moves)])
        for action, board_after in moves.items():
            over = board.size in moves_of(board_after) and board.size in moves_of(-board_after)
            finished += over
            assert transitions.terminated[index, action] == after.terminated[index, action] == over
            assert transitions.reward[index, action] == (np.sign(board_after.sum()) if over else 0)
            assert transitions.discount[index, action] == (0 if over else -1)
            assert after.player[index, action] == 1
    assert finished > 5 and passes > 3


@every_size
def test_symmetries(size):
    """All eight symmetries of the square are the rules'; the game's are the four that keep the start."""
    game = Othello(size)
    every = _square_board.symmetries(size, extra_actions=1)
    boards = random_boards(size, 40)
    mask = np.asarray(jax.vmap(game.legal_action_mask)(states_of(boards)))
    start = boards_of(game, jax.tree.map(lambda x: x[None], game.init()))[0]
    kept = []
    for symmetry in every:
        images = np.stack([np.asarray(symmetry.observation(board)) for board in boards])
        np.testing.assert_array_equal(jax.vmap(game.legal_action_mask)(states_of(images))[:, symmetry.actions], mask)
        kept += [symmetry] if (symmetry.observation(start) == start).all() else []
    assert game.symmetries == tuple(kept) and len(kept) == 4


# --- positions ---


def test_start_and_text():
    game = Othello()
    state = game.init()
    assert legal_moves(game, state) == ["d3", "c4", "f5", "e6"]
    state, _ = play(game, state, "d3")
    assert game.render(state).splitlines() == [
        "   a b c d e f g h",
        " 1 . . . . . . . . 1",
        " 2 . . . . . . . . 2",
        " 3 . . . x . . . . 3",
        " 4 . . . x x . . . 4",
        " 5 . . . x o . . . 5",
        " 6 . . . . . . . . 6",
        " 7 . . . . . . . . 7",
        " 8 . . . . . . . . 8",
        "   a b c d e f g h",
    ]


def test_pass():
    """The second player cannot move after c1 and must pass; the pass changes the player and nothing else."""
    game = Othello(4)
    state, transition = play(game, position("xo.. .... .... xo.."), "c1")
    assert not transition.terminated and transition.discount == -1
    assert legal_moves(game, state) == ["pass"]
    after, transition = play(game, state, "pass")
    assert transition.reward == 0 and transition.discount == -1 and not transition.terminated
    assert after.player == 0 and (after.own == state.opponent).all() and (after.opponent == state.own).all()
    assert legal_moves(game, after) == ["c4"]


def test_pass_with_a_move_loses():
    game = Othello()
    state, transition = game.step(game.init(), jnp.int32(64))
    assert transition.reward == -1 and transition.terminated and state.terminated


@pytest.mark.parametrize(
    ("rows", "outcome"),
    [("xxxx oooo oooo", 0), ("xxxo oooo oooo", -1), ("xxxx xooo oooo", 1)],
    ids=["8-8", "7-9", "9-7"],
)
def test_full_board(rows, outcome):
    """The last disc turns one over; as many discs each are a draw."""
    state, transition = play(Othello(4), position(f".oxx {rows}"), "a1")
    assert state.terminated and transition.discount == 0 and transition.reward == outcome


def test_full_board_of_64():
    """32 discs each are a draw."""
    state, transition = play(Othello(), position(".oxxxxxx " + 3 * "xxxxxxxx " + 4 * "oooooooo "), "a1")
    assert state.terminated and transition.reward == transition.discount == 0


def test_neither_side_can_move():
    """Squares are left, but each side's discs stand alone: the game is over with the move that brought it about."""
    state, transition = play(Othello(4), position("xo.. .... .... ...o"), "c1")
    assert state.terminated and transition.reward == 1 and transition.discount == 0
    assert not Othello(4).legal_action_mask(state).any()


def test_wipe_out():
    state, transition = play(Othello(6), position("...... .xo... ...... ...... ...... ......"), "d2")
    assert state.terminated and transition.reward == 1
    assert not state.own.any()


def test_longest_rows():
    """One disc turns over eighteen others: six along each edge, and six along the diagonal."""
    rows = ".oooooox oo...... o.o..... o..o.... o...o... o....o.. o.....o. x......x"
    state, transition = play(Othello(), position(rows), "a1")
    assert not state.own.any() and jnp.bitwise_count(state.opponent).sum() == 22
    assert state.terminated and transition.reward == 1


# --- goldens ---


def test_solved_4x4():
    """The 60,060 games of the smallest board: the second player wins by 8 discs if both play perfectly."""
    game = Othello(4)
    children = jax.jit(jax.vmap(jax.vmap(game.step, (None, 0)), (0, None)))
    mask = jax.jit(jax.vmap(game.legal_action_mask))
    states, ways = jax.tree.map(lambda x: np.asarray(x)[None], game.init()), np.array([1])
    layers, games = [], 0
    while True:
        count = len(states.player)
        padded = jax.tree.map(lambda x: np.resize(x, (2**14, *x.shape[1:])), states)
        legal = np.asarray(mask(padded))[:count]
        games += ways[states.terminated].sum()
        layers.append((boards_of(game, states).sum((1, 2)), states.terminated, np.nonzero(legal)[0]))
        if not legal.any():
            break
        reached = jax.tree.map(lambda x: np.asarray(x)[:count][legal], children(padded, jnp.arange(17))[0])  # noqa: B023
        # A position that several ways lead to goes on once.
        _, first, same = np.unique(
            np.column_stack(jax.tree.leaves(reached)), axis=0, return_index=True, return_inverse=True
        )
        states = jax.tree.map(lambda x: x[first], reached)  # noqa: B023
        ways = np.bincount(same.ravel(), ways[layers[-1][2]]).astype(int)
        layers[-1] += (same.ravel(),)
    lead = layers[-1][0]
    for discs, terminated, parents, after in reversed(layers[:-1]):
        best = np.full(len(discs), -16)
        np.maximum.at(best, parents, -lead[after])
        lead = np.where(terminated, discs, best)
    assert games == 60_060 and lead.tolist() == [-8]
    assert len(layers) - 1 == 17 <= game.max_moves
