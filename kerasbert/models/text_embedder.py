"""Texts as vectors, and how alike they are."""

from __future__ import annotations

from collections.abc import Mapping

import keras
import numpy as np
from keras import ops

from kerasbert.checkpoints.sentence_transformers import (
    ACTIVATIONS,
    EmbeddingModules,
    read_modules,
    read_projection,
)
from kerasbert.families import family_for
from kerasbert.layers import block_order
from kerasbert.layers.initializing import dense
from kerasbert.models.heads import POOLINGS, freeze_pooler, pool, quantized_policies
from kerasbert.models.pair_fitting import PairFitting
from kerasbert.models.pairs import UnitLength, unit_length
from kerasbert.models.saving import export_embedder
from kerasbert.models.task import EncoderTask
from kerasbert.text import TextEmbedderPreprocessor, Tokenizer
from kerasbert.text.embedding_inputs import lowercased

# Up to the longest encoders' inputs, where a folder asks for them.
_BUCKETS = tuple(16 * 2**power for power in range(10))
# What the weights of a projection depend on.
_OF_PROJECTION = ("projection_dim", "projection_activation", "pooling")


class LastFour(keras.layers.Layer):
    """The states of an encoder's last four layers side by side: input dict to (B, T, 4 D).

    Args:
        encoder: an `Encoder` of at least three layers (its embeddings count as one more).
    """

    def __init__(self, encoder, **kwargs):
        num_layers = len(block_order(encoder.config))
        if num_layers < 3:
            raise ValueError(
                'The pooling "last_four" takes an encoder of at least three layers (the embeddings '
                f"are its fourth). Received: one of {num_layers}"
            )
        super().__init__(dtype=encoder.dtype_policy, **kwargs)
        self.encoder = encoder

    def build(self, inputs_shape):
        self.built = True

    def call(self, inputs, training=False):
        return self.encoder.features(inputs, training=training)

    def compute_output_spec(self, inputs, training=False):
        shape = inputs["token_ids"].shape
        width = 4 * self.encoder.config.hidden_dim
        return keras.KerasTensor((*shape, width), dtype=self.compute_dtype)


@keras.saving.register_keras_serializable(package="kerasbert")
class TextEmbedder(PairFitting, EncoderTask):
    """One vector for each text (Sentence-BERT; Reimers and Gurevych, 2019, arXiv:1908.10084).

    `embed` gives vectors, `similarity` the cosines of all pairs. A call and `predict` take texts or
    the encoder's inputs (batch, length), and give embeddings (batch, dim) in float32; or pairs,
    `{"text": [...], "text_pair": [...]}` or inputs (batch, 2, length), whose texts are encoded
    apart, and give (batch, 2, dim).

    It trains on pairs. With scores `y` from -1 to 1, the loss and the metrics (by default mean
    squared error and Pearson's correlation) are of the cosine of each pair. Without `y`, the second
    text of each pair is to be found among those of the batch (Henderson et al., 2017,
    arXiv:1705.00652): use batches as large as memory allows, in which no text occurs twice.

    Args:
        backbone: a `kerasbert.Encoder`.
        preprocessor: a `TextEmbedderPreprocessor`, or `None` (default) to take tensors only.
        pooling: `"mean"` (default) or `"max"` over the states of the real tokens, `"cls"` for the
            first token's state, or `"last_four"` for the mean of the last four layers' states side
            by side, of dimension `4 * hidden_dim` (Devlin et al., 2018, section 5.3).
        normalize: whether a call gives vectors of length 1. Default `False`.
        projection_dim: outputs of a linear layer after the pooling; `None` (default) for none.
        projection_activation: its activation: `"tanh"` (default), `"linear"`, `"relu"`, `"gelu"`,
            `"silu"` or `"sigmoid"`.
        scale: factor of the cosines in the loss of pairs without scores. Default 20.0.
        head_dtype: dtype policy of the projection; `None` for the encoder's. Saved where it was
            quantized.
        name: name of the model.
        compile: whether to compile with the defaults.

    Raises:
        ValueError: for an unknown pooling or activation, or a preprocessor whose vocabulary or
            length the encoder cannot hold.

    Example:

    ```python
    import kerasbert

    texts = ["wake me at seven", "set an alarm for seven", "play some jazz", "put on a song"]
    tokenizer = kerasbert.Tokenizer.train(texts, vocabulary_size=100)
    config = kerasbert.EncoderConfig(
        vocabulary_size=100, num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64
    )
    embedder = kerasbert.TextEmbedder(
        kerasbert.Encoder(config), kerasbert.TextEmbedderPreprocessor(tokenizer)
    )
    embedder.fit({"text": texts[::2], "text_pair": texts[1::2]}, epochs=2, verbose=0)
    assert embedder.embed(texts).shape == (4, 32)
    print(embedder.similarity(texts, ["music, please"]))
    ```
    """

    preprocessor_cls = TextEmbedderPreprocessor
    task = "text_embedder"
    only_ours = ("projection/",)

    def __init__(
        self,
        backbone,
        preprocessor=None,
        pooling="mean",
        normalize=False,
        projection_dim=None,
        projection_activation="tanh",
        scale=20.0,
        head_dtype=None,
        name=None,
        compile=True,
    ):
        _check_one_of("pooling", pooling, (*POOLINGS, "last_four"))
        _check_one_of("projection_activation", projection_activation, tuple(ACTIVATIONS.values()))
        if not (projection_dim is None or (isinstance(projection_dim, int) and projection_dim > 0)):
            raise ValueError(
                "`projection_dim` must be None or an integer >= 1. "
                f"Received: projection_dim={projection_dim!r}"
            )
        if not scale > 0:
            raise ValueError(f"`scale` must be greater than 0. Received: scale={scale!r}")
        self._set_up(backbone, preprocessor, dropout=None, head_options=None)
        freeze_pooler(backbone)
        self.pooling, self.normalize, self.scale = pooling, normalize, scale
        self.projection_dim, self.projection_activation = projection_dim, projection_activation
        self.projection = self._make_projection(head_dtype)
        outputs = self._pooled(backbone.input)
        if self.projection is not None:
            outputs = self.projection(outputs)
        outputs = ops.cast(outputs, "float32")
        if normalize:
            outputs = UnitLength(dtype="float32")(outputs)
        super().__init__(inputs=backbone.input, outputs=outputs, name=name, compile=compile)

    def _make_projection(self, dtype):
        if self.projection_dim is None:
            return None
        return dense(
            self.backbone.config,
            self.projection_dim,
            name="projection",
            activation=self.projection_activation,
            use_bias=True,
            dtype=keras.dtype_policies.get(dtype or self.backbone.dtype_policy),
        )

    def _pooled(self, inputs):
        if self.pooling == "last_four":
            return pool(LastFour(self.backbone)(inputs), inputs["padding_mask"], "mean")
        states = self.backbone(inputs)["sequence_output"]
        return pool(states, inputs["padding_mask"], self.pooling)

    def embed(self, texts, normalize=True, batch_size=32) -> np.ndarray:
        """Embed texts.

        Args:
            texts: a string, or a list or array of strings.
            normalize: whether to scale the vectors to length 1. Default `True`.
            batch_size: texts that are computed at once. Default 32.

        Returns:
            float32 array (n, dim); dim is `hidden_dim`, four times that for `"last_four"`, or
            `projection_dim`.

        Raises:
            ValueError: without a preprocessor.
            TypeError: for what is no text, and for pairs.
        """
        if self.preprocessor is None:
            raise ValueError(
                "`embed` needs a preprocessor. Build the embedder with `preprocessor=`. "
                "Received: preprocessor=None"
            )
        if isinstance(texts, Mapping) or not self._is_raw(texts):
            raise TypeError(
                "`embed` takes texts, each on its own; `predict` takes tensors and pairs. "
                f"Received: texts={texts!r:.100}"
            )
        if not isinstance(texts, str | bytes) and len(texts) == 0:
            return np.zeros((0, self.output_shape[-1]), "float32")
        embeddings = self.predict(texts, batch_size=batch_size, verbose=0)
        return _unit_length(embeddings) if normalize else embeddings

    def similarity(self, a, b, batch_size=32) -> np.ndarray:
        """The cosine of every vector of `a` with every one of `b`.

        Args:
            a: n texts, or an array (n, dim) of embeddings.
            b: m texts, or an array (m, dim) of embeddings.
            batch_size: texts that are computed at once. Default 32.

        Returns:
            float32 array (n, m) of values from -1 to 1.

        Raises:
            ValueError: for arrays of other shapes, and for texts without a preprocessor.
        """
        a, b = (self._vectors(each, batch_size) for each in (a, b))
        if a.shape[1] != b.shape[1]:
            raise ValueError(
                "Both must have embeddings of the same dimension. "
                f"Received: shapes {a.shape} and {b.shape}"
            )
        return a @ b.T

    def _vectors(self, x, batch_size) -> np.ndarray:
        is_array = getattr(getattr(x, "dtype", None), "kind", "O") in "fiu"
        if not is_array:
            return self.embed(x, batch_size=batch_size)
        if x.ndim != 2:
            raise ValueError(f"Embeddings must be (n, dim). Received: shape {x.shape}")
        return _unit_length(np.asarray(x, "float32"))

    def export_to_transformers(self, folder, family=None):
        """Write a folder that sentence-transformers reads, and the encoder of it transformers.

        Args:
            folder: where to write the encoder, the files that say what follows it, and the
                tokenizer's if there is a preprocessor (without them it can be loaded only with a
                tokenizer from elsewhere).
            family: the family whose layout to write; `None` for the encoder's own, or the only one
                that can represent it.

        Raises:
            ValueError: if that layout cannot represent the encoder, or for `"last_four"`.
        """
        if self.pooling not in POOLINGS:
            raise ValueError(
                "sentence-transformers does not have this pooling. Save the embedder with "
                f"`save_to_preset`. Received: pooling={self.pooling!r}"
            )
        facts = family_for(self.backbone.config, family or self.backbone.family)
        preprocessor = self.preprocessor
        modules = EmbeddingModules(
            pooling=self.pooling,
            projection_dim=self.projection_dim,
            projection_activation=self.projection_activation,
            normalize=self.normalize,
            sequence_length=None if preprocessor is None else preprocessor.sequence_length,
        )
        export_embedder(self, folder, facts, modules)

    @classmethod
    def arguments_in(cls, folder):
        """Constructor arguments that a folder of sentence-transformers gives; none for others."""
        modules = read_modules(folder.folder)
        if modules is None:
            return {}
        arguments = {name: getattr(modules, name) for name in (*_OF_PROJECTION, "normalize")}
        if not Tokenizer.exists_in(folder.folder):
            return arguments
        tokenizer = Tokenizer.from_preset(folder.folder)
        longest = folder.config.max_sequence_length
        preprocessor = cls.preprocessor_cls(
            lowercased(tokenizer) if modules.lowercase else tokenizer,
            sequence_length=min(modules.sequence_length or longest, longest),
            buckets=_BUCKETS,
        )
        return {**arguments, "preprocessor": preprocessor}

    def read_head(self, folder):
        if self.projection is not None:
            values = read_projection(folder.folder, tuple(self.projection.kernel.shape))
            self.projection.kernel.assign(values[0])
            self.projection.bias.assign(values[1])

    @classmethod
    def keeps_head(cls, saved, given):
        """Whether a saved projection, or that there is none, serves the arguments."""
        wanted = {**saved, **given}
        names = _OF_PROJECTION if saved["projection_dim"] is not None else ("projection_dim",)
        return all(wanted[name] == saved[name] for name in names)

    def get_config(self):
        config = super().get_config()
        del config["dropout"], config["head_options"]
        return {
            **config,
            "pooling": self.pooling,
            "normalize": self.normalize,
            "projection_dim": self.projection_dim,
            "projection_activation": self.projection_activation,
            "scale": self.scale,
            "head_dtype": None if self.projection is None else quantized_policies(self.projection),
        }


def _check_one_of(name, value, known):
    if value not in known:
        raise ValueError(f"`{name}` must be one of {known}. Received: {name}={value!r}")


def _unit_length(vectors) -> np.ndarray:
    return ops.convert_to_numpy(unit_length(ops.convert_to_tensor(vectors)))
