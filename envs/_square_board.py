"""What square boards share: the names of their points, their drawing as text, and their eight symmetries.

Row 0 is drawn at the top; point (row, column) is action `row * size + column`. A point's name is its column's letter
and its row's number counted from the bottom: "a1" is the lower left corner; with `numbers_from_top` the upper left one.
"""

from __future__ import annotations

import functools
import itertools
import string

import numpy as np

from envs.core import Symmetry


def point_name(size: int, action: int, *, numbers_from_top: bool = False) -> str:
    """The name of a point: "d4"."""
    row, column = divmod(action, size)
    return f"{string.ascii_lowercase[column]}{row + 1 if numbers_from_top else size - row}"


def draw(
    marks: list[list[str]],
    last: tuple[int, int] | None = None,
    *,
    numbers_from_top: bool = False,
    letters: str = string.ascii_lowercase,
) -> str:
    """A board of one-character marks with its coordinates; the point `last` stands in brackets."""
    size = len(marks)
    letters = "   " + " ".join(letters[:size])
    lines = []
    for row, line in enumerate(marks):
        gaps = [" "] * (size + 1)
        if last is not None and last[0] == row:
            gaps[last[1] : last[1] + 2] = "()"
        points = "".join(gap + mark for gap, mark in zip(gaps, line, strict=False)) + gaps[-1]
        number = row + 1 if numbers_from_top else size - row
        lines.append(f"{number:2}{points}{number}")
    return "\n".join([letters, *lines, letters])


@functools.cache
def symmetries(size: int, extra_actions: int = 0) -> tuple[Symmetry, ...]:
    """The four rotations and their mirror images, the identity first; actions after the points (a pass) stay."""
    found = []
    for transpose, flip_rows, flip_columns in itertools.product((False, True), repeat=3):
        turn = functools.partial(_turn, transpose, flip_rows, flip_columns)
        source = turn(np.arange(size * size).reshape(size, size)).ravel()  # the point that comes to lie here
        extra = np.arange(size * size, size * size + extra_actions)
        found.append(Symmetry(turn, np.concatenate([np.argsort(source), extra]).astype(np.int32)))
    return tuple(found)


def _turn(transpose: bool, flip_rows: bool, flip_columns: bool, board):
    """The board (a NumPy or JAX array, two or more axes) turned over."""
    board = board.swapaxes(0, 1) if transpose else board
    return board[:: -1 if flip_rows else 1, :: -1 if flip_columns else 1]
