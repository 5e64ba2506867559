"""What is loaded is what was saved."""

import os

import joblib
import numpy as np
import pandas as pd
import pytest

import variegate as vg
from saved_models import CATEGORIES, FRAME, MODELS, QUICK, X, Y, made

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(name, tmp_path):
    model = made(name)
    vg.save(model, tmp_path / "fit.vg")
    assert os.listdir(tmp_path) == ["fit.vg"]
    assert_same(model, vg.load(tmp_path / "fit.vg"))


@pytest.mark.parametrize("name", [name for name in MODELS if name != "function"])
def test_joblib(name, tmp_path):
    model = made(name)
    joblib.dump(model, tmp_path / "fit.joblib")  # which pickles all but the arrays
    assert_same(model, joblib.load(tmp_path / "fit.joblib"))


ARRAYS = ("support_", "inclusion_probabilities_", "inclusion_errors_", "coef_", "map_coef_", "intercept_")


def assert_same(model, other):
    table = X
    if hasattr(model, "feature_names_in_"):
        table = CATEGORIES if "sex=f" in model.feature_names_in_ else FRAME
    assert type(other) is type(model)
    for attribute in ARRAYS:
        np.testing.assert_allclose(getattr(other, attribute), getattr(model, attribute), atol=1e-10, err_msg=attribute)
    for attribute in ("converged_", "n_iter_", "n_features_in_"):
        assert getattr(other, attribute) == getattr(model, attribute)
    # to rounding: what is cached of XᵀX is summed in another order
    predict = "predict_proba" if hasattr(model, "classes_") else "predict"
    np.testing.assert_allclose(getattr(other, predict)(table), getattr(model, predict)(table), atol=1e-10)
    assert other.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    one, two = model.posterior_, other.posterior_
    same_chain(model, other)
    given = one.condition(include=[0], exclude=[2])
    np.testing.assert_allclose(two.condition(include=[0], exclude=[2]).inclusion_prob(), given.inclusion_prob())
    assert [S.tolist() for S in one.sample(5, 1)] == [S.tolist() for S in two.sample(5, 1)]
    size = 3 if one.target.size is None else None
    assert one.map(size).tolist() == two.map(size).tolist()
    if hasattr(model, "classes_"):
        assert other.classes_.tolist() == model.classes_.tolist()
    params = model.get_params()
    for key, value in other.get_params().items():
        if key != "similarity":
            assert value == params[key] or np.array_equal(value, params[key])


def same_chain(model, other):
    one, two = model.posterior_.fit, other.posterior_.fit
    for name in ("inclusion", "inclusion_errors", "disagreement", "weights", "slab_precisions"):
        np.testing.assert_array_equal(getattr(two, name), getattr(one, name), err_msg=name)
    for ours, theirs in zip(one.hyperparameters, two.hyperparameters, strict=True):
        np.testing.assert_array_equal(theirs, ours)
    assert (two.settings, two.n_steps, two.interrupted) == (one.settings, one.n_steps, one.interrupted)
    assert [S.tolist() for S in two.sets] == [S.tolist() for S in one.sets]
    same_numbers(other.posterior_.diagnostics(), model.posterior_.diagnostics())


def same_numbers(found, expected):
    """None is NaN here."""
    np.testing.assert_allclose(np.array(found, dtype=float), np.array(expected, dtype=float), rtol=1e-9)


def test_parameters_changed_after_the_fit(tmp_path):
    model = made("regressor")
    model.set_params(diversity=0)
    vg.save(model, tmp_path / "fit.vg")
    assert_same(model, vg.load(tmp_path / "fit.vg"))


def test_names_of_side_information_are_kept(tmp_path):
    phi = pd.DataFrame(np.eye(8), index=FRAME.columns[::-1])
    odds = pd.Series(np.arange(8.0), index=FRAME.columns[::-1])
    model = vg.DiverseRegressor(similarity=phi, prior_log_odds=odds, **QUICK).fit(FRAME, Y)
    vg.save(model, tmp_path / "fit.vg")
    again = vg.load(tmp_path / "fit.vg")
    np.testing.assert_array_equal(again.fit(FRAME, Y).inclusion_probabilities_, model.inclusion_probabilities_)


def test_labels_that_are_dates(tmp_path):
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")
    vg.save(vg.DiverseClassifier(**QUICK).fit(X, days[(Y > 0).astype(int)]), tmp_path / "fit.vg")
    assert vg.load(tmp_path / "fit.vg").classes_.tolist() == days.tolist()


def test_constant_columns_stay_out(tmp_path):
    with pytest.warns(vg.similarity.SimilarityWarning):
        model = vg.DiverseRegressor(always_include=[3], **QUICK).fit(np.c_[np.ones(50), X], Y)
    vg.save(model, tmp_path / "fit.vg")
    again = vg.load(tmp_path / "fit.vg")
    np.testing.assert_array_equal(again.support_, model.support_)
    np.testing.assert_allclose(again.coef_, model.coef_)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    link, place = tmp_path / "link.vg", tmp_path / "elsewhere" / "fit.vg"
    link.symlink_to(place)
    vg.save(made("regressor"), link)
    assert link.is_symlink()
    assert os.listdir(place.parent) == ["fit.vg"]
    vg.load(link)


def test_a_name_as_long_as_names_may_be(tmp_path):
    path = tmp_path / ("n" * 252 + ".vg")
    vg.save(made("regressor"), path)
    vg.load(path)


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="is not fitted yet"):
        vg.save(vg.DiverseRegressor(), tmp_path / "x.vg")
    with pytest.raises(TypeError, match=r"save takes a fitted DiverseClassifier, .* or DiverseSurvival, got dict"):
        vg.save({}, tmp_path / "x.vg")
    labels = vg.DiverseRegressor(groups=[type] * 2 + list("abcdef"), **QUICK).fit(X, Y)
    with pytest.raises(TypeError, match="groups must be numbers, text, or arrays of them to be saved, got type"):
        vg.save(labels, tmp_path / "x.vg")
    with pytest.raises(FileNotFoundError):
        vg.load(tmp_path / "x.vg")
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere to write .* into; create it first"):
        vg.save(made("regressor"), tmp_path / "nowhere" / "x.vg")
    assert os.listdir(tmp_path) == []


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "fit.vg"
    model = made("regressor")
    vg.save(model, path)
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(KeyboardInterrupt):
        vg.save(model, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["fit.vg"]


def wide(n=100, m=2000):
    """A table, its outcome, and columns that single precision would ruin."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(n, m))
    return Z, Z[:, 0] - Z[:, 1] + rng.normal(size=n)


TABLES = {
    "few values": (lambda Z: Z.round(2), 2, 0.0),
    "many values": (lambda Z: Z, 4, 1e-5),
    "far from zero": (lambda Z: np.where(np.arange(Z.shape[1]) == 0, 1e9 + Z, Z), 8, 0.0),
}


@pytest.mark.parametrize(("change", "itemsize", "off"), TABLES.values(), ids=TABLES)
def test_large_tables_are_held_small(change, itemsize, off, tmp_path):
    Z, y = wide()
    Z = change(Z)
    phi = vg.similarity.from_columns(Z[:, :2000], rank=100)
    model = vg.DiverseRegressor(similarity=phi, max_iter=1, random_state=0, tol=1.0).fit(Z, y)
    vg.save(model, tmp_path / "fit.vg")
    small = itemsize * Z.size + 4 * phi.size  # Φ once, in single precision
    assert small <= (tmp_path / "fit.vg").stat().st_size < 1.15 * small + 200_000
    again = vg.load(tmp_path / "fit.vg")
    np.testing.assert_allclose(again.predict(Z), model.predict(Z), atol=max(off, 1e-9))
    if not off:
        np.testing.assert_array_equal(again.selection_.training.X, model.selection_.training.X)
    assert again.posterior_.target.phi.dtype == np.float64
    np.testing.assert_allclose(again.posterior_.target.phi, model.posterior_.target.phi, atol=1e-7)
