"""Tiny configurations of `transformers` for every family, each unusual in some way."""

import torch
import transformers

from kerasbert.families import FAMILIES

STACK = {
    "vocab_size": 97,
    "hidden_size": 36,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 50,
    "max_position_embeddings": 40,
}
LABELS = {0: "alarm", 1: "music", 2: "weather"}


def stack(cls, **changes):
    return cls(**{**STACK, **changes})


def bert(**changes):
    return stack(transformers.BertConfig, **changes)


def distilbert(**changes):
    sizes = {"vocab_size": 97, "dim": 36, "n_heads": 3, "n_layers": 2, "hidden_dim": 50}
    return transformers.DistilBertConfig(**{**sizes, "max_position_embeddings": 40, **changes})


def albert(**changes):
    return stack(transformers.AlbertConfig, **{"embedding_size": 20, **changes})


def roberta(**changes):
    return stack(transformers.RobertaConfig, **changes)


def electra(**changes):
    return stack(transformers.ElectraConfig, **{"embedding_size": 20, **changes})


def ernie(**changes):
    return stack(transformers.ErnieConfig, **{"use_task_id": True, **changes})


def mpnet(**changes):
    return stack(transformers.MPNetConfig, **changes)


def mobilebert(**changes):
    sizes = {"embedding_size": 16, "intra_bottleneck_size": 12, "num_feedforward_networks": 3}
    return stack(transformers.MobileBertConfig, **{**sizes, **changes})


def modernbert(**changes):
    of_tokens = {"bos_token_id": 1, "eos_token_id": 2, "cls_token_id": 1, "sep_token_id": 2}
    sizes = {"pad_token_id": 0, "local_attention": 6, "num_hidden_layers": 4, **of_tokens}
    return stack(transformers.ModernBertConfig, **{**sizes, **changes})


def longformer(**changes):
    return stack(transformers.LongformerConfig, **{"attention_window": 4, **changes})


def big_bird(**changes):
    return stack(transformers.BigBirdConfig, **{"block_size": 2, "num_random_blocks": 1, **changes})


CONFIGS = {
    "bert": bert,
    "bert, relu and a large epsilon": lambda: bert(hidden_act="relu", layer_norm_eps=1e-2),
    "bert, gelu_new and one segment": lambda: bert(hidden_act="gelu_new", type_vocab_size=1),
    "bert, silu, three segments": lambda: bert(hidden_act="silu", type_vocab_size=3),
    "bert, causal": lambda: bert(is_decoder=True, use_cache=False),
    "distilbert": distilbert,
    "distilbert, relu": lambda: distilbert(activation="relu", sinusoidal_pos_embds=True),
    "distilbert, one head": lambda: distilbert(n_heads=1, n_layers=3),
    "distilbert, odd width": lambda: distilbert(dim=15, hidden_dim=7),
    "albert, two groups of two": lambda: albert(
        num_hidden_layers=4, num_hidden_groups=2, inner_group_num=2
    ),
    "albert, embeddings as wide as the rest": lambda: albert(
        embedding_size=36, hidden_act="silu", layer_norm_eps=1e-3
    ),
    "albert, three groups for four steps": lambda: albert(
        num_hidden_layers=4, num_hidden_groups=3, type_vocab_size=3
    ),
    "albert": albert,
    "roberta": lambda: roberta(type_vocab_size=1),
    "roberta, another padding id": lambda: roberta(pad_token_id=5, hidden_act="relu"),
    "roberta, padding id 0": lambda: roberta(pad_token_id=0, layer_norm_eps=1e-3),
    "xlm-roberta": lambda: stack(transformers.XLMRobertaConfig, hidden_act="gelu_new"),
    "camembert": lambda: stack(transformers.CamembertConfig, num_attention_heads=2),
    "electra": electra,
    "electra, embeddings as wide as the rest": lambda: electra(embedding_size=36),
    "electra, wider embeddings": lambda: electra(embedding_size=50, hidden_act="relu"),
    "electra, one segment": lambda: electra(type_vocab_size=1, num_attention_heads=4),
    "ernie": ernie,
    "ernie, relu, five task types": lambda: ernie(hidden_act="relu", task_type_vocab_size=5),
    "ernie, no task types, four segments": lambda: ernie(use_task_id=False, type_vocab_size=4),
    "ernie, large epsilon": lambda: ernie(layer_norm_eps=1e-2, num_hidden_layers=3),
    "mpnet": mpnet,
    "mpnet, relu": lambda: mpnet(hidden_act="relu", layer_norm_eps=1e-3),
    "mpnet, two heads": lambda: mpnet(num_attention_heads=2, num_hidden_layers=3),
    "mpnet, narrow": lambda: mpnet(hidden_size=15, intermediate_size=7),
    "mobilebert": mobilebert,
    "mobilebert, attention in the bottleneck": lambda: mobilebert(
        use_bottleneck_attention=True, key_query_shared_bottleneck=False, hidden_act="gelu"
    ),
    "mobilebert, one feed-forward layer": lambda: mobilebert(
        num_feedforward_networks=1, hidden_act="silu", type_vocab_size=1
    ),
    "mobilebert, layer norms, no pooler": lambda: mobilebert(
        normalization_type="layer_norm", layer_norm_eps=1e-5, classifier_activation=False
    ),
    "modernbert": modernbert,
    "modernbert, biases": lambda: modernbert(
        attention_bias=True, mlp_bias=True, norm_bias=True, hidden_activation="silu"
    ),
    "modernbert, global every second": lambda: modernbert(
        layer_types=["full_attention", "sliding_attention"] * 2, local_attention=3
    ),
    "modernbert, other thetas, wide windows": lambda: modernbert(
        global_rope_theta=500.0, local_rope_theta=20.0, local_attention=30, norm_eps=1e-2
    ),
    "longformer": longformer,
    "longformer, a window for each layer": lambda: longformer(attention_window=[4, 8]),
    "longformer, one segment, relu": lambda: longformer(type_vocab_size=1, hidden_act="relu"),
    "longformer, another padding id": lambda: longformer(pad_token_id=4, attention_window=6),
    "big_bird": big_bird,
    "big_bird, blocks of five": lambda: big_bird(block_size=5, layer_norm_eps=1e-3),
    "big_bird, relu, two random blocks": lambda: big_bird(hidden_act="relu", num_random_blocks=2),
    "big_bird, full": lambda: big_bird(
        attention_type="original_full", type_vocab_size=1, block_size=64, num_random_blocks=3
    ),
}
# One of each family, to try its heads on.
PLAIN = {
    FAMILIES[config().model_type].name: name
    for name, config in reversed(CONFIGS.items())
    if "," not in name
}


def encoder(config, pooler=True):
    """A model of `transformers` without a head."""
    cls = getattr(transformers, FAMILIES[config.model_type].architecture)
    return cls(config) if pooler else cls(config, add_pooling_layer=False)


def with_head(config, task):
    """A model of `transformers` with the head of a task."""
    return getattr(transformers, FAMILIES[config.model_type].heads[task].architecture)(config)


def randomize(model, seed=0):
    """Draw all parameters anew: fresh biases are zero and norms one, so a swap would not show."""
    generator = torch.Generator().manual_seed(seed)
    # Where a block's output is not normalised, states grow with each layer.
    spread = {"mobilebert": 0.1, "modernbert": 0.2}.get(model.config.model_type, 0.3)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            mean = 1.0 if "norm" in name.lower() else 0.0
            parameter.normal_(mean, spread, generator=generator)
    return model.eval()
