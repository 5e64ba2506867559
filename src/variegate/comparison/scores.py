"""What a chosen set predicts: fitted again on the training part, scored on the test part."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from .. import metrics

Array = NDArray[Any]
RIDGE = 0.01  # precision of the logistic coefficients of standardised columns: keeps separable classes finite
ACCURACY = {"regression": "R2", "classification": "AUC"}  # the metric that stands for each task


def prediction_scores(task: str, X: Array, y: Array, X_test: Array, y_test: Array) -> dict[str, float]:
    """Scores on the test part of least squares, or of a logistic model with a weak ridge, on the training part."""
    X, X_test = (np.asarray(part, dtype=np.float64) for part in (X, X_test))  # probabilities then add up to one
    if task == "regression":
        predicted = LinearRegression().fit(X, y).predict(X_test)
        return {"R2": float(metrics.r2(y_test, predicted)), "MSE": float(metrics.mse(y_test, predicted))}
    model = make_pipeline(StandardScaler(), LogisticRegression(C=1 / RIDGE, max_iter=1000)).fit(X, y)
    p = model.predict_proba(X_test)
    accuracy = float(np.mean(p.argmax(axis=1) == y_test))
    return {"AUC": metrics.auc(y_test, p), "log loss": metrics.log_loss(y_test, p), "accuracy": accuracy}
