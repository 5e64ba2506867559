"""Panels on held-out rows."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

import variegate as vg

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = X[:, 0] + 2 * X[:, 2] + 0.5 * RNG.normal(size=60)
MODEL = vg.DiverseRegressor(random_state=0)


def test_scores_are_of_the_rule_on_held_out_rows():
    found = vg.validate(MODEL, X, Y, sizes=[1], cv=3).set_index("panel")
    scores = []
    for train, test in KFold(3, shuffle=True, random_state=0).split(X):
        predicted = vg.DiverseRegressor(random_state=0).fit(X[train], Y[train]).panel(1).predict(X[test])
        scores.append(1 - np.square(Y[test] - predicted).mean() / Y[test].var())
    assert found.loc["1", "accuracy"] == pytest.approx(np.mean(scores))
    assert found.loc["1", "error"] == pytest.approx(np.std(scores, ddof=1) / np.sqrt(3))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"model": "lasso"}, "model must be one of DiverseRegressor, .*, got 'lasso'"),
        ({"sizes": 3}, r"sizes must be a list, such as \[2, 5, 10\], got 3"),
        ({"cv": 1}, "cv must be a number of folds from 2 to 60, the number of rows, got 1"),
        ({"cv": 61}, "cv must be a number of folds from 2 to 60, .* got 61"),
        ({"sizes": [9], "cv": 2}, "size must be between 1 and 4"),
    ],
)
def test_wrong_arguments(wrong, message):
    with pytest.raises(ValueError, match=message):
        vg.validate(**{"model": MODEL, "X": X, "y": Y, **wrong})
