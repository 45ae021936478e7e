"""What all settings have in common: they are frozen dataclasses, a bound is part of a field's type, and a setting is
named by its path, as in "search.puct.c_puct"."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Interval, Le, Lt, MultipleOf

T = TypeVar("T")


class Difference(NamedTuple):
    """One setting that two configurations have differently; None where one of them has no such setting."""

    name: str
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.name}: {self.old} -> {self.new}"


def replace(settings: T, changes: Mapping[str, Any]) -> T:
    """The settings with changes put in: {"search": {"num_simulations": 8}} and {"search.num_simulations": 8} alike.

    Raises ValueError for a setting that isn't there, naming those that are.
    """
    return _replace(settings, changes, "")


def _replace(settings: Any, changes: Mapping[str, Any], prefix: str) -> Any:
    known = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
    new: dict[str, Any] = {}
    for path, value in changes.items():
        name, _, rest = path.partition(".")
        group = known.get(name)
        if name not in known or (rest and not dataclasses.is_dataclass(group)):
            there = f"settings of {prefix[:-1]}" if prefix else "settings"
            raise ValueError(f"unknown setting {prefix}{path}; {there}: {', '.join(known)}")
        if rest or (dataclasses.is_dataclass(group) and isinstance(value, Mapping)):
            inner = {rest: value} if rest else value
            new[name] = _replace(new.get(name, group), inner, f"{prefix}{name}.")
        else:
            new[name] = tuple(value) if isinstance(value, list) else value
    return dataclasses.replace(settings, **new)


def merge(*changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes for `replace`, as nested groups, the later ones over the earlier, setting by setting."""
    merged: dict[str, Any] = {}
    for one in changes:
        for path, value in one.items():
            name, _, rest = path.partition(".")
            value = {rest: value} if rest else value
            old = merged.get(name, {})
            nested = isinstance(value, Mapping) and not name.endswith("options")
            merged[name] = merge(old, value) if nested and isinstance(old, Mapping) else value
    return merged


def flatten(fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested fields by their paths. A dictionary that is a value, like an optimiser's options, stays whole."""
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        nested = isinstance(value, Mapping) and not name.endswith("options")
        flat |= flatten(value, f"{prefix}{name}.") if nested else {prefix + name: value}
    return flat


def require_in_bounds(settings: Any, prefix: str = "") -> None:
    """Raises ValueError, naming the setting, for the first value that is not of its type or out of its bounds."""
    for name, hint in get_type_hints(type(settings), include_extras=True).items():
        value = getattr(settings, name)
        if dataclasses.is_dataclass(value):
            if name != "game":  # which checks itself as it is made
                require_in_bounds(value, f"{prefix}{name}.")
            continue
        kind, *bounds = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        _require_type(prefix + name, value, kind)
        for bound in bounds:
            for words, holds in _conditions(bound, value):
                if not holds:
                    raise ValueError(f"{prefix}{name} must be {words}, got {value}")


def _require_type(name: str, value: Any, kind: Any) -> None:
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, get_args(kind)))}")
    elif kind in (bool, int, float, str):
        accepted = (int, float) if kind is float else kind
        if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"{name} must be of type {kind.__name__}, got {value!r}")


def _conditions(bound: Any, value: Any) -> Iterator[tuple[str, bool]]:
    """A bound as words, and whether the value keeps it; a NaN keeps none."""
    if isinstance(bound, Interval):
        for part in bound:
            yield from _conditions(part, value)
    elif isinstance(bound, Ge):
        yield f"at least {bound.ge}", value >= bound.ge
    elif isinstance(bound, Gt):
        yield f"above {bound.gt}", value > bound.gt
    elif isinstance(bound, Le):
        yield f"at most {bound.le}", value <= bound.le
    elif isinstance(bound, Lt):
        yield f"below {bound.lt}", value < bound.lt
    elif isinstance(bound, MultipleOf):
        yield f"a multiple of {bound.multiple_of}", value % bound.multiple_of == 0
