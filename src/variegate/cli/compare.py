"""`variegate compare`: selection methods on the same splits."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from ..comparison import MEASURES, Comparison, compare
from ..messages import counted
from ..settings import Settings
from ..tables import csv_text
from ..writing import as_json, new_file, writing
from .files import inputs_of, may_replace
from .inputs import read_input, read_similarity
from .large_inputs import is_read_in_blocks
from .messages import Failure, heard_warnings, is_watched, say
from .show import show_table


def run_compare(
    settings: Settings, *, repeats: int, test_size: float, out: str | None, overwrite: bool, json: bool, quiet: bool
) -> None:
    """Read, compare and show; with --out also write all scores, and a second file with a row per method."""
    outputs = [] if out is None else [Path(out), Path(out).with_name(f"{Path(out).stem}_wide{Path(out).suffix}")]
    inputs = inputs_of(settings.files().values())
    with ExitStack() as files:  # opened first, to fail before the work starts
        paths = [files.enter_context(new_file(path, may_replace(path, overwrite), inputs)) for path in outputs]
        with heard_warnings(quiet):
            found = _compared(settings, repeats, test_size, quiet)
        if found.table.empty:
            raise Failure(f"every method failed: {found.failures['error'].iloc[0].splitlines()[-1]}")
        for path, output, table in zip(paths, outputs, (found.table, found.wide()), strict=False):
            with writing(output):
                path.write_text(csv_text(table), encoding="utf-8")
    if outputs:
        say("wrote all scores to {}, and one row per method to {}".format(*outputs), quiet)
    if json:
        click.echo(as_json(found.statistics().to_dict("records")))
    else:
        title = f"mean ± sd over {counted(repeats, 'split')}"
        show_table(found.summary().rename(columns=MEASURES).reset_index(), title)


def _compared(settings: Settings, repeats: int, test_size: float, quiet: bool) -> Comparison:
    if is_read_in_blocks(settings.table):
        raise Failure(f"variegate compare needs a table in memory, but {settings.table} is read in blocks")
    data, methods = read_input(settings), settings.compare
    for note in data.notes:
        say(note, quiet)
    similarity, source = read_similarity(settings, data.table.features)
    say(f"{source}; comparing {', '.join(methods)} over {counted(repeats, 'split')}", quiet)
    return compare(
        methods, data.X, data.y, similarity=similarity, task=data.task, repeats=repeats, test_size=test_size,
        size=settings.size, screen=settings.screen, reference=methods[0], random_state=settings.seed,
        n_jobs=settings.n_jobs, progress=is_watched(quiet),
    )  # fmt: skip
