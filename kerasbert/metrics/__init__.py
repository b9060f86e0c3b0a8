"""Metrics: answers by SQuAD's rules, entities by conlleval's, and those of the GLUE benchmark."""

from kerasbert.metrics.class_counts import F1, MatthewsCorrelation
from kerasbert.metrics.classification import accuracy, f1, matthews
from kerasbert.metrics.correlation import pearson, spearman
from kerasbert.metrics.entities import entities_in, entity_scores
from kerasbert.metrics.entity_f1 import EntityF1
from kerasbert.metrics.glue_scores import glue
from kerasbert.metrics.pearson_correlation import PearsonCorrelation
from kerasbert.metrics.perplexity import Perplexity
from kerasbert.metrics.question_answering import (
    best_threshold,
    exact_match,
    normalize_answer,
    squad,
    token_f1,
)
from kerasbert.metrics.span_accuracy import SpanAccuracy
from kerasbert.metrics.token_accuracy import TokenAccuracy

__all__ = [
    "F1",
    "EntityF1",
    "MatthewsCorrelation",
    "PearsonCorrelation",
    "Perplexity",
    "SpanAccuracy",
    "TokenAccuracy",
    "accuracy",
    "best_threshold",
    "entities_in",
    "entity_scores",
    "exact_match",
    "f1",
    "glue",
    "matthews",
    "normalize_answer",
    "pearson",
    "spearman",
    "squad",
    "token_f1",
]
