"""A table with two features that matter, a near-copy of one, and a column that is always in."""

import io

import numpy as np
import pandas as pd

import variegate as vg

QUICK = {"max_iter": 6, "random_state": 0}
RNG = np.random.default_rng(11)
N, M = 80, 10
X = RNG.normal(size=(N, M))
X[:, 7] = X[:, 0] + 0.1 * RNG.normal(size=N)
AGE = X[:, 9]
Y = 2 * X[:, 0] + X[:, 1] + 3 * AGE + 0.5 * RNG.normal(size=N)
LABELS = np.where(Y > 0, "ill", "well")
FRAME = pd.DataFrame(X, columns=[*"abcdefghi", "age"])


def regress(**options):
    return vg.DiverseRegressor(**{**QUICK, **options})


def classify(**options):
    return vg.DiverseClassifier(**{**QUICK, **options})


class Terminal(io.StringIO):
    """What is written to a terminal."""

    def isatty(self):
        return True
