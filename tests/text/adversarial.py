"""Strings that tokenizers disagree about, if they disagree at all; the same ones for a seed."""

import random
import sys
import unicodedata

WORDS = """
wake me up at seven thirty tomorrow morning please play some jazz in the living-room Weather ZÜRICH
São Paulo isn't unaffable naïve café owner's résumé İstanbul Straße mở bài lạc trôi Ελλάδα ΣΊΣΥΦΟΣ
привет Москва 東京 日本語テキスト 한국어 ไทย नमस्ते עברית العربية I'd like they'll we've
""".split()
SPECIAL = ["[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]", "<s>", "</s>", "<pad>", "<unk>", "<mask>"]
SPECIAL += ["<s>NOTUSED", "<unk>NOTUSED", "[unused0]", "[cls]", "<MASK>", "[ SEP ]", "<<s>>", "[["]
MARKERS = ["▁", "▁▁a", "##", "##ing", "Ġ", "Ċthe", "``quoted''", "``", "''"]
SPACES = [" ", " ", " ", "  ", "\t", "\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85", "\u00a0"]
SPACES += ["\u1680", "\u2002", "\u2009", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "   "]
INVISIBLE = [*map(chr, range(0x20)), "\x7f", "\x80", "\x9f", "\u00ad", "\u034f", "\u061c", "\u180e"]
INVISIBLE += ["\u200b", "\u200c", "\u200d", "\u200e", "\u2060", "\u2066", "\ufeff", "\ufffd"]
INVISIBLE += ["\ufdd0", "\ufffe", "\uffff", "\U0001fffe", "\U000e0001", "\U000f0000", "\U0010ffff"]
EMOJI = [
    "😀",
    "👍",
    "👩",
    "👧",
    "❤",
    "🏴",
    "✈",
    "☺",
    "1\u20e3",
    "#\ufe0f\u20e3",
    "🇩🇪",
    "🇩",
    "🏳️‍🌈",
    "©",
]
SKIN_TONES = [chr(code) for code in range(0x1F3FB, 0x1F400)]
RIGHT_TO_LEFT = "שלום עולם مرحبا بالعالم پښتو ܫܠܡܐ ދިވެހި 𐤀𐤁 ﷺ".split()
DIRECTIONS = ["", "\u200e", "\u200f", "\u202b", "\u202e", "\u2067", "\u2069", "\u05b8", "\u064e"]
PUNCTUATION = list("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~¡§¿“”…‰€、。「」・")
PUNCTUATION += ["\u2013", "\u2014", "\u2018", "\u2019"]
DIGITS = list("0123456789.,٣४௧²½Ⅷ①０")
ROW = 256


def _rows():
    """The code points of every 256 that have a character of their own, without surrogates."""
    rows = []
    for start in range(0, sys.maxunicode + 1, ROW):
        codes = range(start, start + ROW)
        row = [chr(code) for code in codes if unicodedata.category(chr(code)) not in ("Cn", "Cs")]
        if row:
            rows.append(row)
    return rows


ROWS = _rows()
MARKS = [c for row in ROWS for c in row if unicodedata.category(c) in ("Mn", "Me", "Mc")]
DECOMPOSED = [c for row in ROWS for c in row if unicodedata.decomposition(c)]


def texts(count, seed):
    """Makes strings; every second one has characters of two more rows of Unicode.

    Args:
        count: int. How many.
        seed: int. Another seed, other strings.
    """
    draw = random.Random(seed)
    order = draw.sample(range(len(ROWS)), len(ROWS))
    made = ["", " ", "\n", "\u3000\u00a0", "\x00", "\u200b"]
    while len(made) < count:
        index = len(made)
        if index % 2:
            rows = [ROWS[order[(index + step) % len(order)]] for step in (0, 1)]
            made.append(_of_rows(draw, rows))
        else:
            made.append(draw.choices(_RECIPES, _WEIGHTS)[0](draw))
    return made[:count]


def _of_rows(draw, rows):
    parts = [draw.choice(row) for row in rows for _ in range(draw.randrange(1, 8))]
    parts += draw.choices([*WORDS, *SPACES], k=draw.randrange(4))
    draw.shuffle(parts)
    return "".join(parts)


def _mixed(pool, longest, glue=("", " ")):
    """A recipe: some of a pool, next to each other or not."""

    def make(draw):
        parts = draw.choices(pool, k=draw.randrange(1, longest))
        return "".join(part + draw.choice(glue) for part in parts)

    return make


def _sentence(draw):
    words = draw.choices(WORDS, k=draw.randrange(1, 12))
    cases = [str, str, str.lower, str.upper, str.title, str.swapcase]
    words = [draw.choice(cases)(word) + draw.choice(["", "", "", ",", "."]) for word in words]
    return " ".join(words)


def _normalized(draw):
    form = draw.choice(["NFC", "NFD", "NFKC", "NFKD"])
    return unicodedata.normalize(form, _sentence(draw) + "".join(draw.choices(DECOMPOSED, k=3)))


def _stacked_marks(draw):
    letters = draw.choices("aeiouAEIOUnñçकกא1 ", k=draw.randrange(1, 8))
    return "".join(c + "".join(draw.choices(MARKS, k=draw.randrange(4))) for c in letters)


def _joined_emoji(draw):
    def one():
        tone, joiner = (
            draw.choice(["", *SKIN_TONES]),
            draw.choice(["", "\u200d", "\ufe0f", "\ufe0e"]),
        )
        return draw.choice(EMOJI) + tone + joiner

    return "".join(one() for _ in range(draw.randrange(1, 8)))


def _right_to_left(draw):
    words = draw.choices(RIGHT_TO_LEFT, k=draw.randrange(1, 6))
    return " ".join(draw.choice(DIRECTIONS) + word + draw.choice(DIRECTIONS) for word in words)


def _long_word(draw):
    length = draw.choice([99, 100, 101, 200, 500, 3000])
    unit = draw.choice(["a", "word", "é", "字", "👍🏽", ".", "ab1", "e\u0301", "\u200b"])
    return draw.choice(["", "so "]) + (unit * length)[:length] + draw.choice(["", " end"])


def _special_tokens(draw):
    pool = [*SPECIAL, *MARKERS, *draw.choices(WORDS, k=6)]
    return _mixed(pool, 8, ["", "", " ", "  ", "\n", "\u00a0", "\u3000"])(draw)


_WEIGHTS, _RECIPES = zip(
    (12, _sentence),
    (10, _special_tokens),
    (6, _normalized),
    (6, _stacked_marks),
    (6, _joined_emoji),
    (4, _right_to_left),
    (6, _mixed([*WORDS, *INVISIBLE], 10)),
    (8, _mixed([*WORDS, *SPACES], 10, SPACES)),
    (2, _mixed(SPACES, 5)),
    (4, _mixed(DIGITS, 20, ["", "", ""])),
    (4, _mixed(PUNCTUATION, 12)),
    (4, _mixed([*WORDS, *PUNCTUATION, *MARKERS, *DIGITS], 12)),
    (1, _long_word),
    strict=True,
)
