"""One measured peer in a process of its own: builds its steps, then runs them when it is told to.

It reads one JSON object a line from stdin: first the job, then `{"step", "repeats"}` for each turn.
It answers with a line each: the seconds of each step once warm, then the seconds of each repeat.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time

CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
WARM_UPS = 2  # the first compiles


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not mix with the answers

    def answer(value):
        answers.write(json.dumps(value) + "\n")
        answers.flush()

    job = json.loads(sys.stdin.readline())
    if job["threads"] and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: job["threads"]])
    clock = CLOCKS[job["clock"]]
    peer = importlib.import_module(f"peers.{job['peer']}")
    steps = getattr(peer, job["kind"])(**job["arguments"])
    answer({name: _seconds(step, WARM_UPS, clock)[-1] for name, step in steps.items()})
    for line in sys.stdin:
        turn = json.loads(line)
        answer(_seconds(steps[turn["step"]], turn["repeats"], clock))


def _seconds(step, repeats, clock):
    taken = []
    for _ in range(repeats):
        start = clock()
        step()
        taken.append(clock() - start)
    return taken


if __name__ == "__main__":
    main()
