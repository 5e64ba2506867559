"""DiverseSurvival: as scikit-survival's users expect, and right about times."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import variegate as vg
from variegate.metrics import concordance
from variegate.tasks import as_survival, survival_rows

N, M = 160, 8
RNG = np.random.default_rng(5)
X = RNG.normal(size=(N, M)) * 2 + 1
X[:, 5] = X[:, 1] + 0.2 * RNG.normal(size=N)
RATE = np.exp(0.7 * X[:, 1] - 0.5 * X[:, 3])
DIED, LEFT = RNG.exponential(1 / RATE), RNG.exponential(2.0, size=N)
Y = survival_rows(np.minimum(DIED, LEFT), DIED <= LEFT)
QUICK = {"max_iter": 4, "random_state": 0}
pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")


@pytest.fixture(scope="module")
def model():
    return vg.DiverseSurvival(random_state=0).fit(X, Y)


def test_the_columns_that_matter_are_chosen(model):
    assert model.support_[3]
    assert model.support_[1] or model.support_[5]
    assert model.inclusion_probabilities_[[1, 5]].sum() > 0.95
    assert np.abs(model.inclusion_probabilities_[[0, 2, 4, 6, 7]]).max() < 0.5


def test_risks_are_linear_and_in_the_units_of_x(model):
    np.testing.assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_, atol=1e-9)
    assert model.coef_[[1, 5]].sum() == pytest.approx(0.7, abs=0.25)
    assert model.coef_[3] == pytest.approx(-0.5, abs=0.25)
    assert abs(model.predict(X).mean()) < 1e-9
    low, high = model.predict_interval(X, 0.9).T
    assert ((low < model.predict(X)) & (model.predict(X) < high)).all()


def test_the_score_is_the_concordance(model):
    assert model.score(X, Y) == concordance(Y["time"], Y["event"], model.predict(X))
    assert model.score(X, Y) > 0.7


def test_survival_functions_are_calibrated():
    """Of new rows, as many survive any time as their functions say."""
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(4500, 3))
    times, left = rng.exponential(np.exp(-0.7 * rows[:, 0] + 0.5 * rows[:, 1])), rng.exponential(2.0, size=4500)
    fitted = survival_rows(np.minimum(times, left), times <= left)[:500]
    model = vg.DiverseSurvival(**QUICK).fit(rows[:500], fitted)
    new, survived = rows[500:], times[500:]
    values = model.predict_survival_function(new, return_array=True)
    assert values.shape == (4000, len(model.unique_times_))
    assert (np.diff(values, axis=1) <= 1e-12).all()
    for t in (0.1, 0.5, 1.5):
        expected = values[:, np.searchsorted(model.unique_times_, t) - 1]
        for part in np.array_split(np.argsort(expected), 4):
            assert (survived[part] > t).mean() == pytest.approx(expected[part].mean(), abs=0.07)


def test_functions_and_arrays_agree(model):
    functions, values = model.predict_survival_function(X[:3]), model.predict_survival_function(X[:3], True)
    assert functions.shape == (3,)
    assert functions[0](-1.0) == 1.0
    np.testing.assert_allclose([f(model.unique_times_) for f in functions], values)
    hazards = model.predict_cumulative_hazard_function(X[:3], True)
    np.testing.assert_allclose(np.exp(-hazards), values)
    assert model.predict_cumulative_hazard_function(X[:1])[0](-1.0) == 0.0


FORMS = {
    "structured": np.array(list(zip(Y["event"], Y["time"], strict=True)), dtype=[("died", "?"), ("months", "f8")]),
    "other order": np.array(list(zip(Y["time"], Y["event"], strict=True)), dtype=[("months", "f8"), ("died", "?")]),
    "two columns": np.column_stack([Y["time"], Y["event"]]),
    "frame": pd.DataFrame({"status": np.where(Y["event"], "dead", "alive"), "months": Y["time"]}),
    "list": [[bool(e), float(t)] for e, t in zip(Y["event"], Y["time"], strict=True)],
}


@pytest.mark.parametrize("form", FORMS)
def test_outcomes_of_many_forms(form):
    rows = as_survival(FORMS[form])
    np.testing.assert_array_equal(rows["event"], Y["event"])
    np.testing.assert_array_equal(rows["time"], Y["time"])


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ([1, 0], [1, 0]),
        ([True, False], [1, 0]),
        (["Dead", "alive"], [1, 0]),
        (["yes", "no"], [1, 0]),
        (["0", "1"], [0, 1]),
    ],
)
def test_events_in_words(event, expected):
    assert survival_rows([1, 2], event)["event"].tolist() == [bool(e) for e in expected]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.column_stack([-Y["time"], Y["event"]]), "time in row 0 must not be negative"),
        (np.column_stack([Y["time"], np.zeros(N)]), "event must have happened in at least one row, got none"),
        (np.column_stack([np.ones(N), Y["event"]]), "got both of that kind"),
        (np.column_stack([np.full(N, 2.5), Y["event"]]), "time must vary, got 2.5 in every row"),
        (np.column_stack([Y["time"], Y["event"] + 1]), "got neither of that kind"),
        (
            pd.DataFrame({"t": Y["time"], "e": np.where(np.arange(N) == 3, None, "dead")}),
            "event in row 3 must be known, got nothing; leave",
        ),
        (
            pd.DataFrame({"t": np.where(np.arange(N) == 3, np.nan, Y["time"]), "e": 1.0 * Y["event"]}),
            "time in row 3 must be finite, got nan; leave",
        ),
        (Y["time"], "two columns, a time and whether the event happened, got 1"),
        (Y[:-1], "y must have an entry for each of the 160 rows of X, got 159"),
        (FORMS["structured"][["died"]], "must have two fields"),
    ],
)
def test_bad_outcomes_are_named(y, message):
    with pytest.raises(ValueError, match=message):
        vg.DiverseSurvival(**QUICK).fit(X, y)


def test_codes_of_r_are_explained():
    with pytest.raises(ValueError, match="code is 1 for censored, 2 for an event"):
        survival_rows([1.0, 2.0], [1, 2])
    assert survival_rows([1.0, 2.0], [1, 2], happened=2)["event"].tolist() == [False, True]
    with pytest.raises(ValueError, match="event never is 'x'; it holds alive, dead"):
        survival_rows([1.0, 2.0], ["dead", "alive"], happened="x")


def test_one_event_is_enough_for_an_answer():
    y = survival_rows(Y["time"], np.arange(N) == 40)
    with pytest.warns(UserWarning, match="worth measuring"):
        model = vg.DiverseSurvival(**QUICK).fit(X, y)
    assert np.isfinite(model.predict(X)).all()


def test_pipelines_and_searches():
    pipe = make_pipeline(StandardScaler(), vg.DiverseSurvival(**QUICK))
    sizes = {"diversesurvival__n_features_to_select": [1, 2], "diversesurvival__average": [False]}
    assert GridSearchCV(pipe, sizes, cv=2).fit(X, Y).best_score_ > 0.65


def test_covariates_groups_strata_and_entries():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    y = survival_rows(
        Y["time"], Y["event"], entry=0.5 * Y["time"] * rng.random(N), strata=rng.choice(["x", "y"], size=N)
    )
    model = vg.DiverseSurvival(always_include=["a"], groups={"b": "g", "f": "g"}, **QUICK).fit(frame, y)
    assert model.support_[0]
    assert model.support_[1] == model.support_[5]
    for stratum in (0, 1):
        values = model.predict_survival_function(frame[:4], True, stratum=stratum)
        assert ((values > 0) & (values <= 1)).all()


def test_weights_are_repeated_rows():
    weights = RNG.integers(0, 3, size=N)
    rows = np.repeat(np.arange(N), weights)
    one = vg.DiverseSurvival(**QUICK).fit(X, Y, sample_weight=weights)
    two = vg.DiverseSurvival(**QUICK).fit(X[rows], Y[rows])
    np.testing.assert_allclose(one.inclusion_probabilities_, two.inclusion_probabilities_, atol=0.02)


def test_strata_keep_their_numbers_and_unknown_ones_are_refused():
    rng = np.random.default_rng(5)
    X, time = rng.normal(size=(90, 3)), rng.exponential(size=90)
    rows = survival_rows(time, np.ones(90), strata=rng.integers(0, 3, 90))
    some = rows["stratum"] != 1  # as in a fold
    model = vg.DiverseSurvival(n_features_to_select=1, **QUICK).fit(X[some], rows[some])
    late = model.predict_survival_function(X[:1], True, stratum=2)[0, -1]
    assert late < 0.5
    with pytest.raises(ValueError, match=r"stratum must be one in which an event happened, \[0, 2\], got 1"):
        model.predict_survival_function(X[:1], stratum=1)


@pytest.mark.parametrize("what", ["event", "entry", "strata"])
def test_lengths_must_agree(what):
    options = {"event": [1, 0, 1], what: [1]}
    with pytest.raises(ValueError, match=f"{what} must have an entry for each of the 3 times, got 1"):
        survival_rows([5, 3, 8], **options)


def test_no_events_are_noticed_before_the_first_look():
    X = np.random.default_rng(0).normal(size=(30, 8))
    with pytest.raises(ValueError, match="event must have happened in at least one row"):
        vg.DiverseSurvival(screen=3).fit(X, survival_rows(np.arange(1.0, 31), np.zeros(30)))
