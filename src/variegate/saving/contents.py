"""The contents of a model file: parameters and fitted values."""

from dataclasses import asdict
from typing import Any

import numpy as np

from ..candidates import Candidates
from ..dpp import PoweredDPP
from ..estimators import DiverseSelector, rows_of_columns
from ..inference import Fit, Sample
from ..priors import Prior
from ..selection import Selection
from ..similarity import Positions
from .consistency import ALWAYS, CANDIDATE, REFERENCE
from .packing import Single, Table


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
        "converged": bool(found.converged),
        "interrupted": bool(found.interrupted),
        "set_sizes": np.array([len(S) for S in found.sets]),
        "sets": np.concatenate(found.sets) if len(found.sets) else np.empty(0, dtype=np.int64),
        "map": selection.chosen,
        **_left_out(selection),
        **(_variational(found) if isinstance(found, Fit) else _chain(found)),
    }


def _left_out(selection: Selection) -> dict[str, Any]:
    """Return what is known about the columns that were left out."""
    target, certificate = selection.posterior.fit.target, selection.certificate
    return {
        "others": int(target.others),
        "others_ratio": list(target.others_ratio),
        "tilt": target.tilt,
        "certificate": None if certificate is None else list(certificate),
    }


def _powered(prior: Prior) -> dict[str, Any]:
    """Return the parts of a powered prior, including the estimate of its normaliser."""
    if not isinstance(prior, PoweredDPP):
        return {"diversity": prior.diversity, "log_sums": None, "rank": None}
    return {"diversity": prior.diversity, "log_sums": prior.size_law.log_sums, "rank": int(prior.rank)}


def _variational(found: Fit) -> dict[str, Any]:
    return {
        "theta": found.q.theta,
        "elbo": found.elbo,
        "elbo_error": found.elbo_error,
        "elbo_trace": found.elbo_trace,
        "log_ratios": found.log_ratios,
    }


def _chain(found: Sample) -> dict[str, Any]:
    return {
        "settings": asdict(found.settings),
        "inclusion": found.inclusion,
        "inclusion_errors": found.inclusion_errors,
        "disagreement": found.disagreement,
        "set_weights": found.weights,
        "slab_precisions": found.slab_precisions,
        "nuisances": found.nuisances,
        "grid_sizes": found.hyperparameters.expected_sizes,
        "grid_precisions": found.hyperparameters.slab_precisions,
        "grid_probability": found.hyperparameters.probability,
        "n_iter": int(found.n_iter),
        "n_steps": int(found.n_steps),
    }


def _is_given(model: DiverseSelector, candidates: Candidates, phi: Any) -> bool:
    """Whether Φ follows from the parameter `similarity`, so that it need not be stored twice."""
    given = model.similarity
    if phi is None or isinstance(given, str | Positions) or callable(given) or candidates.is_grouped:
        return phi is None
    return np.array_equal(rows_of_columns(given, candidates, model.selection_.names), phi)
