"""How fast the small games' rules are beside pgx's: random play with automatic restarts, steps a second on one core.

command    python experiments/bench_envs.py            (--smoke: seconds, meaningless numbers)
hardware   one core of a shared two-core x86 VM, CPU only (the script binds itself to one core, so XLA uses one thread)
software   jax 0.10.2, pgx 2.6.0 (pip install 'azjax[oracles]'; without it only our columns are printed)
date       2026-11-30; 40 s
outcome    million steps a second (ours, ours with observation, pgx), and how many times pgx both of ours are:
           tic_tac_toe   batch 64: 23.9, 22.2, 11.2 (2.1, 2.0)      batch 1,024: 51.8, 44.4, 18.7 (2.8, 2.4)
           connect_four  batch 64: 19.2, 11.1,  4.0 (4.8, 2.8)      batch 1,024: 40.5, 15.9,  4.7 (8.7, 3.4)
           gomoku 15x15: 0.9, 8x8: 4.0 to 4.5; dots_and_boxes 3x3: 7.5 to 9.1. State bytes: 6 to 89 and 16 to 285.
           Picking an action takes much of these times, on both sides alike. With --categorical, whose nine logarithms
           a step dwarf tic-tac-toe's rules, its ratios are 1.2 and 1.3, connect four's 2.4 and 5.1.

Everything but the rules is the same code for both: one jitted loop of legal mask, one random number a lane that picks a
legal action uniformly, step, and restart of finished lanes. pgx computes the mask and the observation in every step and
keeps them in its state; ours are computed when asked for, so `rules` leaves the observation out and `rules + observe`
computes and stores it in every step, as pgx does. Rivals take turns, and the best of several runs counts.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import envs

GAMES = (
    ("tic_tac_toe", {}, "tic_tac_toe"),
    ("connect_four", {}, "connect_four"),
    ("gomoku", {"size": 8}, None),
    ("gomoku", {"size": 15}, None),
    ("dots_and_boxes", {}, None),
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

    def pick(key, mask):
        """A legal action, all equally likely."""
        if categorical:
            return jax.random.categorical(key, jnp.where(mask, 0.0, -jnp.inf))
        rank = jax.random.uniform(key, (batch, 1)) * mask.sum(-1, keepdims=True)
        return jnp.argmax(jnp.cumsum(mask, -1) > rank, -1).astype(jnp.int32)

    def move(_, carry):
        start, state, _, key = carry
        key, pick_key = jax.random.split(key)
        state = jax.vmap(rules.step)(state, pick(pick_key, jax.vmap(rules.mask)(state)))
        state = jax.vmap(lambda s: jax.tree.map(lambda new, old: jnp.where(s.terminated, new, old), start, s))(state)
        return start, state, jax.vmap(rules.observe)(state), key

    @jax.jit
    def play(key):
        start = rules.init()
        state = jax.tree.map(lambda x: jnp.broadcast_to(x, (batch, *x.shape)), start)
        return jax.lax.fori_loop(0, steps, move, (start, state, jax.vmap(rules.observe)(state), key))[1:3]

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
                started = time.perf_counter()
                play()
                best[i] = max(best[i], batch * steps / (time.perf_counter() - started))
    return best


def state_bytes(rules: Rules) -> int:
    """Bytes of one state."""
    return sum(x.size * x.dtype.itemsize for x in jax.tree.leaves(jax.eval_shape(rules.init)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="small sizes: shows that it runs, measures nothing")
    parser.add_argument("--categorical", action="store_true", help="pick by jax.random.categorical")
    arguments = parser.parse_args()
    smoke = arguments.smoke
    if hasattr(os, "sched_setaffinity"):  # Linux; XLA has as many threads as there are cores when its backend starts
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if pgx_rules("tic_tac_toe") is None:
        print("pgx is not installed, so its columns are empty: pip install 'azjax[oracles]'")
    columns = "rules", "rules + observe", "pgx", "rules / pgx", "observe / pgx", "bytes", "pgx bytes"
    print(f"{'million steps a second':<51}{'':>6}" + "".join(f"{c:>17}" for c in columns))
    for name, settings, rival in GAMES:
        game = envs.make(name, **settings)
        theirs = pgx_rules(rival) if rival else None
        rivals = [our_rules(game, observe=False), our_rules(game, observe=True), theirs]
        for batch in (8,) if smoke else (64, 1024):
            steps, repeats = (20, 1) if smoke else (200_000 // batch, 10)
            bare, observed, pgx_rate = steps_per_second(rivals, batch, steps, repeats, arguments.categorical)
            ratios = [f"{rate / pgx_rate:.2f}" if theirs else "-" for rate in (bare, observed)]
            rates = [f"{rate / 1e6:.2f}" if rate else "-" for rate in (bare, observed, pgx_rate)]
            sizes = [str(state_bytes(rules)) if rules else "-" for rules in (rivals[0], theirs)]
            print(f"{game!r:<51}{batch:>6}" + "".join(f"{c:>17}" for c in (*rates, *ratios, *sizes)), flush=True)


if __name__ == "__main__":
    main()
