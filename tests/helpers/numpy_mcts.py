"""AlphaZero's search once more, one node at a time in NumPy: what azjax.search.puct is compared with."""

from __future__ import annotations

import functools
import itertools

import jax
import numpy as np


class Node:
    """A position: its value and prior by the network, and N and W of every action."""

    def __init__(self, born, state, prior, value):
        self.born, self.state, self.prior, self.value = born, state, prior, value
        self.legal = prior > 0
        self.visits = np.zeros(len(prior), int)
        self.totals = np.zeros(len(prior))
        self.rewards, self.discounts = np.zeros(len(prior)), np.zeros(len(prior))
        self.children: dict[int, Node] = {}
        self.count, self.mean = 1, value  # the node's own evaluation counts as a visit

    @property
    def q(self):
        return np.where(self.visits > 0, self.totals / np.maximum(self.visits, 1), 0.0)


class Search:
    """PUCT over one game and network, on the host."""

    def __init__(self, game, evaluate, config):
        self.game, self.config = game, config
        self.step = jax.jit(game.step)
        self.look = jax.jit(functools.partial(_look, game, evaluate))
        self.clock = itertools.count()

    def root(self, state):
        return self.node(jax.tree.map(np.asarray, state))

    def node(self, state):
        logits, value, legal, over = jax.device_get(self.look(state))
        if over:
            return Node(next(self.clock), state, np.full(len(logits), 1 / len(logits)), 0.0)
        weights = np.where(legal, np.exp(np.float64(logits) - logits[legal].max()), 0.0)
        return Node(next(self.clock), state, weights / weights.sum(), float(value))

    def select(self, node):
        config, total = self.config.puct, node.visits.sum()
        c = config.c_puct or np.log((1 + total + config.c_base) / config.c_base) + config.c_init
        unvisited = {
            "zero": 0.0,
            "loss": -1.0,
            "parent": node.mean - config.fpu_reduction * np.sqrt(node.prior[node.visits > 0].sum()),
        }[config.fpu]
        q = np.where(node.visits > 0, node.q, unvisited)
        scores = q + c * node.prior * np.sqrt(max(total, 1)) / (1 + node.visits)
        return int(np.argmax(np.where(node.legal, scores, -np.inf)))

    def simulate(self, root):
        path, node = [], root
        while True:
            action = self.select(node)
            path.append((node, action))
            if action not in node.children:
                break
            node = node.children[action]
        state, transition = self.step(node.state, np.int32(action))
        node.rewards[action], node.discounts[action] = float(transition.reward), float(transition.discount)
        child = node.children[action] = self.node(jax.tree.map(np.asarray, state))
        value = child.value
        for node, action in reversed(path):
            value = node.rewards[action] + node.discounts[action] * value
            node.visits[action] += 1
            node.totals[action] += value
            node.mean = (node.mean * node.count + value) / (node.count + 1)
            node.count += 1

    def run(self, root, simulations):
        for _ in range(simulations):
            self.simulate(root)
        return root


def _look(game, evaluate, state):
    logits, value = evaluate((), game.observe(state)[None])
    return logits[0], value[0], game.legal_action_mask(state), state.terminated
