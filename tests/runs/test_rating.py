"""Ratings of a run's networks: who plays whom, what is kept of it, and what is written."""

import csv
import json

import jax
import numpy as np
import pytest
from tiny import tiny_config

from azjax.config import RatingConfig
from azjax.network import make_network
from azjax.runs.checkpoint import CheckpointWarning
from azjax.runs.directory import RunDirectory, RunError
from azjax.runs.rating import rate_run, spaced

SETTINGS = RatingConfig(games=4, num_simulations=0, opening_plies=2)
ITERATIONS = (0, 3, 6, 9)


@pytest.fixture
def run(tmp_path):
    """A run of four different networks, none of them trained."""
    run = RunDirectory.create(tmp_path / "run", tiny_config())
    network = make_network(run.config.game, run.config.network)
    networks = run.networks(read_only=False)
    for iteration in ITERATIONS:
        leaves, tree = jax.tree.flatten(network.init(jax.random.key(iteration)))
        keys = jax.random.split(jax.random.key(iteration), len(leaves))
        leaves = [leaf + 0.1 * jax.random.normal(key, leaf.shape) for key, leaf in zip(keys, leaves, strict=True)]
        networks.save(iteration, jax.tree.unflatten(tree, leaves), {"games": 10 * iteration, "minutes": iteration / 3})
    networks.close()
    return run


@pytest.mark.parametrize(
    "most, expected",
    [(9, [0, 3, 6, 9, 12]), (5, [0, 3, 6, 9, 12]), (3, [0, 6, 12]), (2, [0, 12]), (1, [12])],
)
def test_spaced(most, expected):
    assert spaced([0, 3, 6, 9, 12], most) == expected


def test_spaced_keeps_the_ends_and_never_repeats():
    for count in range(1, 30):
        for most in range(2, 15):
            chosen = spaced(list(range(count)), most)
            assert len(chosen) == len(set(chosen)) == min(count, most)
            assert chosen[0] == 0 and chosen[-1] == count - 1
            assert np.ptp(np.diff(chosen)) <= 1 if len(chosen) > 1 else True


def test_rate_run(run):
    played = []
    ratings = rate_run(run, SETTINGS, report=played.append)
    # Each meets the random player and the two before it.
    assert len(played) == 4 + 1 + 2 + 2
    assert set(ratings.names) == {"random", *(f"iteration {i}" for i in ITERATIONS)}
    assert ratings.elo[ratings.index("random")] == 0 and not ratings.unconnected
    assert ratings.games.sum() == 2 * 4 * len(played)
    rows = list(csv.DictReader((run.path / "ratings.csv").read_text().splitlines()))
    assert [row["name"] for row in rows] == [row["name"] for row in ratings.rows()]
    written = json.loads((run.path / "ratings.json").read_text())
    curve = written["curve"]
    assert [(row["iteration"], row["games"], row["minutes"]) for row in curve] == [
        (i, 10 * i, i / 3) for i in ITERATIONS
    ]
    assert all(row["low"] < row["elo"] < row["high"] for row in curve)
    assert (run.path / "elo.png").stat().st_size > 10_000

    again = rate_run(run, SETTINGS, report=played.append)
    assert len(played) == 9, "matches were played twice"
    np.testing.assert_array_equal(again.elo, ratings.elo)


def test_a_match_that_was_cut_off_is_played_again_and_the_same(run):
    ratings, played = rate_run(run, SETTINGS), []
    file = run.path / "matches.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:-1]) + lines[-1][:40])
    again = rate_run(run, SETTINGS, report=played.append)
    assert len(played) == 1
    np.testing.assert_array_equal(again.elo, ratings.elo)
    rate_run(run, SETTINGS, report=played.append)
    assert len(played) == 1, "the line that was cut off has damaged the next one"


def test_other_settings_are_other_matches(run):
    played = []
    rate_run(run, SETTINGS, report=played.append)
    rate_run(run, RatingConfig(games=6, num_simulations=0, max_networks=2), report=played.append)
    assert len(played) == 9 + 3


def test_a_damaged_network_is_left_out(run):
    file = max((run.path / "networks" / "3").rglob("*"), key=lambda file: file.stat().st_size)
    file.write_bytes(file.read_bytes()[:100])
    with pytest.warns(CheckpointWarning, match=r"networks.3 cannot be used.*it is not rated"):
        ratings = rate_run(run, SETTINGS)
    assert set(ratings.names) == {"random", "iteration 0", "iteration 6", "iteration 9"}


def test_nothing_to_rate(tmp_path):
    run = RunDirectory.create(tmp_path / "run", tiny_config())
    with pytest.raises(RunError, match="no usable network to rate"):
        rate_run(run, SETTINGS)


def test_networks_share_their_compiled_search(run):
    one, other = (run.load_network(i).player(num_simulations=2) for i in (0, 3))
    assert one.act is other.act and one.name == "iteration 0"
