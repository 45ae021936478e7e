"""Where the pieces of chess may go: the legal moves of a position as sets of squares, all pieces at once.

Everything is in the view of the player to move. Directions are clockwise from north, which is away from him; sets [8]
are by direction. No move is tried out but captures en passant: from the king's eight lines follow the pinned pieces and
the squares where a check can be met, and the king may go where nothing attacks, also through where it stands.
"""

from __future__ import annotations

import functools
import operator
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Int8

from envs._bitboard import Board, Squares, concatenate, join, stack

PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(1, 7)
UNDERPROMOTIONS = np.array([KNIGHT, BISHOP, ROOK], np.int8)
NUM_PLANES = 73
BOARD = Board(8, 8)

_DIRECTIONS = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))  # clockwise from north
_JUMPS = ((2, 1), (1, 2), (-1, 2), (-2, 1), (-2, -1), (-1, -2), (1, -2), (2, -1))
_NORTH, _NORTHEAST, _EAST, _WEST, _NORTHWEST = 0, 1, 2, 6, 7
_LINES = BOARD.offsets(*_DIRECTIONS)
_KNIGHTS = BOARD.offsets(*_JUMPS)
_FOUR_TIMES = BOARD.offsets(*_DIRECTIONS, *3 * (*_DIRECTIONS[4:], *_DIRECTIONS[:4]))
_AHEAD = BOARD.offsets((1, 1), (1, -1))  # where a pawn takes, and where an enemy pawn stands that attacks this square
_BEHIND = BOARD.offsets((-1, -1), (-1, 1))
_IS_STRAIGHT = np.arange(8) % 2 == 0
_IS_AHEAD, _IS_RIGHT, _IS_LEFT = (np.arange(8) == direction for direction in (_NORTH, _NORTHEAST, _NORTHWEST))
_IS_ASLANT = _IS_RIGHT | _IS_LEFT

# By side of castling, king's and queen's: the squares that must be empty, those that must be safe, the rook's way.
_CASTLING_EMPTY = [BOARD.constant(np.isin(np.arange(64), squares)) for squares in ((5, 6), (1, 2, 3))]
_CASTLING_SAFE = [BOARD.constant(np.isin(np.arange(64), squares)) for squares in ((4, 5, 6), (2, 3, 4))]


class View(NamedTuple):
    """A position as the player to move sees it: own pieces are positive and move up."""

    board: Int8[Array, " 64"]
    castling: Bool[Array, "2 2"]  # own rights, the opponent's
    en_passant: Int8[Array, ""]


class Moves(NamedTuple):
    """What can be played in a position."""

    planes: Squares  # [73]: the squares from which it is legal
    in_check: Bool[Array, ""]
    en_passant: Bool[Array, ""]  # whether there is a legal capture en passant


@functools.cache
def offsets() -> np.ndarray:
    """How many squares further each plane leads."""
    queen = [(8 * down + right) * distance for down, right in _DIRECTIONS for distance in range(1, 8)]
    knight = [8 * down + right for down, right in _JUMPS]
    return np.array([*queen, *knight, *np.repeat([7, 8, 9], 3)], np.int32)


@jax.jit
def legal_moves(view: View) -> Moves:
    """All legal moves: what is pinned stays in line with the king, and in check only what ends it is a target."""
    kinds, own, enemy = _pieces(view.board)
    pawns, knights, bishops, rooks, queens, king = (kind & own for kind in kinds)
    enemy_pawns, enemy_knights, enemy_bishops, enemy_rooks, enemy_queens, enemy_king = (kind & enemy for kind in kinds)
    empty = ~(own | enemy)

    # By direction: the squares that look at an enemy slider, those that the king sees, and those that it would see
    # after a capture en passant to the right or left, which is tried out because it takes two pieces off a line.
    sliders = _sliders(enemy_bishops | enemy_queens, enemy_rooks | enemy_queens)
    takers, victim, after = _en_passant(view.en_passant, pawns, own | enemy)
    over = stack([empty | king, empty, ~after[0], ~after[1]]).repeat(8)
    seen = _FOUR_TIMES.rays(concatenate([sliders, stack([king]).repeat(24)]), over).union()
    attacked, from_king, from_king_after = seen[:8], seen[8:16], seen[16:]
    line, checks = attacked & from_king, (attacked & king).any()
    danger = attacked.union() | _KNIGHTS.look(enemy_knights).union()
    danger = danger | _LINES.look(enemy_king).union() | _AHEAD.look(enemy_pawns).union()
    leapers = _KNIGHTS.look(king).union() & enemy_knights | _BEHIND.look(king).union() & enemy_pawns

    num_checks = checks.sum(dtype=jnp.int32) + leapers.count()
    evasions = (line & empty | from_king & sliders).where(checks).union() | leapers
    allowed = BOARD.all.where(num_checks == 0) | evasions.where(num_checks == 1)
    pinned = line & own
    free = own & ~pinned.union()
    movers = free | _both_ways(pinned)

    targets = ~own & allowed
    sliding = _LINES.rays(targets, empty) & (_sliders(bishops | queens, rooks | queens) & movers)[None]
    jumps = _KNIGHTS.look(targets) & knights & free
    king_steps = _LINES.look(~own & ~danger) & king

    # A pawn's targets: ahead what is empty, aslant what is not.
    pawn_targets = (targets & empty).where(_IS_AHEAD) | (targets & enemy).where(_IS_ASLANT)
    pawn_steps = _LINES.look(pawn_targets)
    double_steps = _LINES.look(pawn_steps & empty).where(_IS_AHEAD) & pawns & movers & BOARD.rows(1)
    attacked_after = (from_king_after & concatenate([sliders, sliders])).any().reshape(2, 8).any(1)
    taken = takers.where(~attacked_after & ~(leapers & ~victim).any())
    pawn_steps = pawn_steps & pawns & movers | taken[0].where(_IS_RIGHT) | taken[1].where(_IS_LEFT)

    castling = [
        king.where(
            right & ~((own | enemy) & _CASTLING_EMPTY[side]).any() & ~(danger & _CASTLING_SAFE[side]).any()
        ).where(np.arange(8) == direction)
        for side, (right, direction) in enumerate(zip(view.castling[0], (_EAST, _WEST), strict=True))
    ]
    promoting = pawn_steps & BOARD.rows(6)
    promotions = stack([promoting[i] for i in (_NORTHWEST, _NORTH, _NORTHEAST) for _ in UNDERPROMOTIONS])
    steps = stack([king_steps | pawn_steps, double_steps | castling[0] | castling[1]]).pad(5)
    slides, steps = (moves.transpose().reshape(56) for moves in (sliding, steps))
    planes = join(concatenate([slides, jumps]).pad(9), concatenate([steps, jumps, promotions]))
    return Moves(planes, (danger & king).any(), taken.any().any())


def _pieces(board: Int8[Array, " 64"]) -> tuple[list[Squares], Squares, Squares]:
    """The pieces of each kind, P N B R Q K, and those of either player."""
    codes = jnp.abs(board)
    layers = BOARD.pack(jnp.stack([codes & 1 == 1, codes & 2 == 2, codes & 4 == 4, board > 0, board < 0]))
    bits = [layers[i] for i in range(3)]
    kinds = [
        functools.reduce(operator.and_, (bit if kind >> i & 1 else ~bit for i, bit in enumerate(bits)))
        for kind in range(PAWN, KING + 1)
    ]
    return kinds, layers[3], layers[4]


def _sliders(diagonal: Squares, straight: Squares) -> Squares:
    """By direction, the pieces that slide in it."""
    return Squares(tuple(jnp.where(_IS_STRAIGHT, s, d) for s, d in zip(straight.words, diagonal.words, strict=True)))


def _both_ways(lines: Squares) -> Squares:
    """Sets by direction, each joined with that of the opposite direction."""
    half = lines[:4] | lines[4:]
    return concatenate([half, half])


def _en_passant(file: Int[Array, ""], pawns: Squares, occupied: Squares) -> tuple[Squares, Squares, Squares]:
    """The pawns that take the pawn on this file (-1: none) to the right and to the left [2], that pawn, and what is
    occupied after either capture [2]."""
    target, victim = (BOARD.square(row * 8 + file).where(file >= 0) for row in (5, 4))
    takers = _AHEAD.look(target) & pawns
    return takers, victim, occupied & ~victim & ~takers | target
