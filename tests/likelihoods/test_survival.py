"""Cox: the partial likelihood against statsmodels and direct sums, its evidence against integrals."""

import math

import mpmath
import numpy as np
import pytest
from scipy import integrate
from scipy.special import gammaln
from statsmodels.duration.hazard_regression import PHReg

from variegate.likelihoods import Cox, EvidenceWarning, laplace
from variegate.likelihoods.auxiliary import Auxiliary
from variegate.likelihoods.risk_sets import Sweeps, sums_at_places, sums_over_intervals
from variegate.likelihoods.survival import CoxTerms, efron

BETA = np.array([0.5, -1.0, 0.3])


def survival(N=60, M=3, ties=False, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, M))
    time = rng.exponential(np.exp(-X[:, :3] @ BETA[:M])) + 0.05
    if ties:
        time = np.ceil(4 * time) / 4
    return X, time, rng.random(N) < 0.7, rng


@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize("stratified", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_the_partial_likelihood_is_that_of_statsmodels(ties, stratified, truncated):
    X, time, event, rng = survival(ties=ties)
    strata = rng.integers(0, 3, size=60) if stratified else None
    entry = 0.9 * time * rng.random(60) if truncated else None
    other = PHReg(time, X, status=event.astype(int), entry=entry, strata=strata, ties="efron")
    terms = CoxTerms.of(time, event, entry, strata)
    found = terms.derivatives(X @ BETA)
    assert found.value == pytest.approx(other.loglike(BETA), abs=1e-10)
    np.testing.assert_allclose(X.T @ found.slope, other.score(BETA), atol=1e-10)
    given = Auxiliary(found.weight, np.zeros(60), found.shared)
    rows = np.ascontiguousarray(X.T)
    np.testing.assert_allclose(-given.inner(rows), other.hessian(BETA), atol=1e-10)
    np.testing.assert_allclose(given.times(rows) @ X, given.inner(rows), atol=1e-10)


def direct(time, event, entry, strata, weights, eta, Z):
    """Value, slope (N,) and −Z ∂²/∂η² Zᵀ in fifty digits, a sum over each risk set at each event time."""
    number = np.vectorize(mpmath.mpf, otypes=[object])
    w, eta, Z = number(weights), number(eta), number(Z)
    e = w * np.array([mpmath.exp(x) for x in eta])
    value, slope, curvature = (w * eta)[event].sum(), np.where(event, w, 0 * w), 0
    for stratum, t in {(s, t) for s, t in zip(strata[event], time[event], strict=True)}:
        at_risk = (strata == stratum) & (entry < t) & (t <= time)
        tied = at_risk & event & (time == t)
        d = weights[tied].sum()
        for term in range(math.ceil(d)):
            share = (e * at_risk) - mpmath.mpf(term) / d * (e * tied)
            u = mpmath.mpf(min(1.0, d - term))
            share, D = share / share.sum(), share.sum()
            value, slope = value - u * mpmath.log(D), slope - u * share
            mean = Z @ share
            curvature = curvature + u * ((Z * share) @ Z.T - np.outer(mean, mean))
    return float(value), slope.astype(float), curvature.astype(float)


@pytest.mark.parametrize("gap", [0.0, 36.0, 500.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("truncated", [False, True])
@pytest.mark.parametrize("n_strata", [1, 3])
def test_large_differences_of_hazards_lose_no_digits(n_strata, truncated, ties, weighted, gap):
    """Between strata, or between rows that enter late and the others."""
    X, time, event, rng = survival(N=40, ties=ties)
    strata = rng.integers(0, n_strata, size=40)
    entry = 0.9 * time * rng.random(40) if truncated else np.zeros(40)
    weights = rng.integers(1, 4, size=40) * rng.choice([1.0, 0.3], size=40) if weighted else np.ones(40)
    late = entry > np.median(entry) if truncated else rng.random(40) < 0.5
    eta = X @ BETA + gap * (strata == 1 if n_strata > 1 else late)
    with mpmath.workdps(50):
        value, slope, curvature = direct(time, event, entry, strata, weights, eta, X.T)
    found = CoxTerms.of(time, event, entry if truncated else None, strata, weights).derivatives(eta)
    assert found.value == pytest.approx(value, rel=0, abs=1e-10)
    np.testing.assert_allclose(found.slope, slope, atol=1e-10)
    given = Auxiliary(found.weight, np.zeros(40), found.shared)
    rows = np.ascontiguousarray(X.T)
    np.testing.assert_allclose(given.inner(rows), curvature, atol=1e-10)
    np.testing.assert_allclose(given.times(rows) @ X, curvature, atol=1e-10)


@pytest.mark.parametrize("offset", [15.0, 25.0])
@pytest.mark.parametrize("truncated", [False, True])
def test_coefficients_do_not_depend_on_the_order_of_strata(offset, truncated):
    rng = np.random.default_rng(0)
    X, batch, event = rng.normal(size=(120, 1)), rng.integers(0, 2, size=120), rng.random(120) < 0.7
    time = rng.exponential(np.exp(-1.6 * X[:, 0])) + 0.05
    entry = 0.9 * time * rng.random(120) if truncated else None
    found = [
        Cox(X + offset * batch[:, None], time, event, entry=entry, strata=strata, slab_precision=1e-4).coefficients(
            np.array([0])
        )
        for strata in (batch, 1 - batch)
    ]
    np.testing.assert_allclose(found[0].mean, found[1].mean, rtol=1e-10)
    alone = PHReg(time, X, status=event.astype(int), entry=entry, strata=batch, ties="efron").fit()
    np.testing.assert_allclose(found[0].mean, alone.params, rtol=0.02)


@pytest.mark.parametrize("N", [1, 2, 7, 100])
def test_every_interval_is_summed(N):
    """Against a sum over a mask, for random intervals, some empty, in two strata."""
    rng = np.random.default_rng(N)
    K, opening = 37, np.repeat([0, 20], [20, 17])
    stratum = rng.integers(0, 2, size=N)
    begin, end = np.sort(rng.integers(0, 18, size=(2, N)), axis=0) + 20 * stratum
    begin[::3] = 20 * stratum[::3]
    sweeps = Sweeps.of(begin, end, opening)
    inside = ((begin[:, None] <= np.arange(K)) & (np.arange(K) < end[:, None])).astype(float)
    Z, e, H = rng.normal(size=(3, N)), rng.random(N), rng.normal(size=(3, K))
    np.testing.assert_allclose(sums_at_places(Z, e, K, *sweeps), (Z * e) @ inside, atol=1e-13)
    np.testing.assert_allclose(sums_over_intervals(H, N, *sweeps), H @ inside.T, atol=1e-13)


@pytest.mark.parametrize("d", [1.0, 0.4, 3.7, 16.0, 17.0, 33.5, 1000.0, 100_000.3])
@pytest.mark.parametrize("a", [0.0, 1e-4, 1.0, 1e5])
def test_few_terms_stand_for_the_events_of_large_weights(d, a):
    """Logarithm, first and second derivative of Efron's terms against all of them."""
    steps = np.arange(math.ceil(d))
    g, u = (d - steps) / d, np.minimum(1.0, d - steps)
    left, amount = efron(d)
    assert len(left) <= 160
    for function in (np.log, np.reciprocal, lambda x: x**-2):
        for power in (0, 1):
            expected = math.fsum(u * g**power * function(a + g))
            assert amount @ (left**power * function(a + left)) == pytest.approx(expected, rel=1e-11)


def test_an_entry_at_the_time_of_an_event_is_too_late():
    one, two = (
        CoxTerms.of(np.array([1.0, 2.0, 3.0]), np.array([True, True, True]), np.array([0.0, 0.0, entry]))
        for entry in (1.0, 0.5)
    )
    assert one.derivatives(np.zeros(3)).value == pytest.approx(-np.log(2) - np.log(2))  # two at risk, then two
    assert two.derivatives(np.zeros(3)).value == pytest.approx(-np.log(3) - np.log(2))


@pytest.mark.parametrize("ties", [False, True])
def test_whole_weights_are_repeated_rows(ties):
    X, time, event, rng = survival(ties=ties, M=5)
    weights = rng.integers(0, 4, size=60).astype(float)
    rows = np.repeat(np.arange(60), weights.astype(int))
    one, two = Cox(X, time, event, sample_weight=weights), Cox(X[rows], time[rows], event[rows])
    for S in (np.arange(0), np.array([1, 3])):
        assert one.log_evidence(S) == pytest.approx(two.log_evidence(S), abs=1e-8)
        np.testing.assert_allclose(one.flip_gains(S).gains, two.flip_gains(S).gains, atol=1e-7)


def test_fractional_weights_lie_between():
    X, time, event, _ = survival(ties=True)
    values = [
        CoxTerms.of(time, event, weights=np.full(60, w)).derivatives(X @ BETA).value for w in (1.0, 1.5, 1.99999, 2.0)
    ]
    assert values == sorted(values, reverse=True)
    assert values[2] == pytest.approx(values[3], abs=1e-2)


@pytest.mark.parametrize("c", [0.3, 1.0, 10.0])
@pytest.mark.parametrize("covariate", [False, True])
def test_evidence_against_quadrature(c, covariate):
    X, time, event, _ = survival(ties=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    precision = (c, 0.01 if covariate else c)  # a covariate has a variance of 100
    model = Cox(X[:, :2], time, event, slab_precision=c, covariates=X[:, 1:2] if covariate else None)
    S = np.array([0]) if covariate else np.array([0, 1])
    base = model.terms.derivatives(np.zeros(60)).value

    def density(b, a):
        prior = np.sqrt(precision[0] * precision[1]) / (2 * np.pi)
        value = model.terms.derivatives(Z[:, 0] * a + Z[:, 1] * b).value
        return np.exp(value - base - 0.5 * (precision[0] * a * a + precision[1] * b * b)) * prior

    exact = np.log(integrate.dblquad(density, -4, 4, -4, 4, epsabs=1e-12, epsrel=1e-8)[0]) + base
    assert model.log_evidence(S) == pytest.approx(exact, abs=0.01)


def test_evidence_against_monte_carlo():
    """|S| = 5: importance sampling from a wide t around Laplace's own Gaussian, 0.022 nats off (56 events)."""
    X, time, event, rng = survival(N=80, M=6)
    S, c = np.arange(5), 1.0
    model = Cox(X, time, event, slab_precision=c)
    factor = model._answer(S)
    root = np.linalg.cholesky(factor.inverse())
    t = rng.standard_normal((4_000, 5)) * np.sqrt(8 / rng.chisquare(8, (4_000, 1)))
    w = factor.mean() + t @ root.T
    log_q = gammaln(6.5) - gammaln(4) - 2.5 * np.log(8 * np.pi) - 6.5 * np.log1p((t**2).sum(axis=1) / 8)
    log_q -= np.linalg.slogdet(root)[1]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    log_p = np.array([model.terms.derivatives(Z[:, S] @ b).value for b in w])
    log_p += 0.5 * (5 * np.log(c / (2 * np.pi)) - c * np.square(w).sum(axis=1))
    ratio = log_p - log_q
    exact = np.log(np.mean(np.exp(ratio - ratio.max()))) + ratio.max()
    error = np.std(np.exp(ratio - exact)) / np.sqrt(len(ratio))
    assert error < 0.01
    assert model.log_evidence(S) == pytest.approx(exact, abs=3 * error + 0.022)


def test_the_baseline_is_nelson_aalens_without_columns():
    X, time, event, _ = survival(ties=False)
    model = Cox(X, time, event)
    order = np.argsort(time)
    at_risk = 60 - np.arange(60)
    expected = np.cumsum(event[order] / at_risk)[event[order]]
    np.testing.assert_allclose(model.baseline(np.arange(0)), expected)
    np.testing.assert_allclose(model.event_times[1], np.sort(time[event]))


def test_each_stratum_has_its_own_baseline():
    X, time, event, rng = survival()
    strata = np.array(["b", "a", "c"])[rng.integers(0, 3, size=60)]
    model = Cox(X, time, event, strata=strata)
    for code, label in enumerate("abc"):
        rows = strata == label
        alone = Cox(X[rows], time[rows], event[rows])
        here = model.event_times[0] == code
        np.testing.assert_allclose(model.event_times[1, here], alone.event_times[1])
        np.testing.assert_allclose(model.baseline(np.arange(0))[here], alone.baseline(np.arange(0)))


def test_expected_events_are_the_observed_ones():
    X, time, event, _ = survival(ties=True)
    model = Cox(X, time, event)
    slope = model.terms.derivatives(0.7 * X[:, 0]).slope
    assert slope.sum() == pytest.approx(0.0, abs=1e-10)  # martingale residuals


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"time": -1.0}, "time in row 0 must not be negative, got -1"),
        ({"event": 0.0}, "event must have happened in at least one row, got none"),
        ({"event": 2.0}, r"event must hold only 0 and 1 .* got \[2.0\]"),
        ({"time": 3.0}, "time must vary, got 3 in every row"),
        ({"time": np.nan}, "time must be finite"),
        ({"entry": 1e9}, "entry in row 0 must be before time, got 1e.09 and"),
        ({"strata": "short"}, "a label for each of the 60 rows"),
    ],
)
def test_bad_times_are_named(bad, message):
    X, time, event, _ = survival()
    given = {"time": time, "event": event}
    ((name, value),) = bad.items()
    given[name] = ["a"] if value == "short" else np.full(60, value)
    with pytest.raises(ValueError, match=message):
        Cox(X, **given)


def test_large_weights_are_many_rows():
    """The likelihood of w copies of each row, whose difference per row vanishes, at the cost of few."""
    X, time, event, _ = survival(ties=True)
    models = [Cox(X, time, event, sample_weight=np.full(60, w), slab_precision=1e-6) for w in (1e5, 1e9)]
    assert all(len(model.terms.left) < 400 * len(model.terms.start) for model in models)
    few, many = (model.coefficients(np.arange(3)).mean for model in models)
    np.testing.assert_allclose(few, many, atol=1e-4)


def test_events_without_weight_are_no_event_times():
    X, time, event, _ = survival()
    weights = np.ones(60)
    weights[np.flatnonzero(event)[:3]] = 0.0
    model, without = Cox(X, time, event, sample_weight=weights), weights > 0
    alone = Cox(X[without], time[without], event[without])
    np.testing.assert_allclose(model.event_times, alone.event_times)
    np.testing.assert_allclose(model.baseline(np.arange(0)), alone.baseline(np.arange(0)))


def test_warns_of_stopping_below_the_mode_only_if_it_matters(monkeypatch):
    X, time, event, _ = survival()
    monkeypatch.setattr(laplace, "SETTLED", -1.0)  # it never stops by itself, though it arrives
    Cox(X, time, event).log_evidence(np.arange(3))
    monkeypatch.setattr(laplace, "MAX_STEPS", 1)
    with pytest.warns(EvidenceWarning, match="nats below the mode"):
        Cox(X, time, event).log_evidence(np.arange(3))
