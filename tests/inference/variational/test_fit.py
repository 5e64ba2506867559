"""The variational solver against exact optimisation over all sets; identities; behaviour as a program."""

import numpy as np
import pytest

from inference_problems import PAIRS, Exact, correlated_data, make_target, similarity_of_columns
from variegate.inference import ConvergenceWarning, Settings, Target, fit, sample
from variegate.inference.variational.points import Point
from variegate.likelihoods import CustomLikelihood, Gaussian, ep
from variegate.priors import bernoulli_prior, dpp_prior

GIVEN = Settings(learn_size=False, learn_slab=False)


@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
@pytest.mark.parametrize(("r", "allowed"), [(0.5, 0.01), (0.9, 0.01), (0.98, 0.05)])
@pytest.mark.parametrize("task", ["gaussian", "logistic"])
@pytest.mark.parametrize(
    ("seed", "M"),
    [(0, 8), *(pytest.param(s, m, marks=pytest.mark.slow) for s, m in [(1, 10), (2, 12), (3, 10), (4, 8)])],
)
def test_divergence_is_within_reach_of_the_best(seed, M, task, r, allowed, pair):
    target = make_target(*pair, task=task, r=r, seed=seed, M=M)
    exact = Exact(target)
    found = fit(target, np.random.default_rng(seed), GIVEN)
    assert exact.divergence(found.q.theta)[0] - exact.smallest_divergence() < allowed


@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
@pytest.mark.parametrize("task", ["gaussian", "logistic"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_fixed_size(task, pair, seed):
    target = make_target(*pair, task=task, r=0.9, seed=seed, M=9, size=3)
    exact = Exact(target)
    found = fit(target, np.random.default_rng(seed), GIVEN)
    gap = exact.divergence(found.q.theta)[0] - exact.smallest_divergence()
    assert gap < (0.01 if task == "gaussian" else 0.05)


@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
def test_elbo_is_the_log_evidence_less_the_divergence(pair):
    target = make_target(*pair, r=0.9, seed=1, M=9)
    exact = Exact(target)
    found = fit(target, np.random.default_rng(0), GIVEN)
    truth = exact.log_evidence - exact.divergence(found.q.theta)[0]
    assert abs(found.elbo - truth) < 4 * found.elbo_error + 1e-9
    assert found.converged
    assert found.n_iter == len(found.elbo_trace)


def linear_target(theta, phi=None):
    """A target inside the family: log p(y|γ) = θ·γ."""

    def log_evidence(S):
        return float(theta[S].sum())

    likelihood = CustomLikelihood(log_evidence, len(theta), flip_gains=lambda S: theta)
    prior = dpp_prior(phi, expected_size=1.0) if phi is not None else bernoulli_prior(len(theta), expected_size=1.0)
    return Target(likelihood, prior, "bernoulli" if phi is None else "dpp")


@pytest.mark.parametrize("family", ["dpp", "bernoulli"])
def test_a_target_inside_the_family_is_recovered(family):
    rng = np.random.default_rng(0)
    theta = rng.normal(size=12)
    target = linear_target(theta, rng.normal(size=(12, 6)) if family == "dpp" else None)
    found = fit(target, np.random.default_rng(1), GIVEN)
    np.testing.assert_allclose(found.q.theta, theta + target.prior.theta, atol=1e-6)
    assert found.elbo_error < 1e-6


def test_a_dpp_with_orthonormal_features_is_mean_field():
    X, y = correlated_data(M=9, r=0.9, seed=2)
    likelihood, identity = Gaussian(X, y), np.eye(9)
    free = fit(Target(likelihood, bernoulli_prior(9, expected_size=3), "bernoulli"), np.random.default_rng(0), GIVEN)
    dpp = fit(Target(likelihood, dpp_prior(identity, expected_size=3), "dpp"), np.random.default_rng(0), GIVEN)
    np.testing.assert_allclose(dpp.q.inclusion_prob(), free.q.inclusion_prob(), atol=0.02)
    assert dpp.elbo == pytest.approx(free.elbo, abs=4 * (free.elbo_error + dpp.elbo_error))


def test_a_likelihood_without_gains_still_fits():
    X, y = correlated_data(M=8, r=0.5, seed=0)
    gaussian = Gaussian(X, y)
    custom = CustomLikelihood(gaussian.log_evidence, 8)
    target = Target(custom, dpp_prior(similarity_of_columns(X), expected_size=3), "dpp")
    found = fit(target, np.random.default_rng(0), GIVEN)
    exact = Exact(target)
    assert exact.divergence(found.q.theta)[0] - exact.smallest_divergence() < 0.02


def test_without_gains_an_interrupt_keeps_what_there_is():
    X, y = correlated_data(M=6, r=0.5, seed=0)
    target = Target(CustomLikelihood(Gaussian(X, y).log_evidence, 6), bernoulli_prior(6, expected_size=2), "bernoulli")
    heard = []

    def impatient(progress):
        heard.append(progress)
        if len(heard) == 8:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="best found so far"):
        found = fit(target, np.random.default_rng(0), callback=impatient)
    assert found.interrupted
    assert not found.converged
    np.testing.assert_allclose(found.q.theta, np.mean([p.theta for p in heard[3:7]], axis=0))


def test_without_gains_the_last_pass_belongs_to_the_prior_that_is_returned():
    X, y = correlated_data(M=6, r=0.5, seed=0)
    target = Target(
        CustomLikelihood(Gaussian(X, y).log_evidence, 6), bernoulli_prior(6, expected_size=0.3), "bernoulli"
    )
    found = fit(target, np.random.default_rng(0))
    assert found.target.prior.expected_size > 1
    exact = Exact(found.target)
    assert exact.divergence(found.q.theta)[0] - exact.smallest_divergence() < 0.02


def test_expectation_propagation_is_rough_inside_a_fit_only(monkeypatch):
    tolerances = []

    def watched(problem, start, tolerance=ep.TOLERANCE):
        tolerances.append(tolerance)
        return solve(problem, start, tolerance)

    solve = ep.solve
    monkeypatch.setattr(ep, "solve", watched)
    found = fit(make_target(task="logistic", M=8), np.random.default_rng(0), Settings(n_starts=1))
    assert set(tolerances) == {ep.ROUGH_TOLERANCE}
    found.target.evaluate([np.array([0, 1])])
    assert tolerances[-1] == ep.TOLERANCE


def test_the_level_of_a_short_trace_has_its_own_error():
    """One estimate has the error of one estimate."""
    point = Point(np.zeros(1), np.zeros(1), np.array([-3.0, -1.0]), np.array([0.3, 0.4]), converged=False)
    assert point.level == -2.0
    assert point.error == pytest.approx(0.25)
    assert point._replace(elbo=point.elbo[:1], elbo_error=point.elbo_error[:1]).error == pytest.approx(0.3)


class TestBehaviour:
    def test_a_seed_determines_the_fit(self):
        first, again = (fit(make_target(M=8, seed=3), np.random.default_rng(5)) for _ in range(2))
        np.testing.assert_array_equal(first.q.theta, again.q.theta)
        assert first.elbo == again.elbo

    def test_a_seed_determines_the_fit_of_a_target_that_was_fitted_before(self):
        target = make_target(task="logistic", M=8, seed=3)
        first, again = (fit(target, np.random.default_rng(5), Settings(n_starts=1)) for _ in range(2))
        np.testing.assert_array_equal(first.q.theta, again.q.theta)
        assert first.elbo == again.elbo

    def test_a_seed_may_be_a_number(self):
        numbered, generated = (fit(make_target(M=8, seed=3), rng) for rng in (5, np.random.default_rng(5)))
        np.testing.assert_array_equal(numbered.q.theta, generated.q.theta)
        chains = [sample(make_target(M=8), rng) for rng in (5, np.random.default_rng(5))]
        np.testing.assert_array_equal(chains[0].inclusion, chains[1].inclusion)

    def test_progress_is_reported(self):
        heard = []
        fit(make_target(M=8), np.random.default_rng(0), callback=heard.append)
        assert {p.stage for p in heard} == {"fixed point", "natural gradient"}
        assert all(np.isfinite(p.elbo) and p.expected_size >= 0 for p in heard)

    def test_interrupt_returns_the_best_so_far(self):
        def impatient(progress):
            if progress.stage == "natural gradient":
                raise KeyboardInterrupt

        with pytest.warns(ConvergenceWarning, match="best found so far"):
            found = fit(make_target(M=8), np.random.default_rng(0), callback=impatient)
        assert found.interrupted
        assert not found.converged
        assert np.isfinite(found.elbo)

    def test_interrupt_keeps_the_starts_that_have_been_refined(self):
        heard = []

        def impatient(progress):
            if progress.stage == "natural gradient":
                heard.append(progress)
                if [p.iteration for p in heard].count(1) == 2:  # the second start
                    raise KeyboardInterrupt

        with pytest.warns(ConvergenceWarning, match="best found so far"):
            found = fit(make_target(M=8, r=0.98), np.random.default_rng(0), callback=impatient)
        first = [p.elbo for p in heard[:-1]]
        np.testing.assert_array_equal(found.elbo_trace[-len(first) :], first)

    def test_interrupt_before_there_is_anything_is_an_interrupt(self):
        def at_once(progress):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fit(make_target(M=8), np.random.default_rng(0), callback=at_once)

    def test_warm_start_needs_one_start_only(self):
        target = make_target(M=8, seed=1)
        cold = fit(target, np.random.default_rng(0), GIVEN)
        heard = []
        warm = fit(target, np.random.default_rng(1), GIVEN, start=np.array(cold.q.theta), callback=heard.append)
        assert sum(p.iteration == 1 for p in heard) == 2  # one run of each stage
        assert warm.elbo == pytest.approx(cold.elbo, abs=4 * (warm.elbo_error + cold.elbo_error))

    def test_not_converging_is_a_warning_that_says_what_to_do(self):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            found = fit(make_target(M=8), np.random.default_rng(0), Settings(max_iter=2))
        assert not found.converged


class TestHardInput:
    """What users really have: copies, constants, one row, one column."""

    def fitted(self, X, y, posterior="dpp", **kwargs):
        phi = kwargs.pop("phi", None)
        if phi is None:
            Z = X - X.mean(axis=0)
            norms = np.linalg.norm(Z, axis=0)
            phi = np.ascontiguousarray((Z / np.where(norms > 0, norms, 1.0)).T)
        rank = np.linalg.matrix_rank(phi)
        target = Target(Gaussian(X, y), dpp_prior(phi, expected_size=min(2.0, 0.5 * rank)), posterior)
        return fit(target, np.random.default_rng(0))

    @pytest.mark.parametrize("posterior", ["dpp", "bernoulli"])
    def test_copies_share_one_place(self, posterior):
        rng = np.random.default_rng(0)
        x, other = rng.normal(size=(2, 80))
        X = np.column_stack([x, x, x, other, other, rng.normal(size=80)])
        found = self.fitted(X, 2 * x + other + 0.3 * rng.normal(size=80), posterior)
        inclusion = found.q.inclusion_prob()
        assert inclusion[:3].sum() == pytest.approx(1.0, abs=0.05)
        assert inclusion[3:5].sum() == pytest.approx(1.0, abs=0.05)
        assert np.isfinite(found.elbo)

    def test_constant_columns_are_harmless(self):
        rng = np.random.default_rng(1)
        X = np.column_stack([rng.normal(size=(60, 3)), np.full(60, 7.0)])
        phi = np.eye(4)
        found = self.fitted(X, 2 * X[:, 0] + rng.normal(size=60), phi=phi)
        assert found.q.inclusion_prob()[0] > 0.95
        assert found.q.inclusion_prob()[3] < 0.6

    def test_one_column(self):
        rng = np.random.default_rng(2)
        X = rng.normal(size=(50, 1))
        found = self.fitted(X, 2 * X[:, 0] + rng.normal(size=50))
        assert found.q.inclusion_prob()[0] > 0.99

    def test_one_row(self):
        found = self.fitted(np.array([[1.0, 2.0]]), np.array([3.0]), phi=np.eye(2))
        assert np.isfinite(found.elbo)
        assert (found.q.inclusion_prob() <= 1).all()

    def test_more_columns_than_rows(self):
        rng = np.random.default_rng(3)
        X = rng.normal(size=(20, 60))
        found = self.fitted(X, 3 * X[:, 7] + 0.5 * rng.normal(size=20))
        assert found.q.inclusion_prob()[7] > 0.9

    def test_mismatched_prior_and_likelihood(self):
        X, y = correlated_data(M=6)
        with pytest.raises(ValueError, match="same number of features, got 6 and 5"):
            Target(Gaussian(X, y), bernoulli_prior(5, expected_size=1), "bernoulli")
        with pytest.raises(ValueError, match="phi must be given for a DPP posterior"):
            Target(Gaussian(X, y), bernoulli_prior(6, expected_size=1), "dpp")


@pytest.mark.parametrize("pair", PAIRS, ids="/".join)
def test_copies_and_zero_rows_break_no_pair(pair):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    X[:, 1] = X[:, 0]
    y = 2 * X[:, 0] + 0.5 * rng.normal(size=40)
    phi = (X / np.linalg.norm(X, axis=0)).T.copy()
    prior = bernoulli_prior(6, expected_size=1) if pair[0] == "bernoulli" else dpp_prior(phi, expected_size=1)
    found = fit(Target(Gaussian(X, y), prior, pair[1], phi=phi if pair[1] == "dpp" else None), rng)
    assert found.q.inclusion_prob()[:2].sum() > 0.9
    assert np.isfinite(found.elbo)


def test_a_prior_of_low_rank_is_not_asked_for_more():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    target = Target(Gaussian(X, 2 * X[:, 0] + rng.normal(size=40)), dpp_prior(np.ones((6, 1)), expected_size=0.5))
    assert fit(target, rng).q.inclusion_prob()[0] > 0.9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: Settings(solver="mcmc"),
            '"rao_blackwell" or "fixed_form", got .mcmc.; for the exact chain call sample',
        ),
        (lambda: Settings(max_iter=0), "max_iter must be a whole number, at least 1"),
        (lambda: Settings(n_starts=2.5), "n_starts must be a whole number, at least 1, got 2.5"),
        (lambda: Settings(n_sets="64"), "n_sets must be a whole number, at least 1, got '64'"),
        (lambda: Settings(tol=-0.1), "at least 0, got -0.1"),
        (lambda: Settings(tol=np.nan), "at least 0, got nan"),
        (lambda: Settings(covariance="K"), '"empirical" or "closed"'),
        (lambda: make_target(size=0), "at least 1"),
        (lambda: make_target(posterior="DPP"), '"dpp" or "bernoulli"'),
    ],
)
def test_bad_settings(call, message):
    with pytest.raises(ValueError, match=message):
        call()
