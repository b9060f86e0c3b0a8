"""Train a reader on questions about parcels, some of which have no answer, and ask it new ones.

The model starts from nothing and the data is written here, so it runs offline in under a minute.
For real texts, begin with a pretrained encoder: `kerasbert.QuestionAnswerer.from_preset(...)`.
Set KERAS_BACKEND to tensorflow, jax or torch to choose the backend.
"""

import random

import keras

import kerasbert

keras.utils.set_random_seed(0)
draw = random.Random(0)
ANSWERS = {
    "Who brought the parcel?": ["Ada", "Ben", "Chloe", "David", "Emma", "Farid", "Grace", "Hugo"],
    "Where did it go?": ["the old harbour", "the mill", "the town hall", "the station"],
    "When was it?": ["at noon", "on Monday", "in the evening", "last week"],
}


def ask(count):
    """Questions, and answers: which part of the context, and where it begins; {} for none."""
    questions, contexts, answers = [], [], []
    for _ in range(count):
        said = {question: draw.choice(options) for question, options in ANSWERS.items()}
        question = draw.choice(list(said))
        who, where, when = said.values()
        sentences = [f"{who} came by.", f"Then to {where} it went.", f"That was {when}."]
        if draw.random() < 0.3:
            del sentences[list(said).index(question)]
        context = " ".join(["It was a heavy parcel.", *sentences, "Nobody opened it."])
        start = context.find(said[question])
        questions.append(question)
        contexts.append(context)
        answers.append({} if start < 0 else {"text": said[question], "start": start})
    return {"question": questions, "context": contexts}, answers


train, dev = ask(600), ask(150)
tokenizer = kerasbert.Tokenizer.train(train[0]["question"] + train[0]["context"], 200)
config = kerasbert.EncoderConfig(
    vocabulary_size=tokenizer.vocabulary_size(),
    num_layers=2,
    num_heads=2,
    hidden_dim=64,
    intermediate_dim=128,
    max_sequence_length=64,
    hidden_dropout=0.0,
    attention_dropout=0.0,
)
reader = kerasbert.QuestionAnswerer(
    kerasbert.Encoder(config),
    kerasbert.QuestionAnswererPreprocessor(tokenizer, sequence_length=64, stride=16),
)
reader.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=3e-3))
reader.fit(*train, epochs=8, validation_data=dev, verbose=2)

threshold = reader.tune_threshold(*dev)
print(f"no answer where its score exceeds the best answer's by more than {threshold:.1f}")
context = "It was a heavy parcel. Emma came by. Then to the town hall it went. Nobody opened it."
for question in ANSWERS:
    print(question, reader.answer(question, context))
