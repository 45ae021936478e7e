"""Players of a user's own, batched or thinking, in matches, ratings and play."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import own_player
import pytest
from positions import NOTHING, hashed
from tiny import tiny_config

import envs
from azjax import cli, players
from azjax.config import RatingConfig, SearchConfig
from azjax.evaluate.arena import play_match
from azjax.evaluate.exact import exhaustive
from azjax.network import make_network
from azjax.players.own import load_player
from azjax.runs.directory import RunDirectory
from azjax.runs.rating import rate_run
from azjax.search import make_match_search, make_search
from azjax.serve.terminal import play

TIC_TAC_TOE, BOXES = envs.make("tic_tac_toe"), envs.make("dots_and_boxes", rows=2, columns=2)


def match(game, a, b, games=20):
    return play_match(game, a, b, games=games, key=jax.random.key(3), opening_plies=3)


def highest(game):
    def act(params, key, states):
        legal = jax.vmap(game.legal_action_mask)(states)
        return (game.num_actions - 1 - jnp.argmax(legal[:, ::-1], axis=-1)).astype(jnp.int32)

    return players.Player("highest", act)


@pytest.mark.parametrize("game", [TIC_TAC_TOE, BOXES], ids=lambda game: game.name)
def test_a_match_on_the_host_is_the_match_on_the_device(game):
    """Game for game, from either seat, with kept turns: what thinks of one position plays as what acts on a batch."""
    device = match(game, own_player.lowest(game), highest(game))
    host = match(game, own_player.thinks(game)._replace(name="lowest"), highest(game))
    assert host == device and device.as_first != device.as_second
    device = match(game, highest(game), own_player.lowest(game))
    host = match(game, highest(game), own_player.thinks(game)._replace(name="lowest"))
    assert host == device


def test_memories_on_the_host_are_those_on_the_device():
    """A search that reuses its trees, from move to move of each of its games."""
    config = SearchConfig(policy="puct", num_simulations=12)
    player = players.search_player(make_match_search(BOXES, hashed(BOXES.num_actions), config), NOTHING, "puct")
    assert player.init_memory is not None
    device = match(BOXES, player, own_player.lowest(BOXES))
    host = match(BOXES, player, own_player.thinks(BOXES)._replace(name="lowest"))
    assert host == device
    forgetful = players.search_player(make_search(BOXES, hashed(BOXES.num_actions), config), NOTHING, "puct")
    assert match(BOXES, forgetful, own_player.lowest(BOXES)) != device, "its memory makes a difference"


def test_what_is_no_player_plays_no_match():
    """Where nothing checks types, as it does in the tests."""
    unchecked = inspect.unwrap(play_match)
    with pytest.raises(TypeError, match="got 'random' for a player; a match takes a Player or a Thinker of azjax"):
        unchecked(TIC_TAC_TOE, "random", own_player.lowest(TIC_TAC_TOE), games=2, key=jax.random.key(0))


def test_two_thinkers():
    result = match(TIC_TAC_TOE, own_player.thinks(TIC_TAC_TOE), players.rollout_thinker(TIC_TAC_TOE, 60), games=6)
    assert result.games == 6 and result.losses > result.wins


def test_an_illegal_move_of_a_thinker_loses():
    result = match(TIC_TAC_TOE, own_player.cheats(TIC_TAC_TOE), own_player.lowest(TIC_TAC_TOE), games=4)
    assert result.losses == 4 and {len(record.actions) for record in result.records} <= {4, 5}


def test_a_batched_player_thinks_about_one_position():
    """With its memory, which goes on from move to move, too."""
    config = SearchConfig(policy="puct", num_simulations=12)
    search = make_match_search(TIC_TAC_TOE, hashed(9), config)
    player = players.search_player(search, NOTHING, "puct")
    one, other = players.as_thinker(player), players.search_thinker(TIC_TAC_TOE, search, NOTHING, "puct")
    state, key = TIC_TAC_TOE.init(), jax.random.key(0)
    for _ in range(3):
        thought = one.think(state, key)
        assert thought.score is None and thought.action == other.think(state, key).action
        state, _ = TIC_TAC_TOE.step(state, jnp.int32(thought.action))
    assert players.as_thinker(other) is other


def test_a_player_that_remembers_is_measured_exactly():
    """Each position is new to it: as if it remembered nothing."""
    config = SearchConfig(policy="puct", num_simulations=6)
    searches = (make(TIC_TAC_TOE, hashed(9), config) for make in (make_match_search, make_search))
    remembers, forgets = (
        exhaustive(TIC_TAC_TOE, players.search_player(search, NOTHING), jax.random.key(0)) for search in searches
    )
    assert remembers == forgets


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run with one network, untrained."""
    run = RunDirectory.create(tmp_path_factory.mktemp("own") / "run", tiny_config())
    networks = run.networks(read_only=False)
    variables = make_network(run.config.game, run.config.network).init(jax.random.key(0))
    networks.save(0, variables, {"games": 0, "minutes": 0.0})
    networks.close()
    return run


def test_ratings_take_both_kinds(run):
    settings, lines = RatingConfig(games=4, num_simulations=0), []
    others = [own_player.lowest(TIC_TAC_TOE), own_player.thinks(TIC_TAC_TOE)]
    ratings = rate_run(run, settings, others=others, report=lines.append)
    assert set(ratings.names) == {"random", "iteration 0", "lowest", "thinks"} and not ratings.unconnected
    assert len(lines) == 3 and np.isfinite(ratings.elo).all()
    rate_run(run, settings, others=others, report=lines.append)
    assert len(lines) == 3, "matches are not played again"
    with pytest.raises(ValueError, match="two players are named 'random'"):
        rate_run(run, settings, others=[players.random_player(TIC_TAC_TOE)])


def test_play_takes_both_kinds(run, capsys):
    for make in (own_player.lowest, own_player.thinks):
        said: list[str] = []
        assert play(TIC_TAC_TOE, make(TIC_TAC_TOE), you="none", say=said.append) == 1
        assert ("expects a score of 25 %" in "\n".join(said)) == (make is own_player.thinks)
    for target in (run.path, "tic_tac_toe"):
        assert cli.main(["play", str(target), "--opponent", "own_player:thinks", "--you", "none"]) == 0
        printed = capsys.readouterr()
        assert "TicTacToe(): thinks, both sides." in printed.out and not printed.err


@pytest.mark.parametrize(
    "name, message",
    [
        ("lowest", "'lowest' is not module:function; your own player is a function of the game in a module"),
        ("own_player:absent", "no player 'own_player:absent': AttributeError"),
        ("nowhere:player", "no player 'nowhere:player': ModuleNotFoundError"),
        ("own_player:nobody", "'own_player:nobody' returned str, expected an azjax.Player or an azjax.Thinker"),
    ],
)
def test_what_is_no_player_is_refused(name, message):
    with pytest.raises(ValueError, match=message):
        load_player(name, TIC_TAC_TOE)


def test_the_command_names_the_opponents_there_are(run, capsys):
    for target, known in ((run.path, "network, rollouts, solver, random"), ("tic_tac_toe", "rollouts, solver, random")):
        assert cli.main(["play", str(target), "--opponent", "wizard"]) == 2
        expected = f"--opponent: invalid choice 'wizard', expected {known} or module:function"
        assert expected in capsys.readouterr().err
