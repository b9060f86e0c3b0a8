"""The BERT family on Keras 3: pretrained encoders, tasks, distillation and export."""

from kerasbert._quiet_import import import_quietly

import_quietly()

from kerasbert import data, distillation, export, tuning  # noqa: E402
from kerasbert.families import list_presets  # noqa: E402
from kerasbert.layers import Absolute, EncoderConfig, Sharing, trace  # noqa: E402
from kerasbert.models import Encoder, TextClassifier  # noqa: E402
from kerasbert.text import TextClassifierPreprocessor, Tokenizer  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "Absolute",
    "Encoder",
    "EncoderConfig",
    "Sharing",
    "TextClassifier",
    "TextClassifierPreprocessor",
    "Tokenizer",
    "data",
    "distillation",
    "export",
    "list_presets",
    "trace",
    "tuning",
]
