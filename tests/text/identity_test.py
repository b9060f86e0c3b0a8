"""Ids, offsets, words and segments are those of `transformers` for every kind of tokenizer."""

import json
import shutil

import pytest
import transformers

from kerasbert.text.tokenizer import Tokenizer
from tests.text import adversarial
from tests.text.kinds import KINDS

CHUNK = 5000


@pytest.fixture(scope="module", params=KINDS.keys())
def folder(request, tmp_path_factory):
    return KINDS[request.param].make(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def theirs(folder):
    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def ours(folder):
    return Tokenizer.from_preset(folder)


def assert_same(ours, theirs, texts, seconds=None):
    for start in range(0, len(texts), CHUNK):
        firsts = texts[start : start + CHUNK]
        pairs = [(text,) for text in firsts]
        given = [firsts]
        if seconds is not None:
            given.append(seconds[start : start + CHUNK])
            pairs = zip(*given, strict=True)
        flags = {"return_offsets_mapping": True, "return_token_type_ids": True}
        expected = theirs(*given, **flags)
        for index, pair in enumerate(pairs):
            found = ours.encode(*pair)
            assert found.ids == expected["input_ids"][index], pair
            assert found.offsets == expected["offset_mapping"][index], pair
            assert found.segment_ids == expected["token_type_ids"][index], pair
            assert found.word_ids == expected.word_ids(index), pair


def test_two_thousand_adversarial_strings_are_encoded_as_by_transformers(ours, theirs):
    assert_same(ours, theirs, adversarial.texts(2000, seed=2))


def test_pairs_are_encoded_as_by_transformers(ours, theirs):
    texts = adversarial.texts(500, seed=3)
    assert_same(ours, theirs, texts, texts[1:] + texts[:1])


@pytest.fixture(scope="module")
def hundred_thousand_texts():
    return adversarial.texts(100_000, seed=4)


@pytest.mark.slow
def test_a_hundred_thousand_adversarial_strings_are_encoded_as_by_transformers(
    ours, theirs, hundred_thousand_texts
):
    assert_same(ours, theirs, hundred_thousand_texts)


def test_special_tokens_are_those_of_transformers(ours, theirs):
    assert ours.vocabulary_size() == len(theirs)
    assert ours.pad_token_id == theirs.pad_token_id
    assert ours.unknown_token_id == theirs.unk_token_id
    assert ours.cls_token_id == theirs.cls_token_id
    assert ours.sep_token_id == theirs.sep_token_id
    assert ours.mask_token_id == theirs.mask_token_id


def test_tokens_and_scores_are_those_of_transformers(ours, theirs):
    expected = json.loads(theirs.backend_tokenizer.to_str())["model"]["vocab"]
    assert json.loads(ours.rust.to_str())["model"]["vocab"] == expected


def test_a_saved_folder_gives_the_same_encodings_in_transformers(ours, tmp_path, folder):
    shutil.copy(folder / "config.json", tmp_path)
    ours.save(tmp_path)
    saved = transformers.AutoTokenizer.from_pretrained(tmp_path)
    texts = adversarial.texts(300, seed=5)
    assert_same(ours, saved, texts)
    assert_same(ours, saved, texts, texts[::-1])
    assert saved.mask_token_id == ours.mask_token_id
    assert len(saved) == ours.vocabulary_size()


def test_long_rows_of_a_character_are_cut_alike_after_saving(ours, theirs, tmp_path):
    # Where pieces of several lengths fit, only the last bits of sums of scores decide.
    texts = [character * length for character in ".a-字 0" for length in range(40, 160, 7)]
    ours.save(tmp_path)
    assert_same(ours, transformers.AutoTokenizer.from_pretrained(tmp_path), texts)
    theirs.save_pretrained(tmp_path / "theirs")
    assert_same(Tokenizer.from_preset(tmp_path / "theirs"), theirs, texts)


def test_what_transformers_saves_gives_the_same_encodings(theirs, tmp_path):
    theirs.save_pretrained(tmp_path)
    again = Tokenizer.from_preset(tmp_path)
    texts = adversarial.texts(300, seed=6)
    assert_same(again, theirs, texts)
    assert_same(again, theirs, texts, texts[::-1])
