"""Tasks to LiteRT (``.tflite``) files."""

from __future__ import annotations

import math
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from kerasbert.data.files import atomic_path
from kerasbert.export.litert_conversion import Conversion
from kerasbert.export.litert_request import QUANTIZATIONS, ConversionRequest
from kerasbert.export.requirements import require_installed
from kerasbert.models.text_classifier import TextClassifier

# What a float32 file may differ by: the backends themselves differ by about 1e-6 (12 layers).
MAX_FLOAT32_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class LiteRTReport:
    """What an export wrote and how it compares with the Keras model.

    Args:
        path: `pathlib.Path`. The file.
        bytes: int. Its size.
        operators: dict. Operator name to number of uses, all built in.
        max_difference: float. Largest absolute difference between the file's output and Keras's in
            float32, over the texts of the parity check.
        agreement: float or None. Share of those texts (with several labels: of their labels) that
            the file decides as Keras does; None for regression.
        sequence_length: int or None. Length of the inputs; None for any.
        quantization: `"float16"`, `"dynamic_int8"` or None.
        output: `"probabilities"` or `"logits"`.
    """

    path: Path
    bytes: int
    operators: dict[str, int]
    max_difference: float
    agreement: float | None
    sequence_length: int | None
    quantization: str | None
    output: str

    def __str__(self) -> str:
        decided = "" if self.agreement is None else f", same decisions {self.agreement:.1%}"
        return (
            f"{self.path.name}: {self.bytes / 1e6:.2f} MB, {self.quantization or 'float32'}, "
            f"{self.sequence_length or 'any number of'} tokens\n"
            f"  {self.output}: largest difference from Keras {self.max_difference:.1e}{decided}\n"
            f"  {len(self.operators)} built-in operators: {', '.join(self.operators)}"
        )


def litert(
    task,
    path,
    sequence_length: int | None = 128,
    quantization: str | None = None,
    metadata: bool = True,
    probabilities: bool | None = None,
) -> LiteRTReport:
    """Exports a text classifier to a LiteRT (``.tflite``) file, from any backend.

    The task is saved, rebuilt in float32 in a new process under TensorFlow and converted there, to
    built-in operators only. The file's inputs are ``token_ids``, ``segment_ids`` (ignored where the
    encoder has no segments) and ``padding_mask``, each int32 (1, sequence_length). Its output is
    ``probabilities`` or ``logits``, float32 (1, num_classes).

    Before the file gets its name it is run by ``ai_edge_litert`` on real texts and compared with
    the Keras model: the task itself if it computes in float32, else its float32 copy.

    With metadata, MediaPipe's ``TextClassifier`` loads the files of WordPiece models as they are.
    It lower-cases ASCII and keeps accents whatever the vocabulary, so cased models and accented
    text get other ids there.

    Args:
        task: a `kerasbert.TextClassifier` with a preprocessor.
        path: str or path. The file to write; missing folders are made, an existing
            file is replaced.
        sequence_length: int or None. Tokens per text, at most the encoder's `max_sequence_length`.
            None writes a file that takes any length. Defaults to 128.
        quantization: None for float32, `"float16"` (half the size, the same speed) or
            `"dynamic_int8"` (weights in 8 bits, a quarter of the size and the fastest on CPUs).
        metadata: bool. Whether the file carries TFLite metadata, the labels and the vocabulary
            (`vocab.txt`, or `tokenizer.json` if the tokenizer is not WordPiece). Defaults to True.
        probabilities: bool or None. Whether the softmax (sigmoid for several labels) is inside.
            None, the default, means: if there is metadata and the task is no regression.

    Returns:
        A `LiteRTReport`.

    Raises:
        TypeError: `task` is no `TextClassifier`.
        ValueError: an argument is out of range; or the file needs operators that are not built in,
            or a float32 file's output is off by more than 1e-4. No file is left then.
        OSError: the file cannot be written; said before the work starts.
        ImportError: a package of the extra `kerasbert[export]` is missing.

    Example:

    ```python
    report = kerasbert.export.litert(task, "intents.tflite", quantization="dynamic_int8")
    print(report)
    ```
    """
    (report,) = litert_variants(
        task, {path: quantization}, sequence_length, metadata=metadata, probabilities=probabilities
    )
    return report


def litert_variants(
    task,
    quantizations: dict,
    sequence_length: int | None = 128,
    metadata: bool = True,
    probabilities: bool | None = None,
) -> list[LiteRTReport]:
    """Exports one task to several LiteRT files with one conversion process.

    Args:
        task: a `kerasbert.TextClassifier` with a preprocessor.
        quantizations: dict. Path of each file to its quantization, as in `litert`.
        sequence_length: as in `litert`.
        metadata: as in `litert`.
        probabilities: as in `litert`.

    Returns:
        One `LiteRTReport` per file, in order.

    Raises:
        ValueError: As `litert`. If one file is refused, none is left.
        TypeError: As `litert`.
        ImportError: As `litert`.

    Example:

    ```python
    files = {"float32.tflite": None, "int8.tflite": "dynamic_int8"}
    for report in kerasbert.export.litert_variants(task, files):
        print(report)
    ```
    """
    require_installed("tensorflow", "ai_edge_litert", "flatbuffers")
    _check_task(task)
    _check_length(task, sequence_length)
    for quantization in quantizations.values():
        _check_quantization(quantization)
    request = ConversionRequest(
        sequence_length=sequence_length,
        activation=_activation(task, metadata, probabilities),
        quantizations=list(quantizations.values()),
        reference=task.backbone.compute_dtype != "float32",
    )
    with ExitStack() as stack:
        # Entered first: they fail where nothing can be written, and name the files at the very end.
        targets = [stack.enter_context(atomic_path(path)) for path in quantizations]
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        conversion = Conversion(task, request, Path(folder), metadata)
        conversion.run()
        return [
            _finish(conversion, index, target, Path(path))
            for index, (path, target) in enumerate(zip(quantizations, targets, strict=True))
        ]


def _finish(conversion: Conversion, index: int, target: Path, path: Path) -> LiteRTReport:
    request = conversion.request
    quantization = request.quantizations[index]
    operators = conversion.write(index, target, name=path.stem)
    parity = conversion.compare(target)
    limit = MAX_FLOAT32_DIFFERENCE if quantization is None else math.inf
    if not parity.max_difference < limit:  # also true of NaN
        raise ValueError(
            "The file does not compute what the Keras model computes, so it was not written. "
            f"Received: a largest difference of {parity.max_difference:.2e} over the parity texts, "
            f"path={str(path)!r}, quantization={quantization!r}"
        )
    return LiteRTReport(
        path=path,
        bytes=target.stat().st_size,
        operators=operators,
        max_difference=parity.max_difference,
        agreement=parity.agreement,
        sequence_length=request.sequence_length,
        quantization=quantization,
        output=request.output,
    )


def _activation(task, metadata: bool, probabilities: bool | None) -> str | None:
    if probabilities is None:
        probabilities = metadata and not task.classes.is_regression
    if not probabilities:
        return None
    if task.classes.is_regression:
        raise ValueError(
            "A regression has no probabilities. Leave `probabilities` out. "
            "Received: probabilities=True, num_classes=1"
        )
    return "sigmoid" if task.multi_label else "softmax"


def _check_task(task) -> None:
    if not isinstance(task, TextClassifier):
        raise TypeError(
            "`litert` exports a `kerasbert.TextClassifier`. "
            f"Received: task of type {type(task).__name__}"
        )
    if task.preprocessor is None:
        raise ValueError(
            "The export is checked on text, which needs the task's preprocessor. Give one: "
            "`TextClassifier(..., preprocessor=...)`. Received: preprocessor=None"
        )
    quantized = [weight.path for weight in task.weights if weight.dtype in ("int8", "uint8")]
    if quantized:
        raise ValueError(
            "LiteRT cannot convert layers that Keras has quantized. Export the task as it was "
            'before `quantize` and pass `quantization="dynamic_int8"` here. '
            f"Received: {len(quantized)} quantized weights, {quantized[0]!r} first"
        )


def _check_length(task, sequence_length: int | None) -> None:
    least = task.preprocessor.tokenizer.template.pair.num_special_tokens + 1
    limit = task.backbone.config.max_sequence_length
    if sequence_length is not None and not least <= sequence_length <= limit:
        raise ValueError(
            f"`sequence_length` must be None or a number from {least} (the special tokens of a "
            f"pair and one more) to {limit} (the encoder's `max_sequence_length`). "
            f"Received: sequence_length={sequence_length}"
        )


def _check_quantization(quantization: str | None) -> None:
    if quantization not in QUANTIZATIONS:
        raise ValueError(
            f"`quantization` must be one of {', '.join(map(repr, QUANTIZATIONS))}. "
            f"Received: quantization={quantization!r}"
        )
