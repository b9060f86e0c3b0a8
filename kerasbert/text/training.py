"""Learning a WordPiece vocabulary, so that the same texts always give the same one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tokenizers import Tokenizer as RustTokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import PreTokenizer
from tokenizers.trainers import WordPieceTrainer

from kerasbert.text.inputs import as_texts
from kerasbert.text.special_tokens import BERT_SPECIAL_TOKENS
from kerasbert.text.word_piece import word_piece

_SPECIAL = list(BERT_SPECIAL_TOKENS.values())
# A pair of pieces that occurs once says nothing about the next text.
_MIN_FREQUENCY = 2


def train_word_piece(
    texts: Iterable[str], vocabulary_size: int, model: str = "wordpiece", lowercase: bool = True
) -> RustTokenizer:
    """Does the work of `Tokenizer.train`, which has the documentation."""
    if model != "wordpiece":
        raise ValueError(f'`model` must be "wordpiece". Received: model={model!r}.')
    if isinstance(vocabulary_size, bool) or not isinstance(vocabulary_size, int):
        raise TypeError(f"`vocabulary_size` must be an int. Received: {vocabulary_size!r}.")
    smallest = len(_SPECIAL) + 2  # One character, at the beginning of a word and inside.
    if vocabulary_size < smallest:
        raise ValueError(
            f"`vocabulary_size` must be at least {smallest}: {len(_SPECIAL)} special tokens and "
            f"two pieces. Received: vocabulary_size={vocabulary_size}."
        )
    if isinstance(texts, str):
        raise TypeError(
            "`texts` must be many texts, such as a list of strings, not one string. "
            f"Received: a string of {len(texts)} characters."
        )
    texts = as_texts(texts if hasattr(texts, "dtype") else list(texts), "texts")
    unlearned = word_piece({token: index for index, token in enumerate(_SPECIAL)}, lowercase)
    texts = [unlearned.normalizer.normalize_str(text) for text in texts]
    counts = _count_characters(texts, unlearned.pre_tokenizer)
    if not counts.total():
        raise ValueError(
            "There is nothing to learn a vocabulary from: all texts are empty or blank. "
            f"Received: {len(texts)} texts."
        )
    kept = _most_frequent(counts, vocabulary_size - len(_SPECIAL))
    vocabulary = _learn(texts, unlearned.pre_tokenizer, kept, vocabulary_size)
    return word_piece(vocabulary, lowercase)


def _count_characters(texts: list[str], pre_tokenizer: PreTokenizer) -> Counter[str]:
    """How often each character occurs, as a piece: `a` at the start of a word, else `##a`."""
    counts = Counter()
    for text in texts:
        for word, _ in pre_tokenizer.pre_tokenize_str(text):
            counts[word[0]] += 1
            counts.update(f"##{character}" for character in word[1:])
    return counts


def _most_frequent(counts: Counter[str], room: int) -> list[str]:
    """The pieces of the most frequent characters, as many as fit, sorted.

    The trainer adds every character as the start of a word, whether it occurs there or not.
    """
    totals = Counter()
    for piece, count in counts.items():
        totals[piece[-1]] += count
    kept = []
    for character, _ in sorted(totals.items(), key=lambda item: (-item[1], item[0])):
        inside = f"##{character}"
        pieces = [character, inside] if inside in counts else [character]
        if len(kept) + len(pieces) > room:
            break
        kept += pieces
    return sorted(kept)


def _learn(
    texts: list[str], pre_tokenizer: PreTokenizer, alphabet: list[str], vocabulary_size: int
) -> dict[str, int]:
    """Ids by token.

    The Rust trainer numbers the one-character pieces in the order of a hash table, and breaks ties
    between merges by these numbers. Handed over as special tokens they have fixed numbers.
    """
    characters = [piece for piece in alphabet if len(piece) == 1]
    # Left in, a rare character would vanish and the pieces around it would be taken for neighbours.
    rare = set().union(*texts).difference(characters)
    as_space = dict.fromkeys(map(ord, rare), " ")
    learner = RustTokenizer(WordPiece(unk_token=BERT_SPECIAL_TOKENS["unk_token"]))
    learner.pre_tokenizer = pre_tokenizer
    trainer = WordPieceTrainer(
        vocab_size=vocabulary_size,
        min_frequency=_MIN_FREQUENCY,
        show_progress=False,
        special_tokens=[*_SPECIAL, *alphabet],
        initial_alphabet=characters,
        limit_alphabet=len(characters),
    )
    learner.train_from_iterator(
        (text.translate(as_space) for text in texts), trainer, length=len(texts)
    )
    return learner.get_vocab(with_added_tokens=False)
