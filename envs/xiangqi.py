"""Xiangqi: palace, river, horse leg, elephant eye, cannon screen, flying general; perpetual check loses.

Whoever moves sees the board from his side: for Black it is turned by 180 degrees. Square `9 * row + column`: row 0 is
the mover's back rank, column 0 at his left, so that for Red it is "a1 = 0, b1 = 1, ... i10 = 89".

An action is a pair of squares, from and to, in the mover's view. The 2,086 actions are the public label set, in the
order of (from, to): from every square all moves of a rook and of a horse on an empty board, and the 16 moves of
advisors and 32 of elephants of both sides (those beyond the river are never legal, as the mover's side lies below).

Who has no legal move loses, in check or not. At the third occurrence of a position a side that gave check with every
one of its moves since the first loses, unless both did; otherwise it is a draw. Perpetual chase is not looked for: it
draws like any repetition. So many half-moves without capture draw, too, and so does the cap on half-moves.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int8, UInt32

from envs._xiangqi_moves import BOARD, PLANES, actions, legal_moves
from envs._zobrist import hash_of
from envs.core import Game, Move, Symmetry
from envs.notation import xiangqi as notation
from envs.notation.xiangqi import HEIGHT, PAWN, WIDTH

_HISTORY = 8  # boards that are observed
_KINDS = PAWN
_PER_STEP = 2 * _KINDS + 2  # planes of one of them
_SIZE = HEIGHT * WIDTH
_SQUARE = np.arange(_SIZE)


class State(NamedTuple):
    """A position, with what repetition and the observation need of those before it: 1,698 bytes."""

    boards: Int8[Array, "8 90"]  # pieces as Red sees them, Black's negative; the newest first, empty before the game
    repetitions: Int8[Array, " 8"]  # for the how-manieth time each of these was there, as of then
    low: UInt32[Array, " clocks"]  # 64-bit hash of the position since the last capture, by `clock`
    high: UInt32[Array, " clocks"]
    checks: Int[Array, " 2"]  # Red's and Black's last moves without a break that gave check
    clock: Int[Array, ""]  # half-moves since the last capture
    ply: Int[Array, ""]  # half-moves since the start
    player: Int[Array, ""]  # 0 is Red
    terminated: Bool[Array, ""]


@dataclasses.dataclass(frozen=True)
class Xiangqi(Game[State]):
    """The rules. `no_capture_plies`: after so many half-moves without capture the game is a draw."""

    no_capture_plies: int = 120
    max_plies: int = 512

    def __post_init__(self) -> None:
        if not 1 <= self.no_capture_plies <= 1000:
            raise ValueError(f"xiangqi's no_capture_plies is 1 to 1000, got no_capture_plies={self.no_capture_plies}")
        if not 1 <= self.max_plies <= 20_000:
            raise ValueError(f"xiangqi's max_plies is 1 to 20,000 half-moves, got max_plies={self.max_plies}")

    @property
    def num_actions(self) -> int:
        return 2086

    @property
    def max_legal_actions(self) -> int:
        """No position has more than 110."""
        return 112

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return HEIGHT, WIDTH, _HISTORY * _PER_STEP + 3

    @property
    def max_moves(self) -> int:
        return self.max_plies

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """Identity and left-right reflection."""
        return _symmetries()

    # --- the rules ---

    def init(self) -> State:
        return self._start(notation.parse(notation.START))

    def observe(self, state: State) -> Float[Array, "10 9 131"]:
        """For the last eight positions, newest first, own K A E H R C P, the opponent's, and whether it was there for
        at least the second and the third time; then whether Red is to move, half-moves / `max_plies`, and half-moves
        without capture / `no_capture_plies`.

        What came before a position that was read from text is unknown: zeros, as before a game.
        """
        is_red = state.player == 0
        boards = jnp.stack([jnp.where(is_red, state.boards, 0), jnp.where(is_red, 0, _turned(state.boards))], -1)
        # As a reduction, since XLA would turn the boards again for every plane.
        boards = jax.lax.reduce(boards.swapaxes(0, 1), np.int8(0), jax.lax.add, (2,))
        never = [np.iinfo(np.int8).max]
        codes = np.array([*range(1, _KINDS + 1), *range(-1, -_KINDS - 1, -1), *never * 2], np.int8)
        times = np.array([*never * 2 * _KINDS, 2, 3], np.int8)
        history = (boards[..., None] == codes[None, None]) | (state.repetitions[None, :, None] >= times[None, None])
        # Not divided: XLA takes the reciprocal of some numbers and not of others.
        scaled = state.ply * np.float32(1 / self.max_plies), state.clock * np.float32(1 / self.no_capture_plies)
        constants = jnp.broadcast_to(jnp.stack([is_red, *scaled]).astype(jnp.float32), (_SIZE, 3))
        history = history.reshape(_SIZE, -1).astype(jnp.float32)
        return jnp.concatenate([history, constants], -1).reshape(self.observation_shape)

    def _legal(self, state: State) -> Bool[Array, " actions"]:
        labels, planes = actions(), legal_moves(_view(state)).planes
        word, bit = np.divmod(labels.source, 32)
        words = jnp.concatenate(planes.words)[word.astype(np.int16) * len(PLANES) + labels.plane]
        return words >> bit.astype(np.uint32) & 1 == 1

    def is_legal(self, state: State, action: Int[Array, ""]) -> Bool[Array, ""]:
        labels, planes = actions(), legal_moves(_view(state)).planes
        plane, source = jnp.asarray(labels.plane)[action], jnp.asarray(labels.source)[action]
        inside = (action >= 0) & (action < self.num_actions)
        return inside & BOARD.has(planes, plane, source) & ~state.terminated

    def in_check(self, state: State) -> Bool[Array, ""]:
        """Whether the player to move is in check."""
        return legal_moves(_view(state)).in_check

    def _move(self, state: State, action: Int[Array, ""]) -> Move[State]:
        view, labels = _view(state), actions()
        source, target = jnp.asarray(labels.source)[action], jnp.asarray(labels.target)[action]
        is_source, is_target = source == _SQUARE, target == _SQUARE
        piece = jnp.sum(jnp.where(is_source, view, 0), dtype=jnp.int8)
        captures = jnp.any(is_target & (view != 0))
        board = jnp.where(is_target, piece, jnp.where(is_source, 0, view)).astype(jnp.int8)
        after = _turned(board)
        moves = legal_moves(after)

        mover, player = np.arange(2) == state.player, 1 - state.player
        seen_by_red = jnp.where(player == 0, after, board)
        clock = jnp.where(captures, 0, state.clock + 1).astype(state.clock.dtype)
        ply = state.ply + jnp.ones((), state.ply.dtype)
        checks = jnp.where(moves.in_check, jnp.minimum(state.checks + 1, np.iinfo(np.int16).max), 0)
        checks = jnp.where(mover, checks, state.checks).astype(state.checks.dtype)
        low, high = _hash(seen_by_red, player)
        times, red_loses, black_loses = self._repetition(state, clock, checks, low, high)
        lost, won = jnp.where(
            state.player == 0, jnp.stack([red_loses, black_loses]), jnp.stack([black_loses, red_loses])
        )

        stuck, repeated = ~moves.planes.any().any(), times >= 3
        over = stuck | repeated | (clock >= self.no_capture_plies)
        reward = jnp.where(repeated, won.astype(jnp.float32) - lost, 0.0)
        place = np.arange(self.no_capture_plies)
        next_state = State(
            boards=jnp.concatenate([seen_by_red[None], state.boards[:-1]]),
            repetitions=jnp.concatenate([times[None].astype(jnp.int8), state.repetitions[:-1]]),
            low=jnp.where(place == clock, low, state.low),
            high=jnp.where(place == clock, high, state.high),
            checks=checks,
            clock=clock,
            ply=ply,
            player=player,
            terminated=over | (ply >= self.max_plies),
        )
        return Move(next_state, jnp.where(stuck, 1.0, reward), truncated=~over & (ply >= self.max_plies))

    def _repetition(
        self,
        state: State,
        clock: Int[Array, ""],
        checks: Int[Array, " 2"],
        low: UInt32[Array, ""],
        high: UInt32[Array, ""],
    ) -> tuple[Int[Array, ""], Bool[Array, ""], Bool[Array, ""]]:
        """For the how-manieth time the position of this clock and hash is there; whether Red, and whether Black, alone
        gave check with every move since the first time."""
        place = np.arange(self.no_capture_plies)
        before = (state.low == low) & (state.high == high) & (place < clock)
        since = clock - jnp.min(jnp.where(before, place, clock))
        red, black = checks >= since // 2  # each has made so many moves since
        return 1 + jnp.sum(before, dtype=jnp.int32), red & ~black, black & ~red

    # --- host side ---

    def from_text(self, text: str) -> State:
        """The position of a FEN; what came before it is unknown. Raises ValueError, naming the fault, if it is none."""
        position = notation.parse(text)
        if position.ply >= self.max_plies:
            raise ValueError(
                f"{text!r} stands at half-move {position.ply}, where the game has ended: the cap is "
                f"max_plies={self.max_plies}"
            )
        if position.clock > self.no_capture_plies:
            raise ValueError(
                f"{text!r} has {position.clock} half-moves without capture; the game ends at {self.no_capture_plies}"
            )
        state = self._start(position)
        if bool(legal_moves(_turned(_view(state))).in_check):
            raise ValueError(f"{text!r}: the side that is not to move is in check, or the generals face each other")
        over = not legal_moves(_view(state)).planes.any().any() or position.clock >= self.no_capture_plies
        return state._replace(terminated=jnp.bool(over))

    def to_text(self, state: State) -> str:
        """The FEN."""
        return notation.format(
            notation.Position(np.asarray(state.boards[0]), int(state.player), int(state.clock), int(state.ply))
        )

    def termination(self, state: State) -> str | None:
        """Why the game is over: "checkmate", "stalemate", "perpetual check", "threefold repetition", "no capture",
        "move cap" or "illegal move"; None if it is not."""
        if not state.terminated:
            return None
        moves = legal_moves(_view(state))
        if not moves.planes.any().any():
            return "checkmate" if moves.in_check else "stalemate"
        if state.repetitions[0] >= 3:
            low, high = _hash(state.boards[0], state.player)
            _, red, black = self._repetition(state, state.clock, state.checks, low, high)
            return "perpetual check" if red | black else "threefold repetition"
        if state.clock >= self.no_capture_plies:
            return "no capture"
        return "move cap" if state.ply >= self.max_plies else "illegal move"

    def render(self, state: State) -> str:
        """Red's pieces upper case, Black's lower case, and the FEN."""
        board = np.asarray(state.boards[0]).reshape(HEIGHT, WIDTH)[::-1]
        ranks = [
            f"{HEIGHT - row:2} {' '.join(notation.LETTERS[piece] for piece in line)}"
            for row, line in enumerate(board.tolist())
        ]
        return "\n".join([*ranks, "   a b c d e f g h i", self.to_text(state)])

    def action_to_text(self, state: State, action: int) -> str:
        """UCI's, with ranks from 1 to 10: "b1c3"."""
        squares = (int(squares[action]) for squares in (actions().source, actions().target))
        return "".join(notation.square_name(s if state.player == 0 else _SIZE - 1 - s) for s in squares)

    def action_from_text(self, state: State, text: str) -> int:
        """The legal action of UCI's text, ranks from 1. With a rank 0 it can only be UCCI's, and is read as such."""
        move = text.strip().lower()
        return super().action_from_text(state, notation.from_ucci(move) if notation.is_ucci(move) else text)

    def _start(self, position: notation.Position) -> State:
        """The position as the first of a game, taken as not finished."""
        board, player = jnp.asarray(position.board, jnp.int8), jnp.int8(position.player)
        low, high = _hash(board, player)
        here = np.arange(self.no_capture_plies) == position.clock
        return State(
            boards=jnp.zeros((_HISTORY, _SIZE), jnp.int8).at[0].set(board),
            repetitions=jnp.zeros(_HISTORY, jnp.int8).at[0].set(1),
            low=jnp.where(here, low, np.uint32(0)),
            high=jnp.where(here, high, np.uint32(0)),
            checks=jnp.zeros(2, jnp.int16),
            clock=jnp.int16(position.clock),
            ply=jnp.int16(position.ply),
            player=player,
            terminated=jnp.bool(False),
        )


def _view(state: State) -> Int8[Array, " 90"]:
    """The board as the player to move sees it: own pieces are positive."""
    return jnp.where(state.player == 0, state.boards[0], _turned(state.boards[0]))


def _turned(boards: Int8[Array, "*times 90"]) -> Int8[Array, "*times 90"]:
    """The boards as the other side sees them."""
    return -boards[..., ::-1]


def _hash(board: Int8[Array, " 90"], player: Int[Array, ""]) -> tuple[UInt32[Array, ""], UInt32[Array, ""]]:
    """The position's hash, by one number for every piece on its square, and one for Black to move."""
    pieces = jnp.where(board != 0, 1 + (board.astype(jnp.int32) + _KINDS) * _SIZE + _SQUARE, 0)
    numbers = jnp.append(pieces, jnp.where(player == 1, 2000, 0)).astype(jnp.uint32)
    return hash_of(numbers)


@functools.cache
def _symmetries() -> tuple[Symmetry, ...]:
    source, target = (squares.astype(np.int32) for squares in (actions().source, actions().target))
    mirrored = [square // WIDTH * WIDTH + WIDTH - 1 - square % WIDTH for square in (source, target)]
    image = np.searchsorted(source * _SIZE + target, mirrored[0] * _SIZE + mirrored[1])
    same = np.arange(len(image), dtype=np.int32)
    return Symmetry(lambda planes: planes, same), Symmetry(lambda planes: planes[:, ::-1], image.astype(np.int32))
