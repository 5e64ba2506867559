"""`variegate demo`: select from thirty measurements, many of them near-copies."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from ..baselines import Problem
from ..baselines import select as select_by
from ..run import Run
from ..settings import Settings
from ..writing import new_folder, writing
from .files import may_replace
from .select import run_select

ALIKE = 0.9  # columns with a larger |r| are near-copies
TABLE = "breast_cancer.csv"
SIZE = 10  # up to six, OMP is as diverse; from ten on, the other methods take near-copies
OTHERS = ("lasso", "omp")


def run_demo(given: str, *, overwrite: bool, quiet: bool) -> None:
    """Write the table, select from it as a user would, and show the near-copies."""
    out, path = Path(given), Path(given, TABLE)
    new = not path.exists()
    with new_folder(out, (TABLE,), may_replace(out, overwrite)) as folder, writing(out):
        write_table(folder / TABLE)
    settings = Settings(table=str(path), outcome="diagnosis", size=SIZE, compare=OTHERS)
    try:
        run = run_select(settings, given, cluster=False, overwrite=True, json=False, quiet=quiet)
    except BaseException:
        if new:
            path.unlink()
            with suppress(OSError):  # other files are in it
                out.rmdir()
        raise
    tell(run, path)
    click.echo(
        "\nThe report shows which measurements can replace each other. Exclude one in its explorer\n"
        f"to see what to measure instead.\n\nOpen the report in a browser: {(out / 'report.html').resolve()}"
    )


def write_table(path: Path) -> None:
    """Write scikit-learn's breast cancer data as a user would have it."""
    data = load_breast_cancer(as_frame=True)
    table = data.data.rename(columns=lambda name: name.replace(" ", "_"))
    table.insert(0, "diagnosis", np.where(data.target == 0, "malignant", "benign"))
    table.to_csv(path, index=False)


def tell(run: Run, path: Path) -> None:
    """Show the near-copies that each method selects."""
    frame = pd.read_csv(path)
    X, y = frame.drop(columns="diagnosis"), np.unique(frame["diagnosis"], return_inverse=True)[1]
    table, rng = run.found.selection, np.random.default_rng(0)
    sets = {"variegate": list(table["feature"][table["selected"]])}
    for name in OTHERS:
        sets[name] = list(X.columns[select_by(name, Problem(X.to_numpy(), y, "classification"), SIZE, rng)])
    n_copies = len(near_copies(X, X.columns))
    click.echo(f"\n{len(X)} tumours, {X.shape[1]} measurements; {n_copies} pairs correlate above {ALIKE}.")
    click.echo(f"Near-copies (|r| above {ALIKE}) among {SIZE} measurements, by method:")
    for name, features in sets.items():
        pairs = [f"{a} ~ {b} ({r:.2f})" for a, b, r in near_copies(X, features)]
        click.echo(f"  {name}: {'; '.join(pairs) or 'none'}")


def near_copies(X: pd.DataFrame, features: Any) -> list[tuple[str, str, float]]:
    """Return the pairs of features with |r| above ALIKE, closest first."""
    names = list(features)
    R = np.corrcoef(X[names].to_numpy(), rowvar=False)
    pairs = [(names[i], names[j], float(R[i, j])) for i in range(len(names)) for j in range(i)]
    return sorted((pair for pair in pairs if abs(pair[2]) > ALIKE), key=lambda pair: -abs(pair[2]))
