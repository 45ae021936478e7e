"""Hex: two players lay stones on a rhombus, and who joins his two opposite edges first has won. There are no draws.

The first player joins the upper and the lower edge, the second the left and the right one. Whoever moves sees the board
as if he were the first: for the second player it is reflected in its long diagonal, in observations and actions alike,
so that a network learns one task, not two. Action `row * size + column` is a cell of the board that the mover sees.
Texts and drawings show the board as it lies, whoever moves: "b1" is column b, row 1, and a1 is the upper left corner.

With `swap`, the last action takes over the first stone (the pie rule), as the second move only: the stone is reflected
in the long diagonal and changes its colour ("swap pieces", as in OpenSpiel), so that the players exchange their parts.

The board holds the name of each stone's chain. All chains that a new stone joins take one name, by a comparison of the
whole board with the names around the stone, so that a move costs the same however the chains wind.
"""

from __future__ import annotations

import dataclasses
import string
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from envs.core import Game, Move, Symmetry

_UPPER, _LOWER, _FIRST = 1, 2, 3  # names: of the chains that reach these edges, and of cell 0; the next cells' follow


class State(NamedTuple):
    """A position as the player to move sees it, 123 bytes for 11x11. Names have the smallest type that holds them."""

    chains: Int[Array, "size size"]  # 0: empty; the smallest name in the stone's chain, negative for the opponent's
    player: Int[Array, ""]
    terminated: Bool[Array, ""]


@dataclasses.dataclass(frozen=True)
class Hex(Game[State]):
    """The rules on a board of any size from 2 to 26, with the pie rule or without."""

    size: int = 11
    swap: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.size <= 26:
            raise ValueError(f"hex's size is 2 to 26 (columns are letters), got size={self.size}")

    @property
    def num_actions(self) -> int:
        return self.size**2 + self.swap

    @property
    def max_legal_actions(self) -> int:
        """All cells; after the first stone one less and the swap."""
        return self.size**2

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return self.size, self.size, 2 + self.swap

    @property
    def max_moves(self) -> int:
        """A full board always has a winner."""
        return self.size**2 + self.swap

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """Identity and half turn. (The reflection is used up: it makes the players' views one.)"""
        actions = np.arange(self.num_actions, dtype=np.int32)
        turned = np.append(actions[: self.size**2][::-1], actions[self.size**2 :])
        return Symmetry(_same, actions), Symmetry(_half_turn, turned)

    def init(self) -> State:
        names = np.min_scalar_type(-(_FIRST + self.size**2))
        return State(jnp.zeros((self.size, self.size), names), player=jnp.int8(0), terminated=jnp.bool_(False))

    def observe(self, state: State) -> Bool[Array, "size size planes"]:
        """Own stones, which join the upper and the lower edge, and the opponent's.

        With the pie rule also whether the swap is legal, since the board is the same before the swap and after it.
        """
        planes = [state.chains > 0, state.chains < 0]
        if self.swap:
            planes.append(jnp.full((self.size, self.size), self._swaps(state)))
        return jnp.stack(planes, axis=-1)

    def _legal(self, state: State) -> Bool[Array, " actions"]:
        free = jnp.pad(state.chains.reshape(-1), (0, self.swap), constant_values=1) == 0
        return free | (np.arange(self.num_actions) == self.size**2) & self._swaps(state) if self.swap else free

    def _swaps(self, state: State) -> Bool[Array, ""]:
        """Whether it is the second player's first turn, when he alone has no stone."""
        return (state.player == 1) & (jnp.max(state.chains) <= 0)

    def _move(self, state: State, action: Int[Array, ""]) -> Move[State]:
        names = state.chains.dtype
        walled = jnp.pad(state.chains, 1, constant_values=((_UPPER, _LOWER), (0, 0)))
        around = jax.lax.dynamic_slice(walled, (action // self.size, action % self.size), (3, 3))
        met = around.reshape(-1)[1:-1]  # the empty cell and its neighbours: all but two corners
        nobody = np.array(np.iinfo(names).max, names)
        met = jnp.where(met > 0, met, nobody)
        cell = jnp.asarray(action + _FIRST, names)
        name = jnp.minimum(cell, jnp.min(met))
        won = jnp.any(met == _UPPER) & jnp.any(met == _LOWER)

        before = state.chains.reshape(-1)
        # As a minimum, though it only replaces equals: XLA's CPU backend does not fuse it, and what it fuses is slower.
        chains = jnp.min(jnp.where(before[None] == met[:, None], name, before[None]), axis=0)
        chains = jnp.where(np.arange(_FIRST, _FIRST + self.size**2, dtype=names) == cell, name, chains)
        seen_by_other = -chains.reshape(state.chains.shape).T
        if self.swap:
            swapped = action == self.size**2
            seen_by_other = jnp.where(swapped, state.chains, seen_by_other)  # he sees what the swapping player saw
            won = won & ~swapped
        return Move(State(seen_by_other, 1 - state.player, won), reward=jnp.where(won, 1.0, 0.0))

    def render(self, state: State) -> str:
        """First player x, second o; each row is shifted by half a cell, so that neighbours lie side by side."""
        own, opponent = np.moveaxis(np.asarray(self.observe(state)), -1, 0)[:2]
        board = np.full((self.size, self.size), ".")
        first, second = (own, opponent) if state.player == 0 else (opponent.T, own.T)
        board[first], board[second] = "x", "o"
        letters = "   " + " ".join(string.ascii_lowercase[: self.size])
        lines = [f"{'':{row}}{row + 1:2} {' '.join(line)} {row + 1}" for row, line in enumerate(board)]
        return "\n".join([letters, *lines, " " * self.size + letters])

    def action_to_text(self, state: State, action: int) -> str:
        if action == self.size**2:
            return "swap"
        row, column = divmod(action, self.size) if state.player == 0 else divmod(action, self.size)[::-1]
        return f"{string.ascii_lowercase[column]}{row + 1}"


def _same(observation: Array) -> Array:
    return observation


def _half_turn(observation: Array) -> Array:
    return observation[::-1, ::-1]
