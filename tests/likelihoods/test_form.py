"""What follows from one factor of a set, against the textbook."""

import numpy as np
import pytest

from variegate.likelihoods import Form, Neighbours, Noise, compiled_gain, factorise, gain

C, SLAB = 6, 0.7
RNG = np.random.default_rng(0)
Z, PRECISION, FIXED = RNG.normal(size=(C, 20)), RNG.random(20), 0.1 * RNG.normal(size=(2, C))
B = 2.0 * RNG.normal(size=C)
NOISES = {"known": Noise(), "integrated out": Noise(4.0, 60.0, 0.5)}
noises = pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
SETS = pytest.mark.parametrize("S", [np.arange(0), np.array([2]), np.array([0, 3, 4])], ids=len)
GRAM = (Z * PRECISION) @ Z.T - FIXED.T @ FIXED


def log_evidence(S, noise):
    """The formula of `Form`."""
    S = np.sort(np.asarray(S, dtype=np.int64))
    A = GRAM[np.ix_(S, S)] + SLAB * np.eye(len(S))
    q, x = np.linalg.slogdet(A)[1] - len(S) * np.log(SLAB), B[S] @ np.linalg.solve(A, B[S])
    return -0.5 * q + (0.5 * x if noise.shape == 0 else -noise.shape * np.log(noise.rate - 0.5 * x))


def neighbours(S, noise):
    form = Form(PRECISION, FIXED, np.diag(GRAM), B, noise)
    rows = form.rows(Z, S)
    return Neighbours.of(factorise(rows[:, S], B[S], SLAB), rows, form.diagonal, form.information, SLAB, noise)


@SETS
@noises
def test_flip_gains_are_differences(noise, S):
    for m, found in enumerate(neighbours(S, noise).flip_gains(S)):
        expected = log_evidence(np.union1d(S, [m]), noise) - log_evidence(np.setdiff1d(S, [m]), noise)
        assert found == pytest.approx(expected, abs=1e-10)


@SETS
@noises
def test_exchange_gains_are_differences(noise, S):
    gains = neighbours(S, noise).exchange_gains(len(S))
    assert gains.shape == (len(S), C)
    for j in range(len(S)):
        for m in np.setdiff1d(np.arange(C), S):
            expected = log_evidence(np.append(np.delete(S, j), m), noise) - log_evidence(S, noise)
            assert gains[j, m] == pytest.approx(expected, abs=1e-10)


@noises
def test_columns_always_in_the_model_may_follow_in_the_factor(noise):
    """Integrating two columns out is the same as keeping them in the factor."""
    S, always = np.array([1, 3]), np.array([4, 5])
    both, prior = np.concatenate([S, always]), np.repeat([SLAB, 0.3], 2)
    whole = factorise(GRAM[np.ix_(both, both)], B[both], prior)
    near = Neighbours.of(whole, GRAM[both].copy(), np.diag(GRAM), B, SLAB, noise)
    alone = factorise(GRAM[np.ix_(always, always)], B[always], 0.3)
    rest = Neighbours.of(alone, GRAM[always].copy(), np.diag(GRAM), B, 0.0, noise)
    form = Form(PRECISION, rest.V, rest.d, rest.e, rest.noise)
    rows = GRAM[S] - form.fixed[:, S].T @ form.fixed
    other = Neighbours.of(
        factorise(rows[:, S], form.information[S], SLAB), rows, form.diagonal, form.information, SLAB, rest.noise
    )
    np.testing.assert_allclose(near.flip_gains(S)[:4], other.flip_gains(S)[:4], atol=1e-10)
    np.testing.assert_allclose(near.exchange_gains(2)[:, :4], other.exchange_gains(2)[:, :4], atol=1e-10)


@noises
def test_the_compiled_gain_is_the_same(noise):
    for x in (-3.0, 0.0, 2.0, 500.0):  # the last is more than there is to explain
        assert compiled_gain(x, *noise) == pytest.approx(gain(x, *noise), abs=1e-14)


def test_a_form_over_some_columns():
    form = Form(PRECISION, FIXED, np.diag(GRAM), B)
    some = np.array([4, 0, 2])
    np.testing.assert_allclose(form.take(some).rows(Z[some], np.arange(3)), GRAM[np.ix_(some, some)])
