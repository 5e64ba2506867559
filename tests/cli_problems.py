"""The data that tests of the command line share."""

import numpy as np
import pandas as pd

QUICK = ("--max-iter", "3")
N = 80  # patients
SELECT = ("select", "data.csv", "--outcome", "y", "--drop", "kind", *QUICK)


def data(n=60):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
    frame["b"] = frame["a"] + 0.2 * rng.normal(size=n)
    frame.insert(0, "sample", [f"s{i}" for i in range(n)])
    frame["y"] = 2 * frame["a"] - frame["d"] + 0.5 * rng.normal(size=n)
    frame["kind"] = np.where(frame["y"] + 0.5 * rng.normal(size=n) > 0, "ill", "well")
    return frame


def patients():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    died, seen = rng.exponential(np.exp(-1.5 * X[:, 1])), rng.exponential(2.0, size=N)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["months"] = np.minimum(died, seen) + 0.01
    frame["status"] = np.where(died <= seen, "dead", "alive")
    frame["age"] = rng.normal(60, 8, size=N)
    return frame


def reads():
    rng = np.random.default_rng(1)
    frame = patients().drop(columns=["months", "status"])
    frame["size"] = rng.uniform(1, 4, size=N)
    frame["reads"] = rng.poisson(frame["size"] * np.exp(1 + 0.6 * frame["b"]))
    return frame
