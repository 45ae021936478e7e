"""Go by the Tromp-Taylor rules: area score on the board as it stands, superko, two passes end the game.

Actions are `row * size + column` from the upper left, then pass; their text is the GTP vertex: "A1" is the lower left
corner, no column is called I. A position of the board may not come again: moves that would repeat one are not legal.
After `2 * size ** 2` moves the game is over and scored as it stands, truncated.

The board is kept as words (`_grid_words`), and chains are found by floods over them. One thing is kept that a flood
would be slow to tell of all chains at once: which stones are in atari, that is, have one liberty. From this the legal
moves follow by a step to the neighbours: a stone may be played next to an empty point, to an own chain that has
another liberty, or to an opponent's chain that has none.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt, UInt32

from envs import _square_board
from envs._grid_words import Grid, count, union
from envs._zobrist import combined, high_key, low_key, number_of
from envs.core import Game, Move, Symmetry

COLUMNS = "ABCDEFGHJKLMNOPQRST"
SUPERKO = ("positional", "situational", "simple")
_HISTORY = 8  # boards that are observed


class State(NamedTuple):
    """A position, with what superko and the observation need of those before it.

    A position's hash has 64 bits, and 40 on 8x8 and 9x9, so that the state of 9x9 stays under 1 KB. A legal move is
    masked by chance in less than one of a million 9x9 games of full length, and in less than one of 10^11 on 19x19.
    """

    boards: UInt32[Array, "8 2 words"]  # black's and white's stones, the newest board first, empty before the game
    atari: UInt32[Array, " words"]  # the stones whose chain has one liberty
    low: UInt32[Array, " positions"]  # the hash of the board after `ply` moves, at place ply % positions
    high: UInt[Array, " positions"]  # the rest of it
    ply: Int[Array, ""]  # moves since the start, passes included
    passed: Bool[Array, ""]  # the last move was a pass
    player: Int[Array, ""]  # 0 is black
    terminated: Bool[Array, ""]


class _View(NamedTuple):
    """The board as the player to move sees it, in words."""

    own: UInt32[Array, " words"]
    opponent: UInt32[Array, " words"]
    empty: UInt32[Array, " words"]
    atari: UInt32[Array, " words"]


class _Attempt(NamedTuple):
    """What a stone would do."""

    removed: UInt32[Array, " words"]  # the stones that are taken off the board
    dies: Bool[Array, ""]  # they are the mover's own, and the new one with them
    low: UInt32[Array, ""]  # the hash of the board afterwards
    high: UInt[Array, ""]


@dataclasses.dataclass(frozen=True)
class Go(Game[State]):
    """The rules on a board of 2 to 19 a side.

    `superko`: no board may come again ("positional"); none with the same player to move ("situational"); or only not
    the board before the opponent's last move ("simple"). `suicide`: whether a player may take the last liberty of an
    own chain, which is then removed. An equal score (komi a whole number) is a draw.
    """

    size: int = 9
    komi: float = 7.5
    superko: str = "positional"
    suicide: bool = False

    def __post_init__(self) -> None:
        if not 2 <= self.size <= 19:
            raise ValueError(f"go's size is 2 to 19, got size={self.size}")
        if not math.isfinite(self.komi):
            raise ValueError(f"go's komi is a finite number, got komi={self.komi}")
        if self.superko not in SUPERKO:
            raise ValueError(f"go's superko is one of {', '.join(SUPERKO)}, got superko={self.superko!r}")

    @property
    def num_actions(self) -> int:
        return self.size**2 + 1

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return self.size, self.size, 2 * _HISTORY + 1

    @property
    def max_moves(self) -> int:
        return 2 * self.size**2

    @property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """The eight of the square."""
        return _square_board.symmetries(self.size, extra_actions=1)

    @property
    def _grid(self) -> Grid:
        return Grid(self.size)

    @property
    def _positions(self) -> int:
        """How many hashes are kept."""
        return 2 if self.superko == "simple" else self.max_moves

    @property
    def _high_type(self) -> type[np.unsignedinteger]:
        return np.uint8 if self.size in (8, 9) else np.uint32

    # --- the rules ---

    def init(self) -> State:
        words = self._grid.num_words
        return State(
            boards=jnp.zeros((_HISTORY, 2, words), jnp.uint32),
            atari=jnp.zeros(words, jnp.uint32),
            low=jnp.zeros(self._positions, jnp.uint32),
            high=jnp.zeros(self._positions, self._high_type),
            ply=jnp.int16(0),
            passed=jnp.bool_(False),
            player=jnp.int8(0),
            terminated=jnp.bool_(False),
        )

    def observe(self, state: State) -> Bool[Array, "size size 17"]:
        """Own stones and opponent's stones of the last eight boards, newest first; whether black is to move."""
        grid, mine = self._grid, (np.arange(2) == state.player)[None, :, None]
        sides = jnp.stack([jnp.where(mine, state.boards, 0), jnp.where(mine, 0, state.boards)], 1)
        # As a reduction, since XLA would compute a selection again for every point.
        sides = jax.lax.reduce(sides, np.uint32(0), jax.lax.bitwise_or, (2,)).reshape(2 * _HISTORY, -1)
        black = jnp.where(state.player == 0, jnp.asarray(grid.board), 0)
        return grid.points(jnp.concatenate([sides, black[None]]).T)

    def _legal(self, state: State) -> Bool[Array, " actions"]:
        grid, view = self._grid, self._view(state)
        legal, safe = self._playable(view)
        removing = grid.near(view.opponent & view.atari) & legal
        if self.suicide:
            removing = removing | legal & ~safe
        legal = legal & ~(self._repeated_by_one_stone(state) & ~removing)

        def check(carry):
            legal, todo = carry
            stone = grid.first(todo)
            repeats = self._repeats(state, self._attempt(state, view, stone))
            return legal & ~jnp.where(repeats, stone, 0), todo & ~stone

        legal, _ = jax.lax.while_loop(lambda carry: jnp.any(carry[1] != 0), check, (legal, removing))
        return jnp.append(grid.points(legal).reshape(-1), True)

    def is_legal(self, state: State, action: Int[Array, ""]) -> Bool[Array, ""]:
        view, stone = self._view(state), self._grid.point(action)
        playable = jnp.any((stone & self._playable(view)[0]) != 0)
        repeats = self._repeats(state, self._attempt(state, view, stone))
        return (playable & ~repeats | (action == self.size**2)) & ~state.terminated

    def _move(self, state: State, action: Int[Array, ""]) -> Move[State]:
        grid, view, stone = self._grid, self._view(state), self._grid.point(action)
        attempt = self._attempt(state, view, stone)
        removed, dies = attempt.removed, attempt.dies
        own = (view.own | stone) & ~jnp.where(dies, removed | stone, 0)
        opponent = view.opponent & ~jnp.where(dies, 0, removed)
        after = _View(own, opponent, ~(own | opponent) & grid.board, view.atari & ~removed)

        black = state.player == 0
        board = jnp.where(black, jnp.stack([own, opponent]), jnp.stack([opponent, own]))
        ply = state.ply + jnp.ones((), state.ply.dtype)
        here = np.arange(self._positions) == ply % self._positions
        passed = action == self.size**2
        passes_end = passed & state.passed
        over = passes_end | (ply >= self.max_moves)
        lead = self._lead(after, wanted=over) + jnp.where(black, -self.komi, self.komi)
        next_state = State(
            boards=jnp.concatenate([board[None], state.boards[:-1]]),
            atari=self._atari(after, stone, removed, dies),
            low=jnp.where(here, attempt.low, state.low),
            high=jnp.where(here, attempt.high, state.high),
            ply=ply,
            passed=passed,
            player=1 - state.player,
            terminated=over,
        )
        return Move(next_state, jnp.where(over, jnp.sign(lead), 0.0), truncated=over & ~passes_end)

    def _view(self, state: State) -> _View:
        black, white = state.boards[0]
        mine = state.player == 0
        own, opponent = jnp.where(mine, black, white), jnp.where(mine, white, black)
        return _View(own, opponent, self._grid.board & ~(black | white), state.atari)

    def _playable(self, view: _View) -> tuple[UInt32[Array, " words"], UInt32[Array, " words"]]:
        """The legal points but for superko, and those of them where the stone does not die."""
        breath = view.empty | view.own & ~view.atari | view.opponent & view.atari
        safe = view.empty & self._grid.near(breath)
        return view.empty if self.suicide else safe, safe

    def _attempt(self, state: State, view: _View, stone: UInt32[Array, " words"]) -> _Attempt:
        """Plays a stone, or none. A neighbour in atari has its only liberty there, so it goes."""
        grid = self._grid
        dies, victims = jnp.bool_(False), view.opponent & view.atari
        if self.suicide:
            dies = jnp.any((stone & ~self._playable(view)[1]) != 0)
            victims = jnp.where(dies, view.own & view.atari, victims)
        removed = grid.flood(grid.near(stone) & victims, victims)

        placed, black = jnp.where(dies, 0, stone), state.player == 0
        black_is_taken = black == dies
        changed = (
            jnp.where(black, placed, 0) | jnp.where(black_is_taken, removed, 0),
            jnp.where(black, 0, placed) | jnp.where(black_is_taken, 0, removed),
        )
        now, hashes = state.ply % self._positions, []
        for keys, past in zip(_keys(self.size, self._high_type), (state.low, state.high), strict=True):
            change = [jnp.where(grid.bits(words), key, 0) for words, key in zip(changed, keys, strict=True)]
            hashes.append(past[now] ^ combined(change[0] ^ change[1]))
        return _Attempt(removed, dies, *hashes)

    def _forbidden(self, state: State) -> Bool[Array, " positions"]:
        """Which of the positions kept may not come again by the next move."""
        place, ply = jnp.arange(self._positions), state.ply.astype(jnp.int32)
        if self.superko == "simple":
            return (place == (ply - 1) % 2) & (ply > 0)
        same_player = (ply + 1 - place) % 2 == 0
        return (place <= ply) & (same_player if self.superko == "situational" else True)

    def _repeats(self, state: State, attempt: _Attempt) -> Bool[Array, ""]:
        """Whether it leads to a forbidden position."""
        return jnp.any((state.low == attempt.low) & (state.high == attempt.high) & self._forbidden(state))

    def _repeated_by_one_stone(self, state: State) -> UInt32[Array, " words"]:
        """Where a stone, if it removes none, leads to a forbidden position."""
        grid, place, now = self._grid, np.arange(self._positions), state.ply % self._positions
        key = number_of(state.low ^ state.low[now])
        point = key - jnp.where(state.player == 0, 1, 1 + self.size**2).astype(jnp.uint32)
        found = (point < self.size**2) & (high_key(key, self._high_type) == state.high ^ state.high[now])
        found = found & self._forbidden(state)
        last = jnp.max(jnp.where(found, place, -1))  # hardly ever is there one

        def add(carry):
            points, done = carry
            here = jnp.min(jnp.where(found & (place > done), place, self._positions - 1))
            return points | jnp.where(done < last, grid.point(point[here].astype(jnp.int32)), 0), here

        none = jnp.zeros(grid.num_words, jnp.uint32)
        return jax.lax.while_loop(lambda carry: carry[1] < last, add, (none, jnp.int32(-1)))[0]

    def _atari(
        self,
        after: _View,
        stone: UInt32[Array, " words"],
        removed: UInt32[Array, " words"],
        dies: Bool[Array, ""],
    ) -> UInt32[Array, " words"]:
        """The stones in atari after a move; `after.atari` are those before it that are still there.

        Only the chains beside the stone and its own have to be looked at. Any other chain that gained liberties from
        the stones removed had one before, elsewhere, so that it has two or more.
        """
        grid = self._grid
        gaining = jnp.where(dies, after.opponent, after.own)
        within = jnp.stack([*[after.opponent] * 4, after.own, gaining & after.atari], -1)
        chains = grid.flood(jnp.stack([*grid.sides(stone), stone, grid.near(removed)], -1) & within, within)
        one = count(grid.near(chains) & after.empty[:, None]) == 1
        one = one & (np.arange(6) < 5)
        return after.atari & ~union(chains) | union(jnp.where(one[None], chains, 0))

    def _lead(self, board: _View, *, wanted: Bool[Array, ""]) -> Int[Array, ""]:
        """The mover's area minus the opponent's; of no meaning where it is not wanted, and then quick."""
        grid = self._grid
        stones, empty = jnp.stack([board.own, board.opponent], -1), jnp.stack([board.empty] * 2, -1)
        reached = grid.flood(jnp.where(wanted, grid.near(stones) & empty, 0), empty)
        areas = count(stones | reached & ~reached[:, ::-1])
        return areas[0] - areas[1]

    # --- host side ---

    def from_board(self, board: np.ndarray, player: int = 0) -> State:
        """The position with these stones, [size, size] from the top row: 0 is empty, 1 black, 2 white.

        No position came before it: superko and the move cap begin here. Raises ValueError if a chain has no liberty.
        """
        board = np.asarray(board)
        if board.shape != (self.size, self.size) or not np.isin(board, (0, 1, 2)).all():
            raise ValueError(f"a board is {self.size}x{self.size} numbers 0, 1 or 2, got {board.tolist()}")
        if player not in (0, 1):
            raise ValueError(f"the player to move is 0 (black) or 1 (white), got {player}")
        grid, start, atari = self._grid, self.init(), np.zeros(self.size**2, bool)
        for point in np.flatnonzero(board).tolist():
            chain, liberties = _chain(board, point)
            if not liberties:
                raise ValueError(f"the stone at {self.action_to_text(start, point)} has no liberty")
            atari[list(chain)] = len(liberties) == 1
        stones = np.stack([board == 1, board == 2])
        low, high = (
            np.bitwise_xor.reduce(keys[grid.spread(stones.reshape(2, -1))])
            for keys in _keys(self.size, self._high_type)
        )
        return start._replace(
            boards=start.boards.at[0].set(jnp.stack([grid.pack(colour) for colour in stones])),
            atari=jnp.asarray(grid.pack(atari)),
            low=start.low.at[0].set(low),
            high=start.high.at[0].set(high),
            player=jnp.int8(player),
        )

    def board(self, state: State) -> np.ndarray:
        """The stones, int8 [size, size] from the top row: 0 is empty, 1 black, 2 white."""
        stones = np.asarray(self._grid.points(state.boards[0].T)).astype(np.int8)
        return stones[..., 0] + 2 * stones[..., 1]

    def score(self, state: State) -> float:
        """Black's area less white's area and komi, on the board as it stands."""
        lead = int(self._lead(self._view(state), wanted=jnp.bool_(True)))
        return (lead if state.player == 0 else -lead) - self.komi

    def render(self, state: State) -> str:
        """Black x, white o; the last stone in brackets."""
        mover = 1 - int(state.player)
        newest, before = np.asarray(state.boards[:2, mover])
        (last,) = np.nonzero(np.asarray(self._grid.points(jnp.asarray(newest & ~before))).ravel())
        marks = np.array([".", "x", "o"])[self.board(state)].tolist()
        shown = divmod(int(last[0]), self.size) if state.ply > 0 and len(last) else None
        return _square_board.draw(marks, shown, letters=COLUMNS)

    def action_to_text(self, state: State, action: int) -> str:
        """The GTP vertex: "D4", or "pass"."""
        del state
        row, column = divmod(int(action), self.size)
        return "pass" if action == self.size**2 else f"{COLUMNS[column]}{self.size - row}"


def _chain(board: np.ndarray, point: int) -> tuple[set[int], set[int]]:
    """The stones connected to that at `point`, and their liberties, on the host."""
    size, stones, liberties, todo = len(board), {point}, set(), [point]
    while todo:
        row, column = divmod(todo.pop(), size)
        for r, c in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            near = r * size + c
            if not (0 <= r < size and 0 <= c < size):
                continue
            if board[r, c] == 0:
                liberties.add(near)
            elif board[r, c] == board[row, column] and near not in stones:
                stones.add(near)
                todo.append(near)
    return stones, liberties


@functools.cache
def _keys(size: int, high_type: type[np.unsignedinteger]) -> tuple[np.ndarray, np.ndarray]:
    """The low and the high keys of black's and white's stones, as `Grid.bits` lays out points."""
    numbers = np.arange(1, 2 * size**2 + 1, dtype=np.uint32).reshape(2, -1)
    spread = Grid(size).spread
    return spread(low_key(numbers)), spread(high_key(numbers, high_type))
