"""`variegate paper`: the paper's experiments, which are part of the repository but not of the package."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from .messages import Failure, heard_warnings

CHECKOUT = Path(__file__).parents[3]


def run_paper(options: Mapping[str, Any]) -> None:
    """Run one experiment, or list them all."""
    paper = _experiments()
    if options["name"] is None:
        for name, experiment in paper.EXPERIMENTS.items():
            click.echo(f"{name}\t{experiment.title}")
        return
    if options["name"] not in paper.EXPERIMENTS:
        raise click.UsageError(f"no experiment {options['name']!r}; choose from {', '.join(paper.EXPERIMENTS)}")
    with heard_warnings(options["quiet"]):
        out = paper.run_experiment(
            options["name"],
            data=options["data"],
            out=options["out"],
            config=options["config"],
            quick=options["quick"],
            n_jobs=options["jobs"],
            seed=options["seed"],
            verbose=not options["quiet"],
        )
    click.echo(out / "README.md")


def _experiments() -> Any:
    if not (CHECKOUT / "experiments" / "paper" / "__init__.py").is_file():
        raise Failure(
            "the experiments are not part of the installed package; "
            "clone the repository and install it with pip install -e ."
        )
    if str(CHECKOUT) not in sys.path:  # child processes get the same path
        sys.path.insert(0, str(CHECKOUT))
    return import_module("experiments.paper")
