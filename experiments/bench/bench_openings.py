"""What the random openings of new games cost in a move of self-play: of all lanes, and of those that ended alone.

command    python experiments/bench/bench_openings.py            (--smoke: seconds, meaningless numbers)
hardware   one core of a shared two-core x86 VM, CPU only (the script binds itself to one core, so XLA uses one thread)
software   jax 0.10.2, mctx 0.0.71
date       2026-12-07; 7 minutes, the other core busy
outcome    each game's laptop preset, milliseconds a move of self-play in all lanes together:

                          lanes   plies   openings, before   now     search   share, before   now
           tic_tac_toe       64       5              0.090   0.039      8.3          1.07 %   0.47 %
           connect_four      64      24              0.287   0.077     74.8          0.38 %   0.10 %
           go 9x9         1,024       8               14.1    0.69    4,536          0.31 %   0.02 %
           go 19x19       1,024       8               85.8     2.6   26,204          0.33 %   0.01 %
           chess          1,024       8                439      25    7,077          5.84 %   0.35 %

           Before, every move opened a game in every lane; now only the lanes whose game ended get one. With a network
           that costs nothing, which an accelerator's comes nearer to, the openings were 18 %, 42 %, 10 %, 12 % and
           27 % of search and openings; now they are 9 %, 16 %, 0.6 %, 0.4 % and 2 %. Timed as a whole, self-play of the
           two small games takes as long as it did with its network (1.00 and 0.99 of the time, which is noise), and
           0.99 and 0.84 of the time with one that costs nothing.
caution    A search of 1,024 lanes is not timed but extended from 4 and 8 simulations to the preset's 24. How many games
           end is drawn: one lane in 4, 15, 80, 250 and 100, about as long as games last. No accelerator was measured.
           There an opening costs its steps one after another, however few the lanes, so that it gains less.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp

import envs
from azjax import selfplay
from azjax.config import preset, to_dict
from azjax.network import Variables, make_network
from azjax.search import make_gumbel

sys.path.append(str(Path(__file__).parents[1]))

from record import begin

CASES = (  # name, settings, lanes, moves that a game lasts after its opening, moves a run, runs that count
    ("tic_tac_toe", {}, 64, 4, 20, 8),
    ("connect_four", {}, 64, 15, 20, 8),
    ("go", {"size": 9}, 1_024, 80, 1, 4),
    ("go", {"size": 19}, 1_024, 250, 1, 3),
    ("chess", {}, 1_024, 100, 1, 4),
)
SMOKE = (("tic_tac_toe", {}, 8, 4, 2, 1), ("connect_four", {}, 128, 15, 1, 1))
FEW = 64  # with more lanes the whole search takes too long here


def main() -> None:
    """Prints a line a game, and two more where self-play is timed as a whole.

    Rivals take turns, and the best of several runs counts.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="small sizes: shows that it runs, measures nothing")
    smoke = parser.parse_args().smoke
    if hasattr(os, "sched_setaffinity"):  # Linux; XLA has as many threads as there are cores when its backend starts
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    cases = [(envs.make(name, **settings), *sizes) for name, settings, *sizes in (SMOKE if smoke else CASES)]
    begin({str(game): {"lanes": lanes, **to_dict(preset(game))} for game, lanes, *_ in cases})
    print(f"{'':<32}{'a move of self-play, ms':>42}{'share of openings':>34}")
    heads = "all lanes", "ended", "search", "no network", "all lanes", "ended", "no network", "no network"
    print(f"{'':<20}{'lanes':>6}{'plies':>6}" + "".join(f"{head:>14}" for head in heads))
    for case in cases:
        measure(*case)


def measure(game: envs.Game, lanes: int, length: int, moves: int, runs: int) -> None:
    """One game with its laptop preset. Shares are of openings and search together."""
    config = preset(game)
    plies, budget = config.selfplay.opening_plies, config.search.num_simulations
    network = make_network(game, config.network)
    variables = network.init(jax.random.key(0))
    bare = knows_nothing(game), Variables((), ())
    begin = jax.jit(lambda key: selfplay.init_lanes(game, key, lanes=lanes, opening_plies=plies))
    start = begin(jax.random.key(1))
    ended = jax.random.bernoulli(jax.random.key(2), 1 / length, (20 * moves, lanes))

    def renewals(renew: Callable[..., Any], times: int) -> Callable[[], Any]:
        """The openings of so many moves."""

        @jax.jit
        def run(start: Any, ended: jax.Array, key: jax.Array) -> Any:
            def move(lanes: Any, inputs: Any) -> tuple[Any, None]:
                return renew(game, lanes, *inputs, opening_plies=plies), None

            return jax.lax.scan(move, start, (ended, jax.random.split(key, times)))[0]

        return lambda: run(start, ended[:times], jax.random.key(3))

    def searches(evaluate: Any, variables: Any, simulations: int) -> Callable[[], Any]:
        """The searches of so many moves, each depending on the one before."""
        search = make_gumbel(game, evaluate, config.search.with_simulations(simulations), explore=True)

        @jax.jit
        def run(variables: Any, start: Any, key: jax.Array) -> Any:
            def move(lanes: Any, key: jax.Array) -> tuple[Any, None]:
                found = search(variables, key, lanes.state, lanes.plies)
                player = lanes.state.player ^ (found.value > 2).astype(lanes.state.player.dtype)
                return lanes._replace(state=lanes.state._replace(player=player)), None

            return jax.lax.scan(move, start, jax.random.split(key, moves))[0]

        return lambda: run(variables, start, jax.random.key(4))

    def self_play(renew: Callable[..., Any], evaluate: Any, variables: Any) -> Callable[[], Any]:
        """Self-play as it is, but for the function that renews its lanes."""
        search = make_gumbel(game, evaluate, config.search, explore=True)

        @jax.jit
        def run(variables: Any, start: Any, key: jax.Array) -> Any:
            with mock.patch.object(selfplay, "renew_lanes", renew):
                return selfplay.play(game, search, variables, start, key, moves=moves, opening_plies=plies)

        return lambda: run(variables, start, jax.random.key(5))

    low, high = (budget, budget) if lanes <= FEW else (4, 8)
    rivals = {
        "all": (renewals(open_all_lanes, moves), moves),
        "ended": (renewals(selfplay.renew_lanes, 20 * moves), 20 * moves),
        "no network": (searches(*bare, budget), moves),
        **{str(count): (searches(network.evaluate, variables, count), moves) for count in {low, high}},
    }
    if lanes <= FEW:
        for how, evaluator in (("network", (network.evaluate, variables)), ("no network", bare)):
            rivals[f"play all, {how}"] = (self_play(open_all_lanes, *evaluator), moves)
            rivals[f"play ended, {how}"] = (self_play(selfplay.renew_lanes, *evaluator), moves)
    took = best_times(rivals, rounds=runs)
    search = took[str(high)]
    if high < budget:  # every further simulation takes as long
        search += (budget - high) * (search - took[str(low)]) / (high - low)
    shares = [
        took[which] / (took[which] + beside) for beside in (search, took["no network"]) for which in ("all", "ended")
    ]
    milliseconds = [took["all"], took["ended"], search, took["no network"]]
    label = f"{game.name} {'x'.join(map(str, game.observation_shape[:2]))}"
    print(
        f"{label:<20}{lanes:>6}{plies:>6}"
        + "".join(f"{1e3 * time:14.3f}" for time in milliseconds)
        + "".join(f"{share:14.2%}" for share in shares),
        flush=True,
    )
    for how in ("network", "no network") if lanes <= FEW else ():
        before, now = (1e3 * took[f"play {which}, {how}"] for which in ("all", "ended"))
        print(f"    self-play itself, {how:<10} {before:9.3f} ms a move, now {now:9.3f} ms: {now / before:.3f} of it")


def open_all_lanes(game: envs.Game, lanes: Any, ended: Any, key: Any, *, opening_plies: int, starts: Any = None) -> Any:
    """What `selfplay.renew_lanes` returns, in the way it was done before."""
    new = selfplay.init_lanes(game, key, lanes=len(ended), opening_plies=opening_plies, starts=starts)
    return jax.tree.map(lambda a, b: jnp.where(jnp.expand_dims(ended, range(1, a.ndim)), a, b), new, lanes)


def knows_nothing(game: envs.Game) -> Callable[..., Any]:
    """A network that costs nothing, so that a search costs what the rules and the tree cost."""

    def evaluate(variables: Any, observations: jax.Array) -> tuple[jax.Array, jax.Array]:
        del variables
        zero = 0.0 * jnp.mean(observations, axis=(1, 2, 3), dtype=jnp.float32)  # so that they are computed
        return jnp.zeros((len(observations), game.num_actions)) + zero[:, None], zero

    return evaluate


def best_times(rivals: dict[str, tuple[Callable[[], Any], int]], *, rounds: int) -> dict[str, float]:
    """The least seconds a move of each, of the process's own time, after one run that compiles."""
    times: dict[str, float] = {}
    for number in range(rounds + 1):
        for name, (run, moves) in rivals.items():
            start = time.process_time()
            jax.block_until_ready(run())
            if number:
                times[name] = min(times.get(name, float("inf")), (time.process_time() - start) / moves)
    return times


if __name__ == "__main__":
    main()
