"""Multiple choice: which of several texts goes best with another."""

from __future__ import annotations

from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from kerasbert.models.heads import pooled_input
from kerasbert.models.linear_head_task import LinearHeadTask
from kerasbert.models.probabilities import log_probabilities
from kerasbert.text import MultipleChoicePreprocessor
from kerasbert.text.choices import is_list_of_texts


class Choice(NamedTuple):
    """What `MultipleChoice.choose` gives for a text.

    Attributes:
        index: the choice with the highest score.
        scores: the probability of each choice.
    """

    index: int
    scores: list[float]


class FlattenChoices(keras.layers.Layer):
    """(batch, choices, length) -> (batch * choices, length)."""

    def call(self, x):
        return ops.reshape(x, (-1, ops.shape(x)[2]))

    def compute_output_shape(self, x_shape):
        return (None, x_shape[2])


class ScoresOfChoices(keras.layers.Layer):
    """Scores (batch * choices, 1) and the ids (batch, choices, length) -> (batch, choices)."""

    def call(self, scores, token_ids):
        return ops.reshape(scores, (-1, ops.shape(token_ids)[1]))

    def compute_output_spec(self, scores, token_ids):
        return keras.KerasTensor(token_ids.shape[:2], dtype="float32")


@keras.saving.register_keras_serializable(package="kerasbert")
class MultipleChoice(LinearHeadTask):
    """An encoder with a head that scores each choice (Devlin et al., 2018, section 4.4).

    It trains with `compile` and `fit` on raw text, a dict of `"text"` (a string for each example)
    and `"choices"` (a list of strings for each), or on the encoder's inputs with an axis of
    choices, each (batch, choices, length); labels are the indices of the right choices. A call and
    `predict` give logits (batch, choices) in float32; `choose` gives the index of the best choice
    and the scores of all. The number of choices is free, but the same for all examples of a call.

    Args:
        backbone: a `kerasbert.Encoder`.
        preprocessor: a `MultipleChoicePreprocessor`, or `None` to take tensors only.
        dropout: rate before the output layer; `None` for the family's.
        head_options: what a checkpoint's configuration changes of the family's head; set by
            `from_preset`.
        head_dtype: dtype policy of the head; `None` for the encoder's.
        name: name of the model.
        compile: whether to compile with the defaults.

    Example:

    ```python
    import kerasbert

    texts = ["she sat at the piano", "he was hungry"]
    choices = [["and played a song", "and ate it"], ["and slept", "and ate an apple"]]
    tokenizer = kerasbert.Tokenizer.train([*texts, *sum(choices, [])], vocabulary_size=100)
    config = kerasbert.EncoderConfig(
        vocabulary_size=100, num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64
    )
    chooser = kerasbert.MultipleChoice(
        kerasbert.Encoder(config), preprocessor=kerasbert.MultipleChoicePreprocessor(tokenizer)
    )
    chooser.fit({"text": texts, "choices": choices}, [0, 1], epochs=2, verbose=0)
    index, scores = chooser.choose("he was hungry", ["and played a song", "and ate", "and slept"])
    ```
    """

    preprocessor_cls = MultipleChoicePreprocessor
    task = "multiple_choice"
    num_outputs = 1

    def _states(self, facts):
        backbone = self.backbone
        inputs = {
            name: keras.Input((None, None), dtype="int32", name=name)
            for name in backbone.input_names
        }
        flat = {name: FlattenChoices()(array) for name, array in inputs.items()}
        return inputs, *pooled_input(facts, backbone, backbone(flat), flat["padding_mask"])

    def _logits(self, outputs, inputs):
        return ScoresOfChoices()(outputs, inputs["token_ids"])

    def choose(self, text, choices, batch_size=32):
        """Choose what goes best with a text.

        Args:
            text: a string, or a list of strings; `None` where the choices are whole texts.
            choices: the list of choices of the one text, or a list of such lists; the same number
                of choices for each.
            batch_size: texts that are computed at once.

        Returns:
            A `Choice`, which is the tuple `(index, scores)`: the index of the best choice, and the
            probabilities of all; for several texts a list of these.

        Raises:
            ValueError: without a preprocessor; for choices of unequal number, or none.
            TypeError: for something that is not text.
        """
        is_one = isinstance(text, str) or is_list_of_texts(choices)
        count = 1 if is_one else len(choices)
        if count == 0:
            return []
        logits = self.predict(
            {"text": text, "choices": choices}, batch_size=min(batch_size, count), verbose=0
        )
        scores = np.exp(log_probabilities(logits))
        answers = [Choice(int(row.argmax()), row.tolist()) for row in scores]
        return answers[0] if is_one else answers

    def encode_targets(self, y, examples):
        """The indices of the right choices to int32 (n,).

        Raises:
            ValueError: for what is not the index of a choice; it names label and position.
        """
        num_choices = examples.batch(np.array([0]))["token_ids"].shape[1]
        labels = np.atleast_1d(y)
        labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
        is_index = labels.ndim == 1 and labels.dtype.kind in "iu"
        wrong = np.flatnonzero((labels < 0) | (labels >= num_choices)) if is_index else [0]
        if len(wrong):
            raise ValueError(
                "The label of an example must be the index of its right choice, an int from 0 to "
                f"{num_choices - 1}. Received: {labels[wrong[0]]!r} at position {wrong[0]}"
            )
        return labels.astype("int32")

    def _default_loss(self):
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def _default_metrics(self):
        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
