"""Missing files say what to download; official downloads are read where they are put."""

import gzip

import pytest

from variegate import datasets
from variegate.data import UnreadableInput

LOADERS = {
    datasets.load_colon: "plsgenomics",
    datasets.load_leukemia: "plsgenomics",
    datasets.load_tecator: "fda.usc",
    datasets.load_gasoline: "pls",
    datasets.load_prostate: "ElemStatLearn",
    datasets.load_diabetes: "scikit-learn",
    datasets.load_communities_crime: "UCI",
    datasets.load_finemapping: "N3finemapping",
    datasets.load_july_temperature: "NOAA",
    datasets.load_tcga_brca: "Firehose",
    datasets.load_tcga_survival: "Firehose",
    datasets.load_biogrid: "tab3.txt",
    datasets.load_gene_sets: "reactome.org",
}


@pytest.mark.parametrize(("load", "source"), LOADERS.items(), ids=lambda v: getattr(v, "__name__", v))
def test_a_missing_file_says_what_to_download_and_where_to_put_it(tmp_path, load, source):
    with pytest.raises(UnreadableInput, match=f"{tmp_path.name}.*: no such file; .*{source}"):
        load(data_home=tmp_path)


def test_every_loader_is_listed_here():
    assert {load.__name__ for load in LOADERS} == {n for n in datasets.__all__ if n.startswith("load_")}


def test_the_folder_comes_from_the_argument_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("VARIEGATE_DATA", raising=False)
    with pytest.raises(UnreadableInput, match="give data_home=, or set the environment variable VARIEGATE_DATA"):
        datasets.load_colon()
    with pytest.raises(UnreadableInput, match="data_home must be a folder, got"):
        datasets.load_colon(data_home=tmp_path / "absent")
    (tmp_path / "small").mkdir()
    content = gzip.compress(b"lcavol,lpsa,train\n1.5,2,1\n")
    (tmp_path / "small" / "prostate.csv.gz").write_bytes(content)
    monkeypatch.setenv("VARIEGATE_DATA", str(tmp_path))
    assert datasets.load_prostate().X.tolist() == [[1.5]]
    (tmp_path / "small" / "prostate.csv.gz").write_bytes(content[:-9])
    with pytest.raises(UnreadableInput, match="cut short"):
        datasets.load_prostate()


def test_biogrids_own_download_is_read_where_it_is_put(tmp_path):
    (tmp_path / "biogrid_human").mkdir()
    header = (
        "#BioGRID Interaction ID\tEntrez Gene Interactor A\tEntrez Gene Interactor B\t"
        "Official Symbol Interactor A\tOfficial Symbol Interactor B\tSynonyms Interactor A\t"
        "Synonyms Interactor B\tExperimental System Type\tOrganism ID Interactor A\tOrganism ID Interactor B"
    )
    row = "1\t7157\t4193\tTP53\tMDM2\tP53\t-\tphysical\t9606\t9606"
    path = tmp_path / "biogrid_human" / "BIOGRID-ORGANISM-Homo_sapiens-4.4.200.tab3.txt"
    path.write_text(f"{header}\n{row}\n", encoding="utf-8")
    network = datasets.load_biogrid(data_home=tmp_path)
    assert network.names == ("4193", "7157")
    assert network.locate(["P53"]).tolist() == [1]
