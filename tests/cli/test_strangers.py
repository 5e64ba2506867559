"""What a newcomer and a hostile user ran into: each line a case."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from cli_problems import QUICK, SELECT, data

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")


def test_what_is_read_is_not_written(run, folder, fitted):
    shutil.copy("found/model.vg", "model.vg")
    for command, lost in (
        (("predict", "model.vg", "data.csv", "--out", "data.csv", "--overwrite"), "data.csv"),
        (("predict", "model.vg", "data.csv", "--out", "model.vg", "--overwrite"), "model.vg"),
    ):
        before = (folder / lost).read_bytes()
        ran = run(*command)
        assert ran.last_line == f"variegate: error: cannot write {lost}: it is read, too; give another --out"
        assert (folder / lost).read_bytes() == before
    shutil.copy("data.csv", "selection.csv")
    ran = run("select", "selection.csv", "--outcome", "y", "--exclude", "kind", *QUICK, "--out", ".", "--overwrite")
    assert ran.last_line == "variegate: error: cannot write selection.csv: it is read, too; give another --out"


def test_ids_do_not_play_with_the_terminal(run, folder, fitted):
    strange = data()
    strange["sample"] = "\x1b[2J" + strange["sample"]
    strange.to_csv("strange.csv", index=False)
    ran = run("predict", "found/model.vg", "strange.csv")
    assert ran.code == 0, ran.err
    assert "\x1b" not in ran.out
    assert "?[2Js0" in ran.out


def test_predictions_take_how_tables_are_read_from_the_record(run, folder):
    table = data().rename(columns={"sample": "who"})
    table.to_csv("data.csv", index=False, sep=";")
    assert run(*SELECT, "--delimiter", ";", "--id-column", "who", "--out", "found").code == 0
    ran = run("predict", "found/model.vg", "data.csv", "--config", "found/run.json")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[1].startswith("s0,")


def test_exposures_are_not_forgotten_in_silence(run, folder):
    rng = np.random.default_rng(0)
    table = data().drop(columns=["kind", "y"])
    table["hours"] = rng.uniform(1, 5, len(table))
    table["reads"] = rng.poisson(table["hours"] * np.exp(0.5 * table["a"]))
    table.to_csv("counts.csv", index=False)
    assert run("select", "counts.csv", "--counts", "reads", "--exposure", "hours", *QUICK, "--out", "found").code == 0
    said = "the model was fitted with exposures; counts are predicted for an exposure of 1: --exposure COLUMN"
    assert said in run("predict", "found/model.vg", "counts.csv").err
    assert said not in run("predict", "found/model.vg", "counts.csv", "--exposure", "hours").err


def test_nothing_better_than_guessing_is_not_recommended():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 6)), rng.normal(size=40)
    found = vg.frontier(X, y, diversities=[1], sizes=[3], methods=[], cv=3, progress=False)
    assert found.points["accuracy"].max() < 0
    assert found.sentence().startswith("No set predicts better than none: the best has R2 -")


@pytest.mark.parametrize("positions", ["-5; 1", "99", "x"])
def test_a_frontier_that_is_none_is_noticed(run, folder, fitted, positions):
    columns = {"method": "variegate", "diversity": 0.0, "size": 1, "accuracy": 0.9, "error": 0.1, "log det": 0.0}
    pd.DataFrame([{**columns, "largest |r|": 0.0, "positions": positions}]).to_csv("found/frontier.csv", index=False)
    ran = run("report", "found/model.vg", "--overwrite")
    assert ran.code == 1
    assert ran.last_line.startswith("variegate: error: found/frontier.csv: not ")


def test_survival_of_the_dead_only_is_told(run, folder):
    table = data().drop(columns=["kind", "y"])
    table["days"], table["died"] = np.arange(1.0, 61), 1
    table.to_csv("dead.csv", index=False)
    ran = run("select", "dead.csv", "--time", "days", "--event", "died", *QUICK, "--out", "found")
    assert "no sample is censored: those without the event need the time at which they were last seen" in ran.err
    assert json.loads((folder / "found/run.json").read_text())["data"]["task"] == "survival"


def test_an_id_column_of_no_table(run, folder):
    ran = run(*SELECT, "--outcome-id", "sample", "--out", "found")
    assert "--outcome-id needs --outcome-table" in ran.last_line


@pytest.mark.parametrize("bandwidth", ["1e-300", "1e-160", "1e-6"])
def test_a_bandwidth_of_nothing_makes_all_features_unlike(run, folder, bandwidth):
    pd.DataFrame({"name": list("abcdef"), "x": range(6)}).to_csv("places.csv", index=False)
    ran = run(*SELECT, "--coordinates", "places.csv", "--bandwidth", bandwidth, "--out", "found")
    assert ran.code == 0, ran.err
    found = pd.read_csv("found/selection.csv").set_index("feature")["inclusion_probability"]
    assert found["d"] > 0.95
    assert "rank" not in ran.err


def test_names_without_end_are_shortened(run, folder):
    endless = "x" * 100_000
    data().rename(columns={"c": endless}).to_csv("data.csv", index=False)
    for option in (("--always-include", "q"), ("--categorical", f"{endless}y"), ("--outcome", "z"), ("--size", "99")):
        ran = run(*SELECT, *option, "--out", "found")
        assert ran.code == 1
        assert max(map(len, ran.err.splitlines())) < 1000
    with pytest.raises(ValueError, match="x…") as caught:
        vg.data.read_table("data.csv", outcome=f"{endless}z")
    assert len(str(caught.value)) < 1000
