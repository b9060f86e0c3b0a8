"""Embeddings: find the most similar texts, then train them on pairs without scores.

Runs offline with the extra `demo`. Set KERAS_BACKEND to tensorflow, jax or torch to choose the
backend.
"""

import keras
import numpy as np

import kerasbert
from kerasbert.pipelines.demo_weights import demo_encoder

train = kerasbert.data.load_sample("train")
test = kerasbert.data.load_sample("test")
labels = np.array(train.labels)


def accuracy(embedder):
    """How often the most similar training text has the label of the test text."""
    nearest = embedder.similarity(test.texts, train.texts).argmax(axis=1)
    return np.mean(labels[nearest] == test.labels)


keras.utils.set_random_seed(0)
embedder = kerasbert.TextEmbedder.from_preset(demo_encoder())  # a sentence-transformers folder
text = "wake me up at six"
scores = embedder.similarity(text, train.texts)[0]
for index in scores.argsort()[::-1][:3]:
    print(f"{scores[index]:.2f}  {train.texts[index]}")
print(f"label of the most similar text, before training: {accuracy(embedder):.3f}")

# Two texts of each label belong together; in a batch, all others do not.
pairs = {"text": [], "text_pair": []}
for label in sorted(set(labels)):
    texts = np.random.permutation(np.array(train.texts)[labels == label])
    half = len(texts) // 2
    pairs["text"] += texts[:half].tolist()
    pairs["text_pair"] += texts[half : 2 * half].tolist()
embedder.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=5e-5))
embedder.fit(pairs, epochs=3, batch_size=16, verbose=2)
print(f"after training: {accuracy(embedder):.3f}")

embedder.export_to_transformers("intent-embedder")
print("saved to intent-embedder/, which sentence-transformers reads")
