"""The distributions as objects: pickled, shared between threads, given numbers of every type."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dpp_problems import NAMES, problem
from variegate import IndependentSets, LowRankDPP

rng = np.random.default_rng(0)
BOTH = [
    LowRankDPP(rng.normal(size=(8, 5)), rng.normal(size=8), items=list("abcdefgh")),
    IndependentSets(np.arange(8.0)),
]


@pytest.mark.parametrize("name", NAMES)
def test_pickling_keeps_the_law_and_leaves_out_what_was_computed(name):
    q, _ = problem(name)
    bare = len(pickle.dumps(q.rescaled(0.3)))
    q.sample(3, 0), q.sample_fixed_size(1, 3, 0), q.map()
    data = pickle.dumps(q)
    again = pickle.loads(data)
    assert len(data) == pytest.approx(bare, rel=0.05)
    assert type(again) is type(q)
    assert again.items.tolist() == q.items.tolist()
    assert [S.tolist() for S in again.sample(5, 1)] == [S.tolist() for S in q.sample(5, 1)]
    assert not again.theta.flags.writeable
    assert isinstance(q, IndependentSets) or not again.phi.flags.writeable


@pytest.mark.parametrize("q", BOTH)
def test_threads_may_share_an_object(q):
    sizes = [1, 2, 3, 4, 5] * 40
    want = {k: q.log_normalizer_fixed_size(k) for k in set(sizes)}
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(q.log_normalizer_fixed_size, sizes)) == [want[k] for k in sizes]
        draws = list(pool.map(lambda k: q.sample_fixed_size(k, 3, k), sizes))
    for k, drawn in zip(sizes, draws, strict=True):
        assert [S.tolist() for S in drawn] == [S.tolist() for S in q.sample_fixed_size(k, 3, k)]


def test_the_sizes_last_asked_for_are_kept():
    q = LowRankDPP(rng.normal(size=(8, 5)), np.zeros(8))
    first = q._centred_on(1)[0]
    q._centred_on(2), q._centred_on(1), q._centred_on(3)
    assert q._centred_on(1)[0] is first  # 2 was used less recently
    assert list(q._centred) == [3, 1]


@pytest.mark.parametrize("one", [True, np.uint64(1), np.int32(1), np.array(1)])
@pytest.mark.parametrize("q", BOTH)
def test_whole_numbers_of_every_type(q, one):
    assert [S.tolist() for S in q.sample_fixed_size(one, one, 0)] == [S.tolist() for S in q.sample_fixed_size(1, 1, 0)]
    assert q.log_normalizer_fixed_size(one) == q.log_normalizer_fixed_size(1)
    assert (q.inclusion_prob_fixed_size(one) == q.inclusion_prob_fixed_size(1)).all()
    assert q.map(one).tolist() == q.map(1).tolist()


@pytest.mark.parametrize("size", [1e-300, 1e-30, 4.9999999])
@pytest.mark.parametrize("q", BOTH)
def test_expected_sizes_near_the_ends(q, size):
    assert q.rescaled(size).expected_size == pytest.approx(size, rel=1e-9)


def test_python_sets_are_sets():
    for q in BOTH:
        assert q.log_prob({3, 1}) == q.log_prob([1, 3])
        assert q.log_prob(set()) == q.log_prob([])


def test_labels_are_copied_and_frozen():
    labels = np.arange(3)
    q = IndependentSets(np.zeros(3), items=labels)
    labels[0] = 99
    assert q.items.tolist() == [0, 1, 2]
    assert not q.items.flags.writeable
