"""Random games of xiangqi by OpenSpiel, and rules restated square by square, in the numbers of `envs.xiangqi`."""

from __future__ import annotations

import functools
import importlib
import random
import re
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pyspiel

from envs.xiangqi import State, Xiangqi

pyffish: Any = importlib.import_module("pyffish")  # compiled: it has no types
XIANGQI = Xiangqi()
GAME = Xiangqi(max_plies=300)
ORACLE = pyspiel.load_game("xiangqi")
START = "rnbakabnr/9/1c5c1/p1p1p1p1p/9/9/P1P1P1P1P/1C5C1/9/RNBAKABNR w - - 0 1"
_MOVE = re.compile(r"([a-i])(\d+)([a-i])(\d+)")


def squares(move: str, player: int) -> tuple[int, int]:
    """From and to of UCI's text, as the player sees them: 0 is at his left in front of him."""
    match = _MOVE.fullmatch(move)
    assert match
    ends = ["abcdefghi".index(match[i]) + 9 * (int(match[i + 1]) - 1) for i in (1, 3)]
    source, target = ends if player == 0 else (89 - square for square in ends)
    return source, target


def text(action: int, player: int) -> str:
    """UCI's text of an action."""
    ends = LABELS[action] if player == 0 else tuple(89 - square for square in LABELS[action])
    return "".join(f"{'abcdefghi'[square % 9]}{square // 9 + 1}" for square in ends)


def _labels() -> list[tuple[int, int]]:
    """The public label set in the order of (from, to), restated square by square."""
    found = set()
    inside = [(row, column) for row in range(10) for column in range(9)]
    for row, column in inside:
        for to_row, to_column in inside:
            rows, columns = abs(to_row - row), abs(to_column - column)
            if (rows == 0) != (columns == 0) or {rows, columns} == {1, 2}:
                found.add((9 * row + column, 9 * to_row + to_column))
    advisors = [(0, 3), (0, 5), (2, 3), (2, 5)]
    elephants = [((0, 2), (2, 0)), ((2, 0), (4, 2)), ((4, 2), (2, 4)), ((2, 4), (0, 2))]
    elephants += [((row, 8 - column), (to_row, 8 - to_column)) for (row, column), (to_row, to_column) in elephants]
    for one, other in [*((corner, (1, 4)) for corner in advisors), *elephants]:
        for (row, column), (to_row, to_column) in ((one, other), (other, one)):
            source, target = 9 * row + column, 9 * to_row + to_column
            found |= {(source, target), (89 - source, 89 - target)}
    return sorted(found)


LABELS = _labels()
ACTION = {pair: action for action, pair in enumerate(LABELS)}


def encode(move: str, player: int) -> int:
    """The action."""
    return ACTION[squares(move, player)]


def openspiel_action(action: int, player: int) -> int:
    """OpenSpiel's number: its squares run from Black's back rank to Red's, from Red's left to his right."""
    source, target = LABELS[action] if player == 0 else (89 - square for square in LABELS[action])
    return 90 * (9 * (9 - source // 9) + source % 9) + 9 * (9 - target // 9) + target % 9


def board_of(fen: str) -> list[str]:
    """The 90 squares from a1, letters and dots."""
    ranks = [re.sub(r"\d", lambda empty: "." * int(empty[0]), rank) for rank in fen.split()[0].split("/")]
    return list("".join(reversed(ranks)))


def fen_of(board: list[str], player: int, clock: int, ply: int) -> str:
    ranks = ["".join(board[row : row + 9]) for row in range(81, -1, -9)]
    ranks = [re.sub(r"\.+", lambda empty: str(len(empty[0])), rank) for rank in ranks]
    return f"{'/'.join(ranks)} {'wb'[player]} - - {clock} {ply // 2 + 1}"


def is_attacked(board: list[str], player: int) -> bool:
    """Whether the player's general is attacked, square by square."""
    own, enemy = (str.upper, str.lower) if player == 0 else (str.lower, str.upper)
    row, column = divmod(board.index(own("k")), 9)

    def at(row: int, column: int) -> str:
        return board[9 * row + column] if 0 <= row < 10 and 0 <= column < 9 else " "

    for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        line = [at(row + i * down, column + i * right) for i in range(1, 10)]
        pieces = [piece for piece in line if piece not in ". "]
        if pieces[:1] in ([enemy("r")], [enemy("k")]) or pieces[1:2] == [enemy("c")]:
            return True
        if line[0] == enemy("p") and down != (-1 if player == 0 else 1):
            return True
        for turn in (-1, 1):  # a horse whose leg is aslant of the general
            leg = at(row + (down or turn), column + (right or turn))
            horse = at(row + (2 * down or turn), column + (2 * right or turn))
            if leg == "." and horse == enemy("n"):
                return True
    return False


class Ply(NamedTuple):
    """One position, and the action played in it."""

    fen: str
    legal: list[int]  # increasing
    in_check: bool
    times: int  # it has been there, this time included
    action: int


class Played(NamedTuple):
    """One game."""

    plies: list[Ply]
    last: str  # FEN
    outcome: float  # for the player who moved last
    reason: str


step = jax.jit(XIANGQI.step)
legal_mask = jax.jit(XIANGQI.legal_action_mask)


def moved(state: State, moves: str) -> State:
    """The state after these moves, none of which but the last may end the game."""
    for move in moves.split():
        assert not state.terminated, f"the game is over before {move}"
        state, _ = step(state, jnp.int32(XIANGQI.action_from_text(state, move)))
    return state


def legal_moves(fen: str) -> set[str]:
    """The legal moves of a FEN, as UCI's."""
    state = XIANGQI.from_text(fen)
    return {text(int(action), int(state.player)) for action in np.flatnonzero(legal_mask(state))}


def pyffish_moves(fen: str) -> list[str]:
    """Fairy-Stockfish's."""
    return pyffish.legal_moves("xiangqi", fen, [])


def ending(keys: list[str], checks: list[bool], clock: int, has_moves: bool) -> tuple[float, str] | None:
    """The reward of the player who moved last and the reason; None if the game goes on. The rules, restated: `keys` are
    all positions, `checks` whether the side to move is in check in them."""
    if not has_moves:
        return 1.0, "checkmate" if checks[-1] else "stalemate"
    if keys.count(keys[-1]) >= 3:
        since = checks[keys.index(keys[-1]) + 1 :]
        last_mover, other = all(since[::-1][::2]), all(since[::-1][1::2])
        if last_mover != other:
            return (-1.0 if last_mover else 1.0), "perpetual check"
        return 0.0, "threefold repetition"
    return (0.0, "no capture") if clock >= 120 else None


def play(rng: random.Random, *, back: float, check: float) -> Played:
    """One game, at most as long as `GAME` allows, with moves back, checks and captures made likelier."""
    state, board, clock = ORACLE.new_initial_state(), board_of(START), 0
    keys, checks, plies = [], [], []
    while True:
        player = len(plies) % 2
        keys.append("".join(board) + "wb"[player])
        checks.append(is_attacked(board, player))
        theirs = set(state.legal_actions()) if not state.is_terminal() else set()
        legal = [action for action in range(len(LABELS)) if OPENSPIEL[player][action] in theirs]
        assert len(legal) == len(theirs)
        end = ending(keys, checks, clock, bool(legal))
        fen = fen_of(board, player, clock, len(plies))
        if end is None and len(plies) >= GAME.max_plies:
            end = 0.0, "move cap"
        if end is not None:
            return Played(plies, fen, *end)

        def after(action: int) -> list[str]:
            source, target = LABELS[action] if player == 0 else (89 - square for square in LABELS[action])  # noqa: B023
            return [
                board[source] if square == target else "." if square == source else piece  # noqa: B023
                for square, piece in enumerate(board)  # noqa: B023
            ]

        action = None
        if len(plies) >= 2 and rng.random() < back:
            action = ACTION.get(LABELS[plies[-2].action][::-1])
        if action not in legal and rng.random() < check:
            checking = [action for action in legal if is_attacked(after(action), 1 - player)]
            action = rng.choice(checking) if checking else None
        if action not in legal:
            view = board if player == 0 else board[::-1]
            action = rng.choices(legal, [1 + 2 * (view[LABELS[action][1]] != ".") for action in legal])[0]
        plies.append(Ply(fen, legal, checks[-1], keys.count(keys[-1]), action))
        state.apply_action(OPENSPIEL[player][action])
        following = after(action)
        clock = 0 if sum(piece != "." for piece in following) < sum(piece != "." for piece in board) else clock + 1
        board = following


OPENSPIEL = [[openspiel_action(action, player) for action in range(len(LABELS))] for player in (0, 1)]


@functools.cache
def random_games(number: int) -> list[Played]:
    """So many games to their end."""
    rng = random.Random(5)
    return [play(rng, back=(game % 5) / 12, check=(game % 7) / 7) for game in range(number)]


def planes(positions: list[tuple[str, int]], max_plies: int, limit: int) -> np.ndarray:
    """The 131 planes [10, 9, 131] as the player to move in the last position sees them; FENs and their occurrences."""
    seen = np.zeros((10, 9, 131), np.float32)
    fields = positions[-1][0].split()
    is_red = fields[1] == "w"
    for step, (fen, times) in enumerate(positions[::-1][:8]):
        for square, letter in enumerate(board_of(fen)):
            row, column = divmod(square if is_red else 89 - square, 9)
            if letter != ".":
                kind = "KABNRCP".index(letter.upper())
                seen[row, column, 16 * step + kind + (0 if letter.isupper() == is_red else 7)] = 1
        seen[..., 16 * step + 14] = times >= 2
        seen[..., 16 * step + 15] = times >= 3
    ply = 2 * (int(fields[5]) - 1) + (not is_red)
    seen[..., 128:] = np.array([is_red, ply / max_plies, int(fields[4]) / limit], np.float32)
    return seen
