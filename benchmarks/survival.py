"""Survival: a simulation with blocks of near-copies, and breast cancer patients, against Coxnet and univariate Cox.

The second part needs the data (the folder VARIEGATE_DATA).
"""

import os
import sys
import time
import warnings
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
from experiments.data import load_biogrid, load_tcga_survival
from sklearn.model_selection import KFold
from sksurv.linear_model import CoxnetSurvivalAnalysis, CoxPHSurvivalAnalysis

import variegate as vg
from variegate.baselines import Problem, select
from variegate.metrics import concordance, log_det
from variegate.tasks import Survival, survival_rows

from .measure import table, versions

N, M, BLOCK, TRUE, R = 300, 1000, 10, 8, 0.95
DATA_SETS, TEST = 10, 2000
SPLITS, SCREENED, SIZE = 20, 500, 10
Scores = dict[str, dict[str, list[float]]]


def simulated(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Columns in blocks, eight true ones, 40 % of the times censored: training and test rows, and the truth."""
    rng = np.random.default_rng([19, seed])
    shared = rng.normal(size=(N + TEST, M // BLOCK))
    X = np.sqrt(R) * np.repeat(shared, BLOCK, axis=1) + np.sqrt(1 - R) * rng.normal(size=(N + TEST, M))
    truth = rng.choice(M // BLOCK, TRUE, replace=False) * BLOCK + rng.integers(0, BLOCK, size=TRUE)
    eta = X[:, truth] @ (rng.choice([-1, 1], TRUE) * rng.uniform(0.4, 1.0, TRUE))
    died = rng.exponential(np.exp(-eta))
    seen = rng.exponential(1.0, size=N + TEST)
    low, high = 1e-3, 1e3
    for _ in range(60):  # bisection for the scale that censors 40 %
        middle = np.sqrt(low * high)
        low, high = (middle, high) if (died > middle * seen).mean() > 0.4 else (low, middle)
    y = survival_rows(np.minimum(died, middle * seen), died <= middle * seen)
    return X[:N], y[:N], X[N:], y[N:], truth


def structured(y: np.ndarray) -> np.ndarray:
    return np.array(list(zip(y["event"], y["time"], strict=True)), dtype=[("event", "?"), ("time", "f8")])


def coxnet_cv(X: np.ndarray, y: np.ndarray) -> SimpleNamespace:
    """Coxnet (ℓ₁) with the penalty that has the best concordance in five folds."""
    path = CoxnetSurvivalAnalysis(l1_ratio=1.0, alpha_min_ratio=0.05, n_alphas=50).fit(X, structured(y))
    scores = np.zeros(len(path.alphas_))
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        model = CoxnetSurvivalAnalysis(l1_ratio=1.0, alphas=path.alphas_).fit(X[train], structured(y[train]))
        for i, alpha in enumerate(path.alphas_):
            risk = model.predict(X[test], alpha=alpha)
            scores[i] += concordance(y["time"][test], y["event"][test], risk) if np.ptp(risk) > 0 else 0.5
    best = path.alphas_[int(scores.argmax())]  # from the path: a separate fit, from zero, can fail numerically
    return SimpleNamespace(predict=lambda new: path.predict(new, alpha=best))


def coxnet_of_size(X: np.ndarray, y: np.ndarray, size: int) -> np.ndarray:
    """The columns where Coxnet's path first has that many; if it has more, those with the largest coefficients."""
    path = CoxnetSurvivalAnalysis(l1_ratio=1.0, alpha_min_ratio=0.01, n_alphas=200).fit(X, structured(y))
    counts = np.count_nonzero(path.coef_, axis=0)
    at = int(np.argmax(counts >= size)) if (counts >= size).any() else -1
    return np.sort(np.argsort(-np.abs(path.coef_[:, at]), kind="stable")[:size])


def ridge(X: np.ndarray, y: np.ndarray) -> CoxPHSurvivalAnalysis:
    return CoxPHSurvivalAnalysis(alpha=float(X.shape[1])).fit(X, structured(y))


def timed(scores: Scores, name: str, run: Callable[[], dict[str, float]]) -> None:
    start = time.perf_counter()
    found = {**run(), "seconds": time.perf_counter() - start}
    for key, value in found.items():
        scores.setdefault(name, {}).setdefault(key, []).append(value)


def judge(
    scores: Scores, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, size: int,
    extra: Callable[[np.ndarray], dict[str, float]], probabilities: Callable[[np.ndarray], dict[str, float]],
    options: dict[str, object],
) -> None:  # fmt: skip
    """All methods on one split: averaged or penalised predictions, and sets of one size refitted by weak ridge."""

    def chosen(S: np.ndarray) -> dict[str, float]:
        return {**Survival().scores(X[:, S], y, X_test[:, S], y_test), **extra(S)}

    model = vg.DiverseSurvival(random_state=0, n_features_to_select=size, **options)

    def ours() -> dict[str, float]:
        model.fit(X, y)
        found = concordance(y_test["time"], y_test["event"], model.predict(X_test))
        return {"concordance": found, **probabilities(model.inclusion_probabilities_)}

    def penalised(fit: Callable[..., object]) -> dict[str, float]:
        risk = fit(X, y).predict(X_test)
        return {"concordance": concordance(y_test["time"], y_test["event"], risk)}

    rng = np.random.default_rng(0)
    problem = Problem(X, y, "survival")
    timed(scores, "variegate, averaged", ours)
    timed(scores, f"variegate, {size}", lambda: chosen(np.flatnonzero(model.support_)))
    timed(scores, f"our Lasso, {size}", lambda: chosen(select("lasso", problem, size, rng)))
    timed(scores, f"Coxnet, {size}", lambda: chosen(coxnet_of_size(X, y, size)))
    timed(scores, f"univariate Cox, {size}", lambda: chosen(select("univariate", problem, size, rng)))
    timed(scores, "Coxnet, cross-validated", lambda: penalised(coxnet_cv))
    timed(scores, "ridge Cox", lambda: penalised(ridge))


def shown(scores: Scores, columns: list[str]) -> str:
    def cell(values: list[float] | None, key: str) -> str:
        if values is None:
            return ""
        mean, error = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
        return f"{mean:.3f} ± {error:.3f}" if key == "concordance" else f"{mean:.2f}"

    return table(
        ["", *columns], [[name, *(cell(found.get(key), key) for key in columns)] for name, found in scores.items()]
    )


def simulation() -> str:
    scores: Scores = {}
    for seed in range(DATA_SETS):
        X, y, X_test, y_test, truth = simulated(seed)
        phi = vg.similarity.from_columns(X_test)
        present = np.isin(np.arange(M), truth)

        def extra(S: np.ndarray, phi: np.ndarray = phi, truth: np.ndarray = truth) -> dict[str, float]:
            return {"log det": log_det(phi, S), "true blocks": len(np.intersect1d(S // BLOCK, truth // BLOCK))}

        def squares(p: np.ndarray, present: np.ndarray = present) -> dict[str, float]:
            return {"Σ (p − truth)²": float(np.square(p - present).sum())}

        judge(scores, X, y, X_test, y_test, TRUE, extra, squares, {})
        print(f"survival: data set {seed + 1} of {DATA_SETS}", file=sys.stderr)
    return shown(scores, ["concordance", "log det", "true blocks", "Σ (p − truth)²", "seconds"])


def patients() -> str:
    data = load_tcga_survival(in_biogrid=True)
    ids = [str(entrez) for entrez in data.about_features["entrez"]]
    phi = np.asarray(vg.similarity.from_network(load_biogrid(), ids, rng=0))
    scores: Scores = {}
    for split in range(SPLITS):
        rows = np.random.default_rng([20, split]).permutation(len(data.y))
        test, train = rows[: len(rows) // 5], rows[len(rows) // 5 :]
        kept = np.sort(np.argsort(-Survival().strengths(data.X[train], data.y[train]), kind="stable")[:SCREENED])
        mean, scale = data.X[train][:, kept].mean(axis=0), data.X[train][:, kept].std(axis=0)
        Z = ((data.X[:, kept] - mean) / np.where(scale > 0, scale, 1.0)).astype(np.float64)

        def extra(S: np.ndarray, some: np.ndarray = phi[kept]) -> dict[str, float]:
            return {"log det": log_det(some, S)}

        judge(
            scores,
            Z[train],
            data.y[train],
            Z[test],
            data.y[test],
            SIZE,
            extra,
            lambda p: {},
            {"similarity": phi[kept]},
        )
        print(f"survival: split {split + 1} of {SPLITS}", file=sys.stderr)
    happened = int(data.y["event"].sum())
    return (
        f"TCGA breast cancer, {len(data.y)} patients of all stages, {happened} deaths, the {SCREENED} of "
        f"{data.X.shape[1]:,} genes strongest in the training rows, similarity by BioGRID; {SPLITS} splits, a fifth "
        f"of the rows held out.\n\n{shown(scores, ['concordance', 'log det', 'seconds'])}"
    )


def main() -> str:
    warnings.simplefilter("ignore")
    parts = [
        "## Survival",
        f"`python -m benchmarks survival`. N={N}, M={M:,}, blocks of {BLOCK} with r={R}, {TRUE} true columns, 40 % "
        f"censored, {TEST:,} test rows, {DATA_SETS} data sets; sets of {TRUE} are refitted with a weak ridge. "
        "Concordance: mean ± standard error.",
        simulation(),
    ]
    if os.environ.get("VARIEGATE_DATA"):
        parts.append(patients())
    parts.append(versions("variegate", "numpy", "scikit-survival"))
    return "\n\n".join(parts)
