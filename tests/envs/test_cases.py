"""Positions from public bug reports with their right answers, in the words of `data/cases.json`."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from data import CASES

import envs
from envs._lines import has_line, word_dtype
from envs.dots_and_boxes import DotsAndBoxes


def play(game: envs.Game, actions: list[int]):
    """The state and the transition after these actions; the game does not end before the last one."""
    state = game.init()
    for action in actions[:-1]:
        state, _ = game.step(state, jnp.int32(action))
        assert not state.terminated
    return game.step(state, jnp.int32(actions[-1]))


def all_lines(rows: int, columns: int, length: int) -> list[list[tuple[int, int]]]:
    """Every line of the board, as its points."""
    lines = [
        [(row + i * down, column + i * right) for i in range(length)]
        for row in range(rows)
        for column in range(columns)
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
    ]
    return [line for line in lines if all(0 <= row < rows and 0 <= column < columns for row, column in line)]


def words_of(boards: list[list[tuple[int, int]]], words: int, bits: int):
    """The boards with stones at these points (word, bit), as words [boards, words]."""
    found = np.zeros((len(boards), words), np.int64)
    for board, points in zip(found, boards, strict=True):
        for word, bit in points:
            board[word] |= 1 << bit
    return jnp.asarray(found.astype(word_dtype(bits)))


def step_from(game: envs.Game, actions, **fields):
    """The batch of transitions by these actions from the start state with some fields replaced."""
    start = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(actions), *x.shape)), game.init())
    return jax.vmap(game.step)(start._replace(**fields), jnp.asarray(actions))[1]


def test_connect_four_longer_line():
    columns = re.findall(r"\d", CASES["C4-02"]["input"].split(")")[1])
    state, transition = play(envs.make("connect_four"), [int(column) for column in columns])
    assert transition.reward == 1 and transition.discount == 0 and state.terminated
    assert len(columns) % 2 == 1  # the first player moved last


def test_connect_four_lines():
    """Every line wins, whichever of its discs falls last, and only with that disc."""
    lines = [[(column, row) for row, column in line] for line in all_lines(6, 7, 4)]
    assert re.findall(r"\d+ lines", CASES["C4-03"]["input"]) == [f"{len(lines)} lines"]
    # The last disc has no disc above it.
    cases = [(line, last) for line in lines for last in line if (last[0], last[1] + 1) not in line]
    own = words_of([[point for point in line if point != last] for line, last in cases], 7, 6)
    below = [[(column, r) for column, row in line for r in range(row) if (column, r) not in line] for line, _ in cases]
    transition = step_from(
        envs.make("connect_four"), [last[0] for _, last in cases], own=own, opponent=words_of(below, 7, 6)
    )
    assert transition.terminated.all() and (transition.reward == 1).all()
    assert not jax.vmap(lambda words: has_line(words, 4))(own).any()


@pytest.mark.parametrize("exactly_five", [False, True])
@pytest.mark.parametrize(("size", "count"), re.findall(r"(\d+)x\d+ \((\d+)", CASES["C4-03"]["check"]))
def test_gomoku_lines(size, count, exactly_five):
    """Every line wins, whichever of its stones comes last, and only with that stone."""
    size, lines = int(size), all_lines(int(size), int(size), 5)
    assert len(lines) == int(count)
    cases = [(line, last) for line in lines for last in line]
    own = words_of([[point for point in line if point != last] for line, last in cases], size, size)
    game = envs.make("gomoku", size=size, exactly_five=exactly_five)
    transition = step_from(game, [row * size + column for _, (row, column) in cases], own=own)
    assert transition.terminated.all() and (transition.reward == 1).all()
    assert not jax.vmap(lambda words: has_line(words, 5, exactly=exactly_five))(own).any()


@pytest.mark.parametrize("exactly_five", [False, True])
def test_gomoku_lines_do_not_wrap(exactly_five):
    """Five points at equal distances in the flat board are a line only if they do not cross an edge."""
    size = 15
    example = [int(row) * size + int(column) for row, column in re.findall(r"\((\d+),(\d+)\)", CASES["GM-03"]["input"])]
    lines = {tuple(sorted(row * size + column for row, column in line)) for line in all_lines(size, size, 5)}
    equal = [[start + i * distance for i in range(5)] for start in range(size**2) for distance in (1, 14, 15, 16)]
    wrapped = [run for run in equal if run[-1] < size**2 and tuple(run) not in lines]
    assert example in wrapped
    own = words_of([[divmod(point, size) for point in run[:-1]] for run in wrapped], size, size)
    transition = step_from(envs.make("gomoku", exactly_five=exactly_five), [run[-1] for run in wrapped], own=own)
    assert not transition.terminated.any() and not transition.reward.any()


@pytest.mark.parametrize(("in_row", "density"), [(2, 0.08), (3, 0.2), (4, 0.3), (5, 0.5)])
@pytest.mark.parametrize("exactly", [False, True])
def test_lines_of_random_boards(in_row, density, exactly):
    """The words say the same as a count of the stones along every line."""
    rows, columns = 6, 8
    boards = np.random.default_rng(in_row).random((400, rows, columns)) < density
    expected = []
    for board in boards:
        padded = np.pad(board, 1)
        longest = set()
        for row, column in np.argwhere(padded):
            for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
                length = 0
                if not padded[row - down, column - right]:
                    while padded[row + length * down, column + length * right]:
                        length += 1
                longest.add(length)
        expected.append(in_row in longest if exactly else max(longest, default=0) >= in_row)
    words = words_of([[(row, column) for row, column in np.argwhere(board)] for board in boards], rows, columns)
    found = jax.vmap(lambda words: has_line(words, in_row, exactly=exactly))(words)
    assert 20 < sum(expected) < 380
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("exactly_five", [False, True])
def test_gomoku_overline(exactly_five):
    """X X X . X X, then the gap is filled: a win in freestyle only; the standard game goes on."""
    row = CASES["GM-02"]["input"].split(",")[0].split()[1:7]
    gap = row.index(".")
    own = words_of([[(7, 4 + i) for i, mark in enumerate(row) if mark == "X"]], 15, 15)
    game = envs.make("gomoku", exactly_five=exactly_five)
    transition = step_from(game, [7 * 15 + 4 + gap], own=own)
    assert transition.terminated.tolist() == [not exactly_five]
    assert transition.reward.tolist() == [0.0 if exactly_five else 1.0]
    assert transition.discount.tolist() == [-1.0 if exactly_five else 0.0]


def test_tic_tac_toe_ninth_move():
    cells = [int(cell) for cell in re.findall(r"[XO](\d)", CASES["TT-01"]["input"])]
    state, transition = play(envs.make("tic_tac_toe"), [cell - 1 for cell in cells])
    assert len(cells) == 9
    assert transition.reward == 1 and transition.discount == 0 and state.terminated


def test_dots_and_boxes_two_boxes_at_once():
    game = envs.make("dots_and_boxes", rows=1, columns=2)
    lines = re.findall(r"[hv]\d\d", CASES["DB-01"]["input"])
    before, _ = play(game, [game.action_from_text(game.init(), line) for line in lines[:-1]])
    state, transition = game.step(before, jnp.int32(game.action_from_text(before, lines[-1])))
    assert before.player == state.player == 0
    assert state.score.tolist() == [2, 0] and state.terminated and transition.reward == 1


def lead_of_first_player(game: DotsAndBoxes, *, always_negate: bool = False) -> int:
    """Boxes of the first player minus the second's under perfect play: a negamax over all sets of drawn lines."""
    sets, lines = jnp.arange(2**game.num_actions), np.arange(game.num_actions)

    def results(drawn):
        """What every line brings where the lines `drawn` are there: boxes, and the discount."""
        state = game.init()._replace(lines=(drawn >> lines) & 1 == 1)
        closed = state.score.at[0].set(game._edges(state.lines).all(-1).sum().astype(jnp.int8))
        after, transition = jax.vmap(game.step, (None, 0))(state._replace(score=closed), jnp.arange(game.num_actions))
        return after.score.sum(-1) - closed.sum(), transition.discount

    boxes, discount = (np.asarray(x) for x in jax.jit(jax.vmap(results))(sets))
    values = np.zeros(len(sets))
    for size in reversed(range(game.num_actions)):
        here = np.flatnonzero(np.bitwise_count(np.arange(len(sets))) == size)
        sign = np.full((len(here), 1), -1.0) if always_negate else discount[here]
        brings = boxes[here] + sign * values[here[:, None] | 1 << lines]
        values[here] = np.where(here[:, None] >> lines & 1, -np.inf, brings).max(1)
    return int(values[0])


@pytest.mark.parametrize(
    ("rows", "columns", "lead"), re.findall(r"(\d)x(\d) ([-+]?\d)", CASES["DB-02"]["expected"].split("(")[0])
)
def test_dots_and_boxes_value(rows, columns, lead):
    assert lead_of_first_player(DotsAndBoxes(int(rows), int(columns))) == int(lead)


@pytest.mark.parametrize(
    ("rows", "columns", "lead"), re.findall(r"(\d)x(\d) ([-+]?\d)", CASES["DB-02"]["expected"].split("(")[1])
)
def test_dots_and_boxes_value_by_always_negating_is_wrong(rows, columns, lead):
    game = DotsAndBoxes(int(rows), int(columns))
    assert lead_of_first_player(game, always_negate=True) == int(lead) != lead_of_first_player(game)


def test_othello_over_without_passes():
    """OT-02: neither side can move though squares are left. The game is over at once, as in OpenSpiel."""
    cells = [int(cell) for cell in re.findall(r"\d+", CASES["OT-02"]["input"].split(":")[1].split("(")[0])]
    state, transition = play(envs.make("othello"), cells)
    assert len(cells) % 2 == 1  # the first player moved last
    assert state.terminated and transition.reward == 1 and transition.discount == 0
    assert not envs.make("othello").legal_action_mask(state).any()


def test_othello_wipe_out():
    """OT-03: the game is over with the last disc of the other side. (A board of 32 each: test_othello.py.)"""
    cells = [int(cell) for cell in re.findall(r"\d\d", CASES["OT-03"]["input"].split(")")[1].split("from")[0])]
    state, transition = play(envs.make("othello"), cells)
    assert len(cells) == 9 and not state.own.any()
    assert state.terminated and transition.reward == 1 and transition.discount == 0


def test_othello_forced_pass():
    """OT-04: a side without a move passes, and the game goes on; the pass is a ply like any other."""
    game = envs.make("othello")
    cells = [int(cell) for cell in re.findall(r"\d\d", CASES["OT-04"]["input"].split(":")[1].split("(")[0])]
    state, transition = play(game, cells)
    assert state.player == 0 and not state.terminated and transition.discount == -1
    assert np.flatnonzero(game.legal_action_mask(state)).tolist() == [64]
    state, transition = game.step(state, jnp.int32(64))
    assert state.player == 1 and not state.terminated and transition.reward == 0 and transition.discount == -1
    assert np.flatnonzero(game.legal_action_mask(state)).tolist() == [34, 52]


def test_hex_swapped_stone():
    """HX-01: the stone moves to the reflected cell and changes its colour; the cell it leaves is free again."""
    game = envs.make("hex", swap=True)
    first, swapped = (
        int(cell) for cell in re.findall(r"id (\d+)", CASES["HX-01"]["input"] + CASES["HX-01"]["expected"])
    )
    assert not game.legal_action_mask(game.init())[121]
    before, _ = game.step(game.init(), jnp.int32(first))
    assert game.legal_action_mask(before)[121]
    state, transition = game.step(before, jnp.int32(121))
    assert state.player == 0 and transition.reward == 0 and transition.discount == -1
    own, opponent, swaps = np.moveaxis(np.asarray(game.observe(state)), -1, 0)
    assert np.flatnonzero(opponent).tolist() == [swapped] and not own.any() and not swaps.any()
    assert np.flatnonzero(~game.legal_action_mask(state)).tolist() == [swapped, 121]
