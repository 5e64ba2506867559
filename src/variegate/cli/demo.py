"""`variegate demo`: select from thirty measurements, many of them near-copies."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from ..baselines import Problem
from ..baselines import select as select_by
from .clock import Clock
from .files import new_folder, writing
from .messages import say
from .select import FILES, Answer, find_answer, write_answer
from .show import show_table

ALIKE = 0.9  # columns with a larger |r| are near-copies
TABLE = "breast_cancer.csv"
SIZE = 10  # up to six, OMP is as diverse; from ten on, the other methods take near-copies
OTHERS = ("lasso", "omp")
REPEATS = 3  # few, so that the demo takes about a minute


def run_demo(options: Mapping[str, Any]) -> None:
    """Write the table, select from it as a user would, and show the result."""
    from .commands import select

    out, quiet = Path(options["out"]), options["quiet"]
    clock = Clock(quiet)
    command = ["--outcome", "diagnosis", "--size", str(SIZE), "--compare", ",".join(OTHERS), "--repeats", str(REPEATS)]
    with new_folder(out, (*FILES, TABLE), options["overwrite"], ()) as folder:
        with writing(out):
            write_table(folder / TABLE)
        with select.make_context("select", [str(folder / TABLE), *command]) as ctx:
            answer = find_answer({**ctx.params, "out": str(out), "quiet": quiet}, clock, str(out / TABLE))
        _as_if_in_place(answer, out, command)
        with writing(out):
            write_answer(folder, answer, clock)
    tell(answer, out / TABLE)
    say(f"done in {clock.seconds:.0f} s", quiet)
    click.echo(
        "\nThe report shows which measurements can replace each other. Exclude one in its explorer\n"
        "to see what to measure instead."
    )
    click.echo(f"\nOpen the report in a browser: {(out / 'report.html').resolve()}")


def _as_if_in_place(answer: Answer, out: Path, command: list[str]) -> None:
    """Put the table's final path into the record, so that the run can be repeated."""
    about, path = answer.about, str(out / TABLE)
    about["inputs"] = {path: about["data"]["hash"]}
    about["settings"]["table"] = about["data"]["path"] = path
    about["command"] = shlex.join(["variegate", "select", path, *command])


def write_table(path: Path) -> None:
    """Write scikit-learn's breast cancer data as a user would have it."""
    data = load_breast_cancer(as_frame=True)
    table = data.data.rename(columns=lambda name: name.replace(" ", "_"))
    table.insert(0, "diagnosis", np.where(data.target == 0, "malignant", "benign"))
    table.to_csv(path, index=False)


def tell(answer: Answer, path: Path) -> None:
    """Show the selection, and the near-copies that each method selects."""
    frame = pd.read_csv(path)
    X = frame.drop(columns="diagnosis")
    y = np.unique(frame["diagnosis"], return_inverse=True)[1]
    table = answer.found.selection
    chosen = table[table["selected"]]
    copies = near_copies(X, X.columns)
    click.echo(f"\n{len(X)} tumours, {X.shape[1]} measurements; {len(copies)} pairs correlate above {ALIKE}.\n")
    show_table(chosen.drop(columns=["selected", "role", "rank"]), f"The {len(chosen)} selected measurements")
    rng = np.random.default_rng(0)
    sets = {"variegate": list(chosen["feature"])}
    for name in OTHERS:
        sets[name] = list(X.columns[select_by(name, Problem(X.to_numpy(), y, "classification"), SIZE, rng)])
    click.echo(f"\nNear-copies (|r| above {ALIKE}) among {SIZE} measurements, by method:")
    for name, features in sets.items():
        pairs = [f"{a} ~ {b} ({r:.2f})" for a, b, r in near_copies(X, features)]
        click.echo(f"  {name}: {'; '.join(pairs) or 'none'}")
    if answer.comparison is None:  # a warning has said why
        return
    scores = answer.comparison.summary()[["AUC", "largest |r|", "log det"]].reset_index()
    click.echo(f"\nOn held-out tumours (mean ± sd over {REPEATS} splits):")
    show_table(scores, "")


def near_copies(X: pd.DataFrame, features: Any) -> list[tuple[str, str, float]]:
    """Return the pairs of features with |r| above ALIKE, closest first."""
    names = list(features)
    R = np.corrcoef(X[names].to_numpy(), rowvar=False)
    pairs = [(names[i], names[j], float(R[i, j])) for i in range(len(names)) for j in range(i)]
    return sorted((pair for pair in pairs if abs(pair[2]) > ALIKE), key=lambda pair: -abs(pair[2]))
