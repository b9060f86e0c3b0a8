"""Time and peak memory of a forward pass over long documents, as they grow with the length.

kerasbert on each backend against transformers on torch, for encoders with the sparse attention of
ModernBERT, Longformer and BigBird; base width, few layers, random weights, one row without padding.

Run `python benchmarks/long_documents.py --help`, or see the README beside this file.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

import options
from report import conditions
from runner import Peer
from worker import CLOCKS

# ModernBERT's every third layer sees all.
LAYERS = {"modernbert": 3, "longformer": 2, "big_bird": 2}
LENGTHS = (512, 1024, 2048, 4096, 8192)
VOCABULARY_SIZE = 1000


def main():
    parser = options.parser("Time and peak memory of a forward pass over long documents.")
    parser.set_defaults(dtypes=["float32"], peers=["kerasbert", "transformers"])
    parser.add_argument("--families", nargs="+", choices=LAYERS, default=list(LAYERS))
    parser.add_argument("--lengths", nargs="+", type=int, default=LENGTHS)
    parser.add_argument("--job", type=json.loads, help=argparse.SUPPRESS)  # a process of our own
    arguments = options.parse(parser)
    if arguments.job:
        print(json.dumps(_measure_here(**arguments.job)))
        return
    lengths = sorted(arguments.lengths)[: 3 if arguments.quick else None]
    output = options.Output(arguments)
    output.add(f"## Long documents\n\n{conditions(arguments)}\n")
    for family in arguments.families:
        output.add(_table(family, lengths, arguments))


def _table(family, lengths, arguments):
    """One row for each peer and length: time and memory, their ratios to those of transformers, and
    that of the time to the time for half the length."""
    peers = [peer for peer in options.peers(arguments) if peer.library in _STEPS]
    results = {
        (peer, length): _measure(family, peer, length, arguments)
        for length in lengths
        for peer in reversed(peers)  # transformers first
    }
    lines = [
        f"### {family}, {LAYERS[family]} layers x 768, 1 row",
        "",
        "| | backend | dtype | tokens | ms | x half | x transformers | MB | x transformers |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for peer in peers:
        reference = Peer("transformers", "torch", peer.dtype)
        for length in lengths:
            found = results[peer, length]
            theirs = results.get((reference, length))
            cells = [peer.library, peer.backend, peer.dtype, str(length)]
            if isinstance(found, str):
                lines.append(f"| {' | '.join(cells)} | failed: {found} |")
                continue
            shorter = results.get((peer, length // 2))
            cells += [
                f"{found['seconds'] * 1000:.0f}",
                _ratio(found, shorter, "seconds"),
                _ratio(found, theirs, "seconds"),
                f"{found['bytes'] / 1e6:.0f}",
                _ratio(found, theirs, "bytes"),
            ]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def _ratio(result, other, key):
    return f"{result[key] / other[key]:.2f}" if isinstance(other, dict) else ""


def _measure(family, peer, length, arguments):
    """Seconds and bytes, measured in a new process; or why there are none."""
    print(f"{family}, {length} tokens, {peer.name}", file=sys.stderr)
    job = {
        "library": peer.library,
        "family": family,
        "length": length,
        "dtype": peer.dtype,
        "rounds": arguments.rounds,
        "threads": arguments.threads,
        "clock": arguments.clock,
    }
    threading = {"OMP_NUM_THREADS": str(arguments.threads)} if arguments.threads else {}
    result = subprocess.run(
        [sys.executable, __file__, "--job", json.dumps(job)],
        env={**os.environ, "KERAS_BACKEND": peer.backend, **threading},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        lines = result.stderr.strip().splitlines()
        return lines[-1] if lines else f"exit code {result.returncode}"
    return json.loads(result.stdout.splitlines()[-1])


def _measure_here(library, family, length, dtype, rounds, threads, clock):
    """Median seconds of a call once it is compiled, and the memory that a call takes at most."""
    import numpy as np

    if threads and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    ids = np.random.default_rng(0).integers(4, VOCABULARY_SIZE, (1, length), "int32")
    step = _STEPS[library](family, ids, dtype)
    before = _memory("VmRSS")
    step()
    seconds = []
    for _ in range(rounds):
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak of compiling
        start = CLOCKS[clock]()
        step()
        seconds.append(CLOCKS[clock]() - start)
    return {"seconds": statistics.median(seconds), "bytes": _memory("VmHWM") - before}


def _memory(field):
    """Bytes of this process, as Linux counts them: `VmRSS` now, `VmHWM` at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def _kerasbert(family, ids, dtype):
    """`predict_on_batch` of our encoder."""
    import importlib

    import numpy as np

    import kerasbert

    base = importlib.import_module(f"kerasbert.families.{family}").BASE
    config = base.replace(
        num_layers=LAYERS[family],
        vocabulary_size=VOCABULARY_SIZE,
        pad_token_id=1,
        max_sequence_length=max(ids.size, *LENGTHS),
    )
    encoder = kerasbert.Encoder(config, dtype=dtype)
    batch = {name: np.zeros_like(ids) for name in encoder.input_names}
    batch |= {"token_ids": ids, "padding_mask": np.ones_like(ids)}
    if "global_mask" in batch:
        batch["global_mask"][:, 0] = 1  # as for classification
    return lambda: encoder.predict_on_batch(batch)


def _transformers(family, ids, dtype):
    """transformers' encoder under `inference_mode`, with the attention that it chooses itself."""
    import torch
    import transformers

    kind = {"modernbert": "ModernBert", "longformer": "Longformer", "big_bird": "BigBird"}[family]
    config = getattr(transformers, f"{kind}Config")(
        num_hidden_layers=LAYERS[family],
        vocab_size=VOCABULARY_SIZE,
        pad_token_id=1,
        max_position_embeddings=max(ids.size, *LENGTHS) + 2,
    )
    model = getattr(transformers, f"{kind}Model")(config).eval().to(getattr(torch, dtype))
    batch = {"input_ids": torch.from_numpy(ids).long()}
    batch["attention_mask"] = torch.ones_like(batch["input_ids"])
    if family == "longformer":
        batch["global_attention_mask"] = torch.zeros_like(batch["input_ids"])
        batch["global_attention_mask"][:, 0] = 1

    def step():
        with torch.inference_mode():
            return model(**batch).last_hidden_state.float().numpy()

    return step


_STEPS = {"kerasbert": _kerasbert, "transformers": _transformers}


if __name__ == "__main__":
    main()
