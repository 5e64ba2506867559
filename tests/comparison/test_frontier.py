"""The frontier of accuracy and diversity: its sets against brute force, its folds, its words."""

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from comparison_methods import small_problem
from variegate.comparison import StoreError

QUICK = {"diversities": [0, 1, 8], "sizes": [1, 3], "methods": ["omp"], "cv": 3, "progress": False}


@pytest.fixture(scope="module")
def found():
    return vg.frontier(*small_problem("regression"), **QUICK)


def test_sizes_that_no_set_can_have_are_left_out():
    X, y = small_problem("regression")
    found = vg.frontier(
        X, y, similarity=np.asarray(vg.similarity.from_columns(X, rank=2)), **{**QUICK, "sizes": [2, 4]}
    )
    ours = found.points[found.points["method"] == "variegate"]
    assert ours.loc[ours["diversity"] > 0, "size"].tolist() == [2, 2]
    assert ours.loc[ours["diversity"] == 0, "size"].tolist() == [2, 4]  # which do not ask for a volume


def test_points(found):
    assert list(found.points) == [
        "method", "diversity", "size", "accuracy", "error", "log det", "largest |r|", "positions", "names",
    ]  # fmt: skip
    assert len(found.points) == 3 * 2 + 2
    assert found.points["names"].map(len).tolist() == found.points["size"].tolist()
    row = found.points.iloc[0]
    rows = found.table.query("method == 'variegate' and diversity == 0 and size == 1 and metric == 'R2'")
    assert rows["fold"].tolist() == [0, 1, 2]
    assert row["accuracy"] == pytest.approx(rows["value"].mean())
    assert row["error"] == pytest.approx(rows["value"].std() / np.sqrt(3))
    three = found.points.query("method == 'variegate' and size == 3")
    assert three["log det"].is_monotonic_increasing


def test_the_recommended_set_is_the_most_diverse_of_the_accurate(found):
    ours = found.points.query("method == 'variegate'")
    allowed = ours["accuracy"].max() - np.sqrt((ours["error"] ** 2).mean())
    best = max((row for _, row in ours.iterrows() if row["accuracy"] >= allowed), key=lambda row: row["log det"])
    assert found.recommended().name == best.name
    assert f"{best['size']} features at diversity {best['diversity']:g}" in found.sentence()
    assert found.recommended(3)["size"] == 3
    with pytest.raises(ValueError, match="size must be one of 1, 3, got 2"):
        found.recommended(2)


def test_random_splits_instead_of_folds_and_communities():
    X, y = small_problem("regression")
    communities = np.arange(X.shape[1]) // 2
    found = vg.frontier(X, y, repeats=2, test_size=0.3, communities=communities, **{**QUICK, "cv": 5})
    assert found.table["fold"].unique().tolist() == [0, 1]
    assert found.points["communities"].between(1, 3).all()


def test_folds_cover_every_row_once():
    from variegate.comparison.inputs import read_data
    from variegate.comparison.study import Study

    X, y = small_problem("classification")
    study = Study(read_data(X, y, "classification"), {}, "", None, "columns", None, None, None, None, 0.5, 0, folds=4)
    parts = [study.split(fold) for fold in range(4)]
    np.testing.assert_array_equal(np.sort(np.concatenate([test for _, test in parts])), np.arange(len(y)))
    assert all(not set(train) & set(test) for train, test in parts)


def test_it_continues_from_a_store_and_processes_do_not_matter(tmp_path, found):
    store = tmp_path / "frontier.db"
    X, y = small_problem("regression")
    again = vg.frontier(X, y, store=store, n_jobs=2, **QUICK)
    pd.testing.assert_frame_equal(again.points, found.points, check_exact=True)
    kept = vg.frontier(X, y, store=store, **QUICK)
    pd.testing.assert_frame_equal(kept.table, again.table, check_exact=True)
    with pytest.raises(StoreError, match="diversities"):
        vg.frontier(X, y, store=store, **{**QUICK, "diversities": [0, 2]})


@pytest.mark.parametrize("task", ["survival", "counts"])
def test_other_outcomes(task):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6))
    y = {
        "survival": np.column_stack([rng.random(60) < 0.7, rng.exponential(np.exp(-X[:, 0]))]),
        "counts": rng.poisson(np.exp(X[:, 0])),
    }[task]
    found = vg.frontier(X, y, task=task, diversities=[1], sizes=[1], methods=[], cv=2, progress=False)
    assert found.points["positions"].tolist() == [(0,)]


def test_numbers_may_be_those_of_numpy():
    plain = vg.frontier(*small_problem("regression"), **QUICK, screen=4)
    assert vg.frontier(*small_problem("regression"), **QUICK, screen=np.int64(4)).points.equals(plain.points)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"diversities": []}, "diversities must be non-negative numbers, at least one"),
        ({"diversities": [-1]}, "diversities must be non-negative numbers"),
        ({"sizes": [0]}, "sizes must be whole numbers from 1 to"),
        ({"sizes": [99]}, "sizes must be whole numbers from 1 to"),
        ({"cv": 1}, "cv, or repeats, must be a whole number from 2 to"),
        ({"methods": ["best"]}, "There is no method 'best'"),
        ({"random_state": -1}, "random_state must be a non-negative whole number"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        vg.frontier(*small_problem("regression"), **{**QUICK, **options})


def test_the_plot_names_sizes_and_methods(found):
    texts = [text.get_text() for text in found.plot().get_legend().get_texts()]
    assert set(texts) == {"1 feature", "3 features", "omp", "recommended"}
