"""`variegate paper`: the experiments of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from .messages import heard_warnings


def run_paper(options: Mapping[str, Any]) -> None:
    """Run one, or list them."""
    from .. import paper  # figures: only here

    if options["name"] is None:
        for name, experiment in paper.EXPERIMENTS.items():
            click.echo(f"{name}\t{experiment.title}")
        return
    if options["name"] not in paper.EXPERIMENTS:
        raise click.UsageError(f"there is no experiment {options['name']!r}; there are {', '.join(paper.EXPERIMENTS)}")
    with heard_warnings(options["quiet"]):
        paper.run_experiment(
            options["name"],
            data=options["data"],
            out=options["out"],
            config=options["config"],
            quick=options["quick"],
            n_jobs=options["jobs"],
            seed=options["seed"],
            verbose=not options["quiet"],
        )
