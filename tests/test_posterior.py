"""What chains return, against enumeration of the target."""

import itertools

import numpy as np
import pytest
from scipy import stats
from threadpoolctl import threadpool_info, threadpool_limits

from chain_problems import Enumerated, chains_only, model_of
from inference_problems import Exact, correlated_data, make_target, similarity_of_columns
from variegate.diagnostics import Diagnostics
from variegate.estimators import DiverseRegressor
from variegate.inference import ChainSettings, ConvergenceWarning, Target, sample
from variegate.inference.local_search import polish
from variegate.likelihoods import CustomLikelihood, Gaussian, Logistic
from variegate.posterior import Posterior
from variegate.predictions import PredictiveMixture
from variegate.priors import dpp_prior
from variegate.sets import jaccard_distance

NAMES = np.array(["TP53", "BRCA1", "MYC", "ESR1", "PGR", "ERBB2", "GATA3", "MKI67"])
KINDS = ["free", "size 3", "mean field"]
EXACT = ChainSettings(tol=0.01, average_size=False, average_slab=False)


def target_of(kind):
    return make_target(
        M=8, r=0.9, seed=1, size=3 if kind == "size 3" else None,
        posterior="bernoulli" if kind == "mean field" else "dpp",
    )  # fmt: skip


def sampled(target, settings=EXACT):
    with chains_only():
        return Posterior(sample(target, np.random.default_rng(0), settings), NAMES[: target.n_features])


@pytest.fixture(scope="module", params=KINDS)
def chain(request):
    return sampled(target_of(request.param))


@pytest.fixture(scope="module")
def posterior(chain):
    return chain


@pytest.fixture(scope="module")
def exact(posterior):
    return Exact(posterior.target)


def close(posterior, exact):
    """Within four of the errors that are told."""
    off = np.abs(posterior.inclusion_prob() - exact.inclusion)
    return (off <= 4 * posterior.inclusion_errors() + 1e-4).all()


# --- probabilities of the chain ----------------------------------------------------------------------------------


def test_probabilities_of_the_chain_are_those_of_the_posterior(chain):
    truth = Enumerated(model_of(chain.target))
    assert close(chain, truth)
    assert np.abs(chain.inclusion_prob() - truth.inclusion).max() < 0.04
    shares = np.exp([chain.log_prob(S) for S in truth.sets])
    assert shares.sum() == pytest.approx(1.0)
    n = len(chain.sets) / 2  # sets worth, as they come from chains
    spread = np.sqrt(truth.probability * (1 - truth.probability) / n)
    assert (np.abs(shares - truth.probability) < 4 * spread + 1 / n).all()
    S = chain.sets[7]
    share = chain.weights @ [np.array_equal(S, T) for T in chain.sets]
    assert chain.log_prob(S) == pytest.approx(np.log(share))
    assert chain.log_prob([0, 1, 2, 3, 4, 5, 6, 7]) == -np.inf


def test_conditions_on_the_chain_are_those_of_the_posterior(chain):
    given = chain.condition(include=["BRCA1"], exclude=["TP53", "MYC"])
    assert type(given) is Posterior
    truth = Enumerated(model_of(chain.target, included=[1], excluded=[0, 2]))
    assert close(given, truth)
    assert given.inclusion_prob()[[0, 1, 2]].tolist() == [0.0, 1.0, 0.0]
    assert all(1 in S and not np.isin([0, 2], S).any() for S in [*given.sets, *given.sample(20, 0)])
    assert given.log_prob([0, 1, 3]) == -np.inf
    assert given.condition(include=[1]) is given
    assert close(chain.condition(include=[1]).condition(exclude=[0, 2]), truth)


def test_conditions_average_over_hyperparameters_like_the_chain():
    target = target_of("free")
    given = sampled(target, ChainSettings(tol=0.01)).condition(exclude=["BRCA1"])
    assert close(given, Enumerated(model_of(target, average_size=True, average_slab=True, excluded=[1])))


# --- sets ------------------------------------------------------------------------------------------------------------


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


def test_map_is_the_best_set_of_the_target(posterior, exact):
    S = posterior.map()
    assert posterior.target.log_joint(S) == pytest.approx(exact.log_joint.max(), abs=1e-8)
    if posterior.target.size is None:
        four = [v for T, v in zip(exact.sets, exact.log_joint, strict=True) if len(T) == 4]
        assert posterior.target.log_joint(posterior.map(4)) == pytest.approx(max(four), abs=1e-8)


def test_the_search_ends_though_the_evidence_of_a_set_changes(monkeypatch):
    posterior, exact, calls = sampled(two_copies("dpp")), Target.log_joint, itertools.count()

    def drifting(target, S):
        n = next(calls)
        assert n < 20_000, "the search does not end"
        return exact(target, S) - 1e-6 * n

    monkeypatch.setattr(Target, "log_joint", drifting)
    assert posterior.map().tolist() in ([0, 2], [1, 2])


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


# --- trust -----------------------------------------------------------------------------------------------------------


def test_diagnostics_of_a_chain(chain):
    d = chain.diagnostics()
    assert d.converged
    assert d.n_sets == len(chain.sets)
    assert d.largest_error == chain.inclusion_errors().max() <= d.tol == 0.01
    worst = chain.inclusion_errors().argmax()
    p = chain.inclusion_prob()[worst]
    assert d.effective_size == pytest.approx(p * (1 - p) / d.largest_error**2)
    assert d.disagreement > 0
    assert d.expected_size == pytest.approx(chain.inclusion_prob().sum())
    assert d.prior_expected_size == pytest.approx(chain.target.size or 3.0)
    assert d.slab_precision == 10.0
    assert d.messages() == []


def test_diagnostics_under_conditions(posterior):
    d = posterior.condition(include=[5], exclude=[0]).diagnostics()
    assert d.expected_size >= 1
    assert d.largest_error <= d.tol


def test_a_chain_that_was_stopped_says_how_uncertain_it_is():
    with pytest.warns(ConvergenceWarning, match="allow more laps"):
        posterior = sampled(target_of("free"), ChainSettings(tol=1e-5, max_laps=8))
    d = posterior.diagnostics()
    assert not d.converged
    (message,) = d.messages()
    assert f"uncertain by up to {2 * d.largest_error:.2g}" in message
    assert "max_iter" in message


def test_sets_of_another_size_than_the_fit_do_not_mix():
    posterior = Posterior(sample(target_of("size 3"), np.random.default_rng(0)), NAMES)
    assert {len(a.positions) for a in posterior.alternatives(4, size=2)} == {2}
    assert {len(a.positions) for a in posterior.alternatives(4)} == {3}


def two_copies(family):
    rng = np.random.default_rng(0)
    x, other = rng.normal(size=(2, 80))
    X = np.column_stack([x, x, other, rng.normal(size=80)])
    likelihood, phi = Gaussian(X, 2 * x + other + 0.3 * rng.normal(size=80)), similarity_of_columns(X)
    return Target(likelihood, dpp_prior(phi, expected_size=2), family)


@pytest.mark.parametrize("family", ["bernoulli", "dpp"])
def test_copies_share_their_probability_on_the_chain(family):
    """Where a DPP has none of the nugget that mean field needs, one of the two is in; else they are in as often."""
    posterior = sampled(two_copies(family))
    assert close(posterior, Enumerated(model_of(posterior.target)))
    p, errors = posterior.inclusion_prob()[:2], posterior.inclusion_errors()[:2]
    assert abs(p[0] - p[1]) < 4 * errors.sum()
    if family == "dpp":
        assert p.sum() == pytest.approx(1.0, abs=0.01)
    assert posterior.diagnostics().messages() == []


def test_under_unlikely_conditions_the_chain_asks_the_data():
    """Without a feature that every set has, the data want its near-copy instead."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 6))
    X[:, 1] = 0.95 * X[:, 0] + np.sqrt(1 - 0.95**2) * rng.normal(size=80)
    y = X[:, 0] + X[:, 3] + rng.normal(size=80)
    target = Target(Gaussian(X, y), dpp_prior(similarity_of_columns(X), expected_size=2))
    truth = Enumerated(model_of(target, excluded=[0]))
    assert truth.inclusion[1] > 0.99
    chain = sampled(target).condition(exclude=[0])
    assert close(chain, truth)
    assert chain.inclusion_prob()[1] > 0.98
    assert chain.diagnostics().messages() == []


def test_features_by_name():
    found = sample(make_target(M=8), np.random.default_rng(0))
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


def test_diagnostics_of_chains_speak():
    well = Diagnostics(True, 30, 3.0, 3.0, 10.0, 400, 0.02, 0.03, 1.5, 600.0)
    assert well.messages() == []
    text = " ".join(well._replace(converged=False, largest_error=0.11, expected_size=0.1).messages())
    assert "uncertain by up to 0.22 (two Monte Carlo errors of 0.11; 0.03 was asked for)" in text
    assert "barely support" in text


class TestPrediction:
    def test_regression_is_the_mixture_over_sets(self, posterior):
        X = correlated_data(M=8, r=0.9, seed=9)[0][:5]
        mixture = posterior.predict(X)
        some = np.unique(np.linspace(0, len(posterior.sets) - 1, 200).round().astype(int))
        laws = [posterior.target.likelihood.predictive(posterior.sets[i], X) for i in some]
        self.assert_is_the_average(mixture, laws)

    def assert_is_the_average(self, mixture, laws):
        means = np.array([law.mean for law in laws])
        np.testing.assert_allclose(mixture.mean, means.mean(axis=0), rtol=1e-10)
        within = np.mean([np.square(law.scale) * law.dof / (law.dof - 2) for law in laws], axis=0)
        np.testing.assert_allclose(mixture.std, np.sqrt(within + means.var(axis=0)), rtol=1e-10)
        low, high = mixture.interval(0.9).T
        for bound, u in ((low, 0.05), (high, 0.95)):
            cdf = np.mean([stats.t.cdf(bound, law.dof, law.mean, law.scale) for law in laws], axis=0)
            np.testing.assert_allclose(cdf, u, atol=1e-9)

    def test_each_set_predicts_with_its_own_slab_precision(self):
        X = correlated_data(M=8, r=0.9, seed=9)[0][:5]
        posterior = sampled(target_of("free"), ChainSettings(tol=0.02))
        found, likelihood = posterior.fit, posterior.target.likelihood
        assert len(np.unique(found.slab_precisions)) > 3
        some = np.unique(np.linspace(0, len(found.sets) - 1, 200).round().astype(int))
        slabs = [likelihood.with_slab_precision(c) for c in found.slab_precisions[some]]
        laws = [slab.predictive(found.sets[i], X) for slab, i in zip(slabs, some, strict=True)]
        self.assert_is_the_average(posterior.predict(X), laws)

    def test_components_are_few_and_distinct(self, posterior):
        (components,) = posterior.components
        assert sum(c.weight for c in components) == pytest.approx(1.0)
        assert len(components) <= 200
        assert len({c.S.tobytes() for c in components}) == len(components)  # there is one slab precision

    def test_the_chain_predicts_as_the_posterior_does(self, chain):
        X, truth = correlated_data(M=8, r=0.9, seed=9)[0][:5], Enumerated(model_of(chain.target))
        means = np.array([chain.target.likelihood.predictive(S, X).mean for S in truth.sets])
        expected = truth.probability @ means
        spread = np.sqrt(truth.probability @ np.square(means - expected))
        n = min(200, len(chain.sets)) / 2  # sets worth, as they come from chains
        assert (np.abs(chain.predict(X).mean - expected) < 4 * spread / np.sqrt(n)).all()

    def test_classification_averages_probabilities(self):
        X, y = correlated_data(M=8, r=0.5, seed=0, task="logistic")
        target = Target(Logistic(X, y), dpp_prior(similarity_of_columns(X), expected_size=3), "dpp")
        posterior = Posterior(sample(target, np.random.default_rng(0)))
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
        for _ in range(40):
            X = rng.normal(size=(280, 5))
            y = X[:, :2] @ rng.normal(size=2) + rng.normal(size=280)
            target = Target(Gaussian(X[:80], y[:80], slab_precision=1.0), dpp_prior(np.eye(5), expected_size=2), "dpp")
            low, high = Posterior(sample(target, 0, EXACT)).predict(X[80:]).interval(0.9).T
            hits.append(((low < y[80:]) & (y[80:] < high)).mean())
        assert np.mean(hits) == pytest.approx(0.9, abs=0.02)

    def test_bad_level_and_no_predictive(self):
        one = np.ones((1, 2))
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            PredictiveMixture(np.ones(1), one, one, one, one, 5.0).interval(95)
        target = Target(CustomLikelihood(lambda S: 0.0, 3), dpp_prior(np.eye(3), expected_size=1), "dpp")
        posterior = Posterior(sample(target, np.random.default_rng(0)))
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
            (lambda p: p.sample(-1), "at least 0, got -1"),
            (lambda p: Posterior(p.fit, np.array(["a"])), "8 names"),
        ],
    )
    def test_errors_say_what_to_do(self, call, message):
        posterior = Posterior(sample(make_target(M=8), np.random.default_rng(0)), NAMES)
        with pytest.raises(ValueError, match=message):
            call(posterior)

    def test_more_included_than_the_size(self):
        posterior = Posterior(sample(make_target(M=8, size=2), np.random.default_rng(0)), NAMES)
        with pytest.raises(ValueError, match="Sets have 2 features; 3 cannot be included"):
            posterior.condition(include=[0, 2, 4])
        with pytest.raises(ValueError, match="1 more are needed, and at most 0"):
            posterior.condition(include=[0], exclude=np.arange(1, 8))
        assert posterior.condition(exclude=np.arange(6)).inclusion_prob() == pytest.approx([0] * 6 + [1, 1], abs=1e-12)


def test_no_sampled_set_is_better_than_the_best_one(monkeypatch):
    """Whatever the local search does, and before alternatives are asked for."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(60, 3)), 3, axis=1) + 0.3 * rng.normal(size=(60, 9))
    model = DiverseRegressor(random_state=0).fit(X, X[:, 0] - 0.5 * X[:, 4] + rng.normal(size=60))
    fresh = Posterior(model.posterior_.fit)
    value, pairs = fresh.target.log_joint, [S for S in fresh.sets if len(S) == 2]
    worst = min(pairs, key=value)
    monkeypatch.setattr("variegate.posterior.polish", lambda target, S, **_: S)
    monkeypatch.setattr("variegate.posterior.grow", lambda *_: worst)
    monkeypatch.setattr(Posterior, "_best_sampled", lambda *_: [worst])
    assert value(fresh.map(2)) == max(map(value, pairs)) > value(worst)
    assert fresh.alternatives(2, size=2)[0].positions.tolist() == fresh.map(2).tolist()
