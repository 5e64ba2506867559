"""What an estimator's posterior takes and returns are columns of X, whichever of them could be chosen."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import variegate as vg

pytestmark = pytest.mark.filterwarnings("ignore:Constant columns")

CONSTANT, AGE, SITE, NOISE = 0, 2, [3, 4, 5], 7  # age is always included; a column of the site is its reference level
NAMES = ["constant", "dose", "age", "site=a", "site=b", "site=c", "weight", "noise"]


@cache
def model_of(screen=None, names=True):
    rng = np.random.default_rng(0)
    level = rng.integers(0, 3, 90)
    X = np.column_stack([np.ones(90), rng.normal(size=(90, 2)), np.eye(3)[level], rng.normal(size=(90, 2))])
    y = X[:, 1] + 2 * X[:, 2] + 1.5 * (level == 1) + 0.4 * X[:, 6] + rng.normal(size=90)
    groups = [None, None, None, "site", "site", "site", None, None]
    options = {"always_include": [AGE], "groups": groups, "screen": screen, "random_state": 0}
    return vg.DiverseRegressor(**options).fit(pd.DataFrame(X, columns=NAMES) if names else X, y), X


def test_results():
    model, X = model_of()
    posterior = model.posterior_
    np.testing.assert_array_equal(posterior.inclusion_prob(), model.inclusion_probabilities_)
    np.testing.assert_array_equal(posterior.inclusion_errors(), model.inclusion_errors_)
    assert posterior.map().tolist() == np.flatnonzero(model.support_).tolist() == [1, AGE, *SITE, 6]
    for S in [*posterior.sets, *posterior.sample(20, 0)]:
        assert AGE in S
        assert CONSTANT not in S
        assert np.isin(SITE, S).sum() in (0, 3)
    shares = posterior.weights @ [np.isin(np.arange(8), S) for S in posterior.sets]
    np.testing.assert_allclose(shares, posterior.inclusion_prob(), atol=0.1)
    assert posterior.included.tolist() == [AGE]
    assert posterior.excluded.tolist() == [CONSTANT]
    np.testing.assert_allclose(posterior.predict(X).mean, model.predict(pd.DataFrame(X, columns=NAMES)))
    assert posterior.q.items.tolist() == [1, model.selection_.candidates.columns[1], 6, 7]
    assert posterior.diagnostics().expected_size == pytest.approx(model.selection_.posterior.inclusion_prob().sum())


def test_alternatives_and_groups():
    posterior = model_of()[0].posterior_
    best, *others = posterior.alternatives(3)
    assert best.positions.tolist() == posterior.map().tolist()
    assert best.features.tolist() == ["dose", "site", "weight"]
    assert others
    assert all(AGE in other.positions for other in others)
    for groups in (posterior.groups(), posterior.groups(chosen=posterior.map()), model_of()[0].groups_):
        assert [NAMES[i].split("=")[0] for g in groups for i in g.positions] == [n for g in groups for n in g.features]
        assert {g.chosen for g in groups} >= {"dose", "site"}


@pytest.mark.parametrize("column", [1, *SITE, NOISE, "dose", "site", "site=b"])
def test_conditions(column):
    posterior = model_of()[0].posterior_
    without = posterior.condition(exclude=column)
    gone = SITE if str(column).startswith("site") or column in SITE else [1 if column == "dose" else column]
    assert without.inclusion_prob()[gone].tolist() == [0.0] * len(gone)
    assert without.excluded.tolist() == [CONSTANT, *gone]
    assert (without.inclusion_prob()[[i for i in range(1, 8) if i not in gone]] > 0).all()
    assert not np.isin(gone, without.map()).any()
    within = posterior.condition(include=column)
    assert within.inclusion_prob()[gone].tolist() == [1.0] * len(gone)
    assert np.isin(gone, within.map()).all()
    assert posterior.positions(column).tolist() == gone


def test_columns_that_cannot_be_chosen():
    posterior = model_of()[0].posterior_
    assert posterior.condition(include=[AGE], exclude=[CONSTANT]) is posterior
    with pytest.raises(ValueError, match=r"include must be columns to select from, got column 0, 'constant', which"):
        posterior.condition(include=[CONSTANT])
    with pytest.raises(ValueError, match=r"exclude must be .* column 2, 'age', which is always included"):
        posterior.condition(exclude=["age"])
    with pytest.raises(ValueError, match="positions from 0 to 7, got 8"):
        posterior.condition(exclude=[8])
    S = posterior.map()
    assert posterior.log_prob(S) == posterior.log_prob([1, SITE[0], 6]) > -np.inf
    assert posterior.log_prob([*S, CONSTANT]) == -np.inf


def test_masks_and_columns_without_names():
    model, _ = model_of(names=False)
    posterior = model.posterior_
    np.testing.assert_array_equal(model.as_support(posterior.map()), model.support_)
    np.testing.assert_array_equal(model.as_support(model.support_), model.support_)
    assert posterior.condition(exclude=np.arange(8) == 1).inclusion_prob()[1] == 0
    assert posterior.condition(exclude="x1").inclusion_prob()[1] == 0
    assert posterior.condition(exclude="x7").excluded.tolist() == [CONSTANT, 7]


def test_screening_and_files(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60))
    y = 2 * X[:, 20] + X[:, 25] + 0.5 * rng.normal(size=300)
    model = vg.DiverseRegressor(screen=5, expected_size=0.01, random_state=0).fit(X, y)
    vg.save(model, tmp_path / "model.vg")
    for posterior in (model.posterior_, vg.load(tmp_path / "model.vg").posterior_):
        assert posterior.n_features < posterior.n_columns == len(posterior.inclusion_prob()) == 60
        assert posterior.map().tolist() == [20, 25]
        assert posterior.condition(exclude=[25]).inclusion_prob()[[20, 25]] == pytest.approx([1.0, 0.0])


def test_the_search_is_shared_with_the_selection():
    model, _ = model_of()
    assert model.posterior_._known_good is model.selection_.posterior._known_good
    assert model.posterior_.condition(exclude=[1])._known_good is not model.posterior_._known_good


def test_a_posterior_of_a_target_has_columns_of_the_likelihood():
    model, _ = model_of()
    posterior = vg.Posterior(model.posterior_.fit)
    assert posterior.n_columns == posterior.n_features == 4
    assert posterior.positions([1]).tolist() == [1]


def test_names_are_those_of_columns_and_labels_those_of_features():
    posterior = model_of()[0].posterior_
    assert posterior.names.tolist() == NAMES
    assert posterior.labels.tolist() == ["dose", "site", "weight", "noise"]
    assert dict(zip(posterior.names, posterior.inclusion_prob(), strict=True))["age"] == 1.0
