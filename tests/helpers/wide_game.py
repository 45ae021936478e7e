"""Tic-tac-toe with far more actions than are ever legal at once, as a game of slots or of the full width."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from envs.core import Game, Symmetry
from envs.tic_tac_toe import State, TicTacToe

INNER = TicTacToe()
SPREAD = 7


@dataclasses.dataclass(frozen=True)
class Wide(Game[State]):
    """Square k is action 7 k + 3 of 63; all others are never legal. `slots` decides how wide the search is."""

    slots: bool = True

    @property
    def num_actions(self) -> int:
        return 9 * SPREAD

    @property
    def max_legal_actions(self) -> int:
        return 9 if self.slots else self.num_actions

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return INNER.observation_shape

    @property
    def max_moves(self) -> int:
        return 9

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:
        def spread(image):
            actions = np.arange(self.num_actions, dtype=np.int32)
            return SPREAD * image[actions // SPREAD] + actions % SPREAD

        return tuple(Symmetry(one.observation, spread(one.actions)) for one in INNER.symmetries)

    def init(self) -> State:
        return INNER.init()

    def observe(self, state):
        return INNER.observe(state)

    def _legal(self, state):
        return jnp.zeros(self.num_actions, bool).at[3::SPREAD].set(INNER._legal(state))

    def _move(self, state, action):
        return INNER._move(state, action // SPREAD)

    def render(self, state: State) -> str:
        return INNER.render(state)

    def action_to_text(self, state: State, action: int) -> str:
        return INNER.action_to_text(state, action // SPREAD)
