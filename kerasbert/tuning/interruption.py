"""Signals to stop that wait until a training run's state is on disk."""

from __future__ import annotations

import signal
import threading


class Interruption:
    """Holds Ctrl-C and requests to terminate back while its `with` block runs.

    The first one is noted; whoever looks at `pending` writes what is to be kept and lets it through
    with `pass_on`. A second one goes through at once. Outside the main thread, where Python handles
    no signals, nothing is held back.
    """

    def __init__(self, message: str):
        self.pending: int | None = None
        self._message = message
        self._before = {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) not in (None, signal.SIG_IGN):
                    self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind, error, traceback):
        self._put_back()
        if self.pending and kind is None:
            self.pass_on()

    def pass_on(self) -> None:
        """Let the signal do what it does otherwise, such as raise `KeyboardInterrupt`."""
        self._put_back()
        number, self.pending = self.pending, None
        signal.raise_signal(number)

    def _note(self, number, frame):
        is_second, self.pending = self.pending is not None, number
        if is_second:
            self.pass_on()
        else:
            print(self._message, flush=True)

    def _put_back(self):
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}
