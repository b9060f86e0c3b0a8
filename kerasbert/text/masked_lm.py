"""Texts to an encoder's input for masked language modelling."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import keras
import numpy as np

from kerasbert.text.mask_rows import MaskRows
from kerasbert.text.masking import TokenMasking, fixed_draws, fresh_draws
from kerasbert.text.packing import BUCKETS, Examples
from kerasbert.text.preprocessor import TextPreprocessor, caller_depth
from kerasbert.text.tokenizer import Tokenizer


@keras.saving.register_keras_serializable(package="kerasbert")
class MaskedLMPreprocessor(TextPreprocessor):
    """Texts to the input dict of an encoder, and masks for it.

    Called on texts it gives them as they are; `mask` hides some of their tokens. Long texts are
    truncated at the end, pairs longest first, with one warning per call.

    Args:
        tokenizer: `kerasbert.Tokenizer`.
        sequence_length: int, default 512. The most tokens of an example, special ones included.
        buckets: Ascending ints, default `(16, 32, 64, 128, 256, 512)`. The widths that batches are
            padded to; `sequence_length` is always the last of them.
        rate: float, default 0.15 (Devlin et al., 2018). The share of the tokens that is masked.
        seed: int >= 0, of the masks in training; `None` (default): NumPy's global generator draws
            one for each `fit`. The masks of evaluation are always the same.
        **kwargs: Of `keras_hub.models.Preprocessor`, such as `name`.

    Raises:
        ValueError: An argument is not as said.

    Example:

    >>> tokenizer = Tokenizer.train(["wake me at seven"] * 3, vocabulary_size=60)
    >>> preprocessor = MaskedLMPreprocessor(tokenizer, rate=0.5, seed=1)
    >>> inputs, labels = preprocessor.mask(preprocessor(["wake me at seven"]))
    >>> int((labels >= 0).sum())
    2
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        sequence_length: int = 512,
        buckets: Sequence[int] = BUCKETS,
        rate: float = 0.15,
        seed: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(tokenizer, sequence_length, buckets, **kwargs)
        if isinstance(rate, bool) or not isinstance(rate, Real) or not 0 < rate <= 1:
            raise ValueError(
                "`rate`, the share of the tokens that is masked, must be a number above 0 and at "
                f"most 1. Received: rate={rate!r}."
            )
        if seed is not None and (not isinstance(seed, int | np.integer) or seed < 0):
            raise ValueError(f"`seed` must be an int >= 0 or None. Received: seed={seed!r}.")
        self.rate = float(rate)
        self.seed = None if seed is None else int(seed)
        self._generator = None if seed is None else np.random.default_rng(seed)
        self._masking: TokenMasking | None = None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "rate": self.rate, "seed": self.seed}

    @property
    def masking(self) -> TokenMasking:
        """How tokens are masked; made for the tokenizer's present vocabulary.

        Raises:
            ValueError: The vocabulary has no mask token.
        """
        size = self.tokenizer.vocabulary_size()
        if self._masking is None or len(self._masking.is_special) != size:
            self._masking = TokenMasking.of(self.tokenizer, self.rate)
        return self._masking

    def new_seed(self) -> int:
        """A seed for the masks of one training run, another one each time."""
        return int(self._own_generator().integers(2**31))

    def mask(
        self,
        inputs: dict[str, np.ndarray],
        keys: Sequence[int] | None = None,
        generator: np.random.Generator | None = None,
    ) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Masks a batch, in other places each time.

        Args:
            inputs: The input dict of a batch, arrays of shape (batch, length).
            keys: ints, one for each row, such as the indices of the texts, or `None` (default).
                Rows of the same key are always masked in the same way.
            generator: What masks are drawn from without keys; `None` (default) for the
                preprocessor's own.

        Returns:
            The inputs with masked `token_ids` and `mask_positions`, and the labels: int32 arrays of
            shape (batch, n), the labels -100 where a row has fewer masks than n.

        Raises:
            ValueError: The vocabulary has no mask token.
        """
        batch, length = inputs["token_ids"].shape
        if keys is not None:
            return self.masking(inputs, fixed_draws(self.seed or 0, keys, length))
        generator = self._own_generator() if generator is None else generator
        return self.masking(inputs, fresh_draws(generator, (batch, length)))

    def _own_generator(self) -> np.random.Generator:
        """The generator of `seed`, which goes on where it stood; else a new one each time."""
        if self._generator is None:
            return np.random.default_rng(np.random.randint(2**31))
        return self._generator

    def check_maskable(self, examples: Examples) -> None:
        """Raises a `ValueError` where a text has no token that could be masked."""
        ids = examples.token_ids
        rows = np.repeat(np.arange(len(ids)), ids.lengths)
        can_be_masked = ~self.masking.is_special[ids.values]
        without = np.bincount(rows, weights=can_be_masked, minlength=len(ids)) == 0
        if without.any():
            raise ValueError(
                "Every text must have a token that can be masked, which empty ones and those of "
                "special or unknown tokens alone do not have. Leave them out, as by `[text for "
                f"text in texts if text.strip()]`. Received: {int(without.sum())} of {len(ids)} "
                f"without one, the first at position {int(np.argmax(without))}."
            )

    def rows_of_masks(self, texts: Sequence[str]) -> MaskRows:
        """A row for every mask token that stands in texts.

        Raises:
            ValueError: A text has none, or the vocabulary has no mask token.
        """
        mask_token_id = self.masking.mask_token_id
        token = self.tokenizer.id_to_token(mask_token_id)
        return self._mask_rows(
            texts,
            lambda ids: ids == mask_token_id,
            f"a mask: write {token!r} where a token is to be filled in",
        )

    def rows_of_tokens(self, texts: Sequence[str]) -> MaskRows:
        """A row for every token of texts that is not special, in which it is masked.

        Raises:
            ValueError: A text has none, or the vocabulary has no mask token.
        """
        is_special = self.masking.is_special
        return self._mask_rows(texts, lambda ids: ~is_special[ids], "a token that is not special")

    def _mask_rows(self, texts: Sequence[str], which: Callable, needed: str) -> MaskRows:
        ids = self._token_ids(texts)
        chosen = np.flatnonzero(which(ids.values))
        origin = np.repeat(np.arange(len(ids)), ids.lengths)[chosen]
        without = np.setdiff1d(np.arange(len(ids)), origin)
        if len(without):
            raise ValueError(
                f"Every text must have {needed}. "
                f"Received: {texts[without[0]]!r:.100} at position {without[0]}."
            )
        layout = self._layout(1)
        rows = MaskRows(
            texts=ids,
            origin=origin,
            places=chosen - ids.starts[origin],
            layout=layout,
            room=self._room(layout),
            mask_token_id=self.masking.mask_token_id,
            pad_token_id=self._pad_token_id(),
            buckets=self.buckets,
        )
        _warn_of_parts(rows, self.sequence_length)
        return rows


def _warn_of_parts(rows: MaskRows, sequence_length: int) -> None:
    if rows.num_cut:
        warnings.warn(
            f"{rows.num_cut} texts were longer than {sequence_length} tokens: each masked token "
            "was read with those around it. Raise `sequence_length` if what is farther away "
            "matters.",
            stacklevel=caller_depth(),
        )
