"""What a masked language model says of masked tokens, for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kerasbert.models.probabilities import log_probabilities
from kerasbert.text import Tokenizer
from kerasbert.text.mask_rows import MaskRows


def target_ids(tokenizer: Tokenizer, targets: str | Sequence[str]) -> np.ndarray:
    """The ids of words that may fill a mask, each once.

    Raises:
        ValueError: if there is none, or one is not a single token.
    """
    targets = [targets] if isinstance(targets, str) else list(targets)
    vocabulary = tokenizer.rust.get_vocab()
    found = {}
    for target in targets:
        index = vocabulary.get(target)
        pieces = tokenizer.tokenize(target) if index is None else [index]
        if len(pieces) != 1 or pieces[0] == tokenizer.unknown_token_id != index:
            raise ValueError(
                "A target must be one token of the vocabulary (where words are told from parts of "
                "words by the space before them, with that space), or be added to it by "
                f"`Tokenizer.add_tokens`. Received: {target!r}, which is the tokens "
                f"{[tokenizer.id_to_token(piece) for piece in pieces]}."
            )
        found[pieces[0]] = None
    if not found:
        raise ValueError("`targets` must name at least one word. Received: targets=[].")
    return np.fromiter(found, np.int64)


def best_tokens(logits: np.ndarray, top_k: int, ids: np.ndarray) -> list[list[tuple[int, float]]]:
    """The tokens of the highest probabilities, best first.

    Args:
        logits: (masks, V).
        top_k: the most tokens for each mask.
        ids: the tokens among which they are.

    Returns:
        For each mask a list of pairs of id and probability.
    """
    scores = np.exp(log_probabilities(logits)[:, ids])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :top_k]
    return [
        [(int(ids[place]), float(row[place])) for place in places]
        for row, places in zip(scores, order, strict=True)
    ]


def filled(
    rows: MaskRows, best: Iterable[list[tuple[int, float]]], tokenizer: Tokenizer
) -> list[list[list[dict[str, Any]]]]:
    """For each text, for each of its masks, the tokens that may fill it.

    Args:
        rows: a row for each mask.
        best: for each row, pairs of id and score.
        tokenizer: the texts' tokenizer.
    """
    whole = rows.whole_texts
    columns = rows.columns(np.arange(len(rows)))
    masks_of_text = np.bincount(rows.origin, minlength=len(rows.texts))
    answers = [[] for _ in range(len(rows.texts))]
    for text, column, tokens in zip(rows.origin, columns, best, strict=True):
        ids = whole[text].copy()
        of_mask = []
        for index, score in tokens:
            ids[column] = index
            # As transformers: special tokens stay where there are further masks, but no padding.
            sequence = tokenizer.decode(
                ids[ids != tokenizer.pad_token_id],
                skip_special_tokens=bool(masks_of_text[text] == 1),
            )
            token = tokenizer.decode([index], skip_special_tokens=False)
            of_mask.append(
                {"token": token, "token_id": index, "score": score, "sequence": sequence}
            )
        answers[text].append(of_mask)
    return answers
