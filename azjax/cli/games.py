"""azjax games: the games, their settings and presets."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Annotated

from tyro.conf import Positional, arg

import envs
from azjax.cli.common import bad_input, default_game
from azjax.cli.options import parse
from azjax.config import Config, differences, preset, preset_names
from envs.core import Game


@dataclasses.dataclass(frozen=True)
class GamesOptions:
    """Lists the games, or tells everything about one: its settings, sizes and presets."""

    game: Annotated[Positional[str | None], arg(metavar="[GAME]", help_behavior_hint="(default: all)")] = None
    """One game, or your own as module:Class."""


def run(args: list[str]) -> int:
    """Runs the command and returns the exit status."""
    options = parse(GamesOptions, args, prog="azjax games")
    if options.game is None:
        for name in envs.available():
            game = default_game(name)
            settings = ", ".join(f"{field}={value!r}" for field, value in dataclasses.asdict(game).items())
            sizes = f"{game.num_actions:>4} actions, at most {game.max_moves:>3} moves"
            print(f"{name:<16}{sizes}   {settings or 'no settings'}")
        print("\nazjax games GAME tells more; your own game is module:Class.")
        return 0
    with bad_input(ValueError):
        game = default_game(options.game)
    print(f"{options.game}: {inspect.cleandoc(type(game).__doc__ or 'no description')}\n")
    for field in dataclasses.fields(game):
        print(f"  --game.{field.name.replace('_', '-')} {field.type} (default: {getattr(game, field.name)})")
    solver = "on small boards" if type(game).solver is not Game.solver else "no"
    solved = game.solved_positions()
    print(
        f"{'' if dataclasses.fields(game) else '  no settings'}\n"
        f"  {game.num_actions} actions, at most {game.max_moves} moves a game, observations of shape "
        f"{game.observation_shape}, {max(1, len(game.symmetries))} symmetries\n  solver: {solver}\n  "
        f"solved positions: {'none' if solved is None else len(solved.values)}\n\npresets:"
    )
    for name in preset_names(game):
        settings = [f"{one.name}={one.new}" for one in differences(Config(game=game), preset(game, name))]
        print(f"  {name}: {', '.join(settings) or 'the defaults'}")
    return 0
