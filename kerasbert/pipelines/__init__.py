"""Whole jobs made of the library's parts."""

from kerasbert.pipelines.quickstart import QuickstartSettings, run_quickstart

__all__ = ["QuickstartSettings", "run_quickstart"]
