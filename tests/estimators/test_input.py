"""The same fit, whatever holds the table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import variegate as vg

ESTIMATORS = {"regressor": vg.DiverseRegressor, "classifier": vg.DiverseClassifier}
both = pytest.mark.parametrize("task", ESTIMATORS)


def problem(task, N=60, M=12):
    rng = np.random.default_rng(5)
    X = np.where(rng.random((N, M)) < 0.6, rng.normal(size=(N, M)), 0.0)
    X[:, 3] = X[:, 2] + 0.05 * rng.normal(size=N)
    eta = 2 * X[:, 0] - 2 * X[:, 2] + 0.5 * rng.normal(size=N)
    return X, eta if task == "regressor" else np.where(eta > 0, "yes", "no")


def quick(task, **options):
    return ESTIMATORS[task](**{"random_state": 0, "max_iter": 8, **options})


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
@both
def test_numpy_pandas_and_polars_are_identical(task):
    X, y = problem(task)
    names = [f"gene {i}" for i in range(X.shape[1])]
    plain = quick(task).fit(X, y)
    for frame in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = quick(task).fit(frame, y)
        np.testing.assert_array_equal(model.inclusion_probabilities_, plain.inclusion_probabilities_)
        np.testing.assert_array_equal(model.support_, plain.support_)
        np.testing.assert_array_equal(model.predict(frame), plain.predict(X))
        assert model.get_feature_names_out().tolist() == [names[i] for i in np.flatnonzero(plain.support_)]
        assert model.posterior_.labels.tolist() == names
        with pytest.raises(ValueError, match="feature names"):
            model.predict(frame[names[::-1]])


@pytest.mark.parametrize(
    ("labels", "match"),
    [
        (list("abcb"), r"different names, got 'b' for numbers 1, 3; rename or drop one"),
        ([0, 1, 0, 1], r"different names, got 0 for numbers 0, 2"),
        (pd.MultiIndex.from_product([["g", "h"], [1, 2]]), r"one name each, got .* such as \('g', '1'\); join"),
    ],
)
def test_columns_that_cannot_be_told_apart_by_name(labels, match):
    X, y = problem("regressor")
    frame, plain = pd.DataFrame(X[:, :4], columns=labels), quick("regressor").fit(X[:, :4], y)
    for call in (
        lambda: quick("regressor").fit(frame, y),
        lambda: plain.predict(frame),
        lambda: vg.compare(["omp"], frame, y, size=1, reference="omp"),
        lambda: vg.stability_selection(quick("regressor"), frame, y),
        lambda: vg.frontier(frame, y),
    ):
        with pytest.raises(ValueError, match=match):
            call()


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
@both
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_array, sparse.csr_matrix])
def test_sparse_and_dense_agree(task, kind):
    X, y = problem(task)
    dense, thin = quick(task).fit(X, y), quick(task).fit(kind(X), y)
    np.testing.assert_allclose(thin.inclusion_probabilities_, dense.inclusion_probabilities_, atol=1e-8)
    np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-8)
    np.testing.assert_allclose(thin.inclusion_errors_, dense.inclusion_errors_, atol=1e-8)
    np.testing.assert_array_equal(thin.support_, dense.support_)
    prob = "predict" if task == "regressor" else "predict_proba"
    np.testing.assert_allclose(getattr(thin, prob)(kind(X)), getattr(dense, prob)(X), atol=1e-8)
    assert sparse.issparse(thin.transform(kind(X)))


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
@both
def test_float32_is_kept(task):
    X, y = problem(task)
    small = X.astype(np.float32)
    model = quick(task).fit(small, y)
    assert model.selection_.training.X.dtype == np.float32
    assert model.transform(small).dtype == np.float32
    np.testing.assert_allclose(
        model.inclusion_probabilities_,
        quick(task).fit(small.astype(float), y).inclusion_probabilities_,
        atol=1e-4,
    )


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
@pytest.mark.parametrize(
    "labels",
    [[0, 1], [1, 2], [-1, 1], [False, True], ["a", "b"], [0.0, 1.0], np.array(["a", "b"], dtype=object)],
    ids=str,
)
def test_labels_of_any_type(labels):
    X, y = problem("classifier")
    classes = np.asarray(labels)
    y = classes[(y == "yes").astype(int)]
    model = quick("classifier").fit(X, y)
    assert model.classes_.tolist() == classes.tolist()
    assert set(model.predict(X).tolist()) <= set(classes.tolist())
    assert model.score(X, y) > 0.8


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
def test_weights_are_repeated_rows():
    task = "regressor"
    X, y = problem(task)
    counts = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = quick(task).fit(X, y, sample_weight=counts)
    repeated = quick(task).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.inclusion_probabilities_, repeated.inclusion_probabilities_, atol=1e-5)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_weights_are_repeated_rows_of_a_classification_within_their_errors(seed):
    """Auxiliary variables are drawn for each row, so that chains differ where rows do."""
    X, y = problem("classifier")
    counts = np.random.default_rng(seed).integers(0, 3, len(y))
    settings = {"max_iter": 100, "tol": 0.01, "slab_precision": 2.0, "expected_size": 3.0, "random_state": seed}
    weighted = quick("classifier", **settings).fit(X, y, sample_weight=counts)
    repeated = quick("classifier", **settings).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    off = np.abs(weighted.inclusion_probabilities_ - repeated.inclusion_probabilities_)
    errors = np.hypot(weighted.inclusion_errors_, repeated.inclusion_errors_)
    assert errors.max() < 0.015
    assert (off <= 4 * errors + 1e-4).all()
    plain = quick("classifier", **settings).fit(X, y)  # which counts every row once, and is told apart
    assert (np.abs(weighted.inclusion_probabilities_ - plain.inclusion_probabilities_) > 4 * errors).any()


@both
@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X, y: (np.where(np.arange(12) == 3, np.nan, X), y), "NaN"),
        (lambda X, y: (X[:0], y[:0]), "minimum of 2 is required|0 sample"),
        (lambda X, y: (X[:1], y[:1]), "minimum of 2"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X[:, :0], y), "0 feature"),
        (lambda X, y: (np.ones_like(X), y), "constant"),
        (lambda X, y: (X.astype(str) + "a", y), "could not convert|Unable to convert"),
        (lambda X, y: (X + 1j, y), "Complex"),
    ],
)
@pytest.mark.filterwarnings("ignore::variegate.similarity.SimilarityWarning")
def test_bad_tables(task, spoil, message):
    with pytest.raises(ValueError, match=message):
        quick(task).fit(*spoil(*problem(task)))


def test_one_class():
    X, _ = problem("classifier")
    with pytest.raises(ValueError, match="at least two classes, got only one class: 'a'"):
        quick("classifier").fit(X, ["a"] * len(X))


@pytest.mark.filterwarnings("ignore:The number of unique classes")  # scikit-learn's
def test_classes_of_one_row_each():
    X, _ = problem("classifier")
    with pytest.raises(ValueError, match=r"classes with several rows, got \d+ classes of one row each"):
        quick("classifier").fit(X, [f"row {i}" for i in range(len(X))])


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
@both
def test_copies_and_constants_among_the_columns(task):
    X, y = problem(task)
    X = np.hstack([X, X[:, :3], np.ones((len(X), 1))])
    with pytest.warns(vg.similarity.SimilarityWarning, match="Constant columns: 1 of 16"):
        model = quick(task).fit(X, y)
    assert model.inclusion_probabilities_[-1] == 0
    # a column and its copy share what the column alone had
    alone = quick(task).fit(X[:, :12], y).inclusion_probabilities_
    assert model.inclusion_probabilities_[[0, 12]].sum() == pytest.approx(alone[0], abs=0.15)
    assert not (model.support_[:3] & model.support_[12:15]).any()
