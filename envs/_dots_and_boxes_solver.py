"""Dots and boxes solved exactly: one number for every set of drawn lines."""

from __future__ import annotations

import functools

import numpy as np
from jaxtyping import Int8

MAX_LINES = 24  # 3x3 boxes: 16 MB
_CHUNK = 1 << 15  # positions worked on at once, so that they stay in the cache
_UNKNOWN = np.int8(-128)  # its own negative in int8, so it loses every maximum either way


@functools.lru_cache(maxsize=4)
def margins(rows: int, columns: int) -> Int8[np.ndarray, " sets"]:
    """The boxes that the mover will still win minus those that the opponent will, under perfect play of both, for every
    set of drawn lines: bit `i` of the index is line `i`, numbered as the game's actions. Read-only."""
    num_lines = (rows + 1) * columns + rows * (columns + 1)
    if num_lines > MAX_LINES:
        raise ValueError(f"{rows} x {columns} boxes have {num_lines} lines; the solver takes at most {MAX_LINES}")
    closed = _closed_boxes(rows, columns)
    margin = np.full(1 << num_lines, _UNKNOWN)
    margin[-1] = 0
    drawn = np.bitwise_count(np.arange(1 << num_lines, dtype=np.uint32))
    bits = 1 << np.arange(num_lines)
    # A position is worth what its best successor leaves, and every successor has one more line drawn.
    for count in range(num_lines - 1, -1, -1):
        layer = np.flatnonzero(drawn == count)
        for start in range(0, len(layer), _CHUNK):
            here = layer[start : start + _CHUNK]
            closed_here = closed[here]
            best = np.full(len(here), _UNKNOWN)
            for bit in bits:
                after = here | bit  # equals `here`, still unknown, where the line is drawn already
                gain = closed[after] - closed_here
                margin_after = margin[after]
                np.maximum(best, np.where(gain > 0, gain + margin_after, -margin_after), out=best)
            margin[here] = best
    margin.setflags(write=False)
    return margin


def _closed_boxes(rows: int, columns: int) -> Int8[np.ndarray, " sets"]:
    """How many boxes are closed, for every set of drawn lines."""
    num_horizontal = (rows + 1) * columns
    num_lines = num_horizontal + rows * (columns + 1)
    closed = np.zeros((2,) * num_lines, np.int8)  # axis j is bit num_lines - 1 - j of the flat index
    for row in range(rows):
        for column in range(columns):
            top = row * columns + column
            left = num_horizontal + row * (columns + 1) + column
            index: list[int | slice] = [slice(None)] * num_lines
            for line in (top, top + columns, left, left + 1):
                index[num_lines - 1 - line] = 1
            closed[tuple(index)] += 1
    return closed.reshape(-1)
