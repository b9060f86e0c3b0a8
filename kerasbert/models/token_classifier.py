"""Classification of tokens: tags of words, names in text."""

from __future__ import annotations

import keras
import numpy as np

from kerasbert.metrics import EntityF1, TokenAccuracy
from kerasbert.metrics.labelled import IGNORED_LABEL
from kerasbert.models.feeding import Batches, TokenTargets
from kerasbert.models.labels import Labels, their_labels
from kerasbert.models.linear_head_task import LinearHeadTask
from kerasbert.models.losses import TokenCrossEntropy
from kerasbert.models.probabilities import log_probabilities
from kerasbert.models.tag_reading import (
    OF_WORDS,
    check_aggregation,
    entities_of,
    of_words,
    tagged,
    tags_of,
)
from kerasbert.models.tag_schemes import TagScheme
from kerasbert.models.tag_targets import classes_of_spans, classes_of_tags, token_targets
from kerasbert.text import Examples, TokenClassifierPreprocessor
from kerasbert.text.context import most_context


@keras.saving.register_keras_serializable(package="kerasbert")
class TokenClassifier(LinearHeadTask):
    """An encoder with a head that classifies each token (Devlin et al., 2018, section 5.3).

    It trains with `compile` and `fit` on lists of words with a tag for each word, on texts with
    spans of characters, or on the encoder's input dict with classes int (batch, length); -100 is
    for tokens that are not trained. A call and `predict` give logits (batch, length, len(labels))
    in float32, where a long text is several rows; `tag` gives entities, `predict_tags` the tags of
    words.

    Tags are names or indices of `labels`, -100 or `None` for a word that is not trained. Spans are
    `{"start": 0, "end": 4, "label": "PER"}` or `(0, 4, "PER")`, where the label has no prefix; they
    label whole words, and all other words as `"O"`. A word's first token is trained, or all with
    the preprocessor's `label_all_tokens`. In the overlapping rows of a long text, each is trained
    once, in the row in which it has most context, from which `tag` also reads it.

    Whether entities are marked as IOB2 (`B-`, `I-`), as IOBES (`B-`, `I-`, `E-`, `S-`), or by
    labels alone, the names in `labels` show. The default metrics are `TokenAccuracy` and, for
    marked entities, `EntityF1`, in which an entity ends at the end of a row.

    Args:
        backbone: a `kerasbert.Encoder`.
        labels: names of the classes, in the order of the logits. They must be given where none are
            saved.
        preprocessor: a `TokenClassifierPreprocessor`, or `None` to take tensors only.
        dropout: rate before the output layer; `None` for the family's.
        head_options: what a checkpoint's configuration changes of the family's head; set by
            `from_preset`.
        head_dtype: dtype policy of the head; `None` for the encoder's.
        name: name of the model.
        compile: whether to compile with the defaults.

    Raises:
        ValueError: for labels that are none or stand twice.

    Example:

    ```python
    import kerasbert

    words = [["Anna", "lives", "in", "Oslo"], ["Rome", "is", "old"]]
    tags = [["B-PER", "O", "O", "B-LOC"], ["B-LOC", "O", "O"]]
    tokenizer = kerasbert.Tokenizer.train([" ".join(row) for row in words], vocabulary_size=100)
    config = kerasbert.EncoderConfig(
        vocabulary_size=100, num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64
    )
    tagger = kerasbert.TokenClassifier(
        kerasbert.Encoder(config),
        labels=["O", "B-PER", "I-PER", "B-LOC", "I-LOC"],
        preprocessor=kerasbert.TokenClassifierPreprocessor(tokenizer),
    )
    tagger.fit(words, tags, epochs=2, verbose=0)
    print(tagger.tag(["Anna is in Rome"]))
    ```
    """

    preprocessor_cls = TokenClassifierPreprocessor
    task = "token_classifier"
    sequence_fill = 0.0

    def __init__(
        self,
        backbone,
        labels=None,
        preprocessor=None,
        dropout=None,
        head_options=None,
        head_dtype=None,
        name=None,
        compile=True,
    ):
        self.classes = Labels.of(None, labels, False)
        self.scheme = TagScheme.of(self.classes.names)
        super().__init__(backbone, preprocessor, dropout, head_options, head_dtype, name, compile)

    @property
    def num_outputs(self) -> int:
        """Number of classes."""
        return self.classes.num_classes

    @property
    def labels(self) -> list[str]:
        """Names of the classes, in the order of the logits."""
        return list(self.classes.names)

    def tag(self, texts, aggregation="first", batch_size=32):
        """Find the entities of texts.

        Neighbours are joined to entities as conlleval does: an `I-` that continues none begins one.
        With labels without prefixes, neighbours of the same label are one. What is `"O"` is left
        out. Each word of a long text is read from the row in which it has most context.

        Args:
            texts: a list of strings, or of lists of words.
            aggregation: `"none"`: each token by itself, with its class as label; `"simple"`: tokens
                joined to entities; or words joined to entities, each of the class of its first
                token (`"first"`), of its tokens' mean probabilities (`"average"`), or of the token
                that is surest (`"max"`). These are transformers' strategies, but for words, which
                are the pre-tokenizer's (`jazz,` is two in most) or those that are given.
            batch_size: rows that are computed at once.

        Returns:
            For each text a list of `{"label", "text", "start", "end", "score"}`: `start` and `end`
            are characters of the text, or of the words joined by spaces, `text` is what stands
            there, and `score` the mean probability of its tokens or words.

        Raises:
            ValueError: without a `TokenClassifierPreprocessor`, or for an unknown `aggregation`.
            TypeError: if `texts` are no texts.

        Example:

        >>> tagger.tag(["Anna is in Rome"])  # doctest: +SKIP
        [[{'label': 'PER', 'text': 'Anna', 'start': 0, 'end': 4, 'score': 0.93}, ...]]
        """
        check_aggregation(aggregation)
        texts, probabilities = self._probabilities(texts, batch_size)
        names = self.labels if aggregation == "none" else None
        return entities_of(texts, tagged(texts, probabilities, aggregation), self.scheme, names)

    def predict_tags(self, words, aggregation="first", batch_size=32):
        """Tag every word, as `kerasbert.metrics.entity_scores` takes it.

        Args:
            words: a list of lists of words.
            aggregation: `"first"`, `"average"` or `"max"`, as for `tag`.
            batch_size: rows that are computed at once.

        Returns:
            For each list of words a list of as many names of classes. A word that becomes no token
            gets `"O"`, or `None` if there is no such class.

        Raises:
            ValueError: without a `TokenClassifierPreprocessor`, or for an unknown `aggregation`.
            TypeError: if `words` are no lists of words.
        """
        check_aggregation(aggregation, OF_WORDS)
        texts, probabilities = self._probabilities(words, batch_size)
        if len(texts) and not texts.are_given:
            raise TypeError(
                "`predict_tags` takes lists of words; `tag` takes texts. "
                f"Received: words={words!r:.100}"
            )
        classes = of_words(texts, probabilities, aggregation).argmax(axis=-1)
        return tags_of(texts, classes, self.labels)

    def _probabilities(self, texts, batch_size):
        """The texts' tokens, and the probabilities of their classes, float (tokens, classes)."""
        self._check_reads_words()
        if not self._is_raw(texts):
            raise TypeError(f"Texts or lists of words are needed. Received: {texts!r:.100}")
        examples = self.preprocessor.tokenize(texts)
        if not len(examples):
            return examples.texts, np.zeros((0, self.num_outputs))
        logits = self.predict(examples, batch_size=batch_size, verbose=0)
        return examples.texts, np.exp(log_probabilities(logits[most_context(examples)]))

    def encode_targets(self, y, examples=None):
        """Tags of words, or spans of texts, to the classes of tokens; arrays as they are."""
        if not isinstance(examples, Examples):
            return super().encode_targets(y, examples)
        self._check_reads_words()
        texts = examples.texts
        if texts.are_given:
            classes = classes_of_tags(y, texts, self.classes, self.scheme)
        else:
            classes = classes_of_spans(y, texts, self.scheme)
        return token_targets(classes, examples, self.scheme, self.preprocessor.label_all_tokens)

    def _check_reads_words(self):
        if not isinstance(self.preprocessor, TokenClassifierPreprocessor):
            raise ValueError(
                "Words and texts need a `TokenClassifierPreprocessor`. Build the tagger with it. "
                f"Received: preprocessor={self.preprocessor!r}"
            )

    def _check_labels(self, data):
        super()._check_labels(data)
        targets = data.targets if isinstance(data, Batches) else None
        if targets is None:
            return
        is_ours = isinstance(targets, TokenTargets)
        if not (targets.has_labels if is_ours else (targets != IGNORED_LABEL).any()):
            raise ValueError(
                "There is nothing to learn or to measure: no word has both a tag and a token. "
                f"Received: {len(targets)} rows, all of them without a label"
            )

    def _default_metrics(self):
        if self.scheme.name == "plain":
            return [TokenAccuracy()]
        return [TokenAccuracy(), EntityF1(self.scheme.tags, scheme=self.scheme.name)]

    def _default_loss(self):
        return TokenCrossEntropy()

    def _their_values(self):
        return their_labels(self.labels)

    @classmethod
    def arguments_of(cls, saved):
        return {"labels": saved.labels}

    @classmethod
    def keeps_head(cls, saved, given):
        return list(given.get("labels", saved["labels"])) == saved["labels"]

    def get_config(self):
        return {**super().get_config(), "labels": self.labels}
