"""ONNX Runtime, on files that are exported from transformers' model for each batch size."""

from __future__ import annotations

import tempfile
from pathlib import Path

from shapes import token_batch

from peers import transformers as torch_peer


def encode(backend, dtype, shape, batches):
    """The encoder as an ONNX file, from arrays to an array."""
    import transformers

    model = torch_peer.random_model(transformers.BertModel, shape, dtype)
    return {f"batch {size}": _step(model, size) for size in batches}


def _step(model, batch_size):
    import onnxruntime
    import torch

    inputs = {
        theirs: token_batch(batch_size)[ours].astype("int64")
        for theirs, ours in torch_peer.INPUTS.items()
    }
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "encoder.onnx")
        torch.onnx.export(
            model,
            kwargs={name: torch.from_numpy(array) for name, array in inputs.items()},
            f=path,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
        session = onnxruntime.InferenceSession(path, options)
    return lambda: session.run(None, inputs)
