"""What the commands of the command line do. Bad input ends in SystemExit with one line that says what is wrong."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import itertools
import json
import os
import re
import shutil
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

import envs
from azjax import config as configs
from azjax.cli.options import (
    CheckOptions,
    EloOptions,
    GamesOptions,
    LadderOptions,
    PlayGameOptions,
    PlayRunOptions,
    ResumeOptions,
    TrainOptions,
    option,
    parse,
)
from azjax.config import Config, presets
from envs.core import Game

if TYPE_CHECKING:  # what takes seconds to import is imported where it is used
    from azjax.evaluate import bayeselo as ratings_of
    from azjax.runs.directory import RunDirectory

# --- train ---


TRAIN_USAGE = """\
usage: azjax train GAME [--preset NAME] [--run-dir DIR] [OPTIONS]
       azjax train --resume DIR [OPTIONS]

Trains a network for a game by self-play, and rates it at the end. Ctrl-C saves and stops; --resume goes on from there.

  azjax train GAME --help            every option of a game's run, and its presets
  azjax train --resume DIR --help    the settings of a run, and which of them may change

Games: {games}; your own: module:Class."""


def train(args: list[str]) -> int:
    """azjax train"""
    directory = option(args, "--resume")
    if directory is None and (not args or args[0] in ("-h", "--help")):
        print(TRAIN_USAGE.format(games=", ".join(envs.available())))
        if not args:
            raise SystemExit(f"which game? One of {', '.join(envs.available())}, or --resume DIR")
        return 0
    return _resume(args, Path(directory)) if directory is not None else _train_game(args)


def _train_game(args: list[str]) -> int:
    name, *rest = args
    if name.startswith("-"):
        raise SystemExit(f"the game comes first: azjax train GAME {name} ...; games: {', '.join(envs.available())}")
    with _bad_input(ValueError):
        game = default_game(name)
        config = presets.preset(game, option(rest, "--preset") or "laptop")
    names = ", ".join(preset_names(game))
    options = parse(
        TrainOptions,
        rest,
        prog=f"azjax train {name}",
        default=TrainOptions(config=config),
        description=f"Trains a network for {name} by self-play, and rates it at the end. Presets: {names}.",
    )
    stamp = f"{name.rpartition(':')[2].lower()}-{time.strftime('%Y%m%d-%H%M%S')}"
    config = _with_starts_of_files(options.config)
    _require_possible(config)
    from azjax.runs.directory import RunDirectory, RunError

    with _bad_input(RunError):
        run = RunDirectory.create(options.run_dir or _free(Path("runs") / stamp), config)
    return _train(run)


def _with_starts_of_files(config: Config) -> Config:
    """The configuration with the lines of a file, but for empty ones and those that begin with #, for each @FILE."""
    starts: list[str] = []
    for start in config.selfplay.starts:
        if not start.startswith("@"):
            starts.append(start)
            continue
        try:
            lines = Path(start[1:]).read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise SystemExit(f"selfplay.starts: cannot read {start[1:]}: {error}") from error
        starts += [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return configs.replace(config, {"selfplay": {"starts": tuple(starts)}})


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
    _require_possible(options.config)
    from azjax.runs.directory import RunError

    with _bad_input(RunError):
        run.change(options.config)
    return _train(run)


def _require_possible(config: Config) -> None:
    """Refuses settings that make no sense on this machine, before anything is written."""
    import jax

    from azjax.devices.memory import require_run_fits
    from azjax.learner import make_optimizer
    from azjax.starts import read_starts

    try:
        devices = jax.devices()
    except RuntimeError as error:  # JAX_PLATFORMS names what isn't there
        raise SystemExit(f"no device to work on: {str(error).splitlines()[0]}") from error
    with _bad_input(ValueError):
        configs.validate(config, devices=len(devices))
        require_run_fits(config, devices=config.devices or len(devices))
        read_starts(config.game, config.selfplay.starts)
        if config.rating.every >= 0:
            try:
                require_simulations(config, config.rating.num_simulations, games=config.rating.games // 2)
            except ValueError as error:
                raise ValueError(f"rating: {error}, or set rating.every=-1") from error
        make_optimizer(config.learner, total_updates=1)


def _train(run: RunDirectory) -> int:
    from azjax.runs import session
    from azjax.runs.checkpoint import CheckpointError, CheckpointWarning
    from azjax.runs.directory import RunError
    from azjax.runs.progress import make_reporter

    console, azjax = Console(), program()
    warnings.simplefilter("always", CheckpointWarning)
    try:
        with _bad_input(CheckpointError, RunError), make_reporter(console) as reporter:
            ended = session.train(run, reporter)
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


# --- elo ---


def elo(args: list[str]) -> int:
    """azjax elo"""
    options = parse(EloOptions, args, prog="azjax elo")
    run = open_run(options.directory)
    given = {name: value for name, value in dataclasses.asdict(options).items() if name != "directory"}
    settings = dataclasses.replace(run.config.rating, **{n: v for n, v in given.items() if v is not None})
    with _bad_input(ValueError):
        configs.validate(dataclasses.replace(run.config, rating=settings, devices=0), devices=1)
        require_simulations(run.config, settings.num_simulations, games=settings.games // 2)
    if not os.access(run.path, os.W_OK):
        raise SystemExit(f"cannot write to {run.path}, where the ratings would go")
    from azjax.runs.directory import RunError
    from azjax.runs.rating import rate_run

    console = Console()
    with _bad_input(RunError):
        run.load_network()  # there is one
        ratings = rate_run(run, settings, report=lambda line: say(console, line))
    print_ratings(console, ratings)
    say(console, f"Written: {', '.join(str(run.path / name) for name in ('ratings.csv', 'ratings.json', 'elo.png'))}.")
    return 0


# --- check ---


def check(args: list[str]) -> int:
    """azjax check"""
    options = parse(CheckOptions, args, prog="azjax check")
    run = open_run(options.directory)
    from azjax.runs.directory import RunError
    from azjax.runs.strength import check_run, table

    with _bad_input(RunError, ValueError):
        require_simulations(run.config, options.num_simulations, games=256)
        snapshot = run.load_network(options.iteration)
        strengths = check_run(run, num_simulations=options.num_simulations, iteration=snapshot.iteration)
    if options.json:
        about = {"game": str(run.config.game), "iteration": snapshot.iteration, "minutes": snapshot.minutes}
        print(json.dumps(about | {"players": [one.to_dict() for one in strengths]}, indent=2))
    else:
        print(
            f"{run.config.game}, network of iteration {snapshot.iteration} ({snapshot.minutes:.1f} minutes of training)"
        )
        print(table(strengths))
    return 0


# --- ladder ---


def ladder(args: list[str]) -> int:
    """azjax ladder"""
    options = parse(LadderOptions, args, prog="azjax ladder")
    run = open_run(options.directory)
    import jax

    from azjax.devices.memory import require_search_fits
    from azjax.evaluate.climb import Rung, climb, require_ladder
    from azjax.runs.directory import RunError
    from azjax.runs.rating import network_player

    with _bad_input(RunError, ValueError):
        require_ladder(options.ladder)
        require_simulations(run.config, options.num_simulations, games=options.ladder.games // 2)
        rollouts = configs.SearchConfig(num_simulations=options.ladder.most)
        require_search_fits(run.config.game, rollouts, games=options.ladder.games // 2)
        snapshot = run.load_network(options.iteration)

    def report(rung: Rung) -> None:
        result = rung.result
        print(
            f"rollouts with {rung.simulations} simulations: {result.wins} won, {result.draws} drawn, "
            f"{result.losses} lost of {result.games}",
            flush=True,
        )

    player = network_player(run, snapshot, num_simulations=options.num_simulations)
    print(f"{run.config.game}, network of iteration {snapshot.iteration}, {options.num_simulations} simulations a move")
    rungs = climb(run.config.game, player, options.ladder, key=jax.random.key(options.seed), report=report)
    beaten = [rung.simulations for rung in rungs if rung.result.wins == rung.result.games]
    print(f"Won every game up to {beaten[-1]} simulations." if beaten else "Won no match in full.")
    return 0


# --- play ---


PLAY_USAGE = """\
usage: azjax play DIR [OPTIONS]
       azjax play GAME [OPTIONS]

Plays a game in the terminal: against the network of a run, or by a game's name against rollouts, a solver or random
moves.

  azjax play DIR --help     the options
  azjax play GAME --help    the options and the game's settings

Games: {games}; your own: module:Class."""


def play(args: list[str]) -> int:
    """azjax play"""
    if not args or args[0].startswith("-"):
        print(PLAY_USAGE.format(games=", ".join(envs.available())))
        if args[:1] not in (["-h"], ["--help"]):
            raise SystemExit("against whom or what? A run's directory or the name of a game comes first")
        return 0
    target, *rest = args
    prog = f"azjax play {target}"
    if Path(target).exists() or os.sep in target:
        run = open_run(Path(target))
        options = parse(PlayRunOptions, rest, prog=prog)
        game = run.config.game
    else:
        run = None
        with _bad_input(ValueError):
            default = PlayGameOptions(game=default_game(target))
        options = parse(PlayGameOptions, rest, prog=prog, default=default)
        game = options.game
    import jax
    import jax.numpy as jnp

    from azjax.runs.directory import RunError
    from azjax.serve import terminal as playing
    from azjax.starts import read_starts

    with _bad_input(RunError, ValueError):
        start = jax.tree.map(lambda x: jnp.asarray(x[0]), read_starts(game, (options.start,)))
        if options.opponent in ("network", "rollouts"):
            least = 0 if options.opponent == "network" else 1
            if options.num_simulations < least:
                raise ValueError(f"--num-simulations must be at least {least}, got {options.num_simulations}")
            require_simulations(run.config if run else Config(game=game), options.num_simulations, games=1)
        if options.opponent == "random":
            opponent = playing.random_opponent(game)
        elif options.opponent == "rollouts":
            opponent = playing.rollouts_opponent(game, num_simulations=options.num_simulations)
        elif options.opponent == "solver":
            opponent = playing.solver_opponent(game)
        else:
            assert run is not None and isinstance(options, PlayRunOptions)
            snapshot = run.load_network(options.iteration)
            opponent = playing.network_opponent(run, snapshot, num_simulations=options.num_simulations)
    with contextlib.suppress(KeyboardInterrupt):
        playing.play(game, opponent, you=options.you, seed=options.seed, start=start, ask=_ask)
    return 0


def _ask(prompt: str) -> str:
    """The next line of the person, or of a file; a file's is echoed, so that it all reads as a dialogue."""
    line = input(prompt)
    if not sys.stdin.isatty():
        print(line)
    return line


# --- games ---


def games(args: list[str]) -> int:
    """azjax games"""
    options = parse(GamesOptions, args, prog="azjax games")
    if options.game is None:
        for name in envs.available():
            game = default_game(name)
            settings = ", ".join(f"{field}={value!r}" for field, value in dataclasses.asdict(game).items())
            sizes = f"{game.num_actions:>4} actions, at most {game.max_moves:>3} moves"
            print(f"{name:<16}{sizes}   {settings or 'no settings'}")
        print("\nazjax games GAME tells more; your own game is module:Class.")
        return 0
    with _bad_input(ValueError):
        game = default_game(options.game)
    print(f"{options.game}: {inspect.cleandoc(type(game).__doc__ or 'no description')}\n")
    for field in dataclasses.fields(game):
        print(f"  --game.{field.name.replace('_', '-')} {field.type} (default: {getattr(game, field.name)})")
    solver = "on small boards" if type(game).solver is not Game.solver else "no"
    print(
        f"{'' if dataclasses.fields(game) else '  no settings'}\n"
        f"  {game.num_actions} actions, at most {game.max_moves} moves a game, observations of shape "
        f"{game.observation_shape}, {max(1, len(game.symmetries))} symmetries\n  solver: {solver}\n\npresets:"
    )
    for name in preset_names(game):
        changed = configs.differences(Config(game=game), presets.preset(game, name))
        settings = [re.sub(r": .* -> ", "=", line) for line in changed]
        print(f"  {name}: {', '.join(settings) or 'the defaults'}")
    return 0


# --- what the commands share ---


@contextlib.contextmanager
def _bad_input(*kinds: type[Exception]) -> Iterator[None]:
    """Errors of these kinds are the user's to set right: they become one line."""
    try:
        yield
    except kinds as error:
        raise SystemExit(str(error)) from error


def default_game(name: str) -> Game:
    """The game of that name with its default settings. Raises ValueError if there is none."""
    kind = envs.game_class(name)
    try:
        return kind()
    except TypeError as error:
        raise ValueError(f"{name} cannot be made: {error}; every setting of a game needs a default") from error


def preset_names(game: Game) -> list[str]:
    """The presets of a game, the general ones first."""
    return list(dict.fromkeys([*presets.GENERAL_PRESETS, *presets.PRESETS.get(game.name, {})]))


def require_simulations(config: Config, num_simulations: int, *, games: int) -> None:
    """Raises ValueError for a number of simulations that cannot be, or whose trees don't fit."""
    from azjax.devices.memory import require_search_fits

    if num_simulations < 0:
        raise ValueError(f"--num-simulations must be at least 0, got {num_simulations}")
    require_search_fits(config.game, config.search.with_simulations(num_simulations), games=games)


def open_run(directory: Path) -> RunDirectory:
    """The run in a directory. From here on, damaged checkpoints are warned of."""
    from azjax.runs.checkpoint import CheckpointWarning
    from azjax.runs.directory import RunDirectory, RunError

    warnings.simplefilter("always", CheckpointWarning)
    with _bad_input(RunError):
        return RunDirectory.open(directory)


def program() -> str:
    """How the user calls us: plain `azjax` where the shell finds the same one, else by its path."""
    called, found = Path(sys.argv[0]), shutil.which("azjax")
    if called.stem != "azjax" or not called.exists() or (found and Path(found).samefile(called)):
        return "azjax"
    return os.path.relpath(called)


def say(console: Console, text: str) -> None:
    """Plain text, no markup, and no line broken by us: paths and commands are copied."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def print_ratings(console: Console, ratings: ratings_of.Ratings) -> None:
    """The table, framed in a terminal."""
    if console.is_terminal:
        from azjax.runs.progress import ratings_table

        console.print(ratings_table(ratings))
    else:
        from azjax.evaluate.bayeselo import table

        say(console, table(ratings))
