"""AlphaGo Zero's residual network, in Flax NNX."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from azjax.config import NetworkConfig
from azjax.network.evaluator import Output
from envs.core import Game


def make(game: Game, config: NetworkConfig) -> Callable[[nnx.Rngs], nnx.Module]:
    """The network for a game: its first policy is uniform and its first value 0."""
    return lambda rngs: ResNet(game.observation_shape, game.num_actions, config, rngs=rngs)


class ResNet(nnx.Module):
    """A convolution, residual blocks, a policy head and a value head (Silver et al. 2017, Methods)."""

    def __init__(self, shape: tuple[int, int, int], num_actions: int, config: NetworkConfig, *, rngs: nnx.Rngs):
        height, width, planes = shape
        zero = nnx.initializers.zeros_init()
        dtype = jnp.dtype(config.dtype)
        self.dtype = dtype
        self.stem = ConvNorm(planes, config.channels, 3, config, rngs=rngs)
        self.tower = nnx.List([ResBlock(config, rngs=rngs) for _ in range(config.blocks)])
        self.policy_is_planes = config.policy_head == "planes"
        if self.policy_is_planes:
            self.policy_conv = ConvNorm(config.channels, config.channels, 3, config, rngs=rngs)
            inputs, outputs = config.channels, num_actions // (height * width)
        else:
            self.policy_conv = ConvNorm(config.channels, config.policy_channels, 1, config, rngs=rngs)
            inputs, outputs = height * width * config.policy_channels, num_actions
        self.policy_out = nnx.Linear(inputs, outputs, kernel_init=zero, dtype=dtype, rngs=rngs)
        self.value_conv = ConvNorm(config.channels, config.value_channels, 1, config, rngs=rngs)
        self.value_hidden = nnx.Linear(
            height * width * config.value_channels, config.value_hidden, dtype=dtype, rngs=rngs
        )
        self.value_out = nnx.Linear(config.value_hidden, 1, kernel_init=zero, dtype=dtype, rngs=rngs)

    def __call__(self, observations: Array, *, train: bool) -> Output:
        x = observations.astype(self.dtype)
        x = jax.nn.relu(self.stem(x, train=train))
        for block in self.tower:
            x = block(x, train=train)
        flat = (observations.shape[0], -1)
        policy = jax.nn.relu(self.policy_conv(x, train=train))
        value = jax.nn.relu(self.value_conv(x, train=train)).reshape(flat)
        value = self.value_out(jax.nn.relu(self.value_hidden(value)))
        # Over the channels of a square, a linear layer is a 1x1 convolution.
        logits = self.policy_out(policy if self.policy_is_planes else policy.reshape(flat)).reshape(flat)
        return logits.astype(jnp.float32), jnp.tanh(value.astype(jnp.float32)).squeeze(-1)


class ResBlock(nnx.Module):
    """Two 3x3 convolutions and a skip connection."""

    def __init__(self, config: NetworkConfig, *, rngs: nnx.Rngs):
        self.first = ConvNorm(config.channels, config.channels, 3, config, rngs=rngs)
        self.second = ConvNorm(config.channels, config.channels, 3, config, rngs=rngs)

    def __call__(self, x: Array, *, train: bool) -> Array:
        y = jax.nn.relu(self.first(x, train=train))
        return jax.nn.relu(x + self.second(y, train=train))


class ConvNorm(nnx.Module):
    """A convolution without bias and its normalisation."""

    def __init__(self, inputs: int, outputs: int, size: int, config: NetworkConfig, *, rngs: nnx.Rngs):
        self.dtype = jnp.dtype(config.dtype)
        self.kernel = nnx.Param(nnx.initializers.he_normal()(rngs.params(), (size, size, inputs, outputs)))
        if config.normalisation == "batch":
            self.norm = nnx.BatchNorm(outputs, momentum=0.99, dtype=self.dtype, rngs=rngs)
        else:
            # Over cells too: over the channels alone, a head of one channel would always be zero.
            self.norm = nnx.LayerNorm(outputs, reduction_axes=(-3, -2, -1), dtype=self.dtype, rngs=rngs)

    def __call__(self, x: Array, *, train: bool) -> Array:
        x = convolve(x, self.kernel.astype(self.dtype))
        if isinstance(self.norm, nnx.BatchNorm):
            return self.norm(x, use_running_average=not train)
        return self.norm(x)


@jax.custom_vjp
def convolve(x: Float[Array, "b h w i"], kernel: Float[Array, "k k i o"]) -> Float[Array, "b h w o"]:
    """A convolution of odd size that keeps height and width.

    XLA's CPU backend runs its own gradient of a convolution 25 times slower inside a loop than outside, and learning is
    a loop. The same gradient by a convolution and k * k matrix products is as fast inside; a test holds them equal.
    """
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def _convolve_forward(x: Array, kernel: Array) -> tuple[Array, tuple[Array, Array]]:
    return convolve(x, kernel), (x, kernel)


def _convolve_backward(saved: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    x, kernel = saved
    height, width = x.shape[1:3]
    size = kernel.shape[0]
    reach = size // 2
    padded = jnp.pad(x, ((0, 0), (reach, reach), (reach, reach), (0, 0)))
    rows = gradient.reshape(-1, gradient.shape[-1])
    products = [
        padded[:, i : i + height, j : j + width].reshape(-1, x.shape[-1]).T @ rows
        for i in range(size)
        for j in range(size)
    ]
    return convolve(gradient, kernel[::-1, ::-1].swapaxes(2, 3)), jnp.stack(products).reshape(kernel.shape)


convolve.defvjp(_convolve_forward, _convolve_backward)
