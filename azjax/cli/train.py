"""azjax train: a network for a game, by self-play; or goes on with a run."""

from __future__ import annotations

import dataclasses
import itertools
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console
from tyro.conf import arg

import envs
from azjax.cli.common import bad_input, default_game, open_run, print_ratings, program, say
from azjax.cli.options import option, parse, settings_given
from azjax.config import Config, preset, preset_names, require_effect

if TYPE_CHECKING:  # what takes seconds to import is imported where it is used
    from azjax.runs.directory import RunDirectory


@dataclasses.dataclass(frozen=True)
class TrainOptions:
    """Options of `azjax train GAME`."""

    config: Annotated[Config, arg(name="")]
    preset: str = "laptop"
    """The settings to begin with; the options below change single ones."""
    run_dir: Annotated[Path | None, arg(metavar="DIR", help_behavior_hint="(default: runs/GAME-TIME)")] = None
    """Where the run is kept; a run of the same settings that is there goes on."""


@dataclasses.dataclass(frozen=True)
class ResumeOptions:
    """Options of `azjax train --resume DIR`."""

    config: Annotated[Config, arg(name="")]
    resume: Annotated[Path, arg(metavar="DIR")]
    """The run that goes on."""


USAGE = """\
usage: azjax train GAME [--preset NAME] [--run-dir DIR] [OPTIONS]
       azjax train --resume DIR [OPTIONS]

Trains a network for a game by self-play, and rates it at the end. Ctrl-C saves and stops; --resume goes on from there.

  azjax train GAME --help            every option of a game's run, and its presets
  azjax train --resume DIR --help    the settings of a run, and which of them may change

Games: {games}; your own: module:Class."""


def run(args: list[str]) -> int:
    """Runs the command and returns the exit status."""
    directory = option(args, "--resume")
    if directory is None and (not args or args[0] in ("-h", "--help")):
        print(USAGE.format(games=", ".join(envs.available())))
        if not args:
            raise SystemExit(f"which game? One of {', '.join(envs.available())}, or --resume DIR")
        return 0
    return _resume(args, Path(directory)) if directory is not None else _train_game(args)


def _train_game(args: list[str]) -> int:
    name, *rest = args
    if name.startswith("-"):
        raise SystemExit(f"the game comes first: azjax train GAME {name} ...; games: {', '.join(envs.available())}")
    with bad_input(ValueError):
        game = default_game(name)
        config = preset(game, option(rest, "--preset") or "laptop")
    names = ", ".join(preset_names(game))
    options = parse(
        TrainOptions,
        rest,
        prog=f"azjax train {name}",
        default=TrainOptions(config=config),
        description=f"Trains a network for {name} by self-play, and rates it at the end. Presets: {names}.",
    )
    stamp = f"{name.rpartition(':')[2].lower()}-{time.strftime('%Y%m%d-%H%M%S')}"
    from azjax.runs.directory import RunDirectory, RunError
    from azjax.runs.session import require_trainable

    with bad_input(RunError, ValueError):
        require_effect(options.config, settings_given(rest))
        require_trainable(options.config)
        run = RunDirectory.create(options.run_dir or _free(Path("runs") / stamp), options.config)
    return _train(run)


def _free(path: Path) -> Path:
    """The path, or where that is taken the first with a number after it that is not."""
    return next(p for n in itertools.count(1) if not (p := path if n == 1 else Path(f"{path}-{n}")).exists())


def _resume(args: list[str], directory: Path) -> int:
    run = open_run(directory)
    free = "iterations, minutes, devices, checkpoint.*, rating.*"
    options = parse(
        ResumeOptions,
        args,
        prog="azjax train",
        default=ResumeOptions(config=run.config, resume=directory),
        description=f"Goes on with a run of {run.config.game}. What may change: {free}.",
    )
    from azjax.runs.directory import RunError
    from azjax.runs.session import require_trainable

    with bad_input(RunError, ValueError):
        require_trainable(options.config)
        run.change(options.config)
    return _train(run)


def _train(run: RunDirectory) -> int:
    from azjax.runs import session
    from azjax.runs.checkpoint import CheckpointError, CheckpointWarning
    from azjax.runs.directory import RunError
    from azjax.runs.progress import make_reporter

    console, azjax = Console(), program()
    warnings.simplefilter("always", CheckpointWarning)
    try:
        with bad_input(CheckpointError, RunError), make_reporter(console) as reporter:
            ended = session.train_run(run, reporter)
    except session.NonFiniteError as error:
        print(f"azjax: error: {error}", file=sys.stderr)
        return 1
    again = f"{azjax} train --resume {run.path}"
    if ended.reason == "interrupted":
        say(console, f"Stopped after iteration {ended.iteration}; everything is saved. To go on:\n  {again}")
        return 128 + ended.signal
    limit = " (the limit in minutes)" if ended.reason == "minutes" else ""
    say(console, f"Done{limit}: {ended.iteration} iterations in {ended.minutes:.1f} minutes.\n")
    if reporter.ratings is not None:
        print_ratings(console, reporter.ratings)
        say(console, f"The curve: {run.path / 'elo.png'}; the table: {run.path / 'ratings.csv'}.")
    more = (
        f"--iterations {2 * ended.iteration}"
        if ended.reason == "complete"
        else f"--minutes {max(1, round(2 * ended.minutes))}"
    )
    say(console, f"Losses and more: {run.path / 'metrics.png'}.\n")
    say(console, f"Play against it:  {azjax} play {run.path}\nTrain it further: {again} {more}")
    return 0
