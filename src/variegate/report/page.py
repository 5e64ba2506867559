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
from ..posterior import Posterior
from ..selection import Selection
from ..tables import Findings
from ..types import FloatArray, IntArray
from . import charts, content, names, trust
from .kernel import as_text, embedded_kernel, kept_candidates
from .similarity_map import similarity_map

SCRIPTS = ("kernel.js", "explorer.js")
OURS = "variegate"
SAME = 0.005  # probabilities of q and of the posterior that differ by less are the same to a reader


def rendered(selection: Selection, found: Findings, about: Mapping[str, Any], comparison: pd.DataFrame | None) -> str:
    """The HTML of the report."""
    posterior, chosen = selection.posterior, selection.chosen
    probability = posterior.inclusion_prob()
    dimensions = posterior.q.phi.shape[1] if isinstance(posterior.q, LowRankDPP) else 1
    kept = kept_candidates(probability, chosen, dimensions)
    similarity = content.unit_similarity(selection)
    scripts = [Markup(_own_file(name)) for name in SCRIPTS]
    style = Markup(_own_file("page.css"))
    return _environment().get_template("page.html.j2").render(
        script_hashes=Markup(" ".join(_hash(script) for script in scripts)),
        style_hash=Markup(_hash(style)),
        style=style,
        scripts=scripts,
        data=Markup(escaped_json(explorer_data(posterior, probability, kept))),
        stands=content.stands(posterior, chosen, similarity),
        map=similarity_map(similarity, probability, chosen, posterior.labels),
        alternatives=found.alternatives.to_dict("records"),
        **_selection(selection, found),
        **_explorer_words(selection, kept, probability),
        **_comparison(comparison),
        **_trust(selection, found.diagnostics, about),
        **_run(selection, about),
    )  # fmt: skip


def explorer_data(posterior: Posterior, probability: FloatArray, kept: IntArray) -> dict[str, Any]:
    """What the explorer works with: names, probabilities and the kernel of the kept candidates."""
    return {
        "names": [str(posterior.labels[i]) for i in kept],
        "positions": kept.tolist(),
        "probability": as_text(probability[kept]),
        "own": as_text(_own_probability(posterior)[kept]),
        "expected_elsewhere": float(np.delete(probability, kept).sum()),
        "fixed": posterior.target.size,
        **embedded_kernel(posterior.q, kept),
    }


def _own_probability(posterior: Posterior) -> FloatArray:
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


def _selection(selection: Selection, found: Findings) -> dict[str, Any]:
    posterior, classes = selection.posterior, selection.classes
    rows = content.selection_rows(found.selection, classes)
    places = charts.intervals(rows, charts.column_spreads(selection))
    pairs = list(zip(rows, places, strict=True))
    roles = ("chosen", "always included", "runner-up")
    parts = [(role, [pair for pair in pairs if pair[0].role == role]) for role in roles]
    several = classes is not None and len(classes) > 2
    within = 2 * float(posterior.inclusion_errors().max())  # NaN: not known
    what = "the outcome" if classes is None else f"the log-odds of “{names.shortened(classes[1])}”"
    return {
        "selection": [part for part in parts if part[1]],
        "chosen_rows": [row for row in rows if row.role == "chosen"],
        "chosen_names": ", ".join(names.shortened(posterior.labels[u], 30) for u in selection.chosen) or "empty",
        "n_chosen": len(selection.chosen),
        "rows_shown": content.ROWS,
        "several_classes": several,
        "is_class": classes is not None,
        "effect_of": "the log-odds of the class named" if several else what,
        "thing": "group" if selection.candidates.is_grouped else "feature",
        "within": within if within > 0 else None,
    }


def _explorer_words(selection: Selection, kept: IntArray, probability: FloatArray) -> dict[str, Any]:
    posterior, chosen = selection.posterior, selection.chosen
    off = float(np.abs(_own_probability(posterior) - probability).max(initial=0.0))
    return {
        "exact": isinstance(posterior.fit, Sample),
        "q_off": off if off > SAME else None,
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


def _trust(selection: Selection, found: Diagnostics, about: Mapping[str, Any]) -> dict[str, Any]:
    target = selection.posterior.target
    verdicts = trust.verdicts(selection, found)
    low, high = trust.set_sizes(selection.posterior.sets)
    fixed = target.size
    sizes = (
        f"Sets of this model have exactly {fixed} members."
        if fixed is not None
        else f"Plausible sets have {found.expected_size:.1f} members on average; nine in ten have {low} to {high}."
    )
    slab = "–" if found.slab_precision is None else f"{found.slab_precision:.3g}"
    return {
        "verdicts": verdicts,
        "warnings": trust.warnings_of(selection, verdicts, trust.further_lines(about, found)),
        "sizes_sentence": sizes,
        "specialist": [
            *(_chain_facts(found) if found.bound is None else _bound_facts(found.bound)),
            ("Expected size, prior", f"{found.prior_expected_size:.1f}"),
            ("Expected size, posterior", f"{found.expected_size:.1f}"),
            ("Slab precision", slab),
            ("Prior, family of q", f"{'dpp' if target.prior_has_volume else 'bernoulli'}, {target.family}"),
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


def _run(selection: Selection, about: Mapping[str, Any]) -> dict[str, Any]:
    data = about.get("data") or {}
    outcome = data.get("outcome")
    return {
        "outcome": outcome,
        "title": f"variegate: {names.shortened(outcome)}" if outcome else "variegate: selected features",
        "facts": [(name, str(value)) for name, value in _facts(selection, data) if value not in (None, "")],
        "notes": [str(note) for note in data.get("notes") or []],
        "command": _command(about.get("command")),
        "run_facts": [(name, str(value)) for name, value in _run_facts(about, data) if value not in (None, "")],
        "settings": [(str(key), str(value)) for key, value in (about.get("settings") or {}).items()],
        "version": __version__,
    }


def _facts(selection: Selection, data: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    counts, candidates = selection.class_counts, selection.candidates
    yield "Outcome", data.get("outcome")
    yield "Question", "which class a row belongs to" if counts else "a number for each row"
    yield "Rows", f"{len(selection.training.y):,}"
    yield "Columns", f"{candidates.n_columns:,}"
    if candidates.is_grouped:
        yield "Groups of columns to choose from", f"{candidates.n_units:,}"
    screened = candidates.n_columns - len(candidates.columns) - len(candidates.always)
    if screened:
        yield "Screened out beforehand", f"{screened:,}"
    if len(candidates.always):
        yield "In every set, as asked", f"{len(candidates.always):,}"
    if counts:
        yield "Classes", ", ".join(f"{names.shortened(label, 24)} ({n:,})" for label, n in list(counts.items())[:8])
    asked = selection.size is not None
    yield "Size of the set", f"{len(selection.chosen)}, as asked" if asked else "as the data suggest"
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
