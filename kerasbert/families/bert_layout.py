"""BERT's layout in Hugging Face's files, which several families share: fields of `config.json`,
names of weights, heads."""

from kerasbert.families import names
from kerasbert.families.config_map import activation, fields
from kerasbert.families.heads import Head, Option
from kerasbert.families.names import Row

CONFIG_FIELDS = (
    *fields(
        vocab_size="vocabulary_size",
        num_hidden_layers="num_layers",
        num_attention_heads="num_heads",
        hidden_size="hidden_dim",
        intermediate_size="intermediate_dim",
        max_position_embeddings="max_sequence_length",
        type_vocab_size="num_segments",
        pad_token_id="pad_token_id",
        layer_norm_eps="norm_epsilon",
        hidden_dropout_prob="hidden_dropout",
        attention_probs_dropout_prob="attention_dropout",
        initializer_range="initializer_range",
    ),
    activation("hidden_act", "activation"),
)

EMBEDDING_WEIGHTS = (
    *names.embedding("embeddings/token", "embeddings.word_embeddings"),
    *names.embedding("embeddings/position", "embeddings.position_embeddings"),
    *names.embedding("embeddings/segment", "embeddings.token_type_embeddings"),
    *names.norm("embeddings/norm", "embeddings.LayerNorm"),
)
_LAYER = "encoder.layer.{i}"
FEED_FORWARD_WEIGHTS = (
    *names.dense("layer_{i}/feed_forward/intermediate", f"{_LAYER}.intermediate.dense"),
    *names.dense("layer_{i}/feed_forward/output", f"{_LAYER}.output.dense"),
    *names.norm("layer_{i}/feed_forward_norm", f"{_LAYER}.output.LayerNorm"),
)
LAYER_WEIGHTS = (
    *names.dense("layer_{i}/attention/query", f"{_LAYER}.attention.self.query"),
    *names.dense("layer_{i}/attention/key", f"{_LAYER}.attention.self.key"),
    *names.dense("layer_{i}/attention/value", f"{_LAYER}.attention.self.value"),
    *names.dense("layer_{i}/attention/output", f"{_LAYER}.attention.output.dense"),
    *names.norm("layer_{i}/attention_norm", f"{_LAYER}.attention.output.LayerNorm"),
    *FEED_FORWARD_WEIGHTS,
)
POOLER_WEIGHTS = names.dense("pooler", "pooler.dense")

_HEAD_POOLER = names.dense("head/dense", "pooler.dense")  # of an encoder without a pooler
CLASSIFIER_WEIGHTS = names.dense("head/output", "classifier", prefixed=False)
ANSWER_WEIGHTS = names.dense("head/output", "qa_outputs", prefixed=False)
_PREDICTIONS = "cls.predictions"
MASKED_LM_WEIGHTS = (
    *names.dense("head/dense", f"{_PREDICTIONS}.transform.dense", prefixed=False),
    *names.norm("head/norm", f"{_PREDICTIONS}.transform.LayerNorm", prefixed=False),
    Row("head/bias", f"{_PREDICTIONS}.bias", prefixed=False),
)
TIED_DECODER = (
    Row("embeddings/token/embeddings", f"{_PREDICTIONS}.decoder.weight", prefixed=False),
    Row("head/bias", f"{_PREDICTIONS}.decoder.bias", prefixed=False),
)
PAIR_WEIGHTS = names.dense("pair_head/output", "cls.seq_relationship", prefixed=False)
CLASSIFIER_DROPOUT = (Option("classifier_dropout", "dropout"),)


POOLED_HEAD = {
    "weights": (*_HEAD_POOLER, *CLASSIFIER_WEIGHTS),
    "pool": "pooled",
    "dense": "tanh",
    "dropout": "hidden",
    "has_pooler": True,
    "options": CLASSIFIER_DROPOUT,
}


def heads(prefix: str) -> dict[str, Head]:
    """BERT's heads, under class names that start with `prefix`."""
    masked_lm = {"dense": "encoder", "norm": True, "tied": TIED_DECODER}
    return {
        "classifier": Head(f"{prefix}ForSequenceClassification", **POOLED_HEAD),
        "multiple_choice": Head(f"{prefix}ForMultipleChoice", **POOLED_HEAD),
        "token_classifier": Head(
            f"{prefix}ForTokenClassification",
            weights=CLASSIFIER_WEIGHTS,
            dropout="hidden",
            options=CLASSIFIER_DROPOUT,
        ),
        "question_answerer": Head(f"{prefix}ForQuestionAnswering", weights=ANSWER_WEIGHTS),
        "masked_lm": Head(f"{prefix}ForMaskedLM", weights=MASKED_LM_WEIGHTS, **masked_lm),
        "pretraining": Head(
            f"{prefix}ForPreTraining",
            weights=(*MASKED_LM_WEIGHTS, *PAIR_WEIGHTS),
            has_pooler=True,
            **masked_lm,
        ),
    }
