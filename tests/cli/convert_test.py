"""`kerasbert convert`: its arguments, its exit status and its last line."""

import os

import pytest
import transformers
from safetensors.numpy import load_file

from kerasbert import Encoder, EncoderConfig
from kerasbert.cli.main import main


@pytest.fixture
def command(capsys):
    """Runs the command in this process; gives its exit status, its output and its last error."""

    def run(*arguments):
        status = main(["convert", *map(str, arguments)])
        printed = capsys.readouterr()
        return status, printed.out, printed.err.strip().split("\n")[-1]

    return run


@pytest.fixture
def source(tmp_path):
    folder = tmp_path / "source"
    config = EncoderConfig(
        vocabulary_size=31, num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=12
    )
    Encoder(config, family="bert").save_to_preset(folder)
    return folder


def test_a_folder_is_converted_there_and_back(command, source, tmp_path):
    theirs, again = tmp_path / "theirs", tmp_path / "again"
    status, printed, _ = command(source, theirs, "--to", "transformers")
    assert status == 0
    assert printed.endswith(f"Everything is in {theirs}\n")
    assert transformers.AutoConfig.from_pretrained(theirs).vocab_size == 31
    assert command(theirs, again, "--to", "kerasbert")[0] == 0
    assert Encoder.from_preset(again).config == Encoder.from_preset(source).config


def test_another_family_may_be_named(command, tmp_path):
    config = EncoderConfig(
        vocabulary_size=31, num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=12,
        num_segments=0, pooler=None,
    )  # fmt: skip
    Encoder(config).save_to_preset(tmp_path / "source")
    options = ["--to", "transformers", "--family", "distilbert"]
    assert command(tmp_path / "source", tmp_path / "target", *options)[0] == 0
    keys = load_file(tmp_path / "target" / "model.safetensors")
    assert "transformer.layer.0.attention.q_lin.weight" in keys


def test_an_unknown_source_lists_near_names(command, tmp_path):
    status, _, error = command("bert_base_uncased", tmp_path / "out", "--to", "kerasbert")
    assert status == 2
    assert error.startswith("kerasbert: error: There is no built-in preset")
    assert "bert_base_en_uncased" in error
    assert not (tmp_path / "out").exists()


def test_a_truncated_file_is_named_and_nothing_is_written(command, source, tmp_path):
    path = source / "model.weights.h5"
    path.write_bytes(path.read_bytes()[:-100])
    status, _, error = command(source, tmp_path / "out", "--to", "transformers")
    assert status == 2
    assert str(path) in error
    assert os.listdir(tmp_path) == ["source"]


def test_a_target_that_holds_something_is_refused(command, source, tmp_path):
    status, _, error = command(source, source, "--to", "transformers")
    assert status == 2
    assert "nothing is overwritten" in error


@pytest.mark.parametrize("options", [[], ["--to", "onnx"]])
def test_the_format_must_be_a_known_one(options, source, tmp_path):
    with pytest.raises(SystemExit) as ended:
        main(["convert", str(source), str(tmp_path / "out"), *options])
    assert ended.value.code == 2


def test_ctrl_c_ends_with_its_own_status(command, source, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("kerasbert.pipelines.convert._check_same", interrupt)
    status, _, error = command(source, tmp_path / "out", "--to", "transformers")
    assert status == 130
    assert error == "Interrupted. Nothing was written."
    assert os.listdir(tmp_path) == ["source"]


def test_help_says_what_a_source_may_be(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["convert", "--help"])
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    for part in ("KerasHub", "TF 1", "hf://", "--to {kerasbert,transformers}"):
        assert part in printed
