"""The legal moves of xiangqi, all at once, as sets of squares (`_bitboard`): by plane, from where it is legal.

Everything is as the player to move sees it, who sits below. The 52 planes are, distance by distance (1 to 9), the lines
N, E, S, W, then 8 horse moves, 4 of advisors and 4 of elephants.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int8

from envs._bitboard import Board, Offsets, Squares, concatenate, join, stack
from envs.notation import xiangqi as notation
from envs.notation.xiangqi import ADVISOR, ELEPHANT, HEIGHT, KING, PAWN, WIDTH

_SIZE = HEIGHT * WIDTH
_SQUARE = np.arange(_SIZE)
BOARD = Board(HEIGHT, WIDTH)
_PALACE = BOARD.constant(notation.places(KING))
_BEYOND = BOARD.rows(5, 6, 7, 8, 9)

_DIRECTIONS = ((1, 0), (0, 1), (-1, 0), (0, -1))  # N, E, S, W
_DIAGONALS = ((1, 1), (-1, 1), (-1, -1), (1, -1))
_MAX_DISTANCE = HEIGHT - 1
# A horse moves one square straight, over its leg, and then turns aslant. Moves i and i + 4 turn alike, so that two
# horses that attack the same square by them have the same leg.
_TURNS = (*_DIAGONALS, *_DIAGONALS)
_LEGS = ((1, 0), (0, 1), (-1, 0), (0, -1), (0, 1), (-1, 0), (0, -1), (1, 0))
_HORSE = tuple((leg[0] + turn[0], leg[1] + turn[1]) for leg, turn in zip(_LEGS, _TURNS, strict=True))
_ELEPHANT = tuple((2 * down, 2 * right) for down, right in _DIAGONALS)
_STEPS = tuple((down * i, right * i) for i in range(1, _MAX_DISTANCE + 1) for down, right in _DIRECTIONS)
_LEAPS = (*_HORSE, *_DIAGONALS, *_ELEPHANT)
PLANES = (*_STEPS, *_LEAPS)
_PAWN = ((1, 0), (0, 1), (0, -1))  # where an enemy pawn stands that attacks this square, beyond its river


def _look(*offsets: tuple[int, int]) -> Offsets:
    return BOARD.offsets(*offsets)


def _look_back(*offsets: tuple[int, int]) -> Offsets:
    return BOARD.offsets(*((-down, -right) for down, right in offsets))


_LINES = _look(*_DIRECTIONS)
_LEAPS_OVER = _look(*_LEGS, *_DIAGONALS, *_DIAGONALS)  # for advisors of no meaning
_IS_ADVISOR = np.arange(len(_LEAPS)) // 4 == 2
_CLASSES = 11  # of pieces, see `legal_moves`
_CLASS_LINES = _look(*_DIRECTIONS * _CLASSES)
_CLASS_LEAPS = _look(*_LEAPS * _CLASSES)


class Moves(NamedTuple):
    """What can be played in a position."""

    planes: Squares  # [52]: the squares from which it is legal
    in_check: Bool[Array, ""]


@jax.jit  # for the host, that asks for one position after the other
def legal_moves(view: Int8[Array, " 90"]) -> Moves:
    """All legal moves.

    What a move does to the four rays from the king is known from their first three pieces: a rook (or the general)
    attacks over no piece, a cannon over one. So the pieces fall into classes, each with its own targets: the first and
    the second piece of each ray, the legs on which an enemy horse waits to see the king, the king, and all others.
    """
    kind = jnp.abs(view)
    bits = BOARD.pack(jnp.stack([kind & 1, kind & 2, kind & 4, view > 0]).astype(bool))
    kings, advisors, elephants, horses, rooks, cannons, pawns = (_of_kind(bits, kind) for kind in range(1, PAWN + 1))
    own, occupied = bits[3], bits[:3].union()
    enemy, empty = occupied & ~own, BOARD.all & ~occupied
    king, enemy_horses, enemy_cannons, enemy_pawns = kings & own, horses & enemy, cannons & enemy, pawns & enemy
    straight = (rooks | kings) & enemy  # what attacks along a line over no piece

    # By what and by direction, the squares that see it over no, one and two pieces; the king hides nothing.
    none, one, two = _seen(stack([king, straight, enemy_cannons]), empty | king, occupied & ~king)
    by_horses = _look_back(*_HORSE).look(enemy_horses) & _look_back(*_TURNS).look(empty | king)
    danger = (none[1] | one[2]).union() | by_horses.union() | _look(*_PAWN).look(enemy_pawns).union()

    # Targets that leave the king attacked along a ray, by the direction in which it sees him: for pieces that are
    # neither the first nor the second on it, for the first, and for the second.
    none, one, two = none[0], one[0], two[0]
    first, second, third = none & occupied, one & occupied, two & occupied
    rook_1, rook_2 = (none & straight).any(), (one & straight).any()
    cannon_1, cannon_2, cannon_3 = ((seen & enemy_cannons).any() for seen in (none, one, two))
    not_others = (none & empty).where(cannon_1) | first.where(cannon_2) | one.where(rook_1)
    not_others = not_others | (~(none | one)).where(rook_1 | cannon_2)
    not_first = ((none | one) & empty).where(cannon_2) | second.where(cannon_3) | third.where(rook_2)
    not_first = not_first | (~(none | one | third)).where(rook_2 | cannon_3)
    not_second = first.where(cannon_3) | ((one & empty) | two).where(rook_1)
    not_second = not_second | (~(first | one | two)).where(rook_1 | cannon_3)

    # Targets that leave him attacked by a horse, which can be taken or stopped, or by a pawn; for a piece that is the
    # one leg of one horse, all but this horse.
    attackers = _look(*_HORSE).look(king) & enemy_horses
    legs = _look(*_TURNS).look(king) & _look_back(*_LEGS).look(enemy_horses)
    attacking_pawns = _look_back(*_PAWN).look(king) & enemy_pawns
    not_anyone = (~(attackers | legs)).where((legs & empty).any()).union()
    not_anyone = not_anyone | (~attacking_pawns).where(attacking_pawns.any()).union() | own
    pins = legs & own
    not_legs = ~attackers.where(pins.any()).union()
    one_horse = pins.union() & ~(pins[:4] & pins[4:]).union()

    other_rays = not_others[:, None].where(~np.eye(4, dtype=bool)).union()
    not_free = not_others.union()
    not_king = ~_PALACE | danger
    free = own & ~(king | (first | second | pins[:4] | pins[4:]).union())
    targets = _of_classes(not_free, not_first | other_rays, not_second | other_rays, not_free | not_legs, not_king)
    movers = _of_classes(~free, ~first, ~second, ~(one_horse & (rooks | pawns)), ~king)
    targets = ~join(targets, stack([not_anyone] * (_CLASSES - 1) + [own]))
    movers = ~join(movers, stack([~own] * _CLASSES))

    def allowed(seen: Squares) -> Squares:
        """By class and plane, squares that see a target of the class -> [planes], those that hold a piece of it."""
        return (seen.reshape(_CLASSES, -1) & movers[:, None]).union()

    is_north, is_sideways = np.arange(4) == 0, np.arange(4) % 2 == 1
    steps = king | (pawns & own).where(is_north) | (pawns & own & _BEYOND).where(is_sideways)

    def further(carry, is_next):
        """The planes of one distance from what is seen one square nearer."""
        target, hole, clear, over_one = carry
        target, hole = _CLASS_LINES.look(target), _LINES.look(hole)
        pieces = clear & (rooks | cannons & hole) | over_one & cannons & ~hole | steps.where(is_next)
        clear, over_one = clear & hole, clear & ~hole | over_one & hole
        return (target, hole, clear, over_one), allowed(target) & pieces

    hole = stack([empty] * 4)
    everywhere = hole | ~hole
    start = targets.repeat(4), hole, everywhere, ~everywhere
    _, lines = jax.lax.scan(further, start, np.arange(_MAX_DISTANCE) == 0)

    leapers = stack([*[horses] * 8, *[advisors] * 4, *[elephants] * 4])
    over = _LEAPS_OVER.look(empty) | BOARD.all.where(_IS_ADVISOR)
    leaps = allowed(_CLASS_LEAPS.look(targets.repeat(len(_LEAPS)))) & over & leapers & _leaps_inside()
    return Moves(concatenate([lines.reshape(len(_STEPS)), leaps]), (danger & king).any())


def _of_kind(bits: Squares, kind: int) -> Squares:
    """The pieces whose kind has these binary digits, the lowest first."""
    return functools.reduce(Squares.__and__, (bits[i] if kind >> i & 1 else ~bits[i] for i in range(3)))


def _of_classes(others: Squares, first: Squares, second: Squares, legs: Squares, king: Squares) -> Squares:
    """One set for every class of pieces; four for the first and the second pieces on rays."""
    return concatenate([others[None], first, second, legs[None], king[None]])


def _seen(sources: Squares, over: Squares, pieces: Squares) -> tuple[Squares, Squares, Squares]:
    """The squares that see a member of each of these sets over squares of `over` and no, one and two of `pieces`.

    [sources, directions] each.
    """
    number = len(sources.words[0])
    look = _look(*_DIRECTIONS * number).look

    def further(carry, _):
        (none, one, two), seen = carry
        now = look(none & over), look(none & pieces | one & over), look(one & pieces | two & over)
        return (now, tuple(map(Squares.__or__, seen, now))), None

    none = look(sources.repeat(4))
    start = none, none & ~none, none & ~none
    (_, (none, one, two)), _ = jax.lax.scan(further, (start, start), length=_MAX_DISTANCE - 1)
    return none.reshape(number, 4), one.reshape(number, 4), two.reshape(number, 4)


def _ends(offsets: tuple[tuple[int, int], ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row and column [offsets, squares] to which each offset leads, and whether they are on the board."""
    down, right = np.array(offsets).T[..., None]
    row, column = _SQUARE // WIDTH + down, _SQUARE % WIDTH + right
    return row, column, (row >= 0) & (row < HEIGHT) & (column >= 0) & (column < WIDTH)


@functools.cache
def _leaps_inside() -> Squares:
    """By leap, from where it ends in the mover's palace (advisors) or on his side of the river (elephants)."""
    row, column, _ = _ends(_LEAPS)
    inside = [row[:8] >= 0, (row[8:12] <= 2) & (np.abs(column[8:12] - 4) <= 1), row[12:] <= 4]
    return BOARD.constant(np.concatenate(inside))


class Actions(NamedTuple):
    """The actions in order, NumPy arrays."""

    source: np.ndarray  # int8, in the mover's view
    target: np.ndarray
    plane: np.ndarray


@functools.cache
def actions() -> Actions:
    """From every square all moves of a rook and of a horse, and those of advisors and elephants of both sides."""
    row, column, exists = _ends(PLANES)
    target = np.where(exists, row * WIDTH + column, 0)
    for plane, kind in ((len(_STEPS) + 8, ADVISOR), (len(_STEPS) + 12, ELEPHANT)):
        planes, places = slice(plane, plane + 4), notation.places(kind)
        places = (places | places[::-1]).ravel()
        exists[planes] &= places & places[target[planes]] & ((_SQUARE < _SIZE // 2) == (row[planes] < HEIGHT // 2))
    plane, source = np.nonzero(exists)
    target = target[plane, source]
    order = np.lexsort((target, source))
    plane, source, target = plane[order], source[order], target[order]
    return Actions(source.astype(np.int8), target.astype(np.int8), plane.astype(np.int8))
