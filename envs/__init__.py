"""The rules of games as pure JAX functions: `envs.make("connect_four")` finds a game by name.

A new game is one file in this package, or anywhere else as `module:Class`. See `envs.core` for the contract.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from typing import Any

from envs.core import Game, Move, SolvedPositions, Solver, State, Symmetry, Transition

__all__ = [
    "Game",
    "Move",
    "SolvedPositions",
    "Solver",
    "State",
    "Symmetry",
    "Transition",
    "available",
    "game_class",
    "make",
]


def available() -> tuple[str, ...]:
    """The names of the games of this package."""
    modules = (m.name for m in pkgutil.iter_modules(__path__) if not m.ispkg)
    return tuple(sorted(name for name in modules if not name.startswith("_") and name != "core"))


def game_class(name: str) -> type[Game]:
    """The class behind a name, or behind `module:Class`. Raises ValueError if there is none."""
    if ":" in name:
        module_name, _, class_name = name.partition(":")
        try:
            found = getattr(importlib.import_module(module_name), class_name)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"no game {name!r}: {error}") from error
        if not (isinstance(found, type) and issubclass(found, Game)):
            raise ValueError(f"{name!r} is not a game: it must be a class derived from envs.Game")
        return found
    if name not in available():
        known = ", ".join(available())
        raise ValueError(f"no game named {name!r}; known games: {known}; your own: module:Class")
    module = importlib.import_module(f"envs.{name}")
    (found,) = (
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, Game) and value.__module__ == module.__name__
    )
    return found


def make(name: str, **settings: Any) -> Game:
    """The game of that name with these settings. Raises ValueError for an unknown name, setting or impossible value."""
    cls = game_class(name)
    known = [field.name for field in dataclasses.fields(cls)]
    if unknown := sorted(set(settings) - set(known)):
        raise ValueError(f"{name} has no setting {', '.join(unknown)}; its settings: {', '.join(known) or 'none'}")
    return cls(**settings)
