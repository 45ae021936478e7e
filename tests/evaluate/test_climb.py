"""The ladder: where it stops, what it reports, and what cannot be climbed."""

import jax
import jax.numpy as jnp
import pytest
from own_game import Nim

from azjax.config import LadderConfig
from azjax.evaluate.climb import Rung, climb
from azjax.players import Player, random_player

HEAP = Nim(sticks=16)


def leave_a_multiple(params, key, states):
    """Perfect play: leaves a multiple of four, or takes one stick where there is no such move."""
    del params, key
    return jnp.maximum(states.left % 4, 1).astype(jnp.int32) - 1


PERFECT = Player("perfect", leave_a_multiple)


def climbed(game, player, *, first, step, most, games=4):
    told = []
    ladder = LadderConfig(first=first, step=step, most=most, games=games)
    rungs = climb(game, player, ladder, key=jax.random.key(0), report=told.append)
    assert told == rungs
    return rungs


def test_it_goes_up_while_every_game_is_won():
    """One to three simulations are as good as random moves, which lose to perfect play on either side."""
    rungs = climbed(HEAP, PERFECT, first=1, step=1, most=3)
    assert [rung.simulations for rung in rungs] == [1, 2, 3]
    for rung in rungs:
        assert isinstance(rung, Rung)
        assert rung.result.names == ("perfect", f"rollouts {rung.simulations}")
        assert (rung.result.games, rung.result.wins) == (4, 4)
        assert all(record.opening_plies == 0 for record in rung.result.records)


def test_it_ends_at_the_first_match_that_is_not_won_in_full():
    """The second player wins twelve sticks, which some hundred simulations see, and one does not."""
    rungs = climbed(Nim(sticks=12), PERFECT, first=1, step=300, most=1_000)
    assert [rung.simulations for rung in rungs] == [1, 301]
    assert rungs[0].result.wins == 4
    assert rungs[1].result.as_first.losses > 0 and rungs[1].result.as_second.wins == 2


def test_it_ends_at_the_last_rung_below_the_most():
    assert [rung.simulations for rung in climbed(HEAP, PERFECT, first=1, step=2, most=4)] == [1, 3]
    assert [rung.simulations for rung in climbed(HEAP, PERFECT, first=2, step=9, most=2)] == [2]


def test_who_loses_at_once_stays_at_the_foot():
    (rung,) = climbed(HEAP, random_player(HEAP), first=3, step=1, most=9)
    assert rung.simulations == 3 and rung.result.wins < 4


def test_equal_keys_bring_equal_climbs():
    assert climbed(HEAP, PERFECT, first=1, step=1, most=2) == climbed(HEAP, PERFECT, first=1, step=1, most=2)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"first": 0}, "first must be at least 1, got 0"),
        ({"step": 0}, "step must be at least 1, got 0"),
        ({"step": -5}, "step must be at least 1, got -5"),
        ({"first": 9, "most": 8}, "most=8 simulations is below the ladder's first=9"),
        ({"games": 5}, "games must be a multiple of 2, got 5"),
        ({"games": 0}, "games must be at least 2, got 0"),
    ],
)
def test_what_cannot_be_climbed_is_refused_before_any_game(settings, message):
    def act(params, key, states):
        raise AssertionError("a game was played")

    with pytest.raises(ValueError, match=message):
        climb(HEAP, Player("nobody", act), LadderConfig(**settings), key=jax.random.key(0))


def test_the_textbooks_ladder_is_the_default():
    assert (LadderConfig().first, LadderConfig().step, LadderConfig().games) == (1_000, 1_000, 10)
