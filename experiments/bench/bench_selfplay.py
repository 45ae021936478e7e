"""What self-play costs beside its network: ours, and pgx + mctx with the same network, batch and simulations.

command    taskset -c 1 python experiments/bench/bench_selfplay.py            (--smoke: seconds, meaningless numbers)
hardware   one core of a shared two-core x86 VM, CPU only
software   jax 0.10.2, mctx 0.0.71, pgx 2.6.0 (pip install 'azjax[oracles]'; without it only our columns are printed)
date       2026-11-30; 1 minute
outcome    connect four, 64 lanes, a network of 4 blocks and 32 channels:

           simulations   network alone   azjax self-play   pgx + mctx      azjax / network   azjax / pgx + mctx
                    32   30,371 evals/s   29,714 sims/s    29,495 sims/s   0.99 x time       1.01
                   400   30,549 evals/s   27,791 sims/s    27,950 sims/s   1.10 x time       0.99

           Both cost what their network costs: seven actions are too few for mctx's copies to show, and either game's
           rules take next to nothing. What ours does beside, records, hashes and random openings, is in its time.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mctx

import envs
from azjax import config as configs
from azjax import selfplay
from azjax.network import make_network
from azjax.search import make_gumbel

sys.path.append(str(Path(__file__).parents[1]))

from record import begin

LANES = 64


def main() -> None:
    """Prints one line a budget. Rivals take turns, and the best of several runs counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--smoke", action="store_true")
    smoke = parser.parse_args().smoke
    budgets = (4, 8) if smoke else (32, 400)
    game, config = envs.make("connect_four"), configs.NetworkConfig()
    searches = [dataclasses.asdict(configs.SearchConfig(num_simulations=budget)) for budget in budgets]
    begin({"lanes": LANES, "network": dataclasses.asdict(config), "searches": searches})
    network = make_network(game, config)
    variables = network.init(jax.random.key(0))
    print("simulations  network alone    azjax self-play     pgx + mctx       azjax/network  azjax/pgx + mctx")
    for simulations in budgets:
        moves = 1 if smoke or simulations > 100 else 8
        rivals = {
            "network": network_alone(game, network, variables, evaluations=(simulations + 1) * moves),
            "azjax": ours(game, network, variables, simulations, moves),
        }
        if theirs := pgx_and_mctx(network, variables, simulations, moves):
            rivals["pgx"] = theirs
        seconds = best_times(rivals, rounds=2 if smoke else 8)
        rate = {name: LANES * moves * simulations / time for name, time in seconds.items()}
        evaluations = LANES * moves * (simulations + 1) / seconds["network"]
        pgx = rate.get("pgx")
        theirs = f"{pgx:9,.0f} sims/s" if pgx else "         missing"
        beside = f"{rate['azjax'] / pgx:17.2f}" if pgx else f"{'-':>17}"
        print(
            f"{simulations:11d} {evaluations:9,.0f} evals/s {rate['azjax']:10,.0f} sims/s  {theirs} "
            f"{seconds['azjax'] / seconds['network']:14.2f}x time {beside}",
            flush=True,
        )


def network_alone(game: envs.Game, network: Any, variables: Any, *, evaluations: int) -> Callable[[], Any]:
    """So many evaluations of a batch in a loop, each depending on the one before."""
    states = jax.vmap(lambda _: game.init())(jnp.arange(LANES))
    observations = jax.vmap(game.observe)(states)

    @jax.jit
    def run(observations: jax.Array) -> jax.Array:
        def body(observations: jax.Array, _: None) -> tuple[jax.Array, None]:
            _, value = network.evaluate(variables, observations)
            return observations ^ (value > 2)[:, None, None, None], None

        return jax.lax.scan(body, observations, length=evaluations)[0]

    return lambda: run(observations)


def ours(game: envs.Game, network: Any, variables: Any, simulations: int, moves: int) -> Callable[[], Any]:
    """Self-play as training runs it, records and restarts included."""
    search = make_gumbel(game, network.evaluate, configs.SearchConfig(num_simulations=simulations), explore=True)
    lanes = selfplay.init_lanes(game, jax.random.key(0), lanes=LANES, opening_plies=0)

    @jax.jit
    def run(lanes: Any, key: jax.Array) -> Any:
        return selfplay.play(game, search, variables, lanes, key, moves=moves, opening_plies=0)

    return lambda: run(lanes, jax.random.key(1))


def pgx_and_mctx(network: Any, variables: Any, simulations: int, moves: int) -> Callable[[], Any] | None:
    """The usual pipeline of public parts: pgx's rules and automatic restart, mctx's Gumbel policy; None without pgx."""
    try:
        pgx: Any = importlib.import_module("pgx")
        auto_reset = importlib.import_module("pgx.experimental.wrappers").auto_reset
    except ImportError:
        return None
    root_output: Any = mctx.RootFnOutput
    recurrent_output: Any = mctx.RecurrentFnOutput
    env = pgx.make("connect_four")
    step = jax.vmap(auto_reset(env.step, env.init))
    plain_step = jax.vmap(env.step)

    def evaluated(state: Any) -> tuple[jax.Array, jax.Array]:
        logits, value = network.evaluate(variables, state.observation)
        logits = logits - jnp.max(logits, axis=-1, keepdims=True)
        return jnp.where(state.legal_action_mask, logits, jnp.finfo(logits.dtype).min), value

    def recurrent_fn(params: Any, key: Any, action: Any, state: Any) -> Any:
        del params, key
        mover = state.current_player
        state = plain_step(state, action)
        logits, value = evaluated(state)
        reward = state.rewards[jnp.arange(LANES), mover]
        value = jnp.where(state.terminated, 0.0, value)
        discount = jnp.where(state.terminated, 0.0, -1.0)
        output = recurrent_output(reward=reward, discount=discount, prior_logits=logits, value=value)
        return output, state

    @jax.jit
    def run(state: Any, key: jax.Array) -> Any:
        def play_move(state: Any, key: jax.Array) -> Any:
            search_key, step_key = jax.random.split(key)
            logits, value = evaluated(state)
            output = mctx.gumbel_muzero_policy(
                params=(),
                rng_key=search_key,
                root=root_output(prior_logits=logits, value=value, embedding=state),
                recurrent_fn=recurrent_fn,
                num_simulations=simulations,
                invalid_actions=~state.legal_action_mask,
            )
            after = step(state, output.action, jax.random.split(step_key, LANES))
            record = (state.observation, output.action_weights, after.rewards, after.terminated)
            return after, record

        return jax.lax.scan(play_move, state, jax.random.split(key, moves))

    start = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), LANES))
    return lambda: run(start, jax.random.key(1))


def best_times(rivals: dict[str, Callable[[], Any]], *, rounds: int) -> dict[str, float]:
    """The shortest time of each, in seconds, after one run that compiles."""
    times: dict[str, float] = {}
    for number in range(rounds + 1):
        for name, run in rivals.items():
            start = time.perf_counter()
            jax.block_until_ready(run())
            if number:
                times[name] = min(times.get(name, float("inf")), time.perf_counter() - start)
    return times


if __name__ == "__main__":
    main()
