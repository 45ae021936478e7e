"""Games and positions of Go as SGF text, read and written through sgfmill.

Read are set-up stones (AB, AW, AE, PL) before the first move and the moves of the main line; SZ (19 where it is
missing), KM (0 where it is missing) and RE. Superko and suicide are the caller's to say: files tell them badly (RU).
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from envs.go import Go, State

try:
    with warnings.catch_warnings():  # a docstring of its with an escape in it that newer Pythons warn of
        warnings.simplefilter("ignore")
        import sgfmill.sgf
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("SGF is read by sgfmill, which is missing: pip install 'azjax[notation]'") from error

COLOURS = "bw"  # sgfmill's names of players 0 and 1


class Record(NamedTuple):
    """A game, or a position with no moves."""

    game: Go
    start: State  # before the first move; superko and the move cap begin here
    actions: tuple[int, ...]
    state: State  # after the last move
    result: str | None  # RE as the file has it: "B+3.5", "W+R", "0" is a draw; None where it is missing


def read(text: str | bytes, *, superko: str = "positional", suicide: bool = False) -> Record:
    """The game of this SGF text. Raises ValueError for what is not a game of Go, and for moves that are not legal."""
    try:
        encoded = text.encode() if isinstance(text, str) else text
        tree = sgfmill.sgf.Sgf_game.from_bytes(encoded, override_encoding="UTF-8" if isinstance(text, str) else None)
        size, komi, root = tree.get_size(), tree.get_komi(), tree.get_root()
        kind = root.get("GM") if root.has_property("GM") else 1
        result = root.get("RE") if root.has_property("RE") else None
    except ValueError as error:
        raise ValueError(f"not SGF of a game of Go: {error}") from error
    if kind != 1:
        raise ValueError(f"not a game of Go: the file says GM[{kind}], Go is GM[1]")
    game = Go(size, komi, superko, suicide)
    board, moves, first = np.zeros((size, size), np.int8), [], None
    for node in tree.get_main_sequence():
        try:
            colour, vertex = node.get_move()
            setup = node.get_setup_stones()
            first = COLOURS.index(node.get("PL")) if node.has_property("PL") else first
        except ValueError as error:
            raise ValueError(
                f"after move {len(moves)}: no move, set-up stone or PL of a {size}x{size} board: {node}"
            ) from error
        if any(setup) and (moves or colour):
            raise ValueError(f"set-up stones after or with move {max(len(moves), 1)}: they may only come before it")
        for kind, points in zip((1, 2, 0), setup, strict=True):
            for row, column in points:
                board[size - 1 - row, column] = kind
        if colour:
            action = size**2 if vertex is None else (size - 1 - vertex[0]) * size + vertex[1]
            moves.append((COLOURS.index(colour), action))
    if first is None:  # as most programs take it, with handicap stones too
        only_black = bool(board.any()) and not (board == 2).any()
        first = moves[0][0] if moves else int(only_black)
    start = game.from_board(board, first)
    return Record(game, start, tuple(action for _, action in moves), _played(game, start, moves), result)


def write(
    game: Go,
    actions: Sequence[int],
    *,
    start: State | None = None,
    result: str | None = None,
    names: tuple[str, str] | None = None,
) -> str:
    """The SGF text of these moves from `start`, the empty board where it is None. `names` are black's and white's.

    A file without moves is a position. Whether the moves are legal is not looked at.
    """
    start = game.init() if start is None else start
    tree = sgfmill.sgf.Sgf_game(game.size, encoding="UTF-8")
    root, player = tree.get_root(), int(start.player)
    root.set_raw("AP", b"azjax")
    root.set("KM", game.komi)
    for properties, texts in ((("PB", "PW"), names or ()), (("RE",), () if result is None else (result,))):
        for identifier, text in zip(properties, texts, strict=False):
            root.set(identifier, text)
    board = game.board(start)
    if board.any() or player:
        black, white = ([(game.size - 1 - r, c) for r, c in np.argwhere(board == kind).tolist()] for kind in (1, 2))
        root.set_setup_stones(black, white)
        root.set("PL", COLOURS[player])
        if player and not white and len(black) > 1:
            root.set("HA", len(black))
    for action in actions:
        row, column = divmod(int(action), game.size)
        vertex = None if action == game.size**2 else (game.size - 1 - row, column)
        tree.extend_main_sequence().set_move(COLOURS[player], vertex)
        player = 1 - player
    return tree.serialise().decode()


def result_text(game: Go, state: State) -> str | None:
    """RE of a game that was played to its end: "B+3.5", "W+22", "0" for a draw. None while it is not over."""
    score = game.score(state)
    if not state.terminated:
        return None
    return f"{'B' if score > 0 else 'W'}+{abs(score):g}" if score else "0"


def _played(game: Go, start: State, moves: list[tuple[int, int]]) -> State:
    """The state after these moves (player, action). Raises ValueError for the first that may not be played."""
    state, play = start, _play(game)
    for number, (player, action) in enumerate(moves, 1):
        mover, name = ("black", "white")[player], game.action_to_text(state, action)
        if state.terminated:
            raise ValueError(f"move {number}: {mover} {name}, but the game was over after move {number - 1}")
        if player != state.player:
            raise ValueError(f"move {number}: {mover} {name}, but it is the other's turn; a pass is an empty move")
        legal, state = play(state, jnp.int32(action))
        if not legal:
            raise ValueError(f"move {number}: {mover} {name} is not legal (superko={game.superko!r})")
    return state


@functools.cache
def _play(game: Go) -> Callable:
    """The compiled function that says whether a move is legal and plays it."""
    return jax.jit(lambda state, action: (game.is_legal(state, action), game.step(state, action)[0]))
