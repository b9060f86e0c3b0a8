"""Classification of texts and pairs of texts, and regression."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

from kerasbert.metrics import F1, PearsonCorrelation
from kerasbert.models.feeding import Batches
from kerasbert.models.heads import POOLINGS, freeze_pooler, pool, without_dense
from kerasbert.models.labels import Labels, their_labels
from kerasbert.models.linear_head_task import LinearHeadTask
from kerasbert.text import TextClassifierPreprocessor


@keras.saving.register_keras_serializable(package="kerasbert")
class TextClassifier(LinearHeadTask):
    """An encoder with a classification head.

    It trains with `compile` and `fit` on raw text (a list of strings, or a dict of `"text"` and
    `"text_pair"`) or on the encoder's input dict. A call and `predict` give logits (batch,
    num_classes) in float32; `classify` gives labels and scores.

    By default the metrics are accuracy; for `multi_label`, the accuracy of all single decisions and
    their F1 (micro average); for regression, mean squared error and Pearson's correlation.

    Args:
        backbone: a `kerasbert.Encoder`.
        num_classes: number of classes; 1 is regression. One of `num_classes` and `labels`.
        labels: names of the classes, in the order of the logits.
        preprocessor: a `TextClassifierPreprocessor`, or `None` to take tensors only.
        multi_label: whether a text has any number of the labels (sigmoid instead of softmax).
        pooling: `None` for the head of the encoder's family; `"cls"`, `"mean"` or `"max"` for a
            linear layer over the pooled states of the real tokens. A pooler of the encoder is then
            frozen, until a task that reads it is built on the same encoder.
        dropout: rate before the output layer; `None` for the family's.
        head_options: what a checkpoint's configuration changes of the family's head; set by
            `from_preset`.
        head_dtype: dtype policy of the head; `None` for the encoder's. Saved where the head was
            quantized.
        name: name of the model.
        compile: whether to compile with the defaults.

    Raises:
        ValueError: for arguments that contradict each other, unknown labels, or a preprocessor
            whose vocabulary or length the encoder cannot hold.

    Example:

    ```python
    import kerasbert

    texts = ["wake me at seven", "play some jazz", "alarm for noon", "put on a song"]
    labels = ["alarm", "music", "alarm", "music"]
    tokenizer = kerasbert.Tokenizer.train(texts, vocabulary_size=100)
    config = kerasbert.EncoderConfig(
        vocabulary_size=100, num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64
    )
    classifier = kerasbert.TextClassifier(
        kerasbert.Encoder(config),
        labels=["alarm", "music"],
        preprocessor=kerasbert.TextClassifierPreprocessor(tokenizer),
    )
    classifier.fit(texts, labels, epochs=2, verbose=0)
    print(classifier.classify(["wake me up"]))
    ```
    """

    preprocessor_cls = TextClassifierPreprocessor
    task = "classifier"

    def __init__(
        self,
        backbone,
        num_classes=None,
        labels=None,
        preprocessor=None,
        multi_label=False,
        pooling=None,
        dropout=None,
        head_options=None,
        head_dtype=None,
        name=None,
        compile=True,
    ):
        classes = Labels.of(num_classes, labels, multi_label)
        if pooling is not None and pooling not in POOLINGS:
            raise ValueError(
                f"`pooling` must be None or one of {POOLINGS}. Received: pooling={pooling!r}"
            )
        self.classes = classes
        self.pooling = pooling
        super().__init__(backbone, preprocessor, dropout, head_options, head_dtype, name, compile)

    def _states(self, facts):
        if self.pooling is None:
            return super()._states(facts)
        freeze_pooler(self.backbone)
        inputs = self.backbone.input
        states = self.backbone(inputs)["sequence_output"]
        pooled = pool(states, inputs["padding_mask"], self.pooling)
        return inputs, pooled, without_dense(facts)

    @property
    def num_outputs(self) -> int:
        """Number of outputs; the same as `num_classes`."""
        return self.classes.num_classes

    @property
    def labels(self) -> list[str] | None:
        """Names of the classes, or `None` if they are only numbered."""
        return None if self.classes.names is None else list(self.classes.names)

    @property
    def num_classes(self) -> int:
        """Number of outputs."""
        return self.classes.num_classes

    @property
    def multi_label(self) -> bool:
        """Whether a text has any number of the labels."""
        return self.classes.multi_label

    def classify(self, texts, batch_size=32):
        """Label texts.

        Args:
            texts: a list of strings, or a dict of `"text"` and `"text_pair"`.
            batch_size: texts that are computed at once.

        Returns:
            For each text a list of `{"label", "score"}`, best first: probabilities (independent
            ones for `multi_label`), or the one value of a regression, whose label is 0. Labels are
            names, or indices where the classes have none.

        Raises:
            ValueError: without a preprocessor.
        """
        if self.preprocessor is None:
            raise ValueError(
                "`classify` needs a preprocessor. Build the classifier with `preprocessor=`. "
                "Received: preprocessor=None"
            )
        if not self._is_raw(texts):
            raise TypeError(f"`classify` takes texts. Received: texts={texts!r:.100}")
        if not isinstance(texts, str | bytes) and len(texts) == 0:
            return []
        scores = self.scores(self.predict(texts, batch_size=batch_size, verbose=0))
        return [self._ranked(row) for row in scores]

    def scores(self, logits) -> np.ndarray:
        """Logits (n, num_classes) to probabilities; a regression's values stay as they are."""
        if self.classes.is_regression:
            return np.asarray(logits)
        squash = ops.sigmoid if self.multi_label else ops.softmax
        return ops.convert_to_numpy(squash(ops.convert_to_tensor(logits)))

    def _ranked(self, row):
        order = np.argsort(-row, kind="stable")
        return [{"label": self.classes.name(i), "score": float(row[i])} for i in order]

    def encode_targets(self, y, examples=None):
        """Labels (names or indices) to the arrays that the loss takes."""
        return self.classes.encode(y)

    def class_weights(self, y, class_weight):
        """The weight of each example by its class."""
        return self.classes.example_weights(y, class_weight)

    def _check_labels(self, data):
        super()._check_labels(data)
        if isinstance(data, Batches) and data.training:
            self.classes.warn_of_missing(data.targets)

    def _default_loss(self):
        if self.classes.is_regression:
            return keras.losses.MeanSquaredError()
        if self.multi_label:
            return keras.losses.BinaryCrossentropy(from_logits=True)
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def _default_metrics(self):
        if self.classes.is_regression:
            return ["mse", PearsonCorrelation()]
        if self.multi_label:
            return [
                keras.metrics.BinaryAccuracy(name="accuracy", threshold=0.0),
                F1(self.num_classes, average="micro", multi_label=True),
            ]
        return [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]

    def export_to_transformers(self, folder, family=None):
        """Write the classifier and its tokenizer as transformers reads them.

        Args:
            folder: where to write `config.json`, `model.safetensors` and the tokenizer's files.
            family: the family whose layout to write; `None` for the encoder's own, or the only one
                that can represent it.

        Raises:
            ValueError: if that layout cannot represent the encoder, or the head (one with
                `pooling`).
        """
        if self.pooling is not None:
            raise ValueError(
                "transformers has no sequence classifier with this pooling. Build the classifier "
                f"with `pooling=None` to export it. Received: pooling={self.pooling!r}"
            )
        super().export_to_transformers(folder, family)

    def _their_values(self):
        kind = (
            "regression"
            if self.classes.is_regression
            else "multi_label_classification"
            if self.multi_label
            else "single_label_classification"
        )
        names = self.labels or [f"LABEL_{i}" for i in range(self.num_classes)]
        return {**their_labels(names), "problem_type": kind}

    @classmethod
    def arguments_of(cls, saved):
        count = saved.num_classes or len(saved.labels)
        is_named = saved.labels is not None and count > 1
        return {
            **({"labels": saved.labels} if is_named else {"num_classes": count}),
            "multi_label": saved.problem_type == "multi_label_classification",
        }

    @classmethod
    def keeps_head(cls, saved, given):
        """Whether a saved head serves the arguments that are given."""
        if given.get("pooling", saved.get("pooling")) != saved.get("pooling"):
            return False
        wanted = cls.merge_arguments(saved, given)
        before, after = (
            Labels.of(arguments.get("num_classes"), arguments.get("labels"), False)
            for arguments in (saved, wanted)
        )
        return after.num_classes == before.num_classes and after.names in (None, before.names)

    @classmethod
    def merge_arguments(cls, saved, given):
        """Constructor arguments: what is given wins over what is saved."""
        merged = dict(saved)
        if given.keys() & {"num_classes", "labels"}:
            same = given.get("labels") is None and given.get("num_classes") == len(
                saved.get("labels") or ()
            )
            if not same:
                merged = {k: v for k, v in saved.items() if k not in ("num_classes", "labels")}
        return {**merged, **given}

    def get_config(self):
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "labels": self.labels,
            "multi_label": self.multi_label,
            "pooling": self.pooling,
        }
