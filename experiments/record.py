"""What an experiment ran on, and with which settings: printed at its start, and kept in its run directory.

experiment.json  a list, an entry each time an experiment is called on the directory: its command line, date, version,
                 commit, software, hardware and configuration
experiment.txt   what it printed, one call after the other
"""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, TextIO

import jax

import azjax

PACKAGES = "jax", "jaxlib", "mctx", "flax", "optax", "pgx"  # the last is a rival, which may be missing


def begin(configuration: Mapping[str, Any], run_dir: Path | None = None) -> None:
    """Prints what the experiment runs on, and its settings.

    With a run directory, which must be there, the settings go to its experiment.json instead, beside those of earlier
    calls, and whatever is printed from here on to its experiment.txt, too.
    """
    entry = circumstances() | {"configuration": configuration}
    if run_dir is not None:
        append(run_dir / "experiment.json", entry)
        sys.stdout = Both(sys.stdout, (run_dir / "experiment.txt").open("a", buffering=1, encoding="utf-8"))
    print("\n".join(heading(entry)))
    if run_dir is None:
        print(f"settings: {json.dumps(configuration)}", flush=True)
    else:
        print(f"settings: the last entry of {run_dir / 'experiment.json'}", flush=True)


def circumstances() -> dict[str, Any]:
    """When and how the experiment was called, of which version, and on what."""
    devices = jax.devices()
    commit, changed = checkout()
    return {
        "command": shlex.join(["python", *sys.argv]),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "version": azjax.__version__,
        "commit": commit,
        "changed": changed,
        "software": software(),
        "hardware": {
            "device": devices[0].device_kind,
            "devices": len(devices),
            "processor": processor(),
            "cores": cores(),
        },
    }


def heading(entry: Mapping[str, Any]) -> list[str]:
    """The circumstances in two lines."""
    versions = ", ".join(f"{name} {version}" for name, version in entry["software"].items())
    commit = f"commit {entry['commit'][:12]}{' with changes' if entry['changed'] else ''}"
    hardware = entry["hardware"]
    return [
        f"azjax {entry['version']}, {commit}, {versions}",
        f"{hardware['devices']} x {hardware['device']}, processor {hardware['processor']}, cores {hardware['cores']}, "
        f"{entry['date']}: {entry['command']}",
    ]


def checkout() -> tuple[str, bool]:
    """The commit of the checkout that azjax is imported from, and whether files differ from it; "unknown" elsewhere."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(Path(azjax.__file__).parent), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # a package installed within a checkout is not of its commit
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain"))
    except (OSError, subprocess.CalledProcessError):
        return "unknown", False


def software() -> dict[str, str]:
    """The versions of Python and of the packages that are installed."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()  # on Linux Python knows the architecture only
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def append(file: Path, entry: Mapping[str, Any]) -> None:
    """Adds an entry to the list in the file. A file that holds no list is put aside, and a new one begun."""
    entries: Any = []
    if file.exists():
        try:
            entries = json.loads(file.read_text())
        except ValueError:
            entries = None
        if not isinstance(entries, list):
            aside = file.with_name(f"{file.stem}-damaged-{datetime.datetime.now():%Y%m%d-%H%M%S-%f}{file.suffix}")
            os.replace(file, aside)
            print(f"{file} holds no list of entries; it is {aside.name} now", file=sys.stderr)
            entries = []
    temporary = file.with_name(f"{file.name}.tmp")
    temporary.write_text(json.dumps([*entries, entry], indent=2) + "\n")
    os.replace(temporary, file)


class Both(io.TextIOBase):
    """Writes to a file and to a copy, which is closed with it."""

    def __init__(self, file: TextIO, copy: TextIO):
        self.files = file, copy

    def write(self, text: str) -> int:
        for file in self.files:
            file.write(text)
        return len(text)

    def flush(self) -> None:
        for file in self.files:
            file.flush()

    def close(self) -> None:
        super().close()
        self.files[1].close()
