"""The commands and their options, in pipeline order. The code that does the work is imported on use."""

from __future__ import annotations

from typing import Any

import click

from ..settings import METHODS, SIZED_BY_THEMSELVES, Settings, split
from . import options as o
from .cluster import connected
from .options import FILE, FOLDER, MODEL, NAMES, POSITIVE, SHARE, TABLE, Command, Number, option, options

# \b keeps click from joining the lines
EXAMPLES = """\b
Examples:
  variegate select expression.csv --outcome stage --screen 2000 --size 20
  variegate select expression.csv --time months --event died --always-include age
  variegate select genes.tsv --samples columns --id-column entrez
      --network biogrid.tab3.txt --outcome clinical.csv:stage
      --classes I,II --compare lasso,omp"""


def settings_of(given: dict[str, Any], **further: Any) -> Settings:
    """Return the settings among a command's options, which are taken out of them."""
    names = Settings.__dataclass_fields__.keys()
    try:
        asked = {name: given.pop(name) for name in names & given.keys()} | further
        return Settings(**{name: value for name, value in asked.items() if value is not None})
    except ValueError as error:
        raise click.UsageError(str(error)) from None


@click.command(
    cls=Command, short_help="Select features from a table; write tables, model and report.", epilog=EXAMPLES
)
@click.argument("table", type=TABLE)
@options(
    "First",
    o.outcome,
    option("--size", type=POSITIVE, metavar="K", help="Select K features. Default: as many as are enough."),
    option("--always-include", type=NAMES, metavar="A,B", help="Columns in every set (age, batch), of either table."),
    o.drop,
    o.missing,
    o.samples,
    option("--screen", type=POSITIVE, metavar="N", help="Start with the N columns most related to the outcome."),
    option("--compare", type=NAMES, metavar="M,M", help="Methods to compare with, on five splits: lasso,omp."),
    option("--out", type=FOLDER, default="variegate-out", show_default=True, metavar="DIR", help="For the results."),
    o.config,
)
@o.outcome_options
@options("Table", o.id_column, o.categorical)
@o.similarity_options
@options(
    "Panel and prior",
    option(
        "--choose", type=click.Choice(["prediction", "probability"]), default="prediction", show_default=True,
        help="A panel, whose rule predicts what the whole model predicts, or the most probable set.",
    ),
    option("--costs", type=FILE, help="Prices: a table of two columns, feature and price; with --budget."),
    option("--budget", type=Number(min=0), metavar="PRICE", help="What all features may cost, instead of --size."),
    option("--expected-size", type=o.ABOVE_ZERO, help="Prior mean size. Default: average over it."),
    option(
        "--diversity", type=Number(0, 1000), default=1.0, show_default=True,
        help="How different the selected features should be: 0 ignores diversity, 4 wants a lot of it.",
    ),
    option("--frontier", is_flag=True, help="Find out what diversity costs: accuracy at several --diversity."),
)  # fmt: skip
@options(
    "Run",
    option("--max-iter", type=POSITIVE, help="Maximum laps of the chains, about 1,000 steps each."),
    o.seed,
    o.n_jobs,
    o.cluster,
    o.overwrite,
    o.json,
    o.quiet,
)
def select(out: str, cluster: str | None, overwrite: bool, json: bool, quiet: bool, **given: Any) -> None:
    """Select features of TABLE that predict an outcome and differ from each other.

    TABLE is CSV, TSV, Parquet, .npz or .h5ad. PLINK .bed, .zarr and .npy are read in blocks, so they may be larger
    than memory; their outcome comes from a second table: --outcome traits.tsv:height. A second table has sample ids in
    its first column.

    Writes into a folder: what to measure (panel.csv, panel_curve.csv, panel_frontier.csv, stand_ins.csv), what is
    behind it (selection.csv, groups.csv, alternatives.csv), report.html, model.vg and run.json; comparison.csv and
    frontier.csv if requested. model.vg contains the training rows: treat it as confidentially as the data.
    """
    settings = settings_of(given)
    from .select import run_select

    with connected(cluster):
        run_select(settings, out, cluster=cluster is not None, overwrite=overwrite, json=json, quiet=quiet)


@click.command(cls=Command, short_help="Predict the outcome of new samples.")
@click.argument("model", type=MODEL)
@click.argument("table", type=TABLE)
@options(
    "Options",
    option("--panel", is_flag=True, help="Predict by the panel's rule, which needs the panel's columns only."),
    o.samples,
    o.missing,
    o.id_column,
    o.categorical,
    option("--outcome-table", type=FILE, help="Second table with columns of the model (age), joined by sample id."),
    option("--exposure", metavar="COLUMN", help="Of counts: what they are proportional to. Or FILE:COLUMN."),
    option("--level", type=SHARE, default=0.95, show_default=True, help="Probability that an interval covers."),
    option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write the CSV here, not to stdout."),
    option("--overwrite", is_flag=True, help="Replace FILE if it exists."),
    o.json,
    o.quiet,
    o.config,
)
def predict(out: str | None, overwrite: bool, json: bool, quiet: bool, **given: Any) -> None:
    """Predict the outcome of each sample in TABLE with MODEL, averaged over sets, with credible intervals, as CSV.

    MODEL is a model.vg, or the folder that contains it. With --panel, the rule of the selected features predicts.

    TABLE must have the columns that the model uses, by name, or with --panel those that were selected; other columns
    are ignored.
    """
    from .large_inputs import NewData
    from .predict import run_predict

    file, given["exposure"] = (None, None) if given["exposure"] is None else split(given["exposure"])
    given |= {"outcome_table": given["outcome_table"] or file, "categorical": given["categorical"] or ()}
    run_predict(NewData(**given), out, overwrite=overwrite, json=json, quiet=quiet)


@click.command(cls=Command, short_help="Rewrite the report of a fitted model.")
@click.argument("model", type=MODEL)
@options(
    "Options",
    option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Default: report.html next to the model."),
    option("--overwrite", is_flag=True, help="Replace FILE if it exists."),
    o.quiet,
)
def report(model: str, out: str | None, overwrite: bool, quiet: bool) -> None:
    """Write report.html for MODEL (model.vg or its folder), using run.json and comparison.csv if next to it."""
    from .report import run_report

    run_report(model, out, overwrite=overwrite, quiet=quiet)


@click.command(cls=Command, short_help="Compare selection methods on the same splits.")
@click.argument("table", type=FILE)
@options(
    "First",
    o.outcome,
    option(
        "--methods", type=NAMES, default="variegate,lasso,omp", show_default=True, metavar="M,M",
        help=f"Any of {', '.join(METHODS)}. The first sets the default size.",
    ),
    option("--size", type=POSITIVE, metavar="K", help="Number of features that each method selects."),
    option("--screen", type=POSITIVE, metavar="N", help="First keep N columns, chosen on each training part."),
    option("--repeats", type=POSITIVE, default=20, show_default=True, help="Number of train/test splits."),
    option("--test-size", type=SHARE, default=0.2, show_default=True),
    o.drop,
    o.missing,
    o.samples,
    option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Also write all scores to this CSV."),
    o.config,
)  # fmt: skip
@o.outcome_options
@options("Table", o.id_column, o.categorical)
@o.similarity_options
@options("Run", o.seed, o.n_jobs, o.cluster, o.overwrite, o.json, o.quiet)
def compare(cluster: str | None, methods: tuple[str, ...], **given: Any) -> None:
    """Compare methods on TABLE: accuracy on held-out samples, and diversity and stability of the selections."""
    settings = settings_of(given, compare=methods)
    if settings.size is None and methods[0] not in SIZED_BY_THEMSELVES:
        raise click.UsageError(f"--size: {methods[0]} cannot choose the number of features; give a size")
    from .compare import run_compare

    with connected(cluster):
        run_compare(settings, **given)


@click.command(cls=Command, short_help="Try it on breast cancer data full of near-copies.")
@options(
    "Options",
    option("--out", type=FOLDER, default="variegate-demo", show_default=True, metavar="DIR"),
    o.overwrite,
    o.quiet,
)
def demo(out: str, overwrite: bool, quiet: bool) -> None:
    """Select from the 30 measurements in scikit-learn's breast cancer data, many of them near-copies, and compare."""
    from .demo import run_demo

    run_demo(out, overwrite=overwrite, quiet=quiet)
