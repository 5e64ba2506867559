"""The experiments run end to end and write their figures."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from experiments.paper import EXPERIMENTS, run_experiment
from experiments.paper.command import run_command
from experiments.paper.outputs import MARK, write_results

ROOT = Path(__file__).parents[2]


def test_toy(tmp_path):
    run = [sys.executable, "-m", "experiments.toy", "--quick", "--out", str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == f"{tmp_path / 'README.md'}\n"
    table = pd.read_csv(tmp_path / "blocks.csv")
    assert len(table) == 5 * 4
    assert (np.abs(table["drawn"] - table["exact"]) < 5 * table["error"]).all()  # five standard errors
    assert (table["drawn"] != table["exact"]).any()
    assert (tmp_path / "figure1.png").stat().st_size > 10_000
    assert (tmp_path / "figure1.svg").stat().st_size > 10_000
    assert tomllib.loads((tmp_path / "config.toml").read_text())["draws"] == 500


class TestEntry:
    def test_settings_come_from_a_file(self, tmp_path):
        config = tmp_path / "mine.toml"
        config.write_text("draws = 20\nconditions = 2\neigenvalue = 2\n")
        out = run_experiment("toy", config=config, out=tmp_path / "out", verbose=False)
        assert len(pd.read_csv(out / "blocks.csv")) == 2 * 4
        again = run_experiment("toy", config=out / "config.toml", out=tmp_path / "again", verbose=False)
        assert (again / "blocks.csv").read_text() == (out / "blocks.csv").read_text()

    @pytest.mark.parametrize(
        ("text", "message"),
        [("draw = 3", "no setting 'draw'; there are"), ("draws = '3'", "the same type as 4000"), ("draws", "TOML")],
    )
    def test_bad_settings_are_refused(self, tmp_path, text, message):
        (tmp_path / "mine.toml").write_text(text)
        with pytest.raises(ValueError, match=message):
            run_experiment("toy", config=tmp_path / "mine.toml", out=tmp_path / "out")
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("name", [name for name, about in EXPERIMENTS.items() if about.folders])
    def test_missing_data_are_one_line(self, tmp_path, name, capsys, monkeypatch):
        monkeypatch.delenv("VARIEGATE_DATA", raising=False)
        with pytest.raises(ValueError, match="VARIEGATE_DATA"):
            run_experiment(name, out=tmp_path / "out")
        with pytest.raises(SystemExit, match="1"):
            run_command(name, ["--data", str(tmp_path), "--out", str(tmp_path / "out")])
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert EXPERIMENTS[name].folders[0] in said
        assert not (tmp_path / "out").exists()

    def test_what_people_wrote_above_the_results_stays(self, tmp_path):
        write_results(tmp_path, "Title", ["old"])
        path = tmp_path / "README.md"
        path.write_text(path.read_text().replace("# Title", "# Title\n\nWhy it is so."))
        write_results(tmp_path, "Other", ["new"])
        assert path.read_text() == f"# Title\n\nWhy it is so.\n\n{MARK}\n\nnew\n"


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_interrupted_set_up_is_taken_up_again(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()  # the environment was made, but uv never got into it
    run = ["make", "--dry-run", f"{tmp_path}/.dev", f"VENV={tmp_path}"]
    done = subprocess.run(run, capture_output=True, text=True, check=True, cwd=ROOT)
    assert "install --quiet --disable-pip-version-check uv" in done.stdout
