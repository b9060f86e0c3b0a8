"""Does an exported file compute what the Keras model computes? Checked on text, at every export."""

from __future__ import annotations

import warnings

import numpy as np

# Short and long, plain and odd: what reaches a phone. Some are cut at small sequence lengths.
TEXTS = (
    "Wake me at half past six tomorrow, please.",
    "what's the weather like in São Paulo this weekend?",
    "PLAY SOME JAZZ!!!",
    "I would not say that the film is bad, but I would not watch it a second time either.",
    "ok",
    "",
    "Remind me to buy 2 kg of flour, 12 eggs & a bottle of milk (3.5 % fat) on the way home.",
    "Die Lieferung kam drei Tage zu spät, und niemand hat sich entschuldigt.",
    "Mon café préféré est fermé jusqu'à lundi.",
    "明日の朝、雨は降りますか。",
    "My card was charged twice for the same order: #4711-0815. How do I get my money back?",
    "The committee postponed its decision because several members doubted that the figures, which "
    "had been collected over four years in eleven cities by teams that never met, could be "
    "compared at all. Their chair disagreed in public, offered to resign, and was talked out of it "
    "overnight.",
)
PAIRS = (
    ("How old is the bridge?", "The bridge was opened to traffic in 1932."),
    ("A man is playing a guitar on stage.", "Nobody is making music."),
    ("Is it open?", ""),
    (
        "Which of the two proposals did the council prefer in the end, and by how many votes?",
        "After three hours of debate the second proposal was adopted by nineteen votes to four.",
    ),
)


def parity_batches(preprocessor, num_segments: int) -> list[dict[str, np.ndarray]]:
    """Tokenizes the module's texts.

    Args:
        preprocessor: a text classifier's preprocessor.
        num_segments: the encoder's.

    Returns:
        Input dicts of int32 arrays (batch, length): one of single texts and, unless the encoder has
        no embedding for the second segment, one of pairs.
    """
    raw = [list(TEXTS)]
    segments = preprocessor.tokenizer.template.pair.segments
    if num_segments == 0 or max(segments) < num_segments:
        raw.append({"text": [a for a, _ in PAIRS], "text_pair": [b for _, b in PAIRS]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that long texts are cut is intended here
        batches = [preprocessor(x) for x in raw]
    return [{key: np.asarray(value, "int32") for key, value in b.items()} for b in batches]


def activate(logits: np.ndarray, activation: str | None) -> np.ndarray:
    """Logits (batch, num_classes) to what a file with this activation gives.

    Args:
        logits: float array (batch, num_classes).
        activation: `"softmax"`, `"sigmoid"` or None.

    Returns:
        Array of the same shape.
    """
    if activation == "softmax":
        exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return exponentials / exponentials.sum(axis=-1, keepdims=True)
    if activation == "sigmoid":
        return 1 / (1 + np.exp(-logits))
    return logits


def agreement(expected: np.ndarray, received: np.ndarray, threshold: float | None) -> float | None:
    """Share of equal decisions.

    Args:
        expected: float array (batch, num_classes).
        received: float array (batch, num_classes).
        threshold: None: the decision is the best class of a row. A number: one decision per class,
            the values over it (several labels at a time).

    Returns:
        A number from 0 to 1, None for regression (one class: nothing is decided).
    """
    if threshold is not None:
        return float(np.mean((expected > threshold) == (received > threshold)))
    if expected.shape[-1] == 1:
        return None
    return float(np.mean(expected.argmax(axis=-1) == received.argmax(axis=-1)))
