"""SGF of Go: what is written is read again, real forms of files, and what is no game of Go."""

from __future__ import annotations

import numpy as np
import pytest
from go_games import random_games

from envs.go import Go
from envs.notation import sgf


@pytest.mark.parametrize("size", [5, 9])
def test_games_come_back_as_they_were(size):
    """Moves, passes, komi, result and the last board of random games, the text being written again alike."""
    game = Go(size, komi=6.5)
    games = random_games(game, 4, seed=3, passes=0.2)
    for lane in range(4):
        length = int(np.argmax(games.transition.terminated[:, lane])) + 1
        actions = games.action[:length, lane].tolist()
        text = sgf.write(game, actions, names=("one", "other"))
        record = sgf.read(text)
        assert record.game == game and list(record.actions) == actions and record.result is None
        assert record.state.terminated
        result = sgf.result_text(game, record.state)
        reward = games.transition.reward[length - 1, lane] * (1 if games.player[length - 1, lane] == 0 else -1)
        assert result is not None and result[0] == ("B" if reward > 0 else "W")
        again = sgf.write(game, record.actions, result=result, names=("one", "other"))
        assert f"RE[{result}]" in again and sgf.read(again).result == result


def test_a_position_comes_back_as_it_was():
    game = Go(5, komi=0.5)
    board = np.zeros((5, 5), np.int8)
    board[1, 1:4], board[2, 2], board[4, 0] = 1, 2, 2
    for player in (0, 1):
        start = game.from_board(board, player)
        text = sgf.write(game, [], start=start)
        record = sgf.read(text)
        assert record.actions == () and int(record.start.player) == player
        np.testing.assert_array_equal(game.board(record.start), board)
        played = sgf.read(sgf.write(game, [0, 25], start=start))
        assert played.actions == (0, 25) and int(played.state.ply) == 2 and bool(played.state.passed)


def test_corners_and_passes_are_where_the_format_has_them():
    """The first letter is the column from the left, the second the row from the top; "" and "tt" are passes."""
    record = sgf.read("(;GM[1]FF[4]SZ[5]KM[7.5];B[aa];W[ea];B[ae];W[];B[tt])")
    assert record.actions == (0, 4, 20, 25, 25)
    assert record.game.komi == 7.5 and record.state.terminated
    texts = [record.game.action_to_text(record.start, action) for action in record.actions]
    assert texts == ["A5", "E5", "A1", "pass", "pass"]


def test_handicap_stones_give_white_the_move():
    record = sgf.read("(;GM[1]SZ[9]HA[2]AB[gc][cg];W[ee])")
    assert int(record.start.player) == 1 and record.actions == (40,)
    assert (record.game.board(record.start) == 1).sum() == 2
    assert int(sgf.read("(;SZ[9]AB[gc][cg])").start.player) == 1
    assert int(sgf.read("(;SZ[9]AB[gc][cg]PL[B])").start.player) == 0


def test_defaults_of_the_format():
    record = sgf.read(b"(;AB[dd]AE[dd])")
    assert record.game.size == 19 and record.game.komi == 0 and not record.game.board(record.start).any()


def test_only_the_main_line_is_read():
    assert sgf.read("(;SZ[5];B[aa](;W[bb];B[cc])(;W[dd]))").actions == (0, 6, 12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not SGF of a game of Go"),
        ("1. e4 e5", "not SGF of a game of Go"),
        ("(;GM[2]SZ[8])", r"GM\[2\]"),
        ("(;SZ[25];B[aa])", "size is 2 to 19, got size=25"),
        ("(;SZ[5];B[aa];W[aa])", "move 2: white A5 is not legal"),
        ("(;SZ[5];B[aa];B[bb])", "move 2: black B4, but it is the other's turn"),
        ("(;SZ[5];B[];W[];B[aa])", "move 3: black A5, but the game was over after move 2"),
        ("(;SZ[5];B[zz])", "no move"),
        ("(;SZ[5];B[aa];AB[bb])", "set-up stones"),
        ("(;SZ[3]AB[aa][ab][ba][bb]AW[ca][cb][ac][bc])", "has no liberty"),
    ],
)
def test_what_is_no_game_of_go_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        sgf.read(text)


def test_superko_is_the_callers_to_say():
    """The basic ko is forbidden by all three; the retake after a move elsewhere is not."""
    ko = "(;SZ[5];B[ba];W[ca];B[ab];W[db];B[bc];W[cc];B[cb];W[bb];B[cb])"
    for superko in ("positional", "situational", "simple"):
        with pytest.raises(ValueError, match=rf"move 9: black C4 is not legal \(superko='{superko}'\)"):
            sgf.read(ko, superko=superko)
