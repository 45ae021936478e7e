"""Random games of chess by python-chess, and what it says of every position, in the numbers of `envs.chess`."""

from __future__ import annotations

import functools
import random
from typing import Any, NamedTuple

import chess
import numpy as np

from envs.chess import Chess

DIRECTIONS = {"N": 8, "NE": 9, "E": 1, "SE": -7, "S": -8, "SW": -9, "W": -1, "NW": 7}
JUMPS = (17, 10, -6, -15, -17, -10, 6, 15)  # clockwise from two ranks up, one file to the right
GAME = Chess(max_plies=240)


def encode(board: chess.Board, move: chess.Move) -> int:
    """The action: an independent restatement of AlphaZero's 8x8x73, from-square by from-square."""
    flip = 0 if board.turn else 56
    source, target = move.from_square ^ flip, move.to_square ^ flip
    if move.promotion in (chess.KNIGHT, chess.BISHOP, chess.ROOK):
        return 73 * source + 64 + 3 * (target - source - 7) + (move.promotion - chess.KNIGHT)
    files, ranks = target % 8 - source % 8, target // 8 - source // 8
    if {abs(files), abs(ranks)} == {1, 2}:
        return 73 * source + 56 + JUMPS.index(target - source)
    distance = max(abs(files), abs(ranks))
    direction = list(DIRECTIONS.values()).index((target - source) // distance)
    return 73 * source + 7 * direction + distance - 1


class Ply(NamedTuple):
    """One position, and the move made in it."""

    fen: str
    legal: list[int]  # increasing
    in_check: bool
    times: int  # it has been there, this time included; 3 stands for more, too
    action: int


class Played(NamedTuple):
    """One game."""

    plies: list[Ply]
    last: chess.Board  # with all that led to it
    outcome: float | None  # for the player who moved last; None at the move cap
    reason: str


def ending(board: chess.Board) -> tuple[float, str] | None:
    """The reward of the player who moved last and the reason, by the rules of the training game; None if it goes on."""
    if board.is_checkmate():
        return 1.0, "checkmate"
    if board.is_stalemate():
        return 0.0, "stalemate"
    if board.is_repetition(3):
        return 0.0, "threefold repetition"
    if board.halfmove_clock >= 100:
        return 0.0, "fifty moves"
    if board.is_insufficient_material():
        return 0.0, "insufficient material"
    return None


def pick(board: chess.Board, moves: list[chess.Move], rng: random.Random, style: float) -> chess.Move:
    """A random move; captures, promotions, castling, checks and moves back are likelier, as the game's style has it."""
    if len(board.move_stack) >= 2 and rng.random() < 0.6 * style:
        last = board.move_stack[-2]
        back = chess.Move(last.to_square, last.from_square)
        if back in moves:
            return back
    if rng.random() < 0.15 and (checks := [move for move in moves if board.gives_check(move)]):
        return rng.choice(checks)
    weights = [
        1 + 3 * board.is_capture(move) + 6 * bool(move.promotion) + 8 * board.is_castling(move)
        + 20 * board.is_en_passant(move) + (board.piece_type_at(move.from_square) == chess.PAWN)
        for move in moves
    ]  # fmt: skip
    return rng.choices(moves, weights)[0]


@functools.cache
def random_games(number: int) -> list[Played]:
    """So many games to their end, at most as long as `GAME` allows."""
    rng, games = random.Random(7), []
    for game in range(number):
        board, plies, style = chess.Board(), [], (game % 5) / 4
        while (end := ending(board)) is None and len(plies) < GAME.max_plies:
            moves = list(board.legal_moves)
            move = pick(board, moves, rng, style)
            legal = sorted(encode(board, move) for move in moves)
            times = 1 + board.is_repetition(2) + board.is_repetition(3)
            plies.append(Ply(board.fen(), legal, board.is_check(), times, encode(board, move)))
            board.push(move)
        games.append(Played(plies, board, *(end or (None, "move cap"))))
    return games


def planes(board: chess.Board, max_plies: int) -> np.ndarray:
    """AlphaZero's 119 planes [8, 8, 119] as the player to move sees them, from a board and its history."""
    seen, side = np.zeros((8, 8, 119), np.float32), board.turn
    now = board.copy()

    def put(square: int, plane: int) -> None:
        square = square if side else chess.square_mirror(square)
        seen[chess.square_rank(square), chess.square_file(square), plane] = 1

    for step in range(8):
        for square, piece in now.piece_map().items():
            put(square, 14 * step + (0 if piece.color == side else 6) + piece.piece_type - 1)
        seen[..., 14 * step + 12] = now.is_repetition(2)
        seen[..., 14 * step + 13] = now.is_repetition(3)
        if not now.move_stack:
            break
        now.pop()
    constants: list[Any] = [side, board.ply() / max_plies]
    for colour in (side, not side):
        constants += [board.has_kingside_castling_rights(colour), board.has_queenside_castling_rights(colour)]
    seen[..., 112:] = np.array([*constants, board.halfmove_clock / 100], np.float32)
    return seen
