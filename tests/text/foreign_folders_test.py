"""Tokenizers of KerasHub's presets and of Google's releases."""

import json
import shutil

import keras_hub
import pytest
import sentencepiece

from kerasbert import Tokenizer

TEXTS = ["wake me at seven", "play some jazz, please", "will it rain today?", "naïve cafés"]
WORDS = ["wake", "me", "at", "seven", "play", "some", "jazz", ",", "please", "rain", "##s", "?"]
BERT_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]


@pytest.fixture(scope="module")
def sentence_pieces(tmp_path_factory):
    """A unigram model with ALBERT's special pieces and one with those of the others, as bytes."""
    folder = tmp_path_factory.mktemp("pieces")
    (folder / "texts.txt").write_text("\n".join(TEXTS * 20), encoding="utf-8")

    def train(name, **options):
        sentencepiece.SentencePieceTrainer.train(
            input=str(folder / "texts.txt"),
            model_prefix=str(folder / name),
            vocab_size=60,
            model_type="unigram",
            hard_vocab_limit=False,
            minloglevel=2,
            **options,
        )
        return (folder / f"{name}.model").read_bytes()

    return {
        "albert": train(
            "albert",
            pad_id=0,
            unk_id=1,
            bos_id=-1,
            eos_id=-1,
            pad_piece="<pad>",
            control_symbols="[CLS],[SEP],[MASK]",
        ),
        "xlm_roberta": train("xlm_roberta"),
        "deberta": train(
            "deberta",
            pad_id=0,
            bos_id=1,
            eos_id=2,
            unk_id=3,
            pad_piece="[PAD]",
            bos_piece="[CLS]",
            eos_piece="[SEP]",
            unk_piece="[UNK]",
        ),
    }


def byte_level():
    """Merges of a few words, and all bytes."""
    trained = Tokenizer.train(TEXTS, vocabulary_size=100)  # only to have some words
    words = [word for word in trained.get_vocabulary() if word.isalpha()]
    symbols = sorted({*"".join(words), "Ġ"} | {chr(code) for code in range(33, 127)})
    merges, known = [], []
    for word in ["Ġ" + word for word in words] + words:
        left = word[0]
        for right in word[1:]:
            if f"{left} {right}" not in merges:
                merges.append(f"{left} {right}")
                known.append(left + right)
            left += right
    tokens = ["<s>", "<pad>", "</s>", "<unk>", *symbols, *known, "<mask>"]
    return {token: index for index, token in enumerate(dict.fromkeys(tokens))}, merges


@pytest.fixture
def keras_hub_tokenizer(sentence_pieces):
    def make(name):
        models = keras_hub.models
        if name == "RobertaTokenizer":
            vocabulary, merges = byte_level()
            return models.RobertaTokenizer(vocabulary=vocabulary, merges=merges)
        pieces = {
            "AlbertTokenizer": "albert",
            "XLMRobertaTokenizer": "xlm_roberta",
            "DebertaV3Tokenizer": "deberta",
        }
        if name in pieces:
            return getattr(models, name)(proto=sentence_pieces[pieces[name]])
        return getattr(models, name)(vocabulary=BERT_VOCABULARY, lowercase=True)

    return make


@pytest.mark.parametrize(
    "name",
    [
        "BertTokenizer",
        "DistilBertTokenizer",
        "ElectraTokenizer",
        "RobertaTokenizer",
        "AlbertTokenizer",
        "XLMRobertaTokenizer",
        "DebertaV3Tokenizer",
    ],
)
def test_ids_are_those_of_keras_hub(name, keras_hub_tokenizer, tmp_path):
    theirs = keras_hub_tokenizer(name)
    theirs.save_to_preset(tmp_path)
    assert Tokenizer.exists_in(tmp_path)
    ours = Tokenizer.from_preset(tmp_path)
    for text in TEXTS[:3]:
        assert ours.tokenize(text) == [int(index) for index in theirs(text)]
    assert ours.vocabulary_size() == theirs.vocabulary_size()
    assert ours.pad_token_id == theirs.pad_token_id
    assert ours.mask_token_id == theirs.mask_token_id


def test_case_and_accents_are_as_keras_hub_has_them(tmp_path):
    for lowercase in (True, False):
        theirs = keras_hub.models.BertTokenizer([*BERT_VOCABULARY, "Play"], lowercase=lowercase)
        theirs.save_to_preset(tmp_path)
        ours = Tokenizer.from_preset(tmp_path)
        assert ours.tokenize("Play jazz") == [int(index) for index in theirs("Play jazz")]


def test_a_preset_of_an_unsupported_tokenizer_says_which_are_supported(tmp_path):
    config = {"class_name": "GPT2Tokenizer", "registered_name": "keras_hub>GPT2Tokenizer"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"BertTokenizer.*GPT2Tokenizer"):
        Tokenizer.from_preset(tmp_path)


def test_a_preset_without_its_vocabulary_says_which_file_is_missing(tmp_path):
    keras_hub.models.BertTokenizer(BERT_VOCABULARY).save_to_preset(tmp_path)
    shutil.rmtree(tmp_path / "assets")
    with pytest.raises(ValueError, match=r"lacks \['vocabulary.txt'\]"):
        Tokenizer.from_preset(tmp_path)


# Google's folders: a checkpoint, whose contents do not matter here, and a vocabulary.


@pytest.fixture
def release(tmp_path):
    (tmp_path / "bert_model.ckpt.index").write_bytes(b"")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "tokens"),
    [
        (["play", "jazz"], ["[CLS]", "play", "jazz", "[SEP]"]),
        (["Play", "jazz", "Jazz"], ["[CLS]", "Play", "jazz", "[SEP]"]),
    ],
)
def test_a_vocabulary_with_capitals_is_a_cased_one(words, tokens, release):
    (release / "vocab.txt").write_text("\n".join([*BERT_VOCABULARY[:5], *words]) + "\n")
    assert Tokenizer.from_preset(release).encode("Play jazz").tokens == tokens


def test_alberts_pieces_are_found_under_their_name(release, sentence_pieces):
    (release / "30k-clean.model").write_bytes(sentence_pieces["albert"])
    assert Tokenizer.exists_in(release)
    tokens = Tokenizer.from_preset(release).encode("Play some jazz", "Naïve").tokens
    assert (tokens[0], tokens[-1], tokens.count("[SEP]")) == ("[CLS]", "[SEP]", 2)
    assert "".join(tokens[1:-1]).replace("▁", " ") == " play some jazz[SEP] naive"


def test_a_checkpoint_without_a_vocabulary_has_no_tokenizer(release):
    assert not Tokenizer.exists_in(release)
