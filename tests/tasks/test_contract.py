"""What every task answers, over all members."""

import numpy as np
import pytest

from variegate.likelihoods.terms import fitted_predictor
from variegate.tasks import TASKS, count_rows, survival_rows, task_named

N, M = 40, 5
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, M))
SIGNAL = X[:, 1] - X[:, 3] + 0.5 * RNG.normal(size=N)
OUTCOMES = {
    "regression": [SIGNAL],
    "classification": [(SIGNAL > 0).astype(np.int64), np.digitize(SIGNAL, [-1.0, 1.0])],
    "survival": [survival_rows(np.ceil(4 * RNG.exponential(np.exp(-3 * SIGNAL))), RNG.random(N) < 0.8)],
    "counts": [count_rows(RNG.poisson(np.exp(1 + SIGNAL)), np.full(N, 0.5))],
}
cases = pytest.mark.parametrize(("name", "y"), [(name, y) for name, ys in OUTCOMES.items() for y in ys])


def test_every_task_is_here():
    assert set(OUTCOMES) == set(TASKS)


@cases
def test_terms_have_their_derivatives(name, y):
    eta, h = 0.3 * RNG.normal(size=N), 1e-5
    for terms in task_named(name).terms(y):
        found = terms.derivatives(eta)
        for i in (0, 7, N - 1):
            step = h * (np.arange(N) == i)
            up, down = terms.derivatives(eta + step), terms.derivatives(eta - step)
            assert found.slope[i] == pytest.approx((up.value - down.value) / (2 * h), abs=1e-6)
            column = found.weight * (step > 0) - (0 if found.shared is None else found.shared.times(step[None])[0] / h)
            np.testing.assert_allclose((down.slope - up.slope) / (2 * h), column, atol=1e-6)


@cases
def test_without_columns_the_null_predictor_is_best(name, y):
    for terms in task_named(name).terms(y):
        level = np.full(N, terms.null)
        assert terms.derivatives(level).slope.sum() == pytest.approx(0.0, abs=1e-7)
        np.testing.assert_allclose(fitted_predictor(terms, X[:, :0], 0.0), level, atol=1e-6)


@cases
def test_a_fitted_predictor_has_no_slope_left_but_the_ridge(name, y):
    for terms in task_named(name).terms(y):
        eta = fitted_predictor(terms, X[:, [1, 3]], 0.3)
        beta = np.linalg.lstsq(np.column_stack([np.ones(N), X[:, [1, 3]]]), eta, rcond=None)[0]
        np.testing.assert_allclose(X[:, [1, 3]].T @ terms.derivatives(eta).slope, 0.3 * beta[1:], atol=1e-6)


@cases
def test_columns_that_matter_are_the_strongest(name, y):
    task = task_named(name)
    assert set(np.argsort(task.strengths(X, y))[-2:]) == {1, 3}
    assert task.strengths(np.column_stack([X, np.ones(N)]), y)[-1] < 0


@cases
def test_weights_are_repeated_rows(name, y):
    weights = RNG.integers(0, 3, size=N).astype(float)
    rows = np.repeat(np.arange(N), weights.astype(int))
    task = task_named(name)
    np.testing.assert_allclose(task.strengths(X, y, weights), task.strengths(X[rows], y[rows]), rtol=1e-9)


@cases
def test_the_columns_that_matter_score_best(name, y):
    task, train, test = task_named(name), slice(0, 30), slice(30, None)
    good, bad = (
        task.scores(X[train][:, S], y[train], X[test][:, S], y[test])[task.accuracy] for S in ([1, 3], [0, 2])
    )
    assert good > bad + 0.2


@cases
def test_likelihoods_prefer_the_columns_that_matter(name, y):
    parts = task_named(name).likelihoods(X, y, slab_precision=1.0)
    good, bad = (sum(part.log_evidence(np.array(S)) for part in parts) for S in ([1, 3], [0, 2]))
    assert good > bad + 3


@cases
def test_strata_have_an_entry_for_each_row(name, y):
    strata = task_named(name).strata(y)
    assert (strata is None) == (name in ("regression", "counts"))
    assert strata is None or len(strata) == N


def test_an_unknown_task_is_refused():
    with pytest.raises(ValueError, match="got 'clasification'"):
        task_named("clasification")
