import json
import time
import warnings

import keras
import numpy as np
import pytest
import tokenizers
import transformers

from kerasbert.text.preprocessor import TextClassifierPreprocessor
from kerasbert.text.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def tokenizer(hard_texts):
    return Tokenizer.train(hard_texts, 400)


@pytest.fixture(scope="module")
def theirs(tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    tokenizer.save(folder)
    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.fixture
def preprocessor(tokenizer):
    return TextClassifierPreprocessor(tokenizer)


def assert_same_batch(found, expected):
    assert found["token_ids"].tolist() == expected["input_ids"]
    assert found["segment_ids"].tolist() == expected["token_type_ids"]
    assert found["padding_mask"].tolist() == expected["attention_mask"]


@pytest.mark.filterwarnings("ignore:.*were truncated")
@pytest.mark.parametrize("limit", [3, 4, 5, 17, 512])
def test_texts_are_truncated_and_padded_as_by_transformers(limit, tokenizer, theirs, hard_texts):
    preprocessor = TextClassifierPreprocessor(tokenizer, sequence_length=limit)
    found = preprocessor(hard_texts)
    width = found["token_ids"].shape[1]
    expected = theirs(hard_texts, truncation=True, max_length=limit, padding="max_length")
    assert_same_batch(found, {key: [row[:width] for row in rows] for key, rows in expected.items()})
    assert all(sum(row[width:]) == 0 for row in expected["attention_mask"])


@pytest.mark.filterwarnings("ignore:.*were truncated")
@pytest.mark.parametrize("limit", [4, 5, 6, 7, 12, 13])
def test_pairs_are_truncated_longest_first_as_by_transformers(limit, tokenizer, theirs):
    texts = [" ".join("a" for _ in range(a)) for a in range(12) for _ in range(12)]
    seconds = [" ".join("a" for _ in range(b)) for _ in range(12) for b in range(12)]
    preprocessor = TextClassifierPreprocessor(tokenizer, sequence_length=limit)
    found = preprocessor({"text": texts, "text_pair": seconds})
    expected = theirs(texts, seconds, truncation=True, max_length=limit, padding="max_length")
    assert_same_batch(found, expected)


def test_roberta_pairs_have_its_separators(tmp_path, hard_texts):
    trained = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(hard_texts, 400, show_progress=False, special_tokens=special)
    trained.save_model(str(tmp_path))
    theirs = transformers.RobertaTokenizerFast.from_pretrained(tmp_path)
    preprocessor = TextClassifierPreprocessor(Tokenizer.from_preset(tmp_path), buckets=())
    found = preprocessor({"text": hard_texts[:8], "text_pair": hard_texts[1:9]})
    expected = theirs(
        hard_texts[:8],
        hard_texts[1:9],
        padding="max_length",
        max_length=512,
        return_token_type_ids=True,
    )
    assert_same_batch(found, expected)


def test_short_texts_are_padded_to_the_smallest_bucket(preprocessor):
    assert preprocessor(["wake me"])["token_ids"].shape == (1, 16)
    assert preprocessor(["a " * 14])["token_ids"].shape == (1, 16)
    assert preprocessor(["a " * 15])["token_ids"].shape == (1, 32)
    assert preprocessor([""])["padding_mask"].sum() == 2
    assert preprocessor([])["token_ids"].shape == (0, 16)


def test_one_text_is_a_batch_of_one(preprocessor):
    assert preprocessor("wake me")["token_ids"].tolist() == (
        preprocessor(["wake me"])["token_ids"].tolist()
    )


def test_labels_and_weights_are_handed_through(preprocessor):
    labels, weights = np.array([1, 0]), np.array([1.0, 0.5])
    inputs = preprocessor(["a", "b"])
    assert set(inputs) == {"token_ids", "segment_ids", "padding_mask"}
    x, y = preprocessor(["a", "b"], labels)
    assert y is labels
    assert x["token_ids"].tolist() == inputs["token_ids"].tolist()
    x, y, sample_weight = preprocessor(["a", "b"], labels, weights)
    assert sample_weight is weights


def test_truncation_warns_once_and_counts(tokenizer):
    preprocessor = TextClassifierPreprocessor(tokenizer, sequence_length=8)
    texts = ["a " * 6, "a " * 7, "", "a " * 100]
    with pytest.warns(UserWarning, match="2 of 4 examples were longer than 8 tokens") as caught:
        preprocessor(texts)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_text_of_513_tokens_is_reported_and_one_of_512_is_not(preprocessor):
    with pytest.warns(UserWarning, match="1 of 1 .* 512"):
        assert preprocessor.tokenize(["a " * 511]).lengths.tolist() == [512]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert preprocessor.tokenize(["a " * 510]).lengths.tolist() == [512]


def test_long_pairs_take_no_more_memory_than_their_tokens(tokenizer):
    # The Rust library's own truncation builds a thousand times a thousand overflowing windows.
    preprocessor = TextClassifierPreprocessor(tokenizer, sequence_length=32)
    text = "a " * 20_000
    with pytest.warns(UserWarning, match="1 of 1"):
        assert preprocessor({"text": text, "text_pair": text})["padding_mask"].sum() == 32


def test_many_texts_are_tokenized_in_chunks_and_in_order(preprocessor, tokenizer):
    texts = [f"{index} a" for index in range(9000)]
    start = time.perf_counter()
    examples = preprocessor.tokenize(texts)
    seconds = time.perf_counter() - start
    assert seconds < 5  # The floor of 10,000 a second, five times over for busy machines.
    for index in (0, 4095, 4096, 8999):
        row = examples.batch([index])
        ids = row["token_ids"][row["padding_mask"] == 1]
        assert ids.tolist() == tokenizer.encode(texts[index]).ids


@pytest.mark.parametrize("limit", [1, 2])
def test_a_limit_without_room_for_text_is_an_error(limit, tokenizer):
    preprocessor = TextClassifierPreprocessor(tokenizer, sequence_length=limit)
    with pytest.raises(ValueError, match=f"2 special tokens. Received: sequence_length={limit}"):
        preprocessor("a")


def test_a_limit_without_room_for_a_pair_is_an_error(tokenizer):
    preprocessor = TextClassifierPreprocessor(tokenizer, sequence_length=3)
    assert preprocessor("a")["token_ids"].shape == (1, 3)
    with pytest.raises(ValueError, match="3 special tokens"):
        preprocessor({"text": "a", "text_pair": "b"})


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (("a", "b"), TypeError, r"tuple.*text_pair"),
        ((["a"], ["b"]), TypeError, r"tuple.*text_pair"),
        (["a", None], TypeError, r"x\[1\]=None"),
        ({"text": ["a"], "text_pair": ["b", 3]}, TypeError, r"text_pair\[1\]=3"),
        ({"text": ["a", "b"], "text_pair": ["c"]}, ValueError, "2 and 1 texts"),
        ({"text_pair": ["c"]}, ValueError, r"keys=\['text_pair'\]"),
        ({"text": ["a"], "text_pairs": ["c"]}, ValueError, r"keys=\['text', 'text_pairs'\]"),
        (np.zeros((2, 3), np.int32), TypeError, "must hold text"),
    ],
)
def test_wrong_input_is_a_clear_error(x, error, message, preprocessor):
    with pytest.raises(error, match=message):
        preprocessor(x)
    with pytest.raises(error, match=message):
        preprocessor.tokenize(x)


def test_a_vocabulary_without_padding_is_an_error():
    model = tokenizers.models.WordLevel({"a": 0, "<unk>": 1}, unk_token="<unk>")
    preprocessor = TextClassifierPreprocessor(Tokenizer(tokenizers.Tokenizer(model)))
    with pytest.raises(ValueError, match="no padding token"):
        preprocessor("a")


def test_wrong_limits_are_refused_when_they_are_given(tokenizer):
    with pytest.raises(ValueError, match="`sequence_length`"):
        TextClassifierPreprocessor(tokenizer, sequence_length=0)
    with pytest.raises(ValueError, match="`buckets`"):
        TextClassifierPreprocessor(tokenizer, buckets=(32, 16))


def test_the_limit_can_be_set_anew(tokenizer):
    preprocessor = TextClassifierPreprocessor(tokenizer)
    preprocessor.sequence_length = 20
    assert preprocessor.buckets == (16, 20)


def test_the_configuration_makes_the_same_preprocessor(tokenizer, tmp_path):
    preprocessor = TextClassifierPreprocessor(tokenizer, sequence_length=24, buckets=(8, 20))
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(preprocessor)))
    again = keras.saving.deserialize_keras_object(config)
    assert again.get_config() == preprocessor.get_config()
    assert again.buckets == (8, 20, 24)
    with pytest.raises(ValueError, match="no vocabulary yet"):
        again("wake me")
    tokenizer.save_assets(tmp_path)
    again.tokenizer.load_assets(tmp_path)
    assert again("wake me")["token_ids"].tolist() == preprocessor("wake me")["token_ids"].tolist()


@keras.saving.register_keras_serializable(package="kerasbert_tests")
class ModelWithPreprocessor(keras.Model):
    def __init__(self, preprocessor, **kwargs):
        super().__init__(**kwargs)
        self.preprocessor = preprocessor
        self.dense = keras.layers.Dense(2)

    def call(self, x):
        return self.dense(x)

    def get_config(self):
        preprocessor = keras.saving.serialize_keras_object(self.preprocessor)
        return {**super().get_config(), "preprocessor": preprocessor}

    @classmethod
    def from_config(cls, config):
        preprocessor = keras.saving.deserialize_keras_object(config.pop("preprocessor"))
        return cls(preprocessor, **config)


def test_a_keras_file_carries_the_vocabulary(preprocessor, tmp_path):
    model = ModelWithPreprocessor(preprocessor)
    model(keras.ops.ones((1, 3)))
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras").preprocessor
    assert again("wake me")["token_ids"].tolist() == preprocessor("wake me")["token_ids"].tolist()
    assert again.tokenizer.special_token_ids == preprocessor.tokenizer.special_token_ids
