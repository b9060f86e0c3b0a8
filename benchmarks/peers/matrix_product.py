"""The floor: one large matrix product, the largest of BERT base at 8 x 128 tokens."""

from __future__ import annotations

import numpy as np

ROWS, INNER, COLUMNS = 1024, 768, 3072
FLOPS = 2 * ROWS * INNER * COLUMNS


def encode(backend, dtype, shape, batches):
    """The same product whatever the shape: the report scales its time to the shape's operations."""
    generator = np.random.default_rng(0)
    a = generator.standard_normal((ROWS, INNER), "float32")
    b = generator.standard_normal((INNER, COLUMNS), "float32")
    product = _PRODUCTS[backend](a, b, dtype)
    return {f"batch {size}": product for size in batches}


train = encode


def _numpy(a, b, dtype):
    return lambda: a @ b


def _tensorflow(a, b, dtype):
    import tensorflow as tf

    a, b = tf.cast(a, dtype), tf.cast(b, dtype)
    product = tf.function(tf.matmul)
    return lambda: product(a, b)


def _jax(a, b, dtype):
    import jax

    a, b = jax.numpy.asarray(a, dtype), jax.numpy.asarray(b, dtype)
    product = jax.jit(jax.numpy.matmul)
    return lambda: product(a, b).block_until_ready()


def _torch(a, b, dtype):
    import torch

    a, b = (torch.from_numpy(array).to(getattr(torch, dtype)) for array in (a, b))
    return lambda: a @ b


_PRODUCTS = {"numpy": _numpy, "tensorflow": _tensorflow, "jax": _jax, "torch": _torch}
