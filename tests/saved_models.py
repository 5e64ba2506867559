"""Models of every kind to be saved, and files that were changed."""

import io
import json

import numpy as np
import pandas as pd
from scipy import sparse

import variegate as vg

RNG = np.random.default_rng(4)
X = RNG.normal(size=(50, 8))
X[:, 5] = X[:, 0] + 0.1 * RNG.normal(size=50)
Y = X[:, 0] - 2 * X[:, 1] + 0.5 * RNG.normal(size=50)
FRAME = pd.DataFrame(X, columns=list("abcdefgh"))
CATEGORIES = FRAME.assign(e=FRAME["e"] > 0.3, g=FRAME["g"] > 0).assign(f=lambda d: ~d["e"], h=lambda d: ~d["g"])
CATEGORIES = CATEGORIES.rename(columns={"e": "site=N", "f": "site=S", "g": "sex=f", "h": "sex=m"}).astype(float)
THREE = np.array(["low", "mid", "high"])[np.digitize(Y, [-1, 1])]
TIMES = vg.tasks.survival_rows(RNG.exponential(np.exp(-Y)), RNG.random(50) < 0.7)
COUNTS = RNG.poisson(np.arange(1, 51) * np.exp(0.2 * Y))
QUICK = {"max_iter": 4, "random_state": 0}

MODELS = {
    "regressor": lambda quick: vg.DiverseRegressor(**quick).fit(X, Y),
    "names, size": lambda quick: vg.DiverseRegressor(n_features_to_select=2, fixed_size=True, **quick).fit(FRAME, Y),
    "spike and slab": lambda quick: vg.DiverseRegressor(diversity=0, **quick).fit(X, Y),
    "diverse": lambda quick: vg.DiverseRegressor(diversity=2.5, **quick).fit(X, Y),
    "given": lambda quick: vg.DiverseRegressor(expected_size=2.0, slab_precision=5.0, **quick).fit(X, Y),
    "sparse": lambda quick: vg.DiverseRegressor(**quick).fit(sparse.csr_array(X), Y),
    "float32": lambda quick: vg.DiverseRegressor(**quick).fit(X.astype(np.float32), Y),
    "classifier": lambda quick: vg.DiverseClassifier(**quick).fit(FRAME, Y > 0),
    "three classes": lambda quick: vg.DiverseClassifier(**quick).fit(X, THREE.astype(object)),
    "everything": lambda quick: vg.DiverseClassifier(
        similarity=vg.similarity.from_columns(FRAME),
        always_include=["h"],
        groups={"c": "g", "d": "g"},
        prior_log_odds={"e": 1.0},
        screen=6,
        **quick,
    ).fit(FRAME, Y > 0, sample_weight=np.arange(50) % 3 + 1),
    "categories": lambda quick: vg.DiverseRegressor(
        groups=[*[None] * 4, "site", "site", "sex", "sex"], always_include=["sex"], **quick
    ).fit(CATEGORIES, Y),
    "survival": lambda quick: vg.DiverseSurvival(groups={"c": "g", "d": "g"}, **quick).fit(FRAME, TIMES),
    "counts": lambda quick: vg.DiverseCounts(**quick).fit(FRAME, COUNTS, exposure=np.arange(1, 51)),
    "function": lambda quick: vg.DiverseRegressor(similarity=lambda Z: np.eye(Z.shape[1]), **quick).fit(X, Y),
}


def made(name):
    return MODELS[name](QUICK)


def rewritten(saved, change):
    """The same file with other arrays."""
    with np.load(io.BytesIO(saved)) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(bytes(arrays.pop("header")))
    change(header, arrays)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()
