"""The expected loss against its formula, and against exact divergences of rules refitted by an optimiser."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, softmax

from panel_problems import COVARIATES, DRAWS, REFERENCES, WEIGHTS, N, X, classes, exclusive, numbers, remainder_of
from variegate.likelihoods import CoxTerms, Logits, PoissonTerms, Squares
from variegate.panels import Reference

references = pytest.mark.parametrize("name", REFERENCES)


def divergence_of_classes(w, own, eta):
    p, q = expit(own), expit(eta)
    return w @ (p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q)))


def divergence_of_counts(w, own, eta):
    mu, nu = w * np.exp(own), w * np.exp(eta)
    return (mu * (own - eta) - mu + nu).sum()


def divergence_of_events(w, own, eta):
    """Which of those at risk has the event, at each of the distinct times, where every row has its event."""
    total = 0.0
    for i in np.flatnonzero(w):
        risk = (TIMES[i] <= TIMES) & (w > 0)
        p, q = softmax(own[risk]), softmax(eta[risk])
        total += p @ np.log(p / q)
    return total


TIMES = np.random.default_rng(5).permutation(np.arange(1.0, N + 1))
SEEN = (WEIGHTS > 0).astype(float)
OUTCOMES = {
    "classes": (divergence_of_classes, Logits(np.zeros(N), SEEN)),
    "counts": (divergence_of_counts, PoissonTerms(np.zeros(N), np.zeros(N), SEEN)),
    "survival": (divergence_of_events, CoxTerms.of(TIMES, np.ones(N, dtype=bool), weights=SEEN)),
}


@pytest.mark.parametrize("name", OUTCOMES)
def test_half_of_what_is_left_is_the_divergence_of_the_best_rule(name):
    """Up to third order in the departure of the reference from what the set can express."""
    divergence, terms = OUTCOMES[name]
    S, Z = np.array([0, 2]), np.column_stack([np.ones(N), X[:, [0, 2]]])
    errors = []
    for size in (0.2, 0.02):
        eta = 0.5 * X[:, 0] - 0.4 * X[:, 2] + size * np.sin(3 * X[:, 4])
        reference = Reference(eta[None], [terms])
        remainder = remainder_of(reference)
        loss = float(reference.loss(remainder.left(S, 1e-9 * remainder.weight)))
        best = minimize(lambda beta, eta=eta: divergence(SEEN, eta, Z @ beta), np.zeros(3), options={"gtol": 1e-9})
        errors.append(abs(loss / best.fun - 1))
    assert errors[0] < 0.05
    assert errors[1] < 0.3 * errors[0]


def test_the_loss_of_numbers_is_that_of_a_larger_noise():
    """Rows with noise s² and an error of mean square e² look like noise s² + e²: n/2 log(1 + e²/s²)."""
    reference = numbers(2, WEIGHTS, DRAWS)
    left, n = np.arange(2 * len(reference.targets), dtype=float).reshape(2, -1), WEIGHTS.sum()
    for row, found in zip(left, reference.loss(left), strict=True):
        of_outcome = [row[reference.owner[:, k] > 0].sum() for k in range(2)]
        assert found == pytest.approx(
            sum(n / 2 * np.log(1 + e / (n * s2)) for e, s2 in zip(of_outcome, [1, 2], strict=True))
        )


def test_the_loss_of_other_outcomes_is_half_of_what_is_left():
    reference = classes(3, DRAWS)
    left = np.arange(float(len(reference.targets)))
    assert reference.loss(left) == pytest.approx(0.5 * left.sum())


@references
def test_targets_keep_the_mean_over_draws_of_what_a_set_leaves(name):
    """Exactly, with as many parts as draws have directions (here M, the draws being linear in X)."""
    reference = REFERENCES[name]
    remainder = remainder_of(reference)
    for S in ([], [1], [0, 2, 5]):
        S = np.array(S, dtype=int)
        found = remainder.left(S, 1e-9 * remainder.weight) @ reference.owner
        each = remainder.left(S, 1e-9 * remainder.weight, remainder_of_draws(remainder, reference))
        np.testing.assert_allclose(found.sum(), each.reshape(-1, len(reference.eta)).mean(axis=0).sum(), rtol=2e-3)


def remainder_of_draws(remainder, reference):
    """With the draws, moved so that η is their mean, as targets."""
    drawn = reference.eta[None]
    if reference.draws is not None:
        drawn = reference.draws - reference.draws.mean(axis=0) + reference.eta
    return replace(remainder, targets=drawn.reshape(-1, N))


@pytest.mark.parametrize("name", ["draws", "many classes"])
def test_covariates_take_no_principal_parts(name):
    """Effects of covariates that are not known at all do not displace what a set could explain."""
    reference = replace(REFERENCES[name], covariates=COVARIATES.T)
    wild = reference.draws + 50 * np.random.default_rng(0).normal(size=(12, 1, 2)) @ COVARIATES.T
    remainder = remainder_of(reference, covariates=COVARIATES)
    moved = replace(
        reference, draws=wild, terms=[Squares(np.zeros(N), remainder.curvature.precision)] * len(reference.eta)
    )
    still = replace(reference, terms=moved.terms)
    for S in (np.array([1]), np.array([0, 2, 5])):
        found, expected = (remainder_of(r, covariates=COVARIATES).left(S, 0.1).sum() for r in (moved, still))
        assert found == pytest.approx(expected, rel=2e-3)


def test_the_curvature_of_exclusive_classes_is_a_mean_of_eigenvalues():
    reference = exclusive(DRAWS)
    expected = np.zeros(N)
    for p in softmax(DRAWS, axis=1).transpose(0, 2, 1):
        values = np.linalg.eigvalsh(np.einsum("nk,kl->nkl", p, np.eye(3)) - np.einsum("nk,nl->nkl", p, p))
        np.testing.assert_allclose(values[:, 0], 0, atol=1e-12)
        expected += WEIGHTS * values[:, 1:].mean(axis=1) / len(DRAWS)
    np.testing.assert_allclose(reference.curvature.precision, expected)


def test_without_draws_the_targets_are_the_predictions():
    assert np.array_equal(numbers(3).targets, numbers(3).eta)
    assert np.array_equal(numbers(3).owner, np.eye(3))
    assert numbers(3).uncertainty is None


@references
def test_uncertainty_is_what_the_fixed_part_leaves_of_the_draws(name):
    """So that it compares with what a set leaves: the level, and effects of covariates, are in every rule."""
    reference = replace(REFERENCES[name], covariates=COVARIATES.T)
    if reference.draws is None:
        assert reference.uncertainty is None
        return
    remainder = remainder_of(reference, covariates=COVARIATES)
    off = replace(remainder, targets=(reference.draws - reference.eta).reshape(-1, N))
    assert reference.uncertainty == pytest.approx(off.total.sum() / len(reference.draws))
    moved = replace(
        reference, draws=reference.draws + COVARIATES[:, 0] * np.arange(len(reference.draws))[:, None, None]
    )
    if moved.noise is not None:  # otherwise the curvature changes, too
        assert moved.uncertainty == pytest.approx(reference.uncertainty)
        assert len(moved.targets) == len(reference.targets)


def test_slopes_are_averaged_over_draws():
    reference = classes(2, DRAWS)
    expected = -WEIGHTS * expit(DRAWS[:, :2]).mean(axis=0)
    np.testing.assert_allclose(reference.slopes, expected)
    np.testing.assert_allclose(numbers(2, WEIGHTS, DRAWS).slopes, -WEIGHTS * numbers(2).eta)  # the mean is enough


def test_one_outcome_of_three_alone_loses_its_part():
    """Numbers: outcomes add up."""
    w, S = WEIGHTS, np.array([0, 3])
    alone = [Reference(numbers(3).eta[[k]], [Squares(np.zeros(N), w)], np.array([k + 1.0])) for k in range(3)]
    together = numbers(3, w)
    remainders = [remainder_of(reference) for reference in (*alone, together)]
    losses = [float(r.loss(f.left(S, 1.0))) for r, f in zip((*alone, together), remainders, strict=True)]
    assert sum(losses[:3]) == pytest.approx(losses[3])
