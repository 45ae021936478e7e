"""Every setting of a run, one frozen dataclass a stage. Every default stands here, and every game's presets."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import envs
from envs.core import Game


@dataclasses.dataclass(frozen=True)
class NetworkConfig:
    """AlphaGo Zero's residual network (Silver et al. 2017, Methods, Neural network architecture)."""

    blocks: int = 4
    """Residual blocks (AlphaGo Zero: 19 or 39)."""
    channels: int = 32
    """Filters of every 3x3 convolution (AlphaGo Zero: 256)."""
    policy_channels: int = 2
    """Filters of the policy head's 1x1 convolution (AlphaGo Zero: 2)."""
    value_channels: int = 1
    """Filters of the value head's 1x1 convolution (AlphaGo Zero: 1)."""
    value_hidden: int = 64
    """Units of the value head's hidden layer (AlphaGo Zero: 256)."""
    normalisation: Literal["batch", "layer"] = "batch"
    """Batch normalisation (the papers') or layer normalisation over all cells and channels of a position."""
    dtype: Literal["float32", "bfloat16"] = "float32"
    """What the network computes in; its parameters are always float32."""


@dataclasses.dataclass(frozen=True)
class SearchConfig:
    """Gumbel AlphaZero's search (Danihelka et al. 2022), as mctx has it."""

    num_simulations: int = 32
    """Simulations a move (AlphaZero: 800)."""
    max_num_considered_actions: int = 16
    """Actions that sequential halving starts from at the root; at most half the simulations are used."""
    value_scale: float = 0.1
    """Scale of the completed Q-values in the policy target (c_scale)."""
    maxvisit_init: float = 50.0
    """Offset of the visit count in the policy target (c_visit)."""
    rescale_values: bool = False
    """Whether Q-values are stretched to [0, 1] among siblings before `value_scale` (mctx's default). That makes
    opinions of rounding errors where all moves are equally good."""

    def with_simulations(self, num_simulations: int) -> SearchConfig:
        """The same search with another budget."""
        return dataclasses.replace(self, num_simulations=num_simulations)


@dataclasses.dataclass(frozen=True)
class SelfPlayConfig:
    """Games played side by side, in lockstep."""

    lanes: int = 64
    """Games side by side, all devices together."""
    moves: int = 16
    """Moves in every lane an iteration."""
    opening_plies: int = 0
    """Each game starts after 0 to this many uniformly random moves, which are not trained on (papers: 0)."""


@dataclasses.dataclass(frozen=True)
class ReplayConfig:
    """Positions kept for training, on the device."""

    capacity: int = 131_072
    """Positions kept, all lanes together; the oldest go first (AlphaGo Zero: 500,000 games)."""
    min_fill: int = 8_192
    """Positions of ended games that must be there before learning starts."""


@dataclasses.dataclass(frozen=True)
class LearnerConfig:
    """Loss (z - v)^2 - pi . log p + c |theta|^2 and its optimiser."""

    batch_size: int = 256
    """Positions an update, all devices together (AlphaZero: 4,096)."""
    updates: int = 8
    """Optimiser steps an iteration."""
    optimizer: str = "adamw"
    """Any optimiser of optax that takes `learning_rate` (papers: sgd)."""
    optimizer_options: dict[str, float] = dataclasses.field(default_factory=lambda: {"weight_decay": 1e-4})
    """Further arguments of the optimiser, such as momentum (papers: 0.9) or adamw's decoupled weight_decay."""
    learning_rate: float = 2e-3
    """The first or the highest learning rate (AlphaZero: 0.2 for sgd)."""
    schedule: Literal["constant", "steps", "cosine"] = "constant"
    """constant; steps: divided by 10 at each of `boundaries`; cosine: to zero at the last of `iterations`."""
    boundaries: tuple[int, ...] = ()
    """Updates after which the learning rate is divided by 10 (AlphaZero: 100,000 300,000 500,000)."""
    warmup: int = 0
    """Updates over which the learning rate rises from zero."""
    l2: float = 0.0
    """c of c |theta|^2, in the loss (AlphaGo Zero: 1e-4); 0 where the optimiser decays the weights itself."""
    max_gradient_norm: float = 0.0
    """Gradients are scaled down to this global norm; 0 leaves them alone (papers: 0)."""
    average_decay: float = 0.0
    """Self-play and evaluation use a running average of the weights that keeps this share of itself at every update; 0
    uses the newest weights (papers: 0)."""
    symmetries: bool = True
    """Whether each sample is turned by a random symmetry of its game (AlphaGo Zero: yes, AlphaZero: no)."""
    search_value_weight: float = 0.0
    """Share of the search's root value in the value target, beside the game's outcome (papers: 0)."""


@dataclasses.dataclass(frozen=True)
class CheckpointConfig:
    """What is kept on disk, and how often."""

    every: int = 20
    """Iterations between two checkpoints of the whole run."""
    keep: int = 2
    """How many of them are kept."""
    network_every: int = 100
    """Iterations between two networks that are kept for rating and play, all of them."""


@dataclasses.dataclass(frozen=True)
class RatingConfig:
    """How a run's networks are measured against each other and the random player."""

    every: int = 0
    """Iterations between two ratings during training; 0 rates at the end only, -1 never."""
    games: int = 64
    """Games of a match, half of them with either colour."""
    num_simulations: int = 32
    """Simulations a move; 0 plays the raw network."""
    opening_plies: int = 2
    """Uniformly random moves before each pair of games, so that deterministic players do not repeat one game."""
    max_networks: int = 12
    """At most this many of a run's networks, evenly spaced, play."""


@dataclasses.dataclass(frozen=True)
class Config:
    """A whole run."""

    game: Game
    """The rules and their settings."""
    seed: int = 0
    """Seed of every random number of the run."""
    iterations: int = 1000
    """Iterations of the run; resuming with a larger number goes on."""
    minutes: float = 0.0
    """Stop, as at the last iteration, after this many minutes of training, resumed ones included; 0 is no limit."""
    devices: int = 0
    """Devices to use; 0 takes all there are."""
    network: NetworkConfig = NetworkConfig()
    search: SearchConfig = SearchConfig()
    selfplay: SelfPlayConfig = SelfPlayConfig()
    replay: ReplayConfig = ReplayConfig()
    learner: LearnerConfig = dataclasses.field(default_factory=LearnerConfig)
    checkpoint: CheckpointConfig = CheckpointConfig()
    rating: RatingConfig = RatingConfig()

    @property
    def moves_per_iteration(self) -> int:
        """Moves of all lanes in one iteration."""
        return self.selfplay.lanes * self.selfplay.moves

    @property
    def replay_rows(self) -> int:
        """Positions that each lane keeps: the capacity's share, rounded up to whole iterations."""
        iterations = -(-self.replay.capacity // self.moves_per_iteration)
        return iterations * self.selfplay.moves


def preset(game: Game, name: str = "laptop") -> Config:
    """The settings of a game's preset, or of the general one for a game that has none of its own.

    Raises ValueError for a preset that doesn't exist.
    """
    changes: dict[str, dict[str, Any]] = {}
    own = PRESETS.get(game.name, {})
    if name not in GENERAL_PRESETS and name not in own:
        known = ", ".join(dict.fromkeys([*GENERAL_PRESETS, *own]))
        raise ValueError(f"no preset {name!r} for {game.name}; its presets: {known}")
    for source in (GENERAL_PRESETS.get(name, {}), own.get("laptop", {}) if name == "demo" else {}, own.get(name, {})):
        for stage, fields in source.items():
            changes[stage] = changes.get(stage, {}) | fields
    return replace(Config(game=game), changes)


def replace(config: Config, changes: dict[str, dict[str, Any]]) -> Config:
    """The configuration with `changes[stage][field]` put in; the stage "run" holds the fields of Config itself."""
    stages = {
        stage: dataclasses.replace(getattr(config, stage), **fields)
        for stage, fields in changes.items()
        if stage != "run"
    }
    return dataclasses.replace(config, **stages, **changes.get("run", {}))


def validate(config: Config, *, devices: int) -> None:
    """Raises ValueError, naming the settings, what they are and what they may be, if a run with them makes no sense."""
    lanes, batch = config.selfplay.lanes, config.learner.batch_size
    capacity = config.replay_rows * lanes

    def require(condition: bool, message: str) -> None:
        if not condition:
            raise ValueError(message)

    for stage, field, least in (
        ("network", "blocks", 0),
        ("network", "channels", 1),
        ("network", "policy_channels", 1),
        ("network", "value_channels", 1),
        ("network", "value_hidden", 1),
        ("search", "num_simulations", 1),
        ("search", "max_num_considered_actions", 1),
        ("selfplay", "lanes", 1),
        ("selfplay", "moves", 1),
        ("selfplay", "opening_plies", 0),
        ("replay", "capacity", 1),
        ("replay", "min_fill", 1),
        ("learner", "batch_size", 1),
        ("learner", "updates", 1),
        ("learner", "warmup", 0),
        ("learner", "l2", 0),
        ("learner", "max_gradient_norm", 0),
        ("checkpoint", "every", 1),
        ("checkpoint", "keep", 1),
        ("checkpoint", "network_every", 1),
        ("rating", "every", -1),
        ("rating", "games", 2),
        ("rating", "num_simulations", 0),
        ("rating", "opening_plies", 0),
        ("rating", "max_networks", 1),
    ):
        value = getattr(getattr(config, stage), field)
        require(value >= least, f"{stage}.{field} must be at least {least}, got {value}")
    require(config.iterations >= 1, f"iterations must be at least 1, got {config.iterations}")
    require(config.minutes >= 0, f"minutes must be at least 0 (0 is no limit), got {config.minutes}")
    require(0 <= config.devices <= devices, f"devices={config.devices}, but there are {devices} (0 takes all)")
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
    require(
        config.replay.min_fill <= capacity // 2,
        f"replay.min_fill={config.replay.min_fill} may never be reached in a replay of {capacity} positions, part of "
        f"which belong to unfinished games; it may be up to half, {capacity // 2}",
    )
    require(config.rating.games % 2 == 0, f"rating.games={config.rating.games} must be even: colours are swapped")
    require(
        config.selfplay.opening_plies < config.game.max_moves,
        f"selfplay.opening_plies={config.selfplay.opening_plies}: no game of {config.game.name} lasts longer than "
        f"{config.game.max_moves} moves",
    )
    require(config.learner.learning_rate > 0, f"learner.learning_rate={config.learner.learning_rate} must be above 0")
    for field in ("average_decay", "search_value_weight"):
        value = getattr(config.learner, field)
        require(0 <= value <= 1, f"learner.{field}={value} must lie between 0 and 1")
    require(config.learner.average_decay < 1, "learner.average_decay=1 would never learn; it must be below 1")


def to_dict(config: Config) -> dict[str, Any]:
    """Every field as JSON holds it; the game is its name and its settings."""
    fields = dataclasses.asdict(config)
    fields["game"] = {"name": config.game.name} | dataclasses.asdict(config.game)
    return fields


def from_dict(fields: dict[str, Any]) -> Config:
    """The configuration that `to_dict` wrote; fields that it doesn't name keep their defaults.

    Raises ValueError for an unknown field.
    """
    fields = dict(fields)
    game = dict(fields.pop("game"))
    built: dict[str, Any] = {"game": envs.make(game.pop("name"), **game)}
    types = {"network": NetworkConfig, "search": SearchConfig, "selfplay": SelfPlayConfig, "replay": ReplayConfig}
    types |= {"learner": LearnerConfig, "checkpoint": CheckpointConfig, "rating": RatingConfig}
    for name, value in fields.items():
        if name in types:
            value = {key: tuple(entry) if isinstance(entry, list) else entry for key, entry in value.items()}
            known = [field.name for field in dataclasses.fields(types[name])]
            if unknown := sorted(set(value) - set(known)):
                raise ValueError(f"unknown setting {name}.{unknown[0]}; settings of {name}: {', '.join(known)}")
            value = types[name](**value)
        elif name not in ("seed", "iterations", "minutes", "devices"):
            raise ValueError(f"unknown setting {name!r}")
        built[name] = value
    return Config(**built)


def differences(old: Config, new: Config) -> list[str]:
    """The fields in which two configurations differ, as "name: old -> new"."""

    def flat(fields: dict[str, Any], prefix: str = "") -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for name, value in fields.items():
            nested = isinstance(value, dict) and name != "optimizer_options"
            entries |= flat(value, f"{prefix}{name}.") if nested else {prefix + name: value}
        return entries

    before, after = flat(to_dict(old)), flat(to_dict(new))
    names = dict.fromkeys([*before, *after])
    return [f"{n}: {before.get(n)} -> {after.get(n)}" for n in names if before.get(n) != after.get(n)]


GENERAL_PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "laptop": {},
    "accelerator": {
        "network": {"blocks": 8, "channels": 128, "dtype": "bfloat16"},
        "selfplay": {"lanes": 1024, "moves": 32},
        "replay": {"capacity": 2_097_152, "min_fill": 131_072},
        "learner": {"batch_size": 1024, "updates": 64},
    },
}
"""Presets that every game has: stage -> field -> value; the stage "run" holds the fields of Config itself."""

PRESETS: dict[str, dict[str, dict[str, dict[str, Any]]]] = {
    "tic_tac_toe": {
        "laptop": {
            "run": {"minutes": 5.0, "iterations": 100_000},
            "network": {"blocks": 2, "channels": 32, "policy_channels": 4, "value_channels": 4},
            "selfplay": {"opening_plies": 5},
            "search": {"num_simulations": 16},
            "replay": {"capacity": 65_536, "min_fill": 2_048},
            "learner": {"batch_size": 128, "updates": 8, "average_decay": 0.995},
        },
    },
    "connect_four": {
        "laptop": {
            "run": {"minutes": 30.0, "iterations": 100_000},
            "network": {"policy_channels": 4, "value_channels": 4},
            "selfplay": {"opening_plies": 24},
            "search": {"num_simulations": 16, "value_scale": 0.2},
            "replay": {"capacity": 131_072, "min_fill": 2_048},
            "learner": {"batch_size": 64, "updates": 32, "average_decay": 0.997},
            "checkpoint": {"network_every": 25},
        },
        "demo": {"run": {"minutes": 8.0}, "selfplay": {"opening_plies": 12}, "rating": {"max_networks": 10}},
    },
    "dots_and_boxes": {
        "laptop": {
            "run": {"minutes": 30.0, "iterations": 100_000},
            "network": {"channels": 64, "policy_channels": 16, "value_channels": 8},
            "selfplay": {"opening_plies": 16},
            "search": {"num_simulations": 24, "value_scale": 0.2},
            "replay": {"capacity": 131_072, "min_fill": 2_048},
            "learner": {"batch_size": 64, "updates": 40, "average_decay": 0.997},
            "checkpoint": {"network_every": 25},
        },
    },
    "gomoku": {
        "laptop": {
            "run": {"minutes": 30.0, "iterations": 100_000},
            "network": {"policy_channels": 4, "value_channels": 4},
            "selfplay": {"opening_plies": 8},
            "search": {"num_simulations": 24, "value_scale": 0.2},
            "replay": {"capacity": 131_072, "min_fill": 2_048},
            "learner": {"batch_size": 64, "updates": 32, "average_decay": 0.997},
            "checkpoint": {"network_every": 25},
        },
    },
}
"""Presets of single games, put over the general ones: game -> preset -> stage -> field -> value."""
