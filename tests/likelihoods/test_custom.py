"""Any callable as a likelihood, shown with Poisson regression by Laplace's method."""

import numpy as np
import pytest
from scipy import integrate, special

from variegate.likelihoods import CustomLikelihood


class PoissonByLaplace:
    """y_i ~ Poisson(exp(z_iᵀw)), w ~ N(0, diag(prior)⁻¹): log joint at the mode − ½ log|H/2π|."""

    def __init__(self, X, y, slab_precision=1.0):
        self.X, self.y, self.c = (X - X.mean(axis=0)) / X.std(axis=0), y, slab_precision

    def parts(self, S):
        prior = np.r_[0.01, np.full(len(S), self.c)]
        return np.column_stack([np.ones(len(self.y)), self.X[:, S]]), prior

    def log_joint(self, w, Z, prior):
        eta = Z @ w
        terms = self.y * eta - np.exp(eta) - special.gammaln(self.y + 1)
        return terms.sum() + 0.5 * (np.log(prior / (2 * np.pi)) - prior * w**2).sum()

    def __call__(self, S):
        Z, prior = self.parts(S)
        w = np.r_[np.log(self.y.mean()), np.zeros(len(S))]
        for _ in range(50):
            rate = np.exp(Z @ w)
            H = (Z.T * rate) @ Z + np.diag(prior)
            w = w + np.linalg.solve(H, Z.T @ (self.y - rate) - prior * w)
        return self.log_joint(w, Z, prior) - 0.5 * np.linalg.slogdet(H / (2 * np.pi))[1]


@pytest.fixture
def counts():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 6))
    return X, rng.poisson(np.exp(0.5 + 0.6 * X[:, 2] - 0.5 * X[:, 4]))


def test_poisson_regression_finds_its_features(counts):
    model = CustomLikelihood(PoissonByLaplace(*counts), n_features=6)
    values = {S: model.log_evidence(np.array(S, dtype=np.int64)) for S in [(), (2,), (4,), (2, 4), (0, 2, 4), (0, 1)]}
    assert max(values, key=values.get) == (2, 4)


def test_poisson_evidence_by_quadrature(counts):
    laplace = PoissonByLaplace(*counts)
    S = np.array([2])
    Z, prior = laplace.parts(S)
    peak = laplace(S)
    integral = integrate.dblquad(
        lambda b, a: np.exp(laplace.log_joint(np.array([a, b]), Z, prior) - peak),
        -0.5,
        1.5,
        -0.5,
        1.5,
        epsabs=1e-4,
    )[0]
    assert CustomLikelihood(laplace, 6).log_evidence(S) == pytest.approx(peak + np.log(integral), abs=0.02)


def test_values_are_remembered_within_bounds():
    calls = []
    model = CustomLikelihood(lambda S: calls.append(tuple(S)) or 0.0, 5, max_remembered=2)
    a, b, c = (np.array([i]) for i in range(3))
    for S in (a, b, a, c, a, b):  # b is the least recently used when c comes
        model.log_evidence(S)
    assert calls == [(0,), (1,), (2,), (1,)]


@pytest.mark.parametrize("value", [np.nan, np.inf, None, "high", [1.0, 2.0], np.zeros(0)])
def test_strange_values_name_the_set(value):
    model = CustomLikelihood(lambda S: value, 30)
    with pytest.raises(ValueError, match=r"one finite number; for the set \[1, 4\] it returned"):
        model.log_evidence(np.array([1, 4]))
    with pytest.raises(ValueError, match=r"\[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …\]"):
        model.log_evidence(np.arange(30))


@pytest.mark.parametrize("value", [np.float32(-1.5), np.array([-1.5]), np.array(-1.5)])
def test_any_single_number_is_accepted(value):
    assert CustomLikelihood(lambda S: value, 3).log_evidence(np.array([1])) == -1.5


def test_gains_are_optional():
    model = CustomLikelihood(lambda S: 0.0, 3)
    assert not hasattr(model, "flip_gains")
    assert not hasattr(model, "flip_gains_many")


@pytest.mark.parametrize("gains", [np.zeros(2), np.array([0.0, np.nan, 1.0])])
def test_strange_gains_name_the_set(gains):
    model = CustomLikelihood(lambda S: 0.0, 3, flip_gains=lambda S: gains)
    with pytest.raises(ValueError, match=r"3 finite numbers.*\[1\]"):
        model.flip_gains(np.array([1]))


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="must be a function"):
        CustomLikelihood(3.0, 3)
    with pytest.raises(ValueError, match="at least 1"):
        CustomLikelihood(lambda S: 0.0, 0)


def test_at_least_one_value_is_remembered():
    calls = []
    model = CustomLikelihood(lambda S: float(calls.append(S) or 0), 3, max_remembered=0.5)
    assert [model.log_evidence(np.array([1])) for _ in range(2)] == [0.0, 0.0]
    assert len(calls) == 1
