"""Masks of masked language modelling: how many, where, and what stands there."""

import keras
import numpy as np
import pytest
import tokenizers

from kerasbert.text import MaskedLMPreprocessor, Tokenizer
from kerasbert.text.masking import TokenMasking, choose, fixed_draws, fresh_draws

TEXTS = [f"word{index} in a text of some length" for index in range(30)]
# RoBERTa's padding has the id 1, and other special tokens stand around it.
ROBERTA_TOKENS = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS, vocabulary_size=120)


@pytest.fixture(scope="module")
def roberta(tmp_path_factory):
    trained = tokenizers.ByteLevelBPETokenizer()
    trained.train_from_iterator(TEXTS, 400, show_progress=False, special_tokens=ROBERTA_TOKENS)
    folder = tmp_path_factory.mktemp("roberta")
    trained.save_model(str(folder))
    return Tokenizer.from_preset(folder)


def inputs_of(token_ids, padding_mask=None):
    token_ids = np.asarray(token_ids, "int32")
    mask = np.ones_like(token_ids) if padding_mask is None else np.asarray(padding_mask, "int32")
    return {"token_ids": token_ids, "padding_mask": mask}


def masked_by(masking, inputs, seed=0):
    draws = fresh_draws(np.random.default_rng(seed), inputs["token_ids"].shape)
    return masking(inputs, draws)


@pytest.mark.parametrize("rate", [0.15, 0.4])
def test_a_share_of_the_tokens_that_are_not_special_is_chosen_and_at_least_one(tokenizer, rate):
    preprocessor = MaskedLMPreprocessor(tokenizer, buckets=(), rate=rate, sequence_length=64)
    inputs = preprocessor([" ".join(["text"] * count) for count in range(1, 60)])
    masked, labels = preprocessor.mask(inputs)
    # [CLS] and [SEP] do not count
    expected = [max(1, round(rate * count)) for count in range(1, 60)]
    assert (labels >= 0).sum(axis=1).tolist() == expected
    assert masked["token_ids"].dtype == masked["mask_positions"].dtype == labels.dtype == "int32"


def test_labels_are_what_stood_at_the_positions_and_all_else_is_as_it_was(tokenizer):
    preprocessor = MaskedLMPreprocessor(tokenizer)
    inputs = preprocessor(TEXTS)
    before = {name: array.copy() for name, array in inputs.items()}
    masked, labels = preprocessor.mask(inputs)
    rebuilt = masked["token_ids"].copy()
    rows, columns = np.nonzero(labels >= 0)
    places = rows, masked["mask_positions"][rows, columns]
    assert len(set(zip(*places, strict=True))) == len(rows)
    rebuilt[places] = labels[rows, columns]
    np.testing.assert_array_equal(rebuilt, inputs["token_ids"])
    assert (masked["mask_positions"][labels < 0] == 0).all()
    assert (labels[labels < 0] == -100).all()
    for name, array in before.items():
        np.testing.assert_array_equal(inputs[name], array)
        if name != "token_ids":
            np.testing.assert_array_equal(masked[name], array)


def test_ten_thousand_draws_touch_no_special_token_where_padding_has_the_id_1(roberta):
    """transformers#1307, keras-hub#935: special tokens masked, padding id 0 assumed."""
    assert roberta.pad_token_id == 1
    masking = TokenMasking.of(roberta)
    special = np.array(roberta.special_token_ids)
    row = [0, *range(261, 269), 0, 3, 4, 2, 2, 1, 1, 1, 1]  # also some typed by a user
    inputs = inputs_of([row] * 10_000, [[1] * 14 + [0] * 4] * 10_000)
    masked, labels = masked_by(masking, inputs)
    assert not np.isin(labels, special).any()
    is_special = np.isin(row, special)
    np.testing.assert_array_equal(
        masked["token_ids"][:, is_special], inputs["token_ids"][:, is_special]
    )
    changed = masked["token_ids"][masked["token_ids"] != inputs["token_ids"]]
    assert set(special) & set(changed) == {roberta.mask_token_id}


def test_eighty_percent_are_masked_ten_are_random_and_ten_stay(tokenizer):
    masking = TokenMasking.of(tokenizer)
    row = [2, *range(20, 60), 3]
    inputs = inputs_of([row] * 10_000)
    masked, labels = masked_by(masking, inputs)
    rows, columns = np.nonzero(labels >= 0)
    found = masked["token_ids"][rows, masked["mask_positions"][rows, columns]]
    before = labels[rows, columns]
    count = len(found)
    assert count == 60_000
    # A random token is by chance the one that stood there.
    random_share = 0.1 * (1 - 1 / len(masking.replacements))
    is_mask, is_kept = found == tokenizer.mask_token_id, found == before
    shares = {0.8: is_mask, 0.2 - random_share: is_kept, random_share: ~is_mask & ~is_kept}
    for share, happened in shares.items():
        spread = np.sqrt(share * (1 - share) / count)
        assert abs(happened.mean() - share) < 4 * spread
    # Each token has a draw of its own: the number of mask tokens of a row spreads as it should.
    per_row = np.bincount(rows, weights=is_mask)
    assert per_row.var() == pytest.approx(6 * 0.8 * 0.2, rel=0.06)


def test_random_tokens_are_all_tokens_that_are_not_special_alike(tokenizer):
    masking = TokenMasking.of(tokenizer, rate=1.0)
    row = [2, *[20] * 60, 3]
    masked, _ = masked_by(masking, inputs_of([row] * 5_000))
    others = [i for i in range(tokenizer.vocabulary_size()) if i not in tokenizer.special_token_ids]
    counts = np.bincount(masked["token_ids"].ravel(), minlength=tokenizer.vocabulary_size())
    expected = 5_000 * 60 * 0.1 / len(others)
    drawn = counts[[index for index in others if index != 20]]
    assert abs(drawn / expected - 1).max() < 5 / np.sqrt(expected)


def test_every_token_is_chosen_as_often_as_every_other():
    candidates = np.tile([False] + [True] * 10 + [False] * 3, (20_000, 1))
    positions, is_used = choose(candidates, 0.3, np.random.default_rng(0).random((20_000, 14)))
    counts = np.bincount(positions[is_used], minlength=14)
    np.testing.assert_array_equal(counts[~candidates[0]], 0)
    assert abs(counts[1:11] / 6_000 - 1).max() < 5 / np.sqrt(6_000)


def test_batches_of_one_width_have_one_shape_and_rows_without_tokens_have_no_mask(tokenizer):
    preprocessor = MaskedLMPreprocessor(tokenizer, buckets=(16, 32), sequence_length=64)
    examples = preprocessor.tokenize(["text", "text " * 14, "text " * 15, "text " * 40])
    shapes = {}
    for rows in ([0, -1], [1, 0], [1, 1], [2, 0], [2, 2], [3, -1]):
        masked, labels = preprocessor.mask(examples.batch(rows))
        shapes.setdefault(masked["token_ids"].shape, set()).add(labels.shape)
        assert (labels[np.array(rows) < 0] == -100).all()
    # round(0.15 * width)
    assert shapes == {(2, 16): {(2, 2)}, (2, 32): {(2, 5)}, (2, 64): {(2, 10)}}


def test_masks_are_new_each_time_and_a_seed_decides_them(tokenizer):
    def draws(seed):
        preprocessor = MaskedLMPreprocessor(tokenizer, seed=seed)
        inputs = preprocessor(TEXTS)
        return [preprocessor.mask(inputs)[0]["token_ids"].tolist() for _ in range(3)]

    first, second, third = draws(1)
    assert first != second != third != first
    assert draws(1) == [first, second, third]
    assert draws(2)[0] != first
    keras.utils.set_random_seed(5)
    without = draws(None)
    keras.utils.set_random_seed(5)
    assert draws(None) == without


def test_masks_with_keys_are_the_same_in_whatever_batch_a_text_stands(tokenizer):
    preprocessor = MaskedLMPreprocessor(tokenizer)
    examples = preprocessor.tokenize([*TEXTS, "text " * 100])
    short, _ = preprocessor.mask(examples.batch([3, 4]), [3, 4])
    wide, wide_labels = preprocessor.mask(examples.batch([30, 4, -1, 3]), [30, 4, -1, 3])
    np.testing.assert_array_equal(short["token_ids"], wide["token_ids"][[3, 1], :16])
    assert (wide_labels[2] == -100).all()
    assert (short["token_ids"] != preprocessor(TEXTS[3:5])["token_ids"]).any()


def test_fixed_draws_of_different_keys_and_seeds_differ():
    one, two = fixed_draws(0, [1, 2], 5)
    assert (one != two).all()
    assert (fixed_draws(1, [1], 5)[0] != one).all()
    np.testing.assert_array_equal(fixed_draws(0, [2], 9)[0, :5], two)


def test_tokens_added_later_can_be_masked(tokenizer):
    tokenizer = Tokenizer.train(TEXTS, vocabulary_size=120)
    preprocessor = MaskedLMPreprocessor(tokenizer, rate=1.0)
    preprocessor.mask(preprocessor(["a text"]))
    tokenizer.add_tokens(["xylophone"])
    _, labels = preprocessor.mask(preprocessor(["xylophone"]))
    assert tokenizer.token_to_id("xylophone") in labels


# Rows of one mask each


def test_the_row_of_a_token_is_its_text_with_that_token_masked(tokenizer):
    preprocessor = MaskedLMPreprocessor(tokenizer, buckets=())
    texts = ["word1 in a text", "a text of length"]
    rows = preprocessor.rows_of_tokens(texts)
    encoded = [tokenizer.encode(text).ids for text in texts]
    expected = [
        (text, column, ids[column])
        for text, ids in enumerate(encoded)
        for column in range(1, len(ids) - 1)
    ]
    assert len(rows) == len(expected)
    batch = rows.batch([*range(len(rows)), -1])
    assert not batch["padding_mask"][-1].any()
    for at, (text, column, token) in enumerate(expected):
        ids = list(encoded[text])
        ids[column] = tokenizer.mask_token_id
        real = batch["padding_mask"][at].astype(bool)
        assert batch["token_ids"][at][real].tolist() == ids
        assert batch["mask_positions"][at] == [column]
        assert rows.targets[at] == token
        assert rows.origin[at] == text
        assert rows.lengths[at] == len(ids)
    assert [row.tolist() for row in map(rows.whole_texts.__getitem__, (0, 1))] == encoded


@pytest.mark.parametrize("room", [1, 3, 4])
def test_of_a_long_text_a_row_is_what_stands_around_the_mask(tokenizer, room):
    preprocessor = MaskedLMPreprocessor(tokenizer, sequence_length=room + 2)
    ids = tokenizer.encode("word1 word2 in a text").ids[1:-1]
    with pytest.warns(UserWarning, match=f"1 texts were longer than {room + 2} tokens") as caught:
        rows = preprocessor.rows_of_tokens(["word1 word2 in a text", "a"])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    batch = rows.batch(np.arange(len(ids)))
    for place, (row, column) in enumerate(
        zip(batch["token_ids"].tolist(), batch["mask_positions"][:, 0], strict=True)
    ):
        # The window lies within the text, and the mask as near its middle as can be.
        first = min(max(place - room // 2, 0), len(ids) - room)
        expected = ids[first : first + room]
        expected[place - first] = tokenizer.mask_token_id
        assert row == [tokenizer.cls_token_id, *expected, tokenizer.sep_token_id]
        assert row[column] == tokenizer.mask_token_id


def test_masks_in_texts_are_found_where_they_stand(tokenizer):
    preprocessor = MaskedLMPreprocessor(tokenizer)
    rows = preprocessor.rows_of_masks(["a [MASK] of [MASK]", "[MASK]"])
    assert rows.origin.tolist() == [0, 0, 1]
    assert rows.columns(np.arange(3)).tolist() == [2, 4, 1]
    batch = rows.batch([0, 1])
    np.testing.assert_array_equal(batch["token_ids"][0], batch["token_ids"][1])


# Bad input


@pytest.mark.parametrize("rate", [0, -0.1, 1.1, float("nan"), "0.1", True, None])
def test_a_rate_that_is_no_share_is_refused(tokenizer, rate):
    with pytest.raises(ValueError, match="`rate`, the share"):
        MaskedLMPreprocessor(tokenizer, rate=rate)


@pytest.mark.parametrize("seed", [-1, 1.5, "1"])
def test_a_seed_that_is_none_is_refused(tokenizer, seed):
    with pytest.raises(ValueError, match="`seed` must be"):
        MaskedLMPreprocessor(tokenizer, seed=seed)


def test_a_vocabulary_without_a_mask_token_is_one_error_where_masks_are_needed():
    rust = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0, "a": 1}, unk_token="a"))
    preprocessor = MaskedLMPreprocessor(Tokenizer(rust))
    inputs = preprocessor(["a"])
    with pytest.raises(ValueError, match="has no mask token"):
        preprocessor.mask(inputs)
    with pytest.raises(ValueError, match="has no mask token"):
        preprocessor.rows_of_masks(["a"])


def test_a_vocabulary_of_special_tokens_alone_is_refused():
    rust = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[PAD]": 0, "[MASK]": 1}))
    with pytest.raises(ValueError, match="only special tokens"):
        TokenMasking.of(Tokenizer(rust))


def test_texts_without_a_token_that_can_be_masked_are_counted_and_placed(tokenizer):
    preprocessor = MaskedLMPreprocessor(tokenizer)
    preprocessor.check_maskable(preprocessor.tokenize(["a", "text [SEP]"]))
    for empty in ("", " ", "[SEP] [PAD]", "[MASK]", "unknown?"):
        examples = preprocessor.tokenize(["a", empty, "text", empty])
        with pytest.raises(ValueError, match=r"2 of 4 without one, the first at position 1"):
            preprocessor.check_maskable(examples)


def test_settings_survive_a_configuration_and_a_folder(tokenizer, tmp_path):
    preprocessor = MaskedLMPreprocessor(tokenizer, 32, (8,), rate=0.3, seed=4)
    config = preprocessor.get_config()
    assert (config["rate"], config["seed"]) == (0.3, 4)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(preprocessor))
    assert again.get_config() == config
    tokenizer.save(tmp_path)
    assert MaskedLMPreprocessor.from_preset(tmp_path, rate=0.2).rate == 0.2
