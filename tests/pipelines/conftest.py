"""A tiny teacher and tiny data, and one whole run of the quickstart on them that tests share."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import keras
import pytest

import kerasbert
from kerasbert.data import LabelledTexts
from kerasbert.pipelines import QuickstartSettings
from kerasbert.pipelines.quickstart import Quickstart

WORDS = {
    "alarm": ("wake me at {}", "set an alarm for {}", "get me up by {}", "ring at {} please"),
    "music": ("play some {}", "put on {}", "i want to hear {}", "turn the {} up"),
    "weather": ("will it rain {}", "how warm is it {}", "do i need a coat {}", "forecast for {}"),
}
FILLERS = ("seven", "noon", "jazz", "rock", "today", "tomorrow")


def examples(fillers) -> LabelledTexts:
    pairs = [
        (template.format(filler), label)
        for label, templates in WORDS.items()
        for template in templates
        for filler in fillers
    ]
    texts, labels = zip(*pairs, strict=True)
    return LabelledTexts(list(texts), list(labels))


@dataclass(frozen=True)
class Tiny:
    """Everything that a run takes."""

    teacher: Path
    train: LabelledTexts
    evaluation: LabelledTexts

    def job(self, folder, say=lambda line: None, evaluation=None, **settings) -> Quickstart:
        options = {"teacher_epochs": 2, "student_epochs": 1, "teacher_learning_rate": 1e-3}
        settings = QuickstartSettings(teacher=str(self.teacher), **{**options, **settings})
        return Quickstart(self.train, evaluation or self.evaluation, folder, settings, say=say)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> Tiny:
    """A random teacher of four layers x 32 in Hugging Face's layout, and three easy labels."""
    keras.utils.set_random_seed(0)
    train, evaluation = examples(FILLERS[:4]), examples(FILLERS[4:])
    tokenizer = kerasbert.Tokenizer.train(train.texts, vocabulary_size=150)
    config = kerasbert.EncoderConfig(
        vocabulary_size=tokenizer.vocabulary_size(),
        num_layers=4,
        num_heads=2,
        hidden_dim=32,
        intermediate_dim=64,
        max_sequence_length=64,
        initializer_range=0.2,  # BERT's 0.02 would give every text the same logits
    )
    preprocessor = kerasbert.TextClassifierPreprocessor(tokenizer, sequence_length=64)
    encoder = kerasbert.Encoder(config)
    task = kerasbert.TextClassifier(encoder, labels=["a", "b"], preprocessor=preprocessor)
    folder = tmp_path_factory.mktemp("teacher")
    task.export_to_transformers(folder)
    return Tiny(folder, train, evaluation)


@pytest.fixture(scope="session")
def finished_run(tiny, tmp_path_factory) -> Path:
    """The output folder of a run; tests that change it take a copy."""
    folder = tmp_path_factory.mktemp("run")
    tiny.job(folder).run()
    return folder


@pytest.fixture
def run_copy(finished_run, tmp_path) -> Path:
    return Path(shutil.copytree(finished_run, tmp_path / "run"))
