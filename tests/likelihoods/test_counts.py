"""Counts: evidence against integrals, Pólya-Gamma variables against their moments."""

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import logsumexp

from variegate.likelihoods import NegativeBinomial, Poisson
from variegate.likelihoods.augmentation import polya_gamma
from variegate.likelihoods.counts import NegativeBinomialTerms, PoissonTerms, count_law


def counts(N=40, M=3, dispersion=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, M))
    exposure = rng.uniform(0.5, 3.0, size=N)
    mean = exposure * np.exp(0.5 + 0.6 * X[:, 0])
    y = rng.poisson(mean) if dispersion == 0 else rng.negative_binomial(1 / dispersion, 1 / (1 + dispersion * mean))
    return X, y, exposure, rng


def test_poissons_terms_are_scipys():
    X, y, exposure, _ = counts()
    terms = PoissonTerms(y.astype(float), np.log(exposure), np.ones(40))
    eta = 0.3 + 0.5 * X[:, 0]
    expected = stats.poisson.logpmf(y, exposure * np.exp(eta)).sum()
    assert terms.derivatives(eta).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("alpha", [0.05, 0.5, 3.0])
def test_negative_binomial_terms_are_scipys(alpha):
    X, y, exposure, _ = counts(dispersion=alpha)
    terms = NegativeBinomialTerms(y.astype(float), np.log(exposure), np.ones(40), alpha)
    eta = 0.3 + 0.5 * X[:, 0]
    mean = exposure * np.exp(eta)
    expected = stats.nbinom.logpmf(y, 1 / alpha, 1 / (1 + alpha * mean)).sum()
    assert terms.derivatives(eta).value == pytest.approx(expected, abs=1e-9)
    several = terms._replace(dispersion=np.array([[alpha], [1.0]])).values(eta)
    assert several.tolist() == pytest.approx([expected, terms._replace(dispersion=1.0).derivatives(eta).value])


def test_without_dispersion_it_is_poissons():
    X, y, exposure, _ = counts()
    poisson = Poisson(X, y, exposure=exposure)
    nearly = NegativeBinomial(X, y, exposure=exposure, dispersion=1e-7)
    for S in (np.arange(0), np.array([0]), np.array([0, 2])):
        assert nearly.log_evidence(S) == pytest.approx(poisson.log_evidence(S), abs=1e-3)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("c", [0.5, 5.0])
def test_evidence_against_quadrature(alpha, c):
    X, y, exposure, _ = counts(dispersion=alpha)
    options = {"exposure": exposure, "slab_precision": c}
    model = NegativeBinomial(X, y, dispersion=alpha, **options) if alpha else Poisson(X, y, **options)
    Z, null = (X[:, 0] - X[:, 0].mean()) / X[:, 0].std(), model.terms.null
    base = model.terms.derivatives(null + 0.6 * Z).value

    def density(b, a):  # the intercept, about the null predictor, has a variance of 100
        prior = np.sqrt(c * 0.01) / (2 * np.pi)
        return (
            np.exp(model.terms.derivatives(null + a + Z * b).value - base - 0.5 * (0.01 * a * a + c * b * b)) * prior
        )

    exact = np.log(integrate.dblquad(density, -3, 3, -2, 2.5, epsabs=1e-12, epsrel=1e-8)[0]) + base
    assert model.log_evidence(np.array([0])) == pytest.approx(exact, abs=5e-4 if alpha else 0.01)


def test_evidence_of_many_columns_against_quasi_monte_carlo():
    """|S| = 8: importance sampling from a wide t around Laplace's own Gaussian, which is 0.054 nats too low."""
    X, y, exposure, _ = counts(N=60, M=8, dispersion=0.3)
    model = NegativeBinomial(X, y, dispersion=0.3, exposure=exposure)
    factor, k, dof = model._answer(np.arange(8)), 9, 16
    root = np.linalg.cholesky(factor.inverse())
    u = stats.qmc.Sobol(k + 1, seed=0).random_base2(13)
    t = stats.norm.ppf(u[:, :k]) * np.sqrt(dof / stats.chi2.ppf(u[:, k:], dof))
    w = factor.mean() + t @ root.T
    log_q = stats.multivariate_t.logpdf(t, np.zeros(k), np.eye(k), dof) - np.log(root.diagonal()).sum()
    eta, prior = model._null + w @ model._rows(np.arange(8)), model._prior(np.arange(8))
    log_p = np.array([model.terms.derivatives(row).value for row in eta])
    log_p += 0.5 * (np.log(prior / (2 * np.pi)).sum() - np.square(w) @ prior)
    exact = logsumexp(log_p - log_q) - np.log(len(w))
    assert np.std(np.exp(log_p - log_q - exact)) / np.sqrt(len(w)) < 0.005
    assert model.log_evidence(np.arange(8)) == pytest.approx(exact, abs=0.004)


@pytest.mark.parametrize("alpha", [None, 0.3])
def test_whole_weights_are_repeated_rows(alpha):
    X, y, exposure, rng = counts(M=4)
    weights = rng.integers(0, 3, size=40).astype(float)
    rows = np.repeat(np.arange(40), weights.astype(int))
    make = Poisson if alpha is None else lambda *a, **k: NegativeBinomial(*a, dispersion=alpha, **k)
    one = make(X, y, exposure=exposure, sample_weight=weights)
    two = make(X[rows], y[rows], exposure=exposure[rows])
    assert one.log_evidence(np.array([0, 2])) == pytest.approx(two.log_evidence(np.array([0, 2])), abs=1e-8)


@pytest.mark.parametrize("z", [0.0, 1e-3, 0.5, 4.0, 60.0, 101.0, 200.0, -600.0])
@pytest.mark.parametrize("b", [0.3, 1.0, 2.5, 40.0, 3000.0])
def test_polya_gamma_variables_have_their_moments(b, z):
    rng = np.random.default_rng(0)
    drawn = polya_gamma(np.full(40_000, b), np.full(40_000, z), rng)
    x = max(abs(z), 1e-4)
    mean = b * np.tanh(x / 2) / (2 * x)
    variance = b * (1 / 24 if x < 1e-2 else (np.sinh(x) - x) / (4 * x**3 * np.cosh(x / 2) ** 2))
    assert drawn.mean() == pytest.approx(mean, abs=4.5 * np.sqrt(variance / 40_000))
    assert drawn.var() == pytest.approx(variance, rel=0.06)


def test_polya_gamma_series_and_the_exact_sampler_have_one_law():
    rng = np.random.default_rng(1)
    exact = polya_gamma(np.ones(40_000), np.full(40_000, 1.3), rng) + polya_gamma(
        np.ones(40_000), np.full(40_000, 1.3), rng
    )
    series = polya_gamma(np.full(40_000, 2.0), np.full(40_000, 1.3), rng)
    assert stats.ks_2samp(exact, series).pvalue > 0.01
    assert stats.ks_2samp(exact, 1.02 * series).pvalue < 0.01  # the test can fail


@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_dispersion_without_columns_is_found(alpha):
    rng = np.random.default_rng(3)
    y = rng.negative_binomial(1 / alpha, 1 / (1 + 5 * alpha), size=4000)
    assert NegativeBinomial(rng.normal(size=(4000, 1)), y).nuisance == pytest.approx(alpha, rel=0.25)


@pytest.mark.parametrize("alpha", [0.0, 0.4])
def test_the_law_of_new_counts_against_draws(alpha):
    rng = np.random.default_rng(4)
    mean = np.exp(0.7 + 0.5 * rng.standard_normal(400_000))
    y = rng.poisson(mean) if alpha == 0 else rng.negative_binomial(1 / alpha, 1 / (1 + alpha * mean))
    law = count_law(np.array([0.7]), np.array([0.5]), alpha)
    assert law.mean[0] == pytest.approx(y.mean(), rel=0.01)
    assert law.scale[0] == pytest.approx(y.std(), rel=0.02)


def test_exposure_is_an_offset():
    X, y, exposure, _ = counts()
    twice = Poisson(X, y, exposure=2 * exposure)
    once = Poisson(X, y, exposure=exposure)
    S = np.array([0, 1])
    assert twice.log_evidence(S) == pytest.approx(once.log_evidence(S), abs=1e-8)
    assert twice.predictive(S, X).mean == pytest.approx(once.predictive(S, X).mean / 2)


@pytest.mark.parametrize("make", [Poisson, NegativeBinomial])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"y": -1.0}, "y in row 0 must be a count, a whole number from 0, got -1"),
        ({"y": 0.5}, "a whole number from 0, got 0.5 .40 such rows."),
        ({"y": 0.0}, "at least one count above zero"),
        ({"y": 1e15}, "a count of at most 1e.10, got 1e.15 .* make a regression of its logarithm"),
        ({"exposure": 0.0}, "exposure in row 0 must be above zero and finite, got 0"),
    ],
)
def test_bad_counts_are_named(make, bad, message):
    X, y, exposure, _ = counts()
    given = {"y": y, "exposure": exposure} | {name: np.full(40, value) for name, value in bad.items()}
    with pytest.raises(ValueError, match=message):
        make(X, **given)
