"""The posterior's predictions as a reference: means and draws against the posterior itself."""

import numpy as np
import pytest

import variegate as vg
from variegate.design import Design
from variegate.likelihoods import Gaussian, Logistic
from variegate.panels import Weighted, no_covariates, posterior_reference
from variegate.tasks import task_named

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")

RNG = np.random.default_rng(8)
N = 60
X = RNG.normal(size=(N, 4)) * [1, 1e8, 1e-8, 1] + [0, 1e8, 0, 2]
C = np.column_stack([RNG.normal(size=N), np.zeros(N)])
C[:, 1] = C[:, 0] + 0.1 * RNG.normal(size=N) + 7
ETA = X[:, 0] + X[:, 1] / 1e8 - 1 + C[:, 0]
OUTCOMES = {
    "regression": (Gaussian, ETA + RNG.normal(size=N)),
    "classification": (Logistic, (ETA + RNG.logistic(size=N) > 0).astype(float)),
}
S = np.array([0, 1, 2])


def one_set(task, covariates):
    """The reference from a single set, and its likelihood."""
    kind, y = OUTCOMES[task]
    likelihood = kind(X, y, covariates=covariates)
    design, w = Design.of(X, np.ones(N)), np.ones(N)
    fixed = no_covariates(w) if covariates is None else Design.of(covariates, w)
    centre = None if covariates is None else fixed.centre[None]
    sets = [Weighted(S, 1.0, likelihood.coefficients(S), likelihood.predictive(S, design.centre[None], centre))]
    terms = task_named(task).terms(y.astype(int) if task == "classification" else y, w)
    return posterior_reference([sets], terms, design, fixed, np.random.default_rng(0)), likelihood


@pytest.mark.parametrize("covariates", [None, C], ids=["alone", "covariates"])
@pytest.mark.parametrize("task", OUTCOMES)
def test_draws_have_the_law_of_the_linear_predictor(task, covariates):
    """In units from 1e-8 to 1e8, with covariates that nearly repeat each other; 100 draws."""
    reference, likelihood = one_set(task, covariates)
    law = likelihood.predictive(S, X, covariates)
    np.testing.assert_allclose(reference.eta[0], law.latent_mean, atol=1e-6)
    z = (reference.draws[:, 0] - law.latent_mean) / law.latent_scale
    assert np.abs(z.mean(axis=0)).max() < 0.5  # 5 standard errors
    assert np.median(z.std(axis=0)) == pytest.approx(1, abs=0.15)
    assert z.std(axis=0).min() > 0.6
    assert z.std(axis=0).max() < 1.5


@pytest.mark.parametrize("task", OUTCOMES)
def test_the_joint_covariance_is_that_of_the_linear_predictor(task):
    """xᵀ Cov x of (β, level, δ) is the squared scale of the predictor; its blocks are those returned alone."""
    reference, likelihood = one_set(task, C)
    found, law = likelihood.coefficients(S), likelihood.predictive(S, X, C)
    rows = np.column_stack([X[:, S] - X[:, S].mean(axis=0), np.ones(N), C - C.mean(axis=0)])
    shrink = 1.0 if np.isinf(found.dof) else (found.dof - 2) / found.dof
    np.testing.assert_allclose(
        np.einsum("na,ab,nb->n", rows, shrink * found.joint, rows), law.latent_scale**2, rtol=1e-6
    )
    np.testing.assert_allclose(found.joint[:3, :3], found.covariance)
    np.testing.assert_allclose(found.scales**2, shrink * np.delete(found.joint.diagonal(), 3))
    assert reference.covariates.shape == (2, N)


def test_the_noise_of_numbers_is_its_posterior_mean():
    reference, likelihood = one_set("regression", None)
    law = likelihood.predictive(S, X[:1])
    scale = law.scale[0] ** 2 - law.latent_scale[0] ** 2
    assert reference.noise[0] == pytest.approx(scale * law.dof / (law.dof - 2))


def test_the_reference_of_a_model_is_what_it_predicts():
    model = vg.DiverseRegressor(max_iter=4, random_state=0).fit(X, OUTCOMES["regression"][1])
    np.testing.assert_allclose(model.selection_.reference.eta[0], model.predict(X))
