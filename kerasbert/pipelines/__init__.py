"""Whole jobs made of the library's parts."""

from kerasbert.pipelines.convert import Converted, convert_checkpoint
from kerasbert.pipelines.quickstart import QuickstartSettings, run_quickstart

__all__ = ["Converted", "QuickstartSettings", "convert_checkpoint", "run_quickstart"]
