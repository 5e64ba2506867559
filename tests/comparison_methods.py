"""A small problem, and methods that are quick, slow, broken or deadly; importable by worker processes."""

import os
import time

import numpy as np
import pandas as pd

import variegate as vg


class Correlated:
    """The columns most correlated with y; by itself those with |r| above a level."""

    chooses_size = True

    def __init__(self, level=0.35, seconds=0.0):
        self.level, self.seconds = level, seconds

    def __call__(self, problem, size, rng):
        time.sleep(self.seconds)
        r = np.abs(np.corrcoef(problem.X.T, problem.y)[-1, :-1])
        if size is None:
            return np.flatnonzero(r > self.level)
        return np.sort(np.argsort(-r)[:size])


def any_columns(problem, size, rng):
    return rng.permutation(problem.X.shape[1])[:size]


def broken(problem, size, rng):
    if rng.random() < 0.65:
        raise RuntimeError("no luck today")
    return any_columns(problem, size, rng)


class KillsOnce:
    """Kills its process the first time it is called: the file remembers."""

    def __init__(self, path):
        self.path = path

    def __call__(self, problem, size, rng):
        if not os.path.exists(self.path):
            open(self.path, "x").close()
            os.kill(os.getpid(), 9)
        return any_columns(problem, size, rng)


def kills(problem, size, rng):
    os._exit(1)


def says_who(path, seconds):
    """Write the number of this process into a file, then take a while."""
    with open(f"{path}.new", "w") as file:
        file.write(str(os.getpid()))
    os.replace(f"{path}.new", path)
    time.sleep(seconds)
    return {}


class Counted:
    """A similarity that counts how often this process has sent it."""

    sent = 0

    def __getstate__(self):
        Counted.sent += 1
        return {"of": "columns"}

    def __call__(self, X):
        return X.T


METHODS = {"variegate": Correlated(), "any": any_columns, "lowest": Correlated(level=0.0)}


def small_problem(task="regression", N=60, M=12):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, M))
    X[:, 3] = X[:, 0] + 0.3 * rng.normal(size=N)
    eta = 2 * X[:, 0] - 2 * X[:, 5] + 0.5 * rng.normal(size=N)
    y = eta if task == "regression" else np.array(["low", "mid", "high"])[(eta > -1).astype(int) + (eta > 1)]
    return pd.DataFrame(X, columns=[f"gene {i}" for i in range(M)]), y


def small_comparison(methods=METHODS, task="regression", **options):
    X, y = small_problem(task)
    return vg.compare(methods, X, y, **{"repeats": 6, "random_state": 3, "progress": False, **options})


def assert_same(a, b):
    """The same results, whatever they took."""
    pd.testing.assert_frame_equal(a.table.drop(columns="seconds"), b.table.drop(columns="seconds"), check_exact=True)
    pd.testing.assert_frame_equal(a.selections.drop(columns="seconds"), b.selections.drop(columns="seconds"))
