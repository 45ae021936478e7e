"""SFEN and USI: positions and games come back as they were, real forms of texts, and what is no position."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from data import CASES
from shogi_oracle import cshogi

from envs.notation import sfen
from envs.shogi import Shogi

GAME = Shogi()
DRAW = ["4i4h", "6a6b", "4h4i", "6b6a"]
_step, _mask = jax.jit(GAME.step), jax.jit(GAME.legal_action_mask)


def test_positions_come_back_as_they_were():
    state, generator = GAME.init(), np.random.default_rng(1)
    assert GAME.to_text(state) == sfen.START
    board, moves = cshogi.Board(), []
    for ply in range(80):
        text = GAME.to_text(state)
        assert text == board.sfen()
        if ply % 10 == 0:
            again = GAME.from_text(text)
            for field in ("ply", "player", "terminated"):
                assert getattr(again, field) == getattr(state, field)
            np.testing.assert_array_equal(again.boards[0], state.boards[0])
            np.testing.assert_array_equal(again.hands[0], state.hands[0])
            np.testing.assert_array_equal(_mask(again), _mask(state))
        move = int(generator.choice(list(board.legal_moves)))
        moves.append(cshogi.move_to_usi(move))
        action = GAME.action_from_text(state, moves[-1]) if ply % 30 == 0 else GAME._action(state, moves[-1])
        board.push(move)
        state, _ = _step(state, jnp.int32(action))
    for start in ("startpos", "position startpos", f"position sfen {sfen.START}", f"sfen {sfen.START}", sfen.START):
        replayed = GAME.from_text(f"{start} moves {' '.join(moves)}")
        for one, other in zip(jax.tree.leaves(replayed), jax.tree.leaves(state), strict=True):
            np.testing.assert_array_equal(one, other)


def test_forms_of_texts():
    """The move number may be missing; hands in any order, and numbers of two digits."""
    board = sfen.START.split()[0]
    assert GAME.to_text(GAME.from_text(f"{board} b -")) == sfen.START
    assert GAME.to_text(GAME.from_text("4k4/9/9/9/9/9/9/9/4K4 w 17p2LBs 7")) == "4k4/9/9/9/9/9/9/9/4K4 w B2Ls17p 7"
    assert "+" in GAME.render(GAME.from_text("4k4/9/4+P4/9/9/9/9/9/4K4 w - 7"))
    parsed = sfen.parse("startpos moves 7g7f 3c3d")
    assert parsed.moves == ("7g7f", "3c3d") and sfen.format(parsed) == f"sfen {sfen.START} moves 7g7f 3c3d"


BAD = [
    (CASES["PR-24"]["input"].split(" ;")[0], "underscores where SFEN has spaces"),
    ("", "takes board, side to move, hands"),
    ("4k4/9/9/9/9/9/9/9/4K4 x - 1", "side to move is b or w, got 'x'"),
    ("4k4/9/9/9/9/9/9/9/4K4 b - 0", "counts from 1, got '0'"),
    ("4k4/9/9/9/9/9/9/9/4K4 b - -3", "counts from 1, got '-3'"),
    ("4k4/9/9/9/9/9/9/9/4K4 b - 513", "the cap is max_plies=512"),
    ("4k4/9/9/9/9/9/9/4K4 b - 1", "9 ranks, got 8"),
    ("4k4/9/9/8/9/9/9/9/4K4 b - 1", r"rank d \('8'\) has 8"),
    ("4k4/9/9/9P/9/9/9/9/4K4 b - 1", "rank d .* has 10"),
    ("4k4/9/9/45/9/9/9/9/4K4 b - 1", "rank d has '45'"),
    ("4x4/9/9/9/9/9/9/9/4K4 b - 1", "rank a has 'x'"),
    ("4k4/9/9/4+G4/9/9/9/9/4K4 b - 1", r"rank d has '\+G'"),
    ("4k4/9/9/4\u017f4/9/9/9/9/4K4 b - 1", "rank d has '\u017f'"),
    ("4k4/9/9/8+/9/9/9/9/4K4 b - 1", r"rank d has '\+'"),
    ("4k4/9/9/9/9/9/9/9/K3K4 b - 1", "first player .* 2 kings"),
    ("4k3k/9/9/9/9/9/9/9/4K4 b - 1", "second player .* 2 kings"),
    ("P3k4/9/9/9/9/9/9/9/4K4 b - 1", "first player .* pawn that could never move"),
    ("4k4/9/9/9/9/9/9/9/l3K4 b - 1", "second player .* lance that could never move"),
    ("4k4/N8/9/9/9/9/9/9/4K4 b - 1", "first player .* knight that could never move"),
    ("4k4/9/P8/P8/9/9/9/9/4K4 b - 1", "first player .* two pawns on file 9"),
    ("4k4/9/9/9/9/8p/8p/9/4K4 b - 1", "second player .* two pawns on file 1"),
    ("RRR1k4/9/9/9/9/9/9/9/4K4 w - 1", "3 rooks on the board; there are 2"),
    ("4k4/9/9/9/4R4/9/9/9/K8 b - 1", "side that is not to move is in check"),
    ("4k4/4K4/9/9/9/9/9/9/9 b - 1", "side that is not to move is in check"),
    ("4k4/9/9/9/9/9/9/9/4K4 b 2p2p 1", "'p' twice"),
    ("4k4/9/9/9/9/9/9/9/4K4 b 19p 1", "19 pawns in hand"),
    ("4k4/9/9/9/9/9/9/9/4K4 b 0p 1", "0 pawns in hand"),
    ("4k4/9/9/9/9/9/9/9/4K4 b 10P9p 1", "19 pawns in the hands"),
    ("4k4/9/9/9/9/9/9/9/4K4 b K 1", "hands have 'K'"),
    ("4k4/9/9/9/9/9/9/9/4K4 b P2 1", "each after its number"),
    ("4k4/9/9/9/9/9/9/9/4K4 b 111P 1", "each after its number"),
    ("startpos moves 7g7f 7g7f", "move 2, '7g7f': it is not legal"),
    ("startpos moves 7g7", "move 1, '7g7': a move is such as"),
    ("startpos moves P*5e+", r"move 1, 'P\*5e\+': a move is such as"),
    ("startpos moves 7g5f", "no piece moves so"),
    ("startpos moves resign", "'resign': a move is such as"),
    (f"startpos moves {' '.join(DRAW * 3)} 7g7f", "move 13, '7g7f': the game is over"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_what_is_no_position_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        GAME.from_text(text)
