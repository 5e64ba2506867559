"""Screening that loses nothing: the certified posterior is that of all columns."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import variegate as vg
from variegate.estimators import screened
from variegate.estimators.screened import JOINS, filled, joining
from variegate.tasks import count_rows, survival_rows

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
RNG = np.random.default_rng(20)
N, M = 120, 10
X = RNG.normal(size=(N, M))
X[:, 1] = X[:, 0] + 0.3 * RNG.normal(size=N)
ETA = X[:, 0] - 0.6 * X[:, 4] + 0.4 * X[:, 7]
OUTCOMES = {
    "regression": (vg.DiverseRegressor, ETA + RNG.normal(size=N)),
    "two classes": (vg.DiverseClassifier, RNG.random(N) < 1 / (1 + np.exp(-1.5 * ETA))),
    "three classes": (vg.DiverseClassifier, np.digitize(ETA + 0.5 * RNG.normal(size=N), [-0.5, 0.5])),
    "survival": (vg.DiverseSurvival, survival_rows(RNG.exponential(np.exp(-ETA)), RNG.random(N) < 0.8)),
    "counts": (vg.DiverseCounts, count_rows(RNG.poisson(np.exp(0.5 + 0.7 * ETA)))),
}
QUICK = {"random_state": 0, "max_iter": 30}
WEIGHTS = RNG.integers(1, 3, size=N).astype(float)


def assert_same_posterior(some, whole):
    """Within Monte Carlo errors, and what columns that were left out could have."""
    error = np.hypot(some.inclusion_errors_, whole.inclusion_errors_)
    off = np.abs(some.inclusion_probabilities_ - whole.inclusion_probabilities_)
    assert (off <= 4 * error + 3 * JOINS).all(), off.max()


@pytest.mark.parametrize("name", OUTCOMES)
def test_certified_posterior_is_that_of_all_columns(name):
    make, y = OUTCOMES[name]
    options = {**QUICK, "always_include": [9], "prior_log_odds": {4: 1.0, 5: -1.0}, "expected_size": 0.5}
    some = make(screen=2, **options).fit(X, y, sample_weight=WEIGHTS)
    whole = make(**options).fit(X, y, sample_weight=WEIGHTS)
    certificate = some.selection_.certificate
    assert certificate.largest <= JOINS
    assert certificate.joined == 9 - certificate.left_out - 2 > 0
    assert_same_posterior(some, whole)


OPTIONS = {
    "averaged size": {},
    "no diversity": {"diversity": 0},
    "fixed size": {"n_features_to_select": 2, "fixed_size": True},
    "size": {"n_features_to_select": 3},
    "slab": {"slab_precision": 5.0},
    "diversity": {"diversity": 3.0},
    "similarity of all columns": {"similarity": vg.similarity.from_columns(X)},
    "similarity of any length": {
        "similarity": np.asarray(vg.similarity.from_columns(X)) * np.linspace(1, 2, M)[:, None]
    },
    "groups": {"groups": [0, 0, None, None, 1, 1, None, 2, 2, 2]},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_certified_posterior_with_options(options):
    y = OUTCOMES["regression"][1]
    some = vg.DiverseRegressor(screen=2, **QUICK, **options).fit(X, y)
    whole = vg.DiverseRegressor(**QUICK, **options).fit(X, y)
    assert_same_posterior(some, whole)
    np.testing.assert_array_equal(some.support_, whole.support_)


def suppressor(n=300, m=400):
    """A column that is unrelated to the outcome, unless another one is known."""
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(n, m))
    y = Z[:, 0] + 0.3 * rng.normal(size=n)
    Z[:, 0] += Z[:, 399]  # y = x₀ − x₃₉₉, and x₃₉₉ by itself says nothing of y
    Z[:, 399] -= (Z[:, 399] @ (y - y.mean())) / ((y - y.mean()) @ (y - y.mean())) * (y - y.mean())
    return Z, y


def test_a_column_that_screening_cannot_see_joins(monkeypatch):
    Z, y = suppressor()
    strengths = np.abs(np.corrcoef(Z.T, y)[-1, :-1])
    assert (strengths > strengths[399]).sum() > 200  # no screening would keep it
    model = vg.DiverseRegressor(screen=20, **QUICK).fit(Z, y)
    assert model.inclusion_probabilities_[399] > 0.99
    assert model.selection_.certificate.passes >= 3
    # and without the pass it would be lost
    monkeypatch.setattr("variegate.estimators.certified.joining", lambda odds, most: np.zeros(len(odds), dtype=bool))
    lost = vg.DiverseRegressor(screen=20, **QUICK).fit(Z, y)
    assert lost.inclusion_probabilities_[399] == 0.0
    assert lost.selection_.certificate.largest > 0.99


def test_what_is_left_out_could_still_matter_is_a_warning(monkeypatch):
    Z, y = suppressor()
    monkeypatch.setattr("variegate.estimators.certified.joining", lambda odds, most: np.zeros(len(odds), dtype=bool))
    with pytest.warns(
        vg.ConvergenceWarning, match=r"Some of the 380 columns that were left out could have.*\(screen\)"
    ):
        vg.DiverseRegressor(screen=20, **QUICK).fit(Z, y)


def test_many_columns_left_out_say_how_many_features_there_are(monkeypatch):
    """Each is improbable, but together they count: what is learned of the prior's size must be the same."""
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(150, 4000)).astype(np.float32)
    y = Z[:, :8] @ np.linspace(0.8, 0.4, 8) + rng.normal(size=150)
    options = {"diversity": 0, **QUICK}
    whole, some = (vg.DiverseRegressor(screen=n, **options).fit(Z, y) for n in (None, 60))
    likely = whole.inclusion_probabilities_ > 0.05

    def off(model):
        error = np.hypot(model.inclusion_errors_, whole.inclusion_errors_)[likely]
        return (np.abs(model.inclusion_probabilities_ - whole.inclusion_probabilities_)[likely] / error).max()

    certificate = some.selection_.certificate
    assert certificate.left_out > 2000
    assert off(some) < 4
    assert median_size(some) == pytest.approx(median_size(whole), rel=0.3)  # a step of the grid
    outside = np.delete(whole.inclusion_probabilities_, some.selection_.candidates.columns)
    assert certificate.expected == pytest.approx(outside.sum(), rel=0.25)
    assert outside.sum() > 1  # or nothing is compared
    monkeypatch.setattr("variegate.inference.chain.grid._log_others", lambda target, log_kappa, log_c: 0.0)
    assert off(vg.DiverseRegressor(screen=60, **options).fit(Z, y)) > 4.5


def median_size(model):
    return model.posterior_.fit.hyperparameters.expected_size_quantile(0.5)


def test_groups_are_candidates_from_the_start():
    """Columns that matter together, and none alone: a look at single columns would not see them."""
    rng = np.random.default_rng(2)
    site = rng.integers(4, size=200)
    Z = np.column_stack([rng.normal(size=(200, 30)), np.eye(4)[site]])
    y = Z[:, 0] + np.array([0.5, -0.5, 0.5, -0.5])[site] + 0.5 * rng.normal(size=200)
    groups = [None] * 30 + ["site"] * 4
    model = vg.DiverseRegressor(screen=1, groups=groups, **QUICK).fit(Z, y)
    assert model.support_[30:].all()
    assert_same_posterior(model, vg.DiverseRegressor(groups=groups, **QUICK).fit(Z, y))


def test_sparse_tables_stay_sparse():
    Z = sparse.random(150, 60, density=0.2, random_state=0, format="csr")
    y = Z[:, [3]].toarray().ravel() + 0.05 * RNG.normal(size=150)
    model = vg.DiverseRegressor(screen=5, **QUICK).fit(Z, y)
    assert sparse.issparse(model.selection_.training.X)
    dense = vg.DiverseRegressor(screen=5, **QUICK).fit(Z.toarray(), y)
    np.testing.assert_allclose(model.inclusion_probabilities_, dense.inclusion_probabilities_, atol=1e-9)


def test_names_and_frames():
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    model = vg.DiverseRegressor(screen=2, always_include=["j"], **QUICK).fit(frame, OUTCOMES["regression"][1])
    assert model.get_feature_names_out().tolist()[0] == "a"
    assert model.predict(frame).shape == (N,)


def test_no_more_columns_join_than_there_is_room_for():
    odds = np.array([0.5, 0.002, 0.0001, 0.3, 0.2])
    assert joining(odds, 10).tolist() == [True, True, False, True, True]
    assert joining(odds, 2).tolist() == [True, False, False, True, False]
    assert not joining(np.array([0.002, 0.0]), 10).any()


def test_missing_entries_count_as_the_mean():
    values = np.array([[1.0, np.nan], [3.0, 4.0]], dtype=np.float32)
    np.testing.assert_array_equal(filled(values, np.array([2.0, 5.0])), [[1.0, 5.0], [3.0, 4.0]])
    assert filled(np.array([[1], [2]], dtype=np.int8), np.zeros(1)).dtype == np.float32
    assert filled(np.array([[1], [2]]), np.zeros(1)).dtype == np.float64


def test_a_start_larger_than_the_table():
    y = OUTCOMES["regression"][1]
    model = vg.DiverseRegressor(screen=M, **QUICK).fit(X, y)
    assert model.selection_.certificate is None
    with np.errstate(all="raise"):
        model = vg.DiverseRegressor(screen=M - 1, always_include=[0], **QUICK).fit(X, y)
    assert model.selection_.certificate == (0, 1, 0, 0.0, 0.0, 0)


def test_rounds_end(monkeypatch):
    Z, y = suppressor()
    monkeypatch.setattr(screened, "JOINS", 1e-12)  # never content
    monkeypatch.setattr(screened, "JOINS_TOO", 0.0)
    monkeypatch.setattr("variegate.estimators.certified.start", lambda n_rows: 5)
    monkeypatch.setattr("variegate.estimators.certified.ROUNDS", 3)
    model = vg.DiverseRegressor(screen=20, **QUICK).fit(Z, y)
    assert model.selection_.certificate.passes == 4


def test_a_large_table_in_memory_is_screened_unless_told_otherwise(monkeypatch):
    make, y = OUTCOMES["regression"]
    whole = make(**QUICK).fit(X, y)
    assert whole.selection_.certificate is None
    monkeypatch.setattr(screened, "LARGE_BYTES", 0)
    monkeypatch.setattr("variegate.estimators.certified.start", lambda n_rows: 3)
    some = make(**QUICK).fit(X, y)
    assert some.selection_.certificate.joined > 0
    assert_same_posterior(some, whole)
    assert make(screen=M, **QUICK).fit(X, y).selection_.certificate is None


def test_positions_for_some_columns_are_those_for_all():
    make, y = OUTCOMES["regression"]
    x = 100.0 * np.arange(M)
    lazy = vg.similarity.Positions.of(x, bandwidth=150.0)
    whole = make(similarity=vg.similarity.from_positions(x, bandwidth=150.0), screen=2, **QUICK).fit(X, y)
    some = make(similarity=lazy, screen=2, **QUICK).fit(X, y)
    assert_same_posterior(some, whole)
    np.testing.assert_array_equal(some.support_, whole.support_)
    with pytest.raises(ValueError, match="similarity must have the positions of all 10 columns of X, got 9"):
        make(similarity=vg.similarity.Positions.of(x[1:]), **QUICK).fit(X, y)


def test_an_expected_size_above_the_rank_is_fine_where_similarity_does_not_count():
    options = {"similarity": RNG.normal(size=(M, 3)), "diversity": 0, "expected_size": 4.0}
    for screen in (None, 6):
        with pytest.warns(vg.similarity.SimilarityWarning, match="rank 3"):
            model = vg.DiverseRegressor(screen=screen, **options, **QUICK).fit(X, OUTCOMES["regression"][1])
        assert model.inclusion_probabilities_[[0, 1]].sum() > 0.9
