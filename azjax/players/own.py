"""A player of one's own by its name, `module:function`: a function of the game that returns a Player or a Thinker."""

from __future__ import annotations

import importlib

from azjax.players.batched import Player
from azjax.players.thinkers import Thinker
from envs.core import Game


def load_player(name: str, game: Game) -> Player | Thinker:
    """The player of that name for a game. Raises ValueError, saying what is expected, if there is none."""
    module, colon, function = name.rpartition(":")
    if not (colon and module and function.isidentifier()):
        raise ValueError(f"{name!r} is not module:function; your own player is a function of the game in a module")
    try:
        player = getattr(importlib.import_module(module), function)(game)
    except Exception as error:  # whatever goes wrong in a file that is not ours
        raise ValueError(f"no player {name!r}: {type(error).__name__}: {error}") from error
    if not isinstance(player, (Player, Thinker)):
        raise ValueError(f"{name!r} returned {type(player).__name__}, expected an azjax.Player or an azjax.Thinker")
    return player
