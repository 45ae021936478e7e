"""Shogi: legal moves, checks, ends and results beside cshogi, constructed positions, planes, and texts."""

from __future__ import annotations

import collections
import functools
import json
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import shogi_oracle as oracle
from data import CASES, DATA
from go_games import LONG
from perft import perft

from envs.notation import sfen
from envs.shogi import Shogi, State, _moves, _view

cshogi = oracle.cshogi
PERFT = json.loads((DATA / "perft.json").read_text())["shogi"]
GAME = Shogi()
SH_04 = re.findall(r"\S+ b P 1", CASES["SH-04"]["input"])
QUIET = ["9i8i", "5b4b", "8i9i", "4b5b"] * 3
DRAW = ["4i4h", "6a6b", "4h4i", "6b6a"]
ROOK = "4k4/9/9/9/9/9/9/9/R3K4 b - 1"
# Games from the start, and some with few pieces, where positions come again.
STARTS = (sfen.START,) * 184 + ("4k4/9/9/9/9/9/9/9/4K4 b - 1", ROOK) * 8
_step, _mask = jax.jit(GAME.step), jax.jit(GAME.legal_action_mask)


@functools.cache
def games():
    return oracle.random_games(GAME, STARTS)


def texts(state: State, game: Shogi = GAME) -> set[str]:
    """The legal moves."""
    return {game.action_to_text(state, action) for action in np.flatnonzero(_mask(state)).tolist()}


def played(state: State, moves: list[str], game: Shogi = GAME):
    """The state and the last transition after these moves; the game is not over before the last."""
    transition, step = None, _step if game == GAME else game.step
    for move in moves:
        assert not state.terminated
        state, transition = step(state, jnp.int32(game._action(state, move)))
    assert transition is not None
    return state, transition


# --- laws ---


def test_mirror_image():
    """The board turned and the colours exchanged: the same mask and planes, but for the colour."""
    text = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 1"
    board, side, hands, number = text.split()
    board = re.sub(r"([A-Za-z])\+", r"+\1", board[::-1]).swapcase()
    turned = " ".join([board, "bw"["wb".index(side)], hands.swapcase(), number])
    one, other = GAME.from_text(text), GAME.from_text(turned)
    assert int(one.player) == 1 and int(other.player) == 0
    np.testing.assert_array_equal(_mask(one), _mask(other))
    np.testing.assert_array_equal(GAME.observe(one)[..., :360], GAME.observe(other)[..., :360])
    assert GAME.observe(one)[0, 0, 360] == 0 and GAME.observe(other)[0, 0, 360] == 1


def test_sizes():
    state = GAME.init()
    assert sum(x.nbytes for x in jax.tree.leaves(state)) == 4872
    assert GAME.num_actions == 11259 and GAME.observation_shape == (9, 9, 362) and GAME.max_legal_actions == 593


def test_number_of_pieces_stays():
    """In hands and on boards there are always 40 pieces."""
    record = games()
    state = GAME.init()
    for ply in range(150):
        assert int((state.boards[0] != 0).sum() + state.hands[0].sum()) == 40
        state, _ = _step(state, jnp.int32(record.action[ply, 0]))


# --- beside cshogi ---


def test_random_games_beside_cshogi():
    """At every ply of 200 games the legal set, check, repetition, end and result, and some texts of all legal moves."""
    record, ends, plies = games(), collections.Counter(), 0
    for lane in range(record.action.shape[1]):
        board, seen, checks = cshogi.Board(STARTS[lane]), collections.defaultdict(list), []
        for ply in range(GAME.max_moves + 1):
            moves, actions = oracle.legal_actions(board)
            times = seen[oracle.position(board)]
            times.append(ply)
            checks.append(board.is_check())
            over = not len(moves) or len(times) == 4 or ply == GAME.max_moves
            here = (lane, ply, board.sfen())
            assert record.finished[ply, lane] == over, here
            assert record.player[ply, lane] == board.turn and record.repetition[ply, lane] == len(times), here
            assert record.check[ply, lane] == checks[-1], here
            if over:
                last, capped = record.reward[ply - 1, lane], ply == GAME.max_moves and len(times) < 4 and len(moves) > 0
                first = times[0]
                # Checks that the one who moved last gave, and that he was given, since the first time.
                given, taken = (all(checks[first + 1 + k :: 2][: (ply - first) // 2]) for k in (1, 0))
                repeated = 0 if given == taken else (-1 if given else 1)
                assert last == (1 if not len(moves) else 0 if capped else repeated), here
                assert record.truncated[ply - 1, lane] == capped
                ends["mate" if not len(moves) else "cap" if capped else f"repetition {repeated}"] += 1
                break
            assert record.count[ply, lane] == len(moves), here
            assert record.signature[ply, lane] == oracle.signature(actions), here
            if ply % 16 == lane % 16:
                state = GAME.init()._replace(player=jnp.int8(board.turn))
                for move, action in zip(moves.tolist(), actions.tolist(), strict=True):
                    text = cshogi.move_to_usi(move)
                    assert GAME.action_to_text(state, action) == text and GAME._action(state, text) == action
            (chosen,) = np.flatnonzero(actions == record.action[ply, lane])
            board.push(int(moves[chosen]))
            plies += 1
    print(plies, ends)
    assert plies > 50_000 and min(ends["mate"], ends["cap"], ends["repetition 0"]) > 0


@pytest.mark.parametrize(("text", "counts"), PERFT)
def test_perft(text, counts):
    depth = 3 if text == sfen.START else 2
    assert perft(GAME, GAME.from_text(text), depth) == counts[:depth]


@LONG
def test_perft_long():
    text, counts = PERFT[0]
    assert perft(GAME, GAME.from_text(text), 4) == counts[:4]


def random_position(generator: np.random.Generator) -> str:
    """Anything that can stand on a board: in a third of the cases with the mover's king and most pieces far ahead, in
    another third with the opponent's king on his back rank and pieces around him."""
    board, hands, kind = np.zeros(81, np.int8), np.zeros((2, 7), np.int8), generator.integers(3)
    king = int(generator.integers(72, 81) if kind == 2 else generator.integers(81))
    away = np.maximum(*np.abs(np.divmod(np.arange(81), 9) - np.array(divmod(king, 9))[:, None]))
    order = {0: np.arange(81) * 0, 1: np.arange(81) < 54, 2: away > 2}[int(kind)]
    squares = [square for square in sorted(generator.permutation(81).tolist(), key=order.__getitem__) if square != king]
    board[king], board[squares.pop(0 if kind == 1 else -1)] = -8, 8
    hands[0, 0] = kind == 2
    for piece, most in enumerate(sfen.COUNTS, 1):
        for _ in range(most - hands[0, piece - 1]):
            owner, place = int(generator.random() < (0.25 if kind == 2 else 0.4)), generator.random()
            if place < 0.3:
                hands[owner, piece - 1] += 1
            elif place < (0.5 if kind == 2 else 0.8):
                square, sign = squares.pop(0), 1 - 2 * owner
                ahead = 8 - square // 9 if owner == 0 else square // 9
                promoted = piece != 5 and (generator.random() < 0.3 or ahead < {1: 1, 2: 1, 3: 2}.get(piece, 0))
                promoted = promoted or (
                    piece == 1 and ((board[square % 9 :: 9] == sign).any() or square % 9 == king % 9)
                )
                board[square] = sign * (piece + 8 * promoted)
    if generator.random() < 0.5:
        return sfen.format(sfen.Position(-board[::-1], hands[::-1], 1, 0))
    return sfen.format(sfen.Position(board, hands, 0, 0))


def test_random_positions_beside_cshogi():
    """Positions that games hardly reach: many promoted pieces and pieces in hand, exposed kings, entering kings."""
    generator, entering = np.random.default_rng(1), Shogi(entering_king=True)
    found = collections.Counter()
    while found["positions"] < 600:
        text = random_position(generator)
        try:
            state = GAME.from_text(text)
        except ValueError as error:
            assert re.search("not to move is in check", str(error))
            continue
        board = cshogi.Board(text)
        _, actions = oracle.legal_actions(board)
        np.testing.assert_array_equal(np.flatnonzero(_mask(state)), np.sort(actions), err_msg=text)
        assert bool(state.terminated) == (not len(actions))
        end = entering.from_text(text)
        declared = board.is_nyugyoku()
        assert bool(end.terminated) == (declared or not len(actions)), text
        assert not (declared and len(actions)) or entering.termination(end) == "entering king"
        view, hand = np.asarray(_view(state)), np.asarray(state.hands[0, state.player])
        square = int(np.flatnonzero(view == -8)[0]) - 9  # before the opponent's king
        could_drop = square >= 0 and view[square] == 0 and hand[0] and not (view[square % 9 :: 9] == 1).any()
        found.update(positions=1, declared=declared, checks=board.is_check(), mates=not len(actions))
        found.update(mating_drops=bool(could_drop) and not board.is_check() and square * 139 + 132 not in actions)
    print(found)
    assert min(found.values()) >= 5


# --- constructed positions ---


def test_pawn_drop_counts_own_pawns_on_the_file_only():
    state = GAME.from_text(CASES["SH-01"]["input"].removeprefix("SFEN "))
    legal = texts(state)
    assert {"P*8b", "P*8c", "P*8d", "P*8e", "P*8h"} <= legal and len(legal) == 92


def test_two_pawns_concern_pawns_only():
    state = GAME.from_text(CASES["SH-03"]["input"].removeprefix("SFEN "))
    legal = texts(state)
    drops = {piece: {move[2:] for move in legal if move.startswith(piece)} for piece in "PLN"}
    free = {f"{file}{rank}" for file in range(1, 10) for rank in "abcdefhi"}
    assert len(legal) == 126 and not drops["P"]
    assert drops["L"] == {square for square in free if square[1] != "a"}
    assert drops["N"] == {square for square in free if square[1] not in "ab"}


@pytest.mark.parametrize(
    ("text", "drop", "legal"),
    [
        *((text, "P*1b", legal) for text, legal in zip(SH_04, (False, True), strict=True)),
        ("7nk/9/7+P1/9/9/9/9/9/8K b P 1", "P*1b", False),
        ("7nk/9/9/7N1/9/9/9/9/8K b P 1", "P*1b", True),  # the king goes aside
        ("6sgk/9/8G/9/9/9/9/9/8K b P 1", "P*1b", True),  # the gold takes it
        ("R5bgk/9/8G/9/9/9/9/9/8K b P 1", "P*1b", True),  # it is not pinned behind the bishop
        ("7gk/7g1/8G/9/9/9/1B7/9/8K b P 1", "P*1b", True),  # of two golds one is pinned
        ("5b2k/9/8G/9/9/9/9/9/7LK b P 1", "P*1b", False),
        ("7nk/5r3/7+P+P/9/9/9/9/9/8K b P 1", "P*1b", True),  # the rook takes it
        ("7nk/6r2/6+P1G/9/9/9/9/9/7LK b P 1", "P*1b", True),
        ("7nk/9/7Gr/9/9/9/9/9/K7R b P 1", "P*1b", True),  # the rook may, in the line of its pin
        ("7nk/9/7Gp/9/9/9/9/9/K7R b P 1", "P*1b", False),
        ("3nk4/9/3BG4/9/9/9/9/9/4K4 b P 1", "P*5b", True),  # the pawn is in the bishop's way to 4a
        ("3nkn3/9/3BG4/9/9/9/9/9/4K4 b P 1", "P*5b", False),
        ("3nkn3/9/4G4/9/9/9/9/9/4K4 w p 1", "P*5h", True),  # the second player's
        ("4k4/9/9/9/9/9/4g4/9/3NKN3 w p 1", "P*5h", False),
    ],
)
def test_pawn_drop_that_mates(text, drop, legal):
    state, expected = GAME.from_text(text), {cshogi.move_to_usi(move) for move in cshogi.Board(text).legal_moves}
    assert texts(state) == expected
    assert (drop in expected) == legal


def test_only_legal_move_would_be_a_pawn_that_mates():
    """A side that has nothing but a drop that mates has lost."""
    text = "R6gk/9/8G/9/9/9/9/9/8K b P 1"
    state = GAME.from_text(text)
    assert "P*1b" not in texts(state)
    after, transition = _step(state, jnp.int32(GAME._action(state, "P*1b")))
    assert transition.reward == -1 and GAME.termination(after) == "illegal move"


def test_pinned_pieces():
    first, second = (text.strip() for text in CASES["SH-06"]["input"].removeprefix("SFEN ").split(";"))
    assert len(texts(GAME.from_text(first))) == 7
    assert {"6f4d", "6f5e", "6f7g", "6f8h"} <= texts(GAME.from_text(first))
    assert len(texts(GAME.from_text(second))) == 39 and {"9d6g", "9d6g+"} <= texts(GAME.from_text(second))


@pytest.mark.parametrize(
    ("case", "replies"),
    [*zip(CASES["SH-07"]["input"].split(";"), (["1i2h"], ["1i1h"], ["1d1e"], ["1i1h", "2i3i"]), strict=True)],
)
def test_checks_by_several_pieces(case, replies):
    text, move = case.split("move")
    state, _ = played(GAME.from_text(text.strip()), [move.strip()])
    assert texts(state) == set(replies)


def test_promotion():
    first, second, _ = (text.strip() for text in CASES["SH-09"]["input"].split(";"))
    legal = texts(GAME.from_text(first))
    assert len(legal) == 26 and not any(move.endswith("+") for move in legal)
    assert len(texts(GAME.from_text(second))) == 32
    forced = texts(GAME.from_text("9/P1L6/2N3N2/5N3/9/9/9/9/K7k b - 1"))
    on_board = {move for move in forced if not move.startswith("9i")}
    assert on_board == {"9b9a+", "7b7a+", "7c8a+", "7c6a+", "3c4a+", "3c2a+", "4d5b+", "4d3b+"}


def test_no_legal_move_loses():
    """Without a check: the king is shut in, and nothing else can move."""
    state, transition = played(GAME.from_text("k8/2+R6/9/1+R7/9/9/9/9/K8 b - 1"), ["8d8c"])
    assert state.terminated and transition.reward == 1 and not transition.truncated
    stuck = GAME.from_text("k8/2+R6/1+R7/9/9/9/9/9/K8 w - 1")
    for finished in (state, stuck):
        assert finished.terminated and not _mask(finished).any() and GAME.termination(finished) == "no legal move"
    assert not GAME.from_text("k8/2+R6/1+R7/9/9/9/9/9/K8 w p 1").terminated


def test_mate():
    state, transition = played(GAME.from_text("4k4/9/4G4/9/9/9/9/9/4K4 b G 1"), ["G*5b"])
    assert transition.reward == 1 and transition.discount == 0 and GAME.termination(state) == "checkmate"
    assert cshogi.Board(GAME.to_text(state)).is_game_over()


def test_fourth_time_draws():
    """The start comes for the fourth time after twelve moves, and not before."""
    assert all(move in CASES["SH-10"]["input"] for move in DRAW)
    state, transition = played(GAME.init(), DRAW * 3)
    assert state.terminated and int(state.ply) == 12 and transition.reward == 0 and not transition.truncated
    assert GAME.termination(state) == "fourfold repetition"
    assert state.repetitions.tolist() == [4, 3, 3, 3, 3, 2, 2, 2]


def turned(moves: list[str]) -> list[str]:
    return [move.translate(str.maketrans("123456789abcdefghi", "987654321ihgfedcba")) for move in moves]


@pytest.mark.parametrize("second", [False, True])
def test_perpetual_check_loses(second):
    """Whoever gives it, and whether the position comes for the fourth time by his move or by the other's."""
    text, cycle = ("4k3r/9/9/9/9/9/9/9/4K4 w - 1" if second else ROOK), ["5a5b", "9a9b", "5b5a", "9b9a"]
    moves = ["9i9a", *cycle * 3]
    state, transition = played(GAME.from_text(text), turned(moves) if second else moves)
    assert transition.reward == -1 and transition.discount == 0 and GAME.termination(state) == "perpetual check"
    # A quiet move before the cycle does not matter, and the other's move completes it.
    moves = ["9i9a", "5a5b", "9a8a", "5b4b", *["8a8b", "4b4a", "8b8a", "4a4b"] * 3]
    state, transition = played(GAME.from_text(text), turned(moves) if second else moves)
    assert transition.reward == 1 and GAME.termination(state) == "perpetual check"


def test_one_quiet_move_makes_it_a_draw():
    quiet, check = ["9i8i", "5a4a", "8i9i", "4a5a"], ["9i9a", "5a5b", "9a9b", "5b5a"]
    mixed = [*check[:2], "9a9i", "5b5a"]
    for moves in (mixed * 3, quiet + mixed + quiet):
        state, transition = played(GAME.from_text(ROOK), moves)
        assert transition.reward == 0 and GAME.termination(state) == "fourfold repetition"
    # Checks of a long time before the cycle do not count either.
    state, transition = played(GAME.from_text(ROOK), [*check, "9b9a", *check[1:], "9b9i", "5a5b", *QUIET])
    assert transition.reward == 0 and GAME.termination(state) == "fourfold repetition"


@pytest.mark.parametrize(("checks", "checker"), [((6, 0), 0), ((0, 7), 1), ((5, 5), -1), ((6, 6), -1), ((20, 5), 0)])
def test_who_gave_nothing_but_checks(checks, checker):
    """In a cycle of six moves of each side. If both gave nothing but checks it is a draw."""
    state, _ = played(GAME.init(), DRAW * 3)
    state = state._replace(checks=jnp.array(checks, jnp.int16))
    ending, times = GAME._ending(state, _moves(state))
    assert times == 4 and ending.fourth and ending.checker == checker


def test_cap():
    game = Shogi(max_plies=6)
    state, transition = played(game.init(), [*DRAW, "4i4h", "6a6b"], game)
    assert state.terminated and transition.truncated and transition.reward == 0
    assert game.termination(state) == "move cap"
    mating = Shogi(max_plies=1)
    state, transition = played(mating.from_text("4k4/9/4G4/9/9/9/9/9/4K4 b G 1"), ["G*5b"], mating)
    assert transition.reward == 1 and not transition.truncated
    illegal, _ = _step(GAME.init(), jnp.int32(1))
    assert GAME.termination(illegal) == "illegal move" and GAME.termination(GAME.init()) is None


def test_entering_king():
    """28 points for the first player, 27 for the second, ten pieces, no check; counted as the mover's turn begins."""
    game, text = Shogi(entering_king=True), "K+R+R+B+BGGGG/SS7/9/9/9/9/9/9/8k {} {} 2"
    # 9 + 2 - 1 pieces in the zone, 4 * 5 + 6 points, and those in hand.
    assert not game.from_text(text.format("b", "P")).terminated
    assert game.from_text(text.format("b", "2P")).terminated
    turned = "K8/9/9/9/9/9/9/7ss/ggggbbrrk".replace("bb", "+b+b").replace("rr", "+r+r")
    assert game.from_text(f"{turned} w p 2").terminated and not game.from_text(f"{turned} w - 2").terminated
    assert not GAME.from_text(f"{turned} w p 2").terminated
    assert not game.from_text(text.replace("SS7", "S8").format("b", "9P")).terminated  # nine pieces
    in_check = text.replace("GGGG", "GGG+N").replace("SS7", "gSS6")
    assert not game.from_text(in_check.format("b", "2P")).terminated
    assert game.from_text(in_check.replace("g", "1").format("b", "2P")).terminated
    state, transition = played(game.from_text(text.format("w", "2P")), ["1i1h"], game)
    assert state.terminated and transition.reward == -1 and game.termination(state) == "entering king"


# --- planes ---


def test_planes_of_positions_reached_by_moves():
    """All 362 planes, beside a statement of their own that is built on cshogi's boards."""
    record = games()
    observe = jax.jit(GAME.observe)
    lines = [record.action[: 60 + 90 * lane, lane].tolist() for lane in range(3)] + [None]
    for line in lines:
        board, state, history, seen = cshogi.Board(), GAME.init(), [], collections.Counter()
        moves = line or [GAME._action(GAME.init()._replace(player=jnp.int8(i % 2)), m) for i, m in enumerate(DRAW * 3)]
        for ply, action in enumerate(moves):
            seen[oracle.position(board)] += 1
            history.append((list(board.pieces), board.pieces_in_hand, seen[oracle.position(board)]))
            if state.terminated:
                break
            if ply < 12 or ply % 7 == 0:
                expected = oracle.planes(history, board.turn, ply, GAME.max_plies)
                np.testing.assert_array_equal(observe(state), expected)
            moves_here, actions = oracle.legal_actions(board)
            board.push(int(moves_here[np.flatnonzero(actions == action)[0]]))
            state, _ = _step(state, jnp.int32(action))
    assert seen.most_common(1)[0][1] == 3


def test_planes_after_text():
    """What came before is unknown: one time step, and the move count of the text."""
    text = "l6nl/5+P1gk/2np1S3/p1p4Pp/3P2Sp1/1PPb2P1P/P5GS1/R8/LN4bKL w RGgsn5p 100"
    board = cshogi.Board(text)
    expected = oracle.planes([(list(board.pieces), board.pieces_in_hand, 1)], board.turn, 99, GAME.max_plies)
    np.testing.assert_array_equal(GAME.observe(GAME.from_text(text)), expected)
    assert not expected[..., 45:360].any()
