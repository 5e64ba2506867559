"""The data that tests of the command line share."""

import numpy as np
import pandas as pd

QUICK = ("--max-iter", "3")
SELECT = ("select", "data.csv", "--outcome", "y", "--exclude", "kind", *QUICK)


def data(n=60):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(n, 6)), columns=list("abcdef"))
    frame["b"] = frame["a"] + 0.2 * rng.normal(size=n)
    frame.insert(0, "sample", [f"s{i}" for i in range(n)])
    frame["y"] = 2 * frame["a"] - frame["d"] + 0.5 * rng.normal(size=n)
    frame["kind"] = np.where(frame["y"] + 0.5 * rng.normal(size=n) > 0, "ill", "well")
    return frame
