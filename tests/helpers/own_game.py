"""A user's own game, loaded as `own_game:Nim`: the smallest file that keeps the contract of `envs.core`."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from envs import Game, Move


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
