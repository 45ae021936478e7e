"""Go in plain Python, to compare with: boards are tuples, chains are found by search, every former board is kept."""

from __future__ import annotations

import dataclasses

EMPTY, BLACK, WHITE = range(3)


@dataclasses.dataclass
class Reference:
    """A game on a board of `size`; a move is `row * size + column`, or None to pass. Black begins."""

    size: int
    superko: str = "positional"
    suicide: bool = False

    def __post_init__(self) -> None:
        self.set_up((EMPTY,) * self.size**2, BLACK)

    def set_up(self, board: tuple[int, ...], player: int) -> None:
        """Starts from this board, with this player to move."""
        self.board, self.player = board, player
        self.past: list[tuple[tuple[int, ...], int]] = [(board, player)]

    def neighbours(self, point: int) -> list[int]:
        row, column = divmod(point, self.size)
        around = (row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)
        return [r * self.size + c for r, c in around if 0 <= r < self.size and 0 <= c < self.size]

    def chain(self, board: tuple[int, ...] | list[int], point: int) -> tuple[set[int], set[int]]:
        """The connected points of the same kind, and the points of other kinds around them."""
        found, border, todo = {point}, set(), [point]
        while todo:
            for near in self.neighbours(todo.pop()):
                if board[near] != board[point]:
                    border.add(near)
                elif near not in found:
                    found.add(near)
                    todo.append(near)
        return found, border

    def has_liberty(self, board: list[int], point: int) -> bool:
        return any(board[near] == EMPTY for near in self.chain(board, point)[1])

    def board_after(self, point: int) -> tuple[int, ...] | None:
        """The board after a stone, ko aside; None if it may not be played."""
        if self.board[point] != EMPTY:
            return None
        board, opponent = list(self.board), BLACK + WHITE - self.player
        board[point] = self.player
        for colour in (opponent, self.player):
            dead = {
                stone
                for near in (point, *self.neighbours(point))
                if board[near] == colour and not self.has_liberty(board, near)
                for stone in self.chain(board, near)[0]
            }
            if colour == self.player and dead and not self.suicide:
                return None
            for stone in dead:
                board[stone] = EMPTY
        return tuple(board)

    def is_legal(self, point: int) -> bool:
        board = self.board_after(point)
        if board is None:
            return False
        if self.superko == "positional":
            return board not in [past for past, _ in self.past]
        if self.superko == "situational":
            return (board, BLACK + WHITE - self.player) not in self.past
        return len(self.past) < 2 or board != self.past[-2][0]

    def legal_points(self) -> list[int]:
        return [point for point in range(self.size**2) if self.is_legal(point)]

    def play(self, move: int | None) -> None:
        if move is not None:
            board = self.board_after(move)
            assert board is not None and self.is_legal(move)
            self.board = board
        self.player = BLACK + WHITE - self.player
        self.past.append((self.board, self.player))

    def areas(self) -> tuple[int, int]:
        """Black's and white's area: their stones and the empty regions that border on no other stones."""
        areas = {BLACK: self.board.count(BLACK), WHITE: self.board.count(WHITE)}
        seen: set[int] = set()
        for point, kind in enumerate(self.board):
            if kind == EMPTY and point not in seen:
                region, border = self.chain(self.board, point)
                seen |= region
                owners = {self.board[near] for near in border}
                if len(owners) == 1:
                    areas[owners.pop()] += len(region)
        return areas[BLACK], areas[WHITE]
