"""Task models read from, and written for, `transformers`: the logits of every family's heads."""

import numpy as np
import pytest
import transformers
from keras import ops

import kerasbert
from kerasbert.families import FAMILIES
from tests.parity import tiny_models
from tests.parity.tiny_models import CONFIGS, LABELS, PLAIN

TASKS = {
    "classifier": kerasbert.TextClassifier,
    "token_classifier": kerasbert.TokenClassifier,
    "question_answerer": kerasbert.QuestionAnswerer,
    "multiple_choice": kerasbert.MultipleChoice,
    "masked_lm": kerasbert.MaskedLM,
    "pretraining": kerasbert.PretrainingModel,
    "replaced_tokens": kerasbert.ReplacedTokenDetector,
}
# Changes of the heads that a configuration can ask for.
UNUSUAL = {
    "mobilebert, no pooler": ("mobilebert", "classifier", {"classifier_activation": False}),
    "mobilebert, no pooler, choices": (
        "mobilebert",
        "multiple_choice",
        {"classifier_activation": False},
    ),
    "modernbert, mean": ("modernbert", "classifier", {"classifier_pooling": "mean"}),
    "modernbert, activation and bias": (
        "modernbert",
        "masked_lm",
        {"classifier_activation": "silu", "classifier_bias": True},
    ),
    "electra, activation": ("electra", "multiple_choice", {"summary_activation": "tanh"}),
    "roberta, dropout": ("roberta", "classifier", {"classifier_dropout": 0.25}),
}
HEADS = {
    **{
        f"{family}, {task}": (family, task, {})
        for family in PLAIN
        for task in FAMILIES[family].heads
    },
    **UNUSUAL,
}


@pytest.fixture(scope="module", params=HEADS)
def pair(request, tmp_path_factory):
    """A model of `transformers`, ours read from its folder, and the name of the task."""
    family, task, changes = HEADS[request.param]
    config = CONFIGS[PLAIN[family]]()
    if "classifier" in task:
        config.id2label = dict(LABELS)
        config.label2id = {name: index for index, name in LABELS.items()}
    for name, value in changes.items():
        setattr(config, name, value)
    theirs = tiny_models.randomize(tiny_models.with_head(config, task))
    folder = tmp_path_factory.mktemp("checkpoint")
    theirs.save_pretrained(folder)
    return theirs, TASKS[task].from_preset(folder), task


@pytest.fixture(scope="module")
def inputs(pair, make_batch):
    """A batch for `pair`. Where the first position is read, it is a real token in every row."""
    _, ours, task = pair
    config = ours.backbone.config
    batch = make_batch(12, config.pad_token_id, config.num_segments)
    if task in ("classifier", "multiple_choice", "pretraining"):
        batch = {name: array[[0, 2, 3, 3]] for name, array in batch.items()}
    if config.attention.has_global_tokens:
        batch["global_mask"] = batch["token_ids"] % 3 == 0
    if task == "multiple_choice":
        batch = {name: array.reshape(2, 2, 12) for name, array in batch.items()}
    return batch


def logits_of(outputs, task):
    """The logits of an output of `transformers`, laid out as ours are."""
    if task == "question_answerer":
        return np.stack((outputs.start_logits.numpy(), outputs.end_logits.numpy()), axis=-1)
    if task == "pretraining":
        pairs = outputs.get("seq_relationship_logits", outputs.get("sop_logits"))
        return outputs.prediction_logits.numpy(), pairs.numpy()
    return outputs.logits.numpy()


def assert_same(found, expected, inputs, task, tolerance=1e-4):
    if task == "pretraining":
        assert_same(found[0], expected[0], inputs, "masked_lm", tolerance)
        found, expected = found[1], expected[1]
    elif task not in ("classifier", "multiple_choice"):
        real = inputs["padding_mask"].astype(bool)
        found, expected = ops.convert_to_numpy(found)[real], expected[real]
    np.testing.assert_allclose(
        ops.convert_to_numpy(found), expected, atol=tolerance, rtol=tolerance
    )


def test_logits_are_those_of_transformers(pair, inputs, run_transformers):
    theirs, ours, task = pair
    expected = logits_of(run_transformers(theirs, inputs), task)
    found = ours(inputs)
    if task == "pretraining":
        found = (found["masked_tokens"], found["sentence_pairs"])
    assert_same(found, expected, inputs, task)


def test_transformers_loads_an_exported_task_with_every_key_and_the_same_logits(
    pair, inputs, run_transformers, tmp_path
):
    theirs, ours, task = pair
    ours.export_to_transformers(tmp_path)
    again, report = type(theirs).from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values()), report
    found = logits_of(run_transformers(again.eval(), inputs), task)
    expected = logits_of(run_transformers(theirs, inputs), task)
    assert_same(found, expected, inputs, task, tolerance=1e-5)


def test_labels_and_dropout_survive_the_round_trip(pair, tmp_path):
    theirs, ours, task = pair
    if "classifier" in task:
        assert ours.labels == list(LABELS.values())
    ours.export_to_transformers(tmp_path)
    again = transformers.AutoConfig.from_pretrained(tmp_path)
    if "classifier" in task:
        assert again.id2label == theirs.config.id2label
    for option in FAMILIES[theirs.config.model_type].heads[task].options:
        value = getattr(theirs.config, option.theirs, None)
        if value is not None:
            assert getattr(again, option.theirs) == value
