"""Train a masked language model on plain texts, fill masks with it, and score texts.

Runs offline in seconds: the texts are made here, and the encoder is small and starts from scratch.
To adapt a pretrained model to the texts of a domain, load one:
`kerasbert.MaskedLM.from_preset(...)`. Set KERAS_BACKEND to tensorflow, jax or torch to choose the
backend.
"""

import random

import kerasbert

CAPITALS = {
    "France": "Paris",
    "Norway": "Oslo",
    "Italy": "Rome",
    "Japan": "Tokyo",
    "Peru": "Lima",
    "Egypt": "Cairo",
}
PATTERNS = [
    "{city} is the capital of {country}.",
    "The capital of {country} is {city}.",
    "Whoever travels to {country} should see {city}.",
]

draw = random.Random(0)
texts = [
    draw.choice(PATTERNS).format(country=country, city=city)
    for country, city in draw.choices(list(CAPITALS.items()), k=600)
]
train, test = texts[:500], texts[500:]

tokenizer = kerasbert.Tokenizer.train(train, vocabulary_size=200, lowercase=False)
config = kerasbert.EncoderConfig(
    vocabulary_size=tokenizer.vocabulary_size(),
    num_layers=2,
    num_heads=4,
    hidden_dim=64,
    intermediate_dim=128,
    max_sequence_length=32,
)
model = kerasbert.MaskedLM(
    kerasbert.Encoder(config),
    preprocessor=kerasbert.MaskedLMPreprocessor(tokenizer, sequence_length=32, buckets=(16,)),
)
model.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=3e-3))
# No labels: in each epoch other tokens are masked, and these are what the model learns to tell.
model.fit(train, epochs=25, validation_data=test, verbose=2)

for text in ("The capital of Norway is [MASK].", "[MASK] is the capital of [MASK]."):
    print(text)
    answers = model.fill_mask(text, top_k=2)
    for answers_of_mask in answers if isinstance(answers[0], list) else [answers]:
        for answer in answers_of_mask:
            print(f"  {answer['score']:.2f}  {answer['sequence']}")

print("among given words:")
for answer in model.fill_mask("The capital of [MASK] is Lima.", targets=["Peru", "Japan"]):
    print(f"  {answer['score']:.2f}  {answer['token']}")

print("the higher the score, the more probable is the text:")
for text in ("The capital of Italy is Rome.", "The capital of Italy is Cairo."):
    print(f"  {model.score(text):7.2f}  {text}")
print(f"perplexity of the test texts: {model.perplexity(test):.2f}")
