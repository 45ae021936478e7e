"""Zobrist hashing with keys that can be read backwards.

The key of a number is its image under an invertible mixing of 32 bits (the finaliser of MurmurHash3), and a second key
made from it. A position's hash is the exclusive or of the keys of its stones. Two positions therefore differ by exactly
one stone where the mixing, undone on the difference of their hashes, brings out the small number of that stone: one
look at each of the positions of a game, instead of one at each of them for every move.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt, UInt32

_FIRST, _SECOND = 0x85EBCA6B, 0xC2B2AE35
_SALT = np.uint32(0x9E3779B9)


def low_key(number):
    """The key of uint32 numbers from 1 upwards, NumPy or JAX."""
    number = (number ^ number >> 16) * np.uint32(_FIRST)
    number = (number ^ number >> 13) * np.uint32(_SECOND)
    return number ^ number >> 16


def number_of(low: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """The number of which this is the low key."""
    low = (low ^ low >> 16) * np.uint32(pow(_SECOND, -1, 2**32))
    low = (low ^ low >> 13 ^ low >> 26) * np.uint32(pow(_FIRST, -1, 2**32))
    return low ^ low >> 16


def high_key(number, dtype: type[np.unsignedinteger]):
    """A second key, of so many bits."""
    return low_key(number ^ _SALT).astype(dtype)


def combined(keys: UInt[Array, "*shape"]) -> UInt[Array, ""]:
    """The exclusive or of all these keys."""
    return jax.lax.reduce(keys, np.zeros((), keys.dtype), jax.lax.bitwise_xor, range(keys.ndim))


def hash_of(numbers: UInt32[Array, " n"]) -> tuple[UInt32[Array, ""], UInt32[Array, ""]]:
    """Both halves of the 64-bit hash of a position, by the numbers of all that is in it; 0 is for what is not."""
    low = combined(jnp.where(numbers > 0, low_key(numbers), np.uint32(0)))
    return low, combined(jnp.where(numbers > 0, high_key(numbers, np.uint32), np.uint32(0)))
