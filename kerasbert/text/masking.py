"""Masks for masked language modelling: which tokens are hidden, and what stands in their place.

The steps are functions of their own, for other ways of choosing: `choose` takes any candidates and
keys, `hide` any positions. Both are functions of random numbers that are drawn before: a text can
thus be masked in the same way in whatever batch it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kerasbert.metrics.labelled import IGNORED_LABEL
from kerasbert.text.tokenizer import Tokenizer

# Random numbers for each token: whether it is chosen, what happens to it, what replaces it.
_DRAWS = 3


@dataclass(frozen=True)
class TokenMasking:
    """Masks single tokens, as BERT is trained (Devlin et al., 2018, section 3.1 and appendix A.1).

    Of the real tokens of a text that are not special, a share is chosen, at least one. Each chosen
    token becomes the mask token with a probability of 80 %, a random token that is not special with
    10 %, and stays as it is with 10 %.

    Attributes:
        mask_token_id: int. The id of the mask token.
        is_special: bool array of shape (vocabulary,): the ids that are never chosen.
        replacements: int32 array: the ids that random tokens are drawn from.
        rate: float, default 0.15. The share that is chosen.
        mask_share: float, default 0.8. The probability of a chosen token to be masked.
        random_share: float, default 0.1. The probability of it to become a random token.

    Example:

    >>> tokenizer = Tokenizer.train(["wake me at seven"], vocabulary_size=60)
    >>> masking = TokenMasking.of(tokenizer, rate=0.5)
    >>> ids = np.array([tokenizer.encode("wake me at seven").ids])
    >>> inputs = {"token_ids": ids, "padding_mask": np.ones_like(ids)}
    >>> masked, labels = masking(inputs, fresh_draws(np.random.default_rng(0), ids.shape))
    >>> masked["mask_positions"].shape == labels.shape
    True
    """

    mask_token_id: int
    is_special: np.ndarray
    replacements: np.ndarray
    rate: float = 0.15
    mask_share: float = 0.8
    random_share: float = 0.1

    @classmethod
    def of(cls, tokenizer: Tokenizer, rate: float = 0.15) -> TokenMasking:
        """The masking for a tokenizer's vocabulary.

        Raises:
            ValueError: The vocabulary has no mask token, or nothing but special tokens.
        """
        if tokenizer.mask_token_id is None:
            raise ValueError(
                "The tokenizer has no mask token, so nothing can be masked. Name one as "
                '"mask_token" in its `tokenizer_config.json`. Received: special tokens '
                f"{tokenizer.special_tokens}."
            )
        is_special = np.zeros(tokenizer.vocabulary_size(), bool)
        is_special[tokenizer.special_token_ids] = True
        ids = np.unique(np.fromiter(tokenizer.rust.get_vocab().values(), np.int32))
        replacements = ids[~is_special[ids]]
        if not len(replacements):
            raise ValueError(
                "The vocabulary has only special tokens. Received: "
                f"{tokenizer.vocabulary_size()} tokens."
            )
        return cls(tokenizer.mask_token_id, is_special, replacements, rate)

    def __call__(
        self, inputs: dict[str, np.ndarray], draws: np.ndarray
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Masks a batch.

        Args:
            inputs: `token_ids` and `padding_mask`, int arrays of shape (batch, length); further
                entries are handed through.
            draws: float array of shape (batch, length, 3) in [0, 1): see `fresh_draws`.

        Returns:
            The inputs with masked `token_ids` and, as a further entry, `mask_positions` int32
            (batch, n), where n depends on the length alone; and the labels, int32 (batch, n): the
            ids that stood at these positions, -100 where a row has fewer masks.
        """
        token_ids = inputs["token_ids"]
        candidates = inputs["padding_mask"].astype(bool) & ~self.is_special[token_ids]
        positions, is_used = choose(candidates, self.rate, draws[..., 0])
        rows = np.arange(len(token_ids))[:, None]
        labels = np.where(is_used, token_ids[rows, positions], IGNORED_LABEL).astype(np.int32)
        return {
            **inputs,
            "token_ids": self.hide(token_ids, positions, is_used, draws[rows, positions, 1:]),
            "mask_positions": positions,
        }, labels

    def hide(
        self,
        token_ids: np.ndarray,
        positions: np.ndarray,
        is_used: np.ndarray,
        draws: np.ndarray,
    ) -> np.ndarray:
        """Puts mask tokens and random tokens at chosen positions.

        Args:
            token_ids: int array of shape (batch, length).
            positions: int array of shape (batch, n).
            is_used: bool array of shape (batch, n): which of the positions count.
            draws: float array of shape (batch, n, 2) in [0, 1): what happens to each of these
                tokens, and which token replaces it.

        Returns:
            A new array of shape (batch, length).
        """
        rows, columns = np.nonzero(is_used)
        places = rows, positions[rows, columns]
        action, which = draws[rows, columns].T
        random_ids = self.replacements[(which * len(self.replacements)).astype(np.int64)]
        hidden = np.select(
            [action < self.mask_share, action < self.mask_share + self.random_share],
            [self.mask_token_id, random_ids],
            token_ids[places],
        )
        masked = token_ids.copy()
        masked[places] = hidden
        return masked


def choose(candidates: np.ndarray, rate: float, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Chooses a share of the candidates of each row: those with the smallest keys.

    Args:
        candidates: bool array of shape (batch, length).
        rate: float. The share that is chosen, rounded, and at least one where there is any.
        keys: float array of shape (batch, length) in [0, 1).

    Returns:
        Positions, int32 of shape (batch, n), and which of them count, bool of the same shape; the
        others are 0. n is what a row full of candidates needs, so that rows of one length have one
        shape.

    Example:

    >>> choose(np.array([[False, True, True, True]]), 0.5, np.array([[0.1, 0.9, 0.2, 0.3]]))
    (array([[2, 3]], dtype=int32), array([[ True,  True]]))
    """
    most = _count(np.array(candidates.shape[1]), rate)
    order = np.argsort(np.where(candidates, keys, 1.0), axis=1, kind="stable")[:, :most]
    counts = _count(candidates.sum(axis=1), rate)
    is_used = np.arange(order.shape[1]) < counts[:, None]
    return np.where(is_used, order, 0).astype(np.int32), is_used


def fresh_draws(generator: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Random numbers for each token of a batch of shape (batch, length), other ones each time."""
    return generator.random((*shape, _DRAWS))


def fixed_draws(seed: int, keys: Sequence[int], length: int) -> np.ndarray:
    """Random numbers that are always the same for a row's key, whatever the length of its batch.

    Args:
        seed: int >= 0.
        keys: ints >= -1, one for each row, such as the index of its text.
        length: int. The length of the rows.
    """
    generators = [np.random.default_rng((seed, key + 1)) for key in keys]
    return np.stack([generator.random((length, _DRAWS)) for generator in generators])


def _count(totals: np.ndarray, rate: float) -> np.ndarray:
    """How many of so many tokens are masked."""
    return np.where(totals > 0, np.maximum(np.rint(rate * totals), 1), 0).astype(np.int64)
