"""What search trees and replay take on a device, and whether it has that."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import jax

from azjax.config import Config, SearchConfig
from azjax.search import reuses_trees
from azjax.search.tree import tree_bytes
from azjax.selfplay import example_move
from envs.core import Game

USABLE = 0.8
"""Share of a device's memory that trees and replay may take; the network, its gradients and the rest need some too."""

SELFPLAY_TREES = 2
"""Trees of a lane that remembers: the last one, and the one that grows."""
MATCH_TREES = 6
"""Trees for each game that is searched in a match of players that remember: both sides' of this game and of one that
waits for the opponent, and the two that are at work."""


def device_bytes() -> int:
    """Memory of one device: an accelerator's own, or the machine's shared by all of its CPU devices."""
    device = jax.local_devices()[0]
    stats = device.memory_stats() if device.platform != "cpu" else None
    if stats and "bytes_limit" in stats:
        return stats["bytes_limit"]
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError):  # a container may have less
        machine = min(machine, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return machine // jax.local_device_count()


def position_bytes(game: Game) -> int:
    """Bytes of one position in the replay, its outcome included."""
    move = jax.tree.leaves(jax.eval_shape(lambda: example_move(game)))
    return 4 + sum(leaf.size * leaf.dtype.itemsize for leaf in move)


def game_bytes(game: Game, search: SearchConfig, *, trees: int) -> int:
    """Bytes of the search trees of one game that is searched: one, or so many that keep a part of their last tree."""
    nodes = 1 + search.num_simulations + (search.kept_nodes if trees > 1 else 0)
    return trees * tree_bytes(game, nodes)


def require_search_fits(game: Game, search: SearchConfig, *, games: int, available: int | None = None) -> None:
    """Raises ValueError if the trees of so many games, searched side by side, don't fit; 0 simulations need none."""
    if search.num_simulations:
        each = game_bytes(game, search, trees=MATCH_TREES if reuses_trees(search) else 1)
        _require(each, games, search, game, available, "play fewer games at once or with fewer simulations")


def require_run_fits(config: Config, *, devices: int, available: int | None = None) -> None:
    """Raises ValueError if the trees of a device's lanes, and its part of the replay, don't fit."""
    available = device_bytes() if available is None else available
    each = game_bytes(config.game, config.search, trees=SELFPLAY_TREES if config.search.puct.reuse == "always" else 1)
    lanes = config.selfplay.lanes // devices
    advice = "lower search.num_simulations or selfplay.lanes"
    _require(each, lanes, config.search, config.game, available, advice)
    replay = position_bytes(config.game) * config.replay_rows * lanes
    if replay > USABLE * available - each * lanes:
        raise ValueError(
            f"the replay of {config.replay_rows * lanes:,} positions a device takes {_size(replay)}, the search trees "
            f"{_size(each * lanes)}, and a device has {_size(available)}; lower "
            f"replay.capacity={config.replay.capacity}"
        )


def _require(each: int, games: int, search: SearchConfig, game: Game, available: int | None, advice: str) -> None:
    available = device_bytes() if available is None else available
    fits = int(USABLE * available // each)
    if games > fits:
        raise ValueError(
            f"a search tree of {search.num_simulations} simulations of {game.name} takes {each:,} bytes a game, "
            f"{_size(each * games)} for {games} side by side; the device has {_size(available)}, which would fit "
            f"{fits} games: {advice}"
        )


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"
