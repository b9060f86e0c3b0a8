"""Pairs of texts: do two requests want the same kind of thing?

Runs offline with the extra `demo`. Set KERAS_BACKEND to tensorflow, jax or torch to choose the
backend.
"""

import keras
import numpy as np

import kerasbert
from kerasbert.pipelines.demo_weights import demo_encoder


def draw_pairs(data, count, seed):
    """Pairs of texts, every second of one class."""
    draw = np.random.default_rng(seed)
    texts, labels = np.array(data.texts, object), np.array(data.labels)
    first = draw.integers(0, len(texts), count)
    alike = np.arange(count) % 2 == 0
    candidates = (labels[first][:, None] == labels) == alike[:, None]
    second = (candidates * draw.random(candidates.shape)).argmax(axis=1)
    pairs = {"text": texts[first].tolist(), "text_pair": texts[second].tolist()}
    return pairs, ["same" if a else "different" for a in alike]


keras.utils.set_random_seed(0)
train, train_labels = draw_pairs(kerasbert.data.load_sample("train"), 1600, seed=1)
test, test_labels = draw_pairs(kerasbert.data.load_sample("test"), 200, seed=2)

classifier = kerasbert.TextClassifier.from_preset(
    demo_encoder(), labels=["different", "same"], pooling="mean"
)
classifier.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=2e-4))
classifier.fit(train, train_labels, epochs=2, validation_data=(test, test_labels), verbose=2)

pair = {"text": ["wake me up at six"], "text_pair": ["I need an alarm tomorrow morning"]}
print(pair, classifier.classify(pair)[0])
