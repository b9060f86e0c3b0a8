import copy
import json
import pickle
import subprocess
import sys

import keras
import numpy as np
import pytest
import tokenizers
import transformers

from kerasbert.text.tokenizer import Tokenizer

MODEL_CONFIGS = {
    "bert": {"model_type": "bert"},
    "distilbert": {"model_type": "distilbert"},
    "albert": {"model_type": "albert"},
    "no config.json": None,
}


@pytest.fixture(scope="module")
def tokenizer(hard_texts):
    return Tokenizer.train(hard_texts, 400)


@pytest.mark.parametrize("model_config", MODEL_CONFIGS.values(), ids=MODEL_CONFIGS.keys())
@pytest.mark.parametrize("lowercase", [True, False])
def test_saved_folder_gives_the_same_ids_in_transformers(
    model_config, lowercase, tmp_path, hard_texts, random_texts, assert_same_encodings
):
    ours = Tokenizer.train(hard_texts, 400, lowercase=lowercase)
    ours.add_tokens(["living-room", "Zürich"])
    if model_config:
        (tmp_path / "config.json").write_text(json.dumps(model_config))
    ours.save(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert len(theirs) == ours.vocabulary_size()
    assert theirs.mask_token_id == ours.mask_token_id == 4
    assert_same_encodings(ours, theirs, hard_texts + random_texts[:100])


@pytest.mark.parametrize("lowercase", [True, False])
def test_saved_vocab_txt_alone_gives_the_same_ids_in_transformers(
    lowercase, tmp_path, hard_texts, assert_same_encodings
):
    ours = Tokenizer.train(hard_texts, 400, lowercase=lowercase)
    ours.save(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    theirs = transformers.BertTokenizerFast.from_pretrained(tmp_path)
    assert_same_encodings(ours, theirs, hard_texts)


def test_saved_folder_names_the_inputs_of_the_model(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    inputs = transformers.AutoTokenizer.from_pretrained(tmp_path)("wake", "me")
    assert set(inputs) == {"input_ids", "token_type_ids", "attention_mask"}
    tokenizer.save(tmp_path, model_input_names=["input_ids", "attention_mask"])
    inputs = transformers.AutoTokenizer.from_pretrained(tmp_path)("wake", "me")
    assert set(inputs) == {"input_ids", "attention_mask"}


def test_saving_again_changes_nothing(tokenizer, tmp_path, hard_texts):
    tokenizer.save(tmp_path / "a")
    again = Tokenizer.from_preset(tmp_path / "a")
    again.save(tmp_path / "b")
    names = sorted(file.name for file in (tmp_path / "a").iterdir())
    assert names == ["tokenizer.json", "tokenizer_config.json", "vocab.txt"]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert [again.encode(t) for t in hard_texts] == [tokenizer.encode(t) for t in hard_texts]


def test_a_preset_folder_keeps_its_tokenizer_under_assets(tokenizer, tmp_path):
    tokenizer.save_assets(tmp_path / "assets" / "tokenizer")
    # KerasHub's name for the configuration of the layer.
    (tmp_path / "tokenizer.json").write_text(json.dumps({"class_name": "Tokenizer"}))
    assert Tokenizer.exists_in(tmp_path)
    assert Tokenizer.from_preset(tmp_path).same_vocabulary(tokenizer)


def test_a_folder_without_tokenizer_files_is_told_apart(tmp_path):
    assert not Tokenizer.exists_in(tmp_path)
    assert not Tokenizer.exists_in(tmp_path / "nowhere")


def test_saving_where_a_file_is_in_the_way_is_an_error(tokenizer, tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(OSError, match="taken"):
        tokenizer.save(tmp_path / "taken")


def test_decoding_gives_the_text_of_transformers(tokenizer, tmp_path, hard_texts):
    tokenizer.save(tmp_path)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in hard_texts:
        ids = tokenizer.encode(text).ids
        for skip in (True, False):
            expected = theirs.decode(ids, skip_special_tokens=skip)
            assert tokenizer.decode(ids, skip_special_tokens=skip) == expected
            assert tokenizer.decode(np.asarray(ids, np.int32), skip_special_tokens=skip) == expected


def test_offsets_cut_the_words_out_of_the_original_text(tokenizer):
    text = "A naïve  café\u3000owner, 的人"
    encoding = tokenizer.encode(text)
    words = {}
    for word, (start, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
        if word is not None:
            words[word] = words.get(word, "") + text[start:end]
    assert list(words.values()) == ["A", "naïve", "café", "owner", ",", "的", "人"]


def test_offsets_after_a_special_token_in_the_text_do_not_shift(tokenizer):
    text = "A, [MASK] AllenNLP sentence."
    encoding = tokenizer.encode(text)
    position = encoding.ids.index(tokenizer.mask_token_id)
    assert encoding.offsets[position] == (3, 9)
    following = [start for start, _ in encoding.offsets[position + 1 : -1]]
    assert text[following[0] :].startswith("AllenNLP")


def test_an_empty_text_has_special_tokens_only(tokenizer):
    assert tokenizer.encode("").tokens == ["[CLS]", "[SEP]"]
    assert tokenizer.encode(" \t").tokens == ["[CLS]", "[SEP]"]
    assert tokenizer.encode("", "").segment_ids == [0, 0, 1]


def test_call_is_tokenize_without_special_tokens(tokenizer):
    ids = tokenizer.encode("wake me").ids[1:-1]
    assert tokenizer("wake me") == tokenizer.tokenize("wake me") == ids
    assert tokenizer(["wake me", ""]) == [ids, []]
    assert tokenizer.tokenize(np.array(["wake me"])) == [ids]


def test_detokenize_takes_one_text_or_many(tokenizer):
    ids = tokenizer.encode("wake me").ids
    assert tokenizer.detokenize(ids) == "wake me"
    assert tokenizer.detokenize([ids, []]) == ["wake me", ""]
    assert tokenizer.detokenize(np.array([ids, ids])) == ["wake me", "wake me"]
    assert tokenizer.detokenize(keras.ops.convert_to_tensor(ids)) == "wake me"
    assert tokenizer.detokenize([]) == ""


def test_ids_and_tokens_are_inverse(tokenizer):
    vocabulary = tokenizer.get_vocabulary()
    assert len(vocabulary) == tokenizer.vocabulary_size()
    for index, token in enumerate(vocabulary):
        assert tokenizer.id_to_token(index) == token
        assert tokenizer.token_to_id(token) == index


def test_special_tokens_have_their_ids(tokenizer):
    assert tokenizer.special_token_ids == [0, 1, 2, 3, 4]
    assert tokenizer.special_tokens == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    ids = (
        tokenizer.pad_token_id,
        tokenizer.unknown_token_id,
        tokenizer.cls_token_id,
        tokenizer.sep_token_id,
        tokenizer.mask_token_id,
    )
    assert ids == (0, 1, 2, 3, 4)


def test_roles_that_a_vocabulary_lacks_are_none():
    model = tokenizers.models.WordLevel({"a": 0, "<unk>": 1}, unk_token="<unk>")
    tokenizer = Tokenizer(tokenizers.Tokenizer(model))
    assert tokenizer.mask_token_id is None
    assert tokenizer.special_token_ids == [tokenizer.unknown_token_id] == [1]


def test_added_tokens_are_counted_found_and_kept(tmp_path):
    tokenizer = Tokenizer.train(["wake me at seven"] * 2, 60)
    size = tokenizer.vocabulary_size()
    assert tokenizer.add_tokens(["Xylophone", "zz top", "Xylophone", "wake"]) == 2
    assert tokenizer.add_tokens("Xylophone") == 0
    assert tokenizer.vocabulary_size() == size + 2
    assert tokenizer.token_to_id("Xylophone") == size
    encoding = tokenizer.encode("wake the xylophone")
    assert encoding.ids[-2] == size
    assert encoding.offsets[-2] == (9, 18)
    tokenizer.save(tmp_path)
    again = Tokenizer.from_preset(tmp_path)
    assert again.encode("wake the xylophone") == encoding
    assert again.vocabulary_size() == size + 2


def test_the_vocabulary_size_covers_ids_after_duplicate_lines(tmp_path):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "a", "b"]
    (tmp_path / "vocab.txt").write_text("\n".join(tokens))
    tokenizer = Tokenizer.from_preset(tmp_path)
    assert tokenizer.encode("b").ids == [2, 7, 3]
    assert tokenizer.vocabulary_size() == 8
    assert tokenizer.get_vocabulary()[5:] == ["", "a", "b"]
    tokenizer.save(tmp_path / "saved")
    (tmp_path / "saved" / "tokenizer.json").unlink()
    assert Tokenizer.from_preset(tmp_path / "saved").encode("a b").ids == [2, 6, 7, 3]


def test_same_vocabulary_compares_ids_and_tokens(tokenizer, hard_texts):
    assert tokenizer.same_vocabulary(Tokenizer.train(hard_texts, 400))
    assert not tokenizer.same_vocabulary(Tokenizer.train(hard_texts, 100))


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))]
)
def test_copies_keep_the_vocabulary(clone, tokenizer):
    assert clone(tokenizer).encode("wake me") == tokenizer.encode("wake me")


def test_a_tokenizer_from_its_configuration_says_that_it_is_empty(tokenizer, tmp_path):
    config = json.loads(json.dumps(tokenizer.get_config()))
    empty = Tokenizer.from_config(config)
    assert not empty.is_loaded
    uses = [
        lambda: empty.encode("a"),
        lambda: empty.tokenize("a"),
        lambda: empty.decode([1]),
        lambda: empty.vocabulary_size(),
        lambda: empty.pad_token_id,
        lambda: empty.special_token_ids,
        lambda: empty.save(tmp_path),
    ]
    for use in uses:
        with pytest.raises(ValueError, match="no vocabulary yet"):
            use()
    tokenizer.save_assets(tmp_path)
    empty.load_assets(tmp_path)
    assert empty.is_loaded
    assert empty.encode("wake me") == tokenizer.encode("wake me")


def test_wrong_input_is_a_clear_error(tokenizer):
    with pytest.raises(TypeError, match=r"`text` must be a string.*type list"):
        tokenizer.encode(["wake me"])
    with pytest.raises(TypeError, match=r"`text_pair` must be a string.*type int"):
        tokenizer.encode("wake me", 3)
    with pytest.raises(TypeError, match=r"inputs\[1\]=None of type NoneType"):
        tokenizer(["a", None])
    with pytest.raises(ValueError, match="not valid Unicode"):
        tokenizer.encode("\ud800")
    with pytest.raises(ValueError, match="token='qqq'"):
        tokenizer.token_to_id("qqq")
    with pytest.raises(ValueError, match="id=-1"):
        tokenizer.id_to_token(-1)
    size = tokenizer.vocabulary_size()
    with pytest.raises(ValueError, match=f"id={size}, vocabulary_size={size}"):
        tokenizer.decode([0, size])
    with pytest.raises(ValueError, match="cannot be empty"):
        tokenizer.add_tokens(["a", ""])
    with pytest.raises(TypeError, match=r"words\[0\]=3"):
        tokenizer.add_tokens([3])


WITHOUT_TENSORFLOW = """
import sys
sys.modules["tensorflow"] = None
sys.modules["tensorflow_text"] = None
from kerasbert.text.preprocessor import TextClassifierPreprocessor
from kerasbert.text.tokenizer import Tokenizer
tokenizer = Tokenizer.train(["wake me at seven"] * 2, 60)
assert tokenizer("wake me") == tokenizer.encode("wake me").ids[1:-1]
preprocessor = TextClassifierPreprocessor(tokenizer)
batch, labels = preprocessor({"text": ["wake me"], "text_pair": ["seven"]}, [1])
assert batch["segment_ids"].tolist()[0][:6] == [0, 0, 0, 0, 1, 1], batch
assert preprocessor.get_config()
"""


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_tokenizing_needs_no_tensorflow(backend, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", backend)
    process = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW], capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
