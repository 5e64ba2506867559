"""Columns that are always in, groups, prior odds, screening."""

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from estimator_problems import FRAME, LABELS, RNG, M, N, X, Y, classify, regress
from variegate.estimators.screened import JOINS
from variegate.tables import selection_table

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")


@pytest.mark.parametrize("given", [["age"], "age", [9], np.arange(M) == 9], ids=str)
@pytest.mark.parametrize("make", [regress, classify])
def test_always_include(given, make):
    y = Y if make is regress else LABELS
    model = make(always_include=given, n_features_to_select=2).fit(FRAME, y)
    assert model.support_[9]
    assert model.support_.sum() == 3
    assert model.inclusion_probabilities_[9] == 1
    assert model.inclusion_errors_[9] == 0
    assert model.posterior_.labels.tolist() == list("abcdefghi")
    assert abs(model.coef_.ravel()[9]) > 1
    np.testing.assert_array_equal(model.transform(FRAME), FRAME.loc[:, model.support_])


@pytest.mark.parametrize("n", [29, 40])
def test_always_included_columns_must_leave_something_to_explain(n):
    X, y = np.random.default_rng(0).normal(size=(30, 50)), np.arange(30.0)
    with pytest.raises(ValueError, match="always_include must name fewer columns than there are rows, 30"):
        regress(always_include=list(range(n))).fit(X, y)
    assert np.isfinite(
        regress(always_include=list(range(28)), n_features_to_select=1).fit(X, y).predict_interval(X)
    ).all()


def test_always_included_columns_are_covariates_of_the_engine():
    model = regress(always_include=[9], slab_precision=10.0, expected_size=2.0).fit(X, Y)
    likelihood = vg.Gaussian(X[:, :9], Y, covariates=X[:, 9:], slab_precision=10.0)
    S = np.array([0, 1])
    assert model.posterior_.target.log_evidence(S) == pytest.approx(likelihood.log_evidence(S), abs=1e-9)
    found = likelihood.coefficients(model.selection_.chosen)
    np.testing.assert_allclose(model.map_coef_[9], found.covariates[0])


@pytest.mark.parametrize("make", [regress, classify])
@pytest.mark.parametrize("kind", ["labels", "mapping"])
def test_groups_go_together(make, kind):
    levels = RNG.integers(0, 3, N)
    one_hot = np.eye(3)[levels]
    effect = np.array([-2.0, 0.0, 2.0])[levels]
    frame = pd.DataFrame(np.hstack([X[:, :5], one_hot]), columns=[*"abcde", "site=0", "site=1", "site=2"])
    y = effect + X[:, 0] + 0.3 * RNG.normal(size=N)
    labels = [None] * 5 + ["site"] * 3
    groups = labels if kind == "labels" else dict.fromkeys(frame.columns[5:], "site")
    model = make(groups=groups, n_features_to_select=2).fit(frame, y if make is regress else y > 0)
    assert model.support_.tolist() == [True, False, False, False, False, True, True, True]
    assert len(set(model.inclusion_probabilities_[5:])) == 1
    assert model.posterior_.labels.tolist()[-1] == "site"
    assert np.count_nonzero(model.map_coef_) == 3  # of the three sites one is what the others are compared with
    assert model.score(frame, y if make is regress else y > 0) > 0.7


LEVELS = np.repeat([0, 1, 2], [N // 2, N // 4, N - N // 2 - N // 4])
SITES = pd.DataFrame(np.hstack([X[:, :5], np.eye(3)[LEVELS]]), columns=[*"abcde", "site=0", "site=1", "site=2"])
BY_SITE = X[:, 0] + 2.0 * (LEVELS == 1) + 0.3 * np.random.default_rng(8).normal(size=N)
GROUPS = [None] * 5 + ["site"] * 3


@pytest.mark.parametrize("make", [regress, classify])
@pytest.mark.parametrize("always", [None, ["site"], ["site=0", "site=1", "site=2"]])
def test_the_commonest_of_a_category_is_its_reference(make, always):
    """All of them and an intercept would leave their coefficients open, with intervals of any width."""
    y = BY_SITE if make is regress else BY_SITE + np.random.default_rng(9).normal(size=N) > 1
    model = make(groups=GROUPS, always_include=always, n_features_to_select=2).fit(SITES, y)
    table = selection_table(model).set_index("feature").loc[["site=0", "site=1", "site=2"]]
    assert table["role"].tolist() == ["reference", *["candidate" if always is None else "always included"] * 2]
    assert table["inclusion_probability"].nunique() == 1
    assert table["selected"].all()
    assert table.loc["site=0", ["coefficient", "lower", "upper"]].tolist() == [0, 0, 0]
    assert table.loc["site=1", "lower"] > 0
    assert (table["upper"] - table["lower"]).max() < 5
    assert model.predict(SITES).shape == (N,)


def test_a_category_counts_as_the_columns_beside_its_reference():
    model = regress(groups=GROUPS, slab_precision=10.0, expected_size=2.0).fit(SITES, BY_SITE)
    fewer = SITES.drop(columns="site=0")
    plain = regress(groups=GROUPS[:-1], slab_precision=10.0, expected_size=2.0).fit(fewer, BY_SITE)
    S = np.array([0, 5])
    assert model.posterior_.target.log_evidence(S) == plain.posterior_.target.log_evidence(S)
    incomplete = regress(groups=GROUPS[:-1], expected_size=2.0).fit(fewer, BY_SITE)
    assert not len(incomplete.selection_.candidates.references)


def test_a_category_is_meant_by_its_name():
    model = regress(groups=GROUPS, prior_log_odds={"site": 1.0}, expected_size=2.0).fit(SITES, BY_SITE)
    assert model.posterior_.labels.tolist() == [*"abcde", "site"]
    assert model.posterior_.condition(exclude="site").inclusion_prob()[-1] == 0
    assert model.as_support(["site"]).tolist() == [False] * 5 + [True] * 3
    listed = regress(groups=GROUPS, prior_log_odds=[0] * 5 + [1] * 3, expected_size=2.0).fit(SITES, BY_SITE)
    np.testing.assert_array_equal(model.inclusion_probabilities_, listed.inclusion_probabilities_)
    with pytest.raises(ValueError, match=r"no feature called 'sit'.* did you mean 'site"):
        regress(groups=GROUPS, always_include="sit").fit(SITES, BY_SITE)
    with pytest.raises(ValueError, match="A group has columns both inside and outside of always_include"):
        regress(groups=GROUPS, always_include="site=1").fit(SITES, BY_SITE)


def test_a_category_that_was_screened_out_joins():
    frame = SITES.assign(a=BY_SITE + 0.1 * X[:, 7])
    model = regress(groups=GROUPS, screen=1, expected_size=1.0).fit(frame, BY_SITE + (LEVELS == 1))
    assert model.posterior_.labels.tolist()[-1] == "site"
    assert model.selection_.certificate.passes < 10


def test_groups_of_one_change_nothing():
    plain, grouped = regress().fit(X, Y), regress(groups=list(range(M))).fit(X, Y)
    np.testing.assert_array_equal(plain.inclusion_probabilities_, grouped.inclusion_probabilities_)


def test_prior_log_odds():
    plain = classify(expected_size=3.0).fit(FRAME, LABELS).inclusion_probabilities_
    tilted = classify(expected_size=3.0, prior_log_odds={"c": 3.0}).fit(FRAME, LABELS).inclusion_probabilities_
    assert tilted[2] > plain[2] + 0.1
    listed = classify(expected_size=3.0, prior_log_odds=np.eye(M)[2] * 3).fit(FRAME, LABELS).inclusion_probabilities_
    np.testing.assert_array_equal(tilted, listed)


@pytest.mark.parametrize("odds", [40.0, 500.0, -40.0, -500.0])
@pytest.mark.parametrize("options", [{}, {"screen": 4}])
def test_log_odds_as_good_as_infinite(odds, options):
    found = regress(prior_log_odds={"e": odds}, **options).fit(FRAME, Y).inclusion_probabilities_
    limit = regress(prior_log_odds={"e": np.sign(odds) * 30.0}, **options).fit(FRAME, Y).inclusion_probabilities_
    np.testing.assert_allclose(found, limit, atol=1e-9)
    assert found[4] == pytest.approx(float(odds > 0), abs=1e-9)


def test_log_odds_at_both_ends():
    odds = [-500.0] * 5 + [500.0, 300.0, *[0.0] * (M - 7)]
    found = regress(prior_log_odds=odds, expected_size=3.0).fit(X, Y).inclusion_probabilities_
    np.testing.assert_allclose(found[:7], [0.0] * 5 + [1.0] * 2, atol=1e-9)


def test_more_diversity_makes_sets_more_diverse():
    copies = np.repeat(np.random.default_rng(0).normal(size=(80, 4)), 3, axis=1)
    copies += 0.5 * np.random.default_rng(1).normal(size=copies.shape)
    y = copies[:, :4].sum(axis=1) + copies[:, 6] + np.random.default_rng(2).normal(size=80)
    phi = vg.similarity.from_columns(copies)
    spread = [
        np.mean([vg.metrics.log_det(phi, S) for S in regress(diversity=d, fixed_size=True, n_features_to_select=4)
                 .fit(copies, y).posterior_.sets])
        for d in (0, 1, 8)
    ]  # fmt: skip
    assert spread[0] < spread[1] < spread[2]


WIDE = np.random.default_rng(5).normal(size=(120, 30))
STRONG = WIDE[:, 3] - WIDE[:, 8] + 0.3 * WIDE[:, 20] + 0.3 * np.random.default_rng(6).normal(size=120)


@pytest.mark.parametrize("make", [regress, classify])
def test_screening_keeps_the_strongest_and_says_zero_for_the_rest(make):
    y = STRONG if make is regress else np.where(STRONG > 0, "ill", "well")
    model = make(screen=4, expected_size=1e-3).fit(WIDE, y)
    kept, certificate = model.selection_.candidates.columns, model.selection_.certificate
    assert {3, 8} <= set(kept)
    assert (model.inclusion_probabilities_ > 0).sum() == len(kept) == 30 - certificate.left_out < 30
    assert 0 < certificate.largest <= JOINS
    assert model.predict(WIDE).shape == (120,)


@pytest.mark.parametrize("make", [regress, classify])
def test_columns_that_matter_join_those_of_the_screening(make):
    y = STRONG if make is regress else np.where(STRONG > 0, "ill", "well")
    model, whole = make(screen=1, expected_size=0.2).fit(WIDE, y), make(expected_size=0.2).fit(WIDE, y)
    certificate = model.selection_.certificate
    assert certificate.joined == len(model.posterior_.labels) - 1 == 29 - certificate.left_out
    error = np.hypot(model.inclusion_errors_, whole.inclusion_errors_)
    assert (np.abs(model.inclusion_probabilities_ - whole.inclusion_probabilities_) <= 4 * error + 2 * JOINS).all()


def test_screening_begins_with_more_columns_than_are_asked_for():
    model = regress(screen=1, n_features_to_select=3).fit(WIDE, STRONG)
    assert np.flatnonzero(model.support_).tolist() == [3, 8, 20]
