"""Classification of texts and pairs of texts, and regression."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

from kerasbert import tuning
from kerasbert.families import family_for, get_family
from kerasbert.models.encoder import Encoder
from kerasbert.models.heads import POOLINGS, ClassificationHead, pool, quantized_policies
from kerasbert.models.labels import Labels
from kerasbert.models.saving import export_classifier
from kerasbert.models.task import EncoderTask
from kerasbert.text import TextClassifierPreprocessor, TextPreprocessor


@keras.saving.register_keras_serializable(package="kerasbert")
class TextClassifier(EncoderTask):
    """An encoder with a classification head.

    It trains with `compile` and `fit` on raw text (a list of strings, or a dict of `"text"` and
    `"text_pair"`) or on the encoder's input dict. A call and `predict` give logits (batch,
    num_classes) in float32; `classify` gives labels and scores.

    Args:
        backbone: a `kerasbert.Encoder`.
        num_classes: number of classes; 1 is regression. One of `num_classes` and `labels`.
        labels: names of the classes, in the order of the logits.
        preprocessor: a `TextClassifierPreprocessor`, or `None` to take tensors only.
        multi_label: whether a text has any number of the labels (sigmoid instead of softmax).
        pooling: `None` for the head of the encoder's family; `"cls"`, `"mean"` or `"max"` for a
            linear layer over the pooled states of the real tokens.
        dropout: rate before the output layer; `None` for the family's.
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

    def __init__(
        self,
        backbone,
        num_classes=None,
        labels=None,
        preprocessor=None,
        multi_label=False,
        pooling=None,
        dropout=None,
        head_dtype=None,
        name=None,
        compile=True,
    ):
        classes = Labels.of(num_classes, labels, multi_label)
        if pooling is not None and pooling not in POOLINGS:
            raise ValueError(
                f"`pooling` must be None or one of {POOLINGS}. Received: pooling={pooling!r}"
            )
        _check_fit(backbone, preprocessor)
        layout = get_family(backbone.family).classification_head
        uses_pooler = pooling is None and layout.pool == "pooled" and backbone.config.pooler
        if backbone.config.pooler and not uses_pooler:
            backbone.get_layer("pooler").trainable = False  # nothing would give it a gradient
        default = backbone.config.hidden_dropout if layout.dropout is None else layout.dropout
        head = ClassificationHead(
            backbone.config,
            classes.num_classes,
            activation=layout.dense if pooling is None and not uses_pooler else None,
            dropout=default if dropout is None else dropout,
            dtype=keras.dtype_policies.get(head_dtype or backbone.dtype_policy),
            name="head",
        )

        inputs = backbone.input
        outputs = backbone(inputs)
        if uses_pooler:
            pooled = outputs["pooled_output"]
        else:
            pooled = pool(outputs["sequence_output"], inputs["padding_mask"], pooling or "cls")
        logits = head(pooled)

        self.backbone = backbone
        self.preprocessor = preprocessor
        self.head = head
        self.classes = classes
        self.pooling = pooling
        self.dropout = dropout
        self.input_names = backbone.input_names
        super().__init__(inputs=inputs, outputs=logits, name=name, compile=compile)

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

    def encode_targets(self, y):
        """Labels (names or indices) to the arrays that the loss takes."""
        return self.classes.encode(y)

    def class_weights(self, y, class_weight):
        """The weight of each example by its class."""
        return self.classes.example_weights(y, class_weight)

    def _check_preprocessor(self):
        _check_fit(self.backbone, self.preprocessor)

    def _defaults(self, optimizer, loss, metrics):
        if self.classes.is_regression:
            default_loss, default_metrics = keras.losses.MeanSquaredError(), ["mse"]
        elif self.multi_label:
            default_loss = keras.losses.BinaryCrossentropy(from_logits=True)
            default_metrics = [keras.metrics.BinaryAccuracy(name="accuracy", threshold=0.0)]
        else:
            default_loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            default_metrics = [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
        return (
            tuning.optimizer() if optimizer == "auto" else optimizer,
            default_loss if loss == "auto" else loss,
            default_metrics if metrics == "auto" else metrics,
        )

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
        names = self.labels or [f"LABEL_{i}" for i in range(self.num_classes)]
        kind = (
            "regression"
            if self.classes.is_regression
            else "multi_label_classification"
            if self.multi_label
            else "single_label_classification"
        )
        facts = family_for(self.backbone.config, family or self.backbone.family)
        values = {
            "id2label": dict(enumerate(names)),
            "label2id": {name: index for index, name in enumerate(names)},
            "problem_type": kind,
            facts.classification_head.dropout_field: self.head.dropout.rate,
        }
        export_classifier(self, folder, facts.name, values)

    @classmethod
    def arguments_in(cls, folder):
        """Constructor arguments that a Hugging Face folder gives; none if it has no such head."""
        if not folder.is_classifier:
            return {}
        kind = folder.values.get("problem_type")
        layout = folder.family.classification_head
        dropout = folder.values.get(layout.dropout_field)
        labels = folder.labels
        return {
            **({"num_classes": 1} if len(labels) == 1 else {"labels": labels}),
            "multi_label": kind == "multi_label_classification",
            "dropout": layout.dropout if dropout is None else dropout,
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
            "dropout": self.dropout,
            "head_dtype": quantized_policies(self.head),
        }


def _check_fit(backbone, preprocessor):
    """Refuse a preprocessor that gives ids or lengths that the encoder has no rows for."""
    if not isinstance(backbone, Encoder):
        raise TypeError(
            "`backbone` must be a `kerasbert.Encoder`; a preset's name goes to `from_preset`. "
            f"Received: backbone={backbone!r}"
        )
    if preprocessor is None:
        return
    if not isinstance(preprocessor, TextPreprocessor):
        raise TypeError(
            "`preprocessor` must be None or a preprocessor such as "
            "`TextClassifierPreprocessor(tokenizer)`. "
            f"Received: preprocessor of type {type(preprocessor).__name__}"
        )
    config, tokenizer = backbone.config, preprocessor.tokenizer
    if preprocessor.sequence_length > config.max_sequence_length:
        raise ValueError(
            "The preprocessor's `sequence_length` must not exceed the encoder's "
            f"`max_sequence_length`. Received: {preprocessor.sequence_length} and "
            f"{config.max_sequence_length}"
        )
    if tokenizer.is_loaded and tokenizer.vocabulary_size() > config.vocabulary_size:
        raise ValueError(
            "The tokenizer has more tokens than the encoder has embeddings. "
            f"Received: {tokenizer.vocabulary_size()} and {config.vocabulary_size}"
        )
