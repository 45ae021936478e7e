"""Shogi: the whole rules, with the observation and the moves of AlphaZero (Silver et al. 2018, tables S1 and S2).

Whoever moves sees the board from his side, his pieces moving up: for the second player (gote, white) it is turned by
180 degrees. Square `9 * row + column`, in the mover's view: row 0 is his own back rank, column 0 is on his left. So for
the first player (sente, black) row 0 is rank i and column 0 is file 9.

Action `139 * square + plane`. For a move the square is where it begins, and the planes are 64 queen moves (8 directions
clockwise from north, each 1 to 8 squares far), 2 knight moves (to the left, to the right) and the same 66 with
promotion. For a drop the square is where it ends, and the planes are P L N S G B R.

Piece types are in the order P L N S G B R K +P +L +N +S +B +R, hands in the order P L N S G B R. Who has no legal move
has lost. A drop of a pawn that mates is not legal. A position (board, hands, side to move) that comes for the fourth
time ends the game: as a draw, but if all moves of just one side since its first time were checks, that side has lost.
(If both sides gave nothing but checks, it is a draw.) A game of `max_plies` moves is a draw, truncated.

The legal moves are found at once, as sets of squares, in `_shogi_moves`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int8, Int16, UInt32

from envs._shogi_moves import (
    BISHOP,
    BOARD,
    DROPS,
    KING,
    NUM_MOVES,
    NUM_PLANES,
    OFFSETS,
    PROMOTED,
    ROOK,
    TYPES,
    Moves,
    legal_moves,
    mask,
)
from envs._zobrist import hash_of
from envs.core import Game, Move
from envs.notation import sfen

_HISTORY = 8  # boards that are observed
_TIMES = 4  # a position that comes so often ends the game
_SQUARE = np.arange(81)
_STEPS = np.array([9 * rows + columns for rows, columns in OFFSETS.tolist()] * 2 + [0] * len(DROPS), np.int32)
_HELD = np.arange(len(DROPS))
_ENTERED_PIECES, _ENTERED_POINTS = 10, (28, 27)  # what the entering king needs; points by player
_POINTS = np.array([5 if piece in (BISHOP, ROOK) else 1 for piece in DROPS], np.int32)


class State(NamedTuple):
    """A position, with what repetition and the observation need of those before it: 4,872 bytes.

    No move of shogi is irreversible, so that the hashes of all positions are kept.
    """

    boards: Int8[Array, "8 81"]  # as the first player sees them, the second's pieces negative; newest first
    hands: Int8[Array, "8 2 7"]  # the first and the second player's at those times
    repetitions: Int8[Array, " 8"]  # for the how-manieth time each of these positions was there, as of then
    low: UInt32[Array, " plies"]  # 64-bit hash of the position after so many moves
    high: UInt32[Array, " plies"]
    checks: Int16[Array, " 2"]  # each player's run of moves up to his last that all gave check
    ply: Int16[Array, ""]  # moves since the start; in a position from text, as its move number says
    player: Int8[Array, ""]  # 0 is the first player
    terminated: Bool[Array, ""]


class _Ending(NamedTuple):
    """What may end the game in a position."""

    stuck: Bool[Array, ""]  # the player to move has no legal move
    fourth: Bool[Array, ""]  # it is there for the fourth time
    checker: Int[Array, ""]  # who alone gave nothing but checks in between, or -1
    entered: Bool[Array, ""]  # the player to move wins by his entering king
    capped: Bool[Array, ""]


@dataclasses.dataclass(frozen=True)
class Shogi(Game[State]):
    """The rules. `entering_king`: whether the 27-point declaration is in force.

    It is then made without being asked for: at the start of his turn a player has won if his king is in the promotion
    zone (the three far ranks) and not in check, ten or more others of his pieces are in it, and these and those in his
    hand count 28 points (first player) or 27 (second), 5 for rooks and bishops, promoted or not, 1 for all others.
    """

    entering_king: bool = False
    max_plies: int = 512

    def __post_init__(self) -> None:
        if not 1 <= self.max_plies <= 20_000:
            raise ValueError(f"shogi's max_plies is 1 to 20,000 moves, got max_plies={self.max_plies}")

    @property
    def num_actions(self) -> int:
        return 81 * NUM_PLANES

    @property
    def max_legal_actions(self) -> int:
        return 593

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return 9, 9, 45 * _HISTORY + 2

    @property
    def max_moves(self) -> int:
        return self.max_plies

    # --- the rules ---

    def init(self) -> State:
        return self._start(*sfen.parse(sfen.START)[:4])

    def observe(self, state: State) -> Float[Array, "9 9 362"]:
        """For the last eight positions, newest first: own pieces of the 14 types, the opponent's, whether it was there
        for at least the second, third and fourth time, the own hand and the opponent's, each number divided by how many
        of the piece there are. Then whether the first player is to move, and moves / `max_plies`.

        What came before a position that was read from text is unknown: zeros, as before a game.
        """
        types = np.array(TYPES, np.int8)
        boards = _by_player(state.player, state.boards, -state.boards[:, ::-1])
        pieces = boards.T[..., None] == np.concatenate([types, -types])[None, None]  # [square, time, type]
        repeated = (state.repetitions[:, None] >= np.arange(2, _TIMES + 1)[None]).astype(jnp.float32)
        hands = state.hands / np.array(sfen.COUNTS, np.float32)[None, None]
        both = (jnp.concatenate([repeated, h.reshape(_HISTORY, 14)], -1) for h in (hands, hands[:, ::-1]))
        others = jnp.broadcast_to(_by_player(state.player, *both), (81, _HISTORY, 17))
        history = jnp.concatenate([pieces.astype(jnp.float32), others], -1).reshape(81, -1)
        constants = jnp.stack([(state.player == 0).astype(jnp.float32), state.ply / np.float32(self.max_plies)])
        planes = jnp.concatenate([history, jnp.broadcast_to(constants, (81, 2))], -1)
        return planes.reshape(self.observation_shape)

    def _legal(self, state: State) -> Bool[Array, " actions"]:
        return mask(_moves(state).planes)

    def is_legal(self, state: State, action: Int[Array, ""]) -> Bool[Array, ""]:
        planes = _moves(state).planes
        return BOARD.has(planes, action % NUM_PLANES, action // NUM_PLANES) & ~state.terminated

    def _move(self, state: State, action: Int[Array, ""]) -> Move[State]:
        square, plane = action // NUM_PLANES, action % NUM_PLANES
        first, drops = state.player == 0, plane >= 2 * NUM_MOVES
        target = square + jnp.sum(jnp.where(np.arange(NUM_PLANES) == plane, _STEPS, 0))
        square, target = (jnp.where(first, place, 80 - place) for place in (square, target))
        side, board = jnp.where(first, 1, -1), state.boards[0].astype(jnp.int32)
        is_source, is_target = square == _SQUARE, target == _SQUARE
        piece = side * jnp.sum(jnp.where(is_source, board, 0))
        piece = jnp.where(drops, plane - 2 * NUM_MOVES + 1, piece)
        piece = piece | jnp.where((plane >= NUM_MOVES) & ~drops, PROMOTED, 0)
        captured = -side * jnp.sum(jnp.where(is_target, board, 0))
        board = jnp.where(is_target, side * piece, jnp.where(is_source, 0, board)).astype(jnp.int8)

        gained = ((captured > 0) & (captured % PROMOTED - 1 == _HELD)).astype(jnp.int8)
        spent = (drops & (piece - 1 == _HELD)).astype(jnp.int8)
        is_mover = np.arange(2) == state.player
        hands = state.hands[0] + jnp.where(is_mover[:, None], gained - spent, 0).astype(jnp.int8)
        position = state._replace(
            boards=jnp.concatenate([board[None], state.boards[:-1]]),
            hands=jnp.concatenate([hands[None], state.hands[:-1]]),
            ply=state.ply + jnp.ones((), state.ply.dtype),
            player=1 - state.player,
        )
        moves = _moves(position)
        checks = jnp.where(is_mover, jnp.where(moves.check, state.checks + 1, 0), state.checks)
        position = position._replace(checks=checks.astype(jnp.int16))
        ending, times = self._ending(position, moves)
        low, high = _hash(position)
        place = np.arange(self.max_plies)
        over, won = _over(ending, state.player)
        next_state = position._replace(
            repetitions=jnp.concatenate([times[None].astype(jnp.int8), state.repetitions[:-1]]),
            low=jnp.where(place == position.ply, low, state.low),
            high=jnp.where(place == position.ply, high, state.high),
            terminated=over | ending.capped,
        )
        return Move(next_state, won.astype(jnp.float32), truncated=~over & ending.capped)

    def _ending(self, state: State, moves: Moves) -> tuple[_Ending, Int[Array, ""]]:
        """What ends the game in this position, and for the how-manieth time it is there."""
        low, high = _hash(state)
        place = np.arange(self.max_plies)
        before = (state.low == low) & (state.high == high) & (place < state.ply)
        times = 1 + before.sum(dtype=jnp.int32)
        since = state.ply - jnp.min(jnp.where(before, place, self.max_plies))
        only_checks = 2 * state.checks >= since
        checker = jnp.where(only_checks[0] == only_checks[1], -1, jnp.where(only_checks[0], 0, 1))
        entered = jnp.bool_(False)
        if self.entering_king:
            entered = _has_entered(_view(state), state) & ~moves.check
        stuck = ~moves.planes.any().any()
        return _Ending(stuck, times >= _TIMES, checker, entered, state.ply >= self.max_plies), times

    # --- host side ---

    def from_text(self, text: str) -> State:
        """The position of an SFEN, or after the moves of a USI `position` command. Raises ValueError, naming the fault,
        for what is none.

        What came before the position is unknown: repetition begins here. Players may lack a king.
        """
        position = sfen.parse(text)
        if position.ply >= self.max_plies:
            raise ValueError(
                f"{text!r} has move number {position.ply + 1}, when the game has ended: the cap is "
                f"max_plies={self.max_plies}"
            )
        look, play = _programs(self)
        state, over, attacked, count = look(*position[:4])
        if attacked:
            raise ValueError(f"{text!r}: the side that is not to move is in check")
        if count > self.max_legal_actions:
            raise ValueError(f"{text!r} has {count} legal moves; no position of a game has more than 593")
        state = state._replace(terminated=over)
        for number, move in enumerate(position.moves, 1):
            try:
                action = self._action(state, move)
            except ValueError as error:
                raise ValueError(f"move {number}, {error}") from error
            legal, after = play(state, jnp.int32(action))
            if not legal:
                why = "the game is over" if state.terminated else "it is not legal here"
                raise ValueError(f"move {number}, {move!r}: {why}")
            state = after
        return state

    def to_text(self, state: State) -> str:
        """The SFEN."""
        board, hands = np.asarray(state.boards[0]), np.asarray(state.hands[0])
        return sfen.format(sfen.Position(board, hands, int(state.player), int(state.ply)))

    def termination(self, state: State) -> str | None:
        """Why the game is over: "checkmate", "no legal move", "fourfold repetition", "perpetual check" (by who then has
        lost), "entering king", "move cap" or "illegal move"; None if it is not."""
        if not state.terminated:
            return None
        moves = _moves(state)
        ending, _ = self._ending(state, moves)
        if ending.stuck:
            return "checkmate" if moves.check else "no legal move"
        if ending.fourth:
            return "fourfold repetition" if ending.checker < 0 else "perpetual check"
        if ending.entered:
            return "entering king"
        return "move cap" if ending.capped else "illegal move"

    def render(self, state: State) -> str:
        """The first player's pieces upper case, the second's lower case, with files, ranks, and the SFEN."""
        rows = np.asarray(state.boards[0]).reshape(9, 9)[::-1].tolist()
        lines = ["".join(f"{sfen.piece_text(piece):>3}" for piece in row) for row in rows]
        lines = [f"{line}  {rank}" for line, rank in zip(lines, "abcdefghi", strict=True)]
        return "\n".join(["".join(f"{file:>3}" for file in range(9, 0, -1)), *lines, self.to_text(state)])

    def action_to_text(self, state: State, action: int) -> str:
        """USI's: "7g7f", "8h2b+", "P*5e"."""
        square, plane = divmod(int(action), NUM_PLANES)
        target = square + int(_STEPS[plane])
        source, target = (place if state.player == 0 else 80 - place for place in (square, target))
        if plane >= 2 * NUM_MOVES:
            return f"{sfen.LETTERS[DROPS[plane - 2 * NUM_MOVES]]}*{sfen.square_text(target)}"
        return sfen.square_text(source) + sfen.square_text(target) + "+" * (plane >= NUM_MOVES)

    def _action(self, state: State, move: str) -> int:
        """The action that USI's `move` names, legal or not."""
        piece, source, target, promotes = sfen.parse_move(move)
        turn = (lambda square: square) if state.player == 0 else (lambda square: 80 - square)
        if source is None:
            return turn(target) * NUM_PLANES + 2 * NUM_MOVES + DROPS.index(piece)
        (row, column), (to_row, to_column) = divmod(turn(source), 9), divmod(turn(target), 9)
        (found,) = np.nonzero((np.array([to_row - row, to_column - column]) == OFFSETS).all(1))
        if not len(found):
            raise ValueError(f"{move!r}: no piece moves so")
        return turn(source) * NUM_PLANES + int(found[0]) + NUM_MOVES * promotes

    def _start(self, board: Any, hands: Any, player: Any, ply: Any) -> State:
        """The position as the first of a game, taken as not finished."""
        none = jnp.zeros(self.max_plies, jnp.uint32)
        state = State(
            boards=jnp.zeros((_HISTORY, 81), jnp.int8).at[0].set(board),
            hands=jnp.zeros((_HISTORY, 2, 7), jnp.int8).at[0].set(hands),
            repetitions=jnp.zeros(_HISTORY, jnp.int8).at[0].set(1),
            low=none,
            high=none,
            checks=jnp.zeros(2, jnp.int16),
            ply=jnp.asarray(ply, jnp.int16),
            player=jnp.asarray(player, jnp.int8),
            terminated=jnp.bool_(False),
        )
        low, high = _hash(state)
        here = np.arange(self.max_plies) == state.ply
        return state._replace(low=jnp.where(here, low, none), high=jnp.where(here, high, none))


def _view(state: State) -> Int8[Array, "81"]:
    """The board as the player to move sees it, his pieces positive."""
    return jnp.where(state.player == 0, state.boards[0], -state.boards[0, ::-1])


def _by_player(player: Int[Array, ""], first: Array, second: Array) -> Array:
    """The one or the other. As a reduction, since XLA would compute a selection again for everything that needs it."""
    both = jnp.stack([first, second])
    mine = (np.arange(2) == player).reshape(2, *(1,) * first.ndim)
    return jax.lax.reduce(jnp.where(mine, both, 0).astype(both.dtype), np.zeros((), both.dtype), jax.lax.add, (0,))


def _moves(state: State) -> Moves:
    return legal_moves(_view(state), jnp.where(state.player == 0, state.hands[0, 0], state.hands[0, 1]))


def _over(ending: _Ending, mover: Int[Array, ""]) -> tuple[Bool[Array, ""], Int[Array, ""]]:
    """Whether the game is over, but for the cap, and what the player who moved has won."""
    by_checks = jnp.where(ending.checker < 0, 0, jnp.where(ending.checker == mover, -1, 1))
    won = jnp.where(ending.stuck, 1, jnp.where(ending.fourth, by_checks, jnp.where(ending.entered, -1, 0)))
    return ending.stuck | ending.fourth | ending.entered, won


def _hash(state: State) -> tuple[UInt32[Array, ""], UInt32[Array, ""]]:
    """The position's hash: by a number for every piece on its square, each of the 14 counts in hand, and the side."""
    board, hands = state.boards[0].astype(jnp.int32), state.hands[0].reshape(-1).astype(jnp.int32)
    pieces = jnp.where(board != 0, 1 + (board + 16) * 81 + _SQUARE, 0)
    held = 3001 + hands * 14 + np.arange(14)
    numbers = jnp.concatenate([pieces, held, jnp.where(state.player == 1, 5001, 0)[None]]).astype(jnp.uint32)
    return hash_of(numbers)


def _has_entered(view: Int8[Array, "81"], state: State) -> Bool[Array, ""]:
    """Whether the player to move may declare, but for a check."""
    zone, hand = view[54:], jnp.where(state.player == 0, state.hands[0, 0], state.hands[0, 1])
    own, kind = (zone > 0) & (zone != KING), zone % PROMOTED
    points = jnp.where(own, jnp.where((kind == BISHOP) | (kind == ROOK), 5, 1), 0).sum() + (hand * _POINTS).sum()
    enough = points >= jnp.where(state.player == 0, *_ENTERED_POINTS)
    return (zone == KING).any() & (own.sum() >= _ENTERED_PIECES) & enough


@functools.cache
def _programs(game: Shogi) -> tuple[Callable, Callable]:
    """For texts, compiled: a position as the first state, whether it is finished, whether the side not to move is in
    check, and the number of legal moves; whether a move is legal, and the state after it."""

    def look(board, hands, player, ply):
        state = game._start(board, hands, player, ply)
        moves = _moves(state)
        over, _ = _over(game._ending(state, moves)[0], jnp.int8(0))
        return state, over, _moves(state._replace(player=1 - state.player)).check, moves.planes.count().sum()

    return jax.jit(look), jax.jit(lambda state, action: (game.is_legal(state, action), game.step(state, action)[0]))
