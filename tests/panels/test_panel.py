"""`vg.panel`: panels for the predictions of any model."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge

import variegate as vg

RNG = np.random.default_rng(2)
N, M = 80, 6
X = RNG.normal(size=(N, M)) * [1, 3, 1, 1, 1, 1] + [0, 5, 0, 0, 0, 0]
SIGNAL = X[:, 1] + 2 * X[:, 3]
Y = SIGNAL + RNG.normal(size=N)
LABELS = (np.median(SIGNAL) < SIGNAL).astype(int) + (np.quantile(SIGNAL, 0.8) < SIGNAL)
FRAME = pd.DataFrame(X, columns=list("abcdef"))


@pytest.mark.parametrize("model", [Ridge(), RandomForestRegressor(30, random_state=0)], ids=["ridge", "forest"])
def test_numbers_of_any_model(model):
    reference = model.fit(X, Y).predict(X)
    panel = vg.panel(X, reference, size=2)
    assert panel.columns.tolist() == [1, 3]
    Z = np.column_stack([np.ones(N), X[:, [1, 3]]])
    beta = np.linalg.lstsq(Z, reference, rcond=None)[0]
    np.testing.assert_allclose(panel.predict(X), Z @ beta)
    np.testing.assert_allclose(panel.coefficients["coefficient"], beta)
    assert panel.coefficients["column"].tolist() == ["intercept", "x1", "x3"]
    assert panel.lost == pytest.approx(
        np.square(reference - Z @ beta).sum() / np.square(reference - reference.mean()).sum()
    )
    assert panel.loss == pytest.approx(N / 2 * np.log(1 + panel.lost))  # the noise is what the model explains
    halved = vg.panel(X, reference, size=2, noise=reference.var() / 2)
    assert halved.loss == pytest.approx(N / 2 * np.log(1 + 2 * panel.lost))


@pytest.mark.parametrize("model", [LogisticRegression(), RandomForestClassifier(30, random_state=0)])
def test_probabilities_of_any_model(model):
    p = model.fit(X, LABELS > 0).predict_proba(X)
    one, two = (vg.panel(X, reference, size=2, task="classification") for reference in (p[:, 1], p))
    assert one.columns.tolist() == two.columns.tolist() == [1, 3]
    found = one.predict_proba(X)
    np.testing.assert_allclose(found, two.predict_proba(X))
    np.testing.assert_allclose(found.sum(axis=1), 1)
    assert found[:, 1].mean() == pytest.approx(np.clip(p[:, 1], 1e-4, 1).mean(), abs=1e-3)
    assert one.predict(X).tolist() == found.argmax(axis=1).tolist()


def test_probabilities_of_several_classes():
    p = LogisticRegression().fit(X, LABELS).predict_proba(X)
    panel = vg.panel(X, p, size=2, task="classification")
    found = panel.predict_proba(X[:, [1, 3]])
    assert found.shape == (N, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    shares = np.clip(p, 1e-4, 1)
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(panel.rule.means(X).mean(axis=0), shares.mean(axis=0), atol=1e-6)
    assert (panel.predict(X) == p.argmax(axis=1)).mean() > 0.85
    assert panel.predict(X).tolist() == found.argmax(axis=1).tolist()
    assert panel.coefficients["outcome"].tolist() == [0] * 3 + [1] * 3 + [2] * 3


def test_expected_counts():
    panel = vg.panel(X, np.exp(0.3 * SIGNAL), size=2, task="counts")
    assert panel.columns.tolist() == [1, 3]
    np.testing.assert_allclose(panel.predict(X), np.exp(0.3 * SIGNAL))


def test_several_outcomes():
    both = np.column_stack([X[:, 0] - X[:, 1], X[:, 1] + 5 * X[:, 4]])
    panel = vg.panel(X, both, size=3)
    assert panel.columns.tolist() == [0, 1, 4]
    np.testing.assert_allclose(panel.predict(X), both)
    assert panel.coefficients["outcome"].tolist() == [0] * 4 + [1] * 4


def test_a_row_of_weight_two_is_two_rows():
    w = np.arange(N) % 3
    rows = np.repeat(np.arange(N), w)
    one, two = vg.panel(X, Y, size=3, weights=w), vg.panel(X[rows], Y[rows], size=3)
    assert one.columns.tolist() == two.columns.tolist()
    np.testing.assert_allclose(one.coefficients["coefficient"], two.coefficients["coefficient"])
    assert (one.loss, one.lost) == pytest.approx((two.loss, two.lost))


def new_rows():
    """Three new rows, as whatever a user has."""
    missing = FRAME.copy()
    missing[["a", "c"]] = np.nan
    few = FRAME[["d", "b"]]
    return {
        "frame": FRAME[:3],
        "these columns in another order": few[:3],
        "others not measured": missing[:3],
        "more columns": FRAME.assign(z="word")[:3],
        "array": X[:3],
        "array of these": X[:3, [1, 3]],
        "array, others not measured": missing.to_numpy()[:3],
        "list": X[:3].tolist(),
        "sparse": sparse.csr_array(X[:3]),
        "sparse, these": sparse.coo_array(X[:3, [1, 3]]),
        "float32": X[:3].astype(np.float32),
        "polars": pl.from_pandas(few[:3]),
    }


@pytest.mark.parametrize("kind", new_rows())
def test_new_rows(kind):
    panel = vg.panel(FRAME, SIGNAL, size=2)
    assert panel.members == ["b", "d"]
    np.testing.assert_allclose(panel.predict(new_rows()[kind]), SIGNAL[:3], rtol=1e-5)


@pytest.mark.parametrize("given", [sparse.csr_array(X), X.tolist(), X.astype(np.float32), np.asfortranarray(X)])
def test_tables(given):
    panel = vg.panel(given, SIGNAL, size=2)
    assert panel.columns.tolist() == [1, 3]
    np.testing.assert_allclose(panel.predict(X), SIGNAL, atol=1e-4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (X[:, :3], "the panel's 2 columns, or all 6 of the fit, got 3"),
        (X[0], "must be a table"),
        (X[:, [1, 3]] * np.nan, "finite"),
        (FRAME[["a", "b"]], "lacks 'd'"),
        ([["a", "b"]], "numbers"),
    ],
)
def test_wrong_rows(given, message):
    panel = vg.panel(FRAME, SIGNAL, size=2)
    with pytest.raises(ValueError, match=message):
        panel.predict(given)


WRONG = {
    "reference must be finite": {"reference": np.where(Y > 0, Y, np.nan)},
    "reference must hold numbers": {"reference": ["a"] * N},
    "reference must have a prediction for each of the 80 rows of X, got 79": {"reference": Y[:-1]},
    "reference must be a table": {"reference": np.zeros((N, 2, 2))},
    "reference must vary": {"reference": np.full(N, 0.1)},
    "noise must be a variance above zero, or one for each of the 2": {"reference": np.column_stack([Y, 0 * Y])},
    "reference must hold probabilities, got": {"reference": Y, "task": "classification"},
    "whose sum is 1": {"reference": np.column_stack([LABELS > 0, LABELS > 0]), "task": "classification"},
    "reference must hold expected counts, above zero": {"reference": Y, "task": "counts"},
    "task must be one of": {"task": "numbers"},
    "size must be a whole number from 1 to 6": {"size": 7},
    "size must be a whole number .*got 0": {"size": 0},
    "size must be a whole number .*got 2.5": {"size": 2.5},
    "size must be a whole number .*got True": {"size": True},
    "size must be a whole number from 2 to 6": {"size": 1, "include": [0, 1]},
    "size must be a whole number from 1 to 2": {"size": 3, "exclude": [0, 1, 2, 3]},
    "include and exclude must have no feature in common, got 'x1'": {"include": [0, 1], "exclude": [1]},
    "include holds 'b', but the columns have no names": {"include": ["b"]},
    "diversity must be a number from 0, got -1": {"diversity": -1},
    "diversity must be a number from 0, got 'no'": {"diversity": "no"},
    "noise must be a variance above zero": {"noise": 0},
    "noise must be a variance above zero, or one for each of the 1 outcomes": {"noise": [1, 2]},
    "^weights must be non-negative": {"weights": -np.ones(N)},
    "weights must have shape": {"weights": np.ones(3)},
    "exclude must leave a feature to choose from, got all": {"exclude": range(M)},
    "X must have a column that varies, got constant columns only": {"X": np.ones((N, 2))},
    "columns of X must have different names, got 'a'": {"X": FRAME.rename(columns={"f": "a"})},
    "similarity": {"similarity": "rows"},
    "blocks must have one entry for each": {"blocks": [0, 1]},
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments(message):
    with pytest.raises(ValueError, match=message):
        vg.panel(**{"X": X, "reference": Y, "size": 2, **WRONG[message]})


def test_predictions_that_a_panel_cannot_make():
    panel = vg.panel(X, Y, size=2)
    with pytest.raises(AttributeError, match="for classes"):
        panel.predict_proba(X)
    with pytest.raises(AttributeError, match="for survival"):
        panel.predict_survival_function(X)
    with pytest.raises(ValueError, match="reference with draws"):
        panel.predict_interval(X)
    with pytest.raises(ValueError, match="size must be given"):
        panel.among.choose()
    assert panel.coefficients[["low", "high"]].isna().all(axis=None)
    assert panel.family()[0].members == panel.members
    assert len(panel.family()) == 1


def test_conditions_that_no_panel_can_meet():
    twice = np.column_stack([X, X[:, 0], np.ones(N)])
    with pytest.raises(ValueError, match="'x6', which is a copy"):
        vg.panel(twice, Y, size=3, include=[0, 6])
    assert vg.panel(twice, Y, size=3, include=[0, 6], diversity=0).columns.tolist()[::2] == [0, 6]
    with pytest.raises(ValueError, match="'x7', which is constant"):
        vg.panel(twice, Y, size=3, include=[7])
    assert 7 not in vg.panel(twice, Y, size=6, exclude=[7]).columns
    with pytest.raises(ValueError, match="from 1 to 6"):  # the rank
        vg.panel(twice, Y, size=7)
    assert len(vg.panel(twice, Y, size=7, diversity=0).features) == 7


def test_one_column():
    panel = vg.panel(X[:, [3]], Y, size=1)
    assert panel.members == ["x0"]
    assert panel.predict(X[:4, [3]]).shape == (4,)
    assert panel.log_volume == pytest.approx(0, abs=1e-9)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(20, 60))
    panel = vg.panel(wide, wide[:, 3] - wide[:, 50], size=2)
    assert panel.columns.tolist() == [3, 50]
    assert panel.lost < 1e-6


def test_similarity_from_elsewhere():
    """Of columns that predict equally well, those that are far apart."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(100, 4))
    phi = np.array([[1, 0], [0.99, 0.14], [0.98, 0.2], [0, 1.0]])
    panel = vg.panel(Z, Z.sum(axis=1), size=2, similarity=phi, diversity=50)
    assert panel.columns.tolist() == [0, 3]
    phi /= np.linalg.norm(phi, axis=1)[:, None]
    assert panel.log_volume == pytest.approx(np.linalg.slogdet(phi[[0, 3]] @ phi[[0, 3]].T)[1], abs=1e-6)


# --- how many, and what else -----------------------------------------------------------------------------------


def test_the_curve_passes_through_the_panel():
    panel = vg.panel(X, Y, size=3)
    curve = panel.curve.set_index("size")
    assert curve.index.tolist() == list(range(7))
    assert curve["lost"].is_monotonic_decreasing
    assert curve["loss"].is_monotonic_decreasing
    assert curve.loc[0, "lost"] == 1
    assert (curve.loc[3, "lost"], curve.loc[3, "loss"]) == pytest.approx((panel.lost, panel.loss))
    assert curve.loc[3, "log_det"] == pytest.approx(panel.log_volume)


def test_the_frontier_contains_the_panel():
    panel = vg.panel(X, Y, size=2)
    frontier = panel.among.frontier([1, 2, 3], [0.0, 1.0, 100.0])
    assert len(frontier) == 9
    own = frontier[(frontier["size"] == 2) & (frontier["diversity"] == 1)].iloc[0]
    assert (own["lost"], own["log_det"]) == pytest.approx((panel.lost, panel.log_volume))
    for _, rows in frontier.groupby("size"):
        assert rows.sort_values("diversity")["lost"].is_monotonic_increasing
        assert rows.dropna().sort_values("diversity")["log_det"].is_monotonic_increasing


def test_stand_ins_are_panels_without_a_member():
    panel = vg.panel(X, Y, size=3)
    table = panel.stand_ins(2)
    assert table["member"].tolist() == [name for name in panel.members for _ in range(2)]
    for row in table.itertuples():
        rest = [m for m in panel.features if f"x{m}" != row.member]
        with_it = np.sort([*rest, int(row.stand_in[1:])])
        assert row.lost_without == pytest.approx(panel.among.lost(np.array(rest)) - panel.lost)
        assert row.lost_with == pytest.approx(panel.among.lost(with_it) - panel.lost)
        assert row.log_det == pytest.approx(panel.among.log_volume(with_it))
        assert row.lost_with <= row.lost_without + 1e-9
    best = [max((panel.among.search.value(np.sort([*np.delete(panel.features, j), m])), m) for m in range(M)
                if m not in panel.features)[1] for j in range(3)]  # fmt: skip
    assert table["stand_in"].tolist()[::2] == [f"x{m}" for m in best]


def test_members_without_a_stand_in_have_a_row():
    panel = vg.panel(X, Y, size=2, include=[0])
    table = panel.stand_ins(2)
    (alone,) = table[table["member"] == "x0"].itertuples()
    assert pd.isna([alone.stand_in, alone.lost_with, alone.log_det]).all()
    assert alone.lost_without == pytest.approx(panel.among.lost(panel.features[1:]) - panel.lost)
    everything = vg.panel(X, Y, size=M).stand_ins()
    assert everything["member"].tolist() == [f"x{m}" for m in range(M)]
    assert everything["stand_in"].isna().all()
    assert (everything["lost_without"] > 0).any()


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_numbers_of_stand_ins_are_checked(n):
    with pytest.raises(ValueError, match=f"n must be a whole number above zero, got {n}"):
        vg.panel(X, Y, size=2).stand_ins(n)


def test_a_panel_shows_its_members_and_not_the_data():
    assert len(repr(vg.panel(X, Y, size=2))) < 80
