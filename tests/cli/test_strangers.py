"""What a newcomer and a hostile user ran into: each line a case."""

import json
import os
import shutil

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from cli_problems import QUICK, SELECT, data

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")


@pytest.mark.parametrize("link", [None, "symbolic", "hard"])
@pytest.mark.parametrize(
    ("command", "lost"),
    [
        ("predict model.vg data.csv --out", "data.csv"),
        ("predict model.vg data.csv --out", "model.vg"),
        ("predict model.vg data.csv --config settings.toml --out", "settings.toml"),
        ("report model.vg --out", "model.vg"),
        ("report model.vg --out", "run.json"),
        ("compare data.csv --outcome y --out", "data.csv"),
        ("compare data.csv --outcome y --labels sets.csv --out", "sets.csv"),
        ("compare data.csv --outcome also.csv:y --out", "also.csv"),
        ("compare data.csv --outcome y --config settings.toml --out", "settings.toml"),
    ],
)
def test_what_is_read_is_not_written(run, folder, kept, command, lost, link):
    out = lost if link is None else "link"
    if link is not None:
        (os.symlink if link == "symbolic" else os.link)(lost, out)
    before = (folder / lost).read_bytes()
    ran = run(*command.split(), out, "--overwrite")
    assert ran.last_line == f"variegate: error: cannot write {out}: it is also an input; choose another place"
    assert (folder / lost).read_bytes() == before


@pytest.fixture
def kept(folder, fitted):
    """Files that commands read."""
    for name in ("model.vg", "run.json"):
        shutil.copy(f"found/{name}", name)
    shutil.copy("data.csv", "also.csv")
    (folder / "sets.csv").write_text("feature,group\n")
    (folder / "settings.toml").write_text("quiet = true\n")


def test_a_run_replaces_no_file_that_it_reads(run, folder):
    shutil.copy("data.csv", "selection.csv")
    os.link("data.csv", "groups.csv")
    (folder / "run.json").write_text(json.dumps({"settings": {}}))
    for options, lost in (
        (("selection.csv",), "selection.csv"),
        (("data.csv",), "groups.csv"),
        (("found.csv", "--config", "run.json"), "run.json"),
    ):
        shutil.copy("data.csv", "found.csv")
        before = (folder / lost).read_bytes()
        ran = run("select", *options, "--outcome", "y", "--drop", "kind", *QUICK, "--out", ".", "--overwrite")
        assert ran.last_line == f"variegate: error: cannot write {lost}: it is also an input; choose another place"
        assert (folder / lost).read_bytes() == before
        (folder / lost).unlink()


def test_parts_of_a_large_table_are_inputs_too(run, folder, fitted):
    for name in ("x.bed", "x.bim", "x.fam"):
        (folder / name).write_text("data")
    (folder / "x.zarr").mkdir()
    (folder / "x.zarr" / "0.0").write_text("data")
    for table, lost, why in (
        ("x.bed", "x.fam", "it is also an input"),
        ("x.zarr", "x.zarr/0.0", f"it is inside an input, {folder / 'x.zarr'}"),
    ):
        ran = run("predict", "found/model.vg", table, "--out", lost, "--overwrite")
        assert ran.last_line == f"variegate: error: cannot write {lost}: {why}; choose another place"
        assert (folder / lost).read_text() == "data"


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
    assert run(*SELECT, "--id-column", "who", "--out", "found").code == 0
    ran = run("predict", "found/model.vg", "data.csv", "--config", "found/run.json")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[1].startswith("s0,")


def test_exposures_are_not_forgotten_in_silence(run, folder):
    rng = np.random.default_rng(0)
    table = data().drop(columns=["kind", "y"])
    table["hours"] = rng.uniform(1, 5, len(table))
    table["reads"] = rng.poisson(table["hours"] * np.exp(0.5 * table["a"]))
    table.to_csv("counts.csv", index=False)
    counts = ("--outcome", "reads", "--task", "counts", "--exposure", "hours")
    command = ("select", "counts.csv", *counts, *QUICK, "--out", "found")
    assert run(*command).code == 0
    said = "the model was fitted with exposures; predicting for an exposure of 1; or give --exposure COLUMN"
    assert said in run("predict", "found/model.vg", "counts.csv").err
    assert said not in run("predict", "found/model.vg", "counts.csv", "--exposure", "hours").err


def test_nothing_better_than_guessing_is_not_recommended():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 6)), rng.normal(size=40)
    found = vg.frontier(X, y, diversities=[1], sizes=[3], methods=[], cv=3, progress=False)
    assert found.points["accuracy"].max() < 0
    assert found.sentence().startswith("No set predicts better than guessing: the best has R2 -")


def test_survival_of_the_dead_only_is_told(run, folder):
    table = data().drop(columns=["kind", "y"])
    table["days"], table["died"] = np.arange(1.0, 61), 1
    table.to_csv("dead.csv", index=False)
    ran = run("select", "dead.csv", "--time", "days", "--event", "died", *QUICK, "--out", "found")
    assert "no sample is censored: samples without the event need the time when they were last seen" in ran.err
    assert json.loads((folder / "found/run.json").read_text())["data"]["task"] == "survival"


def test_the_censored_are_not_given_away(run, folder):
    table = data().drop(columns=["kind", "y"])
    table["days"], table["died"] = np.where(np.arange(60) < 9, np.arange(60.0), np.nan), np.arange(60) < 9
    table.to_csv("dead.csv", index=False)
    ran = run("select", "dead.csv", "--time", "days", "--event", "died", "--out", "found")
    assert ran.last_line.endswith(
        "but keep samples without the event: give the time when they were last seen in --time days"
    )


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


def test_predictions_say_where_columns_could_be(run, folder, fitted):
    data().set_index("sample").drop(columns="kind").T.to_csv("turned.csv", index_label="gene")
    ran = run("predict", "found", "turned.csv")
    assert ran.last_line.endswith("if each sample is a column, use --samples columns")
    assert run("predict", "found", "turned.csv", "--samples", "columns").code == 0
    data()[["sample", "a", "y"]].to_csv("clinical.csv", index=False)
    data().drop(columns=["a", "y", "kind"]).to_csv("genes.csv", index=False)
    select = ("select", "genes.csv", "--outcome", "clinical.csv:y", "--always-include", "a", *QUICK)
    assert run(*select, "--out", "two").code == 0
    ran = run("predict", "two", "genes.csv")
    assert ran.last_line.endswith(
        "for instance 'a'; it has sample, b, c, d, e, …; if another table has it, give --outcome-table FILE"
    )


def test_links_to_nothing_are_noticed_before_the_work(run, folder, fitted):
    (folder / "out").symlink_to("nowhere")
    (folder / "p.csv").symlink_to("nowhere/p.csv")
    ran = run(*SELECT, "--out", "out")
    assert (
        ran.err
        == "variegate: error: cannot write out: it is a link to nowhere, which does not exist; remove the link\n"
    )
    ran = run("predict", "found", "data.csv", "--out", "p.csv")
    assert "cannot write p.csv: There is no folder" in ran.last_line


def test_the_record_of_another_run_is_not_taken(run, folder, fitted):
    assert run(*SELECT, "--seed", "1", "--out", "two").code == 0
    assert run("report", "found", "--overwrite").code == 0
    shutil.copy("two/run.json", "found/run.json")
    ran = run("report", "found", "--overwrite")
    assert ran.code == 1
    assert "found/run.json: not readable (it is the record of another model); move it" in ran.last_line


def test_features_that_only_the_size_has_chosen_are_told(run, folder):
    ran = run(*SELECT, "--size", "4", "--out", "found")
    said = "2 of the 4 chosen features have probabilities below 0.1: --size asked for 4, but on average sets have 2."
    assert said in ran.err
    assert said in " ".join(json.loads((folder / "found/run.json").read_text())["data"]["notes"])
    assert "chosen features" not in run(*SELECT, "--size", "2", "--out", "two").err


def test_a_column_that_is_too_large_or_small_is_named(run, folder):
    for unit, variance in ((1e200, "overflows"), (1e-200, "underflows")):
        data().assign(d=lambda frame, unit=unit: unit * frame["d"]).to_csv("data.csv", index=False)
        said = f"data.csv: columns must be of moderate size, got 'd', whose variance {variance}; divide it by a number"
        assert run(*SELECT, "--out", "found").last_line == f"variegate: error: {said}"
    data().assign(d=lambda frame: 1e200 * frame["d"]).to_csv("data.csv", index=False)
    assert "'d', whose variance overflows" in run(*SELECT, "--screen", "3", "--out", "found").last_line


def test_one_split_of_one_feature_has_no_nan(run, folder):
    compare = ("compare", "data.csv", "--outcome", "y", "--drop", "kind", "--methods", "omp,lasso", "--size", "1")
    ran = run(*compare, "--repeats", "1")
    assert ran.code == 0, ran.err
    assert "over 1 split\n" in ran.err
    assert "nan" not in ran.out
    ran = run(*SELECT, "--compare", "omp", "--size", "1", "--out", "found")
    assert "on 2 splits" in ran.err
    assert "nan" not in ran.err


def test_a_copy_of_the_outcome_is_noticed(run, folder):
    data().assign(z=lambda frame: 3 - frame["y"]).to_csv("data.csv", index=False)
    ran = run(*SELECT, "--out", "found")
    assert "note: 'z' nearly equals the outcome (|r| above 0.999): is it known before" in ran.err
    assert "leave it out by --drop z" in ran.err
    assert "nearly equals" not in run(*SELECT, "--drop", "kind,z", "--out", "two").err


@pytest.mark.parametrize("how", ["network", "labels"])
def test_covariates_need_no_place_in_the_similarity(run, folder, how):
    if how == "network":
        (folder / "alike.csv").write_text("from,to\na,b\nb,c\nc,d\nd,e\n")
    else:
        (folder / "alike.gmt").write_text("one\tof\ta\tb\tc\ntwo\tof\td\te\n")
    path = next(folder.glob("alike.*"))
    ran = run(*SELECT, "--always-include", "f", f"--{how}", path)
    assert ran.code == 0, ran.err
    assert "warning" not in ran.err


def test_raw_counts_are_noticed(run, folder):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.poisson(np.exp(rng.uniform(0, 8, size=120)), size=(30, 120))).add_prefix("g")
    y = rng.normal(size=30)
    alike = frame % 50 + 2000  # large, but all on one scale
    for name, table in {"raw": frame, "logs": np.log2(frame + 1), "shifted": frame - 1, "alike": alike}.items():
        table.assign(y=y).to_csv(f"{name}.csv", index=False)
        ran = run("select", f"{name}.csv", "--outcome", "y", "--out", name, *QUICK)
        assert ran.code == 0, ran.err
        assert ("looks like raw counts" in ran.err) == (name == "raw")
