"""The families' tables: presets, their sizes, and names that lead somewhere in both directions."""

import keras
import keras_hub
import numpy as np
import pytest
import transformers

import kerasbert
from kerasbert.families import FAMILIES, family_for, find_preset, get_family
from kerasbert.families.names import Part, expand
from kerasbert.layers import EncoderConfig, Sharing, num_blocks
from tests.families.parameter_counts import PARAMETERS

# Fields that transformers reads without naming them in its configuration class.
READ_IF_THERE = {
    "conv_act",
    "conv_groups",
    "conv_kernel_size",
    "norm_rel_ebd",
    "pooler_hidden_size",
    "position_buckets",
    "share_att_key",
    "talking_head",
}
ONE_OF_EACH_FAMILY = [next(iter(family.presets)) for family in FAMILIES.values()]


def test_presets_are_named_as_kerashub_names_the_same_models():
    models = keras_hub.models
    backbones = (
        models.BertBackbone,
        models.DistilBertBackbone,
        models.AlbertBackbone,
        models.DebertaV3Backbone,
    )
    theirs = {}
    for cls in backbones:
        theirs |= {name: facts["metadata"]["params"] for name, facts in cls.presets.items()}
    shared = set(PARAMETERS) & set(theirs)
    assert len(shared) >= 20
    for name in shared:
        assert theirs[name] == PARAMETERS[name].encoder, name
    # These count another table of positions or segments, or a pooler.
    for cls in (models.RobertaBackbone, models.XLMRobertaBackbone, models.ElectraBackbone):
        names = {name for name in cls.presets if name.startswith(("roberta", "xlm", "electra"))}
        assert names <= set(kerasbert.list_presets())


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_number_of_parameters_is_exact(name, count_parameters):
    if keras.backend.backend() != "torch" and name not in ONE_OF_EACH_FAMILY:
        pytest.skip("shapes do not depend on the backend: all presets are counted on torch")
    assert count_parameters(name) == PARAMETERS[name]


@pytest.mark.parametrize("name", kerasbert.list_presets())
def test_every_preset_has_a_handle_and_a_description(name):
    _, preset = find_preset(name)
    assert preset.handle.startswith("hf://")
    assert preset.description in kerasbert.list_presets()[name]


@pytest.mark.parametrize("name", kerasbert.list_presets())
def test_every_preset_is_written_by_its_own_family(name):
    family, preset = find_preset(name)
    assert family_for(preset.config, family.name) is family


def test_an_unknown_preset_lists_near_ones():
    with pytest.raises(ValueError, match="bert_base_en_uncased"):
        find_preset("bert_base_uncased")


def test_an_unknown_family_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"\['albert', 'bert', .*'xlm-roberta'\].*'gpt2'"):
        get_family("gpt2")


def test_without_a_name_the_family_is_bert():
    assert get_family(None).name == "bert"


@pytest.mark.parametrize("name", FAMILIES)
def test_no_key_and_no_path_stands_twice_in_a_table(name):
    family = FAMILIES[name]
    rows = expand(family.weights, family.defaults)
    keys = {(row.theirs, row.part and row.part.index) for row in rows}
    assert len({row.ours for row in rows}) == len(keys) == len(rows)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_field_that_a_configuration_writes_is_one_of_transformers(name):
    family = FAMILIES[name]
    cls = getattr(transformers, family.architecture).config_class
    theirs = {*cls().to_dict(), *getattr(cls, "attribute_map", {}), *READ_IF_THERE}
    assert set(family.write_config(family.defaults)) - theirs == set()


@pytest.mark.parametrize("name", ["deberta", "deberta-v2"])
def test_a_deberta_without_relative_positions_is_refused(name):
    with pytest.raises(ValueError, match="relative_attention=False"):
        get_family(name).read_config({"relative_attention": False}, "config.json")


@pytest.mark.parametrize("name", [name for name in FAMILIES if not name.startswith("deberta")])
def test_an_empty_configuration_means_what_transformers_means_by_it(name):
    family = FAMILIES[name]
    theirs = getattr(transformers, family.architecture).config_class().to_dict()
    theirs = {key: value for key, value in theirs.items() if value is not None}
    assert family.read_config(theirs, "config.json") == family.defaults
    assert family.read_config({}, "config.json") == family.defaults


@pytest.mark.parametrize("name", FAMILIES)
def test_a_written_configuration_is_read_back(name):
    family = FAMILIES[name]
    config = family.defaults.replace(activation="silu", max_sequence_length=7, num_layers=6)
    read = family.read_config(family.write_config(config), source="config.json")
    assert read == config


@pytest.mark.parametrize("name", FAMILIES)
def test_every_head_is_a_class_of_transformers(name):
    for head in FAMILIES[name].heads.values():
        assert hasattr(transformers, head.architecture)


def test_heads_that_transformers_has_are_all_there():
    """But for those of a layout of their own."""
    classes = {
        "masked_lm": "MaskedLM",
        "classifier": "SequenceClassification",
        "token_classifier": "TokenClassification",
        "question_answerer": "QuestionAnswering",
        "multiple_choice": "MultipleChoice",
    }
    missing = {
        (family.name, task)
        for family in FAMILIES.values()
        for task, suffix in classes.items()
        if hasattr(transformers, family.architecture.removesuffix("Model") + "For" + suffix)
        and task not in family.heads
    }
    assert missing == {("big_bird", "question_answerer")}


def test_two_fields_for_one_of_ours_must_agree():
    family = get_family("modernbert")
    values = {"model_type": "modernbert", "attention_bias": True, "mlp_bias": False}
    with pytest.raises(ValueError, match="`attention_bias` and `mlp_bias` must agree"):
        family.read_config(values, "config.json")


def test_a_fused_matrix_is_cut_and_joined_again():
    whole = np.arange(24.0).reshape(12, 2)  # 2 heads of 2 rows in each of 3 matrices
    for heads, rows_of_first in ((None, [0, 1, 2, 3]), (2, [0, 1, 6, 7])):
        parts = [Part(index, 3, heads).cut(whole) for index in range(3)]
        np.testing.assert_array_equal(parts[0], whole[rows_of_first])
        np.testing.assert_array_equal(Part(0, 3, heads).join(parts), whole)


BERT = EncoderConfig(
    vocabulary_size=11, num_layers=2, num_heads=2, hidden_dim=4, intermediate_dim=6
)
DISTILBERT = BERT.replace(num_segments=0, pooler=None)
ALBERT = BERT.replace(num_layers=4, embedding_dim=3, sharing=Sharing(2, 2))


@pytest.mark.parametrize(
    "config",
    [
        BERT.replace(norm_placement="pre"),
        BERT.replace(use_bias=False),
        BERT.replace(gated_feed_forward=True),
        BERT.replace(pooler="relu"),
        BERT.replace(embedding_dim=3),
        BERT.replace(position=kerasbert.Absolute(offset=2)),
        BERT.replace(attention=kerasbert.Window(width=4)),
        DISTILBERT.replace(norm_epsilon=1e-5),
        DISTILBERT.replace(causal=True),
        ALBERT.replace(causal=True),
    ],
)
def test_what_no_format_can_say_is_refused_with_the_remedy(config):
    with pytest.raises(ValueError, match=r"no family.*save_to_preset"):
        family_for(config)


def test_where_several_formats_can_say_it_they_are_named():
    roberta = find_preset("roberta_base_en")[1].config
    with pytest.raises(ValueError, match=r"family=.*'camembert', 'roberta', 'xlm-roberta'"):
        family_for(roberta)
    assert family_for(BERT).name == "bert"  # though ELECTRA and ERNIE could say it as well


def test_blocks_of_shared_layers_are_numbered_by_group_and_place():
    keys = [row.theirs for row in expand(FAMILIES["albert"].weights, ALBERT)]
    assert num_blocks(ALBERT) == 4
    places = [(group, inner) for group in range(2) for inner in range(2)]
    for group, inner in places:
        stem = f"encoder.albert_layer_groups.{group}.albert_layers.{inner}.ffn.weight"
        assert keys.count(stem) == 1


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("bert", {"cell": {}, "emb_size": 312, "structure": [], "pre_trained": ""}),
        ("electra", {"generator_size": "0.33333"}),
        ("modernbert", {"layer_norm_eps": 1e-5, "position_embedding_type": "absolute"}),
        ("deberta", {"pooler": {"dropout": 0, "hidden_act": "gelu"}, "padding_idx": 0}),
        ("deberta-v2", {"attention_head_size": 64, "conv_act": "gelu", "conv_groups": 1}),
        ("longformer", {"attention_mode": "longformer", "ignore_attention_mask": False}),
        ("camembert", {"output_past": True}),
    ],
)
def test_fields_of_released_files_that_change_nothing_are_let_pass(name, fields):
    family = get_family(name)
    assert family.read_config(fields, "config.json") == family.defaults


def test_released_lists_of_terms_and_of_windows_are_read():
    deberta = get_family("deberta-v2").read_config({"pos_att_type": "p2c|c2p"}, "config.json")
    assert set(deberta.position.terms) == {"c2p", "p2c"}
    longformer = get_family("longformer").read_config({"attention_window": [512] * 12}, "c")
    assert longformer.attention.width == 512
    old = {"global_attn_every_n_layers": 3, "global_rope_theta": 5e5, "local_rope_theta": 1e4}
    modernbert = get_family("modernbert").read_config(old, "config.json")
    assert modernbert.position == kerasbert.Rotary(theta=5e5, local_theta=1e4)
