"""A run's network -> its exact strength, alone and with search: by solved positions or against every opponent."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from azjax.evaluate import exact
from azjax.evaluate.exact import ExhaustiveResult, Kept, SolvedStates
from azjax.players import TrainedNetwork, random_player
from azjax.runs.directory import RunDirectory
from envs.core import Game

MAX_POSITIONS = 20_000
"""A game is played out where no more positions are reached by the same number of moves."""


class Strength(NamedTuple):
    """What was measured of one player; None for what its game has no measure of."""

    player: str
    kept: Kept | None  # how often it keeps the best outcome, over the decisive solved positions
    knows_winner: float | None  # share of the won or lost positions in which its value has the right sign
    games: ExhaustiveResult | None  # against every line of an opponent, with either side

    def to_dict(self) -> dict[str, Any]:
        """Everything, fit for JSON."""
        parts = {"kept": self.kept and self.kept._asdict(), "games": self.games and self.games._asdict()}
        return self._asdict() | parts


def require_measure(game: Game) -> SolvedStates | None:
    """The solved positions of a game, None if it is to be played out instead.

    Raises ValueError for a game that has neither solved positions nor few enough positions to be played out.
    """
    positions = exact.solved_states(game)
    if positions is None:
        try:
            exact.exhaustive(game, random_player(game), jax.random.key(0), max_positions=MAX_POSITIONS)
        except ValueError as error:
            raise ValueError(
                f"{game} has no solved positions and is too large to be played out; measure its networks by games: "
                "azjax elo; a game of your own can give positions that you have solved by its solved_positions()"
            ) from error
    return positions


def check_run(run: RunDirectory, *, num_simulations: int = 64, iteration: int | None = None) -> list[Strength]:
    """The strength of the newest network, or of an iteration's: raw, and with search unless `num_simulations` is 0.

    Raises ValueError for a game without a measure, RunError if there is no such network.
    """
    positions = require_measure(run.config.game)
    network = run.load_network(iteration)
    budgets = [0, num_simulations] if num_simulations else [0]
    return [_strength(network, positions, num_simulations=budget) for budget in budgets]


def _strength(network: TrainedNetwork, positions: SolvedStates | None, *, num_simulations: int) -> Strength:
    name = f"with {num_simulations} simulations" if num_simulations else "network alone"
    player, key = network.player(num_simulations=num_simulations), jax.random.key(0)
    if positions is None:
        games = exact.exhaustive(network.game, player, key, max_positions=MAX_POSITIONS)
        return Strength(name, kept=None, knows_winner=None, games=games)
    kept = exact.kept_result(network.game, player, positions, key)
    predicted = np.asarray(network.values(positions.states, num_simulations=num_simulations))
    return Strength(name, kept, exact.knows_winner(predicted, positions), games=None)


def table(strengths: list[Strength]) -> str:
    """The strengths as text for the terminal."""
    lines = []
    if kept := strengths[0].kept:
        lines.append(("", "keeps the outcome", "knows the winner"))
        lines.append(("a random mover", f"{100 * kept.random:.1f} %", "-"))
        for one in strengths:
            assert one.kept is not None and one.knows_winner is not None
            lines.append(
                (one.player, f"{100 * one.kept.kept / one.kept.positions:.1f} %", f"{100 * one.knows_winner:.1f} %")
            )
        about = f"{kept.positions} solved positions in which some move gives away what perfect play would keep"
    else:
        lines.append(("", "games", "won", "drawn", "lost"))
        for one in strengths:
            assert one.games is not None
            lines.append((one.player, *(f"{count:,}" for count in one.games)))
        about = "every line of play that an opponent can choose, once with either side"
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = [
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    ]
    return "\n".join([*rows, about])
