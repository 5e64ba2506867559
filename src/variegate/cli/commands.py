"""The commands and their options, in pipeline order. The code that does the work is imported on use."""

from __future__ import annotations

from typing import Any

import click

from .cluster import connected
from .options import (
    FILE,
    FOLDER,
    METHODS,
    MODEL,
    NAMES,
    POSITIVE,
    SHARE,
    TABLE,
    Number,
    Whole,
    check_compare,
    check_select,
    cluster_option,
    config_option,
    data_options,
    output_options,
    run_options,
    similarity_options,
    split_outcome,
    table_options,
)

# \b keeps click from joining the lines
EXAMPLES = """\b
Examples:
  variegate select expression.csv --outcome stage --screen 2000 --size 20
  variegate select expression.csv --time months --event died --always-include age
  variegate select genes.tsv --samples columns --id-column entrez
      --network biogrid.tab3.txt --outcome stage --outcome-table clinical.csv
      --classes I,II --compare lasso,omp"""


@click.command(short_help="Select features from a table; write tables, model and report.", epilog=EXAMPLES)
@click.argument("table", type=TABLE)
@data_options
@table_options
@similarity_options
@click.option("--screen", type=POSITIVE, metavar="N", help="Start with the N columns most related to the outcome.")
@click.option("--size", type=POSITIVE, metavar="K", help="Select K features. Default: as many as are enough.")
@click.option(
    "--choose", type=click.Choice(["prediction", "probability"]), default="prediction", show_default=True,
    help="A panel, whose rule predicts what the whole model predicts, or the most probable set.",
)  # fmt: skip
@click.option("--costs", type=FILE, help="Prices: a table of two columns, feature and price; with --budget.")
@click.option("--budget", type=Number(min=0), metavar="PRICE", help="What all features may cost, instead of --size.")
@click.option("--expected-size", type=Number(min=0, min_open=True), help="Prior mean size. Default: average over it.")
@click.option(
    "--diversity", type=Number(0, 1000), default=1.0, show_default=True,
    help="How different the selected features should be: 0 ignores diversity, 4 wants a lot of it.",
)  # fmt: skip
@click.option(
    "--always-include", type=NAMES, metavar="A,B", help="Columns to put in every set (age, batch), from either table."
)
@click.option("--compare", type=NAMES, metavar="M,M", help="Methods to compare with, such as lasso,omp.")
@click.option("--repeats", type=POSITIVE, default=5, show_default=True, help="Train/test splits for --compare.")
@click.option("--frontier", is_flag=True, help="Find out what diversity costs: accuracy at several --diversity.")
@click.option("--alternatives", type=POSITIVE, default=5, show_default=True, help="Alternative sets to list.")
@click.option("--max-iter", type=Whole(min=1), help="Maximum laps of the chains, about 1,000 steps each.")
@click.option(
    "--tol", type=Number(min=0, min_open=True), help="Largest allowed error of a probability. Default: 0.03."
)
@click.option("--out", type=FOLDER, default="variegate-out", show_default=True, metavar="DIR")
@click.option("--overwrite", is_flag=True, help="Replace the results of an earlier run in DIR.")
@cluster_option
@run_options
@output_options
@config_option
def select(**options: Any) -> None:
    """Select features of TABLE that predict an outcome and differ from each other.

    TABLE is CSV, TSV, Parquet, .npz or .h5ad. PLINK .bed, .zarr and .npy are read in blocks, so they may be larger
    than memory; their outcome comes from a second table: --outcome traits.tsv:height.

    Writes into a folder: what to measure (panel.csv, panel_curve.csv, panel_frontier.csv, stand_ins.csv), what is
    behind it (selection.csv, groups.csv, alternatives.csv), report.html, model.vg and run.json; comparison.csv and
    frontier.csv if requested. model.vg contains the training rows: treat it as confidentially as the data.
    """
    split_outcome(options)
    check_select(options)
    from .select import run_select

    with connected(options["cluster"]):
        run_select(options)


@click.command(short_help="Predict the outcome of new samples.")
@click.argument("model", type=MODEL)
@click.argument("table", type=TABLE)
@table_options
@click.option("--outcome-table", type=FILE, help="Second table with columns of the model (age), joined by sample id.")
@click.option("--outcome-id", metavar="COLUMN", help="Its column of sample ids. Default: the first.")
@click.option("--level", type=SHARE, default=0.95, show_default=True, help="Probability that an interval covers.")
@click.option("--exposure", metavar="COLUMN", help="Counts only: what they are proportional to. Default: 1.")
@click.option("--panel", is_flag=True, help="Predict by the panel's rule, which needs the panel's columns only.")
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Write the CSV here, not to stdout.")
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@output_options
@config_option
def predict(**options: Any) -> None:
    """Predict the outcome of each sample in TABLE with MODEL, averaged over sets, with credible intervals, as CSV.

    MODEL is a model.vg, or the folder that contains it. With --panel, the rule of the selected features predicts.

    TABLE must have the columns that the model uses, by name, or with --panel those that were selected; other columns
    are ignored.
    """
    from .predict import run_predict

    run_predict(options)


@click.command(short_help="Rewrite the report of a fitted model.")
@click.argument("model", type=MODEL)
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Default: report.html next to the model.")
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@click.option("--quiet", "-q", is_flag=True, help="Nothing on stderr but errors.")
def report(**options: Any) -> None:
    """Write report.html for MODEL (model.vg or its folder), using run.json and comparison.csv if next to it."""
    from .report import run_report

    run_report(options)


@click.command(short_help="Compare selection methods on the same splits.")
@click.argument("table", type=FILE)
@data_options
@table_options
@similarity_options
@click.option(
    "--methods", type=NAMES, default="variegate,lasso,omp", show_default=True, metavar="M,M",
    help=f"Any of {', '.join(METHODS)}. The first sets the default size.",
)  # fmt: skip
@click.option("--screen", type=POSITIVE, metavar="N", help="First keep N columns, chosen on each training part.")
@click.option("--size", type=POSITIVE, metavar="K", help="Number of features that each method selects.")
@click.option("--repeats", type=POSITIVE, default=20, show_default=True, help="Number of train/test splits.")
@click.option("--test-size", type=SHARE, default=0.2, show_default=True)
@click.option("--out", type=click.Path(dir_okay=False), metavar="FILE", help="Also write all scores to this CSV.")
@click.option("--overwrite", is_flag=True, help="Replace FILE if it exists.")
@cluster_option
@run_options
@output_options
@config_option
def compare(**options: Any) -> None:
    """Compare methods on TABLE: accuracy on held-out samples, and diversity and stability of the selections."""
    split_outcome(options)
    check_compare(options)
    from .compare import run_compare

    with connected(options["cluster"]):
        run_compare(options)


@click.command(short_help="Try it on breast cancer data full of near-copies.")
@click.option("--out", type=FOLDER, default="variegate-demo", show_default=True, metavar="DIR")
@click.option("--overwrite", is_flag=True, help="Replace the results of an earlier run in DIR.")
@click.option("--quiet", "-q", is_flag=True, help="Nothing on stderr but errors.")
def demo(**options: Any) -> None:
    """Select from the 30 measurements in scikit-learn's breast cancer data, many of them near-copies, and compare."""
    from .demo import run_demo

    run_demo(options)
