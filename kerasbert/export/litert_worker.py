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

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import keras
import numpy as np
from keras import ops

ACTIVATIONS = {"softmax": ops.softmax, "sigmoid": ops.sigmoid}
# Of every file: an encoder without segments ignores `segment_ids`. MediaPipe loads text classifiers
# with three inputs only, and an application need not know which encoder is inside.
INPUTS = ("token_ids", "segment_ids", "padding_mask")
QUANTIZATIONS = (None, "float16", "dynamic_int8")


@dataclass(frozen=True)
class ConversionRequest:
    """What to convert.

    Args:
        sequence_length: int or None. Length of every input; None for files that take any length.
        activation: `"softmax"`, `"sigmoid"` or None. What turns the logits into probabilities.
        quantizations: one of `QUANTIZATIONS` per file.
        reference: Whether to compute the logits of the parity batches.
    """

    sequence_length: int | None
    activation: str | None
    quantizations: list[str | None]
    reference: bool

    @property
    def output(self) -> str:
        """The output's name in the files."""
        return "probabilities" if self.activation else "logits"

    def write(self, folder: Path) -> None:
        """Writes the request into the folder that the program is given."""
        (folder / "request.json").write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> ConversionRequest:
        """Reads what `write` wrote."""
        return cls(**json.loads((folder / "request.json").read_text(encoding="utf-8")))


def main(folder: Path) -> None:
    """Does what the folder's request says."""
    from kerasbert.models.text_classifier import TextClassifier

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
