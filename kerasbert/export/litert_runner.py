"""Running a ``.tflite`` file on token arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kerasbert._quiet_import import quiet_stderr
from kerasbert.export.metadata import LABELS_FILE, read_associated_files
from kerasbert.export.requirements import require


class LiteRTClassifier:
    """A ``.tflite`` file written by `kerasbert.export.litert`, run on the CPU.

    Args:
        path: The file.
        num_threads: int or None. Number of threads; None leaves it to the runtime.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is no LiteRT model with a signature.
        ImportError: ``ai_edge_litert`` is not installed.

    Example:

    ```python
    runner = LiteRTClassifier("intents.tflite", num_threads=2)
    scores = runner.predict_on_batch(task.preprocessor(["wake me at seven"]))  # (1, num_classes)
    runner.labels[scores[0].argmax()]
    ```
    """

    def __init__(self, path, num_threads: int | None = None):
        interpreter = require("ai_edge_litert.interpreter")
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(f"There is no such file. Received: path={str(path)!r}")
        try:
            with quiet_stderr():  # the runtime announces its delegate
                self._interpreter = interpreter.Interpreter(str(self.path), num_threads=num_threads)
                self._interpreter.allocate_tensors()
                self._runner = self._interpreter.get_signature_runner()
        except (RuntimeError, ValueError) as error:
            raise ValueError(
                "The file is no LiteRT model with one signature. Write it with "
                f"`kerasbert.export.litert`. Received: path={str(path)!r}: {error}"
            ) from error
        self._inputs = self._runner.get_input_details()
        ((self.output_name, output),) = self._runner.get_output_details().items()
        self._num_classes = int(output["shape"][-1])

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, for example ``("padding_mask", "segment_ids", "token_ids")``."""
        return tuple(sorted(self._inputs))

    @property
    def sequence_length(self) -> int | None:
        """The length of every input, None when the file takes any."""
        length = int(self._inputs["token_ids"]["shape_signature"][1])
        return None if length < 0 else length

    @property
    def labels(self) -> tuple[str, ...] | None:
        """The labels inside the file in the order of its output, None when it carries none."""
        text = read_associated_files(self.path).get(LABELS_FILE)
        return None if text is None else tuple(text.removesuffix("\n").split("\n"))

    def predict_on_batch(self, inputs: dict[str, np.ndarray]) -> np.ndarray:
        """Runs the file on token arrays, one row at a time as on a phone.

        Args:
            inputs: Input name to integer array (batch, length), what the task's preprocessor gives.
                Rows are padded, or freed of padding, to the file's length. Names that the file does
                not have are ignored.

        Returns:
            float32 array (batch, num_classes): the file's logits or probabilities.

        Raises:
            ValueError: An input is missing, or a row has more tokens than the file takes.
        """
        missing = sorted(set(self._inputs) - set(inputs))
        if missing:
            raise ValueError(
                f"The file has inputs that are not given. Pass them. Received: missing={missing}"
            )
        arrays = {name: self._fit(np.asarray(inputs[name]), name) for name in self._inputs}
        outputs = np.empty((len(arrays["token_ids"]), self._num_classes), "float32")
        for row in range(len(outputs)):
            result = self._runner(**{name: array[row : row + 1] for name, array in arrays.items()})
            outputs[row] = result[self.output_name]
        return outputs

    def _fit(self, array: np.ndarray, name: str) -> np.ndarray:
        length = self.sequence_length
        array = array.astype("int32")
        if length is None or array.shape[1] == length:
            return array
        if name == "padding_mask" and array[:, length:].any():
            raise ValueError(
                "A text has more tokens than the file takes. Truncate it, or export with a larger "
                f"`sequence_length`. Received: tokens={int(array.sum(axis=1).max())}, "
                f"sequence_length={length}"
            )
        array = array[:, :length]
        return np.pad(array, ((0, 0), (0, length - array.shape[1])))
