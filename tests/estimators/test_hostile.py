"""What careless and hostile users do: an answer, or an error in their own words."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import variegate as vg
from estimator_problems import classify, regress
from variegate.estimators import EmptySelectionWarning
from variegate.inference.chain import run
from variegate.similarity import SimilarityWarning

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
RNG = np.random.default_rng(3)
N, M = 40, 8
X = np.where(RNG.random((N, M)) < 0.7, RNG.normal(size=(N, M)), 0.0)
Y = X[:, 0] - 2 * X[:, 1] + 0.5 * RNG.normal(size=N)
LABELS = np.where(Y > 0, "ill", "well")
FRAME = pd.DataFrame(X, columns=list("abcdefgh"))


both = pytest.mark.parametrize(("make", "y"), [(regress, Y), (classify, LABELS)], ids=["regressor", "classifier"])


@pytest.fixture
def no_fit(monkeypatch):
    """Fails the test if the solver is started."""

    def started(*args, **kwargs):
        raise AssertionError("the fit was started")

    monkeypatch.setattr("variegate.estimators.search.sample", started)


# --- sizes that cannot be --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("diversity", "fixed"), [(1, False), (1, True), (0, True)])
@pytest.mark.parametrize("asked", [5, 0.9])
def test_more_features_than_there_are_different_ones(no_fit, diversity, fixed, asked):
    copies = np.hstack([X[:, :3], X[:, :3]])
    model = regress(n_features_to_select=asked, fixed_size=fixed, diversity=diversity)
    with pytest.raises(ValueError, match=f"n_features_to_select. must be at most 3 of 6.*got {asked}.*copies"):
        model.fit(copies, Y)


def test_more_features_than_rows(no_fit):
    with pytest.raises(ValueError, match="at most 4 of 8"):
        regress(n_features_to_select=5).fit(X[:5], Y[:5])


@pytest.mark.parametrize("size", [5, 0, 9, 2.0, "all"])
def test_the_path_refuses_them_too(size):
    model = regress().fit(np.hstack([X[:, :3], X[:, :3]]), Y)
    with pytest.raises(ValueError, match="sizes"):
        model.path([1, size])
    assert {k: int(mask.sum()) for k, mask in model.path([0.5, 1]).items()} == {3: 3, 1: 1}
    with pytest.raises(ValueError, match=r"sizes must be a list, such as \[2, 5, 10\], got 3"):
        model.path(3)


def test_a_size_above_the_usual_rank_raises_the_rank(monkeypatch):
    monkeypatch.setattr("variegate.estimators.search.RANK", 3)
    assert regress(n_features_to_select=5).fit(X, Y).support_.sum() == 5
    assert regress(expected_size=4.0).fit(X, Y).posterior_.diagnostics().prior_expected_size == pytest.approx(4)


# --- columns that say nothing ----------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("diversity", [0, 1])
@pytest.mark.parametrize("similarity", ["columns", np.eye(M + 2)], ids=["columns", "given"])
def test_constant_columns_are_never_selected(make, y, diversity, similarity):
    wide = np.c_[np.ones(N), X, np.zeros(N)]
    model = make(similarity=similarity, diversity=diversity, n_features_to_select=7)
    with pytest.warns(SimilarityWarning, match=r"Constant columns: 2 of 10 \(e.g. number 0\).*never selected"):
        model.fit(wide, y)
    assert model.support_.sum() == 7
    assert not model.support_[[0, -1]].any()
    assert not model.inclusion_probabilities_[[0, -1]].any()
    np.testing.assert_array_equal(model.as_support(model.panel_.columns), model.support_)


def test_constant_under_the_weights():
    table = np.c_[X, np.arange(N) == 0]
    with pytest.warns(SimilarityWarning, match="Constant columns: 1 of 9"):
        model = regress().fit(table, Y, sample_weight=np.arange(N) > 0)
    assert model.inclusion_probabilities_[-1] == 0


def test_a_constant_level_of_a_group():
    groups = [None] * M + ["site"] * 2
    with pytest.warns(SimilarityWarning, match="Constant columns: 1 of 10"):
        model = regress(groups=groups, n_features_to_select=M + 1).fit(np.c_[X, Y > 0, np.zeros(N)], Y)
    assert model.support_.tolist()[-2:] == [True, False]


# --- screening -------------------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array])
def test_screening_of_sparse_tables(make, y, kind):
    dense, thin = make(screen=4).fit(X, y), make(screen=4).fit(kind(X), y)
    assert thin.posterior_.labels.tolist() == dense.posterior_.names.tolist()
    np.testing.assert_allclose(thin.inclusion_probabilities_, dense.inclusion_probabilities_, atol=1e-8)


@both
@pytest.mark.parametrize("seed", range(2))
def test_screening_counts_rows_by_their_weights(make, y, seed):
    counts = np.random.default_rng(seed).integers(0, 4, N)
    model = make(screen=3)
    weighted = model.fit(X, y, sample_weight=counts).posterior_.labels.tolist()
    assert weighted == model.fit(np.repeat(X, counts, axis=0), np.repeat(y, counts)).posterior_.labels.tolist()


def test_screening_leaves_out_what_is_always_in():
    model = regress(screen=1, always_include=[1], expected_size=1e-3).fit(X, Y)
    assert model.posterior_.labels.tolist() == ["x0"]
    assert model.selection_.certificate.left_out == M - 2


# --- values by column ------------------------------------------------------------------------------------------------


def test_a_series_is_matched_by_name():
    backwards = FRAME.columns[::-1]
    odds = pd.Series([9.0] + [0.0] * 7, index=backwards)  # of "h"
    found = regress(prior_log_odds=odds, expected_size=2).fit(FRAME, Y).inclusion_probabilities_
    expected = regress(prior_log_odds={"h": 9.0}, expected_size=2).fit(FRAME, Y).inclusion_probabilities_
    np.testing.assert_array_equal(found, expected)
    groups = pd.Series(["g", "g", *"123456"], index=backwards)
    assert regress(groups=groups).fit(FRAME, Y).posterior_.labels.tolist() == [*"abcdef", "g+h"]
    # without names on one side only the order is left
    assert regress(groups=groups).fit(X, Y).posterior_.labels.tolist()[0] == "x0+x1"
    assert regress(groups=groups.to_numpy()).fit(FRAME, Y).posterior_.labels.tolist()[0] == "a+b"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"slab_precision": 0.0}, "slab_precision must be 'auto' or a number above zero, got 0.0"),
        ({"slab_precision": True}, "slab_precision must be"),
        ({"expected_size": -1}, "expected_size must be None or a number above zero"),
        ({"expected_size": M}, "expected_size must be below 8"),
        ({"fixed_size": True}, "give n_features_to_select"),
        ({"n_features_to_select": 0}, "between 1 and 8, the number of features to choose from, got 0"),
        ({"n_features_to_select": 9}, "between 1 and 8, the number of features to choose from, got 9"),
        ({"n_features_to_select": 1.5}, "a share above 0 and at most 1, got 1.5"),
        ({"n_features_to_select": "all"}, "must be a whole number"),
        ({"n_features_to_select": True}, "must be a whole number"),
        ({"diversity": -1.0}, "diversity must be a number from 0 to 1000, got -1.0"),
        ({"diversity": np.nan}, "diversity must be a number from 0 to 1000"),
        ({"diversity": "more"}, "diversity must be a number from 0 to 1000"),
        ({"screen": 0}, "screen must be a number of columns to start with"),
        ({"always_include": ["height"]}, "no feature called 'height' among the 8 columns"),
        ({"always_include": [M]}, "positions from 0 to 7"),
        ({"always_include": list(range(M))}, "nothing is left to choose from"),
        ({"groups": ["a"] * 3}, "groups must have one entry for each of the 8 columns of X, got 3"),
        ({"groups": {"height": 1}}, "no feature called 'height'"),
        ({"groups": ["g"] * M, "always_include": [1]}, "both inside and outside of always_include"),
        ({"prior_log_odds": [1.0]}, "prior_log_odds must have one entry"),
        ({"similarity": "network"}, 'similarity must be "columns", an array'),
        ({"similarity": np.eye(4)}, "a row for each of the 8 columns of X, got 4 rows"),
        ({"similarity": np.ones(M)}, r"shape \(8,\)"),
        ({"similarity": {"a": 1}}, "got dict"),
        ({"similarity": lambda Z: np.eye(3)}, "a row for each of the 8 columns that it gets, got 3"),
        (
            {"similarity": vg.similarity.SimilarityFeatures(np.eye(2), ["a", "b"])},
            "no row for 6 of 8 columns, e.g. 'c'",
        ),
        ({"groups": 3}, "groups must have an entry for each column of X, or be {column: entry}; got 3"),
        ({"groups": "abcdefgh"}, "groups must have an entry"),
        ({"groups": {"a": ["b", "c"]}}, r"one label for each column.*got \['b', 'c'\].*{column: label}"),
        ({"prior_log_odds": 1.0}, "prior_log_odds must have an entry"),
        ({"prior_log_odds": {"a": "x"}}, "must hold one number for each column"),
        ({"prior_log_odds": np.ones((M, 1, 2))}, "must hold one number for each column"),
        ({"prior_log_odds": {"a": 1e6}}, "between −500 and 500; use always_include"),
        ({"prior_log_odds": {"a": np.nan}}, "must be finite"),
        ({"similarity": np.eye(M) * 1j}, "real numbers of shape .*got ndarray of shape"),
        ({"similarity": lambda Z: np.eye(M) * 1j}, "real numbers of shape"),
        ({"similarity": np.where(np.eye(M) > 0, np.nan, 1.0)}, "finite, got NaN or infinity in 8 of 8 rows, first in"),
        ({"similarity": lambda Z: None}, "got NoneType"),
        ({"similarity": np.zeros((M, 2))}, "a row that is not zero, got only zeros"),
        ({"max_iter": 2.5}, "max_iter must be a whole number"),
        ({"tol": -1}, "tol must be a non-negative number, got -1"),
        ({"tol": np.nan}, "tol must be"),
        ({"tol": 0.0}, "tol must be above zero, got 0.0"),
        ({"max_iter": 0}, "max_iter must be a whole number, at least 1, got 0"),
        ({"fixed_size": "no", "n_features_to_select": 2}, "fixed_size must be True or False, got 'no'"),
        ({"average": 1}, "average must be True or False"),
        ({"expected_size": np.ones(2)}, "expected_size must be None or a number"),
        ({"slab_precision": np.ones(2)}, "slab_precision must be 'auto' or a number"),
    ],
)
def test_refused_before_the_fit(no_fit, options, message):
    with pytest.raises(ValueError, match=message):
        regress(**options).fit(FRAME, Y)


def test_names_without_a_frame():
    with pytest.raises(ValueError, match="the columns have no names"):
        regress(always_include=["a"]).fit(X, Y)


def test_sparse_similarity():
    thin = regress(similarity=sparse.eye_array(M).tocsr()).fit(X, Y)
    np.testing.assert_array_equal(
        thin.inclusion_probabilities_, regress(similarity=np.eye(M)).fit(X, Y).inclusion_probabilities_
    )


# --- outcomes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "y", "message"),
    [
        (regress, LABELS, "y must hold numbers, got .*'.*'; for classes use DiverseClassifier"),
        (regress, LABELS.astype(object), "for classes use DiverseClassifier"),
        (
            classify,
            np.where(Y > 0, 1, LABELS.astype(object)),
            r"of types that can be sorted, got int, str; .*y.astype\(str\)",
        ),
        (classify, np.where(Y > 0, None, LABELS.astype(object)), "a label for each row, got .* missing"),
        (classify, Y, "continuous"),
    ],
)
def test_outcomes_that_make_no_sense(no_fit, make, y, message):
    with pytest.raises(ValueError, match=message):
        make().fit(X, y)


@pytest.mark.parametrize("screen", [None, 4])
def test_a_class_without_weight(no_fit, screen):
    with pytest.raises(ValueError, match=r"All rows of class 'ill' have sample_weight 0.*remove those rows"):
        classify(screen=screen).fit(X, LABELS, sample_weight=LABELS == "well")


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_the_unit_of_y_makes_no_difference(unit):
    plain, scaled = regress().fit(X, Y), regress().fit(X, Y * unit)
    np.testing.assert_allclose(scaled.inclusion_probabilities_, plain.inclusion_probabilities_, atol=1e-6)
    np.testing.assert_allclose(scaled.coef_ / unit, plain.coef_, rtol=1e-6)


@pytest.mark.parametrize("unit", [1e-200, 1e200, 1e300])
def test_a_unit_of_y_that_no_float_can_square(no_fit, unit):
    with pytest.raises(ValueError, match=r"y must have squares that a float can hold, got values of about "):
        regress().fit(X, Y * unit)


# --- fits that fail --------------------------------------------------------------------------------------------------


@both
def test_a_failed_fit_leaves_no_half_of_a_model(make, y):
    model = make(n_features_to_select=M)
    with pytest.raises(ValueError, match="at most 4"):
        model.fit(X[[0, 1, 2, 3, 4]], y[[0, 1, 2, 3, 4]] if make is regress else [0, 1, 0, 1, 0])
    with pytest.raises(NotFittedError):
        model.predict(X)


@both
def test_a_stopped_refit_is_no_mixture_of_two(make, y, monkeypatch):
    model = make().fit(X, y)

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("variegate.estimators.search.sample", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, ::-1], y)
    for ask in (model.predict, model.transform, model.predict_interval, lambda X: model.path([1])):
        with pytest.raises(NotFittedError):
            ask(X)


@pytest.mark.parametrize("kind", [sparse.csc_array, sparse.csr_array, sparse.csc_matrix])
def test_sparse_tables_with_repeated_entries_are_left_as_they_are(kind):
    entries = np.r_[X[X != 0], 1.0], (np.r_[np.nonzero(X)[0], 3], np.r_[np.nonzero(X)[1], 2])
    thin = kind(sparse.coo_array(entries, shape=X.shape)) if kind is not sparse.csc_array else _with_repeats(entries)
    for part in (thin.data, thin.indices, thin.indptr):
        part.flags.writeable = False
    before = thin.data.copy()
    table = thin.toarray()
    model = regress().fit(thin, Y)
    np.testing.assert_array_equal(thin.data, before)
    np.testing.assert_allclose(
        model.inclusion_probabilities_, regress().fit(table, Y).inclusion_probabilities_, atol=1e-8
    )


def _with_repeats(entries):
    """A CSC table that holds one place twice."""
    values, (rows, columns) = entries
    order = np.argsort(columns, kind="stable")
    counts = np.bincount(columns, minlength=M)
    return sparse.csc_array((values[order], rows[order], np.r_[0, np.cumsum(counts)]), shape=X.shape)


def interrupt_after(lap, monkeypatch):
    """Ctrl-C when the chains begin a lap; eight laps of burn-in come before those that count."""
    laps = iter(range(-8, 100))
    run_lap = run._lap

    def impatient(*args):
        if next(laps) == lap:
            raise KeyboardInterrupt
        run_lap(*args)

    monkeypatch.setattr(run, "_lap", impatient)


@both
@pytest.mark.filterwarnings("default::variegate.ConvergenceWarning")
def test_an_interrupt_keeps_what_the_chains_have_seen(make, y, monkeypatch, chains):
    interrupt_after(3, monkeypatch)
    with pytest.warns(vg.ConvergenceWarning, match="Interrupted: the probabilities are those found so far"):
        model = make(max_iter=50).fit(X, y)
    assert not model.converged_
    assert model.n_iter_ == 3
    p = model.inclusion_probabilities_
    assert ((p >= 0) & (p <= 1)).all()
    assert p[1] > 0.9
    assert np.isfinite(model.inclusion_errors_).all()
    assert model.predict(X).shape == (N,)


@both
@pytest.mark.parametrize("lap", [-4, 0, 1])
def test_an_interrupt_before_there_is_anything_is_an_interrupt(make, y, lap, monkeypatch, chains):
    model = make().fit(X, y)
    interrupt_after(lap, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_an_empty_set_beside_what_is_always_in():
    noise = np.random.default_rng(1).normal(size=(N, 4))
    with pytest.warns(EmptySelectionWarning, match="worth measuring beside those in always_include"):
        model = regress(always_include=[0], expected_size=0.2, slab_precision=10.0).fit(
            noise, np.random.default_rng(2).normal(size=N)
        )
    assert model.support_.tolist() == [True, False, False, False]


@pytest.mark.parametrize("kind", [vg.DiverseRegressor, vg.DiverseClassifier])
def test_absurd_weights_are_refused(kind, no_fit):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"at most 1e\+09, since a row with weight w counts as w rows, got 1e\+300"):
        kind().fit(rng.normal(size=(20, 3)), np.arange(20) % 2, sample_weight=np.full(20, 1e300))


@both
def test_rows_whose_squares_no_float_can_hold_are_refused(make, y):
    model = make().fit(X, y)
    with pytest.raises(ValueError, match=r"has values of about 1e\+308, whose squares no float can hold"):
        model.predict(np.full((1, M), 1e308))


def test_a_column_that_separates_the_classes_needs_no_other():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(50, 4))
    model = vg.DiverseClassifier(random_state=0).fit(X, X[:, 1] > 0)
    # with all sets enumerated, evidences by importance sampling, and both hyperparameters integrated out: below 0.01
    assert model.inclusion_probabilities_[1] > 0.99
    assert (model.inclusion_probabilities_[[0, 2, 3]] < 0.03).all()
