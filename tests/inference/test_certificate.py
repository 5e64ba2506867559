"""Columns that a likelihood does not hold: their evidence and their odds, against brute force."""

import numpy as np
import pytest
from scipy.special import logsumexp

from oracle import all_sets
from variegate.inference import Target
from variegate.inference.certificate import Drawn, certify, fitted_ratio, place_weights
from variegate.inference.chain.problem import Grid
from variegate.large import as_large_table, first_look
from variegate.likelihoods import Cox, Gaussian, Logistic, NegativeBinomial, Poisson
from variegate.priors import bernoulli_prior, dpp_prior

N, M, HELD = 80, 10, 7  # columns, and those that the likelihood holds
RNG = np.random.default_rng(3)
SHARED = RNG.normal(size=(N, 5))
X = 1.5 + np.repeat(SHARED, 2, axis=1) + 0.7 * RNG.normal(size=(N, M))
X[:, 8] = X[:, 7] + 1000.0  # far from the origin, and the same column otherwise
C = RNG.normal(size=(N, 2)) + 0.2 * SHARED[:, :2]
WEIGHTS = RNG.integers(1, 4, size=N).astype(float)
ETA = 0.5 * (X[:, 0] - 1.5) - 0.4 * (X[:, 7] - 1.5) + 0.2 * C[:, 0]
REAL = ETA + 0.7 * RNG.normal(size=N)
CLASS = RNG.random(N) < 1 / (1 + np.exp(-ETA))
TIME, EVENT = np.ceil(8 * RNG.exponential(np.exp(-ETA))) / 8, RNG.random(N) < 0.8
COUNTS = RNG.poisson(np.exp(0.5 + 0.7 * ETA))
EVERYTHING = {"covariates": C, "sample_weight": WEIGHTS}
MAKE = {
    "gaussian": lambda X, **o: Gaussian(X, REAL, **o),
    "logit": lambda X, **o: Logistic(X, CLASS, **o),
    "probit": lambda X, **o: Logistic(X, CLASS, link="probit", **o),
    "cox": lambda X, **o: Cox(X, TIME, EVENT, **o),
    "poisson": lambda X, **o: Poisson(X, COUNTS, **o),
    "negative binomial": lambda X, **o: NegativeBinomial(X, COUNTS, dispersion=0.4, **o),
    "both": lambda X, **o: [Gaussian(X, REAL, **o), Logistic(X, CLASS, **o)],
}
OPTIONS = {"plain": {}, "covariates and weights": EVERYTHING}
SETS = [np.array(S, dtype=np.int64) for S in ([], [0], [0, 3, 5])]
RAISED = 50.0  # nats, so that no exchange is negligible
ONE_SIZE = Grid(np.zeros(1), np.zeros(1), np.zeros(1), np.zeros((1, 1)))


ALL = np.ones(M, dtype=bool)


def whole_pass(work):
    """Odds of all columns."""
    ((_, found),) = as_large_table(X).over_columns(work)
    return found.odds


def moments(options):
    weights = options.get("sample_weight", np.ones(N))
    return first_look(as_large_table(X), weights, np.empty((0, N)))[0]


def work_of(target, S, options, log_addition=-np.inf, log_exchange=None):
    """The pass for one set, with weights of its places."""
    work = certify([Drawn(S, target)], ONE_SIZE, None, moments(options), ALL)
    log_exchange = np.full(len(S), -np.inf) if log_exchange is None else log_exchange
    (given,) = work.sets
    object.__setattr__(work, "sets", (given._replace(log_addition=log_addition, log_exchange=log_exchange),))
    return work


def part_and_whole(name, options):
    """The target over the columns held, and over all columns."""
    return (
        Target(MAKE[name](X[:, :n], **options), bernoulli_prior(n, expected_size=1.0), "bernoulli") for n in (HELD, M)
    )


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("S", SETS, ids=len)
@pytest.mark.parametrize("name", MAKE)
def test_log_odds_are_the_gains_of_a_likelihood_that_holds_the_column(name, S, options):
    part, whole = part_and_whole(name, options)
    found = np.log(whole_pass(work_of(part, S, options, log_addition=0.0)))
    gains = whole.evaluate([S]).gains[0]
    # of what rows of a partial likelihood share, a few vectors stand for all
    near = 0.1 + 0.02 * np.abs(gains) if name == "cox" else 2e-3 * (1 + np.abs(gains))
    outside = np.arange(HELD, M)
    assert (np.abs(found - gains)[outside] <= near[outside]).all()
    direct = np.array([whole.log_evidence(np.append(S, m)) - whole.log_evidence(S) for m in outside])
    # flip gains themselves are exact to first order: less so for columns that would join anyway
    exact = name == "gaussian"
    allowed = 2e-3 * (1 + np.abs(direct)) if exact else 0.1 + 0.3 * np.maximum(direct, 0.0)
    assert (np.abs(found[outside] - direct) <= allowed).all()


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("name", MAKE)
def test_exchanges_are_those_of_a_likelihood_that_holds_the_column(name, options):
    S, outside = np.array([0, 3, 5]), np.arange(HELD, M)
    part, whole = part_and_whole(name, options)
    gains = sum(outcome.exchange_gains(S) for outcome in whole.outcomes)
    for j in range(len(S)):
        only = np.where(np.arange(len(S)) == j, RAISED, -np.inf)
        found = np.log(whole_pass(work_of(part, S, options, log_exchange=only))) - RAISED
        near = 0.1 + 0.02 * np.abs(gains[j]) if name == "cox" else 3e-3 * (1 + np.abs(gains[j]))
        assert (np.abs(found - gains[j])[outside] <= near[outside]).all()
        if name == "gaussian":
            rest = np.delete(S, j)
            direct = [whole.log_evidence(np.append(rest, m)) - whole.log_evidence(S) for m in outside]
            np.testing.assert_allclose(found[outside], direct, atol=5e-3)


def test_exchange_of_a_group_of_columns():
    unit = np.array([0, 1, 2, 0, 3, 4, 2])  # two groups of two, which do not stand side by side
    likelihood, whole = Gaussian(X[:, :HELD], REAL), Gaussian(X, REAL)
    part = Target(likelihood, bernoulli_prior(5, expected_size=1.0), "bernoulli", units=unit)
    S, outside = np.array([0, 1, 2]), np.arange(HELD, M)
    # the slab of a column that goes is not in the gains: `certify` has it with the weights of the places
    slab = np.array([1, 0, 1]) * 0.5 * np.log(part.slab_precision)
    for j in range(len(S)):
        only = np.where(np.arange(len(S)) == j, RAISED - slab[j], -np.inf)
        found = np.log(whole_pass(work_of(part, S, {}, log_exchange=only))) - RAISED
        rest, before = part.columns(np.delete(S, j)), part.columns(S)
        direct = [whole.log_evidence(np.sort(np.append(rest, m))) - whole.log_evidence(before) for m in outside]
        np.testing.assert_allclose(found[outside], direct, atol=5e-3)


# --- odds: the sum over the sets of the posterior is the posterior's ---------------------------------------------


GRID = Grid(  # three prior sizes and two slab precisions
    np.array([-1.0, 0.0, 1.0]), np.array([2.0, 3.0, 5.0]), np.log([2.0, 20.0]),
    np.log([[0.1, 0.2], [0.2, 0.2], [0.1, 0.2]]),
)  # fmt: skip
TILT = np.linspace(-1.0, 1.0, M)


def posterior(whole, theta, log_volume, sets, size=None):
    """Probabilities of sets (n, I, J) up to a constant."""
    grid = GRID if size is None else ONE_SIZE._replace(log_c=GRID.log_c, log_prior=np.zeros((1, 2)))
    log_p = np.empty((len(sets), len(grid.log_kappa), 2))
    for j, log_c in enumerate(grid.log_c):
        likelihood = whole.with_slab_precision(float(np.exp(log_c)))
        for i, S in enumerate(sets):
            own = likelihood.log_evidence(S) + theta[S].sum() + log_volume(S)
            log_p[i, :, j] = own + len(S) * grid.log_kappa - grid.log_normalizer + grid.log_prior[:, j]
    return log_p, grid


def odds_and_exact(prior, *, size=None, similarity=None, unit=None):
    """Odds of the columns left out, by the certificate summed over all sets of the others, and by enumeration."""
    whole = Gaussian(X, REAL)
    phi = None if similarity is None else similarity[:HELD]
    part = Gaussian(X[:, :HELD], REAL)
    target = Target(part, prior, "bernoulli", phi=phi, size=size, tilt=TILT[:HELD])

    def volume(S):
        return 0.0 if similarity is None else np.linalg.slogdet(similarity[S] @ similarity[S].T)[1]

    theta = target.prior_shift + TILT
    sets = [np.array(S, dtype=np.int64) for S in all_sets(M) if size is None or len(S) == size]
    log_p, grid = posterior(whole, theta, volume, sets, size)
    inside = [i for i, S in enumerate(sets) if not len(S) or S[-1] < HELD]
    base = logsumexp(log_p[inside])
    exact = np.zeros(M)
    for m in range(HELD, M):
        with_m = [i for i, S in enumerate(sets) if m in S and len(set(S) & set(range(HELD, M))) == 1]
        exact[m] = np.exp(logsumexp(log_p[with_m]) - base)
    found, work_moments = np.zeros(M), moments({})
    for i in inside:
        for j, log_c in enumerate(grid.log_c):
            drawn = Drawn(sets[i], target.with_slab_precision(float(np.exp(log_c))))
            odds = whole_pass(certify([drawn], grid, TILT, work_moments, ALL))
            found += np.exp(logsumexp(log_p[i, :, j]) - base) * odds
    return found[HELD:], exact[HELD:]


def test_odds_are_exactly_those_of_the_posterior():
    found, exact = odds_and_exact(bernoulli_prior(HELD, expected_size=2.0, log_odds=TILT[:HELD]))
    assert exact.max() > 0.5  # one of them matters
    np.testing.assert_allclose(found, exact, rtol=2e-3)


def test_odds_of_sets_of_a_fixed_size_are_exactly_those_of_the_posterior():
    found, exact = odds_and_exact(bernoulli_prior(HELD, expected_size=2.0, log_odds=TILT[:HELD]), size=3)
    np.testing.assert_allclose(found, exact, rtol=2e-3)


def test_odds_under_a_dpp_prior_are_upper_bounds():
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    phi = Z.T / np.sqrt(N)
    phi[8] = np.random.default_rng(0).normal(size=N) / np.sqrt(N)  # otherwise a copy of the column before it
    phi /= np.linalg.norm(phi, axis=1, keepdims=True)
    prior = dpp_prior(phi[:HELD], expected_size=2.0, log_odds=TILT[:HELD])
    found, exact = odds_and_exact(prior, similarity=phi)
    assert (found >= exact * (1 - 2e-3)).all()
    assert (found <= 10 * exact).all()  # and of the right order
    assert found[0] > 1.05 * exact[0]  # a column that is like another one is overrated


def test_weights_of_places_without_members():
    target = Target(Gaussian(X[:, :HELD], REAL), bernoulli_prior(HELD, expected_size=2.0), "bernoulli")
    log_addition, log_exchange = place_weights(Drawn(np.empty(0, dtype=np.int64), target), ONE_SIZE)
    odds = np.exp(target.log_odds(target.evaluate([np.empty(0, dtype=np.int64)]))[0])
    assert log_addition == pytest.approx(target.prior_shift - np.log1p(odds.sum()))
    assert log_exchange.shape == (0,)


def test_rows_that_sets_share_are_multiplied_once():
    part, options = Gaussian(X[:, :HELD], REAL), {}
    target = Target(part, bernoulli_prior(HELD, expected_size=2.0), "bernoulli")
    drawn = [Drawn(np.array(S), target) for S in ([0, 1], [0, 2], [1, 2])]
    assert len(certify(drawn, ONE_SIZE, None, moments(options), ALL).rows) == 4  # three columns and the information


def test_constant_and_missing_columns():
    Y = X.copy()
    Y[:, 9], Y[::3, 7] = 4.0, np.nan
    filled = Y.copy()
    filled[::3, 7] = np.nanmean(Y[:, 7])
    table = as_large_table(Y)
    found, _ = first_look(table, np.ones(N), np.empty((0, N)))
    assert found.missing.tolist() == [0] * 7 + [len(Y[::3]), 0, 0]
    target = Target(Gaussian(X[:, :HELD], REAL), bernoulli_prior(HELD, expected_size=2.0), "bernoulli")
    only = np.arange(M) >= 7
    work = certify([Drawn(np.array([0]), target)], ONE_SIZE, None, found, only & (np.arange(M) != 8))
    ((_, outside),) = table.over_columns(work)
    assert (outside.odds > 0).tolist() == [m == 7 for m in range(M)]
    gain = Gaussian(filled, REAL).flip_gains(np.array([0])).gains[7]
    assert np.log(outside.ratio) == pytest.approx([gain], abs=1e-3)


def test_the_mean_ratio_of_columns_is_a_power_of_the_slab_precision():
    target = Target(Gaussian(X[:, :HELD], REAL), bernoulli_prior(HELD, expected_size=2.0), "bernoulli")
    drawn = [Drawn(np.array([0]), target.with_slab_precision(c)) for c in (1.0, 10.0, 100.0)]
    found = fitted_ratio(drawn, 50 * np.array([0.1, 0.2, 0.4]), 50)
    np.testing.assert_allclose(np.exp(found.log_at(np.log([1.0, 10.0, 100.0]))), [0.1, 0.2, 0.4])
    np.testing.assert_allclose(np.exp(found.log_at(np.log([0.01, 1e6]))), [0.1, 0.4])  # as far as was seen
    assert fitted_ratio(drawn, np.zeros(3), 0).log_mean == -np.inf
