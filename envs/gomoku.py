"""Gomoku: five in a row on a square board of any size.

Actions are `row * size + column` from the upper left; their text is column and row as the field writes them, "a1" at
the lower left, the letter i included. The board is one word a row, bit 0 at the left.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt

from envs import _square_board
from envs._lines import has_line, points, word_dtype
from envs.core import Game, Move, Symmetry


class State(NamedTuple):
    """A position. A word's type is the smallest that holds a row."""

    own: UInt[Array, " rows"]  # the stones of the player to move
    opponent: UInt[Array, " rows"]  # the other player's
    last: Int[Array, ""]  # the last action, int16; -1 before the first
    player: Int[Array, ""]
    terminated: Bool[Array, ""]


@dataclasses.dataclass(frozen=True)
class Gomoku(Game[State]):
    """Freestyle gomoku, where longer lines win too, or with `exactly_five` the standard rule, where they do not.

    `in_row` is the length that wins; `exactly_five` then means exactly `in_row`.
    """

    size: int = 15
    in_row: int = 5
    exactly_five: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.size <= 26:
            raise ValueError(f"gomoku's size is 2 to 26 (columns are letters), got size={self.size}")
        if not 2 <= self.in_row <= self.size:
            raise ValueError(f"gomoku's in_row is 2 to size, got in_row={self.in_row} with size={self.size}")

    @property
    def num_actions(self) -> int:
        return self.size**2

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return self.size, self.size, 4

    @property
    def max_moves(self) -> int:
        return self.size**2

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """The eight of the square."""
        return _square_board.symmetries(self.size)

    def init(self) -> State:
        empty = jnp.zeros(self.size, word_dtype(self.size))
        return State(empty, empty, last=jnp.int16(-1), player=jnp.int8(0), terminated=jnp.bool_(False))

    def observe(self, state: State) -> Bool[Array, "size size 4"]:
        """Own stones, opponent's stones, the last move, and whether the player to move is the first player."""
        last = self._place(state.last)
        first = jnp.full((self.size, self.size), state.player == 0)
        stones = [points(words, self.size) for words in (state.own, state.opponent, last)]
        return jnp.stack([*stones, first], axis=-1)

    def _legal(self, state: State) -> Bool[Array, " actions"]:
        return ~points(state.own | state.opponent, self.size).reshape(-1)

    def is_legal(self, state: State, action: Int[Array, ""]) -> Bool[Array, ""]:
        return jnp.any((self._place(action) & ~(state.own | state.opponent)) != 0) & ~state.terminated

    def _move(self, state: State, action: Int[Array, ""]) -> Move[State]:
        own = state.own | self._place(action)
        won = has_line(own, self.in_row, exactly=self.exactly_five)
        full = jnp.all((own | state.opponent) == 2**self.size - 1)
        last = jnp.asarray(action, jnp.int16)
        after = State(state.opponent, own, last, player=1 - state.player, terminated=won | full)
        return Move(after, reward=jnp.where(won, 1.0, 0.0))

    def render(self, state: State) -> str:
        """First player x, second o; the last stone in brackets."""
        own, opponent = np.moveaxis(np.asarray(self.observe(state)), -1, 0)[:2]
        board = np.full((self.size, self.size), ".")
        board[own], board[opponent] = "xo" if state.player == 0 else "ox"
        last = divmod(int(state.last), self.size) if state.last >= 0 else None
        return _square_board.draw(board.tolist(), last)

    def action_to_text(self, state: State, action: int) -> str:
        del state
        return _square_board.point_name(self.size, action)

    def _place(self, action: Int[Array, ""]) -> UInt[Array, " rows"]:
        """The board with nothing but this point; empty if there is no such point."""
        word = word_dtype(self.size)
        row, column = action // self.size, action % self.size
        return jnp.where(np.arange(self.size) == row, jnp.asarray(1, word) << jnp.asarray(column, word), 0)
