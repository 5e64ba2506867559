"""What every from_… function promises, and what each one does."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

from variegate import similarity
from variegate.similarity import SimilarityFeatures, SimilarityWarning

RNG = np.random.default_rng(0)
POINTS = RNG.random((40, 2))
LABELS = [f"g{i % 7}" for i in range(40)]
RING = sparse.csr_array(np.roll(np.eye(40), 1, axis=1) + np.eye(40, k=7))
MEMBERS = {f"t{t}": [str(i) for i in range(40) if (i * (t + 3)) % 5 < 2] for t in range(9)}
BUILDERS = {
    "columns": lambda: similarity.from_columns(np.random.default_rng(1).standard_normal((30, 40))),
    "columns, low rank": lambda: similarity.from_columns(np.random.default_rng(1).standard_normal((30, 40)), rank=10),
    "network": lambda: similarity.from_network(RING, range(40), hubs=10, rank=15),
    "coordinates": lambda: similarity.from_coordinates(POINTS, 0.2),
    "coordinates, several scales": lambda: similarity.from_coordinates(POINTS, [0.05, 0.3], rank=20),
    "positions": lambda: similarity.from_positions(POINTS[:, 0], LABELS, 0.2),
    "positions, low rank": lambda: similarity.from_positions(POINTS[:, 0], LABELS, 0.2, rank=20),
    "groups": lambda: similarity.from_labels(LABELS),
    "groups, low rank": lambda: similarity.from_labels(LABELS, rank=20),
    "annotations": lambda: similarity.from_annotations(MEMBERS, [str(i) for i in range(40)]),
    "kernel": lambda: similarity.from_kernel(np.exp(-squareform(pdist(POINTS)) / 0.3), rank=12),
}


@pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS)
def test_unit_rows_determinism_and_error(build):
    phi, again = build(), build()
    assert isinstance(phi, np.ndarray)
    assert phi.shape[0] == 40
    np.testing.assert_allclose(np.linalg.norm(phi, axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(phi, again)
    assert 0 <= phi.trace_error < 1


@pytest.mark.parametrize("build", BUILDERS.values(), ids=BUILDERS)
def test_copies_keep_names_and_error(build):
    phi = build()
    for twin in (copy.copy(phi), copy.deepcopy(phi), phi.copy(), pickle.loads(pickle.dumps(phi))):
        assert type(twin) is SimilarityFeatures
        assert (twin.names, twin.trace_error) == (phi.names, phi.trace_error)
        np.testing.assert_array_equal(twin, phi)
    assert phi[:3].names is None
    assert type(np.asarray(phi)) is np.ndarray


def test_names_must_fit():
    with pytest.raises(ValueError, match="3 entries, one per row of Φ, got 2"):
        SimilarityFeatures(np.eye(3), names=["a", "b"])


@pytest.mark.parametrize("features", ["abc", 5, None])
def test_a_word_or_number_is_no_list_of_features(features):
    with pytest.raises(ValueError, match="features must be"):
        similarity.from_annotations({"one": ["a"]}, features)
    with pytest.raises(ValueError, match="features must be"):
        similarity.from_network(RING, features)


def test_entries_are_within_three_times_the_error_on_average():
    points = np.random.default_rng(3).random((2000, 2))
    K = np.exp(-(squareform(pdist(points)) ** 2) / 0.15**2)
    for tol in (0.3, 0.05, 0.001):
        phi = np.asarray(similarity.from_coordinates(points, 0.15, tol=tol))
        assert np.abs(phi @ phi.T - K).mean() <= 3 * tol
    assert np.abs(phi @ phi.T - K).max() < 0.05


def test_a_tolerance_that_cannot_be_reached_gives_a_warning():
    points = np.arange(1200.0)
    with pytest.warns(SimilarityWarning, match="1000 similarity features leave a trace error of 16"):
        phi = similarity.from_coordinates(points, 0.01)
    np.testing.assert_allclose(np.linalg.norm(phi, axis=1), 1.0)


# columns


def test_columns_are_correlations_in_both_shapes():
    for shape in ((30, 8), (8, 30)):
        X = np.random.default_rng(4).standard_normal(shape) * 7 + 3
        phi = np.asarray(similarity.from_columns(X))
        assert phi.shape == (shape[1], min(shape))
        np.testing.assert_allclose(phi @ phi.T, np.corrcoef(X.T), atol=1e-12)


def test_constant_columns_become_zero_rows_and_are_counted():
    X = np.column_stack([np.full(20, 0.1), np.arange(20.0), np.full(20, 1e9)])
    with pytest.warns(SimilarityWarning, match=r"2 of 3 columns are constant \(e.g. number 0\)"):
        phi = similarity.from_columns(X)
    np.testing.assert_allclose(np.linalg.norm(phi, axis=1), [0, 1, 0], atol=1e-12)


def test_columns_take_frames_and_float32():
    X = pd.DataFrame(np.random.default_rng(5).standard_normal((6, 3)), columns=["a", "b", "c"])
    assert similarity.from_columns(X).names == ("a", "b", "c")
    assert similarity.from_columns(X.to_numpy(np.float32)).dtype == np.float32


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-250, 1e250) | st.sampled_from([1e-300, 1e303]), st.floats(-1e3, 1e3), st.integers(0, 9))
def test_columns_do_not_depend_on_units(scale, shift, seed):
    X = np.random.default_rng(seed).standard_normal((12, 5))
    phi, other = similarity.from_columns(X), similarity.from_columns((X + shift) * scale)
    np.testing.assert_allclose(other @ other.T, phi @ phi.T, atol=1e-8)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.array([[1.0, np.nan]]), "row 0, column 1"),
        (np.ones(3), "shape"),
        (np.array([["a", "b"]]), "table of numbers"),
        (np.ones((0, 3)), "shape"),
        (np.array([[1j, 2.0]]), "complex"),
    ],
)
def test_bad_columns_are_named(X, message):
    with pytest.raises(ValueError, match=message):
        similarity.from_columns(X)


# coordinates


@pytest.mark.parametrize("kind", ["dense", "csr", "csc"])
def test_columns_sparse_and_weighted(kind):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((30, 12)) < 0.4, rng.normal(size=(30, 12)), 0.0)
    counts = rng.integers(0, 4, 30)
    table = {"dense": np.asarray, "csr": sparse.csr_array, "csc": sparse.csc_array}[kind](X)
    phi = np.asarray(similarity.from_columns(table, sample_weight=counts))
    repeated = np.repeat(X, counts, axis=0)
    np.testing.assert_allclose(phi @ phi.T, np.corrcoef(repeated.T), atol=1e-9)
    np.testing.assert_allclose(phi, similarity.from_columns(repeated, rank=12), atol=1e-9)


def test_columns_bad_weights():
    for weights in ([1.0], [-1.0, 1, 1], [0, 0, 0], [np.nan, 1, 1]):
        with pytest.raises(ValueError, match="3 finite non-negative numbers"):
            similarity.from_columns(np.eye(3), sample_weight=weights)


def test_bandwidth_rules():
    distances = pdist(POINTS)
    for rule, value in {"mean": distances.mean(), "median": np.median(distances)}.items():
        K = np.exp(-(squareform(distances) ** 2) / value**2)
        phi = np.asarray(similarity.from_coordinates(POINTS, rule, tol=0.0))
        np.testing.assert_allclose(phi @ phi.T, K, atol=1e-4)


def test_several_scales_are_averaged():
    D2 = squareform(pdist(POINTS)) ** 2
    K = (np.exp(-D2 / 0.1**2) + np.exp(-D2 / 0.5**2)) / 2
    phi = np.asarray(similarity.from_coordinates(POINTS, [0.1, 0.5], tol=0.0))
    np.testing.assert_allclose(phi @ phi.T, K, atol=1e-5)


def test_bumps_overlap_as_integrals_say():
    """In one dimension, against the basis functions themselves on a fine grid."""
    centres, widths = np.array([0.0, 0.3, 1.0]), np.array([0.2, 0.5, 0.1])
    grid = np.linspace(-5, 6, 200_001)
    bumps = np.exp(-((grid[:, None] - centres) ** 2) / widths**2)
    bumps /= np.linalg.norm(bumps, axis=0)
    phi = np.asarray(similarity.from_coordinates(centres, widths=widths, tol=0.0))
    np.testing.assert_allclose(phi @ phi.T, bumps.T @ bumps, atol=1e-8)


def test_longitude_and_latitude_are_kilometres():
    places = [[0.0, 0.0], [1.0, 0.0], [180.0, 0.0], [-180.0, 0.0]]
    phi = similarity.from_coordinates(places, 111.19, lonlat=True, tol=0.0)
    assert phi[0] @ phi[1] == pytest.approx(np.exp(-1), abs=1e-3)
    assert phi[2] @ phi[3] == pytest.approx(1)
    with pytest.raises(ValueError, match="latitude"):
        similarity.from_coordinates([[10.0, 120.0]], lonlat=True)


def test_points_far_from_the_origin_keep_their_digits():
    near = similarity.from_coordinates(POINTS, 0.2, rank=10)
    far = similarity.from_coordinates(POINTS + 1e7, 0.2, rank=10)
    np.testing.assert_allclose(far @ far.T, near @ near.T, atol=1e-6)


def test_a_long_line_of_duplicates_loses_no_digits():
    points = np.repeat(np.arange(300.0) * 1e4, 2)
    phi = np.asarray(similarity.from_coordinates(points, 1.0, tol=0.0))
    np.testing.assert_allclose(phi @ phi.T, np.kron(np.eye(300), np.ones((2, 2))), atol=1e-12)


def test_duplicates_in_many_dimensions_far_apart():
    points = np.repeat(np.random.default_rng(0).standard_normal((100, 20)) * 1e3, 3, axis=0)
    phi = np.asarray(similarity.from_coordinates(points, 1.0, tol=0.0))
    np.testing.assert_allclose(phi @ phi.T, np.kron(np.eye(100), np.ones((3, 3))), atol=1e-6)


@pytest.mark.parametrize("tol", [-0.1, 1.0, float("nan"), "0.1", None])
def test_bad_tolerances(tol):
    with pytest.raises(ValueError, match="tol"):
        similarity.from_coordinates(POINTS, 0.2, tol=tol)


BAD_BANDWIDTHS = ["mode", 0.0, -1.0, [], [1.0, np.nan], {"a": 1.0}, {1.0}, ["a"], [[1.0]], None, [None], 1j, True]


@pytest.mark.parametrize("bandwidth", BAD_BANDWIDTHS, ids=repr)
def test_bad_bandwidths(bandwidth):
    with pytest.raises(ValueError, match="bandwidth"):
        similarity.from_coordinates(POINTS, bandwidth)


def test_extreme_bandwidths_give_the_limits():
    for tiny in (1e-200, 5e-324):
        phi = similarity.from_coordinates(POINTS, tiny, rank=40)
        np.testing.assert_allclose(phi @ phi.T, np.eye(40), atol=1e-12)
    for huge in (1e200, 1.7e308, [1e200, 1e300]):
        phi = similarity.from_coordinates(POINTS, huge)
        np.testing.assert_allclose(phi @ phi.T, np.ones((40, 40)), atol=1e-12)
    ring = similarity.from_network(RING, range(40), hubs=10, bandwidth=1e-200, rank=40)
    np.testing.assert_allclose(ring @ ring.T, np.eye(40), atol=1e-12)
    widths = np.where(np.arange(40) % 2, 1e200, 1e-200)
    bumps = similarity.from_coordinates(POINTS, widths=widths)
    same = np.where(np.arange(40) % 2, 1.0, 0.0)
    np.testing.assert_allclose(bumps @ bumps.T, np.maximum(np.outer(same, same), np.eye(40)), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_coordinates_do_not_depend_on_units(scale):
    scale = 2.0 ** np.round(np.log2(scale))  # a power of two rounds nothing
    for options in ({}, {"bandwidth": "median"}, {"bandwidth": 0.2}, {"bandwidth": [0.1, 0.5]}):
        scaled = {k: v if isinstance(v, str) else np.multiply(v, scale) for k, v in options.items()}
        np.testing.assert_array_equal(
            similarity.from_coordinates(POINTS * scale, **scaled), similarity.from_coordinates(POINTS, **options)
        )
    widths = np.linspace(0.1, 0.3, 40)
    np.testing.assert_array_equal(
        similarity.from_coordinates(POINTS * scale, widths=widths * scale),
        similarity.from_coordinates(POINTS, widths=widths),
    )


def test_bad_widths():
    for wrong in ([1.0], "wide", {"a": 1}, np.zeros(40), [[1.0]] * 40):
        with pytest.raises(ValueError, match="widths must be 40 positive numbers"):
            similarity.from_coordinates(POINTS, widths=wrong)


def test_coinciding_points_need_a_number():
    with pytest.raises(ValueError, match="give a number"):
        similarity.from_coordinates(np.zeros((5, 2)))
    assert similarity.from_coordinates(np.zeros((5, 2)), 1.0).shape == (5, 1)


# kernel


def test_kernels_as_matrix_sparse_matrix_frame_and_function():
    K = 3.0 * np.exp(-squareform(pdist(POINTS)) / 0.3)
    names = [f"p{i}" for i in range(40)]
    forms = [
        similarity.from_kernel(K, features=names, tol=0.0),
        similarity.from_kernel(sparse.csr_array(K), features=names, tol=0.0),
        similarity.from_kernel(pd.DataFrame(K, index=names), tol=0.0),
        similarity.from_kernel(lambda rows, cols: K[np.ix_(rows, cols)], features=names, tol=0.0),
    ]
    for phi in forms:
        assert phi.names == tuple(names)
        np.testing.assert_allclose(phi @ phi.T, K / 3, atol=1e-10)


def test_the_number_of_features_may_be_a_numpy_number():
    phi = similarity.from_kernel(lambda rows, cols: np.equal.outer(rows, cols) * 1.0, features=np.int64(4))
    np.testing.assert_array_equal(phi @ phi.T, np.eye(4))


def test_missing_entries_anywhere_are_named():
    K = np.exp(-squareform(pdist(POINTS)))
    K[3, 17] = K[17, 3] = np.nan
    for kernel in (sparse.csr_array(K), lambda rows, cols: K[np.ix_(rows, cols)]):
        with pytest.raises(ValueError, match=r"the kernel must be finite, got nan for features (3 and 17|17 and 3)"):
            similarity.from_kernel(kernel, features=40, rank=40, tol=0.0)
    with pytest.raises(ValueError, match="row 3, column 17"):
        similarity.from_kernel(K)


def test_a_feature_without_variance_has_a_zero_row():
    assert not similarity.from_kernel(np.zeros((2, 2))).any()
    phi = similarity.from_kernel(np.diag([1.0, 0.0, 2.0]), tol=0.0)
    np.testing.assert_allclose(np.asarray(phi @ phi.T), np.diag([1.0, 0.0, 1.0]))


@pytest.mark.parametrize(
    ("kernel", "options", "message"),
    [
        (np.ones((2, 3)), {}, "square"),
        (sparse.csr_array(np.ones((2, 3))), {}, "square"),
        (np.array([[1.0, 0.5], [0.4, 1.0]]), {}, "symmetric"),
        (np.array([[-1.0]]), {}, "diagonal"),
        (np.array([[1.0, 3.0], [3.0, 1.0]]), {}, "semidefinite"),
        (np.eye(2), {"features": ["a"]}, "2 names"),
        (np.eye(2), {"features": np.int64(3)}, "2 names, one per row of the kernel, got 3"),
        (np.eye(2), {"features": "ab"}, "features must be"),
        (np.eye(2), {"features": True}, "features must be"),
        (np.eye(2) * 1j, {}, "complex"),
        (sparse.csr_array(np.eye(2) * 1j), {}, "complex"),
        (lambda rows, cols: np.eye(2) * 1j, {"features": 2}, "real numbers, got complex"),
        (lambda rows, cols: [["a", "b"], ["c", "d"]], {"features": 2}, "real numbers, got <U1"),
        (np.eye(2), {"rank": 0}, "rank"),
        (lambda rows, cols: np.eye(2), {}, "features must be"),
        (lambda rows, cols: np.eye(7), {"features": 300, "rank": 3}, "shape|match"),
    ],
)
def test_bad_kernels(kernel, options, message):
    with pytest.raises(ValueError, match=message):
        similarity.from_kernel(kernel, **options)


class TestPositions:
    X = np.sort(np.random.default_rng(5).random(300)) * 1e6
    CHROMOSOMES = np.repeat(["1", "2", "X"], 100)

    def kernel(self, sigma):
        K = np.exp(-(np.subtract.outer(self.X, self.X) ** 2) / sigma**2)
        return K * (self.CHROMOSOMES[:, None] == self.CHROMOSOMES)

    @pytest.mark.parametrize("sigma", [3e4, 3e5, 1e8])
    def test_the_kernel_within_lines(self, sigma):
        phi = np.asarray(similarity.from_positions(self.X, self.CHROMOSOMES, sigma))
        np.testing.assert_allclose(phi @ phi.T, self.kernel(sigma), atol=2e-4)

    def test_more_cells_than_columns_are_mixed(self):
        phi = np.asarray(similarity.from_positions(self.X, self.CHROMOSOMES, 1e3, rank=200))
        assert phi.shape == (300, 200)
        off = phi @ phi.T - self.kernel(1e3)
        assert np.abs(off).max() < 6 / np.sqrt(200)
        assert abs(off.mean()) < 0.005
        twin = np.asarray(
            similarity.from_positions([*self.X, self.X[7] + 1.0], [*self.CHROMOSOMES, "1"], 1e3, rank=200)
        )
        assert twin[7] @ twin[300] > 0.999

    def test_the_default_reaches_to_the_fifth_neighbour_whatever_the_scale(self):
        phi = similarity.from_positions(self.X, self.CHROMOSOMES)
        np.testing.assert_allclose(phi, similarity.from_positions(1e-3 * self.X, self.CHROMOSOMES), atol=1e-9)
        likeness = np.asarray(phi @ phi.T)
        neighbours = (likeness > 0.3).sum(axis=1) - 1
        assert 4 <= np.median(neighbours) <= 12
        assert np.linalg.matrix_rank(phi) > 60  # sets of dozens of features are possible

    def test_positions_that_coincide_and_lines_of_one(self):
        assert np.ptp(np.asarray(similarity.from_positions([5.0, 5.0, 5.0])), axis=0).max() < 1e-15
        np.testing.assert_allclose(np.linalg.norm(similarity.from_positions([1, 2], ["a", "b"]), axis=1), 1)
        assert similarity.from_positions(pd.Series([1.0, 2.0], index=["a", "b"])).names == ("a", "b")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([1, np.nan],), "positions must be finite numbers"),
            (([[1, 2]],), "positions must be finite numbers"),
            ((["a"],), "positions must be finite numbers"),
            (([1, 2], ["a"]), "a label for each of the 2 positions, got 1"),
            (([1, 2], None, -1), 'bandwidth must be "near" or a positive number, got -1'),
            (([1, 2], None, "mean"), "got 'mean'"),
        ],
    )
    def test_wrong_ones(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            similarity.from_positions(*arguments)
