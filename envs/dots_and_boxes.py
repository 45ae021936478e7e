"""Dots and boxes on a board of any size, with extra turns or in the alternate-turn form with a forced pass."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Float32, Int, Int8

from envs import _dots_and_boxes_solver as exact
from envs._solved import read_solved
from envs.core import Game, Move, SolvedPositions, Solver, Symmetry

MAX_BOXES = 127  # a score is an int8


class State(NamedTuple):
    lines: Bool[Array, " lines"]  # drawn? horizontal lines first, then vertical ones, both row by row
    score: Int8[Array, " 2"]  # boxes closed by the first player and by the second
    must_pass: Bool[Array, ""]  # the opponent has just closed a box (always False where turns are extra)
    player: Int8[Array, ""]
    terminated: Bool[Array, ""]


@dataclasses.dataclass(frozen=True)
class DotsAndBoxes(Game[State]):
    """`rows` x `columns` boxes. Who closes a box, or two at once, moves again; most boxes win when all lines are drawn.

    Actions are the lines: `(rows + 1) * columns` horizontal ones, row by row, then `rows * (columns + 1)` vertical
    ones. With `encoding="pass"` the players alternate instead, and who faces a box just closed has one legal action:
    the pass, which is the last action id. Both forms are the same game, played to the last line; a draw is possible
    where the number of boxes is even.
    """

    rows: int = 3
    columns: int = 3
    encoding: Literal["turns", "pass"] = "turns"

    def __post_init__(self) -> None:
        if not (self.rows >= 1 and self.columns >= 1 and self.rows * self.columns <= MAX_BOXES):
            raise ValueError(f"got {self.rows} x {self.columns} boxes, expected 1 to {MAX_BOXES} boxes in all")
        if self.encoding not in ("turns", "pass"):
            raise ValueError(f"got encoding {self.encoding!r}, expected 'turns' or 'pass'")

    @property
    def num_horizontal(self) -> int:
        """How many of the lines are horizontal; they come first."""
        return (self.rows + 1) * self.columns

    @property
    def num_lines(self) -> int:
        """How many lines there are; also the id of the pass, where there is one."""
        return self.num_horizontal + self.rows * (self.columns + 1)

    @property
    def num_actions(self) -> int:
        return self.num_lines + (self.encoding == "pass")

    @property
    def max_legal_actions(self) -> int:
        return self.num_lines  # the pass is legal only on its own

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return self.rows, self.columns, 7 + (self.encoding == "pass")

    @property
    def max_moves(self) -> int:
        # Every box but the last may be answered by a pass.
        return self.num_lines + (self.rows * self.columns - 1 if self.encoding == "pass" else 0)

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """The whole group, the identity first: 8 of a square, 4 of a rectangle."""
        return _symmetries(self)

    def init(self) -> State:
        return State(
            lines=jnp.zeros(self.num_lines, bool),
            score=jnp.zeros(2, jnp.int8),
            must_pass=jnp.zeros((), bool),
            player=jnp.zeros((), jnp.int8),
            terminated=jnp.zeros((), bool),
        )

    def observe(self, state: State) -> Float32[Array, "rows columns channels"]:
        """One pixel a box. Planes: its top, bottom, left, right line drawn; exactly two, exactly three of them drawn;
        the mover's lead in boxes as a share of all boxes; whether the mover must pass (`encoding="pass"` only)."""
        edges = self._edges(state.lines)
        count = edges.sum(-1, keepdims=True)
        constants = [_lead(state) / (self.rows * self.columns)]
        if self.encoding == "pass":
            constants.append(state.must_pass)
        planes = [edges, count == 2, count == 3, *(jnp.broadcast_to(c, count.shape) for c in constants)]
        return jnp.concatenate([plane.astype(jnp.float32) for plane in planes], axis=-1)

    def is_legal(self, state: State, action: Int[Array, ""]) -> Bool[Array, ""]:
        # Compared, not indexed: TPUs are slow at gathers, and an id outside the range meets no line.
        free = jnp.any((jnp.arange(self.num_lines) == action) & ~state.lines)
        if self.encoding == "pass":
            free = jnp.where(state.must_pass, action == self.num_lines, free)
        return free & ~state.terminated

    def _legal(self, state: State) -> Bool[Array, " actions"]:
        if self.encoding == "turns":
            return ~state.lines
        return jnp.append(~state.lines & ~state.must_pass, state.must_pass)

    def _move(self, state: State, action: Int[Array, ""]) -> Move[State]:
        lines = state.lines | (jnp.arange(self.num_lines) == action)  # a pass draws nothing
        # The scores always add up to the number of closed boxes.
        closed = self._edges(lines).all(-1).sum() - state.score.sum()
        score = jnp.where(jnp.arange(2) == state.player, state.score + closed, state.score).astype(jnp.int8)
        over = lines.all()
        again = (closed > 0) & (self.encoding == "turns")
        after = State(
            lines=lines,
            score=score,
            must_pass=(closed > 0) & (self.encoding == "pass") & ~over,
            player=jnp.where(again, state.player, 1 - state.player),
            terminated=over,
        )
        outcome = jnp.sign(_lead(state._replace(score=score))).astype(jnp.float32)
        return Move(after, jnp.where(over, outcome, 0.0))

    def _edges(self, lines: Bool[Array, " lines"]) -> Bool[Array, "rows columns 4"]:
        """Of every box: top, bottom, left and right line drawn."""
        across = lines[: self.num_horizontal].reshape(self.rows + 1, self.columns)
        down = lines[self.num_horizontal :].reshape(self.rows, self.columns + 1)
        return jnp.stack([across[:-1], across[1:], down[:, :-1], down[:, 1:]], axis=-1)

    # --- perfect play ---

    def solver(self) -> Solver | None:
        """Perfect play on boards of up to 24 lines (3x3 boxes); None on larger ones.

        The values are final differences of boxes, mover minus opponent. The first call for a size solves the game,
        which takes about a second for 3x3 boxes."""
        if self.num_lines > exact.MAX_LINES:
            return None
        return Solver(jnp.asarray(exact.margins(self.rows, self.columns)), self._values)

    def _values(self, table: Int8[Array, " sets"], state: State) -> Float[Array, " actions"]:
        bits = 1 << jnp.arange(self.num_lines)
        here = jnp.sum(jnp.where(state.lines, bits, 0))
        lead = _lead(state).astype(jnp.float32)
        after = table[here | bits].astype(jnp.float32)  # for whoever moves next
        drawn = state.lines[None] | jnp.eye(self.num_lines, dtype=bool)
        closed = (jax.vmap(self._edges)(drawn).all(-1).sum((1, 2)) - state.score.sum()).astype(jnp.float32)
        values = lead + jnp.where(closed > 0, closed + after, -after)
        if self.encoding == "pass":
            values = jnp.append(values, lead - table[here])  # the opponent goes on
        return jnp.where(self.legal_action_mask(state), values, -jnp.inf)

    def solved_positions(self) -> SolvedPositions | None:
        """With 3x3 boxes and extra turns: 1,000 positions, with values as the solver's."""
        return read_solved("dots_and_boxes", self)

    # --- host side ---

    def render(self, state: State) -> str:
        """The board with every free line under the name it is played by, closed boxes as #, and the scores."""
        lines = np.asarray(state.lines)
        names = [self._line_name(a) for a in range(self.num_lines)]
        width = len(names[0])
        half = width // 2
        across = lines[: self.num_horizontal].reshape(self.rows + 1, self.columns)
        closed = np.asarray(self._edges(state.lines).all(-1))
        text = []
        for row in range(self.rows + 1):
            cells = []
            for column in range(self.columns):
                name = names[row * self.columns + column]
                cells.append("-" * (width + 2) if across[row, column] else f" {name} ")
            text.append(" " * half + "+" + "+".join(cells) + "+")
            if row == self.rows:
                break
            # Names are of odd width: each is centred under its dot, with three columns for the box between two.
            base = self.num_horizontal + row * (self.columns + 1)
            marks = ["|".center(width) if lines[base + c] else names[base + c] for c in range(self.columns + 1)]
            boxes = [("#" if closed[row, c] else "").center(3) for c in range(self.columns)]
            text.append("".join(mark + box for mark, box in zip(marks, [*boxes, ""], strict=True)).rstrip())
        first, second = (int(n) for n in state.score)
        text.append(f"boxes: first player {first}, second player {second}")
        if bool(state.terminated):
            text.append("the game is over")
        else:
            mover = ("first player", "second player")[int(state.player)]
            text.append(f"{mover} {'must pass' if bool(state.must_pass) else 'to move'}")
        return "\n".join(text)

    def action_to_text(self, state: State, action: int) -> str:
        """`h<row><column>` or `v<row><column>`, counted from 0 at the top left, each padded with zeros where the board
        needs more than one digit; or `pass`."""
        del state
        return "pass" if action == self.num_lines else self._line_name(action)

    def _line_name(self, line: int) -> str:
        digits = len(str(max(self.rows, self.columns)))
        vertical = line >= self.num_horizontal
        row, column = divmod(line - vertical * self.num_horizontal, self.columns + vertical)
        return f"{'v' if vertical else 'h'}{row:0{digits}}{column:0{digits}}"


def _lead(state: State) -> Int8[Array, ""]:
    """The mover's boxes minus the opponent's."""
    return (state.score[0] - state.score[1]) * (1 - 2 * state.player)


def _turned(array: Any, transpose: bool, flip_rows: bool, flip_columns: bool) -> Any:
    """One of the eight symmetries of a square, on the first two axes of a NumPy or JAX array."""
    array = array.swapaxes(0, 1) if transpose else array
    array = array[::-1] if flip_rows else array
    return array[:, ::-1] if flip_columns else array


@functools.cache
def _symmetries(game: DotsAndBoxes) -> tuple[Symmetry, ...]:
    # The board as a picture with a pixel for every dot, line and box; -1 where there is no line.
    board = np.full((2 * game.rows + 1, 2 * game.columns + 1), -1)
    board[0::2, 1::2] = np.arange(game.num_horizontal).reshape(game.rows + 1, game.columns)
    board[1::2, 0::2] = np.arange(game.num_horizontal, game.num_lines).reshape(game.rows, game.columns + 1)
    box = np.array([[-1, 0, -1], [2, -1, 3], [-1, 1, -1]])  # the same picture of one box, with its edge planes

    def symmetry(*turn: bool) -> Symmetry:
        before = _turned(board, *turn)
        actions = np.arange(game.num_actions, dtype=np.int32)
        actions[before[before >= 0]] = board[before >= 0]
        planes = np.arange(game.observation_shape[-1])
        planes[box[box >= 0]] = _turned(box, *turn)[box >= 0]
        return Symmetry(lambda observation: _turned(observation, *turn)[:, :, planes], actions)

    turns = itertools.product([False, True] if game.rows == game.columns else [False], [False, True], [False, True])
    return tuple(symmetry(*turn) for turn in turns)
