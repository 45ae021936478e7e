"""The command line: finds the command, sets up what all commands share, and turns bad input into one line.

options     words of the command line -> a command's options
common      what the commands share
train       a network for a game; or goes on with a run
elo         rates a run's networks
check       a run's network, measured exactly
ladder      a run's network against rollouts that get stronger
play        a person against any player
games       the games, their settings and presets
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

COMMANDS = {
    "train": "train a network for a game, or go on with a run",
    "elo": "rate a run's networks against each other: table, CSV and curve",
    "check": "measure a run's network exactly, against solved positions or every possible opponent",
    "ladder": "let a run's network climb: matches against rollouts that get stronger as they lose",
    "play": "play against a run's network, rollouts, a solver or random moves",
    "games": "list the games, their settings and presets",
}

USAGE = f"""\
usage: azjax COMMAND ...

AlphaZero in JAX: trains, rates and plays board games on whatever device is there.

{chr(10).join(f"  {name:<6}  {about}" for name, about in COMMANDS.items())}

azjax COMMAND --help tells what a command takes; for example:

  azjax train connect_four --run-dir runs/mine
  azjax play runs/mine

JAX's compiled programs are kept in {{cache}}, unless
AZJAX_NO_CACHE=1 is set or JAX_COMPILATION_CACHE_DIR names another place."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status.

    0 is done, 2 bad input, answered before work starts, 1 a loss that was not finite, 130 and 143 a stop by Ctrl-C and
    by SIGTERM.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    if argv is None:  # the process is ours
        _silence_threads()
    with warnings.catch_warnings():
        _quieten()
        try:
            return _run(args)
        except SystemExit as stop:  # with a message for bad input, without one after --help
            return _fail(stop.code, 2) if isinstance(stop.code, str) else int(stop.code or 0)
        except KeyboardInterrupt:
            return _fail("stopped", 130)
        except BrokenPipeError:  # whoever read the output has gone
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except OSError as error:
            return _fail(str(error), 2)


def _run(args: list[str]) -> int:
    if not args or args[0] in ("-h", "--help"):
        print(USAGE.format(cache=cache_directory()))
        return 0
    if args[0] == "--version":
        import azjax

        print(azjax.__version__)
        return 0
    if args[0] not in COMMANDS:
        raise SystemExit(f"no command {args[0]!r}; commands: {', '.join(COMMANDS)}; see azjax --help")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # a user's own games lie there
    command = importlib.import_module(f"azjax.cli.{args[0]}")  # only now: it imports JAX
    use_cache()
    return command.run(args[1:])


def cache_directory() -> Path:
    """Where compiled programs are kept."""
    own = os.environ.get("JAX_COMPILATION_CACHE_DIR")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "azjax" / "jax"


def use_cache() -> None:
    """Turns JAX's persistent compilation cache on, unless the user has decided otherwise."""
    import jax

    if os.environ.get("AZJAX_NO_CACHE") or os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        return
    jax.config.update("jax_compilation_cache_dir", str(cache_directory()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 1.0)


def _quieten() -> None:
    """Keeps the libraries' talk away from the terminal: their warnings are for us, not for users.

    A command lets the warnings through that users should see; each is one line.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # XLA reads it as it is loaded
    from absl import logging

    logging.set_verbosity(logging.ERROR)
    warnings.simplefilter("ignore")
    warnings.showwarning = _show_warning


def _silence_threads() -> None:
    """Keeps tensorstore's threads quiet: they print pages about a damaged checkpoint, of which we warn in a line.
    Everything else that nobody caught is shown."""
    show, show_unraisable = sys.excepthook, sys.unraisablehook

    def is_known(error: BaseException | None, source: object) -> bool:
        return "Event loop is closed" in str(error) or "_read_array_index" in repr(source)

    def unraisable(what: sys.UnraisableHookArgs) -> None:  # pyright: ignore[reportAttributeAccessIssue]
        if not is_known(what.exc_value, what.object):
            show_unraisable(what)

    sys.unraisablehook = unraisable
    sys.excepthook = lambda kind, error, trace: None if is_known(error, None) else show(kind, error, trace)


def _show_warning(message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object) -> None:
    del category, filename, lineno
    print(f"azjax: warning: {message}", file=sys.stderr, flush=True)


def _fail(message: str, status: int) -> int:
    print(f"azjax: error: {message}", file=sys.stderr, flush=True)
    return status
