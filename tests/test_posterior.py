"""What a fit returns, against enumeration of q and of the target."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from threadpoolctl import threadpool_info, threadpool_limits

from inference_problems import Exact, correlated_data, make_target, similarity_of_columns
from variegate.diagnostics import Diagnostics
from variegate.inference import Settings, Target, fit
from variegate.inference.local_search import polish
from variegate.likelihoods import CustomLikelihood, Gaussian, Logistic
from variegate.posterior import Posterior, jaccard_distance
from variegate.predictions import PredictiveMixture
from variegate.priors import dpp_prior

NAMES = np.array(["TP53", "BRCA1", "MYC", "ESR1", "PGR", "ERBB2", "GATA3", "MKI67"])
GIVEN = Settings(learn_size=False, learn_slab=False)


@pytest.fixture(scope="module", params=["free", "size 3", "mean field"])
def posterior(request):
    target = make_target(
        M=8, r=0.9, seed=1, size=3 if request.param == "size 3" else None,
        posterior="bernoulli" if request.param == "mean field" else "dpp",
    )  # fmt: skip
    return Posterior(fit(target, np.random.default_rng(0), GIVEN), NAMES)


@pytest.fixture(scope="module")
def exact(posterior):
    return Exact(posterior.target)


def test_probabilities_are_those_of_q(posterior, exact):
    log_q = exact.log_q(posterior.fit.q.theta)
    np.testing.assert_allclose([posterior.log_prob(S) for S in exact.sets], log_q, atol=1e-8)
    np.testing.assert_allclose(posterior.inclusion_prob(), np.exp(log_q) @ exact.gamma, atol=1e-9)


def test_conditioning_is_renormalising_q(posterior, exact):
    given = posterior.condition(include=["BRCA1"], exclude=["TP53", "MYC"])
    assert type(given) is Posterior
    keep = exact.gamma[:, 1].astype(bool) & ~exact.gamma[:, [0, 2]].any(axis=1)
    q = np.where(keep, np.exp(exact.log_q(posterior.fit.q.theta)), 0.0)
    q /= q.sum()
    np.testing.assert_allclose(given.inclusion_prob(), q @ exact.gamma, atol=1e-8)
    for S, p in zip(exact.sets, q, strict=True):
        assert np.exp(given.log_prob(S)) == pytest.approx(p, abs=1e-9)
    assert all(1 in S and not np.isin([0, 2], S).any() for S in given.sample(20, 0))
    share = np.exp(exact.log_q(posterior.fit.q.theta))[keep].sum()
    assert given.condition_probability == pytest.approx(share, rel=1e-8)
    assert posterior.condition_probability == pytest.approx(1.0)
    twice = posterior.condition(include=[1]).condition(exclude=[0, 2])
    np.testing.assert_allclose(twice.inclusion_prob(), given.inclusion_prob(), atol=1e-12)


def test_sets_are_searched_with_one_blas_thread(posterior, monkeypatch):
    """Two threads on matrices of some dozens of rows took fifty times as long on a busy machine."""
    seen = []

    def threads():
        return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")

    def watched(*args, **options):
        seen.append(threads())
        return polish(*args, **options)

    monkeypatch.setattr("variegate.posterior.polish", watched)
    with threadpool_limits(2, user_api="blas"):
        before = threads()
        posterior.map()
        assert threads() == before
    assert set(seen) == {1}


def test_sets_after_conditioning_keep_to_it(posterior):
    given = posterior.condition(include=[5], exclude=[0])
    for S in [given.map(), given.map(4), *(a.positions for a in given.alternatives(3))]:
        assert 5 in S
        assert 0 not in S
    assert np.isfinite(given.diagnostics().elbo)


def redrawn_corrections(posterior):
    for seed in range(4):
        sets = posterior.sample(400, seed)
        log_ratios = np.array([posterior.target.log_joint(S) - posterior.log_prob(S) for S in sets])
        found = replace(posterior.fit, sets=sets, log_ratios=log_ratios)
        yield Posterior(found, NAMES).inclusion_prob(corrected=True)


def test_corrected_inclusion_is_closer_to_the_posterior(posterior, exact):
    error = np.abs(posterior.inclusion_prob() - exact.inclusion).max()
    corrected = max(np.abs(p - exact.inclusion).max() for p in redrawn_corrections(posterior))
    assert corrected < max(0.5 * error, 0.05)  # 0.05: the noise of 400 sets


def test_map_is_the_best_set_of_the_target(posterior, exact):
    S = posterior.map()
    assert posterior.target.log_joint(S) == pytest.approx(exact.log_joint.max(), abs=1e-8)
    if posterior.target.size is None:
        four = [v for T, v in zip(exact.sets, exact.log_joint, strict=True) if len(T) == 4]
        assert posterior.target.log_joint(posterior.map(4)) == pytest.approx(max(four), abs=1e-8)
        assert len(posterior.map(4, polished=False)) == 4


def test_alternatives_are_good_distinct_and_ranked(posterior, exact):
    found = posterior.alternatives(4, different=0.3)
    assert 2 <= len(found) <= 4
    values = [a.log_joint for a in found]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(exact.log_joint.max(), abs=1e-8)
    assert found[0].odds == 1.0
    for i, a in enumerate(found):
        assert a.features.tolist() == NAMES[a.positions].tolist()
        assert a.odds == pytest.approx(np.exp(a.log_joint - values[0]))
        assert a.log_prob == pytest.approx(posterior.log_prob(a.positions))
        assert all(jaccard_distance(a.positions, b.positions) >= 0.3 for b in found[:i])


def test_diagnostics(posterior, exact):
    d = posterior.diagnostics()
    truth = exact.log_evidence - exact.divergence(posterior.fit.q.theta)[0]
    assert abs(d.elbo - truth) < 4 * d.elbo_error
    assert 1 <= d.effective_size <= d.n_sets
    assert d.converged
    assert d.expected_size == pytest.approx(posterior.inclusion_prob().sum())


def test_sets_of_another_size_than_the_fit_do_not_mix():
    target = make_target(M=8, r=0.9, seed=1, size=3)
    posterior = Posterior(fit(target, np.random.default_rng(0), GIVEN), NAMES)
    assert {len(a.positions) for a in posterior.alternatives(4, size=2)} == {2}
    assert {len(a.positions) for a in posterior.alternatives(4)} == {3}


@pytest.mark.parametrize("family", ["bernoulli", "dpp"])
def test_diagnostics_notice_a_copy_that_mean_field_overlooks(family):
    """Importance weights cannot: q never draws the other copy."""
    rng = np.random.default_rng(0)
    x, other = rng.normal(size=(2, 80))
    X = np.column_stack([x, x, other, rng.normal(size=80)])
    likelihood, phi = Gaussian(X, 2 * x + other + 0.3 * rng.normal(size=80)), similarity_of_columns(X)
    posterior = Posterior(fit(Target(likelihood, dpp_prior(phi, expected_size=2), family), rng, GIVEN))
    d, p = posterior.diagnostics(), posterior.inclusion_prob()[:2]
    assert d.pareto_k < 0.7
    if family == "dpp":
        np.testing.assert_allclose(p, 0.5, atol=0.1)
        assert d.overlooked < 1
        assert not d.independent
    else:
        assert p.max() > 0.95
        assert d.overlooked > 3
        assert any("stand in for each other" in m and m.endswith("lets them share it.") for m in d.messages())


def test_unlikely_conditions_are_told_and_the_correction_asks_the_data():
    """Without a feature that every set has, q knows little of its near-copy, which the data want instead."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 6))
    X[:, 1] = 0.95 * X[:, 0] + np.sqrt(1 - 0.95**2) * rng.normal(size=80)
    y = X[:, 0] + X[:, 3] + rng.normal(size=80)
    target = Target(Gaussian(X, y), dpp_prior(similarity_of_columns(X), expected_size=2))
    whole = Posterior(fit(target, rng, GIVEN))
    without = whole.condition(exclude=[0])
    exact = Exact(target)
    keep = ~exact.gamma[:, 0].astype(bool)
    p = np.where(keep, exact.posterior, 0.0)
    truth = p @ exact.gamma / p.sum()
    assert truth[1] > 0.99 > without.inclusion_prob()[1] + 0.2
    np.testing.assert_allclose(without.inclusion_prob(corrected=True), truth, atol=0.05)
    assert any("meets these conditions" in line for line in without.diagnostics().messages())
    likely = whole.condition(exclude=[1])
    assert not any(
        "meets these conditions" in line
        for line in [*whole.diagnostics().messages(), *likely.diagnostics().messages()]
    )


def test_features_by_name():
    found = fit(make_target(M=8), np.random.default_rng(0), Settings(n_starts=1))
    posterior = Posterior(found, NAMES)
    assert posterior.positions({"MYC", "TP53"}).tolist() == [0, 2]
    assert posterior.positions({3, 1}).tolist() == [1, 3]
    assert posterior.positions("MYC").tolist() == [2]
    twins = Posterior(found, np.array(["a", "b", "a", "c", "d", "e", "f", "g"]))
    assert twins.positions(["b"]).tolist() == [1]
    for call, message in [
        (lambda: twins.positions(["a"]), r"columns \[0, 2\] are all called 'a'"),
        (lambda: Posterior(found).positions(["MYC"]), "the columns have no names"),
        (lambda: Posterior(found, np.arange(8)), "names must be strings, got 0"),
        (lambda: posterior.positions(["MYC", "MYC"]), "more than once"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


def test_diagnostics_speak():
    well = Diagnostics(-10.0, 0.1, True, 30, 0.2, 300.0, 400, 3.0, 3.0, 10.0)
    assert well.messages() == []
    ill = well._replace(converged=False, pareto_k=0.9, expected_size=0.1, overlooked=5.0)
    text = " ".join(ill.messages())
    assert "max_iter" in text
    assert "sample_posterior" in text
    assert "hardly support" in text
    assert "148 times rarer" in text
    assert "DPP" not in text
    assert "A DPP posterior" in " ".join(ill._replace(independent=True).messages())


class TestPrediction:
    def test_regression_is_the_mixture_over_sets(self, posterior):
        X = correlated_data(M=8, r=0.9, seed=9)[0][:5]
        mixture = posterior.predict(X)
        laws = [posterior.target.likelihood.predictive(S, X) for S in posterior.fit.sets[:100]]
        means = np.array([law.mean for law in laws])
        np.testing.assert_allclose(mixture.mean, means.mean(axis=0), rtol=1e-10)
        within = np.mean([np.square(law.scale) * law.dof / (law.dof - 2) for law in laws], axis=0)
        np.testing.assert_allclose(mixture.std, np.sqrt(within + means.var(axis=0)), rtol=1e-10)
        low, high = mixture.interval(0.9).T
        for bound, u in ((low, 0.05), (high, 0.95)):
            cdf = np.mean([stats.t.cdf(bound, law.dof, law.mean, law.scale) for law in laws], axis=0)
            np.testing.assert_allclose(cdf, u, atol=1e-9)
        assert posterior.predict(X, corrected=True).mean.shape == (5,)

    def test_classification_averages_probabilities(self):
        X, y = correlated_data(M=8, r=0.5, seed=0, task="logistic")
        target = Target(Logistic(X, y), dpp_prior(similarity_of_columns(X), expected_size=3), "dpp")
        posterior = Posterior(fit(target, np.random.default_rng(0), GIVEN))
        mixture = posterior.predict(X)
        assert ((mixture.mean > 0) & (mixture.mean < 1)).all()
        np.testing.assert_allclose(mixture.std, np.sqrt(mixture.mean * (1 - mixture.mean)))
        low, high = mixture.interval().T
        assert ((low < mixture.mean) & (mixture.mean < high)).all()
        assert np.corrcoef(mixture.mean, y)[0, 1] > 0.5

    def test_intervals_cover_what_they_promise(self):
        """Data from the prior's own model: 90 % intervals cover 90 %."""
        rng = np.random.default_rng(0)
        hits = []
        for _ in range(15):
            X = rng.normal(size=(280, 5))
            y = X[:, :2] @ rng.normal(size=2) + rng.normal(size=280)
            target = Target(Gaussian(X[:80], y[:80]), dpp_prior(np.eye(5), expected_size=2), "dpp")
            low, high = Posterior(fit(target, rng, GIVEN)).predict(X[80:]).interval(0.9).T
            hits.append(((low < y[80:]) & (y[80:] < high)).mean())
        assert np.mean(hits) == pytest.approx(0.9, abs=0.03)

    def test_bad_level_and_no_predictive(self):
        one = np.ones((1, 2))
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            PredictiveMixture(np.ones(1), one, one, one, one, 5.0).interval(95)
        target = Target(CustomLikelihood(lambda S: 0.0, 3), dpp_prior(np.eye(3), expected_size=1), "dpp")
        posterior = Posterior(fit(target, np.random.default_rng(0), GIVEN))
        with pytest.raises(ValueError, match="cannot predict"):
            posterior.predict(np.ones((2, 3)))
        assert len(posterior.map(2)) == 2
        assert posterior.alternatives(2)


class TestBadInput:
    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda p: p.condition(include=["XYZ"]), "no feature called 'XYZ' among the 8"),
            (lambda p: p.condition(include=["TP53"], exclude=["TP53"]), "'TP53' cannot be both"),
            (lambda p: p.condition(include=[8]), "positions from 0 to 7, got 8"),
            (lambda p: p.condition(include=[0, 1]).map(1), "at least 2"),
            (lambda p: p.map(9), "between 0 and 8"),
            (lambda p: p.sample(-1), "negative"),
            (lambda p: Posterior(p.fit, np.array(["a"])), "8 names"),
        ],
    )
    def test_errors_say_what_to_do(self, call, message):
        posterior = Posterior(fit(make_target(M=8), np.random.default_rng(0), Settings(n_starts=1)), NAMES)
        with pytest.raises(ValueError, match=message):
            call(posterior)

    def test_more_included_than_the_size(self):
        posterior = Posterior(fit(make_target(M=8, size=2), np.random.default_rng(0), Settings(n_starts=1)), NAMES)
        with pytest.raises(ValueError, match="Sets have 2 features; 3 cannot be included"):
            posterior.condition(include=[0, 2, 4])
        with pytest.raises(ValueError, match="1 more are needed, and at most 0"):
            posterior.condition(include=[0], exclude=np.arange(1, 8))
        assert posterior.condition(exclude=np.arange(6)).inclusion_prob() == pytest.approx([0] * 6 + [1, 1], abs=1e-12)
