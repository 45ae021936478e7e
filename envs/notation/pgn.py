"""Games of chess as PGN text, read and written through python-chess.

Read is the main line, from the position of the FEN tag if there is one; comments, variations and marks are passed over.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp

from envs.chess import Chess, State

try:
    import chess
    import chess.pgn
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("PGN is read by python-chess, which is missing: pip install 'azjax[notation]'") from error

RESULTS = ("1-0", "0-1", "1/2-1/2", "*")


class Record(NamedTuple):
    """A game, or a position with no moves."""

    start: State  # before the first move; repetition begins here
    actions: tuple[int, ...]
    state: State  # after the last move
    result: str  # as the file has it: "1-0", "0-1", "1/2-1/2", or "*" where it is not said


def read(text: str, game: Chess | None = None) -> list[Record]:
    """The games of this PGN text, by the rules of `game` (python-chess' defaults are not used: it only reads).

    A game may go on where ours has ended, by repetition say, since players need not claim a draw: the actions are then
    all of the file's, and the state is the finished one. Raises ValueError, naming game and move, for what is not legal
    chess, and for text without a game.
    """
    rules, file, records = game or Chess(max_plies=20_000), io.StringIO(text), []
    while (tree := chess.pgn.read_game(file)) is not None:
        number = len(records) + 1
        if tree.errors:
            raise ValueError(f"game {number}: {tree.errors[0]}")
        try:
            start = rules.from_text(tree.headers.get("FEN", chess.STARTING_FEN))
        except ValueError as error:
            raise ValueError(f"game {number}: {error}") from error
        moves = list(tree.mainline_moves())
        if not moves and dict(tree.headers) == dict(chess.pgn.Game().headers):
            raise ValueError(f"not PGN of a game of chess: {text[:60]!r}")
        actions, state, play = [], start, _play(rules)
        board = tree.board()
        for move in moves:
            actions.append(rules.action_from_text(_ongoing(rules, board) if state.terminated else state, move.uci()))
            state = play(state, jnp.int32(actions[-1]))
            board.push(move)
        records.append(Record(start, tuple(actions), state, tree.headers.get("Result", "*")))
    if not records:
        raise ValueError(f"not PGN of a game of chess: {text[:60]!r}")
    return records


def write(
    actions: Sequence[int],
    *,
    game: Chess | None = None,
    start: State | None = None,
    result: str = "*",
    names: tuple[str, str] | None = None,
) -> str:
    """The PGN text of these moves from `start`, the usual position where it is None. `names` are White's and Black's.

    Raises ValueError for a move that is not legal, and for a result that PGN does not know.
    """
    if result not in RESULTS:
        raise ValueError(f"a result is one of {', '.join(RESULTS)}, got {result!r}")
    rules = game or Chess()
    state = rules.init() if start is None else start
    board, play = chess.Board(rules.to_text(state)), _play(rules)
    for number, action in enumerate(actions, 1):
        move = chess.Move.from_uci(rules.action_to_text(state, int(action)))
        if move not in board.legal_moves:
            raise ValueError(f"half-move {number}: {move.uci()} is not legal in {board.fen()}")
        board.push(move)
        state = play(state, jnp.int32(action))
    tree = chess.pgn.Game.from_board(board)
    tree.headers["Result"] = result
    tree.headers["White"], tree.headers["Black"] = names or ("?", "?")
    return f"{tree}\n"


def _ongoing(game: Chess, board: chess.Board) -> State:
    """The position as one in which the game goes on."""
    fresh = board.copy(stack=False)
    fresh.halfmove_clock, fresh.fullmove_number = 0, 1
    return game.from_text(fresh.fen())._replace(terminated=jnp.bool(False))


@functools.cache
def _play(game: Chess) -> Callable:
    """The compiled rules."""
    return jax.jit(lambda state, action: game.step(state, action)[0])
