"""What trees and replay take, against the bytes of real ones, and what is refused because it does not fit."""

import re
from typing import Any

import jax
import pytest
from positions import NOTHING, hashed, random_states, uniform
from tiny import tiny_config

import envs
from azjax.config import PuctConfig, SearchConfig, replace
from azjax.devices.memory import (
    MATCH_TREES,
    SELFPLAY_TREES,
    device_bytes,
    game_bytes,
    position_bytes,
    require_run_fits,
    require_search_fits,
)
from azjax.evaluate import arena
from azjax.players import search_player
from azjax.replay import init_replay
from azjax.search import make_match_search, make_reusing_puct
from azjax.search.tree import tree_bytes
from azjax.selfplay import example_move

TIC_TAC_TOE = envs.make("tic_tac_toe")
GAMES = [TIC_TAC_TOE, envs.make("connect_four"), envs.make("dots_and_boxes", rows=2, columns=2)]
PUCT = SearchConfig(policy="puct", num_simulations=20, puct=PuctConfig(reuse_nodes=7))


def held(tree):
    """Bytes of all leaves."""
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree))


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_a_tree_has_the_bytes_of_a_real_one(game):
    lanes = 3
    search = make_reusing_puct(game, uniform(game.num_actions), PUCT, explore=False)
    tree = search.init_memory(NOTHING, random_states(game, lanes, 4))
    assert tree.node_visits.shape == (lanes, 1 + 20 + 7)
    assert tree_bytes(game, 28) * lanes == held(tree.replace(root_invalid_actions=()))


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_a_position_has_the_bytes_of_a_real_replay(game):
    rows, lanes = 4, 3
    replay = jax.eval_shape(lambda: init_replay(example_move(game), rows=rows, lanes=lanes))
    per_position = [leaf for leaf in jax.tree.leaves(replay) if leaf.shape[:2] == (rows, lanes)]
    assert len(per_position) == len(jax.tree.leaves(replay)) - 2  # how many were written, and finished
    sizes = sum(leaf.size * leaf.dtype.itemsize for leaf in per_position)
    assert position_bytes(game) * rows * lanes == sizes


def test_a_search_that_remembers_holds_several_larger_trees():
    plain = game_bytes(TIC_TAC_TOE, PUCT, trees=1)
    assert plain == tree_bytes(TIC_TAC_TOE, 1 + 20)
    assert game_bytes(TIC_TAC_TOE, PUCT, trees=2) == 2 * tree_bytes(TIC_TAC_TOE, 1 + 20 + 7)
    every = replace(PUCT, {"puct.reuse_nodes": 0})
    assert game_bytes(TIC_TAC_TOE, every, trees=3) == 3 * tree_bytes(TIC_TAC_TOE, 1 + 20 + 20)


def test_a_match_takes_no_more_than_is_asked_for():
    """XLA's own account of a match in which both sides reuse their trees."""
    game, config = envs.make("connect_four"), replace(PUCT, {"num_simulations": 200, "puct.reuse_nodes": 0})
    search = make_match_search(game, hashed(7), config)
    player = search_player(search, NOTHING)
    seat = (player.act, player.init_memory)
    compiled = arena._play.lower(game, seat, seat, 16, 2, NOTHING, NOTHING, jax.random.key(0), None).compile()
    account: Any = compiled.memory_analysis()
    taken = account.temp_size_in_bytes
    asked = 8 * game_bytes(game, config, trees=MATCH_TREES)
    assert 0.8 * asked < taken < 1.1 * asked


def test_there_is_memory():
    assert device_bytes() > 2**20


# --- what does not fit ---


def room_for(needed):
    """The least memory of which `needed` bytes may be used."""
    return -(-needed * 5 // 4)


@pytest.mark.parametrize(
    "search, trees",
    [
        (SearchConfig(num_simulations=400), 1),
        (PUCT, MATCH_TREES),
        (replace(PUCT, {"puct.reuse": "never"}), 1),
    ],
    ids=["gumbel", "reuse", "no reuse"],
)
def test_a_match_fits_to_the_byte(search, trees):
    each = game_bytes(TIC_TAC_TOE, search, trees=trees)
    require_search_fits(TIC_TAC_TOE, search, games=10, available=room_for(10 * each))
    with pytest.raises(ValueError) as refused:
        require_search_fits(TIC_TAC_TOE, search, games=10, available=room_for(10 * each) - 2)
    said = str(refused.value)
    assert f"{search.num_simulations} simulations of tic_tac_toe takes {each:,} bytes a game" in said
    assert "for 10 side by side" in said and "would fit 9 games: play fewer games at once" in said


def test_no_search_needs_no_memory():
    require_search_fits(TIC_TAC_TOE, SearchConfig(num_simulations=0), games=10**9, available=0)


def test_without_a_number_the_device_is_asked():
    require_search_fits(TIC_TAC_TOE, SearchConfig(num_simulations=10), games=1)
    with pytest.raises(ValueError, match=r"would fit \d+ games"):
        require_search_fits(TIC_TAC_TOE, SearchConfig(num_simulations=10**9), games=10**6)


@pytest.mark.parametrize("reuse", ["evaluation", "always"])
def test_a_runs_lanes_fit_to_the_byte(reuse):
    """Every device holds its share of the lanes; in self-play only reuse=always remembers."""
    config = tiny_config({"selfplay": {"lanes": 8}, "search": {"policy": "puct", "puct": {"reuse": reuse}}})
    each = game_bytes(config.game, config.search, trees=SELFPLAY_TREES if reuse == "always" else 1)
    trees, replay = 4 * each, position_bytes(config.game) * config.replay_rows * 4
    require_run_fits(config, devices=2, available=room_for(trees + replay))
    with pytest.raises(ValueError, match=rf"takes {each:,} bytes a game.*would fit 3 games: lower search.num_sim"):
        require_run_fits(config, devices=2, available=room_for(trees) - 2)
    with pytest.raises(ValueError) as refused:
        require_run_fits(config, devices=2, available=room_for(trees + replay) - 2)
    assert re.search(rf"the replay of {config.replay_rows * 4} positions.*lower replay.capacity=96", str(refused.value))


def test_more_devices_share_the_lanes():
    config = tiny_config()
    each = game_bytes(config.game, config.search, trees=1) + config.replay_rows * position_bytes(config.game)
    require_run_fits(config, devices=4, available=room_for(each))
    with pytest.raises(ValueError, match="device has"):
        require_run_fits(config, devices=2, available=room_for(each))
