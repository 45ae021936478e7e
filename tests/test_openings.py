"""Start positions other than the usual one: read from text, drawn evenly, in self-play, matches and commands."""

from __future__ import annotations

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny import tiny_config

import envs
from azjax import cli, selfplay
from azjax.config import from_dict, to_dict
from azjax.evaluate.arena import play_match
from azjax.openings import draw_start, random_opening, read_starts
from azjax.players import random_player
from azjax.runs.directory import RunDirectory

GAME = envs.make("tic_tac_toe")
LINES = ("startpos", "startpos moves a1 b2", "startpos moves b1")


def boards(states):
    """Something that tells the positions apart."""
    leaves = [np.asarray(leaf).reshape(len(states.player), -1) for leaf in jax.tree.leaves(states)]
    return np.concatenate([leaf.astype(np.int64) for leaf in leaves], axis=1)


def test_lines_are_played_out():
    starts = read_starts(GAME, LINES)
    state = GAME.init()
    for place, move in enumerate(("a1", "b2")):
        assert int(starts.player[1]) == 0 and place == int(state.player)
        state, _ = GAME.step(state, jnp.int32(GAME.action_from_text(state, move)))
    expected = jax.tree.map(lambda *x: np.stack(x), GAME.init(), state)
    np.testing.assert_array_equal(boards(expected), boards(jax.tree.map(lambda x: x[:2], starts)))
    assert starts.player.tolist() == [0, 0, 1]
    assert read_starts(GAME, ()) is None


def test_positions_in_a_games_notation():
    chess = envs.make("chess")
    (fen,) = ("8/8/8/3k4/8/8/8/KQ6 b - - 3 40",)
    starts = read_starts(chess, (fen, f"{fen} moves d5c4 b1b2"))
    assert starts.player.tolist() == [1, 1] and starts.clock.tolist() == [3, 5]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (("startpos", "startpos moves a1 a1"), "start position 2: 'a1' is not a legal move here; legal moves: "),
        (("x.o/.../...",), "start position 1: tic_tac_toe has no notation of positions, got 'x.o.*startpos moves"),
        (("startpos moves a1 a2 b1 b2 c1",), "start position 1: the game is over in 'startpos moves a1 a2"),
    ],
)
def test_bad_lines(lines, message):
    with pytest.raises(ValueError, match=message):
        read_starts(GAME, lines)


def test_starts_are_drawn_evenly():
    starts = read_starts(GAME, LINES)
    keys = jax.random.split(jax.random.key(0), 3_000)
    states, which = jax.vmap(lambda key: draw_start(GAME, starts, key))(keys)
    counts = np.bincount(which, minlength=3)
    assert counts.min() > 900 and len(counts) == 3
    np.testing.assert_array_equal(boards(states), boards(starts)[np.asarray(which)])


def test_random_moves_come_after_the_start():
    starts = read_starts(GAME, LINES)
    keys = jax.random.split(jax.random.key(0), 64)
    opening = jax.vmap(lambda key: random_opening(GAME, key, 1, max_plies=2, starts=starts))(keys)
    assert (opening.length == 1).all() and set(opening.start.tolist()) == {0, 1, 2}
    plies = (boards(starts)[np.asarray(opening.start)] != boards(opening.state)).any(1)
    assert plies.all()


def test_self_play_begins_there_always():
    """The first states of all lanes, and after every end, are start positions."""
    starts = read_starts(GAME, LINES)
    lanes = selfplay.init_lanes(GAME, jax.random.key(0), lanes=32, opening_plies=0, starts=starts)
    known = {row.tobytes() for row in boards(starts)}
    assert {row.tobytes() for row in boards(lanes.state)} == known


def test_matches_begin_there_in_pairs():
    starts = read_starts(GAME, LINES)
    players = random_player(GAME, "one"), random_player(GAME, "other")
    result = play_match(GAME, *players, games=64, key=jax.random.key(0), opening_plies=0, starts=starts)
    assert {record.start for record in result.records} == {0, 1, 2}
    assert all(a.start == b.start for a, b in zip(result.records[::2], result.records[1::2], strict=True))
    for record in result.records:
        state = jax.tree.map(lambda x: jnp.asarray(x[record.start]), starts)  # noqa: B023
        for action in record.actions:
            assert GAME.legal_action_mask(state)[action]
            state, _ = GAME.step(state, jnp.int32(action))
        assert state.terminated


def test_a_run_keeps_its_starts():
    config = tiny_config({"selfplay": {"starts": LINES}})
    assert from_dict(json.loads(json.dumps(to_dict(config)))) == config


def test_the_command_line_reads_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "starts.txt").write_text("# two of them\nstartpos moves a1\n\nstartpos moves b2 a1\n")
    words = "--iterations 1 --network.blocks 1 --network.channels 4 --search.num-simulations 2 --selfplay.lanes 4"
    words += " --selfplay.moves 2 --replay.capacity 64 --replay.min-fill 8 --learner.batch-size 8 --learner.updates 1"
    words += " --rating.every -1 --devices 1 --run-dir run --selfplay.starts startpos @starts.txt"
    assert cli.main(["train", "tic_tac_toe", *words.split()]) == 0
    kept = RunDirectory.open(tmp_path / "run").config.selfplay.starts
    assert kept == ("startpos", "startpos moves a1", "startpos moves b2 a1")
    capsys.readouterr()
    for bad, message in (("@nothing.txt", "start positions: cannot read nothing.txt"), ("there", "start position 1: ")):
        status = cli.main(["train", "tic_tac_toe", "--run-dir", "other", "--selfplay.starts", bad])
        assert status == 2 and message in capsys.readouterr().err
    assert not (tmp_path / "other").exists()
