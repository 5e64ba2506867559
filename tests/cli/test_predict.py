"""`variegate predict`: the same numbers as in Python, or a refusal."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from cli_problems import QUICK, data

CLASSES = ("select", "data.csv", "--outcome", "kind", "--drop", "y", *QUICK)


def csv(text):
    return pd.read_csv(io.StringIO(text))


def test_predictions_are_the_model_s(run, fitted):
    ran = run("predict", "found/model.vg", "data.csv")
    found, X = csv(ran.out), data()[list("abcdef")]
    assert found["sample"].tolist() == data()["sample"].tolist()
    np.testing.assert_allclose(found["prediction"], fitted.predict(X), rtol=1e-9)
    np.testing.assert_allclose(found[["lower", "upper"]], fitted.predict_interval(X), rtol=1e-9)
    narrow = csv(run("predict", "found/model.vg", "data.csv", "--level", "0.5").out)
    assert ((narrow["upper"] - narrow["lower"]) < (found["upper"] - found["lower"])).all()


def test_columns_are_found_by_name_whatever_else_there_is(run, fitted):
    frame = data()
    frame["comment"] = [f"free text {i}" for i in range(60)]
    frame[["comment", "f", "e", "d", "c", "b", "a"]].to_csv("other.csv", index=False)
    ran = run("predict", "found/model.vg", "other.csv")
    assert ran.code == 0, ran.err
    np.testing.assert_allclose(csv(ran.out)["prediction"], fitted.predict(frame[list("abcdef")]), rtol=1e-9)


def test_the_outcome_may_stand_in_the_first_column(run, folder):
    frame = data().drop(columns=["sample", "y"])
    frame[["kind", *"abcdef"]].to_csv("first.csv", index=False)
    assert run("select", "first.csv", "--outcome", "kind", *QUICK, "--out", "found").code == 0
    ran = run("predict", "found/model.vg", "first.csv")
    assert ran.code == 0, ran.err
    assert len(csv(ran.out)) == 60


def test_only_used_columns_are_needed(run, folder):
    rng = np.random.default_rng(0)
    frame = data().drop(columns="kind").join(pd.DataFrame(rng.normal(size=(60, 30))).add_prefix("noise"))
    frame.to_csv("wide.csv", index=False)
    assert run("select", "wide.csv", "--outcome", "y", "--screen", "5", *QUICK, "--out", "found").code == 0
    table = pd.read_csv("found/selection.csv")
    unused = table["feature"][table["role"] == "screened out"]
    frame.drop(columns=unused).to_csv("narrow.csv", index=False)
    assert run("predict", "found/model.vg", "narrow.csv").out == run("predict", "found/model.vg", "wide.csv").out
    frame.drop(columns="a").to_csv("narrow.csv", index=False)
    ran = run("predict", "found/model.vg", "narrow.csv")
    assert ran.code == 1
    assert "for instance 'a'" in ran.last_line


def test_probabilities_of_classes(run, folder):
    run(*CLASSES, "--out", "found")
    model, X = vg.load("found/model.vg"), data()[list("abcdef")]
    found = csv(run("predict", "found/model.vg", "data.csv").out)
    np.testing.assert_allclose(found[["probability[ill]", "probability[well]"]], model.predict_proba(X), rtol=1e-9)
    assert found["prediction"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(found[["lower[well]", "upper[well]"]], model.predict_interval(X), rtol=1e-9)


def test_three_classes_and_whole_numbers(run, folder):
    frame = data().drop(columns="kind")
    frame["y"] = np.digitize(frame["y"], frame["y"].quantile([0.3, 0.7]))
    frame.to_csv("three.csv", index=False)
    ran = run("select", "three.csv", "--outcome", "y", *QUICK, "--out", "found")
    assert ran.code == 0, ran.err
    assert "3 distinct whole numbers, read as classes; if they are quantities, use --task regression" in ran.err
    assert "coefficient[2]" in pd.read_csv("found/selection.csv")
    found = csv(run("predict", "found/model.vg", "three.csv").out)
    assert {"probability[0]", "lower[1]", "upper[2]"} <= set(found)


def test_categories_of_new_samples(run, folder):
    frame = data().drop(columns="kind")
    frame["site"] = ["north", "south", "west"] * 20
    frame["y"] += 3 * (frame["site"] == "west")
    frame.to_csv("sites.csv", index=False)
    run("select", "sites.csv", "--outcome", "y", *QUICK, "--out", "found")
    everything = csv(run("predict", "found/model.vg", "sites.csv").out)
    frame[::3].to_csv("north.csv", index=False)  # only one of the categories occurs
    ran = run("predict", "found/model.vg", "north.csv")
    assert ran.code == 0, ran.err
    pd.testing.assert_frame_equal(csv(ran.out), everything[::3].reset_index(drop=True))
    frame.assign(site=["east"] * 60).to_csv("east.csv", index=False)
    ran = run("predict", "found/model.vg", "east.csv")
    assert ran.code == 1
    assert "not trained on the category 'site=east'" in ran.last_line


def test_numbers_that_are_categories_are_read_as_in_training(run, folder):
    frame = data().drop(columns="kind")
    frame["grade"] = [1, 2, 3] * 20
    frame["y"] += 3 * (frame["grade"] == 3)
    frame.to_csv("grades.csv", index=False)
    command = ("select", "grades.csv", "--outcome", "y", "--categorical", "grade", *QUICK, "--out", "found")
    assert run(*command).code == 0
    ran = run("predict", "found/model.vg", "grades.csv")
    assert ran.code == 0, ran.err
    assert ran.out == run("predict", "found/model.vg", "grades.csv", "--categorical", "grade").out


def test_words_where_the_model_knows_numbers(run, fitted):
    data().assign(a=["low", "high"] * 30).to_csv("words.csv", index=False)
    ran = run("predict", "found/model.vg", "words.csv")
    assert (ran.code, ran.out) == (1, "")
    assert "column 'a' held numbers when the model was fitted, but holds text here" in ran.last_line


def test_a_column_that_is_spelt_otherwise(run, fitted):
    data().rename(columns={"a": "A"}).to_csv("other.csv", index=False)
    ran = run("predict", "found/model.vg", "other.csv")
    assert ran.code == 1
    assert ran.last_line.endswith("for instance 'a'; did you mean 'A'?")


def test_predictions_into_a_file(run, fitted):
    ran = run("predict", "found/model.vg", "data.csv", "--out", "p.csv")
    assert (ran.code, ran.out) == (0, "")
    assert len(pd.read_csv("p.csv")) == 60
    assert run("predict", "found/model.vg", "data.csv", "--out", "p.csv").code == 2
    assert run("predict", "found/model.vg", "data.csv", "--out", "p.csv", "--overwrite", "--json").code == 0
    assert len(json.loads(Path("p.csv").read_text())) == 60


def with_sites():
    """Numbers and categories that matter, a column that does not, and cells that are missing."""
    frame = data().drop(columns="kind")
    frame["site"] = ["north", "south", "south", "west"] * 15
    frame["y"] += 3 * (frame["site"] == "west")
    frame.loc[[3, 8, 20], "a"] = np.nan
    frame.loc[[5, 6, 40], "site"] = None
    return frame


def test_missing_cells_of_new_samples_are_filled_as_in_training(run, folder):
    frame = with_sites()
    frame.to_csv("train.csv", index=False)
    assert run("select", "train.csv", "--outcome", "y", "--missing", "impute", *QUICK, "--out", "found").code == 0
    # their own median of a is far away, their own commonest site another one
    new = frame.dropna().head(8).assign(site="west")
    new["a"] += 50
    new.iloc[2, new.columns.get_loc("a")] = np.nan
    new.iloc[5, new.columns.get_loc("site")] = None
    new.to_csv("new.csv", index=False)
    ran = run("predict", "found/model.vg", "new.csv", "--missing", "impute")
    assert ran.code == 0, ran.err
    by_hand = new.fillna({"a": frame["a"].median(), "site": "south"})
    for site in ("north", "south", "west"):
        by_hand[f"site={site}"] = (by_hand["site"] == site).astype(float)
    model = vg.load("found/model.vg")
    np.testing.assert_allclose(csv(ran.out)["prediction"], model.predict(by_hand[model.feature_names_in_]), rtol=1e-9)
    own = new.fillna({"a": new["a"].median(), "site": "west"})
    own.to_csv("own.csv", index=False)
    assert not np.allclose(
        csv(run("predict", "found/model.vg", "own.csv").out)["prediction"], csv(ran.out)["prediction"]
    )


def test_a_single_new_sample_may_have_missing_cells(run, folder):
    frame = with_sites()
    frame.to_csv("train.csv", index=False)
    options = ("--missing", "impute", "--always-include", "a", "--screen", "3", *QUICK)
    assert run("select", "train.csv", "--outcome", "y", *options, "--out", "found").code == 0
    one = frame.dropna().head(1).drop(columns="y")
    one.assign(a=np.nan, site=None, c=np.nan).to_csv("one.csv", index=False)
    ran = run("predict", "found/model.vg", "one.csv", "--missing", "impute")
    assert ran.code == 0, ran.err
    one.assign(a=frame["a"].median(), site="south", c=frame["c"].median()).to_csv("filled.csv", index=False)
    assert ran.out == run("predict", "found/model.vg", "filled.csv").out


def test_a_second_table_without_covariates_is_not_needed(run, folder):
    frame = data()
    frame.drop(columns=["y", "kind"]).to_csv("x.csv", index=False)
    frame[["sample", "y"]].head(40).to_csv("clinical.csv", index=False)
    assert run("select", "x.csv", "--outcome", "clinical.csv:y", *QUICK, "--out", "found").code == 0
    alone = run("predict", "found", "x.csv")
    for beside in (("--outcome-table", "clinical.csv"), ("--config", "found/run.json")):
        ran = run("predict", "found", "x.csv", *beside)
        assert ran.code == 0, ran.err
        assert ran.out == alone.out
    assert len(csv(alone.out)) == 60


@pytest.mark.parametrize("n", [1, 5])
def test_a_quantity_whose_name_has_an_equals_sign_is_filled_as_in_training(run, folder, n):
    frame = data().drop(columns=["sample", "kind"]).rename(columns={"a": "ratio=a/b", "d": "ratio=c/d"})
    frame.to_csv("ratios.csv", index=False)
    assert run("select", "ratios.csv", "--outcome", "y", *QUICK, "--out", "found").code == 0
    new = frame.drop(columns="y").head(n).astype(object)
    new.loc[0, "ratio=a/b"] = "NA"
    new.to_csv("new.csv", index=False)
    ran = run("predict", "found", "new.csv", "--missing", "impute", "--out", "p.csv")
    assert ran.code == 0, ran.err
    new.loc[0, "ratio=a/b"] = frame["ratio=a/b"].median()
    expected = vg.load("found/model.vg").predict(new.astype(float))
    np.testing.assert_allclose(pd.read_csv("p.csv")["prediction"], expected)


def test_words_where_the_median_is_a_number(run, fitted):
    words = data().assign(a=["low", "high", None] * 20)
    words.to_csv("words.csv", index=False)
    ran = run("predict", "found/model.vg", "words.csv", "--missing", "impute")
    assert ran.code == 1
    assert "column 'a': expected numbers, because missing cells are filled with" in ran.last_line


def test_a_model_that_uses_no_column_says_what_a_strange_table_lacks(run, folder):
    data().assign(y=np.random.default_rng(1).normal(size=60)).to_csv("noise.csv", index=False)
    noise = ("noise.csv", "--outcome", "y", "--drop", "kind", "--expected-size", "1e-9")
    assert run("select", *noise, *QUICK, "--out", "found").code == 0
    pd.DataFrame({"sample": ["s", "t"], "other": [1.0, 2.0]}).to_csv("other.csv", index=False)
    ran = run("predict", "found/model.vg", "other.csv")
    assert ran.code == 1
    assert "0 features beside ids and outcome" in ran.last_line
