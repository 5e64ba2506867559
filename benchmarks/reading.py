"""Reading CSV files: time of a call, of the first call in a process, and peak memory, against other libraries."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from .measure import in_child, interleaved, milliseconds, table, versions

SHAPES = ((500, 20_000), (100_000, 200))
ROUNDS = 5
BAR = 1.2  # times pandas' time, on the wide tables
READERS = {
    "pandas": "import pandas; read = pandas.read_csv",
    "polars": "import polars; read = polars.read_csv",
    "read_table": "from variegate.data import read_table; read = lambda path: read_table(path, 'y')",
}


def write(path: Path, rows: int, columns: int, decimals: int | None) -> None:
    """Write ids, normal numbers with that many decimals (None: all digits) and an outcome."""
    import polars as pl

    X = np.random.default_rng(0).standard_normal((rows, columns))
    frame = pl.DataFrame({f"g{j}": X[:, j] for j in range(columns)} | {"y": X[:, 0]})
    ids = pl.Series("id", [f"s{i}" for i in range(rows)])
    frame.insert_column(0, ids).write_csv(path, float_precision=decimals)


def times(path: Path) -> dict[str, float]:
    """Median seconds of each reader in one process, after a first round."""
    readers = {}
    for name, code in READERS.items():
        space: dict[str, object] = {}
        exec(code, space)
        readers[name] = lambda read=space["read"]: read(path)
    return interleaved(readers, ROUNDS)


def alone(path: Path, name: str) -> dict[str, float]:
    """Seconds of the first call in a new process, after its imports, and the memory of that process."""
    code = f"import time\n{READERS[name]}\nstart = time.perf_counter()\nfound = read({str(path)!r})\n"
    return in_child(code + "result = {'seconds': time.perf_counter() - start}")


def measured(path: Path) -> list[list[str]]:
    warm = in_child(f"from benchmarks.reading import times\nresult = times({str(path)!r})")  # on a fresh heap
    del warm["peak_bytes"]
    cold = {name: alone(path, name) for name in READERS}
    best, least = warm["pandas"], cold["pandas"]["peak_bytes"]
    return [
        [
            name,
            f"{milliseconds(seconds)} ({seconds / best:.2f})",
            milliseconds(cold[name]["seconds"]),
            f"{cold[name]['peak_bytes'] / 1e6:.0f} MB ({cold[name]['peak_bytes'] / least:.2f})",
        ]
        for name, seconds in warm.items()
    ]


def main() -> str:
    header = ["", "a call (of pandas')", "first call in a process", "peak memory of the process (of pandas')"]
    parts = []
    with tempfile.TemporaryDirectory() as folder:
        for rows, columns in SHAPES:
            for decimals in (4, None):
                path = Path(folder) / "table.csv"
                write(path, rows, columns, decimals)
                digits = "all digits" if decimals is None else f"{decimals} decimals"
                size = f"{path.stat().st_size / 1e6:.0f} MB of text, {8e-6 * rows * columns:.0f} MB of numbers"
                parts += [f"{rows:,} × {columns:,}, {digits}: {size}", table(header, measured(path))]
    about = (
        f"Medians of five rounds in one process; bar: {BAR} of the time of `pandas.read_csv` on the wide tables. "
        "`read_table` also checks the file and makes X, y, names and ids of it; memory includes what is imported."
    )
    return "\n\n".join(["## Reading", versions("numpy", "pandas", "polars"), about, *parts])
