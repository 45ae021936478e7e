"""FEN: a position of chess as text (Edwards 1994, PGN Standard, 16.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
LETTERS = {0: ".", **{i: "PNBRQK"[i - 1] for i in range(1, 7)}, **{-i: "pnbrqk"[i - 1] for i in range(1, 7)}}
_CODES = {letter: code for code, letter in LETTERS.items() if code}
_PAWN, _ROOK, _KING = 1, 4, 6
_RIGHTS = "KQkq"


class Position(NamedTuple):
    """What a FEN says. Squares are numbered from a1 = 0, b1 = 1 to h8 = 63."""

    board: np.ndarray  # int8 [64]: 1 to 6 are White's P N B R Q K, -1 to -6 Black's
    player: int  # 0: White is to move
    castling: np.ndarray  # bool [2, 2]: White's and Black's rights, king's and queen's side
    en_passant: int  # the file of a pawn that has just moved two squares, or -1
    clock: int  # half-moves since the last capture or pawn move
    ply: int  # half-moves since the start


def parse(text: str) -> Position:
    """The position of a FEN of four to six fields; missing counts are 0 and 1.

    Castling rights without king and rook in their places are dropped, and so is an en passant square that no double
    step can have left. Raises ValueError, naming the fault, for what is no position of chess.
    """
    fields = text.split()
    if not 4 <= len(fields) <= 6:
        raise ValueError(
            f"a FEN has the fields board, side to move, castling, en passant and perhaps two counts, got {text!r}"
        )
    board = _parse_board(fields[0], text)
    if fields[1] not in ("w", "b"):
        raise ValueError(f"the side to move is w or b, got {fields[1]!r} in {text!r}")
    player = "wb".index(fields[1])
    clock = _parse_count(fields[4], "half-moves without progress", 0, text) if len(fields) > 4 else 0
    number = _parse_count(fields[5], "the number of the move", 0, text) if len(fields) > 5 else 1
    castling = _parse_castling(fields[2], board, text)
    en_passant = _parse_en_passant(fields[3], board, player, text)
    return Position(board, player, castling, en_passant, clock, 2 * (max(number, 1) - 1) + player)


def format(position: Position) -> str:
    """The FEN of a position."""
    ranks = []
    for row in position.board.reshape(8, 8)[::-1].tolist():
        rank = "".join(LETTERS[piece] for piece in row)
        for length in range(8, 0, -1):
            rank = rank.replace("." * length, str(length))
        ranks.append(rank)
    castling = "".join(right for right, has in zip(_RIGHTS, position.castling.ravel(), strict=True) if has)
    rank = 6 if position.player == 0 else 3
    en_passant = f"{'abcdefgh'[position.en_passant]}{rank}" if position.en_passant >= 0 else "-"
    counts = f"{position.clock} {position.ply // 2 + 1}"
    return f"{'/'.join(ranks)} {'wb'[position.player]} {castling or '-'} {en_passant} {counts}"


def square_name(square: int) -> str:
    """0 -> "a1"."""
    return f"{'abcdefgh'[square % 8]}{square // 8 + 1}"


def square_number(name: str) -> int:
    """ "a1" -> 0."""
    return "abcdefgh".index(name[0]) + 8 * (int(name[1]) - 1)


def _parse_board(field: str, text: str) -> np.ndarray:
    ranks = field.split("/")
    if len(ranks) != 8:
        raise ValueError(f"a board has 8 ranks, divided by /, got {len(ranks)} in {text!r}")
    rows = []
    for number, rank in zip(range(8, 0, -1), ranks, strict=True):
        row: list[int] = []
        for before, letter in zip(" " + rank, rank, strict=False):
            if letter in "12345678":
                if before in "12345678":
                    raise ValueError(f"two numbers of empty squares stand side by side in rank {number} of {text!r}")
                row += [0] * int(letter)
            elif letter in _CODES:
                row.append(_CODES[letter])
            else:
                raise ValueError(f"{letter!r} in rank {number} of {text!r} is none of PNBRQK, pnbrqk and 1 to 8")
        if len(row) != 8:
            raise ValueError(f"rank {number} of {text!r} has {len(row)} squares, not 8")
        rows.append(row)
    board = np.array(rows[::-1], np.int8)
    for king, side in ((_KING, "White"), (-_KING, "Black")):
        if (count := int((board == king).sum())) != 1:
            raise ValueError(f"{side} has {count} kings in {text!r}, not one")
    if (np.abs(board[[0, 7]]) == _PAWN).any():
        raise ValueError(f"a pawn stands on the first or the last rank in {text!r}")
    for side, pieces in (("White", board > 0), ("Black", board < 0)):
        if (count := int(pieces.sum())) > 16:
            raise ValueError(f"{side} has {count} pieces in {text!r}; no more than 16 are possible")
    return board.reshape(-1)


def _parse_count(field: str, what: str, least: int, text: str) -> int:
    if not (field.isascii() and field.isdigit()) or len(field) > 5 or int(field) < least:
        raise ValueError(f"{what} is a whole number from {least} to 99999, got {field!r} in {text!r}")
    return int(field)


def _parse_castling(field: str, board: np.ndarray, text: str) -> np.ndarray:
    if field != "-" and (not field or set(field) - set(_RIGHTS) or len(set(field)) != len(field)):
        raise ValueError(f"castling rights are letters of {_RIGHTS}, or -, got {field!r} in {text!r}")
    rights = np.array([right in field for right in _RIGHTS]).reshape(2, 2)
    for side, (sign, home) in enumerate(((1, 0), (-1, 56))):
        in_place = board[home + 4] == sign * _KING
        rights[side] &= in_place & (board[[home + 7, home]] == sign * _ROOK)
    return rights


def _parse_en_passant(field: str, board: np.ndarray, player: int, text: str) -> int:
    if field == "-":
        return -1
    rank, behind, pawn = (5, -8, -_PAWN) if player == 0 else (2, 8, _PAWN)
    if len(field) != 2 or field[0] not in "abcdefgh" or field[1] != str(rank + 1):
        raise ValueError(
            f"the en passant square is - or on rank {rank + 1} with {'White' if player == 0 else 'Black'} to move, "
            f"got {field!r} in {text!r}"
        )
    square = square_number(field)
    stepped = board[square + behind] == pawn and board[square] == 0 and board[square - behind] == 0
    return square % 8 if stepped else -1
