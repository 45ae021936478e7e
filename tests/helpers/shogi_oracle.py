"""For the tests of shogi: random games played by our rules, and cshogi's moves, pieces and planes in our numbers."""

from __future__ import annotations

import functools
import importlib
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from envs._shogi_moves import legal_moves
from envs._zobrist import low_key
from envs.shogi import Shogi, State, _view

cshogi: Any = importlib.import_module("cshogi")  # compiled: it has no types
_STEPS = np.full((17, 17), -1000)  # planes without promotion, by cshogi's step in files and ranks, each + 8
for _direction, (_left, _down) in enumerate(((0, -1), (-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1))):
    for _distance in range(1, 9):
        _STEPS[8 + _left * _distance, 8 + _down * _distance] = 8 * _direction + _distance - 1
_STEPS[9, 6], _STEPS[7, 6] = 64, 65
_DROPS = np.array([0, 1, 2, 3, 5, 6, 4])  # cshogi has P L N S B R G in its moves
TYPES = (1, 2, 3, 4, 7, 5, 6, 8, 9, 10, 11, 12, 13, 14)  # cshogi's codes of P L N S G B R K +P +L +N +S +B +R
COUNTS = np.array([18, 4, 4, 4, 4, 2, 2])


class Games(NamedTuple):
    """[time, lane] each, as NumPy arrays."""

    action: Any
    signature: Any  # of the set of legal actions
    count: Any
    check: Any  # the player to move is in check
    player: Any
    repetition: Any  # for the how-manieth time the position is there
    finished: Any  # before the action
    reward: Any
    truncated: Any


def signature(actions: np.ndarray) -> int:
    """A number that tells sets of actions apart."""
    return int(low_key((actions + 1).astype(np.uint32)).sum(dtype=np.uint32))


@functools.cache
def random_games(game: Shogi, starts: tuple[str, ...], *, seed: int = 0) -> Games:
    """Games from these positions. Of four legal moves each, a check, capture or promotion is taken rather than another;
    and, where few pieces are left, a move that repeats a position."""

    def ply(state: State, key):
        mask = game.legal_action_mask(state)
        keys = jax.random.split(key, 2)
        places = jnp.floor(jax.random.uniform(keys[0], (4,)) * mask.sum()).astype(jnp.int32)
        tried = jnp.searchsorted(jnp.cumsum(mask), places + 1).astype(jnp.int32)
        after, _ = jax.vmap(game.step, (None, 0))(state, tried)
        checks = after.checks[:, state.player] > 0
        captures = (after.hands[:, 0].sum((1, 2)) > state.hands[0].sum()) | (tried % 139 // 66 == 1)
        repeats = (after.repetitions[:, 0] > 1) & ((state.boards[0] != 0).sum() < 8)
        weights = jax.random.uniform(keys[1], (4,)) * (1.0 + checks + 0.3 * captures + 5.0 * repeats)
        action = tried[jnp.argmax(weights)]
        ids = np.arange(game.num_actions, dtype=np.uint32) + 1
        legal = jnp.sum(jnp.where(mask, low_key(ids), 0), dtype=jnp.uint32)
        check = legal_moves(_view(state), state.hands[0, state.player]).check
        next_state, transition = game.step(state, action)
        before = (state.player, state.repetitions[0], state.terminated)
        return next_state, Games(action, legal, mask.sum(), check, *before, transition.reward, transition.truncated)

    def play(start, key):
        return jax.lax.scan(ply, start, jax.random.split(key, game.max_moves + 1))[1]

    states = {text: game.from_text(text) for text in starts}
    states = jax.tree.map(lambda *x: jnp.stack(x), *(states[text] for text in starts))
    keys = jax.random.split(jax.random.key(seed), len(starts))
    return jax.tree.map(np.asarray, jax.jit(jax.vmap(play, out_axes=1))(states, keys))


def actions_of(board: Any, moves: np.ndarray) -> np.ndarray:
    """cshogi's moves as our actions, by its numbers of squares: 9 * (file - 1) + rank from the top."""
    target, source, promotes = moves & 127, moves >> 7 & 127, moves >> 14 & 1
    is_drop = source >= 81
    if board.turn == cshogi.WHITE:
        target, source = 80 - target, np.where(is_drop, source, 80 - source)
    squares = np.where(is_drop, target, source)
    steps = _STEPS[8 + target // 9 - squares // 9, 8 + target % 9 - squares % 9] + 66 * promotes
    planes = np.where(is_drop, 132 + _DROPS[np.where(is_drop, source - 81, 0)], steps)
    return (9 * (8 - squares % 9) + 8 - squares // 9) * 139 + planes


def legal_actions(board: Any) -> tuple[np.ndarray, np.ndarray]:
    """cshogi's legal moves, and the same as our actions."""
    moves = np.array(list(board.legal_moves), int)
    return moves, actions_of(board, moves)


def position(board: Any) -> str:
    """What repetition compares: the SFEN without the move number."""
    return board.sfen().rsplit(" ", 1)[0]


def planes(history: list[tuple[list[int], Any, int]], player: int, ply: int, cap: int) -> np.ndarray:
    """All 362 planes, from cshogi's (pieces, hands, occurrences) of the positions up to now, the newest last."""
    result = np.zeros((9, 9, 362), np.float32)
    for time, (pieces, hands, times) in enumerate(reversed(history[-8:])):
        for number, code in enumerate(pieces):
            if code == 0:
                continue
            file, rank = divmod(number, 9)
            owner, kind = divmod(code, 16)
            row, column = (8 - rank, 8 - file) if player == 0 else (rank, file)
            result[row, column, 45 * time + 14 * (owner != player) + TYPES.index(kind)] = 1
        for least in (2, 3, 4):
            result[..., 45 * time + 28 + least - 2] = times >= least
        for owner in (0, 1):
            for kind in range(7):
                plane = 45 * time + 31 + 7 * (owner != player) + kind
                result[..., plane] = np.float32(hands[owner][kind]) / np.float32(COUNTS[kind])
    result[..., 360] = player == 0
    result[..., 361] = np.float32(ply) / np.float32(cap)
    return result
