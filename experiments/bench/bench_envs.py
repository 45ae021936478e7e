"""How fast the rules are beside pgx's: random play with automatic restarts, steps a second on one core.

command    python experiments/bench/bench_envs.py            (--smoke: seconds, meaningless numbers)
hardware   one core of a shared two-core x86 VM, CPU only (the script binds itself to one core, so XLA uses one thread)
software   jax 0.10.2, pgx 2.6.0 (pip install 'azjax[oracles]'; without it only our columns are printed)
date       2026-11-30; 60 s
outcome    million steps a second (ours, ours with observation, pgx), and how many times pgx both of ours are:
           tic_tac_toe   batch 64: 48.4, 42.4, 17.0 (2.8, 2.5)      batch 1,024: 71.3, 59.1, 23.5 (3.0, 2.5)
           connect_four  batch 64: 32.2, 14.2,  4.6 (6.9, 3.1)      batch 1,024: 48.6, 17.8,  5.0 (9.8, 3.6)
           othello       batch 64: 15.8, 13.2,  1.6 (9.7, 8.1)      batch 1,024: 20.8, 16.7,  1.9 (11.0, 8.8)
           hex 11x11     batch 64:  9.2,  4.7,  2.1 (4.4, 2.3)      batch 1,024:  9.4,  4.9,  2.1 (4.4, 2.3)
           Without pgx's figures: gomoku 8x8 27 to 45, 15x15 5; dots_and_boxes 3x3 23 to 28; hex 19x19 4.
           State bytes, ours and pgx's: 6, 89; 16, 285; 18, 472; 123, 1,121; Go 9x9 1,019, 5,718; 19x19
           7,073, 25,318.
           With --categorical the logarithms of as many random numbers as there are actions dwarf all rules, and the
           ratios at batch 1,024 are 1.5, 5.6, 1.4 and 1.2.
           Go in a run of its own (--game go, 6 minutes), the other core busy, in thousand steps a second:
           go 9x9        batch 64:  610,  480,   46 (13.4, 10.4)    batch 1,024:  830,  700,   36 (22.9, 19.3)
           go 19x19      batch 64:   70,   60,    3 (23.8, 22.1)    batch 1,024:  120,  100,    3 (35.7, 29.5)
           Batch 64 plays many games, batch 1,024 the first 195 moves of one, which on 19x19 is the emptier half. Over
           whole 19x19 games, measured apart, the rules alone made 103 thousand at batch 64 and 78 at 1,024.
           The games of the chess family in runs of their own, the other core busy, in thousand steps a second:
           chess         batch 64:  150,   46,   13 (11.8, 3.6)     batch 1,024:  121,   45,   11 (10.7, 4.0)
           shogi         batch 64:   65,   33,  1.5 (42.1, 21.6)    batch 1,024:   44,   23,  1.3 (33.9, 17.9)
           xiangqi       batch 64:  126,   59                       batch 1,024:  130,   55
           pyffish, from Python, position by position: 0.43 (xiangqi; nearly all of it is the way into C++).
           State bytes, ours and pgx's: 1,330, 46,266; 4,872, 14,463; 1,698. A step alone takes as long at either
           batch (chess: 3.2 and 3.3 us); what falls at 1,024 are the masks of all lanes, which leave the cache.

Everything but the rules is the same code for both: one jitted loop of legal mask, one random number a lane that picks a
legal action uniformly, step, and restart of finished lanes. pgx computes the mask and the observation in every step and
keeps them in its state; ours are computed when asked for, so `rules` leaves the observation out and `rules + observe`
computes and stores it in every step, as pgx does. Rivals take turns, and the best of several runs counts. Times are the
process's own CPU time, in its one thread, so that other programs on the machine count little.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import envs

sys.path.append(str(Path(__file__).parents[1]))

from record import begin

GAMES = (  # name, settings, pgx's name, moves a run, runs that count
    ("tic_tac_toe", {}, "tic_tac_toe", 200_000, 10),
    ("connect_four", {}, "connect_four", 200_000, 10),
    ("gomoku", {"size": 8}, None, 200_000, 10),
    ("gomoku", {"size": 15}, None, 200_000, 10),
    ("dots_and_boxes", {}, None, 200_000, 10),
    ("othello", {}, "othello", 200_000, 10),
    ("hex", {"swap": True}, "hex", 200_000, 10),
    ("hex", {"size": 19}, None, 200_000, 10),
    ("go", {"size": 9}, "go_9x9", 200_000, 5),
    ("go", {"size": 19}, "go_19x19", 200_000, 1),
    ("chess", {}, "chess", 100_000, 3),
    ("shogi", {}, "shogi", 20_000, 1),
    ("xiangqi", {}, None, 200_000, 3),
)


class Rules(NamedTuple):
    """One game, seen the same way for both libraries."""

    init: Callable[[], Any]
    mask: Callable[[Any], Any]
    step: Callable[[Any, Any], Any]
    observe: Callable[[Any], Any]


def our_rules(game: envs.Game, *, observe: bool) -> Rules:
    """Our game; without `observe` its observation is empty."""
    return Rules(
        game.init,
        game.legal_action_mask,
        lambda state, action: game.step(state, action)[0],
        game.observe if observe else lambda state: (),
    )


def pgx_rules(name: str) -> Rules | None:
    """pgx's game, whose state carries its mask and its observation; None without pgx."""
    try:
        import pgx  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    game = pgx.make(name)
    return Rules(
        lambda: game.init(jax.random.key(0)), lambda state: state.legal_action_mask, game.step, lambda state: ()
    )


def random_play(rules: Rules, batch: int, steps: int, categorical: bool) -> Callable[[], Any]:
    """A compiled function that plays `steps` moves in each of `batch` lanes."""

    def pick(noise, mask):
        """A legal action, all equally likely: that with the largest hash of a random number and the action."""
        if categorical:
            return jax.random.categorical(noise, jnp.where(mask, 0.0, -jnp.inf))
        action = np.arange(mask.shape[1], dtype=np.uint32)
        low = np.uint32(2 ** len(action).bit_length() - 1)  # the bits of the hash that make room for the action
        mixed = (noise[:, None] ^ action[None] * np.uint32(0x9E3779B9)) * np.uint32(0x85EBCA6B)
        mixed = (mixed ^ mixed >> 15) * np.uint32(0xC2B2AE35)
        # As positive floats, in the same order: XLA's CPU backend finds the largest float three times as fast.
        order = jax.lax.bitcast_convert_type((mixed >> 2 & ~low | action[None]) + np.uint32(0x00800000), jnp.float32)
        best = jax.lax.bitcast_convert_type(jnp.max(jnp.where(mask, order, 0.0), -1), jnp.uint32)
        return (best & low).astype(jnp.int32)

    def move(carry, noise):
        start, state, _ = carry
        state = jax.vmap(rules.step)(state, pick(noise, jax.vmap(rules.mask)(state)))
        state = jax.vmap(lambda s: jax.tree.map(lambda new, old: jnp.where(s.terminated, new, old), start, s))(state)
        return (start, state, jax.vmap(rules.observe)(state)), None

    @jax.jit
    def play(key):
        start = rules.init()
        state = jax.tree.map(lambda x: jnp.broadcast_to(x, (batch, *jnp.shape(x))), start)
        noise = jax.random.split(key, steps) if categorical else jax.random.bits(key, (steps, batch))
        seen = jax.eval_shape(jax.vmap(rules.observe), state)
        return jax.lax.scan(move, (start, state, jax.tree.map(jnp.zeros_like, seen)), noise)[0][1:]

    key = jax.random.key(0)
    jax.block_until_ready(play(key))
    return lambda: jax.block_until_ready(play(key))


def steps_per_second(
    rivals: list[Rules | None], batch: int, steps: int, repeats: int, categorical: bool
) -> list[float]:
    """The best rate of each rival; 0 for one that is absent."""
    plays = [rules and random_play(rules, batch, steps, categorical) for rules in rivals]
    best = [0.0] * len(rivals)
    for _ in range(repeats):
        for i, play in enumerate(plays):
            if play:
                started = time.process_time()
                play()
                best[i] = max(best[i], batch * steps / (time.process_time() - started))
    return best


def pyffish_steps_per_second(steps: int) -> float | None:
    """Random play of xiangqi through pyffish, or None where it is missing."""
    try:
        fish: Any = importlib.import_module("pyffish")
    except ModuleNotFoundError:
        return None
    rng, start = random.Random(0), fish.start_fen("xiangqi")
    position, started = start, time.process_time()
    for _ in range(steps):
        legal = fish.legal_moves("xiangqi", position, [])
        position = fish.get_fen("xiangqi", position, [rng.choice(legal)]) if legal else start
    return steps / (time.process_time() - started)


def state_bytes(rules: Rules) -> int:
    """Bytes of one state."""
    return sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(jax.eval_shape(rules.init)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="small sizes: shows that it runs, measures nothing")
    parser.add_argument("--categorical", action="store_true", help="pick by jax.random.categorical")
    parser.add_argument("--game", choices=dict.fromkeys(row[0] for row in GAMES), help="this one alone")
    arguments = parser.parse_args()
    smoke = arguments.smoke
    if hasattr(os, "sched_setaffinity"):  # Linux; XLA has as many threads as there are cores when its backend starts
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    games = [
        (name, settings, rival, 160 if smoke else moves, 1 if smoke else runs)
        for name, settings, rival, moves, runs in GAMES
        if arguments.game in (None, name)
    ]
    batches = (8,) if smoke else (64, 1024)
    begin({"categorical": arguments.categorical, "batches": batches, "games": games})
    if pgx_rules("tic_tac_toe") is None:
        print("pgx is not installed, so its columns are empty: pip install 'azjax[oracles]'")
    columns = "rules", "rules + observe", "pgx", "rules / pgx", "observe / pgx", "bytes", "pgx bytes"
    print(f"{'million steps a second':<51}{'':>6}" + "".join(f"{c:>17}" for c in columns))
    for name, settings, rival, moves, runs in games:
        game = envs.make(name, **settings)
        theirs = pgx_rules(rival) if rival else None
        rivals = [our_rules(game, observe=False), our_rules(game, observe=True), theirs]
        for batch in batches:
            bare, observed, pgx_rate = steps_per_second(rivals, batch, moves // batch, runs, arguments.categorical)
            ratios = [f"{rate / pgx_rate:.2f}" if theirs else "-" for rate in (bare, observed)]
            rates = [f"{rate / 1e6:.3f}" if rate else "-" for rate in (bare, observed, pgx_rate)]
            sizes = [str(state_bytes(rules)) if rules else "-" for rules in (rivals[0], theirs)]
            print(f"{game!r:<51}{batch:>6}" + "".join(f"{c:>17}" for c in (*rates, *ratios, *sizes)), flush=True)
        if name == "xiangqi" and (rate := pyffish_steps_per_second(20 if smoke else 400)):
            print(f"{'pyffish, position by position':<51}{1:>6}{rate / 1e6:>17.6f}", flush=True)


if __name__ == "__main__":
    main()
