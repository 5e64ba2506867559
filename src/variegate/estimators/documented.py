"""The parameters and attributes that all estimators share, described once."""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar

Estimator = TypeVar("Estimator", bound=type[Any])

PARAMETERS = """Parameters
    ----------
    similarity : "columns", array (M, d) or callable
        What makes two features similar, so that one of them is enough. "columns": their correlation, recomputed on the
        rows of each fit. An array has a row for each column of X, and similar columns have similar rows; the functions
        of `variegate.similarity` make one from a network, coordinates, groups or annotations (rows are matched to
        columns by name if both have names). A callable takes the columns to choose from (N, m) and returns an array.
    diversity : float
        How strongly the prior favours sets of dissimilar features: the exponent of the volume that they span.
        0 is plain spike and slab, 1 a determinantal point process, more is more diverse. It is also the weight of
        diversity when a panel is chosen. `vg.frontier` shows the cost.
    expected_size : float, optional
        How many features you expect in a set before seeing y, on average. None: averaged over.
    n_features_to_select : int or float, optional
        Size of the selected set; a float up to 1.0 is a share of the features to choose from. None: as many as are
        enough, perhaps none. The posterior keeps sets of all sizes; `path` and `panel` give sets of other sizes.
    choose : "prediction" or "probability"
        "prediction": the panel, the set whose best rule comes nearest to the predictions of the whole posterior,
        traded against diversity. "probability": the most probable set.
    fixed_size : bool
        True: the posterior has only sets of `n_features_to_select` features.
    average : bool
        True: predictions and `coef_` are averaged over sets of the posterior, whatever is selected. False: they use
        the selected set alone, for instance to compare sizes by cross-validation (averaged if that set is empty).
    slab_precision : "auto" or float
        How strongly the coefficients of the selected columns are shrunk: their prior precision for standardised
        columns, like the penalty of a ridge regression. "auto": averaged over.
    always_include : names, positions or mask of columns, optional
        Columns in every set (age, batch, …), hardly shrunk, and not counted in any size.
    groups : (M,) labels or {column: label}, optional
        Columns with the same label (such as the levels of a one-hot encoding) are selected together, as one feature;
        None and NaN mean no group.
    prior_log_odds : (M,) numbers or {column: number}, optional
        Prior knowledge about single columns: added to their log-odds of being in a set, so 1.0 makes the odds e times
        as high. For a group, the mean of its columns.
    screen : int, optional
        Number of columns to start with, chosen by a univariate test on the rows of the fit (in addition to columns in
        groups and in `always_include`); for tables with tens of thousands of columns. Columns that turn out to matter
        are added: `selection_.certificate` has their number, and the largest probability of a column left out.
    max_iter : int, optional
        The limit of laps of about 1,000 steps of each chain. None: 200.
    tol : float, optional
        When to stop: the largest Monte Carlo error of an inclusion probability. None: 0.03.
    random_state : int, RandomState, Generator or None
        Sets are drawn while fitting; an int makes fits repeatable.
    verbose : int
        1 shows progress on stderr."""

ATTRIBUTES = """Attributes
    ----------
    support_ : (M,) bool
        The selected columns, including those always included.
    panel_ : variegate.Panel
        What to measure: the selected features, a rule on them alone, what they lose, how many are enough, and what
        could stand in for each.
    inclusion_probabilities_ : (M,)
        Posterior probability that each column is in the set; 0 for constant columns and those screened out.
    inclusion_errors_ : (M,)
        Monte Carlo standard error of each of these probabilities.
    groups_ : list of Group
        Groups of features that can replace each other, with the probability that one of them is in the set.
    posterior_ : variegate.Posterior
        The posterior over sets: sample, map, condition, alternatives, groups, diagnostics. It speaks of columns of X,
        by number or name; `as_support` turns a set of them into a mask.
    converged_, n_iter_ :
        Whether `tol` was reached, and the laps it took.
    n_features_in_, feature_names_in_ :
        Number and names of the columns of X."""


def documented(estimator: Estimator) -> Estimator:
    """Insert the shared parts into the docstring of an estimator."""
    text = estimator.__doc__ or ""  # python -OO strips docstrings
    estimator.__doc__ = text.replace("{parameters}", PARAMETERS).replace("{attributes}", ATTRIBUTES)
    return estimator


def with_parameters(init: Callable[..., None], base: Callable[..., None]) -> None:
    """Give a constructor with **others a signature with the base's parameters, which scikit-learn reads."""
    own = [p for p in signature(init).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    others = [p for p in signature(base).parameters.values() if p.name != "self"]
    init.__signature__ = Signature([*own, *others])  # type: ignore[attr-defined]
