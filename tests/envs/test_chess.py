"""Chess against python-chess at every ply of random games, move counts, constructed positions, and its planes."""

from __future__ import annotations

import functools
import json
import re

import chess
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from chess_games import GAME, Played, encode, planes, random_games
from data import CASES, DATA
from go_games import LONG
from perft import perft

import envs
from envs.chess import Chess, State

CHESS = Chess()
COUNTS = json.loads((DATA / "perft.json").read_text())["chess"]
NUM_GAMES = 200
LANES = 50

step = jax.jit(CHESS.step)
legal_mask = jax.jit(CHESS.legal_action_mask)
observe = jax.jit(GAME.observe)


def play(state: State, moves: str) -> State:
    """The state after these moves, none of which but the last may end the game."""
    for move in moves.split():
        assert not state.terminated, f"the game is over before {move}"
        state, _ = step(state, jnp.int32(CHESS.action_from_text(state, move)))
    return state


def legal_moves(text: str) -> set[str]:
    """The legal moves of a FEN, as UCI's."""
    state = CHESS.from_text(text)
    return {CHESS.action_to_text(state, int(action)) for action in np.flatnonzero(legal_mask(state))}


def found(pattern: str, case: str) -> str:
    """The part of a case's input that the pattern's group names."""
    match = re.search(pattern, CASES[case]["input"])
    assert match
    return match.group(1)


# --- laws ---


@functools.cache
def replayed(first: int):
    """The games from the first on by our rules, [time, lane], as NumPy arrays; finished games are stepped on."""
    games = random_games(NUM_GAMES)[first : first + LANES]
    actions = np.zeros((GAME.max_plies, LANES), np.int32)
    for lane, game in enumerate(games):
        actions[: len(game.plies), lane] = [ply.action for ply in game.plies]
    return jax.tree.map(np.asarray, _replay()(actions))


@functools.cache
def _replay():
    def ply(state, action):
        def seen(state, action):
            after, transition = GAME.step(state, action)
            return after, (state, GAME.legal_actions(state), GAME.in_check(state), after, transition)

        return jax.vmap(seen)(state, action)

    @jax.jit
    def replay(actions):
        start = jax.tree.map(lambda x: jnp.broadcast_to(x, (LANES, *x.shape)), GAME.init())
        return jax.lax.scan(ply, start, actions)[1]

    return replay


def lanes_of(first: int) -> list[tuple[int, Played]]:
    return list(enumerate(random_games(NUM_GAMES)[first : first + LANES]))


def at(tree, *index):
    return jax.tree.map(lambda x: x[index], tree)


def test_state_is_small():
    assert sum(x.nbytes for x in CHESS.init()) == 1330


def test_mirrored_position_looks_the_same():
    """Black's view of a position is White's of its mirror image (case TR-04), but for the plane of the colour."""
    for text, _ in COUNTS:
        board = chess.Board(text)
        one, other = CHESS.from_text(text), CHESS.from_text(board.mirror().fen())
        np.testing.assert_array_equal(legal_mask(one), legal_mask(other))
        seen, mirrored = np.array(CHESS.observe(one)), np.array(CHESS.observe(other))
        assert (seen[..., 112] != mirrored[..., 112]).all()
        np.testing.assert_array_equal(np.delete(seen, [112, 113], -1), np.delete(mirrored, [112, 113], -1))


# --- oracles ---

every_block = pytest.mark.parametrize("first", range(0, NUM_GAMES, LANES))


@every_block
def test_random_games(first):
    """Legal moves, check, repetition, end, result and FEN at every ply, for both sides."""
    state, legal, in_check, after, transition = replayed(first)
    for lane, game in lanes_of(first):
        for ply, expected in enumerate(game.plies):
            here = at(state, ply, lane)
            assert legal[ply, lane][: len(expected.legal)].tolist() == expected.legal, expected.fen
            assert (legal[ply, lane][len(expected.legal) :] == GAME.num_actions).all(), expected.fen
            assert in_check[ply, lane] == expected.in_check, expected.fen
            assert min(here.repetitions[0], 3) == expected.times, expected.fen
            assert GAME.to_text(here) == expected.fen
            assert not here.terminated
            is_last = ply + 1 == len(game.plies)
            assert after.terminated[ply, lane] == is_last, (expected.fen, game.reason)
            if not is_last:
                assert transition.reward[ply, lane] == 0
        assert transition.truncated[ply, lane] == (game.reason == "move cap")
        assert transition.reward[ply, lane] == (game.outcome or 0)
        assert GAME.termination(jax.tree.map(jnp.asarray, at(after, ply, lane))) == game.reason
        assert GAME.to_text(at(after, ply, lane)) == game.last.fen()


def test_random_games_end_in_every_way():
    """The games that are compared are worth comparing."""
    games = random_games(NUM_GAMES)
    reasons = {game.reason for game in games}
    assert reasons >= {"checkmate", "stalemate", "threefold repetition", "insufficient material", "move cap"}
    moves = [move for game in games for move in game.last.move_stack]
    assert {move.promotion for move in moves} == {None, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN}
    assert sum(ply.in_check for game in games for ply in game.plies) > 1_000


@pytest.mark.parametrize(("text", "counts"), COUNTS, ids=str)
def test_perft(text, counts):
    depth = min(3, len(counts))
    assert perft(CHESS, CHESS.from_text(text), depth) == counts[:depth]


@LONG
@pytest.mark.parametrize(("text", "counts"), COUNTS, ids=str)
def test_deep_perft(text, counts):
    depth = max(i + 1 for i, count in enumerate(counts) if count < 20_000_000)
    assert perft(CHESS, CHESS.from_text(text), depth) == counts[:depth]


@every_block
def test_action_texts(first):
    """Every legal action leads to the oracle's move and back."""
    state, legal, *_ = replayed(first)
    for lane, game in lanes_of(first)[:: LANES // 5]:
        for ply in range(0, len(game.plies), 7):
            board, here = chess.Board(game.plies[ply].fen), at(state, ply, lane)
            for action in legal[ply, lane][legal[ply, lane] < GAME.num_actions].tolist():
                move = chess.Move.from_uci(GAME.action_to_text(here, action))
                assert move in board.legal_moves and encode(board, move) == action


@every_block
def test_planes(first):
    """All 119 planes, of positions with both sides to move, from python-chess' boards."""
    state, *_ = replayed(first)
    for lane, game in lanes_of(first)[:: LANES // 5]:
        board, plies = game.last.copy(), range(len(game.plies) - 1, -1, -1)
        for ply in plies:
            board.pop()
            if ply < 12 or len(game.plies) - ply < 4 or ply % 23 < 2:
                seen = observe(at(state, ply, lane))
                np.testing.assert_allclose(seen, planes(board, GAME.max_plies), rtol=1e-6, err_msg=board.fen())


# --- the rules, position by position ---


@pytest.mark.parametrize(
    ("text", "castling"),
    [
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1g1 e1c1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8g8 e8c8"),
        ("r3k2r/8/8/8/8/8/8/R3K2R w Qkq - 0 1", "e1c1"),
        ("4k3/8/8/8/8/8/4r3/R3K2R w KQ - 0 1", ""),  # out of check
        ("4k3/8/8/8/8/8/5r2/R3K2R w KQ - 0 1", "e1c1"),  # through an attacked square
        ("4k3/8/8/8/8/8/6r1/R3K2R w KQ - 0 1", "e1c1"),  # into check
        ("4k3/8/8/8/8/8/7r/R3K2R w KQ - 0 1", "e1g1 e1c1"),  # the rook is attacked
        ("1r2k3/8/8/8/8/8/8/R3K2R w KQ - 0 1", "e1g1 e1c1"),  # its way is attacked
        ("4k3/8/8/8/8/8/8/RN2K1NR w KQ - 0 1", ""),  # something between
        ("4k3/8/8/8/8/8/3p4/R3K2R w KQ - 0 1", ""),  # a pawn gives check
        ("4k3/8/8/8/8/8/p5p1/R3K2R w KQ - 0 1", "e1c1"),  # a pawn attacks f1
    ],
)
def test_castling(text, castling):
    rook_moves = {"e1g1", "e1c1", "e8g8", "e8c8"}
    assert legal_moves(text) & rook_moves == set(castling.split())
    board = chess.Board(text)
    assert legal_moves(text) == {move.uci() for move in board.legal_moves}


def test_castling_rights_are_lost():
    start = CHESS.from_text("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    for moves, rights in (
        ("e1e2", "kq"),
        ("a1a2 a8b8", "Kk"),
        ("h1h8", "Qq"),  # the rook leaves, and takes the other
        ("a1a8", "Kk"),
        ("h1h2 e8e7 h2h1", "Q"),  # coming back doesn't help
        ("e1g1 e8c8", "-"),
    ):
        assert CHESS.to_text(play(start, moves)).split()[2] == rights, moves
    castled = CHESS.to_text(play(start, "e1g1 e8c8"))
    assert castled.split()[0] == "2kr3r/8/8/8/8/8/8/R4RK1"


def test_captured_rook_cannot_castle():
    """A rook was taken at home, and another stands there now."""
    state = play(CHESS.from_text("r3k3/8/8/8/4b3/8/8/R3K2R b KQ - 0 1"), "e4h1 a1d1 h1e4 d1d2 e8f8 d2h2 f8g8 h2h1 g8f8")
    assert CHESS.to_text(state).split()[2] == "-"
    assert not {"e1g1", "e1c1"} & {CHESS.action_to_text(state, a) for a in np.flatnonzero(legal_mask(state)).tolist()}


@pytest.mark.parametrize(
    "text",
    [
        "4k3/8/8/8/1b6/8/3N4/4K3 w - - 0 1",
        "4k3/4r3/8/8/1b6/2P5/3NB3/4K3 w - - 0 1",
        "4k3/8/8/8/7b/8/3q1P2/4K3 w - - 0 1",
        "3rk3/8/8/q7/8/2B5/3R4/3K3b w - - 0 1",
        "k3r3/8/8/8/b7/1P6/2Q5/3KR2r w - - 0 1",  # pinned from two sides
        "8/8/8/2k5/3Pp3/8/8/4KR2 b - d3 0 1",  # en passant takes the pawn that gives check
        "8/8/8/8/k2Pp2Q/8/8/3K4 b - d3 0 1",  # both pawns leave the rank
        "8/8/8/1k6/3Pp3/8/8/4KQ2 b - d3 0 1",  # it interposes
        "3k4/8/8/8/3pP3/8/8/3RK3 b - e3 0 1",  # the capturing pawn is pinned on its file
        "7k/8/8/8/3pP3/8/1B6/4K3 b - e3 0 1",  # pinned on a diagonal, away from the capture
        "6k1/8/8/2KPp2r/8/8/8/8 w - e6 0 2",
        "3k4/8/8/3KPpr1/8/8/8/8 w - f6 0 2",
        "4k3/8/4r3/2pP4/8/8/8/4K3 w - c6 0 2",  # in check by another piece
        "4k3/8/8/2pP4/8/6n1/8/5K2 w - c6 0 2",
    ],
)
def test_pins_and_en_passant(text):
    assert legal_moves(text) == {move.uci() for move in chess.Board(text).legal_moves}


def repetitions(text: str, moves: str) -> int:
    return int(play(CHESS.from_text(text), moves).repetitions[0])


BACK_AND_FORTH = "e8b8 d6c6 b8e8 c6d6"


def test_repetition_with_legal_en_passant():
    """The first time a capture en passant was legal: another position (case CH-15)."""
    text = CASES["CH-15"]["input"].split("FEN ")[1].split(" moves")[0]
    assert repetitions(text, " ".join([BACK_AND_FORTH] * 2)) == 2
    assert repetitions(text.replace("f6", "-"), " ".join([BACK_AND_FORTH] * 2)) == 3


@pytest.mark.parametrize(
    ("text", "moves", "times"),
    [
        ("k7/8/8/8/3p4/8/4P3/K7 w - - 0 1", "e2e4 a8b8 a1b1 b8a8 b1a1", 1),  # legal after e2e4: another position
        ("k2r4/8/8/8/8/3p4/4P3/K7 w - - 0 1", "e2e4 a8b8 a1b1 b8a8 b1a1", 2),  # no pawn can take
        ("k7/8/8/3r4/3p4/8/4P3/3K4 w - - 0 1", "e2e4 a8b8 d1c1 b8a8 c1d1", 1),  # d4 is not pinned: legal
        ("3k4/8/8/8/3p4/8/4P3/3RK3 w - - 0 1", "e2e4 d8c8 e1f1 c8d8 f1e1", 2),  # pinned on the file: dead
        ("8/8/8/8/k2p3R/8/4P3/4K3 w - - 0 1", "e2e4 a4b4 e1d1 b4a4 d1e1", 2),  # both leave the rank: dead
    ],
)
def test_en_passant_counts_where_it_is_legal(text, moves, times):
    state = play(CHESS.from_text(text), moves)
    board = chess.Board(text)
    for move in moves.split():
        board.push_uci(move)
    assert int(state.repetitions[0]) == times == 1 + board.is_repetition(2)


def test_repetition():
    """At the third occurrence, the start's included (case CH-14); the castling rights must agree."""
    moves = CASES["CH-14"]["input"].split("moves ")[1].split()
    state = CHESS.init()
    for ply, move in enumerate(moves, 1):
        state = play(state, move)
        assert bool(state.terminated) == (ply == 8)
    assert CHESS.termination(state) == "threefold repetition"
    text = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"
    around = "h1g1 h8g8 g1h1 g8h8"  # after the first time round, the rights are those of later
    assert [repetitions(text, " ".join([around] * times)) for times in (1, 2)] == [1, 2]
    assert repetitions(text, f"{around} {around} h1g1 h8g8") == 3  # the rooks are away: the first with these rights


def test_repetition_counts_back_to_the_last_irreversible_move():
    state = play(CHESS.init(), "g1f3 g8f6 f3g1 f6g8 e2e4")
    assert int(state.clock) == 0 and int(state.repetitions[0]) == 1
    state = play(state, "g8f6 g1f3 f6g8 f3g1 g8f6 g1f3 f6g8")
    assert not state.terminated
    assert CHESS.termination(play(state, "f3g1")) == "threefold repetition"


def test_fifty_moves():
    """100 half-moves, unless the hundredth mates (cases CH-18, CH-19, CH-25)."""
    for clock in (50, 98):
        assert not CHESS.from_text(f"8/8/8/8/4k3/8/3K2p1/5r2 w - - {clock} 119").terminated
    assert CHESS.termination(CHESS.from_text("8/8/4k3/8/8/3RK3/8/8 w - - 100 90")) == "fifty moves"
    state, transition = step(
        CHESS.from_text("8/8/4k3/8/8/3RK3/8/8 w - - 99 90"),
        jnp.int32(CHESS.action_from_text(CHESS.from_text("8/8/4k3/8/8/3RK3/8/8 w - - 99 90"), "d3d4")),
    )
    assert transition.terminated and transition.reward == 0 and not transition.truncated
    assert CHESS.termination(state) == "fifty moves"
    for part in CASES["CH-19"]["input"].split(" ; "):
        text, move = part.removeprefix("FEN ").split(" move ")
        state = CHESS.from_text(text)
        state, transition = step(state, jnp.int32(CHESS.action_from_text(state, move)))
        assert transition.reward == 1 and CHESS.termination(state) == "checkmate"


@pytest.mark.parametrize(
    "pieces", ["", "N", "n", "B", "b", "Bb", "BB", "NN", "Nn", "Nb", "P", "p", "R", "q", "bbB", "BBb", "BN"]
)
def test_insufficient_material(pieces):
    """As python-chess has it, with the bishops on all squares of both colours."""
    for squares in (("a1", "c1", "e1"), ("a1", "d1", "f1"), ("a2", "c4", "e6"), ("b2", "b3", "b4")):
        board = chess.Board(None)
        board.set_piece_at(chess.H6, chess.Piece.from_symbol("K"))
        board.set_piece_at(chess.G8, chess.Piece.from_symbol("k"))
        for square, piece in zip(squares, pieces, strict=False):
            square = square if piece not in "Pp" else square[0] + "4"
            board.set_piece_at(chess.parse_square(square), chess.Piece.from_symbol(piece))
        board.turn = not board.was_into_check()
        expected = board.is_insufficient_material()
        if board.is_valid():
            state = CHESS.from_text(board.fen())
            assert bool(state.terminated) == expected, board.fen()
            assert CHESS.termination(state) == ("insufficient material" if expected else None)
            assert not Chess(insufficient_material=False).from_text(board.fen()).terminated


def test_stalemate_and_cap():
    state = CHESS.from_text("7k/8/5KQ1/8/8/8/8/8 w - - 0 1")
    state, transition = step(state, jnp.int32(CHESS.action_from_text(state, "g6f7")))
    assert CHESS.termination(state) == "stalemate" and transition.reward == 0 and not transition.truncated
    game = Chess(max_plies=3)
    state = game.init()
    for move in ("e2e4", "e7e5", "g1f3"):
        state, transition = game.step(state, jnp.int32(game.action_from_text(state, move)))
    assert transition.truncated and transition.reward == 0 and game.termination(state) == "move cap"
    with pytest.raises(ValueError, match="stands at half-move 4, where the game has ended: the cap is max_plies=3"):
        game.from_text("8/8/8/8/4k3/8/3K2p1/5r2 w - - 0 3")


# --- cases ---


@pytest.mark.parametrize(
    ("case", "count", "has", "lacks"),
    [
        ("CH-01", 35, "", "e8g8"),
        ("CH-08", 23, "g4f3", "e4f3"),
        ("CH-11", 5, "h7h8q h7h8r h7h8b h7h8n", "h7h8"),
    ],
)
def test_legal_sets_of_cases(case, count, has, lacks):
    text = found(r"FEN ([^;]*? \d+ \d+)", case)
    moves = legal_moves(text)
    assert len(moves) == count and set(has.split()) <= moves and not set(lacks.split()) & moves


def test_more_cases():
    both = re.findall(r"(\S+ w Q - 0 1)", CASES["CH-03"]["input"])
    assert ["e1c1" in legal_moves(text) for text in both] == [True, False]
    for text in re.findall(r"(\S+ w - e6 0 1)", CASES["CH-06"]["input"]):
        assert len(legal_moves(text)) == 6 and "d5e6" not in legal_moves(text)
    assert {move for move in legal_moves("4k3/8/8/8/8/p7/8/4K3 b - - 0 1") if move[0] == "a"} == {"a3a2"}
    text = found(r"FEN (\S+ b - - 2 68)", "CH-10")
    for piece in "qrbn":
        after = CHESS.to_text(play(CHESS.from_text(text), f"b2b1{piece}"))
        assert after == f"8/3kr3/2R2R1P/p3P3/Pr3P1P/3P4/8/1{piece}2K3 w - - 0 69"
    text = found(r"FEN (\S+ b kq - 0 15)", "CH-05")
    state = play(CHESS.from_text(text), "e8g8")
    assert CHESS.to_text(state).split()[0] == "r1b2rk1/2q2pp1/p1pbpn1p/2p5/2P2P2/1PNP4/P5PP/R1BQNR1K"
    assert CHESS.to_text(play(state, "a2a3 f8e8")).startswith("r1b1r1k1/2q2pp1/")
    assert not CHESS.from_text("7k/8/5K2/8/P7/8/8/8 b - - 0 152").terminated
    board = chess.Board("8/6k1/6p1/P1R4p/2B4P/1P2n1P1/2r5/5K2 w - - 7 57")
    assert {move.uci() for move in board.legal_moves} == legal_moves(board.fen())


def test_underpromotions_of_both_sides():
    """Each is an action of its own (case CH-13)."""
    text = found(r"(\S+ w - - 0 1)", "CH-13")
    for board in (chess.Board(text), chess.Board(text).mirror()):
        state = CHESS.from_text(board.fen())
        actions = {encode(board, move): move.uci() for move in board.legal_moves}
        assert np.flatnonzero(legal_mask(state)).tolist() == sorted(actions)
        assert {a: CHESS.action_to_text(state, a) for a in actions} == actions
        assert sum(len(move) == 5 for move in actions.values()) == 12


def test_always_the_first_move():
    """A game may end early; the state tells why (case CH-23)."""
    state = CHESS.init()
    for _ in range(CHESS.max_plies):
        if state.terminated:
            break
        state, _ = step(state, jnp.int32(np.flatnonzero(legal_mask(state))[0]))
    assert CHESS.termination(state) == "threefold repetition"


def test_observation_of_a_loaded_position():
    """What came before is zeros; everything else is as if it had been reached by moves (case TR-05)."""
    moves = "e2e4 e7e5 g1f3 b8c6"
    reached = play(CHESS.init(), moves)
    loaded = CHESS.from_text(CHESS.to_text(reached))
    seen, fresh = np.array(CHESS.observe(reached)), np.array(CHESS.observe(loaded))
    np.testing.assert_array_equal(seen[..., :14], fresh[..., :14])
    np.testing.assert_array_equal(seen[..., 112:], fresh[..., 112:])
    assert not fresh[..., 14:112].any() and seen[..., 14:70].any()
    text = found(r"FEN (\S+ w - - 0 27)", "TR-05")
    assert "d1d7" in legal_moves(text)


def test_refuses_impossible_settings():
    with pytest.raises(ValueError, match=r"max_plies is 1 to 20,000 half-moves, got max_plies=0"):
        envs.make("chess", max_plies=0)
