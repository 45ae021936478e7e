"""What a search costs beside its network: ours and stock mctx, on the same game, network, batch and simulations.

command    taskset -c 1 python experiments/bench/bench_search.py            (--smoke: seconds, meaningless numbers)
hardware   one core of a shared two-core x86 VM, CPU only
software   jax 0.10.2, mctx 0.0.71
date       2026-11-30; 7 minutes
outcome    milliseconds a simulation of all lanes, the network alone (4 blocks, 32 channels) being 1.00 x:

           game          lanes  simulations  policy     network          azjax          stock mctx   bytes a game
           connect_four     64           32  gumbel    2.563 ms  2.690   1.05x    2.699     1.05x          6,732
           connect_four     64           32  puct      2.563 ms  2.663   1.04x    2.926     1.14x          6,732
           connect_four     64          400  gumbel    2.447 ms  2.598   1.06x    3.348     1.37x         81,804
           connect_four     64          400  puct      2.447 ms  2.585   1.06x    3.665     1.50x         81,804
           gomoku           16          400  gumbel    2.599 ms  2.786   1.07x    5.297     2.04x      2,199,084
           gomoku           16          400  puct      2.599 ms  2.740   1.05x   53.555    20.61x      2,199,084

           gomoku is 15x15. Stock mctx is gumbel_muzero_policy and muzero_policy on the full width. The bytes are those
           of our tree. The same 64 simulations in a tree for 1,025 nodes and for 65: 1.02 (connect four), 1.07
           (gomoku).

           Chess in a run of its own (--game chess, 3 minutes), the other core busy:
           chess            32           32  gumbel     2.413 ms  3.463   1.44x   14.365     5.95x        231,594
           chess            32           32  puct       2.413 ms  3.469   1.44x   43.644    18.09x        231,594
           chess             8          400  gumbel     0.577 ms  0.861   1.49x   25.471    44.13x      2,814,218
           chess             8          400  puct       0.577 ms  0.860   1.49x   73.208   126.85x      2,814,218

           Rivals search with our rules of chess; for stock mctx only the first 16 of its simulations are timed, in a
           tree for all of them, when it is at its shallowest: the ratio for all is higher. What is left above the
           network is the rules': a step, a list of legal moves and an observation. 1,025 nodes against 65: 1.16.

caution    The machine was quiet in the first run. In three others, beside other programs, connect four's ratios were
           1.03 to 1.07 (gumbel, 32), 1.04 to 1.15 (puct, 32), 1.04 to 1.18 (gumbel, 400) and 1.04 to 1.13 (puct, 400).
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mctx
from bench_selfplay import best_times

import envs
from azjax.config import NetworkConfig, PuctConfig, SearchConfig
from azjax.network import Evaluator, make_network
from azjax.openings import random_opening
from azjax.search import make_gumbel, make_puct
from azjax.search.loop import make_loop
from azjax.search.puct import select_action
from azjax.search.slots import mask_logits
from azjax.search.tree import make_tree_functions, tree_bytes

sys.path.append(str(Path(__file__).parents[1]))

from record import begin

STOCK_SIMULATIONS = 16
"""Simulations of stock mctx that are timed where all of them would take minutes; the tree has its full capacity."""


class Case(NamedTuple):
    """One row of the table."""

    game: envs.Game
    lanes: int
    simulations: int


CASES = (
    Case(envs.make("connect_four"), 64, 32),
    Case(envs.make("connect_four"), 64, 400),
    Case(envs.make("gomoku"), 16, 400),
    Case(envs.make("chess"), 32, 32),
    Case(envs.make("chess"), 8, 400),
)
SMOKE = (Case(envs.make("connect_four"), 4, 8), Case(envs.make("chess"), 2, 8))


def main() -> None:
    """Prints one line a case and policy, then how the time grows with the tree's capacity."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--game", choices=dict.fromkeys(case.game.name for case in CASES), help="this one alone")
    arguments = parser.parse_args()
    smoke = arguments.smoke
    wanted = [case for case in (SMOKE if smoke else CASES) if arguments.game in (None, case.game.name)]
    settings = {"network": dataclasses.asdict(NetworkConfig()), "search": dataclasses.asdict(SearchConfig())}
    begin(settings | {"policies": ("gumbel", "puct"), "cases": [(repr(case.game), *case[1:]) for case in wanted]})
    print(
        "game          lanes  simulations  policy  network alone       azjax    ratio  stock mctx    ratio   bytes/game"
    )
    for case in wanted:
        compare(case, rounds=1 if smoke else 5)
    print("\ngame          lanes  simulations  time at a capacity of 1,025 nodes / of 65, best of several")
    for case in {case.game.name: case for case in (wanted[:1] if smoke else wanted)}.values():
        grow(case._replace(simulations=8 if smoke else 64), rounds=1 if smoke else 5)


def compare(case: Case, *, rounds: int) -> None:
    """One case's network, our searches and mctx's, in turns."""
    network, variables, states = prepared(case)
    slow = case.game.num_actions > 1_000
    rivals = {"network": network_alone(case, network, variables, states)}
    makers: dict[Any, Any] = {"gumbel": make_gumbel, "puct": make_puct}
    for policy, make in makers.items():
        config = SearchConfig(policy=policy, num_simulations=case.simulations)
        search = make(case.game, network.evaluate, config, explore=True)
        rivals[policy] = jitted(search, variables, jax.random.key(1), states)
    seconds = best_times(rivals, rounds=rounds)
    stock = {policy: stock_mctx(case, network, policy, variables, states, partly=slow) for policy in makers}
    seconds |= {f"stock {name}": time for name, time in best_times(stock, rounds=1 if slow else rounds).items()}
    per_simulation = {name: 1e3 * time / case.simulations for name, time in seconds.items()}
    if slow:
        for policy in makers:
            per_simulation[f"stock {policy}"] *= case.simulations / min(STOCK_SIMULATIONS, case.simulations)
    alone = per_simulation["network"]
    for policy in makers:
        ours, theirs = per_simulation[policy], per_simulation[f"stock {policy}"]
        size = tree_bytes(case.game, 1 + case.simulations)
        print(
            f"{case.game.name:12} {case.lanes:6} {case.simulations:12}  {policy:6} {alone:11.3f} ms {ours:8.3f} ms "
            f"{ours / alone:7.2f}x {theirs:8.3f} ms {theirs / alone:7.2f}x {size:12,}",
            flush=True,
        )


def grow(case: Case, *, rounds: int) -> None:
    """The same simulations in a small and in a large tree, four searches in a row, as self-play runs them."""
    network, variables, states = prepared(case)

    def searches(capacity: int, variables: Any, key: Any, states: Any) -> Any:
        def one(nothing: jax.Array, key: jax.Array) -> tuple[jax.Array, Any]:
            after_the_last = jax.tree.map(lambda x: x + nothing, variables)
            found = search_at_capacity(case, network, capacity, after_the_last, key, states)
            return 0 * jnp.sum(found[1]), found

        return jax.lax.scan(one, jnp.float32(0), jax.random.split(key, 4))[1]

    rivals = {
        str(capacity): jitted(functools.partial(searches, capacity), variables, jax.random.key(1), states)
        for capacity in (64, 1024)
    }
    seconds = best_times(rivals, rounds=rounds)
    ratio = seconds["1024"] / seconds["64"]
    print(f"{case.game.name:12} {case.lanes:6} {case.simulations:12}  {ratio:7.2f}x", flush=True)


def prepared(case: Case) -> tuple[Evaluator, Any, Any]:
    """The network, its fresh variables with some opinions, and positions of random games."""
    network = make_network(case.game, NetworkConfig())
    variables = network.init(jax.random.key(0))
    keys = iter(jax.random.split(jax.random.key(2), len(jax.tree.leaves(variables.params))))
    # A fresh policy head says nothing, which would make the flattest of trees.
    params = jax.tree.map(lambda x: x + 0.05 * jax.random.normal(next(keys), x.shape), variables.params)
    openings = jax.vmap(lambda key: random_opening(case.game, key, 6, max_plies=6))
    states = jax.jit(openings)(jax.random.split(jax.random.key(3), case.lanes)).state
    return network, variables._replace(params=params), states


def jitted(search: Callable[..., Any], *inputs: Any) -> Callable[[], Any]:
    """The search's outputs, from one compiled call."""
    compiled = jax.jit(lambda *inputs: search(*inputs)[:4])
    return lambda: compiled(*inputs)


def network_alone(case: Case, network: Evaluator, variables: Any, states: Any) -> Callable[[], Any]:
    """As many evaluations as the search makes, each depending on the one before."""
    observations = jax.vmap(case.game.observe)(states).astype(jnp.float32)

    @jax.jit
    def run(observations: jax.Array) -> jax.Array:
        def body(observations: jax.Array, _: None) -> tuple[jax.Array, None]:
            logits, value = network.evaluate(variables, observations)
            # The policy has to be worked out too.
            return observations + 1e-9 * (value + jnp.max(logits, axis=-1))[:, None, None, None], None

        return jax.lax.scan(body, observations, length=case.simulations + 1)[0]

    return lambda: run(observations)


def stock_mctx(
    case: Case, network: Evaluator, policy: str, variables: Any, states: Any, *, partly: bool
) -> Callable[[], Any]:
    """mctx's own policies on the full width: gumbel_muzero_policy, or muzero_policy for puct."""
    game = case.game
    root_output: Any = mctx.RootFnOutput
    recurrent_output: Any = mctx.RecurrentFnOutput
    first = min(STOCK_SIMULATIONS, case.simulations)

    def few(lower: int, upper: int, body: Any, carry: Any) -> Any:
        return jax.lax.fori_loop(lower, min(upper, first), body, carry)

    def evaluated(variables: Any, states: Any) -> tuple[jax.Array, jax.Array]:
        logits, value = network.evaluate(variables, jax.vmap(game.observe)(states))
        prior = mask_logits(logits, jax.vmap(game.legal_action_mask)(states))
        return jnp.where(states.terminated[:, None], 0.0, prior), jnp.where(states.terminated, 0.0, value)

    def recurrent_fn(variables: Any, key: Any, action: Any, states: Any) -> Any:
        del key
        states, transition = jax.vmap(game.step)(states, action)
        logits, value = evaluated(variables, states)
        output = recurrent_output(
            reward=transition.reward, discount=transition.discount, prior_logits=logits, value=value
        )
        return output, states

    def search(variables: Any, key: Any, states: Any) -> Any:
        logits, value = evaluated(variables, states)
        chosen = mctx.gumbel_muzero_policy if policy == "gumbel" else mctx.muzero_policy
        output = chosen(
            params=variables,
            rng_key=key,
            root=root_output(prior_logits=logits, value=value, embedding=states),
            recurrent_fn=recurrent_fn,
            num_simulations=case.simulations,
            invalid_actions=~jax.vmap(game.legal_action_mask)(states),
            loop_fn=few if partly else jax.lax.fori_loop,
        )
        return output.action, output.action_weights, value, logits

    return jitted(search, variables, jax.random.key(1), states)


def search_at_capacity(
    case: Case, network: Evaluator, capacity: int, variables: Any, key: jax.Array, states: Any
) -> Any:
    """The case's simulations by our loop, in a tree that has room for `capacity` of them."""
    root_fn, recurrent_fn = make_tree_functions(case.game, network.evaluate)
    select = functools.partial(select_action, config=PuctConfig())
    loop = make_loop(variables, recurrent_fn, select, select, max_depth=capacity)
    tree: Any = mctx.search(
        params=variables,
        rng_key=key,
        root=root_fn(variables, states),
        recurrent_fn=recurrent_fn,
        root_action_selection_fn=select,
        interior_action_selection_fn=select,
        num_simulations=capacity,
        loop_fn=lambda lower, upper, body, carry: loop(lower, case.simulations, body, carry),
    )
    return tree.children_visits[:, 0], tree.node_values[:, 0]


if __name__ == "__main__":
    main()
