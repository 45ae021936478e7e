"""Xiangqi as text: positions as FEN, moves as UCI ("b1c3") and UCCI ("b0c2").

Files a to i run from Red's left to his right, ranks 1 to 10 from his back rank to Black's. Written are the letters of
chess programs (N horse, B elephant), sides w and b, and ranks from 1; read are also H, E and r.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

START = "rnbakabnr/9/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/9/RNBAKABNR w - - 0 1"
HEIGHT, WIDTH = 10, 9
KING, ADVISOR, ELEPHANT, HORSE, ROOK, CANNON, PAWN = range(1, 8)
LETTERS = {0: ".", **{i: "KABNRCP"[i - 1] for i in range(1, 8)}, **{-i: "kabnrcp"[i - 1] for i in range(1, 8)}}
_CODES = {letter: code for code, letter in LETTERS.items() if code}
_CODES |= {"H": HORSE, "E": ELEPHANT, "h": -HORSE, "e": -ELEPHANT}
_FILES = "abcdefghi"
_NAMES = ("general", "advisor", "elephant", "horse", "rook", "cannon", "pawn")
_COUNTS = (1, 2, 2, 2, 2, 2, 5)  # of each kind in the start position
_MOVE = re.compile(r"([a-i])(\d|10)([a-i])(\d|10)", re.ASCII)


class Position(NamedTuple):
    """What a FEN says. Squares are numbered from a1 = 0, b1 = 1 to i10 = 89."""

    board: np.ndarray  # int8 [90]: 1 to 7 are Red's K A E H R C P, -1 to -7 Black's
    player: int  # 0: Red is to move
    clock: int  # half-moves since the last capture
    ply: int  # half-moves since the start


def parse(text: str) -> Position:
    """The position of a FEN: board and side to move, and perhaps "- -", the clock and the number of the move.

    Missing counts are 0 and 1. Raises ValueError, naming the fault, for what is no position of xiangqi.
    """
    fields = text.split()
    if not 2 <= len(fields) <= 6:
        raise ValueError(f"a FEN has the fields board, side to move, -, - and perhaps two counts, got {text!r}")
    board = _parse_board(fields[0], text)
    if fields[1] not in ("w", "r", "b"):
        raise ValueError(f"the side to move is w (or r) or b, got {fields[1]!r} in {text!r}")
    player = int(fields[1] == "b")
    if any(field != "-" for field in fields[2:4]):
        raise ValueError(f"the third and the fourth field are -, got {' '.join(fields[2:4])!r} in {text!r}")
    clock = _parse_count(fields[4], "half-moves without capture", text) if len(fields) > 4 else 0
    number = _parse_count(fields[5], "the number of the move", text) if len(fields) > 5 else 1
    return Position(board, player, clock, 2 * (max(number, 1) - 1) + player)


def format(position: Position) -> str:
    """The FEN of a position."""
    ranks = []
    for row in position.board.reshape(HEIGHT, WIDTH)[::-1].tolist():
        rank = "".join(LETTERS[piece] for piece in row)
        ranks.append(re.sub(r"\.+", lambda empty: str(len(empty[0])), rank))
    return f"{'/'.join(ranks)} {'wb'[position.player]} - - {position.clock} {position.ply // 2 + 1}"


def square_name(square: int) -> str:
    """0 -> "a1"."""
    return f"{_FILES[square % WIDTH]}{square // WIDTH + 1}"


def to_ucci(move: str) -> str:
    """UCI's text of a move -> UCCI's, whose ranks run from 0: "b1c3" -> "b0c2"."""
    file, rank, to_file, to_rank = _parse_move(move, 1)
    return f"{file}{rank - 1}{to_file}{to_rank - 1}"


def from_ucci(move: str) -> str:
    """UCCI's text of a move -> UCI's: "b0c2" -> "b1c3"."""
    file, rank, to_file, to_rank = _parse_move(move, 0)
    return f"{file}{rank + 1}{to_file}{to_rank + 1}"


def is_ucci(move: str) -> bool:
    """Whether the text of a move can only be UCCI's, as it has a rank 0."""
    match = _MOVE.fullmatch(move)
    return match is not None and "0" in (match[2], match[4])


def _parse_move(move: str, least: int) -> tuple[str, int, str, int]:
    match = _MOVE.fullmatch(move.strip().lower())
    if match:
        file, rank, to_file, to_rank = match[1], int(match[2]), match[3], int(match[4])
        if least <= min(rank, to_rank) and max(rank, to_rank) < least + HEIGHT:
            return file, rank, to_file, to_rank
    raise ValueError(
        f"a move is two squares, files a to i and ranks {least} to {least + HEIGHT - 1}, such as "
        f"{'b1c3' if least else 'b0c2'}, got {move!r}"
    )


def places(kind: int) -> np.ndarray:
    """Where a piece of Red's may stand at all, bool [10, 9] from his back rank."""
    row, column = np.indices((HEIGHT, WIDTH))
    palace = (row <= 2) & (np.abs(column - 4) <= 1)
    if kind == KING:
        return palace
    if kind == ADVISOR:
        return palace & ((row + column) % 2 == 1)
    if kind == ELEPHANT:
        return (row <= 4) & (row % 2 == 0) & (column % 2 == 0) & ((row + column) % 4 == 2)
    if kind == PAWN:
        return (row >= 5) | (row >= 3) & (column % 2 == 0)
    return np.ones((HEIGHT, WIDTH), bool)


def _parse_board(field: str, text: str) -> np.ndarray:
    if "_" in field:
        raise ValueError(f"the fields of a FEN are divided by spaces, not by _: {text!r}")
    ranks = field.split("/")
    if len(ranks) != HEIGHT:
        raise ValueError(f"a board has {HEIGHT} ranks, divided by /, got {len(ranks)} in {text!r}")
    rows = []
    for number, rank in zip(range(HEIGHT, 0, -1), ranks, strict=True):
        row: list[int] = []
        for before, letter in zip(" " + rank, rank, strict=False):
            if letter in "123456789":
                if before in "123456789":
                    raise ValueError(f"two numbers of empty squares stand side by side in rank {number} of {text!r}")
                row += [0] * int(letter)
            elif letter in _CODES:
                row.append(_CODES[letter])
            else:
                raise ValueError(f"{letter!r} in rank {number} of {text!r} is none of KABNRCP (KAEHRCP) and 1 to 9")
        if len(row) != WIDTH:
            raise ValueError(f"rank {number} of {text!r} has {len(row)} squares, not {WIDTH}")
        rows.append(row)
    board = np.array(rows[::-1], np.int8)
    for side, own in (("Red", board), ("Black", -board[::-1, ::-1])):
        for kind, (name, most) in enumerate(zip(_NAMES, _COUNTS, strict=True), 1):
            count = int((own == kind).sum())
            if kind == KING and count != 1:
                raise ValueError(f"{side} has {count} generals in {text!r}, not one")
            if count > most:
                raise ValueError(f"{side} has {count} {name}s in {text!r}; no more than {most} are possible")
            for square in np.flatnonzero((own == kind) & ~places(kind)).tolist():
                where = square_name(square if side == "Red" else HEIGHT * WIDTH - 1 - square)
                raise ValueError(f"{side}'s {name} on {where} in {text!r} stands where none can get")
    return board.reshape(-1)


def _parse_count(field: str, what: str, text: str) -> int:
    if not (field.isascii() and field.isdigit()) or len(field) > 5:
        raise ValueError(f"{what} is a whole number up to 99999, got {field!r} in {text!r}")
    return int(field)
