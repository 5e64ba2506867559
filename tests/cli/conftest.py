"""A small table, and the command run in this process."""

from typing import NamedTuple

import pytest

import variegate as vg
from cli_problems import SELECT, data
from variegate.cli import main


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def last_line(self):
        return self.err.rstrip("\n").split("\n")[-1]


@pytest.fixture
def run(capsys):
    """Run `variegate …` and return exit code, stdout and stderr."""

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        found = capsys.readouterr()
        return Ran(code, found.out, found.err)

    return call


@pytest.fixture(autouse=True)
def few_splits(monkeypatch):
    """Two splits to compare on, instead of five."""
    monkeypatch.setattr("variegate.cli.select.REPEATS", 2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with data.csv: six features, y and kind (two classes) that depend on a and d."""
    monkeypatch.chdir(tmp_path)
    data().to_csv("data.csv", index=False)
    return tmp_path


@pytest.fixture
def fitted(run, folder):
    """A model of data.csv in found/."""
    assert run(*SELECT, "--out", "found").code == 0
    return vg.load("found/model.vg")
