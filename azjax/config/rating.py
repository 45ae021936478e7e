"""How strength is measured by games."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from annotated_types import Ge, MultipleOf


@dataclasses.dataclass(frozen=True)
class RatingConfig:
    """How a run's networks are measured against each other and the random player."""

    every: Annotated[int, Ge(-1)] = 0
    """Iterations between two ratings during training; 0 rates at the end only, -1 never."""
    games: Annotated[int, Ge(2), MultipleOf(2)] = 64
    """Games of a match, half of them with either colour."""
    num_simulations: Annotated[int, Ge(0)] = 32
    """Simulations a move; 0 plays the raw network."""
    opening_plies: Annotated[int, Ge(0)] = 2
    """Uniformly random moves before each pair of games, so that deterministic players do not repeat one game."""
    max_networks: Annotated[int, Ge(1)] = 12
    """At most this many of a run's networks, evenly spaced, play."""


@dataclasses.dataclass(frozen=True)
class LadderConfig:
    """Pure Monte Carlo tree search that gets more simulations after each match it has lost in full."""

    first: Annotated[int, Ge(1)] = 1_000
    """Simulations a move of the first opponent (textbook: 1,000)."""
    step: Annotated[int, Ge(1)] = 1_000
    """Simulations added after a match that the player has won in full (textbook: 1,000)."""
    most: int = 5_000
    """The ladder ends here (textbook: it has no end)."""
    games: Annotated[int, Ge(2), MultipleOf(2)] = 10
    """Games of a match, half of them with either colour (textbook: 10)."""
