"""Train a tagger on words with tags, and find the names in texts.

Runs offline with the extra `demo`: `pip install "kerasbert[demo,tensorflow]"`, then
`python examples/tag_words.py`. Set KERAS_BACKEND to tensorflow, jax or torch to choose the backend.
It writes its own little data, in the format of the CoNLL shared tasks, to names.conll.
"""

import itertools
from pathlib import Path

import kerasbert
from kerasbert.pipelines.demo_weights import demo_encoder

PEOPLE = ["Anna", "Omar Haddad", "Mei Lin", "John Smith", "Ines"]
PLACES = ["Oslo", "New York", "Lima", "Cape Town", "Paris"]
PATTERNS = [
    "{person} lives in {place} .",
    "Yesterday {person} flew to {place} with a friend .",
    "The museum in {place} was closed , said {person} .",
    "{person} and {other} met in {place} .",
    "It rained all week .",
]


def tagged(kind: str, name: str) -> list[str]:
    """Lines of a name: its first word begins an entity (B-), the others are inside (I-)."""
    return [f"{word}\t{'I' if at else 'B'}-{kind}" for at, word in enumerate(name.split())]


def sentence(pattern: str, person: str, place: str) -> str:
    other = PEOPLE[PEOPLE.index(person) - 1]
    names = {
        "{person}": tagged("PER", person),
        "{other}": tagged("PER", other),
        "{place}": tagged("LOC", place),
    }
    lines = [names.get(word, [f"{word}\tO"]) for word in pattern.split()]
    return "\n".join(itertools.chain.from_iterable(lines))


sentences = itertools.starmap(sentence, itertools.product(PATTERNS, PEOPLE, PLACES))
Path("names.conll").write_text("\n\n".join(sentences) + "\n", encoding="utf-8")
data = kerasbert.data.read_conll("names.conll")

tagger = kerasbert.TokenClassifier.from_preset(demo_encoder(), labels=data.labels())
tagger.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=5e-4))
tagger.fit(data.inputs(), data.targets(), epochs=4, batch_size=16)

text = "Last summer Maria Rossi moved from Berlin to San Francisco."
for entity in tagger.tag([text])[0]:
    place = text[entity["start"] : entity["end"]]
    print(f"{entity['label']}: {place!r} ({entity['score']:.2f})")

words = ["Omar", "lives", "in", "Madrid", "."]
print(list(zip(words, tagger.predict_tags([words])[0], strict=True)))

tagger.save_to_preset("name-tagger")
print("saved to name-tagger/")
