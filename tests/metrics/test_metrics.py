"""Every measure against brute force or an example worked out by hand."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy import stats

from variegate import metrics


def test_log_det_is_the_determinant_of_the_block(rng):
    phi = rng.normal(size=(12, 5))
    for size in range(6):
        S = rng.choice(12, size, replace=False)
        expected = np.linalg.slogdet(phi[S] @ phi[S].T)[1]
        np.testing.assert_allclose(metrics.log_det(phi, S), expected, atol=1e-10)


def test_log_det_of_copies_and_of_too_many_is_minus_infinity(rng):
    phi = rng.normal(size=(6, 3))
    phi[4] = 2 * phi[1]
    assert metrics.log_det(phi, [1, 4]) == -np.inf
    assert metrics.log_det(phi, [0, 1, 2, 3]) == -np.inf


def test_mean_pairwise_distance(rng):
    points, S = rng.normal(size=(9, 2)), [7, 1, 4, 8]
    pairs = [np.hypot(*(points[i] - points[j])) for i, j in combinations(S, 2)]
    np.testing.assert_allclose(metrics.mean_pairwise_distance(points, S), np.mean(pairs))
    assert np.isnan(metrics.mean_pairwise_distance(points, [3]))


@pytest.mark.parametrize(
    ("labels", "S", "hit"),
    [([0, 0, 1, 2], [0, 1, 2], 2), (["x", None, np.nan, "y"], [0, 1, 2, 3], 2), ([5, 5, 5], [], 0)],
)
def test_communities_hit(labels, S, hit):
    assert metrics.communities_hit(labels, S) == hit


def test_redundancy_is_that_of_the_correlation_matrix(rng):
    X = rng.normal(size=(30, 8)) @ rng.normal(size=(8, 8))
    S = np.array([0, 2, 3, 7])
    r = np.abs(np.corrcoef(X[:, S].T)[np.triu_indices(4, 1)])
    np.testing.assert_allclose(metrics.redundancy(X, S), (r.max(), r.mean()))
    X[:, 3] = 0.1
    assert metrics.redundancy(X, [2, 3]) == (0.0, 0.0)
    assert np.isnan(metrics.redundancy(X, [2]).mean)


def test_stability_by_hand():
    # rows 110, 101 of three features: p = (1, ½, ½), variances (0, ½, ½), mean ⅓; k̄/M = ⅔, so 1 − (1/3)/(2/9) = −½
    np.testing.assert_allclose(metrics.stability([[0, 1], [0, 2]], 3), -0.5)
    # rows 1100, 1100, 1010: p = (1, ⅔, ⅓, 0), variances (0, ⅓, ⅓, 0), mean 1/6; k̄/M = ½, so 1 − (1/6)/(1/4) = ⅓
    np.testing.assert_allclose(metrics.stability([[0, 1], [0, 1], [0, 2]], 4), 1 / 3)


def test_stability_is_the_mean_of_kunchevas_index_where_sizes_agree(rng):
    # Nogueira et al., section 4: for a constant size k, (|A ∩ B| − k²/M) / (k − k²/M), averaged over pairs
    M, k = 15, 4
    sets = [rng.choice(M, k, replace=False) for _ in range(7)]
    index = [(len(np.intersect1d(A, B)) - k**2 / M) / (k - k**2 / M) for A, B in combinations(sets, 2)]
    np.testing.assert_allclose(metrics.stability(sets, M), np.mean(index))


def test_stability_is_zero_on_average_for_random_sets_and_has_bounds(rng):
    found = [metrics.stability([np.flatnonzero(rng.random(40) < 0.3) for _ in range(20)], 40) for _ in range(200)]
    assert abs(np.mean(found)) < 4 * np.std(found) / np.sqrt(200)
    assert np.isnan(metrics.stability([[], []], 4))
    assert np.isnan(metrics.stability([[0, 1], [0, 1]], 2))
    assert metrics.stability_interval([[0], [0], [0]], 4) == (1.0, 1.0)
    with pytest.raises(ValueError, match="at least two sets"):
        metrics.stability([[0]], 4)


def test_stability_interval_is_that_of_the_jackknife(rng):
    p = np.array([0.9, 0.8, 0.5, 0.3, 0.1, 0.1, 0.05, 0.05])
    sets = [np.flatnonzero(rng.random(8) < p) for _ in range(400)]
    without = np.array([metrics.stability(sets[:i] + sets[i + 1 :], 8) for i in range(400)])
    error = np.sqrt(399 / 400 * np.square(without - without.mean()).sum())
    low, high = metrics.stability_interval(sets, 8, level=0.95)
    np.testing.assert_allclose((high - low) / 2, 1.96 * error, rtol=0.03)
    np.testing.assert_allclose((low + high) / 2, metrics.stability(sets, 8))


def test_mean_jaccard(rng):
    sets = [set(rng.choice(10, rng.integers(1, 6), replace=False).tolist()) for _ in range(6)]
    expected = np.mean([len(A & B) / len(A | B) for A, B in combinations(sets, 2)])
    np.testing.assert_allclose(metrics.mean_jaccard([sorted(S) for S in sets]), expected)
    assert metrics.mean_jaccard([[], []]) == 1.0


def test_auc_counts_pairs_in_the_right_order(rng):
    y, score = rng.integers(0, 2, 40), rng.integers(0, 9, 40).astype(float)
    pairs = np.sign(score[y == 1][:, None] - score[y == 0][None, :])
    np.testing.assert_allclose(metrics.auc(y, score), (pairs.mean() + 1) / 2)
    p = score / 9
    np.testing.assert_allclose(metrics.auc(y, np.stack([1 - p, p], axis=1)), metrics.auc(y, score))


def test_auc_of_three_classes_is_the_mean_of_one_vs_rest(rng):
    y, p = np.arange(60) % 3, rng.dirichlet([1, 1, 1], 60)
    np.testing.assert_allclose(metrics.auc(y, p), np.mean([metrics.auc(y == k, p[:, k]) for k in range(3)]))


def test_log_loss_also_where_a_class_is_missing(rng):
    p = rng.dirichlet([1, 1, 1], 5)
    np.testing.assert_allclose(metrics.log_loss([0, 2, 2, 0, 0], p), -np.log(p[range(5), [0, 2, 2, 0, 0]]).mean())
    np.testing.assert_allclose(metrics.log_loss([1, 1], [0.3, 0.6]), -np.log([0.3, 0.6]).mean())


def test_mse_and_r2():
    assert metrics.mse([1.0, 2.0], [1.0, 4.0]) == 2.0
    assert metrics.r2([1.0, 3.0], [1.0, 2.0]) == 0.5


def test_rank_sum_is_exact_over_all_arrangements():
    a, b = [1.1, 2.5, 3.0], [0.2, 2.0, 4.5, 5.0]
    ranks = stats.rankdata(a + b)
    sums = np.array([sum(ranks[list(rows)]) for rows in combinations(range(7), 3)])
    extreme = np.abs(sums - sums.mean()) >= abs(ranks[:3].sum() - sums.mean()) - 1e-9
    np.testing.assert_allclose(metrics.rank_sum(a, b), extreme.mean())


def test_signed_rank_is_exact_over_all_signs():
    a, b = np.array([1.0, 2.2, 3.1, 4.9, 7.0]), np.array([0.9, 2.0, 3.5, 4.0, 5.0])
    ranks = stats.rankdata(np.abs(a - b))
    signs = np.array(np.meshgrid(*[[0, 1]] * 5)).reshape(5, -1).T
    sums = signs @ ranks
    extreme = np.abs(sums - 7.5) >= abs(ranks[a > b].sum() - 7.5) - 1e-9
    np.testing.assert_allclose(metrics.signed_rank(a, b), extreme.mean())
    assert metrics.signed_rank(a, a) == 1.0


def test_holm_rejects_what_the_step_down_rule_rejects(rng):
    for _ in range(50):
        p = rng.random(6) ** 3
        rejected = np.zeros(6, dtype=bool)
        for step, i in enumerate(np.argsort(p)):  # the rule as Holm gives it
            if p[i] > 0.05 / (6 - step):
                break
            rejected[i] = True
        np.testing.assert_array_equal(metrics.holm(p) <= 0.05, rejected)


def test_holm_does_not_depend_on_the_order():
    p = [0.2, 0.01, 0.04]
    for order in permutations(range(3)):
        np.testing.assert_allclose(metrics.holm(np.take(p, order)), np.take([0.2, 0.03, 0.08], order))
    with pytest.raises(ValueError, match="from 0 to 1"):
        metrics.holm([1.2])
