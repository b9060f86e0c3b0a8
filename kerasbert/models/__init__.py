"""Models: the encoder, and one class for each task."""

from kerasbert.models.encoder import Encoder
from kerasbert.models.task import EncoderTask
from kerasbert.models.text_classifier import TextClassifier

__all__ = ["Encoder", "EncoderTask", "TextClassifier"]
