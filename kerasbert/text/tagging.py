"""Word lists, or texts, to an encoder's input for tagging."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import keras
import numpy as np

from kerasbert.text.inputs import as_texts
from kerasbert.text.packing import BUCKETS
from kerasbert.text.tokenizer import Tokenizer
from kerasbert.text.windowing import WindowingPreprocessor
from kerasbert.text.windows import WindowedExamples
from kerasbert.text.words import align_strings, align_words

_FORMS = (
    'a list of texts, or of lists of words, or one of these as {"text": [...]} or {"tokens": [...]}'
)


@keras.saving.register_keras_serializable(package="kerasbert")
class TokenClassifierPreprocessor(WindowingPreprocessor):
    """Word lists, or texts, to the input dict of an encoder that tags their tokens.

    A text that is longer than `sequence_length` becomes several rows, which overlap and together
    hold every token of it. Words given in lists are tokenized as they would be in running text:
    where a tokenizer's pieces include the space before a word, there is one before each.

    Args:
        tokenizer: `kerasbert.Tokenizer`.
        sequence_length: int, default 512. The most tokens of a row, special ones included.
        stride: int, or `None` (default) for a quarter of `sequence_length`. How many tokens of a
            long text consecutive rows share.
        buckets: Ascending ints, default `(16, 32, 64, 128, 256, 512)`. The widths that batches are
            padded to; `sequence_length` is always the last of them.
        label_all_tokens: Whether all tokens of a word are trained (`B-` on the first, then `I-`),
            or only the first (Devlin et al., 2018, section 5.3). Default `False`.
        **kwargs: Of `keras_hub.models.Preprocessor`, such as `name`.

    Raises:
        ValueError: A length, the stride or the buckets are not as said.

    Example:

    >>> tokenizer = Tokenizer.train(["Anna lives in Oslo"], vocabulary_size=60)
    >>> preprocessor = TokenClassifierPreprocessor(tokenizer, sequence_length=128)
    >>> preprocessor([["Anna", "lives", "in", "Oslo"], ["Anna"]])["token_ids"].shape
    (2, 16)
    """

    fields: ClassVar[tuple[str, ...]] = ("tokens", "text")

    def __init__(
        self,
        tokenizer: Tokenizer,
        sequence_length: int = 512,
        stride: int | None = None,
        buckets: Sequence[int] = BUCKETS,
        label_all_tokens: bool = False,
        **kwargs: Any,
    ):
        super().__init__(tokenizer, sequence_length, stride or 0, buckets, **kwargs)
        if stride is None:
            self.stride = self.sequence_length // 4
        if self.stride >= self.sequence_length:
            raise ValueError(
                "`stride`, the tokens that consecutive rows share, must be less than "
                "`sequence_length`. Make it smaller. "
                f"Received: stride={stride}, sequence_length={sequence_length}."
            )
        self.label_all_tokens = bool(label_all_tokens)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "label_all_tokens": self.label_all_tokens}

    @classmethod
    def is_one(cls, x: Any) -> bool:
        """Whether `x`, from a dataset, is one example rather than a batch of them.

        A list of strings is a batch of texts, unless it is under the name `"tokens"`.
        """
        if isinstance(x, Mapping) and "tokens" in x:
            return not _holds_lists(_listed(x["tokens"]))
        return super().is_one(x.get("text") if isinstance(x, Mapping) else x)

    def tokenize(self, x: Any) -> WindowedExamples:
        """Tokenizes texts or word lists in bulk.

        Args:
            x: A list of strings (or a string, a NumPy array, a TensorFlow string tensor or a pandas
                series of strings): texts. Or a list (or a series, or a ragged TensorFlow tensor) of
                lists of strings: the words of texts. Either may be in a dict: `{"text": ...}` or
                `{"tokens": ...}`.

        Returns:
            `WindowedExamples`, whose `texts` are `WordedTexts`.

        Raises:
            TypeError: Something is not text; the message names its position and type.
            ValueError: A dict has other keys, or `stride` leaves a row no new token.
        """
        texts = self._texts(x)
        are_words = bool(texts) and not isinstance(texts[0], str)
        align = align_words if are_words else align_strings
        return self._windows(align(self.tokenizer.rust, texts))

    def _texts(self, x: Any) -> list[str] | list[list[str]]:
        if not isinstance(x, Mapping):
            x = _listed(x)
            return _word_lists(x, "x") if _holds_lists(x) else as_texts(x, "x")
        if len(x) != 1 or not x.keys() <= set(self.fields):
            raise ValueError(
                f'A dict of texts to tag has one of the keys "text" and "tokens": {_FORMS}. '
                f"Received: keys={list(x)}."
            )
        if "text" in x:
            return as_texts(x["text"], "text")
        words = _listed(x["tokens"])
        are_many = _holds_lists(words) or len(words) == 0
        return _word_lists(words if are_many else [words], "tokens")


def _listed(x: Any) -> Any:
    """A pandas series, or a ragged tensor of TensorFlow, as a list."""
    return x.to_list() if hasattr(x, "to_list") else x


def _is_list(x: Any) -> bool:
    return isinstance(x, list | tuple) or (isinstance(x, np.ndarray) and x.ndim == 1)


def _holds_lists(x: Any) -> bool:
    if isinstance(x, str | bytes | Mapping) or not hasattr(x, "__iter__"):
        return False
    return any(_is_list(item) for item in x)


def _word_lists(x: Any, name: str) -> list[list[str]]:
    for position, words in enumerate(x):
        if not _is_list(words):
            raise TypeError(
                f"Inputs to tag must be {_FORMS}, not some of each. Received: "
                f"{name}[{position}]={words!r:.60} of type {type(words).__name__}."
            )
    return [as_texts(list(words), f"{name}[{position}]") for position, words in enumerate(x)]
