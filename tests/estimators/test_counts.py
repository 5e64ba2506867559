"""DiverseCounts: rates, exposures, dispersion, and intervals that cover."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import variegate as vg

N, M = 200, 8
QUICK = {"max_iter": 4, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")


def problem(N=N, alpha=0.3, seed=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, M)) + 1
    hours = rng.uniform(0.5, 4.0, size=N)
    mean = hours * np.exp(0.3 + 0.5 * X[:, 2] - 0.4 * X[:, 6])
    y = rng.negative_binomial(1 / alpha, 1 / (1 + alpha * mean)) if alpha else rng.poisson(mean)
    return X, y, hours


@pytest.fixture(scope="module")
def model():
    X, y, hours = problem()
    return vg.DiverseCounts(random_state=0).fit(X, y, exposure=hours)


def test_the_columns_that_matter_are_chosen(model):
    assert np.flatnonzero(model.support_).tolist() == [2, 6]
    assert model.coef_[[2, 6]] == pytest.approx([0.5, -0.4], abs=0.15)
    assert model.intercept_ == pytest.approx(0.3, abs=0.25)


def test_dispersion_is_averaged_over(model):
    drawn = model.posterior_.fit.nuisances
    assert len(np.unique(drawn)) > 3
    assert np.median(drawn) == pytest.approx(0.3, abs=0.15)
    assert model.posterior_.target.nuisance == pytest.approx(np.exp(np.log(drawn).mean()))


@pytest.mark.parametrize("dispersion", [1e-9, 1e-5])
def test_with_hardly_any_dispersion_the_probabilities_are_poissons(dispersion):
    X, y, hours = problem(40, alpha=0)
    poisson, nearly = (
        vg.DiverseCounts(dispersion=d, random_state=0).fit(X, y, exposure=hours) for d in (0, dispersion)
    )
    np.testing.assert_allclose(nearly.inclusion_probabilities_, poisson.inclusion_probabilities_, atol=0.02)


def test_expected_counts_grow_with_the_exposure(model):
    X, y, hours = problem()
    once, twice = model.predict(X), model.predict(X, exposure=2.0)
    np.testing.assert_allclose(twice, 2 * once)
    mean, std = model.predict(X, return_std=True, exposure=hours)
    assert (std > np.sqrt(mean)).all()  # more than Poisson's
    assert model.score(X, y, exposure=hours) > 0.3


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_intervals_cover_what_they_promise(alpha):
    X, y, hours = problem(alpha=alpha)
    model = vg.DiverseCounts(dispersion=0.0 if alpha == 0 else "auto", **QUICK).fit(X, y, exposure=hours)
    new, counts, size = problem(N=4000, alpha=alpha, seed=3)
    low, high = model.predict_interval(new, 0.9, exposure=size).T
    inside = (low <= counts) & (counts <= high)
    # ends are whole numbers, so that an interval has its level or more
    assert 0.89 < inside.mean() < 0.97
    assert (counts < low).mean() < 0.05
    assert (counts > high).mean() < 0.08  # 200 rows leave the dispersion open, and it decides the upper end


def test_poisson_is_dispersion_zero():
    X, y, hours = problem(alpha=0.0)
    model = vg.DiverseCounts(dispersion=0, **QUICK).fit(X, y, exposure=hours)
    assert isinstance(model.posterior_.target.outcomes[0], vg.Poisson)
    assert np.flatnonzero(model.support_).tolist() == [2, 6]


def test_scikit_learn_knows_all_parameters():
    model = vg.DiverseCounts(dispersion=0.5, screen=3)
    assert clone(model).get_params() == model.get_params()
    assert {"dispersion", "similarity", "tol"} <= set(model.get_params())


def test_pipelines_and_searches():
    X, y, _ = problem(alpha=0.0)
    pipe = make_pipeline(StandardScaler(), vg.DiverseCounts(**QUICK))
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.full(N, -1)}, "a count, a whole number from 0, got -1"),
        ({"y": np.full(N, 0.5)}, "a count, a whole number from 0, got 0.5"),
        ({"y": np.full(N, np.nan)}, "a count, a whole number from 0, got nan"),
        ({"y": np.zeros(N)}, "at least one count above zero"),
        ({"y": np.array(["a"] * N)}, "y in row 0 must be a number, got 'a'"),
        ({"y": np.ones(N - 1), "exposure": None}, "an entry for each of the 200 rows of X, got 199"),
        ({"exposure": np.zeros(N)}, "exposure in row 0 must be above zero and finite, got 0"),
        ({"exposure": np.ones(3)}, "exposure must have an entry for each of the 200 rows, got 3"),
    ],
)
def test_bad_counts_are_named(change, message):
    X, y, hours = problem()
    given = {"y": y, "exposure": hours} | change
    with pytest.raises(ValueError, match=message):
        vg.DiverseCounts(**QUICK).fit(X, **given)


@pytest.mark.parametrize("dispersion", [-1.0, "much", None, True])
def test_bad_dispersions_are_named(dispersion):
    X, y, _ = problem()
    with pytest.raises(ValueError, match='dispersion must be "auto" or a non-negative number'):
        vg.DiverseCounts(dispersion=dispersion).fit(X, y)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_intervals_of_far_rows_end(alpha):
    X, y, hours = problem(alpha=alpha)
    model = vg.DiverseCounts(dispersion=alpha, **QUICK).fit(X, y, exposure=hours)
    direction = model.coef_ / np.square(model.coef_).sum()
    far = np.outer([40.0, 800.0], direction)  # means of e⁴⁰ and e⁸⁰⁰
    low, high = model.predict_interval(far).T
    assert np.isfinite(low[0])
    assert low[0] > 1e9
    assert high[1] == np.inf


def test_exposures_are_given_once():
    rows = vg.tasks.count_rows([1, 2, 3], [1.0, 2.0, 1.0])
    with pytest.raises(ValueError, match="exposure must be given once"):
        vg.tasks.count_rows(rows, [1.0, 1.0, 1.0])


def test_large_counts_show_what_matters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, M))
    y = rng.poisson(10_000 * np.exp(0.5 * X[:, 2] - 0.4 * X[:, 6]) * rng.gamma(3, 1 / 3, size=100))
    found = vg.DiverseCounts(random_state=0).fit(X, y).inclusion_probabilities_
    assert np.flatnonzero(found > 0.5).tolist() == [2, 6]  # the auxiliary variables of such counts hardly move
