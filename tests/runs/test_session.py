"""Sessions: a run that is killed, stopped or damaged goes on bit for bit; a run that diverges stops at once."""

import dataclasses
import random
import shutil
import signal
import time

import jax
import pytest
from rich.console import Console
from tiny import ONE_DEVICE, assert_equal_trees, lines_of, stable_metrics, start_training, tiny_config

from azjax.runs import session
from azjax.runs.checkpoint import Checkpoints, CheckpointWarning, abstract
from azjax.runs.directory import RunDirectory, RunError
from azjax.runs.progress import PlainReporter
from azjax.runs.session import NonFiniteError, make_mesh, train_run
from azjax.train import make_trainer


class Silent(PlainReporter):
    """Keeps what it is told."""

    def __init__(self):
        super().__init__(Console())
        self.messages = []

    def message(self, text):
        self.messages.append(text)

    def iteration(self, metrics):
        pass


def final_state(directory, config):
    trainer = make_trainer(config, make_mesh(config))
    store = Checkpoints(directory / "checkpoints", read_only=True)
    step, state, _ = store.restore_newest(abstract(trainer.init, trainer.shardings))
    store.close()
    return step, state


ITERATIONS = 40


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A run of one process, start to end."""
    directory = tmp_path_factory.mktemp("runs") / "undisturbed"
    config = tiny_config({"iterations": ITERATIONS, "devices": 1})
    outcome = train_run(RunDirectory.create(directory, config), reporter := Silent())
    assert outcome.reason == "complete" and outcome.iteration == ITERATIONS
    assert any("Learning begins when 24 positions" in text for text in reporter.messages)
    assert any("Learning begins in iteration" in text for text in reporter.messages)
    return directory, config


def test_a_finished_run_has_what_it_promises(undisturbed):
    directory, config = undisturbed
    run = RunDirectory.open(directory)
    assert run.config == config
    assert [row["iteration"] for row in run.metrics()] == list(range(1, ITERATIONS + 1))
    assert run.network_iterations() == [*range(0, ITERATIONS, 3), ITERATIONS]
    assert (directory / "metrics.png").stat().st_size > 10_000
    assert any((directory / "tensorboard").iterdir())
    last = run.metrics()[-1]
    assert last["replay_ratio"] == 2 * 8 / 24
    names = (
        "loss",
        "gradient_norm",
        "value_error",
        "explained_variance",
        "policy_entropy",
        "first_player_score",
        "draws",
    )
    assert all(name in last for name in (*names, "game_length", "unique_games", "moves_per_second"))
    step, state = final_state(directory, config)
    assert step == ITERATIONS == int(state.iteration)


def test_killed_at_random_moments_it_ends_the_same(undisturbed, tmp_path):
    """Two SIGKILLs; experiments/kill_test.py does twenty."""
    directory, config = undisturbed
    killed = tmp_path / "killed"
    RunDirectory.create(killed, config)
    rng = random.Random(0)
    for _ in range(2):
        process = start_training(killed, ONE_DEVICE)
        aim = min(ITERATIONS - 6, lines_of(killed) + rng.randint(3, 14))
        deadline = time.monotonic() + 120
        while lines_of(killed) < aim and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(rng.random() * 0.05)
        assert process.poll() is None, process.communicate()[0]
        process.kill()
        process.communicate()
    process = start_training(killed, ONE_DEVICE)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    assert "Going on after iteration" in output
    one, other = final_state(directory, config), final_state(killed, config)
    assert one[0] == other[0]
    assert_equal_trees(one[1], other[1])
    assert stable_metrics(killed) == stable_metrics(directory)
    assert RunDirectory.open(killed).network_iterations() == RunDirectory.open(directory).network_iterations()


def test_asked_to_stop_it_saves_and_goes_on_bit_for_bit(undisturbed, tmp_path):
    directory, config = undisturbed
    stopped = tmp_path / "stopped"
    run = RunDirectory.create(stopped, config)

    class StopsAtSeven(Silent):
        def iteration(self, metrics):
            if metrics["iteration"] == 7:
                signal.raise_signal(signal.SIGTERM)

    outcome = train_run(run, StopsAtSeven())
    assert (outcome.reason, outcome.iteration) == ("interrupted", 7)
    assert final_state(stopped, config)[0] == 7
    assert train_run(run, Silent()).reason == "complete"
    assert_equal_trees(final_state(directory, config)[1], final_state(stopped, config)[1])
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_damaged_newest_checkpoint_costs_only_what_came_after_the_one_before(undisturbed, tmp_path):
    directory, config = undisturbed
    damaged = tmp_path / "damaged"
    shutil.copytree(directory, damaged)
    file = max((damaged / "checkpoints" / str(ITERATIONS)).rglob("*"), key=lambda f: f.stat().st_size)
    file.write_bytes(file.read_bytes()[:100])
    with pytest.warns(CheckpointWarning, match=f"checkpoints.{ITERATIONS} cannot be used"):
        outcome = train_run(RunDirectory.open(damaged), reporter := Silent())
    assert f"Going on after iteration {ITERATIONS - 2}." in reporter.messages
    assert outcome.iteration == ITERATIONS
    assert_equal_trees(final_state(directory, config)[1], final_state(damaged, config)[1])


def test_more_iterations_go_on_where_it_ended(undisturbed, tmp_path):
    directory, config = undisturbed
    longer = tmp_path / "longer"
    shutil.copytree(directory, longer)
    run = RunDirectory.open(longer)
    run.change(dataclasses.replace(config, iterations=ITERATIONS + 2))
    outcome = train_run(run, Silent())
    assert outcome.iteration == ITERATIONS + 2
    assert len(run.metrics()) == ITERATIONS + 2


def test_minutes_end_a_run(tmp_path):
    config = tiny_config({"iterations": 10_000, "minutes": 0.001, "devices": 1})
    outcome = train_run(RunDirectory.create(tmp_path / "run", config), Silent())
    assert outcome.reason == "minutes" and 1 <= outcome.iteration < 100


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_checkpoint(tmp_path):
    config = tiny_config({"devices": 1, "learner": {"learning_rate": 1e30}, "replay": {"min_fill": 48}})
    run = RunDirectory.create(tmp_path / "run", config)
    with pytest.raises(NonFiniteError, match=r"(loss|gradient_norm) is (nan|inf) in iteration \d"):
        train_run(run, Silent())
    store = Checkpoints(run.path / "checkpoints", read_only=True)
    trainer = make_trainer(config, make_mesh(config))
    step, state, _ = store.restore_newest(abstract(trainer.init, trainer.shardings))
    store.close()
    assert step >= 2 and all(bool(jax.numpy.isfinite(leaf).all()) for leaf in jax.tree.leaves(state.learner.newest))


def test_two_processes_do_not_train_in_one_directory(undisturbed):
    directory, _ = undisturbed
    run = RunDirectory.open(directory)
    with run.lock(), pytest.raises(RunError, match="another process is training"):
        train_run(run, Silent())


def test_a_configuration_that_makes_no_sense_is_refused_before_work(tmp_path):
    config = tiny_config({"selfplay": {"lanes": 3}})
    run = RunDirectory.create(tmp_path / "run", config)
    with pytest.raises(ValueError, match="lanes=3 cannot be split over 4 devices"):
        session.train_run(run, Silent())
    assert sorted(file.name for file in run.path.iterdir()) == ["config.json"]
