"""Checkpoints: what comes back is what was saved, on any number of devices, and what is damaged is noticed."""

import shutil
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiny import assert_equal_trees, tiny_config

from azjax.devices.mesh import make_mesh
from azjax.runs.checkpoint import CheckpointError, Checkpoints, CheckpointWarning, abstract
from azjax.train import make_trainer


def state_of(number):
    return {"weights": jnp.arange(4000.0) + number, "key": jax.random.key(number), "step": jnp.int32(number)}


LIKE = abstract(lambda: state_of(0))


@pytest.fixture
def directory(tmp_path):
    """Checkpoints of steps 1, 2 and 3."""
    store = Checkpoints(tmp_path / "checkpoints", keep=3)
    for step in (1, 2, 3):
        store.save(step, state_of(step), {"minutes": float(step)})
    store.close()
    return tmp_path / "checkpoints"


def newest(directory):
    store = Checkpoints(directory, keep=3)
    try:
        return store.restore_newest(LIKE)
    finally:
        store.close()


def test_what_was_saved_comes_back(directory):
    step, state, about = newest(directory)
    assert step == 3 and about == {"minutes": 3.0}
    assert_equal_trees(state, state_of(3))
    np.testing.assert_array_equal(jax.random.normal(state["key"], (3,)), jax.random.normal(jax.random.key(3), (3,)))


def test_only_the_newest_are_kept(tmp_path):
    store = Checkpoints(tmp_path, keep=2)
    for step in range(5):
        store.save(step, state_of(step))
    store.wait()
    assert store.steps() == [3, 4]
    store.close()


def test_a_step_holds_what_its_arrays_were_then(tmp_path):
    """TR-29: arrays donated right after an asynchronous save do not change what is written."""
    store = Checkpoints(tmp_path, keep=None)
    advance = jax.jit(lambda x: x + 1, donate_argnums=0)
    state = jnp.zeros(1_000_000)
    for step in range(4):
        store.save(step, {"x": state})
        for _ in range(5):
            state = advance(state)
    store.wait()
    for step in range(4):
        found, _ = store.restore(step, abstract(lambda: {"x": jnp.zeros(1_000_000)}))
        np.testing.assert_array_equal(found["x"], 5.0 * step)
    store.close()


def biggest_file(directory):
    return max((file for file in directory.rglob("*") if file.is_file()), key=lambda file: file.stat().st_size)


def empty(step):
    shutil.rmtree(step)
    step.mkdir()


def truncate(step):
    file = biggest_file(step)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip_bits(step):
    file = biggest_file(step)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0xFF
    file.write_bytes(bytes(content))


def lose_array_data(step):
    biggest_file(step).unlink()


def lose_state(step):
    shutil.rmtree(step / "state")


def lose_about(step):
    shutil.rmtree(step / "about")


@pytest.mark.parametrize("damage", [empty, truncate, flip_bits, lose_array_data, lose_state, lose_about])
def test_a_damaged_newest_checkpoint_is_named_and_the_one_before_used(directory, damage):
    damage(directory / "3")
    with pytest.warns(CheckpointWarning, match=r"checkpoints.3 cannot be used"):
        step, state, _ = newest(directory)
    assert step == 2
    assert_equal_trees(state, state_of(2))


def test_leftover_temporary_directories_are_no_checkpoints(directory):
    shutil.copytree(directory / "3", directory / "4.orbax-checkpoint-tmp")
    shutil.rmtree(directory / "4.orbax-checkpoint-tmp" / "state")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step, _, _ = newest(directory)
    assert step == 3


def test_if_all_are_damaged_it_says_so(directory):
    for step in (1, 2, 3):
        truncate(directory / str(step))
    with pytest.warns(CheckpointWarning), pytest.raises(CheckpointError, match="no usable checkpoint"):
        newest(directory)


def test_another_shape_is_refused(directory):
    store = Checkpoints(directory, read_only=True)
    other = abstract(lambda: state_of(0) | {"weights": jnp.zeros(7)})
    with pytest.raises(CheckpointError, match="cannot be used"):
        store.restore(3, other)
    store.close()


def test_a_run_saved_on_four_devices_goes_on_on_one(tmp_path):
    """TR-26, and the whole structure comes back: optimiser, batch statistics, replay, keys and counters."""
    config = tiny_config({"devices": 4})
    four = make_trainer(config, make_mesh(config))
    state, _ = four.iterate(four.init())
    store = Checkpoints(tmp_path, keep=1)
    store.save(1, state)
    store.wait()
    config = tiny_config({"devices": 1})
    one = make_trainer(config, make_mesh(config))
    restored, _ = store.restore(1, abstract(one.init, one.shardings))
    store.close()
    assert_equal_trees(restored, state)
    assert all(len(leaf.sharding.device_set) == 1 for leaf in jax.tree.leaves(restored))
    going_on, metrics = one.iterate(restored)
    assert int(going_on.iteration) == 2 and int(metrics["games"]) > 0
