"""Solved positions kept as files: `envs/solved/<name>.json`, for one choice of the game's settings.

A file says which: `settings`. Each of its `positions` has the `moves` that lead there and the `values` of all actions,
null where illegal.
"""

from __future__ import annotations

import importlib.resources
import itertools
import json

import numpy as np

from envs.core import Game, SolvedPositions


def read_solved(name: str, game: Game) -> SolvedPositions | None:
    """The positions of the game that `envs.make` knows by `name`; None if `game` has other settings than the file's.

    None, too, for a game derived from that one, whose rules may be others.
    """
    if game.name != name:
        return None
    solved = json.loads((importlib.resources.files("envs") / "solved" / f"{name}.json").read_text())
    if type(game)(**solved["settings"]) != game:
        return None
    columns = itertools.zip_longest(*(position["moves"] for position in solved["positions"]), fillvalue=-1)
    values = [position["values"] for position in solved["positions"]]
    return SolvedPositions(np.array([*columns], np.int32).T, np.array(values, np.float32))  # null becomes NaN
