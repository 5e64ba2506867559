"""What is compared: splits, sizes, scores, and the words about them."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression

import variegate as vg
from comparison_methods import METHODS, Correlated, any_columns, assert_same, small_comparison, small_problem
from variegate.comparison.inputs import read_data
from variegate.comparison.study import Study
from variegate.similarity.distances import RadialKernel


def study(task="classification", **options):
    X, y = small_problem(task)
    given = {
        "methods": METHODS, "reference": "variegate", "size": None, "similarity": "columns", "kernel": None,
        "points": None, "communities": None, "screen": None, "test_size": 0.25, "seed": 0,
    }  # fmt: skip
    return Study(read_data(X, y, task), **{**given, **options})


def test_tables_are_tidy():
    found = small_comparison()
    assert list(found.table) == ["repeat", "method", "metric", "value", "size", "seconds"]
    assert not found.table.duplicated(["repeat", "method", "metric"]).any()
    assert set(found.table["metric"]) == {"R2", "MSE", "log det", "largest |r|", "mean |r|"}
    row = found.selections.iloc[0]
    assert row["names"] == tuple(f"gene {i}" for i in row["positions"])
    assert found.methods == list(METHODS)
    assert found.values("R2").shape == (6, 3)


def test_splits_are_stratified_disjoint_and_different():
    s = study()
    shares = np.bincount(s.data.y) / len(s.data.y)
    tests = []
    for repeat in range(3):
        train, test = s.split(repeat)
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(60))
        assert len(test) == 15
        assert np.abs(np.bincount(s.data.y[test]) / 15 - shares).max() < 1.5 / 15
        tests.append(tuple(test))
    assert len(set(tests)) == 3


def test_screening_and_similarity_see_the_training_part_only():
    seen = []

    def similarity(X):
        seen.append(X)
        return X.T

    s = study("regression", screen=5, similarity=similarity)
    part = s.part(2)
    X, y = s.data.X[part.train], s.data.y[part.train]
    np.testing.assert_array_equal(part.kept, vg.screening.screen(X, y, 5))
    np.testing.assert_array_equal(seen[0], X[:, part.kept])
    np.testing.assert_array_equal(part.problem.X, X[:, part.kept])
    # what is in the test part changes nothing
    blind = s.data.X.copy()
    blind[part.test] = 1e3
    other = study("regression", screen=5, similarity=similarity)
    again = Study(**{**vars(other), "data": s.data._replace(X=blind)}).part(2)
    np.testing.assert_array_equal(again.kept, part.kept)
    np.testing.assert_array_equal(again.problem.phi, part.problem.phi)


def test_scores_are_those_of_a_fit_on_the_training_part():
    s = study("regression", points=np.arange(24.0).reshape(12, 2), communities=list("aabbccddeeff"))
    part, S = s.part(0), np.array([0, 3, 5])
    X, y = s.data.X, s.data.y
    model = LinearRegression().fit(X[part.train][:, S], y[part.train])
    residual = y[part.test] - model.predict(X[part.test][:, S])
    r = np.corrcoef(X[part.train][:, S].T)
    found = s.scores(part, S)
    assert found["MSE"] == pytest.approx(np.mean(residual**2))
    assert found["R2"] == pytest.approx(1 - np.sum(residual**2) / np.sum((y[part.test] - y[part.test].mean()) ** 2))
    assert found["log det"] == pytest.approx(np.log(np.linalg.det(r)))
    assert found["largest |r|"] == pytest.approx(abs(r[0, 1]))
    assert found["distance"] == pytest.approx(np.mean([3, 5, 2]) * np.sqrt(8))
    assert found["communities"] == 3


def test_a_kernel_with_blocks_judges_like_its_features(rng):
    points = rng.normal(size=(12, 2))
    kernel = RadialKernel(points, (1.5,))
    full = np.linalg.cholesky(kernel.block(slice(None), np.arange(12)))
    given = {"screen": 7, "repeats": 2, "similarity": points}
    blocks, features = (small_comparison(kernel=k, **given).values("log det") for k in (kernel, full))
    pd.testing.assert_frame_equal(blocks, features)


def first_columns(X, y):
    assert len(X) == len(y) == 45  # the training part
    return np.arange(4)


def test_screening_may_be_a_function_of_the_training_part():
    assert study("regression", screen=first_columns).part(0).kept.tolist() == [0, 1, 2, 3]
    assert study("regression", screen=first_columns).call()["screen"].startswith(f"{__name__}.first_columns ")
    with pytest.raises(ValueError, match="screen must be a number"):
        small_comparison(screen="few")


def test_the_test_part_may_be_a_number_of_rows():
    train, test = study("regression", test_size=17).split(0)
    assert (len(train), len(test)) == (43, 17)
    assert len(small_comparison(test_size=17, repeats=1).values("R2")) == 1


def test_numbers_of_numpy_and_numbers_as_objects():
    plain = small_comparison(size=2, test_size=0.25, screen=5)
    assert_same(plain, small_comparison(size=np.int64(2), test_size=np.float32(0.25), screen=np.int32(5)))
    X, y = small_problem()
    assert_same(plain, vg.compare(METHODS, X, y.astype(object), size=2, test_size=0.25, screen=5, repeats=6,
                                  random_state=3, progress=False))  # fmt: skip


def overwrites(problem, size, rng):
    problem.X[:] = 0.0
    problem.y[:] = 1.0
    return np.arange(size)


def test_a_method_that_overwrites_its_table_does_no_harm():
    first = {"overwrites": overwrites, **METHODS}
    found = small_comparison(first, size=3, reference="overwrites")
    rest = found.table.query("method != 'overwrites'").reset_index(drop=True)
    expected = small_comparison(size=3).table
    pd.testing.assert_frame_equal(rest.drop(columns="seconds"), expected.drop(columns="seconds"))


def test_kernel_is_what_diversity_is_judged_by():
    phi, full = np.random.default_rng(0).normal(size=(2, 12, 6))
    S = np.array([1, 4])
    for options, rows in (({"similarity": phi}, phi), ({"similarity": phi, "kernel": full}, full)):
        s = study("regression", **options)
        part = s.part(0)
        np.testing.assert_array_equal(part.problem.phi, phi)
        assert s.scores(part, S)["log det"] == pytest.approx(np.log(np.linalg.det(rows[S] @ rows[S].T)))


def test_every_method_takes_the_size_of_the_reference():
    sizes = small_comparison().selections.pivot(index="repeat", columns="method", values="size")
    assert (sizes.nunique(axis=1) == 1).all()
    assert sizes["any"].nunique() > 1 or sizes["any"].iloc[0] > 1
    assert (small_comparison(size=4).selections["size"] == 4).all()


def test_empty_reference_means_one_feature_and_a_warning():
    with pytest.warns(UserWarning, match="was empty in 6 repeats: all methods chose one feature"):
        found = small_comparison({"variegate": Correlated(level=2.0), "any": any_columns})
    assert (found.selections["size"] == 1).all()
    assert (found.selections.query("method == 'variegate'")["own_size"] == 0).all()


def test_classes_of_any_type():
    found = small_comparison(task="classification", size=2)
    assert found.task == "classification"
    assert {"AUC", "log loss", "accuracy"} <= set(found.table["metric"])
    assert found.values("AUC")["variegate"].mean() > 0.8
    assert found.values("AUC")["any"].mean() < found.values("AUC")["variegate"].mean()


@pytest.mark.filterwarnings("ignore:.*selections came with warnings")
def test_our_own_method_and_an_estimator_of_ours():
    X, y = small_problem()
    quick = vg.DiverseRegressor(max_iter=8)
    found = vg.compare({"variegate": quick, "omp": "omp"}, X, y, repeats=2, progress=False)
    assert found.failures.empty
    assert all({0, 5} & set(S) for S in found.selections["positions"])


def test_warnings_are_kept_and_counted():
    def grumbling(problem, size, rng):
        import warnings

        warnings.warn("not so sure", stacklevel=1)
        return any_columns(problem, size, rng)

    with pytest.warns(UserWarning, match="6 of 12 selections came with warnings .e.g. UserWarning: not so sure.; see"):
        found = small_comparison({"variegate": Correlated(), "grumbling": grumbling})
    assert found.selections["warnings"].iloc[1] == ("UserWarning: not so sure",)


# --- summary --------------------------------------------------------------------------------------------------------


def test_statistics_are_wilcoxon_with_holm():
    found = small_comparison(repeats=12)
    wide = found.values("R2")
    p = [stats.wilcoxon(wide[name], wide["variegate"], zero_method="wilcox").pvalue for name in ("any", "lowest")
         if (wide[name] != wide["variegate"]).any()]  # fmt: skip
    rows = found.statistics().query("metric == 'R2'").set_index("method")
    assert np.isnan(rows.loc["variegate", "p"])
    # "lowest" is the reference by another name, p = 1; so the smaller p is doubled
    assert len(p) == 1
    assert rows.loc["any", "p"] == pytest.approx(2 * p[0])
    assert rows.loc["lowest", "p"] == 1.0
    assert rows.loc["any", "mean"] == pytest.approx(wide["any"].mean())
    assert rows.loc["any", "sd"] == pytest.approx(wide["any"].std())
    sums = found.statistics("rank_sum").query("metric == 'R2'").set_index("method")
    assert sums.loc["any", "p"] == pytest.approx(2 * stats.mannwhitneyu(wide["any"], wide["variegate"]).pvalue)


def test_summary_marks_what_differs():
    table = small_comparison(repeats=12).summary()
    assert table.index.tolist() == list(METHODS)
    assert "↓**" in table.loc["any", "R2"]
    assert "↑**" in table.loc["any", "MSE"]
    assert "±" in table.loc["lowest", "R2"]
    assert "*" not in table.loc["lowest", "R2"] + table.loc["variegate", "R2"]
    assert table.loc["variegate", "stability"] > table.loc["any", "stability"]


def test_copies_have_a_log_det_of_minus_infinity():
    def copies(problem, size, rng):
        return np.array([0, 1])

    X, y = small_problem()
    X["gene 1"] = X["gene 0"]
    found = vg.compare({"copies": copies, "any": any_columns}, X, y, size=2, repeats=6, progress=False)
    assert found.summary().loc["copies", "log det"].startswith("-inf")
    marked = vg.compare(
        {"copies": copies, "any": any_columns}, X, y, size=2, repeats=8, reference="any", progress=False
    )
    assert "↓*" in marked.summary().loc["copies", "log det"]


# --- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"methods": "lasso"}, "list of names"),
        ({"methods": ["nonsense"]}, "no method 'nonsense'; there are"),
        ({"methods": ["Elastic net"]}, "did you mean 'elastic_net'"),
        ({"methods": 3}, "list of names"),
        ({"reference": "lasso", "size": 2}, "reference must be one of variegate, any, lowest, got 'lasso'"),
        ({"methods": ["omp"]}, "give a size"),
        ({"repeats": 0}, "repeats must be"),
        ({"size": 13}, "from 1 to 12"),
        ({"size": 3, "screen": 2}, "from 1 to 2"),
        ({"test_size": 1.5}, "share between"),
        ({"test_size": 0.01}, "at least two rows, got test_size=0.01 of 60"),
        ({"test_size": 1}, "at least two rows, got test_size=1 of 60"),
        ({"similarity": "colums"}, "similarity: similarity must be"),
        ({"kernel": np.eye(5)}, "kernel: .* a row for each of the 12 columns"),
        ({"points": np.arange(12)}, r"shape \(12, p\)"),
        ({"points": ["a"] * 12}, "finite numbers"),
        ({"test_size": 60}, "rows below 60"),
        ({"kernel": RadialKernel(np.zeros((3, 2)), (1.0,))}, "of the 12 columns of X, got 3"),
        ({"points": np.zeros((3, 2))}, r"shape \(12, p\).*got float64 of shape \(3, 2\)"),
        ({"communities": ["a"]}, "communities must have one entry"),
        ({"random_state": None, "store": "x.db"}, "random_state must be"),
        ({"task": "ranking"}, "task must be"),
    ],
)
def test_errors_say_what_to_do(options, words):
    X, y = small_problem()
    with pytest.raises(ValueError, match=words):
        vg.compare(**{"methods": METHODS, "X": X, "y": y, "progress": False, **options})


def test_outcomes_that_make_no_sense():
    X, y = small_problem()
    for wrong, words in (
        (y[:5], "each of the 60 rows"),
        (np.where(np.arange(60) == 3, np.nan, y), "no missing values, got 1"),
        (np.where(np.arange(60) == 3, np.inf, y), "must be finite"),
        (np.arange(60) % 5, "classes or counts"),
        (np.full(60, "a"), "at least two classes"),
        (np.array(["a"] * 59 + ["b"]), "1 row of class 'b': too few"),
    ):
        with pytest.raises(ValueError, match=words):
            vg.compare(METHODS, X, wrong, progress=False)
    assert read_data(X, pd.Series(["u", "v"] * 30, dtype="category"), None).classes == ("u", "v")
    with pytest.raises(ValueError, match=r"metric must be one of .*, got 'AUC'"):
        small_comparison(repeats=1).values("AUC")
