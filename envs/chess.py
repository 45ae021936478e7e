"""Chess: the whole rules, with the observation and the moves of AlphaZero (Silver et al. 2018, tables S1 and S2).

Whoever moves sees the board from below, his pawns moving up: for Black it is mirrored by rank, so that files keep their
names and castling looks the same. Square `8 * rank + file` counts a1, b1, ... h8 in the mover's view.

Action `73 * from + plane`. The planes are 56 queen moves (eight directions clockwise from north, each 1 to 7 squares
far), 8 knight moves (clockwise from north-north-east) and 9 underpromotions (to the left, ahead, to the right, each to
knight, bishop, rook). A pawn that gets to the last rank by a queen move becomes a queen; castling is the king's move of
two squares.

Draws need no claim: a position that comes for the third time, 100 half-moves without capture or pawn move (unless the
last one mates), and, as options, material that can mate nobody and the cap on half-moves. Two positions are the same if
side, pieces, castling rights and legal en passant captures agree (FIDE 9.2).

All moves are found at once, as sets of squares (`_bitboard`): plane by plane, the squares from which it is legal.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Int8, UInt32

from envs._chess_moves import (
    BISHOP,
    BOARD,
    KING,
    KNIGHT,
    NUM_PLANES,
    PAWN,
    QUEEN,
    ROOK,
    UNDERPROMOTIONS,
    View,
    legal_moves,
    offsets,
)
from envs._zobrist import hash_of
from envs.core import Game, Move
from envs.notation import fen

MAX_CLOCK = 100  # half-moves without capture or pawn move that draw; what that plane is divided by
_HISTORY = 8  # boards that are observed
_SQUARE = np.arange(64)
_DARK = (_SQUARE // 8 + _SQUARE % 8) % 2 == 0
_ROOK_FROM, _ROOK_TO = np.array([7, 0]), np.array([5, 3])


class State(NamedTuple):
    """A position, with what repetition and the observation need of those before it: 1,330 bytes."""

    boards: Int8[Array, "8 64"]  # pieces as White sees them, Black's negative; the newest first, empty before the game
    repetitions: Int8[Array, " 8"]  # for the how-manieth time each of these was there, as of then
    low: UInt32[Array, " clocks"]  # 64-bit hash of the position since the last capture or pawn move, by `clock`
    high: UInt32[Array, " clocks"]
    castling: Bool[Array, "2 2"]  # White's and Black's rights: king's side, queen's side
    en_passant: Int8[Array, ""]  # the file of a pawn that can legally be captured en passant, or -1
    clock: Int8[Array, ""]  # half-moves since the last capture or pawn move
    ply: Int[Array, ""]  # half-moves since the start
    player: Int[Array, ""]  # 0 is White
    terminated: Bool[Array, ""]


@dataclasses.dataclass(frozen=True)
class Chess(Game[State]):
    """The rules. `insufficient_material`: whether a position in which nobody can mate is a draw at once."""

    insufficient_material: bool = True
    max_plies: int = 512

    def __post_init__(self) -> None:
        if not 1 <= self.max_plies <= 20_000:
            raise ValueError(f"chess's max_plies is 1 to 20,000 half-moves, got max_plies={self.max_plies}")

    @property
    def num_actions(self) -> int:
        return 64 * NUM_PLANES

    @property
    def max_legal_actions(self) -> int:
        return 218

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return 8, 8, 14 * _HISTORY + 7

    @property
    def max_moves(self) -> int:
        return self.max_plies

    # --- the rules ---

    def init(self) -> State:
        return self._start(fen.parse(fen.START))

    def observe(self, state: State) -> Float[Array, "8 8 119"]:
        """For the last eight positions, newest first, own P N B R Q K, the opponent's, and whether it was there for at
        least the second and the third time; then whether White is to move, half-moves / `max_plies`, own castling
        rights (king's side, queen's side), the opponent's, and half-moves without progress / 100.

        What came before a position that was read from text is unknown: zeros, as before a game.
        """
        boards = jnp.where(state.player == 0, state.boards, -_flipped(state.boards)).T[..., None]  # [square, time, 1]
        codes = np.array([*range(1, 7), *range(-1, -7, -1), 0, 0], np.int8)[None, None]
        times = np.array([*[0] * 12, 2, 3], np.int8)[None, None]
        history = jnp.where(codes != 0, boards == codes, state.repetitions[None, :, None] >= times).reshape(64, -1)
        own, other = jnp.where(state.player == 0, state.castling, state.castling[::-1])
        counts = (state.ply * np.float32(1 / self.max_plies), state.clock * np.float32(1 / MAX_CLOCK))
        numbers = jnp.stack([jnp.float32(x) for x in (state.player == 0, counts[0], *own, *other, counts[1])])
        constants = jnp.broadcast_to(numbers, (64, 7))
        return jnp.concatenate([history.astype(jnp.float32), constants], -1).reshape(self.observation_shape)

    def _legal(self, state: State) -> Bool[Array, " actions"]:
        return BOARD.points(legal_moves(_view(state)).planes).reshape(-1)

    def is_legal(self, state: State, action: Int[Array, ""]) -> Bool[Array, ""]:
        planes = legal_moves(_view(state)).planes
        return BOARD.has(planes, action % NUM_PLANES, action // NUM_PLANES) & ~state.terminated

    def in_check(self, state: State) -> Bool[Array, ""]:
        """Whether the player to move is in check."""
        return legal_moves(_view(state)).in_check

    def _move(self, state: State, action: Int[Array, ""]) -> Move[State]:
        view = _view(state)
        board, castling, is_irreversible, pushed_file = _played(view, action)
        after = View(-_flipped(board), castling[::-1], pushed_file)
        moves = legal_moves(after)
        player = 1 - state.player
        clock = jnp.where(is_irreversible, 0, state.clock + 1).astype(jnp.int8)
        ply = state.ply + jnp.ones((), state.ply.dtype)

        seen_by_white = jnp.where(player == 0, after.board, board)
        rights = jnp.where(player == 0, after.castling, castling)
        en_passant = jnp.where(moves.en_passant, pushed_file, -1).astype(jnp.int8)
        low, high = _hash(seen_by_white, rights, en_passant, player)
        place = np.arange(MAX_CLOCK)
        before = (state.low == low) & (state.high == high) & (place < clock)
        times = 1 + before.sum(dtype=jnp.int32)

        stuck = ~moves.planes.any().any()
        won = stuck & moves.in_check
        over = stuck | (times >= 3) | (clock >= MAX_CLOCK)
        if self.insufficient_material:
            over = over | _is_insufficient(board)
        next_state = State(
            boards=jnp.concatenate([seen_by_white[None], state.boards[:-1]]),
            repetitions=jnp.concatenate([times[None].astype(jnp.int8), state.repetitions[:-1]]),
            low=jnp.where(place == clock, low, state.low),
            high=jnp.where(place == clock, high, state.high),
            castling=rights,
            en_passant=en_passant,
            clock=clock,
            ply=ply,
            player=player,
            terminated=over | (ply >= self.max_plies),
        )
        return Move(next_state, jnp.where(won, 1.0, 0.0), truncated=~over & (ply >= self.max_plies))

    # --- host side ---

    def from_text(self, text: str) -> State:
        """The position of a FEN; what came before it is unknown. Raises ValueError, naming the fault, if it is none.

        Castling rights without king and rook in their places are dropped, and so is an en passant square where no
        capture is legal.
        """
        position = fen.parse(text)
        if position.ply >= self.max_plies:
            raise ValueError(
                f"{text!r} stands at half-move {position.ply}, where the game has ended: the cap is "
                f"max_plies={self.max_plies}"
            )
        if position.clock > MAX_CLOCK:
            raise ValueError(f"{text!r} has {position.clock} half-moves without progress; the game ends at {MAX_CLOCK}")
        state = self._start(position)
        opponent = View(-_flipped(_view(state).board), jnp.zeros((2, 2), jnp.bool), jnp.int8(-1))
        if bool(legal_moves(opponent).in_check):
            raise ValueError(f"{text!r}: the side that is not to move is in check")
        moves = legal_moves(_view(state))
        if not moves.en_passant:
            state = self._start(position._replace(en_passant=-1))
        over = not moves.planes.any().any() or position.clock >= MAX_CLOCK
        over = over or (self.insufficient_material and bool(_is_insufficient(state.boards[0])))
        return state._replace(terminated=jnp.bool(over))

    def to_text(self, state: State, *, en_passant: str = "legal") -> str:
        """The FEN. The en passant square is named where a capture is "legal", or after every double step ("always")."""
        if en_passant not in ("legal", "always"):
            raise ValueError(f"en_passant is 'legal' or 'always', got {en_passant!r}")
        file = int(state.en_passant)
        if en_passant == "always" and np.any(state.boards[1]):
            pawn, step = (PAWN, 16) if state.player == 1 else (-PAWN, -16)
            now, before = np.asarray(state.boards[:2])
            (source,) = np.nonzero((before == pawn) & (now != pawn))
            (target,) = np.nonzero((now == pawn) & (before != pawn))
            file = int(target[0]) % 8 if len(source) == len(target) == 1 and target[0] - source[0] == step else -1
        return fen.format(
            fen.Position(
                board=np.asarray(state.boards[0]),
                player=int(state.player),
                castling=np.asarray(state.castling),
                en_passant=file,
                clock=int(state.clock),
                ply=int(state.ply),
            )
        )

    def termination(self, state: State) -> str | None:
        """Why the game is over; None if it is not.

        "checkmate", "stalemate", "threefold repetition", "fifty moves", "insufficient material", "move cap" or "illegal
        move".
        """
        if not state.terminated:
            return None
        moves = legal_moves(_view(state))
        if not moves.planes.any().any():
            return "checkmate" if moves.in_check else "stalemate"
        if state.repetitions[0] >= 3:
            return "threefold repetition"
        if state.clock >= MAX_CLOCK:
            return "fifty moves"
        if self.insufficient_material and _is_insufficient(state.boards[0]):
            return "insufficient material"
        return "move cap" if state.ply >= self.max_plies else "illegal move"

    def render(self, state: State) -> str:
        """White's pieces upper case, Black's lower case, and the FEN."""
        board = np.asarray(state.boards[0]).reshape(8, 8)[::-1]
        ranks = [
            f"{8 - row} {' '.join(fen.LETTERS[piece] for piece in line)}" for row, line in enumerate(board.tolist())
        ]
        return "\n".join([*ranks, "  a b c d e f g h", self.to_text(state)])

    def action_to_text(self, state: State, action: int) -> str:
        """UCI's: "e2e4", "e1g1" for castling, "e7e8q"."""
        source, plane = divmod(int(action), NUM_PLANES)
        target = source + int(offsets()[plane])
        flip = 0 if state.player == 0 else 56
        piece = "nbr"[(plane - 64) % 3] if plane >= 64 else ""
        if plane < 56 and target >= 56 and abs(int(state.boards[0, source ^ flip])) == PAWN:
            piece = "q"
        return fen.square_name(source ^ flip) + fen.square_name(target ^ flip) + piece

    def action_from_text(self, state: State, text: str) -> int:
        """The legal action that UCI's `text` names; castling also as king takes rook, "e1h1"."""
        castling = {"e1h1": "e1g1", "e1a1": "e1c1", "e8h8": "e8g8", "e8a8": "e8c8"}
        move = text.strip().lower()
        if move in castling and abs(int(state.boards[0, fen.square_number(move[:2])])) == KING:
            text = castling[move]
        return super().action_from_text(state, text)

    def _start(self, position: fen.Position) -> State:
        """The position as the first of a game, taken as not finished."""
        board, castling = jnp.asarray(position.board, jnp.int8), jnp.asarray(position.castling)
        en_passant, player = jnp.int8(position.en_passant), jnp.int8(position.player)
        low, high = _hash(board, castling, en_passant, player)
        here = np.arange(MAX_CLOCK) == position.clock
        return State(
            boards=jnp.zeros((_HISTORY, 64), jnp.int8).at[0].set(board),
            repetitions=jnp.zeros(_HISTORY, jnp.int8).at[0].set(1),
            low=jnp.where(here, low, np.uint32(0)),
            high=jnp.where(here, high, np.uint32(0)),
            castling=castling,
            en_passant=en_passant,
            clock=jnp.int8(position.clock),
            ply=jnp.int16(position.ply),
            player=player,
            terminated=jnp.bool(False),
        )


def _view(state: State) -> View:
    white = state.player == 0
    board = jnp.where(white, state.boards[0], -_flipped(state.boards[0]))
    return View(board, jnp.where(white, state.castling, state.castling[::-1]), state.en_passant)


def _flipped(boards: Int8[Array, "*times 64"]) -> Int8[Array, "*times 64"]:
    """The ranks in opposite order."""
    return boards.reshape(*boards.shape[:-1], 8, 8)[..., ::-1, :].reshape(boards.shape)


def _played(
    view: View, action: Int[Array, ""]
) -> tuple[Int8[Array, " 64"], Bool[Array, "2 2"], Bool[Array, ""], Int[Array, ""]]:
    """The board and the rights after a legal move, still as the mover sees them; whether it was a capture or a pawn's;
    the file of a pawn that moved two squares, or -1."""
    board, source, plane = view.board, action // NUM_PLANES, action % NUM_PLANES
    target = source + jnp.asarray(offsets())[plane]
    piece, captured = board[source], board[target]
    is_pawn, is_king = piece == PAWN, piece == KING
    en_passant = is_pawn & ((target - source) % 8 != 0) & (captured == 0)
    promoted = jnp.where(plane >= 64, jnp.asarray(UNDERPROMOTIONS)[(plane - 64) % 3], QUEEN)
    placed = jnp.where(is_pawn & (target >= 56), promoted, piece).astype(jnp.int8)
    castles = is_king & (jnp.abs(target - source) == 2)
    rook_from, rook_to = (jnp.where(target < source, squares[1], squares[0]) for squares in (_ROOK_FROM, _ROOK_TO))
    rook = jnp.where(castles, ROOK, 0)
    changes = [
        (source, -piece),
        (target, placed - captured),
        (target - 8, jnp.where(en_passant, PAWN, 0)),  # the captured pawn's code is negative
        (rook_from, -rook),
        (rook_to, rook),
    ]
    squares, amounts = (jnp.stack(column).astype(jnp.int8)[:, None] for column in zip(*changes, strict=True))
    after = board + jnp.where(squares == _SQUARE.astype(np.int8)[None], amounts, 0).sum(0, dtype=jnp.int8)
    kept = [~is_king & (source != _ROOK_FROM), target != _ROOK_FROM + 56]
    file = jnp.where(is_pawn & (target - source == 16), source % 8, -1)
    return after, view.castling & jnp.stack(kept), is_pawn | (captured != 0), file


def _hash(
    board: Int8[Array, " 64"], castling: Bool[Array, "2 2"], en_passant: Int[Array, ""], player: Int[Array, ""]
) -> tuple[UInt32[Array, ""], UInt32[Array, ""]]:
    """The position's hash: by one number for every piece on its square, right, file and side that is there."""
    pieces = jnp.where(board != 0, 1 + (board.astype(jnp.int32) + KING) * 64 + _SQUARE, 0)
    rights = jnp.where(castling.reshape(-1), 1001 + np.arange(4), 0)
    others = jnp.stack([jnp.where(en_passant >= 0, 1101 + en_passant, 0), jnp.where(player == 1, 1201, 0)])
    numbers = jnp.concatenate([pieces, rights, others]).astype(jnp.uint32)
    return hash_of(numbers)


def _is_insufficient(board: Int8[Array, " 64"]) -> Bool[Array, ""]:
    """Whether no sequence of moves mates: beside the kings there is one knight, or bishops on squares of one colour."""
    kind = jnp.abs(board)
    knights, bishops = (kind == KNIGHT).sum(), kind == BISHOP
    others = (kind == PAWN) | (kind == ROOK) | (kind == QUEEN)
    one_colour = ~(bishops & _DARK).any() | ~(bishops & ~_DARK).any()
    return ~others.any() & jnp.where(bishops.any(), (knights == 0) & one_colour, knights <= 1)
