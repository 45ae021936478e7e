"""Xiangqi against OpenSpiel and Fairy-Stockfish at every ply of random games, its move counts and its planes."""

from __future__ import annotations

import functools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from data import DATA
from go_games import LONG
from perft import perft
from xiangqi_games import (
    GAME,
    LABELS,
    XIANGQI,
    Played,
    encode,
    is_attacked,
    legal_mask,
    moved,
    planes,
    pyffish,
    pyffish_moves,
    random_games,
    text,
)

import envs
from envs.notation import xiangqi as notation

((START, COUNTS),) = json.loads((DATA / "perft.json").read_text())["xiangqi"]
NUM_GAMES, LANES = 200, 50

observe = jax.jit(GAME.observe)


# --- laws ---


@functools.cache
def replayed(first: int):
    """The games from the first on by our rules, [time, lane], as NumPy arrays; finished games are stepped on."""
    games = random_games(NUM_GAMES)[first : first + LANES]
    played = np.zeros((GAME.max_plies, LANES), np.int32)
    for lane, game in enumerate(games):
        played[: len(game.plies), lane] = [ply.action for ply in game.plies]
    return jax.tree.map(np.asarray, _replay()(played))


@functools.cache
def _replay():
    def ply(state, action):
        def seen(state, action):
            after, transition = GAME.step(state, action)
            return after, (state, GAME.legal_actions(state), GAME.in_check(state), after, transition)

        return jax.vmap(seen)(state, action)

    @jax.jit
    def replay(played):
        start = jax.tree.map(lambda x: jnp.broadcast_to(x, (LANES, *x.shape)), GAME.init())
        return jax.lax.scan(ply, start, played)[1]

    return replay


def lanes_of(first: int) -> list[tuple[int, Played]]:
    return list(enumerate(random_games(NUM_GAMES)[first : first + LANES]))


def at(tree, *index):
    return jax.tree.map(lambda x: x[index], tree)


def test_state_is_small():
    assert sum(x.nbytes for x in XIANGQI.init()) == 1698


def test_labels():
    """The public label set: rook lines and horse moves from every square, 16 advisor and 32 elephant moves."""
    assert len(LABELS) == XIANGQI.num_actions == 90 * 17 + 508 + 16 + 32
    for state in (XIANGQI.init(), moved(XIANGQI.init(), "b1c3")):
        assert [XIANGQI.action_to_text(state, action) for action in range(2086)] == [
            text(action, int(state.player)) for action in range(2086)
        ]


@pytest.mark.parametrize("settings", [{"no_capture_plies": 0}, {"no_capture_plies": 1001}, {"max_plies": 0}])
def test_refuses_impossible_settings(settings):
    ((name, value),) = settings.items()
    with pytest.raises(ValueError, match=rf"xiangqi's {name} is 1 to .*, got {name}={value}"):
        envs.make("xiangqi", **settings)


def test_turned_position_looks_the_same():
    """Black's view of a position is Red's of the position turned by 180 degrees with colours exchanged."""
    for game in random_games(NUM_GAMES)[:20]:
        board, player, *counts = game.plies[len(game.plies) // 2].fen.split()
        one = XIANGQI.from_text(" ".join([board, player, *counts]))
        other = XIANGQI.from_text(" ".join([board[::-1].swapcase(), "wb"["bw".index(player)], *counts]))
        np.testing.assert_array_equal(legal_mask(one), legal_mask(other))
        seen, turned = np.array(XIANGQI.observe(one)), np.array(XIANGQI.observe(other))
        np.testing.assert_array_equal(seen[..., :128], turned[..., :128])
        assert (seen[..., 128] != turned[..., 128]).all()


# --- oracles ---

every_block = pytest.mark.parametrize("first", range(0, NUM_GAMES, LANES))


@every_block
def test_random_games(first):
    """Legal moves (OpenSpiel's), check, repetition, end, result and FEN (restated) at every ply, for both sides."""
    state, legal, in_check, after, transition = replayed(first)
    for lane, game in lanes_of(first):
        for ply, expected in enumerate(game.plies):
            here = at(state, ply, lane)
            assert legal[ply, lane][: len(expected.legal)].tolist() == expected.legal, expected.fen
            assert (legal[ply, lane][len(expected.legal) :] == GAME.num_actions).all(), expected.fen
            assert in_check[ply, lane] == expected.in_check, expected.fen
            assert here.repetitions[0] == expected.times, expected.fen
            assert GAME.to_text(here) == expected.fen
            is_last = ply + 1 == len(game.plies)
            assert not here.terminated and after.terminated[ply, lane] == is_last, (expected.fen, game.reason)
            if not is_last:
                assert transition.reward[ply, lane] == 0
        assert transition.truncated[ply, lane] == (game.reason == "move cap")
        assert transition.reward[ply, lane] == game.outcome
        assert GAME.termination(jax.tree.map(jnp.asarray, at(after, ply, lane))) == game.reason
        assert GAME.to_text(at(after, ply, lane)) == game.last


def test_random_games_end_in_every_way():
    """The games that are compared are worth comparing."""
    games = random_games(NUM_GAMES)
    ends = {"checkmate", "stalemate", "perpetual check", "threefold repetition", "no capture", "move cap"}
    assert {game.reason for game in games} == ends
    assert {game.outcome for game in games if game.reason == "perpetual check"} == {-1.0, 1.0}
    assert sum(ply.in_check for game in games for ply in game.plies) > 2_000


@pytest.mark.parametrize("number", [30, pytest.param(NUM_GAMES, marks=LONG)])
def test_pyffish(number):
    """Fairy-Stockfish's legal moves and checks at every ply, and the result of repetitions and at the end of the game.

    Its other draw comes at 100 half-moves, and it looks for perpetual chase, which we don't: in these games it finds
    none where a position is there for the third time.
    """
    for game in random_games(NUM_GAMES)[:: NUM_GAMES // number]:
        moves = [text(ply.action, i % 2) for i, ply in enumerate(game.plies)]
        for i, ply in enumerate(game.plies):
            assert sorted(encode(m, i % 2) for m in pyffish.legal_moves("xiangqi", ply.fen, [])) == ply.legal, ply.fen
            assert pyffish.gives_check("xiangqi", ply.fen, []) == ply.in_check, ply.fen
        assert pyffish.get_fen("xiangqi", START, moves) == game.last
        has_moves = bool(pyffish.legal_moves("xiangqi", game.last, []))
        assert has_moves == (game.reason not in ("checkmate", "stalemate"))
        if not has_moves:
            assert pyffish.game_result("xiangqi", game.last, []) == -32_000  # for the side to move
        elif game.reason in ("perpetual check", "threefold repetition"):
            ends, value = pyffish.is_optional_game_end("xiangqi", START, moves)
            assert ends and value == -32_000 * game.outcome, game.last


@every_block
def test_planes(first):
    """All 131 planes, of positions with both sides to move, restated from FENs."""
    state, _, _, after, _ = replayed(first)
    for lane, game in lanes_of(first)[:: LANES // 5]:
        positions = [(ply.fen, ply.times) for ply in game.plies]
        for ply in range(len(positions)):
            if ply < 12 or len(positions) - ply < 4 or ply % 23 < 2:
                expected = planes(positions[: ply + 1], GAME.max_plies, 120)
                seen = observe(at(state, ply, lane))
                np.testing.assert_allclose(seen, expected, rtol=1e-6, err_msg=positions[ply][0])
        times = int(after.repetitions[len(positions) - 1, lane][0])
        expected = planes([*positions, (game.last, times)], GAME.max_plies, 120)
        np.testing.assert_allclose(observe(at(after, len(positions) - 1, lane)), expected, rtol=1e-6)


def test_perft():
    assert perft(XIANGQI, XIANGQI.from_text(START), 3) == COUNTS[:3]


@LONG
def test_deep_perft():
    assert perft(XIANGQI, XIANGQI.init(), 4) == COUNTS[:4]


@pytest.mark.parametrize("number", [8, pytest.param(100, marks=LONG)])
def test_perft_of_random_positions(number):
    """Against Fairy-Stockfish's."""
    games = [game for game in random_games(NUM_GAMES) if len(game.plies) > 40]
    for i, game in enumerate(games[:number]):
        fen = game.plies[(37 * i + 20) % len(game.plies)].fen
        moves = pyffish.legal_moves("xiangqi", fen, [])
        replies = [len(pyffish.legal_moves("xiangqi", fen, [move])) for move in moves]
        # A position from a text was never there before, so that nothing is over but without moves or at the clock.
        fields = fen.split()
        state = XIANGQI.from_text(" ".join([*fields[:4], "0", "1"]))
        assert perft(XIANGQI, state, 2) == [len(moves), sum(replies)], fen


@functools.cache
def random_positions(number: int) -> list[tuple[np.ndarray, int]]:
    """Positions with the pieces anywhere they may stand, most of them around the generals: pins, screens and legs."""
    rng, found = np.random.default_rng(3), []
    while len(found) < number:
        board = np.zeros(90, np.int8)
        for sign in (1, -1):
            kinds = np.repeat(np.arange(1, 8), [1, 2, 2, 2, 2, 2, 5])
            for kind in kinds[(kinds == 1) | (rng.random(len(kinds)) < rng.choice([0.3, 0.6, 1.0]))]:
                places = np.flatnonzero(notation.places(int(kind)).reshape(-1))
                places = places if sign == 1 else 89 - places
                near = np.abs(places // 9 - rng.choice([1, 8])) <= 3
                places = places[near] if near.any() and rng.random() < 0.7 else places
                places = places[board[places] == 0]
                if len(places):
                    board[rng.choice(places)] = sign * kind
        player = int(rng.integers(2))
        letters = [notation.LETTERS[piece] for piece in board.tolist()]
        if {"K", "k"} <= set(letters) and not is_attacked(letters, 1 - player):
            found.append((board, player))
    return found


@pytest.mark.parametrize("number", [1_500, pytest.param(30_000, marks=LONG)])
def test_random_positions(number):
    """Legal moves and check against Fairy-Stockfish, in positions that no game leads to."""
    positions = random_positions(number)

    @jax.jit
    @jax.vmap
    def seen(board, player):
        state = XIANGQI._start(notation.Position(board, player, 0, 0))
        return XIANGQI.legal_actions(state), XIANGQI.in_check(state)

    boards, players = (np.array(x) for x in zip(*positions, strict=True))
    legal, in_check = (np.asarray(x) for x in seen(boards, players))
    for i, (board, player) in enumerate(positions):
        fen = notation.format(notation.Position(board, player, 0, player))
        assert sorted(encode(move, player) for move in pyffish_moves(fen)) == [a for a in legal[i] if a < 2086], fen
        assert is_attacked([notation.LETTERS[piece] for piece in board.tolist()], player) == in_check[i], fen
    assert 0.1 < in_check.mean() < 0.9
