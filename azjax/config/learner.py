"""Learning."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Interval


@dataclasses.dataclass(frozen=True)
class LearnerConfig:
    """Loss (z - v)^2 - pi . log p + c |theta|^2 and its optimiser."""

    batch_size: Annotated[int, Ge(1)] = 256
    """Positions an update, all devices together (AlphaZero: 4,096)."""
    updates: Annotated[int, Ge(1)] = 8
    """Optimiser steps an iteration."""
    optimizer: str = "adamw"
    """Any optimiser of optax that takes `learning_rate` (papers: sgd)."""
    optimizer_options: dict[str, float] = dataclasses.field(default_factory=lambda: {"weight_decay": 1e-4})
    """Further arguments of the optimiser, such as momentum (papers: 0.9) or adamw's decoupled weight_decay."""
    learning_rate: Annotated[float, Gt(0)] = 2e-3
    """The first or the highest learning rate (AlphaZero: 0.2 for sgd)."""
    schedule: Literal["constant", "steps", "cosine"] = "constant"
    """constant; steps: divided by 10 at each of `boundaries`; cosine: to zero at the last of `iterations`."""
    boundaries: tuple[int, ...] = ()
    """Updates after which the learning rate is divided by 10 (AlphaZero: 100,000 300,000 500,000)."""
    warmup: Annotated[int, Ge(0)] = 0
    """Updates over which the learning rate rises from zero."""
    l2: Annotated[float, Ge(0)] = 0.0
    """c of c |theta|^2, in the loss (AlphaGo Zero: 1e-4); 0 where the optimiser decays the weights itself."""
    max_gradient_norm: Annotated[float, Ge(0)] = 0.0
    """Gradients are scaled down to this global norm; 0 leaves them alone (papers: 0)."""
    average_decay: Annotated[float, Interval(ge=0, lt=1)] = 0.0
    """Self-play and evaluation use a running average of the weights that keeps this share of itself at every update; 0
    uses the newest weights (papers: 0)."""
    symmetries: bool = True
    """Whether each sample is turned by a random symmetry of its game (AlphaGo Zero: yes, AlphaZero: no)."""
    search_value_weight: Annotated[float, Interval(ge=0, le=1)] = 0.0
    """Share of the search's root value in the value target, beside the game's outcome (papers: 0)."""
