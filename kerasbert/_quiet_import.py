"""Import Keras and KerasHub without TensorFlow's start-up lines.

TensorFlow's native libraries log to file descriptor 2 before any logging set-up can reach them (no
environment variable silences them), and KerasHub imports TensorFlow wherever it is installed.
Everything else that the imports write to stderr is passed on.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import tempfile

_START_UP_LINE = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog"
    rb"|[IWE]\d{4} \d\d:\d\d:|[IWE]0000 00:00:"
    rb"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWE] "
    rb"|To enable the following instructions:"
    rb"|INFO: Created TensorFlow Lite"
)


@contextlib.contextmanager
def quiet_stderr():
    """Hold back file descriptor 2, then pass on what is not a TensorFlow start-up line."""
    try:
        saved = os.dup(2)
    except OSError:  # no stderr at all (a windowed program): nothing to silence
        yield
        return
    sys.stderr.flush()
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
            held.seek(0)
            for line in held:
                if not _START_UP_LINE.match(line):
                    os.write(2, line)


def import_quietly() -> None:
    """Import `keras` and `keras_hub`, silently."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")  # TensorFlow's later notices, not warnings
    with quiet_stderr():
        import keras
        import keras_hub  # noqa: F401

        # The first operation initialises the backend, which logs as well.
        keras.ops.convert_to_tensor(0)
