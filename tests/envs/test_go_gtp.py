"""The client of the Go Text Protocol, and Go's rules against GNU Go's at every ply of random games."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from go_games import LONG, random_games
from go_reference import Reference

from azjax.players.gtp import GtpEngine, GtpError, find_program
from envs.go import Go


def gnugo(*options: str) -> GtpEngine:
    """GNU Go. A test that cannot have it is skipped, or fails where AZJAX_REQUIRE_ENGINES=1 says it must be there."""
    if find_program("gnugo") is None:
        missing = "GNU Go is not installed: apt-get install gnugo"
        if os.environ.get("AZJAX_REQUIRE_ENGINES") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    return GtpEngine(["gnugo", "--mode", "gtp", *options])


def program(code: str, **settings) -> GtpEngine:
    """A program written in Python."""
    return GtpEngine([sys.executable, "-u", "-c", code], **settings)


# --- the client ---


def test_conversation():
    with gnugo("--level", "1") as engine:
        assert engine.send("protocol_version") == "2" and engine.send("name") == "GNU Go"
        assert engine.send("boardsize 5") == engine.send("clear_board") == engine.send("komi 6.5") == ""
        assert "play" in engine.send("list_commands").split("\n")
        game = Go(5)
        assert game.action_from_text(game.init(), engine.send("genmove black")) in range(25)
        with pytest.raises(GtpError, match="gnugo refused 'play black I5': invalid"):
            engine.send("play black I5")
        assert engine.send("showboard").count("\n") > 5


def test_missing_program():
    with pytest.raises(GtpError, match=r"no program 'nogo' on PATH or in /usr/games .*apt-get install nogo"):
        GtpEngine(["nogo"])


def test_program_that_ends():
    with program("print('out of luck'); exit(3)") as engine:
        with pytest.raises(GtpError, match=r"ended with exit code 3 .*'name'; it said: out of luck|has ended"):
            engine.send("name")
        with pytest.raises(GtpError, match="has ended, so that it cannot be sent 'name'"):
            engine.send("name")


def test_program_that_does_not_answer():
    engine = program("input(); print('thinking'); input(); input()", timeout=1.0)
    with engine, pytest.raises(GtpError, match="did not answer 'genmove black' in 1 s; it said: thinking"):
        engine.send("genmove black")


def test_other_lines_are_not_replies():
    with program("input(); print('hello'); print('= one'); print('two'); print()") as engine:
        assert engine.send("name") == "one\ntwo"


@pytest.mark.parametrize("command", ["", "name\nquit"])
def test_a_command_is_one_line(command):
    with program("input()") as engine, pytest.raises(ValueError, match="a command is one line"):
        engine.send(command)


# --- the rules ---

FLAGS = {
    "positional": "--positional-superko",
    "situational": "--situational-superko",
    "simple": "--simple-ko",
    False: "--forbid-suicide",
    True: "--allow-all-suicide",
}
few = [(2, 40), (3, 40), (5, 10)]
many = [(3, 400), (5, 200), (7, 200), (9, 200), (19, 20)]
rules = [(superko, suicide) for superko in ("positional", "situational", "simple") for suicide in (False, True)]
cases = [(size, lanes, *rule) for rule in rules for size, lanes in few]
slow = [(size, lanes, *rule) for size, lanes in many for rule in rules[: 6 if size < 9 else 2]]


def repeats_by_suicide(reference, point):
    """Whether a stone takes itself off the board, and may not for the position that this leads to."""
    board = reference.board_after(point) if reference.suicide else None
    return board is not None and not board[point] and not reference.is_legal(point)


@pytest.mark.parametrize(
    ("size", "lanes", "superko", "suicide"), [*cases, *(pytest.param(*case, marks=LONG) for case in slow)]
)
def test_legal_moves(size, lanes, superko, suicide):
    """The legal points of GNU Go, at every ply. GNU Go does not look whether a suicide
    repeats a board, so that such moves are left out."""
    with gnugo(FLAGS[superko], FLAGS[suicide]) as engine:
        game = Go(size, superko=superko, suicide=suicide)
        games = random_games(game, lanes, seed=size)
        names = [game.action_to_text(game.init(), a) for a in range(size**2)]
        engine.send(f"boardsize {size}")
        for lane in range(lanes):
            engine.send("clear_board")
            reference = Reference(size, superko, suicide)
            for ply in range(game.max_moves):
                colour = ("black", "white")[games.player[ply, lane]]
                legal = {names[action] for action in np.flatnonzero(games.mask[ply, lane][:-1])}
                theirs = set(engine.send(f"all_legal {colour}").split())
                theirs -= {name for point, name in enumerate(names) if repeats_by_suicide(reference, point)}
                assert theirs == legal, (lane, ply, theirs ^ legal, engine.send("showboard"))
                action = int(games.action[ply, lane])
                engine.send(f"play {colour} {'pass' if action == size**2 else names[action]}")
                reference.play(None if action == size**2 else action)
                if games.transition.terminated[ply, lane]:
                    break
