"""Survival and counts from the command line."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from cli_problems import N, patients, reads

QUICK = ("--max-iter", "4", "--quiet")


def test_survival_from_table_to_risks(run, folder):
    patients().to_csv("p.csv", index=False)
    select = ("select", "p.csv", "--time", "months", "--event", "status", "--always-include", "age")
    ran = run(*select, "--compare", "lasso,omp,univariate", "--max-iter", "4")
    assert ran.code == 0, ran.err
    assert "survival: " in ran.err
    assert "samples had the event (status), the others were censored" in ran.err
    table = pd.read_csv("variegate-out/selection.csv")
    assert set(table.loc[table["selected"], "feature"]) == {"b", "age"}
    record = json.loads((folder / "variegate-out/run.json").read_text())
    assert record["data"]["task"] == "survival"
    assert record["data"]["outcome"] == "months until status"
    scores = pd.read_csv("variegate-out/comparison.csv")
    assert set(scores.loc[scores["metric"] == "concordance", "method"]) == {"variegate", "lasso", "omp", "univariate"}
    page = (folder / "variegate-out/report.html").read_text()
    assert "how soon the event comes" in page
    assert "the log hazard" in page
    done = run("predict", "variegate-out/model.vg", "p.csv", "--out", "risk.csv")
    assert done.code == 0, done.err
    risk = pd.read_csv("risk.csv")
    assert list(risk.columns[:4]) == ["sample", "risk", "lower", "upper"]
    survival = risk.filter(like="survival[").to_numpy()
    assert survival.shape == (N, 3)
    assert (np.diff(survival, axis=1) <= 0).all()
    again = run("select", "--config", "variegate-out/run.json", "--out", "again", *QUICK)
    assert again.code == 0, again.err
    assert pd.read_csv("again/selection.csv").equals(table)


@pytest.mark.parametrize("outcome", ["times", "classes"])
def test_evidences_that_do_not_converge_are_summarised_everywhere(run, folder, monkeypatch, outcome):
    monkeypatch.setattr("variegate.likelihoods.laplace.MAX_STEPS", 1)
    monkeypatch.setattr("variegate.likelihoods.ep.MAX_SWEEPS", 2)
    patients().to_csv("p.csv", index=False)
    given = {"times": ("--time", "months", "--event", "status"), "classes": ("--outcome", "status")}[outcome]
    how = {"times": "Laplace's method stopped", "classes": "expectation propagation stopped"}[outcome]
    ran = run("select", "p.csv", *given, "--drop", "months" if outcome == "classes" else "age", "--max-iter", "4")
    assert ran.code == 0, ran.err
    assert ran.err.count("did not converge") == 1
    assert how in ran.err
    record = json.loads((folder / "variegate-out/run.json").read_text())
    (warning,) = (w["text"] for w in record["warnings"] if w["kind"] == "EvidenceWarning")
    assert re.search(r"The evidence of \d+ sets? did not converge", warning)
    page = (folder / "variegate-out/report.html").read_text()
    assert "did not converge, so that their probability is rough" in page


def test_counts_from_table_to_predictions(run, folder):
    reads().to_csv("r.csv", index=False)
    ran = run(
        "select", "r.csv", "--outcome", "reads", "--task", "counts", "--exposure", "size", "--compare", "lasso", *QUICK
    )
    assert ran.code == 0, ran.err
    table = pd.read_csv("variegate-out/selection.csv")
    assert table.loc[table["selected"], "feature"].tolist() == ["b"]
    assert "the log of the expected count" in (folder / "variegate-out/report.html").read_text()
    reads().assign(size=2 * reads()["size"]).to_csv("twice.csv", index=False)
    predict = ("predict", "variegate-out/model.vg", "--exposure", "size", "--json")
    first, second = (json.loads(run(*predict, name).out)[0] for name in ("r.csv", "twice.csv"))
    assert second["prediction"] == pytest.approx(2 * first["prediction"])
    assert first["lower"] <= first["prediction"] <= first["upper"]


def test_codes_that_are_named_are_understood(run, folder):
    frame = patients()
    frame["status"] = np.where(frame["status"] == "dead", 2, 1)
    frame.to_csv("p.csv", index=False)
    ran = run("select", "p.csv", "--time", "months", "--event", "status=2", *QUICK)
    assert ran.code == 0, ran.err


def test_numbers_that_may_be_times_or_counts_are_asked_about(run, folder):
    patients().to_csv("p.csv", index=False)
    ran = run("select", "p.csv", "--outcome", "months", "--max-iter", "1")
    assert "if 'months' is the time until an event or until last seen, use --time months --event status" in ran.err
    reads().to_csv("r.csv", index=False)
    ran = run("select", "r.csv", "--outcome", "reads", "--max-iter", "1", "--out", "two")
    assert "if 'reads' holds counts, use --task counts" in ran.err


def test_few_events_are_told(run, folder):
    frame = patients()
    frame["status"] = np.where(np.arange(N) < 5, "dead", "alive")
    frame.to_csv("p.csv", index=False)
    ran = run("select", "p.csv", "--time", "months", "--event", "status", "--max-iter", "2")
    assert "only 5 samples had the event" in ran.err


def test_every_column_of_an_outcome_may_name_its_file(run, folder):
    frame = patients().assign(id=[f"p{i}" for i in range(N)])
    frame[["id", *"abcd"]].to_csv("x.csv", index=False)
    frame[["id", "months", "status", "age"]].to_csv("clinic.csv", index=False)
    ran = run(
        "select", "x.csv", "--time", "clinic.csv:months", "--event", "clinic.csv:status", "--out", "both", *QUICK
    )
    assert ran.code == 0, ran.err
    plain = run("select", "x.csv", "--time", "clinic.csv:months", "--event", "status", "--out", "one", *QUICK)
    assert plain.out == ran.out
