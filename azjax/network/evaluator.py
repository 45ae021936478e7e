"""What a network is to the rest of azjax: three pure functions over plain arrays, whatever it is written in."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import linen, nnx
from jaxtyping import Array, Float, Shaped

from envs.core import Game


class Variables(NamedTuple):
    """A network as plain arrays."""

    params: Any  # what the optimiser changes
    batch_stats: Any  # what a learning forward pass changes beside: running means and variances; may be empty


Output = tuple[Float[Array, "batch actions"], Float[Array, " batch"]]
Evaluate = Callable[[Variables, Shaped[Array, "batch height width channels"]], Output]


class Evaluator(NamedTuple):
    """A network as pure functions. Observations are a game's planes [batch, height, width, channels], bool or float."""

    init: Callable[[jax.Array], Variables]
    """Consumes the key."""
    evaluate: Evaluate
    """Inference: (policy logits [batch, actions], value [batch] in [-1, 1] for the player to move), float32. Rows don't
    influence each other. Logits of illegal actions mean nothing."""
    learn: Callable[[Any, Any, Array], tuple[Float[Array, "batch actions"], Float[Array, " batch"], Any]]
    """The forward pass of learning: (params, batch_stats, observations) -> (policy logits, value, new batch_stats)."""


def as_evaluator(made: Any, observation_shape: tuple[int, int, int]) -> Evaluator:
    """An Evaluator of what a network is written in: an Evaluator itself; a Flax linen module; a function of nnx.Rngs
    that builds a Flax NNX module; or a pair of functions (init, apply), `init(key) -> params` and
    `apply(params, observations) -> (policy logits, value)`.

    A module is called with observations in float32, and with `train` where its `__call__` has such an argument; an NNX
    module without one is switched by its `train()` and `eval()`. Raises ValueError for anything else.
    """
    if isinstance(made, Evaluator):
        return made
    if isinstance(made, linen.Module):
        return _of_linen(made, observation_shape)
    if isinstance(made, tuple) and len(made) == 2 and all(map(callable, made)):
        return _of_functions(*made)
    if isinstance(made, nnx.Module):
        raise ValueError(
            f"got an NNX module that is built already, {type(made).__name__}; return a function that builds it, as "
            f"lambda rngs: {type(made).__name__}(..., rngs=rngs), so that its parameters come from the run's seed"
        )
    if callable(made):
        return _of_nnx(made)
    raise ValueError(
        f"got {made!r}; expected a Flax linen module, a function of nnx.Rngs that builds an NNX module, a pair of "
        "functions (init, apply), or an azjax.Evaluator"
    )


def require_fits(evaluator: Evaluator, game: Game, name: str) -> None:
    """Raises ValueError, naming the shapes, if the network is not one for the game. Computes nothing."""
    batch = 2
    observations = jax.eval_shape(lambda: jax.vmap(game.observe)(jax.tree.map(lambda x: x[None], game.init())))
    observations = jax.ShapeDtypeStruct((batch, *observations.shape[1:]), observations.dtype)
    try:
        variables = jax.eval_shape(evaluator.init, jax.random.key(0))
        outputs = {"evaluate": jax.eval_shape(evaluator.evaluate, variables, observations)}
        logits, value, batch_stats = jax.eval_shape(evaluator.learn, *variables, observations)
        outputs["learn"] = (logits, value)
        for function, found in outputs.items():
            logits, value = found
            for what, array, shape in (("logits", logits, (batch, game.num_actions)), ("values", value, (batch,))):
                if array.shape != shape or not jnp.issubdtype(array.dtype, jnp.floating):
                    raise ValueError(
                        f"{function} returns {what} {array.dtype}{list(array.shape)} for {batch} positions, expected "
                        f"floats of shape {list(shape)}"
                    )
        before, after = (jax.tree.map(lambda x: (x.shape, x.dtype), x) for x in (variables.batch_stats, batch_stats))
        if before != after:
            raise ValueError(f"learn returns statistics {after}, expected as init makes them: {before}")
    except Exception as error:  # whatever goes wrong in a network that is not ours
        reason = str(error).strip().split("\n")[0] or type(error).__name__
        raise ValueError(f"the network {name} does not fit {game}: {reason}") from error


def _of_nnx(build: Callable[[nnx.Rngs], Any]) -> Evaluator:
    def build_from(key: jax.Array) -> Any:
        return build(nnx.Rngs(params=key))

    graph, _, _ = nnx.split(nnx.eval_shape(lambda: build_from(jax.random.key(0))), nnx.Param, ...)

    def init(key: jax.Array) -> Variables:
        _, params, rest = nnx.split(build_from(key), nnx.Param, ...)
        return Variables(nnx.as_pure(params), nnx.as_pure(rest))

    def run(model: Any, observations: Array, *, train: bool) -> Any:
        observations = observations.astype(jnp.float32)
        if _takes_train(model):
            return _float32(model(observations, train=train))
        model.train() if train else model.eval()
        return _float32(model(observations))

    def evaluate(variables: Variables, observations: Array) -> Any:
        return run(nnx.merge(graph, variables.params, variables.batch_stats), observations, train=False)

    def learn(params: Any, batch_stats: Any, observations: Array) -> tuple[Array, Array, Any]:
        model = nnx.merge(graph, params, batch_stats)
        logits, value = run(model, observations, train=True)
        _, _, rest = nnx.split(model, nnx.Param, ...)
        return logits, value, nnx.as_pure(rest)

    return Evaluator(init, evaluate, learn)


def _of_linen(module: linen.Module, observation_shape: tuple[int, int, int]) -> Evaluator:
    def train_is(value: bool) -> dict[str, Any]:
        return {"train": value} if _takes_train(module) else {}

    def init(key: jax.Array) -> Variables:
        variables = dict(module.init(key, jnp.zeros((1, *observation_shape)), **train_is(False)))
        return Variables(variables.pop("params"), variables)

    def evaluate(variables: Variables, observations: Array) -> Any:
        of_module = {"params": variables.params, **variables.batch_stats}
        return _float32(module.apply(of_module, observations.astype(jnp.float32), **train_is(False)))

    def learn(params: Any, batch_stats: Any, observations: Array) -> tuple[Array, Array, Any]:
        of_module = {"params": params, **batch_stats}
        observations = observations.astype(jnp.float32)
        output, changed = module.apply(of_module, observations, mutable=list(batch_stats), **train_is(True))
        return *_float32(output), dict(changed)

    return Evaluator(init, evaluate, learn)


def _of_functions(init_params: Callable[..., Any], apply: Callable[..., Any]) -> Evaluator:
    def init(key: jax.Array) -> Variables:
        return Variables(init_params(key), ())

    def evaluate(variables: Variables, observations: Array) -> Any:
        return _float32(apply(variables.params, observations.astype(jnp.float32)))

    def learn(params: Any, batch_stats: Any, observations: Array) -> tuple[Array, Array, Any]:
        return *evaluate(Variables(params, ()), observations), batch_stats

    return Evaluator(init, evaluate, learn)


def _takes_train(module: Any) -> bool:
    return "train" in inspect.signature(type(module).__call__).parameters


def _float32(output: Any) -> Any:
    if not (isinstance(output, tuple) and len(output) == 2):
        raise ValueError(f"it returns {type(output).__name__}, expected (policy logits, value)")
    logits, value = output
    return logits.astype(jnp.float32), value.astype(jnp.float32)
