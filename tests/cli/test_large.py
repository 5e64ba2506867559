"""Tables larger than memory on the command line, and what is wrong with them in one line each."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from large_tables import genotypes, write_bed

pytest.importorskip("zarr")
pytestmark = pytest.mark.filterwarnings("ignore:.*Zarr (V3|format 3) specification")  # of names as text
N, M = 60, 40
X = genotypes(N, M)
Y = X[:, 3] - X[:, 20] + 0.5 * X[:, 35] + 0.5 * np.random.default_rng(1).normal(size=N)
HEIGHT = ("--outcome", "trait.tsv:height")
QUICK = ("--max-iter", "4", "--screen", "8", "--expected-size", "0.1", "--out", "found", "--overwrite")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """scan.bed, scan.npy and scan.zarr, and trait.tsv with one sample less and one more."""
    import zarr

    monkeypatch.chdir(tmp_path)
    write_bed(tmp_path / "scan.bed", X, positions=1000 * np.arange(1, M + 1))
    np.save("scan.npy", X.astype(np.int8))
    (tmp_path / "scan.columns.txt").write_text("".join(f"v{j}\n" for j in range(M)))
    (tmp_path / "scan.rows.txt").write_text("".join(f"s{i}\n" for i in range(N)))
    group = zarr.create_group("scan.zarr")
    names = {"columns": np.array([f"v{j}" for j in range(M)]), "rows": np.array([f"s{i}" for i in range(N)])}
    for name, values in {"X": X, **names}.items():
        chunks = (25, 11) if name == "X" else values.shape
        group.create_array(name, shape=values.shape, dtype=values.dtype, chunks=chunks)[:] = values
    ids = [*(f"s{i}" for i in range(N - 1)), "stranger"]
    pd.DataFrame({"id": ids[::-1], "height": [*Y[:-1], 0.0][::-1]}).to_csv("trait.tsv", sep="\t", index=False)
    return tmp_path


def probabilities():
    return pd.read_csv("found/selection.csv").set_index("feature")["inclusion_probability"].sort_index()


@pytest.fixture
def expected():
    model = vg.DiverseRegressor(max_iter=4, screen=8, expected_size=0.1, random_state=0).fit(X[:-1], Y[:-1])
    return model.selection_


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["bed", "npy", "zarr"])
def test_select(run, folder, kind, expected):
    ran = run("select", f"scan.{kind}", "--outcome", "trait.tsv:height", *QUICK, "--json")
    assert ran.code == 0, ran.err
    assert "dropped 1 sample without an outcome in trait.tsv" in ran.err
    assert "can be read only once" not in ran.err
    answer, record = json.loads(ran.out), json.loads((folder / "found/run.json").read_text())
    certificate = answer["certificate"]
    assert certificate == record["certificate"]
    assert certificate["left_out"] == expected.certificate.left_out > 5
    assert certificate["largest"] == pytest.approx(expected.certificate.largest, rel=1e-3)
    assert f"{certificate['left_out']} columns are left out; none is estimated above a probability" in ran.err
    page = (folder / "found/report.html").read_text()
    assert "Can a column that was left out matter?" in page
    assert certificate["sentence"] in page
    found = probabilities()
    for name, p in zip(expected.posterior.names, expected.posterior.inclusion_prob(), strict=True):
        j = name if isinstance(name, int) else int(str(name).lstrip("x"))
        assert found[f"v{j}"] == pytest.approx(p, abs=1e-6)
    loaded = vg.load("found/model.vg")
    assert loaded.selection_.certificate.sentence() == certificate["sentence"]
    assert loaded.selection_.posterior.target.others == certificate["left_out"]


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
def test_positions_are_the_similarity_by_one_option(run, folder):
    ran = run("select", "scan.bed", "--outcome", "trait.tsv:height", "--coordinates", "scan.bim", *QUICK)
    assert ran.code == 0, ran.err
    assert "similarity from the coordinates in scan.bim" in ran.err
    found = vg.load("found/model.vg").selection_
    phi, columns = found.posterior.target.phi, found.candidates.columns
    apart = np.subtract.outer(columns, columns) / 5.0  # the fifth neighbour is at one bandwidth
    np.testing.assert_allclose(phi @ phi.T, np.exp(-(apart**2)), atol=1e-3)


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
def test_positions_from_another_file(run, folder):
    order = np.random.default_rng(0).permutation(M)
    pd.DataFrame({"v": [f"v{j}" for j in order], "chr": 1, "pos": 1000 * order + 1000}).to_csv("map.csv", index=False)
    tables = []
    for file in ("scan.bim", "map.csv"):
        assert run("select", "scan.bed", "--outcome", "trait.tsv:height", "--coordinates", file, *QUICK).code == 0
        tables.append((folder / "found/selection.csv").read_text())
    assert tables[0] == tables[1]
    pd.DataFrame({"v": ["v1"], "pos": [3]}).to_csv("map.csv", index=False)
    ran = run("select", "scan.bed", "--outcome", "trait.tsv:height", "--coordinates", "map.csv", "--quiet", *QUICK)
    assert "expected every feature, but 39 of 40 are not in it" in ran.err


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
def test_phenotypes_as_plink_writes_them(run, folder):
    """The ids are in the second column, IID."""
    assert run("select", "scan.bed", *HEIGHT, *QUICK).code == 0
    first = probabilities()
    trait = pd.read_csv("trait.tsv", sep="\t").rename(columns={"id": "IID"})
    trait.insert(0, "FID", "family")
    trait.to_csv("trait.tsv", sep="\t", index=False)
    assert run("select", "scan.bed", *HEIGHT, *QUICK).code == 0
    pd.testing.assert_series_equal(probabilities(), first)


def cut(folder):
    path = folder / "scan.bed"
    path.write_bytes(path.read_bytes()[:-1])


def fewer_people(folder):
    path = folder / "scan.fam"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-8]))


def other_ids(folder):
    text = (folder / "trait.tsv").read_text()
    (folder / "trait.tsv").write_text(text.replace("\ns", "\np"))


def hole(folder):
    chunk = next(path for path in (folder / "scan.zarr/X/c").rglob("*") if path.is_file())
    chunk.unlink()


def no_fam(folder):
    (folder / "scan.fam").unlink()


def no_bed(folder):
    (folder / "scan.bed").write_text("id,a\n1,2\n")


def short_names(folder):
    (folder / "scan.columns.txt").write_text("a\nb\n")


def no_array(folder):
    shutil.rmtree(folder / "scan.zarr")
    (folder / "scan.zarr").mkdir()


def twice(folder):
    path = folder / "trait.tsv"
    path.write_text(path.read_text() + "s3\t1.0\n")


def objects(folder):
    np.save(folder / "scan.npy", np.array([[1, "a"]], dtype=object), allow_pickle=True)


WRONG = {
    "truncated bed": (cut, "scan.bed", "scan.bed: expected 603 bytes for the 60 individuals of scan.fam and the 40 "
        "variants of scan.bim, got 602: it is truncated; copy all three again"),
    "another fam": (fewer_people, "scan.bed", "scan.bed: expected 523 bytes for the 52 individuals of scan.fam and "
        "the 40 variants of scan.bim, got 603: they do not belong together; copy all three again"),
    "unknown ids": (other_ids, "scan.bed", "trait.tsv: no sample of scan.bed has an outcome in it: ids are 's0' in "
        "scan.bed, 'ptranger' in trait.tsv; use the same ids in both, in the first column of trait.tsv"),
    "zarr with a hole": (hole, "scan.zarr", "scan.zarr: 1 of 12 chunks are missing and would read as 0.0; copy it "
        "again, or, if they hold only 0.0, write it with config={'write_empty_chunks': True}"),
    "no fam": (no_fam, "scan.bed", "scan.fam: expected a file, found none; a .bed file needs its .bim and .fam next "
        "to it"),
    "not a bed": (no_bed, "scan.bed", "scan.bed: expected genotypes by variant, got no PLINK binary file"),
    "too few names": (short_names, "scan.npy", "scan.columns.txt: expected 40 names, one per line, got 2"),
    "objects": (objects, "scan.npy", "scan.npy: expected an array in .npy format, but it holds objects, not numbers"),
    "a sample twice": (twice, "scan.npy", "trait.tsv: sample 's3' occurs twice; remove one"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
@pytest.mark.parametrize("coordinates", [(), ("--coordinates", "scan.bim")])
def test_covariates_come_from_the_table_with_the_outcome(run, folder, coordinates):
    trait = pd.read_csv("trait.tsv", sep="\t")
    age = np.random.default_rng(2).normal(50, 10, len(trait))
    trait["height"] += 0.3 * age
    trait.assign(age=age).to_csv("trait.tsv", sep="\t", index=False)
    ran = run("select", "scan.bed", "--outcome", "trait.tsv:height", "--always-include", "age", *coordinates, *QUICK)
    assert ran.code == 0, ran.err
    found = pd.read_csv("found/selection.csv").set_index("feature")
    assert found.loc["age", "role"] == "always included"
    assert found.loc["age", "coefficient"] == pytest.approx(0.3, abs=0.03)
    whole = np.column_stack([X[:-1], trait.assign(age=age).set_index("id")["age"][[f"s{i}" for i in range(N - 1)]]])
    y = trait.set_index("id")["height"][[f"s{i}" for i in range(N - 1)]]
    options = {"max_iter": 4, "screen": 8, "expected_size": 0.1, "random_state": 0}
    if not coordinates:
        model = vg.DiverseRegressor(always_include=[M], **options).fit(whole, y)
        np.testing.assert_allclose(
            found["inclusion_probability"][[f"v{j}" for j in range(M)]], model.inclusion_probabilities_[:M], atol=1e-6
        )
    ran = run("select", "scan.bed", "--outcome", "trait.tsv:height", "--always-include", "agge", *QUICK)
    assert "trait.tsv: expected a column to always include 'agge'" in ran.last_line


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
def test_predictions_for_a_large_table(run, folder):
    assert run("select", "scan.bed", "--outcome", "trait.tsv:height", *QUICK).code == 0
    ran = run("predict", "found/model.vg", "scan.bed", "--out", "new.csv")
    assert ran.code == 0, ran.err
    found = pd.read_csv("new.csv")
    assert found["sample"].tolist() == [f"s{i}" for i in range(N)]
    expected = vg.load("found/model.vg").predict(pd.DataFrame(X, columns=[f"v{j}" for j in range(M)]))
    np.testing.assert_allclose(found["prediction"], expected, atol=1e-5)
    write_bed(folder / "other.bed", X[:, ::-1], names=[f"v{j}" for j in range(M)][::-1])
    ran = run("predict", "found/model.vg", "other.bed")
    assert "X must have the columns of the fit, in their order; column 0 is 'v39', but was 'v0'" in ran.last_line


def test_the_panel_s_columns_of_a_large_table(run, folder):
    assert (
        run("select", "scan.bed", "--outcome", "trait.tsv:height", "--size", 2, "--max-iter", 4, "--out", "found").code
        == 0
    )
    panel = vg.load("found/model.vg").panel_
    ran = run("predict", "found/model.vg", "scan.bed", "--panel", "--out", "new.csv")
    assert ran.code == 0, ran.err
    np.testing.assert_allclose(pd.read_csv("new.csv")["prediction"], panel.predict(X[:, panel.columns]), atol=1e-5)
    rest = [j for j in range(M) if j != panel.columns[0]]
    write_bed(folder / "other.bed", X[:, rest], names=[f"v{j}" for j in rest])
    ran = run("predict", "found/model.vg", "other.bed", "--panel")
    assert ran.code == 1
    assert f"1 of the 2 columns that the panel uses, for instance '{panel.members[0]}'" in ran.last_line


def with_people(folder, **outcomes):
    """A second table, people.csv, with an age for all samples but the first, one stranger, and further columns."""
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"id": [*(f"s{i}" for i in range(1, N)), "stranger"], "age": rng.normal(50, 10, N)})
    people["years"] = rng.uniform(1, 5, N)
    for name, law in outcomes.items():
        signal = np.append(X[1:, 3] - X[1:, 20], 0.0) + 0.1 * people["age"]
        people[name] = law(signal, people["years"], rng)
    people.iloc[::-1].to_csv("people.csv", index=False)
    return people.set_index("id").iloc[:-1]


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["bed", "npy", "zarr"])
def test_predictions_with_covariates_from_the_second_table(run, folder, kind):
    people = with_people(folder, height=lambda eta, years, rng: eta + rng.normal(size=len(eta)))
    where, beside = f"scan.{kind}", ("--outcome-table", "people.csv")
    assert run("select", where, "--outcome", "people.csv:height", "--always-include", "age", *QUICK).code == 0
    ran = run("predict", "found", where, *beside, "--out", "new.csv")
    assert ran.code == 0, ran.err
    assert "1 of 60 samples are not in people.csv and were left out" in ran.err
    found = pd.read_csv("new.csv")
    assert found["sample"].tolist() == people.index.tolist()
    rows = pd.DataFrame(np.column_stack([X[1:], people["age"]]), columns=[*(f"v{j}" for j in range(M)), "age"])
    np.testing.assert_allclose(found["prediction"], vg.load("found/model.vg").predict(rows), atol=1e-5)
    refused = run("predict", "found", where)
    assert refused.last_line.endswith(f"{where} has no column 'age'; give --outcome-table FILE with that column")
    (folder / "people.csv").write_text((folder / "people.csv").read_text() + "s5,40,1,1\n")
    assert run("predict", "found", where, *beside).last_line.endswith("sample 's5' occurs twice; remove one")


@pytest.mark.parametrize("table", ["scan.npy", "scan.csv"])
def test_outcomes_and_ids_are_no_covariates(run, folder, table):
    """The ids are numbers, which could be measurements."""
    people = with_people(folder, height=lambda eta, years, rng: eta).reset_index()
    people["id"] = people["id"].str.removeprefix("s")
    people.to_csv("people.csv", index=False)
    (folder / "scan.rows.txt").write_text("".join(f"{i}\n" for i in range(N)))
    pd.DataFrame(X, columns=[f"v{j}" for j in range(M)]).rename_axis("id").to_csv("scan.csv")
    beside = ("--outcome", "people.csv:height")
    for name, said in (("height", "height' "), ("id", "id' holds the ids of people.csv; give others")):
        ran = run("select", table, *beside, "--always-include", f"age,{name}", *QUICK)
        assert ran.code == 1
        assert f"always_include: '{said}" in ran.last_line


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
def test_an_infinite_covariate_is_named(run, folder):
    people = with_people(folder, height=lambda eta, years, rng: eta).reset_index()
    people.assign(age=people["age"].where(people["id"] != "s7", np.inf)).to_csv("people.csv", index=False)
    ran = run("select", "scan.bed", "--outcome", "people.csv:height", "--always-include", "age", *QUICK)
    assert "people.csv, column 'age', sample 's7': must be finite, got infinity" in ran.last_line


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
def test_exposures_of_a_large_table_are_used(run, folder):
    people = with_people(folder, cases=lambda eta, years, rng: rng.poisson(years * np.exp(0.3 * eta)))
    beside = ("--outcome-table", "people.csv", "--exposure", "years")
    assert (
        run(
            "select", "scan.bed", "--outcome", "people.csv:cases", "--task", "counts", "--exposure", "years", *QUICK
        ).code
        == 0
    )
    ran = run("predict", "found", "scan.bed", *beside, "--out", "new.csv")
    assert ran.code == 0, ran.err
    rows = pd.DataFrame(X[1:], columns=[f"v{j}" for j in range(M)])
    expected = vg.load("found/model.vg").predict(rows, exposure=people["years"])
    np.testing.assert_allclose(pd.read_csv("new.csv")["prediction"], expected, rtol=1e-5)
    alone = run("predict", "found", "scan.bed", "--out", "alone.csv")
    assert "note: the model was fitted with exposures; predicting for an exposure of 1" in alone.err
    assert len(pd.read_csv("alone.csv")) == N
    refused = run("predict", "found", "scan.bed", "--exposure", "years")
    assert refused.last_line.endswith("scan.bed has no column 'years'; give --outcome-table FILE with that column")
    text = (folder / "people.csv").read_text().replace("s7,", "s7,50,-1,0\nx,")
    (folder / "people.csv").write_text(text)
    assert "people.csv, column 'years', sample 's7'" in run("predict", "found", "scan.bed", *beside).last_line


@pytest.mark.parametrize("option", [("--exposure", "years"), ("--samples", "columns"), ("--missing", "impute")])
@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
def test_options_that_do_not_fit_are_refused_in_predictions(run, folder, option):
    assert run("select", "scan.bed", "--outcome", "trait.tsv:height", *QUICK).code == 0
    ran = run("predict", "found", "scan.bed", "--outcome-table", "trait.tsv", *option)
    assert ran.code == 1
    assert option[0] in ran.last_line


@pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning")
def test_variants_without_names_are_found_in_a_table_in_memory(run, folder):
    """The .bim has two variants called "."; the table in memory has them under their place, or not at all."""
    names = [f"v{j}" if j not in (5, 9) else "." for j in range(M)]
    write_bed(folder / "scan.bed", X, names=names, positions=1000 * np.arange(1, M + 1))
    assert run("select", "scan.bed", "--outcome", "trait.tsv:height", "--coordinates", "scan.bim", *QUICK).code == 0
    place = {5: "1:6000:A:G", 9: "1:10000:A:G"}
    frame = pd.DataFrame(X, columns=[place.get(j, f"v{j}") for j in range(M)]).assign(height=Y)
    assert set(place.values()) < set(probabilities().index)
    for table in (frame, frame.drop(columns=list(place.values()))):
        table.to_csv("scan.csv", index=False)
        ran = run("select", "scan.csv", "--outcome", "height", "--coordinates", "scan.bim", *QUICK)
        assert ran.code == 0, ran.err


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_in_one_line(run, folder, name):
    spoil, table, message = WRONG[name]
    spoil(folder)
    ran = run("select", table, "--outcome", "trait.tsv:height", "--quiet", *QUICK)
    assert ran.code == 1
    assert ran.err == f"variegate: error: {message}\n"
    assert not (folder / "found").exists()


def test_an_empty_folder_is_no_zarr(run, folder):
    no_array(folder)
    ran = run("select", "scan.zarr", "--outcome", "trait.tsv:height", "--quiet", *QUICK)
    assert ran.code == 1
    assert ran.err.startswith("variegate: error: scan.zarr: expected a zarr array or group, but it cannot be opened")
    assert ran.err.count("\n") == 1


MISUSE = [
    (("select", "scan.bed", *HEIGHT, "--frontier"), "--frontier needs a table in memory"),
    (("select", "scan.bed", *HEIGHT, "--compare", "lasso"), "--compare needs a table in memory"),
    (("select", "scan.bed", *HEIGHT, "--drop", "v1"), "--drop needs a table in memory"),
    (("select", "scan.bed", *HEIGHT, "--classes", "a,b"), "--classes needs a table in memory"),
    (("select", "scan.bed", *HEIGHT, "--missing", "impute"), "--missing needs a table in memory"),
    (("compare", "scan.npy", *HEIGHT), "compare needs a table in memory"),
    (("select", "scan.bed", "--outcome", "height"), "scan.bed has no outcome; give --outcome FILE:COLUMN"),
    (("select", "none.npy", "--outcome", "blank.csv:y"), "none.npy: the table must have samples and features"),
    (("select", "some.npy", "--outcome", "blank.csv:y"), "blank.csv: y must have an outcome for some sample"),
]


@pytest.mark.parametrize(
    ("arguments", "message"), MISUSE, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_what_a_large_table_cannot_do_is_said_in_one_line(run, folder, arguments, message):
    np.save("none.npy", np.ones((0, 3)))
    np.save("some.npy", np.ones((4, 3)))
    pd.DataFrame({"id": range(1, 5), "y": np.nan}).to_csv("blank.csv", index=False)
    ran = run(*arguments, "--quiet")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert message in ran.err


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_scheduler_that_is_not_there(run, folder, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("variegate.cli.cluster.CONNECTING", "0.3s")
    options = ("--cluster", "tcp://127.0.0.1:1", "--quiet")
    ran = run("select", "scan.bed", "--outcome", "trait.tsv:height", *options, *QUICK)
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert ran.err.startswith("variegate: error: --cluster: no Dask scheduler at tcp://127.0.0.1:1 (")
    assert ran.err.endswith("start one with `dask scheduler`, and workers with `dask worker ADDRESS`\n")
