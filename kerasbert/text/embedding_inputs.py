"""Inputs of embeddings: texts, each on its own, also where they come in pairs."""

from __future__ import annotations

from typing import Any

import keras
from tokenizers import normalizers

from kerasbert.text.choices import ChoiceExamples
from kerasbert.text.inputs import is_paired, texts_one_by_one
from kerasbert.text.packing import Examples
from kerasbert.text.preprocessor import TextPreprocessor
from kerasbert.text.tokenizer import Tokenizer


@keras.saving.register_keras_serializable(package="kerasbert")
class TextEmbedderPreprocessor(TextPreprocessor):
    """Texts, or pairs of texts that are encoded apart, to the input dict of an encoder.

    Long texts are truncated at the end, with one warning per call.

    Args:
        tokenizer: `kerasbert.Tokenizer`.
        sequence_length: int, default 512. The most tokens of a text, special ones included.
        buckets: Ascending ints, default `(16, 32, 64, 128, 256, 512)`. The widths that batches are
            padded to; `sequence_length` is always the last of them.
        **kwargs: Of `keras_hub.models.Preprocessor`, such as `name`.

    Raises:
        ValueError: `sequence_length` or `buckets` is not as said.

    Example:

    >>> tokenizer = Tokenizer.train(["wake me at seven", "play some jazz"], vocabulary_size=60)
    >>> preprocessor = TextEmbedderPreprocessor(tokenizer, sequence_length=128)
    >>> preprocessor(["wake me at seven", "play"])["token_ids"].shape
    (2, 16)
    >>> pairs = {"text": ["wake me"], "text_pair": ["play"]}
    >>> preprocessor(pairs)["token_ids"].shape
    (1, 2, 16)
    """

    def tokenize(self, x: Any) -> Examples | ChoiceExamples:
        """Tokenizes texts in bulk.

        Args:
            x: One text or many: a string, a list, a NumPy array, a TensorFlow string tensor or a
                pandas series of strings; or pairs: `{"text": ..., "text_pair": ...}` of these.

        Returns:
            `Examples`: ragged rows, truncated to `sequence_length`, that `batch` pads. Those of
            pairs give arrays (batch, 2, width).

        Raises:
            TypeError: Something is not text; the message names its position and type.
            ValueError: A dict has other keys, or texts and second texts differ in number.
        """
        examples = self._pack([texts_one_by_one(x)])
        return ChoiceExamples(examples, num_choices=2) if is_paired(x) else examples


def lowercased(tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer with lowercasing before all else, as sentence-transformers' `do_lower_case`.

    Args:
        tokenizer: The tokenizer; it is changed. One that starts by lowercasing stays as it is.
    """
    rust = tokenizer.rust
    parts = rust.normalizer
    parts = list(parts) if isinstance(parts, normalizers.Sequence) else [parts] if parts else []
    if not any(isinstance(part, normalizers.Lowercase) for part in parts):
        rust.normalizer = normalizers.Sequence([normalizers.Lowercase(), *parts])
    return tokenizer
