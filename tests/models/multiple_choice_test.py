"""MultipleChoice on raw text: learning, choosing as `transformers` does, datasets, bad input."""

import keras
import numpy as np
import pytest
import torch
import transformers
from keras import ops

import kerasbert
from kerasbert.families import FAMILIES
from tests.models import tiny_families
from tests.parity import tiny_models
from tests.text.kinds import KINDS

# The right choice is the one that names the tool.
TOOLS = {"paint": "brush", "nail": "hammer", "wood": "saw", "soup": "spoon"}
TEXTS = [f"she has {thing}" for thing in TOOLS] * 3
OTHERS = ["and a very long wait before her", "and sleeps", "and no time"]
RIGHT = [index % 4 for index in range(len(TEXTS))]
CHOICES = [
    [*OTHERS[:at], f"and takes a {TOOLS[text.split()[-1]]}", *OTHERS[at:]]
    for text, at in zip(TEXTS, RIGHT, strict=True)
]
EXAMPLES = {"text": TEXTS, "choices": CHOICES}


def flat(choices):
    return [choice for row in choices for choice in row]


@pytest.fixture(scope="module")
def tokenizer():
    return kerasbert.Tokenizer.train([*TEXTS, *flat(CHOICES)] * 3, vocabulary_size=120)


@pytest.fixture
def make(tokenizer):
    def build(buckets=(8, 16)):
        config = kerasbert.EncoderConfig(
            vocabulary_size=120,
            num_layers=1,
            num_heads=2,
            hidden_dim=16,
            intermediate_dim=24,
            max_sequence_length=32,
            hidden_dropout=0.0,
            attention_dropout=0.0,
            initializer_range=0.3,
        )
        preprocessor = kerasbert.MultipleChoicePreprocessor(tokenizer, 32, buckets)
        return kerasbert.MultipleChoice(
            kerasbert.Encoder(config), preprocessor=preprocessor, dropout=0.0
        )

    return build


def test_examples_are_learnt_and_chosen_from(make):
    model = make()
    model.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=0.01))
    history = model.fit(
        EXAMPLES, RIGHT, batch_size=5, epochs=15, validation_data=(EXAMPLES, RIGHT), verbose=0
    ).history
    assert set(history) == {"loss", "accuracy", "val_loss", "val_accuracy"}
    assert history["loss"][-1] < history["loss"][0] / 2
    assert history["val_accuracy"][-1] == 1.0
    answers = model.choose(TEXTS, CHOICES, batch_size=5)
    assert [answer.index for answer in answers] == RIGHT
    index, scores = model.choose(TEXTS[0], CHOICES[0])
    assert index == RIGHT[0] == int(np.argmax(scores))
    assert sum(scores) == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_allclose(scores, answers[0].scores, atol=1e-5)


def test_predictions_come_in_order_whatever_the_batches(make):
    model = make()
    logits = model.predict(EXAMPLES, batch_size=5, verbose=0)
    assert logits.shape == (12, 4)
    alone = [
        model.predict({"text": [text], "choices": [row]}, verbose=0, batch_size=1)[0]
        for text, row in zip(TEXTS, CHOICES, strict=True)
    ]
    np.testing.assert_allclose(logits, alone, atol=1e-5)
    for text, row, expected in zip(TEXTS[:4], CHOICES, logits, strict=False):
        scores = np.exp(expected) / np.exp(expected).sum()
        np.testing.assert_allclose(model.choose(text, row).scores, scores, atol=1e-5)


def test_loss_and_accuracy_are_those_of_the_examples(make):
    model = make()
    logits = model.predict(EXAMPLES, verbose=0).astype("float64")
    chosen = logits[np.arange(12), RIGHT]
    found = model.evaluate(EXAMPLES, RIGHT, batch_size=5, verbose=0, return_dict=True)
    assert found["loss"] == pytest.approx(np.mean(np.log(np.exp(logits).sum(1)) - chosen), rel=1e-4)
    assert found["accuracy"] == pytest.approx(np.mean(logits.argmax(axis=1) == RIGHT))


def test_the_number_of_choices_may_change_between_calls(make):
    model = make()
    few = {"text": TEXTS, "choices": [row[:2] for row in CHOICES]}
    np.testing.assert_allclose(
        model.predict(few, verbose=0), model.predict(EXAMPLES, verbose=0)[:, :2], atol=1e-5
    )
    one = model.choose(TEXTS[0], CHOICES[0][:1])
    assert one == (0, [1.0])
    model.fit(few, np.zeros((12, 1), int), verbose=0)
    assert model.choose([], []) == []


def test_choices_that_are_whole_texts_need_no_text_before_them(make):
    model = make()
    logits = model.predict({"choices": CHOICES}, verbose=0)
    answers = model.choose(None, CHOICES)
    assert [answer.index for answer in answers] == logits.argmax(axis=1).tolist()
    assert model.choose(None, CHOICES[0]).index == logits[0].argmax()


class Dataset:
    """Elements that can be read again and again."""

    def __init__(self, elements):
        self.elements = elements

    def __iter__(self):
        return iter(self.elements)


def rows():
    examples = zip(TEXTS, CHOICES, RIGHT, strict=True)
    return Dataset([{"text": t, "choices": c, "label": y} for t, c, y in examples])


def batches():
    return Dataset(
        [
            ({"text": TEXTS[i : i + 3], "choices": CHOICES[i : i + 3]}, RIGHT[i : i + 3])
            for i in range(0, 12, 3)
        ]
    )


def tf_dataset():
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices((EXAMPLES, RIGHT)).batch(3)


@pytest.mark.parametrize("source", [rows, batches, tf_dataset])
def test_datasets_train_and_evaluate_as_lists_do(make, source):
    model = make()
    expected = model.evaluate(EXAMPLES, RIGHT, batch_size=12, verbose=0, return_dict=True)
    found = model.evaluate(source(), verbose=0, return_dict=True)
    assert found["accuracy"] == pytest.approx(expected["accuracy"])
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-4)
    model.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=0.01))
    history = model.fit(source(), batch_size=4, epochs=8, verbose=0).history
    assert history["loss"][-1] < 0.8 * history["loss"][0]


def test_an_archive_and_a_preset_keep_the_preprocessor(make, tmp_path):
    model = make()
    model.save(tmp_path / "model.keras")
    model.save_to_preset(tmp_path / "preset")
    expected = model.choose(TEXTS, CHOICES)
    for again in (
        keras.saving.load_model(tmp_path / "model.keras"),
        kerasbert.MultipleChoice.from_preset(tmp_path / "preset"),
    ):
        assert again.preprocessor.get_config() == model.preprocessor.get_config()
        for one, other in zip(again.choose(TEXTS, CHOICES), expected, strict=True):
            np.testing.assert_allclose(one.scores, other.scores, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_encoder_of_any_family_chooses(family):
    tokenizer = kerasbert.Tokenizer.train(["a b c d e f"], vocabulary_size=40)
    model = kerasbert.MultipleChoice(
        tiny_families.encoder_of(family),
        # One width: MobileBERT's trigrams see padding, and BigBird's blocks depend on the length.
        preprocessor=kerasbert.MultipleChoicePreprocessor(tokenizer, 24, buckets=()),
    )
    choices = [["c", "d e f", "e"], ["a", "b", "d"]]
    answers = model.choose(["a b", "c"], choices)
    inputs = model.preprocessor({"text": ["a b", "c"], "choices": choices})
    expected = ops.convert_to_numpy(ops.softmax(model(inputs)))
    np.testing.assert_allclose([answer.scores for answer in answers], expected, atol=1e-5)
    assert np.ptp(expected, axis=1).min() > 1e-4


# Against transformers

FOLDERS = {
    "bert": ("word piece uncased", tiny_models.bert, {}),
    # One segment, though the texts are pairs (transformers#1538), and a padding id that is not 0.
    "roberta": ("roberta", tiny_models.roberta, {"type_vocab_size": 1, "pad_token_id": 1}),
    "longformer": ("roberta", tiny_models.longformer, {"pad_token_id": 1, "sep_token_id": 2}),
}


@pytest.mark.parametrize("family", FOLDERS)
def test_scores_are_those_of_transformers(family, tmp_path):
    kind, config, changes = FOLDERS[family]
    KINDS[kind].make(tmp_path)
    their_tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    sizes = {"vocab_size": len(their_tokenizer), "max_position_embeddings": 90}
    theirs = tiny_models.with_head(config(**sizes, **changes), "multiple_choice")
    tiny_models.randomize(theirs).save_pretrained(tmp_path)
    ours = kerasbert.MultipleChoice.from_preset(tmp_path)

    texts = ["A naïve café owner's résumé", "mở bài lạc trôi"]
    choices = [["的人有", "isn't unaffable, is it?", "Straße"], ["a", "İstanbul", "Ελλάδα ΣΊΣΥΦΟΣ"]]
    pairs = [text for text in texts for _ in range(3)]
    encoded = their_tokenizer(pairs, flat(choices), padding=True, return_tensors="pt")
    with torch.no_grad():
        logits = theirs(**{name: rows.reshape(2, 3, -1) for name, rows in encoded.items()}).logits
    answers = ours.choose(texts, choices)
    np.testing.assert_allclose(
        [answer.scores for answer in answers], logits.softmax(-1).numpy(), atol=1e-4
    )
    assert [answer.index for answer in answers] == logits.argmax(-1).tolist()


# Bad input


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0] * 11 + [4], "from 0 to 3.*4.* at position 11"),
        ([0] * 3 + [-1] * 9, "from 0 to 3.*-1.* at position 3"),
        (["A"] * 12, "from 0 to 3.*'A'"),
        ([0.5] * 12, "from 0 to 3.*0.5"),
        ([0] * 11, "12 in x, 11 in y"),
        (None, "need labels"),
    ],
)
def test_labels_that_are_no_choices_are_named(make, labels, message):
    with pytest.raises(ValueError, match=message):
        make().fit(EXAMPLES, labels, verbose=0)


def test_labels_of_arrays_are_checked_too(make):
    model = make()
    with pytest.raises(ValueError, match="from 0 to 3"):
        model.fit(model.preprocessor(EXAMPLES), [4] * 12, verbose=0)


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ({"text": TEXTS[:2], "choices": [["a", "b"], ["a"]]}, ValueError, "1 at position 1, 2"),
        ({"text": TEXTS[:2], "choices": [["a"], []]}, ValueError, "0 at position 1"),
        ({"text": [], "choices": []}, ValueError, "at least one example"),
        (TEXTS[:2], ValueError, "2 in y"),
    ],
)
def test_examples_that_are_none_are_refused(make, x, error, message):
    with pytest.raises(error, match=message):
        make().fit(x, [0, 0], verbose=0)


def test_without_a_preprocessor_nothing_is_chosen(make):
    model = kerasbert.MultipleChoice(make().backbone)
    with pytest.raises(ValueError, match="no preprocessor"):
        model.choose("a", ["b", "c"])


@pytest.mark.slow
@pytest.mark.real_data
def test_real_endings_are_learnt(data_folder):
    """What a small encoder without pretraining can: the loss falls, on what it is trained on."""
    train = kerasbert.data.read_codah(data_folder / "codah" / "fold_0" / "train.tsv")
    texts, choices, labels = train.texts[:120], train.choices[:120], train.labels[:120]
    tokenizer = kerasbert.Tokenizer.train([*texts, *flat(choices)], vocabulary_size=2000)
    config = kerasbert.EncoderConfig(
        vocabulary_size=2000, num_layers=2, num_heads=2, hidden_dim=64, intermediate_dim=128
    )
    model = kerasbert.MultipleChoice(
        kerasbert.Encoder(config), preprocessor=kerasbert.MultipleChoicePreprocessor(tokenizer)
    )
    model.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=1e-3))
    examples = {"text": texts, "choices": choices}
    history = model.fit(examples, labels, epochs=15, verbose=0).history
    assert history["loss"][-1] < 0.8 * history["loss"][0]
    # Four choices: chance is a quarter, and its spread over 120 examples 0.04.
    assert model.evaluate(examples, labels, verbose=0, return_dict=True)["accuracy"] > 0.4
