"""Program that converts a saved task to ``.tflite`` files, in an interpreter of its own.

Only TensorFlow converts to LiteRT with every feature, and it does so reliably only in a fresh
process. So `kerasbert.export.litert` saves the task, starts this program with the TensorFlow
backend and gives it a folder:

    request.json     what to convert, a `ConversionRequest`
    task/            the task's preset
    batch_<i>.npz    token arrays of the texts on which parity is checked

The program adds ``file_<i>.tflite``, one per quantization, and, if asked, ``reference_<i>.npy``,
the float32 logits of each batch.
"""

from __future__ import annotations

import sys
from pathlib import Path

import keras
import numpy as np
from keras import ops

from kerasbert.export.litert_request import INPUTS, ConversionRequest
from kerasbert.models.text_classifier import TextClassifier

ACTIVATIONS = {"softmax": ops.softmax, "sigmoid": ops.sigmoid}


def main(folder: Path) -> None:
    """Does what the folder's request says."""
    request = ConversionRequest.read(folder)
    task = TextClassifier.from_preset(str(folder / "task"), dtype="float32")
    _save_model(task, request, folder / "saved_model")
    for i, quantization in enumerate(request.quantizations):
        model = _convert(folder / "saved_model", quantization)
        (folder / f"file_{i}.tflite").write_bytes(model)
    if request.reference:
        for path in folder.glob("batch_*.npz"):
            logits = task(dict(np.load(path)), training=False)
            number = path.stem.removeprefix("batch_")
            np.save(folder / f"reference_{number}.npy", ops.convert_to_numpy(logits))


def _save_model(task, request: ConversionRequest, folder: Path) -> None:
    import tensorflow as tf

    def serve(inputs):
        logits = task(inputs, training=False)
        activation = ACTIVATIONS.get(request.activation, lambda x: x)
        return {request.output: activation(logits)}

    shape = (1, request.sequence_length)
    signature = {name: tf.TensorSpec(shape, tf.int32, name=name) for name in INPUTS}
    # A tf.Module of our own would lose the weights of a Keras 3 model; the archive tracks them.
    archive = keras.export.ExportArchive()
    archive.track(task)
    archive.add_endpoint("serve", serve, input_signature=[signature])
    archive.write_out(str(folder), verbose=False)


def _convert(folder: Path, quantization: str | None) -> bytes:
    import tensorflow as tf

    converter = tf.lite.TFLiteConverter.from_saved_model(str(folder), signature_keys=["serve"])
    # Said explicitly: with SELECT_TF_OPS, the default of Keras's own export, files silently need
    # TensorFlow's kernels ("Flex"), which phones do not have.
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if quantization is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if quantization == "float16":
        converter.target_spec.supported_types = [tf.float16]
    return converter.convert()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
