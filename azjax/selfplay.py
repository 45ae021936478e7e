"""Search -> trajectories [time, lane]: games side by side, in lockstep, that never wait for each other."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, UInt

from azjax.network import Variables
from azjax.openings import random_opening
from azjax.replay import Trajectory
from azjax.search import Reusing, Search, slots, with_memory
from envs.core import Game


class Lanes(NamedTuple):
    """The games being played, [lane] in every leaf. The state is never a finished one."""

    state: Any
    plies: Int[Array, " lanes"]  # moves played in this game by the search
    score: Float[Array, " lanes"]  # sum of the game's rewards so far, for the first player
    moves_hash: UInt[Array, " lanes"]  # of the state the game began with and the actions since


class Games(NamedTuple):
    """What is known of every move of self-play beside what is trained on, [time, lane]."""

    ended: Array  # bool: the game ended with this move; the rest is about that game
    truncated: Array  # bool: by the move cap
    plies: Array  # int32: its length, without the random opening
    score: Array  # float32: its result for the first player
    moves_hash: Array  # uint32
    entropy: Array  # float32: of the move's policy target, in nats


def init_lanes(game: Game, key: jax.Array, *, lanes: int, opening_plies: int, starts: Any = None) -> Lanes:
    """New games in all lanes, each from one of `starts` and after 0 to `opening_plies` random moves.

    Consumes the key.
    """
    return _open(game, *_draw_openings(key, lanes, opening_plies), opening_plies, starts)


def renew_lanes(
    game: Game, lanes: Lanes, ended: Bool[Array, " lanes"], key: jax.Array, *, opening_plies: int, starts: Any = None
) -> Lanes:
    """The lanes, but where `ended` those that `init_lanes` makes of this key. Consumes the key.

    An opening takes many steps, and few games end with one move. So lanes are opened a few at a time, until none is
    left that ended; `experiments/bench/bench_openings.py` says what that saves.
    """
    number = ended.shape[0]
    at_once = min(number, max(8, number // 16))
    keys, plies = _draw_openings(key, number, opening_plies)
    places = jnp.nonzero(ended, size=number + at_once, fill_value=number)[0]  # padded with a lane that isn't there
    count = jnp.sum(ended, dtype=jnp.int32)

    def renew_some(carry: tuple[Lanes, Array]) -> tuple[Lanes, Array]:
        lanes, done = carry
        some = jax.lax.dynamic_slice(places, (done,), (at_once,))
        new = _open(game, keys.at[some].get(mode="clip"), plies.at[some].get(mode="clip"), opening_plies, starts)
        return jax.tree.map(lambda old, new: old.at[some].set(new, mode="drop"), lanes, new), done + at_once

    return jax.lax.while_loop(lambda carry: carry[1] < count, renew_some, (lanes, jnp.int32(0)))[0]


def play(
    game: Game,
    search: Search | Reusing,
    variables: Variables,
    lanes: Lanes,
    key: jax.Array,
    *,
    moves: int,
    opening_plies: int,
    starts: Any = None,
) -> tuple[Lanes, Trajectory, Games]:
    """Plays `moves` moves in every lane; where a game ends, the next move begins a new one. Consumes the key.

    A search that reuses its trees starts with none: what the last ones were searched with has learnt since.
    """
    step = jax.vmap(game.step)
    init_memory, search_on = with_memory(search)

    def play_move(carry: tuple[Lanes, Any], key: jax.Array) -> tuple[tuple[Lanes, Any], tuple[Trajectory, Games]]:
        lanes, memory = carry
        search_key, opening_key = jax.random.split(key)
        found, memory = search_on(variables, search_key, lanes.state, lanes.plies, memory)
        state, transition = step(lanes.state, found.action)
        over = transition.terminated
        sign = jnp.where(lanes.state.player == 0, 1.0, -1.0)
        played = Lanes(
            state=state,
            plies=lanes.plies + 1,
            score=lanes.score + sign * transition.reward,
            moves_hash=_mix(lanes.moves_hash, found.action.astype(jnp.uint32)),
        )
        trajectory = Trajectory(
            state=lanes.state,
            policy_target=found.action_weights.astype(jnp.float16),
            search_value=found.value.astype(jnp.float16),
            reward=transition.reward,
            discount=transition.discount,
            is_full=found.is_full,
        )
        entropy = jnp.sum(jax.scipy.special.entr(found.action_weights), axis=-1)
        games = Games(over, transition.truncated, played.plies, played.score, played.moves_hash, entropy)
        lanes = renew_lanes(game, played, over, opening_key, opening_plies=opening_plies, starts=starts)
        return (lanes, memory), (trajectory, games)

    start = (lanes, init_memory(variables, lanes.state))
    (lanes, _), (trajectory, games) = jax.lax.scan(play_move, start, jax.random.split(key, moves))
    return lanes, trajectory, games


def count_unique(games: Games) -> Int[Array, ""]:
    """How many different games ended."""
    ended = games.ended.reshape(-1)
    hashes = jnp.where(ended, games.moves_hash.reshape(-1) >> 1, jnp.uint32(0xFFFFFFFF))
    ordered = jnp.sort(hashes)
    different = jnp.concatenate([jnp.ones(1, jnp.bool), ordered[1:] != ordered[:-1]])
    return jnp.sum(different & (ordered != jnp.uint32(0xFFFFFFFF)), dtype=jnp.int32)


def _draw_openings(key: jax.Array, lanes: int, opening_plies: int) -> tuple[Array, Array]:
    """Every lane's key of its random moves, and how many they are. Consumes the key."""
    plies_key, moves_key = jax.random.split(key)
    plies = jax.random.randint(plies_key, (lanes,), 0, opening_plies + 1)
    return jax.random.split(moves_key, lanes), plies


def _open(game: Game, keys: Array, plies: Array, opening_plies: int, starts: Any) -> Lanes:
    """A new game for each of these openings."""
    begin = functools.partial(random_opening, game, max_plies=opening_plies, starts=starts)
    opening = jax.vmap(begin)(keys, plies)
    return Lanes(opening.state, jnp.zeros(plies.shape, jnp.int32), opening.score, _hash_states(opening.state))


def _mix(seed: Array, value: Array) -> Array:
    """A 32-bit hash of a hash and one more number (the finaliser of MurmurHash3)."""
    mixed = (seed ^ (value * jnp.uint32(0x9E3779B9))) * jnp.uint32(0x85EBCA6B)
    mixed = (mixed ^ (mixed >> 13)) * jnp.uint32(0xC2B2AE35)
    return mixed ^ (mixed >> 16)


def _hash_states(states: Any) -> UInt[Array, " lanes"]:
    """One hash a lane of all leaves of its state."""
    leaves = jax.tree.leaves(states)
    lanes = leaves[0].shape[0]
    numbers = jnp.concatenate([leaf.reshape(lanes, -1).astype(jnp.int32) for leaf in leaves], axis=1).astype(jnp.uint32)
    places = jnp.arange(1, numbers.shape[1] + 1, dtype=jnp.uint32)[None]
    return jnp.sum(_mix(numbers, places), axis=1, dtype=jnp.uint32)


def example_move(game: Game) -> Trajectory:
    """The shapes and types of one lane's move, as zeros."""
    state = jax.tree.map(jnp.zeros_like, game.init())
    target = jnp.zeros(slots.num_slots(game), jnp.float16)
    return Trajectory(state, target, jnp.float16(0), jnp.float32(0), jnp.float32(0), jnp.bool(False))
