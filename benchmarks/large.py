"""A genome scan from the PLINK file to the groups, as a user runs it: 10⁴, 10⁵ and 10⁶ variants of 2,000 individuals.

    python -m benchmarks.large [VARIANTS ...] [--check]

--check also fits the 50,000 variants that are most related to the trait in memory, and compares. Needs the data (the
folder VARIEGATE_DATA), and 500 bytes of disk for each variant.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.genotypes import write
from benchmarks.measure import in_child, table
from variegate import DiverseRegressor
from variegate.large import first_look, open_large_table

INDIVIDUALS, SIZES = 2000, (10_000, 100_000, 1_000_000)
IN_MEMORY = 50_000  # best-screened variants that are fitted at once, for the check
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
    """Run the command in a process of its own."""
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
        probabilities=selection[["inclusion_probability", "error"]],
        groups=likely["group"].nunique(),
        found=int(np.isin(causal, members).sum()),
    )


def difference(folder: Path, run: Run) -> str:
    """How far the probabilities are from those of the best-screened variants in memory."""
    scan = open_large_table(folder / "scan.bed")
    y = pd.read_csv(folder / "trait.tsv", sep="\t")["height"].to_numpy()
    moments, products = first_look(scan, np.ones(len(y)), (y - y.mean())[None])
    strength = np.abs(products[0] * moments.inverse_scale)
    best = np.sort(np.argsort(-strength)[:IN_MEMORY])
    X = pd.DataFrame(scan.columns(best), columns=scan.names[best])
    model = DiverseRegressor(screen=X.shape[1], random_state=0).fit(X, y)
    there = pd.DataFrame({"p": model.inclusion_probabilities_, "error": model.inclusion_errors_}, index=X.columns)
    both = there.join(run.probabilities, rsuffix="_whole").fillna(0.0)
    off = (both["p"] - both["inclusion_probability"]).abs()
    z = off / np.hypot(np.hypot(both["error"], both["error_whole"]), 0.003)
    return (
        f"{run.variants:,} variants against the best {len(best):,} in memory: probabilities differ by {off.max():.3f} "
        f"at most, {z.max():.1f} Monte Carlo errors at most."
    )


def cells(run: Run) -> list[object]:
    """A row of the table."""
    c = run.certificate
    return [
        f"{run.variants:,}", c["passes"], f"{c['joined']:,}", f"{c['left_out']:,}", f"{c['largest']:.4f}",
        f"{run.groups} with {run.found} of 20", f"{run.seconds['fit']:.0f}", f"{run.seconds['all']:.0f}",
        f"{run.peak_bytes / 1e9:.2f}",
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
                notes.append(difference(Path(name), run))
                print(notes[-1], file=sys.stderr, flush=True)
    heads = [
        "variants", "passes", "joined", "left out", "their largest probability",
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
