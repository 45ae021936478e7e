"""Tells a person how training goes: a live display in a terminal, a line now and then elsewhere."""

from __future__ import annotations

import math
import re
import time
from collections import deque
from types import TracebackType
from typing import NamedTuple

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from azjax.config import Config
from azjax.evaluate import bayeselo
from azjax.network.own import BUILT_IN
from azjax.runs.directory import RunDirectory
from azjax.runs.session import Reporter


class Pace:
    """How far a run is and how fast it goes, from its last minute."""

    WINDOW = 60.0  # seconds

    def __init__(self, config: Config, *, iteration: int, minutes: float):
        self.config = config
        self.iteration = iteration
        self.minutes = minutes
        self._marks: deque[tuple[float, int, float]] = deque()  # clock, iteration, minutes, at the end of iterations

    def add(self, *, iteration: int, minutes: float, clock: float) -> None:
        """An iteration ended. The first one that is told of only sets the start: it was slowed down by compilation."""
        self.iteration, self.minutes = iteration, minutes
        self._marks.append((clock, iteration, minutes))
        while len(self._marks) > 2 and clock - self._marks[0][0] > self.WINDOW:
            self._marks.popleft()

    def share(self) -> float:
        """How much of the run is done, in [0, 1], by the limit that ends it first."""
        limit = self.config.minutes
        return min(1.0, max(self.iteration / self.config.iterations, self.minutes / limit if limit else 0.0))

    def text(self) -> str:
        """How far it is, in the limit that it has."""
        if limit := self.config.minutes:
            return f"iteration {self.iteration}, {self.minutes:.1f} of {limit:g} min"
        return f"iteration {self.iteration}/{self.config.iterations}, {self.minutes:.1f} min"

    def seconds_left(self) -> float | None:
        """Seconds to the run's end at the present pace; None before there is one."""
        if len(self._marks) < 2:
            return None
        seconds, iterations, minutes = (
            last - first for first, last in zip(self._marks[0], self._marks[-1], strict=True)
        )
        left = self.config.iterations - self.iteration
        if self.config.minutes and minutes > 0:
            left = min(left, (self.config.minutes - self.minutes) / minutes * iterations)
        return max(0.0, left) * seconds / iterations


class Newest(NamedTuple):
    """The rating of a run's newest network."""

    iteration: int
    elo: float
    low: float
    high: float


def newest_rating(ratings: bayeselo.Ratings) -> Newest | None:
    """The rating of the newest of a run's networks; None where none is rated."""
    found = {
        int(match[1]): i for i, name in enumerate(ratings.names) if (match := re.fullmatch(r"iteration (\d+)", name))
    }
    if not found or math.isnan(ratings.elo[found[max(found)]]):
        return None
    i = found[max(found)]
    return Newest(max(found), float(ratings.elo[i]), float(ratings.low[i]), float(ratings.high[i]))


class PlainReporter:
    """One line about every half a minute, and every message, for logs and pipes."""

    def __init__(self, console: Console, *, every: float = 30.0):
        self.console = console
        self.every = every
        self.ratings: bayeselo.Ratings | None = None

    def __enter__(self) -> PlainReporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def begin(self, run: RunDirectory, iteration: int, minutes: float) -> None:
        self.message(headline(run))
        self._pace = Pace(run.config, iteration=iteration, minutes=minutes)
        self._said = time.monotonic()

    def iteration(self, metrics: dict[str, float | int]) -> None:
        iteration, clock = int(metrics["iteration"]), time.monotonic()
        self._pace.add(iteration=iteration, minutes=metrics["minutes"], clock=clock)
        if clock - self._said < self.every and iteration < self._pace.config.iterations:
            return
        self._said = clock
        left = self._pace.seconds_left()
        self.message(
            "; ".join(
                [
                    self._pace.text(),
                    *([f"{clock_text(left)} left"] if left else []),
                    *describe(metrics, self._pace.config),
                ]
            )
        )

    def message(self, text: str) -> None:
        # Straight to the file: a log's lines are not wrapped.
        print(text, file=self.console.file, flush=True)

    def rated(self, ratings: bayeselo.Ratings) -> None:
        self.ratings = ratings
        if newest := newest_rating(ratings):
            self.message(rating_text(newest))


class SilentReporter:
    """Says nothing."""

    def __enter__(self) -> SilentReporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def begin(self, run: RunDirectory, iteration: int, minutes: float) -> None:
        pass

    def iteration(self, metrics: dict[str, float | int]) -> None:
        pass

    def message(self, text: str) -> None:
        pass

    def rated(self, ratings: bayeselo.Ratings) -> None:
        pass


class RichReporter:
    """A live display: a bar with the time left, and below it what the run does and how well."""

    def __init__(self, console: Console):
        self.console = console
        self.ratings: bayeselo.Ratings | None = None
        self._lines = [Text("compiling ...", style="dim")]
        self._live: Live | None = None

    def __enter__(self) -> RichReporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def begin(self, run: RunDirectory, iteration: int, minutes: float) -> None:
        self.message(headline(run))
        self._pace = Pace(run.config, iteration=iteration, minutes=minutes)
        self._ends: float | None = None
        self._live = Live(console=self.console, get_renderable=self._render, refresh_per_second=4)
        self._live.start()

    def iteration(self, metrics: dict[str, float | int]) -> None:
        clock = time.monotonic()
        self._pace.add(iteration=int(metrics["iteration"]), minutes=metrics["minutes"], clock=clock)
        left = self._pace.seconds_left()
        self._ends = None if left is None else clock + left
        self._lines = [Text(part) for part in describe(metrics, self._pace.config)]

    def message(self, text: str) -> None:
        self.console.print(Text(text))

    def rated(self, ratings: bayeselo.Ratings) -> None:
        self.ratings = ratings

    def _render(self) -> Table:
        pace = self._pace
        bar = Table.grid(padding=(0, 1))
        over = pace.share() >= 1.0
        left = "" if over or self._ends is None else f"{clock_text(max(0.0, self._ends - time.monotonic()))} left"
        bar.add_row(
            Text(pace.text(), style="bold"),
            ProgressBar(total=1.0, completed=pace.share(), width=28),
            Text(f"{100 * pace.share():.0f} %"),
            Text(left, style="cyan"),
        )
        whole = Table.grid()
        whole.add_row(bar)
        for line in self._lines:
            whole.add_row(line)
        if over and self.ratings is None and pace.config.rating.every >= 0:
            whole.add_row(Text("rating its networks ...", style="dim"))
        if self.ratings and (newest := newest_rating(self.ratings)):
            whole.add_row(Text(rating_text(newest), style="green"))
        return whole


def make_reporter(console: Console) -> RichReporter | PlainReporter:
    """The display for a terminal, or lines for everything else."""
    reporter = RichReporter(console) if console.is_terminal else PlainReporter(console)
    checked: Reporter = reporter
    del checked
    return reporter


def headline(run: RunDirectory) -> str:
    """What is trained, and where it is kept."""
    config = run.config
    size = f"a network of {config.network.blocks}x{config.network.channels}"
    return (
        f"{config.game} in {run.path}: {size if config.network.make == BUILT_IN else 'a network of your own'}, "
        f"{config.selfplay.lanes} lanes, {config.search.num_simulations} simulations a move."
    )


def describe(metrics: dict[str, float | int], config: Config) -> list[str]:
    """An iteration's metrics as two lines: what was learned, and how fast."""
    if metrics["learning"]:
        learned = (
            f"loss {metrics['loss']:.3f} = policy {metrics['policy_loss']:.3f} + value {metrics['value_loss']:.3f}"
            f"{' + L2' if config.learner.l2 else ''}, explained variance {metrics['explained_variance']:.2f}"
        )
    else:
        learned = f"filling the replay: {metrics['eligible']:,.0f} of {config.replay.min_fill:,} positions"
    fast = (
        f"{metrics['moves_per_second']:,.0f} moves/s, {metrics['simulations_per_second']:,.0f} simulations/s, "
        f"{metrics['games']:,.0f} games"
    )
    if not math.isnan(metrics["game_length"]):
        fast += f" of {metrics['game_length']:.1f} moves"
    return [learned, fast]


def rating_text(newest: Newest) -> str:
    """One network's rating in a line."""
    margin = (newest.high - newest.low) / 2
    return f"network of iteration {newest.iteration}: {newest.elo:.0f} ± {margin:.0f} Elo above the random player"


def clock_text(seconds: float) -> str:
    """A duration as m:ss or h:mm:ss."""
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02}:{second:02}" if hour else f"{minute}:{second:02}"


def ratings_table(ratings: bayeselo.Ratings) -> Table:
    """The ratings for a terminal, the strongest first."""
    table = Table(caption=f"moving first is worth {ratings.advantage:.0f} Elo", caption_justify="left")
    table.add_column("player")
    for name in ("Elo", "95 % interval", "games", "score"):
        table.add_column(name, justify="right")
    for row in ratings.rows():
        known = row["elo"] is not None
        interval = f"{row['low']:.0f} to {row['high']:.0f}" if known else "not connected"
        table.add_row(
            row["name"],
            f"{row['elo']:.0f}" if known else "-",
            "fixed" if row["name"] == ratings.anchor else interval,
            f"{row['games']:.0f}",
            "-" if row["score"] is None else f"{100 * row['score']:.1f} %",
        )
    return table
