"""The one error that every unusable checkpoint raises."""

from __future__ import annotations


class CheckpointError(ValueError):
    """A checkpoint cannot be read. The message names the file, what is wrong, and the remedy."""
