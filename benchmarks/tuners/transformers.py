"""transformers on torch, with the loop of its examples: shuffled batches padded to their longest
row, the fused AdamW of its trainer, warm-up and linear decay."""

from __future__ import annotations

import time

import numpy as np
import torch
import transformers
from jobs import labels_of
from outcome import Outcome

IGNORED = -100
STRIDE = 128
MAX_ANSWER_TOKENS = 30
N_BEST = 20
WARMUP = 0.1
WEIGHT_DECAY = 0.01
UNDECAYED = ("bias", "LayerNorm.weight")


def tune(job, train, dev, seed, strategy, encoder) -> Outcome:
    """Fine-tune `encoder` on `train` and predict `dev`."""
    if strategy != "full":
        raise ValueError(
            f"transformers is the peer of full fine-tuning alone. Received: {strategy}"
        )
    transformers.set_seed(seed)
    tokenizer = transformers.AutoTokenizer.from_pretrained(encoder)
    kind = KINDS[job.kind](job, train, tokenizer)
    model = kind.model_class.from_pretrained(encoder, attn_implementation="sdpa", **kind.head)
    rows = kind.rows(train, with_labels=True)
    seconds = _train(model, rows, kind, job)
    dev_rows = kind.rows(dev, with_labels=False)
    predictions = kind.predictions(_outputs(model, dev_rows, kind, job.batch_size), dev, dev_rows)
    count = sum(parameter.numel() for parameter in model.parameters())
    steps = -(-len(rows) // job.batch_size)
    return Outcome(predictions, seconds, steps, count, 4 * count)


def _train(model, rows, kind, job):
    decayed, undecayed = [], []
    for name, parameter in model.named_parameters():
        (undecayed if name.endswith(UNDECAYED) else decayed).append(parameter)
    groups = [
        {"params": decayed, "weight_decay": WEIGHT_DECAY},
        {"params": undecayed, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=job.learning_rate, eps=1e-6, fused=True)
    steps = -(-len(rows) // job.batch_size) * job.epochs
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, int(steps * WARMUP), steps)
    model.train()
    seconds = []
    for _ in range(job.epochs):
        start = time.perf_counter()
        order = torch.randperm(len(rows)).tolist()
        for first in range(0, len(rows), job.batch_size):
            batch = kind.batch([rows[row] for row in order[first : first + job.batch_size]])
            loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            loss.item()
        seconds.append(time.perf_counter() - start)
    return seconds


def _outputs(model, rows, kind, batch_size):
    """The model's outputs for each row, in order; batches are of similar length."""
    model.eval()
    order = sorted(range(len(rows)), key=lambda row: kind.length(rows[row]))
    outputs = [None] * len(rows)
    with torch.inference_mode():
        for first in range(0, len(rows), batch_size):
            chosen = order[first : first + batch_size]
            found = kind.arrays(model(**kind.batch([rows[row] for row in chosen])))
            for row, array in zip(chosen, found, strict=True):
                outputs[row] = array
    return outputs


class _Kind:
    """How one kind of task becomes rows of ids, and outputs become predictions."""

    def __init__(self, job, train, tokenizer):
        self.job, self.tokenizer = job, tokenizer
        self.head = {}

    def batch(self, rows):
        """Rows padded to their longest."""
        names = [name for name in self.tokenizer.model_input_names if name in rows[0]]
        inputs = [{name: row[name] for name in names} for row in rows]
        batch = dict(self.tokenizer.pad(inputs, return_tensors="pt"))
        if "labels" in rows[0]:
            batch["labels"] = self.labels([row["labels"] for row in rows], batch)
        return batch

    def labels(self, values, batch):
        return torch.tensor(values)

    def length(self, row):
        return len(row["input_ids"])

    def arrays(self, outputs):
        return outputs.logits.numpy()

    def _encoded(self, *columns, **options):
        return self.tokenizer(
            *columns, truncation=True, max_length=self.job.sequence_length, **options
        )

    @staticmethod
    def _as_rows(encoded):
        return [
            {name: values[row] for name, values in encoded.items()}
            for row in range(len(encoded["input_ids"]))
        ]


class _Classifier(_Kind):
    model_class = transformers.AutoModelForSequenceClassification

    def __init__(self, job, train, tokenizer):
        super().__init__(job, train, tokenizer)
        self.is_regression = job.kind == "regression"
        self.names = None if self.is_regression else labels_of(train)
        self.head = {"num_labels": 1 if self.is_regression else len(self.names)}

    def rows(self, split, with_labels):
        columns = list(split.x.values()) if isinstance(split.x, dict) else [split.x]
        rows = self._as_rows(self._encoded(*columns))
        for row, label in zip(rows, split.y if with_labels else (), strict=False):
            row["labels"] = float(label) if self.is_regression else self.names.index(label)
        return rows

    def predictions(self, outputs, dev, rows):
        if self.is_regression:
            return [float(output[0]) for output in outputs]
        return [self.names[int(output.argmax())] for output in outputs]


class _Tagger(_Kind):
    model_class = transformers.AutoModelForTokenClassification

    def __init__(self, job, train, tokenizer):
        super().__init__(job, train, tokenizer)
        self.names = labels_of(train)
        self.head = {"num_labels": len(self.names)}

    def rows(self, split, with_labels):
        encoded = self._encoded(split.x, is_split_into_words=True)
        rows = self._as_rows(encoded)
        for at, row in enumerate(rows):
            row["words"] = encoded.word_ids(at)
            if with_labels:
                row["labels"] = [
                    IGNORED if is_not_first else self.names.index(split.y[at][word])
                    for word, is_not_first in _first_tokens(row["words"])
                ]
        return rows

    def labels(self, values, batch):
        width = batch["input_ids"].shape[1]
        return torch.tensor([tags + [IGNORED] * (width - len(tags)) for tags in values])

    def predictions(self, outputs, dev, rows):
        found = []
        for words, row, output in zip(dev.x, rows, outputs, strict=True):
            tags = ["O"] * len(words)
            for column, (word, is_not_first) in enumerate(_first_tokens(row["words"])):
                if not is_not_first:
                    tags[word] = self.names[int(output[column].argmax())]
            found.append(tags)
        return found


def _first_tokens(words):
    """The word of each token, and whether the token is not the first of a word."""
    before = None
    for word in words:
        yield word, word is None or word == before
        before = word


class _Chooser(_Kind):
    model_class = transformers.AutoModelForMultipleChoice

    def rows(self, split, with_labels):
        rows = []
        for at, (text, choices) in enumerate(zip(split.x["text"], split.x["choices"], strict=True)):
            row = {"choices": self._as_rows(self._encoded([text] * len(choices), choices))}
            if with_labels:
                row["labels"] = split.y[at]
            rows.append(row)
        return rows

    def length(self, row):
        return max(len(choice["input_ids"]) for choice in row["choices"])

    def batch(self, rows):
        flat = super().batch([choice for row in rows for choice in row["choices"]])
        batch = {name: values.view(len(rows), -1, values.shape[1]) for name, values in flat.items()}
        if "labels" in rows[0]:
            batch["labels"] = torch.tensor([row["labels"] for row in rows])
        return batch

    def predictions(self, outputs, dev, rows):
        return [int(output.argmax()) for output in outputs]


class _Answerer(_Kind):
    model_class = transformers.AutoModelForQuestionAnswering

    def rows(self, split, with_labels):
        encoded = self.tokenizer(
            split.x["question"],
            split.x["context"],
            truncation="only_second",
            max_length=self.job.sequence_length,
            stride=STRIDE,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        rows = []
        for at, row in enumerate(self._as_rows(encoded)):
            row["is_context"] = [sequence == 1 for sequence in encoded.sequence_ids(at)]
            row["question"] = row.pop("overflow_to_sample_mapping")
            if with_labels:
                row["labels"] = _span(row, split.y[row["question"]])
            rows.append(row)
        return rows

    def batch(self, rows):
        batch = super().batch(rows)
        if "labels" in batch:
            batch["start_positions"], batch["end_positions"] = batch.pop("labels").unbind(1)
        return batch

    def arrays(self, outputs):
        return np.stack([outputs.start_logits.numpy(), outputs.end_logits.numpy()], axis=-1)

    def predictions(self, outputs, dev, rows):
        texts = [("", -np.inf)] * len(dev)
        null_scores = np.full(len(dev), np.inf)
        for row, output in zip(rows, outputs, strict=True):
            question = row["question"]
            null_scores[question] = min(null_scores[question], output[0].sum())
            found = _best_span(row, output)
            if found is not None and found[0] > texts[question][1]:
                first, last = found[1]
                texts[question] = (dev.x["context"][question][first:last], found[0])
        return (
            [text for text, _ in texts],
            [float(null - best) for null, (_, best) in zip(null_scores, texts, strict=True)],
        )


def _span(row, answer):
    """First and last token of an answer in a window; the first token where it is not in it."""
    if not answer:
        return (0, 0)
    start, end = answer["start"], answer["start"] + len(answer["text"])
    columns = [
        column
        for column, (first, last) in enumerate(row["offset_mapping"])
        if row["is_context"][column] and first < end and last > start
    ]
    is_whole = columns and (
        row["offset_mapping"][columns[0]][0] <= start
        and row["offset_mapping"][columns[-1]][1] >= end
    )
    return (columns[0], columns[-1]) if is_whole else (0, 0)


def _best_span(row, output):
    """The score and the characters of the best answer in a window; `None` if it has none."""
    best = None
    length = len(row["input_ids"])
    starts, ends = (np.argsort(-output[:length, side])[:N_BEST] for side in (0, 1))
    for start in starts:
        for end in ends:
            is_answer = row["is_context"][start] and row["is_context"][end]
            if not (is_answer and start <= end < start + MAX_ANSWER_TOKENS):
                continue
            score = float(output[start, 0] + output[end, 1])
            if best is None or score > best[0]:
                offsets = row["offset_mapping"]
                best = score, (offsets[start][0], offsets[end][1])
    return best


KINDS = {
    "classifier": _Classifier,
    "regression": _Classifier,
    "tagging": _Tagger,
    "multiple_choice": _Chooser,
    "question_answering": _Answerer,
}
