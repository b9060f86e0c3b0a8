"""The names of KerasHub's weights, backbone by backbone.

A key is a path in a `.weights.h5` file, siblings of one class numbered from 0; those of a task's
head begin with `task/`.
"""

from kerasbert.families.keras_hub.rows import HeadsRow, dense, heads, norm, table
from kerasbert.families.names import Row


def _layer(name: str) -> tuple[Row, ...]:
    """All of a layer but the kernel after the attention."""
    layer = f"layers/{name}_{{i}}"
    attention = f"{layer}/self_attention_layer"
    return (
        *heads("layer_{i}/attention/query", f"{attention}/query_dense"),
        *heads("layer_{i}/attention/key", f"{attention}/key_dense"),
        *heads("layer_{i}/attention/value", f"{attention}/value_dense"),
        Row("layer_{i}/attention/output/bias", f"{attention}/output_dense/vars/1"),
        *norm("layer_{i}/attention_norm", f"{layer}/self_attention_layer_norm"),
        *dense("layer_{i}/feed_forward/intermediate", f"{layer}/feedforward_intermediate_dense"),
        *dense("layer_{i}/feed_forward/output", f"{layer}/feedforward_output_dense"),
        *norm("layer_{i}/feed_forward_norm", f"{layer}/feedforward_layer_norm"),
    )


def _output(name: str) -> tuple[str, str]:
    """The paths of the kernel after the attention: (N, H, D), or (D, D) in DeBERTa's layer."""
    return (
        "layer_{i}/attention/output/kernel",
        f"layers/{name}_{{i}}/self_attention_layer/output_dense/vars/0",
    )


LAYER_WEIGHTS = (
    *_layer("transformer_encoder"),
    HeadsRow(*_output("transformer_encoder"), axis=0),
)
_DEBERTA_LAYER = "disentangled_attention_encoder"
DEBERTA_WEIGHTS = (
    *table("embeddings/token", "layers/reversible_embedding_0"),
    *norm("embeddings/norm", "layers/layer_normalization_0"),
    *table("relative_positions/table", "layers/relative_embedding_0"),
    *norm("relative_positions/norm", "layers/relative_embedding_0/layer_norm"),
    *_layer(_DEBERTA_LAYER),
    Row(*_output(_DEBERTA_LAYER)),
)

# Of the backbones with segments, whose three tables are layers of their own ...
_BERT_EMBEDDINGS = (
    *table("embeddings/token", "layers/reversible_embedding_0"),
    *table("embeddings/position", "layers/position_embedding_0"),
    *table("embeddings/segment", "layers/embedding_0"),
    *norm("embeddings/norm", "layers/layer_normalization_0"),
)
BERT_WEIGHTS = (*_BERT_EMBEDDINGS, *LAYER_WEIGHTS, *dense("pooler", "layers/dense_0"))
ALBERT_WEIGHTS = (
    *_BERT_EMBEDDINGS,
    *dense("embeddings/projection", "layers/dense_0"),
    *LAYER_WEIGHTS,
    *dense("pooler", "layers/dense_1"),
)
# ... and of those without, where one layer holds both tables.
_TOKEN_AND_POSITION = "layers/token_and_position_embedding_0"
ROBERTA_WEIGHTS = (
    *table("embeddings/token", f"{_TOKEN_AND_POSITION}/token_embedding"),
    *table("embeddings/position", f"{_TOKEN_AND_POSITION}/position_embedding"),
    *norm("embeddings/norm", "layers/layer_normalization_0"),
    *LAYER_WEIGHTS,
)

_MASKED_LM = (
    *dense("head/dense", "task/layers/masked_lm_head_0/intermediate_dense"),
    *norm("head/norm", "task/layers/masked_lm_head_0/intermediate_layer_norm"),
    Row("head/bias", "task/layers/masked_lm_head_0/vars/0"),
)
POOLED_HEADS = {
    "classifier": dense("head/output", "task/layers/dense_0"),
    "masked_lm": _MASKED_LM,
}
DENSE_HEADS = {
    "classifier": (
        *dense("head/dense", "task/layers/dense_0"),
        *dense("head/output", "task/layers/dense_1"),
    ),
    "masked_lm": _MASKED_LM,
}
