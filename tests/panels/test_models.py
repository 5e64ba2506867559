"""Panels of the estimators: their posterior as the reference."""

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from variegate.estimators import EmptySelectionWarning
from variegate.tasks import survival_rows

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")

QUICK = {"max_iter": 4, "random_state": 0}
RNG = np.random.default_rng(3)
N, M = 120, 8
X = RNG.normal(size=(N, M)) * [1, 2, 1, 1, 1, 1, 1, 1] + [0, 5, 0, 0, 0, 0, 0, 0]
X[:, 6] = X[:, 3] + 0.2 * RNG.normal(size=N)
AGE = np.column_stack([RNG.normal(size=N), np.zeros(N)])
AGE[:, 1] = AGE[:, 0] + 0.02 * RNG.normal(size=N)  # the same twice, nearly
SIGNAL = 0.7 * (X[:, 1] - 5) + 1.5 * X[:, 3]
NOISY = SIGNAL + RNG.logistic(size=N)
TIME = RNG.exponential(np.exp(-SIGNAL))
EVENT = RNG.random(N) < 0.8
EXPOSURE = RNG.uniform(1, 4, size=N)
FRAME = pd.DataFrame(X, columns=list("abcdefgh"))

OUTCOMES = {
    "numbers": (vg.DiverseRegressor, SIGNAL + RNG.normal(size=N), {}),
    "classes": (vg.DiverseClassifier, np.where(NOISY > 0, "ill", "well"), {}),
    "many classes": (vg.DiverseClassifier, np.array(list("xyz"))[(NOISY > -1).astype(int) + (NOISY > 2)], {}),
    "counts": (vg.DiverseCounts, RNG.poisson(EXPOSURE * np.exp(0.5 * SIGNAL)), {"exposure": EXPOSURE}),
    "survival": (vg.DiverseSurvival, survival_rows(TIME, EVENT), {}),
    "strata": (vg.DiverseSurvival, survival_rows(TIME, EVENT, strata=np.arange(N) % 2), {}),
}
FITTED = {}
outcomes = pytest.mark.parametrize("name", OUTCOMES)


def fitted(name):
    if name not in FITTED:
        estimator, y, more = OUTCOMES[name]
        FITTED[name] = estimator(**QUICK).fit(FRAME, y, **more)
    return FITTED[name]


@outcomes
def test_support_is_the_panel(name):
    model = fitted(name)
    panel = model.panel_
    assert np.flatnonzero(model.support_).tolist() == panel.columns.tolist()
    assert {"b"} < set(panel.members) <= {"b", "d", "g"}  # g is nearly d
    assert model.panel(len(panel.features)).features.tolist() == panel.features.tolist()
    assert model.panel().features.tolist() == panel.features.tolist()
    assert model.panel(include=panel.features).features.tolist() == panel.features.tolist()


@outcomes
def test_the_smallest_panel_that_is_enough(name):
    panel = fitted(name).panel_
    assert panel.among.is_enough(panel.features)
    assert not panel.among.is_enough(panel.among.best(len(panel.features) - 1))


@outcomes
def test_the_rule_predicts_as_the_model_from_the_panel_alone(name):
    model = fitted(name)
    panel = model.panel_
    few = FRAME[panel.members[::-1]]
    np.testing.assert_array_equal(panel.predict(few), panel.predict(FRAME))
    np.testing.assert_array_equal(panel.predict(few), panel.predict(X))
    if hasattr(model, "classes_"):
        assert (panel.predict(few) == model.predict(FRAME)).mean() > 0.9
        np.testing.assert_allclose(panel.predict_proba(few).sum(axis=1), 1)
        assert np.abs(panel.predict_proba(few) - model.predict_proba(FRAME)).mean() < 0.05
    else:
        one, two = panel.predict(few), model.predict(FRAME)
        assert np.corrcoef(one, two)[0, 1] > 0.97


@outcomes
def test_with_all_features_intervals_are_those_of_the_model(name):
    model = fitted(name)
    full = model.panel(M)
    assert full.lost == pytest.approx(0, abs=1e-6 if name != "many classes" else 0.02)
    laws = model._laws(FRAME)
    intervals = full.predict_interval(FRAME)
    assert intervals.shape == ((N, 2) if len(laws) == 1 else (N, len(laws), 2))
    found = intervals.reshape(N, -1, 2)
    expected = np.stack([law.interval(0.95) for law in laws], axis=1)
    widths = [np.median(np.diff(ends, axis=2), axis=0).ravel() for ends in (found, expected)]
    np.testing.assert_allclose(*widths, rtol=0.25)  # from 100 draws


@outcomes
def test_coefficients_lie_in_their_limits(name):
    panel = fitted(name).panel_
    table = panel.coefficients
    assert (table["low"] <= table["coefficient"]).all()
    assert (table["coefficient"] <= table["high"]).all()
    K = 3 if name == "many classes" else 1
    assert table["column"].tolist() == ["intercept", *panel.members] * K
    one = table[table["outcome"] == "z"] if K == 3 else table
    eta = one["coefficient"].iloc[0] + FRAME[panel.members] @ one["coefficient"].to_numpy()[1:]
    np.testing.assert_allclose(panel.rule.linear(FRAME)[:, K - 1], eta)


@outcomes
def test_a_saved_model_has_the_same_panel(name, tmp_path):
    model = fitted(name)
    vg.save(model, tmp_path / "fit.vg")
    one, two = model.panel_, vg.load(tmp_path / "fit.vg").panel_
    assert one.members == two.members
    pd.testing.assert_frame_equal(one.coefficients, two.coefficients)
    pd.testing.assert_frame_equal(one.curve, two.curve)
    if name not in ("classes", "many classes"):
        np.testing.assert_allclose(one.predict(FRAME), two.predict(FRAME))


@outcomes
def test_curves_and_families_are_of_the_panel(name):
    panel = fitted(name).panel_
    k = len(panel.features)
    curve = panel.curve.set_index("size")
    assert curve["lost"].is_monotonic_decreasing
    assert (curve.loc[k, "lost"], curve.loc[k, "loss"]) == pytest.approx((panel.lost, panel.loss))
    assert (curve["lost_low"] <= curve["lost_high"]).all()
    assert curve.loc[M, "lost_high"] == pytest.approx(0, abs=1e-6 if name != "many classes" else 0.04)
    family = [one.features for one in panel.family()]
    assert family[0].tolist() == panel.features.tolist()
    assert all(len(set(panel.features) & set(S)) == k - 1 for S in family[1:])
    own = panel.among.lost_by_draw(panel.features)
    assert all(np.mean(panel.among.lost_by_draw(S) <= own) >= 0.05 for S in family)
    assert len(panel.family(level=1.1)) == 1
    assert len(panel.family(level=0.0)) == 1 + k * (M - k)
    table = panel.stand_ins(1).set_index("member")
    stand_in = {"d": "g", "g": "d"}
    (member,) = set(panel.members) & {"d", "g"} if len(set(panel.members) & {"d", "g"}) == 1 else ("d",)
    if len(panel.members) == 2:
        assert table.loc[member, "stand_in"] == stand_in[member]
        assert table.loc[member, "lost_with"] < 0.2 * table.loc[member, "lost_without"]


def test_survival_functions():
    for name, strata in (("survival", [0]), ("strata", [0, 1])):
        model = fitted(name)
        panel, y = model.panel_, model.selection_.training.y
        for stratum in strata:
            there = y["stratum"] == stratum
            curves = panel.predict_survival_function(FRAME[panel.members], stratum=stratum)
            assert np.all(curves[0]([0.0]) == 1)
            hazards = np.array([-np.log(curve(t)) for curve, t in zip(curves[there], y["time"][there], strict=True)])
            events = np.ravel(hazards).sum()  # Breslow: Σ Λ(t_i) e^η is the number of events
            assert events == pytest.approx(y["event"][there].sum(), rel=1e-6)
        with pytest.raises(ValueError, match="stratum must be one in which an event happened"):
            panel.predict_survival_function(X, stratum=7)


def test_the_average_row_has_log_hazard_ratio_zero():
    w = (np.arange(N) < 60).astype(float)
    model = vg.DiverseSurvival(**QUICK).fit(X, OUTCOMES["survival"][1], sample_weight=w)
    assert model.panel_.predict(X[:60].mean(axis=0)[None])[0] == pytest.approx(0, abs=1e-6)


def test_counts_are_those_of_one_unit_of_exposure():
    model = fitted("counts")
    panel = model.panel_
    rates = panel.predict(FRAME)
    np.testing.assert_allclose(panel.predict(FRAME, exposure=EXPOSURE), rates * EXPOSURE)
    np.testing.assert_allclose(panel.predict_interval(FRAME, exposure=1.0), panel.predict_interval(FRAME))
    assert (panel.predict_interval(FRAME, exposure=9)[:, 1] > panel.predict_interval(FRAME)[:, 1]).all()
    for wrong in (-1, [1.0, 2.0]):
        with pytest.raises(ValueError, match="exposure must be a number above zero"):
            panel.predict(FRAME, exposure=wrong)
    with pytest.raises(ValueError, match="exposure is for counts"):
        fitted("numbers").panel_.predict(FRAME, exposure=1)
    assert rates @ EXPOSURE == pytest.approx(OUTCOMES["counts"][1].sum(), rel=0.03)
    np.testing.assert_allclose(rates, np.exp(model.panel_.rule.linear(FRAME)[:, 0]))


# --- choices -------------------------------------------------------------------------------------------------


@outcomes
def test_chosen_for_probability(name):
    estimator, y, more = OUTCOMES[name]
    model = estimator(choose="probability", **QUICK).fit(X, y, **more)
    assert np.flatnonzero(model.support_).tolist() == model.posterior_.map().tolist()
    assert model.panel_.features.tolist() == model.posterior_.map().tolist()
    assert len(model.panel_.predict(X)) == N


def test_an_unknown_choice():
    with pytest.raises(ValueError, match='choose must be "prediction" or "probability", got \'nonsense\''):
        vg.DiverseRegressor(choose="nonsense").fit(X, SIGNAL)


def test_sizes_and_diversity():
    y = OUTCOMES["numbers"][1]
    model = vg.DiverseRegressor(n_features_to_select=4, **QUICK).fit(X, y)
    assert model.support_.sum() == len(model.panel_.features) == 4
    assert {k: mask.sum() for k, mask in model.path([1, 2, 5]).items()} == {1: 1, 2: 2, 5: 5}
    assert not {3, 6} <= set(model.panel(3, diversity=1000).columns.tolist())
    with pytest.raises(ValueError, match="diversity must be a number from 0"):
        model.panel(2, diversity=-1)
    with pytest.raises(ValueError, match="size must be a whole number from 3"):
        model.panel(2, include=[0, 1, 2])
    with pytest.raises(ValueError, match=r"^size must be between 1 and 8"):
        model.panel(9)
    with pytest.raises(ValueError, match=r"^size must be a whole number"):
        model.panel("3")
    with pytest.raises(ValueError, match=r"^sizes must be between 1 and 8"):
        model.path([9])
    with pytest.raises(ValueError, match="exclude must leave a feature"):
        model.panel(1, exclude=range(8))


def test_prices():
    model, prices = fitted("numbers"), dict.fromkeys("abcdefgh", 1.0) | {"d": 10.0}
    panel = model.panel(costs=prices, budget=2.0)
    assert set(panel.members) == {"b", "g"}
    assert {"d", "g"} & set(model.panel(costs=prices, budget=11.0).members)
    measured = model.panel(include=["d"], costs=prices, budget=1.0)  # measured already, so it costs nothing
    assert measured.members == ["b", "d"]
    for wrong in ({"costs": prices}, {"budget": 2.0}):
        with pytest.raises(ValueError, match="together"):
            model.panel(**wrong)
    for wrong in (prices | {"b": -1}, prices | {"b": np.nan}, {"a": 1.0}, prices | {"b": "one"}):
        with pytest.raises(ValueError, match=r"costs must hold a number from 0 .* got .* for 'b'"):
            model.panel(costs=wrong, budget=2.0)
    for wrong in (np.nan, -1.0, "all"):
        with pytest.raises(ValueError, match="budget must be a number from 0"):
            model.panel(costs=prices, budget=wrong)


@outcomes
def test_covariates_are_always_measured(name):
    """Two that nearly repeat each other say little about their coefficients, and nothing against the features."""
    estimator, y, more = OUTCOMES[name]
    both = FRAME.assign(age=AGE[:, 0], years=AGE[:, 1])
    model = estimator(always_include=["age", "years"], **QUICK).fit(both, y, **more)
    panel = model.panel_
    assert {"b"} < set(panel.members) <= {"b", "d", "g"}
    assert panel.columns.tolist()[-2:] == [8, 9]
    assert panel.coefficients["column"].tolist()[-2:] == ["age", "years"]
    few = both[[*panel.members, "years", "age"]]
    np.testing.assert_array_equal(panel.predict(few), panel.predict(both))
    full, (law, *_) = model.panel(M), model._laws(both)
    found = full.predict_interval(both).reshape(N, -1, 2)[:, 0]
    assert np.median(found[:, 1] - found[:, 0]) < 1.5 * np.median(np.diff(law.interval(0.95)))
    nothing = np.array([], dtype=int)
    assert panel.among.of_uncertainty(nothing) > 0.3 * fitted(name).panel_.among.of_uncertainty(nothing)


@pytest.mark.parametrize("seed", range(6))
def test_blocks_of_near_copies(seed):
    """One column of each block that matters."""
    data = vg.datasets.make_blocks(300, 40, block_size=4, n_true=6, correlation=0.8, rng=seed)
    panel = vg.DiverseRegressor(**QUICK).fit(data.X, data.y).panel_
    assert panel.features.tolist() == data.truth.tolist()


@pytest.mark.parametrize("seed", [0, 5])  # some columns have probabilities of .1 to .25 with seed 0
@pytest.mark.parametrize("name", ["numbers", "classes", "survival"])
def test_noise_needs_no_features(name, seed):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(100, 15))
    y = survival_rows(rng.exponential(size=100), rng.random(100) < 0.7)
    y = {"numbers": rng.normal(size=100), "classes": rng.random(100) < 0.5, "survival": y}[name]
    with pytest.warns(EmptySelectionWarning, match="No features are worth measuring"):
        model = OUTCOMES[name][0](**QUICK).fit(Z, y)
    panel = model.panel_
    assert panel.members == []
    assert np.unique(panel.predict(Z)).size == 1
    assert panel.coefficients["column"].tolist() == ["intercept"]
    assert panel.curve["size"].tolist() == list(range(11))
    assert panel.stand_ins().empty
    assert len(model.panel(2).features) == 2


def test_weak_signals_need_features():
    """Many small effects, none likely: together worth more than a nat, and R² .06 on new rows."""
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(2200, 60))
    eta = Z[:, :20] @ rng.normal(size=20)
    y = 0.5 * eta / eta.std() + rng.normal(size=2200)
    model = vg.DiverseRegressor(**QUICK).fit(Z[:200], y[:200])
    assert model.inclusion_probabilities_.max() < 0.5
    residual = y[200:] - model.panel_.predict(Z[200:])
    assert 1 - residual.var() / y[200:].var() > 0.03
    assert 2 <= len(model.panel_.features) <= 8


def test_groups_are_measured_together():
    y = OUTCOMES["numbers"][1]
    model = vg.DiverseRegressor(groups=[0, 0, 1, 1, 2, 2, 3, 3], **QUICK).fit(FRAME, y)
    panel = model.panel(2)
    assert "a+b" in panel.members
    assert np.flatnonzero(model.as_support(panel.columns)).tolist() == panel.columns.tolist()
    assert len(panel.columns) == 4
    np.testing.assert_array_equal(panel.predict(FRAME.iloc[:, panel.columns]), panel.predict(FRAME))


def test_what_cannot_be_replaced_is_not_made_up_for_by_all_other_features():
    y = 3 * X[:, 0] + 0.5 * X[:, 1] + np.random.default_rng(5).normal(size=len(X))
    model = vg.DiverseRegressor(**QUICK).fit(X, y)
    panel = model.panel(exclude=[0])
    assert panel.lost > 0.5
    assert panel.columns.tolist() == [1]
