"""`variegate compare`: methods of selection on the same splits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ..comparison import Comparison, compare
from .files import new_file
from .inputs import read_input, read_similarity
from .messages import Failure, heard_warnings, is_watched, say
from .record import as_json
from .show import comparison_summary, csv_text, show_table


def run_compare(options: Mapping[str, Any]) -> Comparison:
    """Read, compare, show; with --out also write all scores."""
    methods, quiet = list(options["methods"]), options["quiet"]
    with heard_warnings(quiet):
        data = read_input(options)
        for note in data.notes:
            say(note, quiet)
        similarity, told = read_similarity(options, data.table.features)
        say(f"{told}; comparing {', '.join(methods)} over {options['repeats']} splits", quiet)
        found = compare(
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
    if found.table.empty:
        raise Failure(f"every method failed: {found.failures['error'].iloc[0].splitlines()[-1]}")
    if options["out"] is not None:
        with new_file(Path(options["out"]), options["overwrite"]) as path:
            path.write_text(csv_text(found.table), encoding="utf-8")
        say(f"wrote all scores to {options['out']}", quiet)
    if options["as_json"]:
        click.echo(as_json(comparison_summary(found)))
    else:
        show_table(found.summary().reset_index(), f"mean ± sd over {options['repeats']} splits")
    return found
