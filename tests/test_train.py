"""The iteration: compiled once, the same on one, two and four devices, and it learns."""

import functools
from types import SimpleNamespace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding, PartitionSpec
from tiny import tiny_config

from azjax import learner, selfplay, train
from azjax.config import Config
from azjax.devices.mesh import make_mesh
from azjax.network import make_network
from azjax.replay import Sample
from azjax.train import RunState, Trainer, make_trainer


class Trained(NamedTuple):
    config: Config
    trainer: Trainer
    state: RunState
    rows: list
    traces: int


@functools.cache
def trained(devices, iterations=6):
    """The tiny run after some iterations, and how often its iteration was traced."""
    config = tiny_config({"devices": devices})
    traces = []

    def count_unique(games):
        traces.append(games)
        return selfplay.count_unique(games)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "selfplay", SimpleNamespace(**vars(selfplay) | {"count_unique": count_unique}))
        trainer = make_trainer(config, make_mesh(config))
        state, rows = trainer.init(), []
        for _ in range(iterations):
            state, metrics = trainer.iterate(state)
            rows.append(jax.device_get(metrics))
    return Trained(config, trainer, state, rows, len(traces))


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_one_iteration_is_traced_once(devices):
    assert trained(devices).traces == 1


def test_its_argument_is_donated():
    config = tiny_config({"devices": 1})
    trainer = make_trainer(config, make_mesh(config))
    before = trainer.init()
    after, _ = trainer.iterate(before)
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(before.replay))
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(after))


def test_learning_waits_for_the_minimum_fill_and_counts_what_it_does():
    config, _, state, rows, _ = trained(1)
    waiting = [row for row in rows if row["eligible"] < config.replay.min_fill]
    learning = [row for row in rows if row["eligible"] >= config.replay.min_fill]
    assert waiting and learning
    assert not any(row["learning"] for row in waiting) and all(row["learning"] for row in learning)
    assert int(state.updates) == len(learning) * config.learner.updates
    assert int(state.games) == sum(int(row["games_ended"]) for row in rows)
    assert int(state.iteration) == len(rows)
    for row in learning:
        assert np.isfinite([row[name] for name in ("loss", "policy_loss", "value_loss", "gradient_norm")]).all()


@pytest.mark.parametrize("devices", [2, 4])
def test_every_devices_lanes_play_and_learn(devices):
    _, _, state, rows, _ = trained(devices)
    assert len(state.lanes.plies.sharding.device_set) == devices
    assert len(state.replay.outcome.addressable_shards) == devices
    histories = [np.asarray(shard.data) for shard in state.replay.moves.policy_target.addressable_shards]
    for number, history in enumerate(histories):
        assert history.any()
        assert not any(np.array_equal(history, other) for other in histories[:number])  # no two play the same games
    assert int(state.replay.written) == 6 * 6
    assert rows[-1]["learning"]
    copies = [np.asarray(shard.data) for shard in jax.tree.leaves(state.learner.newest)[0].addressable_shards]
    assert len(copies) == devices
    assert all(np.array_equal(copies[0], copy) for copy in copies)


def test_the_same_batch_gives_the_same_update_on_any_number_of_devices():
    """Batch normalisation included: its statistics are those of the whole batch. By SGD, since Adam's first steps make
    signs of gradients that are nearly zero."""
    sgd = {"optimizer": "sgd", "optimizer_options": {"momentum": 0.9}, "learning_rate": 0.1}
    config = tiny_config({"learner": sgd})
    network = make_network(config.game, config.network)
    optimizer = learner.make_optimizer(config.learner, total_updates=10)
    states = jax.vmap(lambda action: config.game.step(config.game.init(), action)[0])(jnp.arange(8, dtype=jnp.int32))
    policy = jax.nn.softmax(jax.random.normal(jax.random.key(0), (8, 9))) * jax.vmap(config.game.legal_action_mask)(
        states
    )
    drawn = Sample(states, policy, jnp.zeros(8), jnp.linspace(-1, 1, 8))
    batch = learner.make_batch(config.game, config.learner, drawn, jax.random.key(1))
    start = learner.init_learner(network, optimizer, jax.random.key(2))

    def update(devices):
        mesh = make_mesh(tiny_config({"devices": devices}))
        split = jax.device_put(batch, NamedSharding(mesh, PartitionSpec("data")))
        whole = jax.device_put(start, NamedSharding(mesh, PartitionSpec()))

        @jax.jit
        def steps(state, batch):
            for _ in range(3):
                state, metrics = learner.train_step(network, optimizer, config.learner, state, batch)
            return state.newest, metrics["loss"]

        return jax.device_get(steps(whole, split))

    one = update(1)
    for devices in (2, 4):
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(update(devices)), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


def test_memory_stays_as_it_is():
    """TR-17: shapes do not change, so a run's state takes the same bytes after any iteration."""
    config, trainer, state, _, _ = trained(1)
    shapes = jax.eval_shape(trainer.init)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), state) == jax.tree.map(lambda x: (x.shape, x.dtype), shapes)
    assert config.replay_rows * config.selfplay.lanes == 96


@pytest.mark.slow
def test_several_runs_at_once_by_vmap():
    """`init` and `iterate` under `vmap` are the runs of these keys: the same games, and parameters but for rounding."""
    config = tiny_config({"devices": 1})
    trainer = make_trainer(config, make_mesh(config))
    keys = jax.random.split(jax.random.key(5), 3)
    many, alone = jax.vmap(trainer.init)(keys), [trainer.init(key) for key in keys]
    iterate = jax.jit(jax.vmap(trainer.iterate))
    for _ in range(3):
        many, metrics = iterate(many)
        alone, rows = zip(*(trainer.iterate(one) for one in alone), strict=True)
        np.testing.assert_array_equal(metrics["games"], [row["games"] for row in rows])
    for row, one in enumerate(alone):
        jax.tree.map(lambda x, y, row=row: np.testing.assert_array_equal(x[row], y), many.lanes.state, one.lanes.state)
        jax.tree.map(
            lambda x, y, row=row: np.testing.assert_allclose(x[row], y, atol=1e-5),
            many.learner.newest,
            one.learner.newest,
        )
    assert len(set(np.asarray(metrics["loss"]).tolist())) == 3, "they are different runs"
