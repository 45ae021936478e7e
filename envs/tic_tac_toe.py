"""Tic-tac-toe: three in a line on a 3x3 board, with the ninth move too.

Actions are `row * 3 + column` from the upper left; their text is column and row as on a chess board, "a1" at the lower
left. A player's stones are one number, bit `action` for each, so that an octal digit is a row.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt

from envs import _square_board
from envs.core import Game, Move, Symmetry

_BOARD = 0o777
_LINES = (0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124)


class State(NamedTuple):
    """A position."""

    own: UInt[Array, ""]  # uint16: the stones of the player to move
    opponent: UInt[Array, ""]  # uint16: the other player's
    player: Int[Array, ""]
    terminated: Bool[Array, ""]


@dataclasses.dataclass(frozen=True)
class TicTacToe(Game[State]):
    """The rules; no settings."""

    @property
    def num_actions(self) -> int:
        return 9

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return 3, 3, 2

    @property
    def max_moves(self) -> int:
        return 9

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """The eight of the square."""
        return _square_board.symmetries(3)

    def init(self) -> State:
        return State(jnp.uint16(0), jnp.uint16(0), player=jnp.int8(0), terminated=jnp.bool_(False))

    def observe(self, state: State) -> Bool[Array, "3 3 2"]:
        """Own stones, opponent's stones."""
        return jnp.stack([_points(state.own), _points(state.opponent)], axis=-1).reshape(3, 3, 2)

    def _legal(self, state: State) -> Bool[Array, " actions"]:
        return ~_points(state.own | state.opponent)

    def is_legal(self, state: State, action: Int[Array, ""]) -> Bool[Array, ""]:
        free = ~(state.own | state.opponent) & _BOARD
        return ((free & _bit(action)) != 0) & (action >= 0) & (action < 9) & ~state.terminated

    def _move(self, state: State, action: Int[Array, ""]) -> Move[State]:
        own = state.own | _bit(action)
        won = jnp.bool_(False)
        for line in _LINES:
            won = won | ((own & line) == line)
        full = (own | state.opponent) == _BOARD
        after = State(state.opponent, own, player=1 - state.player, terminated=won | full)
        return Move(after, reward=jnp.where(won, 1.0, 0.0))

    def render(self, state: State) -> str:
        """First player x, second o."""
        own, opponent = np.moveaxis(np.asarray(self.observe(state)), -1, 0)
        board = np.full((3, 3), ".")
        board[own], board[opponent] = "xo" if state.player == 0 else "ox"
        return _square_board.draw(board.tolist())

    def action_to_text(self, state: State, action: int) -> str:
        del state
        return _square_board.point_name(3, action)


def _bit(action: Int[Array, ""]) -> UInt[Array, ""]:
    return jnp.uint16(1) << jnp.asarray(action, jnp.uint16)


def _points(stones: UInt[Array, ""]) -> Bool[Array, " actions"]:
    return (stones >> np.arange(9, dtype=np.uint16)) & 1 == 1
