"""A whole run: all stages together, whether they go together, and their way to JSON and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from annotated_types import Ge

import envs
from azjax.config.checkpoint import CheckpointConfig
from azjax.config.learner import LearnerConfig
from azjax.config.network import NetworkConfig
from azjax.config.rating import RatingConfig
from azjax.config.replay import ReplayConfig
from azjax.config.search import GumbelConfig, PuctConfig, SearchConfig
from azjax.config.selfplay import SelfPlayConfig
from azjax.config.settings import Difference, flatten, replace, require_in_bounds
from envs.core import Game


@dataclasses.dataclass(frozen=True)
class Config:
    """A whole run."""

    game: Game
    """The rules and their settings."""
    seed: int = 0
    """Seed of every random number of the run."""
    iterations: Annotated[int, Ge(1)] = 1000
    """Iterations of the run; resuming with a larger number goes on."""
    minutes: Annotated[float, Ge(0)] = 0.0
    """Stop, as at the last iteration, after this many minutes of training, resumed ones included; 0 is no limit."""
    devices: Annotated[int, Ge(0)] = 0
    """Devices to use; 0 takes all there are."""
    network: NetworkConfig = dataclasses.field(default_factory=NetworkConfig)
    search: SearchConfig = dataclasses.field(default_factory=SearchConfig)
    selfplay: SelfPlayConfig = dataclasses.field(default_factory=SelfPlayConfig)
    replay: ReplayConfig = dataclasses.field(default_factory=ReplayConfig)
    learner: LearnerConfig = dataclasses.field(default_factory=LearnerConfig)
    checkpoint: CheckpointConfig = dataclasses.field(default_factory=CheckpointConfig)
    rating: RatingConfig = dataclasses.field(default_factory=RatingConfig)

    @property
    def moves_per_iteration(self) -> int:
        """Moves of all lanes in one iteration."""
        return self.selfplay.lanes * self.selfplay.moves

    @property
    def replay_rows(self) -> int:
        """Positions that each lane keeps: the capacity's share, rounded up to whole iterations."""
        iterations = -(-self.replay.capacity // self.moves_per_iteration)
        return iterations * self.selfplay.moves


def validate(config: Config, *, devices: int) -> None:
    """Raises ValueError, naming the settings, what they are and what they may be, if a run with them makes no sense."""
    require_in_bounds(config)
    config.search.require_possible()
    lanes, batch = config.selfplay.lanes, config.learner.batch_size
    capacity = config.replay_rows * lanes

    def require(condition: bool, message: str) -> None:
        if not condition:
            raise ValueError(message)

    height, width, _ = config.game.observation_shape
    require(
        config.network.policy_head == "linear" or config.game.num_actions % (height * width) == 0,
        f"network.policy_head=planes: the {config.game.num_actions} actions of {config.game.name} are not as many for "
        f"each of its {height}x{width} squares; set network.policy_head=linear",
    )
    require(config.devices <= devices, f"devices={config.devices}, but there are {devices} (0 takes all)")
    used = config.devices or devices
    require(
        lanes % used == 0,
        f"selfplay.lanes={lanes} cannot be split over {used} devices; make it a multiple, or set devices",
    )
    require(
        batch % used == 0,
        f"learner.batch_size={batch} cannot be split over {used} devices; make it a multiple, or set devices",
    )
    require(
        batch <= capacity,
        f"learner.batch_size={batch} is larger than the replay of {capacity} positions; raise replay.capacity",
    )
    most = int(capacity // 2 * config.search.full_search_share)
    require(
        config.replay.min_fill <= most,
        f"replay.min_fill={config.replay.min_fill} may never be reached in a replay of {capacity} positions, part of "
        f"which belong to unfinished games or are not searched in full; it may be up to half, {most}",
    )
    require(
        config.selfplay.opening_plies < config.game.max_moves,
        f"selfplay.opening_plies={config.selfplay.opening_plies}: no game of {config.game.name} lasts longer than "
        f"{config.game.max_moves} moves",
    )


def require_effect(config: Config, names: Iterable[str]) -> None:
    """Raises ValueError if one of these settings, which somebody gave, is read by another policy of search alone."""
    policy = config.search.policy
    for name in names:
        for group in ("gumbel", "puct"):
            if name.startswith(f"search.{group}.") and group != policy:
                raise ValueError(
                    f"{name} has no effect with search.policy={policy}; set search.policy={group} or leave it out"
                )


def to_dict(config: Config) -> dict[str, Any]:
    """Every field as JSON holds it; the game is its name and its settings."""
    fields = dataclasses.asdict(config)
    fields["game"] = {"name": config.game.name} | dataclasses.asdict(config.game)
    return fields


def from_dict(fields: Mapping[str, Any]) -> Config:
    """The configuration that `to_dict` wrote, of this version or an older one; fields that it doesn't name keep their
    defaults.

    Raises ValueError for an unknown field.
    """
    fields = dict(fields)
    game = dict(fields.pop("game"))
    if "search" in fields:
        fields["search"] = _grouped(fields["search"])
    return replace(Config(game=envs.make(game.pop("name"), **game)), fields)


def _grouped(search: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a search as they are grouped since 0.2.0; until then all stood side by side, and None was the
    policy's own share of noise."""
    search = {name: value for name, value in search.items() if not (name == "dirichlet_fraction" and value is None)}
    for group, kind in (("gumbel", GumbelConfig), ("puct", PuctConfig)):
        names = {field.name for field in dataclasses.fields(kind)} & set(search)
        if names:
            search[group] = {name: search.pop(name) for name in names}
    return search


def differences(old: Config, new: Config) -> list[Difference]:
    """The settings in which two configurations differ."""
    before, after = flatten(to_dict(old)), flatten(to_dict(new))
    names = dict.fromkeys([*before, *after])
    return [Difference(n, before.get(n), after.get(n)) for n in names if before.get(n) != after.get(n)]
