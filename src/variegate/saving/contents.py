"""The contents of a model file: parameters and fitted values, and the model that they describe."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from ..candidates import Candidates
from ..design import Design
from ..dpp import IndependentSets, LowRankDPP, PoweredDPP, Sums
from ..estimators import ESTIMATORS, DiverseSelector
from ..inference import Certificate, ChainSettings, Hyperparameters, OthersRatio, Sample, Target
from ..likelihoods import sample_weights, table
from ..priors import Prior
from ..selection import Selection, Training
from ..side_information import rows_of_columns
from ..similarity import Positions
from .consistency import ALWAYS, CANDIDATE, REFERENCE, check_consistent
from .packing import Single, Table

KINDS: dict[str, type[DiverseSelector]] = {kind.__name__: kind for kind in ESTIMATORS.values()}
ROUNDING = 1.0  # nats by which storing Φ in single precision may change the odds of two sets
# fields of a Sample that are stored under their own names
OF_SAMPLE = ("inclusion", "inclusion_errors", "disagreement", "slab_precisions", "nuisances", "n_iter", "n_steps")


def parameters(model: DiverseSelector) -> dict[str, Any]:
    """Return the parameters, without code."""
    params: dict[str, Any] = model.get_params(deep=False)
    if callable(params["similarity"]) or isinstance(params["similarity"], Positions):
        params["similarity"] = "columns"  # the posterior holds what the code returned
    if params["random_state"] is not None and not isinstance(params["random_state"], int | np.integer):
        params["random_state"] = None
    return params


def fitted(model: DiverseSelector) -> dict[str, Any]:
    """Return the fitted values and the training data."""
    selection = model.selection_
    found, candidates, data = selection.posterior.fit, selection.candidates, selection.training
    role = np.zeros(candidates.n_columns, dtype=np.int8)
    role[candidates.columns], role[candidates.always] = CANDIDATE, ALWAYS
    role[candidates.references] = REFERENCE
    return {
        "role": role,
        "reference_units": candidates.reference_units,
        "feature_names": None if selection.names is None else selection.names.tolist(),
        "classes": selection.classes,
        "unit": candidates.unit,
        "X": Table(data.X),
        "covariates": data.covariates,
        "y": data.y,
        "weights": data.weights,
        "slab_precision": found.target.slab_precision,
        "nuisance": found.target.nuisance,
        "prior": "dpp" if found.target.prior_has_volume else "bernoulli",
        "prior_theta": found.target.prior.theta,
        **_powered(found.target.prior),
        "family": found.target.family,
        "phi": None if _is_given(model, candidates, found.target.phi) else Single(found.target.phi),
        "size": found.target.size,
        "converged": found.converged,
        "interrupted": found.interrupted,
        "set_sizes": np.array([len(S) for S in found.sets]),
        "sets": np.concatenate(found.sets),
        "map": selection.chosen,
        **_left_out(selection),
        **_chain(found),
    }


def _left_out(selection: Selection) -> dict[str, Any]:
    """Return what is known about the columns that were left out."""
    target, certificate = selection.posterior.fit.target, selection.certificate
    return {
        "others": target.others,
        "others_ratio": list(target.others_ratio),
        "tilt": target.tilt,
        "certificate": None if certificate is None else list(certificate),
    }


def _powered(prior: Prior) -> dict[str, Any]:
    """Return the parts of a powered prior, including the estimate of its normaliser."""
    if not isinstance(prior, PoweredDPP):
        return {"diversity": prior.diversity, "log_sums": None, "rank": None}
    return {"diversity": prior.diversity, "log_sums": prior.size_law.log_sums, "rank": prior.rank}


def _chain(found: Sample) -> dict[str, Any]:
    return {
        "settings": asdict(found.settings),
        "set_weights": found.weights,
        "grid_sizes": found.hyperparameters.expected_sizes,
        "grid_precisions": found.hyperparameters.slab_precisions,
        "grid_probability": found.hyperparameters.probability,
        **{name: getattr(found, name) for name in OF_SAMPLE},
    }


def _is_given(model: DiverseSelector, candidates: Candidates, phi: Any) -> bool:
    """Whether Φ follows from the parameter `similarity`, so that it need not be stored twice."""
    given = model.similarity
    if phi is None or isinstance(given, str | Positions) or callable(given) or candidates.is_grouped:
        return phi is None
    return np.array_equal(rows_of_columns(given, candidates, model.selection_.names), phi)


def restored(kind: str, params: Mapping[str, Any], values: Mapping[str, Any]) -> DiverseSelector:
    """Return the model of a kind, with its parameters and fitted values."""
    f = dict(values)
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
    found = _found(f, _target(f, model.outcomes(training), candidates))
    certificate = None if f["certificate"] is None else Certificate(*f["certificate"])
    selection = model.selection(candidates, training, found, f["map"], certificate)
    if not _could_be_chosen(selection):
        raise ValueError("map does not fit the rest")
    return model.publish(selection)


def _could_be_chosen(found: Selection) -> bool:
    """Whether the set has the size asked for and, if it is empty, no feature would improve it much.

    A panel may be empty for want of a budget, and shorter than asked for if no further feature can be added to it.
    """
    S, size, target = found.chosen, found.size, found.posterior.target
    if found.choose == "prediction":
        return size is None or len(S) == size or len(S) == len(found.panels().best(size))
    if size is not None or len(S) or not target.has_gains:
        return size is None or len(S) == size
    best = target.log_odds(target.evaluate([S]))[0].argmax(keepdims=True)
    return target.log_joint(best) <= target.log_joint(S) + ROUNDING


def _target(f: Mapping[str, Any], outcomes: list[Any], candidates: Candidates) -> Target:
    log_mean, slope, log_c = f["others_ratio"]
    others = {"others": f["others"], "others_ratio": OthersRatio(log_mean, slope, tuple(log_c)), "tilt": f["tilt"]}
    units = candidates.unit if candidates.is_grouped else None
    target = Target(
        outcomes, _prior(f), family=f["family"], phi=f["phi"], size=f["size"], units=units, **others
    ).with_slab_precision(f["slab_precision"])
    return target.with_nuisance(f["nuisance"]) if np.isfinite(f["nuisance"]) else target


def _found(f: Mapping[str, Any], target: Target) -> Sample:
    sets = np.split(f["sets"], np.cumsum(f["set_sizes"])[:-1])
    return Sample(
        target=target,
        settings=ChainSettings(**f["settings"]),
        sets=sets,
        weights=f["set_weights"],
        hyperparameters=Hyperparameters(f["grid_sizes"], f["grid_precisions"], f["grid_probability"]),
        **{name: f[name] for name in OF_SAMPLE},
        converged=f["converged"],
        interrupted=f["interrupted"],
    )


def _prior(f: Mapping[str, Any]) -> Prior:
    if f["prior"] == "bernoulli":
        return IndependentSets(f["prior_theta"])
    if f["log_sums"] is None:
        return LowRankDPP(f["phi"], f["prior_theta"])
    return PoweredDPP(f["phi"], f["prior_theta"], f["diversity"], Sums(f["log_sums"], f["rank"]))
