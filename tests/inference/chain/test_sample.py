"""How `sample` behaves, and the q it returns."""

from dataclasses import replace

import numpy as np
import pytest

from chain_problems import make_target
from variegate.dpp import LowRankDPP
from variegate.inference import ChainSettings, ConvergenceWarning, Target, sample
from variegate.inference.chain import run
from variegate.likelihoods import Gaussian
from variegate.priors import bernoulli_prior

pytestmark = pytest.mark.usefixtures("chains")

NOT = {"average_size": False, "average_slab": False}
GIVEN = ChainSettings(**NOT)
NONE = np.empty(0, dtype=np.int64)
RARELY = np.array([0.2, 0.1, 1.0, 0.1, 1.0, 0.1, 0.2])


def test_a_seed_determines_everything_whatever_the_number_of_threads(monkeypatch):
    target = make_target("dpp", task="logistic", M=8)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    one = sample(target, 5)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    two = sample(target, 5)
    assert np.array_equal(one.inclusion, two.inclusion)
    assert all(np.array_equal(S, T) for S, T in zip(one.sets, two.sets, strict=True))
    assert not np.array_equal(sample(target, 6).inclusion, one.inclusion)


def test_ctrl_c_keeps_what_there_is():
    def stop(progress):
        if progress.laps > 8:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="Interrupted"):
        found = sample(make_target(M=8), 1, ChainSettings(tol=1e-6), callback=stop)
    assert found.interrupted
    assert not found.converged
    assert (found.inclusion_errors >= 0).all()
    assert len(found.sets) > 0


def test_ctrl_c_before_there_is_anything_goes_on_its_way(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "_burn_in", stop)
    with pytest.raises(KeyboardInterrupt):
        sample(make_target(M=8), 1)


def test_the_limit_is_said():
    with pytest.warns(ConvergenceWarning, match="Monte Carlo error"):
        found = sample(make_target(M=8), 1, ChainSettings(tol=1e-6, max_laps=3))
    assert not found.converged
    assert found.n_iter == 3


@pytest.mark.parametrize("settings", [{"tol": 0.0}, {"tol": np.nan}, {"max_laps": 0}, {"max_laps": 2.5}])
def test_settings_are_checked(settings):
    with pytest.raises(ValueError, match="must be"):
        ChainSettings(**settings)


@pytest.mark.parametrize("size", [None, 3])
def test_q_has_the_inclusion_probabilities_of_the_chain(size):
    found = sample(make_target("dpp", M=8, size=size), 1)
    assert isinstance(found.q, LowRankDPP)
    reached = found.q.inclusion_prob() if size is None else found.q.inclusion_prob_fixed_size(size)
    assert np.abs(reached - found.inclusion).max() < 2e-3
    assert found.q_difference == np.abs(reached - found.inclusion).max()


def test_q_that_cannot_have_the_inclusion_probabilities_warns():
    """Two copies with 0.9 each: no DPP has that."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    phi = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    target = Target(Gaussian(X, X.sum(axis=1)), bernoulli_prior(3, expected_size=1), phi=phi)
    found = sample(target, 1)
    assert found.inclusion.min() > 0.9
    with pytest.warns(ConvergenceWarning, match="only to within 0.5"):
        reached = found.q.inclusion_prob()
    assert found.q_difference == np.abs(reached - found.inclusion).max() > 0.4


def test_conditions_repeat_with_a_fit_and_differ_between_fits():
    found = sample(make_target(M=8), 1, GIVEN)
    other = replace(found, inclusion=np.nextafter(found.inclusion, 0.0))
    first, again, others = (each.given(NONE, np.array([0])).inclusion for each in (found, found, other))
    np.testing.assert_array_equal(first, again)
    assert (first != others).any()


def test_q_under_conditions_is_over_the_open_features():
    found = sample(make_target("dpp", M=8), 1).given(np.array([2]), np.array([0]))
    assert found.q.items.tolist() == [1, 3, 4, 5, 6, 7]
    assert np.abs(found.q.inclusion_prob() - found.inclusion[found.q.items]).max() < 2e-3
