"""Write the files of a run: settings, tables, figures, and a README that shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from .settings import write_settings

LARGE = 250_000  # bytes of a picture
MARK = "<!-- results: below this line the run writes, above it people do -->"


def start_results(out: Path, settings: Any) -> None:
    """Create the folder and write the settings there."""
    out.mkdir(parents=True, exist_ok=True)
    write_settings(settings, out / "config.toml")


def write_results(out: Path, title: str, parts: list[str]) -> None:
    """Write README.md: the part above the mark, written by people, is kept; the rest is replaced."""
    path = out / "README.md"
    found = path.read_text(encoding="utf-8") if path.exists() else f"# {title}\n"
    preface = found.split(MARK)[0].rstrip()
    body = "\n\n".join(part.strip() for part in parts)
    path.write_text(f"{preface}\n\n{MARK}\n\n{body}\n", encoding="utf-8")


def write_table(frame: pd.DataFrame, out: Path, name: str) -> None:
    """Write a table as CSV, numbers to five digits."""
    frame.to_csv(out / f"{name}.csv", index=False, float_format="%.5g", lineterminator="\n")


def markdown(frame: pd.DataFrame) -> str:
    """A table in Markdown; index left out.

    >>> print(markdown(pd.DataFrame({"method": ["OMP"], "AUC": ["0.55"]})))
    | method | AUC |
    | --- | --- |
    | OMP | 0.55 |
    """
    rows = [list(map(str, frame.columns)), ["---"] * frame.shape[1], *(map(str, row) for row in frame.to_numpy())]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def new_figure(*shape: int, size: tuple[float, float], **options: Any) -> tuple[Any, Any]:
    """Return a figure with axes, without a window or a change of backend."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(*shape, **options)


def save_figure(figure: Any, out: Path, name: str) -> None:
    """Write a figure as PNG (150 dots per inch) and SVG; the same figure gives the same file."""
    import matplotlib as mpl
    from PIL import Image  # comes with matplotlib

    path = out / f"{name}.png"
    with mpl.rc_context({"svg.hashsalt": "variegate"}):
        figure.savefig(path, dpi=150)
        figure.savefig(out / f"{name}.svg", metadata={"Date": None})
    if path.stat().st_size > LARGE:  # 256 colours take a third of the space, but may lose rare ones
        Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, dpi=(150, 150))
