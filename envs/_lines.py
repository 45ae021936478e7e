"""Lines of stones on boards that are kept as words: one unsigned integer a row (or a column), one bit a point.

Neighbours within a word are one bit apart, across words one word apart. Stones never wrap from one edge to the other,
since no shift carries between words and what leaves a word is lost.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, UInt

_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))  # (words, bits) from a stone to the next one of the same line


def word_dtype(bits: int) -> type[np.unsignedinteger]:
    """The smallest unsigned type that holds so many points."""
    return next(t for t in (np.uint8, np.uint16, np.uint32) if bits <= np.iinfo(t).bits)


def points(words: UInt[Array, " words"], bits: int) -> Bool[Array, "words bits"]:
    """The board of these words, one bool a point."""
    return (words[:, None] >> np.arange(bits, dtype=words.dtype)[None, :]) & 1 == 1


def has_line(words: UInt[Array, " words"], length: int, *, exactly: bool = False) -> Bool[Array, ""]:
    """Whether `length` or more stones stand in a line; with `exactly`, whether some unbroken line is no longer."""
    found = jnp.bool_(False)
    for direction in _DIRECTIONS:
        begins = _line_begins(words, length, direction)
        if exactly:
            longer = _line_begins(words, length + 1, direction)
            along, across = direction
            longer_here, longer_before = jnp.pad(longer, (0, along)), _shift(jnp.pad(longer, (along, 0)), -across)
            begins = begins & ~longer_here & ~longer_before
        found = found | jnp.any(begins != 0)
    return found


def _line_begins(words: Array, length: int, direction: tuple[int, int]) -> Array:
    """The points at which `length` stones in a row begin, for those words on which so long a line can begin."""
    along, across = direction
    done = 1  # words marks the points at which lines of this length begin
    while done < length:
        hop = min(done, length - done)
        words = words[: len(words) - along * hop] & _shift(words[along * hop :], across * hop)
        done += hop
    return words


def _shift(words: Array, bits: int) -> Array:
    """Each point takes the value of the point so many bits further on."""
    return words >> bits if bits >= 0 else words << -bits
