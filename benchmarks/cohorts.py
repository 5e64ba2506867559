"""Panels where the paper compares: tumour stage, survival and temperature; and a panel used on other samples.

Needs the data (the folder VARIEGATE_DATA).
"""

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from experiments.data import load_biogrid, load_tcga_brca, load_tcga_survival
from experiments.paper import genes, temperature
from experiments.paper.methods import METHODS, OURS
from experiments.paper.summaries import corrected_error
from sklearn.metrics import roc_auc_score

import variegate as vg
from variegate.baselines import Problem, select
from variegate.baselines.ours import Diverse
from variegate.comparison import Comparison, compare
from variegate.metrics import concordance, log_det
from variegate.tasks import Survival

from .measure import table, versions

JOBS = 2
REPEATS, FIELDS = 100, 20  # of the paper's first and second experiment
SURVIVAL_SPLITS, SCREENED, SIZES = 50, 500, (5, 10, 20)
SITES, SITE_SIZE = 20, 10
LAPS = 16  # of the chains
PEERS = ("lasso", "omp", "univariate")
EXPERIMENTS = Path(__file__).parents[1] / "experiments"
MINE: dict[str, Any] = {OURS: METHODS[OURS], "panel": Diverse(max_iter=LAPS)}
Row = dict[str, Any]


def beside_the_paper(found: Comparison, repeats: pd.DataFrame, accuracy: str, share: float) -> str:
    """The panel and the methods of an experiment on the same splits, whose results are in its folder."""
    own = found.table[found.table["method"] == "panel"].pivot(index="repeat", columns="metric", values="value")
    score = {name: rows.set_index("repeat")[accuracy] for name, rows in repeats.groupby("method", sort=False)}
    dets = {name: rows.set_index("repeat")["log det"] for name, rows in repeats.groupby("method", sort=False)}
    score["panel"], dets["panel"] = own[accuracy], own["log det"]
    again = found.values(accuracy)[OURS]
    print(f"{OURS}, again: largest difference {(again - score[OURS]).abs().max():.4f}", file=sys.stderr)
    lines = []
    for name, values in score.items():
        ahead = score["panel"] - values
        error = "" if name == "panel" else f"{ahead.mean():+.3f} ± {corrected_error(ahead, share):.3f}"
        lines.append([name, f"{values.mean():.3f}", error, f"{dets[name].median():.1f}"])
    return table(["", accuracy, "panel minus it", "log det, median"], lines)


def stage() -> str:
    settings = genes.Settings(repeats=REPEATS)
    data = genes.load(settings, None)
    found = compare(
        MINE, data.data.X, data.data.y, task="classification", similarity=data.phi, kernel=data.kernel,
        screen=settings.screen, size=settings.size, repeats=REPEATS, test_size=settings.test_size, reference=OURS,
        random_state=0, n_jobs=JOBS, progress=False,
    )  # fmt: skip
    repeats = pd.read_csv(EXPERIMENTS / "genes" / "repeats.csv")
    return (
        f"TCGA breast cancer, stage I against II, similarity by BioGRID, sets of {settings.size}, {REPEATS} repeats; "
        "the other methods are those of experiments/genes, on the same splits:\n\n"
        + beside_the_paper(found, repeats, "AUC", settings.test_size)
    )


def fields() -> str:
    settings = temperature.Settings(repeats=FIELDS)
    field = temperature.load(settings, None)
    X, N = field.bumps(field.sites), len(field.y)
    parts = []
    for n in settings.train_sizes:
        found = compare(
            MINE, X, field.y, task="regression", similarity="columns", screen=temperature.measured, repeats=FIELDS,
            test_size=N - n, points=field.centres, reference=OURS, random_state=0, n_jobs=JOBS, progress=False,
        )  # fmt: skip
        repeats = pd.read_csv(EXPERIMENTS / "temperature" / f"repeats-{n}.csv")
        own = found.table[found.table["method"] == "panel"].pivot(index="repeat", columns="metric", values="value")
        rows = {name: part.set_index("repeat") for name, part in repeats.groupby("method", sort=False)}
        rows["panel"] = own
        for name in ("panel", "variegate", OURS, "OMP", "Lasso"):
            ratio = rows[name]["MSE"].mean() / rows["OMP"]["MSE"].mean()
            parts.append(
                [n, name, f"{rows[name]['MSE'].mean():.2f}", f"{ratio:.2f}", f"{rows[name]['distance'].mean():.0f}",
                 f"{rows[name]['log det'].median():.1f}"]
            )  # fmt: skip
    return (
        f"July temperature, sets of the size that {OURS} chooses, {FIELDS} repeats; the other methods are those of "
        "experiments/temperature, on the same splits (variegate: the most probable set):\n\n"
        + table(["measurements", "", "MSE", "of OMP's", "distance, km", "log det, median"], parts)
    )


def strongest(X: np.ndarray, strengths: np.ndarray, train: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The strongest columns, standardised by training rows, and their positions."""
    kept = np.sort(np.argsort(-strengths, kind="stable")[:SCREENED])
    mean, scale = X[train][:, kept].mean(axis=0), X[train][:, kept].std(axis=0)
    return ((X[:, kept] - mean) / np.where(scale > 0, scale, 1.0)).astype(np.float64), kept


def survival_split(split: int, X: np.ndarray, y: np.ndarray, phi: np.ndarray) -> list[Row]:
    warnings.simplefilter("ignore")
    rows = np.random.default_rng([20, split]).permutation(len(y))
    test, train = rows[: len(rows) // 5], rows[len(rows) // 5 :]
    Z, kept = strongest(X, Survival().strengths(X[train], y[train]), train)
    some = phi[kept]
    model = vg.DiverseSurvival(random_state=0, similarity=some, max_iter=LAPS).fit(Z[train], y[train])
    problem = Problem(Z[train], y[train], "survival", some)

    def concordant(risk: np.ndarray) -> float:
        return concordance(y["time"][test], y["event"][test], risk)

    found: list[Row] = [{"method": "averaged", "size": 0, "score": concordant(model.predict(Z[test])), "log det": 0.0}]
    for size in SIZES:
        sets: dict[str, np.ndarray] = {
            "panel": model.panel(size).columns,
            "most probable": np.flatnonzero(model.as_support(model.posterior_.map(size))),
            **{name: select(name, problem, size, np.random.default_rng(0)) for name in PEERS},
        }
        for name, S in sets.items():
            scores = Survival().scores(Z[train][:, S], y[train], Z[test][:, S], y[test])
            found.append({"method": name, "size": size, "score": scores["concordance"], "log det": log_det(some, S)})
        rule = concordant(model.panel(size).predict(Z[test]))
        found.append({"method": "panel's rule", "size": size, "score": rule, "log det": np.nan})
    return [{**row, "split": split} for row in found]


def survival() -> str:
    data = load_tcga_survival(in_biogrid=True)
    ids = [str(entrez) for entrez in data.about_features["entrez"]]
    phi = np.asarray(vg.similarity.from_network(load_biogrid(), ids, rng=0))
    rows = pd.DataFrame([r for split in range(SURVIVAL_SPLITS) for r in survival_split(split, data.X, data.y, phi)])
    lines = []
    for size in SIZES:
        here = rows[rows["size"] == size]
        score = here.pivot(index="split", columns="method", values="score")
        for name in ("panel", "panel's rule", "most probable", *PEERS):
            ahead = score["panel"] - score[name]
            error = "" if name == "panel" else f"{ahead.mean():+.3f} ± {corrected_error(ahead, 0.2):.3f}"
            det = here.loc[here["method"] == name, "log det"].mean()
            lines.append([size, name, f"{score[name].mean():.3f}", error, "" if np.isnan(det) else f"{det:.1f}"])
    whole = rows.loc[rows["method"] == "averaged", "score"].mean()
    return (
        f"TCGA breast cancer, survival, {len(data.y)} patients, the {SCREENED} genes strongest in the training rows, "
        f"similarity by BioGRID, {SURVIVAL_SPLITS} splits, a fifth held out; sets are refitted by a weak ridge, the "
        f"panel's rule is used as it is. Averaged over all sets: {whole:.3f}.\n\n"
        + table(["size", "", "concordance", "panel minus it", "log det"], lines)
    )


def other_sites(seed: int, X: np.ndarray, y: np.ndarray, site: np.ndarray) -> Iterator[Row]:
    """AUC of a panel's rule from half of the patients: on others of the same sites, and on all other sites."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng([32, seed])
    order = rng.permutation(np.unique(site))
    sizes = np.cumsum([np.sum(site == s) for s in order])
    here = np.flatnonzero(np.isin(site, order[sizes <= len(y) / 2]))
    there, mixed = np.setdiff1d(np.arange(len(y)), here), rng.permutation(here)
    test, train = mixed[: len(here) // 4], mixed[len(here) // 4 :]
    strengths = np.abs(np.corrcoef(np.column_stack([y[train], X[train]]), rowvar=False)[0, 1:])
    Z, _ = strongest(X, np.nan_to_num(strengths), train)
    model = vg.DiverseClassifier(random_state=0, max_iter=LAPS).fit(Z[train], y[train])
    panel = model.panel(SITE_SIZE)
    for name, by in ((f"panel of {SITE_SIZE}, its rule", panel), ("averaged", model)):
        same, others = (roc_auc_score(y[rows], by.predict_proba(Z[rows])[:, 1]) for rows in (test, there))
        yield {"": name, "same": same, "others": others}


def sites() -> str:
    outcomes: dict[str, Callable[[Any], Any]] = {
        "stage I or II": lambda data: data.y == "II",
        "oestrogen receptor": lambda data: (data.about_samples["er_status"] == "positive").to_numpy(),
    }
    lines = []
    for name, of in outcomes.items():
        data = load_tcga_brca(in_biogrid=True)
        known = data.about_samples["er_status"].isin(["positive", "negative"]).to_numpy() | (
            name != "oestrogen receptor"
        )
        X, y = data.X[known], of(data)[known].astype(int)
        site = data.about_samples["tissue_source_site"].to_numpy()[known]
        rows = pd.DataFrame([row for seed in range(SITES) for row in other_sites(seed, X, y, site)])
        for method, part in rows.groupby("", sort=False):
            loss = part["same"] - part["others"]
            lines.append(
                [name, method, f"{part['same'].mean():.3f}", f"{part['others'].mean():.3f}",
                 f"{loss.mean():+.3f} ± {loss.std(ddof=1) / np.sqrt(len(loss)):.3f}"]
            )  # fmt: skip
    return (
        f"A panel chosen in half of the TCGA patients, those of some tissue source sites, {SITES} random halves: AUC "
        "on a quarter of them that was held out, and on patients of all other sites:\n\n"
        + table(["outcome", "", "same sites", "other sites", "lost"], lines)
    )


def main() -> str:
    warnings.simplefilter("ignore")
    parts = ["## Panels where the paper compares", "`python -m benchmarks cohorts`."]
    for part in (sites, survival, stage, fields):
        parts.append(part())
        print(parts[-1], file=sys.stderr, flush=True)
    return "\n\n".join([*parts, versions("variegate", "numpy", "scikit-learn")])
