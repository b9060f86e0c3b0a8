import os

import pytest

from kerasbert.data.files import (
    UnwritableFolderError,
    atomic_folder,
    atomic_path,
    atomic_write,
    ensure_writable_folder,
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_written_file_appears_alone_and_complete(tmp_path):
    with atomic_write(tmp_path / "weights.bin") as file:
        file.write(b"\x00\r\n")
        assert not (tmp_path / "weights.bin").exists()
    assert (tmp_path / "weights.bin").read_bytes() == b"\x00\r\n"
    assert names(tmp_path) == ["weights.bin"]


def test_text_is_utf_8_and_newlines_stay_as_written(tmp_path):
    with atomic_write(tmp_path / "vocab.txt", "w") as file:
        file.write("naïve\n東\r\n")
    assert (tmp_path / "vocab.txt").read_bytes() == "naïve\n東\r\n".encode()


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_keeps_the_old_file_and_leaves_nothing_else(tmp_path, error):
    (tmp_path / "report.md").write_text("old")

    def fail():
        with atomic_write(tmp_path / "report.md", "w") as file:
            file.write("half of the new")
            raise error

    with pytest.raises(error):
        fail()
    assert (tmp_path / "report.md").read_text() == "old"
    assert names(tmp_path) == ["report.md"]


def test_missing_parent_folders_are_created(tmp_path):
    with atomic_write(tmp_path / "a" / "b" / "c.bin") as file:
        file.write(b"1")
    assert (tmp_path / "a" / "b" / "c.bin").read_bytes() == b"1"


def test_a_written_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    with atomic_write(tmp_path / "atomic"):
        pass
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_keeps_pointing_to_the_new_content(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with atomic_write(tmp_path / "link", "w") as file:
        file.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_unknown_modes_are_refused(tmp_path):
    with pytest.raises(ValueError, match="mode='a'"), atomic_write(tmp_path / "x", "a"):
        pass


def test_a_temporary_path_has_the_suffix_of_the_target(tmp_path):
    with atomic_path(tmp_path / "model.tflite") as temporary:
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".tflite"
        temporary.write_bytes(b"TFL3")
    assert (tmp_path / "model.tflite").read_bytes() == b"TFL3"
    assert names(tmp_path) == ["model.tflite"]


def test_a_temporary_path_is_removed_on_error(tmp_path):
    def fail():
        with atomic_path(tmp_path / "model.tflite") as temporary:
            temporary.write_bytes(b"TF")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert names(tmp_path) == []


def test_a_new_folder_appears_as_a_whole(tmp_path):
    with atomic_folder(tmp_path / "preset") as temporary:
        (temporary / "assets" / "tokenizer").mkdir(parents=True)
        (temporary / "assets" / "tokenizer" / "vocab.txt").write_text("[PAD]")
        (temporary / "config.json").write_text("{}")
        assert not (tmp_path / "preset").exists()
    assert (tmp_path / "preset" / "assets" / "tokenizer" / "vocab.txt").read_text() == "[PAD]"
    assert names(tmp_path / "preset") == ["assets", "config.json"]
    assert names(tmp_path) == ["preset"]


def test_an_existing_folder_keeps_its_other_files(tmp_path):
    (tmp_path / "assets").mkdir()
    for name in ("notes.txt", "config.json", "assets/merges.txt"):
        (tmp_path / name).write_text("old")
    with atomic_folder(tmp_path) as temporary:
        (temporary / "assets").mkdir()
        (temporary / "assets" / "vocab.txt").write_text("new")
        (temporary / "config.json").write_text("new")
    found = {
        str(path.relative_to(tmp_path)): path.read_text()
        for path in tmp_path.rglob("*")
        if path.is_file()
    }
    assert found == {
        "notes.txt": "old",
        "config.json": "new",
        os.path.join("assets", "merges.txt"): "old",
        os.path.join("assets", "vocab.txt"): "new",
    }


def test_an_error_changes_nothing_of_an_existing_folder(tmp_path):
    folder = tmp_path / "preset"
    folder.mkdir()
    (folder / "config.json").write_text("old")

    def fail():
        with atomic_folder(folder) as temporary:
            (temporary / "config.json").write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert (folder / "config.json").read_text() == "old"
    assert names(folder) == ["config.json"]
    assert names(tmp_path) == ["preset"]


@pytest.mark.parametrize(("there", "new"), [("a/file", "a"), ("z", "z/file")])
def test_a_folder_and_a_file_of_one_name_change_nothing(tmp_path, there, new):
    folder = tmp_path / "preset"
    (folder / there).parent.mkdir(parents=True)
    (folder / there).write_text("old")

    def clash():
        with atomic_folder(folder) as temporary:
            (temporary / "b").write_text("new")
            (temporary / new).parent.mkdir(exist_ok=True)
            (temporary / new).write_text("new")

    with pytest.raises(UnwritableFolderError, match="same name"):
        clash()
    assert (folder / there).read_text() == "old"
    assert not (folder / "b").exists()
    assert names(tmp_path) == ["preset"]


@pytest.mark.parametrize("writer", [atomic_write, atomic_path, atomic_folder])
@pytest.mark.parametrize("below", ["file/output", "file/deeper/output"])
def test_a_file_in_place_of_a_folder_fails_before_any_work(tmp_path, writer, below):
    (tmp_path / "file").write_text("I am a file")
    with (
        pytest.raises(UnwritableFolderError, match=r"Choose another folder.*file"),
        writer(tmp_path / below),
    ):
        pytest.fail("the work was begun")
    assert names(tmp_path) == ["file"]


def test_a_folder_in_place_of_the_file_fails_before_any_work(tmp_path):
    (tmp_path / "taken").mkdir()
    with (
        pytest.raises(UnwritableFolderError, match=r"Choose another name.*taken"),
        atomic_write(tmp_path / "taken"),
    ):
        pytest.fail("the work was begun")


def test_a_file_in_place_of_the_target_folder_fails_before_any_work(tmp_path):
    (tmp_path / "taken").write_text("old")
    with (
        pytest.raises(UnwritableFolderError, match="taken"),
        atomic_folder(tmp_path / "taken"),
    ):
        pytest.fail("the work was begun")
    assert (tmp_path / "taken").read_text() == "old"


def test_devices_are_never_replaced():
    with (
        pytest.raises(UnwritableFolderError, match="not a file"),
        atomic_write(os.devnull),
    ):
        pytest.fail("the work was begun")


def test_asking_early_creates_the_folder_and_leaves_nothing_in_it(tmp_path):
    folder = ensure_writable_folder(tmp_path / "results" / "run")
    assert folder == tmp_path / "results" / "run"
    assert names(folder) == []


def test_asking_early_refuses_what_cannot_be_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    for impossible in (tmp_path / "file", tmp_path / "file" / "results"):
        with pytest.raises(OSError, match="Choose another folder"):
            ensure_writable_folder(impossible)
