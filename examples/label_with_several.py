"""Several labels for a text: requests that want two things at once.

Runs offline with the extra `demo`. Set KERAS_BACKEND to tensorflow, jax or torch to choose the
backend.
"""

import keras
import numpy as np

import kerasbert
from kerasbert.pipelines.demo_weights import demo_encoder


def joined(data, count, seed):
    """Two texts in one, with the labels of both."""
    draw = np.random.default_rng(seed)
    pairs = draw.integers(0, len(data.texts), (count, 2))
    texts = [f"{data.texts[i]} and {data.texts[j]}" for i, j in pairs]
    return texts, [sorted({data.labels[i], data.labels[j]}) for i, j in pairs]


keras.utils.set_random_seed(0)
train = kerasbert.data.load_sample("train")
texts, labels = joined(train, 700, seed=1)
test = joined(kerasbert.data.load_sample("test"), 100, seed=2)

classifier = kerasbert.TextClassifier.from_preset(
    demo_encoder(), labels=sorted(set(train.labels)), multi_label=True, pooling="mean"
)
classifier.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=3e-4))
classifier.fit(texts, labels, epochs=5, batch_size=16, validation_data=test, verbose=2)

text = "wake me at seven and tell me if it rains"
wanted = [answer["label"] for answer in classifier.classify(text)[0] if answer["score"] > 0.5]
print(f"{text!r}: {wanted}")
