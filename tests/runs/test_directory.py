"""Run directories: which are taken and which refused, and a log that fits the state it goes on from."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import pytest
from tiny import tiny_config

from azjax.config import RatingConfig
from azjax.network import make_network
from azjax.runs.directory import MetricsLog, RunDirectory, RunError


@pytest.fixture
def run(tmp_path):
    return RunDirectory.create(tmp_path / "runs" / "one", tiny_config())


def test_a_new_directory_holds_the_configuration(run):
    assert RunDirectory.open(run.path).config == tiny_config()
    assert json.loads((run.path / "config.json").read_text())["game"] == {"name": "tic_tac_toe"}
    assert [file.name for file in run.path.iterdir()] == ["config.json"]


def test_an_empty_directory_is_taken(tmp_path):
    assert RunDirectory.create(tmp_path, tiny_config()).path == tmp_path


def test_the_same_run_is_taken_and_another_refused(run):
    assert RunDirectory.create(run.path, tiny_config()).config == tiny_config()
    other = tiny_config({"seed": 1, "network": {"channels": 8}})
    with pytest.raises(RunError, match=r"(?s)another configuration.*seed: 0 -> 1.*network.channels: 4 -> 8.*--resume"):
        RunDirectory.create(run.path, other)
    assert RunDirectory.open(run.path).config == tiny_config()


def test_what_is_no_run_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for path in (tmp_path, tmp_path / "notes.txt"):
        with pytest.raises(RunError, match="is not a run of azjax; choose another"):
            RunDirectory.create(path, tiny_config())
    with pytest.raises(RunError, match=r"cannot write to .*choose another --run-dir"):
        RunDirectory.create(tmp_path / "notes.txt" / "run", tiny_config())
    with pytest.raises(RunError, match=r"is not a run of azjax: it has no config.json"):
        RunDirectory.open(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "text", ["{", "{}", '{"game": {"name": "checkers"}}', '{"game": {"name": "gomoku", "size": 99}}']
)
def test_a_configuration_that_cannot_be_read_is_named(run, text):
    (run.path / "config.json").write_text(text)
    with pytest.raises(RunError, match=r"config\.json cannot be read"):
        RunDirectory.open(run.path)


def test_only_some_settings_change_when_a_run_goes_on(run):
    longer = dataclasses.replace(tiny_config(), iterations=60, minutes=1.0, rating=RatingConfig(games=8))
    run.change(longer)
    assert RunDirectory.open(run.path).config == longer
    with pytest.raises(
        RunError, match=r"(?s)cannot change.*search.num_simulations: 4 -> 8.*What can: iterations, minutes"
    ):
        run.change(tiny_config({"search": {"num_simulations": 8}}))
    assert RunDirectory.open(run.path).config == longer


def test_one_process_at_a_time(run):
    with run.lock(), pytest.raises(RunError, match="another process is training"), run.lock():
        pass
    with run.lock():
        pass


def test_metrics_go_on_from_an_iteration(run):
    log = MetricsLog(run, iteration=0)
    for iteration in range(1, 6):
        log.write({"iteration": iteration, "loss": float("nan") if iteration == 1 else 1.0 / iteration})
    log.close()
    with open(run.path / "metrics.jsonl", "a") as file:
        file.write('{"iteration": 6, "lo')  # cut off
    assert [row["iteration"] for row in run.metrics()] == [1, 2, 3, 4, 5]
    assert run.metrics()[0]["loss"] is None
    log = MetricsLog(run, iteration=3)
    log.write({"iteration": 4, "loss": 7.0})
    log.close()
    assert [(row["iteration"], row["loss"]) for row in run.metrics()] == [(1, None), (2, 1 / 2), (3, 1 / 3), (4, 7.0)]


def test_networks(run):
    with pytest.raises(RunError, match="has no network yet; train it first"):
        run.load_network()
    assert run.network_iterations() == []
    variables = make_network(run.config.game, run.config.network).init(jax.random.key(0))
    networks = run.networks(read_only=False)
    for iteration in (0, 3):
        changed = jax.tree.map(lambda x, add=iteration: x + add, variables)
        networks.save(iteration, changed, {"games": 5 * iteration, "minutes": 0.5 * iteration})
    networks.close()
    assert run.network_iterations() == [0, 3]
    newest = run.load_network()
    assert (newest.iteration, newest.games, newest.minutes) == (3, 15, 1.5)
    first = run.load_network(0)
    assert jax.tree.all(jax.tree.map(lambda a, b: jnp.array_equal(a, b + 3), newest.variables, first.variables))
    with pytest.raises(RunError, match="no network of iteration 2; it has those of 0 3"):
        run.load_network(2)


def test_a_foreign_network_is_refused_in_one_line(run):
    variables = make_network(run.config.game, run.config.network).init(jax.random.key(0))
    networks = run.networks(read_only=False)
    networks.save(0, variables, {"games": 0, "minutes": 0.0})
    networks.close()
    other = RunDirectory(run.path, tiny_config({"network": {"channels": 5}}))
    with pytest.raises(
        RunError, match=r"belongs to another configuration: \S+ is of shape .*, expected shape"
    ) as error:
        other.load_network(0)
    assert "\n" not in str(error.value)
