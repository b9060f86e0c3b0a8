"""Models: the encoder, and one class for each task."""

from kerasbert.models.encoder import Encoder
from kerasbert.models.masked_lm import MaskedLM
from kerasbert.models.multiple_choice import MultipleChoice
from kerasbert.models.pretraining_model import PretrainingModel
from kerasbert.models.question_answerer import QuestionAnswerer
from kerasbert.models.replaced_tokens import ReplacedTokenDetector
from kerasbert.models.task import EncoderTask
from kerasbert.models.text_classifier import TextClassifier
from kerasbert.models.text_embedder import TextEmbedder
from kerasbert.models.token_classifier import TokenClassifier

__all__ = [
    "Encoder",
    "EncoderTask",
    "MaskedLM",
    "MultipleChoice",
    "PretrainingModel",
    "QuestionAnswerer",
    "ReplacedTokenDetector",
    "TextClassifier",
    "TextEmbedder",
    "TokenClassifier",
]
