"""A network of one's own: `module:function`, or `file.py:function`, the function being `make(game, config)`.

A run keeps a copy of the file beside its parameters, so that it goes on with the same network whatever becomes of the
file, and wherever the run is opened.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

BUILT_IN = "resnet"


def load_make(name: str) -> Callable[..., Any]:
    """The function of that name. Raises ValueError, saying what is expected, if there is none."""
    module_name, function = _parts(name)
    try:
        file = source_of(name)
        module = importlib.import_module(module_name) if file is None else _import_file(file)
        make = getattr(module, function)
    except Exception as error:  # whatever goes wrong in a file that is not ours
        reason = f"{type(error).__name__}: {error}" if not isinstance(error, AttributeError) else error
        raise ValueError(f"no network {name!r}: {reason}") from error
    if not callable(make):
        raise ValueError(f"{name!r} is not a function make(game, config) that makes a network: {make!r}")
    return make


def source_of(name: str) -> Path | None:
    """The one file that a network is written in; None for the built-in one, and for a module inside a package, which is
    imported by its name and not copied. Raises ValueError if there is no such file."""
    if name == BUILT_IN:
        return None
    module_name, _ = _parts(name)
    if module_name.endswith(".py"):
        file = Path(module_name)
        if not file.is_file():
            raise ValueError(f"no network {name!r}: there is no file {file}")
        return file
    if "." in module_name:
        return None
    spec = importlib.util.find_spec(module_name) if module_name != "__main__" else None
    if spec is None or spec.origin is None or spec.submodule_search_locations is not None:
        if spec is not None:
            return None
        raise ValueError(f"no network {name!r}: there is no module {module_name} on Python's path")
    return Path(spec.origin)


def fingerprint(name: str) -> str:
    """What tells two sources of one name apart; empty where there is no file of one's own."""
    file = source_of(name)
    return "" if file is None else hashlib.sha256(file.read_bytes()).hexdigest()


def in_file(name: str, file: Path) -> str:
    """The same function, in another file."""
    return f"{file}:{_parts(name)[1]}"


def _parts(name: str) -> tuple[str, str]:
    module, colon, function = name.rpartition(":")
    if not (colon and module and function.isidentifier()):
        raise ValueError(
            f"network.make={name!r} is neither {BUILT_IN} nor module:function nor file.py:function; "
            "your own network is a function make(game, config) in a file"
        )
    return module, function


def _import_file(file: Path) -> Any:
    """The module in a file, under a name that no other file or source has."""
    digest = hashlib.sha256(str(file.resolve()).encode() + file.read_bytes()).hexdigest()[:16]
    name = f"azjax_network_{digest}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
