"""One contract for every source of a table: the same answer as the same table in memory."""

import pickle
from functools import cache

import joblib
import numpy as np
import pytest
from scipy import sparse

import variegate as vg
from large_tables import SOURCES, genotypes, some_rows, with_columns
from variegate.large import LargeTable, as_large_table, first_look, is_out_of_core
from variegate.large import protocol as blocks
from variegate.large.views import SomeRows

pytestmark = pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
X = genotypes()
N, M = X.shape
RNG = np.random.default_rng(1)
Y = X[:, 3] - X[:, 20] + 0.5 * X[:, 35] + 0.7 * RNG.normal(size=N)
WEIGHTS = RNG.integers(0, 3, size=N).astype(float)
QUICK = {"random_state": 0, "max_iter": 6, "screen": 8, "expected_size": 0.1}


@cache
def in_memory():
    return vg.DiverseRegressor(**QUICK).fit(X, Y, sample_weight=WEIGHTS)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of a few hundred entries, so that there are many."""
    for module in ("protocol", "chunked"):
        monkeypatch.setattr(f"variegate.large.{module}.BLOCK_BYTES", 1200)
        monkeypatch.setattr(f"variegate.large.{module}.WIDEST", 16)


def sources():
    for name, make in SOURCES.items():
        yield pytest.param(make, id=name)
        yield pytest.param(lambda X, folder, make=make: some_rows(make, X, folder), id=f"some rows of {name}")
    yield pytest.param(with_columns, id="columns of two tables")


each_source = pytest.mark.parametrize("make", list(sources()))


class Counting:
    """Which entries were seen."""

    def of_block(self, values, block):
        assert values.shape == (block.rows.stop - block.rows.start, block.columns.stop - block.columns.start)
        return [(block.rows, np.array(values))]

    def together(self, upper, lower):
        return [*upper, *lower]

    def of_columns(self, found, columns):
        starts = [rows.start for rows, _ in found]
        assert starts == sorted(starts)
        return np.vstack([values for _, values in found])


@each_source
def test_every_entry_is_seen_once_and_in_order(make, tmp_path):
    table = make(X, tmp_path)
    assert isinstance(table, LargeTable)
    assert table.shape == (N, M)
    found = list(table.over_columns(Counting()))
    assert [columns.start for columns, _ in found] == [0, *(columns.stop for columns, _ in found[:-1])]
    np.testing.assert_array_equal(np.hstack([values for _, values in found]), X)


@each_source
def test_some_columns(make, tmp_path):
    table = make(X, tmp_path)
    for S in ([], [5], [0, 3, 39], [30, 2, 7]):
        found = table.columns(np.array(S, dtype=np.int64))
        found = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_array_equal(found, X[:, S])


@each_source
def test_moments_and_products(make, tmp_path):
    table, V = make(X, tmp_path), np.stack([Y * WEIGHTS, WEIGHTS])
    moments, products = first_look(table, WEIGHTS, V)
    centre = np.average(X.astype(float), weights=WEIGHTS, axis=0)
    np.testing.assert_allclose(moments.centre, centre, rtol=1e-12)
    deviations = np.sqrt(np.average(np.square(X - centre), weights=WEIGHTS, axis=0))
    np.testing.assert_allclose(moments.scale, deviations, rtol=1e-12)
    np.testing.assert_allclose(products, V @ (X - centre), atol=1e-10)
    assert not moments.missing.any()


@each_source
def test_same_answer_as_in_memory(make, tmp_path):
    table = make(X, tmp_path)
    model = vg.DiverseRegressor(**QUICK).fit(table, Y, sample_weight=WEIGHTS)
    memory = in_memory()
    np.testing.assert_array_equal(model.support_, memory.support_)
    np.testing.assert_allclose(model.inclusion_probabilities_, memory.inclusion_probabilities_, atol=1e-6)
    here, there = memory.selection_.certificate, model.selection_.certificate
    assert there.left_out > 5
    assert here[:3] == there[:3]
    np.testing.assert_allclose(here[3:], there[3:], rtol=1e-3)
    np.testing.assert_allclose(model.predict(table), memory.predict(X), atol=1e-5)
    assert model.n_features_in_ == M


@pytest.mark.parametrize("kind", ["classes", "survival", "counts"])
def test_same_answer_for_other_outcomes(kind, tmp_path):
    rate = np.exp(Y - Y.mean())
    make, y = {
        "classes": (vg.DiverseClassifier, np.where(np.median(Y) < Y, "ill", "well")),
        "survival": (vg.DiverseSurvival, vg.tasks.survival_rows(1 / rate, np.arange(N) % 5 > 0)),
        "counts": (vg.DiverseCounts, vg.tasks.count_rows(np.rint(3 * rate))),
    }[kind]
    table = SOURCES["npy by rows"](X, tmp_path)
    options = {**QUICK, "n_features_to_select": 2}
    model, memory = make(**options).fit(table, y), make(**options).fit(X, y)
    np.testing.assert_allclose(model.inclusion_probabilities_, memory.inclusion_probabilities_, atol=1e-6)
    np.testing.assert_allclose(model.predict(table) == memory.predict(X), True)


def test_arrays_and_what_is_not_in_memory(tmp_path):
    import dask.array
    import zarr

    np.save(tmp_path / "x.npy", X)
    stored = zarr.create_array(str(tmp_path / "x.zarr"), data=X, chunks=(30, 10))
    for given in (np.load(tmp_path / "x.npy", mmap_mode="r"), stored, dask.array.from_array(X, chunks=(30, 10))):
        assert is_out_of_core(given)
        model = vg.DiverseRegressor(**QUICK).fit(given, Y)
        assert model.selection_.certificate.left_out > 0
    assert not is_out_of_core(X)
    (tmp_path / "joblib_memmapping_folder_1_2").mkdir()  # what joblib hands to a process is in memory here
    np.save(tmp_path / "joblib_memmapping_folder_1_2" / "x.npy", X)
    assert not is_out_of_core(np.load(tmp_path / "joblib_memmapping_folder_1_2" / "x.npy", mmap_mode="r"))
    with pytest.raises(TypeError, match="X must be an array, a sparse table, or a zarr or Dask array, got list"):
        as_large_table([[1.0]])


def test_missing_entries_are_the_mean_and_are_counted(tmp_path):
    Z = X.copy()
    Z[::5, 3], Z[1, 20] = np.nan, np.nan
    filled = np.where(np.isnan(Z), np.nanmean(Z, axis=0, dtype=np.float64), Z).astype(np.float32)
    memory = vg.DiverseRegressor(**QUICK).fit(filled, Y)
    for name in ("npy by rows", "npy by columns", "zarr", "bed", "parquet", "dask"):
        folder = tmp_path / name
        folder.mkdir()
        table = SOURCES[name](Z, folder)
        model = vg.DiverseRegressor(**QUICK).fit(table, Y)
        assert model.selection_.certificate.imputed == len(Z[::5]) + 1
        np.testing.assert_allclose(model.inclusion_probabilities_, memory.inclusion_probabilities_, atol=1e-6)
        np.testing.assert_allclose(model.predict(table), memory.predict(filled), atol=1e-5)
    some = SomeRows(as_large_table(Z), np.arange(1, N))
    assert vg.DiverseRegressor(**QUICK).fit(some, Y[1:]).selection_.certificate.imputed == len(Z[::5])


def test_a_column_that_is_missing_throughout_is_constant():
    Z = X.copy()
    Z[:, 5] = np.nan
    with pytest.warns(vg.similarity.SimilarityWarning, match="Constant columns: 1 of 40"):
        model = vg.DiverseRegressor(**QUICK).fit(as_large_table(Z), Y)
    assert model.inclusion_probabilities_[5] == 0.0


def test_infinity_is_named():
    Z = X.copy()
    Z[3, 17] = np.inf
    with pytest.raises(ValueError, match=r"X must be finite, got infinity in column 17"):
        vg.DiverseRegressor(**QUICK).fit(as_large_table(Z), Y)


def test_tables_and_outcomes_that_do_not_fit():
    with pytest.raises(ValueError, match="y must have an entry for each of the 60 rows of X, got 59"):
        vg.DiverseRegressor(**QUICK).fit(as_large_table(X), Y[1:])
    model = vg.DiverseRegressor(**QUICK).fit(as_large_table(X), Y)
    with pytest.raises(ValueError, match="X must have 40 columns, as when fitted, got 39"):
        model.predict(as_large_table(X[:, 1:]))
    with pytest.raises(ValueError, match=r"table of numbers \(N, M\), got <U1"):
        as_large_table(np.array([["a"]]))


def test_columns_that_are_always_in(tmp_path):
    table = SOURCES["bed"](X, tmp_path)
    model = vg.DiverseRegressor(always_include=["v3"], **QUICK).fit(table, Y)
    memory = vg.DiverseRegressor(always_include=[3], **QUICK).fit(X, Y)
    np.testing.assert_allclose(model.inclusion_probabilities_, memory.inclusion_probabilities_, atol=1e-6)
    np.testing.assert_allclose(model.predict(table), memory.predict(X), atol=1e-5)
    assert model.get_feature_names_out().tolist()[0] == "v3"


def test_the_number_of_threads_does_not_change_a_digit(tmp_path, monkeypatch):
    table = SOURCES["npy by rows"](X, tmp_path)
    answers = []
    for threads in (1, 3):
        monkeypatch.setattr(blocks, "allowed", lambda n=threads: n)
        answers.append(vg.DiverseRegressor(**QUICK).fit(table, Y))
    np.testing.assert_array_equal(*(model.inclusion_probabilities_ for model in answers))
    assert answers[0].selection_.certificate == answers[1].selection_.certificate


def test_a_pass_that_is_left_early_stops(monkeypatch):
    seen = []

    class Slow(Counting):
        def of_block(self, values, block):
            seen.append(block)
            return super().of_block(values, block)

    monkeypatch.setattr(blocks, "allowed", lambda: 2)
    pass_ = as_large_table(X).over_columns(Slow())
    next(pass_)
    pass_.close()
    total = sum(map(len, as_large_table(X).groups))
    assert len(seen) < total


def test_genotypes_can_be_pickled(tmp_path):
    table = SOURCES["bed"](X, tmp_path)
    table.columns(np.array([0]))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(table)).columns(np.array([4])), X[:, [4]])


@pytest.mark.real
def test_a_process_of_joblib_fits_as_this_one_does():
    quick = vg.DiverseRegressor(max_iter=2, tol=1.0, random_state=0)
    there = joblib.Parallel(n_jobs=2, max_nbytes=100)([joblib.delayed(quick.fit)(X, Y)])[0]
    assert there.selection_.certificate is None
    np.testing.assert_allclose(there.inclusion_probabilities_, quick.fit(X, Y).inclusion_probabilities_, atol=1e-9)
