"""The report: one page to open in a browser, without a network, or to print.

Charts are our own SVG and the explorer our own JavaScript, not Vega. A page with Vega carries a third party's bundle;
Vega's expressions need `eval`, which a strict content-security policy forbids, or an additional interpreter; and its
charts are missing without scripts. The charts here are four simple marks drawn by the template, and no chart library
would do what the explorer computes.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ..comparison import Frontier
from ..selection import Fitted, Selection, selection_of
from ..tables import Findings, findings
from ..writing import write_whole
from .page import rendered

__all__ = ["write_report"]


def write_report(
    path: str | os.PathLike[str],
    model: Selection | Fitted,
    *,
    about: Mapping[str, Any] | None = None,
    comparison: pd.DataFrame | None = None,
    frontier: Frontier | None = None,
    found: Findings | None = None,
) -> None:
    """Write what a fitted model found as one self-contained HTML page.

    The page holds names, probabilities and similarities of the features, not the rows of the table. The file is
    written completely or not at all.

    Parameters
    ----------
    path : file to write
    model : any fitted estimator of this package, or one read by `load`
    about : facts about the run; all keys are optional
        command (text or list of words), settings (dict), data (dict: path, rows, columns, hash, outcome, task, notes),
        versions (dict), seed, seconds, warnings (list of text, or of {kind, text}).
    comparison : table of `compare`, with columns repeat, method, metric, value
    frontier : result of `variegate.frontier`, for a figure of what diversity costs
    found : `findings(model)`, if already computed

    Examples
    --------
    >>> import tempfile, numpy as np, variegate as vg
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5))
    >>> model = vg.DiverseRegressor(random_state=0).fit(X, X[:, 2] + 0.3 * rng.normal(size=60))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     vg.write_report(f"{folder}/report.html", model, about={"data": {"outcome": "height"}})
    """
    selection = selection_of(model)
    html = rendered(selection, found or findings(selection), about or {}, comparison, frontier).encode("utf-8")
    write_whole(Path(path), lambda file: file.write(html))
