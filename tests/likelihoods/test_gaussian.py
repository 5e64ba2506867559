"""Gaussian likelihood against dense textbook formulas and numerical integration."""

import numpy as np
import pytest
from scipy import integrate, special, stats
from scipy.sparse import csc_array, csr_array

from variegate.likelihoods import Gaussian

C0 = 10.0  # the default slab precision


def problem(N=30, M=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, M)) * rng.uniform(0.1, 30, M) + rng.normal(size=M) * 20
    X[:, 3] = X[:, 2]  # a duplicate
    X[:, 5] = 4.2  # a constant
    X[:, 7] = X[:, 0] - 2 * X[:, 1]  # a collinear triple
    y = X[:, :3] @ rng.normal(size=3) + 3 * rng.normal(size=N) + 5
    return X, y


def standardised(X):
    sd = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(sd > 1e-9, sd, np.inf)


def textbook_log_evidence(X, y, S, c, a0, b0, fixed=None):
    """y is multivariate Student-t around the fixed columns with a flat prior: restricted likelihood."""
    N = len(y)
    F = np.ones((N, 1)) if fixed is None else np.column_stack([np.ones(N), fixed])
    V = np.eye(N) + standardised(X)[:, S] @ standardised(X)[:, S].T / c
    Vi = np.linalg.inv(V)
    P = Vi - Vi @ F @ np.linalg.solve(F.T @ Vi @ F, F.T @ Vi)
    a = a0 + (N - F.shape[1]) / 2
    log_dets = np.linalg.slogdet(V)[1] + np.linalg.slogdet(F.T @ Vi @ F)[1]
    constant = a0 * np.log(b0) + special.gammaln(a) - special.gammaln(a0) - (a - a0) * np.log(2 * np.pi)
    return constant - 0.5 * log_dets - a * np.log(b0 + 0.5 * y @ P @ y)


def sets_of(M, rng, n=6):
    yield np.arange(0)
    yield np.arange(M)
    for _ in range(n):
        yield np.sort(rng.choice(M, rng.integers(1, M), replace=False))


@pytest.mark.parametrize("shape", [(30, 12), (6, 12), (2, 9)])
@pytest.mark.parametrize("c", [0.1, C0])
def test_evidence_is_the_textbook_one(shape, c, rng):
    X, y = problem(*shape)
    model = Gaussian(X, y, slab_precision=c, noise_shape=1.7, noise_rate=2.3)
    for S in sets_of(shape[1], rng):
        expected = textbook_log_evidence(X, y, S, c, 1.7, 2.3)
        np.testing.assert_allclose(model.log_evidence(S), expected, rtol=1e-9)


def test_evidence_by_numerical_integration():
    """Integrate intercept, coefficient and noise on a grid-free rule: |S| = 1, the constants included."""
    X, y = problem(N=5, M=9, seed=3)
    y = y - y.mean()
    c, a0, b0 = 2.0, 2.0, 3.0
    x, N = standardised(X)[:, 0], 5

    def given_noise(
        v,
    ):  # intercept and coefficient: a Gaussian integral, done by quadrature over the coefficient
        def integrand(beta):
            r = y - x * beta
            flat = np.exp(-0.5 * (r @ r - N * r.mean() ** 2) / v) * np.sqrt(2 * np.pi * v / N)
            return flat * (2 * np.pi * v) ** (-N / 2) * np.exp(-0.5 * c * beta**2 / v) / np.sqrt(2 * np.pi * v / c)

        centre, width = x @ y / (N + c), 12 * np.sqrt(v / (N + c))
        return integrate.quad(integrand, centre - width, centre + width, epsabs=0)[0]

    def over_log_noise(t):
        v = np.exp(t)
        return given_noise(v) * stats.invgamma.pdf(v, a0, scale=b0) * v

    value = np.log(integrate.quad(over_log_noise, -4, 14, limit=200, epsabs=0)[0])
    model = Gaussian(X, y, slab_precision=c, noise_shape=a0, noise_rate=b0)
    assert model.log_evidence(np.array([0])) == pytest.approx(value, abs=1e-6)


def test_flat_intercept_is_the_limit_of_a_wide_one():
    """With β₀ ~ N(0, σ²w), y is multivariate t; the flat prior is √(2πσ²w) times that: a₀ falls by ½."""
    X, y = problem()
    S, a0, b0, w = np.array([0, 2, 3]), 2.0, 2.0, 1e6
    Z = standardised(X)[:, S]

    def wide(V):
        shape = b0 / (a0 - 0.5) * (V + w * np.ones((30, 30)))
        return stats.multivariate_t.logpdf(y - y.mean(), np.zeros(30), shape, 2 * (a0 - 0.5))

    model = Gaussian(X, y, noise_shape=a0, noise_rate=b0)
    difference = model.log_evidence(S) - model.log_evidence(np.arange(0))
    assert difference == pytest.approx(wide(np.eye(30) + Z @ Z.T / C0) - wide(np.eye(30)), rel=1e-5)


@pytest.mark.parametrize("shape", [(30, 12), (6, 12), (2, 9)])
@pytest.mark.parametrize("c", [1e-3, C0])
def test_gains_are_differences_of_evidence(shape, c, rng):
    X, y = problem(*shape)
    model = Gaussian(X, y, slab_precision=c, covariates=X[:, -1])
    for S in sets_of(shape[1], rng):
        value, gains = model.flip_gains(S)
        assert value == pytest.approx(model.log_evidence(S), rel=1e-12)
        for m in range(shape[1]):
            with_m, without = np.union1d(S, [m]), np.setdiff1d(S, [m])
            expected = model.log_evidence(with_m) - model.log_evidence(without)
            np.testing.assert_allclose(gains[m], expected, rtol=1e-9, atol=1e-9)


def test_constant_column_gains_nothing():
    X, y = problem()
    for S in (np.arange(0), np.array([0, 5]), np.array([1, 2])):
        assert Gaussian(X, y).flip_gains(S).gains[5] == pytest.approx(0.0, abs=1e-12)


def test_batch_is_the_single_sets(rng):
    X, y = problem()
    sets = list(sets_of(12, rng))
    values, gains = Gaussian(X, y).flip_gains_many(sets)
    for i, S in enumerate(sets):
        one = Gaussian(X, y).flip_gains(S)
        np.testing.assert_allclose(gains[i], one.gains, rtol=1e-10, atol=1e-10)
        assert values[i] == pytest.approx(one.log_evidence)


@pytest.mark.parametrize("rows", [1, 3, 12])
def test_small_caches_change_nothing(rows, rng):
    X, y = problem()
    small, large = Gaussian(X, y, cache_bytes=rows * 12 * 8), Gaussian(X, y)
    for S in [*sets_of(12, rng, 20)]:
        np.testing.assert_allclose(small.flip_gains(S).gains, large.flip_gains(S).gains, atol=1e-9)
        assert small.log_evidence(S) == pytest.approx(large.log_evidence(S), rel=1e-12)


def test_perfect_fit_stays_finite():
    X, _ = problem(N=8, M=12)
    y = X[:, 0] * 3 + 1
    model = Gaussian(X, y, slab_precision=1e-6, noise_rate=1e-12)
    value, gains = model.flip_gains(np.array([0, 1, 2, 4]))
    assert np.isfinite(value)
    assert np.isfinite(gains).all()


def test_scale_of_y_does_not_matter():
    X, y = problem()
    S = np.array([0, 2])
    np.testing.assert_allclose(Gaussian(X, y).flip_gains(S).gains, Gaussian(X, 1e3 * y + 7).flip_gains(S).gains)


def test_units_and_origin_of_columns_do_not_matter():
    X, y = problem()
    S = np.array([0, 2, 4])
    moved = X * np.geomspace(1e-3, 1e3, 12) + np.linspace(-5e3, 5e3, 12)
    np.testing.assert_allclose(Gaussian(moved, y).flip_gains(S).gains, Gaussian(X, y).flip_gains(S).gains, atol=1e-7)


@pytest.mark.parametrize("covariates", [False, True])
def test_coefficients_and_predictive_are_the_dense_ones(covariates, rng):
    X, y = problem()
    fixed = rng.normal(size=(30, 2)) * 3 + 4 if covariates else np.empty((30, 0))
    S, a0, b0 = np.array([0, 2, 3, 4]), 1.5, 2.0
    model = Gaussian(X, y, noise_shape=a0, noise_rate=b0, covariates=fixed)
    # coefficients of [1, fixed, X_S] in their own units; prior precision c sd² on the last
    D = np.column_stack([np.ones(30), fixed, X[:, S]])
    k = 1 + fixed.shape[1]
    prior = np.diag(np.r_[np.zeros(k), C0 * X[:, S].var(axis=0)])
    A = D.T @ D + prior
    mean = np.linalg.solve(A, D.T @ y)
    a = a0 + (30 - k) / 2
    b = b0 + 0.5 * (y @ y - mean @ A @ mean)
    got = model.coefficients(S)
    np.testing.assert_allclose(np.r_[got.intercept, got.covariates, got.mean], mean, rtol=1e-7)
    np.testing.assert_allclose(got.covariance, b / (a - 1) * np.linalg.inv(A)[k:, k:], rtol=1e-6)

    X_new, C_new = rng.normal(size=(7, 12)) * 10, rng.normal(size=(7, fixed.shape[1]))
    D_new = np.column_stack([np.ones(7), C_new, X_new[:, S]])
    law = model.predictive(S, X_new, C_new)
    spread = np.einsum("ij,ji->i", D_new, np.linalg.solve(A, D_new.T))
    np.testing.assert_allclose(law.mean, D_new @ mean, rtol=1e-7)
    np.testing.assert_allclose(law.scale, np.sqrt(b / a * (1 + spread)), rtol=1e-7)
    np.testing.assert_allclose(law.latent_scale, np.sqrt(b / a * spread), rtol=1e-7)
    assert law.dof == 2 * a


def test_predictive_density_is_a_ratio_of_evidences():
    """p(y*|y) = p(y, y*)/p(y), when the new row does not move the standardisation."""
    X, y = problem(N=30)
    X_all = np.vstack([X, X.mean(axis=0)])
    c_all = C0 * X.var(axis=0) / X_all.var(axis=0).clip(1e-9)  # one more row at the mean shrinks the variance
    S, y_new = np.array([0]), 3.0
    before = Gaussian(X, y, noise_rate=2.0)
    after = Gaussian(X_all, np.r_[y, y_new], noise_rate=2.0, slab_precision=c_all[0])
    law = before.predictive(S, X_all[-1:])
    density = stats.t.logpdf(y_new, law.dof, law.mean[0], law.scale[0])
    assert density == pytest.approx(after.log_evidence(S) - before.log_evidence(S), rel=1e-9)


def test_weights_repeat_rows(rng):
    X, y = problem()
    fixed = rng.normal(size=(30, 1))
    w = rng.integers(0, 4, 30)
    weighted = Gaussian(X, y, sample_weight=w, covariates=fixed)
    repeated = Gaussian(np.repeat(X, w, axis=0), np.repeat(y, w), covariates=np.repeat(fixed, w, axis=0))
    for S in sets_of(12, rng):
        one, other = weighted.flip_gains(S), repeated.flip_gains(S)
        assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-9)
        np.testing.assert_allclose(one.gains, other.gains, rtol=1e-8, atol=1e-8)
        for a, b in zip(weighted.coefficients(S), repeated.coefficients(S), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)


def test_covariates_are_columns_with_a_flat_prior(rng):
    X, y = problem()
    fixed = rng.normal(size=(30, 2)) * [1, 100] + [0, 50]
    model = Gaussian(X, y, covariates=fixed, noise_shape=1.5, noise_rate=2.0)
    for S in sets_of(12, rng):
        expected = textbook_log_evidence(X, y, S, C0, 1.5, 2.0, fixed)
        assert model.log_evidence(S) == pytest.approx(expected, rel=1e-9)


def test_dependent_covariates_add_nothing(rng):
    X, y = problem()
    one = rng.normal(size=(30, 1))
    twice = np.column_stack([one, 2 * one + 1, np.full(30, 7.0)])
    S = np.array([0, 1])
    a, b = Gaussian(X, y, covariates=one), Gaussian(X, y, covariates=twice)
    np.testing.assert_allclose(a.flip_gains(S).gains, b.flip_gains(S).gains, atol=1e-9)
    np.testing.assert_allclose(a.predictive(S, X, one).mean, b.predictive(S, X, twice).mean, rtol=1e-9)


@pytest.mark.parametrize("form", [csc_array, csr_array])
def test_sparse_is_dense(form, rng):
    X = np.where(rng.random((40, 15)) < 0.2, 5 * rng.random((40, 15)), 0.0)
    X[:, 4], X[:, 6] = 0.0, 3.3
    y = X[:, 0] - X[:, 1] + rng.normal(size=40)
    fixed = rng.normal(size=(40, 1))
    dense, thin = Gaussian(X, y, covariates=fixed), Gaussian(form(X), y, covariates=fixed)
    for S in sets_of(15, rng):
        np.testing.assert_allclose(thin.flip_gains(S).gains, dense.flip_gains(S).gains, atol=1e-8)
        law, other = thin.predictive(S, form(X), fixed), dense.predictive(S, X, fixed)
        np.testing.assert_allclose(law.mean, other.mean, rtol=1e-8)


def test_float32_is_stored_but_not_accumulated(rng):
    X, y = problem()
    X = X.astype(np.float32)
    single, double = Gaussian(X, y), Gaussian(X.astype(np.float64), y)
    assert single._data.design.X is X
    for S in sets_of(12, rng):
        np.testing.assert_allclose(single.flip_gains(S).gains, double.flip_gains(S).gains, atol=1e-9)


def test_fortran_order_is_c_order():
    X, y = problem()
    S = np.array([0, 4, 8])
    np.testing.assert_allclose(
        Gaussian(np.asfortranarray(X), y).flip_gains(S).gains, Gaussian(X, y).flip_gains(S).gains
    )


def test_constant_outcome_is_finite():
    X, _ = problem()
    value, gains = Gaussian(X, np.full(30, 0.1)).flip_gains(np.array([0]))
    assert np.isfinite(value)
    assert (gains <= 1e-12).all()


def test_too_few_weights_are_refused(rng):
    X, y = problem()
    with pytest.raises(ValueError, match="sum must be at least 2"):
        Gaussian(X, y, covariates=rng.normal(size=30), sample_weight=np.full(30, 0.05))
