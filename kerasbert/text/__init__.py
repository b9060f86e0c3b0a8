"""Text: tokenizers, length buckets and preprocessors."""

from kerasbert.text.choices import MultipleChoicePreprocessor
from kerasbert.text.embedding_inputs import TextEmbedderPreprocessor
from kerasbert.text.encoding import Encoding
from kerasbert.text.masked_lm import MaskedLMPreprocessor
from kerasbert.text.packing import BUCKETS, Examples, bucket_for
from kerasbert.text.preprocessor import TextClassifierPreprocessor, TextPreprocessor
from kerasbert.text.question_answering import QuestionAnswererPreprocessor
from kerasbert.text.tagging import TokenClassifierPreprocessor
from kerasbert.text.tokenizer import Tokenizer

__all__ = [
    "BUCKETS",
    "Encoding",
    "Examples",
    "MaskedLMPreprocessor",
    "MultipleChoicePreprocessor",
    "QuestionAnswererPreprocessor",
    "TextClassifierPreprocessor",
    "TextEmbedderPreprocessor",
    "TextPreprocessor",
    "TokenClassifierPreprocessor",
    "Tokenizer",
    "bucket_for",
]
