"""SentencePiece's unigram model (Kudo, 2018) as ALBERT, BigBird, DeBERTa and XLM-RoBERTa use it.

A file holds pieces with scores. What becomes of a text before it is cut into them, and which ids
they get, differs between the families; the tables below have the differences.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers
from tokenizers import Tokenizer as RustTokenizer

from kerasbert.text.folder_files import check_has, unreadable
from kerasbert.text.post_processing import template
from kerasbert.text.sentencepiece_file import SentencePieces, read_sentencepiece
from kerasbert.text.special_tokens import (
    ALBERT_SPECIAL_TOKENS,
    BIG_BIRD_SPECIAL_TOKENS,
    CAMEMBERT_SPECIAL_TOKENS,
    DEBERTA_SPECIAL_TOKENS,
    ROBERTA_SPECIAL_TOKENS,
    content,
    declare_special_tokens,
)

_Config = Mapping[str, Any]


@dataclass(frozen=True)
class _Arrangement:
    """How fairseq numbers the pieces of a file: its own tokens first, the mask last.

    Attributes:
        first: The tokens before the pieces, by role or literally, with their scores.
        replaced: The pieces that the file itself begins with, which those take the place of.
    """

    first: tuple[tuple[str, float], ...]
    replaced: tuple[str, ...]


@dataclass(frozen=True)
class _Rules:
    """What a family makes of a file.

    Attributes:
        file: Its name.
        normalizers: The steps, from the configuration and the file's own map of characters.
        pre_tokenizers: The steps before the one that turns spaces into `▁`.
        without_prefix_space: Which words `▁` goes before where the configuration has
            `add_prefix_space` off (else before every one): `"first"` or `"never"` (default).
        arrangement: `None` (default): ids are places in the file.
        roberta_pairs: As in `post_processing.template`.
    """

    file: str
    normalizers: Callable[[_Config, bytes], list[normalizers.Normalizer]]
    pre_tokenizers: Callable[[_Config], list[pre_tokenizers.PreTokenizer]]
    without_prefix_space: str = "never"
    arrangement: _Arrangement | None = None
    roberta_pairs: bool = False


def _read_unigram(folder: Path, config: _Config, rules: _Rules) -> RustTokenizer:
    file = folder / rules.file
    try:
        pieces = read_sentencepiece(file.read_bytes())
        scores, unknown_id = _arranged(pieces, config, rules.arrangement)
        rust = RustTokenizer(models.Unigram(scores, unk_id=unknown_id))
    except Exception as error:  # The Rust library raises plain `Exception`s.
        raise unreadable(file, str(error)) from error
    check_has(rust.get_vocab(), config, file)
    steps = rules.normalizers(config, pieces.character_map)
    if steps:
        rust.normalizer = normalizers.Sequence(steps)
    scheme = "always" if config.get("add_prefix_space", True) else rules.without_prefix_space
    metaspace = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    rust.pre_tokenizer = pre_tokenizers.Sequence([*rules.pre_tokenizers(config), metaspace])
    rust.decoder = decoders.Metaspace(prepend_scheme=scheme)
    declare_special_tokens(rust, _with_added_tokens(config, pieces))
    rust.post_processor = template(rust, config, rules.roberta_pairs)
    return rust


def _arranged(
    pieces: SentencePieces, config: _Config, arrangement: _Arrangement | None
) -> tuple[list[tuple[str, float]], int]:
    """The pieces in the order of their ids, and the id of the unknown one."""
    if arrangement is None:
        return pieces.scores, pieces.unknown_id
    count = len(arrangement.replaced)
    begin = tuple(piece for piece, _ in pieces.scores[:count])
    if begin != arrangement.replaced:
        raise ValueError(f"it begins with {begin} instead of {arrangement.replaced}")
    first = [(content(config.get(name, name)), score) for name, score in arrangement.first]
    mask = (content(config["mask_token"]), 0.0)
    scores = [*first, *pieces.scores[count:], mask]
    unknown = content(config["unk_token"])
    return scores, [piece for piece, _ in first].index(unknown)


def _with_added_tokens(config: _Config, pieces: SentencePieces) -> _Config:
    # Those that the configuration names take the place of those in the file, as in `transformers`.
    if "extra_special_tokens" in config or "additional_special_tokens" in config:
        return config
    return {**config, "extra_special_tokens": pieces.added_tokens}


def _albert_normalizers(config: _Config, character_map: bytes) -> list[normalizers.Normalizer]:
    steps = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    if not config.get("keep_accents", False):
        steps += [normalizers.NFKD(), normalizers.StripAccents()]
    if config.get("do_lower_case", True):
        steps.append(normalizers.Lowercase())
    return [*steps, *_character_map(config, character_map)]


def _big_bird_normalizers(config: _Config, character_map: bytes) -> list[normalizers.Normalizer]:
    return [normalizers.Replace(Regex(" {2,}"), "▁")]


def _deberta_normalizers(config: _Config, character_map: bytes) -> list[normalizers.Normalizer]:
    steps = [normalizers.Lowercase()] if config.get("do_lower_case", False) else []
    return [
        *steps,
        normalizers.Replace(Regex(r"\s{2,}|[\n\r\t]"), " "),
        normalizers.NFC(),
        normalizers.Strip(left=False, right=True),
    ]


def _character_map(config: _Config, character_map: bytes) -> list[normalizers.Normalizer]:
    return [normalizers.Precompiled(character_map)] if character_map else []


def _split_at_whitespace(config: _Config) -> list[pre_tokenizers.PreTokenizer]:
    return [pre_tokenizers.WhitespaceSplit()]


def _split_at_punctuation(config: _Config) -> list[pre_tokenizers.PreTokenizer]:
    return [pre_tokenizers.Punctuation("isolated")] if config.get("split_by_punct", False) else []


def _no_split(config: _Config) -> list[pre_tokenizers.PreTokenizer]:
    return []


_ALBERT = _Rules("spiece.model", _albert_normalizers, _split_at_whitespace)
_BIG_BIRD = _Rules("spiece.model", _big_bird_normalizers, _no_split)
_DEBERTA_V2 = _Rules(
    "spm.model", _deberta_normalizers, _split_at_punctuation, without_prefix_space="first"
)
_XLM_ROBERTA = _Rules(
    "sentencepiece.bpe.model",
    _character_map,
    _split_at_whitespace,
    arrangement=_Arrangement(
        first=(("bos_token", 0.0), ("pad_token", 0.0), ("eos_token", 0.0), ("unk_token", 0.0)),
        replaced=("<unk>", "<s>", "</s>"),
    ),
    roberta_pairs=True,
)
_CAMEMBERT = _Rules(
    "sentencepiece.bpe.model",
    _character_map,
    _split_at_whitespace,
    arrangement=_Arrangement(
        first=(
            ("<s>NOTUSED", 0.0),
            ("pad_token", 0.0),
            ("</s>NOTUSED", 0.0),
            ("unk_token", 0.0),
            ("<unk>NOTUSED", -100.0),
        ),
        replaced=("<unk>",),
    ),
    roberta_pairs=True,
)

UNIGRAM_CLASSES = {
    "AlbertTokenizer": (partial(_read_unigram, rules=_ALBERT), ALBERT_SPECIAL_TOKENS),
    "BigBirdTokenizer": (partial(_read_unigram, rules=_BIG_BIRD), BIG_BIRD_SPECIAL_TOKENS),
    "DebertaV2Tokenizer": (partial(_read_unigram, rules=_DEBERTA_V2), DEBERTA_SPECIAL_TOKENS),
    "XLMRobertaTokenizer": (partial(_read_unigram, rules=_XLM_ROBERTA), ROBERTA_SPECIAL_TOKENS),
    "CamembertTokenizer": (partial(_read_unigram, rules=_CAMEMBERT), CAMEMBERT_SPECIAL_TOKENS),
}
