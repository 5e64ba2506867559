"""BioGRID and STRING: small hand-written files, with the quirks that real ones have."""

import pytest

from network_files import edges_of, write
from variegate.data import DataWarning, UnreadableInput, read_biogrid, read_network, read_string

TAB2 = (
    "#BioGRID Interaction ID\tEntrez Gene Interactor A\tEntrez Gene Interactor B\tBioGRID ID Interactor A\t"
    "BioGRID ID Interactor B\tSystematic Name Interactor A\tSystematic Name Interactor B\t"
    "Official Symbol Interactor A\tOfficial Symbol Interactor B\tSynonyms Interactor A\t"
    "Synonyms Interactor B\t"
    "Experimental System\tExperimental System Type\tAuthor\tPubmed ID\tOrganism Interactor A\t"
    "Organism Interactor B\tThroughput\tScore\tModification\tPhenotypes\tQualifications\tTags\t"
    "Source Database"
)
TAB3 = TAB2.replace("\tOrganism Interactor", "\tOrganism ID Interactor").replace("Pubmed ID", "Publication Source")
TAB3 += "\tSWISS-PROT Accessions Interactor A\tOrganism Name Interactor A\tOrganism Name Interactor B"


def interaction(a, b, kind="physical", organisms=("9606", "9606"), extra=()):
    """One row; a and b are (entrez, symbol, synonyms)."""
    row = [
        "1",
        a[0],
        b[0],
        "10",
        "11",
        "-",
        "-",
        a[1],
        b[1],
        a[2],
        b[2],
        "Two-hybrid",
        kind,
        "Doe (2001)",
        "1",
    ]
    return "\t".join([*row, *organisms, "Low Throughput", "-", "-", "-", '"as said', "-", "BIOGRID", *extra])


P53 = ("7157", "TP53", "BCC7|LFS1|P53")
MDM2 = ("4193", "MDM2", "HDMX|SHARED")
MDM2_LOWER = ("4193", "Mdm2", "HDMX|SHARED")
APP = ("351", "APP", "AAA|SHARED")
YEAST = ("850504", "ACT1", "-")
ROWS = [
    interaction(P53, MDM2),
    interaction(MDM2_LOWER, P53),
    interaction(APP, APP),
    interaction(P53, APP, kind="genetic"),
    interaction(YEAST, YEAST, organisms=("559292", "559292")),
    interaction(APP, YEAST, organisms=("9606", "559292")),
    interaction(MDM2, APP),
]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(("header", "extra"), [(TAB2, ()), (TAB3, ("P1", "Homo sapiens", "Homo sapiens"))])
def test_biogrid(tmp_path, header, extra, end):
    rows = ["\t".join([row, *extra]) for row in ROWS]
    path = write(tmp_path, "BIOGRID.txt.gz", end.join([header, *rows, ""]))
    network = read_biogrid(path)
    assert edges_of(network) == {("MDM2", "TP53"), ("APP", "MDM2")}
    assert network.names == ("APP", "MDM2", "TP53")
    assert network.locate(["7157", "LFS1", "mdm2", "SHARED", "ACT1"]).tolist() == [2, 2, 1, -1, -1]
    assert edges_of(read_network(path)) == edges_of(network)
    assert edges_of(read_biogrid(path, physical=False)) == {*edges_of(network), ("APP", "TP53")}
    assert read_biogrid(path, organism=559292).names == ("ACT1",)
    by_id = read_biogrid(path, names="entrez")
    assert by_id.names == ("351", "4193", "7157")
    assert by_id.locate(["TP53"]).tolist() == [2]


COMMENTS = '# downloaded today\n#by "me\n\n#\n'


@pytest.mark.parametrize("reader", [read_biogrid, read_network])
def test_comments_around_biogrid(tmp_path, reader):
    path = write(tmp_path, "b.txt", COMMENTS + "\n".join([TAB2, *ROWS[:3], "# half way", *ROWS[3:], "#end"]))
    assert edges_of(reader(path)) == {("MDM2", "TP53"), ("APP", "MDM2")}


def test_biogrid_rows_that_are_short_or_divided_otherwise(tmp_path):
    for wrong in ("\t".join(ROWS[1].split("\t")[:9]), ROWS[1].replace("\t", ","), ROWS[1].replace("\t", "    "), "x"):
        path = write(tmp_path, "b.txt", COMMENTS + "\n".join([TAB2, ROWS[0], "", wrong, ROWS[2]]))
        with pytest.raises(UnreadableInput, match=r"b.txt, row 3, .*: expected something in column \d+"):
            read_biogrid(path)
    long = write(tmp_path, "b.txt", "\n".join([TAB2, ROWS[0], ROWS[0] + "\tmore"]))
    with pytest.raises(UnreadableInput, match=r"line 3: expected 24 columns .* got 25"):
        read_biogrid(long)


def test_biogrid_saved_by_a_spreadsheet(tmp_path):
    quoted = "\n".join("\t".join(f'"{cell}"' for cell in line.replace('"', "").split("\t")) for line in [TAB2, *ROWS])
    network = read_biogrid(write(tmp_path, "b.tsv", quoted))
    assert edges_of(network) == {("MDM2", "TP53"), ("APP", "MDM2")}


def test_physical_is_yes_or_no(tmp_path):
    with pytest.raises(ValueError, match="physical must be True or False"):
        read_biogrid(write(tmp_path, "b.txt", "\n".join([TAB2, *ROWS])), physical="no")


def test_biogrid_partners_without_the_name_are_left_out_and_counted(tmp_path):
    nameless = ("-", "XYZ", "-")
    path = write(tmp_path, "b.tsv", "\n".join([TAB2, interaction(P53, MDM2), interaction(P53, nameless)]))
    with pytest.warns(DataWarning, match="1 of 2 interactions left out because a partner has no entrez"):
        assert read_biogrid(path, names="entrez").names == ("4193", "7157")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n".join([TAB2, ROWS[4]]), "organism 9606, found none in 1 rows; .*559292"),
        (TAB2.replace("Experimental System Type", "Kind") + "\n" + ROWS[0], "experimental system type"),
        ("a\tb\n1\t2", "starts with '#BioGRID Interaction ID'"),
        (TAB2.replace("\t", ",") + "\n", "tab-separated"),
        (TAB2 + "\n", "a header and nothing below it"),
    ],
)
def test_bad_biogrid(tmp_path, text, message):
    with pytest.raises(UnreadableInput, match=f"b.txt.*{message}"):
        read_biogrid(write(tmp_path, "b.txt", text))


LINKS = """protein1 protein2 combined_score
9606.ENSP1 9606.ENSP2 900
9606.ENSP2 9606.ENSP1 900
9606.ENSP2 9606.ENSP3 399
9606.ENSP3 9606.ENSP4 400
"""
ALIASES = """#string_protein_id\talias\tsource
9606.ENSP1\tTP53\tBioMart_HUGO
9606.ENSP1\tP53\tx
9606.ENSP2\tMDM2\tx
9606.ENSP3\tP53\tx
9606.ENSP9\tOTHER\tx
"""


def test_string(tmp_path):
    links = write(tmp_path, "9606.protein.links.v12.0.txt.gz", LINKS)
    aliases = write(tmp_path, "9606.protein.aliases.v12.0.txt", ALIASES.replace("\n", "\r\n"))
    network = read_string(links, aliases)
    assert edges_of(network) == {("9606.ENSP1", "9606.ENSP2"), ("9606.ENSP3", "9606.ENSP4")}
    assert network.locate(["tp53", "ENSP2", "P53", "OTHER"]).tolist() == [0, 1, -1, -1]
    assert read_network(links).n_edges == 2
    assert read_string(links, min_score=0).n_edges == 3


@pytest.mark.parametrize("reader", [read_string, read_network])
def test_comments_around_string(tmp_path, reader):
    text = COMMENTS + "#" + LINKS.replace("\n9606.ENSP2", "\n# comment\n9606.ENSP2", 1) + "# end\n"
    aliases = write(tmp_path, "a.txt", COMMENTS + ALIASES + "# end\n")
    network = reader(write(tmp_path, "l.txt", text), aliases=aliases)
    assert edges_of(network) == {("9606.ENSP1", "9606.ENSP2"), ("9606.ENSP3", "9606.ENSP4")}
    assert network.locate(["TP53"]).tolist() == [0]


def test_short_lines_of_aliases_are_named(tmp_path):
    links = write(tmp_path, "l.txt", LINKS)
    for wrong in ("9606.ENSP2 MDM2 x", "9606.ENSP2\tMDM2"):
        with pytest.raises(UnreadableInput, match=r"a\.txt, row 4, .* in column 3"):
            read_string(links, write(tmp_path, "a.txt", ALIASES.replace("9606.ENSP2\tMDM2\tx", wrong)))
    assert read_string(links, write(tmp_path, "a.txt", ALIASES.replace("\tMDM2", "\t"))).locate(["TP53"]) == [0]


def test_string_detailed_links_have_the_score_elsewhere(tmp_path):
    text = "protein1 protein2 neighborhood fusion combined_score\n1.A 1.B 999 0 500\n1.A 1.C 999 0 100\n"
    assert read_string(write(tmp_path, "l.txt", text)).names == ("1.A", "1.B")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LINKS.replace("399", "abc"), "combined_score, got '9606.ENSP2 9606.ENSP3 abc'"),
        ("\n\n" + LINKS.replace("9606.ENSP2 9606.ENSP3 399", "\n#\n1.A 1.B abc"), "combined_score, got '1.A 1.B abc'"),
        (LINKS.replace(" 399", ""), "row 4, .*: expected something in column 3"),
        (LINKS.replace("combined_score", "weight"), "combined_score"),
        ("protein1 protein2 combined_score\nA B 3", "at least 400, found none"),
        ("protein1 protein2 combined_score\n", "a header and nothing below it"),
    ],
)
def test_bad_string(tmp_path, text, message):
    with pytest.raises(UnreadableInput, match=f"l.txt.*{message}"):
        read_string(write(tmp_path, "l.txt", text))


def test_bad_string_options(tmp_path):
    links = write(tmp_path, "l.txt", LINKS)
    for wrong in (4000, -1, 0.4, "400", True, float("nan")):
        with pytest.raises(ValueError, match="0 to 1000"):
            read_string(links, min_score=wrong)
    with pytest.raises(UnreadableInput, match="string_protein_id"):
        read_string(links, write(tmp_path, "a.txt", "x\ty\n"))
