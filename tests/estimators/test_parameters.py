"""Every parameter does what its description says."""

import io
import sys

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from chain_problems import Enumerated, model_of
from variegate.estimators import EmptySelectionWarning
from variegate.estimators.progress import ProgressLine
from variegate.estimators.screened import JOINS
from variegate.inference import Progress
from variegate.tables import selection_table

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
QUICK = {"max_iter": 6, "random_state": 0}
Q = {"solver": "rao_blackwell", "n_starts": 1}
RNG = np.random.default_rng(11)
N, M = 80, 10
X = RNG.normal(size=(N, M))
X[:, 7] = X[:, 0] + 0.1 * RNG.normal(size=N)
AGE = X[:, 9]
Y = 2 * X[:, 0] + X[:, 1] + 3 * AGE + 0.5 * RNG.normal(size=N)
LABELS = np.where(Y > 0, "ill", "well")
FRAME = pd.DataFrame(X, columns=[*"abcdefghi", "age"])


def regress(**options):
    return vg.DiverseRegressor(**{**QUICK, **options})


def classify(**options):
    return vg.DiverseClassifier(**{**QUICK, **options})


# --- sizes ---------------------------------------------------------------------------------------------------------


solvers = pytest.mark.parametrize("solver", [{}, Q], ids=["chain", "variational"])


@solvers
@pytest.mark.parametrize(("asked", "size"), [(1, 1), (3, 3), (M, M), (0.3, 3), (0.01, 1), (1.0, M), (np.int64(2), 2)])
@pytest.mark.parametrize("fixed", [False, True])
def test_number_of_features(asked, size, fixed, solver):
    model = regress(n_features_to_select=asked, fixed_size=fixed, **solver).fit(X, Y)
    assert model.support_.sum() == size
    if fixed:
        assert model.inclusion_probabilities_.sum() == pytest.approx(size)
        assert all(len(S) == size for S in model.posterior_.sample(5, 0))


@solvers
def test_the_path_reuses_the_fit(solver):
    model = regress(**solver).fit(X, Y)
    path = model.path([1, 3, 5])
    assert {k: int(mask.sum()) for k, mask in path.items()} == {1: 1, 3: 3, 5: 5}
    np.testing.assert_array_equal(path[3], regress(n_features_to_select=3, **solver).fit(X, Y).support_)
    assert path[1][9]  # the strongest
    assert path[3][1]


@solvers
def test_expected_size_moves_the_posterior(solver):
    few, many = (regress(expected_size=k, prior="bernoulli", **solver).fit(X, Y) for k in (0.1, 5))
    assert few.posterior_.diagnostics().prior_expected_size == pytest.approx(0.1)
    assert few.inclusion_probabilities_.sum() < many.inclusion_probabilities_.sum() - 0.3


@solvers
def test_slab_precision_is_learned_or_given(solver):
    assert regress(slab_precision=7.0, **solver).fit(X, Y).posterior_.diagnostics().slab_precision == 7.0
    assert regress(**solver).fit(X, Y).posterior_.diagnostics().slab_precision != 10.0


def test_the_chain_averages_over_what_is_not_given():
    def averaged(**options):
        return regress(**options).fit(X, Y).posterior_.fit.hyperparameters.probability.shape

    sizes, precisions = averaged()
    assert sizes > 5
    assert precisions > 5
    assert averaged(slab_precision=7.0) == (sizes, 1)
    assert averaged(expected_size=2.0)[0] == 1
    assert averaged(expected_size=2.0, slab_precision=7.0) == (1, 1)
    assert averaged(n_features_to_select=3, fixed_size=True)[0] == 1


def test_probabilities_of_the_chain_are_those_of_the_posterior():
    """Hyperparameters averaged over; and given ones, which are easier to check by hand."""
    for options, average in (({}, True), ({"expected_size": 2.0, "slab_precision": 7.0}, False)):
        model = regress(max_iter=300, tol=0.01, **options).fit(X[:, :8], Y)
        exact = Enumerated(model_of(model.posterior_.target, average_size=average, average_slab=average))
        off = np.abs(model.inclusion_probabilities_ - exact.inclusion)
        assert (off <= 4 * model.inclusion_errors_ + 1e-4).all()
        assert model.converged_
        assert model.inclusion_errors_.max() <= 0.01


def test_tol_is_the_error_that_is_asked_for(chains):
    rough, fine = (regress(tol=tol, max_iter=300).fit(X[:, :8], Y) for tol in (0.05, 0.005))
    assert rough.inclusion_errors_.max() <= 0.05
    assert fine.inclusion_errors_.max() <= 0.005
    assert fine.n_iter_ > rough.n_iter_
    assert fine.posterior_.diagnostics().tol == 0.005


@pytest.mark.filterwarnings("default::variegate.ConvergenceWarning")
def test_max_iter_is_the_number_of_laps_and_stopping_there_is_said(chains):
    with pytest.warns(vg.ConvergenceWarning, match="After 9 laps .* above 0.0001: allow more laps"):
        model = regress(max_iter=9, tol=1e-4).fit(X, Y)
    assert model.n_iter_ == 9
    assert not model.converged_


@pytest.mark.parametrize("solver", ["rao_blackwell", "fixed_form"])
def test_the_variational_solvers_have_an_elbo_and_no_errors(solver):
    model = regress(solver=solver, n_starts=1, max_iter=20).fit(X, Y)
    assert model.elbo_ == model.posterior_.diagnostics().bound.elbo
    assert len(model.elbo_trace_) == model.n_iter_
    assert np.isnan(model.inclusion_errors_).all()
    model.set_params(solver="chain").fit(X, Y)
    assert not hasattr(model, "elbo_")
    assert not hasattr(model, "elbo_trace_")
    assert np.isfinite(model.inclusion_errors_).all()


@solvers
@pytest.mark.parametrize("prior", ["dpp", "bernoulli"])
@pytest.mark.parametrize("posterior", ["dpp", "bernoulli"])
def test_four_pairs(prior, posterior, solver):
    model = regress(prior=prior, posterior=posterior, **solver).fit(X, Y)
    assert model.support_[[1, 9]].all()
    assert model.support_[[0, 7]].sum() == 1
    assert isinstance(model.posterior_.q, vg.LowRankDPP) == (posterior == "dpp")


# --- empty sets ----------------------------------------------------------------------------------------------------


def test_an_empty_set_is_said_and_predictions_go_on():
    noise = np.random.default_rng(1).normal(size=(N, M))
    y = np.random.default_rng(2).normal(size=N)
    with pytest.warns(EmptySelectionWarning, match="best set is empty.*give n_features_to_select"):
        model = regress(expected_size=0.2, slab_precision=10.0).fit(noise, y)
    assert not model.support_.any()
    assert np.isfinite(model.predict(noise)).all()
    assert model.set_params(average=False).predict(noise).std() > 0
    with pytest.warns(UserWarning, match="[Nn]o features were selected"):
        assert model.transform(noise).shape == (N, 0)
    assert model.path([2])[2].sum() == 2


# --- columns that are always in, groups, prior odds, screening -------------------------------------------------------


@pytest.mark.parametrize("given", [["age"], "age", [9], np.arange(M) == 9], ids=str)
@solvers
@pytest.mark.parametrize("make", [regress, classify])
def test_always_include(given, make, solver):
    y = Y if make is regress else LABELS
    model = make(always_include=given, n_features_to_select=2, **solver).fit(FRAME, y)
    assert model.support_[9]
    assert model.support_.sum() == 3
    assert model.inclusion_probabilities_[9] == 1
    assert model.inclusion_errors_[9] == 0
    assert model.posterior_.names.tolist() == list("abcdefghi")
    assert abs(model.coef_.ravel()[9]) > 1
    np.testing.assert_array_equal(model.transform(FRAME), FRAME.loc[:, model.support_])


def test_always_included_columns_are_covariates_of_the_engine():
    model = regress(always_include=[9], slab_precision=10.0, expected_size=2.0).fit(X, Y)
    likelihood = vg.Gaussian(X[:, :9], Y, covariates=X[:, 9:], slab_precision=10.0)
    S = np.array([0, 1])
    assert model.posterior_.target.log_evidence(S) == pytest.approx(likelihood.log_evidence(S), abs=1e-9)
    found = likelihood.coefficients(model.selection_.chosen)
    np.testing.assert_allclose(model.map_coef_[9], found.covariates[0])


@solvers
@pytest.mark.parametrize("make", [regress, classify])
@pytest.mark.parametrize("kind", ["labels", "mapping"])
def test_groups_go_together(make, kind, solver):
    levels = RNG.integers(0, 3, N)
    one_hot = np.eye(3)[levels]
    effect = np.array([-2.0, 0.0, 2.0])[levels]
    frame = pd.DataFrame(np.hstack([X[:, :5], one_hot]), columns=[*"abcde", "site=0", "site=1", "site=2"])
    y = effect + X[:, 0] + 0.3 * RNG.normal(size=N)
    labels = [None] * 5 + ["site"] * 3
    groups = labels if kind == "labels" else dict.fromkeys(frame.columns[5:], "site")
    model = make(groups=groups, n_features_to_select=2, **solver).fit(frame, y if make is regress else y > 0)
    assert model.support_.tolist() == [True, False, False, False, False, True, True, True]
    assert len(set(model.inclusion_probabilities_[5:])) == 1
    assert model.posterior_.names.tolist()[-1] == "site"
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
    assert model.posterior_.names.tolist() == [*"abcde", "site"]
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
    assert model.posterior_.names.tolist()[-1] == "site"
    assert model.selection_.certificate.passes < 10


@solvers
def test_groups_of_one_change_nothing(solver):
    plain, grouped = regress(**solver).fit(X, Y), regress(groups=list(range(M)), **solver).fit(X, Y)
    np.testing.assert_array_equal(plain.inclusion_probabilities_, grouped.inclusion_probabilities_)


def test_prior_log_odds():
    plain = classify(expected_size=3.0).fit(FRAME, LABELS).inclusion_probabilities_
    tilted = classify(expected_size=3.0, prior_log_odds={"c": 3.0}).fit(FRAME, LABELS).inclusion_probabilities_
    assert tilted[2] > plain[2] + 0.1
    listed = classify(expected_size=3.0, prior_log_odds=np.eye(M)[2] * 3).fit(FRAME, LABELS).inclusion_probabilities_
    np.testing.assert_array_equal(tilted, listed)


@pytest.mark.parametrize(("make", "y"), [(regress, Y), (classify, LABELS)])
def test_diversity_zero_is_bernoulli(make, y):
    found = make(diversity=0, max_iter=3).fit(FRAME, y)
    np.testing.assert_array_equal(
        found.inclusion_probabilities_, make(prior="bernoulli", max_iter=3).fit(FRAME, y).inclusion_probabilities_
    )
    assert found.posterior_.target.diversity == 0


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
    assert certificate.joined == len(model.posterior_.names) - 1 == 29 - certificate.left_out
    error = np.hypot(model.inclusion_errors_, whole.inclusion_errors_)
    assert (np.abs(model.inclusion_probabilities_ - whole.inclusion_probabilities_) <= 4 * error + 2 * JOINS).all()


def test_screening_begins_with_more_columns_than_are_asked_for():
    model = regress(screen=1, n_features_to_select=3).fit(WIDE, STRONG)
    assert np.flatnonzero(model.support_).tolist() == [3, 8, 20]


# --- similarity ------------------------------------------------------------------------------------------------------


def test_similarity_by_position_and_by_name():
    phi = vg.similarity.from_columns(FRAME)
    plain = regress(similarity=np.asarray(phi)).fit(X, Y)
    order = RNG.permutation(M)
    shuffled = vg.similarity.SimilarityFeatures(np.asarray(phi)[order], FRAME.columns[order])
    named = regress(similarity=shuffled).fit(FRAME, Y)
    np.testing.assert_array_equal(plain.inclusion_probabilities_, named.inclusion_probabilities_)
    frame = pd.DataFrame(np.asarray(phi)[order], index=FRAME.columns[order])
    np.testing.assert_array_equal(
        plain.inclusion_probabilities_, regress(similarity=frame).fit(FRAME, Y).inclusion_probabilities_
    )


def test_similarity_of_more_columns_than_the_table_has():
    phi = vg.similarity.from_columns(FRAME)
    part = FRAME[["age", "b", "a"]]
    assert regress(similarity=phi).fit(part, Y).posterior_.target.phi == pytest.approx(np.asarray(phi)[[9, 1, 0]])


def test_a_function_of_the_training_columns():
    seen = []

    def similarity(Z):
        seen.append(Z.shape)
        return vg.similarity.from_columns(Z)

    regress(similarity=similarity, always_include=[9]).fit(X, Y)
    assert seen == [(N, 9)]


def test_multi_class_shares_one_set():
    y = np.digitize(Y, np.quantile(Y, [1 / 3, 2 / 3]))
    model = classify(n_features_to_select=3).fit(X, y)
    assert model.coef_.shape == model.map_coef_.shape == (3, M)
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    assert model.support_[9]
    assert model.score(X, y) > 0.6
    S = np.array([0, 9])
    parts = [
        vg.Logistic(X, y == k, slab_precision=model.posterior_.target.likelihood.slab_precision) for k in range(3)
    ]
    assert model.posterior_.target.log_evidence(S) == pytest.approx(sum(p.log_evidence(S) for p in parts), abs=1e-4)


# --- chance, threads, progress ---------------------------------------------------------------------------------------


@solvers
def test_random_state_decides(solver):
    y = np.digitize(Y, np.quantile(Y, [1 / 3, 2 / 3]))
    first = classify(n_jobs=1, **solver).fit(X, y).inclusion_probabilities_
    np.testing.assert_array_equal(first, classify(n_jobs=2, **solver).fit(X, y).inclusion_probabilities_)
    assert (first != classify(random_state=1, **solver).fit(X, y).inclusion_probabilities_).any()
    for state in (np.random.RandomState, np.random.default_rng):
        one, two = (classify(random_state=state(3), **solver).fit(X, LABELS) for _ in range(2))
        np.testing.assert_array_equal(one.inclusion_probabilities_, two.inclusion_probabilities_)


def test_silent_unless_asked(capsys, chains):
    regress().fit(X, Y)
    assert capsys.readouterr() == ("", "")
    regress(verbose=1, max_iter=8).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "8 laps, probabilities known to ±0." in err
    assert "features" in err
    regress(verbose=1, **Q).fit(X, Y)
    out, err = capsys.readouterr()
    assert out == ""
    assert "ELBO" in err
    assert "features" in err


def test_a_terminal_line_is_redrawn(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream = Terminal()
    monkeypatch.setattr("variegate.estimators.progress.EVERY", 0.0)
    with ProgressLine(stream) as show:
        show(Progress("fixed point", 1, -10.0, 3.0))
        show(Progress("fixed point", 2, -9.0, 3.5))
    assert stream.getvalue().count("\r") == 3
    assert stream.getvalue().endswith("iteration 2, ELBO -9.00, 3.5 features, 0 s\n")
    with ProgressLine(stream) as show:
        show(Progress("chain", 9, np.nan, 3.5, error=0.0421))
    assert stream.getvalue().endswith("variegate: 9 laps, probabilities known to ±0.042, 3.5 features, 0 s\n")
    assert ProgressLine().stream is sys.stderr


def test_a_terminal_line_never_wraps(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", "40")
    stream = Terminal()
    with ProgressLine(stream) as show:
        show(Progress("natural gradient", 12, -12345.67, 123.4))
    assert stream.getvalue() == "\r\x1b[Kvariegate: natural gradient, iteration 12\n"[:43] + "\n"


# --- refused ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "uniform"}, 'prior must be "dpp" or "bernoulli", got \'uniform\''),
        ({"posterior": None}, "posterior must be"),
        ({"slab_precision": 0.0}, "slab_precision must be 'auto' or a number above zero, got 0.0"),
        ({"slab_precision": True}, "slab_precision must be"),
        ({"expected_size": -1}, "expected_size must be None or a number above zero"),
        ({"expected_size": 10}, "expected_size must be below 10"),
        ({"fixed_size": True}, "give n_features_to_select"),
        ({"n_features_to_select": 0}, "between 1 and the 10 candidates, got 0"),
        ({"n_features_to_select": 11}, "between 1 and the 10 candidates, got 11"),
        ({"n_features_to_select": 1.5}, "a share above 0 and at most 1, got 1.5"),
        ({"n_features_to_select": "all"}, "must be a whole number"),
        ({"n_features_to_select": True}, "must be a whole number"),
        ({"diversity": -1.0}, "diversity must be a number from 0 to 1000, got -1.0"),
        ({"diversity": np.nan}, "diversity must be a number from 0 to 1000"),
        ({"diversity": "more"}, "diversity must be a number from 0 to 1000"),
        ({"diversity": 2.0, "prior": "bernoulli"}, 'prior="bernoulli" is a diversity of 0, got diversity=2.0'),
        ({"screen": 0}, "screen must be a number of columns to begin with"),
        ({"always_include": ["height"]}, "no feature called 'height' among the 10 columns"),
        ({"always_include": [10]}, "positions from 0 to 9"),
        ({"always_include": list(range(10))}, "nothing is left to choose from"),
        ({"groups": ["a"] * 3}, "groups must have one entry for each of the 10 columns of X, got 3"),
        ({"groups": {"height": 1}}, "no feature called 'height'"),
        ({"groups": ["g"] * 10, "always_include": [1]}, "both inside and outside of always_include"),
        ({"prior_log_odds": [1.0]}, "prior_log_odds must have one entry"),
        ({"prior_log_odds": {"a": np.inf}}, "prior_log_odds must be finite"),
        ({"similarity": "network"}, 'similarity must be "columns", an array'),
        ({"similarity": np.eye(4)}, "a row for each of the 10 columns of X, got 4 rows"),
        ({"similarity": np.ones(10)}, "shape \\(10,\\)"),
        ({"similarity": {"a": 1}}, "got dict"),
        ({"similarity": lambda Z: np.eye(3)}, "a row for each of the 10 columns that it is given, got 3"),
        (
            {"similarity": vg.similarity.SimilarityFeatures(np.eye(2), ["a", "b"])},
            "no row for 8 of 10 columns, e.g. 'c'",
        ),
        ({"solver": "magic"}, "solver must be"),
        ({"n_starts": 0}, "n_starts must be at least 1"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        regress(**options).fit(FRAME, Y)


def test_names_without_a_frame():
    with pytest.raises(ValueError, match="the columns have no names"):
        regress(always_include=["age"]).fit(X, Y)
