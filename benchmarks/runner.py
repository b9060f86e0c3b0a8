"""Runs peers in turn, each in its own process, so that load from elsewhere hits all alike."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

WORKER = Path(__file__).with_name("worker.py")
CLOCKS = ("wall", "cpu")
TURN_SECONDS = 0.3  # a turn repeats a short step until it has lasted about this long


@dataclasses.dataclass(frozen=True)
class Peer:
    """Something to measure: a library (a module of `peers/`), on a backend, in a dtype."""

    library: str
    backend: str
    dtype: str
    variant: str = ""

    @property
    def name(self) -> str:
        """As printed, such as `keras_hub jax float32`."""
        return " ".join(filter(None, (self.library, self.backend, self.dtype, self.variant)))


@dataclasses.dataclass
class Result:
    """Seconds of one peer at one step, by round."""

    peer: Peer
    rounds: list[list[float]] = dataclasses.field(default_factory=list)
    failure: str = ""

    @property
    def median(self) -> float:
        """Over all repeats of all rounds."""
        return statistics.median(second for turn in self.rounds for second in turn)

    def ratio_to(self, other: Result) -> float:
        """Median over the rounds of this peer's time over the other's in the same round."""
        pairs = zip(self.rounds, other.rounds, strict=True)
        return statistics.median(statistics.median(a) / statistics.median(b) for a, b in pairs)


class Worker:
    """A peer's process; `steps` maps the names of its steps to their seconds once warm."""

    def __init__(self, peer: Peer, kind: str, arguments: dict, threads: int, clock: str):
        self._log = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (see close)
        threading = {"OMP_NUM_THREADS": str(threads)} if threads else {}
        self._process = subprocess.Popen(
            [sys.executable, str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "KERAS_BACKEND": peer.backend, **threading},
        )
        if peer.variant:
            arguments = {**arguments, "variant": peer.variant}
        job = {
            "peer": peer.library,
            "kind": kind,
            "arguments": {"backend": peer.backend, "dtype": peer.dtype, **arguments},
            "threads": threads,
            "clock": clock,
        }
        try:
            self.steps = self._ask(job)
        except BaseException:
            self.close()
            raise

    def run(self, step: str) -> list[float]:
        """Seconds of each repeat of one turn."""
        repeats = max(1, round(TURN_SECONDS / self.steps[step]))
        return self._ask({"step": step, "repeats": repeats})

    def close(self):
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._log.close()

    def _ask(self, message):
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            self._process.wait()
            self._log.seek(0)
            lines = self._log.read().strip().splitlines()
            raise RuntimeError(lines[-1] if lines else f"exit code {self._process.returncode}")
        return json.loads(answer)


def measure(peers, kind, arguments, rounds, threads, clock) -> dict[str, list[Result]]:
    """Measure all peers in turn.

    Args:
        peers: list of `Peer`.
        kind: function of the peer's module that builds its steps.
        arguments: what that function takes besides `backend` and `dtype`.
        rounds: how often each peer has its turn, for each step.
        threads: CPUs that each process may use; 0 for all.
        clock: `"wall"` or `"cpu"`.

    Returns:
        For each step the results, in the order of `peers`. A peer that cannot run has a `failure`.
    """
    workers, failures = {}, {}
    with contextlib.ExitStack() as stack:
        for peer in peers:
            print(f"starting {peer.name}", file=sys.stderr)
            try:
                workers[peer] = Worker(peer, kind, arguments, threads, clock)
            except RuntimeError as error:
                failures[peer] = str(error)
                print(f"  failed: {error}", file=sys.stderr)
            else:
                stack.callback(workers[peer].close)
        steps = dict.fromkeys(step for worker in workers.values() for step in worker.steps)
        return {step: _take_turns(peers, workers, failures, step, rounds) for step in steps}


def _take_turns(peers, workers, failures, step, rounds):
    print(f"measuring {step}", file=sys.stderr)
    results = {peer: Result(peer, failure=failures.get(peer, "")) for peer in peers}
    for _ in range(rounds):
        for peer, worker in workers.items():
            if step in worker.steps and not results[peer].failure:
                try:
                    results[peer].rounds.append(worker.run(step))
                except RuntimeError as error:  # such as a process killed for its memory
                    results[peer] = Result(peer, failure=str(error))
    return [result for result in results.values() if result.rounds or result.failure]
