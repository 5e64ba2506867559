"""Rules against an independent optimiser of the expected log-likelihood, and their draws against least squares."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

from panel_problems import COVARIATES, DRAWS, REFERENCES, WEIGHTS, M, N, X, classes, counts, dense, exclusive, numbers
from variegate.design import Design
from variegate.likelihoods import Softmax
from variegate.panels import Outcome, Reference, no_covariates
from variegate.panels.rule import fitted_rule

S = np.array([1, 4, 6])
Z = np.column_stack([np.ones(N), X[:, S]])
LINKS = {"classes": "logit", "many classes": "logit", "counts": "log", "survival": "hazard", "strata": "hazard"}
references = pytest.mark.parametrize("name", REFERENCES)


def rule_of(reference, name, C=S, covariates=None):
    design = Design.of(X, np.ones(N))
    always = no_covariates(np.ones(N)) if covariates is None else Design.of(covariates, np.ones(N))
    columns = np.concatenate([C, M + np.arange(always.shape[1])])
    return fitted_rule(reference, design, C, always, Outcome(LINKS.get(name)), columns, M + always.shape[1], None)


@pytest.mark.parametrize("name", [name for name in REFERENCES if name != "many classes"])
def test_coefficients_maximise_the_expected_log_likelihood(name):
    """Its gradient is Zᵀ(slope(Zβ) − slopes): an optimiser that knows only values finds the same coefficients."""
    reference = REFERENCES[name]
    rule = rule_of(reference, name)
    for k, terms in enumerate(reference.terms):
        expected = reference.slopes[k]

        def loss(beta, terms=terms, expected=expected):
            return expected @ (Z @ beta) - terms.derivatives(Z @ beta).value

        start = np.append(reference.eta[k].mean(), np.zeros(len(S)))
        found = minimize(loss, start, method="BFGS", options={"gtol": 1e-7}).x
        np.testing.assert_allclose(rule.coef[k], found[1:], atol=1e-4)
        if LINKS.get(name) != "hazard":
            assert rule.intercept[k] == pytest.approx(found[0], abs=1e-4)


def test_coefficients_of_several_classes_are_those_of_logistic_regression():
    """On rows repeated for each class, with its probability as their weight."""
    reference = exclusive(DRAWS)
    share = reference.probabilities * WEIGHTS
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000)
    model.fit(np.tile(X[:, S], (3, 1)), np.repeat([0, 1, 2], N), sample_weight=share.ravel())
    rule = rule_of(reference, "many classes")
    np.testing.assert_allclose(rule.probabilities(X), model.predict_proba(X[:, S]), atol=1e-5)
    np.testing.assert_allclose(rule.coef.sum(axis=0), 0, atol=1e-9)


def test_ordered_classes_are_told_apart_by_one_column():
    """The class in the middle, against the rest, has no linear predictor."""
    eta = np.array([-2.0, 0.0, 2.0])[:, None] * X[:, 4] + [[0.0], [1.0], [0.0]]
    reference = Reference(eta - eta.mean(axis=0), Softmax(WEIGHTS))
    rule = rule_of(reference, "many classes", np.array([4]))
    np.testing.assert_allclose(rule.probabilities(X), softmax(eta, axis=0).T, atol=1e-5)


@pytest.mark.parametrize("name", ["numbers", "weights", "outcomes", "draws"])
def test_rules_of_numbers_are_projections(name):
    reference = REFERENCES[name]
    w = reference.curvature.precision
    beta = np.linalg.solve(Z.T @ (w[:, None] * Z), Z.T @ (w[:, None] * reference.eta.T))
    rule = rule_of(reference, name)
    np.testing.assert_allclose(rule.intercept, beta[0], atol=1e-7)
    np.testing.assert_allclose(rule.coef, beta[1:].T, atol=1e-7)


@pytest.mark.parametrize("reference", [classes(1, DRAWS), exclusive(DRAWS)])
def test_probabilities_have_the_mean_of_those_of_the_draws(reference):
    """Overall and within every column: calibrated, as logistic regression on the outcomes drawn would be."""
    rule = rule_of(reference, "classes")
    p = expit(DRAWS[:, :1]).mean(axis=0) if len(reference.eta) == 1 else softmax(DRAWS, axis=1).mean(axis=0)
    np.testing.assert_allclose((rule.means(X) * WEIGHTS[:, None]).T @ Z, (p * WEIGHTS) @ Z, atol=1e-5)


@pytest.mark.parametrize("name", [name for name, r in REFERENCES.items() if r.draws is not None])
def test_draws_of_a_rule_are_those_of_the_reference_projected(name):
    reference = REFERENCES[name]
    rule, H = rule_of(reference, name), dense(reference.curvature)
    inner = np.linalg.pinv(Z.T @ H @ Z, rcond=1e-9, hermitian=True)  # of survival: the level is free
    projected = np.einsum("ab,bn,dkn->dka", inner, Z.T @ H, reference.draws)
    coefs = projected[..., 1:] - projected[..., 1:].mean(axis=0) + rule.coef
    np.testing.assert_allclose(rule.drawn_coefs, coefs, atol=1e-6)
    np.testing.assert_allclose(rule.drawn_coefs.mean(axis=0), rule.coef, atol=1e-9)
    np.testing.assert_allclose(rule.drawn_intercepts.mean(axis=0), rule.intercept, atol=1e-9)


def test_a_number_varies_by_noise_and_by_what_the_rule_leaves_of_each_draw():
    reference = numbers(2, WEIGHTS, DRAWS)
    rule, root = rule_of(reference, "draws"), np.sqrt(WEIGHTS)
    for d, drawn in enumerate(DRAWS):
        for k in range(2):
            left = np.linalg.lstsq(root[:, None] * Z, root * drawn[k], rcond=None)[1][0]
            assert rule.scales[d, k] == pytest.approx(np.sqrt(k + 1 + left / WEIGHTS.sum()), rel=1e-6)


def test_with_all_columns_the_rule_is_the_reference():
    eta = X @ np.linspace(-1, 1, M) * 0.3 + 0.7
    for reference, name in ((numbers(), "numbers"), (classes(), "classes"), (counts(), "counts")):
        exact = type(reference)(eta[None], reference.terms, reference.noise)
        np.testing.assert_allclose(rule_of(exact, name, np.arange(M)).linear(X)[:, 0], eta, atol=1e-5)


@references
def test_covariates_are_columns_of_the_rule(name):
    reference, both = REFERENCES[name], np.column_stack([X, COVARIATES])
    rule = rule_of(reference, name, covariates=COVARIATES)
    assert rule.columns.tolist() == [*S, M, M + 1]
    few = rule.linear(both[:, rule.columns])
    np.testing.assert_allclose(rule.linear(both), few)
    rows = np.vstack([np.ones(N), both[:, rule.columns].T])
    if name == "many classes":
        gaps = WEIGHTS * (softmax(few, axis=1).T - reference.probabilities)
    else:
        terms = enumerate(reference.terms)
        gaps = [term.derivatives(few[:, k]).slope - reference.slopes[k] for k, term in terms]
    np.testing.assert_allclose(np.asarray(gaps) @ rows.T, 0, atol=1e-4)
