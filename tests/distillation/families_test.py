"""Every family teaches a student of its own kind."""

import numpy as np
import pytest
from keras import ops

import kerasbert
from kerasbert.distillation import Distiller, make_student
from kerasbert.distillation.objectives import HiddenStates, SoftTargets

SMALL = {
    "vocabulary_size": 50,
    "num_layers": 3,
    "num_heads": 2,
    "hidden_dim": 12,
    "intermediate_dim": 10,
    "max_sequence_length": 16,
}
CONFIGS = {
    "deberta-v2": kerasbert.EncoderConfig(
        **SMALL,
        num_segments=0,
        pooler=None,
        position=kerasbert.Disentangled(buckets=4),
        convolution=kerasbert.Convolution(),
    ),
    "ernie": kerasbert.EncoderConfig(**SMALL, num_task_types=3),
    "longformer": kerasbert.EncoderConfig(
        **SMALL, attention=kerasbert.Window(width=4, global_tokens=True)
    ),
    "mobilebert": kerasbert.EncoderConfig(
        **SMALL, embedding_dim=6, trigram=True, bottleneck=kerasbert.Bottleneck(dim=8)
    ),
    "mpnet": kerasbert.EncoderConfig(
        **SMALL, num_segments=0, position=kerasbert.RelativeBias(buckets=8)
    ),
}
IDS = np.random.default_rng(0).integers(1, 50, (4, 10)).astype("int32")
BATCH = {"token_ids": IDS, "segment_ids": IDS * 0, "padding_mask": np.ones_like(IDS)}


@pytest.mark.parametrize("family", CONFIGS)
def test_a_student_of_the_family_starts_from_its_teacher_and_learns(family):
    encoder = kerasbert.Encoder(CONFIGS[family], family=family)
    teacher = kerasbert.TextClassifier(encoder, num_classes=3)
    student = make_student(teacher, layers=[1, 2])
    pairs = {"embeddings/token/embeddings": None, "layer_1/attention/query/kernel": "layer_2"}
    weights = {w.path: ops.convert_to_numpy(w) for w in teacher.weights}
    started = {w.path: ops.convert_to_numpy(w) for w in student.weights}
    for path, layer in pairs.items():
        source = path if layer is None else path.replace("layer_1", layer)
        np.testing.assert_array_equal(started[path], weights[source])

    distiller = Distiller(teacher, student, [SoftTargets(), HiddenStates()])
    distiller.compile(optimizer="sgd")
    history = distiller.fit(BATCH, np.array([0, 1, 2, 0]), verbose=0).history
    assert np.isfinite(history["loss"]).all()
    changed = [
        w.path for w in student.weights if (ops.convert_to_numpy(w) != started[w.path]).any()
    ]
    assert "layer_0/attention/query/kernel" in changed
