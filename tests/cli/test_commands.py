"""The other commands, and what all of them share."""

import io
import json
import re
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

import variegate as vg
from cli_problems import QUICK, SELECT, data
from variegate.baselines import METHODS
from variegate.baselines.choose import chooses_size
from variegate.cli import options
from variegate.cli.main import cli
from variegate.cli.messages import heard_warnings, say
from variegate.cli.outcomes import outcome_task
from variegate.cli.show import show_table
from variegate.comparison import MEASURES
from variegate.settings import METHODS as KNOWN
from variegate.settings import SIZED_BY_THEMSELVES, Settings

FRONTIER = "method,diversity,size,accuracy,error,log det,largest |r|,positions\nvariegate,0,1,0.9,0.1,0,0,{}\n"

# --- report, compare -----------------------------------------------------------------------------------------------


def test_the_page_again(run, fitted, folder):
    assert run("report", "found/model.vg").code == 2
    (folder / "found/report.html").unlink()
    ran = run("report", "found/model.vg")
    assert ran.code == 0, ran.err
    assert (folder / "found/report.html").stat().st_size > 0
    (folder / "found/run.json").write_text("{")
    ran = run("report", "found/model.vg", "--out", "page.html")
    assert ran.code == 1
    assert "run.json: not readable" in ran.last_line


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("run.json", "[1]", "found/run.json: not readable"),
        ("run.json", '{"data": 3}', "found/run.json: not readable"),
        ("comparison.csv", "", "found/comparison.csv: not readable"),
        ("comparison.csv", "a,b\n1,2\n", "found/comparison.csv: not readable"),
        ("comparison.csv", "repeat,method,metric,value\n0,omp,R2,high\n", "found/comparison.csv: not readable"),
        ("frontier.csv", "size\n1\n", "found/frontier.csv: not readable"),
        *[("frontier.csv", FRONTIER.format(p), "found/frontier.csv: not readable") for p in ("-5; 1", "99", "x")],
    ],
)
def test_strange_files_beside_the_model(run, fitted, folder, name, text, said):
    (folder / "found" / name).write_text(text)
    ran = run("report", "found/model.vg", "--out", "page.html")
    assert ran.code == 1
    assert said in ran.last_line
    assert ran.last_line.endswith("move it to write the report without it")
    assert not (folder / "page.html").exists()


def test_methods_side_by_side(run, folder):
    command = ("compare", "data.csv", "--outcome", "y", "--drop", "kind", "--repeats", "2", "--size", "2")
    ran = run(*command, "--methods", "omp,univariate", "--out", "scores.csv")
    assert ran.code == 0, ran.err
    shown = pd.read_csv(io.StringIO(ran.out), sep="\t")
    assert shown["method"].tolist() == ["omp", "univariate"]
    assert (shown["features chosen"] == 2).all()
    scores = pd.read_csv("scores.csv")
    assert len(scores) == 2 * 2 * 5
    assert set(scores["metric"]) <= set(MEASURES)
    assert set(shown.columns) >= {"R² on held-out rows", "diversity (log det; 0: all differ)"}
    wide = pd.read_csv("scores_wide.csv")
    assert wide["method"].tolist() == ["omp", "univariate"]
    assert "R² on held-out rows: sd" in wide
    again = run(*command, "--methods", "omp", "--out", "scores.csv")
    assert (again.code, "reading" in again.err) == (2, False)  # known before the work
    found = json.loads(run(*command, "--methods", "omp,univariate", "--json", "-q").out)
    assert {row["method"] for row in found} == {"omp", "univariate"}


def test_a_single_split_has_no_spread(run, folder):
    ran = run("compare", "data.csv", "--outcome", "y", "--drop", "kind", "--methods", "omp", "--size", "2",
              "--repeats", "1")  # fmt: skip
    assert ran.code == 0, ran.err
    assert "nan" not in ran.out
    assert "±" not in ran.out


def test_where_every_method_fails(run, folder):
    frame = data().drop(columns="y")
    frame["kind"] = ["a", "b", "c"] * 20
    frame.to_csv("three.csv", index=False)
    ran = run("compare", "three.csv", "--outcome", "kind", "--methods", "omp", "--size", "2", "--repeats", "1")
    assert ran.code == 1
    assert "every method failed" in ran.last_line
    assert "classes" in ran.last_line


# --- similarity ----------------------------------------------------------------------------------------------------


def similarity_of(run, *arguments):
    ran = run(*SELECT, *arguments, "--overwrite")
    assert ran.code == 0, ran.err
    phi = np.asarray(vg.load("variegate-out/model.vg").similarity)
    return phi @ phi.T


def test_similarity_from_files(run, folder):
    (folder / "places.csv").write_text("name,x\n" + "".join(f"{n},{10 * i}\n" for i, n in enumerate("bacdef")))
    K = similarity_of(run, "--coordinates", "places.csv")
    assert min(K[0, 1], K[0, 2]) > K[0, 3]  # a is next to b and c, not to d
    assert K[0, 2] > K[0, 5]
    (folder / "groups.csv").write_text("name,group\na,1\nb,1\nc,2\nd,2\ne,\nf,\n")
    K = similarity_of(run, "--labels", "groups.csv")
    np.testing.assert_allclose(K[0], [1, 0.9, 0, 0, 0, 0], atol=1e-12)
    (folder / "sets.gmt").write_text("one\tx\ta\tb\ntwo\tx\tc\td\nthree\tx\te\tf\n")
    K = similarity_of(run, "--labels", "sets.gmt")
    np.testing.assert_allclose(K[0], [1, 1, 0, 0, 0, 0], atol=1e-6)
    (folder / "edges.csv").write_text("a,hub\nb,hub\nhub,c\nc,d\nd,e\ne,f\n")
    K = similarity_of(run, "--network", "edges.csv")
    assert K[0, 1] > K[0, 3] > K[0, 5]


def test_longitude_and_latitude(run, folder):
    rows = zip("abcdef", (-179, 179, 0, 10, 20, 30), strict=True)
    (folder / "places.csv").write_text("name,Latitude,Longitude\n" + "".join(f"{n},0,{lon}\n" for n, lon in rows))
    K = similarity_of(run, "--coordinates", "places.csv")
    assert K[0, 1] > 0.99  # neighbours across the date line


def test_samples_in_columns(run, folder):
    frame = data()
    turned = frame.set_index("sample")[list("abcdef")].T.rename_axis("gene").reset_index()
    turned.insert(1, "entrez", range(101, 107))
    turned.to_csv("turned.tsv", sep="\t", index=False)
    frame[["sample", "y"]].to_csv("outcome.csv", index=False)
    ran = run(
        "select", "turned.tsv", "--samples", "columns", "--id-column", "entrez", "--drop", "gene",
        "--outcome", "outcome.csv:y", *QUICK,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    table = pd.read_csv("variegate-out/selection.csv", dtype={"feature": str})
    assert set(table["feature"]) == {str(i) for i in range(101, 107)}
    assert run(*SELECT, "--out", "usual").code == 0
    usual = pd.read_csv("usual/selection.csv")
    np.testing.assert_allclose(table["coefficient"], usual["coefficient"], rtol=1e-9)


# --- what all share ------------------------------------------------------------------------------------------------


def test_help_needs_no_numerics():
    code = (
        "import sys; from variegate.cli import main; codes = [main([*c, '--help']) for c in "
        "([], ['select'], ['predict'], ['report'], ['compare'], ['demo'])]; "
        "heavy = {'numpy', 'scipy', 'pandas', 'sklearn', 'numba', 'rich'} & set(sys.modules); "
        "assert codes == [0] * 6 and not heavy, (codes, heavy)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_the_installed_command_says_its_version(run):
    assert run("--version").out.strip() == f"variegate, version {vg.__version__}"


def test_help_tells_of_every_option(run):
    for name, command in cli.commands.items():
        text = run(name, "--help").out
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("--") or option in text
        assert "\\b" not in text
    assert list(cli.commands) == ["select", "predict", "report", "compare", "demo"]


def test_methods_known_to_the_command_line_are_those_there_are():
    assert list(KNOWN) == list(METHODS)
    assert set(SIZED_BY_THEMSELVES) == {name for name in METHODS if chooses_size(name)}


@pytest.mark.parametrize(
    ("values", "task", "why"),
    [
        (["a", "b", "a", "b"], "classification", "holds text"),
        ([0, 1, 1, 0], "classification", "two values"),
        ([0.5, 1.5, 0.5], "classification", "two values"),
        ([0.5, 1.5], "regression", "holds numbers"),
        ([1, 2, 3] * 5, "classification", "read as classes"),
        (list(range(30)), "regression", "holds numbers"),
        ([0.1, 0.2, 0.3], "regression", "holds numbers"),
    ],
)
def test_the_task_is_inferred_and_said(values, task, why):
    found, said = outcome_task(np.array(values), "y", None)
    assert found == task
    assert why in said


def test_names_with_commas():
    assert options.NAMES.convert("a, b,,c", None, None) == ("a", "b,c")
    assert options.NAMES.convert(["a,b", "c"], None, None) == ("a,b", "c")


def test_settings_are_the_options_of_select(run):
    """The rest says where the run takes place and what is shown."""
    params = {str(parameter.name) for parameter in cli.commands["select"].params}
    rest = {"out", "overwrite", "cluster", "json", "quiet", "config"}
    assert {field.name for field in fields(Settings)} == params - rest
    assert len(params - {"table"}) <= 35
    assert run("select", "--help").out.index("--size") < run("select", "--help").out.index("--task")


def test_warnings_are_told_once(capsys):
    import warnings

    with heard_warnings(quiet=False) as heard:
        for _ in range(2):
            warnings.warn("mind\nthe gap", stacklevel=1)
        warnings.warn("old", DeprecationWarning, stacklevel=1)
    assert heard == [{"kind": "UserWarning", "text": "mind the gap"}]
    assert capsys.readouterr().err == "variegate: warning: mind the gap\n"


def test_tables_on_a_terminal_show_names_as_they_are(capsys, monkeypatch):
    monkeypatch.setattr("variegate.cli.show.is_terminal", lambda stream: True)
    monkeypatch.setenv("COLUMNS", "100")
    show_table(pd.DataFrame({"feature": ["[bold]x[/bold]", "y"], "p": [0.123456, 1.0]}), "two")
    out = capsys.readouterr().out
    assert "[bold]x[/bold]" in out
    assert re.search(r"0\.123\b", out)


# --- demo ----------------------------------------------------------------------------------------------------------


def test_demo_names_the_page_and_the_copies(run, folder, monkeypatch):
    """The demo on fewer and smaller columns: the same path, in seconds."""

    def small(path):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(80, 4)).repeat(2, axis=1) + 0.05 * rng.normal(size=(80, 8))
        frame = pd.DataFrame(X, columns=[f"m{i}" for i in range(8)])
        frame.insert(0, "diagnosis", np.where(X[:, 0] + X[:, 4] + rng.normal(size=80) > 0, "malignant", "benign"))
        frame.to_csv(path, index=False)

    monkeypatch.setattr("variegate.cli.demo.write_table", small)
    monkeypatch.setattr("variegate.cli.demo.SIZE", 3)
    ran = run("demo")
    assert ran.code == 0
    assert "variegate: reading variegate-demo/breast_cancer.csv\n" in ran.err
    assert ".variegate-demo." not in ran.err  # the folder that it is made in
    notes = json.loads((folder / "variegate-demo/run.json").read_text())["data"]["notes"]
    assert notes[0] == "read 80 samples and 8 features from variegate-demo/breast_cancer.csv"
    assert "4 pairs correlate above 0.9" in ran.out
    assert "variegate: none" in ran.out
    assert ran.out.splitlines()[-1] == f"Open the report in a browser: {folder / 'variegate-demo/report.html'}"
    assert run("select", "--config", "variegate-demo/run.json", "--out", "again").code == 0
    assert (folder / "again/selection.csv").read_bytes() == (folder / "variegate-demo/selection.csv").read_bytes()


def test_the_demo_s_data_are_full_of_near_copies(tmp_path):
    from variegate.cli.demo import near_copies, write_table

    write_table(tmp_path / "table.csv")
    frame = pd.read_csv(tmp_path / "table.csv")
    assert frame.shape == (569, 31)
    assert len(near_copies(frame, frame.columns[1:])) == 21


def test_nothing_that_is_printed_plays_with_the_terminal(monkeypatch, capsys):
    monkeypatch.setattr("variegate.cli.show.is_terminal", lambda stream: True)
    nasty = "\x1b[31mred\x07\x9b2J"
    show_table(pd.DataFrame({"feature": [nasty], nasty: [1.0]}), "a title")
    say(f"read {nasty}")
    printed = "".join(capsys.readouterr())
    assert "red" in printed
    assert not set("\x1b\x07\x9b") & set(printed)
