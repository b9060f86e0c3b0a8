"""Files for other runtimes: LiteRT (``.tflite``) for phones."""

from kerasbert.export.litert_export import LiteRTReport, litert, litert_variants
from kerasbert.export.litert_runner import LiteRTClassifier
from kerasbert.export.metadata import read_associated_files

__all__ = [
    "LiteRTClassifier",
    "LiteRTReport",
    "litert",
    "litert_variants",
    "read_associated_files",
]
