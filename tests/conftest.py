"""What every test may use: fixed seeds and the folder of larger real data."""

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

# These compile much: on TensorFlow and JAX, where they would take the better part of an hour, they
# run with `-m slow` alone. On torch they run always.
COMPILE_MUCH = {
    "tests/docs_test.py",
    "tests/models/dropout_test.py",
    "tests/models/epochs_test.py",
    "tests/models/mask_answers_test.py",
    "tests/models/multiple_choice_test.py",
    "tests/models/question_answerer_test.py",
    "tests/models/resume_data_test.py",
    "tests/models/resume_test.py",
    "tests/models/text_embedder_test.py",
    "tests/models/token_classifier_test.py",
    "tests/parity/answers_parity_test.py",
    "tests/parity/sentence_transformers_parity_test.py",
    "tests/tuning/additions_test.py",
    "tests/tuning/bottleneck_adapters_test.py",
    "tests/tuning/deltas_test.py",
    "tests/tuning/describing_test.py",
    "tests/tuning/freezing_test.py",
    "tests/tuning/keeping_test.py",
    "tests/tuning/key_prefixes_test.py",
    "tests/tuning/low_rank_test.py",
    "tests/tuning/merging_test.py",
    "tests/tuning/resuming_test.py",
    "tests/tuning/soft_prompts_test.py",
    "tests/tuning/unfreezing_test.py",
    "tests/tuning/vocabulary_test.py",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark what compiles much as slow where that counts, before pytest selects by marks."""
    if keras.backend.backend() == "torch":
        return
    for item in items:
        if item.path.relative_to(config.rootpath).as_posix() in COMPILE_MUCH:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def fixed_seeds():
    """Weights, dropout and shuffles are the same in every run and in every order of tests."""
    keras.utils.set_random_seed(20240229)


@pytest.fixture(autouse=True, scope="module")
def bounded_memory():
    """What JAX compiled for one file is not kept for the next: it adds up to gigabytes."""
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
