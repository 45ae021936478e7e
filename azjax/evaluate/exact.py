"""Strength measured exactly: against solved positions, and against every possible opponent.

Solved positions are data of a game (`envs/solved/<game>.json`): the moves that lead there, and for every action a value
for the mover whose sign is the outcome under perfect play. Nothing here knows a game by name.
"""

from __future__ import annotations

import functools
import importlib.resources
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from azjax.players import Player
from envs.core import Game


class SolvedPositions(NamedTuple):
    """Positions with the value of every action, on the host."""

    moves: Int[np.ndarray, "positions moves"]  # from the start of the game, padded with -1
    values: Float[np.ndarray, "positions actions"]  # for the mover; sign = outcome; NaN where illegal
    states: Any  # the game's states, leading axis `positions`

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


def load_positions(game: Game) -> SolvedPositions | None:
    """The solved positions that come with `game`; None if there are none for it or for its settings.

    Raises ValueError if a position's values do not fit the legal actions that the rules find there.
    """
    file = importlib.resources.files("envs") / "solved" / f"{game.name}.json"
    if not file.is_file():
        return None
    solved = json.loads(file.read_text())
    if type(game)(**solved["settings"]) != game:
        return None
    lines = [position["moves"] for position in solved["positions"]]
    moves = np.full((len(lines), max(map(len, lines))), -1, np.int32)
    for row, line in zip(moves, lines, strict=True):
        row[: len(line)] = line
    values = np.array([position["values"] for position in solved["positions"]], np.float32)  # null becomes NaN
    states, masks = _replay(game, moves)
    if values.shape != masks.shape or (wrong := np.flatnonzero((np.isnan(values) == masks).any(axis=1))).size:
        where = f"moves {lines[wrong[0]]}" if values.shape == masks.shape else f"shape {values.shape}"
        raise ValueError(f"{file}: values do not fit the legal actions of {game}: {where}; solve the positions again")
    return SolvedPositions(moves, values, jax.tree.map(np.asarray, states))


def kept_result(game: Game, player: Player, positions: SolvedPositions, key: Array, *, batch: int = 256) -> Kept:
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


def knows_winner(values: Float[Array | np.ndarray, " positions"], positions: SolvedPositions) -> float:
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
    return _in_batches(lambda part: _act(player.act, player.params, next(keys), part), states, batch)


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
def _act(act, params, key, states):
    return act(params, key, states)


@functools.partial(jax.jit, static_argnums=0)
def _legal(game, states):
    return jax.vmap(game.legal_action_mask)(states)


@functools.partial(jax.jit, static_argnums=0)
def _step(game, states, actions):
    states, transition = jax.vmap(game.step)(states, actions)
    return states, transition.reward, transition.terminated


@functools.partial(jax.jit, static_argnums=0)
def _replay(game, moves):
    """The states that rows of moves, padded with -1, lead to, and what is legal there."""

    def play(state, action):
        after, _ = game.step(state, action)
        return jax.tree.map(lambda new, old: jnp.where(action >= 0, new, old), after, state), None

    def replay(line):
        state, _ = jax.lax.scan(play, game.init(), line)
        return state, game.legal_action_mask(state)

    return jax.vmap(replay)(moves)
