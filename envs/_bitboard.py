"""Bitboards: sets of squares as 32-bit words, for the games of the chess family.

Square `row * width + column` is bit `square % 32` of word `square // 32`. The words of a set are arrays of their own,
so that an operation on sets is the same few instructions for every game of a batch and no data moves between places.
A word may have a shape: `Squares` whose words are [8] are eight sets side by side, such as one for every direction.

Everything is said by looking: `look` takes a set to the squares from which one sees a member of it at a given offset.
A slider attacks a square if from there one looks at it, at a distance of one, two, ... over empty squares.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

_BITS = 32


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Squares:
    """A set of squares, or several side by side; & | and ~ as for sets, where ~ also sets bits beyond the board."""

    words: tuple[Any, ...]  # uint32 [*sets] each

    def __and__(self, other: Squares) -> Squares:
        return Squares(tuple(map(operator.and_, self.words, other.words)))

    def __or__(self, other: Squares) -> Squares:
        return Squares(tuple(map(operator.or_, self.words, other.words)))

    def __invert__(self) -> Squares:
        return Squares(tuple(map(operator.invert, self.words)))

    def __getitem__(self, index: Any) -> Squares:
        """Some of the sets that are side by side."""
        return Squares(tuple(word[index] for word in self.words))

    def where(self, condition: Any) -> Squares:
        """The set where the condition holds, else none."""
        return Squares(tuple(jnp.where(condition, word, np.uint32(0)) for word in self.words))

    def any(self) -> Bool[Array, "*sets"]:
        """Whether it has a member."""
        return functools.reduce(operator.or_, self.words) != 0

    def count(self) -> Int[Array, "*sets"]:
        """How many members it has, int32."""
        return sum((jax.lax.population_count(word).astype(jnp.int32) for word in self.words), jnp.int32(0))

    def union(self) -> Squares:
        """The members of any of the sets side by side."""
        return Squares(tuple(jax.lax.reduce(word, np.uint32(0), jax.lax.bitwise_or, (0,)) for word in self.words))

    def reshape(self, *shape: int) -> Squares:
        """The sets side by side in another shape."""
        return Squares(tuple(word.reshape(shape) for word in self.words))

    def repeat(self, number: int) -> Squares:
        """Each of the sets side by side so many times."""
        return Squares(tuple(jnp.repeat(word, number) for word in self.words))

    def pad(self, number: int) -> Squares:
        """So many empty sets more, along the first axis."""
        return Squares(tuple(jnp.pad(word, [(0, number)] + [(0, 0)] * (word.ndim - 1)) for word in self.words))

    def transpose(self) -> Squares:
        """[m, n] sets -> [n, m]."""
        return Squares(tuple(word.T for word in self.words))


def stack(sets: Sequence[Squares], axis: int = 0) -> Squares:
    """Sets -> the same side by side, along a new axis."""
    return Squares(tuple(jnp.stack(words, axis) for words in zip(*(s.words for s in sets), strict=True)))


def concatenate(sets: Sequence[Squares]) -> Squares:
    """Sets side by side, and more of them -> all side by side."""
    return Squares(tuple(jnp.concatenate(words) for words in zip(*(s.words for s in sets), strict=True)))


def join(one: Squares, other: Squares) -> Squares:
    """The union of sets [n] with sets [n], set by set.

    As a reduction, since XLA's CPU backend would compute an elementwise operation, and all that led to it, again for
    every square or action that depends on it.
    """
    return concatenate([one, other]).reshape(2, -1).union()


@dataclasses.dataclass(frozen=True)
class Board:
    """The squares of a board of so many rows and columns."""

    height: int
    width: int

    @property
    def size(self) -> int:
        """How many squares there are."""
        return self.height * self.width

    @property
    def num_words(self) -> int:
        return -(-self.size // _BITS)

    def constant(self, points: np.ndarray) -> Squares:
        """The set of the squares that are True in a NumPy array [height, width] or [size], or [*sets, size]."""
        points = np.asarray(points, bool)
        points = points.reshape(-1) if points.shape == (self.height, self.width) else points
        spread = np.zeros((*points.shape[:-1], self.num_words * _BITS), np.uint64)
        spread[..., : self.size] = points
        words = spread.reshape(*points.shape[:-1], self.num_words, _BITS) << np.arange(_BITS, dtype=np.uint64)
        return Squares(tuple(np.moveaxis(words.sum(-1).astype(np.uint32), -1, 0)))

    def rows(self, *rows: int) -> Squares:
        """All squares of these rows; -1 is the last."""
        points = np.zeros((self.height, self.width), bool)
        points[list(rows)] = True
        return self.constant(points)

    @functools.cached_property
    def all(self) -> Squares:
        """The whole board."""
        return self.rows(*range(self.height))

    def pack(self, points: Bool[Array, "*sets size"]) -> Squares:
        """The set of the squares that are True."""
        spread = jnp.pad(points, [(0, 0)] * (points.ndim - 1) + [(0, self.num_words * _BITS - self.size)])
        words = spread.reshape(*points.shape[:-1], self.num_words, _BITS).astype(jnp.uint32)
        places = np.arange(_BITS, dtype=np.uint32).reshape((1,) * points.ndim + (-1,))
        words = (words << places).sum(-1, dtype=jnp.uint32)
        return Squares(tuple(words[..., i] for i in range(self.num_words)))

    def points(self, squares: Squares) -> Bool[Array, "size *sets"]:
        """One bool for every square."""
        words = jnp.stack(squares.words)
        places = np.arange(_BITS, dtype=np.uint32).reshape((1, -1) + (1,) * (words.ndim - 1))
        points = (words[:, None] >> places) & 1 == 1
        return points.reshape(-1, *words.shape[1:])[: self.size]

    def square(self, number: Int[Array, "*sets"]) -> Squares:
        """The one square of that number; none if the board has no such square."""
        bit = jnp.uint32(1) << (number % _BITS).astype(jnp.uint32)
        words = (jnp.where(number // _BITS == word, bit, np.uint32(0)) for word in range(self.num_words))
        return Squares(tuple(words)) & self.all

    def has(self, sets: Squares, index: Int[Array, ""], number: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether that one of the sets [n] has the square of that number; False if there is no such set or square.

        The reduction comes last, so that what depends on the answer does not ask again.
        """
        word, bit = number // _BITS, (number % _BITS).astype(jnp.uint32)
        there = [(words >> bit) & 1 == jnp.where(word == i, 1, 2) for i, words in enumerate(sets.words)]
        return jnp.any(functools.reduce(operator.or_, there) & (np.arange(len(sets.words[0])) == index))

    def offsets(self, *offsets: tuple[int, int]) -> Offsets:
        """For `look`: so many rows and columns away, for each of the sets side by side."""
        return Offsets(self, offsets)


@dataclasses.dataclass(frozen=True)
class Offsets:
    """Where to look: the square (row + down, column + right), for each (down, right)."""

    board: Board
    offsets: tuple[tuple[int, int], ...]

    def look(self, squares: Squares) -> Squares:
        """The squares from which one sees a member at the offset: [*sets] or [offsets] words -> [offsets]."""
        words = (np.uint32(0), *squares.words, np.uint32(0))
        seen = []
        for i, on_board in enumerate(self._on_board, 1):
            low = jnp.where(self._backwards, words[i - 1], words[i])
            high = jnp.where(self._backwards, words[i], words[i + 1])
            seen.append((low >> self._shift | high << (np.uint32(_BITS) - self._shift)) & on_board)
        return Squares(tuple(seen))

    def rays(self, seen: Squares, over: Squares) -> Squares:
        """The squares from which one sees a member of `seen` at the distance of 1, 2, ... steps over members of `over`,
        as far as the board goes: [*sets] or [offsets] words -> [distances, offsets].

        As a loop, which XLA's CPU backend does not compute anew for everything that depends on it.
        """

        def step(front: Squares, _: None) -> tuple[Squares, Squares]:
            found = self.look(front)
            return found & over, found

        start = Squares(tuple(jnp.broadcast_to(word, (len(self.offsets),)) for word in seen.words))
        return jax.lax.scan(step, start, length=max(self.board.height, self.board.width) - 1)[1]

    @functools.cached_property
    def _distance(self) -> np.ndarray:
        """How many squares away, counted along the rows; less than a word."""
        down, right = np.array(self.offsets).T
        return down * self.board.width + right

    @functools.cached_property
    def _backwards(self) -> np.ndarray:
        return self._distance < 0

    @functools.cached_property
    def _shift(self) -> np.ndarray:
        return (self._distance % _BITS).astype(np.uint32)

    @functools.cached_property
    def _on_board(self) -> tuple[np.ndarray, ...]:
        """The squares from which the offset leads to a square of the board, by words."""
        height, width = self.board.height, self.board.width
        row, column = np.divmod(np.arange(self.board.size), width)
        down, right = np.array(self.offsets).T[..., None]
        inside = (row + down >= 0) & (row + down < height) & (column + right >= 0) & (column + right < width)
        return self.board.constant(inside).words
