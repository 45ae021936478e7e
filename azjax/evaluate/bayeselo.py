"""Game results -> ratings with error bars: BayesElo's model (R. Coulom), its posterior's mode and its curvature there.

With f(x) = 1 / (1 + 10^(-x/400)), a game in which player 1 moves first ends

    P(1 wins)  = f(elo_1 - elo_2 + advantage - draw_elo)
    P(1 loses) = f(elo_2 - elo_1 - advantage - draw_elo)
    P(draw)    = 1 - P(1 wins) - P(1 loses) = (10^(draw_elo/200) - 1) P(1 wins) P(1 loses)

By the last identity a draw weighs as much as one win and one loss, so that the whole likelihood is a logistic
regression with one more term, and concave: Newton's method finds the one mode.
"""

from __future__ import annotations

import collections
import csv
import dataclasses
import os
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.csgraph
import scipy.special
from jaxtyping import Float

_ELO = 400 / np.log(10)  # Elo points in one natural unit
_Z95 = 1.959963984540054


class PairCount(NamedTuple):
    """Games between two players in which `first` moved first; the results are its."""

    first: str
    second: str
    wins: float
    draws: float
    losses: float


@dataclasses.dataclass(frozen=True)
class Ratings:
    """Elo ratings on the anchor's scale. An unconnected player has nan, `to_dict` gives None for it."""

    names: tuple[str, ...]
    elo: Float[np.ndarray, " players"]
    low: Float[np.ndarray, " players"]  # the 95 % interval of the difference from the anchor
    high: Float[np.ndarray, " players"]
    games: Float[np.ndarray, " players"]
    score: Float[np.ndarray, " players"]  # share of the points, nan without games
    advantage: float  # Elo that moving first is worth
    draw_elo: float
    anchor: str
    unconnected: tuple[str, ...]  # players with no chain of games to the anchor

    def index(self, name: str) -> int:
        """Where a player stands in the arrays. Raises ValueError if it is not there."""
        if name not in self.names:
            raise ValueError(f"no player {name!r} was rated; there are: {', '.join(self.names)}")
        return self.names.index(name)

    def rows(self) -> list[dict[str, Any]]:
        """One dict a player, the strongest first, the unconnected last, with None for what is not known."""
        order = np.argsort(-self.elo, kind="stable")  # nan comes last
        fields = {field: getattr(self, field) for field in ("elo", "low", "high", "games", "score")}
        return [
            {"name": self.names[i]} | {field: _finite_or_none(values[i]) for field, values in fields.items()}
            for i in order
        ]

    def table(self) -> str:
        """The ratings as text for the terminal, the strongest first."""
        lines = [("player", "elo", "95 % interval", "games", "score")]
        for row in self.rows():
            interval = f"{row['low']:.0f} to {row['high']:.0f}" if row["elo"] is not None else "not connected"
            lines.append(
                (
                    row["name"],
                    "-" if row["elo"] is None else f"{row['elo']:.0f}",
                    "fixed" if row["name"] == self.anchor else interval,
                    f"{row['games']:.0f}",
                    "-" if row["score"] is None else f"{100 * row['score']:.1f} %",
                )
            )
        first, *others = (max(map(len, column)) for column in zip(*lines, strict=True))
        text = [
            "  ".join(
                [line[0].ljust(first), *(cell.rjust(width) for cell, width in zip(line[1:], others, strict=True))]
            )
            for line in lines
        ]
        return "\n".join([*text, f"moving first is worth {self.advantage:.0f}, draw_elo {self.draw_elo:.0f}"])

    def to_dict(self) -> dict[str, Any]:
        """Everything, fit for JSON."""
        return {
            "anchor": self.anchor,
            "advantage": self.advantage,
            "draw_elo": self.draw_elo,
            "unconnected": list(self.unconnected),
            "players": self.rows(),
        }


def rate(
    results: Iterable[PairCount],
    *,
    anchor: str,
    anchor_elo: float = 0.0,
    prior_draws: float = 2.0,
    advantage: float | None = None,
    draw_elo: float | None = None,
) -> Ratings:
    """The posterior mode of all ratings together, with 95 % intervals of the differences from the anchor.

    The anchor's rating is `anchor_elo` by definition. The prior: every player's `prior_draws` / 2 virtual draws are
    spread over its opponents in proportion to the games, so that two players who met only each other share
    `prior_draws` of them; a virtual draw weighs as one win and one loss between players with neither advantage nor
    draw_elo. `advantage` and `draw_elo` are fitted unless given; their priors are `prior_draws` / 2 games of each kind
    between equals. The intervals are those of the normal approximation at the mode.
    Raises ValueError for no games, an unknown anchor, negative counts, or a player that met itself.
    """
    pairs = _merge(results)
    names = tuple(sorted({name for pair in pairs for name in (pair.first, pair.second)}))
    if not prior_draws > 0:
        raise ValueError(f"got prior_draws = {prior_draws}; it must be positive, or a clean sweep has no finite rating")
    if not sum(pair.wins + pair.draws + pair.losses for pair in pairs):
        raise ValueError("no games to rate: every count is zero")
    if anchor not in names:
        raise ValueError(f"the anchor {anchor!r} is not among the players: {', '.join(names)}")
    number = {name: i for i, name in enumerate(names)}
    one = np.array([number[pair.first] for pair in pairs])
    two = np.array([number[pair.second] for pair in pairs])
    wins, draws, losses = np.array([pair[2:] for pair in pairs], float).T
    played = wins + draws + losses

    size, root = len(names), number[anchor]
    met = played > 0
    graph = scipy.sparse.coo_array((played[met], (one[met], two[met])), shape=(size, size))
    _, component = scipy.sparse.csgraph.connected_components(graph, directed=False)
    connected = component == component[root]
    inside = connected[one] & met
    if draw_elo is not None and (draw_elo < 0 or (draw_elo == 0 and draws[inside].any())):
        raise ValueError(
            f"got draw_elo = {draw_elo}; it must be positive, as there are draws, or at least 0 without any"
        )

    posterior = _posterior(one[inside], two[inside], wins[inside], draws[inside], losses[inside], size, prior_draws)
    start = np.zeros(size + 2)
    start[-2:] = 0.0 if advantage is None else advantage / _ELO, 0.25 if draw_elo is None else draw_elo / _ELO
    free = np.append(connected & (np.arange(size) != root), (advantage is None, draw_elo is None))
    mode, covariance = _mode(posterior, start, free)

    elo = np.where(connected, anchor_elo + _ELO * mode[:size], np.nan)
    margin = _Z95 * _ELO * np.sqrt(np.diag(covariance)[:size])
    points = np.bincount(one, wins + draws / 2, size) + np.bincount(two, losses + draws / 2, size)
    games = np.bincount(one, played, size) + np.bincount(two, played, size)
    return Ratings(
        names=names,
        elo=elo,
        low=elo - margin,
        high=elo + margin,
        games=games,
        score=np.divide(points, games, out=np.full(size, np.nan), where=games > 0),
        advantage=float(_ELO * mode[-2]),
        draw_elo=float(_ELO * mode[-1]),
        anchor=anchor,
        unconnected=tuple(name for name, known in zip(names, connected, strict=True) if not known),
    )


def pair_counts(games: Iterable[tuple[str, str, int]]) -> list[PairCount]:
    """Counts from single games: (first player, second player, result for the first: +1, 0 or -1)."""
    seen = collections.Counter((first, second, int(np.sign(result))) for first, second, result in games)
    return [
        PairCount(first, second, *(seen[first, second, result] for result in (1, 0, -1)))
        for first, second in dict.fromkeys(key[:2] for key in seen)
    ]


def write_csv(path: str | os.PathLike[str], ratings: Ratings) -> None:
    """Writes one line a player, the strongest first: name, elo, low, high, games, score; what is not known is empty."""
    rows = ratings.rows()
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


class _Posterior(NamedTuple):
    """All games, the virtual ones included: log p(x) = sum(weights * log f(design @ x)) + draws * log(exp(2 d) - 1).

    x holds the players' ratings, the advantage and d = draw_elo, in natural units (f is the logistic function).
    """

    design: scipy.sparse.csr_array
    weights: np.ndarray
    draws: float


def _posterior(
    one: np.ndarray,
    two: np.ndarray,
    wins: np.ndarray,
    draws: np.ndarray,
    losses: np.ndarray,
    size: int,
    prior_draws: float,
) -> _Posterior:
    pairs = len(one)
    played = wins + draws + losses
    games = np.bincount(one, played, size) + np.bincount(two, played, size)
    virtual = prior_draws / 2 * played * (1 / games[one] + 1 / games[two])
    row = np.arange(pairs)
    difference = scipy.sparse.coo_array(
        (np.repeat([1.0, -1.0], pairs), (np.tile(row, 2), np.concatenate([one, two]))), shape=(pairs, size)
    )
    ones, nothing = np.ones((pairs, 1)), np.zeros((1, size))
    equals = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])  # advantage, disadvantage, draw_elo
    design = scipy.sparse.vstack(
        [
            scipy.sparse.hstack([difference, ones, -ones]),  # the first player won, or drew
            scipy.sparse.hstack([-difference, -ones, -ones]),  # it lost, or drew
            scipy.sparse.hstack([difference, 0 * ones, 0 * ones]),
            scipy.sparse.hstack([-difference, 0 * ones, 0 * ones]),
            np.hstack([np.repeat(nothing, 3, axis=0), equals]),
        ]
    )
    # The last row: prior_draws / 2 draws, which weigh twice, and as many decisive games.
    priors = prior_draws / 2 * np.array([1.0, 1.0, 3.0])
    weights = np.concatenate([wins + draws, losses + draws, virtual, virtual, priors])
    return _Posterior(scipy.sparse.csr_array(design), weights, draws.sum() + prior_draws / 2)


def _mode(posterior: _Posterior, x: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mode and the covariance there, over the free unknowns; the others keep their values and have variance 0."""
    design = posterior.design[:, np.flatnonzero(free)]
    draws = posterior.draws if free[-1] else 0.0  # a given draw_elo makes the term a constant

    def log_density(x: np.ndarray) -> float:
        if draws and x[-1] <= 0:
            return -np.inf
        likelihood = posterior.weights @ scipy.special.log_expit(posterior.design @ x)
        return likelihood + (draws * np.log(np.expm1(2 * x[-1])) if draws else 0.0)

    covariance = np.zeros((len(x), len(x)))
    if not free.any():
        return x, covariance
    density = log_density(x)
    for _ in range(500):
        z = posterior.design @ x
        gradient = design.T @ (posterior.weights * scipy.special.expit(-z))
        curvature = posterior.weights * scipy.special.expit(z) * scipy.special.expit(-z)
        hessian = (design.T @ scipy.sparse.diags_array(curvature) @ design).toarray()
        if draws:
            gradient[-1] += 2 * draws / -np.expm1(-2 * x[-1])
            hessian[-1, -1] += draws / np.sinh(x[-1]) ** 2
        factor = scipy.linalg.cho_factor(hessian)
        step = np.zeros_like(x)
        step[free] = scipy.linalg.cho_solve(factor, gradient)
        decrement = gradient @ step[free]
        if decrement < 1e-9:  # in units of the posterior's own spread: Newton's next step would be below 1e-9
            covariance[np.ix_(free, free)] = scipy.linalg.cho_solve(factor, np.eye(free.sum()))
            return x + step, covariance
        while log_density(x + step) < density + 1e-4 * (gradient @ step[free]):
            step = step / 2
        x = x + step
        density = log_density(x)
    raise RuntimeError("the ratings' posterior mode was not found in 500 Newton steps; are the counts extreme?")


def _merge(results: Iterable[PairCount]) -> list[PairCount]:
    merged: dict[tuple[str, str], tuple[float, float, float]] = {}
    for first, second, *counts in results:
        if first == second:
            raise ValueError(f"{first!r} played against itself, which says nothing about its rating; leave it out")
        if not (len(counts) == 3 and all(0 <= count < np.inf for count in counts)):
            raise ValueError(f"got counts {counts} of {first!r} against {second!r}; expected wins, draws, losses >= 0")
        wins, draws, losses = merged.get((first, second), (0.0, 0.0, 0.0))
        merged[first, second] = wins + counts[0], draws + counts[1], losses + counts[2]
    return [PairCount(*names, *counts) for names, counts in merged.items()]


def _finite_or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
