"""Render the page: template, style, scripts and data in one file with a strict content-security policy."""

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
from ..comparison import OURS, Frontier
from ..diagnostics import Diagnostics
from ..inference import Draws, Excerpt, can_sample, form_of, forms_without
from ..selection import Selection
from ..tables import Findings
from ..tasks import task_named
from ..types import FloatArray
from . import charts, content, measure, names, trust
from .embedded import embedded_form, kept_candidates, relatives_of
from .frontier import frontier_chart
from .similarity_map import similarity_map
from .summary import summary

CHAIN = (
    "form.js",
    "system.js",
    "state.js",
    "chain.js",
    "answer.js",
    "search.js",
    "worker.js",
)  # workers run these, too
SCRIPTS = (*CHAIN, "elements.js", "asking.js", "explorer.js")
STARTS = 40  # sampled sets in the page; chains start from those that violate the fewest conditions


def rendered(
    selection: Selection,
    found: Findings,
    about: Mapping[str, Any],
    comparison: pd.DataFrame | None = None,
    frontier: Frontier | None = None,
) -> str:
    """Return the HTML of the report."""
    posterior, chosen = selection.posterior, selection.chosen
    probability = posterior.inclusion_prob()
    form, stands = explored_form(selection), content.stands(selection)
    outcome, thing = (about.get("data") or {}).get("outcome"), _thing(selection)
    said, similarity = names.shortened(outcome) if outcome else "the outcome", content.unit_similarity(selection)
    needed = (*(SCRIPTS if form is not None else ()), *(["frontier.js"] if frontier is not None else ()))
    scripts = [(name in CHAIN, Markup(_own_file(name))) for name in needed]
    style = Markup(_own_file("page.css"))
    return _environment().get_template("page.html.j2").render(
        script_hashes=Markup(" ".join(_hash(script) for _, script in scripts) or "'none'"),
        style_hash=Markup(_hash(style)),
        style=style,
        scripts=scripts,
        data=None if form is None else Markup(escaped_json(explorer_data(selection, form))),
        stands=[s for s in stands if s.chosen][: content.EXPLAINED],
        further=[s for s in stands if not s.chosen][: content.RUNNERS_UP],
        n_stands=sum(s.chosen is not None for s in stands),
        members_shown=content.MEMBERS,
        listed=content.CHANGES,
        summary=[
            *measure.sentences(selection),
            *summary(stands, said, thing, always=len(selection.candidates.always) > 0),
        ],
        measured=measure.measured(selection, found),
        empty=trust.why_empty(selection),
        along=charts.along_columns(probability, selection.groups, posterior.labels),
        map=similarity_map(similarity, probability, chosen, posterior.labels),
        alternatives=content.variants(found.alternatives),
        **_selection(selection, found),
        **_explorer_words(selection, form, probability),
        charts=charts.dot_charts(comparison),
        repeats=0 if comparison is None or comparison.empty else comparison["repeat"].nunique(),
        ours=OURS,
        frontier=None if frontier is None else frontier_chart(frontier),
        **_trust(selection, found.diagnostics, about),
        **_run(selection, about),
    )  # fmt: skip


def explored_form(selection: Selection) -> Excerpt | None:
    """Return the posterior over the most probable features for the explorer; None if it has no such form."""
    posterior = selection.posterior
    kept = np.union1d(selection.chosen, posterior.map(selection.size))
    if not can_sample(posterior.target):
        return None
    fit, target = posterior.fit, posterior.target
    matrices = len(target.outcomes) + target.prior_has_volume
    features = kept_candidates(posterior.inclusion_prob(), kept, relatives_of(selection), target.widths, matrices)
    return form_of(target, fit.settings, Draws.of(fit, features), features)


def explorer_data(selection: Selection, form: Excerpt) -> dict[str, Any]:
    """Return the explorer's data: names, probabilities and the posterior of the features in the page."""
    posterior, kept = selection.posterior, form.features
    probability = posterior.inclusion_prob()
    some = [posterior.sets[i] for i in np.linspace(0, len(posterior.sets) - 1, STARTS).astype(int)]
    without = forms_without(posterior.fit, form)
    probable, *starts = (np.flatnonzero(np.isin(kept, S)) for S in [posterior.map(selection.size), *some])
    return {
        "names": [str(posterior.labels[i]) for i in kept],
        "positions": kept.tolist(),
        "probability": probability[kept].tolist(),
        "error": float(np.hypot(posterior.inclusion_errors().max(), form.off)),
        "exact": form.exact,
        "thing": _thing(selection),
        "expected_elsewhere": float(np.delete(probability, kept).sum()),
        "form": embedded_form(form, probable, starts, without),
    }


def escaped_json(value: Any) -> str:
    """Return JSON that is safe inside a script element: ASCII, without <, > and &."""
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
    """Format with three digits and a proper minus sign; 0 as plain 0."""
    if not np.isfinite(value):
        return "–" if np.isnan(value) else ("∞" if value > 0 else "−∞")
    return charts.signed(f"{value:.3g}")


def _odds(value: float) -> str:
    return f"{value:.2f}" if value >= 0.01 else "<0.01"


def _selection(selection: Selection, found: Findings) -> dict[str, Any]:
    posterior, classes = selection.posterior, selection.classes
    rows = content.selection_rows(found.selection, selection)
    places = charts.intervals(rows, charts.column_spreads(selection))
    pairs = list(zip(rows, places, strict=True))
    roles = ("chosen", "always included", "runner-up")
    parts = [(role, [pair for pair in pairs if pair[0].role == role]) for role in roles]
    several = classes is not None and len(classes) > 2
    least = min((row.group.probability for row in rows if row.role == "chosen" and row.group), default=2.0)
    others = [row for row in rows if row.role == "runner-up" and (row.group is None or row.group.chosen is None)]
    crossed = next((row.feature for row in others if row.group and row.group.probability > least), None)
    within = 2 * float(posterior.inclusion_errors().max())
    label = "" if classes is None else names.shortened(classes[1])
    what = task_named(selection.task).effect.format(label=label)
    return {
        "selection": [part for part in parts if part[1]],
        "chosen_rows": [row for row in rows if row.role == "chosen"],
        "chosen_names": ", ".join(names.shortened(posterior.labels[u], 30) for u in selection.chosen) or "empty",
        "n_chosen": len(selection.chosen),
        "crossed": crossed,
        "expected": posterior.inclusion_prob().sum(),
        "asked_size": selection.size,
        "by_prediction": selection.choose == "prediction",
        "rows_shown": content.ROWS,
        "several_classes": several,
        "is_class": classes is not None,
        "effect_of": "the log-odds of the class named" if several else what,
        "thing": _thing(selection),
        "within": within if within > 0 else None,
    }


def _thing(selection: Selection) -> str:
    """Return the page's word for a feature: "block" if columns enter together, since "group" means stand-ins."""
    return "block" if selection.candidates.is_grouped else "feature"


def _explorer_words(selection: Selection, form: Excerpt | None, probability: FloatArray) -> dict[str, Any]:
    posterior = selection.posterior
    n_probable, n_kept = len(posterior.map(selection.size)), 0 if form is None else len(form.features)
    return {
        "exact_form": form is not None and form.exact,
        "form_off": None if form is None else form.off,
        "n_units": len(probability),
        "n_kept": n_kept,
        "dropped": n_kept < len(probability),
        "fixed": posterior.target.size,
        "first_size": n_probable or max(1, min(round(float(probability.sum())), n_kept)),
    }


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
            *_chain_facts(found),
            ("Expected size, prior", f"{found.prior_expected_size:.1f}"),
            ("Expected size, posterior", f"{found.expected_size:.1f}"),
            ("Slab precision", slab),
            ("Diversity (exponent of the volume), family of q", f"{target.diversity:g}, {target.family}"),
        ],
    }


def _chain_facts(found: Diagnostics) -> list[tuple[str, str]]:
    if found.effective_size is None:
        return [("Largest Monte Carlo error of a probability", "0: all sets were enumerated")]
    return [
        ("Largest Monte Carlo error of a probability", f"{found.largest_error:.3f} ({found.tol:g} was requested)"),
        ("Effective number of independent sets", f"{found.effective_size:,.0f}"),
        ("Variance between chains, relative to the expected one", f"{found.disagreement:.1f} at most"),
        ("Laps of the chains", f"{found.n_iter:,}"),
    ]


def _run(selection: Selection, about: Mapping[str, Any]) -> dict[str, Any]:
    data = about.get("data") or {}
    outcome = data.get("outcome")
    settings = about.get("settings") or {}
    budget = settings.get("budget")
    return {
        "outcome": outcome,
        "title": f"variegate: {names.shortened(outcome)}" if outcome else "variegate: selected features",
        "facts": [(name, str(value)) for name, value in _facts(selection, data, budget) if value not in (None, "")],
        "notes": [str(note) for note in data.get("notes") or []],
        "command": _command(about.get("command")),
        "run_facts": [(name, str(value)) for name, value in _run_facts(about, data) if value not in (None, "")],
        "settings": [(str(key), str(value)) for key, value in settings.items()],
        "version": __version__,
    }


def _facts(selection: Selection, data: Mapping[str, Any], budget: Any) -> Iterable[tuple[str, Any]]:
    counts, candidates = selection.class_counts, selection.candidates
    yield "Outcome", data.get("outcome")
    yield "Question", task_named(selection.task).question
    yield "Rows", f"{len(selection.training.y):,}"
    yield "Columns", f"{candidates.n_columns:,}"
    if candidates.is_grouped:
        yield "Groups of columns to choose from", f"{candidates.n_units:,}"
    in_model = len(candidates.columns) + len(candidates.always) + len(candidates.references)
    screened = selection.posterior.target.others
    for name, n in (
        ("Screened out beforehand", screened),
        ("Constant, never chosen", candidates.n_columns - in_model - screened),
        ("Most common values of categories, to which the others are compared", len(candidates.references)),
        ("In every set, as requested", len(candidates.always)),
    ):
        if n:
            yield name, f"{n:,}"
    if counts:
        yield "Classes", ", ".join(f"{names.shortened(label, 24)} ({n:,})" for label, n in list(counts.items())[:8])
    yield "Chosen for", "what it predicts" if selection.choose == "prediction" else "its probability"
    how = "as requested" if selection.size is not None else "chosen by the data"
    how = how if budget is None else f"within a budget of {budget:g}"
    yield "Size of the panel", f"{len(selection.chosen)}, {how}"
    yield "Table", data.get("path")


def _run_facts(about: Mapping[str, Any], data: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    yield "Seed", about.get("seed")
    if about.get("seconds") is not None:
        yield "Time", f"{float(about['seconds']):.1f} s"
    yield "Hash of the data", data.get("hash")
    for name, version in (about.get("versions") or {}).items():
        yield names.shortened(name, 30), version


def _command(command: Any) -> str:
    return " ".join(str(word) for word in command) if isinstance(command, list | tuple) else str(command or "")
