"""Simulators: the promised distribution, and determinism."""

import numpy as np
import pytest

from variegate import datasets, similarity
from variegate.datasets import gaussian_bumps, make_blocks, make_network_genes, make_spatial_field

MAKERS = {
    "blocks": make_blocks,
    "network genes": make_network_genes,
    "spatial field": make_spatial_field,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_determinism_and_shapes(make):
    one, two, other = make(rng=3), make(rng=3), make(rng=4)
    np.testing.assert_array_equal(one.X, two.X)
    np.testing.assert_array_equal(one.y, two.y)
    assert (one.y != other.y).any()
    M = one.X.shape[1]
    assert len(one.features) == len(set(one.features)) == len(one.groups) == len(one.coef) == M
    assert np.flatnonzero(one.coef).tolist() == one.truth.tolist()
    assert make().truth.tolist() == make().truth.tolist()


def test_blocks_have_the_stated_correlation_and_signal():
    data = make_blocks(4000, 60, block_size=6, correlation=0.8, n_true=5, snr=3.0, n_test=10, rng=1)
    R = np.corrcoef(data.X.T)
    same = data.groups[:, None] == data.groups[None, :]
    np.fill_diagonal(same, False)
    assert R[same].mean() == pytest.approx(0.8, abs=0.02)
    assert np.abs(R[data.groups[:, None] != data.groups[None, :]]).mean() < 0.05
    assert len(set(data.groups[data.truth])) == 5
    signal = data.X @ data.coef
    assert np.corrcoef(signal, data.y)[0, 1] ** 2 == pytest.approx(0.75, abs=0.02)
    assert (np.abs(data.coef[data.truth]) == 1).all()
    assert data.X_test.shape == (10, 60)
    assert data.y_test.shape == (10,)


def test_sizes_of_coefficients_spread_at_the_same_signal_to_noise():
    data = make_blocks(4000, 3000, block_size=1, correlation=0.0, n_true=1000, snr=3.0, spread=0.5, rng=1)
    sizes = np.abs(data.coef[data.truth])
    assert 0.5 <= sizes.min() < 0.51
    assert 1.49 < sizes.max() <= 1.5
    assert np.corrcoef(data.X @ data.coef, data.y)[0, 1] ** 2 == pytest.approx(0.75, abs=0.02)


def test_classification_follows_a_logistic_regression():
    data = make_blocks(20_000, 10, block_size=1, correlation=0.0, n_true=4, task="classification", rng=2)
    eta = data.X @ data.coef * np.pi / np.sqrt(3) / np.sqrt(4 / 3)
    for low, high in ((-3, -2), (-0.5, 0.5), (1, 2)):
        inside = (eta > low) & (eta < high)
        expected = (1 / (1 + np.exp(-eta[inside]))).mean()
        assert data.y[inside].mean() == pytest.approx(expected, abs=0.03)


def test_the_benchmark_in_the_readme_is_as_hard_as_it_says():
    """An oracle that knows the true columns reaches about R² 0.74, as in the table."""
    data = make_blocks(n_test=5000, rng=5)
    Z = np.column_stack([np.ones(500), data.X[:, data.truth]])
    beta = np.linalg.lstsq(Z, data.y, rcond=None)[0]
    predicted = np.column_stack([np.ones(5000), data.X_test[:, data.truth]]) @ beta
    r2 = 1 - ((data.y_test - predicted) ** 2).sum() / ((data.y_test - data.y_test.mean()) ** 2).sum()
    assert r2 == pytest.approx(0.74, abs=0.03)


def test_network_modules_are_communities_with_hubs():
    data = make_network_genes(50, 600, n_modules=12, rng=1)
    graph = data.graph
    assert graph.names == data.features
    i, j = graph.adjacency.nonzero()
    assert (data.groups[i] == data.groups[j]).mean() > 0.6  # chance: 1/12
    assert graph.degrees.max() > 5 * np.median(graph.degrees)
    phi = similarity.from_network(graph, data.features, hubs=60)
    K = np.asarray(phi @ phi.T)
    same = data.groups[:, None] == data.groups[None, :]
    np.fill_diagonal(same, False)
    assert K[same].mean() > K[data.groups[:, None] != data.groups[None, :]].mean() + 0.05
    assert len(set(data.groups[data.truth])) == len(data.truth)


def test_fields_are_made_of_their_bumps():
    data = make_spatial_field(150, grid=6, n_true=4, snr=1e6, n_test=20, rng=1)
    np.testing.assert_allclose(data.X, gaussian_bumps(data.sites, data.centres, data.widths))
    np.testing.assert_allclose(data.X @ data.coef, data.y, atol=0.01)
    phi = similarity.from_coordinates(data.centres, widths=data.widths)
    assert phi.shape[0] == data.X.shape[1]
    assert data.X_test.shape[0] == 20


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_blocks, {"task": "ranking"}, "regression"),
        (make_blocks, {"snr": 0.0}, "signal-to-noise"),
        (make_blocks, {"n_true": 1000}, "number of blocks"),
        (make_blocks, {"correlation": 1.5}, "correlation"),
        (make_blocks, {"spread": 1.5}, "spread"),
        (make_network_genes, {"n_true": 99}, "n_true"),
        (make_spatial_field, {"n_true": 0}, "n_true"),
    ],
)
def test_bad_options(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_public_names():
    assert all(hasattr(datasets, name) for name in datasets.__all__)
