"""AlphaZero's own search: PUCT at the root and below, noise at the root, visit fractions as the policy target.

AlphaGo Zero (Silver et al. 2017, Methods, Search algorithm): argmax of Q(s, a) + c P(s, a) sqrt(sum_b N(s, b)) /
(1 + N(s, a)) with Q = W / N in [-1, 1]. AlphaZero (Silver et al. 2018, supplement, Search) lets c grow with the visits.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import mctx
from jaxtyping import Array, Bool, Float, Int

from azjax.config import PuctConfig, SearchConfig
from azjax.network import Evaluate, Variables
from azjax.search import reuse
from azjax.search.loop import make_loop
from azjax.search.reuse import Reusing
from azjax.search.slots import make_slots
from azjax.search.tree import Search, SearchOutput, make_tree_functions, summarise
from envs.core import Game


@functools.cache
def make_puct(game: Game, evaluate: Evaluate, config: SearchConfig, *, explore: bool) -> Search:
    """The PUCT search, the same object for equal arguments.

    With `explore`, for self-play, the root's prior is mixed with noise and the move is drawn from the visits at the
    temperature of its ply; without, for evaluation and play, nothing is random and the most visited move is made.
    """
    run = _make_run(game, evaluate, config, explore)

    def search(
        variables: Variables, key: jax.Array, states: Any, plies: Int[Array, " batch"] | None = None
    ) -> SearchOutput:
        return run(variables, key, states, plies, None)[0]

    return search


@functools.cache
def make_reusing_puct(game: Game, evaluate: Evaluate, config: SearchConfig, *, explore: bool) -> Reusing:
    """The same search, which goes on with its last tree where that holds the position."""
    run = _make_run(game, evaluate, config, explore)

    def init_memory(variables: Variables, states: Any) -> Any:
        key = jax.random.key(0)
        memory = jax.eval_shape(lambda: run(variables, key, states, None, None, keeps=True)[1])
        return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), memory)

    return Reusing(init_memory, run)


def _make_run(game: Game, evaluate: Evaluate, config: SearchConfig, explore: bool) -> Any:
    """run(variables, key, states, plies, memory) -> (output, memory); without a memory the tree starts at the root."""
    puct = config.puct
    root_fn, recurrent_fn = make_tree_functions(game, evaluate)
    select = functools.partial(select_action, config=puct)
    forced = puct.forced_playouts if explore else 0.0
    select_root = functools.partial(_select_forced, config=puct) if forced else select

    def run(
        variables: Variables, key: jax.Array, states: Any, plies: Any, memory: Any, *, keeps: bool = False
    ) -> tuple[SearchOutput, Any]:
        noise_key, draw_key, search_key = jax.random.split(key, 3)
        legal = make_slots(game, states).legal
        root = root_fn(variables, states)
        if explore and puct.dirichlet_fraction:
            noisy = mix_noise(noise_key, root.prior_logits, legal, puct.dirichlet_fraction, puct.dirichlet_alpha)
            root = root.replace(prior_logits=noisy)
        kept = config.kept_nodes if keeps or memory is not None else 0
        prepare = (lambda tree: tree) if memory is None else functools.partial(reuse.reroot, memory, kept=kept)
        tree: Any = mctx.search(
            params=variables,
            rng_key=search_key,
            root=root,
            recurrent_fn=recurrent_fn,
            root_action_selection_fn=select_root,
            interior_action_selection_fn=select,
            num_simulations=kept + config.num_simulations,
            loop_fn=make_loop(
                variables,
                recurrent_fn,
                select_root,
                select,
                max_depth=config.max_depth or kept + config.num_simulations,
                prepare=prepare,
                lower=kept,
            ),
        )
        visits = tree.children_visits[:, tree.ROOT_INDEX]
        target = _prune(tree, puct) if forced else visits.astype(jnp.float32)
        weights = target / jnp.maximum(jnp.sum(target, axis=-1, keepdims=True), 1)
        if explore:
            ply = jnp.zeros_like(visits[:, 0]) if plies is None else plies
            action = draw_action(draw_key, visits, jnp.where(ply < puct.temperature_plies, puct.temperature, 0.0))
        else:
            action = most_visited(visits, tree.summary().qvalues)
        return summarise(action, weights, tree, legal), tree

    return run


def select_action(key: Any, tree: Any, node: Any, depth: Any = None, *, config: PuctConfig) -> Int[Array, ""]:
    """The slot of one tree's node with the highest score: both selections of mctx, root and interior. Draws nothing."""
    del key, depth
    return jnp.argmax(_scores(tree, node, config)).astype(jnp.int32)


def _scores(tree: Any, node: Any, config: PuctConfig) -> Float[Array, " slots"]:
    """Q + U of one node's slots, -inf for the illegal ones."""
    visits, logits = tree.children_visits[node], tree.children_prior_logits[node]
    prior = jax.nn.softmax(logits)
    if config.fpu == "zero":
        unvisited: Any = 0.0
    elif config.fpu == "loss":
        unvisited = -1.0
    else:
        seen = jnp.sum(jnp.where(visits > 0, prior, 0.0))
        unvisited = tree.node_values[node] - config.fpu_reduction * jnp.sqrt(seen)
    q = jnp.where(visits > 0, tree.qvalues(node), unvisited)
    scores = q + exploration(config, jnp.sum(visits)) * prior / (1 + visits)
    return jnp.where(logits <= jnp.finfo(logits.dtype).min / 2, -jnp.inf, scores)


def exploration(config: PuctConfig, visits: Int[Array, "*nodes"]) -> Float[Array, "*nodes"]:
    """c(s) sqrt(N(s)) for nodes whose moves have been visited that often; before the first visit sqrt(1), so that it
    follows the prior."""
    growing = jnp.log((1 + visits + config.c_base) / config.c_base) + config.c_init
    return (config.c_puct or growing) * jnp.sqrt(jnp.maximum(visits, 1).astype(jnp.float32))


def mix_noise(
    key: jax.Array,
    prior_logits: Float[Array, "batch slots"],
    legal: Bool[Array, "batch slots"],
    fraction: float,
    alpha: float,
) -> Float[Array, "batch slots"]:
    """Prior logits with Dirichlet noise over the legal moves mixed in: log((1 - fraction) P + fraction noise).

    `alpha` 0 is 10 / number of legal moves. Consumes the key.
    """
    count = jnp.sum(legal, axis=-1, keepdims=True)
    concentration = jnp.broadcast_to(alpha if alpha else 10.0 / jnp.maximum(count, 1), legal.shape)
    lowest = jnp.finfo(prior_logits.dtype).min
    # Normalised exponentials of log-gamma draws are Dirichlet, and don't underflow for small alpha as gamma draws do.
    noise = jax.nn.softmax(jnp.where(legal, log_gamma(key, concentration, legal), lowest))
    mixed = (1 - fraction) * jax.nn.softmax(prior_logits) + fraction * noise
    tiny = jnp.finfo(mixed.dtype).tiny
    return jnp.where(legal, jnp.log(jnp.maximum(mixed, tiny)), lowest).astype(prior_logits.dtype)


def log_gamma(
    key: jax.Array, concentration: Float[Array, "*shape"], wanted: Bool[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """Logarithms of gamma draws, where they are wanted (Marsaglia and Tsang 2000). Consumes the key.

    `jax.random.loggamma` draws one number after the other on a CPU, ten times slower for the moves of a batch of games.
    """
    boost_key, key = jax.random.split(key)
    d = concentration + 2 / 3  # of the draws for concentration + 1, which the boost takes back to concentration
    c = 1 / jnp.sqrt(9 * d)

    def redraw(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        key, draws, accepted = carry
        key, normal_key, uniform_key = jax.random.split(key, 3)
        x = jax.random.normal(normal_key, d.shape)
        v = (1 + c * x) ** 3
        log_v = jnp.log(jnp.maximum(v, jnp.finfo(v.dtype).tiny))
        log_u = -jax.random.exponential(uniform_key, d.shape)
        accepts = (v > 0) & (log_u < x**2 / 2 + d * (1 - v + log_v))
        return key, jnp.where(accepted, draws, jnp.log(d) + log_v), accepted | accepts

    start = (key, jnp.zeros_like(d), ~wanted)
    _, draws, _ = jax.lax.while_loop(lambda carry: ~jnp.all(carry[2]), redraw, start)
    return draws - jax.random.exponential(boost_key, d.shape) / concentration


def draw_action(
    key: jax.Array, visits: Int[Array, "batch slots"], temperature: Float[Array, " batch"]
) -> Int[Array, " batch"]:
    """Slots drawn in proportion to visits^(1 / temperature), the most visited where it is 0. Consumes the key."""
    greedy = temperature <= 0
    # In logarithms, and relative to the most visited, no power overflows.
    share = jnp.log(visits) - jnp.log(jnp.max(visits, axis=-1, keepdims=True))
    logits = share / jnp.where(greedy, 1.0, temperature)[:, None]
    logits = jnp.where(greedy[:, None] & (share < 0), -jnp.inf, logits)
    return jax.random.categorical(key, logits, axis=-1).astype(jnp.int32)


def most_visited(visits: Int[Array, "batch slots"], qvalues: Float[Array, "batch slots"]) -> Int[Array, " batch"]:
    """The most visited slots; of equally visited ones the one with the highest Q."""
    best = visits == jnp.max(visits, axis=-1, keepdims=True)
    return jnp.argmax(jnp.where(best, qvalues, -jnp.inf), axis=-1).astype(jnp.int32)


# --- forced playouts and policy target pruning (Wu 2019, 3.2) ---


def _select_forced(key: Any, tree: Any, node: Any, *, config: PuctConfig) -> Int[Array, ""]:
    """As `select_action`, but a visited move that has had fewer than sqrt(k P N) visits comes first."""
    del key
    visits, prior = tree.children_visits[node], jax.nn.softmax(tree.children_prior_logits[node])
    owed = (visits > 0) & (visits < _forced_visits(visits, prior, config))
    return jnp.argmax(jnp.where(owed, jnp.inf, _scores(tree, node, config))).astype(jnp.int32)


def _forced_visits(visits: Array, prior: Array, config: PuctConfig) -> Float[Array, "*batch slots"]:
    return jnp.sqrt(config.forced_playouts * prior * jnp.sum(visits, axis=-1, keepdims=True))


def _prune(tree: Any, config: PuctConfig) -> Float[Array, "batch slots"]:
    """The roots' visits without what was only forced.

    From every move but the most visited, up to its forced visits are taken as long as its score with what is left stays
    below the most visited move's; a move left with one visit loses that too.
    """
    root = tree.ROOT_INDEX
    visits = tree.children_visits[:, root]
    prior = jax.nn.softmax(tree.children_prior_logits[:, root])
    q = tree.summary().qvalues
    bonus = exploration(config, jnp.sum(visits, axis=-1, keepdims=True)) * prior
    best = jnp.argmax(visits, axis=-1)[:, None]
    best_score = jnp.take_along_axis(q + bonus / (1 + visits), best, axis=-1)
    # The fewest visits n with Q + bonus / (1 + n) < best_score; none are few enough where Q alone is not below it.
    gap = best_score - q
    fewest = jnp.where(gap > 0, jnp.floor(bonus / jnp.where(gap > 0, gap, 1.0)), jnp.inf)
    left = jnp.maximum(fewest, visits - jnp.floor(_forced_visits(visits, prior, config)))
    left = jnp.clip(left, 0, visits)
    left = jnp.where(left <= 1, 0.0, left)
    return jnp.where(jnp.arange(visits.shape[-1])[None] == best, visits, left)
