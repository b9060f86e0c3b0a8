"""The families' tables: presets, their sizes, and names that lead somewhere in both directions."""

import keras_hub
import pytest
import transformers

import kerasbert
from kerasbert.families import FAMILIES, family_for, find_preset, get_family
from kerasbert.families.names import expand
from kerasbert.layers import EncoderConfig, Sharing, num_blocks

# Exact counts of the models of these names in transformers: the encoder, and with a head of two
# classes on top.
PARAMETERS = {
    "bert_tiny_en_uncased": (4_385_920, 4_386_178),
    "bert_mini_en_uncased": (11_170_560, 11_171_074),
    "bert_small_en_uncased": (28_763_648, 28_764_674),
    "bert_medium_en_uncased": (41_373_184, 41_374_210),
    "bert_base_en_uncased": (109_482_240, 109_483_778),
    "bert_base_en": (108_310_272, 108_311_810),
    "bert_base_zh": (102_267_648, 102_269_186),
    "bert_base_multi": (177_853_440, 177_854_978),
    "bert_large_en_uncased": (335_141_888, 335_143_938),
    "bert_large_en": (333_579_264, 333_581_314),
    "distil_bert_base_en_uncased": (66_362_880, 66_955_010),
    "distil_bert_base_en": (65_190_912, 65_783_042),
    "distil_bert_base_multi": (134_734_080, 135_326_210),
    "albert_base_en_uncased": (11_683_584, 11_685_122),
    "albert_large_en_uncased": (17_683_968, 17_686_018),
    "albert_extra_large_en_uncased": (58_724_864, 58_728_962),
    "albert_extra_extra_large_en_uncased": (222_595_584, 222_603_778),
}


def test_the_presets_are_those_of_the_papers():
    assert set(kerasbert.list_presets()) == set(PARAMETERS)


def test_presets_are_named_as_kerashub_names_the_same_models():
    models = keras_hub.models
    theirs = {}
    for cls in (models.BertBackbone, models.DistilBertBackbone, models.AlbertBackbone):
        theirs |= {name: facts["metadata"]["params"] for name, facts in cls.presets.items()}
    shared = set(PARAMETERS) & set(theirs)
    assert set(PARAMETERS) - shared == {"bert_mini_en_uncased"}  # which it does not have
    for name in shared:
        assert theirs[name] == PARAMETERS[name][0], name


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_number_of_parameters_is_exact(name, count_parameters):
    assert count_parameters(name) == PARAMETERS[name]


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_preset_has_a_handle_and_a_description(name):
    _, preset = find_preset(name)
    assert preset.handle.startswith("hf://")
    assert preset.description in kerasbert.list_presets()[name]


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_preset_is_written_by_its_own_family(name):
    family, preset = find_preset(name)
    assert family_for(preset.config) is family


def test_an_unknown_preset_lists_near_ones():
    with pytest.raises(ValueError, match="bert_base_en_uncased"):
        find_preset("bert_base_uncased")


def test_an_unknown_family_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"\['albert', 'bert', 'distilbert'\].*'gpt2'"):
        get_family("gpt2")


def test_without_a_name_the_family_is_bert():
    assert get_family(None).name == "bert"


SMALL = {
    "bert": EncoderConfig(
        vocabulary_size=11, num_layers=2, num_heads=2, hidden_dim=4, intermediate_dim=6
    ),
    "albert": EncoderConfig(
        vocabulary_size=11,
        num_layers=4,
        num_heads=2,
        hidden_dim=4,
        intermediate_dim=6,
        embedding_dim=3,
        sharing=Sharing(2, 2),
    ),
}
SMALL["distilbert"] = SMALL["bert"].replace(num_segments=0, pooler=None)


def theirs_like(family, config, task):
    """A random model of transformers, from the `config.json` that the family writes."""
    cls = getattr(transformers, family.architectures[task])
    return cls(cls.config_class(**family.write_config(config)))


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("task", ["encoder", "classifier"])
def test_the_table_of_names_has_just_the_keys_and_shapes_of_transformers(name, task):
    family, config = FAMILIES[name], SMALL[name]
    rows = list(family.weights)
    if task == "classifier":
        rows += family.head_weights
    encoder = kerasbert.Encoder(config, family=name)
    model = encoder
    if task == "classifier":
        model = kerasbert.TextClassifier(encoder, num_classes=2)
    shapes = {variable.path: tuple(variable.shape) for variable in model.weights}
    found = {}
    for row in expand(rows, config):
        if row.ours not in shapes:
            continue  # a head's rows may stand for the pooler of a model without one
        shape = shapes[row.ours]
        key = f"{family.prefix}." * (row.prefixed and task == "classifier") + row.theirs
        found[key] = shape[::-1] if row.transpose else shape
    theirs = theirs_like(family, config, task)
    assert found == {key: tuple(value.shape) for key, value in theirs.state_dict().items()}


@pytest.mark.parametrize("name", FAMILIES)
def test_no_key_and_no_path_stands_twice_in_a_table(name):
    family, config = FAMILIES[name], SMALL[name]
    rows = expand(family.weights, config)
    assert len({row.ours for row in rows}) == len({row.theirs for row in rows}) == len(rows)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_field_that_a_configuration_maps_is_one_of_transformers(name):
    family = FAMILIES[name]
    cls = getattr(transformers, family.architectures["encoder"]).config_class
    theirs = {*cls().to_dict(), *getattr(cls, "attribute_map", {})}
    written = family.write_config(SMALL[name])
    assert set(written) - theirs == set()


@pytest.mark.parametrize("name", FAMILIES)
def test_a_written_configuration_is_read_back(name):
    family, config = FAMILIES[name], SMALL[name]
    config = config.replace(activation="silu", max_sequence_length=7, hidden_dropout=0.3)
    read = family.read_config(family.write_config(config), source="config.json")
    assert read.replace(pooler=config.pooler) == config


@pytest.mark.parametrize(
    "config",
    [
        SMALL["bert"].replace(norm_placement="pre"),
        SMALL["bert"].replace(use_bias=False),
        SMALL["bert"].replace(gated_feed_forward=True),
        SMALL["bert"].replace(pooler="relu"),
        SMALL["bert"].replace(embedding_dim=3),
        SMALL["bert"].replace(position=kerasbert.Absolute(offset=2)),
        SMALL["distilbert"].replace(norm_epsilon=1e-5),
        SMALL["distilbert"].replace(causal=True),
        SMALL["albert"].replace(causal=True),
    ],
)
def test_what_no_format_can_say_is_refused_with_the_remedy(config):
    with pytest.raises(ValueError, match=r"No family.*family="):
        family_for(config)


def test_blocks_of_shared_layers_are_numbered_by_group_and_place():
    keys = [row.theirs for row in expand(FAMILIES["albert"].weights, SMALL["albert"])]
    assert num_blocks(SMALL["albert"]) == 4
    places = [(group, inner) for group in range(2) for inner in range(2)]
    for group, inner in places:
        stem = f"encoder.albert_layer_groups.{group}.albert_layers.{inner}.ffn.weight"
        assert keys.count(stem) == 1
