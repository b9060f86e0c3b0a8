"""Regression: a number for each text, here the minutes that a request asks for.

Runs offline with the extra `demo`. Set KERAS_BACKEND to tensorflow, jax or torch to choose the
backend.
"""

import keras

import kerasbert
from kerasbert.pipelines.demo_weights import demo_encoder

NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
TRAIN = ["set a timer for {} minutes", "wait {} minutes", "remind me in {} minutes"]
TEST = "call me back in {} minutes"

keras.utils.set_random_seed(0)
texts = [phrase.format(number) for phrase in TRAIN for number in NUMBERS]
tenths = [(index + 1) / 10 for index in range(10)]  # values of about 1 are learned fastest

model = kerasbert.TextClassifier.from_preset(demo_encoder(), num_classes=1, pooling="mean")
model.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=2e-4))
model.fit(texts, tenths * len(TRAIN), epochs=20, batch_size=5, verbose=2)

test = [TEST.format(number) for number in NUMBERS]
print(model.evaluate(test, tenths, verbose=0, return_dict=True))
for text in test[::3]:
    print(f"{text!r}: {10 * model.classify(text)[0][0]['score']:.1f} minutes")
