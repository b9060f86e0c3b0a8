"""Texts with choices as an encoder's input, against the tokenizers of `transformers`."""

import keras
import numpy as np
import pytest
import tokenizers
import torch
import transformers
from transformers.models.longformer import modeling_longformer

from kerasbert.text import MultipleChoicePreprocessor, Tokenizer

TEXTS = ["she sat at the piano", "he was hungry and it was very late in the day", ""]
CHOICES = [
    ["and played a song", "and ate it", "song"],
    ["an apple", "and ate an apple that was on the table beside him", ""],
    ["it", "she", "he was hungry"],
]
WORDS = [*TEXTS, *(choice for row in CHOICES for choice in row)]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(WORDS, vocabulary_size=120)


@pytest.fixture(scope="module")
def roberta_folder(tmp_path_factory):
    trained = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(WORDS, 400, show_progress=False, special_tokens=special)
    folder = tmp_path_factory.mktemp("roberta")
    trained.save_model(str(folder))
    return folder


def expected_batch(theirs, texts, choices, **options):
    """As the examples of `transformers` for SWAG prepare it."""
    count = len(choices[0])
    rows = [text for text in texts for _ in range(count)]
    flat = [choice for row in choices for choice in row]
    encoded = theirs(
        rows, flat, padding="max_length", truncation=True, return_token_type_ids=True, **options
    )
    return {name: np.reshape(rows, (len(texts), count, -1)) for name, rows in encoded.items()}


@pytest.mark.filterwarnings("ignore:.*were truncated")
@pytest.mark.parametrize("limit", [5, 8, 13, 64])
@pytest.mark.parametrize("kind", ["word piece", "byte BPE"])
def test_batches_are_those_of_transformers(kind, limit, tokenizer, roberta_folder, tmp_path):
    if kind == "word piece":
        tokenizer.save(tmp_path)
        theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
        ours = tokenizer
    else:
        theirs = transformers.RobertaTokenizerFast.from_pretrained(roberta_folder)
        ours = Tokenizer.from_preset(roberta_folder)
        limit += 1  # four special tokens must leave room
    preprocessor = MultipleChoicePreprocessor(ours, sequence_length=limit, buckets=())
    found = preprocessor({"text": TEXTS, "choices": CHOICES})
    expected = expected_batch(theirs, TEXTS, CHOICES, max_length=limit)
    np.testing.assert_array_equal(found["token_ids"], expected["input_ids"])
    np.testing.assert_array_equal(found["segment_ids"], expected["token_type_ids"])
    np.testing.assert_array_equal(found["padding_mask"], expected["attention_mask"])
    assert {array.dtype.name for array in found.values()} == {"int32"}


@pytest.mark.filterwarnings("ignore:.*were truncated")
@pytest.mark.parametrize("limit", [9, 64])
def test_global_tokens_are_those_of_transformers(roberta_folder, limit):
    tokenizer = Tokenizer.from_preset(roberta_folder)
    preprocessor = MultipleChoicePreprocessor(tokenizer, sequence_length=limit)
    batch = preprocessor({"text": TEXTS, "choices": CHOICES})
    flat = torch.tensor(batch["token_ids"]).flatten(0, 1)
    theirs = modeling_longformer._compute_global_attention_mask(
        flat, tokenizer.sep_token_id, before_sep_token=False
    )
    # Their mask reaches over the padding, which nothing sees.
    expected = theirs.numpy().reshape(batch["token_ids"].shape) * batch["padding_mask"]
    np.testing.assert_array_equal(batch["global_mask"], expected)
    assert expected.any(axis=-1).all()


def test_a_batch_is_as_wide_as_its_longest_choice_needs(tokenizer):
    preprocessor = MultipleChoicePreprocessor(tokenizer, buckets=(8, 16, 32, 64))
    examples = preprocessor.tokenize({"text": TEXTS, "choices": CHOICES})
    assert len(examples) == examples.num_inputs == 3
    pairs = [
        [len(tokenizer.encode(text, choice).ids) for choice in row]
        for text, row in zip(TEXTS, CHOICES, strict=True)
    ]
    assert examples.lengths.tolist() == [max(row) for row in pairs]
    widths = [examples.batch([row])["token_ids"].shape for row in range(3)]
    buckets = [next(width for width in (8, 16, 32, 64) if width >= max(row)) for row in pairs]
    assert len(set(buckets)) > 1
    assert widths == [(1, 3, width) for width in buckets]
    assert examples.width_of(np.array([2, -1])) == buckets[2]
    filled = examples.batch([1, -1])
    assert all(not array[1].any() for array in filled.values())  # the padding id is 0
    np.testing.assert_array_equal(filled["token_ids"][0], examples.batch([1])["token_ids"][0])


def test_each_text_is_tokenized_once(tokenizer, monkeypatch):
    counts = []
    original = MultipleChoicePreprocessor._token_ids

    def note(self, texts):
        counts.append(len(texts))
        return original(self, texts)

    monkeypatch.setattr(MultipleChoicePreprocessor, "_token_ids", note)
    MultipleChoicePreprocessor(tokenizer)({"text": TEXTS, "choices": CHOICES})
    assert sorted(counts) == [3, 9]


def test_one_example_may_stand_alone(tokenizer):
    preprocessor = MultipleChoicePreprocessor(tokenizer)
    expected = preprocessor({"text": TEXTS[:1], "choices": CHOICES[:1]})["token_ids"]
    forms = [
        {"text": TEXTS[0], "choices": CHOICES[0]},
        {"text": TEXTS[:1], "choices": [tuple(CHOICES[0])]},
        {"text": np.array(TEXTS[:1]), "choices": np.array(CHOICES[:1])},
        {"text": TEXTS[0].encode(), "choices": np.array(CHOICES[0], dtype=object)},
    ]
    for x in forms:
        np.testing.assert_array_equal(preprocessor(x)["token_ids"], expected)


def test_choices_that_are_whole_texts_stand_alone(tokenizer):
    preprocessor = MultipleChoicePreprocessor(tokenizer)
    for x in ({"choices": CHOICES}, CHOICES):
        batch = preprocessor(x)
        assert "global_mask" not in batch
        for row, choices in zip(batch["token_ids"], CHOICES, strict=True):
            for ids, choice in zip(row, choices, strict=True):
                assert ids[ids != 0].tolist() == tokenizer.encode(choice).ids


def test_one_choice_and_many_are_as_good(tokenizer):
    preprocessor = MultipleChoicePreprocessor(tokenizer)
    for count in (1, 2, 7):
        batch = preprocessor({"text": TEXTS, "choices": [["it"] * count] * 3})
        assert batch["token_ids"].shape[:2] == (3, count)


def test_truncation_warns_once(tokenizer):
    preprocessor = MultipleChoicePreprocessor(tokenizer, sequence_length=12)
    pairs = zip(TEXTS, CHOICES, strict=True)
    lengths = [len(tokenizer.encode(text, each).ids) for text, row in pairs for each in row]
    message = f"{sum(length > 12 for length in lengths)} of 9 examples were longer than 12 tokens"
    with pytest.warns(UserWarning, match=message) as caught:
        preprocessor({"text": TEXTS, "choices": CHOICES})
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_dataset_element_is_one_example_or_a_batch():
    is_one = MultipleChoicePreprocessor.is_one
    assert is_one({"text": "a", "choices": ["b", "c"]})
    assert is_one({"text": np.array("a"), "choices": np.array(["b", "c"])})
    assert is_one({"choices": ["b", "c"]})
    assert is_one(["b", "c"])
    assert not is_one({"text": ["a"], "choices": [["b", "c"]]})
    assert not is_one({"choices": [["b", "c"]]})
    assert not is_one(np.array([["b", "c"]]))


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ({"text": TEXTS, "choices": [["a", "b"], ["a"], ["b", "a"]]}, ValueError, "1 at pos.*1, 2"),
        ({"text": TEXTS, "choices": [["a"], ["a"], []]}, ValueError, "0 at position 2"),
        ({"text": TEXTS, "choices": [[], [], []]}, ValueError, "at least one"),
        ({"text": TEXTS, "choices": [["a"]]}, ValueError, "3 texts, 1 lists"),
        ({"text": TEXTS, "choices": ["a", "b", "c"]}, ValueError, "3 texts, 1 lists"),
        ({"text": "a", "choices": []}, ValueError, "1 texts, 0 lists"),
        ({"text": TEXTS, "endings": CHOICES}, ValueError, "endings"),
        ({"text": TEXTS, "choices": CHOICES, "label": [0, 1, 2]}, ValueError, "label"),
        ({"text": TEXTS, "choices": "abc"}, TypeError, "a list of choices for each"),
        ({"text": TEXTS, "choices": None}, TypeError, "a list of choices for each"),
        ({"text": TEXTS, "choices": [["a"], None, ["b"]]}, TypeError, r"choices\[1\]"),
        ({"text": TEXTS, "choices": [["a"], [3], ["b"]]}, TypeError, r"choices\[1\]\[0\]"),
        ({"text": ["a", None, "b"], "choices": CHOICES}, TypeError, r"text\[1\]"),
    ],
)
def test_bad_input_is_named(tokenizer, x, error, message):
    with pytest.raises(error, match=message):
        MultipleChoicePreprocessor(tokenizer)(x)


def test_settings_survive_a_configuration(tokenizer):
    preprocessor = MultipleChoicePreprocessor(tokenizer, 32, (8,))
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(preprocessor))
    assert type(again) is MultipleChoicePreprocessor
    assert again.get_config() == preprocessor.get_config()
