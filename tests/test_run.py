"""A run written from Python is the folder that the command writes."""

import json

import numpy as np
import pandas as pd
import pytest

import variegate as vg

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(60, 4)), columns=list("abcd"))


@pytest.fixture(scope="module")
def model():
    return vg.DiverseRegressor(random_state=0, max_iter=3).fit(X, 2 * X["c"] + 0.5 * RNG.normal(size=60))


def test_a_folder_from_python(model, tmp_path):
    compared = vg.compare(["omp"], X, X["c"], size=1, repeats=2, reference="omp", progress=False)
    run = vg.Run(model, ["a note"], comparison=compared, record={"seed": 0})
    run.write(tmp_path / "found")
    names = {path.name for path in (tmp_path / "found").iterdir()}
    assert {"panel.csv", "selection.csv", "comparison.csv", "comparison_wide.csv", "report.html", "run.json"} < names
    assert "frontier.csv" not in names
    record = json.loads((tmp_path / "found/run.json").read_text())
    assert (record["seed"], record["data"]["notes"]) == (0, ["a note"])
    assert "a note" in (tmp_path / "found/report.html").read_text()
    assert vg.load(tmp_path / "found/model.vg").panel_.members == model.panel_.members


def test_results_are_replaced_only_if_asked(model, tmp_path):
    vg.Run(model).write(tmp_path)
    (tmp_path / "mine.txt").write_text("mine")
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(FileExistsError, match="overwrite"):
        vg.Run(model, ["another"]).write(tmp_path)
    assert (tmp_path / "run.json").read_bytes() == before
    vg.Run(model, ["another"]).write(tmp_path, overwrite=True)
    assert "another" in (tmp_path / "run.json").read_text()
    assert (tmp_path / "mine.txt").exists()
