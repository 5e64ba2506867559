"""`variegate select`: what it writes, says and repeats."""

import io
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info

import variegate as vg
from cli_problems import QUICK, SELECT, data
from variegate.baselines import METHODS, Diverse
from variegate.cli import select
from variegate.tables import selection_table

PANEL = {"panel.csv", "panel_curve.csv", "panel_frontier.csv", "stand_ins.csv"}
FILES = PANEL | {"selection.csv", "alternatives.csv", "groups.csv", "model.vg", "report.html", "run.json"}


def test_a_folder_with_the_answer(run, folder):
    ran = run(*SELECT, "--out", "found")
    assert ran.code == 0, ran.err
    assert {path.name for path in (folder / "found").iterdir()} == FILES
    assert {path.name for path in folder.iterdir()} == {"data.csv", "found"}
    table = pd.read_csv("found/selection.csv")
    expected = selection_table(vg.load("found/model.vg"))
    pd.testing.assert_frame_equal(table, expected, check_dtype=False)
    chosen = pd.read_csv(io.StringIO(ran.out), sep="\t")
    assert chosen["feature"].tolist() == expected["feature"][expected["selected"]].tolist()
    assert "d" in chosen["feature"].tolist()
    alternatives = pd.read_csv("found/alternatives.csv")
    assert alternatives["features"][0].split("; ") == sorted(chosen["feature"])
    assert "regression of 'y', since it holds numbers" in ran.err
    assert ran.last_line.startswith("variegate: done in")
    assert "found/report.html" in ran.last_line


def test_what_diversity_costs(run, folder):
    ran = run(*SELECT, "--out", "found", "--frontier", "--diversity", 2, "--json")
    assert ran.code == 0, ran.err
    table, told = pd.read_csv("found/frontier.csv"), json.loads(ran.out)["frontier"]
    assert set(table["method"]) == {"variegate", "omp", "lasso", "univariate"}
    assert len(table) == len(told["points"]) == (8 + 3) * table["size"].nunique()
    assert told["sentence"] in ran.err
    assert vg.load("found/model.vg").diversity == 2
    page = (folder / "found/report.html").read_text(encoding="utf-8").split('id="frontier"')[1].split("</section>")[0]
    assert run("report", "found/model.vg", "--out", "again.html").code == 0
    assert page in (folder / "again.html").read_text(encoding="utf-8")


def test_the_record_tells_all(run, folder):
    run(*SELECT, "--out", "found", "--seed", 7, "--size", 2)
    about = json.loads((folder / "found/run.json").read_text())
    assert about["data"] | {"hash": "", "notes": []} == {
        "path": "data.csv", "rows": 60, "columns": 6, "hash": "", "outcome": "y", "task": "regression",
        "classes": None, "constant": 0, "notes": [],
    }  # fmt: skip
    assert about["data"]["hash"].startswith("sha256:")
    assert about["seed"] == about["settings"]["seed"] == 7
    assert about["settings"]["size"] == 2
    assert about["versions"]["variegate"] == vg.__version__
    assert about["seconds"] > 0
    assert isinstance(about["warnings"], list)


@pytest.mark.parametrize("outcome", [("y", "kind"), ("kind", "y")])
def test_a_run_repeats_from_its_record(run, folder, outcome, chains):
    first = run(
        "select", "data.csv", "--outcome", outcome[0], "--drop", outcome[1], *QUICK, "--out", "one", "--seed", 3
    )
    again = run("select", "--config", "one/run.json", "--out", "two")
    assert first.code == again.code == 0, again.err
    for name in ("selection.csv", "alternatives.csv"):
        assert (folder / "one" / name).read_bytes() == (folder / "two" / name).read_bytes()
    other = run("select", "--config", "one/run.json", "--out", "three", "--seed", 4)
    assert other.code == 0
    assert (folder / "one/selection.csv").read_bytes() != (folder / "three/selection.csv").read_bytes()


def test_the_number_of_cores_changes_nothing(run, folder, monkeypatch):
    from variegate.cli import select

    seen, fitted = [], select.fitted

    def look(*arguments):
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return fitted(*arguments)

    monkeypatch.setattr(select, "fitted", look)
    assert run(*SELECT).code == 0
    assert set(seen) == {1}


def test_repeating_on_other_data_is_said(run, folder):
    run(*SELECT, "--out", "one")
    data(59).to_csv("data.csv", index=False)
    again = run("select", "--config", "one/run.json", "--out", "two")
    assert again.code == 0
    assert "the data differ" in again.err
    assert "the data differ" in json.loads((folder / "two/run.json").read_text())["warnings"][0]["text"]


def test_repeating_with_another_network_is_said(run, folder):
    (folder / "edges.csv").write_text("a,b\nb,c\nc,d\nd,e\ne,f\n")
    assert run(*SELECT, "--network", "edges.csv", "--out", "one").code == 0
    same = run("select", "--config", "one/run.json", "--out", "two")
    assert "differ" not in same.err
    (folder / "edges.csv").write_text("a,c\nb,c\nc,d\nd,e\ne,f\n")
    again = run("select", "--config", "one/run.json", "--out", "three")
    assert again.code == 0
    assert "warning: --network differs from" in again.err
    assert "edges.csv has changed" in json.loads((folder / "three/run.json").read_text())["warnings"][0]["text"]


def test_a_pipe_has_no_fingerprint(run, folder):
    os.mkfifo("pipe")
    feeder = threading.Thread(target=lambda: Path("pipe").write_bytes(Path("data.csv").read_bytes()))
    feeder.start()
    ran = run("select", "pipe", *SELECT[2:], "--out", "found")
    feeder.join()
    assert ran.code == 0, ran.err
    assert "warning: pipe can be read only once; this run cannot be repeated" in ran.err
    assert json.loads((folder / "found/run.json").read_text())["data"]["hash"] is None


def test_json_and_quiet(run, folder):
    ran = run(*SELECT, "--json", "--quiet")
    found = json.loads(ran.out)
    assert ran.err == ""
    assert found["report"] == "variegate-out/report.html"
    assert {row["feature"] for row in found["selected"]} >= {"d"}
    assert found["data"]["task"] == "regression"
    assert found["comparison"] is None


def test_comparison(run, folder):
    ran = run(*SELECT, "--compare", "omp", "--json")
    assert ran.code == 0, ran.err
    table = pd.read_csv("variegate-out/comparison.csv")
    assert set(table["method"]) == {"variegate", "omp"}
    assert sorted(table["repeat"].unique()) == [0, 1]
    assert {row["metric"] for row in json.loads(ran.out)["comparison"]} >= {"R2", "log det"}
    wide = pd.read_csv("variegate-out/comparison_wide.csv").set_index("method")
    mean = table[(table["method"] == "omp") & (table["metric"] == "R2")]["value"].mean()
    assert wide.loc["omp", "R² on held-out rows: mean"] == pytest.approx(mean)
    assert wide["splits"].tolist() == [2, 2]


def test_a_comparison_can_be_read_at_once(run, folder, monkeypatch):
    command = (*SELECT, "--compare", "omp")
    piped = run(*command, "--out", "piped")
    assert re.search(
        r"variegate: omp: R² on held-out rows 0\.\d+ ± 0\.\d+; diversity .*; largest \|r\| of two", piped.err
    )
    assert len(pd.read_csv(io.StringIO(piped.out), sep="\t").columns) == 7  # the selection alone
    monkeypatch.setattr("variegate.cli.show.is_terminal", lambda stream: True)
    shown = run(*command, "--out", "shown").out
    assert "Methods on the same 2 splits: mean ± sd" in shown
    assert "held-out" in shown


def test_seconds_are_those_of_the_user(folder):
    """From the start of the process, with all that is imported and compiled."""
    before = time.monotonic()
    code = "import sys; from variegate.cli import main; sys.exit(main())"
    ran = subprocess.run([sys.executable, "-c", code, *SELECT], capture_output=True, text=True, check=True)
    took = time.monotonic() - before
    about = json.loads((folder / "variegate-out/run.json").read_text())
    assert sum(about["steps"].values()) < about["seconds"] < took
    said = int(re.search(r"done in (\d+) s", ran.stderr)[1])
    assert abs(said - took) < max(1.5, 0.3 * took)


def test_classes(run, folder):
    ran = run("select", "data.csv", "--outcome", "kind", "--drop", "y", *QUICK)
    assert ran.code == 0, ran.err
    assert "into 2 classes (ill, well), since it holds text" in ran.err
    about = json.loads((folder / "variegate-out/run.json").read_text())
    assert about["data"]["classes"] == data()["kind"].value_counts().sort_index().to_dict()


def test_classes_can_be_chosen_and_the_outcome_can_be_elsewhere(run, folder):
    frame = data().drop(columns=["kind"])
    frame.drop(columns="y").to_csv("x.csv", index=False)
    stages = np.array(["I", "II", "III"])[np.digitize(frame["y"], frame["y"].quantile([0.4, 0.8]))]
    pd.DataFrame({"patient": frame["sample"], "stage": stages}).to_csv("clinical.csv", index=False)
    ran = run("select", "x.csv", "--outcome", "clinical.csv:stage", "--classes", "I,II", *QUICK)
    assert ran.code == 0, ran.err
    assert f"kept {(stages != 'III').sum()} of 60 samples" in ran.err


def test_settings_from_a_file_give_way_to_the_command_line(run, folder):
    (folder / "settings.toml").write_text(
        'outcome = "y"\nmax-iter = 3\n[select]\ndrop = ["kind"]\nsize = 1\n[compare]\nrepeats = 2\n'
    )
    assert run("select", "data.csv", "--config", "settings.toml", "--out", "one").code == 0
    assert run("select", "data.csv", "--config", "settings.toml", "--out", "two", "--size", "3").code == 0
    assert [pd.read_csv(f"{name}/selection.csv")["selected"].sum() for name in ("one", "two")] == [1, 3]


def test_a_second_run_needs_leave_and_touches_only_its_own_files(run, folder):
    assert run(*SELECT, "--compare", "omp").code == 0
    (folder / "variegate-out/notes.txt").write_text("mine")
    before = (folder / "variegate-out/selection.csv").read_bytes()
    refused = run(*SELECT, "--size", "1")
    assert refused.code == 2
    assert "--overwrite" in refused.last_line
    assert (folder / "variegate-out/selection.csv").read_bytes() == before
    assert run(*SELECT, "--size", "1", "--overwrite").code == 0
    assert pd.read_csv("variegate-out/selection.csv")["selected"].sum() == 1
    # comparison.csv belonged to the earlier run, notes.txt to the user
    assert {path.name for path in (folder / "variegate-out").iterdir()} == FILES | {"notes.txt"}


@pytest.mark.parametrize(("answer", "code"), [(True, 0), (False, 1)])
def test_on_a_terminal_it_asks(run, folder, monkeypatch, answer, code):
    (folder / "variegate-out").mkdir()
    (folder / "variegate-out/selection.csv").write_text("old")
    monkeypatch.setattr("variegate.cli.files.is_terminal", lambda stream: True)
    monkeypatch.setattr("click.confirm", lambda *_, **__: answer)
    assert run(*SELECT).code == code
    assert ((folder / "variegate-out/selection.csv").read_text() == "old") is not answer


def test_columns_in_every_set(run, folder):
    assert run(*SELECT, "--always-include", "f,c").code == 0
    table = pd.read_csv("variegate-out/selection.csv").set_index("feature")
    assert (table.loc[["c", "f"], "role"] == "always included").all()


def test_a_name_given_twice_counts_once(run, folder):
    (folder / "twice.toml").write_text('always-include = ["f", "f"]\n')
    for options in (("--always-include", "f,f"), ("--config", "twice.toml")):
        ran = run(*SELECT, *options, "--compare", "omp,omp", "--overwrite")
        assert ran.code == 0, ran.err
        assert json.loads((folder / "variegate-out/run.json").read_text())["settings"]["always_include"] == ["f"]


def test_categories_are_chosen_together(run, folder):
    frame = data().drop(columns="kind")
    frame["site"] = ["north", "south", "west"] * 20
    frame.to_csv("sites.csv", index=False)
    assert run("select", "sites.csv", "--outcome", "y", *QUICK).code == 0
    table = pd.read_csv("variegate-out/selection.csv").set_index("feature")
    assert table.loc[["site=north", "site=south", "site=west"], "inclusion_probability"].nunique() == 1


def with_regions(effect=3):
    """data.csv with an age and a category of five values, which is a feature of five columns."""
    frame = data().drop(columns="kind")
    rng = np.random.default_rng(2)
    frame["age"] = rng.integers(30, 80, 60)
    frame["region"] = np.array(["north", "south", "east", "west", "middle"])[rng.integers(0, 5, 60)]
    frame["y"] += effect * (frame["region"] == "north")
    frame.to_csv("regions.csv", index=False)
    return ("select", "regions.csv", "--outcome", "y", *QUICK)


@pytest.mark.parametrize("always", [("--always-include", "age,region"), ()])
def test_comparison_and_frontier_count_features(run, folder, always):
    ran = run(*with_regions(), "--size", 3, *always, "--compare", "omp", "--frontier")
    assert ran.code == 0, ran.err
    scores = pd.read_csv("variegate-out/comparison.csv")
    assert set(scores["size"]) == {3}
    assert 3 in set(pd.read_csv("variegate-out/frontier.csv")["size"])
    said = "the comparison and the frontier treat each value of a category as a feature of its own"
    assert said in ran.err
    assert said in json.loads((folder / "variegate-out/run.json").read_text())["data"]["notes"]


def test_no_more_features_are_weak_than_were_chosen(run, folder):
    """All eight features are chosen, among them the region, which does not matter."""
    ran = run(*with_regions(effect=0), "--size", 8)
    table = pd.read_csv("variegate-out/selection.csv").set_index("feature")
    assert table["selected"].all()
    features = table.rename(index=lambda name: name.partition("=")[0]).groupby(level=0).first()
    n = int((features["inclusion_probability"] < 0.1).sum())
    assert features.loc["region", "inclusion_probability"] < 0.1
    assert f"{n} of the 8 chosen features have probabilities below 0.1" in ran.err


def test_our_method_is_compared_as_it_was_fitted(run, folder, monkeypatch):
    seen = []
    real = select.compare

    def compare(methods, *arguments, **options):
        seen.append(methods["variegate"])
        return real(methods, *arguments, **options)

    monkeypatch.setattr(select, "compare", compare)
    own = ("--diversity", 2, "--expected-size", 3)
    assert run(*SELECT, *own, "--compare", "omp,variegate").code == 0
    assert run(*SELECT[:-2], "--compare", "omp", "--out", "default").code == 0
    assert seen == [Diverse(3, 2.0, expected_size=3.0), METHODS["variegate"]]


def clinical():
    """A second table: an outcome, an age, a cohort whose codes matter as they are written, and blanks."""
    frame, rng = data(), np.random.default_rng(1)
    cohort = np.array(["01", "1", "2"])[rng.integers(0, 3, 60)]
    y = frame["y"] + 2 * (cohort == "1") + rng.normal(size=60)
    stage = np.where(y > 0, "I", "II").astype(object)
    stage[-2:] = ["III", None]
    age = [*rng.integers(30, 80, 58), None, None]
    return pd.DataFrame({"patient": frame["sample"], "age": age, "cohort": cohort, "stage": stage, "y": y})


def genes():
    data().drop(columns=["y", "kind"]).to_csv("genes.csv", index=False)
    clinical().to_csv("clinical.csv", index=False)
    return ("select", "genes.csv", *QUICK)


def test_covariates_of_the_clinical_table(run, folder):
    ran = run(
        *genes(),
        "--outcome",
        "clinical.csv:y",
        "--always-include",
        "age,cohort",
        "--categorical",
        "cohort",
        "--missing",
        "impute",
    )
    assert ran.code == 0, ran.err
    table = pd.read_csv("variegate-out/selection.csv").set_index("feature")
    roles = table.loc[["age", "cohort=01", "cohort=1", "cohort=2"], "role"]
    assert sorted(roles) == ["always included", "always included", "always included", "reference"]
    shown = pd.read_csv(io.StringIO(ran.out), sep="\t").set_index("feature")
    assert (shown.loc[roles.index, "upper"] - shown.loc[roles.index, "lower"]).max() < 5
    more = ("--outcome-table", "clinical.csv", "--missing", "impute")
    predicted = run("predict", "variegate-out/model.vg", "genes.csv", *more)
    assert predicted.code == 0, predicted.err
    assert len(predicted.out.splitlines()) == 61
    alone = run("predict", "variegate-out/model.vg", "genes.csv")
    assert "genes.csv lacks 4 of the" in alone.last_line
    assert "for instance 'age'" in alone.last_line


def test_only_the_classes_asked_for_need_values(run, folder):
    ran = run(*genes(), "--outcome", "clinical.csv:stage", "--classes", "I,II", "--always-include", "age")
    assert ran.code == 0, ran.err
    assert "variegate: kept 58 of 60 samples, those of class I, II\n" in ran.err
    refused = run(*genes(), "--outcome", "clinical.csv:stage", "--always-include", "age", "--out", "other")
    assert "clinical.csv: expected no missing values, got some in stage (outcome) (1), age (2)" in refused.last_line
    assert "missing='impute'" in refused.last_line


def test_a_category_is_meant_by_its_name(run, folder):
    frame = data().drop(columns="kind")
    frame["site"] = ["north", "south", "west"] * 20
    frame.to_csv("sites.csv", index=False)
    (folder / "groups.csv").write_text("feature,group\n" + "".join(f"{name},1\n" for name in [*"abcdef", "site"]))
    select = ("select", "sites.csv", "--outcome", "y", *QUICK)
    assert run(*select, "--labels", "groups.csv").code == 0
    assert vg.load("variegate-out/model.vg").posterior_.labels.tolist() == [*"abcdef", "site"]
    half = run(*select, "--always-include", "site=west", "--out", "other")
    assert "take all of them (a category by its name) or none" in half.last_line


def test_notes_on_what_was_taken_for_what(run, folder):
    frame = data().drop(columns="kind")
    frame["centre"], frame["share"] = np.arange(60) % 5 + 1, [f"{i % 4}%" for i in range(60)]
    frame.to_csv("codes.csv", index=False)
    ran = run("select", "codes.csv", "--outcome", "y", *QUICK)
    assert "'centre': few distinct whole numbers, read as quantities; if they are codes, use --categorical" in ran.err
    assert "warning: codes.csv, column 'share': percentages, such as '0%', became 4 columns of 0 and 1; " in ran.err
    assert "categorical=['share']" in ran.err
    both = run("select", "codes.csv", "--outcome", "y", *QUICK, "--categorical", "centre,share", "--out", "other")
    assert "read as" not in both.err
    assert "warning" not in both.err


def test_warnings_are_said_and_kept(run, folder):
    frame = data().drop(columns="kind")
    frame["y"] = np.random.default_rng(0).normal(size=60)
    frame.to_csv("noise.csv", index=False)
    ran = run("select", "noise.csv", "--outcome", "y", *QUICK)
    assert ran.code == 0
    assert "warning: No features are worth measuring" in ran.err
    assert "give a size" in ran.err
    assert [w["kind"] for w in json.loads((folder / "variegate-out/run.json").read_text())["warnings"]] == [
        "EmptySelectionWarning"
    ]


def test_hostile_names(run, folder):
    names = ["<script>alert(1)</script>", 'say "no"', "a,b", "naïve – ß", "x" * 3000, "=1+1"]
    frame = data().drop(columns="kind").rename(columns=dict(zip("abcdef", names, strict=True)))
    frame.to_csv("hostile.csv", index=False)
    ran = run("select", "hostile.csv", "--outcome", "y", *QUICK)
    assert ran.code == 0, ran.err
    written = set(pd.read_csv("variegate-out/selection.csv")["feature"])
    assert written == {*names[:-1], "'=1+1"}  # no spreadsheet runs it


def test_an_answer_survives_a_comparison_that_cannot_be(run, folder):
    frame = data().drop(columns="y")
    frame["kind"] = ["rare", "rare", *["usual"] * 58]
    frame.to_csv("rare.csv", index=False)
    ran = run("select", "rare.csv", "--outcome", "kind", *QUICK, "--compare", "omp")
    assert ran.code == 0, ran.err
    assert "warning: There is no comparison: 2 rows of class 'rare': too few" in ran.err
    assert not (folder / "variegate-out/comparison.csv").exists()


def test_folders_above_are_made_and_unmade(run, folder):
    assert run(*SELECT, "--out", "x/y/z", "--always-include", "zz").code == 1
    assert not (folder / "x").exists()
    assert run(*SELECT, "--out", "x/y/z").code == 0
    assert (folder / "x/y/z/selection.csv").is_file()


def scan(n=80, m=300):
    """A genome scan: genotypes on two chromosomes in blocks of near-copies, and where they are."""
    rng = np.random.default_rng(2)
    X = np.repeat(rng.integers(0, 3, size=(n, m // 10)), 10, axis=1)
    X = np.where(rng.random((n, m)) < 0.05, rng.integers(0, 3, size=(n, m)), X)
    names = [f"rs{j}" for j in range(m)]
    frame = pd.DataFrame(X, columns=names)
    frame["trait"] = X[:, 25] - X[:, 205] + 0.5 * rng.normal(size=n)
    frame.to_csv("scan.csv", index=False)
    position = np.sort(rng.integers(1, 10**8, size=m))
    pd.DataFrame({"snp": names, "chr": np.repeat(["1", "2"], m // 2), "pos": position}).to_csv("map.csv", index=False)
    return ("select", "scan.csv", "--outcome", "trait", "--task", "regression", *QUICK)


def test_a_genome_scan(run, folder):
    command = (*scan(), "--coordinates", "map.csv")
    ran = run(*command, "--size", 10)
    assert ran.code == 0, ran.err
    assert "rank" not in ran.err
    assert pd.read_csv("variegate-out/selection.csv")["selected"].sum() == 10
    wide = run(*command, "--bandwidth", "1e9", "--out", "wide")
    assert wide.code == 0, wide.err
    rank = int(re.search(r"warning: The similarity has rank (\d+): at most \1 of 300 features can be", wide.err)[1])
    assert "smaller bandwidth" in wide.err
    refused = run(*command, "--bandwidth", "1e9", "--size", "20", "--out", "more")
    assert f"must be at most {rank} of 300, the rank of `similarity`, got 20" in refused.last_line
    assert "smaller bandwidth" in refused.last_line


def test_covariates_need_no_place(run, folder):
    command = scan()
    pd.read_csv("scan.csv").assign(age=np.arange(80) % 7, sex=["f", "m"] * 40).to_csv("scan.csv", index=False)
    ran = run(*command, "--coordinates", "map.csv", "--always-include", "age,sex", "--compare", "omp")
    assert ran.code == 0, ran.err
    assert "warning" not in ran.err
    pd.read_csv("map.csv").assign(pos=np.nan).to_csv("map.csv", index=False)
    blank = run(*command, "--coordinates", "map.csv", "--out", "other", "--drop", "age,sex")
    assert "map.csv, row 1: expected a number in 'pos'" in blank.last_line
