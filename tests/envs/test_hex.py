"""Hex: chains and winners against a search of the board, the swap, and what each player sees."""

from __future__ import annotations

from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from envs.core import Transition
from envs.hex import Hex, State

NEIGHBOURS = [(-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0)]


def play(game: Hex, *moves: str, state: State | None = None):
    """The state and the transition after these moves, from the start or from a state; no move ends the game early."""
    state, transition = game.init() if state is None else state, cast(Transition, None)
    for move in moves:
        assert not state.terminated
        state, transition = game.step(state, jnp.int32(game.action_from_text(state, move)))
    return state, transition


def board_of(state: State) -> np.ndarray:
    """1 for the first player's stones, -1 for the second's, as the board lies."""
    board = np.sign(np.asarray(state.chains)).astype(int)
    return board if state.player == 0 else -board.T


def chain(board: np.ndarray, cell: tuple[int, int]) -> set[tuple[int, int]]:
    """The stones of one colour that hang together with this one, by a search."""
    found, waiting = {cell}, [cell]
    while waiting:
        row, column = waiting.pop()
        for down, right in NEIGHBOURS:
            at = row + down, column + right
            inside = 0 <= at[0] < len(board) and 0 <= at[1] < len(board)
            if inside and at not in found and board[at] == board[cell]:
                found.add(at)
                waiting.append(at)
    return found


def joins(board: np.ndarray, colour: int) -> bool:
    """Whether a chain of the first player (1) joins the upper and lower edge, of the second (-1) left and right."""
    board = board if colour == 1 else board.T
    reached = [chain(board, (0, column)) for column in np.flatnonzero(board[0] == colour).tolist()]
    return any(row == len(board) - 1 for cells in reached for row, _ in cells)


def random_game(game: Hex, seed: int):
    """The states of one random game, each with the transition that led to it."""
    rng = np.random.default_rng(seed)
    step, mask, state = jax.jit(game.step), jax.jit(game.legal_action_mask), game.init()
    while not state.terminated:
        action = rng.choice(np.flatnonzero(mask(state)))
        state, transition = step(state, jnp.int32(action))
        yield jax.tree.map(np.asarray, state), transition


def place(game: Hex, cells) -> tuple[State, list[bool]]:
    """The first player's view after stones of his alone, and whether each of them ended the game."""
    step, state, ended = jax.jit(game.step), game.init(), []
    for row, column in cells:
        after, transition = step(state, jnp.int32(row * game.size + column))
        ended.append(bool(transition.terminated))
        state = after._replace(chains=-after.chains.T, player=jnp.int8(0), terminated=jnp.bool_(False))
    return state, ended


# --- laws ---


@pytest.mark.parametrize("game", [Hex(2), Hex(3, swap=True), Hex(11), Hex(12, swap=True)], ids=repr)
def test_chains(game):
    """The stones of a chain bear one name, an edge's or their first cell's; the first chain to join two edges wins."""
    for seed in range(3):
        for state, transition in random_game(game, seed):
            board = board_of(state)
            names = state.chains if state.player == 0 else -state.chains.T
            for colour, seen, seen_names in ((1, board, names), (-1, board.T, -names.T)):
                won = joins(board, colour)
                # The player to move has lost, if the game is over.
                assert won == (state.terminated and colour == (1 if state.player == 1 else -1))
                assert not won or transition.reward == 1
                waiting = {(row, column) for row, column in np.argwhere(seen == colour).tolist()}
                while waiting and not won:  # the last move names whatever reaches an edge alike
                    cells = chain(seen, min(waiting))
                    waiting -= cells
                    rows = {row for row, _ in cells}
                    row, column = min(cells)
                    name = 1 if 0 in rows else 2 if game.size - 1 in rows else row * game.size + column + 3
                    assert {int(seen_names[cell]) for cell in cells} == {name}
        assert joins(board, 1) != joins(board, -1)


@pytest.mark.parametrize("seed", range(4))
def test_winding_chain(seed):
    """A chain that winds through the whole board wins with the stone that completes it, whichever that is."""
    game = Hex(11)
    snake = [(row, 0) for row in range(10)]
    for column in range(2, 11, 2):
        down = column % 4 == 0
        snake += [(1 if down else 9, column - 1)]
        snake += [(row, column) for row in range(1, 11 if column == 10 else 10)][:: 1 if down else -1]
    board = np.zeros((11, 11), int)
    order = np.random.default_rng(seed).permutation(snake).tolist()
    _, ended = place(game, order)
    for (row, column), won in zip(order, ended, strict=True):
        board[row, column] = 1
        assert won == joins(board, 1)
        if won:
            break
    assert won and board.sum() > 50


# --- positions ---


def test_six_neighbours():
    """Two stones are one chain on six of the eight cells around."""
    game = Hex(5)
    joined = set()
    for row, column in np.argwhere(np.ones((3, 3))).tolist():
        state, _ = place(game, [(2, 2), (row + 1, column + 1)])
        if state.chains[row + 1, column + 1] == state.chains[2, 2]:
            joined.add((row - 1, column - 1))
    assert joined == {*NEIGHBOURS, (0, 0)}


def test_bridges():
    """Stones a bridge apart are not joined, until one of the two cells between them is taken, whichever it is."""
    game = Hex(3)
    before, transition = play(game, "b1", "c1", "a3", "c2")
    assert transition.discount == -1
    for between in ("a2", "b2"):
        state, transition = play(game, between, state=before)
        assert transition.reward == 1 and state.terminated


def test_players_and_edges():
    """The first player joins the upper and the lower edge, the second the left and the right one."""
    game = Hex(3)
    state, transition = play(game, "a1", "a2", "b1", "b2", "c1")
    assert not state.terminated and transition.discount == -1
    state, transition = play(game, "c2", state=state)
    assert state.terminated and transition.reward == 1 and state.player == 0
    assert game.render(state).splitlines() == [
        "   a b c",
        " 1 x x x 1",
        "  2 o o o 2",
        "   3 . . . 3",
        "      a b c",
    ]
    state, transition = play(game, "b1", "a1", "b2", "a2", "b3")
    assert state.terminated and transition.reward == 1 and state.player == 1


def test_second_player_sees_the_reflected_board():
    """Action 1 is the first player's b1 and the second's a2."""
    game = Hex(3)
    start = game.init()
    state, _ = game.step(start, jnp.int32(1))
    assert game.action_to_text(start, 1) == "b1" and game.action_to_text(state, 1) == "a2"
    assert np.argwhere(game.observe(state)).tolist() == [[1, 0, 1]]
    assert not game.legal_action_mask(state)[3] and game.legal_action_mask(state)[1]
    state, _ = game.step(state, jnp.int32(1))
    assert np.argwhere(game.observe(state)).tolist() == [[0, 1, 0], [1, 0, 1]]


def test_swap_is_the_second_move_only():
    game = Hex(3, swap=True)
    state, _ = play(game)
    assert game.num_actions == game.max_moves == 10
    for ply, move in enumerate(("b2", "a1", "c1", "a3")):
        assert bool(game.legal_action_mask(state)[9]) == bool(game.is_legal(state, jnp.int32(9))) == (ply == 1)
        state, _ = play(game, move, state=state)
    state, _ = play(game, "b2", "swap")
    for move in ("a1", "c1", "a3"):
        assert not game.legal_action_mask(state)[9]
        state, _ = play(game, move, state=state)
    assert Hex(3).num_actions == Hex(3).max_moves == 9


@pytest.mark.parametrize("first", ["a1", "b2", "c1", "a3", "d2"])
def test_swap_exchanges_the_parts(first):
    """After the swap the first player is to move and sees the board that the second player saw before it."""
    game = Hex(4, swap=True)
    before, _ = play(game, first)
    after, transition = play(game, "swap", state=before)
    assert transition.reward == 0 and transition.discount == -1 and not transition.terminated
    assert (before.player, after.player) == (1, 0)
    np.testing.assert_array_equal(after.chains, before.chains)
    assert game.observe(before)[..., 2].all() and not game.observe(after)[..., 2].any()
    np.testing.assert_array_equal(board_of(after), -board_of(before).T)


def test_swapped_stone_wins():
    """b1 becomes the second player's a2, which is at his left edge."""
    game = Hex(3, swap=True)
    state, transition = play(game, "b1", "swap", "a1", "b2", "b1", "c2")
    assert state.terminated and transition.reward == 1 and state.player == 0


def test_names_fit_their_type():
    """One byte up to 11x11, whose last cell has the largest name; two above."""
    for size, dtype in ((11, np.int8), (12, np.int16), (26, np.int16)):
        state, _ = place(Hex(size), [(size - 2, size - 1)])
        assert state.chains.dtype == dtype and state.chains.max() == size * (size - 1) + 2
        assert np.iinfo(dtype).max > size**2 + 2
