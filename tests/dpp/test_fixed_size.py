"""q given a size, against the sum over all sets of that size."""

import numpy as np
import pytest

from chain_problems import all_sets
from variegate.dpp import FixedSize, IndependentSets, LowRankDPP, of_size

RNG = np.random.default_rng(0)
MEMBERS = {
    "dpp": LowRankDPP(RNG.normal(size=(6, 4)), RNG.normal(size=6)),
    "independent": IndependentSets(RNG.normal(size=6)),
}


@pytest.fixture(params=list(MEMBERS))
def q(request):
    return MEMBERS[request.param]


@pytest.mark.parametrize("k", [0, 1, 3])
def test_it_is_q_renormalised(q, k):
    law = of_size(q, k)
    sets = [np.array(S, dtype=np.int64) for S in all_sets(6) if len(S) == k]
    log_q = np.array([q.log_prob(S) for S in sets])
    p = np.exp(log_q) / np.exp(log_q).sum()
    np.testing.assert_allclose(np.exp([law.log_prob(S) for S in sets]), p, atol=1e-12)
    assert law.log_prob([0, 1]) == -np.inf
    inclusion = np.zeros(6)
    for S, weight in zip(sets, p, strict=True):
        inclusion[S] += weight
    np.testing.assert_allclose(law.inclusion_prob(), inclusion, atol=1e-10)
    assert law.expected_size == k
    assert {len(S) for S in law.sample(20, 0)} == {k}
    assert len(law.map()) == k


def test_conditions_are_renormalising(q):
    law, after = FixedSize(q, 3), FixedSize(q, 3).condition(include=[1], exclude=[4])
    rest = [np.array(S) for S in all_sets(6) if len(S) == 3 and 1 in S and 4 not in S]
    total = np.logaddexp.reduce([law.log_prob(S) for S in rest])
    for S in rest:
        inside = np.flatnonzero(np.isin(after.items, np.setdiff1d(S, [1])))
        assert after.log_prob(inside) == pytest.approx(law.log_prob(S) - total, abs=1e-9)


def test_no_size_is_q_itself_and_impossible_sizes_are_refused(q):
    assert of_size(q, None) is q
    with pytest.raises(ValueError, match="size must be between 0 and 6"):
        FixedSize(q, 7)
    with pytest.raises(ValueError, match="size must be 2, the size of all sets here, got 3"):
        FixedSize(q, 2).map(3)
