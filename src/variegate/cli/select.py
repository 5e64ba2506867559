"""`variegate select`: from a table on disk to a folder of results."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ..baselines import METHODS, Diverse
from ..comparison import Comparison, Frontier, compare, frontier
from ..data import shortened
from ..diagnostics import Diagnostics
from ..estimators import ESTIMATORS, DiverseSelector
from ..messages import Argument, counted
from ..saving import save
from ..selection import Selection
from ..tables import Findings, findings, frontier_table
from .clock import Clock
from .files import fingerprint, inputs_of, new_folder, writing
from .inputs import Input, read_costs, read_input, read_similarity
from .messages import as_option, heard_warnings, is_watched, say, told
from .outcomes import naming_columns
from .record import as_json, run_record, unlike_before
from .show import csv_text, panel_lines, show_comparison, show_selection

SAME = 0.999  # |r| of a copy of the outcome; distinct real measurements reach .988 (water and fat in meat)
WEAK = 0.1  # features with a lower probability are chosen only to reach --size
FILES = (
    "panel.csv", "panel_curve.csv", "panel_frontier.csv", "stand_ins.csv", "selection.csv", "groups.csv",
    "alternatives.csv", "comparison.csv", "comparison_wide.csv", "frontier.csv",
    "model.vg", "report.html", "run.json",
)  # fmt: skip
SIZES = (2, 4, 6, 8, 10, 15, 20, 30)  # of the frontier, up to the larger of ten and twice the selected set


@dataclass
class Answer:
    """The results of a run."""

    model: DiverseSelector
    found: Findings
    sizes: pd.DataFrame  # `frontier_table`
    comparison: Comparison | None
    frontier: Frontier | None
    about: dict[str, Any]


def run_select(options: Mapping[str, Any]) -> Answer:
    """Run the whole command: read, fit, compare, write, and show."""
    quiet, out = options["quiet"], Path(options["out"])
    clock = Clock(quiet)
    with new_folder(out, FILES, options["overwrite"], inputs_of(options)) as folder:
        answer = find_answer(options, clock)
        step = clock.step("write", "writing tables, model and report")
        with step, writing(out), heard_warnings(quiet):  # the report fits its explorer here
            write_answer(folder, answer, clock)
    for line in panel_lines(answer):
        say(line, quiet)
    say(f"done in {clock.seconds:.0f} s; the rule is in {out / 'panel.csv'}; open {out / 'report.html'}", quiet)
    show_selection(answer, out, options["as_json"])
    if answer.comparison is not None and not options["as_json"]:
        show_comparison(answer.comparison, quiet)
    return answer


def find_answer(options: Mapping[str, Any], clock: Clock, table: str | None = None) -> Answer:
    """Read, fit and compare, without writing anything. Messages call the table `table`, by default its path."""
    quiet, table = options["quiet"], table or options["table"]
    # one thread, so that sums have the same order and a run repeats exactly on any number of cores
    with heard_warnings(quiet) as heard, threadpool_limits(1, user_api="blas"):
        with clock.step("read", f"reading {table}"):
            data = read_input(options, table)
            about = run_record("select", options, data)
        for note in data.notes:
            say(note, quiet)
        warn_of_inputs(about, quiet, heard)
        with clock.step("similarity"):
            similarity, told = read_similarity(options, data.table.features)
            about["data"]["notes"].append(told)
        with clock.step("fit", f"{told}; fitting"):
            model = fitted(options, data, similarity)
            certificate = model.selection_.certificate
        if certificate is not None:
            about["certificate"] = {**certificate._asdict(), "sentence": certificate.sentence()}
            say(certificate.sentence(), quiet)
            if certificate.imputed:
                say(f"missing entries replaced by the mean of their column: {certificate.imputed:,}", quiet)
        comparison, trade = _comparison_and_frontier(options, clock, about["data"]["notes"], (data, similarity, model))
        with clock.step("tables"):
            found, sizes = findings(model, options["alternatives"]), frontier_table(model)
            about["diagnostics"] = diagnosed(found.diagnostics, quiet)
            weak = unsupported(model.selection_, found.diagnostics.expected_size, options["size"])
            costs = what_it_costs(options, model.selection_, data)
            for note in (*costs, *weak, *the_outcome_itself(found, data)):
                about["data"]["notes"].append(note)
                say(f"note: {note}", quiet)
    about |= {"seconds": clock.seconds, "steps": clock.steps, "warnings": heard}
    return Answer(model, found, sizes, comparison, trade, about)


def _comparison_and_frontier(
    options: Mapping[str, Any], clock: Clock, notes: list[str], fit: tuple[Input, Any, DiverseSelector]
) -> tuple[Comparison | None, Frontier | None]:
    """Compare with other methods and compute the frontier, if requested; `fit` is (data, similarity, model)."""
    quiet, comparison, trade = options["quiet"], None, None
    if options["compare"] or options["frontier"]:
        for note in _unlike_the_fit(options, fit[0]):
            notes.append(note)
            say(note, quiet)
    if options["compare"]:
        names, splits = ", ".join(options["compare"]), counted(options["repeats"], "split")
        notes.append(f"comparing with {names} on {splits}")
        with clock.step("compare", notes[-1]):
            comparison = compared(options, *fit)
    if options["frontier"]:
        with clock.step("frontier", "finding out what diversity costs, in five folds"):
            trade = compute_frontier(options, *fit)
        if trade is not None:
            notes.append(trade.sentence())
            say(notes[-1], quiet)
    return comparison, trade


def _unlike_the_fit(options: Mapping[str, Any], data: Input) -> list[str]:
    """Say how the comparison and the frontier differ from the fit: they choose single columns."""
    notes = []
    if options["always_include"]:
        notes.append("the comparison and the frontier treat the columns in --always-include like any other")
    if any(group is not None for group in data.table.groups):
        notes.append("the comparison and the frontier treat each value of a category as a feature of its own")
    return notes


def warn_of_inputs(about: Mapping[str, Any], quiet: bool, heard: list[dict[str, str]]) -> None:
    """Warn if a run is repeated on other data."""
    for change in unlike_before(about, click.get_current_context().meta.get("variegate.config")):
        heard.append({"kind": "DataWarning", "text": change})
        say(f"warning: {change}", quiet)


def fitted(options: Mapping[str, Any], data: Input, similarity: Any) -> Any:
    """Fit the model; an interrupted fit raises KeyboardInterrupt."""
    groups = list(data.table.groups) if any(group is not None for group in data.table.groups) else None
    estimator = ESTIMATORS[data.task](
        similarity=similarity,
        expected_size=options["expected_size"],
        diversity=options["diversity"],
        n_features_to_select=options["size"],
        choose=options["choose"],
        always_include=list(options["always_include"] or ()) or None,
        groups=groups,
        screen=options["screen"],
        max_iter=options["max_iter"],
        tol=options["tol"],
        random_state=options["seed"],
        verbose=int(is_watched(options["quiet"])),
    )
    with naming_columns(options, data.table.features, data.table.samples):
        model = within_budget(options, data, estimator) if options["costs"] else estimator.fit(data.X, data.y)
    if model.posterior_.fit.interrupted:
        raise KeyboardInterrupt
    return model.set_params(verbose=0)  # who watched the fit is no part of the model


def within_budget(options: Mapping[str, Any], data: Input, estimator: DiverseSelector) -> DiverseSelector:
    """Fit, and choose the panel that the budget allows."""
    prices = read_costs(options, data.table.features)
    found = estimator.search(data.X, data.y)
    panel = found.panels().affordable(found.costs(prices), options["budget"])
    return estimator.publish(replace(found, chosen=panel.features))


def what_it_costs(options: Mapping[str, Any], selection: Selection, data: Input) -> list[str]:
    """Note what the panel costs, if there is a budget."""
    if not options["costs"]:
        return []
    costs = selection.costs(read_costs(options, data.table.features))[selection.chosen]
    if not len(costs):
        return [f"no feature that a budget of {options['budget']:g} allows is worth its price"]
    return [f"the panel costs {costs.sum():g} of a budget of {options['budget']:g}"]


def unsupported(selection: Selection, expected_size: float, size: int | None) -> list[str]:
    """Note chosen features that are there only because --size asked for them."""
    weak = int((selection.posterior.inclusion_prob()[selection.chosen] < WEAK).sum())
    if size is None or not weak or expected_size >= size:
        return []
    were = "has a probability" if weak == 1 else "have probabilities"
    wanted = f"on average sets have {expected_size:.1f}"
    return [f"{weak} of the {size} chosen features {were} below {WEAK}: --size asked for {size}, but {wanted}"]


def the_outcome_itself(found: Findings, data: Input) -> list[str]:
    """Note a chosen column that is nearly a copy of the outcome."""
    if not isinstance(data.X, pd.DataFrame) or data.task not in ("regression", "classification"):
        return []
    y = np.unique(data.y, return_inverse=True)[1] if data.task == "classification" else data.y
    table = found.selection
    names = [name for name in table["feature"][table["selected"]] if name in data.X.columns]
    same = [name for name in names if abs(np.corrcoef(data.X[name], y)[0, 1]) > SAME]
    ways = f"is it known before the outcome? If not, leave it out by {as_option(Argument('drop', same[:1]))}"
    return [f"'{shortened(same[0])}' nearly equals the outcome (|r| above {SAME}): {ways}"] if same else []


def diagnosed(found: Diagnostics, quiet: bool) -> dict[str, Any]:
    """Say what the diagnostics warn of, and return them for the record."""
    for message in found.messages():
        say(f"note: {told(message)}", quiet)
    return {**found._asdict(), "messages": found.messages()}


def compared(options: Mapping[str, Any], data: Input, similarity: Any, model: DiverseSelector) -> Comparison | None:
    """Compare methods on the same splits, all with as many features as were selected; None if that fails.

    Our method runs with the settings of the fit, so that its scores are those of what was selected.
    """
    given = {name: options[name] for name in ("max_iter", "diversity", "expected_size", "tol")}
    ours = {"variegate": Diverse(**given), "most_probable": Diverse(choose="probability", **given)}
    selected = "variegate" if options["choose"] == "prediction" else "most_probable"
    methods = {name: ours.get(name) or METHODS[name] for name in (selected, *options["compare"])}
    try:
        return compare(
            methods,
            data.X,
            data.y,
            similarity=similarity,
            task=data.task,
            repeats=options["repeats"],
            size=max(len(model.selection_.chosen), 1),
            screen=options["screen"],
            random_state=options["seed"],
            n_jobs=options["jobs"],
            progress=is_watched(options["quiet"]),
        )
    except ValueError as error:  # such as too few rows in a class; keep the selection
        warnings.warn(f"There is no comparison: {error}", stacklevel=2)
        return None


def compute_frontier(
    options: Mapping[str, Any], data: Input, similarity: Any, model: DiverseSelector
) -> Frontier | None:
    """Compute the frontier for sizes around that of the selected set; None if the rows cannot be split."""
    chosen = len(model.selection_.chosen)
    most = min(max(10, 2 * chosen), model.selection_.candidates.n_units)
    try:
        return frontier(
            data.X,
            data.y,
            sizes=sorted({size for size in SIZES if size <= most} | ({chosen} if 0 < chosen <= most else set())),
            similarity=similarity,
            task=data.task,
            screen=options["screen"],
            random_state=options["seed"],
            n_jobs=options["jobs"],
            progress=is_watched(options["quiet"]),
        )
    except ValueError as error:
        warnings.warn(f"There is no frontier: {error}", stacklevel=2)
        return None


def write_answer(folder: Path, answer: Answer, clock: Clock) -> None:
    """Write all files of a run to a temporary folder."""
    from ..report import write_report  # slow to import

    found = answer.found
    tables = {"panel": found.rule, "panel_curve": found.curve, "stand_ins": found.stand_ins}
    tables |= {"panel_frontier": answer.sizes, "selection": found.selection, "groups": found.groups}
    joined = found.alternatives.copy()
    for column in ("features", "added", "removed"):
        joined[column] = ["; ".join(map(str, names)) for names in joined[column]]
    for column in ("within", "between"):
        joined[column] = ["; ".join(f"{gone} -> {come}" for gone, come in pairs) for pairs in joined[column]]
    tables["alternatives"] = joined
    table = None if answer.comparison is None else answer.comparison.table
    if answer.comparison is not None:
        tables["comparison"] = table
        tables["comparison_wide"] = answer.comparison.wide()
    if answer.frontier is not None:
        points = answer.frontier.points
        joined = points["positions"].map(lambda positions: "; ".join(map(str, positions)))
        tables["frontier"] = points.assign(positions=joined, names=points["names"].map("; ".join))
    for name, content in tables.items():
        (folder / f"{name}.csv").write_text(csv_text(content), encoding="utf-8")
    save(answer.model, folder / "model.vg")
    answer.about["model"] = fingerprint(folder / "model.vg")
    answer.about["seconds"] = clock.seconds
    write_report(
        folder / "report.html",
        answer.model,
        about=answer.about,
        comparison=table,
        frontier=answer.frontier,
        found=found,
    )
    (folder / "run.json").write_text(as_json(answer.about) + "\n", encoding="utf-8")
