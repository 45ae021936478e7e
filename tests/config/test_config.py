"""Settings: presets, what is refused and in which words, and the way to JSON and back."""

import dataclasses
import json
import math

import pytest
from tiny import tiny_config

import envs
from azjax import config as configs
from azjax.config import Config, SearchConfig, presets

GAMES = [envs.make(name) for name in envs.available()]


def every_preset():
    return [
        pytest.param(game, name, id=f"{game.name}-{name}")
        for game in GAMES
        for name in {**presets.GENERAL_PRESETS, **presets.PRESETS.get(game.name, {})}
    ]


@pytest.mark.parametrize("game, name", every_preset())
def test_every_preset_makes_sense(game, name):
    config = presets.preset(game, name)
    assert config.game == game
    configs.validate(config, devices=1)
    assert configs.from_dict(json.loads(json.dumps(configs.to_dict(config)))) == config


def test_presets_name_games_that_exist():
    assert set(presets.PRESETS) <= set(envs.available())


def test_an_unknown_preset_lists_the_known_ones():
    with pytest.raises(ValueError, match="no preset 'huge' for gomoku; its presets: laptop, accelerator"):
        presets.preset(envs.make("gomoku"), "huge")


def test_replace_puts_changes_into_their_stages():
    config = configs.replace(Config(GAMES[0]), {"run": {"seed": 3}, "search": {"num_simulations": 5}})
    assert (config.seed, config.search.num_simulations) == (3, 5)
    assert config.network == Config(GAMES[0]).network
    assert configs.replace(config, {}) == config


def test_differences_name_the_fields():
    one = tiny_config()
    other = configs.replace(one, {"run": {"seed": 1}, "learner": {"optimizer_options": {"momentum": 0.9}}})
    assert configs.differences(one, one) == []
    assert configs.differences(one, other) == [
        "seed: 0 -> 1",
        "learner.optimizer_options: {'weight_decay': 0.0001} -> {'momentum': 0.9}",
    ]
    smaller = dataclasses.replace(one, game=envs.make("connect_four", rows=5))
    assert "game.rows: None -> 5" in configs.differences(one, smaller)


def test_json_keeps_every_field():
    config = configs.replace(
        Config(envs.make("dots_and_boxes", rows=2, encoding="pass")),
        {"run": {"minutes": 1.5}, "learner": {"boundaries": (10, 20), "optimizer_options": {"momentum": 0.9}}},
    )
    fields = configs.to_dict(config)
    assert fields["game"] == {"name": "dots_and_boxes", "rows": 2, "columns": 3, "encoding": "pass"}
    assert configs.from_dict(json.loads(json.dumps(fields))) == config


def test_json_of_an_older_version_gets_defaults_and_of_a_newer_one_is_refused():
    fields = configs.to_dict(tiny_config())
    del fields["learner"]["symmetries"], fields["devices"]
    assert configs.from_dict(fields) == tiny_config()
    with pytest.raises(ValueError, match=r"unknown setting learner\.lookahead; settings of learner: batch_size"):
        configs.from_dict(fields | {"learner": {"lookahead": 1}})
    with pytest.raises(ValueError, match="unknown setting 'teacher'"):
        configs.from_dict(fields | {"teacher": {}})


@pytest.mark.parametrize(
    "stage, field, value, message",
    [
        ("run", "iterations", 0, "iterations must be at least 1, got 0"),
        ("run", "minutes", -1.0, "minutes must be at least 0"),
        ("run", "devices", 9, "devices=9, but there are 4"),
        ("network", "channels", 0, "network.channels must be at least 1, got 0"),
        ("search", "num_simulations", 0, "search.num_simulations must be at least 1"),
        ("search", "max_depth", -1, "search.max_depth must be at least 0, got -1"),
        ("search", "max_num_considered_actions", 0, "search.max_num_considered_actions must be at least 1, got 0"),
        ("search", "c_puct", -1.0, "search.c_puct must be at least 0"),
        ("search", "c_init", -1.0, "search.c_init must be at least 0"),
        ("search", "c_base", 0.0, "search.c_base must be at least 1"),
        ("search", "fpu_reduction", -0.1, "search.fpu_reduction must be at least 0, got -0.1"),
        ("search", "dirichlet_alpha", -0.3, "search.dirichlet_alpha must be at least 0, got -0.3"),
        ("search", "temperature", -1.0, "search.temperature must be at least 0, got -1.0"),
        ("search", "temperature", math.nan, "search.temperature must be at least 0, got nan"),
        ("search", "temperature_plies", -1, "search.temperature_plies must be at least 0"),
        ("search", "reuse_nodes", -1, "search.reuse_nodes must be at least 0"),
        ("search", "full_search_share", 0.0, "full_search_share=0.0 must be above 0 and at most 1"),
        ("search", "full_search_share", 1.5, "full_search_share=1.5 must be above 0 and at most 1"),
        ("selfplay", "lanes", 6, "selfplay.lanes=6 cannot be split over 4 devices"),
        ("selfplay", "opening_plies", 9, "no game of tic_tac_toe lasts longer than 9 moves"),
        ("replay", "min_fill", 49, "replay.min_fill=49 may never be reached .* it may be up to half, 48"),
        ("learner", "batch_size", 10, "learner.batch_size=10 cannot be split over 4 devices"),
        ("learner", "batch_size", 100, "learner.batch_size=100 is larger than the replay"),
        ("learner", "learning_rate", 0.0, "learner.learning_rate=0.0 must be above 0"),
        ("learner", "average_decay", 1.0, "average_decay=1 would never learn"),
        ("learner", "search_value_weight", 1.5, "search_value_weight=1.5 must lie between 0 and 1"),
        ("checkpoint", "keep", 0, "checkpoint.keep must be at least 1"),
        ("rating", "games", 5, "rating.games=5 must be even"),
    ],
)
def test_what_makes_no_sense_is_refused(stage, field, value, message):
    configs.validate(tiny_config(), devices=4)
    with pytest.raises(ValueError, match=message):
        configs.validate(tiny_config({stage: {field: value}}), devices=4)


PUCT = {"policy": "puct"}
CHEAP = {"full_search_share": 0.5}


@pytest.mark.parametrize(
    "search, message",
    [
        (PUCT | {"dirichlet_fraction": 1.1}, r"search.dirichlet_fraction=1.1 must lie between 0 and 1, or be None"),
        (PUCT | {"dirichlet_fraction": -0.1}, r"search.dirichlet_fraction=-0.1 must lie between 0 and 1"),
        (PUCT | {"dirichlet_fraction": math.nan}, r"search.dirichlet_fraction=nan must lie between 0 and 1"),
        (CHEAP, r"search.cheap_simulations=0: with full_search_share=0.5 the other moves need at least 1"),
        (CHEAP | {"cheap_simulations": 4}, r"search.cheap_simulations=4: .* fewer than num_simulations=4"),
        (PUCT | CHEAP | {"cheap_simulations": 2, "reuse": "always"}, r"search.reuse=always keeps one tree"),
        ({"reuse": "always"}, r"search.reuse=always: gumbel .*; set search.policy=puct or leave it out"),
        ({"dirichlet_fraction": 0.25}, r"search.dirichlet_fraction=0.25: gumbel .*; set search.policy=puct"),
        (
            {"forced_playouts": 2.0},
            r"search.forced_playouts=2.0: gumbel has no forced playouts; set search",
        ),
    ],
)
def test_search_settings_that_mean_nothing_together_are_refused(search, message):
    with pytest.raises(ValueError, match=message):
        configs.validate(tiny_config({"search": search}), devices=4)


@pytest.mark.parametrize(
    "search",
    [
        PUCT | {"dirichlet_fraction": 0.0},
        PUCT | {"dirichlet_fraction": 1.0, "forced_playouts": 2.0, "reuse": "always", "temperature": 0.0},
        PUCT | CHEAP | {"cheap_simulations": 3},
        CHEAP | {"cheap_simulations": 1},
        {"dirichlet_fraction": 0.0, "reuse": "never"},
    ],
)
def test_search_settings_that_go_together(search):
    configs.validate(tiny_config({"search": search}), devices=4)


def test_cheap_searches_leave_less_to_learn_from():
    """Half of 96 positions may belong to unfinished games, and a quarter of the others is searched in full."""
    search = {"full_search_share": 0.25, "cheap_simulations": 1}
    configs.validate(tiny_config({"search": search, "replay": {"min_fill": 12}}), devices=4)
    with pytest.raises(ValueError, match=r"replay.min_fill=13 may never be reached .* it may be up to half, 12"):
        configs.validate(tiny_config({"search": search, "replay": {"min_fill": 13}}), devices=4)


def test_a_search_tells_what_it_does_by_default():
    assert SearchConfig().noise_fraction == 0 and SearchConfig(policy="puct").noise_fraction == 0.25
    assert SearchConfig(policy="puct", dirichlet_fraction=0.1).noise_fraction == 0.1
    assert SearchConfig(policy="puct", dirichlet_fraction=0.0).noise_fraction == 0
    assert SearchConfig(num_simulations=7).kept_nodes == 7
    assert SearchConfig(num_simulations=7, reuse_nodes=3).kept_nodes == 3
    assert SearchConfig(reuse_nodes=3).with_simulations(5) == SearchConfig(num_simulations=5, reuse_nodes=3)


def test_unknown_words_are_refused():
    """Where nothing checks types, as it does in the tests."""
    config = tiny_config()
    object.__setattr__(config.search, "policy", "uct")
    with pytest.raises(ValueError, match=r"search.policy='uct' is not one of 'gumbel', 'puct'"):
        configs.validate(config, devices=4)


def test_the_replay_holds_whole_iterations_and_at_least_its_capacity():
    config = tiny_config({"replay": {"capacity": 100}})
    assert config.moves_per_iteration == 24
    assert config.replay_rows == 5 * 6  # five iterations of 24 moves; each lane keeps 30
