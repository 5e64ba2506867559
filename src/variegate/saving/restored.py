"""Rebuild a model from the contents of its file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..candidates import Candidates
from ..design import Design
from ..dpp import IndependentSets, LowRankDPP, PoweredDPP, Sums
from ..estimators import ESTIMATORS, DiverseSelector, rows_of_columns
from ..inference import Certificate, ChainSettings, Fit, Hyperparameters, OthersRatio, Sample, Target
from ..likelihoods import sample_weights, table
from ..priors import Prior
from ..selection import Training
from .consistency import ALWAYS, CANDIDATE, REFERENCE, check_consistent

KINDS: dict[str, type[DiverseSelector]] = {kind.__name__: kind for kind in ESTIMATORS.values()}


def restored(kind: str, params: Mapping[str, Any], values: Mapping[str, Any]) -> DiverseSelector:
    """Return the model of a kind, with its parameters and fitted values."""
    f = _of_this_format(values)
    check_consistent(f)
    model = KINDS[kind](**params)
    model.n_features_in_ = len(f["role"])
    if f["feature_names"] is not None:
        f["feature_names"] = model.feature_names_in_ = np.array(f["feature_names"], dtype=object)
    if f["classes"] is not None:
        model.classes_ = f["classes"]
    columns, always, references = (np.flatnonzero(f["role"] == role) for role in (CANDIDATE, ALWAYS, REFERENCE))
    candidates = Candidates(columns, f["unit"], always, len(f["role"]), references, f["reference_units"])
    if f["phi"] is None and "dpp" in (f["prior"], f["family"]):
        f["phi"] = rows_of_columns(model.similarity, candidates, f["feature_names"])
    X = table(f["X"])
    design = Design.of(X, sample_weights(f["weights"], X.shape[0]))
    training = Training(design, f["covariates"], f["y"], f["weights"])
    found = _found(f, _target(f, model.likelihood(candidates, training)))
    certificate = None if f["certificate"] is None else Certificate(*f["certificate"])
    return model.publish(model.selection(candidates, training, found, f["map"], certificate))


def _of_this_format(values: Mapping[str, Any]) -> dict[str, Any]:
    """Add defaults for values that older formats lack."""
    return {
        "nuisance": np.nan,  # formats 1 and 2
        "nuisances": np.full(len(values["set_sizes"]), np.nan),
        "reference_units": np.empty(0, dtype=np.int64),  # format 3
        "diversity": float(values["prior"] == "dpp"),
        "log_sums": None,
        "others": 0,
        "others_ratio": list(OthersRatio()),
        "tilt": None,
        "certificate": None,
        **values,
    }


def _target(f: Mapping[str, Any], likelihood: Any) -> Target:
    likelihood = likelihood.with_slab_precision(f["slab_precision"])
    if np.isfinite(f["nuisance"]):
        likelihood = likelihood.with_nuisance(f["nuisance"])
    log_mean, slope, log_c = f["others_ratio"]
    others = {"others": f["others"], "others_ratio": OthersRatio(log_mean, slope, tuple(log_c)), "tilt": f["tilt"]}
    return Target(likelihood, _prior(f), family=f["family"], phi=f["phi"], size=f["size"], **others)


def _found(f: Mapping[str, Any], target: Target) -> Sample | Fit:
    sets = np.split(f["sets"], np.cumsum(f["set_sizes"])[:-1])
    ended = {"converged": f["converged"], "interrupted": f["interrupted"]}
    if "theta" in f:
        bound = {name: f[name] for name in ("elbo", "elbo_error", "elbo_trace", "log_ratios")}
        return Fit(q=target.distribution(f["theta"]), target=target, sets=sets, **bound, **ended)
    names = ("inclusion", "inclusion_errors", "disagreement", "slab_precisions", "nuisances", "n_iter", "n_steps")
    return Sample(
        target=target,
        settings=ChainSettings(**f["settings"]),
        sets=sets,
        weights=f["set_weights"],
        hyperparameters=Hyperparameters(f["grid_sizes"], f["grid_precisions"], f["grid_probability"]),
        **{name: f[name] for name in names},
        **ended,
    )


def _prior(f: Mapping[str, Any]) -> Prior:
    if f["prior"] == "bernoulli":
        return IndependentSets(f["prior_theta"])
    if f["log_sums"] is None:
        return LowRankDPP(f["phi"], f["prior_theta"])
    return PoweredDPP(f["phi"], f["prior_theta"], f["diversity"], Sums(f["log_sums"], f["rank"]))
