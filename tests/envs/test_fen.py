"""Moves and positions of chess as text: UCI and FEN."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import pytest
from data import CASES

from envs.chess import Chess, State
from envs.notation import fen

CHESS = Chess()
step = jax.jit(CHESS.step)


def play(state: State, moves: str) -> State:
    """The state after these moves."""
    for move in moves.split():
        state, _ = step(state, jnp.int32(CHESS.action_from_text(state, move)))
    return state


def found(pattern: str, case: str) -> str:
    """The part of a case's input that the pattern's group names."""
    match = re.search(pattern, CASES[case]["input"])
    assert match
    return match.group(1)


# --- moves as text ---


def test_castling_as_king_takes_rook():
    """Read, not written; the same squares by a rook are a rook's move (case PR-07)."""
    state = CHESS.from_text("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    for text, move in (("e1h1", "e1g1"), ("e1a1", "e1c1"), ("E1G1", "e1g1")):
        assert CHESS.action_to_text(state, CHESS.action_from_text(state, text)) == move
    text = found(r"(1r1q\S+ w - - 0 1)", "PR-07")
    state = CHESS.from_text(text)
    assert CHESS.action_to_text(state, CHESS.action_from_text(state, "e1a1")) == "e1a1"


def test_promotion_letters():
    """Written in lower case, read in both (case PR-08)."""
    text = CASES["PR-08"]["input"].split(":")[0]
    state = CHESS.from_text(text)
    for move in ("f2f1Q", "f2f1q", "f2f1n"):
        assert CHESS.action_to_text(state, CHESS.action_from_text(state, move)) == move.lower()
    with pytest.raises(ValueError, match="'f2f1k' is not a legal move here"):
        CHESS.action_from_text(state, "f2f1k")


def test_render():
    board = CHESS.render(play(CHESS.init(), "e2e4"))
    assert board.splitlines()[0] == "8 r n b q k b n r"
    assert board.splitlines()[4] == "4 . . . . P . . ."
    assert board.splitlines()[-1] == "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"


# --- positions as text ---


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq", "has the fields board, side to move"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1 ;", "has the fields board"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1;", "the number of the move .* got '1;'"),
        ("rnbqkbnr/pppppppp/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "8 ranks, divided by /, got 7"),
        ("rnbqkbnr/ppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "rank 7 .* has 7 squares, not 8"),
        ("rnbqkbnr/pppppppp/9/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "'9' in rank 6"),
        ("rnbqkbnr/ppppxppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "'x' in rank 7 .* is none of PNBRQK"),
        ("3k15/8/8/8/8/8/8/4K3 w - - 0 1", "two numbers of empty squares stand side by side in rank 8"),
        ("8/8/8/8/8/8/8/4K3 w - - 0 1", "Black has 0 kings"),
        ("4k3/8/8/8/8/8/8/K3K3 w - - 0 1", "White has 2 kings"),
        ("P3k3/8/8/8/8/8/8/4K3 w - - 0 1", "a pawn stands on the first or the last rank"),
        ("4k3/8/8/8/8/8/8/p3K3 w - - 0 1", "a pawn stands on the first or the last rank"),
        ("4k3/QQQQQQQQ/QQQQQQQQ/8/8/8/8/4K3 b - - 0 1", "White has 17 pieces"),
        ("4k3/8/8/8/8/8/8/4K3 x - - 0 1", "the side to move is w or b, got 'x'"),
        ("4k3/8/8/8/8/8/8/4K3 w X - 0 1", "castling rights are letters of KQkq, or -, got 'X'"),
        ("4k3/8/8/8/8/8/8/4K3 w KK - 0 1", "castling rights"),
        ("4k3/8/8/8/8/8/8/4K3 w - e3 0 1", "the en passant square is - or on rank 6 with White to move, got 'e3'"),
        ("4k3/8/8/8/8/8/8/4K3 w - - x 1", "half-moves without progress .* got 'x'"),
        ("4k3/8/8/8/8/8/8/4K3 w - - -1 1", "half-moves without progress .* got '-1'"),
        ("4k3/8/8/8/8/8/8/4K2R w - - 101 90", "101 half-moves without progress; the game ends at 100"),
        ("4k3/8/8/8/8/8/8/4K2R w - - 0 300", "stands at half-move 598, where the game has ended: the cap is"),
        ("4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", "the side that is not to move is in check"),
    ],
)
def test_bad_fen(text, message):
    with pytest.raises(ValueError, match=message) as error:
        CHESS.from_text(text)
    assert text[:20] in str(error.value)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("5rk1/2p4p/2p4r/3P4/4p1b1/1Q2NqPp/PP3P1K/R4R2 b - -", "... b - - 0 1"),  # without counts (case PR-02)
        ("rnb1kb1Q/1p1qp2p/p3p1p1/2pp4/8/8/PPPP1PPP/RNB1K1NR b KQkq - 1 10", "... b KQq - 1 10"),  # case PR-03
        ("2k5/8/3K4/1p6/p7/P7/1B6/8 b KQkq - 0 1", "... b - - 0 1"),
        ("1r2k3/8/8/8/8/8/8/R3KR2 w KQkq - 0 1", "... w Q - 0 1"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq d6 0 1", "... w KQkq - 0 1"),  # case PR-05
        ("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1", "... b KQkq - 0 1"),
        ("rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3", "... b KQkq e3 0 3"),
        ("4k3/8/8/8/8/8/8/4K2R  w K -  0 0 ", "4k3/8/8/8/8/8/8/4K2R w K - 0 1"),
    ],
)
def test_fen_is_made_normal(text, normal):
    assert CHESS.to_text(CHESS.from_text(text)) == normal.replace("...", text.split()[0])


def test_en_passant_square_is_written_either_way():
    """Only where a capture is legal, or after every double step (case PR-06); both are read."""
    state = play(CHESS.init(), "e2e4")
    assert CHESS.to_text(state).split()[3] == "-"
    assert CHESS.to_text(state, en_passant="always").split()[3] == "e3"
    assert CHESS.to_text(play(state, "d7d5"), en_passant="always").split()[3] == "d6"
    assert CHESS.to_text(play(state, "d7d6"), en_passant="always").split()[3] == "-"
    with pytest.raises(ValueError, match="en_passant is 'legal' or 'always', got 'never'"):
        CHESS.to_text(state, en_passant="never")


def test_square_names():
    assert [fen.square_name(square) for square in (0, 7, 56, 63)] == ["a1", "h1", "a8", "h8"]
    assert all(fen.square_number(fen.square_name(square)) == square for square in range(64))
