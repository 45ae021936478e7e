"""The replay."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from annotated_types import Ge


@dataclasses.dataclass(frozen=True)
class ReplayConfig:
    """Positions kept for training, on the device."""

    capacity: Annotated[int, Ge(1)] = 131_072
    """Positions kept, all lanes together; the oldest go first (AlphaGo Zero: 500,000 games)."""
    min_fill: Annotated[int, Ge(1)] = 8_192
    """Positions of ended games that must be there before learning starts."""
