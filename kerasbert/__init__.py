"""The BERT family on Keras 3: pretrained encoders, tasks, distillation and export."""

from kerasbert._quiet_import import import_quietly

import_quietly()

from kerasbert import data, distillation, export, tuning  # noqa: E402
from kerasbert.families import list_presets  # noqa: E402
from kerasbert.layers import (  # noqa: E402
    Absolute,
    Blocks,
    Bottleneck,
    Convolution,
    Disentangled,
    EncoderConfig,
    Full,
    RelativeBias,
    Rotary,
    Sharing,
    Window,
    trace,
)
from kerasbert.models import (  # noqa: E402
    Encoder,
    MaskedLM,
    MultipleChoice,
    PretrainingModel,
    QuestionAnswerer,
    ReplacedTokenDetector,
    TextClassifier,
    TokenClassifier,
)
from kerasbert.text import TextClassifierPreprocessor, Tokenizer  # noqa: E402

__version__ = "0.1.0"

__all__ = [
    "Absolute",
    "Blocks",
    "Bottleneck",
    "Convolution",
    "Disentangled",
    "Encoder",
    "EncoderConfig",
    "Full",
    "MaskedLM",
    "MultipleChoice",
    "PretrainingModel",
    "QuestionAnswerer",
    "RelativeBias",
    "ReplacedTokenDetector",
    "Rotary",
    "Sharing",
    "TextClassifier",
    "TextClassifierPreprocessor",
    "TokenClassifier",
    "Tokenizer",
    "Window",
    "data",
    "distillation",
    "export",
    "list_presets",
    "trace",
    "tuning",
]
