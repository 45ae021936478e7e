"""Self-play."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from annotated_types import Ge


@dataclasses.dataclass(frozen=True)
class SelfPlayConfig:
    """Games played side by side, in lockstep."""

    lanes: Annotated[int, Ge(1)] = 64
    """Games side by side, all devices together."""
    moves: Annotated[int, Ge(1)] = 16
    """Moves in every lane an iteration."""
    opening_plies: Annotated[int, Ge(0)] = 0
    """Each game starts after 0 to this many uniformly random moves, which are not trained on (papers: 0)."""
    starts: tuple[str, ...] = ()
    """Positions that games start from, each from one drawn at random: in the game's notation or "startpos moves ...";
    @FILE stands for the lines of a file. None is the usual start (papers)."""
