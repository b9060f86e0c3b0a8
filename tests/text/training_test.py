import json
import os
import subprocess
import sys

import pytest

from kerasbert.text.tokenizer import Tokenizer

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def test_special_tokens_come_first_and_the_size_is_not_exceeded(hard_texts):
    for size in (7, 8, 30, 200, 100_000):
        vocabulary = Tokenizer.train(hard_texts, size).get_vocabulary()
        assert vocabulary[:5] == SPECIAL
        assert len(vocabulary) <= size
        assert len(set(vocabulary)) == len(vocabulary)


def test_merges_follow_the_counts_of_pairs():
    # "ab" occurs 5 times, "cd" 3 times, everything else is rarer: worked out by hand.
    texts = ["ab ab ab abcd cd cd ab"]
    vocabulary = Tokenizer.train(texts, 13).get_vocabulary()
    assert vocabulary[5:] == ["##b", "##c", "##d", "a", "b", "c", "d", "ab"]
    assert Tokenizer.train(texts, 14).get_vocabulary()[-1] == "cd"


def test_training_stops_where_no_pair_occurs_twice():
    assert Tokenizer.train(["ab"], 1000).get_vocabulary()[5:] == ["##b", "a", "b"]


def test_rare_characters_give_way_to_frequent_ones():
    tokenizer = Tokenizer.train(["a a a z a a"], 7)
    assert tokenizer.get_vocabulary()[5:] == ["a", "z"]
    tokenizer = Tokenizer.train(["a a a y a a b b z"], 7)
    assert tokenizer.get_vocabulary()[5:] == ["a", "b"]
    assert tokenizer.encode("z").ids == [2, 1, 3]


def test_pieces_on_both_sides_of_a_dropped_character_are_not_joined():
    # Room for a and b only; "azb" must not teach "ab".
    texts = ["azb azb azb azb", "aaaa bbbb"]
    vocabulary = Tokenizer.train(texts, 10).get_vocabulary()
    assert vocabulary[5:9] == ["##a", "##b", "a", "b"]
    assert "ab" not in vocabulary


def test_special_tokens_in_the_texts_teach_nothing_odd():
    vocabulary = Tokenizer.train(["[SEP] [MASK]"] * 3, 60).get_vocabulary()
    assert "sep" in vocabulary
    assert "mask" in vocabulary
    assert not any(piece.startswith("[") and len(piece) > 1 for piece in vocabulary[5:])


def test_the_same_texts_give_the_same_vocabulary_in_another_process(hard_texts):
    code = (
        "import json, sys\n"
        "sys.modules['tensorflow'] = None  # For speed: it takes seconds to import.\n"
        "from kerasbert.text.tokenizer import Tokenizer\n"
        "texts, size = json.load(sys.stdin)\n"
        "print(json.dumps(Tokenizer.train(texts, size).get_vocabulary()))\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps([hard_texts, 350]),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": "1", "KERAS_BACKEND": "jax"},
        check=True,
    )
    found = [json.loads(process.stdout.splitlines()[-1])]
    found += [Tokenizer.train(hard_texts, 350).get_vocabulary() for _ in range(4)]
    assert all(vocabulary == found[0] for vocabulary in found)


def test_case_and_accents_are_kept_on_request():
    texts = ["Zürich Zürich zurich"]
    uncased, cased = Tokenizer.train(texts, 60), Tokenizer.train(texts, 60, lowercase=False)
    assert uncased.encode("ZÜRICH").tokens == ["[CLS]", "zurich", "[SEP]"]
    assert cased.encode("Zürich").tokens == ["[CLS]", "Zürich", "[SEP]"]
    assert "[UNK]" in cased.encode("ZÜRICH").tokens


def test_any_iterable_of_texts_is_taken():
    expected = Tokenizer.train(["wake me"] * 2, 60)
    assert Tokenizer.train((text for text in ["wake me"] * 2), 60).same_vocabulary(expected)
    assert Tokenizer.train(("wake me", "wake me"), 60).same_vocabulary(expected)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((["a"], 6), ValueError, "at least 7"),
        ((["a"], 60.0), TypeError, "must be an int"),
        ((["a"], 60, "bpe"), ValueError, "model='bpe'"),
        (([], 60), ValueError, "0 texts"),
        ((["", " "], 60), ValueError, "2 texts"),
        (("one text", 60), TypeError, "not one string"),
        ((["a", None], 60), TypeError, r"texts\[1\]=None"),
    ],
)
def test_wrong_arguments_are_clear_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        Tokenizer.train(*arguments)
