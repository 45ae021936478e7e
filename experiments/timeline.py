"""What the experiments share: training a run that may go on, and the networks it had after so many minutes."""

from __future__ import annotations

import argparse
import dataclasses
import warnings
from pathlib import Path
from typing import Any

import jax
from record import begin
from rich.console import Console

import envs
from azjax import config as configs
from azjax.cli import use_cache
from azjax.config.presets import preset
from azjax.evaluate.arena import DuplicateGamesWarning, play_match
from azjax.players import Player
from azjax.runs.directory import RunDirectory
from azjax.runs.progress import PlainReporter
from azjax.runs.rating import rate_run
from azjax.runs.session import train_run
from azjax.runs.strength import check_run

SMOKE: dict[str, Any] = {
    "minutes": 0.0,
    "iterations": 6,
    "network": {"blocks": 1, "channels": 4, "value_hidden": 4},
    "search": {"num_simulations": 4},
    "selfplay": {"lanes": 8, "moves": 8},
    "replay": {"capacity": 512, "min_fill": 64},
    "learner": {"batch_size": 8, "updates": 2},
    "checkpoint": {"every": 3, "network_every": 2},
}
"""Changes that make any run take seconds; its numbers mean nothing."""


def arguments(description: str | None, *, run_dir: str) -> argparse.Namespace:
    """`run_dir` and `smoke` from the command line."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--run-dir", type=Path, default=Path(run_dir), help="trained there, or gone on with")
    parser.add_argument("--smoke", action="store_true", help="a run of seconds, whose numbers mean nothing")
    return parser.parse_args()


def trained(
    game: envs.Game,
    run_dir: Path,
    *,
    smoke: bool,
    name: str = "laptop",
    changes: dict[str, Any] | None = None,
) -> RunDirectory:
    """The game's preset of that name, with changes, trained to its end in `run_dir`; nothing is done twice.

    The run directory keeps a record of the experiment: see record.py.
    """
    use_cache()
    config = configs.replace(preset(game, name), {"rating": {"every": -1}})
    config = configs.replace(config, changes or {})
    config = configs.replace(config, SMOKE) if smoke else config
    run = RunDirectory.create(run_dir, config)
    begin(configs.to_dict(run.config), run.path)
    train_run(run, PlainReporter(Console()))
    return run


def network_at(run: RunDirectory, minutes: float) -> int:
    """The iteration of the newest network that was kept within the run's first `minutes`."""
    clock = {0: 0.0} | {row["iteration"]: row["minutes"] for row in run.metrics()}
    return max(i for i in run.network_iterations() if clock[i] <= minutes)


def last_minute(run: RunDirectory) -> float:
    """How many minutes the run has trained."""
    return run.metrics()[-1]["minutes"]


def print_kept(run: RunDirectory, *, num_simulations: int, smoke: bool) -> None:
    """Prints, for some times of the run, how often its network keeps the result of solved positions."""
    times = [last_minute(run)] if smoke else [5, 10, 20, last_minute(run)]
    simulations = 4 if smoke else num_simulations
    print(f"minutes  iteration  keeps the result: network  with {simulations} simulations  knows the winner: network")
    for minutes in times:
        iteration = network_at(run, minutes)
        raw, searched = check_run(run, num_simulations=simulations, iteration=iteration)
        assert raw.kept and searched.kept and raw.knows_winner is not None
        kept = [100 * one.kept / one.positions for one in (raw.kept, searched.kept)]
        winner = 100 * raw.knows_winner
        print(f"{minutes:7.1f}  {iteration:9d}  {kept[0]:25.1f}  {kept[1]:18.1f}  {winner:25.1f}", flush=True)


def print_elo(run: RunDirectory, *, smoke: bool) -> None:
    """Rates the run's networks and the random player, and prints the table; the curve is in the run's directory."""
    settings = {"games": 2, "max_networks": 2, "num_simulations": 2} if smoke else {"games": 64, "max_networks": 12}
    ratings = rate_run(run, dataclasses.replace(run.config.rating, **settings))
    print(f"{ratings.table()}\nthe curve: {run.path / 'elo.png'}", flush=True)


def print_match(game: envs.Game, first: Player, second: Player, *, games: int, opening_plies: int) -> None:
    """Prints what the first player scores against the second, colours balanced."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DuplicateGamesWarning)  # the line tells how many are distinct
        result = play_match(game, first, second, games=games, key=jax.random.key(0), opening_plies=opening_plies)
    print(
        f"{first.name} - {second.name}, {opening_plies} random plies first: {result.wins} wins, {result.draws} draws, "
        f"{result.losses} losses; as the first player {result.as_first.wins}, as the second {result.as_second.wins} "
        f"won; score {100 * result.score():.1f} +- {100 * result.score_error():.1f} %; {result.unique_games} games "
        "distinct",
        flush=True,
    )
