"""Missing files say what to download; official downloads are read where they are put."""

import gzip

import pytest
from experiments import data as loaders

from variegate.data import UnreadableInput

LOADERS = {
    loaders.load_colon: "plsgenomics",
    loaders.load_leukemia: "plsgenomics",
    loaders.load_tecator: "fda.usc",
    loaders.load_gasoline: "pls",
    loaders.load_prostate: "ElemStatLearn",
    loaders.load_diabetes: "scikit-learn",
    loaders.load_communities_crime: "UCI",
    loaders.load_finemapping: "N3finemapping",
    loaders.load_july_temperature: "NOAA",
    loaders.load_tcga_brca: "Firehose",
    loaders.load_tcga_survival: "Firehose",
    loaders.load_biogrid: "tab3.txt",
    loaders.load_gene_sets: "reactome.org",
}


@pytest.mark.parametrize(("load", "source"), LOADERS.items(), ids=lambda v: getattr(v, "__name__", v))
def test_a_missing_file_says_what_to_download_and_where_to_put_it(tmp_path, load, source):
    with pytest.raises(UnreadableInput, match=f"{tmp_path.name}.*: no such file; .*{source}"):
        load(data_home=tmp_path)


def test_every_loader_is_listed_here():
    assert {load.__name__ for load in LOADERS} == {n for n in loaders.__all__ if n.startswith("load_")}


def test_the_folder_comes_from_the_argument_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("VARIEGATE_DATA", raising=False)
    with pytest.raises(UnreadableInput, match="give data_home=, or set the environment variable VARIEGATE_DATA"):
        loaders.load_colon()
    with pytest.raises(UnreadableInput, match="data_home must be a folder, got"):
        loaders.load_colon(data_home=tmp_path / "absent")
    (tmp_path / "small").mkdir()
    content = gzip.compress(b"lcavol,lpsa,train\n1.5,2,1\n")
    (tmp_path / "small" / "prostate.csv.gz").write_bytes(content)
    monkeypatch.setenv("VARIEGATE_DATA", str(tmp_path))
    assert loaders.load_prostate().X.tolist() == [[1.5]]
    (tmp_path / "small" / "prostate.csv.gz").write_bytes(content[:-9])
    with pytest.raises(UnreadableInput, match="cut short"):
        loaders.load_prostate()


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
    network = loaders.load_biogrid(data_home=tmp_path)
    assert network.names == ("4193", "7157")
    assert network.locate(["P53"]).tolist() == [1]
