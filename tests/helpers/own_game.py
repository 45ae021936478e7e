"""A user's own game, loaded as `own_game:Nim`: a small file that keeps the contract of `envs.core`, with perfect play.

`solver` and `solved_positions` may be left out; what is before them may not.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from envs import Game, Move, SolvedPositions, Solver


class State(NamedTuple):
    """A position."""

    left: Int[Array, ""]  # sticks on the table
    player: Int[Array, ""]
    terminated: Bool[Array, ""]


@dataclasses.dataclass(frozen=True)
class Nim(Game[State]):
    """One heap; each player takes 1 to `most` sticks, and whoever takes the last one wins. Action a takes a + 1."""

    sticks: int = 21
    most: int = 3

    @property
    def num_actions(self) -> int:
        return self.most

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return 1, self.sticks, 1

    @property
    def max_moves(self) -> int:
        return self.sticks

    def init(self) -> State:
        return State(left=jnp.int8(self.sticks), player=jnp.int8(0), terminated=jnp.bool_(False))

    def observe(self, state: State) -> Bool[Array, "1 sticks 1"]:
        return (jnp.arange(self.sticks) < state.left)[None, :, None]

    def _legal(self, state: State) -> Bool[Array, " actions"]:
        return jnp.arange(self.most) < state.left

    def _move(self, state: State, action: Int[Array, ""]) -> Move[State]:
        left = state.left - (action + 1).astype(jnp.int8)
        won = left == 0
        return Move(State(left, 1 - state.player, terminated=won), reward=jnp.where(won, 1.0, 0.0))

    def render(self, state: State) -> str:
        return "|" * int(state.left) or "(none left)"

    def action_to_text(self, state: State, action: int) -> str:
        del state
        return f"take {action + 1}"

    # Who leaves a multiple of most + 1 sticks can leave one again after every answer, and wins.

    def solver(self) -> Solver:
        return Solver(None, self._values)

    def _values(self, table: None, state: State) -> Float[Array, " actions"]:
        del table
        left = state.left - jnp.arange(1, self.most + 1)
        wins = jnp.where(left % (self.most + 1) == 0, 1.0, -1.0)
        return jnp.where(self.legal_action_mask(state), wins, -jnp.inf)

    def solved_positions(self) -> SolvedPositions:
        """Every number of sticks, reached one by one."""
        moves = np.where(np.tri(self.sticks, self.sticks - 1, k=-1), 0, -1)
        left = np.arange(self.sticks, 0, -1)[:, None] - np.arange(1, self.most + 1)
        wins = np.where(left % (self.most + 1) == 0, 1.0, -1.0)
        return SolvedPositions(moves, np.where(left >= 0, wins, np.nan))
