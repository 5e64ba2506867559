"""The exact sampler against enumeration, and a wrong one that the same check rejects."""

import numpy as np
import pytest

from inference_problems import Exact, make_target
from variegate.inference import Target, sample_posterior
from variegate.priors import dpp_prior


@pytest.mark.parametrize("prior", ["dpp", "bernoulli"])
@pytest.mark.parametrize("task", ["gaussian", "logistic"])
def test_inclusion_probabilities(task, prior):
    target = make_target(prior, "dpp", task=task, r=0.8, seed=0, M=10)
    truth = Exact(target).inclusion
    sample = sample_posterior(target, 30_000, np.random.default_rng(1))
    np.testing.assert_allclose(sample.inclusion, truth, atol=0.02)
    assert sample.expected_size() == pytest.approx(truth.sum(), abs=0.05)
    assert 0 < sample.effective_size <= 30_000


def test_states_follow_the_posterior_only_with_their_weights():
    target = make_target("bernoulli", "dpp", r=0.9, seed=1, M=8)
    exact = Exact(target)
    sample = sample_posterior(target, 30_000, np.random.default_rng(1))
    index = {S.tobytes(): i for i, S in enumerate(exact.sets)}
    visited = [index[S.tobytes()] for S in sample.sets]
    weighted = np.bincount(visited, sample.weights, minlength=len(exact.sets))
    plain = np.bincount(visited, minlength=len(exact.sets)) / len(visited)
    assert np.abs(weighted - exact.posterior).sum() < 0.06
    assert np.abs(plain - exact.posterior).sum() > 0.2  # the tempered chain itself is somewhere else


def test_fixed_size_is_refused_with_a_reason():
    with pytest.raises(ValueError, match="any size"):
        sample_posterior(make_target(size=3), 10, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_steps": 0}, "n_steps must be at least 1"),
        ({"burn_in": -1}, "burn_in must not be negative"),
        ({"start": [9]}, "start must hold positions from 0 to 7"),
        ({"start": [1, 1]}, "more than once"),
        ({"start": [0, 1]}, "probability zero under the DPP prior"),
    ],
)
def test_bad_arguments(arguments, message):
    target = make_target(M=8)
    phi = target.phi.copy()
    phi[1] = phi[0]
    target = Target(target.likelihood, dpp_prior(phi, expected_size=2))
    with pytest.raises(ValueError, match=message):
        sample_posterior(target, **{"n_steps": 10, "rng": np.random.default_rng(0), **arguments})
