"""Fresh processes on other backends, as the tests of models have them."""

from tests.models.conftest import other_backends, run_fresh  # noqa: F401
