"""Readers of labelled data, and the small data set that comes with the package."""

from kerasbert.data.csv_data import LabelledTexts, load_sample, read_csv

__all__ = ["LabelledTexts", "load_sample", "read_csv"]
