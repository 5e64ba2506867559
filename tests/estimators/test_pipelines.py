"""The estimators among the others of scikit-learn."""

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import variegate as vg

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
QUICK = {"max_iter": 4, "random_state": 0}
RNG = np.random.default_rng(8)
N = 90
FRAME = pd.DataFrame(RNG.normal(size=(N, 6)) * [1, 10, 1, 1, 1, 1], columns=list("abcdef"))
FRAME["site"] = RNG.choice(["north", "south", "west"], N)
Y = FRAME["a"] + 0.2 * FRAME["b"] + 2.0 * (FRAME["site"] == "west") + 0.5 * RNG.normal(size=N)
NUMBERS = list("abcdef")


def prepared():
    return ColumnTransformer([("number", StandardScaler(), NUMBERS), ("factor", OneHotEncoder(), ["site"])])


def test_scaler_column_transformer_and_grid_search():
    steps = Pipeline([("prepare", prepared()), ("select", vg.DiverseRegressor(average=False, **QUICK))])
    search = GridSearchCV(steps, {"select__n_features_to_select": [1, 3, 5]}, cv=3, n_jobs=2).fit(FRAME, Y)
    best = search.best_estimator_
    assert search.best_params_["select__n_features_to_select"] >= 3
    names = best.named_steps["select"].get_feature_names_out(best.named_steps["prepare"].get_feature_names_out())
    assert {"number__a", "number__b"} <= set(names)
    assert search.best_score_ > 0.8
    assert "DiverseRegressor" in best._repr_html_()


def test_as_a_selector_before_another_model():
    steps = make_pipeline(vg.DiverseRegressor(n_features_to_select=2, **QUICK), StandardScaler())
    assert steps.fit_transform(FRAME[NUMBERS], Y).shape == (N, 2)
    assert steps.get_feature_names_out().tolist() == ["a", "b"]


def test_set_output():
    model = vg.DiverseRegressor(n_features_to_select=2, **QUICK).set_output(transform="pandas").fit(FRAME[NUMBERS], Y)
    chosen = model.transform(FRAME[NUMBERS])
    assert chosen.columns.tolist() == ["a", "b"]
    pd.testing.assert_frame_equal(chosen, FRAME[["a", "b"]])
    assert isinstance(model.set_output(transform="polars").transform(FRAME[NUMBERS]), pl.DataFrame)
    back = model.set_output(transform="default").inverse_transform(chosen)
    np.testing.assert_array_equal(back[:, 2:], 0)


def test_similarity_is_of_the_training_rows():
    seen = []

    def similarity(Z):
        seen.append(len(Z))
        return vg.similarity.from_columns(Z)

    cross_val_score(vg.DiverseRegressor(similarity=similarity, **QUICK), FRAME[NUMBERS], Y, cv=3)
    assert seen == [60, 60, 60]


def test_an_array_of_similarities_survives_clone_and_cross_validation():
    phi = vg.similarity.from_columns(FRAME[NUMBERS])
    model = vg.DiverseRegressor(similarity=phi, **QUICK)
    twin = clone(model)
    assert twin.similarity is not phi
    assert twin.similarity.names == phi.names
    assert cross_val_score(model, FRAME[NUMBERS], Y, cv=3).mean() > 0.3
    repr(model)


def test_sample_weights_are_routed():
    weights = np.where(np.arange(N) < 30, 0.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = vg.DiverseRegressor(**QUICK).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routed = cross_validate(
            make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model),
            FRAME[NUMBERS], Y, params={"sample_weight": weights}, cv=[(np.arange(60), np.arange(60, N))],
            return_estimator=True,
        )  # fmt: skip
    alone = vg.DiverseRegressor(**QUICK).fit(
        StandardScaler().fit(FRAME[NUMBERS][:60]).transform(FRAME[NUMBERS][30:60]), Y[30:60]
    )
    found = routed["estimator"][0][-1]
    np.testing.assert_allclose(found.inclusion_probabilities_, alone.inclusion_probabilities_, atol=1e-8)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_joblib_backends_give_the_same(backend):
    model = vg.DiverseClassifier(**QUICK)
    alone = cross_val_score(model, FRAME[NUMBERS], Y > 0, cv=3)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        np.testing.assert_array_equal(cross_val_score(model, FRAME[NUMBERS], Y > 0, cv=3), alone)
