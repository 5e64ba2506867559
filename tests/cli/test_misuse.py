"""Every way to get it wrong: one clear line, the right exit code, nothing half-written."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from cli_problems import QUICK, SELECT, N, data, patients

Y = ("--outcome", "y", "--drop", "kind", *QUICK)
DIED = ("--time", "months", "--event", "status")
COUNTS = ("--task", "counts")
PRICES = ("--costs", "prices.csv", "--budget", "2")


def left_over(folder):
    """What a command left that was not there before, hidden files too."""
    return sorted(p.name for p in folder.iterdir() if p.name not in ("data.csv", *TABLES, *TEXTS))


TABLES = {
    "text.csv": lambda: data().assign(c=["oops" if i == 9 else i for i in range(60)]),
    "hole.csv": lambda: data().assign(c=[None, *range(59)]),
    "same.csv": lambda: data().assign(y=1.0),
    "names.csv": lambda: data().assign(c=[f"name {i}" for i in range(60)]),
    "three.csv": lambda: data(3),
    "one.csv": lambda: data(1),
    "p.csv": lambda: patients().assign(
        code=lambda frame: np.where(frame["status"] == "dead", 2, 1),
        none=0,
        same=3.0,
        many=lambda frame: np.where(np.arange(N) == 2, 10**15, frame["code"]),
    ),
}
TEXTS = {
    "edges.csv": "TP53,MDM2\nMDM2,ATM\n",
    "places.csv": "name,x\na,1\nb,2\n",
    "groups.csv": "name,group,more\na,1,2\n",
    "prices.csv": "feature,price\na,1\nb,2\n",
    "other.csv": "id,status\n1,dead\n",
    "wrong.toml": 'outcome = "y"\nscren = 3\n',
    "broken.toml": "outcome = \n",
    "list.json": "[1]",
    "table.toml": 'outcome = "y"\n[size]\nk = 3\n',
    "number.toml": 'outcome = "y"\nselect = 3\n',
    "broad.toml": 'outcome = "y"\nsize = 2.5\n',
    "several.toml": 'outcome = ["y"]\n',
    "truth.toml": 'outcome = "y"\nseed = true\n',
    "flag.toml": 'outcome = "y"\noverwrite = "perhaps"\n',
    "bytes.csv": "".join(map(chr, range(256))) * 20,
    "empty.csv": "",
    "a_file": "in the way",
}


@pytest.fixture
def prepared(folder):
    for name, make in TABLES.items():
        make().to_csv(name, index=False)
    for name, text in TEXTS.items():
        (folder / name).write_bytes(text.encode("latin-1"))
    return folder


MISUSE = [
    # the command is wrong: 2
    (("selct",), 2, "No such command 'selct'"),
    (("select",), 2, "Missing argument 'TABLE'"),
    (("select", "data.csv"), 2, "the outcome is missing: give --outcome COLUMN"),
    (("select", "nowhere.csv", "--outcome", "y"), 2, "'nowhere.csv' does not exist"),
    (("select", "data.csv", *Y, "--network", "nowhere.txt"), 2, "'nowhere.txt' does not exist"),
    (("select", "data.csv", *Y, "--nonsense"), 2, "--nonsense"),
    (("select", "data.csv", *Y, "--size", "two"), 2, "--size"),
    (("select", "data.csv", *Y, "--size", "0"), 2, "--size"),
    (("select", "data.csv", *Y, "--max-iter", "0"), 2, "--max-iter"),
    (("select", "data.csv", *Y, "--size", "2", "--expected-size", "3"), 2, "exclude each other"),
    (("select", "data.csv", *Y, "--task", "guess"), 2, "--task"),
    (("select", "data.csv", *Y, "--compare", "lasoo"), 2, "no method 'lasoo'"),
    (("select", "data.csv", *Y, "--network", "edges.csv", "--labels", "groups.csv"), 2, "exclude each other"),
    (("select", "data.csv", *Y, "--bandwidth", "2"), 2, "--bandwidth needs --coordinates"),
    (("select", "data.csv", "--config", "wrong.toml"), 2, "no option 'scren'; did you mean 'screen'?"),
    (("select", "data.csv", "--config", "broken.toml"), 2, "broken.toml: not readable as TOML"),
    (("select", "data.csv", "--config", "list.json"), 2, "list.json: expected the run.json"),
    (("select", "data.csv", "--config", "table.toml"), 2, "table.toml: size: expected one word or number"),
    (("select", "data.csv", "--config", "number.toml"), 2, "number.toml: no option 'select'"),
    (("select", "data.csv", "--config", "broad.toml"), 2, "'2.5' is not a valid integer"),
    (("select", "data.csv", "--config", "several.toml"), 2, "several.toml: outcome: expected one word or number"),
    (("select", "data.csv", "--config", "truth.toml"), 2, "truth.toml: seed: expected one word or number, got True"),
    (("select", "data.csv", "--config", "flag.toml"), 2, "flag.toml: overwrite: expected true or false"),
    (("select", "data.csv", *Y, "--size", "1e9"), 2, "'1e9' is not a valid integer"),
    (("select", "data.csv", *Y, "--expected-size", "nan"), 2, "'nan' is not a finite number"),
    (("select", "data.csv", *Y, "--seed", "4294967296"), 2, "--seed"),
    (("select", "data.csv", *Y, "--n-jobs", "0"), 2, "--n-jobs"),
    (("select", "data.csv", *Y, "--compare", ","), 2, "expected names separated by commas"),
    (("select", "data.csv", *Y, "--costs", "prices.csv"), 2, "belong together"),
    (("select", "data.csv", *Y, "--budget", "2"), 2, "belong together"),
    (("select", "data.csv", *Y, *PRICES, "--size", "2"), 2, "--budget and --size exclude each other"),
    (("select", "data.csv", *Y, *PRICES, "--choose", "probability"), 2, "--budget and --choose"),
    (("select", "p.csv", "--time", "months"), 2, "--time needs --event"),
    (("select", "p.csv", "--time", "months", "--event", "months"), 2, "different columns, got 'months'"),
    (("select", "p.csv", "--event", "status"), 2, "the outcome is missing"),
    (("select", "p.csv", "--outcome", "a", *DIED), 2, "--outcome and --time exclude each other"),
    (("select", "p.csv", "--outcome", "a", "--exposure", "b"), 2, "--exposure needs --task counts"),
    (("select", "p.csv", "--outcome", "a", "--entry", "b"), 2, "--entry needs --time"),
    (("select", "p.csv", *DIED, "--task", "regression"), 2, "--task needs --outcome"),
    (("select", "p.csv", "--time", "p.csv:months", "--event", "other.csv:status"), 2, "must be in one file"),
    (("select", "p.csv", "--outcome", "nowhere.csv:months"), 2, "there is no file nowhere.csv"),
    # reading, fitting or writing failed: 1
    (("select", "data.csv", *Y, *PRICES), 1, "4 of 6 are not in it"),
    (("select", "p.csv", "--time", "months", "--event", "code"), 1, "--event COLUMN=VALUE"),
    (("select", "p.csv", "--time", "months", "--event", "code=9"), 1, "column 'code': never is '9'; it holds 1, 2"),
    (("select", "p.csv", "--time", "a", "--event", "status"), 1, "column 'a', sample '2': must not be negative"),
    (("select", "p.csv", "--time", "months", "--event", "none"), 1, "column 'none': must have happened"),
    (("select", "p.csv", "--time", "same", "--event", "status"), 1, "column 'same': must vary"),
    (("select", "p.csv", "--time", "month", "--event", "status"), 1, "did you mean 'months'?"),
    (("select", "p.csv", *DIED, "--classes", "dead"), 1, "classes needs outcome"),
    (("select", "p.csv", "--outcome", "a", *COUNTS), 1, "column 'a', sample '1': must be a count"),
    (("select", "p.csv", "--outcome", "code", *COUNTS, "--exposure", "none"), 1, "'none', sample '1': must be above"),
    (("select", "p.csv", "--outcome", "many", *COUNTS), 1, "'many', sample '3': must be a count of at most"),
    (("select", "one.csv", "--outcome", "y"), 1, "at least two samples, got one"),
    (("compare", "three.csv", "--outcome", "y", "--drop", "kind"), 1, "at least four rows"),
    (("report", "."), 2, "no model.vg in the folder '.'"),
    (("select", "data.csv", *Y, "--config", "data.csv"), 2, "give a .toml, or the run.json of a run"),
    (("select", "data.csv", "--outcome", "Y"), 1, "expected an outcome column 'Y', found"),
    (("select", "data.csv", "--outcome", "knid"), 1, "; did you mean 'kind'?"),
    (("select", "data.csv", "--outcome", "y", *QUICK, "--drop", "smple"), 1, "; did you mean 'sample'?"),
    (("select", "data.csv", "--outcome", "y", "--drop", "kind,y"), 1, "drop: 'y' belongs to the outcome"),
    (("select", "data.csv", *Y, "--id-column", "y"), 1, "id_column: 'y' belongs to the outcome"),
    (("select", "data.csv", "--time", "y", "--event", "kind", "--drop", "kind"), 1, "'kind' belongs to"),
    (("select", "data.csv", "--outcome", "data.csv:y", "--drop", "kind"), 1, "leave it out by drop=['y']"),
    (("select", "names.csv", *Y), 1, "drop=['c'], or say id_column='c' or categorical=['c']"),
    (("select", "data.csv", "--outcome", "kind", "--task", "regression"), 1, "regression needs numbers"),
    (("select", "data.csv", *Y, "--task", "classification"), 1, "too many for classes; use --task regression"),
    (("select", "data.csv", "--outcome", "kind", "--drop", "y", "--classes", "ill,dead"), 1, "no class 'dead'"),
    (("select", "text.csv", *Y), 1, "text.csv, sample 's9'"),
    (("select", "hole.csv", *Y), 1, "missing='drop_samples'"),
    (("select", "same.csv", *Y), 1, "the same for all samples"),
    (("select", "bytes.csv", *Y), 1, "bytes.csv"),
    (("select", "empty.csv", *Y), 1, "empty.csv"),
    (("select", "data.csv", *Y, "--network", "edges.csv"), 1, "edges.csv: features must be nodes"),
    (("select", "data.csv", *Y, "--network", "bytes.csv"), 1, "bytes.csv"),
    (("select", "data.csv", *Y, "--coordinates", "places.csv"), 1, "drop=['c', 'd', 'e', 'f']"),
    (("select", "data.csv", *Y, "--labels", "groups.csv"), 1, "groups.csv: expected two columns"),
    (("select", "data.csv", *Y, "--always-include", "zz"), 1, "always_include: there is no feature called 'zz'"),
    (("select", "data.csv", *Y, "--size", "9"), 1, "must be between 1 and 6, the number of features"),
    (("select", "data.csv", *Y, "--expected-size", "50"), 1, "expected_size must be below"),
    (("select", "data.csv", *Y, "--out", "a_file"), 2, "a_file"),
    (("select", "data.csv", *Y, "--out", "", "--overwrite"), 2, "got ''; for the current folder give '.'"),
    (("demo", "--out", "", "--overwrite"), 2, "got ''; for the current folder give '.'"),
    (("select", "data.csv", *Y, "--out", "a_file/below"), 1, "cannot write a_file/below"),
    (("select", "data.csv", *Y, "--out", "/proc/variegate"), 1, "cannot write /proc/variegate"),
    (("predict", "data.csv", "data.csv"), 1, "data.csv: not a variegate model"),
    (("predict", "nowhere.vg", "data.csv"), 2, "does not exist"),
    (("report", "data.csv"), 1, "data.csv: not a variegate model"),
    (("compare", "data.csv", "--outcome", "y", "--methods", "magic"), 2, "no method 'magic'"),
    (("compare", "data.csv", "--outcome", "y", "--methods", "omp"), 2, "give a size"),
    (("demo", "--out", "a_file/below"), 1, "cannot write a_file/below"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "said"), MISUSE, ids=lambda value: " ".join(value) if isinstance(value, tuple) else ""
)
def test_one_line_the_right_code_and_nothing_written(run, prepared, arguments, code, said):
    ran = run(*arguments)
    assert (ran.code, ran.out) == (code, ""), ran.err
    assert ran.last_line.startswith("variegate: error: ")
    assert said in ran.last_line
    assert "Traceback" not in ran.err
    assert code == 1 or ran.err.count("\n") == 1
    assert sum(line.startswith("variegate: error") for line in ran.err.splitlines()) == 1
    assert left_over(prepared) == []


def test_full_disk(run, folder):
    """Files may not grow beyond a few bytes: what writing to a full disk is like, without being root."""
    assert run(*SELECT, "--out", "warm").code == 0  # so that nothing is compiled and cached under the limit
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
    try:
        ran = run(*SELECT, "--out", "found")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert ran.code == 1
    assert ran.last_line == "variegate: error: cannot write found: File too large; nothing was written"
    assert left_over(folder) == ["warm"]


@pytest.mark.parametrize("where", ["run.save", "cli.select.fitted", "run.findings"])
def test_ctrl_c_leaves_nothing(run, folder, monkeypatch, where):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"variegate.{where}", stop)
    ran = run(*SELECT)
    assert ran.code == 130
    assert ran.last_line == "variegate: error: interrupted; nothing was written"
    assert left_over(folder) == []


def test_ctrl_c_in_the_demo_leaves_nothing(run, folder, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("variegate.cli.select.find", stop)
    assert run("demo").code == 130
    assert left_over(folder) == []


def test_a_fit_that_was_interrupted_is_no_answer(run, folder, monkeypatch, chains):
    from variegate.inference.chain import run as chains
    from variegate.inference.chain import sample as whole

    laps, lap, found, value = [], chains._lap, [], whole._value

    def stop(*arguments):
        laps.append(1)
        if len(laps) == chains.BURN_IN + 3:  # two laps that count, and a third that is never finished
            raise KeyboardInterrupt
        return lap(*arguments)

    def keep(*arguments):
        found.append(value(*arguments))
        return found[-1]

    monkeypatch.setattr(chains, "_lap", stop)
    monkeypatch.setattr(whole, "_value", keep)
    assert run(*SELECT).code == 130
    assert [sample.interrupted for sample in found] == [True]  # there was something to return
    assert left_over(folder) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals(folder, number):
    """A real process, a real signal, while it works."""
    data(4000).to_csv("data.csv", index=False)
    code = "import sys; from variegate.cli import main; sys.exit(main(sys.argv[1:]))"
    arguments = ("select", "data.csv", "--outcome", "kind", "--drop", "y", "--compare", "lasso,omp,elastic_net")
    with subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if "fitting" in line:
                break
        time.sleep(0.2)
        process.send_signal(number)
        rest = process.stderr.read()
    assert process.returncode == 130
    assert rest.splitlines()[-1] == "variegate: error: interrupted; nothing was written"
    assert left_over(folder) == []


def workers_of(session):
    """Processes of a session that work for its first one."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            _, _, _, of, *_ = path.read_text().rpartition(")")[2].split()
            if int(of) == session and ".popen_loky" in path.with_name("cmdline").read_text():
                found[path.parent.name] = path
    return found


def lives(path):
    with contextlib.suppress(OSError):
        return path.read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["one", "all, as a terminal does"])
def test_workers_do_not_outlive_a_ctrl_c(folder, send):
    data(2000).to_csv("data.csv", index=False)
    code = "import sys; from variegate.cli import main; sys.exit(main(sys.argv[1:]))"
    more = ("--drop", "y", "--methods", "variegate,lasso", "--size", "3", "--repeats", "200", "--n-jobs", "2")
    command = [sys.executable, "-c", code, "compare", "data.csv", "--outcome", "kind", *more]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        for line in process.stderr:
            if "comparing" in line:
                break
        until = time.monotonic() + 30
        while len(workers_of(process.pid)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(1.5)  # so that they work
        workers = workers_of(process.pid)
        send(process.pid, signal.SIGINT)
        rest = process.stderr.read()
        process.wait()
        left = [pid for pid, path in workers.items() if lives(path)]
    assert process.returncode == 130
    assert len(workers) == 2
    assert left == []
    assert "Traceback" not in rest


def test_an_interrupt_that_gets_lost_is_noticed_between_steps(run, folder, monkeypatch):
    from variegate.cli import select

    def careless(*arguments, inner=select.read_similarity):
        with contextlib.suppress(KeyboardInterrupt):  # as a callback of C code does
            signal.raise_signal(signal.SIGTERM)
        return inner(*arguments)

    monkeypatch.setattr(select, "read_similarity", careless)
    assert run(*SELECT).code == 130
    assert left_over(folder) == []


def test_a_reader_that_goes_away_is_no_crash(folder):
    code = "import sys; from variegate.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "select", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert "Traceback" not in process.stderr.read()
    assert process.returncode in (0, 1)


def test_streams_that_are_closed(folder):
    """As a daemon starts it: no streams at all."""
    code = "import sys; from variegate.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *SELECT]
    closed = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command], check=False)
    assert closed.returncode == 0
    assert (folder / "variegate-out/report.html").is_file()


def test_bugs_are_called_bugs(run, folder, monkeypatch):
    def broken(*_, **__):
        raise TypeError("no such thing")

    monkeypatch.setattr("variegate.cli.select.read_input", broken)
    ran = run(*SELECT)
    assert ran.code == 1
    assert "TypeError: no such thing. This is a bug" in ran.last_line
    monkeypatch.setenv("VARIEGATE_DEBUG", "1")
    with pytest.raises(TypeError):
        run(*SELECT)
