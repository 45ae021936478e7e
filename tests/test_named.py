"""What tests name is there: the cases of bug reports in `data/cases.json`, the laws in `LAWS.md`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from data import CASES

TESTS = Path(__file__).parent
CASE = re.compile(r"\b[A-Z][A-Z0-9]-\d\d\b")
LAW = re.compile(r"\blaws?\s+(\d+(?:(?:,|,?\s+and)\s+\d+)*)", re.IGNORECASE)


def texts() -> dict[str, str]:
    """Every file of text under `tests`, by its path there."""
    files = sorted(path for path in TESTS.rglob("*") if path.suffix in (".json", ".md", ".py"))
    return {path.relative_to(TESTS).as_posix(): path.read_text() for path in files}


def laws_named(text: str) -> set[int]:
    """1, 2 and 3, if the text has "law 1" and "laws 2 and 3"."""
    return {int(number) for numbers in LAW.findall(text) for number in re.findall(r"\d+", numbers)}


def laws_listed() -> dict[int, set[str]]:
    """The files behind each law of `LAWS.md`."""
    items = re.split(r"^(\d+)\. ", (TESTS / "LAWS.md").read_text(), flags=re.MULTILINE)[1:]
    numbers = [int(number) for number in items[::2]]
    assert numbers == [*range(1, len(numbers) + 1)], "Markdown counts the laws from 1 whatever they are called"
    return {n: set(re.findall(r"`([\w/]+\.py)`", law)) for n, law in zip(numbers, items[1::2], strict=True)}


def laws_stated() -> dict[int, set[str]]:
    """The files whose tests name a law in their docstrings."""
    stated: dict[int, set[str]] = {}
    for name, text in texts().items():
        if not Path(name).match("test_*.py"):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                for law in laws_named(ast.get_docstring(node) or ""):
                    stated.setdefault(law, set()).add(name)
    return stated


def test_every_case_that_is_named_is_kept():
    named = {name: set(CASE.findall(text)) for name, text in texts().items()}
    assert named["data/cases.json"] >= set(CASES), "the pattern misses cases"
    unknown = {name: sorted(cases - set(CASES)) for name, cases in named.items() if cases - set(CASES)}
    assert not unknown, "these cases are not in data/cases.json"


def test_every_law_that_is_named_is_listed():
    listed = set(laws_listed())
    unknown = {name: laws_named(text) - listed for name, text in texts().items() if laws_named(text) - listed}
    assert not unknown, "these laws are not in LAWS.md"


def test_every_law_is_stated_by_the_files_behind_it():
    """By all of them, and by no other."""
    assert laws_listed() == laws_stated(), "LAWS.md and the docstrings of tests differ"
