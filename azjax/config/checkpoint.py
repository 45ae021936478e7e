"""What a run keeps on disk."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from annotated_types import Ge


@dataclasses.dataclass(frozen=True)
class CheckpointConfig:
    """What is kept on disk, and how often."""

    every: Annotated[int, Ge(1)] = 20
    """Iterations between two checkpoints of the whole run."""
    keep: Annotated[int, Ge(1)] = 2
    """How many of them are kept."""
    network_every: Annotated[int, Ge(1)] = 100
    """Iterations between two networks that are kept for rating and play, all of them."""
