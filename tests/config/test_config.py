"""Settings: presets, what is refused and in which words, and the way to JSON and back."""

import dataclasses
import json
import math

import pytest
from tiny import tiny_config

import envs
from azjax import config as configs
from azjax.config import Config, PuctConfig, SearchConfig, presets

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


def test_a_presets_changes_leave_the_others_of_their_group():
    """As those of chess and shogi, which have a policy of planes beside what all square boards have."""
    for name in ("chess", "shogi"):
        network = presets.preset(envs.make(name)).network
        assert (network.policy_head, network.policy_channels, network.value_channels) == ("planes", 4, 4)


def test_replace_puts_changes_into_their_stages():
    config = configs.replace(Config(GAMES[0]), {"seed": 3, "search": {"num_simulations": 5}})
    assert (config.seed, config.search.num_simulations) == (3, 5)
    assert config.network == Config(GAMES[0]).network
    assert configs.replace(config, {}) == config
    by_path = {"seed": 3, "search.num_simulations": 5, "search.puct.c_puct": 2.0, "game.size": 6}
    config = configs.replace(Config(envs.make("othello")), by_path)
    assert config.seed == 3 and config.game == envs.make("othello", size=6)
    assert config.search == SearchConfig(num_simulations=5, puct=PuctConfig(c_puct=2.0))
    assert config == configs.replace(Config(envs.make("othello")), configs.merge(by_path))


def test_replace_names_what_there_is():
    with pytest.raises(ValueError, match=r"unknown setting search\.puct\.c; settings of search\.puct: c_puct, c_init"):
        configs.replace(tiny_config(), {"search": {"puct": {"c": 1.0}}})
    with pytest.raises(ValueError, match=r"unknown setting seed\.first; settings: game, seed"):
        configs.replace(tiny_config(), {"seed.first": 1})


def test_merge_puts_later_changes_over_earlier_ones():
    one = {"learner": {"updates": 3, "optimizer_options": {"momentum": 0.9}}, "search.num_simulations": 4}
    other = {"learner.optimizer_options": {"nesterov": 1.0}, "search": {"policy": "puct"}}
    assert configs.merge(one, other) == {
        "learner": {"updates": 3, "optimizer_options": {"nesterov": 1.0}},
        "search": {"num_simulations": 4, "policy": "puct"},
    }
    assert one["learner"]["optimizer_options"] == {"momentum": 0.9}, "the arguments stay as they are"


def test_differences_name_the_fields():
    one = tiny_config()
    other = configs.replace(one, {"seed": 1, "learner": {"optimizer_options": {"momentum": 0.9}}})
    assert configs.differences(one, one) == []
    assert [str(one) for one in configs.differences(one, other)] == [
        "seed: 0 -> 1",
        "learner.optimizer_options: {'weight_decay': 0.0001} -> {'momentum': 0.9}",
    ]
    smaller = dataclasses.replace(one, game=envs.make("connect_four", rows=5))
    assert configs.Difference("game.rows", None, 5) in configs.differences(one, smaller)


def test_json_keeps_every_field():
    config = configs.replace(
        Config(envs.make("dots_and_boxes", rows=2, encoding="pass")),
        {"minutes": 1.5, "learner": {"boundaries": (10, 20), "optimizer_options": {"momentum": 0.9}}},
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
    with pytest.raises(ValueError, match="unknown setting teacher"):
        configs.from_dict(fields | {"teacher": {}})


@pytest.mark.parametrize(
    "stage, field, value, message",
    [
        ("", "iterations", 0, "iterations must be at least 1, got 0"),
        ("", "minutes", -1.0, "minutes must be at least 0"),
        ("", "devices", 9, "devices=9, but there are 4"),
        ("network", "channels", 0, "network.channels must be at least 1, got 0"),
        ("search", "num_simulations", 0, "search.num_simulations must be at least 1"),
        ("search", "max_depth", -1, "search.max_depth must be at least 0, got -1"),
        (
            "search.gumbel",
            "max_num_considered_actions",
            0,
            "search.gumbel.max_num_considered_actions must be at least 1, got 0",
        ),
        ("search.puct", "c_puct", -1.0, "search.puct.c_puct must be at least 0"),
        ("search.puct", "c_init", -1.0, "search.puct.c_init must be at least 0"),
        ("search.puct", "c_base", 0.0, "search.puct.c_base must be at least 1"),
        ("search.puct", "fpu_reduction", -0.1, "search.puct.fpu_reduction must be at least 0, got -0.1"),
        ("search.puct", "dirichlet_alpha", -0.3, "search.puct.dirichlet_alpha must be at least 0, got -0.3"),
        ("search.puct", "temperature", -1.0, "search.puct.temperature must be at least 0, got -1.0"),
        ("search.puct", "temperature", math.nan, "search.puct.temperature must be at least 0, got nan"),
        ("search.puct", "temperature_plies", -1, "search.puct.temperature_plies must be at least 0"),
        ("search.puct", "reuse_nodes", -1, "search.puct.reuse_nodes must be at least 0"),
        ("search", "full_search_share", 0.0, "search.full_search_share must be above 0, got 0.0"),
        ("search", "full_search_share", 1.5, "search.full_search_share must be at most 1, got 1.5"),
        ("selfplay", "lanes", 6, "selfplay.lanes=6 cannot be split over 4 devices"),
        ("selfplay", "opening_plies", 9, "no game of tic_tac_toe lasts longer than 9 moves"),
        ("replay", "min_fill", 49, "replay.min_fill=49 may never be reached .* it may be up to half, 48"),
        ("learner", "batch_size", 10, "learner.batch_size=10 cannot be split over 4 devices"),
        ("learner", "batch_size", 100, "learner.batch_size=100 is larger than the replay"),
        ("learner", "learning_rate", 0.0, "learner.learning_rate must be above 0, got 0.0"),
        ("learner", "average_decay", 1.0, "learner.average_decay must be below 1, got 1.0"),
        ("learner", "search_value_weight", 1.5, "learner.search_value_weight must be at most 1, got 1.5"),
        ("checkpoint", "keep", 0, "checkpoint.keep must be at least 1"),
        ("search.puct", "dirichlet_fraction", 1.1, "search.puct.dirichlet_fraction must be at most 1, got 1.1"),
        ("search.puct", "dirichlet_fraction", math.nan, "search.puct.dirichlet_fraction must be at least 0, got nan"),
        ("rating", "games", 5, "rating.games must be a multiple of 2, got 5"),
    ],
)
def test_what_makes_no_sense_is_refused(stage, field, value, message):
    configs.validate(tiny_config(), devices=4)
    with pytest.raises(ValueError, match=message):
        configs.validate(tiny_config({f"{stage}.{field}".strip("."): value}), devices=4)


PUCT = {"policy": "puct"}
CHEAP = {"full_search_share": 0.5}


@pytest.mark.parametrize(
    "search, message",
    [
        (CHEAP, r"search.cheap_simulations=0: with full_search_share=0.5 the other moves need at least 1"),
        (CHEAP | {"cheap_simulations": 4}, r"search.cheap_simulations=4: .* fewer than num_simulations=4"),
        (PUCT | CHEAP | {"cheap_simulations": 2, "puct.reuse": "always"}, r"search.puct.reuse=always keeps one tree"),
        ({"puct.reuse": "always"}, r"search.puct.reuse=always: gumbel .*; set search.policy=puct or leave it out"),
        ({"puct.forced_playouts": 2.0}, r"search.puct.forced_playouts=2.0: gumbel has no forced playouts; set search"),
    ],
)
def test_search_settings_that_mean_nothing_together_are_refused(search, message):
    with pytest.raises(ValueError, match=message):
        configs.validate(tiny_config({"search": search}), devices=4)


@pytest.mark.parametrize(
    "search",
    [
        PUCT | {"puct.dirichlet_fraction": 0.0},
        PUCT | {"puct": {"dirichlet_fraction": 1.0, "forced_playouts": 2.0, "reuse": "always", "temperature": 0.0}},
        PUCT | CHEAP | {"cheap_simulations": 3},
        CHEAP | {"cheap_simulations": 1},
        {"puct.dirichlet_fraction": 0.0, "puct.reuse": "never"},
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
    assert SearchConfig(num_simulations=7).kept_nodes == 7
    assert SearchConfig(num_simulations=7, puct=PuctConfig(reuse_nodes=3)).kept_nodes == 3
    few = SearchConfig(puct=PuctConfig(reuse_nodes=3)).with_simulations(5)
    assert few == SearchConfig(num_simulations=5, puct=PuctConfig(reuse_nodes=3))


def test_a_setting_that_somebody_gave_is_read():
    gumbel, puct = tiny_config(), tiny_config({"search.policy": "puct"})
    configs.require_effect(gumbel, ["search.num_simulations", "search.gumbel.value_scale", "seed"])
    configs.require_effect(puct, ["search.puct.c_puct"])
    with pytest.raises(ValueError, match=r"search.puct.c_puct has no effect with search.policy=gumbel; set search"):
        configs.require_effect(gumbel, ["search.puct.c_puct"])
    with pytest.raises(ValueError, match=r"search.gumbel.value_scale has no effect with search.policy=puct"):
        configs.require_effect(puct, ["search.gumbel.value_scale"])


def test_what_was_written_before_the_groups_is_read():
    """As azjax 0.1.0 wrote it: all settings of the search side by side, None for the policy's own noise."""
    flat = {"policy": "puct", "num_simulations": 6, "value_scale": 0.2, "c_puct": 2.0, "fpu": "parent"}
    for fraction, expected in ((None, 0.25), (0.1, 0.1)):
        fields = configs.to_dict(tiny_config()) | {"search": flat | {"dirichlet_fraction": fraction}}
        search = configs.from_dict(fields).search
        assert (search.policy, search.num_simulations, search.gumbel.value_scale) == ("puct", 6, 0.2)
        assert search.puct == PuctConfig(c_puct=2.0, fpu="parent", dirichlet_fraction=expected)


def test_unknown_words_are_refused():
    """Where nothing checks types, as it does in the tests."""
    config = tiny_config()
    object.__setattr__(config.search, "policy", "uct")
    with pytest.raises(ValueError, match=r"search.policy='uct' is not one of 'gumbel', 'puct'"):
        configs.validate(config, devices=4)


@pytest.mark.parametrize(
    "stage, field, value, message",
    [
        ("learner", "learning_rate", "fast", "learner.learning_rate must be of type float, got 'fast'"),
        ("search", "num_simulations", 4.0, "search.num_simulations must be of type int, got 4.0"),
        ("learner", "updates", True, "learner.updates must be of type int, got True"),
        ("learner", "symmetries", 1, "learner.symmetries must be of type bool, got 1"),
    ],
)
def test_types_are_checked_where_nothing_else_does(stage, field, value, message):
    config = tiny_config()
    object.__setattr__(getattr(config, stage), field, value)
    with pytest.raises(ValueError, match=message):
        configs.validate(config, devices=4)


def test_the_replay_holds_whole_iterations_and_at_least_its_capacity():
    config = tiny_config({"replay": {"capacity": 100}})
    assert config.moves_per_iteration == 24
    assert config.replay_rows == 5 * 6  # five iterations of 24 moves; each lane keeps 30
