"""Real questions, weights and paragraphs: a short training teaches a reader."""

import importlib.util

import keras
import pytest

import kerasbert
from kerasbert.pipelines.demo_weights import PACKAGE, demo_encoder


def f1_of(model, questions, references):
    texts, _ = model.predict_answers(questions)
    return kerasbert.metrics.squad(dict(enumerate(texts)), dict(enumerate(references)))["f1"]


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.skipif(importlib.util.find_spec(PACKAGE) is None, reason="needs the extra `demo`")
def test_a_short_training_on_squad_beats_a_new_head_by_far(data_folder):
    squad = kerasbert.data.read_squad(data_folder / "squad2" / "dev-v2.0.json")
    rows = [row for row, answers in enumerate(squad.answers) if answers][::9][:300]
    x = {name: [column[row] for row in rows] for name, column in squad.inputs().items()}
    answers = [squad.answers[row] for row in rows]
    references = [[answer["text"] for answer in given] for given in answers]
    keras.utils.set_random_seed(0)
    folder = demo_encoder()
    model = kerasbert.QuestionAnswerer.from_preset(
        folder,
        preprocessor=kerasbert.QuestionAnswererPreprocessor(
            kerasbert.Tokenizer.from_preset(folder), sequence_length=256, stride=64
        ),
    )
    before = f1_of(model, x, references)
    model.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=2e-4))
    model.fit(x, answers, epochs=3, batch_size=16, verbose=0)
    after = f1_of(model, x, references)
    assert before < 20
    assert after > before + 30, (before, after)
