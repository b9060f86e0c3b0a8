"""What every test may use: fixed seeds and the folder of larger real data."""

import gc
import os
from pathlib import Path

# The tests' models are tiny: threads would only wait for each other. Read when torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# On JAX the tests spend most of their time compiling, and often the same function again.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "jax")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
if os.environ.get("KERAS_BACKEND") == "jax":  # about half of the time to compile
    os.environ.setdefault(
        "XLA_FLAGS",
        "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true",
    )

import keras
import pytest


@pytest.fixture(autouse=True)
def fixed_seeds():
    """Weights, dropout and shuffles are the same in every run and in every order of tests."""
    keras.utils.set_random_seed(20240229)


@pytest.fixture(autouse=True)
def small_heap():
    """What one test leaves behind does not slow down the next.

    Keras collects garbage for every layer that it quantizes, which takes seconds where imports and
    earlier tests have left millions of objects: frozen, they are not looked at again.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def bounded_memory():
    """What one file made is not kept for the next: what JAX compiled adds up to gigabytes."""
    keras.utils.set_random_seed(20240229)  # for what all tests of the file share
    gc.unfreeze()
    gc.collect()
    yield
    if keras.backend.backend() == "jax":
        import jax

        jax.clear_caches()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of larger real data that `KERASBERT_DATA` names (mark such tests `real_data`)."""
    folder = os.environ.get("KERASBERT_DATA")
    if not folder:
        pytest.skip("needs larger real data: set KERASBERT_DATA to the folder that holds it")
    if not Path(folder).is_dir():
        pytest.fail(f"KERASBERT_DATA must name a folder. Received: KERASBERT_DATA={folder}")
    return Path(folder)
