"""Extractive question answering: where an answer starts and ends in a context."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import keras
import numpy as np
from keras import ops

from kerasbert import metrics
from kerasbert.models.answer_spans import FoundAnswers, find_answers
from kerasbert.models.answer_targets import AnswerTargets, answer_positions, read_answers
from kerasbert.models.linear_head_task import LinearHeadTask
from kerasbert.models.losses import answer_span_loss
from kerasbert.text.question_answering import QuestionAnswererPreprocessor, QuestionExamples

# Of padding: finite in float16, and below all that a trained model gives for a token.
PADDING_LOGIT = -1e4


@keras.saving.register_keras_serializable(package="kerasbert")
class QuestionAnswerer(LinearHeadTask):
    """An encoder with a head that finds the first and the last token of an answer (Devlin et al.,
    2018, sections 4.2 and 4.3).

    It trains with `compile` and `fit` on questions and contexts, `{"question": [...], "context":
    [...]}`, or on the encoder's input dict. A long context becomes several windows, each a row of
    its own: those that do not hold the whole answer are trained to find none, which is at the row's
    first token. Answers are, for each question, `{"text": ..., "start": ...}` (the character of the
    context at which it begins), SQuAD's `{"text": [...], "answer_start": [...]}` or a list of dicts
    (the first answer is trained), or `{}` or `None` where there is none. Datasets have dicts of
    `"question"`, `"context"` and `"label"`, or pairs of input and answers. Answers to a dict of
    tensors are int (n, 2): the columns of the first and the last token.

    A call and `predict` give logits (rows, length, 2) in float32: that a token is the answer's
    first, and that it is its last; -10000 for padding. `answer` gives texts.

    Args:
        backbone: a `kerasbert.Encoder`.
        preprocessor: a `QuestionAnswererPreprocessor`, or `None` to take tensors only.
        no_answer_threshold: by how much the score of no answer must exceed that of the best one for
            `answer` to give none; found by `tune_threshold`. `None` (default): it always gives an
            answer, which is right for models trained without questions that have none.
        dropout: rate before the output layer; `None` for the family's.
        head_options: what a checkpoint's configuration changes of the family's head; set by
            `from_preset`.
        head_dtype: dtype policy of the head; `None` for the encoder's.
        name: name of the model.
        compile: whether to compile with the defaults.

    Raises:
        ValueError: for a threshold that is no number, or a preprocessor whose vocabulary or length
            the encoder cannot hold.

    Example:

    ```python
    import kerasbert

    context = "The Normans settled in France in the tenth century."
    tokenizer = kerasbert.Tokenizer.train([context, "When did they settle?"], vocabulary_size=80)
    config = kerasbert.EncoderConfig(
        vocabulary_size=80, num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64
    )
    answerer = kerasbert.QuestionAnswerer(
        kerasbert.Encoder(config),
        preprocessor=kerasbert.QuestionAnswererPreprocessor(tokenizer),
    )
    questions = {"question": ["When did they settle?"], "context": [context]}
    answers = [{"text": "the tenth century", "start": context.index("the tenth")}]
    answerer.fit(questions, answers, epochs=2, verbose=0)
    print(answerer.answer("When did they settle?", context))
    ```
    """

    preprocessor_cls = QuestionAnswererPreprocessor
    task = "question_answerer"
    num_outputs = 2  # the first token and the last
    sequence_fill = PADDING_LOGIT

    def __init__(
        self,
        backbone,
        preprocessor=None,
        no_answer_threshold=None,
        dropout=None,
        head_options=None,
        head_dtype=None,
        name=None,
        compile=True,
    ):
        self.no_answer_threshold = _checked_threshold(no_answer_threshold)
        super().__init__(backbone, preprocessor, dropout, head_options, head_dtype, name, compile)

    def _logits(self, outputs, inputs):
        is_real = ops.expand_dims(ops.cast(inputs["padding_mask"], "bool"), -1)
        return ops.where(is_real, outputs, PADDING_LOGIT)  # (B, T, 2)

    def answer(
        self,
        question: str | list[str],
        context: str | list[str],
        top_k: int = 1,
        max_answer_length: int = 30,
        n_best: int = 20,
        no_answer_threshold: float | None = None,
        batch_size: int = 32,
    ) -> Any:
        """Answer questions by parts of their contexts.

        Args:
            question: one question, or a list of them.
            context: the context of the question, or a list with one for each.
            top_k: how many answers are wanted; fewer are given where there are not so many.
            max_answer_length: the most tokens of an answer.
            n_best: how many of the likeliest answers share the probabilities; at least `top_k`.
            no_answer_threshold: used instead of the model's own. `None` for that.
            batch_size: rows that are computed at once.

        Returns:
            For `top_k=1` a dict of `text`, the exact part of the context, `start` and `end`, its
            first character and the one after its last, and `score`, its probability among the
            `n_best`, of which no answer is one if there is a threshold. No answer has the text `""`
            and `None` for `start` and `end`. For a larger `top_k` a list of these, best first, in
            which no answer stands where the threshold puts it. For lists of questions, a list.

        Raises:
            TypeError: something is not text, or one of the two is a list and the other is not.
            ValueError: as of the preprocessor's `tokenize`; for other arguments that are not as
                said; or without a preprocessor.
        """
        is_one = isinstance(question, str | bytes)
        if is_one != isinstance(context, str | bytes):
            raise TypeError(
                "`question` and `context` must be two strings, or two lists of strings. Received: "
                f"{type(question).__name__} and {type(context).__name__}."
            )
        _check_counts(top_k=top_k, n_best=n_best)
        threshold = _checked_threshold(no_answer_threshold)
        if threshold is None:
            threshold = self.no_answer_threshold
        x = {"question": question, "context": context}
        n_best = max(n_best, top_k)
        found = [
            answers.ranked(n_best, threshold)[:top_k]
            for answers in self._find(x, max_answer_length, n_best, batch_size)
        ]
        results = [answers[0] for answers in found] if top_k == 1 else found
        return results[0] if is_one else results

    def predict_answers(
        self, x: dict, max_answer_length: int = 30, batch_size: int = 32
    ) -> tuple[list[str], np.ndarray]:
        """The best answers to many questions, as `kerasbert.metrics.squad` scores them.

        Args:
            x: `{"question": [...], "context": [...]}`.
            max_answer_length: the most tokens of an answer.
            batch_size: rows that are computed at once.

        Returns:
            The text of the best answer to each question, whatever the threshold, and a float array
            (n,): by how much the score of no answer exceeds that answer's.
        """
        found = self._find(x, max_answer_length, 1, batch_size)
        scores = np.array([answers.no_answer_score for answers in found], "float64")
        return [answers.text for answers in found], scores

    def tune_threshold(
        self, x: dict, y: Any, metric: str = "f1", max_answer_length: int = 30, batch_size: int = 32
    ) -> float:
        """Find the `no_answer_threshold` that is best on held-out questions, and keep it.

        Args:
            x: `{"question": [...], "context": [...]}`.
            y: answers as for `fit`; all right answers to a question count.
            metric: `"f1"` or `"exact"`: which of SQuAD's figures to maximise.
            max_answer_length: the most tokens of an answer.
            batch_size: rows that are computed at once.

        Returns:
            The threshold, which is saved with the model.

        Raises:
            ValueError: if not some questions have answers and some have none; or as of `fit`.
        """
        answers = [[answer.text for answer in given] for given in read_answers(y)]
        if all(answers) or not any(answers):
            raise ValueError(
                "A threshold can be found only from questions of both kinds, with an answer and "
                f"without. Received: {sum(map(bool, answers))} of {len(answers)} with one."
            )
        texts, scores = self.predict_answers(x, max_answer_length, batch_size)
        if len(texts) != len(answers):
            raise ValueError(
                "`x` and `y` must have the same number of questions. "
                f"Received: {len(texts)} in x, {len(answers)} in y."
            )
        by_question = (dict(enumerate(each)) for each in (texts, answers, scores.tolist()))
        self.no_answer_threshold, _ = metrics.best_threshold(*by_question, metric)
        return self.no_answer_threshold

    def _find(self, x, max_answer_length, n_best, batch_size) -> list[FoundAnswers]:
        if self.preprocessor is None:
            raise ValueError(
                "Answers need a preprocessor. Build the model with `preprocessor=`. "
                "Received: preprocessor=None."
            )
        _check_counts(max_answer_length=max_answer_length)
        examples = self.preprocessor.tokenize(x)
        if not len(examples):
            return []
        logits = self.predict(examples, batch_size=batch_size, verbose=0)
        return find_answers(logits, examples, max_answer_length, n_best)

    def encode_targets(self, y, examples=None):
        """Answers to positions of tokens, int32 (rows, 2).

        Args:
            y: answers as for `fit`, or for tensors an int array (n, 2).
            examples: the tokenized questions and contexts.
        """
        if isinstance(examples, QuestionExamples):
            return AnswerTargets(answer_positions(read_answers(y), examples))
        positions = np.asarray(y)
        if positions.ndim != 2 or positions.shape[1] != 2 or positions.dtype.kind not in "iu":
            raise ValueError(
                "Answers to tensors must be int (n, 2): the columns of the first and the last "
                f"token. Received: shape={positions.shape}, dtype={positions.dtype}."
            )
        return AnswerTargets(positions.astype("int32"))

    def _default_loss(self):
        return answer_span_loss

    def _default_metrics(self):
        return [metrics.SpanAccuracy()]

    def get_config(self):
        return {**super().get_config(), "no_answer_threshold": self.no_answer_threshold}


def _checked_threshold(threshold):
    if threshold is None:
        return None
    if not isinstance(threshold, Real) or isinstance(threshold, bool) or math.isnan(threshold):
        raise ValueError(
            "`no_answer_threshold` must be None or a number. "
            f"Received: no_answer_threshold={threshold!r}."
        )
    return float(threshold)


def _check_counts(**counts):
    for name, value in counts.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"`{name}` must be a positive int. Received: {name}={value!r}.")
