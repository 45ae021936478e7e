"""The network: its architecture, or whose it is."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Literal

from annotated_types import Ge


@dataclasses.dataclass(frozen=True)
class NetworkConfig:
    """AlphaGo Zero's residual network (Silver et al. 2017, Methods, Neural network architecture), or your own."""

    make: str = "resnet"
    """resnet, or your own as module:function or file.py:function, for short --network my_net:make; the function
    make(game, config) returns a Flax module or pure functions (see azjax.network.evaluator). It may read the fields
    below or leave them alone."""
    blocks: Annotated[int, Ge(0)] = 4
    """Residual blocks (AlphaGo Zero: 19 or 39)."""
    channels: Annotated[int, Ge(1)] = 32
    """Filters of every 3x3 convolution (AlphaGo Zero: 256)."""
    policy_head: Literal["linear", "planes"] = "linear"
    """linear: AlphaGo Zero's, a 1x1 convolution and a linear layer; planes: AlphaZero's of chess and shogi, a 3x3
    convolution of `channels` and a 1x1 one to as many planes as each square has actions, square by square."""
    policy_channels: Annotated[int, Ge(1)] = 2
    """Filters of the linear policy head's 1x1 convolution (AlphaGo Zero: 2)."""
    value_channels: Annotated[int, Ge(1)] = 1
    """Filters of the value head's 1x1 convolution (AlphaGo Zero: 1)."""
    value_hidden: Annotated[int, Ge(1)] = 64
    """Units of the value head's hidden layer (AlphaGo Zero: 256)."""
    normalisation: Literal["batch", "layer"] = "batch"
    """Batch normalisation (the papers') or layer normalisation over all cells and channels of a position."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """What the network computes in; its parameters are always float32."""
