"""Every game's presets: settings that are known to work, put over the defaults."""

from __future__ import annotations

from typing import Any

from azjax.config.run import Config
from azjax.config.settings import merge, replace
from envs.core import Game


def preset(game: Game, name: str = "laptop") -> Config:
    """The settings of a game's preset, or of the general one for a game that has none of its own.

    Raises ValueError for a preset that doesn't exist.
    """
    own = PRESETS.get(game.name, {})
    if name not in GENERAL_PRESETS and name not in own:
        known = ", ".join(preset_names(game))
        raise ValueError(f"no preset {name!r} for {game.name}; its presets: {known}")
    beneath = GENERAL_PRESETS[name] if name in GENERAL_PRESETS else own.get("laptop", {})
    return replace(Config(game=game), merge(beneath, own.get(name, {})))


def preset_names(game: Game) -> list[str]:
    """The presets of a game, the general ones first."""
    return list(dict.fromkeys([*GENERAL_PRESETS, *PRESETS.get(game.name, {})]))


def _square_board(*, minutes: float, opening_plies: int) -> dict[str, Any]:
    """The laptop preset of games on square boards."""
    return {
        "minutes": minutes,
        "iterations": 100_000,
        "network": {"policy_channels": 4, "value_channels": 4},
        "selfplay": {"opening_plies": opening_plies},
        "search": {"num_simulations": 24, "gumbel": {"value_scale": 0.2}},
        "replay": {"capacity": 131_072, "min_fill": 2_048},
        "learner": {"batch_size": 64, "updates": 32, "average_decay": 0.997},
        "checkpoint": {"network_every": 25},
    }


_LONG_GAMES = merge(_square_board(minutes=60.0, opening_plies=8), {"rating": {"games": 32, "max_networks": 6}})
"""The laptop preset of games that take hundreds of moves."""


def _paper(*, dirichlet_alpha: float, policy_head: str) -> dict[str, Any]:
    """AlphaZero's own settings (Silver et al. 2018, Methods, table S3 and pseudocode): 700,000 updates of 4,096.

    The paper plays and learns side by side. Here, in lockstep, 16 moves in 4,096 lanes come for every 10 updates, 4.6
    billion in all: the paper's 44 million games of chess, if one has 104 moves.
    """
    return {
        "iterations": 70_000,
        "minutes": 0.0,
        "network": {
            "blocks": 19,
            "channels": 256,
            "policy_head": policy_head,
            "policy_channels": 8,
            "value_channels": 1,
            "value_hidden": 256,
            "dtype": "bfloat16",
        },
        "search": {
            "policy": "puct",
            "num_simulations": 800,
            "puct": {"fpu": "loss", "dirichlet_alpha": dirichlet_alpha, "temperature_plies": 30},
        },
        "selfplay": {"lanes": 4_096, "moves": 16, "opening_plies": 0},
        "replay": {"capacity": 16_777_216, "min_fill": 1_048_576},
        "learner": {
            "batch_size": 4_096,
            "updates": 10,
            "optimizer": "sgd",
            "optimizer_options": {"momentum": 0.9},
            "learning_rate": 0.2,
            "schedule": "steps",
            "boundaries": (100_000, 300_000, 500_000),
            "l2": 1e-4,
            "average_decay": 0.0,
            "symmetries": False,
        },
        "checkpoint": {"every": 100, "network_every": 1_000},
        "rating": {"num_simulations": 800, "games": 64, "max_networks": 12},
    }


GENERAL_PRESETS: dict[str, dict[str, Any]] = {
    "laptop": {},
    "accelerator": {
        "network": {"blocks": 8, "channels": 128, "dtype": "bfloat16"},
        "selfplay": {"lanes": 1024, "moves": 32},
        "replay": {"capacity": 2_097_152, "min_fill": 131_072},
        "learner": {"batch_size": 1024, "updates": 64},
    },
}
"""Presets that every game has, as changes of the defaults."""

PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "tic_tac_toe": {
        "laptop": {
            "minutes": 5.0,
            "iterations": 100_000,
            "network": {"blocks": 2, "channels": 32, "policy_channels": 4, "value_channels": 4},
            "selfplay": {"opening_plies": 5},
            "search": {"num_simulations": 16},
            "replay": {"capacity": 65_536, "min_fill": 2_048},
            "learner": {"batch_size": 128, "updates": 8, "average_decay": 0.995},
        },
    },
    "connect_four": {
        "laptop": {
            "minutes": 30.0,
            "iterations": 100_000,
            "network": {"policy_channels": 4, "value_channels": 4},
            "selfplay": {"opening_plies": 24},
            "search": {"num_simulations": 16, "gumbel": {"value_scale": 0.2}},
            "replay": {"capacity": 131_072, "min_fill": 2_048},
            "learner": {"batch_size": 64, "updates": 32, "average_decay": 0.997},
            "checkpoint": {"network_every": 25},
        },
        "demo": {"minutes": 8.0, "selfplay": {"opening_plies": 12}, "rating": {"max_networks": 10}},
        "puct": {"search": {"policy": "puct", "num_simulations": 64}},
    },
    "dots_and_boxes": {
        "laptop": {
            "minutes": 30.0,
            "iterations": 100_000,
            "network": {"channels": 64, "policy_channels": 16, "value_channels": 8},
            "selfplay": {"opening_plies": 16},
            "search": {"num_simulations": 24, "gumbel": {"value_scale": 0.2}},
            "replay": {"capacity": 131_072, "min_fill": 2_048},
            "learner": {"batch_size": 64, "updates": 40, "average_decay": 0.997},
            "checkpoint": {"network_every": 25},
        },
    },
    "chess": {
        "laptop": merge(_LONG_GAMES, {"network": {"policy_head": "planes"}}),
        "paper": _paper(dirichlet_alpha=0.3, policy_head="planes"),
    },
    "go": {"laptop": _square_board(minutes=15.0, opening_plies=8)},
    "gomoku": {"laptop": _square_board(minutes=30.0, opening_plies=8)},
    "hex": {"laptop": _square_board(minutes=25.0, opening_plies=6)},
    "shogi": {
        "laptop": merge(_LONG_GAMES, {"network": {"policy_head": "planes"}}),
        "paper": _paper(dirichlet_alpha=0.15, policy_head="planes"),
    },
    "othello": {"laptop": _square_board(minutes=25.0, opening_plies=12)},
    # The paper has no xiangqi; its noise is 10 / legal moves, as that of its games nearly is.
    "xiangqi": {
        "laptop": _LONG_GAMES,
        "paper": _paper(dirichlet_alpha=0.0, policy_head="linear"),
    },
}
"""Presets of single games: game -> preset -> changes. Those with names of general ones are put over them, the others
over the game's laptop preset."""
