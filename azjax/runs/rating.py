"""A run's networks against each other and the random player -> ratings, as table, CSV and curve."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from azjax.config import RatingConfig
from azjax.evaluate import bayeselo
from azjax.evaluate.arena import play_match
from azjax.openings import read_starts
from azjax.players import Player, Thinker, TrainedNetwork, random_player
from azjax.runs import plots
from azjax.runs.checkpoint import CheckpointWarning
from azjax.runs.directory import RunDirectory, RunError

ANCHOR = "random"


def rate_run(
    run: RunDirectory,
    settings: RatingConfig | None = None,
    *,
    others: Sequence[Player | Thinker] = (),
    report: Callable[[str], None] = lambda line: None,
) -> bayeselo.Ratings:
    """Rates a run's networks, the random player being 0, and writes ratings.csv, ratings.json and elo.png into the run.

    Every network meets the random player, its next neighbours and the `others`, players of any kind with names of their
    own; matches already in matches.jsonl that were played with the same settings are not played again. Without
    `settings` the run's own are taken. `report` is told of every match when it is on disk. Raises RunError if there is
    no usable network, ValueError for a name that two players have.
    """
    settings = run.config.rating if settings is None else settings
    networks = _load(run, spaced(run.network_iterations(), settings.max_networks))
    players = {i: n.player(num_simulations=settings.num_simulations) for i, n in networks.items()}
    anchors = [random_player(run.config.game, ANCHOR), *others]
    names = [player.name for player in (*players.values(), *anchors)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"two players are named {twice[0]!r}; give your own player a name of its own")
    key = jax.random.key(run.config.seed + 1)
    played = _read_matches(run, settings)
    for a, b, number in _pairings(players, anchors):
        if (a.name, b.name) in played:
            continue
        one_key, pair_number = number
        result = play_match(
            run.config.game,
            a,
            b,
            games=settings.games,
            key=jax.random.fold_in(jax.random.fold_in(key, one_key), pair_number),
            opening_plies=min(settings.opening_plies, run.config.game.max_moves - 1),
            starts=read_starts(run.config.game, run.config.selfplay.starts),
        )
        games = [[r.first, r.second, r.result] for r in result.records]
        played[a.name, b.name] = games
        _append(run, {"pair": [a.name, b.name], "settings": _settings(settings), "games": games})
        report(
            f"{a.name} - {b.name}: {result.wins} wins, {result.draws} draws, {result.losses} losses"
            f"{f' ({result.games - result.unique_games} games repeat others)' if result.repeats() else ''}"
        )
    games = [tuple(g) for pair, games in played.items() if set(names).issuperset(pair) for g in games]
    ratings = bayeselo.rate(bayeselo.pair_counts(games), anchor=ANCHOR)  # pyright: ignore[reportArgumentType]
    _write(run, ratings, networks.values())
    return ratings


def _load(run: RunDirectory, iterations: list[int]) -> dict[int, TrainedNetwork]:
    """The networks of these iterations; damaged ones are left out with a CheckpointWarning."""
    networks = {}
    for iteration in iterations:
        try:
            networks[iteration] = run.load_network(iteration)
        except RunError as error:
            warnings.warn(f"{error}; it is not rated", CheckpointWarning, stacklevel=3)
    if not networks:
        raise RunError(f"{run.path} has no usable network to rate")
    return networks


def spaced(iterations: list[int], most: int) -> list[int]:
    """At most `most` of them, evenly spaced, the first and the last among them (the last alone for 1)."""
    if len(iterations) <= most:
        return iterations
    if most == 1:
        return iterations[-1:]
    places = np.linspace(0, len(iterations) - 1, most).round().astype(int)
    return [iterations[place] for place in dict.fromkeys(places.tolist())]


def _pairings(
    networks: dict[int, Player], anchors: Sequence[Player | Thinker]
) -> Iterator[tuple[Player, Player | Thinker, tuple[int, int]]]:
    """Who meets whom, and two numbers of the match for its key: every network meets the anchors, the first of which is
    the random player, and the two networks before it."""
    iterations = list(networks)
    for place, iteration in enumerate(iterations):
        player = networks[iteration]
        yield player, anchors[0], (iteration, 0)
        for other in iterations[max(0, place - 2) : place]:
            yield player, networks[other], (iteration, other + 1)
        for number, other in enumerate(anchors[1:], 1):
            yield player, other, (iteration, 2**31 - number)


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


def _write(run: RunDirectory, ratings: bayeselo.Ratings, networks: Iterable[TrainedNetwork]) -> None:
    bayeselo.write_csv(run.path / "ratings.csv", ratings)
    rows, own = [], set()
    for network in networks:
        own.add(network.name)
        at = ratings.index(network.name)
        fields = {"elo": ratings.elo[at], "low": ratings.low[at], "high": ratings.high[at], "minutes": network.minutes}
        counts = {"iteration": network.iteration, "games": network.games}
        rows.append({name: float(value) for name, value in fields.items()} | counts)
    (run.path / "ratings.json").write_text(json.dumps(ratings.to_dict() | {"curve": rows}, indent=2) + "\n")
    anchors = {name: float(ratings.elo[ratings.index(name)]) for name in ratings.names if name not in own}
    plots.elo_curve(run.path / "elo.png", rows, anchors=anchors, title=f"{run.config.game}")
