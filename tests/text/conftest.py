"""Folders of tokenizer files, written on the spot, for comparison with `transformers`."""

import json
import random
import string

import pytest

SENTENCES = [
    "Wake me up at seven thirty tomorrow morning, please!",
    "Play some jazz in the living-room (not too loud).",
    "What's the weather like in Zürich or São Paulo?",
    "A naïve café owner's résumé",
    "mở bài lạc trôi",
    "的人有 and 東京",
    "Schrödinger's cat isn't unaffable.",
    "I'd like 3 pizzas for £12.50",
]
HARD_TEXTS = [
    *SENTENCES,
    "",
    " ",
    " \t\n\r\u00a0\u3000 ",
    "NAÏVE Mở Bài LẠC trôi",
    "cafe\u0301 n\u0303o",
    "的人有的人",
    "日本語テキスト 한국어 \U00020000",
    "emoji 😀👍🏽👩‍👩‍👧 flags 🇩🇪",
    "con\x00trol\x07 \ufffd\u200b\u200d characters\x1f",
    "a" * 99 + " " + "b" * 100 + " " + "c" * 101 + " " + "word" * 200,
    "the [SEP] typed [CLS] by [MASK] a [PAD] user [UNK]",
    "[sep] [SEP][SEP] [ SEP ]",
    "<s> a</s><mask> <pad>",
    "A, [MASK] AllenNLP sentence.",
    "İstanbul ẞ ǅ ﬁ Ⅷ ①",
    "..., --- !!! ``quoted'' $100 5% a_b",
]


@pytest.fixture(scope="session")
def hard_texts():
    return HARD_TEXTS


@pytest.fixture(scope="session")
def random_texts():
    """Two thousand strings from all over Unicode, without surrogates."""
    draw = random.Random(7)
    ranges = [(0x20, 0x7F)] * 4 + [(0, 0x250), (0x300, 0x370), (0x2000, 0x2070), (0x3000, 0x3100)]
    ranges += [(0x4E00, 0x4E80), (0xF900, 0x10000), (0x1F300, 0x1F700), (0, 0xD800)]

    def text():
        low, high = draw.choice(ranges)
        mixed = draw.random() < 0.5
        length = draw.randrange(0, 40)
        pool = [chr(draw.randrange(low, high)) for _ in range(length)]
        if mixed:
            pool += draw.choices(string.ascii_letters + " ", k=length)
        return "".join(draw.sample(pool, len(pool)))

    return [text() for _ in range(2000)]


@pytest.fixture(scope="session")
def write_vocabulary():
    """Writes `vocab.txt` with BERT's special tokens scattered, and a config beside it."""

    def write(folder, config=None, drop=()):
        characters = {c for text in HARD_TEXTS for c in text + text.lower() if not c.isspace()}
        characters |= set("aàeinouvy的人有") | set(string.printable.strip())
        words = ["wake", "play", "##ing", "##aff", "##able", "un", "naive", "na", "##ï", "Wake"]
        words += ["user", "the", "typed", "##ord", "##wor", "morning", "cafe", "café", "lac"]
        pieces = sorted(characters) + sorted(f"##{c}" for c in characters)
        tokens = ["[unused0]", "[PAD]", *pieces, "[UNK]", "[CLS]", *words, "[SEP]", "[MASK]"]
        tokens = [token for token in dict.fromkeys(tokens) if token not in drop]
        text = "".join(f"{token}\n" for token in tokens)
        (folder / "vocab.txt").write_text(text, encoding="utf-8")
        if config is not None:
            (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
        return folder

    return write


@pytest.fixture(scope="session")
def assert_same_encodings():
    """Compares ours with a `transformers` tokenizer on texts, and on pairs of neighbours."""

    def check(ours, theirs, texts):
        # In lists: given alone, `transformers` takes an empty second text for none.
        seconds = texts[1:] + texts[:1]
        flags = {"return_offsets_mapping": True, "return_token_type_ids": True}
        compare(theirs(texts, **flags), [ours.encode(text) for text in texts], texts)
        pairs = list(zip(texts, seconds, strict=True))
        compare(theirs(texts, seconds, **flags), [ours.encode(*pair) for pair in pairs], pairs)

    def compare(expected, found, inputs):
        for index, (encoding, text) in enumerate(zip(found, inputs, strict=True)):
            assert encoding.ids == expected["input_ids"][index], text
            assert encoding.offsets == expected["offset_mapping"][index], text
            assert encoding.segment_ids == expected["token_type_ids"][index], text
            assert encoding.word_ids == expected.word_ids(index), text
            assert encoding.tokens == expected.tokens(index), text

    return check
