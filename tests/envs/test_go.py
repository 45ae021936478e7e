"""Go against a plain reference and OpenSpiel at every ply, constructed positions, and cases from bug reports."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel
import pytest
from data import CASES
from go_games import LONG, random_games
from go_reference import Reference

import envs
from envs._zobrist import low_key, number_of
from envs.go import Go, State
from envs.notation import sgf


def board_of(rows: list[str]) -> np.ndarray:
    """Rows from the top: . is empty, x or X black, o or O white."""
    return np.array([[".xo".index(mark) for mark in row.lower()] for row in rows])


def play(game: Go, state: State, *texts: str) -> State:
    """The state after these moves, all of them legal."""
    for text in texts:
        state, _ = game.step(state, jnp.int32(game.action_from_text(state, text)))
    return state


def may_play(game: Go, state: State, text: str) -> bool:
    """Whether the mask has it, and whether `is_legal` says the same."""
    named = [action for action in range(game.num_actions) if game.action_to_text(state, action) == text]
    legal = bool(game.legal_action_mask(state)[named[0]])
    assert bool(game.is_legal(state, jnp.int32(named[0]))) == legal
    return legal


# --- laws ---


def test_state_is_small():
    sizes = {size: sum(x.nbytes for x in jax.tree.leaves(Go(size).init())) for size in (7, 9, 13, 19)}
    assert sizes[9] <= 1024 and sizes[19] <= 8192, sizes
    assert sum(x.nbytes for x in Go(9, superko="simple").init()) < 256


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 1}, "go's size is 2 to 19, got size=1"),
        ({"size": 20}, "go's size is 2 to 19, got size=20"),
        ({"komi": float("nan")}, "go's komi is a finite number"),
        ({"superko": "natural"}, "one of positional, situational, simple, got superko='natural'"),
    ],
)
def test_refuses_impossible_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        envs.make("go", **settings)


@pytest.mark.parametrize("size", [2, 9, 19])
def test_keys(size):
    """No two stones have the same key, none has none, and a key leads back to its stone."""
    numbers = np.arange(1, 2 * size**2 + 1, dtype=np.uint32)
    keys = low_key(numbers)
    assert len(set(keys.tolist()) | {0}) == len(numbers) + 1
    np.testing.assert_array_equal(number_of(jnp.asarray(keys)), numbers)
    pairs = (keys[:, None] ^ keys[None])[np.triu_indices(len(keys), 1)]
    assert len(np.unique(pairs)) > 0.9999 * len(pairs) and (np.asarray(number_of(jnp.asarray(pairs))) > 800).all()


# --- oracles ---

small = [
    (size, lanes, superko, suicide)
    for size, lanes in ((2, 60), (3, 60), (5, 12))
    for superko in ("positional", "situational", "simple")
    for suicide in (False, True)
]
large = [(4, 200), (6, 30), (7, 30), (9, 30), (13, 4), (19, 1)]
large = [(size, lanes, superko, suicide) for size, lanes in large for _, _, superko, suicide in small[:6]]


@pytest.mark.parametrize(
    ("size", "lanes", "superko", "suicide"),
    [*small, (9, 4, "positional", False), *(pytest.param(*case, marks=LONG) for case in large)],
)
def test_reference(size, lanes, superko, suicide):
    """Legal moves, player, end and result at every ply of random games."""
    game = Go(size, komi=0.0, superko=superko, suicide=suicide)
    games, refused = random_games(game, lanes, seed=size), 0
    for lane in range(lanes):
        reference, passed = Reference(size, superko, suicide), False
        for ply in range(game.max_moves):
            legal, action = reference.legal_points(), int(games.action[ply, lane])
            assert np.flatnonzero(games.mask[ply, lane]).tolist() == [*legal, size**2], (lane, ply, reference.board)
            assert games.player[ply, lane] == reference.player - 1
            refused += sum(reference.board_after(point) is not None for point in range(size**2)) - len(legal)
            passes_end, passed = passed and action == size**2, action == size**2
            reference.play(None if passed else action)
            transition = jax.tree.map(lambda x: x[ply, lane], games.transition)  # noqa: B023
            assert transition.terminated == (passes_end or ply + 1 == game.max_moves)
            assert transition.truncated == (transition.terminated and not passes_end)
            if transition.terminated:
                black, white = reference.areas()
                assert transition.reward == np.sign(black - white) * (-1) ** games.player[ply, lane]
                break
            assert transition.reward == 0
    assert refused > 0 or (size, superko) == (2, "simple") or lanes == 1, "no ko in these games: nothing was compared"


@pytest.mark.parametrize(
    ("size", "lanes"), [(5, 100), (9, 20), *(pytest.param(*x, marks=LONG) for x in ((9, 200), (19, 20)))]
)
def test_openspiel(size, lanes):
    """OpenSpiel's Go has simple ko and no suicide; it ends a game when a board comes again."""
    game, komi = Go(size, komi=6.5, superko="simple"), 6.5
    oracle = pyspiel.load_game(f"go(board_size={size},komi={komi})")
    games, finished = random_games(game, lanes, seed=3), 0
    start = oracle.new_initial_state()
    ours = {game.action_to_text(game.init(), action).lower(): action for action in range(game.num_actions)}
    ours = {action: ours[start.action_to_string(0, action).split()[1].lower()] for action in start.legal_actions()}
    theirs = {action: other for other, action in ours.items()}
    for lane in range(lanes):
        state, seen = oracle.new_initial_state(), set()
        for ply in range(game.max_moves):
            assert state.current_player() == games.player[ply, lane]
            assert (
                sorted(ours[action] for action in state.legal_actions())
                == np.flatnonzero(games.mask[ply, lane]).tolist()
            ), state
            seen.add(str(state).split("\n", 1)[1])
            state.apply_action(theirs[int(games.action[ply, lane])])
            over = bool(games.transition.terminated[ply, lane])
            if state.is_terminal() and not over:  # a board came again
                assert state.returns() == [0, 0]
                break
            assert state.is_terminal() == over
            if over:
                finished += 1
                outcome = games.transition.reward[ply, lane] * (-1 if games.player[ply, lane] else 1)
                assert state.returns() == [outcome, -outcome], state
                break
    assert finished > lanes // 2


# --- constructed positions ---


def start(game: Go, *rows: str, player: int = 0) -> State:
    """These rows at the top of a board that is empty below them."""
    empty = ["." * game.size] * (game.size - len(rows))
    return game.from_board(board_of([row.ljust(game.size, ".") for row in rows] + empty), player)


every_superko = pytest.mark.parametrize("superko", ["positional", "situational", "simple"])


@every_superko
def test_ko(superko):
    """Black takes; white may not retake at once, and may after one exchange."""
    game = Go(5, superko=superko)
    state = play(game, start(game, ".xo", "xo.o", ".xo"), "C4")
    assert not may_play(game, state, "B4")
    assert may_play(game, play(game, state, "E1", "E2"), "B4")


@every_superko
def test_ko_may_be_retaken_once_the_board_has_changed(superko):
    """Black takes, white passes, black plays elsewhere: white's retake makes a new board."""
    game = Go(5, superko=superko)
    state = play(game, start(game, ".xo", "xo.o", ".xo"), "C4", "pass")
    assert may_play(game, play(game, state, "E1"), "B4")


@every_superko
def test_capture_of_two_is_no_ko(superko):
    """Black takes two stones with C5; white takes that one back at once, and the board is new."""
    game = Go(5, superko=superko)
    state = play(game, start(game, "oo.o", "xxoo", "..x"), "C5", "B5")
    assert game.board(state)[0].tolist() == [0, 2, 0, 2, 0]


@every_superko
def test_send_two_return_one(superko):
    """White makes one stone two, black takes both, white takes one back: the board of the start, two moves later than
    black had it, so that the player to move is another."""
    game = Go(5, superko=superko)
    state = play(game, start(game, ".o.o", "xxoo", "..x", player=1), "A5", "C5")
    assert may_play(game, state, "B5") == (superko != "positional")
    if superko != "positional":
        state = play(game, state, "B5", "pass")
        assert may_play(game, state, "A5") == (superko == "simple")


@every_superko
def test_triple_ko(superko):
    """Three kos, taken in turn: no move retakes at once, and the sixth would bring back the board of the start."""
    game = Go(9, superko=superko)
    by_white, by_black = [".xo", "xo.o", ".xo"], [".xo", "x.xo", ".xo"]
    state = play(game, start(game, *by_white, *by_white, *by_black), "C8", "B2", "C5", "B8", "C2")
    assert may_play(game, state, "B5") == (superko == "simple")


def test_snapback():
    """Black throws in, white takes the stone, and black takes five."""
    game = Go(5)
    state = play(game, start(game, ".ox", ".ox", "oox", "xx"), "A5", "A4", "A5")
    assert game.board(state)[0].tolist() == [1, 0, 1, 0, 0] and not (game.board(state) == 2).any()


def test_seki():
    """Two chains with two liberties in common: nobody's points, and whoever takes one is taken."""
    game = Go(5, komi=0.5)
    for player in (0, 1):
        state = start(game, "oo.xx", "oooxx", "oooxx", "oooxx", "oo.xx", player=player)
        assert game.score(state) == 10 - 13 - 0.5 and not state.atari.any()
        state = play(game, state, "C5", "C1")
        assert not (game.board(state) == 1 + player).any()


@every_superko
def test_suicide(superko):
    """One stone's suicide is a board that does not change: not legal under positional superko."""
    forbidden, allowed = Go(5, superko=superko), Go(5, superko=superko, suicide=True)
    for rows, after in (([".o", "o"], [0, 2]), (["x.o", "oo"], [0, 0])):
        state = start(forbidden, *rows)
        move = ["A5", "B5"][rows[0].startswith("x")]
        assert not may_play(forbidden, state, move)
        single = move == "A5"
        assert may_play(allowed, state, move) == (not single or superko != "positional")
        if not single or superko != "positional":
            state = play(allowed, state, move)
            assert state.player == 1 and allowed.board(state)[0, :2].tolist() == after


def test_cap_is_scored():
    """Without passes no 5x5 game ends before 50 moves; then the area decides, and it counts as cut off."""
    game = Go(5, komi=2.5)
    transition = random_games(game, 12, passes=0.0).transition
    assert transition.truncated[-1].sum() >= 6 and not transition.truncated[:-1].any()
    assert (np.abs(transition.reward[-1]) == transition.truncated[-1]).all()


@pytest.mark.parametrize("size", [5, 9, 19])
def test_from_board(size):
    """A board taken from a game is set up as the game has it."""
    game, rng = Go(size, superko="simple", suicide=True), np.random.default_rng(size)
    step, mask, state = jax.jit(game.step), jax.jit(game.legal_action_mask), game.init()
    for ply in range(100 if size < 19 else 250):
        state, _ = step(state, jnp.int32(rng.choice(np.flatnonzero(mask(state))[:-1])))
        if ply % 10 == 9 and not state.terminated:
            copy = game.from_board(game.board(state), int(state.player))
            for name in ("atari", "player"):
                np.testing.assert_array_equal(getattr(copy, name), getattr(state, name))
            np.testing.assert_array_equal(copy.boards[0], state.boards[0])
            assert copy.low[0] == state.low[state.ply % 2] and copy.high[0] == state.high[state.ply % 2]
        if state.terminated:
            break


@pytest.mark.parametrize(
    ("board", "player", "message"),
    [
        (np.zeros((9, 5)), 0, "a board is 5x5 numbers"),
        (np.full((5, 5), 3), 0, "a board is 5x5 numbers"),
        (np.ones((5, 5)), 0, "the stone at A5 has no liberty"),
        (np.zeros((5, 5)), 2, "the player to move is 0 .black. or 1 .white., got 2"),
    ],
)
def test_from_board_refuses(board, player, message):
    with pytest.raises(ValueError, match=message):
        Go(5).from_board(board, player)


def test_text():
    game = Go(19)
    state = play(game, game.init(), "q16", "J1", " PASS ")
    assert game.render(state).splitlines()[4] == "16 . . . . . . . . . . . . . . . x . . . 16"
    assert game.render(play(game, game.init(), "T1")).splitlines()[-2].endswith(" .(x)1")
    assert "I" not in game.render(state).splitlines()[0]
    with pytest.raises(ValueError, match="'I1' is not a legal move here; legal moves: A19"):
        game.action_from_text(state, "I1")


# --- cases from bug reports ---


def test_case_positional_superko():
    """GO-02: of 226 moves positional superko refuses the last alone, and the simple rule none."""
    actions = jnp.asarray([int(n) for n in CASES["GO-02"]["input"].split(":")[1].split()])
    assert len(actions) == 226

    def legal(superko):
        game = Go(19, superko=superko)

        def ply(state, action):
            return game.step(state, action)[0], (game.legal_action_mask(state)[action], game.is_legal(state, action))

        return np.asarray(jax.jit(lambda: jax.lax.scan(ply, game.init(), actions)[1])())

    positional = legal("positional")
    assert positional[:, :-1].all() and not positional[:, -1].any()
    assert legal("simple").all()


def test_case_ko():
    """GO-04: the ko may be retaken after one exchange."""
    game = Go(5)
    state = game.init()
    for action in re.findall(r"\d+", CASES["GO-04"]["input"].split("actions")[1]):
        state, _ = game.step(state, jnp.int32(int(action)))
    ko = game.action_to_text(state, int(re.findall(r"on (\d+)", CASES["GO-04"]["expected"])[0]))
    assert not state.terminated and state.player == 0 and not may_play(game, state, ko)
    assert may_play(game, play(game, state, "A1", "E5"), ko)


def test_case_score_with_dead_stones():
    """GO-06: stones on the board are alive."""
    game = Go(9, komi=0.0)
    case = CASES["GO-06"]
    state = game.from_board(board_of(re.findall(r"'([^']+)'", case["input"])))
    white = int(re.findall(r"W\+(\d+)", case["expected"])[0])
    assert game.score(state) == -white
    after, transition = game.step(play(game, state, "pass"), jnp.int32(81))
    assert transition.terminated and transition.reward == 1 and not transition.truncated
    assert sgf.result_text(game, after) == f"W+{white}"


def test_case_passes():
    """GO-07: one pass changes no stone and may always be played; the second ends the game."""
    game = Go(5)
    state = play(game, game.init(), "C3")
    passed = play(game, state, "pass")
    np.testing.assert_array_equal(passed.boards[0], state.boards[0])
    assert passed.low[2] == state.low[1] and not passed.terminated and may_play(game, passed, "pass")
    assert not play(game, passed, "B2", "pass").terminated
    assert play(game, passed, "pass").terminated


def test_case_scores_of_short_games():
    """GO-08: one stone owns the board; the empty board is nobody's."""
    game = Go(19)
    black, white = re.findall(r"W\+([\d.]+)|B 361-7.5=([\d.]+)", CASES["GO-08"]["expected"])
    state, transition = game.step(play(game, game.init(), "Q16", "pass"), jnp.int32(361))
    assert sgf.result_text(game, state) == f"B+{black[1]}" and transition.reward == 1
    state, transition = game.step(play(game, game.init(), "pass"), jnp.int32(361))
    assert sgf.result_text(game, state) == f"W+{white[0]}" and transition.reward == 1


def test_case_tie():
    """GO-09: an equal score is a draw."""
    black, white = (int(n) for n in re.findall(r"[BW] (\d+)", CASES["GO-09"]["input"]))
    game = Go(9, komi=float(black - white))
    board = np.zeros(81, int)
    board[black - 9 : black], board[black : black + 9] = 1, 2  # and whatever lies behind either wall
    state = play(game, game.from_board(board.reshape(9, 9)), "pass")
    state, transition = game.step(state, jnp.int32(81))
    assert transition.terminated and transition.reward == 0 and transition.discount == 0
    assert game.score(state) == 0 and sgf.result_text(game, state) == "0"
