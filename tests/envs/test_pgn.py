"""PGN: what is written is read again, real forms of files, and what is no game of chess."""

from __future__ import annotations

import io
import re

import chess.pgn
import jax.numpy as jnp
import pytest
from chess_games import GAME, random_games
from data import CASES

from envs.chess import Chess
from envs.notation import pgn

CHESS = Chess()


def moves_of(record: pgn.Record) -> list[str]:
    """UCI's names of the moves."""
    state, names = record.start, []
    for action in record.actions:
        names.append(CHESS.action_to_text(state, action))
        state, _ = CHESS.step(state, jnp.int32(action))
    return names


def test_games_come_back_as_they_were():
    """Moves, result and the last position; python-chess reads the same."""
    for game in random_games(200)[:4]:
        actions = [ply.action for ply in game.plies]
        text = pgn.write(actions, game=GAME, result=game.last.result(), names=("one", "other"))
        (record,) = pgn.read(text, GAME)
        assert list(record.actions) == actions and record.result == game.last.result()
        assert GAME.to_text(record.state) == game.last.fen() and record.state.terminated
        theirs = chess.pgn.read_game(io.StringIO(text))
        assert theirs is not None and list(theirs.mainline_moves()) == game.last.move_stack
        assert theirs.headers["White"] == "one" and theirs.headers["Black"] == "other"


def test_real_forms_of_files():
    """FEN tags, a comment before the first move, "38. ..", no SetUp tag, a file letter too many (case PR-13)."""
    parts = CASES["PR-13"]["input"].split(" ; ")
    first, second, third = (re.sub(r"^\(\d\) ", "", part) for part in parts[:3])
    (record,) = pgn.read(first.replace("][", "]\n[").replace("] {c}", "]\n\n{c}"))
    assert moves_of(record) == ["f8b4", "c1d2", "b8c6", "d4c6"]
    (record,) = pgn.read(second.replace('"] 38.', '"]\n\n38.'))
    assert moves_of(record) == ["g7g5", "h4e4", "c6c5", "e4e8", "c5f8"]
    (record,) = pgn.read(third.replace('"] 1.', '"]\n\n1.'))
    assert moves_of(record) == ["g5e5"]
    text = re.search(r"(r1bqkbnr/\S+ b KQkq - 0 4)", CASES["PR-13"]["input"])
    assert text
    (record,) = pgn.read(f'[FEN "{text.group(1)}"]\n\n4... Ngf6 *')
    assert moves_of(record) == ["g8f6"]


def test_a_game_may_go_on_where_ours_has_ended():
    moves = "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 5. e4 e5 *"
    (record,) = pgn.read(moves)
    assert len(record.actions) == 10 and CHESS.termination(record.state) == "threefold repetition"
    assert int(record.state.ply) == 8


def test_two_games():
    first, second = pgn.read("1. e4 e5 1-0\n\n1. d4 *")
    assert (len(first.actions), first.result) == (2, "1-0") and (len(second.actions), second.result) == (1, "*")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not PGN of a game of chess: ''"),
        ("no game at all", "not PGN of a game of chess"),
        ("1. e4 e5 2. Ke3", "game 1: illegal san: 'Ke3'"),
        ("1. e4 *\n\n1. e5 *", "game 2: illegal san: 'e5'"),
        ('[FEN "8/8/8/8/8/8/8/K7 w - - 0 1"]\n\n*', "game 1: Black has 0 kings"),
    ],
)
def test_bad_pgn(text, message):
    with pytest.raises(ValueError, match=message):
        pgn.read(text)


def test_refuses_to_write_what_is_not_legal():
    with pytest.raises(ValueError, match=r"a result is one of 1-0, 0-1, 1/2-1/2, \*, got 'W'"):
        pgn.write([], result="W")
    with pytest.raises(ValueError, match="half-move 1: a1a2 is not legal in rnbqkbnr"):
        pgn.write([0])


def test_a_position_comes_back_as_it_was():
    start = CHESS.from_text("4k3/8/8/8/8/8/4P3/4K3 w - - 5 40")
    text = pgn.write([CHESS.action_from_text(start, "e2e4")], start=start)
    (record,) = pgn.read(text)
    assert CHESS.to_text(record.start) == "4k3/8/8/8/8/8/4P3/4K3 w - - 5 40" and moves_of(record) == ["e2e4"]
