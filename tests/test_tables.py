"""The tables of a fitted model, against enumeration and against plain Monte Carlo."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import logsumexp

import variegate as vg
from chain_problems import Enumerated, model_of
from oracle import all_sets
from variegate.predictions import Component
from variegate.selection import Outcome
from variegate.tables import (
    Terms,
    alternatives_table,
    averaged_law,
    coefficient_laws,
    coefficient_terms,
    quantile,
    selection_table,
)

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
QUICK = {"max_iter": 8, "random_state": 0}
RNG = np.random.default_rng(3)
X = pd.DataFrame(RNG.normal(size=(60, 6)) * [1, 2, 3, 4, 5, 6] + 2, columns=[f"g{i}" for i in range(6)])
X["g1"] = 2 * X["g0"] + 0.3 * RNG.normal(size=60)
Y = X["g0"] - 0.2 * X["g3"] + RNG.normal(size=60)


def all_components(model, prob=None):
    """Every set as a component, with its probability under the posterior."""
    sets = [np.array(S, dtype=np.int64) for S in all_sets(model.posterior_.n_features)]
    log_joint = np.array([model.posterior_.target.log_joint(S) for S in sets])
    prob = np.exp(log_joint - logsumexp(log_joint)) if prob is None else prob
    return [Component(S, p, model.posterior_.target.outcomes[0]) for S, p in zip(sets, prob, strict=True)]


@pytest.mark.parametrize("classes", [False, True])
def test_the_averaged_law_is_the_mixture_over_all_sets(classes):
    """All 2^M sets with their probabilities: mean and quantiles against draws of set, then coefficient."""
    estimator = vg.DiverseClassifier if classes else vg.DiverseRegressor
    model = estimator(**QUICK).fit(X, Y.mean() < Y if classes else Y)
    components = all_components(model)
    assert sum(c.weight for c in components) == pytest.approx(1)
    dof = np.inf if classes else 2 * (1 + 0.5 * (60 - 1))
    terms, found_dof = coefficient_terms(model.selection_, Outcome(components))
    assert found_dof == dof
    law = averaged_law(terms, 6, dof, 0.9)
    draws = drawn_coefficients(components, dof)
    spread = draws.std(axis=0)
    np.testing.assert_allclose(law.mean, draws.mean(axis=0), atol=5 * spread.max() / np.sqrt(len(draws)))
    # what the interval leaves out on either side, atoms counted as inside
    assert ((draws < law.lower).mean(axis=0) <= 0.05 + 0.003).all()
    assert ((draws <= law.lower).mean(axis=0) >= 0.05 - 0.003).all()
    assert ((draws < law.upper).mean(axis=0) <= 0.95 + 0.003).all()
    assert ((draws <= law.upper).mean(axis=0) >= 0.95 - 0.003).all()


def drawn_coefficients(components, dof, n=100_000):
    rng = np.random.default_rng(1)
    out = np.zeros((n, 6))
    start = 0
    prob = np.array([c.weight for c in components])
    for (S, _, likelihood), count in zip(components, rng.multinomial(n, prob / prob.sum()), strict=True):
        found = likelihood.coefficients(S)
        scale = np.sqrt(np.diag(found.covariance) * (1 if np.isinf(dof) else (dof - 2) / dof))
        z = rng.standard_normal((count, len(S))) if np.isinf(dof) else rng.standard_t(dof, (count, len(S)))
        out[start : start + count, S] = found.mean + scale * z
        start += count
    return out


def test_the_law_of_a_chain_is_the_mixture_over_its_components():
    """Each with a slab precision of its own."""
    model = vg.DiverseRegressor(**QUICK).fit(X, Y)
    (components,) = model.posterior_.components
    assert len({c.likelihood.slab_precision for c in components}) > 2
    (law,) = coefficient_laws(model, 0.9).values()
    draws = drawn_coefficients(components, 61.0)
    np.testing.assert_allclose(law.mean, draws.mean(axis=0), atol=5 * draws.std(axis=0).max() / np.sqrt(len(draws)))
    assert ((draws < law.lower).mean(axis=0) <= 0.05 + 0.003).all()
    assert ((draws <= law.upper).mean(axis=0) >= 0.95 - 0.003).all()


def test_the_sampled_sets_come_close_to_all_sets():
    given = {"expected_size": 2.0, "slab_precision": 5.0}
    model = vg.DiverseRegressor(**QUICK, **given).fit(X, Y)
    prob = Enumerated(model_of(model.posterior_.target)).probability
    terms, dof = coefficient_terms(model.selection_, Outcome(all_components(model, prob)))
    exact = averaged_law(terms, 6, dof, 0.95)
    (law,) = coefficient_laws(model).values()
    width = (exact.upper - exact.lower).max()
    np.testing.assert_allclose(law.mean, exact.mean, atol=0.15 * width)
    np.testing.assert_allclose(law.lower, exact.lower, atol=0.25 * width)
    np.testing.assert_allclose(law.upper, exact.upper, atol=0.25 * width)


def test_quantiles_of_one_component_and_of_atoms():
    alone = Terms(np.ones(1), np.array([2.0]), np.array([0.5]))
    assert quantile(alone, 7.0, 0.975) == pytest.approx(stats.t(7, 2.0, 0.5).ppf(0.975))
    assert quantile(alone, np.inf, 0.025) == pytest.approx(stats.norm(2.0, 0.5).ppf(0.025))
    half = Terms(np.array([0.5]), np.array([9.0]), np.array([1.0]))
    assert quantile(half, np.inf, 0.025) == 0.0
    assert quantile(half, np.inf, 0.75) == pytest.approx(9.0)
    rare = Terms(np.array([0.01]), np.array([9.0]), np.array([1.0]))
    assert (quantile(rare, np.inf, 0.025), quantile(rare, np.inf, 0.975)) == (0.0, 0.0)
    constant = Terms(np.array([0.7]), np.zeros(1), np.zeros(1))
    assert quantile(constant, np.inf, 0.9) == 0.0
    unknown = Terms(np.array([0.7]), np.zeros(1), np.array([np.inf]))
    assert (quantile(unknown, 2.0, 0.025), quantile(unknown, 2.0, 0.975)) == (-np.inf, np.inf)


def test_selection_table_tells_what_the_model_tells():
    model = vg.DiverseRegressor(always_include=["g5"], screen=1, expected_size=1e-4, **QUICK).fit(X, Y)
    table = selection_table(model)
    assert list(table) == [
        "feature", "inclusion_probability", "error", "coefficient", "lower", "upper", "selected", "role", "rank",
    ]  # fmt: skip
    by_name = table.set_index("feature").loc[list(X)]
    np.testing.assert_array_equal(by_name["inclusion_probability"], model.inclusion_probabilities_)
    np.testing.assert_array_equal(by_name["error"], model.inclusion_errors_)
    assert by_name.loc["g5", "error"] == 0
    np.testing.assert_allclose(by_name["coefficient"], model.coef_, atol=1e-12)
    np.testing.assert_array_equal(by_name["selected"], model.support_)
    assert table["rank"].tolist() == [1, 2, 3, 4, 5, 6]
    assert table["inclusion_probability"].is_monotonic_decreasing
    assert by_name.loc["g5", "role"] == "always included"
    assert set(by_name["role"]) == {"always included", "candidate", "screened out"}
    chosen = table[table["selected"]]  # a mean over sets may leave the interval of a rare feature, [0, 0]
    assert chosen["coefficient"].between(chosen["lower"], chosen["upper"]).all()


def test_the_interval_of_an_included_column_is_that_of_least_squares():
    """With a flat slab and one set, intervals are those of the textbook, but for the weak prior of the noise."""
    model = vg.DiverseRegressor(
        always_include=["g5", "g4"], n_features_to_select=2, average=False, slab_precision=1e-9, **QUICK
    ).fit(X, Y)
    chosen = np.flatnonzero(model.support_)
    A = np.column_stack([np.ones(60), X.to_numpy()[:, chosen]])
    inverse, fitted = np.linalg.inv(A.T @ A), np.linalg.lstsq(A, Y, rcond=None)[0]
    # a_n and b_n of the model, from its own documentation
    a = 1 + 0.5 * (60 - 3)
    b = model.posterior_.target.outcomes[0].noise_rate + 0.5 * np.square(Y - A @ fitted).sum()
    scale = np.sqrt(np.diag(inverse) * b / a)[1:]
    expected = fitted[1:] + stats.t.ppf(0.975, 2 * a) * scale
    (law,) = coefficient_laws(model).values()
    np.testing.assert_allclose(law.upper[chosen], expected, rtol=1e-6)


def test_intervals_of_included_columns_in_classification_shrink_with_data():
    """EP's standard deviation of an always included coefficient, against the inverse information at the mode."""
    rng = np.random.default_rng(0)
    C = rng.normal(size=(2000, 3))
    y = rng.random(2000) < 1 / (1 + np.exp(-0.8 * C[:, 0]))
    model = vg.DiverseClassifier(always_include=[0], average=False, n_features_to_select=1, **QUICK).fit(C, y)
    (law,) = coefficient_laws(model).values()
    chosen = np.flatnonzero(model.support_)
    Z = np.column_stack([np.ones(2000), C[:, chosen]])
    p = 1 / (1 + np.exp(-(C @ model.coef_[0] + model.intercept_[0])))
    information = (Z.T * (p * (1 - p))) @ Z
    sd = np.sqrt(np.linalg.inv(information)[1, 1])
    assert law.upper[0] - law.lower[0] == pytest.approx(2 * 1.96 * sd, rel=0.02)


def test_more_than_two_classes_have_columns_of_their_own():
    y = np.array(["low", "middle", "high"])[np.digitize(Y, np.quantile(Y, [0.3, 0.7]))]
    model = vg.DiverseClassifier(**QUICK).fit(X, y)
    table = selection_table(model).set_index("feature").loc[list(X)]
    for k, label in enumerate(["high", "low", "middle"]):
        np.testing.assert_allclose(table[f"coefficient[{label}]"], model.coef_[k], atol=1e-12)
        assert (table[f"lower[{label}]"] <= table[f"upper[{label}]"]).all()


def test_groups_share_their_probability():
    model = vg.DiverseRegressor(groups=["a", "a", None, None, "b", "b"], **QUICK).fit(X, Y)
    table = selection_table(model).set_index("feature")
    assert table.loc["g0", "inclusion_probability"] == table.loc["g1", "inclusion_probability"]
    np.testing.assert_allclose(table.loc[list(X), "coefficient"], model.coef_, atol=1e-12)


def test_alternatives_say_what_differs_from_the_selected_set():
    model = vg.DiverseRegressor(n_features_to_select=2, **QUICK).fit(X, Y)
    table = alternatives_table(model, 3)
    selected = set(X.columns[model.support_])
    assert table["rank"].tolist() == [1, 2, 3]
    for row in table.itertuples():
        assert row.size == len(row.features) == 2
        assert set(row.added) == set(row.features) - selected
        assert set(row.removed) == selected - set(row.features)
        pairs = [*row.within, *row.between]
        assert {gone for gone, _ in pairs} == set(row.removed)  # sets of one size: every change is an exchange
        assert {come for _, come in pairs} == set(row.added)
        assert row.log_evidence == pytest.approx(model.posterior_.target.log_evidence(positions(row)))
        assert row.odds == pytest.approx(np.exp(row.log_joint - table["log_joint"][0]))
    assert table["log_joint"].is_monotonic_decreasing


def positions(row):
    return np.array([int(name[1:]) for name in row.features])


def test_tables_of_a_model_that_was_saved(tmp_path):
    model = vg.DiverseRegressor(always_include=["g2"], **QUICK).fit(X, Y)
    vg.save(model, tmp_path / "model.vg")
    again = vg.load(tmp_path / "model.vg")
    pd.testing.assert_frame_equal(selection_table(again), selection_table(model))
    pd.testing.assert_frame_equal(alternatives_table(again, 3), alternatives_table(model, 3))


def test_bad_level():
    model = vg.DiverseRegressor(**QUICK).fit(X, Y)
    with pytest.raises(ValueError, match="between 0 and 1"):
        selection_table(model, level=95)
