"""Positions and moves of shogi as text: SFEN, and the `position` command and the moves of USI.

Squares are numbered as the first player sees them: `row * 9 + column`, row 0 is rank i and column 0 is file 9.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

START = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
LETTERS = ".PLNSGBRK"  # of the pieces 1 to 8; a promoted piece is "+" and its letter, and 8 more
COUNTS = (18, 4, 4, 4, 4, 2, 2)  # how many P L N S G B R there are
SIDES = "bw"  # of players 0 and 1
_PROMOTED = 8
_WRITTEN = (7, 6, 5, 4, 3, 2, 1)  # the order in which hands are written: R B G S N L P
_NAMES = "an empty square", "pawn", "lance", "knight", "silver", "gold", "bishop", "rook", "king"


class Position(NamedTuple):
    """A position, and the USI moves that follow it."""

    board: np.ndarray  # int8 [81], the first player's pieces positive, the second's negative
    hands: np.ndarray  # int8 [2, 7], the first and the second player's P L N S G B R
    player: int
    ply: int  # moves before it: the number in the text, which counts from 1, less 1
    moves: tuple[str, ...] = ()


def parse(text: str) -> Position:
    """The position of an SFEN, of "startpos" or of a USI `position` command, whose moves are not looked at.

    The words "position" and "sfen" before it may be missing, as may be the move number, which is 1 then. A hand may
    name its pieces in any order. Raises ValueError, naming the fault, for what is no position of pieces on a board.
    """
    words = text.split()
    for prefix in ("position", "sfen"):
        words = words[1:] if words[:1] == [prefix] else words
    end = words.index("moves") if "moves" in words else len(words)
    words, moves = words[:end], tuple(words[end + 1 :])
    if words == ["startpos"]:
        words = START.split()
    if len(words) not in (3, 4):
        hint = "; it has underscores where SFEN has spaces" if "_" in text else ""
        raise ValueError(f"{text!r} is not SFEN: it takes board, side to move, hands and a move number{hint}")
    if words[1] not in tuple(SIDES):
        raise ValueError(f"{text!r}: the side to move is b or w, got {words[1]!r}")
    number = words[3] if len(words) == 4 else "1"
    if not re.fullmatch("[0-9]{1,6}", number) or int(number) < 1:
        raise ValueError(f"{text!r}: the move number counts from 1, got {number!r}")
    board, hands = _board(text, words[0]), _hands(text, words[2])
    return Position(board, hands, SIDES.index(words[1]), int(number) - 1, moves)


def format(position: Position) -> str:
    """The SFEN of a position; its moves, if it has any, as in a USI `position` command."""
    ranks = []
    for rank in position.board.reshape(9, 9)[::-1].tolist():
        line = "".join(piece_text(piece) for piece in rank)
        ranks.append(re.sub(r"\.+", lambda gap: str(len(gap[0])), line))
    held = []
    for player, hand in enumerate(position.hands.tolist()):
        for piece in _WRITTEN:
            count, letter = hand[piece - 1], piece_text(piece if player == 0 else -piece)
            held.append((str(count) if count > 1 else "") + letter if count else "")
    sfen = f"{'/'.join(ranks)} {SIDES[position.player]} {''.join(held) or '-'} {position.ply + 1}"
    return f"sfen {sfen} moves {' '.join(position.moves)}" if position.moves else sfen


def piece_text(piece: int) -> str:
    """The letter of a piece, upper case for the first player's; "." for none."""
    promoted = abs(piece) > _PROMOTED
    letter = LETTERS[abs(piece) - _PROMOTED * promoted]
    return "+" * promoted + (letter if piece > 0 else letter.lower())


_CODES = {piece_text(sign * piece): sign * piece for piece in (*range(1, 9), 9, 10, 11, 12, 14, 15) for sign in (1, -1)}


def square_text(square: int) -> str:
    """ "7g" is file 7 from the right of the first player, rank g from the far side."""
    row, column = divmod(square, 9)
    return f"{9 - column}{'ihgfedcba'[row]}"


def parse_move(move: str) -> tuple[int, int | None, int, bool]:
    """Of a move of USI the piece dropped (else 0), the square it comes from (None: the hand), the one it goes to, and
    whether it promotes. Raises ValueError for what is none."""
    found = re.fullmatch(r"(?:([PLNSGBR])\*|([1-9][a-i]))([1-9][a-i])(\+?)", move)
    if not found or (found[1] and found[4]):
        raise ValueError(f"{move!r}: a move is such as 7g7f, 8h2b+ (promoting) or P*5e (a drop)")
    source = None if found[1] else _square(found[2])
    return (LETTERS.index(found[1]) if found[1] else 0), source, _square(found[3]), bool(found[4])


def _square(name: str) -> int:
    """The square of "7g"."""
    return "ihgfedcba".index(name[1]) * 9 + 9 - int(name[0])


def _board(text: str, board: str) -> np.ndarray:
    ranks = board.split("/")
    if len(ranks) != 9:
        raise ValueError(f"{text!r}: a board has 9 ranks, got {len(ranks)}")
    rows = []
    for name, rank in zip("abcdefghi", ranks, strict=True):
        row = []
        for token in re.findall(r"[0-9]{2}|\+?.", rank):
            if token in tuple("123456789"):
                row += [0] * int(token)
            elif token in _CODES:
                row.append(_CODES[token])
            else:
                raise ValueError(
                    f"{text!r}: rank {name} has {token!r}; pieces are {' '.join(LETTERS[1:])}, lower case for the "
                    "second player, all but G and K promoted with a + before it; empty squares are one number, 1 to 9"
                )
        if len(row) != 9:
            raise ValueError(f"{text!r}: a rank has 9 squares, rank {name} ({rank!r}) has {len(row)}")
        rows.append(row)
    found = np.array(rows[::-1], np.int8)
    _check_board(text, found)
    return found.reshape(81)


def _check_board(text: str, board: np.ndarray) -> None:
    """Raises ValueError for pieces that cannot stand so."""
    for player, view in enumerate((board, -board[::-1, ::-1])):
        side = ("the first player (b)", "the second player (w)")[player]
        if (view == 8).sum() > 1:
            raise ValueError(f"{text!r}: {side} has {(view == 8).sum()} kings; one or none is allowed")
        for piece, rows in ((1, 1), (2, 1), (3, 2)):
            if (view[9 - rows :] == piece).any():
                raise ValueError(f"{text!r}: {side} has a {_NAMES[piece]} that could never move again")
        pawns = (view == 1).sum(0)
        if (pawns > 1).any():
            column = int(np.argmax(pawns))
            raise ValueError(f"{text!r}: {side} has two pawns on file {9 - column if player == 0 else column + 1}")
    kinds = np.abs(board)
    for piece, most in enumerate(COUNTS, 1):
        count = ((kinds == piece) | (kinds == piece + _PROMOTED)).sum()
        if count > most:
            raise ValueError(f"{text!r}: {count} {_NAMES[piece]}s on the board; there are {most}")


def _hands(text: str, field: str) -> np.ndarray:
    hands = np.zeros((2, 7), np.int8)
    if field == "-":
        return hands
    if not re.fullmatch("([0-9]{0,2}[a-zA-Z])+", field):
        raise ValueError(
            f"{text!r}: the hands are '-' or pieces, each after its number if more than one: got {field!r}"
        )
    for number, letter in re.findall("([0-9]{0,2})([a-zA-Z])", field):
        piece, player = LETTERS.find(letter.upper()), int(letter.islower())
        if not 1 <= piece <= 7:
            raise ValueError(f"{text!r}: the hands have {letter!r}; pieces in hand are {' '.join(LETTERS[1:8])}")
        if hands[player, piece - 1]:
            raise ValueError(f"{text!r}: the hands have {letter!r} twice; its number goes before it, as in 2{letter}")
        if number and not 1 <= int(number) <= COUNTS[piece - 1]:
            raise ValueError(f"{text!r}: {number} {_NAMES[piece]}s in hand; allowed are 1 to {COUNTS[piece - 1]}")
        hands[player, piece - 1] = int(number or 1)
    for piece, count in enumerate(hands.sum(0).tolist(), 1):
        if count > COUNTS[piece - 1]:
            raise ValueError(f"{text!r}: {count} {_NAMES[piece]}s in the hands; there are {COUNTS[piece - 1]}")
    return hands
