"""The real files: sizes, counts and known values. Skipped, with a message, if the folder is absent."""

import time

import numpy as np
import pytest
from experiments import data as loaders

from variegate.data import UnreadableInput
from variegate.screening import screen
from variegate.similarity import SimilarityWarning, from_annotations, from_coordinates, from_network


@pytest.mark.parametrize(
    ("load", "shape", "counts"),
    [
        (loaders.load_colon, (62, 2000), {"tumour": 40, "normal": 22}),
        (loaders.load_leukemia, (38, 3051), {"ALL": 27, "AML": 11}),
        (loaders.load_tecator, (215, 100), None),
        (loaders.load_gasoline, (60, 401), None),
        (loaders.load_prostate, (97, 8), None),
        (loaders.load_diabetes, (442, 10), None),
        (loaders.load_communities_crime, (1994, 100), None),
        (loaders.load_finemapping, (574, 1001), None),
        (loaders.load_july_temperature, (7185, 2), None),
        (loaders.load_tcga_brca, (486, 6000), {"I": 113, "II": 373}),
    ],
)
def test_shapes_and_classes(data_home, load, shape, counts):
    data = load(data_home=data_home)
    assert data.X.shape == shape == (len(data.samples), len(data.features))
    assert len(data.y) == shape[0]
    assert len(set(data.features)) == shape[1]
    assert len(data.about_features) == shape[1]
    assert len(data.about_samples) == shape[0]
    assert np.isfinite(data.X).all()
    if counts:
        assert dict(zip(*np.unique(data.y, return_counts=True), strict=True)) == counts
    else:
        assert np.isfinite(data.y).all()


def test_tcga_choices(data_home):
    paper = loaders.load_tcga_brca(mixed=True, in_biogrid=True, data_home=data_home)
    assert paper.X.shape == (556, 4945)
    assert paper.X.dtype == np.float32
    assert (paper.y == "I").sum() == 125
    assert (paper.about_samples["gender"] == "female").all()
    everyone = loaders.load_tcga_brca(("I", "II", "III", "IV", "X"), mixed=True, data_home=data_home)
    assert len(everyone.y) == 767
    with pytest.raises(ValueError, match="stages must be among"):
        loaders.load_tcga_brca(["2"], data_home=data_home)


def test_every_source_is_read_by_a_loader(data_home, monkeypatch):
    """The loaders read something of every source that a missing file would be traced to, and nothing else."""
    opened, locate = set(), loaders.files.locate

    def noted(name, folder):
        opened.add(name)
        return locate(name, folder)

    for module in (loaders.files, loaders.finemapping, loaders.genes):
        monkeypatch.setattr(module, "locate", noted)
    for name in [name for name in loaders.__all__ if name.startswith("load_")]:
        getattr(loaders, name)(data_home=data_home)
    loaders.load_gene_sets("hallmark", data_home=data_home)
    assert {name.partition("/")[0] for name in opened} == set(loaders.files.SOURCES)


def test_biogrid(data_home):
    network = loaders.load_biogrid(data_home=data_home)
    assert (len(network.names), network.n_edges) == (15_459, 167_686)
    top = np.argsort(-network.degrees)[:3]
    assert network.locate(["APP", "ELAVL1", "CUL3"]).tolist() == top.tolist()
    assert network.degrees[top].tolist() == [1970, 1750, 1175]
    assert (network.degrees > 100).sum() == 534
    assert loaders.load_biogrid(strict=True, data_home=data_home).n_edges == 144_373


@pytest.mark.parametrize(("mixed", "samples"), [(False, 486), (True, 556)])
def test_the_papers_genes_in_under_fifteen_seconds(data_home, mixed, samples):
    start = time.process_time()  # CPU time, since the machine may be busy
    data = loaders.load_tcga_brca(mixed=mixed, in_biogrid=True, data_home=data_home)
    network = loaders.load_biogrid(data_home=data_home)
    genes = screen(data.X, data.y, n=2000, test="likelihood_ratio")
    about = data.about_features.iloc[genes]
    network = network.with_aliases(dict(zip(about["symbol"], about["entrez"], strict=True)))
    phi = from_network(network, about["symbol"], hubs=300, rank=300)
    assert time.process_time() - start < 15
    assert data.X[:, genes].shape == (samples, 2000)
    assert phi.shape == (2000, 300)
    assert phi.names == tuple(about["symbol"])
    assert phi.trace_error < 0.2
    by_id = network.locate(about["entrez"])
    np.testing.assert_array_equal(network.locate(about["symbol"]), by_id)


def test_all_genes_count_those_without_interactions(data_home):
    data = loaders.load_tcga_brca(data_home=data_home)
    network = loaders.load_biogrid(data_home=data_home)
    entrez = data.about_features["entrez"]
    with pytest.warns(SimilarityWarning, match="1055 of 6000 features are not in the network"):
        phi = from_network(network, entrez, rank=50)
    assert phi.shape == (6000, 50)


def test_gene_sets(data_home):
    reactome = loaders.load_gene_sets("reactome", data_home=data_home)
    hallmark = loaders.load_gene_sets("hallmark", data_home=data_home)
    assert (len(reactome), sum(map(len, reactome.values()))) == (2694, 132_481)
    assert (len(hallmark), sum(map(len, hallmark.values()))) == (50, 7324)
    genes = [*hallmark["HALLMARK_DNA_REPAIR"], "nobody"]
    with pytest.warns(SimilarityWarning, match="of 151 features have no annotation"):
        phi = from_annotations(reactome, genes, rank=100)
    assert np.abs(phi[-1] @ phi[:-1].T).max() < 0.5
    np.testing.assert_allclose(np.linalg.norm(phi, axis=1), 1)
    with pytest.raises(UnreadableInput, match="reactome, hallmark"):
        loaders.load_gene_sets("kegg", data_home=data_home)


def test_july_stations(data_home):
    stations = loaders.load_july_temperature(data_home=data_home)
    assert stations.y.mean() == pytest.approx(23.4, abs=0.05)
    sample = loaders.load_july_temperature(sample=True, data_home=data_home)
    assert sample.X.shape == (476, 2)
    assert sample.y.std() == pytest.approx(3.3, abs=0.05)
    phi = from_coordinates(sample.X, "mean", lonlat=True)
    assert phi.shape[0] == 476
    assert phi.trace_error <= 0.01


def test_finemapping_truth(data_home):
    assert loaders.load_finemapping(data_home=data_home).truth.tolist() == [402, 652, 772]
    assert loaders.load_finemapping(1, data_home=data_home).truth.tolist() == [473, 613, 794]
    with pytest.raises(ValueError, match="trait must be 0 or 1"):
        loaders.load_finemapping(2, data_home=data_home)


def test_details_of_the_classics(data_home):
    tecator = loaders.load_tecator("water", data_home=data_home)
    assert tecator.about_features["wavelength"].iloc[[0, -1]].tolist() == [850.0, 1050.0]
    assert tecator.about_samples["train"].sum() == 129
    assert loaders.load_gasoline(data_home=data_home).about_features["wavelength"].iloc[-1] == 1700
    assert loaders.load_prostate(data_home=data_home).about_samples["train"].sum() == 67
    expanded = loaders.load_diabetes(expand=True, data_home=data_home)
    assert expanded.X.shape == (442, 64)
    assert "sex^2" not in expanded.features
    assert "age*sex" in expanded.features
    assert "communityname" in loaders.load_communities_crime(data_home=data_home).about_samples
    assert loaders.load_colon(data_home=data_home).about_features["probe"].iloc[0] == "Hsa.3004"
    with pytest.raises(ValueError, match='"fat", "water" or "protein"'):
        loaders.load_tecator("sugar", data_home=data_home)


def test_survival_of_all_stages(data_home):
    data = loaders.load_tcga_survival(data_home=data_home)
    assert data.X.shape == (len(data.y), 6000)
    assert len(data.samples) == len(data.about_samples) == len(data.y)
    assert (data.y["time"] > 0).all()
    dead = data.about_samples["vital_status"].str.lower() == "dead"
    assert (data.y["event"] == dead.to_numpy()).all()
    days = data.about_samples["days_to_death"].to_numpy()[data.y["event"]]
    assert (data.y["time"][data.y["event"]] == days).all()
