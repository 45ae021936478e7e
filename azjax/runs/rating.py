"""A run's networks against each other and the random player -> ratings, as table, CSV and curve."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from azjax.config import RatingConfig
from azjax.evaluate import bayeselo as elo
from azjax.evaluate.arena import play_match
from azjax.network import make_network
from azjax.players import Player, random_player, raw_network_player, search_player
from azjax.runs import plots
from azjax.runs.checkpoint import CheckpointWarning
from azjax.runs.directory import RunDirectory, RunError, Snapshot
from azjax.search import make_match_search
from azjax.starts import read_starts

ANCHOR = "random"


def network_player(run: RunDirectory, snapshot: Snapshot, *, num_simulations: int) -> Player:
    """A run's network as a player: deterministic, by search or, with 0 simulations, raw."""
    network = make_network(run.config.game, run.config.network)
    name = f"iteration {snapshot.iteration}"
    if num_simulations == 0:
        return raw_network_player(run.config.game, network.evaluate, snapshot.variables, name)
    search_config = run.config.search.with_simulations(num_simulations)
    search = make_match_search(run.config.game, network.evaluate, search_config)
    return search_player(search, snapshot.variables, name)


def rate_run(
    run: RunDirectory, settings: RatingConfig, *, report: Callable[[str], None] = lambda line: None
) -> elo.Ratings:
    """Rates a run's networks, the random player being 0, and writes ratings.csv, ratings.json and elo.png into the run.

    Every network meets the random player and its next neighbours; matches already in matches.jsonl that were played
    with the same settings are not played again. `report` is told of every match when it is on disk. Raises RunError if
    there is no usable network.
    """
    snapshots = _load(run, spaced(run.network_iterations(), settings.max_networks))
    players = {i: network_player(run, s, num_simulations=settings.num_simulations) for i, s in snapshots.items()}
    key = jax.random.key(run.config.seed + 1)
    played = _read_matches(run, settings)
    for one, other in _pairings(list(snapshots)):
        first = players[one]
        second = random_player(run.config.game, ANCHOR) if other is None else players[other]
        if (first.name, second.name) in played:
            continue
        match_key = jax.random.fold_in(jax.random.fold_in(key, one), 0 if other is None else other + 1)
        result = play_match(
            run.config.game,
            first,
            second,
            games=settings.games,
            key=match_key,
            opening_plies=min(settings.opening_plies, run.config.game.max_moves - 1),
            starts=read_starts(run.config.game, run.config.selfplay.starts),
        )
        games = [[r.first, r.second, r.result] for r in result.records]
        played[first.name, second.name] = games
        _append(run, {"pair": [first.name, second.name], "settings": _settings(settings), "games": games})
        report(
            f"{first.name} - {second.name}: {result.wins} wins, {result.draws} draws, {result.losses} losses"
            f"{f' ({result.games - result.unique_games} games repeat others)' if result.repeats() else ''}"
        )
    names = {player.name for player in players.values()} | {ANCHOR}
    games = [tuple(g) for pair, games in played.items() if names.issuperset(pair) for g in games]
    ratings = elo.rate(elo.pair_counts(games), anchor=ANCHOR)  # pyright: ignore[reportArgumentType]
    _write(run, ratings, {players[i].name: snapshot for i, snapshot in snapshots.items()})
    return ratings


def _load(run: RunDirectory, iterations: list[int]) -> dict[int, Snapshot]:
    """The networks of these iterations; damaged ones are left out with a CheckpointWarning."""
    snapshots = {}
    for iteration in iterations:
        try:
            snapshots[iteration] = run.load_network(iteration)
        except RunError as error:
            warnings.warn(f"{error}; it is not rated", CheckpointWarning, stacklevel=3)
    if not snapshots:
        raise RunError(f"{run.path} has no usable network to rate")
    return snapshots


def spaced(iterations: list[int], most: int) -> list[int]:
    """At most `most` of them, evenly spaced, the first and the last among them (the last alone for 1)."""
    if len(iterations) <= most:
        return iterations
    if most == 1:
        return iterations[-1:]
    places = np.linspace(0, len(iterations) - 1, most).round().astype(int)
    return [iterations[place] for place in dict.fromkeys(places.tolist())]


def _pairings(iterations: list[int]) -> list[tuple[int, int | None]]:
    """Every network meets the anchor, and the two networks before it."""
    pairs: list[tuple[int, int | None]] = []
    for place, iteration in enumerate(iterations):
        pairs.append((iteration, None))
        pairs += [(iteration, other) for other in iterations[max(0, place - 2) : place]]
    return pairs


def _settings(settings: RatingConfig) -> dict[str, int]:
    return {name: getattr(settings, name) for name in ("games", "num_simulations", "opening_plies")}


def _read_matches(run: RunDirectory, settings: RatingConfig) -> dict[tuple[str, str], list[Any]]:
    file = run.path / "matches.jsonl"
    played = {}
    for line in file.read_text().splitlines() if file.exists() else []:
        try:
            match = json.loads(line)
        except ValueError:
            continue  # cut off by an interruption: the match is played again
        if match["settings"] == _settings(settings):
            played[tuple(match["pair"])] = match["games"]
    return played


def _append(run: RunDirectory, match: dict[str, Any]) -> None:
    """Writes a line of matches.jsonl; after one that was cut off it begins a new one."""
    with open(run.path / "matches.jsonl", "a+b") as file:
        file.seek(max(0, file.tell() - 1))
        cut_off = file.read() not in (b"", b"\n")
        file.write(b"\n" * cut_off + json.dumps(match).encode() + b"\n")


def _write(run: RunDirectory, ratings: elo.Ratings, snapshots: dict[str, Snapshot]) -> None:
    elo.write_csv(run.path / "ratings.csv", ratings)
    rows = []
    for name, snapshot in snapshots.items():
        at = ratings.index(name)
        fields = {"elo": ratings.elo[at], "low": ratings.low[at], "high": ratings.high[at], "minutes": snapshot.minutes}
        counts = {"iteration": snapshot.iteration, "games": snapshot.games}
        rows.append({name: float(value) for name, value in fields.items()} | counts)
    (run.path / "ratings.json").write_text(json.dumps(ratings.to_dict() | {"curve": rows}, indent=2) + "\n")
    plots.elo_curve(run.path / "elo.png", rows, anchors={ANCHOR: 0.0}, title=f"{run.config.game}")
