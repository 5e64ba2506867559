"""Groups of features that can replace each other, against SuSiE's credible sets: real genotypes, simulated traits."""

import json
import os
import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score

import variegate as vg
from variegate.groups import Group

from .measure import table, versions

LEVEL = 0.95
TRAITS, CAUSAL = 100, 3
EXPLAINED = (0.1, 0.4)
SUSIE = """
suppressMessages(library(susieR)); library(methods)
args <- commandArgs(trailingOnly = TRUE)
read <- function(path, rows) matrix(readBin(path, "double", n = file.size(path) / 8), nrow = rows)
X <- read(args[1], as.integer(args[3])); Y <- read(args[2], as.integer(args[3]))
for (k in seq_len(ncol(Y))) {
  start <- proc.time()[["elapsed"]]
  fit <- susie(X, Y[, k], L = 10, coverage = 0.95, min_abs_corr = 0.5)
  seconds <- proc.time()[["elapsed"]] - start
  sets <- lapply(fit$sets$cs, function(set) set - 1)
  cat("[[", paste(sapply(sets, paste, collapse = ","), collapse = "],["), "]]|[",
      paste(format(fit$pip, digits = 8), collapse = ","), "]|", seconds, "\\n", sep = "")
}
"""
Found = tuple[list[np.ndarray], np.ndarray, float]  # sets, probabilities, seconds


def genotypes() -> dict[str, np.ndarray]:
    """The real genotypes, if they are available."""
    folder = os.environ.get("VARIEGATE_DATA")
    if not folder:
        raise SystemExit("benchmarks groups: set VARIEGATE_DATA to the folder that holds finemapping_n3.")
    return dict(np.load(Path(folder) / "finemapping_n3" / "n3finemapping.npz"))


def traits(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Simulated traits (N, TRAITS), and the causal columns of each (TRAITS, CAUSAL)."""
    rng = np.random.default_rng(2026)
    Y, causal = np.empty((len(X), TRAITS)), np.empty((TRAITS, CAUSAL), dtype=int)
    for k in range(TRAITS):
        causal[k] = rng.choice(X.shape[1], CAUSAL, replace=False)
        signal = X[:, causal[k]] @ rng.normal(size=CAUSAL)
        share = rng.uniform(*EXPLAINED)
        Y[:, k] = signal / signal.std() * np.sqrt(share) + rng.normal(size=len(X)) * np.sqrt(1 - share)
    return Y, causal


def ours(X: np.ndarray, Y: np.ndarray) -> tuple[list[Found], list[list[Group]]]:
    """Probable groups, probabilities and seconds for each trait; and all of its groups."""
    found, groups = [], []
    for y in Y.T:
        start = time.perf_counter()
        model = vg.DiverseRegressor(random_state=0).fit(X, y)
        groups.append(model.posterior_.groups(LEVEL))
        seconds = time.perf_counter() - start
        p = model.inclusion_probabilities_
        found.append(([g.positions for g in groups[-1] if g.probability >= LEVEL], p, seconds))
    return found, groups


def susie(X: np.ndarray, Y: np.ndarray) -> list[Found] | None:
    """Credible sets, probabilities and seconds of susieR, if R and susieR are installed."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        for name, array in (("X", X), ("Y", Y)):
            np.asarray(array, dtype=np.float64).T.tofile(f"{folder}/{name}")
        Path(f"{folder}/run.R").write_text(SUSIE)
        run = ["Rscript", f"{folder}/run.R", f"{folder}/X", f"{folder}/Y", str(len(X))]
        done = subprocess.run(run, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    found = []
    for line in done.stdout.splitlines():
        sets, p, seconds = line.split("|")
        found.append(
            ([np.array(S, dtype=int) for S in json.loads(sets) if S], np.array(json.loads(p)), float(seconds))
        )
    return found


def judged(name: str, found: list[Found], causal: np.ndarray) -> list[str]:
    """A row of the table."""
    sets = [(set(S.tolist()), set(c.tolist())) for (each, _, _), c in zip(found, causal, strict=True) for S in each]
    covered = np.mean([bool(S & c) for S, c in sets])
    caught = [
        len(set().union(*[S.tolist() for S in each]) & set(c.tolist()))
        for (each, _, _), c in zip(found, causal, strict=True)
    ]
    sizes = [len(S) for S, _ in sets]
    truth = np.zeros((len(found), len(found[0][1])))
    np.put_along_axis(truth, causal, 1.0, axis=1)
    off = np.square(np.array([p for _, p, _ in found]) - truth).sum(axis=1)
    return [
        name, str(len(sets)), f"{covered:.3f}", f"{np.sum(caught) / causal.size:.3f}",
        f"{np.mean(sizes):.1f} ({np.median(sizes):.0f})", f"{off.mean():.2f}",
        f"{np.mean([s for _, _, s in found]):.1f} s",
    ]  # fmt: skip


def fine_mapping() -> str:
    """Coverage, power and size on the genotypes, and on the two traits of the data set."""
    data = genotypes()
    X = np.asarray(data["X"], dtype=np.float64)
    Y, causal = traits(X)
    found, _ = ours(X, Y)
    rows = [judged("variegate", found, causal)]
    if (theirs := susie(X, Y)) is not None:
        rows.append(judged("SuSiE (susieR, L = 10)", theirs, causal))
    head = ["", "groups", "coverage", "power", "size, mean (median)", "Σ (p − truth)²", "seconds a trait"]
    lines = [table(head, rows), ""]
    _, original = ours(X, data["Y"])
    for k, groups in enumerate(original):
        for m in np.flatnonzero(data["true_coef"][:, k]):
            group = next((g for g in groups if m in g.positions), None)
            said = "in no group" if group is None else f"in a group of {len(group.positions)}, {group.probability:.2f}"
            lines.append(f"* Original trait {k + 1}, true column {m}: {said}.")
    return "\n".join(lines)


def blocks() -> str:
    """Whether groups find the blocks, and whether their probabilities are calibrated."""
    scores, promised, kept = [], [], []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        X = vg.datasets.make_blocks(n_samples=150, n_features=200, rng=seed).X
        truth = rng.choice(200, rng.integers(0, 11), replace=False)
        y = X[:, truth] @ (0.5 * rng.normal(size=len(truth))) + rng.normal(size=150)
        groups = vg.DiverseRegressor(random_state=0).fit(X, y).posterior_.groups()
        block = np.arange(200) // 10
        true = set(block[truth].tolist())
        members = [(m, i) for i, g in enumerate(groups) if g.probability >= LEVEL for m in g.positions]
        if members:
            scores.append(adjusted_rand_score([block[m] for m, _ in members], [i for _, i in members]))
        for g in groups:
            promised.append(g.probability)
            kept.append(bool(true & set(block[g.positions].tolist())))
    promised, kept = np.array(promised), np.array(kept)
    rows = []
    for low, high in ((0.1, 0.3), (0.3, 0.7), (0.7, 0.95), (0.95, 1.01)):
        some = (promised >= low) & (promised < high)
        rows.append(
            [f"{low:g}-{min(high, 1):g}", some.sum(), f"{promised[some].mean():.2f}", f"{kept[some].mean():.2f}"]
        )
    head = ["probability of the group", "groups", "mean", "hold a true block"]
    return table(head, rows) + f"\n\nAdjusted Rand index of group and block, certain groups: {np.mean(scores):.3f}."


def main() -> str:
    """The part of RESULTS.md."""
    warnings.simplefilter("ignore")
    return "\n\n".join([
        "## Groups that stand in for each other",
        f"`python -m benchmarks groups`. {TRAITS} traits with {CAUSAL} causal columns that explain 10-40 % of the "
        "variance, on real genotypes (574 × 1,001). Groups of level 0.95 are right if they hold a causal column.",
        fine_mapping(),
        "Regression with blocks of ten near-copies, 100 data sets (N=150, M=200, none to ten true columns, normal "
        "effects):",
        blocks(),
        versions("variegate", "numpy", "scikit-learn"),
    ])  # fmt: skip
