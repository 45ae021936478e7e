"""Ratings: laws, closed forms, independent fits of the same model, known strengths."""

from __future__ import annotations

import csv
import itertools
import json

import numpy as np
import pytest
import scipy.optimize

from azjax.evaluate import bayeselo
from azjax.evaluate.bayeselo import PairCount, rate


def f(x: float) -> float:
    return 1 / (1 + 10 ** (-x / 400))


def simulate(strengths: dict[str, float], games: int, *, advantage=0.0, draw_elo=0.0, seed=0):
    """`games` games of every ordered pair, by the model's own probabilities."""
    rng = np.random.default_rng(seed)
    results = []
    for one, two in itertools.permutations(strengths, 2):
        x = strengths[one] - strengths[two] + advantage
        wins, losses = f(x - draw_elo), f(-x - draw_elo)
        counts = rng.multinomial(games, [wins, max(0.0, 1 - wins - losses), losses])
        results.append(PairCount(one, two, *counts.tolist()))
    return results


def log_posterior(results, ratings, advantage, draw_elo):
    """The model and its prior of two virtual draws, word for word; games without draw and win terms apart."""
    total = np.log(f(advantage) * f(-advantage)) + np.log(1 - 2 * f(-draw_elo)) + np.log(f(-draw_elo))
    games = {name: sum(sum(r[2:]) for r in results if name in r[:2]) for name in ratings}
    for one, two, wins, draws, losses in results:
        difference = ratings[one] - ratings[two]
        win, loss = f(difference + advantage - draw_elo), f(-difference - advantage - draw_elo)
        total += wins * np.log(win) + draws * np.log(1 - win - loss) + losses * np.log(loss)
        virtual = (wins + draws + losses) * (1 / games[one] + 1 / games[two])
        total += virtual * np.log(f(difference) * f(-difference))
    return total


STRENGTHS = {"a": 0.0, "b": 120.0, "c": 300.0, "d": -80.0}
POOL = simulate(STRENGTHS, 30, advantage=40.0, draw_elo=80.0)


# --- laws ---


def test_only_differences_from_the_anchor_mean_anything():
    """Law 14, with other anchors."""
    one, two = rate(POOL, anchor="a"), rate(POOL, anchor="c", anchor_elo=1000.0)
    np.testing.assert_allclose(two.elo, one.elo - one.elo[one.index("c")] + 1000, atol=1e-6)
    for ratings, anchor, fixed in ((one, "a", 0), (two, "c", 1000)):
        i = ratings.index(anchor)
        assert ratings.elo[i] == ratings.low[i] == ratings.high[i] == fixed


def test_names_carry_no_meaning():
    """Law 14, with other names in another order."""
    other = dict(zip("abcd", "wzxy", strict=True))
    one = rate(POOL, anchor="b")
    two = rate([PairCount(other[r.first], other[r.second], *r[2:]) for r in reversed(POOL)], anchor="z")
    for name in "abcd":
        assert two.elo[two.index(other[name])] == pytest.approx(one.elo[one.index(name)], abs=1e-6)


def test_other_colour_turns_the_advantage():
    one = rate(POOL, anchor="a")
    two = rate([PairCount(r.second, r.first, r.losses, r.draws, r.wins) for r in POOL], anchor="a")
    np.testing.assert_allclose(two.elo, one.elo, atol=1e-6)
    assert two.advantage == pytest.approx(-one.advantage, abs=1e-6)


def test_rows_of_a_pair_add_up():
    split = [PairCount(r.first, r.second, *part) for r in POOL for part in ((r.wins, 0, 0), (0, r.draws, r.losses))]
    np.testing.assert_allclose(rate(split, anchor="a").high, rate(POOL, anchor="a").high, atol=1e-6)


def test_four_times_the_games_halve_the_intervals():
    many = [PairCount(r.first, r.second, *(10 * count for count in r[2:])) for r in POOL]
    more = [PairCount(r.first, r.second, *(4 * count for count in r[2:])) for r in many]
    one, two = rate(many, anchor="a"), rate(more, anchor="a")
    np.testing.assert_allclose((one.high - one.low)[1:], 2 * (two.high - two.low)[1:], rtol=0.01)


def test_draws_only_are_equals():
    ratings = rate([PairCount("a", "b", 0, 20, 0), PairCount("b", "c", 0, 7, 0)], anchor="a")
    np.testing.assert_allclose(ratings.elo, 0, atol=1e-6)
    assert np.isfinite(ratings.high).all() and (ratings.high[1:] > 0).all()


def test_clean_sweep_is_finite_and_grows_with_the_games():
    sweeps = [
        rate([PairCount("a", "b", n, 0, 0), PairCount("b", "a", 0, 0, n)], anchor="b") for n in (1, 10, 1000, 100_000)
    ]
    assert all(np.isfinite([s.elo, s.low, s.high]).all() for s in sweeps)
    assert (np.diff([s.elo[0] for s in sweeps]) > 0).all() and sweeps[0].elo[0] > 0


# --- closed forms ---


def test_two_players_without_draws_and_prior():
    ratings = rate([PairCount("a", "b", 60, 0, 40)], anchor="b", prior_draws=1e-6, advantage=0.0, draw_elo=0.0)
    assert ratings.elo[0] == pytest.approx(400 * np.log10(60 / 40), abs=1e-4)
    # The information about the log odds of 100 games is 100 p (1 - p).
    deviation = 400 / np.log(10) / np.sqrt(100 * 0.6 * 0.4)
    assert ratings.high[0] - ratings.elo[0] == pytest.approx(1.95996 * deviation, rel=1e-4)


def test_virtual_draws_are_wins_and_losses():
    """Two players who met only each other share `prior_draws`, each a win and a loss."""
    ratings = rate([PairCount("a", "b", 7, 0, 0)], anchor="b", prior_draws=2.0, advantage=0.0, draw_elo=0.0)
    assert ratings.elo[0] == pytest.approx(400 * np.log10((7 + 2) / 2), abs=1e-6)


def test_advantage_between_equals():
    """Each wins 3 of 4 with the first move: f(advantage) = 3 / 4."""
    results = [PairCount("a", "b", 300, 0, 100), PairCount("b", "a", 300, 0, 100)]
    ratings = rate(results, anchor="a", prior_draws=1e-6)
    assert ratings.advantage == pytest.approx(400 * np.log10(3), abs=0.01)
    np.testing.assert_allclose(ratings.elo, 0, atol=1e-6)


def test_draw_elo_between_equals():
    """Half of the games drawn, a quarter won: f(-draw_elo) = 1 / 4."""
    ratings = rate([PairCount("a", "b", 100, 200, 100)], anchor="a", prior_draws=1e-6, advantage=0.0)
    assert ratings.draw_elo == pytest.approx(400 * np.log10(3), abs=0.01)


# --- oracles ---


def test_bradley_terry_by_minorisation():
    """Without draws and advantage this is Bradley and Terry's model: Hunter's MM iteration (2004) fits it, too."""
    results = simulate(STRENGTHS, 20, seed=3)
    ratings = rate(results, anchor="a", advantage=0.0, draw_elo=0.0, prior_draws=2.0)
    names = ratings.names
    wins = np.zeros((4, 4))
    for one, two, won, _, lost in results:
        i, j = names.index(one), names.index(two)
        virtual = 2 / 2 * 20 * (2 / 120)  # each player has 120 games, 20 of them in this row
        wins[i, j] += won + virtual
        wins[j, i] += lost + virtual
    strength = np.ones(4)
    for _ in range(5000):
        shares = (wins + wins.T) / (strength[:, None] + strength)
        strength = wins.sum(axis=1) / shares.sum(axis=1)
        strength /= strength[0]
    np.testing.assert_allclose(ratings.elo, 400 * np.log10(strength), atol=1e-6)


def test_whole_model_by_a_general_optimiser():
    """Mode and curvature against the posterior as its formulas say it, differentiated numerically."""
    ratings = rate(POOL, anchor="a")

    def loss(x):
        return -log_posterior(POOL, dict(zip("abcd", (0, *x[:3]), strict=True)), x[3], x[4])

    found = scipy.optimize.minimize(loss, [0, 0, 0, 0, 50], method="BFGS")
    ours = np.array([*ratings.elo[1:], ratings.advantage, ratings.draw_elo])
    np.testing.assert_allclose(ours, found.x, atol=0.05)
    steps = np.eye(5)
    hessian = [
        [sum(i * j * loss(ours + i * a + j * b) for i in (1, -1) for j in (1, -1)) / 4 for a in steps] for b in steps
    ]
    deviations = np.sqrt(np.diag(np.linalg.inv(np.array(hessian))))[:3]
    np.testing.assert_allclose((ratings.high - ratings.low)[1:], 2 * 1.95996 * deviations, rtol=1e-3)


def test_known_strengths_are_recovered():
    rng = np.random.default_rng(1)
    strengths = {f"p{i:03}": rating for i, rating in enumerate((0.0, *rng.normal(0, 300, 59)))}
    ratings = rate(simulate(strengths, 40, advantage=35.0, draw_elo=60.0), anchor="p000")
    error = ratings.elo - np.array(list(strengths.values()))
    assert np.abs(error).max() < 60
    assert ratings.advantage == pytest.approx(35, abs=6) and ratings.draw_elo == pytest.approx(60, abs=6)


def test_intervals_hold_the_truth_19_times_in_20():
    strengths = {"a": 0.0, "b": 100.0, "c": -150.0, "d": 250.0, "e": 30.0}
    truth = np.array(list(strengths.values()))[1:]
    inside = []
    for seed in range(400):
        ratings = rate(simulate(strengths, 15, advantage=30.0, draw_elo=70.0, seed=seed), anchor="a")
        inside.append((ratings.low[1:] <= truth) & (truth <= ratings.high[1:]))
    assert 0.93 < np.mean(inside) < 0.97


# --- what cannot be rated ---


def test_unconnected_players_get_no_number(tmp_path):
    pool = [*POOL, PairCount("x", "y", 5, 0, 1), PairCount("z", "a", 0, 0, 0)]
    ratings = rate(pool, anchor="a")
    assert ratings.unconnected == ("x", "y", "z")
    assert np.isnan(ratings.elo[4:]).all() and np.isnan(ratings.low[4:]).all() and np.isnan(ratings.high[4:]).all()
    np.testing.assert_allclose(ratings.elo[:4], rate(POOL, anchor="a").elo, atol=1e-6)
    players = {row["name"]: row for row in json.loads(json.dumps(ratings.to_dict(), allow_nan=False))["players"]}
    assert players["x"]["elo"] is None and players["x"]["games"] == 6
    assert "not connected" in ratings.table()
    bayeselo.write_csv(tmp_path / "ratings.csv", ratings)
    with open(tmp_path / "ratings.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows[:4]] == ["c", "b", "a", "d"] and rows[4]["elo"] == ""
    assert float(rows[0]["elo"]) == ratings.elo[ratings.index("c")]


def test_an_unplayed_anchor_leaves_everybody_unconnected():
    ratings = rate([*POOL, PairCount("x", "a", 0, 0, 0)], anchor="x")
    assert ratings.unconnected == tuple("abcd") and ratings.elo[ratings.index("x")] == 0


@pytest.mark.parametrize("counts", [(3, 0, 0), (1, 0, 1), (0, 0, 0)])
def test_tiny_tables(counts):
    """EV-04: finite, safe for JSON, no crash; nothing at all is refused."""
    if not sum(counts):
        with pytest.raises(ValueError, match="no games"):
            rate([PairCount("a", "b", *counts)], anchor="a")
        return
    ratings = rate([PairCount("a", "b", *counts)], anchor="b")
    json.dumps(ratings.to_dict(), allow_nan=False)
    assert ratings.low[0] < ratings.elo[0] < ratings.high[0]
    assert ratings.elo[0] == pytest.approx(0, abs=1e-6) if counts[2] else ratings.elo[0] > 0


def test_errors_name_what_is_wrong():
    with pytest.raises(ValueError, match=r"'q'.*a, b, c, d"):
        rate(POOL, anchor="q")
    with pytest.raises(ValueError, match="no games"):
        rate([], anchor="a")
    with pytest.raises(ValueError, match="itself"):
        rate([PairCount("a", "a", 1, 0, 0)], anchor="a")
    with pytest.raises(ValueError, match=">= 0"):
        rate([PairCount("a", "b", 1, -1, 0)], anchor="a")
    with pytest.raises(ValueError, match="prior_draws"):
        rate(POOL, anchor="a", prior_draws=0.0)
    with pytest.raises(ValueError, match="draw_elo"):
        rate(POOL, anchor="a", draw_elo=0.0)
    with pytest.raises(ValueError, match="'q'"):
        rate(POOL, anchor="a").index("q")


def test_counting_games():
    games = [("a", "b", 1), ("a", "b", 0), ("b", "a", -1), ("a", "b", 1)]
    assert bayeselo.pair_counts(games) == [PairCount("a", "b", 2, 1, 0), PairCount("b", "a", 0, 0, 1)]
