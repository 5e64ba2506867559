"""The command line of an experiment."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import click

from variegate.cli import options
from variegate.cli.cluster import connected

from . import EXPERIMENTS, run_experiment


def run_command(name: str, arguments: Sequence[str] | None = None) -> None:
    """Run an experiment with the options of the shell; print the page it wrote, or one line on what is wrong."""
    command_of(name)(arguments, prog_name=f"python -m experiments.{name}")


def command_of(name: str) -> click.Command:
    """Return the command of an experiment."""

    @click.command(help=EXPERIMENTS[name].title + ".")
    @click.option("--data", type=click.Path(exists=True, file_okay=False), help="Folder with the real data sets.")
    @click.option("--out", type=click.Path(file_okay=False), metavar="DIR", help=f"Default: paper/{name}.")
    @click.option("--config", type=click.Path(dir_okay=False), help="TOML file with settings that differ.")
    @click.option("--quick", is_flag=True, help="Run a small version, in about a minute.")
    @click.option("--quiet", "-q", is_flag=True, help="No progress and no warnings.")
    @options.cluster
    @options.seed
    @options.n_jobs
    def command(cluster: str | None, n_jobs: int | None, quiet: bool, **options: Any) -> None:
        if quiet:
            warnings.simplefilter("ignore")
        try:
            with connected(cluster):
                folder = run_experiment(name, n_jobs=n_jobs, verbose=not quiet, **options)
        except (ValueError, ImportError, OSError) as error:
            raise click.ClickException(str(error)) from None
        click.echo(folder / "README.md")

    return command
