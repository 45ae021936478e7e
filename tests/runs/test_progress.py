"""What a person is told during training: how far it is, how long it takes, how well it goes."""

import io

import pytest
from rich.console import Console
from tiny import tiny_config

from azjax.evaluate import bayeselo
from azjax.runs.directory import RunDirectory
from azjax.runs.progress import (
    Pace,
    PlainReporter,
    RichReporter,
    clock_text,
    describe,
    make_reporter,
    newest_rating,
    ratings_table,
)

METRICS = {
    "learning": True,
    "loss": 2.0,
    "policy_loss": 1.5,
    "value_loss": 0.5,
    "explained_variance": 0.25,
    "eligible": 30,
    "moves_per_second": 1234.0,
    "simulations_per_second": 56789.0,
    "games": 17,
    "game_length": 7.5,
}
RATINGS = bayeselo.rate(
    [
        bayeselo.PairCount(*players, *counts)
        for name, wins in (("iteration 20", 19), ("iteration 3", 14))
        for players, counts in (((name, "random"), (wins, 0, 20 - wins)), (("random", name), (20 - wins, 0, wins)))
    ],
    anchor="random",
)


def pace_of(marks, **limits):
    """The pace after iterations that ended at these times: (clock, iteration, minutes)."""
    pace = Pace(tiny_config(limits), iteration=0, minutes=0.0)
    for clock, iteration, minutes in marks:
        pace.add(iteration=iteration, minutes=minutes, clock=clock)
    return pace


def test_time_left_by_iterations():
    assert pace_of([(100.0, 1, 1.0)], iterations=11).seconds_left() is None  # the first one compiled
    pace = pace_of([(100.0, 1, 1.0), (104.0, 3, 1.1)], iterations=11)
    assert pace.seconds_left() == pytest.approx(8 * 2.0)
    assert pace.share() == pytest.approx(3 / 11)
    assert pace.text() == "iteration 3/11, 1.1 min"


def test_time_left_by_minutes():
    """Half of the time of an iteration counts as training; the rest goes into checkpoints and ratings."""
    pace = pace_of([(0.0, 1, 0.0), (120.0, 3, 1.0)], iterations=1000, minutes=3.0)
    assert pace.seconds_left() == pytest.approx(4 * 60.0)
    assert pace.share() == pytest.approx(1 / 3)
    assert pace.text() == "iteration 3, 1.0 of 3 min"
    assert pace_of([(0.0, 1, 0.0), (120.0, 3, 1.0)], iterations=4, minutes=3.0).seconds_left() == pytest.approx(60.0)


def test_only_the_last_minute_counts():
    slow = [(10.0 * i, i, 0.0) for i in range(1, 11)]
    fast = [(100.0 + i, 10 + i, 0.0) for i in range(1, 101)]
    assert pace_of(slow + fast, iterations=210).seconds_left() == pytest.approx(100.0)


def test_clock():
    assert [clock_text(s) for s in (0.4, 59.6, 61.0, 3600.0, 7325.0)] == ["0:00", "1:00", "1:01", "1:00:00", "2:02:05"]


def test_metrics_in_words():
    config = tiny_config()
    learned, fast = describe(METRICS, config)
    assert learned == "loss 2.000 = policy 1.500 + value 0.500, explained variance 0.25"
    assert fast == "1,234 moves/s, 56,789 simulations/s, 17 games of 7.5 moves"
    learned, fast = describe(METRICS | {"learning": False, "game_length": float("nan")}, config)
    assert learned == "filling the replay: 30 of 24 positions" and fast.endswith("17 games")


def test_the_newest_rating_is_the_latest_iterations():
    newest = newest_rating(RATINGS)
    assert newest is not None and newest.iteration == 20 and newest.low < newest.elo < newest.high
    alone = bayeselo.rate([bayeselo.PairCount("solver", "random", 3, 0, 1)], anchor="random")
    assert newest_rating(alone) is None


@pytest.fixture
def run(tmp_path):
    return RunDirectory.create(tmp_path / "run", tiny_config({"iterations": 4}))


def reported(reporter, run):
    with reporter:
        reporter.begin(run, 0, 0.0)
        reporter.message("Learning begins in iteration 2.")
        for iteration in range(1, 5):
            reporter.iteration(METRICS | {"iteration": iteration, "minutes": iteration / 60})
        reporter.rated(RATINGS)
    return reporter.console.file.getvalue()


def test_plain_lines(run):
    text = reported(PlainReporter(Console(file=io.StringIO())), run)
    first, *others = text.splitlines()
    assert first.startswith(f"TicTacToe() in {run.path}: ")
    assert others[0] == "Learning begins in iteration 2."
    assert len(others) == 3, "a line every half a minute, and one at the end"
    assert others[1].startswith("iteration 4/4, 0.1 min; ") and others[1].endswith(
        "; ".join(describe(METRICS, run.config))
    )
    assert others[2].startswith("network of iteration 20: ") and "Elo above the random player" in others[2]
    every = reported(PlainReporter(Console(file=io.StringIO()), every=0.0), run).splitlines()
    assert sum(line.startswith("iteration ") for line in every) == 4


def test_a_terminal_gets_a_bar(run):
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    reporter = make_reporter(console)
    assert isinstance(reporter, RichReporter)
    text = reported(reporter, run)
    assert "compiling ..." in text and "iteration 4/4" in text and "100 %" in text
    assert "explained variance 0.25" in text and "56,789 simulations/s" in text
    assert "network of iteration 20: " in text and "Learning begins in iteration 2." in text
    assert isinstance(make_reporter(Console(file=io.StringIO())), PlainReporter)


def test_ratings_in_a_frame():
    console = Console(file=io.StringIO(), width=100)
    console.print(ratings_table(RATINGS))
    lines = [line for line in console.file.getvalue().splitlines() if "iteration" in line or "random" in line]  # pyright: ignore
    assert ["iteration 20" in lines[0], "iteration 3" in lines[1], "fixed" in lines[2]] == [True] * 3
