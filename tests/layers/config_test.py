"""`EncoderConfig`: what it refuses, and its way to plain data and back."""

import dataclasses
import json

import pytest

from kerasbert import Absolute, EncoderConfig, Sharing


def test_the_defaults_are_bert_base():
    config = EncoderConfig()
    # Devlin et al., 2018, section 3: L=12, H=768, A=12; appendix A.2: dropout 0.1, gelu.
    assert (config.num_layers, config.hidden_dim, config.num_heads) == (12, 768, 12)
    assert (config.intermediate_dim, config.vocabulary_size) == (3072, 30522)
    assert (config.max_sequence_length, config.num_segments) == (512, 2)
    assert (config.hidden_dropout, config.attention_dropout, config.activation) == (
        0.1,
        0.1,
        "gelu",
    )


@pytest.mark.parametrize(
    "change",
    [
        {"vocabulary_size": 0},
        {"num_layers": -1},
        {"num_heads": 2.0},
        {"hidden_dim": True},
        {"intermediate_dim": "3072"},
        {"max_sequence_length": None},
        {"embedding_dim": 0},
        {"num_segments": -1},
        {"pad_token_id": -1},
        {"activation": "mish"},
        {"activation": None},
        {"norm_placement": "middle"},
        {"norm_epsilon": 0},
        {"norm_epsilon": "1e-5"},
        {"initializer_range": -0.02},
        {"hidden_dropout": 1.0},
        {"hidden_dropout": None},
        {"attention_dropout": -0.1},
        {"pooler": "mish"},
        {"position": "absolute"},
        {"sharing": 2},
        {"use_bias": "no"},
        {"causal": 1},
        {"gated_feed_forward": None},
    ],
    ids=str,
)
def test_a_senseless_field_is_an_error_that_names_it_and_the_value(change):
    ((name, value),) = change.items()
    with pytest.raises(ValueError, match=name) as error:
        EncoderConfig(**change)
    assert f"{name}={value!r}" in str(error.value)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"hidden_dim": 770}, ("hidden_dim=770", "num_heads=12")),
        ({"pad_token_id": 9, "vocabulary_size": 9}, ("pad_token_id=9", "vocabulary_size=9")),
        ({"sharing": Sharing(groups=13)}, ("groups=13", "num_layers=12")),
    ],
)
def test_fields_that_contradict_each_other_are_an_error_that_names_both(changes, parts):
    with pytest.raises(ValueError, match="Received") as error:
        EncoderConfig(**changes)
    for part in parts:
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: Absolute(offset=-1), "offset=-1"),
        (lambda: Absolute(counting="tokens"), "counting='tokens'"),
        (lambda: Sharing(groups=0), "groups=0"),
        (lambda: Sharing(layers_per_group=1.5), "layers_per_group=1.5"),
    ],
)
def test_the_tagged_parts_refuse_senseless_fields_too(make, part):
    with pytest.raises(ValueError, match=part):
        make()


FULL = EncoderConfig(
    num_layers=4,
    hidden_dim=36,
    num_heads=3,
    embedding_dim=10,
    pooler=None,
    norm_placement="pre",
    causal=True,
    position=Absolute(offset=2, counting="non_padding"),
    sharing=Sharing(groups=2, layers_per_group=2),
)


@pytest.mark.parametrize("config", [EncoderConfig(), FULL])
def test_a_configuration_survives_json(config):
    data = json.loads(json.dumps(config.to_dict()))
    assert EncoderConfig.from_dict(data) == config
    assert set(data) == {field.name for field in dataclasses.fields(config)}


def test_every_field_is_in_the_docstring():
    for field in dataclasses.fields(EncoderConfig):
        assert f"\n        {field.name}: " in EncoderConfig.__doc__, field.name


def test_from_dict_leaves_the_data_as_it_is():
    data = FULL.to_dict()
    before = json.dumps(data)
    EncoderConfig.from_dict(data)
    assert json.dumps(data) == before


def test_what_a_dictionary_does_not_give_has_its_default():
    assert EncoderConfig.from_dict({"num_layers": 3}) == EncoderConfig(num_layers=3)


def test_unknown_fields_and_kinds_are_errors():
    with pytest.raises(ValueError, match="'depth'"):
        EncoderConfig.from_dict({"depth": 3})
    with pytest.raises(ValueError, match="'depth'"):
        EncoderConfig().replace(depth=3)
    with pytest.raises(ValueError, match=r"position\.kind='Spiral'"):
        EncoderConfig.from_dict({"position": {"kind": "Spiral"}})


def test_an_unknown_field_of_a_tagged_part_is_an_error_that_names_it():
    with pytest.raises(ValueError, match="theta"):
        EncoderConfig.from_dict({"position": {"kind": "Absolute", "theta": 1.0}})


def test_replace_derives_and_validates():
    config = EncoderConfig()
    derived = config.replace(num_layers=6, sharing=Sharing(3))
    assert (derived.num_layers, derived.sharing, derived.hidden_dim) == (6, Sharing(3), 768)
    assert config.num_layers == 12
    with pytest.raises(ValueError, match="num_layers=0"):
        config.replace(num_layers=0)


def test_a_configuration_is_frozen_and_can_be_a_key():
    with pytest.raises(dataclasses.FrozenInstanceError):
        EncoderConfig().num_layers = 3
    assert {EncoderConfig(): 1}[EncoderConfig()] == 1
