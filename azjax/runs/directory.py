"""A run's directory: its configuration, metrics, checkpoints and ratings.

config.json    every setting
metrics.jsonl  one line an iteration; tensorboard/ shows the same
checkpoints/   the newest states of the whole run, to go on from
networks/      networks of every k-th iteration, to rate and to play against
network.py     a network of one's own, as it was when the run began
ratings.*      the table, the curve, and matches.jsonl, the games they come from
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
from tensorboardX import SummaryWriter

from azjax import config as configs
from azjax.config import Config
from azjax.network import make_network, own
from azjax.openings import read_files
from azjax.players import TrainedNetwork
from azjax.runs.checkpoint import CheckpointError, Checkpoints, abstract

FREE_ON_RESUME = ("iterations", "minutes", "devices", "checkpoint", "rating")
"""The settings and groups that may change when a run is resumed: everything else would make it another run."""

OWN_NETWORK = "network.py"


class RunError(Exception):
    """A run directory cannot be used as asked."""


class RunDirectory:
    """One run on disk."""

    def __init__(self, path: Path, config: Config):
        self.path = path
        self.config = config

    @classmethod
    def create(cls, path: Path, config: Config) -> RunDirectory:
        """A new directory, or an existing one of the same configuration.

        Files of start positions are read, and a network of one's own is copied, so that the run stands alone. Raises
        RunError if the directory can't be written, holds something else, or a run of another configuration, ValueError
        for a file that cannot be read.
        """
        config = configs.replace(config, {"selfplay.starts": read_files(config.selfplay.starts)})
        source, kept = own.source_of(config.network.make), path / OWN_NETWORK
        if source is not None:
            config = configs.replace(config, {"network.make": own.in_file(config.network.make, kept)})
        if (path / "config.json").exists():
            run = cls.open(path)
            changed = [str(difference) for difference in configs.differences(run.config, config)]
            if source is not None and kept.is_file() and source.read_bytes() != kept.read_bytes():
                changed.append(f"network.make: {source} is not what it was when the run began, {kept}")
            if changed:
                raise RunError(
                    f"{path} holds a run with another configuration:\n  " + "\n  ".join(changed) + "\n"
                    f"Go on with it by --resume {path}, or choose another --run-dir."
                )
            return run
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise RunError(f"{path} exists and is not a run of azjax; choose another --run-dir")
        try:
            path.mkdir(parents=True, exist_ok=True)
            if source is not None:
                shutil.copyfile(source, kept)
            run = cls(path, config)
            run._write_config()
        except OSError as error:
            raise RunError(f"cannot write to {path}: {error.strerror or error}; choose another --run-dir") from error
        return run

    @classmethod
    def open(cls, path: Path) -> RunDirectory:
        """An existing run. Raises RunError if there is none, or its configuration can't be read."""
        file = path / "config.json"
        if not file.is_file():
            raise RunError(f"{path} is not a run of azjax: it has no config.json")
        try:
            fields = json.loads(file.read_text())
            config = configs.from_dict(fields)
            if config.network.make.startswith(f"{OWN_NETWORK}:"):
                make = own.in_file(config.network.make, path / OWN_NETWORK)
                config = configs.replace(config, {"network.make": make})
        except (ValueError, KeyError, TypeError) as error:
            raise RunError(f"{file} cannot be read: {error}") from error
        return cls(path, config)

    def change(self, config: Config) -> None:
        """Takes over what may change when a run goes on. Raises RunError for everything else."""
        changed = configs.differences(self.config, config)
        if fixed := [str(one) for one in changed if one.name.split(".")[0] not in FREE_ON_RESUME]:
            raise RunError(
                f"these settings of {self.path} cannot change when it goes on:\n  " + "\n  ".join(fixed) + "\n"
                f"What can: {', '.join(FREE_ON_RESUME)}."
            )
        self.config = config
        if changed:
            self._write_config()

    def _write_config(self) -> None:
        fields = configs.to_dict(self.config)
        if self.config.network.make.startswith(f"{self.path / OWN_NETWORK}:"):  # so that the directory may be moved
            fields["network"]["make"] = own.in_file(self.config.network.make, Path(OWN_NETWORK))
        temporary = self.path / "config.json.tmp"
        temporary.write_text(json.dumps(fields, indent=2) + "\n")
        os.replace(temporary, self.path / "config.json")

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Holds the directory for one training process. Raises RunError if another has it."""
        try:
            file = os.open(self.path / ".lock", os.O_WRONLY | os.O_CREAT)
        except OSError as error:
            raise RunError(f"cannot write to {self.path}: {error.strerror or error}") from error
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise RunError(f"another process is training in {self.path}") from error
            yield
        finally:
            os.close(file)

    def checkpoints(self) -> Checkpoints:
        """States of the whole run."""
        return Checkpoints(self.path / "checkpoints", keep=self.config.checkpoint.keep)

    def networks(self, *, read_only: bool = True) -> Checkpoints:
        """Networks for rating and play."""
        return Checkpoints(self.path / "networks", read_only=read_only)

    def network_iterations(self) -> list[int]:
        """The iterations whose networks were kept, in increasing order."""
        if not (self.path / "networks").is_dir():
            return []
        networks = self.networks()
        steps = networks.steps()
        networks.close()
        return steps

    def load_network(self, iteration: int | None = None) -> TrainedNetwork:
        """The network of an iteration, or the newest usable one. Raises RunError if there is none, or it's foreign."""
        steps = self.network_iterations()
        if not steps:
            raise RunError(f"{self.path} has no network yet; train it first: azjax train --resume {self.path}")
        if iteration is not None and iteration not in steps:
            known = " ".join(map(str, steps))
            raise RunError(f"{self.path} has no network of iteration {iteration}; it has those of {known}")
        network = make_network(self.config.game, self.config.network)
        like = abstract(jax.eval_shape(network.init, jax.random.key(0)))
        store = self.networks()
        try:
            if iteration is None:
                iteration, variables, about = store.restore_newest(like)
            else:
                variables, about = store.restore(iteration, like)
        except CheckpointError as error:
            raise RunError(str(error)) from error
        finally:
            store.close()
        config = self.config
        counts = about["games"], about["minutes"]
        return TrainedNetwork(config.game, config.network, config.search, variables, iteration, *counts)

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl; a last line that was cut off is left out."""
        file = self.path / "metrics.jsonl"
        rows = []
        for line in file.read_text().splitlines() if file.exists() else []:
            with contextlib.suppress(ValueError):
                rows.append(json.loads(line))
        return rows


class MetricsLog:
    """Writes metrics.jsonl and TensorBoard's files, from an iteration on: later lines of an earlier try go."""

    def __init__(self, run: RunDirectory, *, iteration: int):
        file = run.path / "metrics.jsonl"
        kept = [row for row in run.metrics() if row["iteration"] <= iteration]
        temporary = file.with_suffix(".tmp")
        temporary.write_text("".join(json.dumps(row) + "\n" for row in kept))
        os.replace(temporary, file)
        self._file = file.open("a")
        self._board = SummaryWriter(str(run.path / "tensorboard"), purge_step=iteration + 1)

    def write(self, metrics: dict[str, float | int]) -> None:
        """One iteration's line. What has no value this time (NaN) is null in the file."""
        known = {name: None if math.isnan(value) else value for name, value in metrics.items()}
        self._file.write(json.dumps(known) + "\n")
        self._file.flush()
        for name, value in known.items():
            if value is not None and name != "iteration":
                self._board.add_scalar(name, value, int(metrics["iteration"]))

    def close(self) -> None:
        self._file.close()
        self._board.close()
