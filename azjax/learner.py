"""Samples -> params: AlphaZero's loss, and any optimiser of optax."""

from __future__ import annotations

import functools
import inspect
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int

from azjax.config import LearnerConfig
from azjax.network import Evaluator, Variables
from azjax.replay import Sample
from azjax.search.slots import Slots, gather, make_slots, mask_logits
from envs.core import Game

Metrics = dict[str, Float[Array, ""]]


class Learner(NamedTuple):
    """What learning changes."""

    newest: Variables
    average: Variables  # what plays and is measured: the running average, or the newest where there is none
    opt_state: Any


class Batch(NamedTuple):
    """Samples as the network sees them."""

    observation: Array  # [batch, height, width, channels]
    slots: Slots  # [batch, slots]
    policy_target: Float[Array, "batch slots"]  # sums to 1
    value_target: Float[Array, " batch"]  # for the player to move


def make_optimizer(config: LearnerConfig, *, total_updates: int) -> optax.GradientTransformation:
    """The optimiser and its schedule. Raises ValueError for an optimiser or option that optax doesn't have."""
    maker: Any = getattr(optax, config.optimizer, None)
    if not callable(maker) or "learning_rate" not in inspect.signature(maker).parameters:
        raise ValueError(
            f"learner.optimizer={config.optimizer!r} is not an optimiser of optax that takes learning_rate; "
            "for example adamw, adam, sgd, lion, rmsprop"
        )
    known = [name for name in inspect.signature(maker).parameters if name != "learning_rate"]
    if unknown := sorted(set(config.optimizer_options) - set(known)):
        raise ValueError(
            f"optax.{config.optimizer} has no option {', '.join(unknown)}; its options: {', '.join(known)}"
        )
    optimizer: Any = maker(learning_rate=make_schedule(config, total_updates=total_updates), **config.optimizer_options)
    if config.max_gradient_norm:
        optimizer = optax.chain(optax.clip_by_global_norm(config.max_gradient_norm), optimizer)
    return optimizer


def make_schedule(config: LearnerConfig, *, total_updates: int) -> optax.Schedule:
    """Update count -> learning rate."""
    peak = config.learning_rate
    if config.schedule == "steps":
        schedule = optax.piecewise_constant_schedule(peak, dict.fromkeys(config.boundaries, 0.1))
    elif config.schedule == "cosine":
        schedule = optax.cosine_decay_schedule(peak, max(1, total_updates - config.warmup))
    else:
        schedule = optax.constant_schedule(peak)
    if not config.warmup:
        return schedule

    return optax.join_schedules([lambda count: peak * (count + 1) / config.warmup, schedule], [config.warmup])


def init_learner(network: Evaluator, optimizer: optax.GradientTransformation, key: jax.Array) -> Learner:
    """A fresh network. Consumes the key."""
    newest = network.init(key)
    return Learner(newest, jax.tree.map(jnp.copy, newest), optimizer.init(newest.params))


def make_batch(game: Game, config: LearnerConfig, samples: Sample, key: jax.Array) -> Batch:
    """Observes samples, each turned by a random symmetry of the game. Consumes the key."""
    policy = samples.policy_target.astype(jnp.float32)
    policy = policy / jnp.sum(policy, axis=-1, keepdims=True)
    mix = config.search_value_weight
    value = (1 - mix) * samples.outcome + mix * samples.search_value.astype(jnp.float32)
    observation = jax.vmap(game.observe)(samples.state)
    slots = make_slots(game, samples.state)
    if config.symmetries and game.symmetries:
        which = jax.random.randint(key, value.shape, 0, len(game.symmetries))
        observation, slots, policy = jax.vmap(functools.partial(_turn, game))(which, observation, slots, policy)
    return Batch(observation, slots, policy, value)


def _turn(
    game: Game, which: Int[Array, ""], observation: Array, slots: Slots, policy: Array
) -> tuple[Array, Slots, Array]:
    """One sample under symmetry number `which`."""
    observation = jax.lax.switch(which, [symmetry.observation for symmetry in game.symmetries], observation)
    if slots.actions is not None:  # the slots stay, and stand for other actions
        images = np.stack([np.append(symmetry.actions, game.num_actions) for symmetry in game.symmetries])
        return observation, slots._replace(actions=jnp.asarray(images)[which][slots.actions]), policy
    # Action a becomes actions[a], so the new row's entry b comes from the inverse of b.
    source = np.stack([np.argsort(symmetry.actions) for symmetry in game.symmetries])
    from_action = jnp.asarray(source)[which]
    return observation, slots._replace(legal=slots.legal[from_action]), policy[from_action]


def loss(network: Evaluator, config: LearnerConfig, params: Any, batch_stats: Any, batch: Batch) -> tuple[Array, Any]:
    """(z - v)^2 - pi . log p over the legal moves, averaged over the batch, + c |theta|^2 (Silver et al. 2017, eq. 1).

    Returns the loss and (new batch_stats, metrics).
    """
    logits, value, batch_stats = network.learn(params, batch_stats, batch.observation)
    legal = batch.slots.legal
    log_policy = jax.nn.log_softmax(mask_logits(gather(logits, batch.slots), legal))
    cross_entropy = -jnp.sum(jnp.where(legal, batch.policy_target * log_policy, 0.0), axis=-1)
    error = batch.value_target - value
    policy_loss, value_loss = jnp.mean(cross_entropy), jnp.mean(error**2)
    total = policy_loss + value_loss
    if config.l2:
        total = total + config.l2 * optax.tree.norm(params, squared=True)
    target_entropy = jnp.mean(jnp.sum(jax.scipy.special.entr(batch.policy_target), axis=-1))
    metrics = {
        "loss": total,
        "policy_loss": policy_loss,
        "value_loss": value_loss,
        "policy_kl": policy_loss - target_entropy,
        "policy_entropy": -jnp.mean(jnp.sum(jnp.where(legal, jnp.exp(log_policy) * log_policy, 0.0), axis=-1)),
        "value_error": jnp.mean(jnp.abs(error)),
        "value_variance": jnp.var(batch.value_target),
        "value_residual": jnp.var(error),
    }
    return total, (batch_stats, metrics)


def train_step(
    network: Evaluator, optimizer: optax.GradientTransformation, config: LearnerConfig, learner: Learner, batch: Batch
) -> tuple[Learner, Metrics]:
    """One optimiser step. Batch statistics change here and nowhere else."""
    gradient_of = jax.grad(functools.partial(loss, network, config), has_aux=True)
    gradient, (batch_stats, metrics) = gradient_of(learner.newest.params, learner.newest.batch_stats, batch)
    updates, opt_state = optimizer.update(gradient, learner.opt_state, learner.newest.params)
    newest = Variables(optax.apply_updates(learner.newest.params, updates), batch_stats)
    average = _average(newest, learner.average, config.average_decay) if config.average_decay else newest
    return Learner(newest, average, opt_state), metrics | {"gradient_norm": optax.tree.norm(gradient)}


def _average(new: Variables, old: Variables, keep: float) -> Variables:
    """The running average of what are real numbers; counters and random keys are the newest."""

    def average(new: Array, old: Array) -> Any:
        # A step of `keep` from the new to the old: in this order it rounds as runs of 0.1.0 did.
        return optax.incremental_update(old, new, keep) if jnp.issubdtype(new.dtype, jnp.floating) else new

    return jax.tree.map(average, new, old)
