"""Preprocessors that cut long texts into windows instead of truncating them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kerasbert.text.aligned import AlignedTexts
from kerasbert.text.packing import BUCKETS, pack
from kerasbert.text.preprocessor import TextPreprocessor
from kerasbert.text.ragged import Ragged
from kerasbert.text.windows import WindowedExamples, windows_of


class WindowingPreprocessor(TextPreprocessor):
    """What preprocessors share whose rows are windows of aligned texts.

    Args:
        tokenizer: `kerasbert.Tokenizer`.
        sequence_length: int, default 512. The most tokens of a row, special ones included.
        stride: int. How many tokens of a long text consecutive windows share.
        buckets: Ascending ints: the widths that batches are padded to.
        **kwargs: Of `keras_hub.models.Preprocessor`, such as `name`.
    """

    def __init__(self, tokenizer, sequence_length=512, stride=128, buckets=BUCKETS, **kwargs: Any):
        super().__init__(tokenizer, sequence_length, buckets, **kwargs)
        if isinstance(stride, bool) or not isinstance(stride, int | np.integer) or stride < 0:
            raise ValueError(
                "`stride`, the tokens that consecutive windows share, must be an int >= 0. "
                f"Received: stride={stride!r}."
            )
        self.stride = int(stride)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "stride": self.stride}

    def _windows(
        self,
        texts: AlignedTexts,
        before: Ragged | None = None,
        make: Callable[..., WindowedExamples] = WindowedExamples,
    ) -> WindowedExamples:
        """Rows that together hold every token of the texts, each after its text of `before`."""
        template = self.tokenizer.template
        layout = template.single if before is None else template.pair
        lengths_before = np.zeros(len(texts), np.int64) if before is None else before.lengths
        room = self.sequence_length - layout.num_special_tokens - lengths_before
        self._check_room(room)
        windows = windows_of(texts.token_ids.lengths, room, self.stride)
        origin = windows.origin
        rows = [texts.token_ids.slices(origin, windows.first, windows.lengths)]
        if before is not None:
            rows.insert(0, before.slices(origin, 0, before.lengths[origin]))
        token_ids, segment_ids = pack(rows, layout)
        # The texts before it take more or fewer places than the one that the layout has for each.
        place = max(at for at, index in enumerate(layout.ids) if index is None)
        places = place + (0 if before is None else lengths_before[origin] - 1)
        return make(
            token_ids,
            segment_ids,
            self._pad_token_id(),
            self.buckets,
            texts,
            windows,
            np.broadcast_to(places, len(origin)),
        )

    def _check_room(self, room: np.ndarray) -> None:
        if (room < 1).any():
            at = int(np.argmin(room))
            raise ValueError(
                "`sequence_length` must leave room for the text, beside special tokens and what "
                f"stands before it. Raise it, or shorten input {at}. Received: "
                f"sequence_length={self.sequence_length}, room for {int(room[at])} tokens."
            )
