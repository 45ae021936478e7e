"""Square boards as a few 32-bit words: sets of points on which a step to the neighbours is a handful of shifts.

A row takes size + 1 bits, the last of them always clear, so that no step leads from one edge to the other; a word
holds as many whole rows as fit: three for a size of 9, one for 19. Point (row, column) has the number
`row * size + column`. Where a function takes several sets at once, they stand side by side: [words, sets].
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt32

_UNROLLED = 3  # steps of a flood between two looks at whether it goes on


@dataclasses.dataclass(frozen=True)
class Grid:
    """The words of a square board of 2 to 31 rows."""

    size: int

    @property
    def pitch(self) -> int:
        """The bits from a point to the one below it."""
        return self.size + 1

    @property
    def rows(self) -> int:
        """How many rows a word holds."""
        return 32 // self.pitch

    @property
    def num_words(self) -> int:
        return -(-self.size // self.rows)

    @functools.cached_property
    def board(self) -> np.ndarray:
        """All points."""
        return self.pack(np.ones((self.size, self.size), bool))

    # --- to and from words ---

    def pack(self, points: np.ndarray) -> np.ndarray:
        """The words of bool [size, size], on the host."""
        bits = self.spread(points.reshape(-1)).astype(np.uint64) << np.arange(self.rows * self.pitch, dtype=np.uint64)
        return bits.sum(-1).astype(np.uint32)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values [..., size * size] laid out as `bits` lays out points, zero between them, on the host."""
        spread = np.zeros((*values.shape[:-1], self.num_words * self.rows, self.pitch), values.dtype)
        spread[..., : self.size, : self.size] = values.reshape(*values.shape[:-1], self.size, self.size)
        return spread.reshape(*values.shape[:-1], self.num_words, -1)

    def bits(self, words: UInt32[Array, " words"]) -> Bool[Array, "words bits"]:
        """One bool for every bit of a word that belongs to a row."""
        return _shifted(words, np.arange(self.rows * self.pitch)) & 1 == 1

    def points(self, words: UInt32[Array, "words *sets"]) -> Bool[Array, "size size *sets"]:
        """One bool for every point."""
        rows = _shifted(words, np.arange(self.rows) * self.pitch).reshape(-1, *words.shape[1:])[: self.size]
        return _shifted(rows, np.arange(self.size)) & 1 == 1

    def point(self, number: Int[Array, ""]) -> UInt32[Array, " words"]:
        """The one point of that number; none if the board has no such point."""
        row, column = number // self.size, number % self.size
        bit = jnp.uint32(1) << (row % self.rows * self.pitch + column).astype(jnp.uint32)
        return jnp.where(np.arange(self.num_words) == row // self.rows, bit, 0) & self.board

    # --- sets of points ---

    def first(self, points: UInt32[Array, " words"]) -> UInt32[Array, " words"]:
        """The first of these points, if there is any."""
        return jnp.where(np.arange(self.num_words) == jnp.argmax(points != 0), points & -points, 0)

    def sides(self, points: UInt32[Array, "words *sets"]) -> tuple[UInt32[Array, "words *sets"], ...]:
        """The points to the left, to the right, above and below."""
        pitch, across = np.uint32(self.pitch), np.uint32((self.rows - 1) * self.pitch)
        none = jnp.zeros_like(points[:1])
        above = jnp.concatenate([points[1:], none]) << across
        below = jnp.concatenate([none, points[:-1]]) >> across
        if self.rows > 1:
            above, below = above | points >> pitch, below | points << pitch
        board = self.board.reshape(-1, *[1] * (points.ndim - 1))
        return tuple(side & board for side in (points >> 1, points << 1, above, below))

    def near(self, points: UInt32[Array, "words *sets"]) -> UInt32[Array, "words *sets"]:
        """All neighbours of these points."""
        return functools.reduce(jnp.bitwise_or, self.sides(points))

    def flood(
        self, seeds: UInt32[Array, "words *sets"], within: UInt32[Array, "words *sets"]
    ) -> UInt32[Array, "words *sets"]:
        """All points of `within` that are connected in it to a point of `seeds`, which lie in it.

        The words are arrays of their own here: no data moves between the places of an array, and all is vectorised.
        """
        pitch, across = np.uint32(self.pitch), np.uint32((self.rows - 1) * self.pitch)
        masks = tuple(within)

        def step(words):
            grown = []
            for i, word in enumerate(words):
                new = word | word >> 1 | word << 1
                if self.rows > 1:
                    new = new | word >> pitch | word << pitch
                if i > 0:
                    new = new | words[i - 1] >> across
                if i + 1 < len(words):
                    new = new | words[i + 1] << across
                grown.append(new & masks[i])
            return grown

        def grow(carry):
            words = new = carry[0]
            for _ in range(_UNROLLED):
                new = step(new)
            changes = [a ^ b for a, b in zip(words, new, strict=True)]
            return tuple(new), jnp.any(functools.reduce(jnp.bitwise_or, changes) != 0)

        words, _ = jax.lax.while_loop(lambda carry: carry[1], grow, (tuple(seeds), jnp.any(seeds != 0)))
        return jnp.stack(words)


def _shifted(words: UInt32[Array, "words *sets"], places: np.ndarray) -> UInt32[Array, "words places *sets"]:
    """The words shifted so that the bits at these places come first."""
    return words[:, None] >> places.astype(np.uint32).reshape(1, -1, *[1] * (words.ndim - 1))


def count(points: UInt32[Array, "words *sets"]) -> Int[Array, "*sets"]:
    """How many points there are."""
    return jax.lax.population_count(points).astype(jnp.int32).sum(0)


def union(points: UInt32[Array, "words sets"]) -> UInt32[Array, " words"]:
    """The points of any of these sets."""
    return jax.lax.reduce(points, np.uint32(0), jax.lax.bitwise_or, (1,))
