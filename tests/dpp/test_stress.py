"""Extreme and degenerate input: a right answer or a clear ValueError, never a NaN, never a hang."""

import mpmath
import numpy as np
import pytest
from scipy import sparse
from scipy.special import logsumexp

from oracle import enumerate_dpp, g_test
from variegate import IndependentSets, LowRankDPP
from variegate.dpp import Rows, balance, poisson_binomial, span


def check_against(phi, theta):
    """Every number of a DPP against the enumeration, where probabilities below 1e-12 count as zero."""
    q, oracle = LowRankDPP(phi, theta), enumerate_dpp(phi, theta)
    assert q.log_normalizer == pytest.approx(oracle.log_total, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(q.inclusion_prob(), oracle.expect(oracle.gamma), rtol=1e-8, atol=1e-12)
    assert q.expected_size == pytest.approx(oracle.expect(oracle.sizes), rel=1e-9, abs=1e-12)
    log_weights = np.array([float(mpmath.log(w)) if w else -np.inf for w in oracle.weights])
    got = np.array([q.log_prob(S) for S in oracle.sets]) + q.log_normalizer
    np.testing.assert_allclose(got, log_weights, rtol=1e-9, atol=1e-8)
    for t in (-300.0, -30.0, 30.0, 300.0):  # large and small eigenvalues in turn decide
        want = logsumexp(log_weights + t * oracle.sizes)
        assert q.size_law.log_normalizer(t) == pytest.approx(want, rel=1e-9, abs=1e-6)
    for k in range(q.rank + 1):
        at_k = oracle.sizes == k
        prob, _ = oracle.where(at_k)
        np.testing.assert_allclose(q.inclusion_prob_fixed_size(k), prob @ oracle.gamma, rtol=1e-7, atol=1e-9)
        assert q.log_normalizer_fixed_size(k) == pytest.approx(logsumexp(log_weights[at_k]), rel=1e-9, abs=1e-8)
        found = q.map(k)
        weight = {tuple(S): w for S, w in zip(map(np.ndarray.tolist, oracle.sets), log_weights, strict=True)}
        outside = set(range(len(theta))) - {*found.tolist()}
        exchanged = [sorted({*found, i} - {j}) for j in found.tolist() for i in outside]
        assert weight[tuple(found.tolist())] >= max((weight[tuple(S)] for S in exchanged), default=-np.inf) - 1e-6
    assert g_test(q.sample(2000, 0), oracle) > 1e-4
    return q, oracle


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("d", [3, 6, 9])
def test_log_qualities_of_all_magnitudes(seed, d):
    rng = np.random.default_rng([seed, d])
    check_against(rng.normal(size=(6, d)), rng.normal(scale=40, size=6))


@pytest.mark.parametrize("factor", [1e-20, 1e20, 1e-150, 1e150])
def test_features_of_all_magnitudes(factor):
    rng = np.random.default_rng(0)
    check_against(factor * rng.normal(size=(6, 4)), rng.normal(size=6))


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_different_magnitudes(seed):
    rng = np.random.default_rng(seed)
    check_against(rng.normal(size=(6, 4)) * 10.0 ** rng.integers(-20, 20, size=(6, 1)), rng.normal(size=6))


@pytest.mark.parametrize("seed", range(6))
def test_duplicates_of_items_with_large_theta(seed):
    # rounding errors of e^200·10⁻¹⁶ must not make two copies of one item look independent
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(7, 5))
    phi[1] = phi[2] = phi[0]
    phi[4] = -2 * phi[3]
    phi[5] = 0
    q, _ = check_against(phi, np.array([200.0, 199, 150, 300, 299, 50, 0]) + rng.normal(size=7))
    assert q.log_prob([0, 1]) == -np.inf
    assert all(
        len(np.intersect1d(S, [0, 1, 2])) == 1 and len(np.intersect1d(S, [3, 4])) == 1 for S in q.sample(200, 0)
    )


def test_dependent_rows_that_are_not_copies():
    phi = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0], [1, -1, 0], [0, 0, 1]], dtype=float)
    q, _ = check_against(phi, np.array([120.0, 110, 115, 90, -80]))
    assert q.rank == 3


def test_qualities_beyond_the_range_of_doubles():
    theta = np.array([5000.0, -5000.0, 4000.0, 0.0])
    q = LowRankDPP(np.eye(4), theta)
    np.testing.assert_allclose(q.inclusion_prob(), [1, 0, 1, 0.5], atol=1e-12)
    assert q.log_normalizer == pytest.approx(9000 + np.log(2))
    assert q.log_normalizer_fixed_size(3) == pytest.approx(9000)
    assert q.map().tolist() == [0, 2]
    independent = IndependentSets(theta)
    np.testing.assert_allclose(independent.inclusion_prob(), [1, 0, 1, 0.5], atol=1e-12)
    assert q.log_normalizer_fixed_size(0) == independent.log_normalizer_fixed_size(0) == 0


def test_an_impossible_item_of_any_quality():
    # e^{θ/2} overflows and must not meet the zero row
    q = LowRankDPP([[0.0, 0.0], [1.0, 0.0]], [1500.0, 0.0])
    assert q.log_normalizer == pytest.approx(np.log(2))
    np.testing.assert_allclose(q.inclusion_prob(), [0, 0.5], atol=1e-15)
    copies = LowRankDPP([[1.0, 0], [2, 0], [0, 1]], [2000.0, 2000, 0])
    np.testing.assert_allclose(copies.condition(include=[0]).inclusion_prob(), [0, 0.5], atol=1e-15)


@pytest.mark.parametrize("exponent", [-310, 300])
def test_quality_and_length_that_only_together_are_moderate(exponent):
    theta = -2 * exponent * np.log(10) + np.array([0.0, 1.0, 20.0])
    q = LowRankDPP(np.eye(3) * float(f"1e{exponent}"), theta)
    np.testing.assert_allclose(q.inclusion_prob(), 1 / (1 + np.exp([0.0, -1, -20])), rtol=1e-9)
    assert all(2 in S for S in q.sample(5, 0))


def test_many_large_rows_are_peeled_together():
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(400, 30))
    q, dense = LowRankDPP(phi, np.full(400, 60.0)), phi @ phi.T
    assert q.expected_size == pytest.approx(30)
    assert q.log_normalizer == pytest.approx(30 * 60 + np.log(np.linalg.eigvalsh(dense)[-30:]).sum(), rel=1e-12)
    assert all(len(S) == 30 for S in q.sample(3, 0))


def test_peeling_ends_where_rounding_looks_like_a_direction(monkeypatch):
    # dependent rows whose residuals never get below the tolerance: there are still no more than d directions
    monkeypatch.setattr(span, "SPAN_TOLERANCE", 1e-18)
    monkeypatch.setattr(balance, "ROUNDING", 1e-18)
    rng = np.random.default_rng(0)
    q = LowRankDPP(rng.normal(size=(40, 5)), rng.uniform(50, 400, size=40))
    assert np.count_nonzero(q._numerics.factor.log_scale) == 5
    assert q.expected_size == pytest.approx(5)


def test_nearly_equal_rows_against_exact_arithmetic():
    phi = np.array([[1.0, 0.0], [1.0, 1e-7], [1.0, 2e-7]])
    check_against(phi, np.array([40.0, 41.0, 39.0]))


@pytest.mark.parametrize("apart", [0.5e-12, 1.1e-12, 3e-12, 1e-11])
@pytest.mark.parametrize("theta", [60.0, 70.0, 90.0])
def test_no_probability_above_one_at_the_tolerance_of_spans(apart, theta):
    q = LowRankDPP([[1.0, 0.0], [1.0, apart]], [theta, theta])
    assert all(q.log_prob(S) <= 0 for S in ([], [0], [1], [0, 1]))


class TestNothingToChooseFrom:
    @pytest.mark.parametrize(
        "q",
        [
            LowRankDPP(np.empty((0, 3)), []),
            LowRankDPP(np.zeros((4, 2)), np.zeros(4)),
            LowRankDPP(np.empty((4, 0)), np.full(4, 99.0)),
            IndependentSets([]),
        ],
    )
    def test_only_the_empty_set(self, q):
        assert q.log_normalizer == 0.0
        assert q.expected_size == 0.0
        assert q.rank == 0
        assert q.log_prob([]) == 0.0
        assert not q.inclusion_prob().any()
        assert not q.covariance_matvec(np.ones(q.n_items)).any()
        assert [len(S) for S in q.sample(3, 0)] == [0, 0, 0]
        assert [len(S) for S in q.sample_fixed_size(0, 2, 0)] == [0, 0]
        assert q.map().tolist() == []
        assert q.map(0).tolist() == []
        assert q.log_normalizer_fixed_size(0) == 0.0
        assert not q.inclusion_prob_fixed_size(0).any()
        with pytest.raises(ValueError, match="size must be between 0 and 0"):
            q.sample_fixed_size(1, 1, 0)
        with pytest.raises(ValueError, match="above 0 and below 0"):
            q.rescaled(expected_size=1)

    def test_no_sets(self):
        assert LowRankDPP(np.eye(2), [0, 0]).sample(0, 0) == []


BAD = [
    (lambda: LowRankDPP([1, 2], [0, 0]), "phi must be a matrix"),
    (lambda: LowRankDPP(np.eye(2), [0, 0, 0]), "2 rows and 3 log-qualities"),
    (lambda: LowRankDPP([[1, np.nan]], [0]), "NaN or infinity in 1 of 1 rows, first in row 0"),
    (lambda: LowRankDPP([[1, 2], [np.inf, 0]], [0, 0]), "first in row 1"),
    (lambda: LowRankDPP(np.eye(2), [0, np.inf]), "theta must be finite, got inf at item 1"),
    (lambda: LowRankDPP(np.eye(2), [[0, 0]]), "one entry per item"),
    (lambda: LowRankDPP(np.eye(2), [0, 0], items=["a"]), "2 labels"),
    (lambda: IndependentSets([0, np.nan]), "theta must be finite"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).log_prob([0, 0]), "more than once"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).log_prob([2]), "positions from 0 to 1, got 2"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).log_prob([-1]), "positions from 0 to 1, got -1"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).log_prob([0.5]), "integer positions"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).log_prob([True]), "2 entries"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).log_prob(1), "one-dimensional"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).sample(-1, 0), "must be at least 0"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).sample(1.5, 0), "whole number"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).sample_fixed_size(3, 1, 0), "between 0 and 2"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).sample_fixed_size(1.5, 1, 0), "whole number"),
    (lambda: LowRankDPP(np.ones((3, 3)), np.zeros(3)).sample_fixed_size(3, 1, 0), "between 0 and 1 .the rank of phi"),
    (lambda: LowRankDPP(np.ones((3, 3)), np.zeros(3)).sample_fixed_size(2, 1, 0), "rank"),
    (lambda: LowRankDPP(np.ones((3, 3)), np.zeros(3)).map(2), "at most 1, the rank of phi, got 2"),
    (lambda: LowRankDPP(np.ones((3, 3)), np.zeros(3)).inclusion_prob_fixed_size(2), "rank"),
    (lambda: LowRankDPP(np.ones((3, 3)), np.zeros(3)).rescaled(1), "below 1, the rank of phi"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).rescaled(np.nan), "above 0 and below 2"),
    (lambda: IndependentSets([0, 0]).rescaled(2), "above 0 and below 2"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).condition([0], [0]), "must be disjoint, got 0 in both"),
    (lambda: LowRankDPP(np.ones((2, 2)), [0, 0]).condition([0, 1]), "linearly independent"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).covariance_matvec([1, 2, 3]), "one entry per item"),
    (lambda: LowRankDPP(np.eye(2) * 1j, [0, 0]), "phi must be real"),
    (lambda: LowRankDPP(sparse.eye_array(2), [0, 0]), "toarray"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).marginal_kernel([[0, 1]]), "rows must be a one-dimensional"),
    (lambda: IndependentSets([0, 0]).marginal_kernel([0], [[0, 1]]), "cols must be a one-dimensional"),
    (lambda: LowRankDPP(np.eye(2), [0, 0]).marginal_kernel([5]), "positions from 0 to 1"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_features_are_not_changed_and_float32_is_kept():
    phi = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    before = phi.copy()
    q = LowRankDPP(phi, np.linspace(-2, 20, 30))
    q.sample(5, 0), q.map(), q.inclusion_prob()
    assert q.phi.dtype == np.float32
    assert (phi == before).all()
    wide = LowRankDPP(phi.astype(float), q.theta)
    np.testing.assert_allclose(q.inclusion_prob(), wide.inclusion_prob(), rtol=1e-6)
    assert q.condition(include=[0]).phi.dtype == np.float32


def test_labels_survive_conditioning():
    q = LowRankDPP(np.eye(4), np.zeros(4), items=["TP53", "BRCA1", "MYC", "ESR1"])
    given = q.condition(include=[1]).condition(exclude=[0])
    assert given.items.tolist() == ["MYC", "ESR1"]


@pytest.mark.parametrize("spread", [1, 40, 400])
@pytest.mark.parametrize("factor", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (1, 1), (0, 3)])
def test_callers_who_made_numpy_raise_errors(shape, factor, spread):
    rng = np.random.default_rng(0)
    phi, theta = factor * rng.normal(size=shape), spread * rng.normal(size=shape[0])
    phi[1:2] = phi[:1]
    for q in (LowRankDPP(phi, theta), IndependentSets(theta)):
        want = [q.log_normalizer, *every_answer(q)]
        with np.errstate(all="raise"):
            again = LowRankDPP(phi, theta) if isinstance(q, LowRankDPP) else IndependentSets(theta)
            got = [again.log_normalizer, *every_answer(again)]
        assert all(np.array_equal(a, b) for a, b in zip(want, got, strict=True))


def every_answer(q):
    everything = np.arange(q.n_items)
    yield from (q.expected_size, q.rank, q.inclusion_prob(), q.marginal_kernel(everything), q.map(), q.log_prob([]))
    yield from (q.covariance_matvec(np.ones(q.n_items)), *q.sample(3, 0), *map(q.log_prob, everything[:, None]))
    for k in range(q.rank + 1):
        yield from (
            q.log_normalizer_fixed_size(k),
            q.inclusion_prob_fixed_size(k),
            *q.sample_fixed_size(k, 2, 0),
            q.map(k),
        )
    if q.rank:
        yield from (q.rescaled(q.rank / 2).theta, q.condition(include=q.map(1)).inclusion_prob())


def test_draws_in_blocks_are_the_same_draws(monkeypatch):
    rng = np.random.default_rng(0)
    for q in (LowRankDPP(rng.normal(size=(9, 5)), np.zeros(9)), IndependentSets(np.zeros(9))):
        want = [q.sample(50, 0), q.sample_fixed_size(2, 50, 0)]
        with monkeypatch.context() as patch:
            patch.setattr(poisson_binomial, "BLOCK_BYTES", 8 * 9 * 7)  # a few sets at a time
            got = [q.sample(50, 0), q.sample_fixed_size(2, 50, 0)]
        assert [[S.tolist() for S in sets] for sets in got] == [[S.tolist() for S in sets] for sets in want]


def test_the_rank_of_rows_may_underflow():
    phi = np.array([[1.0, 1e-300], [1e-300, 1e-308], [0.0, 1.0]])
    with np.errstate(all="raise"):
        assert Rows.of(phi).rank() == LowRankDPP(phi, np.zeros(3)).rank == 2
