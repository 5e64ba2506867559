"""Similarity and readers: seconds and peak memory, each in a separate process.

`python -m benchmarks.similarity`; the loaders find the real data in VARIEGATE_DATA.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from experiments.data import VARIABLE, load_biogrid, load_july_temperature, load_tcga_brca
from scipy.spatial.distance import pdist, squareform

from variegate import similarity
from variegate.data import read_network, read_table
from variegate.screening import screen

from .measure import peak_bytes, versions


def hundred_thousand_points() -> str:
    points = np.random.default_rng(0).random((100_000, 2))
    phi = similarity.from_coordinates(points, 0.15, rank=200, tol=0.0)
    return f"rank {phi.shape[1]}, trace error {phi.trace_error:.1e}"


def large_network() -> str:
    """20,000 nodes and 600,000 edges, written as text and read back, then 300 hubs."""
    rng = np.random.default_rng(0)
    ends = (20_000 * rng.random((2, 600_000)) ** 2).astype(int)  # squared: some nodes are hubs
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "edges.tsv"
        path.write_text("\n".join(f"G{a}\tG{b}" for a, b in ends.T), encoding="utf-8")
        start = time.perf_counter()
        network = read_network(path)
        read = time.perf_counter() - start
    phi = similarity.from_network(network, network.names, hubs=300, rank=300)
    return f"{len(network.names)} nodes, {network.n_edges} edges, read in {read:.1f} s, Φ {phi.shape}"


def kernel_error() -> str:
    """Compare ΦΦᵀ of 2,000 points with the dense kernel, tolerance by tolerance."""
    points = np.random.default_rng(3).random((2000, 2))
    K = np.exp(-squareform(pdist(points, "sqeuclidean")) / 0.15**2)
    found = []
    for tol in (0.1, 0.01, 0.001):
        phi = np.asarray(similarity.from_coordinates(points, 0.15, tol=tol))
        found.append(f"{tol}: {np.abs(phi @ phi.T - K).mean():.1e} (rank {phi.shape[1]})")
    return ", ".join(found)


def papers_genes(mixed: bool = False) -> str:
    """Load, screen and factorise: 486 samples, or with `mixed` all 556."""
    data = load_tcga_brca(mixed=mixed, in_biogrid=True)
    genes = screen(data.X, data.y, n=2000, test="likelihood_ratio")
    about = data.about_features.iloc[genes]
    network = load_biogrid().with_aliases(dict(zip(about["symbol"], about["entrez"], strict=True)))
    phi = similarity.from_network(network, about["symbol"], hubs=300, rank=300)
    return f"X {data.X[:, genes].shape}, Φ {phi.shape}, trace error {phi.trace_error:.3f}"


def july_stations() -> str:
    stations = load_july_temperature()
    phi = similarity.from_coordinates(stations.X, 500.0, lonlat=True, rank=300)
    return f"X {stations.X.shape}, Φ {phi.shape}, trace error {phi.trace_error:.3f}"


def wide_table() -> str:
    """Write a CSV file of 500 samples and 20,000 features, and read it twice."""
    X = np.random.default_rng(0).standard_normal((500, 20_000)).round(4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "wide.csv"
        header = ",".join(["id", *(f"g{j}" for j in range(20_000))])
        rows = "\n".join(f"s{i}," + ",".join(map(str, row)) for i, row in enumerate(X))
        path.write_text(f"{header}\n{rows}\n", encoding="utf-8")
        seconds = []
        for _ in range(2):
            start = time.perf_counter()
            table = read_table(path)
            seconds.append(time.perf_counter() - start)
    return f"{table.X.shape} read in {seconds[1]:.1f} s, the first time in {seconds[0]:.1f} s"


CASES: dict[str, tuple[Callable[[], str], str]] = {
    "points": (hundred_thousand_points, "100,000 points, rank 200: under 60 s, under 2 GB"),
    "error": (kernel_error, "mean error of ΦΦᵀ on 2,000 points: at most 3 × the tolerance"),
    "network": (large_network, "20,000 nodes, 600,000 edges, 300 hubs: a few seconds, a few hundred MB"),
    "genes": (papers_genes, "TCGA + BioGRID, 486 samples, 2,000 screened genes, rank 300: under 15 s"),
    "genes-mixed": (partial(papers_genes, mixed=True), "the same with all 556 samples: under 15 s"),
    "stations": (july_stations, "7,185 July stations, rank 300"),
    "table": (wide_table, "CSV of 500 × 20,000"),
}


REAL = ("genes", "genes-mixed", "stations")


def measure(name: str) -> None:
    """Run one case and print its row; the child process calls this."""
    start = time.perf_counter()
    result = CASES[name][0]()
    seconds = time.perf_counter() - start
    megabytes = peak_bytes() / 1e6
    print(f"| {CASES[name][1]} | {seconds:.1f} | {megabytes:.0f} | {result} |")


def main() -> str:
    rows = []
    for name in CASES:
        if name in REAL and not os.environ.get(VARIABLE):
            rows.append(f"| {CASES[name][1]} | skipped: set {VARIABLE} | | |")
            continue
        child = [sys.executable, "-m", "benchmarks.similarity", name]
        rows.append(subprocess.run(child, check=True, capture_output=True, text=True).stdout.strip())
    header = ["| what was promised | s | peak MB | result |", "| --- | --- | --- | --- |"]
    about = versions("numpy", "scipy", "pandas")
    return "\n\n".join(["## Similarity and reading", about, "\n".join([*header, *rows])])


if __name__ == "__main__":
    measure(sys.argv[1]) if len(sys.argv) > 1 else print(main())
