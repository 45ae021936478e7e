"""Words of the command line -> options, by tyro: one frozen dataclass a command, and bad words as one line."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import tyro
from tyro.conf import Positional, arg
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from azjax.config import Config, LadderConfig
from envs.core import Game

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class TrainOptions:
    """Options of `azjax train GAME`."""

    config: Annotated[Config, arg(name="")]
    preset: str = "laptop"
    """The settings to begin with; the options below change single ones."""
    run_dir: Annotated[Path | None, arg(metavar="DIR", help_behavior_hint="(default: runs/GAME-TIME)")] = None
    """Where the run is kept; a run of the same settings that is there goes on."""


@dataclasses.dataclass(frozen=True)
class ResumeOptions:
    """Options of `azjax train --resume DIR`."""

    config: Annotated[Config, arg(name="")]
    resume: Annotated[Path, arg(metavar="DIR")]
    """The run that goes on."""


@dataclasses.dataclass(frozen=True)
class EloOptions:
    """Rates a run's networks and the random player by games between them.

    Matches played before with the same settings are not played again. What is not given is as the run's settings say.
    """

    directory: Annotated[Positional[Path], arg(metavar="DIR")]
    """The run."""
    games: Annotated[int | None, arg(metavar="INT", help_behavior_hint="(default: the run's rating.games)")] = None
    """Games of a match, half of them with either colour."""
    num_simulations: Annotated[
        int | None, arg(metavar="INT", help_behavior_hint="(default: the run's rating.num_simulations)")
    ] = None
    """Simulations a move; 0 plays the raw network."""
    opening_plies: Annotated[
        int | None, arg(metavar="INT", help_behavior_hint="(default: the run's rating.opening_plies)")
    ] = None
    """Uniformly random moves before each pair of games."""
    max_networks: Annotated[
        int | None, arg(metavar="INT", help_behavior_hint="(default: the run's rating.max_networks)")
    ] = None
    """At most this many of the run's networks, evenly spaced, play."""


@dataclasses.dataclass(frozen=True)
class CheckOptions:
    """Measures a run's network exactly, alone and with search.

    Where solved positions come with the game: the shares of its moves and values that perfect play agrees with. Where
    the game is small: its games against every possible opponent.
    """

    directory: Annotated[Positional[Path], arg(metavar="DIR")]
    """The run."""
    num_simulations: int = 64
    """Simulations a move; 0 measures the network alone."""
    iteration: Annotated[int | None, arg(metavar="INT", help_behavior_hint="(default: the newest)")] = None
    """Which of the run's networks."""
    json: bool = False
    """Print JSON."""


@dataclasses.dataclass(frozen=True)
class LadderOptions:
    """Lets a run's network climb the textbook's ladder: matches against Monte Carlo tree search with random playouts,
    which gets more simulations whenever it has lost every game."""

    directory: Annotated[Positional[Path], arg(metavar="DIR")]
    """The run."""
    ladder: Annotated[LadderConfig, arg(name="")] = dataclasses.field(default_factory=LadderConfig)
    num_simulations: int = 64
    """The network's simulations a move; 0 plays without search."""
    iteration: Annotated[int | None, arg(metavar="INT", help_behavior_hint="(default: the newest)")] = None
    """Which of the run's networks."""
    seed: int = 0
    """Of the playouts."""


@dataclasses.dataclass(frozen=True)
class PlayRunOptions:
    """A game in the terminal against a run's network, or against rollouts, a solver or random moves."""

    you: Literal["first", "second", "none"] = "first"
    """Whether you move first or second; with none the opponent plays both sides."""
    opponent: Literal["network", "rollouts", "solver", "random"] = "network"
    """Whom to play against."""
    num_simulations: int = 64
    """The opponent's simulations a move; 0 plays the network without search."""
    iteration: Annotated[int | None, arg(metavar="INT", help_behavior_hint="(default: the newest)")] = None
    """Which of the run's networks."""
    seed: int = 0
    """Of the opponent's random choices, where it makes any."""
    start: Annotated[str, arg(help_behavior_hint="(default: the usual start)")] = "startpos"
    """The position to begin with: in the game's notation, or "startpos moves ..."."""


@dataclasses.dataclass(frozen=True)
class PlayGameOptions:
    """A game in the terminal against random moves, rollouts or, where the game has one, a solver."""

    game: Game
    """The rules' settings."""
    you: Literal["first", "second", "none"] = "first"
    """Whether you move first or second; with none the opponent plays both sides."""
    opponent: Literal["rollouts", "solver", "random"] = "random"
    """Whom to play against: rollouts are Monte Carlo tree search without a network."""
    num_simulations: int = 1_000
    """The rollouts' simulations a move."""
    seed: int = 0
    """Of the opponent's random choices, where it makes any."""
    start: Annotated[str, arg(help_behavior_hint="(default: the usual start)")] = "startpos"
    """The position to begin with: in the game's notation, or "startpos moves ..."."""


@dataclasses.dataclass(frozen=True)
class GamesOptions:
    """Lists the games, or tells everything about one: its settings, sizes and presets."""

    game: Annotated[Positional[str | None], arg(metavar="[GAME]", help_behavior_hint="(default: all)")] = None
    """One game, or your own as module:Class."""


def parse(
    kind: type[T], args: Sequence[str], *, prog: str, default: T | None = None, description: str | None = None
) -> T:
    """The options that `args` give. Bad ones end in SystemExit with one line."""
    errors = io.StringIO()
    registry = ConstructorRegistry()
    registry.primitive_rule(_name_value_rule)
    try:
        with contextlib.redirect_stderr(errors):
            return tyro.cli(
                kind,
                args=args,
                prog=prog,
                description=description,
                default=tyro.MISSING_NONPROP if default is None else default,  # pyright: ignore[reportArgumentType]
                config=(tyro.conf.FlagConversionOff,) if default is not None else (tyro.conf.FlagCreatePairsOff,),
                registry=registry,
            )
    except SystemExit as stop:
        if not stop.code:
            raise
        raise SystemExit(_one_line(errors.getvalue(), prog)) from None


def _one_line(box: str, prog: str) -> str:
    """Tyro's framed error as a line: the first part of the frame, and the options that it suggests."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
    _, *rows = (row.strip("│╭╮╰╯| ") for row in plain.splitlines())  # the first is the frame's title
    rules = re.sub(r"^[─-]+$", "─", "\n".join(rows), flags=re.MULTILINE)  # one mark for each rule across the frame
    parts = [part.strip().splitlines() for part in rules.split("─") if part.strip()] or [[plain]]
    message = " ".join(parts[0]).rstrip(".")
    message = message.removeprefix("Error parsing config.game: ")
    message = re.sub(r"^Missing from .*?: (\S+) .*\(required\)$", r"\1 is missing", message)
    suggested = [
        row.split()[0] for part in parts[1:] if part[:1] == ["Perhaps you meant:"] for row in part if row[:2] == "--"
    ]
    hint = f"; perhaps {' or '.join(suggested)}" if suggested else ""
    return f"{message}{hint}; see {prog} --help"


def _name_value_rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[dict[str, float]] | None:
    """Tyro's rule for a dictionary of numbers: NAME=VALUE, any number of them, with any names."""
    if info.type != dict[str, float]:
        return None

    def read(words: list[str]) -> dict[str, float]:
        found = {}
        for word in words:
            name, _, value = word.partition("=")
            try:
                found[name] = float(value)
            except ValueError as error:
                raise ValueError(f"{word!r} is not NAME=VALUE with a number as value") from error
        return found

    return PrimitiveConstructorSpec(
        nargs="*",
        metavar="[NAME=VALUE ...]",
        instance_from_str=read,
        is_instance=lambda value: isinstance(value, dict),
        str_from_instance=lambda value: [f"{name}={number}" for name, number in value.items()],
    )


def option(args: Sequence[str], name: str) -> str | None:
    """The value of one option, which decides what the others may be."""
    for place, word in enumerate(args):
        if word == name:
            if place + 1 == len(args):
                raise SystemExit(f"{name} needs a value")
            return args[place + 1]
        if word.startswith(f"{name}="):
            return word.partition("=")[2]
    return None
