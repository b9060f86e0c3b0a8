"""A tagger on words and texts: trained, read, saved. (What transformers finds: tests/parity.)"""

import keras
import numpy as np
import pytest
from keras import ops
from seqeval.metrics import accuracy_score, f1_score

import kerasbert
from kerasbert import TokenClassifier, TokenClassifierPreprocessor, Tokenizer
from kerasbert.families import FAMILIES
from kerasbert.models.tag_reading import AGGREGATIONS
from kerasbert.pipelines.demo_weights import demo_encoder
from tests.models.tiny_taggers import LABELS, assert_close, make_tagger

WORDS = [
    ["Anna", "lives", "in", "Oslo"],
    ["New", "York", "is", "old"],
    ["Oslo", "is", "cold", "in", "May"],
    ["Anna", "May", "lives", "in", "New", "York"],
    ["so", "it", "goes"],
    ["May", "is", "in", "Oslo"],
]
TAGS = [
    ["B-PER", "O", "O", "B-LOC"],
    ["B-LOC", "I-LOC", "O", "O"],
    ["B-LOC", "O", "O", "O", "O"],
    ["B-PER", "I-PER", "O", "O", "B-LOC", "I-LOC"],
    ["O", "O", "O"],
    ["B-PER", "O", "O", "B-LOC"],
]
TEXTS = [" ".join(row) for row in WORDS]
ALL_WORDS = [word for row in WORDS for word in row]
SPANS = [
    [(0, 4, "PER"), (14, 18, "LOC")],
    [(0, 8, "LOC")],
    [(0, 4, "LOC")],
    [(0, 8, "PER"), (18, 26, "LOC")],
    [],
    [(0, 3, "PER"), (10, 14, "LOC")],
]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS, vocabulary_size=70)


@pytest.fixture
def tagger(tokenizer):
    return make_tagger(tokenizer)


# ------------------------------------------------------------------ long texts


def without_context(model):
    """Make logits depend on nothing but each token: no attention, no positions."""
    for variable in model.backbone.weights:
        if "attention/output" in variable.path or "position" in variable.path:
            variable.assign(np.zeros(variable.shape))
    return model


@pytest.mark.parametrize("stride", [0, 1, 4])
def test_no_word_of_a_long_text_is_lost_or_doubled(tokenizer, stride):
    labels = ["a", "b", "c", "d"]  # none is "O": every token is some entity
    changes = {"max_sequence_length": 512}
    tagger = without_context(make_tagger(tokenizer, labels, changes=changes, sequence_length=512))
    windows = TokenClassifierPreprocessor(tokenizer, 10, stride, buckets=(8,))
    texts = ["", " ".join(TEXTS * 3), "Anna lives", " ".join(reversed(TEXTS))]
    words = [text.split() for text in texts]
    whole = {name: tagger.tag(texts, name) for name in AGGREGATIONS}
    whole_tags = tagger.predict_tags(words)
    tagger.preprocessor = windows
    assert len(windows.tokenize(texts)) > 15
    for name, expected in whole.items():
        assert_close(tagger.tag(texts, name), expected)
    assert tagger.predict_tags(words) == whole_tags
    assert [len(row) for row in whole_tags] == [len(row) for row in words]


def test_more_tokens_than_positions_are_windows_and_no_error(tokenizer):
    tagger = make_tagger(tokenizer, changes={"max_sequence_length": 512}, sequence_length=512)
    words = [["s"] * 511]  # 513 tokens with the special ones
    logits = tagger.predict(words, verbose=0)
    assert logits.shape == (2, 512, 5)
    (tags,) = tagger.predict_tags(words)
    assert len(tags) == 511


def test_predict_gives_the_logits_of_each_row(tagger):
    tagger.preprocessor = TokenClassifierPreprocessor(tagger.preprocessor.tokenizer, 12, 3, (8,))
    x = [WORDS[0], ALL_WORDS, WORDS[4]]
    found = tagger.predict(x, batch_size=2, verbose=0)
    examples = tagger.preprocessor.tokenize(x)
    assert found.shape == (len(examples), 12, 5)
    assert len(examples) > 4
    for row in range(len(examples)):
        batch = examples.batch([row])
        expected = ops.convert_to_numpy(tagger(batch))[0, : examples.lengths[row]]
        np.testing.assert_allclose(found[row, : len(expected)], expected, atol=1e-4)


# ------------------------------------------------------------------ training


def scores_of(tagger, words=WORDS, tags=TAGS):
    found = tagger.predict_tags(words)
    return {"token_accuracy": accuracy_score(tags, found), "entity_f1": f1_score(tags, found)}


@pytest.mark.parametrize(
    ("x", "y", "label_all_tokens"),
    [(WORDS, TAGS, False), (TEXTS, SPANS, True)],
    ids=["first tokens of words", "all tokens of texts"],
)
def test_learns_from_words_and_from_texts(tokenizer, x, y, label_all_tokens):
    tagger = make_tagger(tokenizer, label_all_tokens=label_all_tokens)
    history = tagger.fit(x, y, batch_size=4, epochs=25, verbose=0).history
    assert history["loss"][-1] < 0.2 * history["loss"][0]
    assert scores_of(tagger)["entity_f1"] == 1
    names = [[(e["start"], e["end"], e["label"]) for e in row] for row in tagger.tag(TEXTS)]
    assert names == SPANS


def test_evaluate_measures_words_as_seqeval_does(tagger):
    tagger.fit(WORDS, TAGS, batch_size=4, epochs=20, verbose=0)
    # Measured on other tags than those that were learned, so that not all is right.
    tags = [["O"] * 4, ["B-LOC", "B-LOC", "O", "O"], *TAGS[2:]]
    spans = [[], [(0, 3, "LOC"), (4, 8, "LOC")], *SPANS[2:]]
    found = tagger.evaluate(WORDS, tags, batch_size=4, verbose=0, return_dict=True)
    expected = scores_of(tagger, WORDS, tags)
    assert 0.5 < expected["entity_f1"] < 0.9
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    texts = tagger.evaluate(TEXTS, spans, batch_size=4, verbose=0, return_dict=True)
    assert texts == pytest.approx(found, rel=1e-5)


def test_plain_labels_are_measured_by_accuracy_alone(tokenizer):
    tagger = make_tagger(tokenizer, labels=["O", "PER", "LOC"])
    tags = [[tag[2:] or "O" for tag in row] for row in TAGS]
    assert set(tagger.fit(WORDS, tags, verbose=0).history) == {"loss", "token_accuracy"}


def test_spans_that_tag_gives_can_be_trained_on(tagger):
    found = tagger.tag(TEXTS)
    assert any(found)
    tagger.fit(TEXTS, found, verbose=0)
    tagger.evaluate(TEXTS, found, verbose=0)


class Rows:
    """Single examples as dicts, as a Hugging Face dataset gives them."""

    def __init__(self, name, x, y):
        self.rows = [{name: each, "label": label} for each, label in zip(x, y, strict=True)]

    def __len__(self):
        return len(self.rows)

    def __iter__(self):
        return iter(self.rows)


def tf_rows():
    import tensorflow as tf

    signature = {name: tf.TensorSpec((None,), tf.string) for name in ("tokens", "label")}
    return tf.data.Dataset.from_generator(
        lambda: iter(Rows("tokens", WORDS, TAGS)), output_signature=signature
    )


DATASETS = {
    "rows of words": lambda: Rows("tokens", WORDS, TAGS),
    "rows of texts": lambda: Rows("text", TEXTS, SPANS),
    "batches": lambda: ((WORDS[i : i + 2], TAGS[i : i + 2]) for i in (0, 2, 4)),
    "batches of dicts": lambda: (
        {"tokens": WORDS[i : i + 3], "label": TAGS[i : i + 3]} for i in (0, 3)
    ),
    "tf.data": tf_rows,
}


@pytest.mark.parametrize("dataset", DATASETS)
def test_datasets_are_evaluated_and_predicted_as_lists_are(tagger, dataset):
    expected = tagger.evaluate(WORDS, TAGS, batch_size=6, verbose=0, return_dict=True)
    found = tagger.evaluate(DATASETS[dataset](), batch_size=6, verbose=0, return_dict=True)
    assert found["token_accuracy"] == pytest.approx(expected["token_accuracy"])
    assert found["entity_f1"] == pytest.approx(expected["entity_f1"])


@pytest.mark.parametrize("dataset", ["rows of words", "tf.data"])
def test_datasets_train(tagger, dataset):
    before = tagger.evaluate(WORDS, TAGS, verbose=0)[0]
    tagger.fit(DATASETS[dataset](), batch_size=3, epochs=1, verbose=0)
    assert tagger.evaluate(WORDS, TAGS, verbose=0)[0] < before


# ------------------------------------------------------------------ saving


def test_what_is_saved_tags_alike(tagger, tmp_path):
    tagger.preprocessor = TokenClassifierPreprocessor(
        tagger.preprocessor.tokenizer, 20, 4, label_all_tokens=True
    )
    tagger.fit(WORDS, TAGS, verbose=0)
    expected = tagger.tag(TEXTS)
    tagger.save_to_preset(tmp_path / "preset")
    tagger.save(tmp_path / "model.keras")
    tagger.export_to_transformers(tmp_path / "exported")
    preset = TokenClassifier.from_preset(tmp_path / "preset")
    archive = keras.saving.load_model(tmp_path / "model.keras")
    for again in (preset, archive):
        assert again.preprocessor.sequence_length == 20
        assert again.preprocessor.stride == 4
        assert again.preprocessor.label_all_tokens
    for again in (preset, archive, TokenClassifier.from_preset(tmp_path / "exported")):
        assert again.labels == LABELS
        assert_close(again.tag(TEXTS), expected)
    assert archive.evaluate(WORDS, TAGS, verbose=0) == pytest.approx(
        tagger.evaluate(WORDS, TAGS, verbose=0), rel=1e-4
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_tags(tokenizer, family):
    tagger = make_tagger(tokenizer, family=family, changes={"num_layers": 1}, sequence_length=12)
    tagger.compile(run_eagerly=True)
    found = tagger.predict_tags([*WORDS, ALL_WORDS])
    assert [len(row) for row in found] == [*map(len, WORDS), sum(map(len, WORDS))]
    assert {tag for row in found for tag in row} <= set(LABELS)


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (WORDS, [[None] * len(row) for row in WORDS], "nothing to learn.*6 rows"),
        (TEXTS, None, "need labels.*y=None"),
        ([["\u200b"], []], [["O"], []], "nothing to learn"),
        ([], [], "at least one example"),
        ({"tokens": []}, [], "at least one example"),
        (WORDS, TAGS[:5], "same number of examples. Received: 6 in x, 5 in y"),
        (WORDS, [*TAGS[:5], ["O"]], "1 tags for 4 words in example 5"),
        (WORDS, [*TAGS[:5], ["O", "O", "O", "B-ORG"]], "'B-ORG' at position 3 of example 5"),
        (TEXTS, TAGS, "Tags of words need lists of words"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*became no token")
def test_what_cannot_be_trained_on_is_named(tagger, x, y, message):
    with pytest.raises(ValueError, match=message):
        tagger.fit(x, y, verbose=0)


def test_arrays_without_any_label_are_refused(tagger, tokenizer):
    inputs = tagger.preprocessor(TEXTS)
    with pytest.raises(ValueError, match="nothing to learn"):
        tagger.fit(inputs, np.full(inputs["token_ids"].shape, -100), verbose=0)


def test_nothing_is_tagged_as_nothing(tagger):
    assert tagger.tag([]) == tagger.predict_tags([]) == []
    assert tagger.tag([[], []]) == tagger.tag(["", " "]) == [[], []]
    assert tagger.predict_tags([[], ["\u200b", "so"]])[0] == []
    assert tagger.predict_tags([[], ["\u200b", "so"]])[1][0] == "O"


def test_unfitting_calls_are_refused(tagger, tokenizer):
    with pytest.raises(ValueError, match=r"one of \['none'.*Received: aggregation='last'"):
        tagger.tag(TEXTS, aggregation="last")
    with pytest.raises(ValueError, match=r"one of \['first', 'average', 'max'\].*'none'"):
        tagger.predict_tags(WORDS, aggregation="none")
    with pytest.raises(TypeError, match="takes lists of words"):
        tagger.predict_tags(TEXTS)
    with pytest.raises(TypeError, match="Texts or lists of words"):
        tagger.tag(3)


@pytest.mark.parametrize("cls", [None, kerasbert.TextClassifierPreprocessor])
def test_words_need_their_preprocessor(tokenizer, cls):
    tagger = make_tagger(tokenizer)
    tagger.preprocessor = cls and cls(tokenizer, sequence_length=64)
    for use in (
        lambda: tagger.tag(TEXTS),
        lambda: tagger.predict_tags(WORDS),
        lambda: tagger.fit(TEXTS, SPANS, verbose=0),
    ):
        with pytest.raises(ValueError, match=r"`TokenClassifierPreprocessor`|has no preprocessor"):
            use()


# ------------------------------------------------------------------ real data


@pytest.mark.slow
@pytest.mark.real_data
def test_real_names_are_learned_in_a_short_training(data_folder):
    train, dev = (
        kerasbert.data.read_conll(data_folder / "wnut17" / f"{part}.conll")
        for part in ("train", "dev")
    )
    pairs = [
        (words, tags)
        for words, tags in zip(train.words, train.tags, strict=True)
        if len(words) <= 18 and set(tags) != {"O"}
    ]
    words, tags = map(list, zip(*pairs[:640], strict=True))
    tagger = TokenClassifier.from_preset(demo_encoder(), labels=train.labels())
    tagger.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=8e-4))
    tagger.fit(words, tags, epochs=3, batch_size=16, verbose=0)
    dev_words, dev_tags = dev.words[:300], dev.tags[:300]
    found = tagger.predict_tags(dev_words)
    # The majority is "O", with which no name is found.
    majority = [["O"] * len(row) for row in dev_tags]
    assert f1_score(dev_tags, majority) == 0
    assert f1_score(dev_tags, found) > 0.2
