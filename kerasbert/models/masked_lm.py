"""Masked language modelling: which token stands at a place."""

from __future__ import annotations

from collections.abc import Iterator

import keras
import numpy as np
from keras import ops

from kerasbert.metrics import Perplexity, TokenAccuracy
from kerasbert.models.enhanced_decoder import EnhancedMaskDecoder
from kerasbert.models.feeding import Batches, TensorExamples
from kerasbert.models.heads import MaskedLMHead, freeze_pooler
from kerasbert.models.losses import TokenCrossEntropy
from kerasbert.models.mask_answers import best_tokens, filled, target_ids
from kerasbert.models.mask_targets import MaskTargets
from kerasbert.models.named_inputs import MASK_POSITIONS
from kerasbert.models.probabilities import log_probabilities
from kerasbert.models.task import EncoderTask
from kerasbert.text import Examples, MaskedLMPreprocessor
from kerasbert.text.inputs import as_texts
from kerasbert.text.mask_rows import MaskRows


@keras.saving.register_keras_serializable(package="kerasbert")
class MaskedLM(EncoderTask):
    """An encoder with a head over the vocabulary, tied to the token embedding (Devlin et al., 2018,
    section 3.1).

    It trains with `compile` and `fit` on texts alone, which are masked anew in each epoch (always
    in the same places where they are only evaluated), or on the encoder's input dict and labels, of
    which -100 does not count. `fill_mask` gives the tokens that fit a mask, `score` and
    `perplexity` how probable texts are.

    A call takes the encoder's input dict, and gives logits (batch, length, vocabulary_size) in
    float32, as `predict` does for texts; with an entry `mask_positions` (batch, n) int32 only those
    at these positions, (batch, n, vocabulary_size).

    Args:
        backbone: a `kerasbert.Encoder`.
        preprocessor: a `MaskedLMPreprocessor`, or `None` to take tensors only.
        dropout: taken as all tasks do; no family's head has a dropout here.
        head_options: what a checkpoint's configuration changes of the family's head; set by
            `from_preset`.
        enhanced_decoder: whether DeBERTa's `EnhancedMaskDecoder` replaces the encoder's last layer.
            transformers has no model with it, and released files have no weights for its positions.
        name: name of the model.
        compile: whether to compile with the defaults.

    Example:

    ```python
    import kerasbert

    texts = ["wake me at seven", "wake me at noon", "play some jazz"]
    tokenizer = kerasbert.Tokenizer.train(texts, vocabulary_size=100)
    config = kerasbert.EncoderConfig(
        vocabulary_size=100, num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64
    )
    model = kerasbert.MaskedLM(
        kerasbert.Encoder(config), preprocessor=kerasbert.MaskedLMPreprocessor(tokenizer)
    )
    model.fit(texts, epochs=2, verbose=0)
    for answer in model.fill_mask("wake me at [MASK]", top_k=2):
        print(answer["sequence"], answer["score"])
    ```
    """

    preprocessor_cls = MaskedLMPreprocessor
    task = "masked_lm"
    only_ours = ("enhanced_decoder/",)
    needs_labels = False
    hides_targets = True
    sequence_fill = 0.0

    def __init__(
        self,
        backbone,
        preprocessor=None,
        dropout=None,
        head_options=None,
        enhanced_decoder=False,
        name=None,
        compile=True,
    ):
        facts = self._set_up(backbone, preprocessor, dropout, head_options)
        freeze_pooler(backbone)
        self.input_names = (*backbone.input_names, MASK_POSITIONS)
        self.enhanced_decoder = enhanced_decoder
        make = {"dtype": backbone.dtype_policy}
        self.decoder = EnhancedMaskDecoder(backbone, **make) if enhanced_decoder else None
        self.head = MaskedLMHead(
            backbone.config, backbone.token_embedding, facts, name="head", **make
        )
        positions = keras.Input((None,), dtype="int32", name=MASK_POSITIONS, optional=True)
        if enhanced_decoder:
            states = self.decoder(*backbone.last_block_inputs)
        else:
            states = backbone(backbone.input)["sequence_output"]
        logits = self.head(StatesAt()(states, positions))
        inputs = {**backbone.input, MASK_POSITIONS: positions}
        super().__init__(inputs=inputs, outputs=logits, name=name, compile=compile)

    def export_to_transformers(self, folder, family=None):
        if self.enhanced_decoder:
            raise ValueError(
                "transformers has no masked language model with this decoder. Export one with "
                "`enhanced_decoder=False`, or save a preset. Received: enhanced_decoder=True"
            )
        super().export_to_transformers(folder, family)

    export_to_transformers.__doc__ = EncoderTask.export_to_transformers.__doc__

    def fill_mask(self, text, top_k=5, targets=None, batch_size=32):
        """The tokens that fit where a text has the tokenizer's mask token.

        Each mask is filled by itself, as by the fill-mask pipeline of transformers. Of a text that
        is too long, what stands around a mask is read, with a warning.

        Args:
            text: a string with one mask token or several, or a list of such strings.
            top_k: the most tokens for each mask.
            targets: words among which the tokens are to be, each of them one token of the
                vocabulary; `None` for all tokens.
            batch_size: masks that are computed at once.

        Returns:
            For a mask, a list of dicts, best first: `token`, `token_id`, `score` (its probability
            among all tokens of the vocabulary) and `sequence`, the text with it filled in. For a
            text with several masks, a list of these lists; for a list of texts, a list of what each
            would give.

        Raises:
            ValueError: without a preprocessor or a mask token in the vocabulary; for a text without
                a mask, or a target that is not one token.
            TypeError: for something that is not text.
        """
        if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
            raise ValueError(f"`top_k` must be an int >= 1. Received: top_k={top_k!r}")
        preprocessor = self._masker()
        tokenizer = preprocessor.tokenizer
        if targets is None:  # an encoder may have more rows than there are tokens
            ids = np.arange(tokenizer.vocabulary_size())
        else:
            ids = target_ids(tokenizer, targets)
        rows = preprocessor.rows_of_masks(as_texts(text, "text"))
        best = [None] * len(rows)
        for indices, logits in self._at_masks(rows, batch_size):
            for index, tokens in zip(indices, best_tokens(logits, top_k, ids), strict=True):
                best[index] = tokens
        answers = [
            masks[0] if len(masks) == 1 else masks for masks in filled(rows, best, tokenizer)
        ]
        return answers[0] if isinstance(text, str | bytes) else answers

    def score(self, text, batch_size=32):
        """The pseudo-log-likelihood of a text (Salazar et al., 2020, arXiv:1910.14659, section 2).

        It is the sum, over all tokens that are not special, of the logarithm of a token's
        probability where it alone is masked: one pass for each token. Of a text that is too long,
        what stands around a token is read, with a warning.

        Args:
            text: a string, or a list of strings.
            batch_size: tokens that are computed at once.

        Returns:
            A float, at most 0; for a list of texts a list of floats.

        Raises:
            ValueError: without a preprocessor or a mask token in the vocabulary; for a text without
                tokens.
            TypeError: for something that is not text.
        """
        sums, _ = self._pseudo_log_likelihoods(text, batch_size)
        return float(sums[0]) if isinstance(text, str | bytes) else sums.tolist()

    def perplexity(self, text, batch_size=32):
        """The pseudo-perplexity of a text, or of many together (Salazar et al., 2020, section 2).

        It is the exponential of minus the pseudo-log-likelihood (see `score`) for each token.

        Args:
            text: a string, or a list of strings.
            batch_size: tokens that are computed at once.

        Returns:
            A float, at least 1.

        Raises:
            ValueError: as `score`; also for an empty list.
            TypeError: for something that is not text.
        """
        sums, count = self._pseudo_log_likelihoods(text, batch_size)
        if not count:
            raise ValueError("`perplexity` needs at least one text. Received: text=[]")
        return float(np.exp(-sums.sum() / count))

    def _pseudo_log_likelihoods(self, text, batch_size) -> tuple[np.ndarray, int]:
        """The sum of each text, and the number of all their tokens."""
        rows = self._masker().rows_of_tokens(as_texts(text, "text"))
        values = np.empty(len(rows))
        targets = rows.targets
        for indices, logits in self._at_masks(rows, batch_size):
            place = np.arange(len(indices))
            values[indices] = log_probabilities(logits)[place, targets[indices]]
        return np.bincount(rows.origin, values, minlength=len(rows.texts)), len(rows)

    def _at_masks(self, rows: MaskRows, batch_size) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Indices of rows and the logits (rows, vocabulary_size) at their masks."""
        if not len(rows):
            return
        self._check_preprocessor()
        batches = Batches(rows, batch_size=min(batch_size, len(rows)))
        orders = batches.order.reshape(len(batches), -1)  # all batches have the same size
        for order in orders:
            logits = self.predict_on_batch(rows.batch(order))[:, 0]
            real = order >= 0
            yield order[real], logits[real]

    def _masker(self) -> MaskedLMPreprocessor:
        """The preprocessor, or one that masks what another kind of preprocessor tokenizes."""
        given = self.preprocessor
        if given is None:
            raise ValueError(
                f"This `{type(self).__name__}` has no preprocessor, so it takes no text. Build it "
                "with `preprocessor=`. Received: preprocessor=None"
            )
        if isinstance(given, MaskedLMPreprocessor):
            return given
        return MaskedLMPreprocessor(given.tokenizer, given.sequence_length, given.buckets)

    def make_targets(self, examples, training):
        """The labels of the masks that texts get in training and in evaluation."""
        if isinstance(examples, TensorExamples):
            raise ValueError(
                "Arrays need labels, one for each of `mask_positions` or for each token; only "
                "texts are masked here. Received: y=None"
            )
        preprocessor = self._masker()
        preprocessor.check_maskable(examples)
        return MaskTargets(preprocessor, are_new=training)

    def encode_targets(self, y, examples=None):
        """Labels of tokens as an array; texts take none.

        Raises:
            ValueError: for labels beside texts.
        """
        if isinstance(examples, Examples):
            raise ValueError(
                "Texts are masked here, and the masked tokens are the labels. Give the texts "
                f"alone, or arrays with labels. Received: y of type {type(y).__name__}"
            )
        return super().encode_targets(y, examples)

    def _default_loss(self):
        return TokenCrossEntropy()

    def _default_metrics(self):
        return [TokenAccuracy(name="accuracy"), Perplexity()]

    def _default_input(self, name, padding_mask):
        return None if name == MASK_POSITIONS else super()._default_input(name, padding_mask)

    @classmethod
    def keeps_head(cls, saved, given):
        before = saved.get("enhanced_decoder")  # another library's files do not say
        return before in (None, given.get("enhanced_decoder", before))

    def get_config(self):
        return {**super().get_config(), "enhanced_decoder": self.enhanced_decoder}


class StatesAt(keras.layers.Layer):
    """States (B, T, D) at positions (B, n): (B, n, D); all of them where no positions are given."""

    def call(self, states, positions=None):
        if positions is None:
            return states
        index = ops.expand_dims(ops.cast(positions, "int32"), -1)
        return ops.take_along_axis(states, index, axis=1)

    def compute_output_spec(self, states, positions=None):
        return keras.KerasTensor((states.shape[0], None, states.shape[2]), dtype=states.dtype)
