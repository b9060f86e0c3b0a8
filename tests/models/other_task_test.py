"""A preset of one task loaded as another, and heads that no file of transformers can describe."""

import numpy as np
import pytest
from keras import ops

import kerasbert

CONFIG = kerasbert.EncoderConfig(
    vocabulary_size=11, num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=9
)


@pytest.mark.parametrize("cls", [kerasbert.MaskedLM, kerasbert.PretrainingModel])
def test_a_pretrained_preset_becomes_a_classifier_with_a_new_head(cls, tmp_path):
    pretrained = cls(kerasbert.Encoder(CONFIG))
    pretrained.save_to_preset(tmp_path)
    with pytest.warns(UserWarning, match=f"holds a `{cls.__name__}`.*head is new"):
        classifier = kerasbert.TextClassifier.from_preset(tmp_path, labels=["no", "yes"])
    pairs = zip(pretrained.backbone.weights, classifier.backbone.weights, strict=True)
    for one, other in pairs:
        np.testing.assert_array_equal(*map(ops.convert_to_numpy, (one, other)))


def test_a_head_that_their_configuration_cannot_say_is_not_exported(tmp_path):
    model = kerasbert.MaskedLM(kerasbert.Encoder(CONFIG), head_options={"dense": "tanh"})
    with pytest.raises(ValueError, match="cannot say this of the head: dense='tanh'"):
        model.export_to_transformers(tmp_path / "exported")
    assert not (tmp_path / "exported").exists()
    classifier = kerasbert.TextClassifier(
        kerasbert.Encoder(CONFIG, family="distilbert"), num_classes=2
    )
    with pytest.raises(ValueError, match="'distilbert' cannot represent"):
        classifier.export_to_transformers(tmp_path / "exported")


def test_an_unknown_head_option_is_named():
    with pytest.raises(ValueError, match=r"`head_options` must be some of .*'nose'"):
        kerasbert.MaskedLM(kerasbert.Encoder(CONFIG), head_options={"nose": 1})


def test_another_familys_head_is_not_written_as_ones_own(tmp_path):
    classifier = kerasbert.TextClassifier(kerasbert.Encoder(CONFIG, family="bert"), num_classes=2)
    encoder = kerasbert.Encoder(CONFIG.replace(pooler=None), family="bert")
    without_pooler = kerasbert.TextClassifier(encoder, num_classes=2)
    with pytest.raises(ValueError, match="The head of 'bert' differs from that of 'electra'"):
        without_pooler.export_to_transformers(tmp_path / "exported", family="electra")
    classifier.export_to_transformers(tmp_path / "ernie", family="ernie")  # the same head


def test_a_task_that_the_family_has_no_class_for_is_not_exported(tmp_path):
    detector = kerasbert.ReplacedTokenDetector(kerasbert.Encoder(CONFIG, family="bert"))
    with pytest.raises(ValueError, match="no model for this task in the family 'bert'"):
        detector.export_to_transformers(tmp_path / "exported")
