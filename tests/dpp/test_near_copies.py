"""One definition of "inside the span", in every method: rows x and x + εe for ε across the tolerance."""

import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from oracle import Enumerated, determinant, enumerate_dpp
from variegate import LowRankDPP
from variegate.dpp.span import SPAN_TOLERANCE

# none within a factor of two of 10⁻¹²: 3·10⁻¹² from one row may be 10⁻¹² from the span of three
DISTANCES = [a * 10.0**-b for b in range(6, 15) for a in (3, 5)]
QUALITIES = {"moderate": [0.0, 1, -1, 0.5, 0], "demanded": [60.0, 61, 59, -1, 60], "one of them": [62.0, 3, 0, 0, -2]}


def near_copies(apart, seed=0):
    """Rows 0 and 1 differ by `apart` of their length; row 4 is the sum of rows 1 and 2, exactly."""
    rng = np.random.default_rng(seed)
    x = rng.integers(1, 9, size=5).astype(float)
    away = np.array([x[1], -x[0], 0, 0, 0]) / np.hypot(x[0], x[1])
    y = x + apart * np.linalg.norm(x) * away
    phi = np.array([x, y, rng.integers(-9, 9, size=5), rng.integers(-9, 9, size=5), x])
    phi[4] = 2 * x + phi[2]  # sums of whole numbers are exact
    return phi


def enumerated(phi, theta):
    """The distribution, with rows 0 and 1 never together if closer than the tolerance, and their distance."""
    oracle = enumerate_dpp(phi, theta)
    x, y = ([Fraction(v) for v in row] for row in phi[:2].tolist())
    gram = [[sum(a * b for a, b in zip(u, v, strict=True)) for v in (x, y)] for u in (x, y)]
    distance = float(determinant(gram) / (gram[0][0] * gram[1][1])) ** 0.5
    if distance > SPAN_TOLERANCE:
        return oracle, distance
    # then 0, 1 and 4 are copies too given 2
    inside = [{0, 1} <= set(S.tolist()) or {1, 2, 4} <= set(S.tolist()) for S in oracle.sets]
    weights = [mpmath.mpf(0) if i else w for i, w in zip(inside, oracle.weights, strict=True)]
    return Enumerated(len(theta), weights), distance


@pytest.mark.parametrize("kind", QUALITIES)
@pytest.mark.parametrize("apart", DISTANCES)
def test_every_method_agrees_about_near_copies(apart, kind):
    phi, theta = near_copies(apart), np.array(QUALITIES[kind])
    q, (oracle, distance) = LowRankDPP(phi, theta), enumerated(phi, theta)
    close = {"rtol": 1e-9 + 3e-15 / distance, "atol": 1e-12}  # the distance is known to 2e-16 of the rows
    np.testing.assert_allclose(q.inclusion_prob(), oracle.expect(oracle.gamma), **close)
    assert q.log_normalizer == pytest.approx(oracle.log_total, rel=1e-9, abs=close["rtol"])
    assert q.expected_size == pytest.approx(oracle.expect(oracle.sizes), rel=close["rtol"])
    assert q.rank == oracle.sizes[oracle.prob > 0].max()
    for S, weight in zip(oracle.sets, oracle.weights, strict=True):
        want = float(mpmath.log(weight / oracle.total)) if weight else -np.inf
        assert q.log_prob(S) == pytest.approx(want, rel=1e-9, abs=2 * close["rtol"]), S
    assert all(q.log_prob(S) > -np.inf for S in q.sample(200, 0))
    for k in range(1, q.rank + 1):
        prob, _ = oracle.where(oracle.sizes == k)
        np.testing.assert_allclose(q.inclusion_prob_fixed_size(k), prob @ oracle.gamma, rtol=close["rtol"], atol=1e-9)
        assert all(q.log_prob(S) > -np.inf for S in [q.map(k), *q.sample_fixed_size(k, 50, 0)])
    best = oracle.argmax()[0] / oracle.total
    assert q.log_prob(q.map()) == pytest.approx(float(mpmath.log(best)), abs=3 * close["rtol"])


@pytest.mark.parametrize("include", [[0], [1], [0, 2], [2, 3], [4], [3]])
@pytest.mark.parametrize("kind", QUALITIES)
@pytest.mark.parametrize("apart", DISTANCES)
def test_conditioning_does_not_change_which_rows_are_dependent(apart, kind, include):
    phi, theta = near_copies(apart), np.array(QUALITIES[kind])
    q, (oracle, distance) = LowRankDPP(phi, theta), enumerated(phi, theta)
    prob, _ = oracle.where(oracle.gamma[:, include].all(axis=1))
    given = q.condition(include=include)
    close = {"rtol": 1e-9 + 1e-14 / distance, "atol": 1e-12}
    for law in (given, pickle.loads(pickle.dumps(given))):
        np.testing.assert_allclose(law.inclusion_prob(), (prob @ oracle.gamma)[law.items], **close)
        np.testing.assert_allclose(law.rescaled(0.5).inclusion_prob(), given.rescaled(0.5).inclusion_prob())
        assert law.rank == max(oracle.sizes[oracle.gamma[:, include].all(axis=1) & (oracle.prob > 0)]) - len(include)
        for S in oracle.sets:
            together = np.union1d(include, S)
            if set(S.tolist()) <= set(law.items.tolist()):
                possible = law.log_prob(np.flatnonzero(np.isin(law.items, S))) > -np.inf
                assert possible == (q.log_prob(together) > -np.inf), S
        for k in range(law.rank + 1):
            assert law.log_prob(law.map(k)) > -np.inf


def test_near_copies_blur_the_directions_they_span():
    # e is known to five digits from x and y = x + 10⁻¹¹e; v = x + e has a residual of 10⁻⁵, yet counts as dependent
    x, e = np.array([3.0, 1, 2, 5]), np.array([1.0, 2, -1, 4])
    phi = np.array([x, x + 1e-11 * e, x + e, [1, 0, 0, 0]])
    phi[2] = x + (phi[1] - x) * 2.0**36  # exact: differences of neighbours and powers of two are
    q = LowRankDPP(phi, [200.0, 200, 20, 0])
    assert q.log_prob([0, 1, 2]) == -np.inf
    assert q.condition(include=[0, 1]).inclusion_prob()[0] == 0
    assert q.map(3).tolist() == [0, 1, 3]
    assert q.rank == 3


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("combine", ["products", "few", "sparse"])
def test_dependent_rows_span_no_more_directions_than_there_are(combine, seed):
    # directions that were averages of rows left rounding of 10⁻¹¹ in rows of quality e^400: false directions, or a
    # kernel that was no longer positive definite
    rng = np.random.default_rng(seed)
    M, d, k = 310, 300, 50
    base = rng.integers(-3, 4, size=(k, d)).astype(float)
    combinations = rng.integers(-3, 4, size=(M, k))
    if combine == "few":
        combinations = np.eye(k)[rng.integers(k, size=M)] + rng.integers(1, 1000, (M, 1)) * np.eye(k)[np.arange(M) % k]
    elif combine == "sparse":
        combinations = np.where(rng.random((M, k)) < 0.06, combinations, np.eye(M, k))
    q = LowRankDPP(combinations @ base, rng.uniform(50, 400, size=M))
    assert q.rank == k
    assert q.expected_size == pytest.approx(k, abs=1e-6)
    assert np.count_nonzero(q._numerics.factor.log_scale) == k
    assert all(len(S) == k for S in q.sample(2, 0))
