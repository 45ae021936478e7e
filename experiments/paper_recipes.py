"""AlphaZero's own settings: what a run of them takes, computed from the compiled network, the trees and the replay.

command    python experiments/paper_recipes.py            (--smoke: a small network, whose numbers mean nothing)
hardware   any CPU: nothing is run, XLA counts the operations of the network that it would compile
software   jax 0.10.2
date       2026-11-30; 20 s
outcome    700,000 updates of 4,096 positions, 4.59 billion moves of 800 simulations, 19 blocks of 256 channels:

           game      parameters   an evaluation   a tree      a position in the replay   4,096 trees and the replay
           chess     23.3 M       2.53 GFLOP       5.62 MB    1,781 bytes                 52.9 GB
           shogi     23.9 M       3.34 GFLOP      16.27 MB    6,073 bytes                168.5 GB
           xiangqi   24.3 M       3.57 GFLOP       3.71 MB    1,937 bytes                 47.7 GB

           At the data sheet's rate of bfloat16, in device-days and by how many devices hold it, at the least:

           game      H200         A100 80 GB   TPU v5e      TPU v5p
           chess     109 days, 1  346, 1       548,  8      235, 1
           shogi     144, 2       457, 4       724, 16      311, 4
           xiangqi   154, 1       487, 1       772,  4      331, 1

caution    The days are a bound that no run reaches: every operation at the peak rate, rules and search for nothing.
           None of these runs has been made. Shogi's replay is large because no position of shogi is final: its state
           keeps 512 hashes.
"""

from __future__ import annotations

import argparse
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from record import begin

import envs
from azjax import config as configs
from azjax.config import Config
from azjax.config.presets import preset
from azjax.devices.memory import USABLE, position_bytes
from azjax.network import make_network
from azjax.search.tree import tree_bytes

GAMES = "chess", "shogi", "xiangqi"


class Accelerator(NamedTuple):
    """One device, by its maker's data sheet."""

    memory: float  # bytes
    flops: float  # of dense bfloat16 products, a second


ACCELERATORS = {
    "H200": Accelerator(141e9, 989e12),
    "A100 80 GB": Accelerator(80e9, 312e12),
    "TPU v5e": Accelerator(16e9, 197e12),
    "TPU v5p": Accelerator(95e9, 459e12),
}


def main() -> None:
    """Prints one block a game: what a run is made of, then how many of each accelerator it needs, and how long."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--smoke", action="store_true")
    smoke = parser.parse_args().smoke
    changes = {"network": {"blocks": 1, "channels": 4}} if smoke else {}
    games = [configs.replace(preset(envs.make(name), "paper"), changes) for name in (GAMES[:1] if smoke else GAMES)]
    begin({config.game.name: configs.to_dict(config) for config in games})
    for config in games:
        report(config)


def report(config: Config) -> None:
    """One game's block."""
    parameters, flops = network_cost(config)
    updates = config.iterations * config.learner.updates
    moves = config.iterations * config.moves_per_iteration
    evaluations = moves * (config.search.num_simulations + 1)
    tree = tree_bytes(config.game, config.search.num_simulations + 1)
    replay = position_bytes(config.game) * config.replay_rows * config.selfplay.lanes
    # Learning is three evaluations: forward, and backward to the inputs and to the weights.
    work = flops * (evaluations + 3 * updates * config.learner.batch_size)
    print(
        f"{config.game.name}: {parameters / 1e6:.1f} million parameters, {flops / 1e9:.2f} GFLOP an evaluation; "
        f"{updates:,} updates of {config.learner.batch_size:,}, {moves / 1e9:.2f} billion moves of "
        f"{config.search.num_simulations} simulations; a tree takes {tree / 1e6:.2f} MB, a position in the replay "
        f"{position_bytes(config.game):,} bytes, {config.selfplay.lanes:,} trees and the replay "
        f"{(tree * config.selfplay.lanes + replay) / 1e9:.1f} GB"
    )
    for name, device in ACCELERATORS.items():
        least = math.ceil((tree * config.selfplay.lanes + replay) / (USABLE * device.memory))
        number = 2 ** math.ceil(math.log2(least))  # lanes are split evenly
        days = work / device.flops / 86_400
        print(
            f"  {name}: {number} or more hold it; {days:,.0f} device-days if every operation ran at the data sheet's "
            f"{device.flops / 1e12:.0f} TFLOP/s, {days / number:,.0f} days on {number}",
            flush=True,
        )


def network_cost(config: Config) -> tuple[int, float]:
    """The network's parameters, and the floating-point operations of one evaluation as XLA counts them."""
    network = make_network(config.game, config.network)
    variables = jax.eval_shape(network.init, jax.random.key(0))
    observation = jax.ShapeDtypeStruct((1, *config.game.observation_shape), jnp.float32)
    cost = jax.jit(network.evaluate).lower(variables, observation).cost_analysis()
    parameters = sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(variables.params))
    return parameters, float(cost["flops"])  # pyright: ignore[reportIndexIssue, reportOptionalSubscript]


if __name__ == "__main__":
    main()
