"""`variegate select`: from a table on disk to a folder of results."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from ..baselines import METHODS, Diverse
from ..comparison import Comparison, Frontier, compare, frontier
from ..data import shortened
from ..estimators import ESTIMATORS, DiverseSelector
from ..messages import counted
from ..run import FILES, Run
from ..settings import Settings
from ..writing import new_folder, writing
from .clock import Clock
from .files import inputs_of, may_replace
from .inputs import Input, read_costs, read_input, read_similarity
from .messages import heard_warnings, is_watched, say
from .options import config_file
from .outcomes import naming_columns
from .record import run_record, unlike_before
from .show import panel_lines, show_comparison, show_selection

SAME = 0.999  # |r| of a copy of the outcome; distinct real measurements reach .988 (water and fat in meat)
WEAK = 0.1  # features with a lower probability are chosen only to reach --size
SIZES = (2, 4, 6, 8, 10, 15, 20, 30)  # of the frontier, up to the larger of ten and twice the selected set
REPEATS = 5  # splits to compare on


def run_select(settings: Settings, out: str, *, cluster: bool, overwrite: bool, json: bool, quiet: bool) -> Run:
    """Find, write and show."""
    clock, place = Clock(quiet), Path(out)
    overwrite = may_replace(place, overwrite)
    with new_folder(place, FILES, overwrite, inputs_of(settings.files().values())) as folder:
        run = find(settings, clock, cluster=cluster)
        step = clock.step("write", "writing tables, model and report")
        with step, writing(place), heard_warnings(quiet):  # the report fits its explorer here
            run.fill(folder)
    for line in panel_lines(run):
        say(line, quiet)
    say(f"done in {clock.seconds:.0f} s; the rule is in {place / 'panel.csv'}; open {place / 'report.html'}", quiet)
    show_selection(run, place, json)
    if run.comparison is not None and not json:
        show_comparison(run.comparison, quiet)
    return run


def find(settings: Settings, clock: Clock, *, cluster: bool = False) -> Run:
    """Read, fit and compare, without writing anything."""
    quiet, notes = clock.quiet, []
    # one thread, so that sums have the same order and a run repeats exactly on any number of cores
    with heard_warnings(quiet) as heard, threadpool_limits(1, user_api="blas"):
        with clock.step("read", f"reading {settings.table}"):
            data = read_input(settings, cluster=cluster)
            record = run_record(settings, data)
        for note in data.notes:
            notes.append(note)
            say(note, quiet)
        for change in unlike_before(record, config_file()):
            heard.append({"kind": "DataWarning", "text": change})
            say(f"warning: {change}", quiet)
        with clock.step("similarity"):
            similarity, source = read_similarity(settings, data.table.features)
            notes.append(source)
        with clock.step("fit", f"{source}; fitting"):
            model = fitted(settings, data, similarity, quiet)
        if (certificate := model.selection_.certificate) is not None:
            record["certificate"] = {**certificate._asdict(), "sentence": certificate.sentence()}
            say(certificate.sentence(), quiet)
            if certificate.imputed:
                say(f"missing entries replaced by the mean of their column: {certificate.imputed:,}", quiet)
        for note in _unlike_the_fit(settings, data) if settings.compare or settings.frontier else ():
            notes.append(note)
            say(note, quiet)
        comparison = trade = None
        if settings.compare:
            notes.append(f"comparing with {', '.join(settings.compare)} on {counted(REPEATS, 'split')}")
            with clock.step("compare", notes[-1]):
                comparison = compared(settings, data, similarity, model, quiet)
        if settings.frontier:
            with clock.step("frontier", "finding out what diversity costs, in five folds"):
                trade = compute_frontier(settings, data, similarity, model, quiet)
            if trade is not None:
                notes.append(trade.sentence())
                say(notes[-1], quiet)
        run = Run(model, notes, comparison, trade, record)
        with clock.step("tables"):
            record["diagnostics"] = _diagnosed(run, quiet)
            for note in (*_price(settings, run, data), *_unsupported(settings, run), *_the_outcome_itself(run, data)):
                notes.append(note)
                say(f"note: {note}", quiet)
            _ = run.sizes  # computed here, where warnings are heard
    record |= {"seconds": clock.seconds, "steps": clock.steps, "warnings": heard}
    return run


def fitted(settings: Settings, data: Input, similarity: Any, quiet: bool) -> DiverseSelector:
    """Fit the model; an interrupted fit raises KeyboardInterrupt."""
    groups = list(data.table.groups) if any(group is not None for group in data.table.groups) else None
    estimator = ESTIMATORS[data.task](
        similarity=similarity,
        expected_size=settings.expected_size,
        diversity=settings.diversity,
        n_features_to_select=settings.size,
        choose=settings.choose,
        always_include=list(settings.always_include) or None,
        groups=groups,
        screen=settings.screen,
        max_iter=settings.max_iter,
        random_state=settings.seed,
        verbose=int(is_watched(quiet)),
    )
    with naming_columns(settings.table, settings.second, settings.columns, data.table):
        model: Any = _within_budget(settings, data, estimator) if settings.costs else estimator.fit(data.X, data.y)
    if model.posterior_.fit.interrupted:
        raise KeyboardInterrupt
    return model.set_params(verbose=0)  # type: ignore[no-any-return]  # who watched the fit is no part of the model


def _within_budget(settings: Settings, data: Input, estimator: Any) -> Any:
    """Fit, and choose the panel that the budget allows."""
    prices = read_costs(settings, data.table.features)
    found = estimator.search(data.X, data.y)
    panel = found.panels().affordable(found.costs(prices), settings.budget)
    return estimator.publish(replace(found, chosen=panel.features))


def compared(
    settings: Settings, data: Input, similarity: Any, model: DiverseSelector, quiet: bool
) -> Comparison | None:
    """Compare methods on the same splits, all with as many features as were selected; None if that fails.

    Our method runs with the settings of the fit, so that its scores are those of what was selected.
    """
    given: Any = {name: getattr(settings, name) for name in ("max_iter", "diversity", "expected_size")}
    ours = {"variegate": Diverse(**given), "most_probable": Diverse(choose="probability", **given)}
    selected = "variegate" if settings.choose == "prediction" else "most_probable"
    methods = {name: ours.get(name) or METHODS[name] for name in (selected, *settings.compare)}
    try:
        return compare(
            methods, data.X, data.y, similarity=similarity, task=data.task, repeats=REPEATS,
            size=max(len(model.selection_.chosen), 1), screen=settings.screen, random_state=settings.seed,
            n_jobs=settings.n_jobs, progress=is_watched(quiet),
        )  # fmt: skip
    except ValueError as error:  # such as too few rows in a class; keep the selection
        warnings.warn(f"There is no comparison: {error}", stacklevel=2)
        return None


def compute_frontier(
    settings: Settings, data: Input, similarity: Any, model: DiverseSelector, quiet: bool
) -> Frontier | None:
    """Compute the frontier for sizes around that of the selected set; None if the rows cannot be split."""
    chosen = len(model.selection_.chosen)
    most = min(max(10, 2 * chosen), model.selection_.candidates.n_units)
    sizes = {size for size in SIZES if size <= most} | ({chosen} if 0 < chosen <= most else set())
    try:
        return frontier(
            data.X, data.y, sizes=sorted(sizes), similarity=similarity, task=data.task, screen=settings.screen,
            random_state=settings.seed, n_jobs=settings.n_jobs, progress=is_watched(quiet),
        )  # fmt: skip
    except ValueError as error:
        warnings.warn(f"There is no frontier: {error}", stacklevel=2)
        return None


def _unlike_the_fit(settings: Settings, data: Input) -> Iterator[str]:
    """Say how the comparison and the frontier differ from the fit: they choose single columns."""
    if settings.always_include:
        yield "the comparison and the frontier treat the columns in --always-include like any other"
    if any(group is not None for group in data.table.groups):
        yield "the comparison and the frontier treat each value of a category as a feature of its own"


def _diagnosed(run: Run, quiet: bool) -> dict[str, Any]:
    """Say what the diagnostics warn of, and return them for the record."""
    found = run.found.diagnostics
    for message in found.messages():
        say(f"note: {message}", quiet)
    return {**found._asdict(), "messages": found.messages()}


def _price(settings: Settings, run: Run, data: Input) -> Iterator[str]:
    """Note what the panel costs, if there is a budget."""
    if settings.costs:
        costs = run.selection.costs(read_costs(settings, data.table.features))[run.selection.chosen]
        if len(costs):
            yield f"the panel costs {costs.sum():g} of a budget of {settings.budget:g}"
        else:
            yield f"no feature that a budget of {settings.budget:g} allows is worth its price"


def _unsupported(settings: Settings, run: Run) -> Iterator[str]:
    """Note chosen features that are there only because --size asked for them."""
    size, expected = settings.size, run.found.diagnostics.expected_size
    weak = int((run.selection.posterior.inclusion_prob()[run.selection.chosen] < WEAK).sum())
    if size is not None and weak and expected < size:
        were = "has a probability" if weak == 1 else "have probabilities"
        wanted = f"on average sets have {expected:.1f}"
        yield f"{weak} of the {size} chosen features {were} below {WEAK}: --size asked for {size}, but {wanted}"


def _the_outcome_itself(run: Run, data: Input) -> Iterator[str]:
    """Note a chosen column that is nearly a copy of the outcome."""
    if not isinstance(data.X, pd.DataFrame) or data.task not in ("regression", "classification"):
        return
    y = np.unique(data.y, return_inverse=True)[1] if data.task == "classification" else data.y
    table = run.found.selection
    names = [name for name in table["feature"][table["selected"]] if name in data.X.columns]
    same = [shortened(name) for name in names if abs(np.corrcoef(data.X[name], y)[0, 1]) > SAME]
    if same:
        ways = f"is it known before the outcome? If not, leave it out by --drop {same[0]}"
        yield f"'{same[0]}' nearly equals the outcome (|r| above {SAME}): {ways}"
