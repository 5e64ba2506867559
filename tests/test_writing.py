"""Outputs that are complete or not there, whatever stands in their place."""

import io
import os
import platform
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pandas as pd
import pytest

from variegate.tables import csv_text
from variegate.writing import CannotWrite, new_file, new_folder

NAMES = ("a.csv", "run.json")


def fill(folder, text, names=NAMES):
    for name in names:
        (folder / name).write_text(text)


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_errors_of_the_work_are_not_errors_of_writing(tmp_path):
    with pytest.raises(TimeoutError, match="no worker"), new_file(tmp_path / "a.csv", overwrite=False, inputs=()):
        raise TimeoutError("no worker")
    assert not list(tmp_path.iterdir())


def test_the_second_of_two_runs_into_one_new_folder_fails(tmp_path):
    out = tmp_path / "found"

    def both():
        with new_folder(out, NAMES, False, ()) as second:
            with new_folder(out, NAMES, False, ()) as first:
                fill(first, "first")
            fill(second, "second")

    with pytest.raises(CannotWrite, match="another run created"):
        both()
    assert contents(out) == dict.fromkeys(NAMES, "first")
    assert os.listdir(tmp_path) == ["found"]


def test_a_folder_called_like_a_file_is_left_alone_and_nothing_is_mixed(tmp_path):
    out = tmp_path / "found"
    with new_folder(out, NAMES, False, ()) as work:
        fill(work, "old", ["a.csv"])
    (out / "run.json").mkdir()
    refused = pytest.raises(CannotWrite, match=r"run\.json: it is a folder; nothing was written")
    with refused, new_folder(out, NAMES, True, ()):
        raise AssertionError("the work is not even begun")
    (out / "run.json").rmdir()

    def disturbed():
        with new_folder(out, NAMES, True, ()) as work:
            fill(work, "new")
            (out / "run.json").mkdir()  # while it ran

    with pytest.raises(CannotWrite, match="it is a folder"):
        disturbed()
    assert contents(out) == {"a.csv": "old"}


def test_what_cannot_be_moved_brings_all_back(tmp_path, monkeypatch):
    out = tmp_path / "found"
    with new_folder(out, NAMES, False, ()) as work:
        fill(work, "old")
    (out / "mine.txt").write_text("mine")
    real = os.replace

    def replace(source, target):
        if str(target).endswith("found/run.json") and Path(source).read_text() == "new":
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(CannotWrite, match="No space left"), new_folder(out, NAMES, True, ()) as work:
        fill(work, "new")
    assert contents(out) == {**dict.fromkeys(NAMES, "old"), "mine.txt": "mine"}


def test_folders_of_killed_runs_are_cleaned_and_those_of_others_are_not(tmp_path, monkeypatch):
    out = tmp_path / "found"
    code = (
        "import os, sys, pathlib; from variegate.writing import new_folder\n"
        f"with new_folder(pathlib.Path({str(out)!r}), ('a.csv',), False, ()): os.kill(os.getpid(), 9)"
    )

    def killed():
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
        return set(os.listdir(tmp_path))

    (left,) = killed()
    running = re.sub("-[0-9]+-", f"-{os.getppid()}-", left)
    (tmp_path / running).mkdir()
    with new_folder(out, NAMES, False, ()) as work:
        fill(work, "new")
    assert set(os.listdir(tmp_path)) == {running, "found"}
    shutil.rmtree(out)
    monkeypatch.setattr(platform, "node", lambda: "another host")  # whose processes have numbers of their own
    elsewhere = killed()
    with new_folder(out, NAMES, False, ()) as work:
        fill(work, "new")
    assert set(os.listdir(tmp_path)) == {*elsewhere, "found"}


@pytest.mark.parametrize("name", ["run.7777777", "run.2024", "run.7777777.old", "run*", "."])
def test_runs_whose_names_begin_alike_leave_each_other_alone(tmp_path, name):
    """7777777 is no process."""
    with new_folder(tmp_path / name, NAMES, False, ()) as first:
        with new_folder(tmp_path / "run", NAMES, False, ()) as second:
            assert first.is_dir()
            fill(second, "second")
        fill(first, "first")
    assert contents(tmp_path / "run") == dict.fromkeys(NAMES, "second")
    assert contents(tmp_path / name) == dict.fromkeys(NAMES, "first")


def test_a_name_with_a_star_cleans_no_other_run(tmp_path):
    left = tmp_path / ".run.7777777.abcdefgh"
    left.mkdir()
    with new_folder(tmp_path / "*", NAMES, False, ()) as work:
        fill(work, "new")
    assert left.is_dir()


def test_links_pipes_and_devices_stay_what_they_are(tmp_path):
    real, link, pipe = tmp_path / "real.csv", tmp_path / "link.csv", tmp_path / "pipe"
    real.write_text("old")
    link.symlink_to(real)
    with new_file(link, True, ()) as path:
        path.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    os.mkfifo(pipe)
    heard = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()))
    reader.start()
    with new_file(pipe, False, ()) as path:
        path.write_text("through")
    reader.join(10)
    assert heard == ["through"]
    assert pipe.is_fifo()
    with new_file(Path(os.devnull), False, ()) as path:
        path.write_text("gone")
    assert not Path(os.devnull).is_file()


def test_no_cell_begins_like_a_formula():
    names = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM", "\tx", "plain", "a=b"]
    text = csv_text(pd.DataFrame({"feature": names, "value": range(-3, 4)}))
    back = pd.read_csv(io.StringIO(text))
    assert back["value"].tolist() == list(range(-3, 4))
    assert [cell.removeprefix("'") for cell in back["feature"]] == names
    assert not back["feature"].str.startswith(("=", "+", "-", "@", "\t")).any()
