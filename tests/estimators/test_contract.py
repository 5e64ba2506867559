"""scikit-learn's own checks, all of them."""

import pytest
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
    parametrize_with_checks,
)

import variegate as vg

QUICK = {"max_iter": 1, "random_state": 0}
WEIGHTS = [check_sample_weight_equivalence_on_dense_data, check_sample_weight_equivalence_on_sparse_data]


def cannot_pass(estimator):
    """A weight of two is one draw of auxiliary variables, two rows are two: the same law, and other numbers.

    That they agree within their Monte Carlo errors is tested among the tables.
    """
    if isinstance(estimator, vg.DiverseClassifier):
        return {check.__name__: "auxiliary variables are drawn anew" for check in WEIGHTS}
    return {}


# the checks fit noise and constants on purpose: warnings are due there
@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::variegate.estimators.EmptySelectionWarning")
@pytest.mark.filterwarnings("ignore::variegate.similarity.SimilarityWarning")
@pytest.mark.filterwarnings("ignore:.*no features were selected:UserWarning")
@parametrize_with_checks(
    [vg.DiverseRegressor(**QUICK), vg.DiverseClassifier(**QUICK)], expected_failed_checks=cannot_pass
)
def test_check_estimator(estimator, check):
    check(estimator)
