"""Ids, offsets, word ids and segments are those of `transformers`, for every layout of files."""

import json
import shutil

import pytest
import tokenizers
import transformers

from kerasbert.text.tokenizer import Tokenizer

BERT_CONFIGS = {
    "no config": None,
    "uncased": {"do_lower_case": True},
    "cased": {"do_lower_case": False, "tokenizer_class": "BertTokenizer"},
    "cased without accents": {"do_lower_case": False, "strip_accents": True},
    "uncased with accents": {"do_lower_case": True, "strip_accents": False},
    "chinese words": {"do_lower_case": True, "tokenize_chinese_chars": False},
    "added": {
        "do_lower_case": True,
        "added_tokens_decoder": {
            "0": {"content": "[unused0]", "special": True, "lstrip": True},
        },
        "extra_special_tokens": ["cafe"],
    },
}


def flagged(content, **flags):
    """A token as `tokenizer_config.json` has it where it has flags."""
    usual = {"lstrip": False, "rstrip": False, "normalized": False, "single_word": False}
    return {"__type": "AddedToken", "content": content, "special": True, **usual, **flags}


@pytest.fixture(params=BERT_CONFIGS.values(), ids=BERT_CONFIGS.keys())
def bert_folder(request, tmp_path, write_vocabulary):
    return write_vocabulary(tmp_path, request.param)


def test_vocab_txt_gives_the_encodings_of_bert(bert_folder, hard_texts, assert_same_encodings):
    theirs = transformers.BertTokenizerFast.from_pretrained(bert_folder)
    assert_same_encodings(Tokenizer.from_preset(bert_folder), theirs, hard_texts)


@pytest.mark.parametrize("lowercase", [True, False])
def test_random_unicode_gives_the_encodings_of_bert(
    lowercase, tmp_path, write_vocabulary, random_texts, assert_same_encodings
):
    write_vocabulary(tmp_path, {"do_lower_case": lowercase})
    theirs = transformers.BertTokenizerFast.from_pretrained(tmp_path)
    assert_same_encodings(Tokenizer.from_preset(tmp_path), theirs, random_texts)


def test_tokenizer_json_gives_the_encodings_of_transformers(
    bert_folder, tmp_path, hard_texts, assert_same_encodings
):
    theirs = transformers.BertTokenizerFast.from_pretrained(bert_folder)
    theirs.save_pretrained(tmp_path / "saved")
    (tmp_path / "saved" / "vocab.txt").unlink(missing_ok=True)
    assert_same_encodings(Tokenizer.from_preset(tmp_path / "saved"), theirs, hard_texts)


def test_other_names_of_special_tokens_are_taken_from_the_config(
    tmp_path, write_vocabulary, hard_texts, assert_same_encodings
):
    names = {"cls_token": "[", "sep_token": flagged("]", lstrip=True), "pad_token": "~"}
    write_vocabulary(tmp_path, names)
    theirs = transformers.BertTokenizerFast.from_pretrained(tmp_path)
    ours = Tokenizer.from_preset(tmp_path)
    assert ours.cls_token_id == theirs.cls_token_id
    assert ours.sep_token_id == theirs.sep_token_id
    assert ours.pad_token_id == theirs.pad_token_id
    assert_same_encodings(ours, theirs, [text.replace("]", "") for text in hard_texts])


def test_special_tokens_that_vocab_txt_lacks_get_the_ids_of_transformers(
    tmp_path, write_vocabulary, hard_texts, assert_same_encodings
):
    write_vocabulary(tmp_path, {"do_lower_case": True}, drop={"[MASK]", "[PAD]"})
    theirs = transformers.BertTokenizerFast.from_pretrained(tmp_path)
    ours = Tokenizer.from_preset(tmp_path)
    assert (ours.pad_token_id, ours.mask_token_id) == (theirs.pad_token_id, theirs.mask_token_id)
    assert ours.vocabulary_size() == len(theirs)
    assert_same_encodings(ours, theirs, hard_texts)


def test_files_of_older_versions_beside_vocab_txt_are_read(
    tmp_path, write_vocabulary, hard_texts, assert_same_encodings
):
    folder = write_vocabulary(tmp_path, {"do_lower_case": True})
    size = Tokenizer.from_preset(folder).vocabulary_size()
    (folder / "added_tokens.json").write_text(json.dumps({"living-room": size}))
    (folder / "special_tokens_map.json").write_text(json.dumps({"mask_token": "[unused0]"}))
    theirs = transformers.BertTokenizerFast.from_pretrained(folder)
    ours = Tokenizer.from_preset(folder)
    assert ours.token_to_id("living-room") == size
    assert ours.mask_token_id == theirs.mask_token_id
    assert_same_encodings(ours, theirs, hard_texts)


@pytest.fixture(scope="module")
def byte_level_files(tmp_path_factory, hard_texts):
    folder = tmp_path_factory.mktemp("byte_level")
    trained = tokenizers.ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(hard_texts, 400, show_progress=False, special_tokens=special)
    trained.save_model(str(folder))
    return folder


@pytest.mark.parametrize("config", [{}, {"add_prefix_space": True}, {"trim_offsets": False}])
def test_vocab_json_and_merges_give_the_encodings_of_roberta(
    config, byte_level_files, tmp_path, hard_texts, assert_same_encodings
):
    folder = shutil.copytree(byte_level_files, tmp_path / "files")
    config = {**config, "mask_token": flagged("<mask>", lstrip=True)}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    theirs = transformers.RobertaTokenizerFast.from_pretrained(folder)
    ours = Tokenizer.from_preset(folder)
    assert ours.pad_token_id == 1
    assert_same_encodings(ours, theirs, hard_texts)


@pytest.fixture(scope="module")
def sentencepiece_file(tmp_path_factory, hard_texts):
    sentencepiece = pytest.importorskip("sentencepiece", reason="trains the file under test")
    prefix = tmp_path_factory.mktemp("sentencepiece") / "spiece"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text for text in hard_texts if text.strip()] * 3),
        model_prefix=str(prefix),
        vocab_size=220,
        hard_vocab_limit=False,
        pad_id=0,
        unk_id=1,
        bos_id=-1,
        eos_id=-1,
        control_symbols="[CLS],[SEP]",
        user_defined_symbols="[MASK],jazz",
        minloglevel=2,
    )
    return prefix.with_suffix(".model")


@pytest.mark.parametrize("config", [{}, {"do_lower_case": False, "keep_accents": True}])
def test_spiece_model_gives_the_encodings_of_albert(
    config, sentencepiece_file, tmp_path, hard_texts, random_texts, assert_same_encodings
):
    shutil.copy(sentencepiece_file, tmp_path / "spiece.model")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    theirs = transformers.AlbertTokenizerFast.from_pretrained(tmp_path)
    ours = Tokenizer.from_preset(tmp_path)
    assert (ours.pad_token_id, ours.cls_token_id) == (theirs.pad_token_id, theirs.cls_token_id)
    assert_same_encodings(ours, theirs, hard_texts + random_texts[:200])


def test_truncation_and_padding_saved_in_a_file_are_switched_off(tmp_path):
    Tokenizer.train(["a b c d e f g"] * 2, 30).save(tmp_path)
    rust = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    rust.enable_truncation(4)
    rust.enable_padding(length=64)
    rust.save(str(tmp_path / "tokenizer.json"))
    assert len(Tokenizer.from_preset(tmp_path).encode("a b c d e f g").ids) == 9


def test_missing_folder_and_folder_without_tokenizer_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"no such folder.*nowhere"):
        Tokenizer.from_preset(tmp_path / "nowhere")
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(ValueError, match=r"vocab\.txt.*model\.safetensors"):
        Tokenizer.from_preset(tmp_path)


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.json", "spiece.model", "vocab.txt"])
@pytest.mark.parametrize("content", [b"", b'{"model": {', b"\xff\xfe\x00", b'{"a": 1}'])
def test_broken_file_is_named(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    (tmp_path / "merges.txt").write_bytes(b"")
    with pytest.raises(ValueError, match=f"cannot be read.*{name}"):
        Tokenizer.from_preset(tmp_path)


@pytest.mark.parametrize("config", ["{", "[]", '{"cls_token": 3}', '{"cls_token": "new"}'])
def test_broken_config_is_named(config, tmp_path, write_vocabulary):
    write_vocabulary(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(config)
    with pytest.raises(ValueError, match="cannot be read"):
        Tokenizer.from_preset(tmp_path)


def test_files_of_a_class_with_other_rules_are_refused(tmp_path, write_vocabulary):
    write_vocabulary(tmp_path, {"tokenizer_class": "BertJapaneseTokenizer"})
    with pytest.raises(ValueError, match="tokenizer_class='BertJapaneseTokenizer'"):
        Tokenizer.from_preset(tmp_path)
