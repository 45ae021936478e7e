"""Observation -> policy logits and value: the built-in network, or one of the user's own.

Each module imports only from above it:

evaluator   what a network is to the rest of azjax: three pure functions
resnet      AlphaGo Zero's residual network
own         a network of one's own, from one file
"""

from __future__ import annotations

import functools

from azjax.config import NetworkConfig
from azjax.network import resnet
from azjax.network.evaluator import Evaluate, Evaluator, Output, Variables, as_evaluator, require_fits
from azjax.network.own import BUILT_IN, fingerprint, load_make
from envs.core import Game

__all__ = ["Evaluate", "Evaluator", "Output", "Variables", "make_network"]


def make_network(game: Game, config: NetworkConfig) -> Evaluator:
    """The network for a game, the same object for equal arguments, so that what is jitted with it compiles once.

    Raises ValueError, with what to do, for a network of one's own that cannot be loaded or does not fit the game.
    """
    return _make(game, config, fingerprint(config.make))


@functools.cache
def _make(game: Game, config: NetworkConfig, source: str) -> Evaluator:
    del source  # another source under the same name is another network
    if config.make == BUILT_IN:
        return as_evaluator(resnet.make(game, config), game.observation_shape)
    make = load_make(config.make)
    try:
        evaluator = as_evaluator(make(game, config), game.observation_shape)
    except Exception as error:  # whatever goes wrong in a function that is not ours
        raise ValueError(f"the network {config.make} cannot be made for {game}: {error}") from error
    require_fits(evaluator, game, config.make)
    return evaluator
