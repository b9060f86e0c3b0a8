"""What a folder says beside its vocabulary: the family, settings, flags; and broken files."""

import functools
import json
import shutil

import pytest
import transformers

from kerasbert.text.tokenizer import Tokenizer
from tests.text import adversarial
from tests.text.identity_test import assert_same
from tests.text.kinds import KINDS


def flagged(content, **flags):
    """A token as `added_tokens_decoder` has it."""
    usual = {"lstrip": False, "rstrip": False, "normalized": False, "single_word": False}
    return {"content": content, "special": True, **usual, **flags}


WORD_MASK = {"__type": "AddedToken", **flagged("<mask>", lstrip=True)}


def written_by_version_4(name, tokens, **more):
    """The config that `transformers` 4 wrote: flags by id, the mask with the space before it."""
    by_id = {str(index): flagged(token) for index, token in tokens.items()}
    mask = max(tokens)
    by_id[str(mask)] = flagged(tokens[mask], lstrip=True)
    return {"tokenizer_class": name, "added_tokens_decoder": by_id, **more}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The folder of a kind, made once."""
    return functools.cache(lambda kind: KINDS[kind].make(tmp_path_factory.mktemp("files")))


@pytest.fixture
def folder_of(files, tmp_path):
    """Copies the folder of a kind, with another `tokenizer_config.json`."""

    def copy(kind, config=None):
        folder = shutil.copytree(files(kind), tmp_path / "copy")
        if config is not None:
            (folder / "tokenizer_config.json").write_text(json.dumps(config))
        return folder

    return copy


CONFIGS = [
    ("word piece uncased", {"do_lower_case": False, "strip_accents": True}),
    ("mpnet", {"do_lower_case": False, "tokenize_chinese_chars": False}),
    ("mpnet", {"mask_token": "<mask>", "tokenizer_class": "MPNetTokenizerFast"}),
    (
        "mpnet",
        written_by_version_4(
            "MPNetTokenizer", {0: "<s>", 1: "<pad>", 2: "</s>", 3: "[UNK]", 4: "<mask>"}
        ),
    ),
    ("roberta", {"add_prefix_space": True, "mask_token": WORD_MASK}),
    ("roberta", {"trim_offsets": False, "extra_special_tokens": ["jazz"]}),
    ("deberta", {"add_prefix_space": True}),
    ("deberta", {"do_lower_case": False, "vocab_type": "gpt2"}),
    ("albert", {"add_prefix_space": False, "do_lower_case": False}),
    ("albert", {"keep_accents": True, "additional_special_tokens": ["jazz"]}),
    ("big bird", {"add_prefix_space": False, "extra_special_tokens": ["jazz", "w"]}),
    ("big bird", written_by_version_4("BigBirdTokenizer", {0: "<pad>", 1: "</s>", 6: "[MASK]"})),
    ("xlm-roberta", {"add_prefix_space": False, "mask_token": WORD_MASK}),
    ("xlm-roberta", {"unk_token": "[UNK]", "pad_token": "[PAD]"}),
    ("camembert", {"add_prefix_space": False, "mask_token": "<mask>"}),
    (
        "camembert",
        written_by_version_4(
            "CamembertTokenizer",
            {0: "<s>NOTUSED", 1: "<pad>", 2: "</s>NOTUSED", 3: "<unk>", 5: "<s>", 6: "</s>"},
            additional_special_tokens=["<s>NOTUSED", "</s>NOTUSED"],
        ),
    ),
    ("deberta-v2", {"do_lower_case": True}),
    ("deberta-v2", {"split_by_punct": True}),
    ("deberta-v2", {"add_prefix_space": False, "vocab_type": "spm"}),
]


@pytest.mark.parametrize(("kind", "config"), CONFIGS)
def test_settings_and_flags_give_the_encodings_of_transformers(kind, config, folder_of):
    folder = folder_of(kind, config)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours = Tokenizer.from_preset(folder)
    texts = adversarial.texts(600, seed=11)
    assert_same(ours, theirs, texts)
    assert_same(ours, theirs, texts[:100], texts[100:200])
    assert ours.vocabulary_size() == len(theirs)


def test_a_mask_in_added_tokens_json_gives_the_encodings_of_transformers(folder_of):
    folder = folder_of("deberta-v2")
    size = Tokenizer.from_preset(folder).vocabulary_size()
    (folder / "added_tokens.json").write_text(json.dumps({"[MASK]": size - 1, "xylophone": size}))
    (folder / "special_tokens_map.json").write_text(json.dumps({"mask_token": "[MASK]"}))
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours = Tokenizer.from_preset(folder)
    assert ours.token_to_id("xylophone") == theirs.convert_tokens_to_ids("xylophone") == size
    assert ours.special_tokens == ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    assert_same(ours, theirs, adversarial.texts(300, seed=12))


SHARED_FILES = [
    ("mpnet", "MPNetTokenizer"),
    ("deberta", "DebertaTokenizer"),
    ("big bird", "BigBirdTokenizer"),
    ("camembert", "CamembertTokenizerFast"),
]


@pytest.mark.parametrize(("kind", "name"), SHARED_FILES)
@pytest.mark.parametrize("file", ["tokenizer_config.json", "config.json"])
def test_the_class_decides_where_families_share_names_of_files(kind, name, file, folder_of):
    folder = folder_of(kind)
    expected = [Tokenizer.from_preset(folder).encode(text) for text in adversarial.WORDS]
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    config = json.loads((folder / file).read_text()) if (folder / file).exists() else {}
    (folder / file).write_text(json.dumps({**config, "tokenizer_class": name}))
    assert [Tokenizer.from_preset(folder).encode(text) for text in adversarial.WORDS] == expected


@pytest.mark.parametrize("name", ["PreTrainedTokenizerFast", "TokenizersBackend"])
def test_a_class_that_says_nothing_leaves_it_to_the_model_type(name, folder_of):
    folder = folder_of("mpnet", {"tokenizer_class": name})
    assert Tokenizer.from_preset(folder).encode("a", "b").tokens[0] == "<s>"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("roberta", "GPT2Tokenizer"),
        ("albert", "XLNetTokenizer"),
        ("camembert", "BarthezTokenizer"),
        ("deberta-v2", "AlbertTokenizer"),
    ],
)
def test_other_classes_of_the_same_names_of_files_are_refused(kind, name, folder_of):
    folder = folder_of(kind, {"tokenizer_class": name})
    with pytest.raises(ValueError, match=rf"Save the tokenizer as.*tokenizer_class='{name}'"):
        Tokenizer.from_preset(folder)


VOCABULARY_FILES = {
    "roberta": "vocab.json",
    "albert": "spiece.model",
    "xlm-roberta": "sentencepiece.bpe.model",
    "camembert": "sentencepiece.bpe.model",
    "deberta-v2": "spm.model",
    "big bird": "spiece.model",
    "modernbert": "tokenizer.json",
}


@pytest.mark.parametrize(("kind", "name"), VOCABULARY_FILES.items())
@pytest.mark.parametrize("part", [0, 0.1, 0.5, 0.99])
def test_a_file_that_was_cut_off_is_named(kind, name, part, folder_of):
    file = folder_of(kind) / name
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * part)])
    with pytest.raises(ValueError, match=f"cannot be read.*Fetch it again.*{name}"):
        Tokenizer.from_preset(file.parent)


def test_a_sentencepiece_file_that_was_cut_between_its_parts_is_named(folder_of):
    file = folder_of("albert") / "spiece.model"
    content = file.read_bytes()
    name = content.index(b"\n\x08nmt_nfkc")  # The first field of the last part.
    file.write_bytes(content[: content.rindex(b"\x1a", 0, name)])
    with pytest.raises(ValueError, match=r"spiece\.model.*ends before its normalizer"):
        Tokenizer.from_preset(file.parent)


def test_merges_that_were_cut_off_are_named(folder_of):
    file = folder_of("roberta") / "merges.txt"
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(lines[: len(lines) // 3]), encoding="utf-8")
    with pytest.raises(ValueError, match=r"cannot be read.*merges\.txt.*has merges for"):
        Tokenizer.from_preset(file.parent)


def test_line_ends_of_windows_make_no_difference(folder_of):
    folder = folder_of("roberta")
    expected = Tokenizer.from_preset(folder).encode("some jazz in the morning")
    merges = (folder / "merges.txt").read_bytes()
    (folder / "merges.txt").write_bytes(merges.replace(b"\n", b"\r\n"))
    assert Tokenizer.from_preset(folder).encode("some jazz in the morning") == expected


FOREIGN = [
    ("mpnet", "word piece uncased", "vocab.txt", "vocab.txt"),
    ("word piece uncased", "mpnet", "vocab.txt", "vocab.txt"),
    ("deberta", "roberta", "vocab.json", "vocab.json"),
    ("roberta", "mpnet", "vocab.txt", "vocab.json"),
    ("albert", "xlm-roberta", "sentencepiece.bpe.model", "spiece.model"),
    ("xlm-roberta", "albert", "spiece.model", "sentencepiece.bpe.model"),
    ("camembert", "deberta-v2", "spm.model", "sentencepiece.bpe.model"),
    ("deberta-v2", "big bird", "spiece.model", "spm.model"),
    ("modernbert", "roberta", "vocab.json", "tokenizer.json"),
]


@pytest.mark.parametrize(("kind", "other", "source", "target"), FOREIGN)
def test_a_file_of_another_family_is_named(kind, other, source, target, folder_of, files):
    folder = folder_of(kind)
    shutil.copy(files(other) / source, folder / target)
    with pytest.raises(ValueError, match=f"cannot be read.*{target}"):
        Tokenizer.from_preset(folder)


def test_text_that_is_not_unicode_is_refused_whatever_the_kind(files):
    for kind in KINDS:
        with pytest.raises(ValueError, match="not valid Unicode"):
            Tokenizer.from_preset(files(kind)).encode("a\ud83d")
