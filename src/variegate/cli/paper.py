"""`variegate paper`: the experiments of the paper, which lie beside the package in a checkout."""

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
    """Run one, or list them."""
    paper = _experiments()
    if options["name"] is None:
        for name, experiment in paper.EXPERIMENTS.items():
            click.echo(f"{name}\t{experiment.title}")
        return
    if options["name"] not in paper.EXPERIMENTS:
        raise click.UsageError(f"there is no experiment {options['name']!r}; there are {', '.join(paper.EXPERIMENTS)}")
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
            "the experiments are not part of the installed package; they are in the folder experiments of its source: "
            "run `variegate paper` from an editable install of a checkout (pip install -e .)"
        )
    if str(CHECKOUT) not in sys.path:  # child processes get the same path
        sys.path.insert(0, str(CHECKOUT))
    return import_module("experiments.paper")
