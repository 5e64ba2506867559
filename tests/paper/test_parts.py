"""The experiments' own calculations, each against an example worked out by hand or by brute force."""

from itertools import combinations
from math import comb
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from experiments.data import load_gene_sets
from experiments.paper import communities, designs, genes, simulation, temperature
from experiments.paper.methods import METHODS, chosen_methods
from experiments.paper.summaries import corrected_error
from experiments.paper.toy_items import make_toy
from scipy import sparse

import variegate as vg


def selections(**chosen):
    """The part of a comparison that communities use: {method: [set of each repeat]}."""
    rows = [
        {"repeat": i, "method": name, "positions": S, "error": None}
        for name, sets in chosen.items()
        for i, S in enumerate(sets)
    ]
    return SimpleNamespace(selections=pd.DataFrame(rows), methods=list(chosen))


class TestCommunities:
    def test_two_cliques_are_two_communities_and_a_lonely_node_is_none(self):
        block = np.ones((4, 4)) - np.eye(4)
        adjacency = sparse.csr_array(sparse.block_diag([block, np.zeros((1, 1)), block]))
        assert communities.find_communities(adjacency, 1.0, seed=0) == [0, 0, 0, 0, None, 1, 1, 1, 1]

    def test_who_hits_what_and_prefers_what(self):
        found = selections(a=[(0, 1), (0, 4)], b=[(2,), (4,)])
        shares = communities.hit_shares(found, [0, 0, 1, 1, None])
        assert shares.to_dict() == {"a": {0: 1.0, 1: 0.0}, "b": {0: 0.0, 1: 0.5}}
        assert communities.preferred(shares, "a", 0.2) == [0]
        assert communities.preferred(shares, "b", 0.2) == [1]
        assert communities.preferred(shares, "b", 0.6) == []

    def test_enrichment_is_the_hypergeometric_tail(self):
        background = [f"g{i}" for i in range(20)]
        sets = {"mine": background[:6], "other": background[10:16], "small": background[:4], "alien": ["x"] * 9}
        table = communities.enrichment({7: background[:5]}, background, sets).set_index("set")
        assert set(table.index) == {"mine", "other"}  # five genes in the background are needed
        tail = sum(comb(6, k) * comb(14, 5 - k) for k in range(5, 6)) / comb(20, 5)
        np.testing.assert_allclose(table.loc["mine", "p"], tail)
        np.testing.assert_allclose(table.loc["mine", "q"], 2 * tail)
        assert table.loc["other", "p"] == 1.0
        assert table.loc["mine", "overlap"] == 5
        reset = table.reset_index()
        assert communities.enriched_share(reset, [7]) == 1.0
        assert communities.enriched_share(reset, [7, 8]) == 0.5

    def test_modules_of_the_stand_in_are_found_and_enriched(self, stand_ins):
        settings = genes.Settings(hubs=20, rank=50, resolution=1.0)
        data = genes.load(settings, stand_ins)
        assert data.data.X.shape == (100, 149)  # neither stage III nor mixed aliquots, nor the gene outside BioGRID
        labels = np.array(genes.communities_of(data, settings), dtype=object)
        symbols = np.array(data.data.features)
        members = {int(k): symbols[labels == k].tolist() for k in set(labels) - {None}}
        sets = load_gene_sets("reactome", data_home=stand_ins)
        table = communities.enrichment(members, symbols.tolist(), sets)
        assert communities.enriched_share(table, list(members)) > 0.7


def test_errors_of_overlapping_splits_are_larger(rng):
    values = pd.Series(rng.normal(size=50))
    np.testing.assert_allclose(corrected_error(values, 0.2), np.sqrt((1 / 50 + 0.25) * values.var(ddof=1)))
    assert corrected_error(values, 0.2) > values.sem()


def test_methods_are_the_papers():
    assert list(chosen_methods(METHODS)) == list(METHODS)
    with pytest.raises(ValueError, match="no method 'omp' in the paper; there are Bernoulli-DPP"):
        chosen_methods(["Bernoulli-DPP", "omp"])
    with pytest.raises(ValueError, match="must include 'Bernoulli-DPP'"):
        chosen_methods(["OMP"])


class TestTemperature:
    def test_albers_keeps_areas(self):
        for lon, lat in ((-120.0, 47.0), (-80.0, 26.0)):  # a tenth of a degree, by the shoelace formula
            corners = temperature.albers(
                np.array([[lon, lat], [lon + 0.1, lat], [lon + 0.1, lat + 0.1], [lon, lat + 0.1]])
            )
            x, y = corners.T
            area = abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2
            south, north = np.radians([lat, lat + 0.1])
            truth = temperature.EARTH_KM**2 * np.radians(0.1) * (np.sin(north) - np.sin(south))
            np.testing.assert_allclose(area, truth, rtol=1e-4)

    def test_the_grid_stays_with_the_stations(self):
        places = np.array([[0.0, 0.0], [1000.0, 0.0], [1000.0, 1000.0]])
        assert len(temperature.grid_points(places, 500.0)) == 3  # the corner without a station has no point

    def test_only_bumps_that_were_measured_are_candidates(self):
        X = np.array([[0.9, 0.9, 0.1], [0.6, 0.4, 0.1], [0.7, 0.6, 0.1], [0.0, 0.0, 0.1]])
        assert temperature.measured(X, X[:, 0]).tolist() == [0]

    def test_normal_heights_shrink(self, stand_ins):
        field = temperature.load(temperature.Settings(spacing_km=400.0), stand_ins)
        train, S = np.arange(40), np.arange(0, len(field.widths), 5)
        free, normal = (temperature.predict(field, train, S, field.sites, fit) for fit in temperature.FITS)
        assert np.ptp(normal) < np.ptp(free)


class TestDesigns:
    def test_modes_are_those_of_the_enumerated_posterior(self, rng):
        X = rng.normal(size=(40, 2)).repeat(2, axis=1) + 0.01 * rng.normal(size=(40, 4))
        y = X[:, 0] + X[:, 2] + rng.normal(size=40)
        target = vg.Target(
            vg.Gaussian(X, y, slab_precision=0.1), vg.bernoulli_prior(4, expected_size=0.1), "bernoulli"
        )
        found = set(designs.posterior_modes(target))
        assert found == {frozenset(pair) for pair in ((0, 2), (0, 3), (1, 2), (1, 3))}
        values = {
            S: target.log_joint(np.array(S, dtype=np.int64)) for k in range(5) for S in combinations(range(4), k)
        }
        assert frozenset(max(values, key=values.get)) in found

    def test_decoys_beat_each_true_column_alone(self, rng, monkeypatch):
        seen = {}

        def remember(settings, X, y, size, rng):
            seen.update(X=X, y=y)
            return {"OMP": np.arange(size)}

        monkeypatch.setattr(designs, "_chosen", remember)
        settings = simulation.Settings(samples=2000, test=10, true=4)
        rows = designs.decoys(settings, 0.1, rng)
        r = np.abs(np.corrcoef(seen["X"].T, seen["y"])[-1, :-1])
        assert r[4:6].min() > r[:4].max()  # columns 0 to 3 are true, 4 and 5 their sums
        assert rows["OMP"]["exact"] == 1.0
        assert rows["OMP"]["decoys"] == 0.0


def test_toy_is_a_block_of_rank_two_and_three_items_alone():
    toy = make_toy(condition_number=25.0, largest=2.0)
    assert np.linalg.eigvalsh(toy.L[:3, :3]) == pytest.approx([0, 2 / 25, 2], abs=1e-12)
    np.testing.assert_allclose(toy.L[3:], np.c_[np.zeros((3, 3)), 2 * np.eye(3)], atol=1e-12)
    D = np.diag(np.exp(toy.theta / 2))
    np.testing.assert_allclose(D @ toy.phi @ toy.phi.T @ D, toy.L, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(toy.phi, axis=1), 1)
    counts = [make_toy(c).expected_counts[0] for c in (1, 10, 100, 1e6)]
    assert counts == sorted(counts, reverse=True)
    with pytest.raises(ValueError, match="condition_number"):
        make_toy(condition_number=0.5)
