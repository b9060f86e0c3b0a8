"""What the tests of sparse attention share: a formula, compiled calls, gradients, cost."""

import keras
import numpy as np
import pytest
import torch
from keras import ops


@pytest.fixture(scope="session")
def heads():
    """Random queries, keys and values (B, T, N, H), and a padding mask (B, T): padding on the left,
    on the right, none, all but one token."""

    def draw(length, num_heads=2, head_size=4):
        generator = np.random.default_rng(length)
        shape = (3, 4, length, num_heads, head_size)
        padding_mask = np.ones((4, length), "int32")
        padding_mask[0, : length // 2] = 0
        padding_mask[1, length // 2 + 1 :] = 0
        padding_mask[3, 1:] = 0
        return *generator.normal(size=shape).astype("float32"), padding_mask

    return draw


@pytest.fixture(scope="session")
def formula():
    """softmax(Q K^T / sqrt(H)) V, in which key j counts `counts[..., i, j]` times for query i."""

    def compute(query, key, value, counts):
        scores = np.einsum("bqnh,bknh->bnqk", query, key) / np.sqrt(query.shape[-1])
        weights = counts * np.exp(scores)
        weights /= np.maximum(weights.sum(-1, keepdims=True), 1e-30)
        return np.einsum("bnqk,bknh->bqnh", weights, value)

    return compute


@pytest.fixture(scope="session")
def run_compiled():
    """Call a function compiled as users' steps are: on TensorFlow for batches and lengths that are
    not known beforehand, on JAX for the given ones, on torch not at all. NumPy in and out."""

    def run(function, *arrays):
        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            signature = [tf.TensorSpec((None, None, *x.shape[2:]), x.dtype) for x in arrays]
            function = tf.function(function, input_signature=signature)
        elif keras.backend.backend() == "jax":
            import jax

            function = jax.jit(function)
        y = function(*(ops.convert_to_tensor(x) for x in arrays))
        return ops.convert_to_numpy(ops.cast(y, "float32"))

    return run


@pytest.fixture(scope="session")
def gradients():
    """Gradients of a scalar function by its arrays, NumPy in and out."""

    def compute(function, *arrays):
        tensors = [ops.convert_to_tensor(x) for x in arrays]
        if keras.backend.backend() == "tensorflow":
            import tensorflow as tf

            with tf.GradientTape() as tape:
                tape.watch(tensors)
                value = function(*tensors)
            found = tape.gradient(value, tensors)
        elif keras.backend.backend() == "jax":
            import jax

            def stateless(*tensors):
                with keras.StatelessScope():  # dropout may not keep what a compiled call computes
                    return function(*tensors)

            found = jax.jit(jax.grad(stateless, tuple(range(len(tensors)))))(*tensors)
        else:
            tensors = [x.detach().requires_grad_() for x in tensors]
            found = torch.autograd.grad(function(*tensors), tensors)
        return [ops.convert_to_numpy(ops.cast(x, "float32")) for x in found]

    return compute


@pytest.fixture
def count_scores(monkeypatch):
    """How many products of a query with a key, or more, a call computes, by what it multiplies."""

    def count(function):
        counted = []
        matmul, attend = ops.matmul, ops.dot_product_attention

        def counting_matmul(x, y):
            counted.append(int(np.prod(x.shape[:-1])) * y.shape[-1])
            return matmul(x, y)

        def counting_attention(query, key, value, **kwargs):
            counted.append(int(np.prod(query.shape[:3])) * key.shape[1])
            return attend(query, key, value, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(ops, "matmul", counting_matmul)
            patch.setattr(ops, "dot_product_attention", counting_attention)
            function()
        return sum(counted)

    return count


@pytest.fixture(scope="session")
def run_inside():
    """Run a model of `transformers`: the tensors that one of its modules gets, and the first that
    it gives, NumPy."""

    def run(model, module, **inputs):
        seen = []

        def keep(_, args, kwargs, output):
            given = args or (kwargs["hidden_states"],)
            seen.append([x.numpy().copy() for x in given if isinstance(x, torch.Tensor)])
            seen.append((output if isinstance(output, torch.Tensor) else output[0]).numpy().copy())

        handle = module.register_forward_hook(keep, with_kwargs=True)
        try:
            with torch.no_grad():
                model(**{name: torch.tensor(x).long() for name, x in inputs.items()})
        finally:
            handle.remove()
        return seen

    return run


@pytest.fixture(scope="session")
def copy_dense():
    """Copy the weights of a torch linear layer to a dense layer."""

    def copy(theirs, ours):
        ours.kernel.assign(theirs.weight.detach().numpy().T)
        if ours.bias is not None:
            ours.bias.assign(theirs.bias.detach().numpy())

    return copy
