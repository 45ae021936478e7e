"""Where the pieces of shogi may go: the legal moves of a position as sets of squares, all pieces at once.

Everything is in the view of the player to move: square `row * 9 + column`, row 0 his own back rank, column 0 his left.
Directions are clockwise from north, which is away from him; sets [8] are by direction, sets [8, 8] by direction and
distance.

No move is tried out. From the king's eight lines follow the pinned pieces and the squares where a check can be met; the
king may go where nothing attacks, also through him. Only a pawn's drop in front of the opponent's king asks more:
whether he has a reply, which is the same question from the other side.

Reductions are also what divides the work: XLA's CPU backend computes their results once, but anything else again for
every element that needs it.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from envs._bitboard import Board, Squares, concatenate

PAWN, LANCE, KNIGHT, SILVER, GOLD, BISHOP, ROOK, KING = range(1, 9)
PROMOTED = 8  # added to the piece's code; there is no promoted gold, and the king's code is that of nothing, promoted
TYPES = (*range(PAWN, KING + 1), *(PROMOTED + piece for piece in (PAWN, LANCE, KNIGHT, SILVER, BISHOP, ROOK)))
BOARD = Board(9, 9)

_DIRECTIONS = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))  # N, NE, E, SE, S, SW, W, NW
_SOUTH = 4
_JUMPS = ((2, -1), (2, 1))  # a knight's
OFFSETS = np.array(  # (rows, columns) of the moves without promotion, in the order of the planes
    [(distance * down, distance * right) for down, right in _DIRECTIONS for distance in range(1, 9)] + [*_JUMPS]
)
NUM_MOVES = len(OFFSETS)  # and as many with promotion
DROPS = (PAWN, LANCE, KNIGHT, SILVER, GOLD, BISHOP, ROOK)
NUM_PLANES = 2 * NUM_MOVES + len(DROPS)

_STEP = BOARD.offsets(*_DIRECTIONS)
_JUMP = BOARD.offsets(*_JUMPS)
_JUMP_BACK = BOARD.offsets(*((-down, -right) for down, right in _JUMPS))
_ALL = np.uint32(0xFFFFFFFF)


class Moves(NamedTuple):
    """The legal moves of a position."""

    planes: Squares  # [139], the squares from which the plane's move is legal; for drops the squares to drop on
    check: Bool[Array, ""]


class _Army(NamedTuple):
    """A player's pieces."""

    all: Squares
    king: Squares
    knights: Squares
    steps: Squares  # [8], those that go one step in the direction, but for the king
    slides: Squares  # [8], those that go any number of steps
    steps_back: Squares  # [8], the same by the direction in which one looks at them
    slides_back: Squares


class _Pins(NamedTuple):
    """Which pieces the king does not hold back."""

    free: Squares  # [8], for going in the direction
    unpinned: Squares  # for going anywhere


def legal_moves(view: Int[Array, "81"], hand: Int[Array, "7"]) -> Moves:
    """The mover's view of the board, positive codes his, and his hand -> his legal moves."""
    codes = jnp.abs(view)
    pawn_files = jnp.broadcast_to(jnp.any((view == PAWN).reshape(9, 9), 0), (9, 9)).reshape(-1)
    layers = [*((codes >> bit) & 1 == 1 for bit in range(4)), view > 0, view < 0, pawn_files]
    packed = BOARD.pack(jnp.stack(layers))
    bits, mine, theirs, pawn_files = [packed[bit] for bit in range(4)], packed[4], packed[5], packed[6]

    def every(code: int) -> Squares:
        """The pieces of this code, of both players."""
        return functools.reduce(operator.and_, (layer if code >> bit & 1 else ~layer for bit, layer in enumerate(bits)))

    def of(*pieces: int) -> Squares:
        return functools.reduce(operator.or_, map(every, pieces))

    own, opponent = _army(of, mine, turned=False), _army(of, theirs, turned=True)
    empty = BOARD.all & ~(mine | theirs)
    clear = _clear(empty)
    sliders, from_king = _seen(opponent.slides_back, clear), _opposite(_seen(own.king, clear))

    # What gives check is met on the line from it to the king. Two such lines have no square in common.
    attackers = sliders | _STEP.look(opponent.steps_back | opponent.king)
    jumpers = _JUMP_BACK.look(own.king) & opponent.knights
    checked = concatenate([attackers & own.king, jumpers]).any()
    allowed = _intersection(concatenate([from_king, jumpers]) | BOARD.all.where(~checked))
    pins = _pins(sliders & from_king & mine)

    reach = _rays(allowed & ~mine, clear) & _movers(own, pins)
    jumps = _JUMP.look(allowed & ~mine) & (own.knights & pins.unpinned)
    behind = (_STEP.look(own.king)).where((sliders & own.king).any())
    attacked = concatenate([attackers | behind, _JUMP.look(opponent.knights)]).union()
    walks = _STEP.look(BOARD.all & ~mine & ~attacked) & own.king
    reach = reach | walks.reshape(8, 1).where(np.arange(8)[None] == 0)

    reach = concatenate([reach.reshape(64), jumps])
    staying = ~(BOARD.constant(_dead_ends()) & (of(PAWN, LANCE, KNIGHT) & mine))
    promoting = BOARD.constant(_zone()) & (of(PAWN, LANCE, KNIGHT, SILVER, BISHOP, ROOK) & mine)
    mate = _pawn_that_mates(own, opponent, empty, clear)
    drops = BOARD.constant(_droppable()) & (allowed & empty).where(hand > 0)
    drops = drops & ~(pawn_files | mate).where(np.arange(7) == 0)
    return Moves(concatenate([reach & staying, reach & promoting, drops]), jnp.any(checked))


def mask(planes: Squares) -> Bool[Array, " actions"]:
    """Square by square, whether it is in each of the planes' sets.

    As a loop over blocks of squares. XLA's CPU backend would else work it out again in whatever uses it, action by
    action, for which it takes ten times as long.
    """
    size, (block, num_planes) = BOARD.size, (27, planes.words[0].size)
    square_bits = jnp.asarray(
        np.stack(BOARD.constant(np.eye(size, dtype=bool)).words)[..., None]
    )  # [words, squares, 1]

    def expand(index: Int[Array, ""], points: Bool[Array, "81 planes"]) -> Bool[Array, "81 planes"]:
        first = block * index
        bits = jax.lax.dynamic_slice_in_dim(square_bits, first, block, 1)
        parts = (word[None] & bit for word, bit in zip(planes.words, bits, strict=True))
        return jax.lax.dynamic_update_slice_in_dim(points, functools.reduce(operator.or_, parts) != 0, first, 0)

    return jax.lax.fori_loop(0, size // block, expand, jnp.zeros((size, num_planes), bool)).reshape(-1)


def _pawn_that_mates(own: _Army, opponent: _Army, empty: Squares, clear: Squares) -> Squares:
    """The square before the opponent's king, if a pawn dropped there leaves him no reply."""
    square = _STEP.look(opponent.king)[0] & empty
    rays = _rays(square, clear)
    sliders, from_king = _seen(own.slides_back, clear), _opposite(_seen(opponent.king, clear))
    # The pawn stands in the way of whatever looks through its square.
    pins = _pins((sliders & from_king & opponent.all).where(np.arange(8) != _SOUTH))
    captures = rays & _movers(opponent, pins)
    jumps = _JUMP_BACK.look(square) & (opponent.knights & pins.unpinned)
    attackers = sliders & ~_over_distances(rays) | _STEP.look(own.steps_back | own.king)
    attacked = concatenate([attackers, _JUMP_BACK.look(own.knights)]).union()
    walks = _STEP.look(BOARD.all & ~opponent.all & ~attacked) & opponent.king
    replies = concatenate([captures.reshape(64), jumps, walks]).any()
    return square.where(~jnp.any(replies))


def _army(of: Callable[..., Squares], side: Squares, *, turned: bool) -> _Army:
    """The pieces of one side, whose north is the other's south if it is turned. `of` gives those of both sides."""
    gold = of(GOLD, *(PROMOTED + piece for piece in (PAWN, LANCE, KNIGHT, SILVER)))
    horse, dragon = of(PROMOTED + BISHOP), of(PROMOTED + ROOK)
    #                             N  NE E  SE S  SW W  NW
    steps = (
        (of(PAWN) & side,        (1, 0, 0, 0, 0, 0, 0, 0)),
        (of(SILVER) & side,      (1, 1, 0, 1, 0, 1, 0, 1)),
        (gold & side,            (1, 1, 1, 0, 1, 0, 1, 1)),
        (horse & side,           (1, 0, 1, 0, 1, 0, 1, 0)),
        (dragon & side,          (0, 1, 0, 1, 0, 1, 0, 1)),
    )  # fmt: skip
    slides = (
        (of(LANCE) & side,           (1, 0, 0, 0, 0, 0, 0, 0)),
        ((of(ROOK) | dragon) & side, (1, 0, 1, 0, 1, 0, 1, 0)),
        ((of(BISHOP) | horse) & side, (0, 1, 0, 1, 0, 1, 0, 1)),
    )  # fmt: skip

    def going(kinds, turned: bool) -> Squares:
        sets = (pieces.where(np.roll(np.array(where, bool), 4 * turned)) for pieces, where in kinds)
        return functools.reduce(operator.or_, sets)

    sets = (going(kinds, turn) for turn in (turned, not turned) for kinds in (steps, slides))
    return _Army(side, of(KING) & side, of(KNIGHT) & side, *sets)


def _pins(pinned: Squares) -> _Pins:
    """[8], the pieces that are pinned by a slider in the direction; along the same line they may go."""
    axes = Squares(tuple(jax.lax.reduce(w.reshape(2, 4), np.uint32(0), jax.lax.bitwise_or, (0,)) for w in pinned.words))
    unpinned = ~axes.union()
    return _Pins(concatenate([axes, axes]) | unpinned, unpinned)


def _movers(army: _Army, pins: _Pins) -> Squares:
    """[8, 8], the pieces but for the king that may go so far."""
    slides, steps = army.slides & pins.free, army.steps & pins.free
    return slides.reshape(8, 1) | steps.reshape(8, 1).where(np.arange(8)[None] == 0)


# --- lines ---


def _clear(empty: Squares) -> Squares:
    """[8, 8], where all squares on the way to the distance, itself not counted, are empty."""
    ahead = _Lines(0).look(empty)
    # [8, on the way, 8]: what is not on the way to the distance does not matter.
    matters = np.triu(np.ones((8, 8), bool)) & (np.arange(8) > 0)[:, None]
    words = (word[..., None] | np.where(matters, np.uint32(0), _ALL)[None] for word in ahead.words)
    return Squares(tuple(jax.lax.reduce(word, _ALL, jax.lax.bitwise_and, (1,)) for word in words))


def _rays(squares: Squares, clear: Squares) -> Squares:
    """[8, 8], the squares from which one sees a member at the distance."""
    return _Lines(1).look(squares) & clear


def _seen(squares: Squares, clear: Squares) -> Squares:
    """[8], the squares from which one sees a member in the direction; of a set, or of one for every direction."""
    return _over_distances(_rays(squares.reshape(-1, 1), clear))


def _over_distances(rays: Squares) -> Squares:
    """[8, 8] -> [8]."""
    return Squares(tuple(jax.lax.reduce(word, np.uint32(0), jax.lax.bitwise_or, (1,)) for word in rays.words))


def _opposite(squares: Squares) -> Squares:
    """[8], with opposite directions exchanged."""
    return Squares(tuple(word.reshape(2, 4)[::-1].reshape(8) for word in squares.words))


def _intersection(sets: Squares) -> Squares:
    """The members of all of the sets side by side."""
    return Squares(tuple(jax.lax.reduce(word, _ALL, jax.lax.bitwise_and, (0,)) for word in sets.words))


@dataclasses.dataclass(frozen=True)
class _Lines:
    """The eight directions at eight distances, the least of which is said."""

    least: int

    def look(self, squares: Squares) -> Squares:
        """The squares from which one sees a member at the offset, [8, 8]."""
        shift, low, high, on_board = _line_tables(self.least)
        seen = []
        for i in range(len(squares.words)):
            from_low = functools.reduce(operator.or_, (w & low[i, j] for j, w in enumerate(squares.words)))
            from_high = functools.reduce(operator.or_, (w & high[i, j] for j, w in enumerate(squares.words)))
            seen.append((from_low >> shift | from_high << (np.uint32(32) - shift)) & on_board[i])
        return Squares(tuple(seen))


@functools.cache
def _line_tables(least: int) -> tuple[np.ndarray, ...]:
    """By which shift a word of the result comes from two words, which these are, as masks, and what is on the board."""
    distance = np.arange(least, least + 8)
    down, right = (distance * np.array(_DIRECTIONS).T[axis][:, None] for axis in (0, 1))
    offset = 9 * down + right
    word = np.arange(BOARD.num_words)
    away = word[None] - word[:, None]
    low, high = (np.where(away[..., None, None] == offset // 32 + more, _ALL, np.uint32(0)) for more in (0, 1))
    row, column = (np.divmod(np.arange(81), 9)[axis] for axis in (0, 1))
    row, column = row + down[..., None], column + right[..., None]
    on_board = BOARD.constant((row >= 0) & (row < 9) & (column >= 0) & (column < 9))
    return (offset % 32).astype(np.uint32), low, high, np.stack(on_board.words)


# --- where moves lead ---


@functools.cache
def _to_rows() -> np.ndarray:
    """The row that each move without promotion leads to, [moves, squares]; beyond the board too."""
    return np.arange(81) // 9 + OFFSETS[:, :1]


@functools.cache
def _dead_ends() -> np.ndarray:
    """[moves, squares]: where a pawn, lance or knight would have no further move, if it did not promote."""
    forward = np.arange(NUM_MOVES) < 8
    knight = np.arange(NUM_MOVES) >= NUM_MOVES - len(_JUMPS)
    return forward[:, None] & (_to_rows() == 8) | knight[:, None] & (_to_rows() >= 7)


@functools.cache
def _zone() -> np.ndarray:
    """[moves, squares]: the moves that begin or end in the promotion zone."""
    return (np.arange(81) // 9 >= 6) | (_to_rows() >= 6)


@functools.cache
def _droppable() -> np.ndarray:
    """[pieces, squares]: where a dropped piece has a further move."""
    last = {PAWN: 7, LANCE: 7, KNIGHT: 6}
    return np.stack([np.arange(81) // 9 <= last.get(piece, 8) for piece in DROPS])
