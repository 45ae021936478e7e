"""Words of the command line -> a command's options, by tyro; bad words are one line."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Sequence
from typing import TypeVar

import tyro
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

T = TypeVar("T")


def parse(
    kind: type[T], args: Sequence[str], *, prog: str, default: T | None = None, description: str | None = None
) -> T:
    """The options that `args` give. Bad ones end in SystemExit with one line."""
    args = [re.sub("^--network(?==|$)", "--network.make", word) for word in args]
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


def settings_given(args: Sequence[str]) -> list[str]:
    """The names of the settings that words of the command line give."""
    return [word[2:].partition("=")[0].replace("-", "_") for word in args if word.startswith("--")]


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
