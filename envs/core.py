"""What a game is: the contract that every game in `envs` keeps, and the rules that all games share.

A game is a frozen dataclass of settings; its state is a NamedTuple of small arrays. Every function is written for ONE
state: batches come from `jax.vmap` in the caller. A game file supplies the hooks (`_legal`, `_move` and the rest of the
abstract members); what a finished game does, and what an illegal action does, is written here and nowhere else.
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped


class State(Protocol):
    """What every state carries beside its board."""

    @property
    def player(self) -> Int[Array, ""]:
        """The player to move: 0 is the first player, 1 the second."""
        ...

    @property
    def terminated(self) -> Bool[Array, ""]:
        """Whether the game is over."""
        ...

    def _replace(self, **fields: Any) -> Any: ...


S = TypeVar("S", bound=State)


class Transition(NamedTuple):
    """What one action brought.

    Search and training both back a value up by `reward + discount * value`, so extra turns need no special case.
    """

    reward: Float[Array, ""]  # for the player who moved
    discount: Float[Array, ""]  # +1: the same player moves again, -1: the opponent does, 0: the game is over
    terminated: Bool[Array, ""]  # the game is over, for whatever reason
    truncated: Bool[Array, ""]  # it is over because of the move cap


class Move(NamedTuple, Generic[S]):
    """What a game's `_move` returns: the state after a legal move, and what that move won."""

    state: S
    reward: Float[Array, ""]  # for the player who moved
    truncated: Bool[Array, ""] | bool = False


class Symmetry(NamedTuple):
    """One symmetry of a game: what it does to an observation, and to the actions."""

    observation: Callable[[Shaped[Array, "height width channels"]], Shaped[Array, "height width channels"]]
    actions: np.ndarray  # int32 [num_actions]: action a becomes actions[a]


class Solver(NamedTuple):
    """Perfect play. `values(table, state)` is float [num_actions]: what the mover gets by each action and perfect play
    after it (larger is better; its sign is the game's outcome for the mover), -inf where illegal."""

    table: Any
    values: Callable[[Any, Any], Float[Array, " actions"]]


class SolvedPositions(NamedTuple):
    """Positions of games that are not over, with what perfect play makes of every action: NumPy arrays, a row each."""

    moves: Int[np.ndarray, "positions moves"]  # the actions that lead there from `init`, padded with -1
    values: Float[np.ndarray, "positions actions"]  # for the mover; sign = the game's outcome, NaN where illegal


@dataclasses.dataclass(frozen=True)
class Game(abc.ABC, Generic[S]):
    """The rules of one game: pure functions of one state, with the settings as fields."""

    # --- plain numbers: reading them runs nothing ---

    @property
    def name(self) -> str:
        """The name that `envs.make` knows the game by."""
        module = type(self).__module__
        return module.removeprefix("envs.") if module.startswith("envs.") else f"{module}:{type(self).__name__}"

    @property
    @abc.abstractmethod
    def num_actions(self) -> int:
        """How many actions there are, legal or not."""

    @property
    def max_legal_actions(self) -> int:
        """The most actions that can be legal at once."""
        return self.num_actions

    @property
    @abc.abstractmethod
    def observation_shape(self) -> tuple[int, int, int]:
        """(height, width, channels) of `observe`."""

    @property
    @abc.abstractmethod
    def max_moves(self) -> int:
        """No game lasts longer."""

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """The whole group, the identity first; empty where the rules have none."""
        return ()

    # --- the rules ---

    @abc.abstractmethod
    def init(self) -> S:
        """The state before the first move."""

    @abc.abstractmethod
    def observe(self, state: S) -> Shaped[Array, "height width channels"]:
        """Planes (bool or float) as seen by the player to move."""

    @abc.abstractmethod
    def _legal(self, state: S) -> Bool[Array, " actions"]:
        """The legal actions of a game that is not over."""

    @abc.abstractmethod
    def _move(self, state: S, action: Int[Array, ""]) -> Move[S]:
        """Plays a legal action in a game that is not over."""

    def is_legal(self, state: S, action: Int[Array, ""]) -> Bool[Array, ""]:
        """Whether one action may be played; a game may answer faster than by its whole mask."""
        inside = (action >= 0) & (action < self.num_actions)
        return inside & self.legal_action_mask(state)[jnp.clip(action, 0, self.num_actions - 1)]

    def legal_action_mask(self, state: S) -> Bool[Array, " actions"]:
        """True = legal. A finished game has no legal action."""
        return self._legal(state) & ~state.terminated

    def legal_actions(self, state: S) -> Int[Array, " slots"]:
        """The legal actions in increasing order, int32 [max_legal_actions], padded with `num_actions`."""
        actions = _true_places(self.legal_action_mask(state), self.max_legal_actions)
        return jnp.where(actions >= 0, actions, self.num_actions)

    def step(self, state: S, action: Int[Array, ""]) -> tuple[S, Transition]:
        """Plays `action` for the player to move.

        A finished state does not change and gives reward 0 and discount 0. An illegal action loses the game for the
        mover: reward -1, and the game is over on the board as it stood.
        """
        finished = state.terminated
        legal = self.is_legal(state, action)
        moved = self._move(state, action)
        moves = legal & ~finished
        after = jax.tree.map(lambda new, old: jnp.where(moves, new, old), moved.state, state)
        over = after.terminated | ~moves
        after = after._replace(terminated=over)
        reward = jnp.where(moves, moved.reward, jnp.where(finished, 0.0, -1.0))
        discount = jnp.where(over, 0.0, jnp.where(after.player == state.player, 1.0, -1.0))
        return after, Transition(reward, discount, over, moves & moved.truncated)

    def solver(self) -> Solver | None:
        """Perfect play, where the game is small enough to be solved on the spot; None elsewhere."""
        return None

    def solved_positions(self) -> SolvedPositions | None:
        """Some positions whose perfect play is known, to measure players by; None where these settings have none.

        On the host: it starts no JAX backend, and whatever it reads or computes waits until it is called. Positions
        that do not fit the rules are refused, with a ValueError, where they are used."""
        return None

    # --- host side: boards and moves as text ---

    @abc.abstractmethod
    def render(self, state: S) -> str:
        """The board as text, the last line without a newline."""

    @abc.abstractmethod
    def action_to_text(self, state: S, action: int) -> str:
        """An action in the game's usual notation."""

    def from_text(self, text: str) -> S:
        """The position that a text in the game's notation describes. Raises ValueError, naming the fault, if none."""
        raise ValueError(f"{self.name} has no notation of positions, got {text!r}; name the moves: startpos moves ...")

    def action_from_text(self, state: S, text: str) -> int:
        """The legal action that `text` names. Raises ValueError, naming what is legal, if there is none."""
        wanted = text.strip().lower()
        legal = {self.action_to_text(state, int(a)): int(a) for a in np.flatnonzero(self.legal_action_mask(state))}
        for move, action in legal.items():
            if move.lower() == wanted:
                return action
        raise ValueError(
            f"{text!r} is not a legal move here; legal moves: {' '.join(legal) or 'none, the game is over'}"
        )


def _true_places(mask: Bool[Array, " n"], size: int) -> Int[Array, " size"]:
    """The first `size` places where the mask is True, in increasing order, int32, then -1.

    As `jnp.nonzero(mask, size=size, fill_value=-1)`, but several times faster on a CPU: by words of 32 bits, each place
    first finds its word, by how many bits are set in those before it, and then its bit in the word.
    """
    bits = jnp.pad(mask, (0, -len(mask) % 32)).reshape(-1, 32).astype(jnp.uint32)
    words = (bits << np.arange(32, dtype=np.uint32)[None]).sum(-1, dtype=jnp.uint32)
    ends = jax.lax.population_count(words).astype(jnp.int32)
    for shift in 2 ** np.arange(len(words).bit_length()):  # the sum of the words' counts, up to each of them
        ends = ends + jnp.pad(ends, (int(shift), 0))[: len(words)]
    ends = ends.astype(jnp.int16)
    rank = np.arange(size, dtype=np.int16)
    word = (ends[:, None] <= rank[None]).sum(0, dtype=jnp.int16).astype(jnp.int32)
    found = word < len(words)
    word = jnp.where(found, word, 0)
    rest = words[word]
    left = rank - jnp.where(word > 0, ends[word - 1], 0)
    bit = jnp.zeros(size, jnp.int32)
    for width in (16, 8, 4, 2, 1):
        low = jax.lax.population_count(rest & np.uint32(2**width - 1)).astype(jnp.int16)
        higher = left >= low
        left = jnp.where(higher, left - low, left)
        rest = jnp.where(higher, rest >> np.uint32(width), rest)
        bit = jnp.where(higher, bit + width, bit)
    return jnp.where(found, 32 * word + bit, -1)
