"""KerasHub's backbones as encoders: what their configurations mean.

Facts of KerasHub 0.32. Which GELU a backbone computes is fixed in its code: BERT, ALBERT and
ELECTRA compute the tanh approximation, the others the exact one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kerasbert.families.config_map import Field, fields
from kerasbert.families.keras_hub.weights import (
    ALBERT_WEIGHTS,
    BERT_WEIGHTS,
    DEBERTA_WEIGHTS,
    DENSE_HEADS,
    POOLED_HEADS,
    ROBERTA_WEIGHTS,
)
from kerasbert.families.names import Row
from kerasbert.layers import Disentangled, EncoderConfig, Sharing


@dataclasses.dataclass(frozen=True)
class KerasHubBackbone:
    """One of KerasHub's backbone classes.

    Args:
        family: name of the family that it belongs to.
        defaults: what its configuration does not say.
        config_fields: how the fields of its configuration map to `EncoderConfig`. Its one `dropout`
            is that of the attention weights too.
        weights: the encoder's variables and their keys.
        heads: likewise the heads', by task.
        projects_equal_width: whether embeddings are projected even where they are as wide as the
            hidden states.
        weights_without_projection: `weights` where they are not.
        masked_lm_activation: activation in the head of the masked language model.
    """

    family: str
    defaults: EncoderConfig
    config_fields: tuple[Field, ...]
    weights: tuple[Row, ...]
    heads: Mapping[str, tuple[Row, ...]] = dataclasses.field(default_factory=dict)
    projects_equal_width: bool = True
    weights_without_projection: tuple[Row, ...] = ()
    masked_lm_activation: str = "gelu"


# KerasHub's task classes are named after the backbone and end in one of these.
TASK_CLASSES = {"TextClassifier": "classifier", "MaskedLM": "masked_lm"}
SIZES = fields(
    vocabulary_size="vocabulary_size",
    num_layers="num_layers",
    num_heads="num_heads",
    hidden_dim="hidden_dim",
    intermediate_dim="intermediate_dim",
    max_sequence_length="max_sequence_length",
    dropout="hidden_dropout",
)

# Positions are counted by index from the table's first row, and there are no segments: unlike the
# original, whose padding KerasHub's own preprocessor only ever puts on the right.
_ROBERTA = EncoderConfig(num_segments=0, pooler=None, norm_epsilon=1e-5, pad_token_id=1)

KERAS_HUB: dict[str, KerasHubBackbone] = {
    "BertBackbone": KerasHubBackbone(
        family="bert",
        defaults=EncoderConfig(activation="gelu_tanh"),
        config_fields=(*SIZES, *fields(num_segments="num_segments")),
        weights=BERT_WEIGHTS,
        heads=POOLED_HEADS,
    ),
    "DistilBertBackbone": KerasHubBackbone(
        family="distilbert",
        defaults=EncoderConfig(num_segments=0, pooler=None),
        config_fields=SIZES,
        weights=ROBERTA_WEIGHTS,
        heads=DENSE_HEADS,
    ),
    "AlbertBackbone": KerasHubBackbone(
        family="albert",
        defaults=EncoderConfig(activation="gelu_tanh", sharing=Sharing()),
        config_fields=(
            *SIZES,
            *fields(
                num_segments="num_segments",
                embedding_dim="embedding_dim",
                num_groups="sharing.groups",
                num_inner_repetitions="sharing.layers_per_group",
            ),
        ),
        weights=ALBERT_WEIGHTS,
        heads=POOLED_HEADS,
        masked_lm_activation="gelu_tanh",
    ),
    "RobertaBackbone": KerasHubBackbone(
        family="roberta",
        defaults=_ROBERTA,
        config_fields=SIZES,
        weights=ROBERTA_WEIGHTS,
        heads=DENSE_HEADS,
    ),
    "XLMRobertaBackbone": KerasHubBackbone(
        family="xlm-roberta",
        defaults=_ROBERTA,
        config_fields=SIZES,
        weights=ROBERTA_WEIGHTS,
        heads=DENSE_HEADS,
    ),
    "ElectraBackbone": KerasHubBackbone(
        family="electra",
        defaults=EncoderConfig(activation="gelu_tanh"),
        config_fields=(
            *(field for field in SIZES if field.theirs != "vocabulary_size"),
            *fields(
                vocab_size="vocabulary_size",
                num_segments="num_segments",
                embedding_dim="embedding_dim",
            ),
        ),
        weights=ALBERT_WEIGHTS,
        projects_equal_width=False,
        weights_without_projection=BERT_WEIGHTS,
    ),
    "DebertaV3Backbone": KerasHubBackbone(
        family="deberta-v2",
        defaults=EncoderConfig(
            num_segments=0, pooler=None, norm_epsilon=1e-7, position=Disentangled()
        ),
        config_fields=(*SIZES, *fields(bucket_size="position.buckets")),
        weights=DEBERTA_WEIGHTS,
        heads=DENSE_HEADS,
    ),
}
