"""A genome scan from the PLINK file to the groups, as a user runs it: 10⁴, 10⁵ and 10⁶ variants of 2,000 individuals.

    python -m benchmarks.large [VARIANTS ...] [--check]

--check compares with fits in memory: of all variants if there are at most 100,000, otherwise of the 50,000 most
related to the trait, with the same prior. Needs the data (the folder VARIEGATE_DATA), and 500 bytes of disk per
variant.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.genotypes import write
from benchmarks.measure import in_child, table
from variegate import DiverseRegressor
from variegate.large import LargeTable, first_look, open_large_table

INDIVIDUALS, SIZES = 2000, (10_000, 100_000, 1_000_000)
ALL_IN_MEMORY, BEST = 100_000, 50_000  # variants that are fitted at once, for the check
# What the command learns from 100,000 variants, for fits that must not learn it.
EXPECTED = 30.0
SAME: dict[str, Any] = {"diversity": 0, "slab_precision": 30.0}
SHOWN = 0.02  # probability above which differences are averaged
LIKELY = 0.5  # a group counts from this probability on


class Run(NamedTuple):
    """What one size took and found."""

    variants: int
    seconds: dict[str, float]
    peak_bytes: float
    certificate: dict[str, float]
    probabilities: pd.DataFrame  # by variant: inclusion_probability, error
    groups: int
    found: int  # causal variants in a probable group


def measured(folder: Path, causal: np.ndarray) -> Run:
    """Run the command in its own process."""
    taken = in_child(
        "import os\nfrom variegate.cli import main\n"
        f"os.chdir({str(folder)!r})\n"
        "code = main(['select', 'scan.bed', '--outcome', 'trait.tsv:height', '--quiet', '--overwrite'])\n"
        "result = {'code': code}"
    )
    record = json.loads((folder / "variegate-out/run.json").read_text("utf-8"))
    selection = pd.read_csv(folder / "variegate-out/selection.csv").set_index("feature")
    groups = pd.read_csv(folder / "variegate-out/groups.csv")
    likely = groups[groups["group_probability"] > LIKELY]
    members = likely["feature"].str[1:].astype(int).to_numpy()
    return Run(
        variants=record["data"]["columns"],
        seconds={**record["steps"], "all": record["seconds"]},
        peak_bytes=taken["peak_bytes"],
        certificate=record["certificate"],
        probabilities=selection[["inclusion_probability", "error", "role"]],
        groups=likely["group"].nunique(),
        found=int(np.isin(causal, members).sum()),
    )


def differences(folder: Path, run: Run) -> list[str]:
    """How far the probabilities are from those of fits in memory."""
    y = pd.read_csv(folder / "trait.tsv", sep="\t")["height"].to_numpy()
    scan, found = open_large_table(folder / "scan.bed"), []
    if run.variants <= ALL_IN_MEMORY:
        X = pd.DataFrame(scan.columns(np.arange(run.variants)), columns=scan.names)
        model = DiverseRegressor(screen=run.variants, random_state=0).fit(X, y)
        there = of(model)
        left_out = run.probabilities.index[run.probabilities["role"] == "screened out"]
        found.append(
            f"against all of them in memory: {compared(run.probabilities, there)} "
            f"Columns left out: {there.loc[left_out, 'inclusion_probability'].sum():.1f} features in memory, "
            f"{run.certificate['expected']:.1f} by the certificate."
        )
    if run.variants > BEST:
        found.append(f"against the best {BEST:,} in memory, the same prior: {against_best(scan, y)}")
    return [f"* {run.variants:,} variants {note}" for note in found]


def against_best(scan: LargeTable, y: np.ndarray) -> str:
    """All variants against the best-screened ones in memory, with the same prior odds and slab precision.

    If learned from columns chosen by their relation to the trait, these would differ: 66 features are expected in a
    set from the best 50,000 of 100,000 variants, 31 from all of them.
    """
    moments, products = first_look(scan, np.ones(len(y)), (y - y.mean())[None])
    best = np.sort(np.argsort(-np.abs(products[0] * moments.inverse_scale))[:BEST])
    X = pd.DataFrame(scan.columns(best), columns=scan.names[best])
    share = BEST / scan.shape[1]
    some = DiverseRegressor(screen=BEST, expected_size=EXPECTED * share, random_state=0, **SAME).fit(X, y)
    whole = DiverseRegressor(expected_size=EXPECTED, random_state=1, **SAME).fit(scan, y)
    return compared(of(whole), of(some))


def of(model: DiverseRegressor) -> pd.DataFrame:
    """Probabilities and errors as the command writes them."""
    found = {"inclusion_probability": model.inclusion_probabilities_, "error": model.inclusion_errors_}
    return pd.DataFrame(found, index=model.feature_names_in_)


def compared(whole: pd.DataFrame, there: pd.DataFrame) -> str:
    """How far apart two fits are; errors of probabilities count as at least 0.003."""
    both = there.join(whole, rsuffix="_whole").fillna(0.0)
    off = both["inclusion_probability"] - both["inclusion_probability_whole"]
    z = off / np.hypot(np.hypot(both["error"], both["error_whole"]), 0.003)
    shown = both[["inclusion_probability", "inclusion_probability_whole"]].max(axis=1) > SHOWN
    return (
        f"probabilities differ by {off.abs().max():.3f} at most, {z.abs().max():.1f} Monte Carlo errors at most; "
        f"those above {SHOWN:g} by {np.sqrt(np.square(z[shown]).mean()):.2f} errors (root mean square)."
    )


def cells(run: Run) -> list[object]:
    """A row of the table."""
    c = run.certificate
    return [
        f"{run.variants:,}", c["passes"], f"{c['joined']:,}", f"{c['left_out']:,}", f"{c['largest']:.4f}",
        f"{c['expected']:.1f}", f"{run.groups} with {run.found} of 20", f"{run.seconds['fit']:.0f}",
        f"{run.seconds['all']:.0f}", f"{run.peak_bytes / 1e9:.2f}",
    ]  # fmt: skip


def main(sizes: tuple[int, ...] = SIZES, check: bool = False) -> str:
    """The table of all sizes."""
    rows, notes = [], []
    for m in sizes:
        with tempfile.TemporaryDirectory() as name:
            causal = write(Path(name), INDIVIDUALS, m)
            run = measured(Path(name), causal)
            rows.append(cells(run))
            print(*rows[-1], file=sys.stderr, flush=True)
            if check:
                told = differences(Path(name), run)
                notes += told
                print(*told, sep="\n", file=sys.stderr, flush=True)
    heads = [
        "variants", "passes", "joined", "left out", "their largest probability", "their sum",
        f"groups above {LIKELY:g} with causal variants", "fit, s", "all, s", "peak memory, GB",
    ]  # fmt: skip
    title = (
        f"## Tables larger than memory\n\n`variegate select scan.bed`, {INDIVIDUALS:,} individuals, file to page.\n"
    )
    return "\n".join([title, table(heads, rows), "", *notes])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    print(main(tuple(given.sizes) or SIZES, given.check))
