"""Every setting of a run, one frozen dataclass a stage. Every default stands here and nowhere else.

presets     every game's settings that are known to work
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin, get_type_hints

import envs
from envs.core import Game


@dataclasses.dataclass(frozen=True)
class NetworkConfig:
    """AlphaGo Zero's residual network (Silver et al. 2017, Methods, Neural network architecture)."""

    blocks: int = 4
    """Residual blocks (AlphaGo Zero: 19 or 39)."""
    channels: int = 32
    """Filters of every 3x3 convolution (AlphaGo Zero: 256)."""
    policy_head: Literal["linear", "planes"] = "linear"
    """linear: AlphaGo Zero's, a 1x1 convolution and a linear layer; planes: AlphaZero's of chess and shogi, a 3x3
    convolution of `channels` and a 1x1 one to as many planes as each square has actions, square by square."""
    policy_channels: int = 2
    """Filters of the linear policy head's 1x1 convolution (AlphaGo Zero: 2)."""
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
    """The tree search: Gumbel AlphaZero's (Danihelka et al. 2022) or AlphaZero's own (Silver et al. 2017, 2018)."""

    policy: Literal["gumbel", "puct"] = "gumbel"
    """gumbel: sequential halving and completed Q-values, good from two simulations on; puct: the papers' formula, visit
    fractions as targets."""
    num_simulations: int = 32
    """Simulations a move (AlphaZero: 800)."""
    max_depth: int = 0
    """Moves that a simulation looks ahead at most; 0 is no limit."""

    max_num_considered_actions: int = 16
    """gumbel: actions that sequential halving starts from at the root; at most half the simulations are used."""
    value_scale: float = 0.1
    """gumbel: scale of the completed Q-values in the policy target (c_scale)."""
    maxvisit_init: float = 50.0
    """gumbel: offset of the visit count in the policy target (c_visit)."""
    rescale_values: bool = False
    """gumbel: whether Q-values are stretched to [0, 1] among siblings before `value_scale` (mctx's default). That makes
    opinions of rounding errors where all moves are equally good."""

    c_puct: float = 0.0
    """puct: AlphaGo Zero's constant of exploration, for Q in [-1, 1]; 0 takes AlphaZero's `c_init` and `c_base`."""
    c_init: float = 1.25
    """puct: c(s) = log((1 + N(s) + c_base) / c_base) + c_init, for Q in [-1, 1] (AlphaZero: 1.25; its pseudocode has Q
    in [0, 1], where the same number explores twice as much: that is 2.5 here)."""
    c_base: float = 19_652.0
    """puct: visits after which c(s) has grown by log 2 (AlphaZero: 19,652)."""
    fpu: Literal["zero", "loss", "parent"] = "zero"
    """puct: Q of a move not yet visited. zero: a draw (AlphaGo Zero); loss: -1 (AlphaZero's pseudocode); parent: the
    node's own value less `fpu_reduction` times the root of the visited moves' prior (Leela Zero)."""
    fpu_reduction: float = 0.25
    """puct: see `fpu`."""
    dirichlet_fraction: float | None = None
    """puct: share of Dirichlet noise in the root's prior, in self-play (papers: 0.25); None is 0.25, and for gumbel,
    which must have none, 0."""
    dirichlet_alpha: float = 0.0
    """puct: concentration of that noise (AlphaZero: 0.3 chess, 0.15 shogi, 0.03 Go); 0 is 10 / legal moves."""
    temperature: float = 1.0
    """puct: self-play draws moves in proportion to visits^(1 / temperature); 0 takes the most visited."""
    temperature_plies: int = 30
    """puct: after this many moves of a game the temperature is 0 (AlphaGo Zero: 30, AlphaZero: no end)."""
    reuse: Literal["evaluation", "always", "never"] = "evaluation"
    """puct: where a search goes on with the part of the last tree that the moves since have led to: in play and
    matches, in self-play too (inherited visits drown the root's noise), or nowhere."""
    reuse_nodes: int = 0
    """puct: nodes that are kept of the last tree, the oldest first; 0 is as many as simulations."""

    full_search_share: float = 1.0
    """Playout cap randomisation (Wu 2019, 3.1): the share of moves that are searched in full and trained on; the rest
    are searched with `cheap_simulations`, without noise, and not trained on (KataGo: 0.25)."""
    cheap_simulations: int = 0
    """Simulations of a move that is not searched in full (KataGo: a sixth); at least 1 if there are such moves."""
    forced_playouts: float = 0.0
    """puct: k of forced playouts and policy target pruning (Wu 2019, 3.2): a visited move of the root gets at least
    sqrt(k P N) visits, and what was only forced is taken out of the target (KataGo: 2); 0 is off."""

    def with_simulations(self, num_simulations: int) -> SearchConfig:
        """The same search with another budget."""
        return dataclasses.replace(self, num_simulations=num_simulations)

    @property
    def noise_fraction(self) -> float:
        """The share of Dirichlet noise in the root's prior, in self-play."""
        if self.dirichlet_fraction is None:
            return 0.25 if self.policy == "puct" else 0.0
        return self.dirichlet_fraction

    @property
    def kept_nodes(self) -> int:
        """Nodes kept of the last tree where trees are reused."""
        return self.reuse_nodes or self.num_simulations


@dataclasses.dataclass(frozen=True)
class SelfPlayConfig:
    """Games played side by side, in lockstep."""

    lanes: int = 64
    """Games side by side, all devices together."""
    moves: int = 16
    """Moves in every lane an iteration."""
    opening_plies: int = 0
    """Each game starts after 0 to this many uniformly random moves, which are not trained on (papers: 0)."""
    starts: tuple[str, ...] = ()
    """Positions that games start from, each from one drawn at random: in the game's notation or "startpos moves ...";
    @FILE stands for the lines of a file. None is the usual start (papers)."""


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
class LadderConfig:
    """Pure Monte Carlo tree search that gets more simulations after each match it has lost in full."""

    first: int = 1_000
    """Simulations a move of the first opponent (textbook: 1,000)."""
    step: int = 1_000
    """Simulations added after a match that the player has won in full (textbook: 1,000)."""
    most: int = 5_000
    """The ladder ends here (textbook: it has no end)."""
    games: int = 10
    """Games of a match, half of them with either colour (textbook: 10)."""


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
        ("search", "max_depth", 0),
        ("search", "max_num_considered_actions", 1),
        ("search", "value_scale", 0),
        ("search", "maxvisit_init", 0),
        ("search", "c_puct", 0),
        ("search", "c_init", 0),
        ("search", "c_base", 1),
        ("search", "fpu_reduction", 0),
        ("search", "dirichlet_alpha", 0),
        ("search", "temperature", 0),
        ("search", "temperature_plies", 0),
        ("search", "reuse_nodes", 0),
        ("search", "cheap_simulations", 0),
        ("search", "forced_playouts", 0),
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
    height, width, _ = config.game.observation_shape
    require(
        config.network.policy_head == "linear" or config.game.num_actions % (height * width) == 0,
        f"network.policy_head=planes: the {config.game.num_actions} actions of {config.game.name} are not as many for "
        f"each of its {height}x{width} squares; set network.policy_head=linear",
    )
    for stage in ("network", "search", "learner"):
        settings = getattr(config, stage)
        for field, hint in get_type_hints(type(settings)).items():
            value, known = getattr(settings, field), get_args(hint)
            if get_origin(hint) is Literal:
                require(value in known, f"{stage}.{field}={value!r} is not one of {', '.join(map(repr, known))}")
    _require_search(config.search, require)
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
    most = int(capacity // 2 * config.search.full_search_share)
    require(
        config.replay.min_fill <= most,
        f"replay.min_fill={config.replay.min_fill} may never be reached in a replay of {capacity} positions, part of "
        f"which belong to unfinished games or are not searched in full; it may be up to half, {most}",
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


def _require_search(search: SearchConfig, require: Callable[[bool, str], None]) -> None:
    """What settings of a search mean nothing together."""
    fraction, share = search.dirichlet_fraction, search.full_search_share
    require(
        fraction is None or 0 <= fraction <= 1,
        f"search.dirichlet_fraction={fraction} must lie between 0 and 1, or be None for the policy's own",
    )
    require(0 < share <= 1, f"search.full_search_share={share} must be above 0 and at most 1")
    if share < 1:
        require(
            1 <= search.cheap_simulations < search.num_simulations,
            f"search.cheap_simulations={search.cheap_simulations}: with full_search_share={share} the other moves need "
            f"at least 1 and fewer than num_simulations={search.num_simulations} simulations",
        )
        require(
            search.reuse != "always",
            "search.reuse=always keeps one tree from move to move, and full_search_share below 1 searches them "
            "differently; set reuse=never or full_search_share=1",
        )
    if search.policy == "gumbel":
        advice = "set search.policy=puct or leave it out"
        require(
            search.reuse != "always",
            f"search.reuse=always: gumbel starts every tree at its root, whose visits count its rounds; {advice}",
        )
        require(
            not fraction,
            f"search.dirichlet_fraction={fraction}: gumbel explores by its own noise and takes none of Dirichlet's; "
            f"{advice}",
        )
        require(
            not search.forced_playouts,
            f"search.forced_playouts={search.forced_playouts}: gumbel has no forced playouts; {advice}",
        )


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
