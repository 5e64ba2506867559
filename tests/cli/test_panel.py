"""What to measure: the panel's files, its price, and predictions by its rule."""

import io
import json

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from cli_problems import QUICK, SELECT, data, patients, reads
from variegate.cli import select
from variegate.tables import DIVERSITIES, frontier_table


def csv(text):
    return pd.read_csv(io.StringIO(text))


def members(out):
    return vg.load(f"{out}/model.vg").panel_.members


def test_the_files_of_a_panel(run, folder):
    ran = run(*SELECT, "--size", 2, "--out", "found")
    assert ran.code == 0, ran.err
    panel = (model := vg.load("found/model.vg")).panel_
    expected = {
        "panel": panel.coefficients,
        "panel_curve": panel.curve,
        "stand_ins": panel.stand_ins(),
        "panel_frontier": frontier_table(model),
    }
    for name, table in expected.items():
        pd.testing.assert_frame_equal(pd.read_csv(f"found/{name}.csv"), table, check_dtype=False, rtol=1e-5)
    pairs = expected["panel_frontier"][["diversity", "size"]].to_numpy().tolist()
    assert sorted(map(tuple, pairs)) == [(beta, k) for beta in DIVERSITIES for k in (1, 2, 4)]


def test_the_terminal_says_what_to_measure(run, folder):
    ran = run(*SELECT, "--size", 1, "--out", "found", "--json")
    told, panel = json.loads(ran.out)["panel"], vg.load("found/model.vg").panel_
    assert told["members"] == panel.members
    assert told["lost"] == pytest.approx(panel.lost)
    assert [row["column"] for row in told["rule"]] == ["intercept", *panel.members]
    measure, lost, enough, last = ran.err.rstrip("\n").split("\n")[-4:]
    assert measure.endswith(f"measure 1 feature: {panel.members[0]}")
    assert f"loses {panel.lost:.1%} of what the model predicts" in lost
    assert told["size_enough"] > 1
    assert f"about {told['size_enough']} would be enough" in enough
    assert "found/panel.csv" in last


def test_a_panel_of_the_size_that_is_enough(run, folder):
    ran = run(*SELECT, "--out", "found", "--json")
    assert json.loads(ran.out)["panel"]["size_enough"] == len(members("found"))
    assert "enough: what is lost is small" in ran.err


def test_nothing_to_measure(run, folder):
    frame = data().assign(y=np.random.default_rng(0).normal(size=60))
    frame.to_csv("data.csv", index=False)
    ran = run(*SELECT, "--out", "found")
    assert ran.code == 0, ran.err
    assert "measure" not in ran.err.split("No features are worth measuring")[1]
    assert pd.read_csv("found/panel.csv")["column"].tolist() == ["intercept"]
    assert pd.read_csv("found/stand_ins.csv").empty


def test_the_most_probable_set_can_be_chosen(run, folder, monkeypatch):
    seen = []
    monkeypatch.setattr(select, "compare", lambda methods, *_, **__: seen.append(methods))
    own = ("--diversity", 2, "--choose", "probability", "--compare", "omp,variegate")
    assert run(*SELECT, *own, "--out", "found").code == 0
    model = vg.load("found/model.vg")
    assert model.selection_.choose == "probability"
    assert model.selection_.chosen.tolist() == model.posterior_.map().tolist()
    (methods,) = seen
    assert list(methods) == ["most_probable", "omp", "variegate"]
    assert [methods[name].choose for name in ("most_probable", "variegate")] == ["probability", "prediction"]
    assert {methods[name].diversity for name in ("most_probable", "variegate")} == {2}


def prices(**of):
    rows = "".join(f"{name},{price}\n" for name, price in of.items())
    with open("prices.csv", "w") as file:
        file.write(f"feature,price\n{rows}")
    return ("--costs", "prices.csv")


def test_a_budget_decides_the_size(run, folder):
    costs = prices(a=50, b=1, c=1, d=1, e=1, f=1)  # b is nearly a copy of a
    ran = run(*SELECT, *costs, "--budget", 3, "--out", "cheap")
    assert ran.code == 0, ran.err
    assert {"b", "d"} <= set(members("cheap"))
    assert "a" not in members("cheap")
    assert f"the panel costs {len(members('cheap'))} of a budget of 3" in ran.err
    assert run(*SELECT, *prices(a=1, b=50, c=1, d=1, e=1, f=1), "--budget", 3, "--out", "other").code == 0
    assert {"a", "d"} <= set(members("other"))
    assert "b" not in members("other")
    record = json.loads((folder / "cheap/run.json").read_text())
    assert record["inputs"].keys() == {"data.csv", "prices.csv"}
    nothing = run(*SELECT, *costs, "--budget", 0.5, "--out", "nothing")
    assert nothing.code == 0, nothing.err
    assert members("nothing") == []
    assert "a budget of 0.5" in nothing.err


def test_only_the_panel_s_columns_are_needed(run, folder):
    assert run(*SELECT, "--size", 2, "--out", "found").code == 0
    model = vg.load("found/model.vg")
    frame, panel = data(), model.panel_
    frame[["sample", *panel.members[::-1]]].to_csv("few.csv", index=False)
    found = csv(run("predict", "found", "few.csv", "--panel").out)
    X = frame[panel.members]
    np.testing.assert_allclose(found["prediction"], panel.predict(X), rtol=1e-9)
    np.testing.assert_allclose(found[["lower", "upper"]], panel.predict_interval(X), rtol=1e-9)
    assert run("predict", "found", "few.csv").code == 1
    frame[["sample", panel.members[0]]].to_csv("fewer.csv", index=False)
    ran = run("predict", "found", "fewer.csv", "--panel")
    assert ran.code == 1
    assert f"1 of the 2 columns that the panel uses, for instance '{panel.members[1]}'" in ran.last_line


def test_classes_by_the_rule(run, folder):
    assert run("select", "data.csv", "--outcome", "kind", "--drop", "y", *QUICK, "--out", "found").code == 0
    panel = vg.load("found/model.vg").panel_
    found, X = csv(run("predict", "found", "data.csv", "--panel").out), data()[panel.members]
    np.testing.assert_allclose(found[["probability[ill]", "probability[well]"]], panel.predict_proba(X), rtol=1e-9)
    assert found["prediction"].tolist() == panel.predict(X).tolist()
    assert (found["lower[well]"] <= found["upper[well]"]).all()


def test_survival_by_the_rule(run, folder):
    patients().to_csv("p.csv", index=False)
    command = ("select", "p.csv", "--time", "months", "--event", "status", "--always-include", "age", *QUICK)
    assert run(*command, "--out", "found").code == 0
    panel = vg.load("found/model.vg").panel_
    columns = sorted({*panel.members, "age"})
    patients()[columns].to_csv("few.csv", index_label="sample")
    found = csv(run("predict", "found", "few.csv", "--panel").out)
    np.testing.assert_allclose(found["risk"], panel.predict(patients()[columns]), rtol=1e-9)
    survival = found.filter(like="survival[")
    assert survival.shape[1] == 3
    assert (np.diff(survival, axis=1) <= 0).all()
    time = float(survival.columns[0].removeprefix("survival[").removesuffix("]"))
    curve = panel.predict_survival_function(patients()[columns])[0]
    assert survival.iloc[0, 0] == pytest.approx(curve(1.001 * time), rel=1e-6)


def test_counts_by_the_rule_in_proportion_to_the_exposure(run, folder):
    reads().to_csv("r.csv", index=False)
    assert (
        run(
            "select", "r.csv", "--outcome", "reads", "--task", "counts", "--exposure", "size", *QUICK, "--out", "found"
        ).code
        == 0
    )
    plain = csv(run("predict", "found", "r.csv", "--panel").out)
    found = csv(run("predict", "found", "r.csv", "--panel", "--exposure", "size").out)
    np.testing.assert_allclose(found["prediction"], reads()["size"] * plain["prediction"], rtol=1e-9)
    assert ((found["lower"] <= found["prediction"]) & (found["prediction"] <= found["upper"])).mean() > 0.9
