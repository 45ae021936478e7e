"""The devices of a run."""

from __future__ import annotations

import jax

from azjax.config import Config


def make_mesh(config: Config) -> jax.sharding.Mesh:
    """The devices of a run, along one axis, `data`."""
    devices = jax.devices()[: config.devices or None]
    return jax.make_mesh((len(devices),), ("data",), axis_types=(jax.sharding.AxisType.Auto,), devices=devices)
