"""The BERT family on Keras 3: pretrained encoders, tasks, distillation and export."""

from kerasbert._quiet_import import import_quietly

import_quietly()

from kerasbert import data, distillation, export, metrics, tuning  # noqa: E402
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
    TextEmbedder,
    TokenClassifier,
)
from kerasbert.text import (  # noqa: E402
    MaskedLMPreprocessor,
    MultipleChoicePreprocessor,
    QuestionAnswererPreprocessor,
    TextClassifierPreprocessor,
    TextEmbedderPreprocessor,
    TokenClassifierPreprocessor,
    Tokenizer,
)

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
    "MaskedLMPreprocessor",
    "MultipleChoice",
    "MultipleChoicePreprocessor",
    "PretrainingModel",
    "QuestionAnswerer",
    "QuestionAnswererPreprocessor",
    "RelativeBias",
    "ReplacedTokenDetector",
    "Rotary",
    "Sharing",
    "TextClassifier",
    "TextClassifierPreprocessor",
    "TextEmbedder",
    "TextEmbedderPreprocessor",
    "TokenClassifier",
    "TokenClassifierPreprocessor",
    "Tokenizer",
    "Window",
    "data",
    "distillation",
    "export",
    "list_presets",
    "metrics",
    "trace",
    "tuning",
]
