"""Two players -> game records: colours balanced, every opening played from both sides. Matches of batched players are
played on the device, as one program; where a player thinks about one position at a time, on the host."""

from __future__ import annotations

import functools
import math
import operator
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from azjax.openings import random_opening
from azjax.players import Act, Player, Thinker
from envs.core import Game


class DuplicateGamesWarning(UserWarning):
    """More than half of a match's games repeat others, so its error bar is too small."""


class GameRecord(NamedTuple):
    """One game. `_asdict()` of it is one JSON line."""

    first: str  # who moved first
    second: str
    result: int  # for the player who moved first: +1 won, 0 drawn, -1 lost
    truncated: bool  # ended by the move cap
    opening_plies: int  # how many of the actions were the random opening's
    actions: list[int]  # the whole game, from its start
    start: int = 0  # the number of its start position; 0 where there is but the usual one


class Tally(NamedTuple):
    """Results of some games, as one player sees them."""

    wins: int
    draws: int
    losses: int


class MatchResult(NamedTuple):
    """A match, all of it as player A sees it, the first of `names`."""

    names: tuple[str, str]  # A, B
    games: int
    wins: int
    draws: int
    losses: int
    as_first: Tally  # the games in which A moved first
    as_second: Tally
    unique_games: int  # distinct games, by who moved first and the actions
    truncated: int  # games that the move cap ended
    records: list[GameRecord]  # pairs that share an opening are neighbours; A moves first in games 0, 2, 4 ...

    def score(self) -> float:
        """A's share of the points, a draw being half a point, in [0, 1]."""
        return (self.wins + self.draws / 2) / self.games

    def score_error(self) -> float:
        """Standard error of `score`, from the spread of the pairs of games that share an opening.

        As in Agresti and Coull's interval, one pair won and one pair lost are added, so that a clean sweep of few
        games is not taken for certainty. Multiply by 1.96 for a 95 % interval.
        """
        results = np.array([record.result for record in self.records], float)
        pairs = (results[0::2] - results[1::2]) / 4 + 0.5
        return float(np.std(np.append(pairs, (0.0, 1.0))) / math.sqrt(len(pairs) + 2))

    def interval(self) -> tuple[float, float]:
        """The 95 % interval of `score`, by `score_error`."""
        margin = 1.959963984540054 * self.score_error()
        return max(0.0, self.score() - margin), min(1.0, self.score() + margin)

    def repeats(self) -> bool:
        """Whether fewer than half of the games are distinct."""
        return 2 * self.unique_games < self.games


_Seat = tuple[Act, Callable[[Any, Any], Any] | None]
"""A player without name and params: its `act` and `init_memory`, both static under `jit`."""


class _Games(NamedTuple):
    """All games of a match; game 2p and game 2p + 1 share opening p, and A moves first in the even ones."""

    states: Any
    actions: Int[Array, "games max_moves"]  # padded with -1
    lengths: Int[Array, " games"]
    score: Float[Array, " games"]  # what A has won so far
    truncated: Bool[Array, " games"]


def play_match(
    game: Game,
    a: Player | Thinker,
    b: Player | Thinker,
    *,
    games: int,
    key: Array,
    opening_plies: int = 2,
    starts: Any = None,
) -> MatchResult:
    """The result of `games` games between A and B, as A sees it. Consumes the key.

    Games come in pairs: both start from the same position, one of `starts` (`read_starts`) or the usual one, with the
    same `opening_plies` random moves, and either player moves first in one. Nothing is compiled for a second match of
    the same game, sizes and `act` functions: checkpoints only differ in their params. An illegal move loses its game.
    Issues DuplicateGamesWarning if fewer than half of the games are distinct. Raises ValueError unless `games` is even,
    which gives both players the same colours, and positive, and TypeError for what is no player.
    """
    for player in (a, b):
        if not isinstance(player, (Player, Thinker)):
            raise TypeError(f"got {player!r} for a player; a match takes a Player or a Thinker of azjax")
    if games < 2 or games % 2:
        raise ValueError(f"got {games} games; a match needs a positive even number, so that colours are balanced")
    if not 0 <= opening_plies < game.max_moves:
        raise ValueError(f"got {opening_plies} opening plies; {game.name} takes 0 to {game.max_moves - 1}")
    if isinstance(a, Thinker) or isinstance(b, Thinker):
        played, plies, start = _play_on_host(game, a, b, games, opening_plies, key, starts)
    else:
        seats = tuple((player.act, player.init_memory) for player in (a, b))
        played, plies, start = jax.device_get(
            _play(game, *seats, games, opening_plies, a.params, b.params, key, starts)
        )
    if not played.states.terminated.all():
        unfinished = int((~played.states.terminated).sum())
        raise RuntimeError(f"{unfinished} games of {game.name} were not over after max_moves = {game.max_moves} moves")
    result = _summary(a.name, b.name, played, plies, start)
    if result.repeats():
        warnings.warn(
            f"{a.name} against {b.name}: only {result.unique_games} of {games} games are distinct; "
            f"more opening plies than {opening_plies}, or fewer games, make the error bars honest",
            DuplicateGamesWarning,
            stacklevel=2,
        )
    return result


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3, 4))
def _play(
    game: Game,
    a: _Seat,
    b: _Seat,
    games: int,
    opening_plies: int,
    params_a: Any,
    params_b: Any,
    key: Array,
    starts: Any,
):
    """The finished games, and the lengths and starts of their openings.

    At every turn one of the players moves in at most half of the games that wait for it: the one that more games wait
    for, in those games that have come least far. Under alternate turns no place of the half is idle until the first
    games end, and later on every game still makes two moves in two turns; extra turns need no special case.
    """
    half = games // 2
    opening_key, key = jax.random.split(key)
    carry, plies, which_start = _open(game, games, opening_plies, opening_key, starts)
    a_seat = jnp.arange(games) % 2
    init_memory, act = _either(a, b, params_a, params_b)

    def unfinished(carry: _Games) -> Array:
        return ~carry.states.terminated & (carry.lengths < game.max_moves)

    def body(loop):
        turn, carry, memory = loop
        a_to_move = carry.states.player == a_seat
        waits = unfinished(carry)
        a_moves = 2 * (waits & a_to_move).sum() >= waits.sum()
        waits = waits & (a_to_move == a_moves)
        chosen = jnp.argsort(jnp.where(waits, carry.lengths, game.max_moves))[:half]
        states = jax.tree.map(lambda x: x[chosen], carry.states)
        plays = waits[chosen]
        actions, memory = act(a_moves, jax.random.fold_in(key, turn), states, memory, chosen, plays)
        after, transition = jax.vmap(functools.partial(_step_if, game))(plays, states, actions)
        reward = jnp.where(plays, transition.reward, 0.0)
        carry = _Games(
            states=jax.tree.map(lambda x, new: x.at[chosen].set(new), carry.states, after),
            actions=carry.actions.at[jnp.where(plays, chosen, games), carry.lengths[chosen]].set(actions, mode="drop"),
            lengths=carry.lengths.at[chosen].add(plays),
            score=carry.score.at[chosen].add(jnp.where(a_moves, reward, -reward)),
            truncated=carry.truncated.at[chosen].max(plays & transition.truncated),
        )
        return turn + 1, carry, memory

    loop = (jnp.int32(0), carry, init_memory(carry.states))
    _, carry, _ = jax.lax.while_loop(lambda loop: unfinished(loop[1]).any(), body, loop)
    return carry, plies, which_start


def _open(game: Game, games: int, opening_plies: int, key: Array, starts: Any) -> tuple[_Games, Array, Array]:
    """All games after their openings, and the openings' lengths and starts."""

    def opening_of(game_index):
        pair_key = jax.random.fold_in(key, game_index // 2)
        return random_opening(game, pair_key, opening_plies, max_plies=opening_plies, starts=starts)

    openings = jax.vmap(opening_of)(jnp.arange(games))
    moves = jnp.full((games, game.max_moves), -1, jnp.int32)
    opened = _Games(
        states=openings.state,
        actions=moves.at[:, :opening_plies].set(
            jnp.where(openings.actions == game.num_actions, -1, openings.actions),
        ),
        lengths=openings.length,
        score=jnp.where(jnp.arange(games) % 2 == 0, openings.score, -openings.score),
        truncated=jnp.zeros(games, bool),
    )
    return opened, openings.length, openings.start


def _step_if(game: Game, plays: Array, state: Any, action: Array):
    after, transition = game.step(state, action)
    return jax.tree.map(lambda new, old: jnp.where(plays, new, old), after, state), transition


def _either(a: _Seat, b: _Seat, params_a: Any, params_b: Any):
    """(init_memory, act) of both players: `init_memory(states)` is the memory of all games, and `act(a_moves, key,
    states, memory, chosen, plays)` brings the actions of A or of B in the chosen games, and the memory, changed where
    they are played. One and the same function is compiled only once."""

    def shapes(params):
        return jax.tree.map(lambda x: (jnp.shape(x), jnp.result_type(x)), params)

    def move(seat, params, key, states, memory, chosen, plays):
        act, seat_init_memory = seat
        if seat_init_memory is None:
            return act(params, key, states), memory
        actions, after = act(params, key, states, jax.tree.map(lambda x: x[chosen], memory))
        nowhere = jax.tree.leaves(memory)[0].shape[0]
        written = jnp.where(plays, chosen, nowhere)
        return actions, jax.tree.map(lambda old, new: old.at[written].set(new, mode="drop"), memory, after)

    def init_memory(states):
        seats = ((a[1], params_a), (b[1], params_b))
        return tuple(init(params, states) if init else () for init, params in seats)

    def act_of_one(a_moves, key, states, memory, chosen, plays):
        memory_a, memory_b = memory

        def move_a():
            actions, after = move(a, params_a, key, states, memory_a, chosen, plays)
            return actions, (after, memory_b)

        def move_b():
            actions, after = move(b, params_b, key, states, memory_b, chosen, plays)
            return actions, (memory_a, after)

        return jax.lax.cond(a_moves, move_a, move_b)

    def init_memory_of_both(states):
        return jax.tree.map(lambda *memories: jnp.concatenate(memories), *init_memory(states))

    def act_of_both(a_moves, key, states, memory, chosen, plays):
        params = jax.tree.map(lambda a, b: jnp.where(a_moves, a, b), params_a, params_b)
        games = 2 * chosen.shape[0]  # B's memory comes after that of A
        return move(a, params, key, states, memory, chosen + jnp.where(a_moves, 0, games), plays)

    one_function = a == b and shapes(params_a) == shapes(params_b)
    return (init_memory_of_both, act_of_both) if one_function else (init_memory, act_of_one)


def _play_on_host(
    game: Game, a: Player | Thinker, b: Player | Thinker, games: int, opening_plies: int, key: Array, starts: Any
) -> tuple[_Games, np.ndarray, np.ndarray]:
    """As `_play`, turn by turn: a batched player is asked about all of its games at once, a thinker about one after the
    other."""
    opening_key, key = jax.random.split(key)
    opened = jax.jit(_open, static_argnums=(0, 1, 2))(game, games, opening_plies, opening_key, starts)
    played, plies, which_start = jax.tree.map(np.array, opened)
    a_seat = np.arange(games) % 2
    choose = [_chooser(player, played.states) for player in (a, b)]
    step = jax.jit(jax.vmap(functools.partial(_step_if, game)))
    turn = 0
    while (going := ~played.states.terminated & (played.lengths < game.max_moves)).any():
        a_moves = turn % 2 == 0
        waits = going & ((played.states.player == a_seat) == a_moves)
        turn += 1
        if not waits.any():
            continue
        actions = choose[0 if a_moves else 1](jax.random.fold_in(key, turn), played.states, waits)
        states, transition = jax.tree.map(np.array, step(waits, played.states, actions))
        rows = np.flatnonzero(waits)
        played.actions[rows, played.lengths[rows]] = actions[rows]
        reward = np.where(waits, transition.reward, 0.0)
        played = played._replace(
            states=states,
            lengths=played.lengths + waits,
            score=played.score + (reward if a_moves else -reward),
            truncated=played.truncated | (waits & transition.truncated),
        )
    return played, plies, which_start


def _chooser(player: Player | Thinker, states: Any) -> Callable[[Array, Any, np.ndarray], np.ndarray]:
    """choose(key, states, waits): a player's actions in all games, of which only those that wait mean something."""
    if isinstance(player, Thinker):

        def think(key: Array, states: Any, waits: np.ndarray) -> np.ndarray:
            actions = np.zeros(len(waits), np.int32)
            for row in np.flatnonzero(waits):
                state = jax.tree.map(jnp.asarray, jax.tree.map(operator.itemgetter(row), states))
                actions[row] = player.think(state, jax.random.fold_in(key, row)).action
            return actions

        return think

    act, memory = jax.jit(player.act), None
    if player.init_memory is not None:
        memory = jax.jit(player.init_memory)(player.params, states)

    def act_in_all(key: Array, states: Any, waits: np.ndarray) -> np.ndarray:
        nonlocal memory
        if memory is None:
            return np.asarray(act(player.params, key, states))
        actions, after = act(player.params, key, states, memory)
        memory = jax.tree.map(lambda new, old: jnp.where(_align(waits, new), new, old), after, memory)
        return np.asarray(actions)

    return act_in_all


def _align(mask: np.ndarray, like: Array) -> np.ndarray:
    return mask.reshape(mask.shape + (1,) * (like.ndim - mask.ndim))


def _summary(name_a: str, name_b: str, played: _Games, opening_plies: np.ndarray, starts: np.ndarray) -> MatchResult:
    results = np.sign(played.score).astype(int)  # A's
    records = []
    for i, length in enumerate(played.lengths):
        names, result = ((name_a, name_b), results[i]) if i % 2 == 0 else ((name_b, name_a), -results[i])
        actions = played.actions[i, :length].tolist()
        truncated, plies = bool(played.truncated[i]), int(opening_plies[i])
        records.append(GameRecord(*names, int(result), truncated, plies, actions, int(starts[i])))

    def tally(results: np.ndarray) -> Tally:
        return Tally(*(int((results == result).sum()) for result in (1, 0, -1)))

    return MatchResult(
        names=(name_a, name_b),
        games=len(results),
        **tally(results)._asdict(),
        as_first=tally(results[0::2]),
        as_second=tally(results[1::2]),
        unique_games=len({(i % 2, record.start, *record.actions) for i, record in enumerate(records)}),
        truncated=int(played.truncated.sum()),
        records=records,
    )
