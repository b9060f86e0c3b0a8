import warnings

import pytest

import kerasbert
from kerasbert.cli.main import main


def test_help_lists_the_commands(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    assert "quickstart" in capsys.readouterr().out


def test_the_version_is_the_packages(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"kerasbert {kerasbert.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["unknown"], ["quickstart", "--backend", "theano"]])
def test_wrong_usage_ends_with_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: kerasbert" in capsys.readouterr().err


def test_a_warning_is_one_line(monkeypatch, capsys):
    def warn(arguments):
        warnings.simplefilter("always")  # whatever pytest was told; put back by the command
        warnings.warn("One\n  and two.", stacklevel=1)

    monkeypatch.setattr("kerasbert.cli.quickstart.run", warn)
    assert main(["quickstart"]) == 0
    assert capsys.readouterr().err == "kerasbert: warning: One and two.\n"
