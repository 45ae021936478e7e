"""Strength measured exactly: against solved positions, and against every possible opponent.

Solved positions are what a game's `solved_positions()` returns: the moves that lead there, and for every action a value
for the mover whose sign is the outcome under perfect play. Nothing here knows a game by name.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from azjax.players import Player
from envs.core import Game


class SolvedStates(NamedTuple):
    """A game's solved positions as states with the value of every action, on the host."""

    states: Any  # leading axis `positions`
    values: Float[np.ndarray, "positions actions"]  # for the mover; sign = outcome; NaN where illegal

    @property
    def outcome(self) -> Float[np.ndarray, " positions"]:
        """The mover's outcome under perfect play: +1, 0 or -1."""
        return np.sign(np.nanmax(self.values, axis=1))

    @property
    def keeps(self) -> Bool[np.ndarray, "positions actions"]:
        """The legal actions that keep that outcome."""
        return np.sign(self.values) == self.outcome[:, None]

    @property
    def decisive(self) -> Bool[np.ndarray, " positions"]:
        """Whether some legal action does not keep it."""
        return np.any(~self.keeps & ~np.isnan(self.values), axis=1)


class Kept(NamedTuple):
    """How often a player's move kept the best outcome, over decisive positions."""

    positions: int
    kept: int
    random: float  # the share that a uniformly random mover keeps on average


class ExhaustiveResult(NamedTuple):
    """A player's games against every possible opponent, with either side."""

    games: int
    wins: int
    draws: int
    losses: int


def solved_states(game: Game) -> SolvedStates | None:
    """The states of `game.solved_positions()`; None if it has none.

    Raises ValueError if moves or values do not fit the rules.
    """
    solved = game.solved_positions()
    if solved is None:
        return None
    moves, values = np.asarray(solved.moves), np.asarray(solved.values, np.float64)
    source, lists = f"{game}.solved_positions()", moves.ndim == 2 and moves.dtype.kind in "iu"
    if not lists or values.shape != (len(moves), game.num_actions) or len(moves) == 0:
        raise ValueError(
            f"{source} gave moves {moves.dtype} {moves.shape} and values {values.shape}, expected integers [positions, "
            f"moves] and values [positions, {game.num_actions}] of at least one position; without any, return None"
        )
    states, masks, legal = jax.tree.map(np.asarray, _replay(game, moves.astype(np.int32)))
    if (wrong := np.argwhere(~legal)).size:
        row, ply = wrong[0]
        raise ValueError(
            f"{source}: move {moves[row, ply]} is not legal in position {row} after {moves[row, :ply].tolist()}; give "
            "the moves from the start of the game, to where it is not over, and -1 only after the last"
        )
    if (wrong := np.flatnonzero((np.isnan(values) == masks).any(axis=1) | ~masks.any(axis=1))).size:
        row = wrong[0]
        line, valued = moves[row][moves[row] >= 0].tolist(), np.flatnonzero(~np.isnan(values[row])).tolist()
        possible = np.flatnonzero(masks[row]).tolist() or "none, the game is over"
        raise ValueError(
            f"{source}: position {row} after {line} has values for the actions {valued}, legal are {possible}; give a "
            "number where legal and NaN elsewhere, and no position at which the game is over"
        )
    return SolvedStates(states, values)


def kept_result(game: Game, player: Player, positions: SolvedStates, key: Array, *, batch: int = 256) -> Kept:
    """How often `player` keeps the best outcome in the decisive ones of `positions`.

    The player is asked about `batch` positions at a time. Consumes the key.
    """
    if positions.values.shape[1] != game.num_actions:
        raise ValueError(f"positions have {positions.values.shape[1]} actions, {game} has {game.num_actions}")
    decisive = positions.decisive
    count = int(decisive.sum())
    if count == 0:
        return Kept(0, 0, float("nan"))
    keeps = positions.keeps[decisive]
    actions = _choose(player, key, _rows(positions.states, decisive), batch)
    legal = ~np.isnan(positions.values[decisive])
    random = float(np.mean(keeps.sum(axis=1) / legal.sum(axis=1)))
    return Kept(count, int(keeps[np.arange(count), actions].sum()), random)


def knows_winner(values: Float[Array | np.ndarray, " positions"], positions: SolvedStates) -> float:
    """The share of `positions` won for either side in which the predicted `values` (for the mover) name the winner."""
    decided = positions.outcome != 0
    return float(np.mean(np.sign(np.asarray(values))[decided] == positions.outcome[decided]))


def exhaustive(
    game: Game, player: Player, key: Array, *, batch: int = 256, max_positions: int = 100_000
) -> ExhaustiveResult:
    """Plays `player` against every line of moves that an opponent can choose, once with either side.

    Lines that meet in one position are played on as one and counted as many, so a player that draws its moves at random
    draws once a position. An illegal move of the player loses. Raises ValueError when more than `max_positions` are
    reached by the same number of moves. Consumes the key.
    """
    results = dict.fromkeys((1, 0, -1), 0)
    for side in (0, 1):
        states = jax.tree.map(lambda x: np.asarray(x)[None], game.init())
        won = np.zeros(1, np.float32)  # the player's rewards so far, minus the opponent's
        lines = np.ones(1, object)  # how many lines of play lead here: Python integers, which do not overflow
        depth = 0
        while len(lines):
            choices = _in_batches(functools.partial(_legal, game), states, batch)
            mine = states.player == side
            if mine.any():
                key, subkey = jax.random.split(key)
                actions = _choose(player, subkey, _rows(states, mine), batch)
                choices[mine] = np.arange(game.num_actions) == actions[:, None]
            parents, actions = np.nonzero(choices)
            depth += 1
            if len(parents) > max_positions:
                raise ValueError(
                    f"{game} is too large to play out: {len(parents)} positions after {depth} moves, expected at most "
                    f"{max_positions}; raise max_positions or measure by games against other players"
                )
            sign = np.where(mine, 1, -1)[parents]
            before = _rows(states, parents)
            states, reward, over = _in_batches(lambda part: _step(game, *part), (before, actions), batch)
            won, lines = won[parents] + sign * reward, lines[parents]
            for outcome in results:
                results[outcome] += int(lines[over & (np.sign(won) == outcome)].sum())
            states, won, lines = _merge(*_rows((states, won, lines), ~over))
    return ExhaustiveResult(sum(results.values()), wins=results[1], draws=results[0], losses=results[-1])


def _merge(states: Any, won: np.ndarray, lines: np.ndarray) -> tuple[Any, np.ndarray, np.ndarray]:
    """Equal states with equal rewards as one, their lines added up."""
    if len(lines) == 0:
        return states, won, lines
    columns = [np.ascontiguousarray(x.reshape(len(lines), -1)).view(np.uint8) for x in jax.tree.leaves((states, won))]
    _, first, group = np.unique(np.concatenate(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    total = np.zeros(len(first), object)
    np.add.at(total, group.reshape(-1), lines)
    return _rows(states, first), won[first], total


def _choose(player: Player, key: Array, states: Any, batch: int) -> np.ndarray:
    """The player's actions in all `states`."""
    count = len(jax.tree.leaves(states)[0])
    keys = iter(jax.random.split(key, -(-count // batch)))
    seat = player.act, player.init_memory
    return _in_batches(lambda part: _act(seat, player.params, next(keys), part), states, batch)


def _in_batches(function: Callable[[Any], Any], arrays: Any, batch: int) -> Any:
    """What `function` returns for `arrays`, asked for `batch` rows at a time: one shape, one compilation."""
    count = len(jax.tree.leaves(arrays)[0])
    parts = []
    for start in range(0, count, batch):
        rows = np.minimum(np.arange(start, start + batch), count - 1)  # the last row fills up the last batch
        part = function(_rows(arrays, rows))
        parts.append(jax.tree.map(np.asarray, part))
    return jax.tree.map(lambda *xs: np.concatenate(xs)[:count], *parts)


def _rows(arrays: Any, index: np.ndarray) -> Any:
    return jax.tree.map(lambda x: x[index], arrays)


@functools.partial(jax.jit, static_argnums=0)
def _act(seat, params, key, states):
    """What a player does in states that it has not seen before: one that remembers begins anew."""
    act, init_memory = seat
    if init_memory is None:
        return act(params, key, states)
    return act(params, key, states, init_memory(params, states))[0]


@functools.partial(jax.jit, static_argnums=0)
def _legal(game, states):
    return jax.vmap(game.legal_action_mask)(states)


@functools.partial(jax.jit, static_argnums=0)
def _step(game, states, actions):
    states, transition = jax.vmap(game.step)(states, actions)
    return states, transition.reward, transition.terminated


@functools.partial(jax.jit, static_argnums=0)
def _replay(game, moves):
    """The states that rows of moves, padded with -1, lead to, what is legal there, and whether each move was legal.
    Nothing is legal after the padding has begun."""

    def play(carry, action):
        state, ended = carry
        padding = action == -1
        after, _ = game.step(state, action)
        after = jax.tree.map(lambda new, old: jnp.where(padding, old, new), after, state)
        return (after, ended | padding), padding | (game.is_legal(state, action) & ~ended)

    def replay(line):
        (state, _), legal = jax.lax.scan(play, (game.init(), jnp.bool_(False)), line)
        return state, game.legal_action_mask(state), legal

    return jax.vmap(replay)(moves)
