"""Stability selection against counting by hand."""

import numpy as np
import pytest
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.linear_model import Lasso
from sklearn.utils import resample

import variegate as vg
from comparison_methods import small_problem
from variegate.comparison import StoreError

KBEST = SelectKBest(f_regression, k=3)


def test_frequencies_are_counts_over_bootstraps():
    X, y = small_problem()
    found = vg.stability_selection(KBEST, X, y, 8, random_state=5, progress=False)
    counts = np.zeros(12)
    for b in range(8):
        seed = int(np.random.SeedSequence(5).spawn(8)[b].generate_state(2)[0])
        rows = resample(np.arange(60), random_state=seed)
        counts += SelectKBest(f_regression, k=3).fit(X.iloc[rows], y[rows]).get_support()
    np.testing.assert_allclose(found.table["frequency"], counts / 8)
    assert found.table["name"].tolist() == list(X.columns)
    assert found.table["inclusion_probability"].isna().all()
    assert found.stability == pytest.approx(vg.metrics.stability(found.sets, 12))
    assert found.jaccard == pytest.approx(vg.metrics.mean_jaccard(found.sets))
    assert found.selected(0.5)["frequency"].is_monotonic_decreasing
    assert set(found.selected(0.5)["position"]) == set(np.flatnonzero(counts >= 4))


def test_our_estimator_with_similarity_by_name():
    X, y = small_problem("classification")
    phi = vg.similarity.from_columns(X)
    model = vg.DiverseClassifier(similarity=phi, max_iter=6, n_features_to_select=2)
    found = vg.stability_selection(model, X, y, 3, progress=False)
    assert not found.errors
    p = found.table["inclusion_probability"]
    assert ((p >= 0) & (p <= 1)).all()
    assert p.drop([0, 3, 5]).max() < p[5]


def test_resumes_and_refuses_like_a_comparison(tmp_path):
    X, y = small_problem()
    path = tmp_path / "run.db"
    vg.stability_selection(KBEST, X, y, 4, store=path, progress=False)
    more = vg.stability_selection(KBEST, X, y, 8, store=path, progress=False)
    once = vg.stability_selection(KBEST, X, y, 8, progress=False, n_jobs=2)
    np.testing.assert_array_equal(more.table["frequency"], once.table["frequency"])
    with pytest.raises(StoreError, match="estimator: "):
        vg.stability_selection(SelectKBest(f_regression, k=4), X, y, 8, store=path, progress=False)


def test_failures_and_wrong_numbers():
    X, y = small_problem()
    with pytest.raises(ValueError, match=r"3 of 3 bootstraps failed(.|\n)*get_support"):
        vg.stability_selection(Lasso(), X, y, 3, progress=False)
    with pytest.raises(ValueError, match="above one"):
        vg.stability_selection(KBEST, X, y, 1)
    with pytest.raises(ValueError, match="random_state"):
        vg.stability_selection(KBEST, X, y, 3, random_state=None)
