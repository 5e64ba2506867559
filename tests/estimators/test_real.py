"""On scikit-learn's bundled data: as accurate as the l1 path at the same size, and more diverse."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression, lars_path
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import variegate as vg

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
K = 5
QUICK = {"n_features_to_select": K, "max_iter": 10, "random_state": 0}


def log_det(X, S):
    return np.linalg.slogdet(np.corrcoef(X[:, S].T))[1]


def l1_logistic(X, y):
    """The largest penalty that keeps five features; the strongest of them if more come at once."""
    for c in np.geomspace(0.002, 1, 80):
        coef = LogisticRegression(C=c, l1_ratio=1.0, solver="liblinear", random_state=0).fit(X, y).coef_[0]
        if np.count_nonzero(coef) >= K:
            return np.sort(np.argsort(-np.abs(coef))[:K])
    raise AssertionError("the path never has five features")


def l1_regression(X, y):
    _, active, _ = lars_path(X, y - y.mean(), method="lasso", max_iter=K)
    return np.sort(active[:K])


def folds(splitter, X, y, ours, peer, refit, score):
    rows = []
    for train, test in splitter.split(X, y):
        scaler = StandardScaler().fit(X[train])
        A, B = scaler.transform(X[train]), scaler.transform(X[test])
        for S in (np.flatnonzero(ours.fit(A, y[train]).support_), peer(A, y[train])):
            assert len(S) == K
            rows.append((score(refit.fit(A[:, S], y[train]), B[:, S], y[test]), log_det(A, S)))
    return np.array(rows).reshape(-1, 2, 2).mean(axis=0)


def test_breast_cancer():
    X, y = load_breast_cancer(return_X_y=True)
    (auc, diversity), (peer_auc, peer_diversity) = folds(
        StratifiedKFold(5, shuffle=True, random_state=0), X, y, vg.DiverseClassifier(**QUICK), l1_logistic,
        LogisticRegression(), lambda m, B, t: roc_auc_score(t, m.decision_function(B)),
    )  # fmt: skip
    assert auc > peer_auc - 0.01
    assert diversity > peer_diversity


@pytest.mark.parametrize("choose", ["prediction", "probability"])
def test_diabetes_with_squares_and_products(choose):
    X, y = load_diabetes(return_X_y=True)
    X = PolynomialFeatures(2, include_bias=False).fit_transform(X)
    X = X[:, [i for i in range(X.shape[1]) if i != 10 + 1 + 9]]  # the square of sex is sex
    assert X.shape[1] == 64
    (r2, diversity), (peer_r2, peer_diversity) = folds(
        KFold(5, shuffle=True, random_state=0), X, y, vg.DiverseRegressor(choose=choose, **QUICK), l1_regression,
        LinearRegression(), lambda m, B, t: r2_score(t, m.predict(B)),
    )  # fmt: skip
    if choose == "prediction":  # a panel of five is as diverse as the Lasso's here, not more, and predicts better
        assert r2 > peer_r2
    else:
        assert r2 > peer_r2 - 0.01
        assert diversity > peer_diversity
