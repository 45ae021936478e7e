"""Training a run directory from where it stands: iterations, metrics, checkpoints, ratings, and a clean way out."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, Protocol

import jax

from azjax import config as configs
from azjax.config import Config
from azjax.devices.memory import require_run_fits, require_search_fits
from azjax.devices.mesh import make_mesh
from azjax.evaluate import bayeselo
from azjax.learner import make_optimizer
from azjax.network import make_network
from azjax.openings import read_starts
from azjax.runs import plots
from azjax.runs.checkpoint import Checkpoints, abstract
from azjax.runs.directory import MetricsLog, RunDirectory
from azjax.runs.rating import rate_run
from azjax.train import RunState, make_trainer

MANY_TIMES = 4  # a replay ratio above this is worth a word
MUST_BE_FINITE = ("loss", "policy_loss", "value_loss", "gradient_norm")


class Reporter(Protocol):
    """Who is told how a run goes on."""

    def begin(self, run: RunDirectory, iteration: int, minutes: float) -> None:
        """Training begins, or goes on, after this many iterations and minutes."""

    def iteration(self, metrics: dict[str, float | int]) -> None:
        """An iteration is done."""

    def message(self, text: str) -> None:
        """Something worth a line."""

    def rated(self, ratings: bayeselo.Ratings) -> None:
        """The run's networks have been rated."""


class NonFiniteError(Exception):
    """The loss or the gradient is not a finite number: the run can't go on."""


class Outcome(NamedTuple):
    """How training ended."""

    reason: Literal["complete", "minutes", "interrupted"]
    iteration: int
    minutes: float
    signal: int = 0  # which one interrupted it


def train_run(run: RunDirectory, reporter: Reporter) -> Outcome:
    """Trains until the configured iterations or minutes are done, or the process is asked to stop (SIGINT, SIGTERM).

    Goes on from the newest usable checkpoint. However it ends, the state is saved first, but for a NonFiniteError,
    which leaves the last good checkpoint as it is. Raises ValueError for what `require_trainable` refuses.
    """
    config = run.config
    require_trainable(config)
    trainer = make_trainer(config, make_mesh(config))
    with run.lock(), contextlib.ExitStack() as stack:
        checkpoints, networks = run.checkpoints(), run.networks(read_only=False)
        stack.callback(networks.close)
        stack.callback(checkpoints.close)
        state, minutes = _restore(checkpoints, trainer)
        iteration = int(state.iteration)
        networks.delete_after(iteration)
        log = MetricsLog(run, iteration=iteration)
        stack.callback(log.close)
        reporter.begin(run, iteration, minutes)
        if iteration:
            reporter.message(f"Going on after iteration {iteration}.")
        if iteration == 0 and not networks.steps():
            _keep_network(networks, state, minutes)

        stop = stack.enter_context(_stop_signals(reporter))
        learning = False
        reason: Literal["complete", "minutes", "interrupted"] = "complete"
        while iteration < config.iterations:
            if stop or (config.minutes and minutes >= config.minutes):
                reason = "interrupted" if stop else "minutes"
                break
            began = time.perf_counter()
            state, device_metrics = trainer.iterate(state)
            metrics = {name: float(value) for name, value in jax.device_get(device_metrics).items()}
            seconds = time.perf_counter() - began
            iteration += 1
            minutes += seconds / 60
            _check_finite(metrics, iteration)
            learning = _say_when_learning(config, metrics, learning, iteration, reporter)
            metrics = {"iteration": iteration, "minutes": minutes} | metrics | _rates(config, metrics, seconds)
            log.write(metrics)
            reporter.iteration(metrics)
            if iteration % config.checkpoint.network_every == 0:
                _keep_network(networks, state, minutes)
            if iteration % config.checkpoint.every == 0:
                networks.wait()  # a run never goes on from a checkpoint without the networks kept before it
                checkpoints.save(iteration, state, {"minutes": minutes})
            if config.rating.every > 0 and iteration % config.rating.every == 0 and iteration < config.iterations:
                networks.wait()
                _rate(run, reporter, stop)

        if reason != "interrupted" and iteration not in networks.steps():
            _keep_network(networks, state, minutes)
        networks.wait()
        if iteration not in checkpoints.steps():
            checkpoints.save(iteration, state, {"minutes": minutes})
        checkpoints.wait()
        del state
        if run.metrics():
            plots.metrics_curves(run.path / "metrics.png", run.metrics(), title=f"{config.game}")
        if reason != "interrupted" and config.rating.every >= 0:
            _rate(run, reporter, stop)
    return Outcome(reason, iteration, minutes, signal=stop[0] if reason == "interrupted" else 0)


def require_trainable(config: Config) -> None:
    """Raises ValueError, with what to do, for a run that makes no sense here or does not fit on this machine: settings,
    start positions, optimiser, a network of one's own, memory. Nothing is computed, and nothing written."""
    try:
        devices = jax.devices()
    except RuntimeError as error:  # JAX_PLATFORMS names what isn't there
        raise ValueError(f"no device to work on: {str(error).splitlines()[0]}") from error
    configs.validate(config, devices=len(devices))
    make_network(config.game, config.network)
    read_starts(config.game, config.selfplay.starts)
    make_optimizer(config.learner, total_updates=1)
    require_run_fits(config, devices=config.devices or len(devices))
    if config.rating.every >= 0:
        search = config.search.with_simulations(config.rating.num_simulations)
        try:
            require_search_fits(config.game, search, games=config.rating.games // 2)
        except ValueError as error:
            raise ValueError(f"rating: {error}, or set rating.every=-1") from error


class _Stop(Exception):
    """The process was asked to stop while networks were being rated."""


def _rate(run: RunDirectory, reporter: Reporter, stop: list[int]) -> None:
    """Rates the run's networks, unless asked to stop meanwhile: the matches played by then are kept."""

    def report(line: str) -> None:
        reporter.message(line)
        if stop:
            raise _Stop

    with contextlib.suppress(_Stop):
        reporter.rated(rate_run(run, run.config.rating, report=report))


def _restore(checkpoints: Checkpoints, trainer: Any) -> tuple[RunState, float]:
    """The newest usable state, or a new one where nothing was saved yet."""
    if not checkpoints.steps():
        return trainer.init(), 0.0
    step, state, about = checkpoints.restore_newest(abstract(trainer.init, trainer.shardings))
    checkpoints.delete_after(step)
    return state, about["minutes"]


def _keep_network(networks: Checkpoints, state: RunState, minutes: float) -> None:
    about = {"games": int(state.games), "minutes": minutes}
    networks.save(int(state.iteration), state.learner.average, about)


def _check_finite(metrics: dict[str, float], iteration: int) -> None:
    for name in MUST_BE_FINITE:
        if metrics["learning"] and not math.isfinite(metrics[name]):
            raise NonFiniteError(
                f"{name} is {metrics[name]} in iteration {iteration}; stopped, the last checkpoint is as it was. "
                "Try a lower learner.learning_rate or learner.max_gradient_norm=1"
            )


def _say_when_learning(
    config: Config, metrics: dict[str, float], learning: bool, iteration: int, reporter: Reporter
) -> bool:
    """Says once that learning waits for the replay to fill, once that it has begun, and what is odd about its pace."""
    if iteration == 1 and not metrics["learning"]:
        reporter.message(f"Learning begins when {config.replay.min_fill} positions of finished games are there.")
    ratio = config.learner.updates * config.learner.batch_size / config.moves_per_iteration
    if iteration == 1 and ratio > MANY_TIMES:
        reporter.message(
            f"Each position will be trained on {ratio:.1f} times: above {MANY_TIMES} values overfit easily."
        )
    if metrics["learning"] and not learning and metrics["updates"] == config.learner.updates:
        reporter.message(f"Learning begins in iteration {iteration}.")
    return bool(metrics["learning"])


def _rates(config: Config, metrics: dict[str, float], seconds: float) -> dict[str, float]:
    moves = config.moves_per_iteration
    samples = config.learner.updates * config.learner.batch_size * metrics["learning"]
    return {
        "seconds": seconds,
        "moves_per_second": moves / seconds,
        "simulations_per_second": moves * config.search.num_simulations / seconds,
        "samples_per_second": samples / seconds,
        "replay_ratio": samples / moves,
    }


@contextlib.contextmanager
def _stop_signals(reporter: Reporter) -> Iterator[list[int]]:
    """A list that gets an entry when the process is asked to stop; asked a second time it stops at once."""
    asked: list[int] = []

    def ask(number: int, frame: Any) -> None:
        del frame
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        reporter.message("Stopping when this iteration or match is done; once more to stop at once, without saving.")

    try:
        old = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: whoever runs us handles signals
        old = {}
    try:
        yield asked
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)
