"""The whole run's state <-> disk, by orbax: written asynchronously, complete or absent."""

from __future__ import annotations

import contextlib
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from absl import logging


class CheckpointWarning(UserWarning):
    """A checkpoint is damaged, and an older one is used."""


class CheckpointError(Exception):
    """There is nothing that could be restored, or it belongs to something else."""


class Checkpoints:
    """The numbered checkpoints of one directory: `<directory>/<step>`.

    Beside the arrays every checkpoint holds their checksums, so that what was damaged later is noticed, not learned
    from.
    """

    def __init__(self, directory: Path, *, keep: int | None = None, read_only: bool = False):
        """`keep` is how many are kept, the newest; None keeps all. Read-only leaves a running training alone."""
        self.directory = directory.absolute()
        with _only_errors_logged():
            self._manager = ocp.CheckpointManager(
                self.directory,
                options=ocp.CheckpointManagerOptions(
                    max_to_keep=None if read_only else keep,
                    read_only=read_only,
                    create=not read_only,
                    cleanup_tmp_directories=not read_only,
                ),
                item_handlers={"state": ocp.StandardCheckpointHandler(), "about": ocp.JsonCheckpointHandler()},
            )

    def steps(self) -> list[int]:
        """The steps that have a checkpoint, in increasing order."""
        return sorted(self._manager.all_steps())

    def save(self, step: int, state: Any, about: dict[str, Any] | None = None) -> None:
        """Begins to write `state`, a tree of arrays, and `about`, anything JSON holds. The arrays may be donated at
        once: they are copied first."""
        plain = jax.tree.map(jnp.copy, _without_keys(state))
        jax.block_until_ready(plain)
        args = ocp.args.Composite(
            state=ocp.args.StandardSave(plain),  # pyright: ignore[reportCallIssue]
            about=ocp.args.JsonSave({"checksums": _checksums(plain), "about": about or {}}),  # pyright: ignore
        )
        self._manager.save(step, args=args, force=True)

    def wait(self) -> None:
        """Returns when everything that was saved is complete on disk. Raises what went wrong in writing it."""
        self._manager.wait_until_finished()

    def close(self) -> None:
        """Waits, and lets the directory go."""
        self._manager.close()

    def restore(self, step: int, like: Any) -> tuple[Any, dict[str, Any]]:
        """(state, about) of one step. `like` gives the tree's shapes, types and shardings (jax.ShapeDtypeStruct).

        Raises CheckpointError if it is damaged or is not of that shape.
        """
        plain_like = _without_keys(like)
        try:
            # First the metadata: what orbax says of a shape that does not fit, or of a truncated file, fills pages.
            _require_shapes(self._manager.item_metadata(step)["state"], plain_like)
            found = self._manager.restore(
                step,
                args=ocp.args.Composite(
                    state=ocp.args.StandardRestore(plain_like),  # pyright: ignore[reportCallIssue]
                    about=ocp.args.JsonRestore(),
                ),
            )
            about = found["about"]
            if _checksums(found["state"]) != about["checksums"]:
                raise ValueError("the arrays are not those that were saved")
        except Exception as error:  # whatever orbax and tensorstore make of a damaged file
            reason = str(error).strip().split("\n")[0][:200] or type(error).__name__
            raise CheckpointError(f"checkpoint {self.directory / str(step)} cannot be used: {reason}") from error
        return _with_keys(found["state"], like), about["about"]

    def restore_newest(self, like: Any) -> tuple[int, Any, dict[str, Any]]:
        """(step, state, about) of the newest complete checkpoint; a CheckpointWarning names each damaged one.

        Raises CheckpointError if none is left.
        """
        for step in reversed(self.steps()):
            try:
                state, about = self.restore(step, like)
            except CheckpointError as error:
                warnings.warn(f"{error}; using an older one", CheckpointWarning, stacklevel=2)
            else:
                return step, state, about
        raise CheckpointError(f"no usable checkpoint in {self.directory}")

    def delete_after(self, step: int) -> None:
        """Deletes every checkpoint of a later step."""
        for later in self.steps():
            if later > step:
                self._manager.delete(later)


def abstract(state: Any, shardings: Any = None) -> Any:
    """The shapes of a tree for `restore`, with the shardings that the arrays shall have."""
    shapes = jax.eval_shape(lambda: state) if not callable(state) else jax.eval_shape(state)
    if shardings is None:
        sharding = jax.sharding.SingleDeviceSharding(jax.local_devices()[0])
        return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding), shapes)
    return jax.tree.map(lambda x, s: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=s), shapes, shardings)


@contextlib.contextmanager
def _only_errors_logged() -> Iterator[None]:
    """Orbax warns that what was asked to be read-only is read-only; users of a notebook would see it every time."""
    before = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(before)


def _is_key(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


def _without_keys(tree: Any) -> Any:
    """The tree with typed random keys as plain numbers, which any version can read."""

    def plain(x: Any) -> Any:
        if not _is_key(x):
            return x
        if isinstance(x, jax.ShapeDtypeStruct):
            data = jax.eval_shape(jax.random.key_data, x)
            return jax.ShapeDtypeStruct(data.shape, data.dtype, sharding=x.sharding)
        return jax.random.key_data(x)

    return jax.tree.map(plain, tree)


def _with_keys(tree: Any, like: Any) -> Any:
    return jax.tree.map(lambda x, y: jax.random.wrap_key_data(x) if _is_key(y) else x, tree, like)


def _require_shapes(stored: Any, like: Any) -> None:
    """Raises ValueError for the first array of `like` that is not stored with its shape."""
    leaves, _ = jax.tree.flatten_with_path(getattr(stored, "tree", stored), is_leaf=lambda x: hasattr(x, "shape"))
    shapes = {leaf.name: tuple(leaf.shape) for _, leaf in leaves if hasattr(leaf, "name")}
    for path, leaf in jax.tree.flatten_with_path(like)[0]:
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        if shapes.get(name) != leaf.shape:
            found = f"of shape {shapes[name]}" if name in shapes else "not there"
            raise ValueError(f"it belongs to another configuration: {name} is {found}, expected shape {leaf.shape}")


def _checksums(tree: Any) -> dict[str, int]:
    """CRC-32 of every leaf's bytes, by its path."""
    leaves, _ = jax.tree.flatten_with_path(jax.device_get(tree))
    return {jax.tree_util.keystr(path): zlib.crc32(np.ascontiguousarray(leaf).tobytes()) for path, leaf in leaves}
