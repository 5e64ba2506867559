"""Each method on ten small problems: exactly k features, and the answer of the library behind it."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.feature_selection import RFE, SelectKBest, SequentialFeatureSelector, f_classif, f_regression
from sklearn.linear_model import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    MultiTaskElasticNet,
    OrthogonalMatchingPursuit,
)
from sklearn.preprocessing import scale
from sklearn.svm import SVR

from variegate.baselines import METHODS, Problem, as_method, at_size, chooses_size, select
from variegate.baselines.greedy import score_statistics
from variegate.baselines.penalised import _generalised
from variegate.datasets import make_blocks
from variegate.likelihoods import Gaussian
from variegate.likelihoods.terms import Logits

QUICK = [name for name in METHODS if not chooses_size(name)]
SEEDS = range(10)
K = 3


def problem(seed, task="regression", n_samples=60, n_features=12):
    data = make_blocks(n_samples, n_features, block_size=3, correlation=0.8, n_true=K, task=task, rng=seed)
    if task == "classification" and data.y.min() == data.y.max():
        raise AssertionError("a test problem needs both classes")
    return Problem(data.X, data.y, task)


def three_classes(seed):
    regression = problem(seed)
    cuts = np.quantile(regression.y, [1 / 3, 2 / 3])
    return Problem(regression.X, np.digitize(regression.y, cuts), "classification")


def chosen(method, given, size=K, seed=0):
    return select(method, given, size, np.random.default_rng(seed))


def every_size_is_met(method, given):
    for size in (1, K, 7):
        S = chosen(method, given, size)
        assert len(S) == size
        np.testing.assert_array_equal(S, np.unique(S))
        np.testing.assert_array_equal(S, chosen(method, given, size))


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("method", QUICK)
def test_exactly_k_and_the_same_again(method, task):
    for seed in SEEDS:
        every_size_is_met(method, problem(seed, task))


@pytest.mark.parametrize("method", [name for name in QUICK if name != "omp"])
def test_three_classes_share_one_set(method):
    for seed in SEEDS:
        every_size_is_met(method, three_classes(seed))


def test_omp_says_that_it_takes_two_classes():
    with pytest.raises(ValueError, match="3 classes"):
        chosen("omp", three_classes(0))


@pytest.mark.parametrize("method", [name for name in QUICK if name != "random"])
def test_units_do_not_matter(method, rng):
    given = problem(4)
    other = given._replace(X=given.X * rng.uniform(0.01, 100, 12) + rng.normal(size=12), y=3 * given.y - 1)
    np.testing.assert_array_equal(chosen(method, given), chosen(method, other))


@pytest.mark.parametrize("method", QUICK)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_copies_and_constant_columns_leave_the_size_as_asked(method, task):
    given = problem(5, task)
    X = given.X.copy()
    X[:, 1] = X[:, 2] = X[:, 0]
    X[:, 3:6] = 1.0
    assert len(chosen(method, given._replace(X=X), 8)) == 8


@pytest.mark.parametrize("seed", SEEDS)
def test_omp_is_scikit_learns(seed):
    for task in ("regression", "classification"):
        given = problem(seed, task)
        model = OrthogonalMatchingPursuit(n_nonzero_coefs=K).fit(scale(given.X), given.y)
        np.testing.assert_array_equal(chosen("omp", given), np.flatnonzero(model.coef_))


def on_a_grid(fit, strongest, size):
    """Supports of that size along a fine grid of penalties, strongest first."""
    supports = (np.flatnonzero(fit(strongest * factor)) for factor in np.geomspace(1, 0.01, 400))
    return [S.tolist() for S in supports if len(S) == size]


@pytest.mark.parametrize("seed", SEEDS)
def test_lasso_is_on_scikit_learns_path(seed):
    given = problem(seed)
    Z, y = scale(given.X), given.y - given.y.mean()
    strongest = np.abs(Z.T @ y).max() / len(y)
    found = on_a_grid(lambda alpha: Lasso(alpha=alpha, tol=1e-8).fit(Z, y).coef_, strongest, K)
    assert chosen("lasso", given).tolist() in found


@pytest.mark.parametrize("method", ["lasso", "elastic_net"])
def test_logistic_penalties_are_those_of_another_solver(method):
    ratio = 1.0 if method == "lasso" else 0.5
    for seed in SEEDS[:3]:
        given = problem(seed, "classification")
        Z = scale(given.X)
        strongest = np.abs(Z.T @ (given.y - given.y.mean())).max() / len(Z) / ratio
        found = []
        for factor in np.geomspace(1, 0.2, 80):
            C = 1 / (factor * strongest * len(Z))
            model = LogisticRegression(C=C, l1_ratio=ratio, solver="saga", tol=1e-6, max_iter=20_000).fit(Z, given.y)
            found.append(np.flatnonzero(np.abs(model.coef_[0]) > 1e-5).tolist())
        assert chosen(method, given).tolist() in found


@pytest.mark.parametrize("ratio", [1.0, 0.5])
@pytest.mark.parametrize("noise", [0.0, 1.0])  # without noise a line separates the classes
def test_logistic_coefficients_meet_the_conditions_of_an_optimum(ratio, noise):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        Z = scale(rng.normal(size=(40, 30)) + rng.normal(size=(40, 1)))
        t = (Z[:, 0] + noise * rng.normal(size=40) > 0.3).astype(float)
        strongest = np.abs(Z.T @ (t - t.mean())).max() / (40 * ratio)
        coefficients = _generalised(np.asfortranarray(Z), Logits(t), ratio)
        for alpha in strongest * np.array([0.9, 0.5, 0.1, 0.01, 0.3]):
            beta = coefficients(alpha)
            intercept = brentq(lambda b, eta, t: np.sum(t - expit(b + eta)), -1e3, 1e3, args=(Z @ beta, t))
            slope = Z.T @ (t - expit(intercept + Z @ beta)) / 40 - alpha * (1 - ratio) * beta
            inside = beta != 0
            np.testing.assert_allclose(slope[inside], alpha * ratio * np.sign(beta[inside]), atol=2e-3 * strongest)
            assert np.abs(slope[~inside]).max() <= alpha * ratio + 2e-3 * strongest
            assert inside.any()


def test_elastic_net_of_three_classes_is_scikit_learns_multi_task():
    given = three_classes(1)
    Z, Y = scale(given.X), np.eye(3)[given.y]
    strongest = 2 * np.linalg.norm(Z.T @ (Y - Y.mean(axis=0)), axis=1).max() / len(Z)
    found = on_a_grid(
        lambda a: np.abs(MultiTaskElasticNet(alpha=a, tol=1e-8).fit(Z, Y).coef_).max(axis=0), strongest, K
    )
    assert chosen("elastic_net", given).tolist() in found


def test_a_path_that_jumps_over_the_size_takes_the_largest():
    def coefficients(alpha):  # three columns enter at once, at 0.5
        return np.zeros(5) if alpha > 0.5 else np.array([0.0, 1.0, -3.0, 2.0, 0.0]) * (0.6 - alpha)

    np.testing.assert_array_equal(at_size(coefficients, 1.0, 2), [2, 3])
    np.testing.assert_array_equal(at_size(coefficients, 1.0, 4), [0, 1, 2, 3])


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_score_is_stepwise_regression(seed):
    given = problem(seed)
    everything = [(np.arange(60), np.arange(60))]  # fitted and scored on all rows: by residual sum of squares
    steps = SequentialFeatureSelector(LinearRegression(), n_features_to_select=K, cv=everything).fit(given.X, given.y)
    np.testing.assert_array_equal(chosen("forward_score", given), np.flatnonzero(steps.get_support()))


def test_score_statistics_come_from_the_likelihoods_derivatives():
    given = problem(2, "classification")
    Z, t, inside = scale(given.X), given.y.astype(float), [1, 5]
    model = LogisticRegression(C=100.0, solver="newton-cholesky").fit(Z[:, inside], t)
    beta = np.concatenate([model.intercept_, model.coef_[0]])

    def log_likelihood(b, m):
        eta = np.column_stack([np.ones(60), Z[:, [*inside, m]]]) @ b
        return (t * eta - np.logaddexp(0, eta)).sum()

    found = score_statistics(Logits(t), Z, inside)
    for m in (0, 3, 11):
        h, at, steps = 1e-4, np.append(beta, 0.0), np.eye(4) * 1e-4
        slope = (log_likelihood(at + steps[3], m) - log_likelihood(at - steps[3], m)) / (2 * h)
        hessian = [
            [sum(a * b * log_likelihood(at + a * steps[i] + b * steps[j], m) for a in (1, -1) for b in (1, -1))
             / (4 * h * h) for j in range(4)] for i in range(4)
        ]  # fmt: skip
        inverse = np.linalg.inv(-np.array(hessian))
        np.testing.assert_allclose(found[m], slope**2 * inverse[3, 3], rtol=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_evidence_tries_every_column_at_every_step(seed):
    given = problem(seed)
    likelihood, S = Gaussian(given.X, given.y), []
    for _ in range(K):
        rest = [m for m in range(12) if m not in S]
        S.append(max(rest, key=lambda m: likelihood.log_evidence(np.sort(np.array([*S, m])))))
    np.testing.assert_array_equal(chosen("forward_evidence", given), np.sort(S))


@pytest.mark.parametrize("seed", SEEDS)
def test_univariate_is_scikit_learns(seed):
    given = problem(seed)
    best = SelectKBest(f_regression, k=K).fit(given.X, given.y)
    np.testing.assert_array_equal(chosen("univariate", given), np.flatnonzero(best.get_support()))


def test_random_draws_among_the_best():
    given = problem(0, n_features=60)
    pool = chosen("univariate", given, 20)
    drawn = [chosen("random", given, 2, seed) for seed in range(200)]
    assert set(np.concatenate(drawn)) == set(pool)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_mrmr_is_its_formula(task):
    for seed in SEEDS:
        given = problem(seed, task)
        F = (f_regression if task == "regression" else f_classif)(given.X, given.y)[0]
        r = np.abs(np.corrcoef(given.X.T))
        S = [int(F.argmax())]
        while len(S) < K:
            S.append(max(set(range(12)) - set(S), key=lambda m: F[m] / r[m, S].mean()))
        np.testing.assert_array_equal(chosen("mrmr", given), np.sort(S))


# --- anyone's own method ----------------------------------------------------------------------------------------


def test_scikit_learn_objects_are_methods():
    given = problem(3)
    best = chosen("univariate", given)
    np.testing.assert_array_equal(chosen(SelectKBest(f_regression), given), best)
    assert len(chosen(RFE(LinearRegression()), given)) == K
    assert len(chosen(SVR(kernel="linear"), given)) == K  # its support_ is of samples: coef_ counts
    standardised = given._replace(X=scale(given.X))
    np.testing.assert_array_equal(chosen(OrthogonalMatchingPursuit(), standardised), chosen("omp", given))
    sparse = Lasso(alpha=0.2)
    np.testing.assert_array_equal(chosen(sparse, given, None), np.flatnonzero(sparse.fit(given.X, given.y).coef_))
    with pytest.raises(ValueError, match=r"Lasso chose 0 features where 3"):
        chosen(Lasso(alpha=1e3), given)
    with pytest.raises(ValueError, match="does not say which features"):
        chosen(SVR(kernel="rbf"), given)


def test_functions_are_methods_and_are_checked():
    given = problem(0)
    np.testing.assert_array_equal(chosen(lambda problem, size, rng: [5, 2, 7][:size], given), [2, 5, 7])
    with pytest.raises(ValueError, match="chose 2 features where 3"):
        chosen(lambda problem, size, rng: [1, 2], given)
    with pytest.raises(ValueError, match="more than once"):
        chosen(lambda problem, size, rng: [1, 1, 2], given)


@pytest.mark.parametrize("size", [0, 13, 2.5, True])
def test_sizes_are_checked(size):
    with pytest.raises(ValueError, match="from 1 to 12"):
        chosen("omp", problem(0), size)


def test_errors_say_what_to_do():
    given = problem(0)
    with pytest.raises(ValueError, match="there are variegate, most_probable"):
        chosen("ompp", given)
    with pytest.raises(ValueError, match="omp needs to be told how many"):
        chosen("omp", given, None)
    with pytest.raises(TypeError, match="not a class"):
        as_method(Lasso)
    with pytest.raises(ValueError, match="class codes"):
        chosen("omp", given._replace(y=np.where(given.y > 0, 2, 5), task="classification"))
    with pytest.raises(ValueError, match="12 rows"):
        chosen("omp", given._replace(phi=np.eye(3)))
    with pytest.raises(ValueError, match='"regression", "classification"'):
        chosen("omp", given._replace(task="ranking"))
    with pytest.raises(ValueError, match="shapes"):
        chosen("omp", given._replace(y=given.y[:-1]))
