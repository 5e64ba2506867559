"""scikit-learn's own checks, all of them."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import variegate as vg

QUICK = {"n_starts": 1, "max_iter": 4, "random_state": 0}


# the checks fit noise and constants on purpose: warnings are due there
@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::variegate.estimators.EmptySelectionWarning")
@pytest.mark.filterwarnings("ignore::variegate.similarity.SimilarityWarning")
@pytest.mark.filterwarnings("ignore:.*no features were selected:UserWarning")
@parametrize_with_checks([vg.DiverseRegressor(**QUICK), vg.DiverseClassifier(**QUICK)])
def test_check_estimator(estimator, check):
    check(estimator)
