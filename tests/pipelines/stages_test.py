import json

import pytest

from kerasbert.pipelines.stages import Stages

SETTINGS = {"first": {"a": 1}, "second": {"b": 1}, "third": {"c": 1}}


def silent(line):
    pass


def run(folder, settings=SETTINGS, fails_at=None, say=silent) -> list[str]:
    """Runs three stages that write a file each; gives the names of those that did."""
    stages, made = Stages(folder, say), []
    for name in SETTINGS:

        def make(name=name):
            if name == fails_at:
                raise KeyboardInterrupt
            made.append(name)
            (folder / name).write_text(f"output of {name}")
            return {"from": name}

        assert stages.run(name, settings[name], make, [name]) == {"from": name}
    return made


def test_finished_stages_are_kept(tmp_path):
    assert run(tmp_path) == ["first", "second", "third"]
    lines = []
    assert run(tmp_path, say=lines.append) == []
    assert lines == [f"{name}: kept from an earlier run" for name in SETTINGS]


def test_other_settings_make_a_stage_and_those_after_it_anew(tmp_path):
    run(tmp_path)
    assert run(tmp_path, {**SETTINGS, "second": {"b": 2}}) == ["second", "third"]


def test_returning_to_earlier_settings_does_not_reuse_what_was_overwritten(tmp_path):
    run(tmp_path)
    run(tmp_path, {**SETTINGS, "third": {"c": 2}})
    assert run(tmp_path) == ["third"]


def test_an_interrupted_stage_is_not_finished_and_the_next_run_starts_with_it(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, fails_at="second")
    assert Stages(tmp_path, silent).finished == ("first",)
    assert run(tmp_path) == ["second", "third"]


def test_a_stage_that_is_made_anew_does_not_count_as_finished_meanwhile(tmp_path):
    run(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, {**SETTINGS, "second": {"b": 2}}, fails_at="second")
    assert Stages(tmp_path, silent).finished == ("first",)


@pytest.mark.parametrize("damage", ["deleted", "changed"])
def test_a_stage_whose_output_is_not_what_it_wrote_is_made_anew(tmp_path, damage):
    run(tmp_path)
    if damage == "deleted":
        (tmp_path / "second").unlink()
    else:
        (tmp_path / "second").write_text("Output of second")
    assert run(tmp_path) == ["second", "third"]


def test_files_of_an_output_folder_are_watched_too(tmp_path):
    def make():
        (tmp_path / "preset" / "assets").mkdir(parents=True, exist_ok=True)
        (tmp_path / "preset" / "assets" / "vocab.txt").write_text("a")
        return len(runs)

    runs = []
    for content in ("a", "b"):
        Stages(tmp_path, silent).run("only", {}, make, ["preset"])
        runs.append(content)
        (tmp_path / "preset" / "assets" / "vocab.txt").write_text(content)
    assert Stages(tmp_path, silent).run("only", {}, make, ["preset"]) == 2


def test_times_are_those_of_the_run_that_made_a_stage(tmp_path):
    run(tmp_path)
    records = json.loads((tmp_path / "stages.json").read_text())
    records["first"]["seconds"] = 123.4
    (tmp_path / "stages.json").write_text(json.dumps(records))
    assert Stages(tmp_path, silent).seconds["first"] == 123.4


@pytest.mark.parametrize("content", ["", "{", "not json"])
def test_an_unreadable_state_file_means_that_nothing_is_finished(tmp_path, content):
    run(tmp_path)
    (tmp_path / "stages.json").write_text(content)
    assert run(tmp_path) == ["first", "second", "third"]
