"""The exact chain: steps per second, seconds to an error, whole fits, scale; calibration, noise and copies."""

import importlib.util
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.linear_model import LassoCV, LogisticRegressionCV
from sklearn.metrics import r2_score, roc_auc_score

import variegate as vg
from variegate.baselines import Problem, select

from .measure import in_child, table, versions
from .textbook_gibbs import inclusion_by_gibbs

SMALL = {"n_samples": 150, "n_features": 200, "block_size": 5, "correlation": 0.9, "n_true": 8}
LARGE = {"n_samples": 500, "n_features": 2000, "block_size": 10, "correlation": 0.95, "n_true": 20}
TASKS = ("regression", "classification")
GIVEN = {"average_size": False, "average_slab": False}
SCALE = """
import time, numpy as np, variegate as vg
rng = np.random.default_rng(0)
vg.DiverseRegressor(max_iter=2).fit(rng.normal(size=(60, 50)), rng.normal(size=60))  # compile
before = peak_bytes()
X = rng.normal(size=(300, {M}))
X *= 0.05**0.5
for block in range(0, {M}, 10):
    X[:, block:block + 10] += 0.95**0.5 * rng.normal(size=(300, 1))
y = X[:, :80:10] @ rng.choice([-1.0, 1.0], 8) + rng.normal(size=300) * (8 / 3) ** 0.5
fits, model = [], None
for seed in (0, 1):
    del model  # memory is that of one fit
    start = time.perf_counter()
    model = vg.DiverseRegressor(random_state=seed).fit(X, y)
    fits.append((time.perf_counter() - start, model.inclusion_probabilities_, model.inclusion_errors_.max()))
phi = model.posterior_.target.phi
off = np.abs(fits[0][1] - fits[1][1])
result = {{"seconds": fits[1][0], "data_bytes": X.nbytes + phi.nbytes, "before": before, "mean": off.mean(),
          "largest": off.max(), "error": fits[1][2]}}
"""


def target_of(data: object, task: str) -> vg.Target:
    """The default model with its initial hyperparameters."""
    likelihood = vg.Gaussian(data.X, data.y) if task == "regression" else vg.Logistic(data.X, data.y)
    return vg.Target(likelihood, vg.dpp_prior(vg.similarity.from_columns(data.X), expected_size=10))


def against(found: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Mean and largest difference."""
    off = np.abs(found - truth)
    return float(off.mean()), float(off.max())


def steps_a_second() -> str:
    """Steps per second of our chains, one per core, and of the chain that solves every set from scratch."""
    rows = []
    for task, size in ((task, size) for size in (SMALL, LARGE) for task in TASKS):
        data = vg.datasets.make_blocks(**size, task=task, rng=0)
        target = target_of(data, task)
        settings = vg.ChainSettings(tol=1e-9, max_laps=8, **GIVEN)
        vg.sample(target, 0, settings)
        start = time.perf_counter()
        found = vg.sample(target, 1, settings)
        ours = found.n_steps * 1.5 / (time.perf_counter() - start)  # a third of the steps is burn-in, not counted
        n = 400 if size is SMALL else 60
        start = time.perf_counter()
        inclusion_by_gibbs(target, n, 1, burn_in=0, start=found.sets[-1])
        old = n / (time.perf_counter() - start)
        shape = f"N={size['n_samples']}, M={size['n_features']}"
        rows.append(
            [f"{task}, {shape}", f"{ours:,.0f}", f"{old:,.0f}", f"{ours / old:,.0f}×", *peer(data, task, ours)]
        )
    head = ["steps a second", "variegate", "each set anew (until 0.1)", "ratio", "millipede", "ratio"]
    return table(head, rows)


def millipede(data: object, task: str) -> object:
    """Return the peer's selector for the same table, with our prior size and slab, or None."""
    if importlib.util.find_spec("millipede") is None:
        return None
    from millipede import BernoulliLikelihoodVariableSelector, NormalLikelihoodVariableSelector

    frame = pd.DataFrame(data.X, columns=[f"x{m}" for m in range(data.X.shape[1])])
    frame["y"] = np.asarray(data.y, dtype=float)
    if task == "regression":
        return NormalLikelihoodVariableSelector(frame, "y", S=10.0, tau=10.0)
    return BernoulliLikelihoodVariableSelector(frame, "y", S=10.0, tau=1.0)


def run_millipede(selector: object, steps: int, seed: int) -> tuple[np.ndarray, float]:
    """Inclusion probabilities of a run, a third of it burn-in, and its seconds."""
    start = time.perf_counter()
    selector.run(T=steps, T_burnin=steps // 2, verbosity=None, seed=seed)
    return selector.pip.to_numpy(), time.perf_counter() - start


def peer(data: object, task: str, ours: float) -> list[str]:
    """millipede's steps per second, if it is installed."""
    selector = millipede(data, task)
    if selector is None:
        return ["not installed", ""]
    speed = 300 / run_millipede(selector, 200, 0)[1]
    return [f"{speed:,.0f}", f"{ours / speed:,.0f}×"]


def peer_to_an_error(data: object, task: str) -> str:
    """Seconds that millipede takes to reach the same error, measured against its own long run."""
    selector = millipede(data, task)
    if selector is None:
        return "not installed"
    truth, _ = run_millipede(selector, 10_000, 99)
    for steps in (250, 500, 1000, 2000, 4000):
        found, seconds = run_millipede(selector, steps, 1)
        mean, largest = against(found, truth)
        if mean <= 0.003:
            break
    return f"{seconds:.1f} s ({mean:.4f} / {largest:.2f})"


def to_an_error() -> str:
    """Seconds until the mean error against a long run is 0.003, hyperparameters given; laps are doubled until then."""
    rows = []
    for task in TASKS:
        data = vg.datasets.make_blocks(**LARGE, task=task, rng=0)
        target = target_of(data, task)
        truth = vg.sample(target, 99, vg.ChainSettings(tol=1e-9, max_laps=150, **GIVEN)).inclusion
        found = {}
        for laps in (2, 4, 8, 16, 32):
            start = time.perf_counter()
            p = vg.sample(target, 1, vg.ChainSettings(tol=1e-9, max_laps=laps, **GIVEN)).inclusion
            found[laps] = (time.perf_counter() - start, *against(p, truth))
            if found[laps][1] <= 0.003:
                break
        seconds, mean, largest = found[laps]
        steps = 400 if task == "regression" else 200
        start = time.perf_counter()
        old = against(inclusion_by_gibbs(target, steps, 1), truth)
        old_seconds = time.perf_counter() - start
        rows.append(
            [task, f"{seconds:.1f} s ({mean:.4f} / {largest:.2f})",
             f"{old_seconds:.0f} s: {old[0]:.4f} / {old[1]:.2f}", peer_to_an_error(data, task)]
        )  # fmt: skip
    return table(["N=500, M=2000", "variegate", "each set anew (until 0.1)", "millipede"], rows)


def whole_fits() -> str:
    """Default fits against a long run of the same model."""
    rows = []
    for task in TASKS:
        kind = vg.DiverseRegressor if task == "regression" else vg.DiverseClassifier
        seconds, off, laps = [], [], []
        for seed in (30, 31, 32):  # the chain was tuned on 0 and 1
            data = vg.datasets.make_blocks(**LARGE, task=task, rng=seed)
            start = time.perf_counter()
            model = kind(random_state=0).fit(data.X, data.y)
            seconds.append(time.perf_counter() - start)
            laps.append(model.n_iter_)
            truth = kind(random_state=1, tol=1e-9, max_iter=150).fit(data.X, data.y).inclusion_probabilities_
            off.append(against(model.inclusion_probabilities_, truth))
        mean, largest = np.mean(off, axis=0)[0], np.max(off, axis=0)[1]
        rows.append([task, f"{np.mean(seconds):.1f} s", f"{np.mean(laps):.0f}", f"{mean:.4f}", f"{largest:.3f}"])
    return table(["default fit, N=500, M=2000", "seconds", "laps", "mean error", "largest, 3 data sets"], rows)


def scale() -> str:
    """Time and memory from ten to a hundred thousand features."""
    found = {M: in_child(SCALE.format(M=M)) for M in (10_000, 100_000)}
    rows = [
        [f"N=300, M={M:,}", f"{r['seconds']:.1f} s", f"{(r['peak_bytes'] - r['before']) / r['data_bytes']:.2f}",
         f"{r['mean']:.5f} / {r['largest']:.3f}", f"{r['error']:.3f}"]
        for M, r in found.items()
    ]  # fmt: skip
    ratio = found[100_000]["seconds"] / found[10_000]["seconds"]
    head = ["", "seconds", "memory / (X and Φ)", "two seeds differ, mean / largest", "largest error reported"]
    return "\n\n".join(
        [
            "Growth with features, `DiverseRegressor`; memory over what the process had after its imports:",
            table(head, rows),
            f"Ten times the features take {ratio:.1f} times the time.",
        ]
    )


def blocks() -> str:
    """The README's problem, ten data sets: predictions and probabilities of the chain, q, OMP and Lasso."""
    rows = []
    for task in TASKS:
        kind = vg.DiverseRegressor if task == "regression" else vg.DiverseClassifier
        variational = vg.paper.VariationalRegressor if task == "regression" else vg.paper.VariationalClassifier
        scores: dict[str, list[float]] = {}
        squares: dict[str, list[float]] = {}
        middling: list[bool] = []
        for seed in range(10):
            data = vg.datasets.make_blocks(**LARGE, task=task, n_test=2000, rng=100 + seed)
            truth = np.zeros(LARGE["n_features"])
            truth[data.truth] = 1
            for name, method in (("variegate", kind()), ("q by the ELBO", variational())):
                model = method.set_params(random_state=0).fit(data.X, data.y)
                p = model.inclusion_probabilities_
                squares.setdefault(name, []).append(float(np.square(p - truth).sum()))
                scores.setdefault(name, []).append(score(model, data, task))
                if name == "variegate":
                    middling += truth[(p >= 0.4) & (p <= 0.6)].astype(bool).tolist()
            S = select("omp", Problem(data.X, data.y, task), 20, np.random.default_rng(0))
            scores.setdefault("OMP, 20", []).append(score(refitted(task, S, data), data, task, S))
            lasso = LassoCV(cv=5) if task == "regression" else LogisticRegressionCV(
                Cs=10, cv=5, l1_ratios=(1.0,), solver="liblinear", scoring="roc_auc", use_legacy_attributes=False
            )  # fmt: skip
            scores.setdefault("LassoCV", []).append(score(lasso.fit(data.X, data.y), data, task))
        for name, values in scores.items():
            error = np.std(values, ddof=1) / np.sqrt(len(values))
            brier = f"{np.mean(squares[name]):.1f}" if name in squares else ""
            true = f"{np.mean(middling):.2f} of {len(middling)}" if name == "variegate" else ""
            rows.append([task, name, f"{np.mean(values):.3f} ± {error:.3f}", brier, true])
    head = ["", "method", "R² or AUC", "Σ (p − truth)²", "true of those with p in 0.4-0.6"]
    return table(head, rows)


def refitted(task: str, S: np.ndarray, data: object) -> object:
    """A weakly penalised model on a set."""
    from sklearn.linear_model import LinearRegression, LogisticRegression

    return (LinearRegression() if task == "regression" else LogisticRegression(C=10)).fit(data.X[:, S], data.y)


def score(model: object, data: object, task: str, S: np.ndarray | None = None) -> float:
    """R² or AUC on new rows."""
    X = data.X_test if S is None else data.X_test[:, S]
    if task == "regression":
        return float(r2_score(data.y_test, model.predict(X)))
    return float(roc_auc_score(data.y_test, model.predict_proba(X)[:, 1]))


def noise_and_copies() -> str:
    """Pure noise, and six copies of a strong feature."""
    quiet = nothing = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        model = vg.DiverseRegressor(random_state=0).fit(rng.normal(size=(100, 300)), rng.normal(size=100))
        quiet += model.inclusion_probabilities_.max() <= 0.5
        nothing += not model.support_.any()
    lines = [
        f"Pure noise, 20 data sets (N=100, M=300): nothing selected in {nothing}, no probability above 0.5 in {quiet}."
    ]
    for task in TASKS:
        shares = []
        for seed in range(12):
            rng = np.random.default_rng(seed)
            base = rng.normal(size=(150, 20))
            X = np.hstack([np.repeat(base[:, :1], 6, axis=1), base[:, 1:]])
            eta = 1.5 * base[:, 0]
            y = eta + rng.normal(size=150) if task == "regression" else eta + rng.logistic(size=150) > 0
            kind = vg.DiverseRegressor if task == "regression" else vg.DiverseClassifier
            shares.append(kind(random_state=0).fit(X, y).inclusion_probabilities_[:6])
        low, high = np.min(shares), np.max(shares)
        lines.append(
            f"Six copies of a strong feature, {task}, 12 data sets: each has {low:.3f} to {high:.3f} (1/6 = 0.167)."
        )
    return "\n".join(f"* {line}" for line in lines)


def main() -> str:
    warnings.simplefilter("ignore")
    parts = [steps_a_second(), to_an_error(), whole_fits(), scale(), blocks(), noise_and_copies()]
    return "\n\n".join(
        [
            "## The exact posterior",
            "`python -m benchmarks posterior`. Errors: probabilities against those of a long run, mean / largest.",
            *parts,
            versions("variegate", "numpy", "scipy", "numba", "polyagamma", "scikit-learn"),
        ]
    )
