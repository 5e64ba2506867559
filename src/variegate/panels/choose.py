"""Panels for any model's predictions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logit

from ..candidates import Candidates, by_column, choose_candidates, group_of_columns
from ..checks import check_labels, is_number
from ..design import Design, are_constant
from ..dpp import Rows, Volume
from ..likelihoods import Logits, PoissonTerms, Softmax, Squares, Terms, sample_weights, table
from ..naming import column_labels, find_positions
from ..sets import NOTHING
from ..side_information import similarity_features
from ..types import FloatArray, IntArray
from .chosen import Panel, Panels
from .reference import Reference
from .remainder import Remainder, Units
from .rule import Outcome
from .search import Search, guarding_ridge

HIDDEN = 0.05  # the guarding ridge may hide this share of what the model explains, and no more than it does not know
LINKS = {"regression": None, "classification": "logit", "counts": "log"}
NEVER = 1e-4  # probabilities are at least this far from 0 and 1, where log-odds say nothing about a model


def panel(
    X: Any,
    reference: Any,
    size: int,
    *,
    task: str = "regression",
    similarity: Any = "columns",
    diversity: float = 1.0,
    weights: Any = None,
    include: Any = (),
    exclude: Any = (),
    blocks: Any = None,
    noise: Any = None,
) -> Panel:
    """Choose the features to measure so that a rule on them repeats what a model predicts, whatever the model.

    Maximises −loss + β log ν(S) over sets S of a size: the loss of the best linear rule on S against the predictions,
    in nats, and the diversity of S.

    Parameters
    ----------
    X : (N, M) array, data frame or sparse table
    reference : (N,) or (N, K)
        What the model predicts for the rows of X: numbers; for `task="classification"` probabilities, of the second
        class or of each class; for `task="counts"` expected counts.
    size : number of features
    similarity, diversity : as for the estimators
    weights : (N,), optional, of the rows
    include, exclude : columns that are measured already, which count in the size, and that cannot be measured
    blocks : (M,) labels or {column: label}, optional, of columns that are measured together
    noise : variance of the outcome that the model does not explain, for numbers; None: the variance that it explains

    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> panel(X, X[:, 1] + 0.5 * X[:, 3], size=2).members
    ['x1', 'x3']
    """
    names = np.asarray(X.columns, dtype=object) if hasattr(X, "columns") else None
    check_diversity(diversity)
    check_labels(X)
    X = table(X)
    N, M = X.shape
    row_weights = sample_weights(weights, N, "weights")
    eta = _predictor(reference, N, task)
    whole = Design.of(X, row_weights)
    groups = group_of_columns(by_column(blocks, names, M, "blocks"))
    if not whole.varying.any():
        raise ValueError("X must have a column that varies, got constant columns only.")
    candidates = choose_candidates(M, NOTHING, groups, varying=whole.varying)
    design = whole.take(candidates.columns)
    terms = _terms(task, row_weights, len(eta))
    s2 = _noise(noise, eta, row_weights) if task == "regression" else None
    volume = None
    if diversity > 0:
        volume = Volume(Rows.of(similarity_features(similarity, design, row_weights, candidates, names)))

    labels = column_labels(names, M)
    classes = np.arange(max(len(eta), 2)) if task == "classification" else None

    def features(columns: IntArray) -> IntArray:
        return np.unique(candidates.unit[np.isin(candidates.columns, columns)])

    included, excluded = find_positions(include, names, M, "include"), find_positions(exclude, names, M, "exclude")
    constant = np.setdiff1d(included, candidates.columns)
    if len(constant):
        raise ValueError(f"include must hold columns that vary, got {labels[constant[0]]!r}, which is constant.")
    among = prepared(
        design, Reference(eta, terms, s2), candidates, volume, diversity,
        no_covariates(row_weights), candidates.unit_names(labels), names, Outcome(LINKS[task], classes),
        included=features(included), excluded=features(excluded),
    )  # fmt: skip
    return among.choose(size)


def prepared(
    design: Design,
    reference: Reference,
    candidates: Candidates,
    volume: Volume | None,
    diversity: float,
    covariates: Design,
    labels: NDArray[Any],
    names: NDArray[Any] | None,
    outcome: Outcome,
    likely: IntArray = NOTHING,
    included: IntArray = NOTHING,
    excluded: IntArray = NOTHING,
) -> Panels:
    """The panels that have some features and lack others, with the search for them."""
    _check_conditions(included, excluded, volume, labels)
    remainder = Remainder(design, reference.curvature, reference.targets, reference.fixed, Units.of(candidates.unit))
    unknown = reference.uncertainty
    tolerance = min(HIDDEN * float(remainder.total.sum()), np.inf if unknown is None else unknown)
    open_ = np.ones(candidates.n_units, dtype=bool)
    open_[np.union1d(included, excluded)] = False
    search = Search(
        remainder,
        reference.loss,
        volume if diversity > 0 else None,
        diversity,
        guarding_ridge(remainder, tolerance),
        open_,
        included,
    )
    return Panels(search, reference, candidates, labels, names, covariates, outcome, likely[open_[likely]])


def check_diversity(diversity: Any) -> None:
    """Raise unless it is a number from 0."""
    if not (is_number(diversity) and diversity >= 0):
        raise ValueError(f"diversity must be a number from 0, got {diversity!r}.")


def _check_conditions(included: IntArray, excluded: IntArray, volume: Volume | None, labels: NDArray[Any]) -> None:
    both = np.intersect1d(included, excluded)
    if len(both):
        raise ValueError(f"include and exclude must have no feature in common, got {labels[both[0]]!r} in both.")
    if volume is None:
        return
    kept = volume.independent(included, len(included))
    if len(kept) < len(included):
        copy = labels[np.setdiff1d(included, kept)[0]]
        raise ValueError(
            f"include must hold features whose similarities are independent, got {copy!r}, which is a copy or a "
            "combination of the others; leave it out, or give diversity=0."
        )


def no_covariates(weights: FloatArray) -> Design:
    """The design of no columns."""
    nothing = np.empty(0)
    return Design(np.empty((len(weights), 0)), nothing, nothing)


def _predictor(reference: Any, N: int, task: str) -> FloatArray:
    """η (K, N) of a model's predictions."""
    if task not in LINKS:
        raise ValueError(f"task must be one of {', '.join(map(repr, LINKS))}, got {task!r}.")
    given = table(np.reshape(reference, (-1, 1)) if np.ndim(reference) == 1 else reference, "reference")
    given = np.asarray(given.toarray() if sparse.issparse(given) else given, dtype=np.float64)
    if len(given) != N:
        raise ValueError(f"reference must have a prediction for each of the {N} rows of X, got {len(given)}.")
    if are_constant(given).all():
        raise ValueError("reference must vary, got the same prediction for all rows: there is nothing to repeat.")
    if task == "regression":
        return np.ascontiguousarray(given.T)
    if task == "counts":
        if not (given > 0).all():
            raise ValueError(f"reference must hold expected counts, above zero, got {given.min():g}.")
        return np.ascontiguousarray(np.log(given.T))
    if given.min() < 0 or given.max() > 1:
        raise ValueError(f"reference must hold probabilities, got {given.min():g} to {given.max():g}.")
    if given.shape[1] > 1 and np.abs(given.sum(axis=1) - 1).max() > NEVER:
        raise ValueError("reference must hold probabilities of all classes, whose sum is 1 in each row.")
    p = np.clip(given.T, NEVER, 1 - NEVER)
    if len(p) <= 2:
        return np.ascontiguousarray(logit(p[-1:]))
    return np.asarray(np.log(p) - np.log(p).mean(axis=0))


def _noise(given: Any, eta: FloatArray, weights: FloatArray) -> FloatArray:
    """Variances s² (K,) of the noise of numbers."""
    if given is None:
        share = weights / weights.sum()
        found = np.square(eta - (eta @ share)[:, None]) @ share
    else:
        found = np.ravel(table(np.atleast_2d(given), "noise"))
    if found.size not in (1, len(eta)) or not (found > 0).all():
        raise ValueError(
            f"noise must be a variance above zero, or one for each of the {len(eta)} outcomes, got "
            f"{'predictions that do not vary' if given is None else given!r}."
        )
    return np.asarray(np.broadcast_to(found, len(eta)), dtype=np.float64)


def _terms(task: str, weights: FloatArray, n: int) -> list[Terms] | Softmax:
    """The log-likelihoods of n predictors; only differences of slopes matter, which do not depend on the outcome."""
    nothing = np.zeros(len(weights))
    if task == "classification":
        return [Logits(nothing, weights)] if n == 1 else Softmax(weights)
    return [PoissonTerms(nothing, nothing, weights) if task == "counts" else Squares(nothing, weights)] * n
