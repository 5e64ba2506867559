"""Where features are, and which belong together: files with their own reader and their own words."""

import numpy as np
import pytest

from variegate.data import UnreadableInput
from variegate.data.places import read_labels, read_places, read_prices, rows_of


def written(folder, text, name="map.tsv"):
    path = folder / name
    path.write_text(text)
    return path


PLACES = {
    "plane": ("name,x,y\na,1,2\nb,3,4\n", [[1, 2], [3, 4]], None),
    "line": ("name,nm\na,850\nb,852.5\n", [[850], [852.5]], None),
    "chromosomes": ("snp\tCHR\tpos\na\t1\t100\nb\tX\t200\n", [[100], [200]], ("1", "X")),
    "words as they are": ("snp\tposition\tchrom\na\t100\t01\nb\t200\t1\n", [[100], [200]], ("01", "1")),
}


@pytest.mark.parametrize("case", PLACES)
def test_places(tmp_path, case):
    text, points, blocks = PLACES[case]
    found = read_places(written(tmp_path, text))
    assert found.names == ("a", "b")
    np.testing.assert_array_equal(found.points, points)
    assert found.blocks == blocks


@pytest.mark.parametrize("ending", ["bim", "map"])
def test_plink_maps_have_no_header(tmp_path, ending):
    more = " A G" if ending == "bim" else ""
    path = written(tmp_path, f"1 rs1 0 100{more}\n\n23\trs2\t0.5\t2e2{more}\n", f"m.{ending}")
    found = read_places(path)
    assert (found.names, found.points.tolist(), found.blocks) == (("rs1", "rs2"), [[100], [200]], ("1", "23"))
    with pytest.raises(
        UnreadableInput, match=r"m\.\w+, line 2: expected chromosome, name, distance and base pair, got 'a"
    ):
        read_places(written(tmp_path, "1 rs1 0 100\na b c d\n", f"m.{ending}"))


WRONG = {
    "missing cell": ("name,x\na,1\nb,\n", "row 2: expected a number in 'x'.* got nothing"),
    "a word": ("name,x\na,1\nb,far\nc,wide\n", "row 2: .* got 'far' .2 such cells."),
    "infinite": ("name,x\na,1\nb,inf\n", "row 2: expected a number"),
    "no chromosome": ("name,chr,pos\na,,1\nb,2,2\n", "row 1: expected a chromosome in 'chr'"),
    "two chromosomes": ("name,chr,chrom,pos\na,1,1,1\n", "expected one column of chromosomes, got"),
    "three positions": ("name,chr,pos,end\na,1,1,2\n", "one column of positions beside 'chr', got 2: .'pos', 'end'"),
    "twice": ("name,x\na,1\na,2\n", "features with different names, but 'a'"),
    "only names": ("name,chr\na,1\n", "expected coordinates beside the names of features"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_places_that_are_none(tmp_path, text, message):
    with pytest.raises(UnreadableInput, match=rf"map\.tsv.*{message}") as caught:
        read_places(written(tmp_path, text))
    assert "sample" not in str(caught.value)
    assert "missing=" not in str(caught.value)  # no advice that these files have no use for


def test_groups(tmp_path):
    assert read_labels(written(tmp_path, "f,g\na,01\nb,1\nc,\n")) == (("a", "b", "c"), ["01", "1", None])
    with pytest.raises(UnreadableInput, match="two columns, feature and group, got 3; leave others out"):
        read_labels(written(tmp_path, "f,g,h\na,1,2\n"))
    with pytest.raises(UnreadableInput, match="features with different names, but 'a'"):
        read_labels(written(tmp_path, "f,g\na,1\na,2\n"))


def test_prices(tmp_path):
    names, prices = read_prices(written(tmp_path, "f,price\na,1.5\nb,0\n"))
    assert (names, prices.tolist()) == (("a", "b"), [1.5, 0.0])
    for text, message in (
        ("f,price,unit\na,1,2\n", "two columns, feature and price, got 3"),
        ("f,price\na,1\nb,free\n", "row 2: expected a number in 'price', the price of a feature, got 'free'"),
        ("f,price\na,1\nb,-2\n", "row 2: expected a price of at least 0, got -2"),
    ):
        with pytest.raises(UnreadableInput, match=message):
            read_prices(written(tmp_path, text))


def test_features_are_found_by_name_or_category():
    assert rows_of(["b", "sex=f", "sex=m"], ["sex", "b"], "f", "coordinates") == [1, 0, 0]
    with pytest.raises(
        UnreadableInput, match=r"every feature, but 2 of 3 .*\(c, d\); .* drop=\['c', 'd'\], or give no"
    ):
        rows_of(["a", "c", "d"], ["a"], "f", "coordinates")


def test_only_what_can_be_typed_is_advised():
    names = [f"rs{i}" for i in range(500)]
    for droppable in (True, False):
        with pytest.raises(UnreadableInput) as caught:
            rows_of(names[: 500 if droppable else 2], ["a"], "f", "coordinates", droppable)
        assert "drop" not in str(caught.value)
        assert str(caught.value).endswith(
            "; add them, or give no coordinates, so that similarity comes from correlations"
        )
        assert "rs5" not in str(caught.value)
