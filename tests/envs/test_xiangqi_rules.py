"""The rules of xiangqi position by position, cases from bug reports, and positions and moves as text."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from data import CASES
from xiangqi_games import START, XIANGQI, encode, legal_mask, legal_moves, moved, pyffish, pyffish_moves, step

from envs.notation import xiangqi as notation
from envs.xiangqi import State, Xiangqi


def reward(state: State, move: str) -> float:
    """What a move wins, which ends the game."""
    after, transition = step(state, jnp.int32(XIANGQI.action_from_text(state, move)))
    assert after.terminated and not transition.truncated
    return float(transition.reward)


# --- the rules, position by position ---


@pytest.mark.parametrize(
    ("fen", "moves"),
    [
        # Flying general: the only piece between may stay between; with two each may leave.
        ("4k4/9/9/4n4/9/9/9/9/9/4K4 b - - 0 1", "e10d10 e10f10 e10e9"),
        ("4k4/9/9/9/4n4/9/4p4/9/9/4K4 b - - 0 1", None),
        # A cannon gives check over one screen: take it away, add another, take the cannon.
        ("4k4/4c4/9/9/9/4N4/9/9/9/3K5 w - - 0 1", None),
        ("3k5/4c4/9/9/9/4N4/9/9/9/4K4 w - - 0 1", None),
        # With no screen, nobody may become one.
        ("3k5/4c4/9/9/9/9/R8/9/9/3AK4 w - - 0 1", None),
        ("3k5/9/9/9/4c4/9/9/R8/9/2BAK4 w - - 0 1", None),
        # A screen of two cannons; a screen pinned by a rook behind it; a second piece that may not leave the line.
        ("3k5/4c4/9/4c4/9/4N4/9/9/9/4K4 w - - 0 1", None),
        ("3k5/4c4/9/9/4r4/4R4/9/9/9/4K4 w - - 0 1", None),
        ("3k5/4c4/9/4R4/9/4P4/9/9/9/4K4 w - - 0 1", None),
        ("3k5/4c4/4r4/4C4/9/4P4/9/9/9/4K4 w - - 0 1", None),
        # Horses: taken, stopped at the leg, kept off by a pinned leg, two horses over one leg.
        ("3k5/9/9/9/9/9/9/3n5/R3A4/4K4 w - - 0 1", None),
        ("5k3/9/9/9/9/9/9/3n5/R2C5/4K4 w - - 0 1", None),
        ("3k5/9/9/9/9/9/9/3n5/2nR5/4K4 w - - 0 1", None),
        ("3k5/9/9/9/9/9/9/3n5/3R5/4K4 w - - 0 1", None),
        # Check by a horse and a cannon at once, by two cannons, by a rook in front of a cannon.
        ("3k5/9/4c4/9/9/9/4R4/3n5/9/4K4 w - - 0 1", None),
        ("5k3/9/4c4/9/9/9/4N4/9/9/1c1RK4 w - - 0 1", None),
        ("3k5/9/4c4/9/4r4/9/9/9/R8/4K4 w - - 0 1", None),
        # The general may not step behind himself, nor next to a pawn's front.
        ("3k5/9/9/9/4r4/9/9/9/4K4/9 w - - 0 1", None),
        ("3k5/9/9/9/9/9/9/4p4/9/4K4 w - - 0 1", None),
    ],
)
def test_pins_and_checks(fen, moves):
    expected = set(pyffish_moves(fen))
    assert legal_moves(fen) == expected == (set(moves.split()) if moves is not None else expected)
    mirrored = " ".join(["/".join(rank[::-1] for rank in fen.split()[0].split("/")), *fen.split()[1:]])
    assert legal_moves(mirrored) == set(pyffish_moves(mirrored))


def test_flying_general_is_a_check():
    """The generals face each other after the rook leaves: not legal; by FEN: refused (case XQ-01)."""
    first, second = CASES["XQ-01"]["input"].split(" ; ")
    moves = legal_moves(first)
    assert len(moves) == 10 and {move for move in moves if move[:2] == "e6" and move[2] != "e"} == set()
    assert legal_moves(second) == {"e1e2", "e1f1"}
    assert XIANGQI.in_check(XIANGQI.from_text("4k4/9/9/9/9/9/9/9/4r4/4K4 w - - 0 1"))
    with pytest.raises(ValueError, match="the side that is not to move is in check, or the generals face each other"):
        XIANGQI.from_text("4k4/9/9/9/9/9/9/9/9/4K4 w - - 0 1")


def test_stalemate_loses():
    """Case XQ-02, as a position and as the result of a move."""
    state = XIANGQI.from_text(CASES["XQ-02"]["input"])
    assert state.terminated and XIANGQI.termination(state) == "stalemate" and not legal_mask(state).any()
    before = XIANGQI.from_text("3k5/9/4P4/9/9/9/9/9/9/4K4 w - - 0 1")
    assert reward(before, "e8e9") == 1.0
    mate = XIANGQI.from_text("3k5/8R/9/9/9/9/9/9/9/4K1R2 w - - 0 1")
    assert reward(mate, "g1g10") == 1.0 and XIANGQI.termination(moved(mate, "g1g10")) == "checkmate"


# Red's rook checks from two files; Black's general goes back and forth.
PERPETUAL = CASES["XQ-04"]["input"].split(" moves ")


def test_perpetual_check_loses():
    """The position after the second check comes for the third time (case XQ-04)."""
    fen, moves = PERPETUAL
    *first, last = moves.split()
    state = moved(XIANGQI.from_text(fen), " ".join(first))
    assert not state.terminated and reward(state, last) == -1.0
    assert XIANGQI.termination(moved(state, last)) == "perpetual check"


def test_perpetual_check_must_be_all_of_it():
    """One quiet move since the first occurrence, and it is a draw; checks before it do not matter."""
    fen = "4k4/9/9/9/9/9/9/9/8R/3K5 w - - 0 1"
    state = moved(XIANGQI.from_text(fen), "i2e2 e10f10 e2f2 f10e10 f2h2 e10f10 h2f2 f10e10 f2e2 e10f10")
    assert not state.terminated and reward(state, "e2f2") == 0.0
    assert XIANGQI.termination(moved(state, "e2f2")) == "threefold repetition"
    start = XIANGQI.from_text("4k4/9/9/9/9/9/9/9/8R/3K5 w - - 0 1")
    draw = moved(start, "i2h2 e10f10 h2i2 f10e10 i2h2 e10f10 h2i2")
    assert reward(draw, "f10e10") == 0.0


def test_perpetual_check_of_the_side_that_did_not_move_last():
    """The third occurrence comes by the reply to the check."""
    state = moved(XIANGQI.from_text("5k3/9/9/9/9/9/9/9/4R4/3K5 w - - 0 1"), "e2f2 f10e10 f2e2 e10f10 e2f2 f10e10 f2e2")
    assert not state.terminated and reward(state, "e10f10") == 1.0


def test_mutual_perpetual_check_is_a_draw():
    """Every move of both is a check: the horses go to and from the lines of both cannons, where one is a screen."""
    fen, moves = "5k3/9/9/9/9/9/9/7N1/4K2nc/5C3 w - - 0 1", ["h3f2", "h2f3", "f2h3", "f3h2"]
    state, played = XIANGQI.from_text(fen), []
    for move in moves * 2:
        assert not state.terminated
        state = moved(state, move)
        played.append(move)
        assert XIANGQI.in_check(state), move
    assert XIANGQI.termination(state) == "threefold repetition"
    assert pyffish.is_optional_game_end("xiangqi", fen, played) == (True, 0)


def test_perpetual_chase_is_a_draw():
    """Not looked for, unlike in Fairy-Stockfish (case XQ-05): the chasing rook draws."""
    first, second = CASES["XQ-05"]["input"].split(" ; ")
    fen, moves = first.split(" moves ")
    *before, last = moves.split()
    state = moved(XIANGQI.from_text(fen), " ".join(before))
    assert reward(state, last) == 0.0 and XIANGQI.termination(moved(state, last)) == "threefold repetition"
    assert pyffish.is_optional_game_end("xiangqi", fen, moves.split()) == (True, -32_000)
    fen, move = second.removeprefix("pinned chaser ").split(" moves ")
    state = moved(XIANGQI.from_text(f"{fen} w"), move)
    assert not state.terminated and not XIANGQI.in_check(state)


@pytest.mark.parametrize("limit", [120, 100, 4])
def test_no_capture(limit):
    """A draw after so many half-moves, unless the last one leaves no move; a repetition at the last one comes first."""
    game = Xiangqi(no_capture_plies=limit)
    fen = f"3k5/9/4P4/9/9/9/9/9/9/4K1R2 w - - {limit - 1} 90"
    for move, outcome, reason in (("g1g2", 0.0, "no capture"), ("e8e9", 1.0, "stalemate")):
        state = game.from_text(fen.replace("1R2", "4") if reason == "stalemate" else fen)
        action = encode(move, 0)
        after, transition = game.step(state, jnp.int32(action))
        assert transition.terminated and not transition.truncated and transition.reward == outcome
        assert game.termination(after) == reason
    over = game.from_text(fen.replace(f" {limit - 1} ", f" {limit} "))
    assert over.terminated and game.termination(over) == "no capture"
    with pytest.raises(ValueError, match=rf"has {limit + 1} half-moves without capture; the game ends at {limit}"):
        game.from_text(fen.replace(f" {limit - 1} ", f" {limit + 1} "))


def test_perpetual_check_on_the_last_half_move_of_the_clock():
    fen, moves = PERPETUAL
    game, count = Xiangqi(no_capture_plies=len(moves.split())), len(moves.split())
    state = game.from_text(fen)
    for move in moves.split():
        state, transition = game.step(state, jnp.int32(game.action_from_text(state, move)))
    assert state.clock == count and transition.reward == -1.0 and game.termination(state) == "perpetual check"


def test_capture_ends_the_history():
    state = moved(XIANGQI.init(), "b1c3 b10c8 c3b1 c8b10")
    assert int(state.repetitions[0]) == 2
    state = moved(state, "h3h10")  # takes a horse
    assert int(state.clock) == 0 and int(state.repetitions[0]) == 1
    state = moved(state, "i10h10 b1c3 b10c8 c3b1 c8b10 b1c3 b10c8 c3b1")
    assert not state.terminated
    assert XIANGQI.termination(moved(state, "c8b10")) == "threefold repetition"


def test_move_cap():
    game = Xiangqi(max_plies=3)
    state = game.init()
    for move in ("b1c3", "b10c8", "c3b1"):
        state, transition = game.step(state, jnp.int32(game.action_from_text(state, move)))
    assert transition.truncated and transition.reward == 0 and game.termination(state) == "move cap"
    with pytest.raises(ValueError, match="stands at half-move 4, where the game has ended: the cap is max_plies=3"):
        game.from_text(START.replace(" 0 1", " 0 3"))


def test_illegal_action():
    state, transition = step(XIANGQI.init(), jnp.int32(0))
    assert transition.reward == -1 and XIANGQI.termination(state) == "illegal move"
    assert XIANGQI.termination(XIANGQI.init()) is None


# --- text ---


def test_observation_of_a_loaded_position():
    """What came before is zeros; everything else is as if it had been reached by moves."""
    reached = moved(XIANGQI.init(), "b1c3 b10c8 h3e3")
    loaded = XIANGQI.from_text(XIANGQI.to_text(reached))
    seen, fresh = np.array(XIANGQI.observe(reached)), np.array(XIANGQI.observe(loaded))
    np.testing.assert_array_equal(seen[..., :16], fresh[..., :16])
    np.testing.assert_array_equal(seen[..., 128:], fresh[..., 128:])
    assert not fresh[..., 16:128].any() and seen[..., 16:64].any()


@pytest.mark.parametrize(
    "fen",
    [
        START,
        START.replace("n", "h").replace("N", "H").replace("bakab", "eakae").replace("BAKAB", "EAKAE"),
        START.replace(" w ", " r "),
        START.replace(" w - - 0 1", " w"),
        START.replace(" w - - 0 1", " r - -"),
        f"  {START}\n",
    ],
)
def test_reads_every_dialect_and_writes_one(fen):
    """Sides w and r, letters H and N, E and B, with and without counts (case PR-26)."""
    assert XIANGQI.to_text(XIANGQI.from_text(fen)) == START


@pytest.mark.parametrize(
    ("fen", "message"),
    [
        (START.replace(" ", "_"), "a FEN has the fields"),
        (START.replace(" w", "_w"), "divided by spaces, not by _"),
        ("", "a FEN has the fields board, side to move"),
        (START + " 7", "a FEN has the fields"),
        (START.replace(" w ", " x "), r"the side to move is w \(or r\) or b, got 'x'"),
        (START.replace("- -", "KQ -"), "the third and the fourth field are -, got 'KQ -'"),
        (START.replace(" 0 1", " -1 1"), "half-moves without capture is a whole number up to 99999, got '-1'"),
        (START.replace(" 0 1", " 0 one"), "the number of the move is a whole number up to 99999, got 'one'"),
        (START.replace("/9/9", "/9"), "a board has 10 ranks, divided by /, got 9"),
        (START.replace("1c5c1", "1c5c"), "rank 8 of .* has 8 squares, not 9"),
        (START.replace("1c5c1", "1c6c1"), "rank 8 of .* has 10 squares, not 9"),
        (START.replace("1c5c1", "1c41c1"), "two numbers of empty squares stand side by side in rank 8"),
        (START.replace("1c5c1", "1q5c1"), "'q' in rank 8 of .* is none of KABNRCP"),
        (START.replace("1c5c1", "1c5c0"), "'0' in rank 8 of .* is none of KABNRCP"),
        (START.replace("k", "1"), "Black has 0 generals in .*, not one"),
        (START.replace("1C5C1", "1CK4C1"), "Red has 2 generals in .*, not one"),
        (START.replace("1C5C1", "1CC4C1"), "Red has 3 cannons in .*; no more than 2 are possible"),
        (START.replace("RNBAKABNR", "RNB1K1BNR").replace("1C5C1", "AC5C1"), "Red's advisor on a3 in .* where none"),
        (START.replace("rnbakabnr", "rn1akabnr").replace("1c5c1", "1cb4c1"), "Black's elephant on c8 in .* where none"),
        (START.replace("P1P1P1P1P", "1PP1P1P1P"), "Red's pawn on b4 in .* stands where none can get"),
        (START.replace("rnbakabnr", "rnba1abnr").replace("1c5c1", "1ck4c1"), "Black's general on c8 in .* where none"),
        ("4k4/4R4/9/9/9/9/9/9/9/3K5 w - - 0 1", "the side that is not to move is in check"),
    ],
)
def test_bad_positions(fen, message):
    with pytest.raises(ValueError, match=message):
        XIANGQI.from_text(fen)


def test_ranks_from_zero():
    """UCCI's ranks run from 0; without a 0 in it a move is read as UCI's (case PR-26)."""
    state = XIANGQI.init()
    assert XIANGQI.action_from_text(state, "b0c2") == XIANGQI.action_from_text(state, "b1c3")
    assert XIANGQI.action_to_text(state, XIANGQI.action_from_text(state, "B0C2")) == "b1c3"
    for uci, ucci in (("b1c3", "b0c2"), ("i10i9", "i9i8"), ("a4a5", "a3a4")):
        assert notation.to_ucci(uci) == ucci and notation.from_ucci(ucci) == uci
    for convert, move in ((notation.to_ucci, "b0c2"), (notation.from_ucci, "i10i9"), (notation.to_ucci, "j1a1")):
        with pytest.raises(ValueError, match=f"a move is two squares, .* got {move!r}"):
            convert(move)
    with pytest.raises(ValueError, match="'a1a10' is not a legal move here"):
        XIANGQI.action_from_text(state, "a0a9")
