"""How games begin: at the usual start or at positions read from text, and after random moves, so that games differ when
the players do not."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from envs.core import Game

USUAL = "startpos"


class Opening(NamedTuple):
    """Where a random opening led, and how."""

    state: Any  # one state, never finished
    start: Int[Array, ""]  # int32, the number of the start position; 0 where there is but the usual one
    actions: Int[Array, " max_plies"]  # int32, the moves made, padded with num_actions
    length: Int[Array, ""]  # int32, how many were made
    score: Float[Array, ""]  # what the moves won, for the first player; 0 where a game pays at its end only


def read_files(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines with every @FILE replaced by the file's lines, but for empty ones and those that begin with #.

    Raises ValueError for a file that cannot be read.
    """
    found: list[str] = []
    for line in lines:
        if not line.startswith("@"):
            found.append(line)
            continue
        try:
            written = Path(line[1:]).read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"start positions: cannot read {line[1:]}: {error}") from error
        found += [one.strip() for one in written if one.strip() and not one.startswith("#")]
    return tuple(found)


def read_starts(game: Game, lines: Sequence[str]) -> Any:
    """The states that these lines describe, stacked [start, ...] as NumPy arrays; None for no lines.

    A line is a position in the game's notation (FEN for chess) or "startpos", and may go on with "moves" and the moves
    from there: "startpos moves e2e4 e7e5"; @FILE stands for the lines of a file. Raises ValueError, naming the line,
    for one that is none, or where the game is over, and for a file that cannot be read.
    """
    return _read_starts(game, read_files(lines))


@functools.lru_cache(maxsize=8)
def _read_starts(game: Game, lines: tuple[str, ...]) -> Any:
    step = jax.jit(game.step)
    states = []
    for number, line in enumerate(lines, 1):
        try:
            position, _, moves = line.strip().partition(" moves ")
            state = game.init() if position == USUAL else game.from_text(position)
            for move in moves.split():
                state, _ = step(state, jnp.int32(game.action_from_text(state, move)))
            if state.terminated:
                raise ValueError(f"the game is over in {line!r}")
        except ValueError as error:
            raise ValueError(f"start position {number}: {error}") from error
        states.append(jax.tree.map(np.asarray, state))
    return jax.tree.map(lambda *leaves: np.stack(leaves), *states) if states else None


def draw_start(game: Game, starts: Any, key: Array) -> tuple[Any, Int[Array, ""]]:
    """One of the start positions, uniformly drawn, and which; the usual one, and 0, where `starts` is None.

    Consumes the key.
    """
    if starts is None:
        return jax.tree.map(jnp.asarray, game.init()), jnp.int32(0)
    which = jax.random.randint(key, (), 0, len(starts.terminated), jnp.int32)
    return jax.tree.map(lambda x: jnp.asarray(x)[which], starts), which


def random_action(key: Array, mask: Bool[Array, " actions"]) -> Int[Array, ""]:
    """A uniformly drawn True entry of `mask`, int32, by one random number; 0 if there is none. Consumes the key."""
    rank = jax.random.randint(key, (), 0, mask.sum(dtype=jnp.int32))
    return jnp.argmax(jnp.cumsum(mask, dtype=jnp.int32) > rank).astype(jnp.int32)


def random_opening(
    game: Game, key: Array, plies: Int[Array, ""] | int, *, max_plies: int, starts: Any = None
) -> Opening:
    """The state after `plies` uniformly random legal moves from the start, at most `max_plies`.

    The start is one of `starts` (`read_starts`), uniformly drawn, or the usual one.

    The opening stops before the first drawn move that would end the game, so it may be shorter and never ends one.
    For one game: `vmap` over keys (and plies). Consumes the key; the moves do not depend on `max_plies`.
    """

    def body(ply, carry):
        opening, open_ = carry
        action = random_action(jax.random.fold_in(key, ply), game.legal_action_mask(opening.state))
        after, transition = game.step(opening.state, action)
        plays = open_ & (ply < plies) & ~transition.terminated
        sign = jnp.where(opening.state.player == 0, 1.0, -1.0)
        opening = Opening(
            state=jax.tree.map(lambda new, old: jnp.where(plays, new, old), after, opening.state),
            start=opening.start,
            actions=opening.actions.at[ply].set(jnp.where(plays, action, game.num_actions)),
            length=opening.length + plays,
            score=opening.score + jnp.where(plays, sign * transition.reward, 0.0),
        )
        return opening, plays

    state, which = draw_start(game, starts, jax.random.fold_in(key, 2**31))
    start = Opening(
        state=state,
        start=which,
        actions=jnp.full(max_plies, game.num_actions, jnp.int32),
        length=jnp.int32(0),
        score=jnp.float32(0.0),
    )
    if max_plies == 0:
        return start
    opening, _ = jax.lax.fori_loop(0, max_plies, body, (start, jnp.bool_(True)))
    return opening
