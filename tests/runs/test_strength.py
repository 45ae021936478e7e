"""A run's exact strength: the measures that its game has."""

import dataclasses
import json

import jax
import numpy as np
import pytest
from tiny import tiny_config

import envs
from azjax import cli
from azjax.evaluate import exact
from azjax.network import make_network
from azjax.runs.directory import RunDirectory, RunError
from azjax.runs.strength import check_run, require_measure, table


def untrained(path, game):
    """A run whose one network has a uniform policy and the value 0 everywhere."""
    run = RunDirectory.create(path, dataclasses.replace(tiny_config(), game=game))
    networks = run.networks(read_only=False)
    variables = make_network(run.config.game, run.config.network).init(jax.random.key(0))
    networks.save(0, variables, {"games": 0, "minutes": 0.0})
    networks.close()
    return run


def test_solved_positions(tmp_path):
    run = untrained(tmp_path / "run", envs.make("connect_four"))
    alone, searched = check_run(run, num_simulations=8)
    assert [alone.player, searched.player] == ["network alone", "with 8 simulations"]
    assert alone.games is None and alone.kept is not None and searched.kept is not None
    positions = exact.solved_states(run.config.game)
    assert positions is not None and alone.kept.positions == positions.decisive.sum()
    # The lowest legal column is what a uniform policy plays.
    first = np.isnan(positions.values).argmin(axis=1)
    kept = positions.keeps[np.arange(len(first)), first][positions.decisive]
    assert alone.kept.kept == kept.sum()
    assert alone.knows_winner == 0, "a value of 0 names no winner"
    assert searched.kept.kept > alone.kept.kept and searched.knows_winner is not None and searched.knows_winner > 0
    text = table([alone, searched])
    assert "a random mover" in text and f"{alone.kept.positions} solved positions" in text
    found = json.loads(json.dumps([one.to_dict() for one in (alone, searched)]))
    assert found[0]["kept"]["kept"] == alone.kept.kept and found[1]["games"] is None


def test_an_own_games_solved_positions(tmp_path, capsys):
    """By the command: the lowest action, which a uniform policy plays, takes one stick and is right in 2 of 6."""
    run = untrained(tmp_path / "run", envs.make("own_game:Nim", sticks=9))
    assert cli.main(["check", str(run.path), "--num-simulations", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (alone,) = found["players"]
    assert found["game"] == "Nim(sticks=9, most=3)" and alone["games"] is None
    assert (alone["kept"]["positions"], alone["kept"]["kept"], alone["knows_winner"]) == (6, 2, 0)


def test_a_small_game_is_played_out(tmp_path):
    run = untrained(tmp_path / "run", envs.make("tic_tac_toe"))
    (alone,) = check_run(run, num_simulations=0)
    assert alone.kept is None and alone.knows_winner is None and alone.games is not None
    assert sum(alone.games[1:]) == alone.games.games
    assert "every line of play" in table([alone])


def test_a_game_without_a_measure_is_refused(tmp_path):
    message = r"no solved positions and is too large to be played out.*azjax elo.*your own .* solved_positions\(\)"
    with pytest.raises(ValueError, match=message):
        require_measure(envs.make("gomoku", size=9))
    require_measure(envs.make("gomoku", size=3, in_row=3))
    with pytest.raises(RunError, match="no network"):
        check_run(RunDirectory.create(tmp_path / "run", tiny_config()))
