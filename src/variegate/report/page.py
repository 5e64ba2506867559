"""The page put together: template, style, scripts and data in one file with a strict content-security policy."""

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from .. import __version__
from ..diagnostics import Bound, Diagnostics
from ..dpp import LowRankDPP
from ..inference import Sample
from . import charts, content, names, trust
from .kernel import as_text, embedded_kernel, kept_candidates
from .similarity_map import similarity_map

SCRIPTS = ("kernel.js", "explorer.js")
OURS = "variegate"
SAME = 0.005  # probabilities of q and of the posterior that differ by less are the same to a reader


def rendered(model: Any, about: Mapping[str, Any], comparison: pd.DataFrame | None) -> str:
    """The HTML of the report."""
    posterior = model.posterior_
    probability, chosen = posterior.inclusion_prob(), content.chosen_units(model)
    dimensions = posterior.q.phi.shape[1] if isinstance(posterior.q, LowRankDPP) else 1
    kept = kept_candidates(probability, chosen, dimensions)
    similarity = content.unit_similarity(model)
    scripts = [Markup(_own_file(name)) for name in SCRIPTS]
    style = Markup(_own_file("page.css"))
    return _environment().get_template("page.html.j2").render(
        script_hashes=Markup(" ".join(_hash(script) for script in scripts)),
        style_hash=Markup(_hash(style)),
        style=style,
        scripts=scripts,
        data=Markup(escaped_json(explorer_data(model, probability, kept))),
        stands=content.stands(model, similarity),
        map=similarity_map(similarity, probability, chosen, posterior.names),
        alternatives=content.alternative_rows(model),
        **_selection(model),
        **_explorer_words(model, kept, probability),
        **_comparison(comparison),
        **_trust(model, about),
        **_run(model, about),
    )  # fmt: skip


def explorer_data(model: Any, probability: Any, kept: Any) -> dict[str, Any]:
    """What the explorer works with: names, probabilities and the kernel of the kept candidates."""
    posterior = model.posterior_
    return {
        "names": [str(posterior.names[i]) for i in kept],
        "positions": kept.tolist(),
        "probability": as_text(probability[kept]),
        "own": as_text(_own_probability(posterior)[kept]),
        "expected_elsewhere": float(np.delete(probability, kept).sum()),
        "fixed": posterior.target.size,
        **embedded_kernel(posterior.q, kept),
    }


def _own_probability(posterior: Any) -> Any:
    """Inclusion probabilities of q (M,): those of the posterior up to what q can express and the matching left."""
    if posterior.target.size is not None:
        return posterior.inclusion_prob()  # fixed sizes are not conditioned in the page
    return posterior.q.inclusion_prob()


def escaped_json(value: Any) -> str:
    """JSON that may stand inside a script element: ASCII, without <, > and &."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _own_file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _environment() -> Environment:
    found = Environment(
        loader=PackageLoader("variegate.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"name": names.tag, "shortened": names.shortened, "effect": _effect, "odds": _odds}
    return found


def _effect(value: float) -> str:
    """Three digits, with a proper minus sign; plain 0 for 0."""
    if not np.isfinite(value):
        return "–" if np.isnan(value) else ("∞" if value > 0 else "−∞")
    return charts.signed(f"{value:.3g}")


def _odds(value: float) -> str:
    return f"{value:.2f}" if value >= 0.01 else "<0.01"


def _thing(model: Any) -> str:
    return "group" if model._candidates.is_grouped else "feature"


def _selection(model: Any) -> dict[str, Any]:
    rows = content.selection_rows(model)
    places = charts.intervals(rows, charts.column_spreads(model))
    pairs = list(zip(rows, places, strict=True))
    roles = ("chosen", "always included", "runner-up")
    parts = [(role, [pair for pair in pairs if pair[0].role == role]) for role in roles]
    several = len(getattr(model, "classes_", ())) > 2
    units = content.chosen_units(model)
    within = 2 * float(model.posterior_.inclusion_errors().max())  # NaN: not known
    what = f"the log-odds of “{names.shortened(model.classes_[1])}”" if hasattr(model, "classes_") else "the outcome"
    return {
        "selection": [part for part in parts if part[1]],
        "chosen_rows": [row for row in rows if row.role == "chosen"],
        "chosen_names": ", ".join(names.shortened(model.posterior_.names[u], 30) for u in units) or "empty",
        "n_chosen": len(units),
        "rows_shown": content.ROWS,
        "several_classes": several,
        "is_class": hasattr(model, "classes_"),
        "effect_of": "the log-odds of the class named" if several else what,
        "thing": _thing(model),
        "within": within if within > 0 else None,
    }


def _explorer_words(model: Any, kept: Any, probability: Any) -> dict[str, Any]:
    posterior, chosen = model.posterior_, content.chosen_units(model)
    off = float(np.abs(_own_probability(posterior) - probability).max(initial=0.0))
    return {
        "exact": isinstance(posterior.fit, Sample),
        "q_off": off if off > SAME else None,
        "n_candidates": len(probability),
        "n_units": len(probability),
        "n_kept": len(kept),
        "dropped": len(kept) < len(probability),
        "fixed": posterior.target.size,
        "independent": not isinstance(posterior.q, LowRankDPP),
        "first_size": len(chosen) or max(1, min(round(float(probability.sum())), len(kept))),
    }


def _comparison(comparison: pd.DataFrame | None) -> dict[str, Any]:
    metrics = content.metrics_of(comparison)
    repeats = 0 if comparison is None or not metrics else int(comparison["repeat"].nunique())
    return {"charts": [(metric, charts.dots(metric)) for metric in metrics], "repeats": repeats, "ours": OURS}


def _trust(model: Any, about: Mapping[str, Any]) -> dict[str, Any]:
    found = model.posterior_.diagnostics()
    verdicts = trust.verdicts(model, found)
    low, high = trust.set_sizes(model)
    fixed = model.posterior_.target.size
    sizes = (
        f"Sets of this model have exactly {fixed} members."
        if fixed is not None
        else f"Plausible sets have {found.expected_size:.1f} members on average; nine in ten have {low} to {high}."
    )
    slab = "–" if found.slab_precision is None else f"{found.slab_precision:.3g}"
    return {
        "verdicts": verdicts,
        "warnings": trust.warnings_of(model, verdicts, trust.further_lines(about, found)),
        "sizes_sentence": sizes,
        "specialist": [
            *(_chain_facts(found) if found.bound is None else _bound_facts(found.bound)),
            ("Expected size, prior", f"{found.prior_expected_size:.1f}"),
            ("Expected size, posterior", f"{found.expected_size:.1f}"),
            ("Slab precision", slab),
            ("Prior, family of q", f"{model.prior}, {model.posterior}"),
        ],
    }


def _chain_facts(found: Diagnostics) -> list[tuple[str, str]]:
    if found.effective_size is None:
        return [("Largest Monte Carlo error of a probability", "0: all sets were summed")]
    return [
        ("Largest Monte Carlo error of a probability", f"{found.largest_error:.3f} ({found.tol:g} was asked for)"),
        ("Independent sets that the chains are worth", f"{found.effective_size:,.0f}"),
        ("Variance between chains over the expected one", f"{found.disagreement:.1f} at most"),
        ("Laps of the chains", f"{found.n_iter:,}"),
    ]


def _bound_facts(bound: Bound) -> list[tuple[str, str]]:
    return [
        ("Lower bound of the evidence (ELBO)", f"{bound.elbo:.3f} ± {bound.elbo_error:.2g}"),
        ("Pareto k̂ of target/q", f"{bound.pareto_k:.2f}"),
        ("Effective sets", f"{bound.effective_size:,.0f} of {bound.n_sets:,}"),
        ("Underrated rival, nats", f"{bound.overlooked:.2g}"),
    ]


def _run(model: Any, about: Mapping[str, Any]) -> dict[str, Any]:
    data = about.get("data") or {}
    outcome = data.get("outcome")
    return {
        "outcome": outcome,
        "title": f"variegate: {names.shortened(outcome)}" if outcome else "variegate: selected features",
        "facts": [(name, str(value)) for name, value in _facts(model, data) if value not in (None, "")],
        "notes": [str(note) for note in data.get("notes") or []],
        "command": _command(about.get("command")),
        "run_facts": [(name, str(value)) for name, value in _run_facts(about, data) if value not in (None, "")],
        "settings": [(str(key), str(value)) for key, value in (about.get("settings") or {}).items()],
        "version": __version__,
    }


def _facts(model: Any, data: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    counts, candidates = content.class_counts(model), model._candidates
    yield "Outcome", data.get("outcome")
    yield "Question", "which class a row belongs to" if counts else "a number for each row"
    yield "Rows", f"{len(model._training.y):,}"
    yield "Columns", f"{model.n_features_in_:,}"
    if candidates.is_grouped:
        yield "Groups of columns to choose from", f"{candidates.n_units:,}"
    screened = candidates.n_columns - len(candidates.columns) - len(candidates.always)
    if screened:
        yield "Screened out beforehand", f"{screened:,}"
    if len(candidates.always):
        yield "In every set, as asked", f"{len(candidates.always):,}"
    if counts:
        yield "Classes", ", ".join(f"{names.shortened(label, 24)} ({n:,})" for label, n in list(counts.items())[:8])
    size = model.n_features_to_select
    yield "Size of the set", "as the data suggest" if size is None else f"{len(content.chosen_units(model))}, as asked"
    yield "Table", data.get("path")


def _run_facts(about: Mapping[str, Any], data: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    yield "Seed", about.get("seed")
    if about.get("seconds") is not None:
        yield "Time", f"{float(about['seconds']):.1f} s"
    yield "Fingerprint of the data", data.get("hash")
    for name, version in (about.get("versions") or {}).items():
        yield names.shortened(name, 30), version


def _command(command: Any) -> str:
    return " ".join(str(word) for word in command) if isinstance(command, list | tuple) else str(command or "")
