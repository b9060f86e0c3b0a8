import json
import random
import struct

from tokenizers import Tokenizer as RustTokenizer
from tokenizers import models

from kerasbert.text.exact_scores import exact_decimal, exact_unigram, with_exact_scores


def single_precision(count):
    """Scores as SentencePiece stores them."""
    draw = random.Random(5)
    return [struct.unpack("<f", struct.pack("<f", draw.uniform(-20, 0)))[0] for _ in range(count)]


def scores_of(rust):
    return [score for _, score in json.loads(rust.to_str())["model"]["vocab"]]


def test_written_scores_are_read_exactly_by_the_rust_library():
    scores = [0.0, -100.0, -0.5, *single_precision(3000)]
    pieces = [(f'piece "{index}", "vocab": null', score) for index, score in enumerate(scores)]
    text = RustTokenizer(models.Unigram(pieces, unk_id=0)).to_str()
    inexact = sum(
        a != b for a, b in zip(scores_of(RustTokenizer.from_str(text)), scores, strict=True)
    )
    assert inexact > 300
    written = with_exact_scores(text)
    assert json.loads(written) == json.loads(text)
    found = scores_of(RustTokenizer.from_str(written))
    assert sum(a != b for a, b in zip(found, scores, strict=True)) <= 3


def test_decimals_are_the_number_itself():
    for score in [0.0, -1.0, 1e-5, -1e-12, 123456.75, *single_precision(2000)]:
        assert float(exact_decimal(score)) == score


def test_scores_of_a_file_are_taken_as_python_reads_them():
    scores = single_precision(200)
    pieces = [[str(index), score] for index, score in enumerate(scores)]
    model = exact_unigram({"vocab": pieces, "unk_id": 0})
    assert scores_of(RustTokenizer(model)) == scores
