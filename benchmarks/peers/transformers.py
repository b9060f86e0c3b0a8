"""transformers' BERT on torch, with `attn_implementation="sdpa"`."""

from __future__ import annotations

from shapes import SHAPES, VOCABULARY_SIZE, labels, token_batch

# The other peers' names of the inputs.
INPUTS = {
    "input_ids": "token_ids",
    "token_type_ids": "segment_ids",
    "attention_mask": "padding_mask",
}


def encode(backend, dtype, shape, batches):
    """The encoder under `inference_mode`, from arrays to an array."""
    import torch
    import transformers

    model = random_model(transformers.BertModel, shape, dtype)

    def step(batch_size):
        batch = _inputs(batch_size)

        def run():
            with torch.inference_mode():
                return model(**batch).last_hidden_state.float().numpy()

        return run

    return {f"batch {size}": step(size) for size in batches}


def train(backend, dtype, shape, batches):
    """Forward, backward, AdamW as transformers' trainer has it (fused); autocast for bfloat16."""
    import torch
    import transformers

    model = random_model(transformers.BertForSequenceClassification, shape, "float32").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01, fused=True)

    def step(batch_size):
        batch = _inputs(batch_size)
        targets = torch.from_numpy(labels(batch_size)).long()

        def run():
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16"):
                loss = model(**batch, labels=targets).loss
            loss.backward()
            optimizer.step()
            return loss.item()

        return run

    return {f"batch {size}": step(size) for size in batches}


def predict(backend, dtype, shape, texts, tokenizer, variant):
    """From strings to logits, each batch padded to its longest text.

    `variant` is `"sorted"`, by the number of tokens as a careful user would have it, or
    `"unsorted"`, as the texts come.
    """
    import numpy as np
    import torch
    import transformers

    model = random_model(transformers.BertForSequenceClassification, shape, dtype, num_labels=77)
    words = transformers.BertTokenizerFast.from_pretrained(tokenizer)

    def run():
        encoded = words(texts, truncation=True, max_length=128)
        order = np.arange(len(texts))
        if variant == "sorted":
            order = np.argsort([len(ids) for ids in encoded["input_ids"]], kind="stable")
        logits = np.empty((len(texts), 77), "float32")
        with torch.inference_mode():
            for start in range(0, len(texts), 32):
                rows = order[start : start + 32]
                batch = words.pad(
                    {name: [values[row] for row in rows] for name, values in encoded.items()},
                    return_tensors="pt",
                )
                logits[rows] = model(**batch).logits.float().numpy()
        return logits

    return {"texts": run}


def random_model(cls, shape, dtype, **fields):
    """A model of transformers' class `cls` in inference mode."""
    import torch
    import transformers

    sizes = SHAPES[shape]
    config = transformers.BertConfig(
        vocab_size=VOCABULARY_SIZE,
        num_hidden_layers=sizes.num_layers,
        hidden_size=sizes.hidden_dim,
        num_attention_heads=sizes.num_heads,
        intermediate_size=sizes.intermediate_dim,
        attn_implementation="sdpa",
        **fields,
    )
    return cls(config).eval().to(getattr(torch, dtype))


def _inputs(batch_size):
    import torch

    batch = token_batch(batch_size)
    return {theirs: torch.from_numpy(batch[ours]).long() for theirs, ours in INPUTS.items()}
