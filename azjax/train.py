"""AlphaZero on one page: self-play, store, learn, in lockstep, as one function of the whole run's state."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Int, Shaped

from azjax import learner, replay, selfplay
from azjax.config import Config
from azjax.learner import Learner
from azjax.network import Evaluator, make_network
from azjax.openings import read_starts
from azjax.replay import Replay
from azjax.search import make_selfplay_search
from azjax.selfplay import Games, Lanes

Metrics = dict[str, Shaped[Array, ""]]


class RunState(NamedTuple):
    """A whole run. Two runs with equal states go on equally."""

    learner: Learner
    lanes: Lanes
    replay: Replay
    key: jax.Array
    iteration: Int[Array, ""]
    updates: Int[Array, ""]
    games: Int[Array, ""]


class Trainer(NamedTuple):
    """The functions of one configuration on one mesh of devices."""

    init: Callable[..., RunState]
    """The state before the first iteration, on the devices: `init()` by the configuration's seed, `init(key)` by a key,
    which it consumes. Jitted."""
    iterate: Callable[[RunState], tuple[RunState, Metrics]]
    """One iteration: T moves in every lane, then K updates. Jitted; its argument is donated. Under `vmap` it is an
    iteration of several runs at once."""
    shardings: Any
    """How a RunState lies on the devices: lanes and replay are split, the rest is on every device."""


def make_trainer(config: Config, mesh: Mesh, *, network: Evaluator | None = None) -> Trainer:
    """The training loop's body. `mesh` has one axis, `data`, whose size divides the lanes and the batch.

    `network` stands in for the one that the configuration names.
    """
    game, starts = config.game, read_starts(config.game, config.selfplay.starts)
    network = make_network(game, config.network) if network is None else network
    search = make_selfplay_search(game, network.evaluate, config.search)
    total_updates = config.iterations * config.learner.updates
    optimizer = learner.make_optimizer(config.learner, total_updates=total_updates)
    schedule = learner.make_schedule(config.learner, total_updates=total_updates)
    batch_shape = (config.learner.updates, config.learner.batch_size // mesh.size)

    # How things lie on the devices.
    whole: Any = PartitionSpec()
    by_lane: Any = PartitionSpec("data")
    by_row: Any = PartitionSpec(None, "data")  # [rows or time, lanes]
    replay_spec = Replay(moves=by_row, outcome=by_row, written=whole, finished=by_lane)
    run_spec = RunState(whole, by_lane, replay_spec, key=whole, iteration=whole, updates=whole, games=whole)

    def init(key: jax.Array | None = None) -> RunState:
        start = jax.random.key(config.seed) if key is None else key
        network_key, lanes_key, run_key = jax.random.split(start, 3)
        lanes = selfplay.init_lanes(
            game,
            lanes_key,
            lanes=config.selfplay.lanes,
            opening_plies=config.selfplay.opening_plies,
            starts=starts,
        )
        store = replay.init_replay(selfplay.example_move(game), rows=config.replay_rows, lanes=config.selfplay.lanes)
        state = learner.init_learner(network, optimizer, network_key)
        return RunState(state, lanes, store, run_key, iteration=jnp.int32(0), updates=jnp.int32(0), games=jnp.int32(0))

    # Self-play and sampling know only their own device's lanes, so that no search waits for another device.

    @functools.partial(
        jax.shard_map,
        mesh=mesh,
        in_specs=(whole, by_lane, replay_spec, whole),
        out_specs=(by_lane, replay_spec, by_row, by_lane),
        check_vma=False,
    )
    def play_and_store(variables: Any, lanes: Lanes, store: Replay, key: jax.Array) -> tuple[Any, ...]:
        key = jax.random.fold_in(key, jax.lax.axis_index("data"))
        lanes, moves, games = selfplay.play(
            game,
            search,
            variables,
            lanes,
            key,
            moves=config.selfplay.moves,
            opening_plies=config.selfplay.opening_plies,
            starts=starts,
        )
        store = replay.add(store, moves, max_moves=game.max_moves)
        return lanes, store, games, jnp.sum(replay.eligible(store), axis=0)

    @functools.partial(jax.shard_map, mesh=mesh, in_specs=(replay_spec, whole), out_specs=by_row, check_vma=False)
    def draw_samples(store: Replay, key: jax.Array) -> Any:
        return replay.sample(store, jax.random.fold_in(key, jax.lax.axis_index("data")), batch_shape)

    def learn(state: Learner, samples: Any, key: jax.Array) -> tuple[Learner, Metrics]:
        def update(state: Learner, inputs: tuple[Any, jax.Array]) -> tuple[Learner, Metrics]:
            batch = learner.make_batch(game, config.learner, *inputs)
            return learner.train_step(network, optimizer, config.learner, state, batch)

        keys = jax.random.split(key, config.learner.updates)
        state, metrics = jax.lax.scan(update, state, (samples, keys))
        metrics = jax.tree.map(jnp.mean, metrics)
        explained = 1 - metrics.pop("value_residual") / metrics.pop("value_variance")
        return state, metrics | {"explained_variance": explained}

    def iterate(run: RunState) -> tuple[RunState, Metrics]:
        key, play_key, sample_key, learn_key = jax.random.split(run.key, 4)
        lanes, store, games, eligible = play_and_store(run.learner.average, run.lanes, run.replay, play_key)
        by_device = jnp.sum(eligible.reshape(mesh.size, -1), axis=1)
        enough = (jnp.sum(by_device) >= config.replay.min_fill) & jnp.all(by_device > 0)
        samples = draw_samples(store, sample_key)
        learned = jax.eval_shape(learn, run.learner, samples, learn_key)[1]
        state, metrics = jax.lax.cond(
            enough,
            lambda: learn(run.learner, samples, learn_key),
            lambda: (run.learner, jax.tree.map(lambda x: jnp.full(x.shape, jnp.nan, x.dtype), learned)),
        )
        updates = run.updates + enough * config.learner.updates
        run = RunState(state, lanes, store, key, run.iteration + 1, updates, run.games + jnp.sum(games.ended))
        counters = {"eligible": jnp.sum(eligible), "learning": enough, "updates": updates, "games": run.games}
        return run, _game_metrics(games) | metrics | counters | {"learning_rate": schedule(updates)}

    shardings = jax.tree.map(
        lambda spec, part: jax.tree.map(lambda _: NamedSharding(mesh, spec), part), run_spec, jax.eval_shape(init)
    )
    everywhere = NamedSharding(mesh, whole)
    return Trainer(
        init=jax.jit(init, out_shardings=shardings),
        iterate=jax.jit(iterate, donate_argnums=0, out_shardings=(shardings, everywhere)),
        shardings=shardings,
    )


def _game_metrics(games: Games) -> Metrics:
    """Means over the games that ended in this iteration; NaN where none did."""
    count = jnp.sum(games.ended)

    def mean(x: Array) -> Array:
        return jnp.sum(jnp.where(games.ended, x, 0.0)) / count

    return {
        "games_ended": count,
        "unique_games": selfplay.count_unique(games) / count,
        "game_length": mean(games.plies.astype(jnp.float32)),
        "first_player_score": mean((games.score + 1) / 2),
        "draws": mean((games.score == 0).astype(jnp.float32)),
        "truncated": mean(games.truncated.astype(jnp.float32)),
        "search_entropy": jnp.mean(games.entropy),
    }
