"""Matches: every game replays through the rules, both sides are treated alike, and nothing is compiled twice."""

from __future__ import annotations

import dataclasses
import json
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Bool, Int

import envs
from azjax.evaluate.arena import DuplicateGamesWarning, GameRecord, MatchResult, Tally, play_match
from azjax.players import Player, random_player, solver_player
from envs import Game, Move

TIC_TAC_TOE = envs.make("tic_tac_toe")
BOXES = envs.make("dots_and_boxes", rows=2, columns=2)
GAMES = 40
TRACES: list[str] = []


def by_preference(params, key, states):
    """The legal action of the highest preference, and a note that this was traced."""
    del key
    TRACES.append("by_preference")
    game = TIC_TAC_TOE if params.shape[0] == TIC_TAC_TOE.num_actions else BOXES
    masks = jax.vmap(game.legal_action_mask)(states)
    return jnp.argmax(jnp.where(masks, params[None], -jnp.inf), axis=-1).astype(jnp.int32)


def lowest(game):
    return Player("lowest", by_preference, -jnp.arange(float(game.num_actions)))


def highest(game):
    return Player("highest", by_preference, jnp.arange(float(game.num_actions)))


class State(NamedTuple):
    """A position of Coins."""

    moves: Int[Array, ""]
    player: Int[Array, ""]
    terminated: Bool[Array, ""]


@dataclasses.dataclass(frozen=True)
class Coins(Game[State]):
    """Each move takes 0, 1 or 2 coins, paid at once; the third in a move is illegal. Only the move cap ends it."""

    cap: int = 6
    claimed: int = 6  # what it says the cap is

    @property
    def num_actions(self) -> int:
        return 4

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return 1, 1, 1

    @property
    def max_moves(self) -> int:
        return self.claimed

    def init(self) -> State:
        return State(moves=jnp.int8(0), player=jnp.int8(0), terminated=jnp.bool_(False))

    def observe(self, state: State) -> Bool[Array, "1 1 1"]:
        return jnp.zeros((1, 1, 1), bool)

    def _legal(self, state: State) -> Bool[Array, " actions"]:
        return jnp.arange(4) < 3

    def _move(self, state: State, action: Int[Array, ""]) -> Move[State]:
        over = state.moves + 1 == self.cap
        after = State(state.moves + 1, 1 - state.player, terminated=over)
        return Move(after, reward=action.astype(jnp.float32), truncated=over)

    def render(self, state: State) -> str:
        return f"move {state.moves}"

    def action_to_text(self, state: State, action: int) -> str:
        return str(action)


def takes(params, key, states):
    """Takes `params` coins."""
    del key
    return jnp.full(states.player.shape, params, jnp.int32)


def replay(game, record: GameRecord):
    """The points of the first player and whether the cap ended the game, one move at a time by the rules alone."""
    step = jax.jit(game.step)
    state, points, transition = game.init(), 0.0, None
    for action in record.actions:
        assert not state.terminated
        mover = int(state.player)
        state, transition = step(state, jnp.int32(action))
        points += float(transition.reward) * (1 if mover == 0 else -1)
    assert transition is not None and state.terminated
    return points, bool(transition.truncated)


@pytest.fixture(scope="module")
def boxes_match():
    return play_match(BOXES, highest(BOXES), random_player(BOXES), games=GAMES, key=jax.random.key(0))


# --- records ---


@pytest.mark.parametrize("game", [TIC_TAC_TOE, BOXES], ids=lambda game: game.name)
def test_records_replay_to_their_results(game):
    """Also with extra turns, where the mover of the last move need not be the other one's successor."""
    result = play_match(game, random_player(game), random_player(game, "other"), games=GAMES, key=jax.random.key(3))
    for record in result.records:
        points, truncated = replay(game, record)
        assert (np.sign(points), truncated) == (record.result, record.truncated)
    assert {record.result for record in result.records} >= {1, -1}
    assert json.loads(json.dumps(result.records[0]._asdict()))["actions"] == result.records[0].actions


def test_each_player_moves_in_its_own_turns(boxes_match):
    """The deterministic player's moves, and only those, are the highest legal ones."""
    step, legal = jax.jit(BOXES.step), jax.jit(BOXES.legal_action_mask)
    other = 0
    for record in boxes_match.records[:10]:
        state = BOXES.init()
        for i, action in enumerate(record.actions):
            mover = (record.first, record.second)[int(state.player)]
            is_highest = action == np.flatnonzero(legal(state)).max()
            if i >= record.opening_plies:
                assert is_highest or mover == "random"
                other += not is_highest
            state, _ = step(state, jnp.int32(action))
    assert other > 20


def test_pairs_share_the_opening_and_swap_the_colours(boxes_match):
    records = boxes_match.records
    for one, two in zip(records[0::2], records[1::2], strict=True):
        assert (one.first, one.second) == (two.second, two.first) == ("highest", "random")
        assert one.opening_plies == two.opening_plies == 2 and one.actions[:2] == two.actions[:2]
    assert len({tuple(record.actions[:2]) for record in records}) > GAMES / 4


def test_counts_agree_with_the_records(boxes_match):
    result = boxes_match
    as_a = [record.result if record.first == "highest" else -record.result for record in result.records]
    assert result.names == ("highest", "random") and result.games == GAMES == len(result.records)
    assert (result.wins, result.draws, result.losses) == tuple(as_a.count(x) for x in (1, 0, -1))
    assert result.as_first == Tally(*(as_a[0::2].count(x) for x in (1, 0, -1)))
    assert result.as_second == Tally(*(as_a[1::2].count(x) for x in (1, 0, -1)))
    assert sum(result.as_first) == sum(result.as_second) == GAMES // 2
    assert result.score() == pytest.approx(np.mean(as_a) / 2 + 0.5)
    assert result.unique_games == len({(r.first, *r.actions) for r in result.records})


# --- fairness ---


def test_perfect_play_beats_random_from_both_seats():
    result = play_match(BOXES, solver_player(BOXES), random_player(BOXES), games=GAMES, key=jax.random.key(1))
    assert result.names == ("solver", "random")
    assert result.as_first.wins > 15 and result.as_second.wins > 15 and result.score() > 0.8


@pytest.mark.parametrize("game", [TIC_TAC_TOE, BOXES], ids=lambda game: game.name)
def test_equal_players_score_a_half(game):
    """Although moving first is worth much in tic-tac-toe."""
    result = play_match(game, random_player(game), random_player(game), games=GAMES, key=jax.random.key(4))
    assert abs(result.score() - 0.5) < 3 * result.score_error()


def test_swapping_the_players_turns_the_result():
    one, two = (
        play_match(BOXES, *order, games=GAMES, key=jax.random.key(2))
        for order in ((highest(BOXES), lowest(BOXES)), (lowest(BOXES), highest(BOXES)))
    )
    assert (one.wins, one.draws, one.losses) == (two.losses, two.draws, two.wins)
    assert one.as_first == Tally(*reversed(two.as_second))
    assert {(r.first, *r.actions) for r in one.records} == {(r.first, *r.actions) for r in two.records}


def test_a_game_does_not_depend_on_the_others():
    few, many = (
        play_match(BOXES, highest(BOXES), lowest(BOXES), games=games, key=jax.random.key(2)) for games in (8, GAMES)
    )
    assert many.records[:8] == few.records


def test_rewards_before_the_end_count_for_their_mover():
    """After four random moves each player has one: A takes 2 coins, B none."""
    game, two, none = Coins(), Player("A", takes, jnp.int32(2)), Player("B", takes, jnp.int32(0))
    result = play_match(game, two, none, games=GAMES, key=jax.random.key(1), opening_plies=4)
    for record in result.records:
        assert np.sign(replay(game, record)[0]) == record.result
    assert {record.result for record in result.records} == {0, 1, -1} and result.score() > 0.6


# --- ends ---


def test_move_cap_is_a_draw_with_its_reason():
    players = Player("A", takes, 0), Player("B", takes, 0)
    with pytest.warns(DuplicateGamesWarning):
        result = play_match(Coins(), *players, games=8, key=jax.random.key(0), opening_plies=0)
    assert result.draws == result.truncated == 8 and all(record.truncated for record in result.records)


def test_an_illegal_action_loses():
    cheat, fair = Player("A", takes, 3), Player("B", takes, 1)
    with pytest.warns(DuplicateGamesWarning):
        result = play_match(Coins(), cheat, fair, games=8, key=jax.random.key(0), opening_plies=0)
    assert result.losses == 8 and result.truncated == 0
    assert all(record.actions[-1] == 3 for record in result.records)


def test_a_game_that_outlasts_its_cap_is_an_error():
    with pytest.raises(RuntimeError, match="max_moves = 4"):
        play_match(Coins(claimed=4), Player("A", takes, 0), Player("B", takes, 0), games=8, key=jax.random.key(0))


# --- duplicates and errors ---


def test_repeated_games_are_counted_and_announced():
    players = highest(TIC_TAC_TOE), lowest(TIC_TAC_TOE)
    with pytest.warns(DuplicateGamesWarning, match="only 2 of 40"):
        result = play_match(TIC_TAC_TOE, *players, games=GAMES, key=jax.random.key(0), opening_plies=0)
    assert result.unique_games == 2 and result.repeats()


@pytest.mark.parametrize("games", [7, 0, -2])
def test_uneven_matches_are_refused(games):
    player = random_player(TIC_TAC_TOE)
    with pytest.raises(ValueError, match=f"got {games} games"):
        play_match(TIC_TAC_TOE, player, player, games=games, key=jax.random.key(0))


def test_impossible_openings_are_refused():
    player = random_player(TIC_TAC_TOE)
    with pytest.raises(ValueError, match="0 to 8"):
        play_match(TIC_TAC_TOE, player, player, games=2, key=jax.random.key(0), opening_plies=9)


def match_of(*results: int) -> MatchResult:
    """A match of A's results, A moving first in every other game."""
    records = [
        GameRecord("AB"[i % 2], "BA"[i % 2], result * (-1) ** i, truncated=False, opening_plies=0, actions=[i])
        for i, result in enumerate(results)
    ]
    wins, draws, losses = (results.count(x) for x in (1, 0, -1))
    return MatchResult(("A", "B"), len(results), wins, draws, losses, Tally(0, 0, 0), Tally(0, 0, 0), 0, 0, records)


def test_draws_count_half():
    """EV-02: 40 draws are a half, and 6 won and 4 lost beside 390 draws are next to it, whatever the decisive say."""
    for wins, draws, losses, score in ((0, 40, 0, 0.5), (6, 390, 4, 0.5025)):
        results = [1] * wins + [0] * draws + [-1] * losses
        records = [GameRecord("ab"[i % 2], "ba"[i % 2], r * (-1) ** i, False, 0, []) for i, r in enumerate(results)]
        tally, nothing = Tally(wins, draws, losses), Tally(0, 0, 0)
        result = MatchResult(("a", "b"), len(results), *tally, nothing, nothing, 1, 0, records)
        low, high = result.interval()
        assert result.score() == score and low < 0.5 < high  # not significant


def test_error_bar_follows_the_pairs():
    """If the first player always wins, 100 pairs all score a half: far more certain than 200 independent games."""
    same = match_of(*[1, -1] * 100)
    other = match_of(*[1, 1] * 50, *[-1, -1] * 50)
    assert same.score() == other.score() == 0.5
    assert same.score_error() < 0.01 and other.score_error() == pytest.approx(0.5 / np.sqrt(102))
    assert 0.05 < match_of(1, 1, 1, 1, 1, 1).score_error() < 0.3  # a sweep of three pairs proves little


# --- cost ---


def test_checkpoints_compile_once():
    rng = np.random.default_rng(0)
    pool = [Player(f"checkpoint {i}", by_preference, jnp.asarray(rng.normal(size=BOXES.num_actions))) for i in range(4)]
    play_match(BOXES, pool[0], pool[1], games=GAMES, key=jax.random.key(0))
    traced = len(TRACES)
    first = play_match(BOXES, pool[2], pool[3], games=GAMES, key=jax.random.key(1))
    second = play_match(BOXES, pool[1], pool[0], games=GAMES, key=jax.random.key(1))
    assert len(TRACES) == traced
    assert first.records[0].actions != second.records[0].actions


def test_no_evaluation_is_wasted_under_alternate_turns():
    """8 games of 6 moves are 48 moves, so either player is asked 6 times about half of the games."""
    calls = []

    def counting(params, key, states):
        jax.debug.callback(lambda: calls.append(states.player.shape[0]))
        return takes(params, key, states)

    players = Player("A", counting, 1), Player("B", takes, 0)
    with pytest.warns(DuplicateGamesWarning):
        play_match(Coins(), *players, games=8, key=jax.random.key(0), opening_plies=0)
    jax.effects_barrier()
    assert calls == [4] * 6
