"""`variegate compare`: selection methods on the same splits."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from ..comparison import MEASURES, Comparison, compare
from ..messages import counted
from .files import inputs_of, new_file, writing
from .inputs import read_input, read_similarity
from .messages import Failure, heard_warnings, is_watched, say
from .record import as_json
from .show import comparison_summary, csv_text, show_table


def run_compare(options: Mapping[str, Any]) -> Comparison:
    """Read, compare and show; with --out also write all scores, and a second file with a row per method."""
    quiet = options["quiet"]
    with ExitStack() as files:  # opened first, to fail before the work starts
        inputs = inputs_of(options)
        paths = [files.enter_context(new_file(path, options["overwrite"], inputs)) for path in _outputs(options)]
        with heard_warnings(quiet):
            found = _compared(options)
        if found.table.empty:
            raise Failure(f"every method failed: {found.failures['error'].iloc[0].splitlines()[-1]}")
        for path, out, table in zip(paths, _outputs(options), (found.table, found.wide()), strict=False):
            with writing(out):
                path.write_text(csv_text(table), encoding="utf-8")
    if paths:
        say("wrote all scores to {}, and one row per method to {}".format(*_outputs(options)), quiet)
    if options["as_json"]:
        click.echo(as_json(comparison_summary(found)))
    else:
        title = f"mean ± sd over {counted(options['repeats'], 'split')}"
        show_table(found.summary().rename(columns=MEASURES).reset_index(), title)
    return found


def _outputs(options: Mapping[str, Any]) -> list[Path]:
    if options["out"] is None:
        return []
    out = Path(options["out"])
    return [out, out.with_name(f"{out.stem}_wide{out.suffix}")]


def _compared(options: Mapping[str, Any]) -> Comparison:
    methods, quiet = list(options["methods"]), options["quiet"]
    data = read_input(options)
    for note in data.notes:
        say(note, quiet)
    similarity, told = read_similarity(options, data.table.features)
    say(f"{told}; comparing {', '.join(methods)} over {counted(options['repeats'], 'split')}", quiet)
    return compare(
        methods,
        data.X,
        data.y,
        similarity=similarity,
        task=data.task,
        repeats=options["repeats"],
        test_size=options["test_size"],
        size=options["size"],
        screen=options["screen"],
        reference=methods[0],
        random_state=options["seed"],
        n_jobs=options["jobs"],
        progress=is_watched(quiet),
    )
