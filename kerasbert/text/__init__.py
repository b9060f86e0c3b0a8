"""Text: tokenizers, length buckets and preprocessors."""

from kerasbert.text.encoding import Encoding
from kerasbert.text.packing import BUCKETS, Examples, bucket_for
from kerasbert.text.preprocessor import TextClassifierPreprocessor, TextPreprocessor
from kerasbert.text.tokenizer import Tokenizer

__all__ = [
    "BUCKETS",
    "Encoding",
    "Examples",
    "TextClassifierPreprocessor",
    "TextPreprocessor",
    "Tokenizer",
    "bucket_for",
]
