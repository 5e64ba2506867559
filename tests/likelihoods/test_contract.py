"""What every likelihood promises, over all members."""

import copy
import pickle
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from variegate.likelihoods import (
    Cox,
    CustomLikelihood,
    GainsLikelihood,
    Gaussian,
    Likelihood,
    Logistic,
    NegativeBinomial,
    Poisson,
    QuadraticLikelihood,
    ep,
)

N, M = 25, 9
RNG = np.random.default_rng(7)
X = RNG.normal(size=(N, M)) * 3 + 1
X[:, 4] = X[:, 3]  # duplicate
X[:, 5] = 0.0  # constant
REAL = X[:, 0] - X[:, 1] + RNG.normal(size=N)
BINARY = np.greater(REAL, np.median(REAL))


def brute(S):
    return -float(np.sum((S - 3.0) ** 2))


def brute_gains(S):
    return np.array([brute(np.union1d(S, [m])) - brute(np.setdiff1d(S, [m])) for m in range(M)])


COVARIATES = RNG.normal(size=(N, 3))
COUNTS = RNG.poisson(np.exp(1 + 0.1 * REAL))
TIMES = np.ceil(4 * RNG.exponential(np.exp(-0.2 * REAL))) / 4  # with ties
EVENTS = RNG.random(N) < 0.7
MAKE = {
    "gaussian": (Gaussian, REAL, {}),
    "logit": (Logistic, BINARY, {}),
    "probit": (Logistic, BINARY, {"link": "probit"}),
    "cox": (lambda X, y, **options: Cox(X, y, EVENTS[: len(y)], **options), TIMES, {}),
    "poisson": (Poisson, COUNTS, {}),
    "negative binomial": (NegativeBinomial, COUNTS, {"dispersion": 0.3}),
}


def build(name, X=X, y=None, **options):
    make, outcome, own = MAKE[name]
    return make(X, outcome if y is None else y, **own, **options)


FITTED = {name: partial(build, name) for name in MAKE}
ALL = {**FITTED, "custom": lambda: CustomLikelihood(brute, M, flip_gains=brute_gains)}
GAIN_TOLERANCE = {name: 0.0 if name == "custom" else 1e-9 if name == "gaussian" else 0.5 for name in ALL}
SETS = [np.arange(0), np.array([0]), np.array([3, 4]), np.array([0, 2, 5, 8]), np.arange(M)]
members = pytest.mark.parametrize("name", ALL)
fitted = pytest.mark.parametrize("name", FITTED)


@members
def test_protocols(name):
    model = ALL[name]()
    assert isinstance(model, Likelihood)
    assert isinstance(model, GainsLikelihood)
    assert isinstance(model, QuadraticLikelihood) == (name in FITTED)
    assert model.n_features == M


@members
def test_rough_values_are_close_and_leave_no_trace(name):
    model = ALL[name]()
    rough = model.roughly(True)
    assert (rough is model) == (name in ("gaussian", "custom"))  # which are exact
    for S in SETS:
        assert rough.flip_gains(S).log_evidence == pytest.approx(model.log_evidence(S), abs=2e-4)
        np.testing.assert_allclose(rough.flip_gains(S).gains, model.flip_gains(S).gains, atol=1e-2)
        assert rough.roughly(False).log_evidence(S) == pytest.approx(ALL[name]().log_evidence(S), abs=2e-6)


@members
@pytest.mark.parametrize("S", SETS, ids=len)
def test_values_are_finite_and_shaped(name, S):
    model = ALL[name]()
    value, gains = model.flip_gains(S)
    assert isinstance(value, float)
    assert isinstance(model.log_evidence(S), float)
    assert value == pytest.approx(model.log_evidence(S), abs=2e-6)
    assert gains.shape == (M,)
    assert gains.dtype == np.float64
    assert np.isfinite(gains).all()


@fitted
@pytest.mark.parametrize("tall", [False, True])
def test_gram_matrices_have_the_gram_rows(name, tall, monkeypatch):
    if tall:
        monkeypatch.setattr("variegate.likelihoods.laplace.TALL", 0)
    model = FITTED[name]()
    given = model.expand([np.array([0, 2])], 2.0)
    features = np.arange(M)
    Z = model.columns_of(features)
    (gram, form), (rows, _), other = (
        model.gram(given),
        model.gram_rows(features, given),
        model.quadratic_form(features, Z, given),
    )
    expected = other.rows(Z, np.arange(len(Z)))
    np.testing.assert_allclose(gram, expected, atol=1e-8)
    np.testing.assert_allclose(gram, gram.T, atol=0)
    if tall or name != "cox":  # whose rows are without what rows share
        np.testing.assert_allclose(rows, expected, atol=1e-8)
    np.testing.assert_allclose(form.diagonal, np.diag(gram), atol=1e-8)
    np.testing.assert_allclose(form.information, other.information, atol=1e-8)


@members
@pytest.mark.parametrize("S", SETS, ids=len)
def test_gains_agree_with_evidence(name, S):
    model = ALL[name]()
    gains = model.flip_gains(S).gains
    for m in range(M):
        expected = model.log_evidence(np.union1d(S, [m])) - model.log_evidence(np.setdiff1d(S, [m]))
        assert gains[m] == pytest.approx(expected, rel=GAIN_TOLERANCE[name], abs=1e-8 + GAIN_TOLERANCE[name] / 3)


@fitted
@pytest.mark.parametrize("S", SETS[1:4], ids=len)
def test_exchanges_agree_with_evidence(name, S):
    model = ALL[name]()
    gains, now = model.exchange_gains(S), model.log_evidence(S)
    assert gains.shape == (len(S), M)
    for i, j in enumerate(S):
        for m in np.setdiff1d(np.arange(M), S):
            expected = model.log_evidence(np.union1d(np.setdiff1d(S, [j]), [m])) - now
            assert gains[i, m] == pytest.approx(expected, rel=GAIN_TOLERANCE[name], abs=1e-8 + GAIN_TOLERANCE[name])


@members
def test_batches_agree_with_single_sets(name):
    values, gains = ALL[name]().flip_gains_many(SETS)
    assert values.shape == (len(SETS),)
    assert gains.shape == (len(SETS), M)
    for value, row, S in zip(values, gains, SETS, strict=True):
        one = ALL[name]().flip_gains(S)
        assert value == pytest.approx(one.log_evidence, abs=2e-6)
        np.testing.assert_allclose(row, one.gains, atol=1e-3)


@members
def test_an_empty_batch(name):
    values, gains = ALL[name]().flip_gains_many([])
    assert values.shape == (0,)
    assert gains.shape == (0, M)


@fitted
def test_another_slab_is_a_fresh_object(name):
    model = FITTED[name]()
    model.flip_gains(np.array([0, 2]))
    before = model.slab_precision
    for c in (0.5, 40.0):
        one = model.with_slab_precision(c).flip_gains(np.array([0, 2]))
        other = FITTED[name](slab_precision=c).flip_gains(np.array([0, 2]))
        assert one.log_evidence == pytest.approx(other.log_evidence, abs=ep.TOLERANCE)
        np.testing.assert_allclose(one.gains, other.gains, atol=1e-3)
    assert model.slab_precision == before


@fitted
def test_duplicates_are_interchangeable(name):
    gains = FITTED[name]().flip_gains(np.array([0])).gains
    assert gains[3] == pytest.approx(gains[4], abs=1e-9)
    assert gains[5] == pytest.approx(0.0, abs=1e-9)


@members
def test_pickles_and_copies(name):
    model = ALL[name]()
    value = model.log_evidence(np.array([1, 2]))
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert twin.log_evidence(np.array([1, 2])) == pytest.approx(value, abs=2e-6)
        np.testing.assert_allclose(
            twin.flip_gains(np.array([1])).gains, model.flip_gains(np.array([1])).gains, atol=1e-3
        )


@fitted
@pytest.mark.parametrize("S", SETS, ids=len)
def test_predictions_are_finite_and_shaped(name, S):
    model = FITTED[name]()
    b, law = model.coefficients(S), model.predictive(S, csr_array(X[:4]))
    assert b.mean.shape == (len(S),)
    assert b.covariance.shape == (len(S), len(S))
    assert np.linalg.eigvalsh(b.covariance).min(initial=0.0) > -1e-12
    assert b.mean[S == 5] == pytest.approx(0.0)  # a constant column has no coefficient
    for part in (law.mean, law.scale, law.latent_mean, law.latent_scale):
        assert part.shape == (4,)
        assert np.isfinite(part).all()
    np.testing.assert_allclose(b.intercept + X[:4, S] @ b.mean, law.latent_mean, atol=1e-8)


@fitted
def test_indices_out_of_range(name):
    with pytest.raises(IndexError):
        FITTED[name]().flip_gains(np.array([M]))


def with_entry(value):
    bad = X.copy()
    bad[2, 3] = value
    return bad


@fitted
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"X": with_entry(np.nan)}, "X must be finite, got 1 NaN"),
        ({"X": with_entry(np.inf)}, "X must be finite, got 1 NaN or infinite"),
        ({"X": csr_array(with_entry(-np.inf))}, "X must be finite"),
        ({"X": X[:, 0]}, r"X must be a table .* 1 dimension"),
        ({"X": X[:0], "y": REAL[:0]}, "at least one row and one column"),
        ({"X": X[:, :0]}, "at least one row and one column"),
        ({"X": X.astype(str).astype(object) + "x"}, "X must hold numbers"),
        ({"X": X + 1j}, "X must hold real numbers"),
        ({"X": X * 1e200}, "variance overflows"),
        ({"y": BINARY[:-1]}, r"(y|time) must have shape \(25,\)"),
        ({"y": np.where(np.arange(N) == 0, np.nan, BINARY)}, "(y|time) must be finite"),
        ({"y": np.column_stack([BINARY, BINARY])}, r"got \(25, 2\)"),
        ({"slab_precision": 0.0}, "slab_precision must be a finite number above zero"),
        ({"slab_precision": np.nan}, "slab_precision must be"),
        ({"sample_weight": -np.ones(N)}, "sample_weight must be non-negative"),
        ({"sample_weight": np.zeros(N)}, "not all zero"),
        ({"sample_weight": np.ones(3)}, "sample_weight must have shape"),
        ({"covariates": np.ones((3, 2))}, "covariates must have 25 rows"),
        ({"covariates": np.full(N, np.nan)}, "covariates must be finite"),
    ],
)
def test_bad_input_is_named(name, bad, message):
    with pytest.raises(ValueError, match=message):
        build(name, **bad)


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(N), r"both classes .* got only \[0.0\]"),
        (np.ones(N), r"both classes .* got only \[1.0\]"),
        (np.arange(N) % 3, r"only 0 and 1 .* got \[2.0\]"),
        (np.where(BINARY, 1, -1), r"got \[-1.0\]"),
    ],
)
def test_labels_are_two_classes(link, y, message):
    with pytest.raises(ValueError, match=message):
        Logistic(X, y, link=link)


def test_a_class_without_weight_is_missing():
    with pytest.raises(ValueError, match="both classes"):
        Logistic(X, BINARY, sample_weight=BINARY.astype(float))


def test_an_unknown_link():
    with pytest.raises(ValueError, match='"logit" or "probit"'):
        Logistic(X, BINARY, link="cloglog")


@fitted
def test_new_rows_are_checked(name):
    model = build(name, covariates=COVARIATES)
    with pytest.raises(ValueError, match="X_new must have 9 columns"):
        model.predictive(SETS[1], X[:, :3], COVARIATES)
    with pytest.raises(ValueError, match="3 covariate"):
        model.predictive(SETS[1], X)


@fitted
@pytest.mark.parametrize("shape", [(2, 1), (2, 5), (25, 1)])
def test_tiny_tables(name, shape):
    y = np.arange(shape[0]) % 2
    model = build(name, X[: shape[0], : shape[1]], y)
    for S in (np.arange(0), np.arange(1)):
        value, gains = model.flip_gains(S)
        assert np.isfinite([value, *gains]).all()


def test_one_row_says_nothing_about_a_regression():
    model = Gaussian(X[:1], REAL[:1])
    np.testing.assert_allclose(model.flip_gains(np.array([0, 3])).gains, 0.0, atol=1e-15)
    assert np.isinf(model.coefficients(np.array([0, 3])).covariance).all()  # Student-t with two degrees of freedom
    assert model.predictive(np.array([0]), X).mean == pytest.approx(REAL[0])


@pytest.mark.parametrize(
    "make", [lambda X, y, C: Gaussian(X, y, covariates=C), lambda X, y, C: Logistic(X, y > 0, covariates=C)]
)
def test_scales_of_coefficients_are_those_of_predictions(make):
    """The variance of the linear predictor is quadratic in a row: its second difference is that of a coefficient."""
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(40, 5)) + 1.0, 3 * rng.normal(size=(40, 2))
    likelihood, S = make(X, X[:, 1] + C[:, 0] + rng.normal(size=40) - 1.0, C), np.array([1, 3])
    found = likelihood.coefficients(S)

    def variance(x, c):
        law = likelihood.predictive(S, x[None], c[None])
        assert law.dof == found.dof
        return law.latent_scale[0] ** 2

    x, c = X.mean(axis=0), C.mean(axis=0)
    steps = [(np.eye(5)[m], np.zeros(2)) for m in S] + [(np.zeros(5), np.eye(2)[j]) for j in range(2)]
    second = [variance(x + a, c + b) + variance(x - a, c - b) - 2 * variance(x, c) for a, b in steps]
    np.testing.assert_allclose(found.scales, np.sqrt(np.array(second) / 2), rtol=1e-6)
