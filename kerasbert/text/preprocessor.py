"""Preprocessors: from a task's input to the encoder's input dict."""

from __future__ import annotations

import inspect
import itertools
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import keras
import keras_hub
import numpy as np

from kerasbert.text.inputs import is_raw, text_columns
from kerasbert.text.packing import BUCKETS, Examples, longest_first, pack, resolve_buckets
from kerasbert.text.ragged import Ragged
from kerasbert.text.template import Layout
from kerasbert.text.tokenizer import Tokenizer

# Few enough that the Rust library's records of one chunk (tokens, offsets) stay small.
_CHUNK = 4096
_PACKAGE = str(Path(__file__).parents[1])


class TextPreprocessor(keras_hub.models.Preprocessor):
    """What the preprocessors of all tasks share: limits, packing, padding and configuration.

    A subclass is registered with Keras. Where its task's input is not texts or pairs of them, it
    has a `tokenize(x) -> Examples` of its own and names the input's `fields`.

    Args:
        tokenizer: `kerasbert.Tokenizer`.
        sequence_length: int, default 512. The most tokens of an example, special ones included.
        buckets: Ascending ints, default `(16, 32, 64, 128, 256, 512)`. The widths that batches are
            padded to; `sequence_length` is always the last of them. By default, tasks that do not
            compile for each shape (on torch and TensorFlow) pad to multiples of 8 instead.
        **kwargs: Of `keras_hub.models.Preprocessor`, such as `name`.
    """

    # The entries of a dict that is this task's input; beside them, a dataset has `"label"`.
    fields: ClassVar[tuple[str, ...]] = ("text", "text_pair")
    # What a dataset's `"label"` of `None` means: by default that there is none.
    label_if_none: ClassVar[Any] = None

    def __init__(
        self,
        tokenizer: Tokenizer,
        sequence_length: int = 512,
        buckets: Sequence[int] = BUCKETS,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.tokenizer = tokenizer
        resolve_buckets(buckets, sequence_length)  # Reports what is wrong with either.
        self.sequence_length = int(sequence_length)
        self._given_buckets = tuple(buckets)
        self.built = True

    @property
    def buckets(self) -> tuple[int, ...]:
        """The widths of batches; the last one is `sequence_length`, which may be set anew."""
        return resolve_buckets(self._given_buckets, self.sequence_length)

    @property
    def has_default_buckets(self) -> bool:
        """Whether nobody has chosen the widths of batches."""
        return self._given_buckets == BUCKETS

    @classmethod
    def from_preset(cls, preset: str | os.PathLike, **kwargs: Any) -> TextPreprocessor:
        """Reads the tokenizer of a folder, and the settings of the preprocessor saved with it.

        Args:
            preset: A folder that `save_to_preset` or transformers wrote.
            **kwargs: Arguments of the constructor that win over the saved ones.

        Raises:
            ValueError: The folder or its files are missing or cannot be understood.
        """
        saved = Path(preset) / "preprocessor.json"
        config = json.loads(saved.read_text(encoding="utf-8"))["config"] if saved.is_file() else {}
        known = inspect.signature(cls).parameters.keys() - {"tokenizer"}
        settings = {name: value for name, value in config.items() if name in known}
        return cls(Tokenizer.from_preset(preset), **{**settings, **kwargs})

    def __call__(self, x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        # Keras' own `__call__` would read a bare tuple as (x, y), and walk through every string.
        return self.call(x, y=y, sample_weight=sample_weight)

    def call(self, x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Turns a task's input into the encoder's, padded to the smallest bucket.

        Args:
            x: What `tokenize` takes.
            y: Labels or `None` (default), handed through.
            sample_weight: Weights or `None` (default), handed through.

        Returns:
            A dict of int32 arrays of shape (batch, width); `(dict, y)` or
            `(dict, y, sample_weight)` where these are given.
        """
        examples = self.tokenize(x)
        inputs = examples.batch(np.arange(len(examples)))
        return keras.utils.pack_x_y_sample_weight(inputs, y, sample_weight)

    def tokenize(self, x: Any) -> Examples:
        """Tokenizes texts in bulk.

        Args:
            x: One text or many: a string, a list, a NumPy array, a TensorFlow string tensor or a
                pandas series of strings; or pairs: `{"text": ..., "text_pair": ...}` of these.

        Returns:
            `Examples`: ragged rows, truncated to `sequence_length`, that `batch` pads.

        Raises:
            TypeError: Something is not text; the message names its position and type.
            ValueError: A dict has other keys, or texts and second texts differ in number.
        """
        return self._pack(text_columns(x))

    is_raw = staticmethod(is_raw)

    @classmethod
    def is_one(cls, x: Any) -> bool:
        """Whether `x`, from a dataset, is one example rather than a batch of them."""
        if isinstance(x, Mapping):
            return cls.is_one(x.get(cls.fields[0]))
        return isinstance(x, str | bytes) or (isinstance(x, np.ndarray) and x.ndim == 0)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        return {
            **config,
            "sequence_length": self.sequence_length,
            "buckets": [int(width) for width in self._given_buckets],
        }

    def _pack(self, texts: Sequence[Sequence[str]]) -> Examples:
        """Tokenizes, truncates and packs texts (one list) or pairs (two lists of equal length)."""
        layout = self._layout(len(texts))
        rows = self._truncate([self._token_ids(column) for column in texts], layout)
        return self._packed(rows, layout)

    def _layout(self, num_texts: int) -> Layout:
        template = self.tokenizer.template
        return template.single if num_texts == 1 else template.pair

    def _packed(self, rows: Sequence[Ragged], layout: Layout) -> Examples:
        token_ids, segment_ids = pack(rows, layout)
        return Examples(token_ids, segment_ids, self._pad_token_id(), self.buckets)

    def _token_ids(self, texts: Sequence[str]) -> Ragged:
        values, lengths = [], []
        for start in range(0, len(texts), _CHUNK):
            encodings = self.tokenizer.rust.encode_batch_fast(
                texts[start : start + _CHUNK], add_special_tokens=False
            )
            ids = [encoding.ids for encoding in encodings]
            lengths += map(len, ids)
            values.append(np.fromiter(itertools.chain.from_iterable(ids), np.int32))
        flat = np.concatenate(values) if values else np.empty(0, np.int32)
        return Ragged.of(flat, np.asarray(lengths, np.int32))

    def _truncate(self, rows: list[Ragged], layout: Layout) -> list[Ragged]:
        room = self._room(layout)
        lengths = [row.lengths for row in rows]
        kept = [np.minimum(lengths[0], room)] if len(rows) == 1 else longest_first(*lengths, room)
        num_cut = int(np.count_nonzero(sum(lengths) > sum(kept)))
        if num_cut:
            warnings.warn(
                f"{num_cut} of {len(lengths[0])} examples were longer than {self.sequence_length} "
                "tokens and were truncated. Raise `sequence_length` if their ends matter.",
                stacklevel=caller_depth(),
            )
        return [row.cut(length) for row, length in zip(rows, kept, strict=True)]

    def _room(self, layout: Layout) -> int:
        """How many tokens of texts a row holds."""
        room = self.sequence_length - layout.num_special_tokens
        if room < 1:
            raise ValueError(
                f"`sequence_length` must leave room beside the {layout.num_special_tokens} special "
                f"tokens. Received: sequence_length={self.sequence_length}."
            )
        return room

    def _pad_token_id(self) -> int:
        if self.tokenizer.pad_token_id is None:
            raise ValueError(
                "The tokenizer has no padding token, so batches cannot be padded. Name one as "
                '"pad_token" in its `tokenizer_config.json`.'
            )
        return self.tokenizer.pad_token_id


@keras.saving.register_keras_serializable(package="kerasbert")
class TextClassifierPreprocessor(TextPreprocessor):
    """Texts or pairs of texts to the input dict of an encoder, for classification.

    Long texts are truncated at the end, pairs longest first, with one warning per call. Batches are
    padded to the smallest bucket that holds them, so that short texts stay cheap and compiled
    functions few.

    Args:
        tokenizer: `kerasbert.Tokenizer`.
        sequence_length: int, default 512. The most tokens of an example, special ones included.
        buckets: Ascending ints, default `(16, 32, 64, 128, 256, 512)`. The widths that batches are
            padded to; `sequence_length` is always the last of them.
        **kwargs: Of `keras_hub.models.Preprocessor`, such as `name`.

    Raises:
        ValueError: `sequence_length` or `buckets` is not as said.

    Example:

    >>> tokenizer = Tokenizer.train(["wake me at seven", "play some jazz"], vocabulary_size=60)
    >>> preprocessor = TextClassifierPreprocessor(tokenizer, sequence_length=128)
    >>> preprocessor(["wake me at seven", "play"])["token_ids"].shape
    (2, 16)
    >>> pairs = {"text": ["wake me"], "text_pair": ["play"]}
    >>> preprocessor(pairs)["segment_ids"].max()
    np.int32(1)
    """


def caller_depth() -> int:
    """The `stacklevel`, for who calls this, of the first line outside kerasbert."""
    depth, frame = 1, inspect.currentframe().f_back
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    return depth
