"""The rule of a panel: a linear predictor in its columns alone that repeats a model's predictions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logit, softmax

from ..design import Design
from ..likelihoods import Expected, Softmax, count_law, fitted_coefficients, table
from ..predictions import INVERSE_LINKS, PredictiveMixture, step_functions
from ..types import FloatArray, IntArray
from .reference import Reference

NEVER = 1e-12  # probabilities are at least this far from 0 and 1
FAINT = 1e-9  # of Σw: the ridge of draws, so that copies of a column do no harm


class Outcome(NamedTuple):
    """What the predictor is of: the link of the mean, the classes if there are any, and the dispersion of counts.

    >>> Outcome("logit", np.array(["ill", "well"])).link
    'logit'
    """

    link: str | None = None  # as in `Predictive`
    classes: NDArray[Any] | None = None
    dispersion: float = 0.0
    event_times: FloatArray | None = None  # (2, T) strata and times of events
    baseline: Callable[[FloatArray], FloatArray] | None = (
        None  # cumulative hazard (T,) of the average row, from η (N,)
    )


@dataclass(frozen=True, eq=False)
class Rule:
    """η = intercept + X_C coef for each of K outcomes, in the units of X, where C are the panel's columns.

    Its means are those of the reference as closely as a linear predictor in C can have them. Draws are the same for
    draws from the reference, of which the rule's own coefficients are the centre.
    """

    columns: IntArray  # (c,) of X, sorted: the members' and those always included
    n_columns: int  # of X
    names: NDArray[Any] | None  # (c,)
    outcome: Outcome
    intercept: FloatArray  # (K,)
    coef: FloatArray  # (K, c)
    drawn_intercepts: FloatArray  # (D, K); D = 0 if the reference has no draws
    drawn_coefs: FloatArray  # (D, K, c)
    scales: FloatArray  # (D or 1, K) of numbers: noise, and what each draw's rule leaves unexplained
    hazard: FloatArray | None = None  # (T,) cumulative, of the average row, at the times of events

    def linear(self, X: Any) -> FloatArray:
        """η of new rows (n, K)."""
        return np.asarray(self.intercept + self.rows(X) @ self.coef.T)

    def rows(self, X: Any) -> FloatArray:
        """The panel's columns (n, c) of new rows, which have these, those of the fit, or others with their names."""
        if self.names is not None and hasattr(X, "columns"):
            missing = [name for name in self.names if name not in X.columns]
            if missing:
                raise ValueError(f"X must have the panel's {len(self.names)} columns, but lacks {missing[0]!r}.")
            X = X[list(self.names)].to_numpy()
        X = sparse.csc_array(X) if sparse.issparse(X) else np.asarray(X)
        if not len(self.columns):
            return np.empty((X.shape[0], 0))
        X = table(X[:, self.columns] if X.ndim == 2 and X.shape[1] == self.n_columns else X)  # others may be missing
        if X.shape[1] != len(self.columns):
            raise ValueError(
                f"X must have the panel's {len(self.columns)} columns, or all {self.n_columns} of the fit, got "
                f"{X.shape[1]}."
            )
        return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)

    def laws(self, X: Any, exposure: Any = None) -> list[PredictiveMixture]:
        """The predictive law of new rows for each outcome, a mixture over the draws' rules."""
        rows = self.rows(X)
        drawn = self.drawn_intercepts[:, :, None] + self.drawn_coefs @ rows.T
        if not len(drawn):
            drawn = (self.intercept + rows @ self.coef.T).T[None]
        if self._exclusive:
            drawn = logit(np.clip(softmax(drawn, axis=1), NEVER, 1.0 - NEVER))  # each class against the rest
        laws = [self._law(drawn[:, k], self.scales[:, k, None]) for k in range(drawn.shape[1])]
        return laws if exposure is None else [law.exposed(self.exposed(len(rows), exposure)) for law in laws]

    def exposed(self, n: int, exposure: Any) -> FloatArray:
        """Exposures (n,) of counts: one for all rows, or one each."""
        if self.outcome.link != "log":
            raise ValueError("exposure is for counts; leave it out.")
        found = np.asarray(exposure, dtype=np.float64)
        if found.shape not in ((), (n,)) or not (found > 0).all():
            raise ValueError(f"exposure must be a number above zero, or one for each of the {n} rows.")
        return np.broadcast_to(found, n)

    def _law(self, latent: FloatArray, noise: FloatArray) -> PredictiveMixture:
        link, none, dispersion = self.outcome.link, np.zeros_like(latent), self.outcome.dispersion
        weights = np.full(len(latent), 1 / len(latent))
        if link is None:
            return PredictiveMixture(weights, latent, noise + none, latent, none, np.inf)
        if link == "log":
            found = count_law(latent, none, dispersion)
            return PredictiveMixture(
                weights, found.mean, found.scale, latent, none, np.inf, link, np.full(len(latent), dispersion)
            )
        mean = np.asarray(INVERSE_LINKS[link](latent))
        return PredictiveMixture(weights, mean, np.sqrt(np.abs(mean * (1 - mean))), latent, none, np.inf, link)

    def means(self, X: Any, exposure: Any = None) -> FloatArray:
        """E[y], the probability of the second of two classes or of each, counts, or log hazard ratios (n, K)."""
        eta, link = self.linear(X), self.outcome.link
        if self._exclusive:
            return np.asarray(softmax(eta, axis=1))
        found = eta if link is None else np.asarray(np.exp(eta) if link == "log" else INVERSE_LINKS[link](eta))
        return found if exposure is None else found * self.exposed(len(found), exposure)[:, None]

    def probabilities(self, X: Any) -> FloatArray:
        """Of each class (n, K), rows summing to one."""
        p = self.means(X)
        return p if self._exclusive else np.hstack([1 - p, p])

    @property
    def _exclusive(self) -> bool:
        """Whether there are more than two classes."""
        return self.outcome.link == "logit" and len(self.intercept) > 1

    def survival(self, X: Any, stratum: int) -> NDArray[Any]:
        """P(no event until t) of new rows (n,), functions of t."""
        assert self.outcome.event_times is not None
        assert self.hazard is not None
        here = self.outcome.event_times[0] == stratum
        if not here.any():
            known = np.unique(self.outcome.event_times[0]).astype(int).tolist()
            raise ValueError(f"stratum must be one in which an event happened, {known}, got {stratum!r}.")
        values = np.exp(-np.outer(np.exp(self.linear(X)[:, 0]), self.hazard[here]))
        return step_functions(self.outcome.event_times[1, here], values, before=1.0)


def fitted_rule(
    reference: Reference,
    design: Design,
    C: IntArray,
    covariates: Design,
    outcome: Outcome,
    columns: IntArray,
    n_columns: int,
    names: NDArray[Any] | None,
) -> Rule:
    """The rule in the columns C of a design and all covariates, which are `columns` (c,) of X.

    Its coefficients solve Zᵀ(slope(Zβ) − slopes) = 0 for Z with intercept, so that its means, or the probabilities of
    several classes, have the reference's product with every column. Draws β_d minimise |η_d − Zβ|²_H. The average row
    has log hazard ratio 0.
    """
    Z = np.concatenate([design.column_rows(C), covariates.column_rows(np.arange(covariates.shape[1]))])
    beta = _coefficients(reference, Z, outcome)
    drawn, scales = _drawn(reference, np.vstack([np.ones(Z.shape[1]), Z]), beta)
    scale = np.concatenate([design.inverse_scale[C], covariates.inverse_scale])
    centre = np.concatenate([design.centre[C], covariates.centre])
    order = np.argsort(columns, kind="stable")

    def in_units(b: FloatArray) -> tuple[FloatArray, FloatArray]:
        coef = b[..., 1:] * scale
        return b[..., 0] - coef @ centre, coef[..., order]

    return Rule(
        columns[order], n_columns, None if names is None else names[columns[order]], outcome,
        *in_units(beta), *in_units(drawn), scales,
        None if outcome.baseline is None else outcome.baseline(beta[0, 0] + beta[0, 1:] @ Z),
    )  # fmt: skip


def _coefficients(reference: Reference, Z: FloatArray, outcome: Outcome) -> FloatArray:
    """(K, 1 + c)."""
    if isinstance(reference.terms, Softmax):
        return reference.terms.fitted(reference.probabilities, Z.T)
    levels = np.zeros(len(reference.eta)) if outcome.link == "hazard" else reference.eta.mean(axis=1)
    return np.stack([
        fitted_coefficients(Expected(terms, slope, float(level)), Z.T, 0.0)
        for terms, slope, level in zip(reference.terms, reference.slopes, levels, strict=True)
    ])  # fmt: skip


def _drawn(reference: Reference, Z: FloatArray, beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Coefficients (D, K, 1 + c) that repeat each draw, with mean β, and scales (D or 1, K) of new numbers.

    A scale is √(noise + what the rule leaves of the draw per row).
    """
    noise = np.zeros((1, len(beta))) if reference.noise is None else reference.noise[None]
    if reference.draws is None:
        return np.empty((0, *beta.shape)), np.sqrt(noise)
    weighted = reference.curvature.times(Z)
    inner = weighted @ Z.T
    found = reference.draws @ np.linalg.solve(inner + FAINT * reference.rows * np.eye(len(Z)), weighted).T
    if reference.noise is not None:
        noise = noise + reference.squared(reference.draws - found @ Z) / reference.rows
    return found + (beta - found.mean(axis=0)), np.sqrt(noise)
