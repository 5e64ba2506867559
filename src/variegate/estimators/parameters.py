"""The parameters and attributes that both estimators share: said once, checked once."""

from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

Estimator = TypeVar("Estimator", bound=type[Any])

PARAMETERS = """Parameters
    ----------
    similarity : "columns", array (M, d) or callable
        What makes two features alike: correlation of the columns, recomputed on the rows of each fit; similarity
        features from `variegate.similarity` (rows are matched to columns by name where both have names); or a
        function of the candidate columns (N, m) that returns such an array.
    prior, posterior : "dpp" or "bernoulli"
        Whether the prior, and the approximation of the posterior, know of similarity. ("bernoulli", "bernoulli") is
        spike and slab by mean field; ("bernoulli", "dpp") approximates the spike-and-slab posterior itself.
    expected_size : float, optional
        Mean number of features in a set a priori. None: learned.
    n_features_to_select : int or float, optional
        Size of the selected set; a share of the candidates if below 1. None: that of the best set.
    fixed_size : bool
        True: the posterior has only sets of `n_features_to_select` features.
    average : bool
        True: predictions and `coef_` are averaged over sets of the posterior, whatever is selected. False: they use
        the selected set alone, for instance to compare sizes by cross-validation (averaged if that set is empty).
    slab_precision : "auto" or float
        Prior precision of the coefficients of standardised columns. "auto": learned.
    always_include : names, positions or mask of columns, optional
        In every set (age, batch, …), with a wide prior, and not counted in any size.
    groups : (M,) labels or {column: label}, optional
        Columns of the same label are selected together, as one feature; None and NaN stand alone.
    prior_log_odds : (M,) numbers or {column: number}, optional
        Added to a feature's prior log-odds: 1.0 makes it e times as probable.
    screen : int, optional
        First keep so many columns by a univariate test on the rows of the fit.
    solver : "rao_blackwell" or "fixed_form"
        The default, or the paper's Algorithm 1 (slow, for reference).
    n_starts, max_iter, tol :
        Starts of the solver; iterations (None: the solver's own number); tolerance of the ELBO in nats, relative to
        its Monte Carlo error.
    random_state : int, RandomState, Generator or None
        Sets are drawn while fitting; an int makes fits repeatable.
    n_jobs : int, optional
        Threads for the classes of a multi-class problem; results do not depend on it.
    verbose : int
        1 shows progress on stderr."""

ATTRIBUTES = """Attributes
    ----------
    support_ : (M,) bool
        The selected columns, those always included among them.
    inclusion_probabilities_ : (M,)
        Posterior probability of each column.
    posterior_ : variegate.Posterior
        The posterior over sets: sample, map, condition, alternatives, diagnostics. Its features are the candidates,
        named by column.
    elbo_, elbo_trace_, converged_, n_iter_ :
        Evidence lower bound, its trace, whether the fit settled, and its iterations.
    n_features_in_, feature_names_in_ :
        What X looked like."""


def documented(estimator: Estimator) -> Estimator:
    """Fill the shared parts into the docstring of an estimator."""
    text = estimator.__doc__ or ""  # python -OO strips docstrings
    estimator.__doc__ = text.replace("{parameters}", PARAMETERS).replace("{attributes}", ATTRIBUTES)
    return estimator


def check_parameters(estimator: Any) -> None:
    """Refuse parameters that no data could make sense of; the engine checks its own."""
    for name in ("prior", "posterior"):
        value = getattr(estimator, name)
        if not (isinstance(value, str) and value in ("dpp", "bernoulli")):
            raise ValueError(f'{name} must be "dpp" or "bernoulli", got {value!r}.')
    for name, none in (("slab_precision", "auto"), ("expected_size", None)):
        value = getattr(estimator, name)
        learned = value is None if none is None else isinstance(value, str) and value == none
        if not (learned or (is_number(value) and value > 0)):
            raise ValueError(f"{name} must be {none!r} or a number above zero, got {value!r}.")
    for name in ("fixed_size", "average"):
        if not isinstance(getattr(estimator, name), bool | np.bool_):
            raise ValueError(f"{name} must be True or False, got {getattr(estimator, name)!r}.")
    if estimator.fixed_size and estimator.n_features_to_select is None:
        raise ValueError("fixed_size=True needs to know the size: give n_features_to_select too.")
    if estimator.screen is not None and not (is_whole(estimator.screen) and estimator.screen >= 1):
        raise ValueError(f"screen must be None or a number of columns to keep, got {estimator.screen!r}.")
    if not (is_whole(estimator.n_starts) and estimator.n_starts >= 1):
        raise ValueError(f"n_starts must be at least 1, a whole number, got {estimator.n_starts!r}.")
    if estimator.max_iter is not None and not (is_whole(estimator.max_iter) and estimator.max_iter >= 1):
        raise ValueError(f"max_iter must be None or a whole number, at least 1, got {estimator.max_iter!r}.")
    if not (is_number(estimator.tol) and estimator.tol >= 0):
        raise ValueError(f"tol must be a number, zero or above, got {estimator.tol!r}.")


def is_number(value: Any) -> bool:
    """Whether it is a finite real number; True is none."""
    return isinstance(value, Real) and value is not True and value is not False and bool(np.isfinite(float(value)))


def is_whole(value: Any) -> bool:
    """Whether it is a whole number; True is none."""
    return isinstance(value, Integral) and value is not True and value is not False
