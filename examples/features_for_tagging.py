"""An encoder's states as features of words, for other models (Devlin et al., 2018, section 5.3).

    python examples/features_for_tagging.py [FOLDER] [--sentences 500]

FOLDER holds train.* and test.* with a word and a tag on each line, and blank lines between
sentences; without one, a few sentences are tagged that stand below. Needs the extra `demo` and
scikit-learn. Set KERAS_BACKEND to tensorflow, jax or torch to choose the backend.
"""

import argparse
from pathlib import Path

import keras
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import kerasbert
from kerasbert.pipelines.demo_weights import demo_encoder

SENTENCES = """Anna/PER lives/O in/O Oslo/LOC . The/O train/O to/O Madrid/LOC leaves/O now/O
Peter/PER met/O Maria/PER in/O Vienna/LOC . Rome/LOC is/O warm/O in/O May/O
We/O flew/O from/O Paris/LOC to/O Lima/LOC . Paul/PER and/O Julia/PER sleep/O
Where/O does/O Thomas/PER work/O . My/O sister/O moved/O to/O Berlin/LOC
Laura/PER likes/O Tokyo/LOC . Ask/O Martin/PER about/O the/O bus/O
It/O rains/O in/O London/LOC . Call/O Susan/PER tomorrow/O
Is/O Michael/PER from/O Dublin/LOC . The/O museum/O in/O Athens/LOC is/O closed/O"""


def read(folder, split, count):
    """Sentences as lists of words, and their tags."""
    if folder is not None:
        data = kerasbert.data.read_conll(next(folder.glob(f"{split}.*")))
        return data.words[:count], data.tags[:count]
    lines = SENTENCES.splitlines()
    lines = lines[:5] if split == "train" else lines[5:]
    sentences = [sentence.split() for line in lines for sentence in line.split(" . ")]
    pairs = [[word.split("/") for word in sentence] for sentence in sentences]
    return [[w for w, _ in pair] for pair in pairs], [[t for _, t in pair] for pair in pairs]


def first_tokens(tokenizer, words):
    """Where in its sentence the first token of each word stands; [CLS] for a word without any."""
    starts = np.cumsum([0] + [len(word) + 1 for word in words[:-1]])
    offsets = tokenizer.encode(" ".join(words)).offsets
    token_at = {s: at for at, (s, e) in reversed(list(enumerate(offsets))) if e > s}
    return [token_at.get(start, 0) for start in starts]


def word_features(encoder, preprocessor, sentences, batch_size=32):
    """For each sentence the last four layers' states of its words, (words, 4 * hidden_dim)."""
    features = []
    for begin in range(0, len(sentences), batch_size):
        batch = sentences[begin : begin + batch_size]
        states = encoder.features(preprocessor([" ".join(words) for words in batch]))
        for state, words in zip(keras.ops.convert_to_numpy(states), batch, strict=True):
            features.append(state[first_tokens(preprocessor.tokenizer, words)])
    return features


def padded(rows, length, fill):
    """Rows of different lengths as one array."""
    rows = [np.asarray(row) for row in rows]
    array = np.full((len(rows), length, *rows[0].shape[1:]), fill, rows[0].dtype)
    for index, row in enumerate(rows):
        array[index, : len(row)] = row
    return array


def fit_bilstm(features, targets, num_tags):
    """A bidirectional LSTM over the words; padding is masked."""
    length = max(map(len, targets))
    model = keras.Sequential(
        [
            keras.layers.Masking(),
            keras.layers.Bidirectional(keras.layers.LSTM(64, return_sequences=True)),
            keras.layers.Dense(num_tags, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.Adam(3e-3), "sparse_categorical_crossentropy")
    is_word = padded([np.ones(len(tags), "float32") for tags in targets], length, 0)
    x, y = padded(features, length, 0), padded(targets, length, 0)
    model.fit(x, y, sample_weight=is_word, epochs=10, batch_size=16, verbose=0)
    return model


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("folder", nargs="?", type=Path)
parser.add_argument("--sentences", type=int, default=500)
options = parser.parse_args()

keras.utils.set_random_seed(0)
encoder = kerasbert.Encoder.from_preset(demo_encoder())
preprocessor = kerasbert.TextClassifierPreprocessor(kerasbert.Tokenizer.from_preset(demo_encoder()))
train_words, train_tags = read(options.folder, "train", options.sentences)
test_words, test_tags = read(options.folder, "test", options.sentences)
train, test = (word_features(encoder, preprocessor, each) for each in (train_words, test_words))
names, targets = np.unique(np.concatenate(train_tags), return_inverse=True)
true = np.concatenate(test_tags)
print(f"{len(targets)} words to train on, {len(true)} to test, {len(names)} tags")

regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
regression.fit(np.concatenate(train), targets)
found = names[regression.predict(np.concatenate(test))]
print(f"logistic regression: accuracy {np.mean(found == true):.3f}")

ends = np.cumsum([len(tags) for tags in train_tags])[:-1]
bilstm = fit_bilstm(train, np.split(targets, ends), len(names))
length = max(map(len, test))
scores = bilstm.predict(padded(test, length, 0), verbose=0)
rows = [
    score[: len(words)].argmax(axis=-1) for score, words in zip(scores, test_words, strict=True)
]
found = names[np.concatenate(rows)]
print(f"BiLSTM: accuracy {np.mean(found == true):.3f}")
