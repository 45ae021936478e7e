"""Othello: a disc turns over every row of the opponent's discs that lies between it and another disc of its colour.

Actions are `row * size + column` from the upper left, then the pass. Their text is column and row as the field writes
them, "a1" at the upper left, and "pass". Who has no move must pass, and nobody else may. The game is over as soon as
neither side has a move, without any passes, as in OpenSpiel; more discs win, and as many discs each are a draw.

The board is two words, its upper and its lower half, a bit a square in the order of the actions. Whole boards are
shifted to follow the rows of all discs at once, so that a move is a fixed sequence of bit operations on a few words.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt

from envs import _square_board
from envs._lines import points
from envs.core import Game, Move, Symmetry

Words = tuple[Array, Array]  # the upper and the lower word of one board, or of several, one a direction


class State(NamedTuple):
    """A position, 18 bytes."""

    own: UInt[Array, "2"]  # the discs of the player to move, uint32
    opponent: UInt[Array, "2"]  # the other player's
    player: Int[Array, ""]
    terminated: Bool[Array, ""]


@dataclasses.dataclass(frozen=True)
class Othello(Game[State]):
    """The rules on a board of 4, 6 or 8 squares a side; the first player (black) starts with e4 and d5 on 8x8."""

    size: int = 8

    def __post_init__(self) -> None:
        if self.size not in (4, 6, 8):
            raise ValueError(f"othello's size is 4, 6 or 8 (four discs lie in its middle first), got size={self.size}")

    @property
    def num_actions(self) -> int:
        return self.size**2 + 1

    @property
    def max_legal_actions(self) -> int:
        """All squares but the four that are never empty; the pass is never one of several."""
        return self.size**2 - 4

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return self.size, self.size, 2

    @property
    def max_moves(self) -> int:
        """A disc on every square, and a pass between any two: after a pass there is a move."""
        return 2 * (self.size**2 - 4) - 1

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """The four of the square that keep the start: identity, half turn, and the reflections in the diagonals.

        The other four exchange the colours of the first discs, so that they lead to positions which no game reaches.
        """
        right, left = (square for square, own in enumerate(self._start()[0].ravel()) if own)
        every = _square_board.symmetries(self.size, extra_actions=1)
        return tuple(symmetry for symmetry in every if symmetry.actions[right] in (right, left))

    def init(self) -> State:
        own, opponent = (self._words(discs) for discs in self._start())
        return State(jnp.asarray(own), jnp.asarray(opponent), player=jnp.int8(0), terminated=jnp.bool_(False))

    def observe(self, state: State) -> Bool[Array, "size size 2"]:
        """Own discs, opponent's discs. Nothing else matters, the colour of the player to move included."""
        words = jnp.stack([state.own, state.opponent], axis=-1)[:, None]
        bits = np.arange(self._half, dtype=np.uint32)[None, :, None]
        return (words >> bits & 1 == 1).reshape(self.observation_shape)

    def _legal(self, state: State) -> Bool[Array, " actions"]:
        moves = self._moves(state.own, state.opponent)
        passes = jnp.all(moves == 0).astype(moves.dtype)  # the third word's first bit
        return points(jnp.append(moves, passes), self._half).reshape(-1)[: self.num_actions]

    def _move(self, state: State, action: Int[Array, ""]) -> Move[State]:
        disc = self._place(action)
        turned = self._turned(disc, state.own, state.opponent)
        own, opponent = state.own | disc | turned, state.opponent & ~turned
        over = jnp.all(self._moves(own, opponent) | self._moves(opponent, own) == 0)
        lead = jnp.sum(_count(own) - _count(opponent))
        after = State(opponent, own, player=1 - state.player, terminated=over)
        return Move(after, reward=jnp.where(over, jnp.sign(lead), 0.0))

    def render(self, state: State) -> str:
        """First player (black) x, second o."""
        own, opponent = np.moveaxis(np.asarray(self.observe(state)), -1, 0)
        board = np.full((self.size, self.size), ".")
        board[own], board[opponent] = "xo" if state.player == 0 else "ox"
        return _square_board.draw(board.tolist(), numbers_from_top=True)

    def action_to_text(self, state: State, action: int) -> str:
        del state
        return "pass" if action == self.size**2 else _square_board.point_name(self.size, action, numbers_from_top=True)

    # --- the board as words ---

    @property
    def _half(self) -> int:
        """The squares of a word."""
        return self.size**2 // 2

    def _start(self) -> tuple[np.ndarray, np.ndarray]:
        """The first player's two discs and the second's, bool [size, size]."""
        middle = np.isin(np.arange(self.size), (self.size // 2 - 1, self.size // 2))
        square = middle[:, None] & middle[None, :]
        diagonal = np.eye(self.size, dtype=bool)
        return square & ~diagonal, square & diagonal

    def _words(self, squares: np.ndarray) -> np.ndarray:
        """The words of these squares, bool [size, size]."""
        return (squares.reshape(2, self._half) << np.arange(self._half)).sum(1).astype(np.uint32)

    def _place(self, action: Int[Array, ""]) -> UInt[Array, "2"]:
        """The board with nothing but this square; empty for a pass."""
        bit = jnp.uint32(1) << jnp.asarray(action % self._half, jnp.uint32)
        return jnp.where(np.arange(2) == action // self._half, bit, jnp.uint32(0))

    def _moves(self, own: UInt[Array, "2"], opponent: UInt[Array, "2"]) -> UInt[Array, "2"]:
        """The squares where a disc of `own` turns some over."""
        found = _union(beyond for _, beyond in self._rows(own, opponent))
        return found & ~(own | opponent) & np.uint32(2**self._half - 1)

    def _turned(self, disc: UInt[Array, "2"], own: UInt[Array, "2"], opponent: UInt[Array, "2"]) -> UInt[Array, "2"]:
        """The opponent's discs that this disc turns over."""
        found = []
        for row, beyond in self._rows(disc, opponent):
            bounded = (beyond[0] & own[0] | beyond[1] & own[1]) != 0
            found.append((jnp.where(bounded, row[0], 0), jnp.where(bounded, row[1], 0)))
        return _union(found)

    def _rows(self, start: UInt[Array, "2"], across: UInt[Array, "2"]) -> Iterator[tuple[Words, Words]]:
        """The unbroken rows of `across` beside `start`, and the squares beyond them: in the four directions towards
        later squares, then in the four opposite ones. Beyond the board's end there may be bits that are no squares.

        A row that can be turned over has a square beyond it, so the squares of an edge are in none that leads there;
        this also keeps rows from wrapping around.
        """
        steps = np.array([1, self.size - 1, self.size, self.size + 1], np.uint32)
        every = np.ones((self.size, self.size), bool)
        inner = every & np.isin(np.arange(self.size), (0, self.size - 1), invert=True)
        upper, lower = np.array([self._words(every if step == self.size else inner) for step in steps]).T
        open_ = across[0] & upper, across[1] & lower

        def later(words: Words, by: np.ndarray) -> Words:
            return words[0] << by, words[1] << by | words[0] >> (self._half - by)

        def earlier(words: Words, by: np.ndarray) -> Words:
            return words[0] >> by | words[1] << (self._half - by), words[1] >> by

        for shift in (later, earlier):
            row = _both(shift((start[0], start[1]), steps), open_)
            row = _either(row, _both(shift(row, steps), open_))
            pairs = _both(shift(open_, steps), open_)  # open squares that follow an open one
            for _ in range(self.size // 2 - 2):  # rows of two grow to four, and to six
                row = _either(row, _both(shift(row, 2 * steps), pairs))
            yield row, shift(row, steps)


def _both(one: Words, other: Words) -> Words:
    return one[0] & other[0], one[1] & other[1]


def _either(one: Words, other: Words) -> Words:
    return one[0] | other[0], one[1] | other[1]


def _union(boards: Iterable[Words]) -> UInt[Array, "2"]:
    """The union over all directions. One reduction of both words: two would follow the rows twice."""
    zero = np.uint32(0)
    return jnp.stack(jax.lax.reduce(functools.reduce(_either, boards), (zero, zero), _either, (0,)))


def _count(words: UInt[Array, "2"]) -> Array:
    return jax.lax.population_count(words).astype(jnp.float32)
