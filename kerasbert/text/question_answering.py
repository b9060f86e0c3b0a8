"""Questions and contexts to an encoder's input, long contexts in windows."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import keras
import numpy as np

from kerasbert.text.aligned import AlignedTexts, align
from kerasbert.text.inputs import as_texts
from kerasbert.text.packing import BUCKETS
from kerasbert.text.preprocessor import caller_depth
from kerasbert.text.ragged import Ragged
from kerasbert.text.tokenizer import Tokenizer
from kerasbert.text.windowing import WindowingPreprocessor
from kerasbert.text.windows import WindowedExamples

QUESTION_FORM = '{"question": [...], "context": [...]}'


class QuestionExamples(WindowedExamples):
    """Rows that are windows of contexts, each behind its question.

    Args:
        *windowed: As for `WindowedExamples`; its `texts` are the contexts.
        contexts: The contexts as strings.
        num_between: How many special tokens stand between a question and its context.
    """

    def __init__(self, *windowed: Any, contexts: list[str], num_between: int):
        super().__init__(*windowed)
        self.contexts = contexts
        self._question_ends = np.asarray(self.places) - num_between

    def batch(self, indices: Sequence[int], width: int | None = None) -> dict[str, np.ndarray]:
        """As of `Examples`, and `global_mask`: 1 up to the question's end, as transformers has it.

        With global attention the question sees all and is seen by all (Beltagy et al., 2020,
        section 6.1); encoders without it do not read this entry.
        """
        inputs = super().batch(indices, width)
        ends = self._question_ends[np.asarray(indices, np.int64).reshape(-1), None]
        columns = np.arange(inputs["padding_mask"].shape[1])
        return {**inputs, "global_mask": (columns < ends) * inputs["padding_mask"]}


@keras.saving.register_keras_serializable(package="kerasbert")
class QuestionAnswererPreprocessor(WindowingPreprocessor):
    """Questions and contexts to the input dict of an encoder.

    A context that is longer than the room behind its question becomes several rows, which
    together hold every token of it. Questions are tokenized as they are given, leading whitespace
    included; long ones are cut at the end, with one warning per call.

    Args:
        tokenizer: `kerasbert.Tokenizer`.
        sequence_length: int, default 384, as in BERT's `run_squad.py`. The most tokens of a row:
            special tokens, question and a part of the context.
        stride: int, default 128. How many tokens of the context consecutive rows share, as `stride`
            of transformers' tokenizers (`doc_stride` of `run_squad.py` is the distance between
            them). An answer of up to one token more lies in some row as a whole.
        buckets: Ascending ints, default `(16, 32, 64, 128, 256, 512)`. The widths that batches are
            padded to; `sequence_length` is always the last of them.
        max_question_length: int, default 64, as `max_query_length` of `run_squad.py`. The most
            tokens of a question.
        **kwargs: Of `keras_hub.models.Preprocessor`, such as `name`.

    Raises:
        ValueError: A length, the stride or the buckets are not as said.

    Example:

    >>> tokenizer = Tokenizer.train(["who sings", "she sings every day"], vocabulary_size=60)
    >>> preprocessor = QuestionAnswererPreprocessor(tokenizer, sequence_length=9, stride=1)
    >>> batch = preprocessor({"question": ["who sings"], "context": ["she sings every day"]})
    >>> batch["token_ids"].shape, batch["global_mask"].sum()
    ((1, 9), np.int32(3))
    """

    fields: ClassVar[tuple[str, ...]] = ("question", "context")
    label_if_none: ClassVar[Any] = {}  # the question has no answer

    def __init__(
        self,
        tokenizer: Tokenizer,
        sequence_length: int = 384,
        stride: int = 128,
        buckets: Sequence[int] = BUCKETS,
        max_question_length: int = 64,
        **kwargs: Any,
    ):
        super().__init__(tokenizer, sequence_length, stride, buckets, **kwargs)
        is_int = isinstance(max_question_length, int) and not isinstance(max_question_length, bool)
        if not is_int or max_question_length < 1:
            raise ValueError(
                "`max_question_length` must be a positive int. "
                f"Received: max_question_length={max_question_length!r}."
            )
        self.max_question_length = max_question_length

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "max_question_length": self.max_question_length}

    def tokenize(self, x: Any) -> QuestionExamples:
        """Tokenizes questions and contexts in bulk.

        Args:
            x: `{"question": [...], "context": [...]}`, each a list, a NumPy array, a TensorFlow
                string tensor or a pandas series of strings, or one string.

        Returns:
            `QuestionExamples`: ragged rows, one for each window of each context; `origin` says
            which question they belong to.

        Raises:
            TypeError: `x` is no dict, or something in it is not text.
            ValueError: The dict has other keys, questions and contexts differ in number, a
                question leaves no room for its context, or `stride` no new token in a window.
        """
        questions, contexts = self._columns(x)
        first, second = (
            at for at, index in enumerate(self.tokenizer.template.pair.ids) if index is None
        )
        make = functools.partial(
            QuestionExamples, contexts=contexts, num_between=second - first - 1
        )
        return self._windows(self._contexts(contexts), self._questions(questions), make)

    def _columns(self, x: Any) -> list[list[str]]:
        if not isinstance(x, Mapping):
            raise TypeError(
                f"Questions and contexts are given as {QUESTION_FORM} (Keras reads a bare tuple as "
                f"(x, y)). Received: x of type {type(x).__name__}."
            )
        if set(x) != set(self.fields):
            raise ValueError(
                'A dict of questions has the keys "question" and "context": '
                f"{QUESTION_FORM}. Received: keys={list(x)}."
            )
        columns = [as_texts(x[name], name) for name in self.fields]
        if len(columns[0]) != len(columns[1]):
            raise ValueError(
                "`question` and `context` must have the same length: repeat a context for each of "
                f"its questions. Received: {len(columns[0])} questions, {len(columns[1])} contexts."
            )
        return columns

    def _contexts(self, contexts: list[str]) -> AlignedTexts:
        """The contexts' tokens. Many questions share a context: each is tokenized once."""
        place = {context: at for at, context in enumerate(dict.fromkeys(contexts))}
        texts = align(self.tokenizer.rust, list(place))
        rows = np.array([place[context] for context in contexts], np.int64)
        tokens = texts.token_ids
        shared = Ragged(tokens.values, tokens.starts[rows], tokens.lengths[rows])
        return dataclasses.replace(texts, token_ids=shared)

    def _questions(self, questions: list[str]) -> Ragged:
        tokens = self._token_ids(questions)
        num_long = int(np.count_nonzero(tokens.lengths > self.max_question_length))
        if num_long:
            warnings.warn(
                f"{num_long} of {len(questions)} questions were longer than "
                f"{self.max_question_length} tokens and were cut at the end. Raise "
                "`max_question_length` if their ends matter.",
                stacklevel=caller_depth(),
            )
        return tokens.cut(np.minimum(tokens.lengths, np.int32(self.max_question_length)))
