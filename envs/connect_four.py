"""Connect four: discs fall to the lowest free place of a column, and four in a line win, with the last disc too.

Actions are columns, 0 at the left; their text is the column's number, from "1". The board is one word a column, bit 0
at the bottom. A column without gaps is a number 2^n - 1, so one more than it is the bit where the next disc lands.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt

from envs._lines import has_line, points, word_dtype
from envs._solved import read_solved
from envs.core import Game, Move, SolvedPositions, Symmetry


class State(NamedTuple):
    """A position. A word's type is the smallest that holds a column."""

    own: UInt[Array, " columns"]  # the discs of the player to move
    opponent: UInt[Array, " columns"]  # the other player's
    player: Int[Array, ""]
    terminated: Bool[Array, ""]


@dataclasses.dataclass(frozen=True)
class ConnectFour(Game[State]):
    """The rules on a board of any size from 4 to 16 a side."""

    rows: int = 6
    columns: int = 7

    def __post_init__(self) -> None:
        if not (4 <= self.rows <= 16 and 4 <= self.columns <= 16):
            raise ValueError(f"connect_four has 4 to 16 rows and columns, got {self.rows} rows, {self.columns} columns")

    @property
    def num_actions(self) -> int:
        return self.columns

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return self.rows, self.columns, 2

    @property
    def max_moves(self) -> int:
        return self.rows * self.columns

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """Identity and mirror image."""
        actions = np.arange(self.columns, dtype=np.int32)
        return Symmetry(_same, actions), Symmetry(_mirror, actions[::-1])

    def init(self) -> State:
        empty = jnp.zeros(self.columns, word_dtype(self.rows))
        return State(empty, empty, player=jnp.int8(0), terminated=jnp.bool_(False))

    def observe(self, state: State) -> Bool[Array, "rows columns 2"]:
        """Own discs, opponent's discs; the top row first."""
        planes = jnp.stack([points(state.own, self.rows), points(state.opponent, self.rows)], axis=-1)
        return planes.swapaxes(0, 1)[::-1]

    def _legal(self, state: State) -> Bool[Array, " columns"]:
        return (state.own | state.opponent) != 2**self.rows - 1

    def is_legal(self, state: State, action: Int[Array, ""]) -> Bool[Array, ""]:
        return jnp.any(self.legal_action_mask(state) & (np.arange(self.columns) == action))

    def _move(self, state: State, action: Int[Array, ""]) -> Move[State]:
        occupied = state.own | state.opponent
        disc = jnp.where(np.arange(self.columns) == action, occupied + 1, 0)
        own = state.own | disc
        won = has_line(own, 4)
        full = jnp.all((occupied | disc) == 2**self.rows - 1)
        after = State(state.opponent, own, player=1 - state.player, terminated=won | full)
        return Move(after, reward=jnp.where(won, 1.0, 0.0))

    def solved_positions(self) -> SolvedPositions | None:
        """On the usual board of 6 rows and 7 columns: 1,332 positions; the larger a value, the sooner the mover wins or
        the later it loses."""
        return read_solved("connect_four", self)

    def render(self, state: State) -> str:
        """First player x, second o; the column numbers stand below."""
        board = np.full((self.rows, self.columns), ".")
        own, opponent = np.moveaxis(np.asarray(self.observe(state)), -1, 0)
        board[own], board[opponent] = "xo" if state.player == 0 else "ox"
        numbers = [self.action_to_text(state, column) for column in range(self.columns)]
        width = len(numbers[-1]) + 1
        return "\n".join("".join(f"{mark:>{width}}" for mark in line) for line in [*board, numbers])

    def action_to_text(self, state: State, action: int) -> str:
        del state
        return str(action + 1)


def _same(observation: Array) -> Array:
    return observation


def _mirror(observation: Array) -> Array:
    return observation[:, ::-1]
