"""The house's rules: who may import whom, how long a file may be, and what stands in no file.

The order of azjax's modules and packages is read from the docstring of `azjax/__init__.py`, the order of a package's
modules from its own.
"""

from __future__ import annotations

import ast
import importlib.metadata
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
AZJAX = sorted((ROOT / "azjax").rglob("*.py"))
ENVS = sorted((ROOT / "envs").rglob("*.py"))
SOURCES = [*AZJAX, *ENVS, *sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "experiments").rglob("*.py"))]
PACKAGES = sorted({path.parent for path in AZJAX})
MAX_LINES = 450


def each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=lambda path: str(path.relative_to(ROOT)))


def order(package: Path) -> list[str]:
    """The modules of a package as its docstring lists them: a line each, two spaces before the clause."""
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_text()), clean=False) or ""
    return re.findall(r"^ *(\w+)  ", docstring, re.MULTILINE)


def members(package: Path) -> set[str]:
    """The modules and packages in a package, but for what begins with two underscores."""
    found = {path.relative_to(package).parts[0].removesuffix(".py") for path in AZJAX if package in path.parents}
    return {name for name in found if not name.startswith("__")}


def imports(path: Path) -> Iterator[str]:
    """Every module that a file imports, anywhere in it. `from a import b` is both `a` and `a.b`: b may be a module."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*package[: len(package) - node.level + 1], *([node.module] if node.module else [])])
            module = base if node.level else str(node.module)
            yield module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def top(modules: Iterator[str]) -> set[str]:
    """The packages of these modules, less the standard library's."""
    return {module.partition(".")[0] for module in modules} - sys.stdlib_module_names


def stage(path: Path) -> str:
    return path.relative_to(ROOT / "azjax").parts[0].removesuffix(".py")


@each(PACKAGES)
def test_docstring_lists_every_module_once(path: Path):
    listed = order(path)
    assert set(listed) ^ members(path) == set(), f"the list in {path}/__init__.py differs from its files by these"
    assert len(listed) == len(set(listed))


@each(PACKAGES)
def test_no_room_is_empty(path: Path):
    assert members(path), f"{path} has no module: a package comes with its first file"


@each([path for path in AZJAX if path != ROOT / "azjax/__init__.py"])
def test_arrows_run_one_way(path: Path):
    """In azjax, and in every package within it: an `__init__` may import all of its own modules."""
    for package in PACKAGES:
        if package not in path.parents:
            continue
        own = path.relative_to(package).parts[0].removesuffix(".py")
        if own == "__init__":
            continue
        place = {name: index for index, name in enumerate(order(package))}
        prefix = ".".join(package.relative_to(ROOT).parts) + "."
        used = {module.removeprefix(prefix).split(".")[0] for module in imports(path) if module.startswith(prefix)}
        wrong = {name for name in used & set(place) if place[name] > place.get(own, len(place))}
        assert not wrong, f"{own} imports {wrong}, which {package.relative_to(ROOT)}/__init__.py lists after it"


@each(ENVS)
def test_rules_import_no_more_than_jax_and_numpy(path: Path):
    readers = {"chess", "sgfmill"} if path.parent.name == "notation" else set()
    assert top(imports(path)) <= {"envs", "jax", "jaxtyping", "numpy"} | readers


@each(AZJAX)
def test_algorithm_names_no_game(path: Path):
    games = {path.stem for path in ENVS} - {"__init__", "core"}
    named = {module for module in imports(path) if module.startswith("envs.") and module.split(".")[1] in games}
    assert not named, "azjax knows games by envs.make and envs.core only"


@each(AZJAX)
def test_libraries_stay_in_their_place(path: Path):
    used = top(imports(path))
    assert "mctx" not in used or stage(path) == "search"
    assert "orbax" not in used or path.stem == "checkpoint"
    if path.stem == "bayeselo":
        assert used <= {"numpy", "scipy", "jaxtyping", "azjax"}
    if path == ROOT / "azjax/__init__.py":
        assert used <= {"azjax"}, "importing azjax imports nothing before a name is used"


@each(SOURCES)
def test_file_is_read_in_one_sitting(path: Path):
    assert len(path.read_text().splitlines()) <= MAX_LINES


@each([path for path in [*SOURCES, *sorted(ROOT.glob("notebooks/*.ipynb"))] if path != Path(__file__)])
def test_nothing_private_or_gone(path: Path):
    text = path.read_text()
    assert "jax.pmap" not in text, "use a mesh: jax.shard_map"
    assert "mctx._src" not in text, "use mctx's public functions"


@each([path for path in SOURCES if path.is_relative_to(ROOT / "tests") and path != Path(__file__)])
def test_no_oracle_goes_missing_unseen(path: Path):
    assert "importorskip" not in path.read_text(), "import it plainly, and have the extra `test` install it"


def test_no_file_names_a_registry_or_a_path_of_this_machine():
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    # In pieces, so that this file does not hold them.
    words = ["pypi" + ".org", "python" + "hosted.org", "npm" + "js.org", "deb." + "debian.org", "/" + "work/"]
    found = [
        (name, word)
        for name in filter(None, listed.stdout.split("\0"))
        if (ROOT / name).is_file()
        for word in words
        if word.encode() in (ROOT / name).read_bytes()
    ]
    assert not found


def test_envs_is_ours():
    """An unrelated package named envs exists; whichever is installed last overwrites the other's files."""
    import envs

    strangers = list(importlib.metadata.distributions(name="envs"))
    assert not strangers and hasattr(envs, "make"), (
        f"an unrelated package named envs is installed over azjax's rules ({envs.__path__}); "
        "pip uninstall envs, then install azjax again"
    )


def test_importing_starts_no_backend():
    walk = """
import importlib, pkgutil, azjax, envs
for package in (azjax, envs):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
"""
    # Whatever starts a backend fails for want of one of this name.
    environment = os.environ | {"JAX_PLATFORMS": "nonsense"}
    done = subprocess.run([sys.executable, "-c", walk], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
