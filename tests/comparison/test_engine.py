"""The same table, however it was computed and whatever died on the way."""

import io
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import pytest

from comparison_methods import (
    METHODS,
    Correlated,
    Counted,
    KillsOnce,
    any_columns,
    assert_same,
    broken,
    kills,
    small_comparison,
)  # fmt: skip
from estimator_problems import Terminal
from variegate.comparison import StoreError
from variegate.comparison.bar import ProgressBar, clock
from variegate.comparison.store import Store
from variegate.comparison.workers import Processes

TESTS = Path(__file__).parents[1]


def test_same_seed_same_table():
    first = small_comparison()
    assert_same(first, small_comparison())
    other = small_comparison(random_state=4)
    assert not first.table["value"].equals(other.table["value"])


def test_number_of_processes_does_not_matter():
    assert_same(small_comparison(), small_comparison(n_jobs=2))


def test_order_and_company_of_methods_do_not_matter():
    alone = small_comparison({"variegate": METHODS["variegate"], "any": any_columns})
    in_company = small_comparison({"any": any_columns, **METHODS})
    for name in ("variegate", "any"):
        sets = [c.selections.set_index("method").loc[name, "positions"].tolist() for c in (alone, in_company)]
        assert sets[0] == sets[1]


# --- Dask -------------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster(monkeypatch, tmp_path):
    """Two worker processes; dead ones are replaced, and Dask gives up a task with the first worker that it kills."""
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    # Dask gives up for good a worker that is not back after 15 seconds, as on a busy machine: then nobody is left
    patient = {"distributed.scheduler.allowed-failures": 0, "distributed.deploy.lost-worker-timeout": "10 minutes"}
    with (
        dask.config.set(patient),
        distributed.LocalCluster(local_directory=str(tmp_path), silence_logs=50, **options) as local,
        distributed.Client(local) as client,
    ):
        yield client
        client.wait_for_workers(2)  # one that is being replaced cannot be closed


# what joblib and distributed leave open or deprecate is theirs
@pytest.mark.real
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:Workers died")
def test_dask_cluster_that_loses_a_worker(cluster, tmp_path):
    pids = cluster.run(os.getpid)
    assert len(pids) == 2
    assert os.getpid() not in pids.values()
    with joblib.parallel_config(backend="dask"):
        deadly = small_comparison({**METHODS, "deadly": KillsOnce(str(tmp_path / "killed"))})
    assert (tmp_path / "killed").exists()
    survivors = cluster.run(os.getpid)
    assert set(pids.values()) - set(survivors.values()), "no worker was killed"
    harmless = small_comparison({**METHODS, "deadly": KillsOnce(str(tmp_path / "killed"))})
    assert_same(deadly, harmless)


@pytest.mark.real
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:Workers died")
def test_dask_cluster_is_sent_the_data_once(cluster):
    Counted.sent = 0
    serial = small_comparison(similarity=Counted())
    hashed = Counted.sent  # what tells two calls apart is pickled too
    with joblib.parallel_config(backend="dask"):
        assert_same(serial, small_comparison(similarity=Counted()))
        assert Counted.sent == 2 * hashed + 1


@pytest.mark.real
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore:Workers died")
def test_method_that_kills_every_dask_worker_loses_nothing_else(cluster, tmp_path):
    methods = {**METHODS, "deadly": kills}
    with (
        joblib.parallel_config(backend="dask"),
        pytest.warns(UserWarning, match=r"deadly failed in 2 of 2 repeats \(It killed its worker"),
    ):
        found = small_comparison(methods, repeats=2, store=tmp_path / "run.db")
    assert_only_deadly_failed(found)
    assert stored(tmp_path / "run.db") == 2 * 4


@pytest.mark.real
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_dask_cluster_without_workers_is_not_waited_for_for_ever(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("variegate.comparison.workers.PATIENCE", 0.5)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as local,
        distributed.Client(local),
        joblib.parallel_config(backend="dask"),
        pytest.raises(TimeoutError, match=r"no worker for 0\.5 seconds; start some\. With a store"),
    ):
        small_comparison(repeats=1)


def assert_only_deadly_failed(found):
    failed = found.failures
    assert failed["method"].tolist() == ["deadly"] * 2
    assert failed["error"].str.endswith("It killed its worker even when it ran alone.").all()
    others = found.selections.query("method != 'deadly'")["positions"].tolist()
    assert others == small_comparison(repeats=2).selections["positions"].tolist()


# --- dying and going on -------------------------------------------------------------------------------------------


@pytest.mark.real
def test_process_that_dies_is_replaced(tmp_path):
    methods = {**METHODS, "deadly": KillsOnce(str(tmp_path / "killed"))}
    with pytest.warns(UserWarning, match=r"Workers died: \d of 6 jobs had to be run again"):
        died = small_comparison(methods, n_jobs=2)
    assert (tmp_path / "killed").exists()
    assert_same(died, small_comparison(methods))


@pytest.mark.real
@pytest.mark.filterwarnings("ignore:Workers died")
def test_method_that_kills_every_process_loses_nothing_else(tmp_path):
    with pytest.warns(UserWarning, match=r"deadly failed in 2 of 2 repeats \(It killed its worker"):
        found = small_comparison({**METHODS, "deadly": kills}, repeats=2, n_jobs=2, store=tmp_path / "run.db")
    assert_only_deadly_failed(found)
    assert stored(tmp_path / "run.db") == 2 * 4


SLOW = {**METHODS, "slow": Correlated(level=0.1, seconds=0.15)}
SCRIPT = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from comparison_methods import *
small_comparison({{**METHODS, "slow": Correlated(level=0.1, seconds=0.15)}}, repeats=40, store=sys.argv[1])
"""


def stored(path):
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(path) as db:
            return db.execute("SELECT COUNT(*) FROM results").fetchone()[0]
    except sqlite3.OperationalError:  # not yet written
        return 0


@pytest.mark.real
@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_killed_in_the_middle_and_resumed(tmp_path, how):
    path = tmp_path / "run.db"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path)], stderr=subprocess.DEVNULL)
    while process.poll() is None and stored(path) < 3 * len(SLOW):
        time.sleep(0.02)
    process.send_signal(how)
    process.wait()
    before = stored(path)
    assert 0 < before < 40 * len(SLOW), "it was not killed in the middle"
    methods = {**SLOW, "slow": Correlated(level=0.1, seconds=0.15)}
    resumed = small_comparison(methods, repeats=before // len(SLOW) + 2, store=path)
    assert stored(path) == before + 2 * len(SLOW)
    assert_same(resumed, small_comparison(methods, repeats=before // len(SLOW) + 2))


def test_finished_run_computes_nothing(tmp_path, monkeypatch):
    path = tmp_path / "run.db"
    first = small_comparison(store=path)
    monkeypatch.setattr("variegate.comparison.study.Study.part", lambda *_: pytest.fail("it was computed again"))
    assert_same(first, small_comparison(store=path))
    assert first.table["seconds"].tolist() == small_comparison(store=path).table["seconds"].tolist()


def test_store_takes_more_repeats_and_more_methods(tmp_path):
    path = tmp_path / "run.db"
    small_comparison({"variegate": METHODS["variegate"]}, repeats=3, store=path)
    assert stored(path) == 3
    assert_same(small_comparison(store=path), small_comparison())
    assert stored(path) == 6 * 3
    # a method that changed under its name is not mixed up with the old one
    changed = {**METHODS, "lowest": Correlated(level=0.01)}
    assert_same(small_comparison(changed, store=path), small_comparison(changed))
    assert stored(path) == 6 * 4


# --- failing --------------------------------------------------------------------------------------------------------


def test_method_that_raises_loses_nothing_else(tmp_path):
    with pytest.warns(UserWarning, match=r"broken failed in \d of 6 repeats \(RuntimeError: no luck today\)"):
        found = small_comparison({**METHODS, "broken": broken}, store=tmp_path / "run.db")
    failed = found.failures
    assert set(failed["method"]) == {"broken"}
    assert 0 < len(failed) < 6
    assert failed["error"].str.contains("comparison_methods.py").all(), "the traceback is kept"
    rest = found.selections.query("method != 'broken'").reset_index(drop=True)
    assert rest["positions"].tolist() == small_comparison().selections["positions"].tolist()
    assert "broken" in found.summary().index


def test_reference_that_raises():
    class Never(Correlated):
        def __call__(self, problem, size, rng):
            raise RuntimeError("never")

    with pytest.warns(UserWarning, match="failed in 6 of 6"):
        found = small_comparison({**METHODS, "variegate": Never()})
    assert len(found.failures) == 18
    assert found.failures.query("method == 'any'")["error"].str.contains("'variegate', which sets the size").all()


def test_preparation_that_raises():
    def similarity(X):
        raise RuntimeError("no similarity")

    with pytest.warns(UserWarning, match="no similarity"):
        found = small_comparison(similarity=similarity)
    assert len(found.failures) == 18
    with pytest.raises(ValueError, match=r"Every method failed.*; see \.failures"):
        found.summary()


def test_failed_methods_are_tried_again(tmp_path, monkeypatch):
    path = tmp_path / "run.db"
    with pytest.warns(UserWarning, match="failed"):
        small_comparison(similarity=unlucky, store=path)
    monkeypatch.setenv("VARIEGATE_LUCK", "good")
    assert_same(small_comparison(similarity=unlucky, store=path), small_comparison(similarity=unlucky))
    assert stored(path) == 18


def unlucky(X):
    if "VARIEGATE_LUCK" not in os.environ:
        raise RuntimeError("bad luck")
    return X.T


# --- the file -------------------------------------------------------------------------------------------------------


def test_two_calls_are_not_mixed(tmp_path):
    path = tmp_path / "run.db"
    small_comparison(store=path)
    with pytest.raises(StoreError, match=r"another call.*seed: 3 there, 4 here"):
        small_comparison(store=path, random_state=4)
    with pytest.raises(StoreError, match=r"another call.*test_size: 0.2 there, 0.3 here"):
        small_comparison(store=path, test_size=0.3)
    with pytest.raises(StoreError, match=r"another call.*y: "):
        small_comparison(store=path, task="classification")
    with pytest.raises(StoreError, match=r"reference: "):
        small_comparison({**METHODS, "variegate": Correlated(0.2)}, store=path)
    assert stored(path) == 18


def test_corrupt_store_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "run.db"
    small_comparison(store=path)
    whole = path.read_bytes()
    for damaged in (b"nonsense" * 1000, whole[: len(whole) // 2], whole[:4096] + bytes(len(whole) - 4096)):
        path.write_bytes(damaged)
        with pytest.raises(StoreError, match=r"run.db"):
            small_comparison(store=path)
        assert path.read_bytes() == damaged
    path.write_bytes(b"")  # killed before the first word
    assert_same(small_comparison(store=path), small_comparison())


def test_somebody_elses_database_is_refused(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE accounts (name TEXT)")
    db.close()
    with pytest.raises(StoreError, match="another database"):
        small_comparison(store=path)
    with pytest.raises(StoreError, match="existing folder"):
        small_comparison(store=tmp_path / "nowhere" / "run.db")


def test_results_are_written_whole_or_not_at_all(tmp_path):
    with Store(tmp_path / "run.db", {}) as store:
        with pytest.raises(TypeError):
            store.add({"a": 1, "b": object()})
        assert store.results() == {}
        store.add({"a": 1})
        store.add({"a": 2})
        assert store.results() == {"a": 2}


def test_full_disk_is_reported_and_what_was_written_stays(tmp_path):
    with Store(tmp_path / "run.db", {"seed": 0}) as store:
        store.add({"a": 1})
        pages = store._db.execute("PRAGMA page_count").fetchone()[0]
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match=r"run\.db cannot be written \(.*full.*the same call continues"):
            store.add({"b": "x" * 100_000})
    with Store(tmp_path / "run.db", {"seed": 0}) as store:
        assert store.results() == {"a": 1}


def test_two_processes_may_begin_a_store_at_once(tmp_path):
    path = tmp_path / "run.db"
    Store(path, {"seed": 0}).__exit__(None, None, None)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    rows = other.execute("SELECT * FROM variegate_call").fetchall()
    other.execute("DELETE FROM variegate_call")
    other.execute("BEGIN IMMEDIATE")  # the other process has found the file empty, and is writing what it is for
    other.executemany("INSERT INTO variegate_call VALUES (?, ?)", rows)
    commit = threading.Timer(0.5, other.execute, ["COMMIT"])
    commit.start()
    with Store(path, {"seed": 0}) as store:
        store.add({"a": 1})
        assert store.results() == {"a": 1}
    commit.join()
    other.close()


# --- progress -------------------------------------------------------------------------------------------------------


def test_bar_on_a_terminal_and_elsewhere(monkeypatch):
    monkeypatch.setattr("variegate.estimators.progress.EVERY", 0.0)
    terminal, file = Terminal(), io.StringIO()
    for stream in (terminal, file):
        with ProgressBar(4, stream=stream) as bar:
            for _ in range(4):
                bar.advance()
    assert terminal.getvalue().count("\r") == 5  # each redrawn, and the last one left standing
    assert "████████████░░░░░░░░░░░░ 2 of 4 done in 0:00, 0:00 left" in terminal.getvalue()
    assert file.getvalue() == "variegate: 4 of 4 done in 0:00, 0:00 left\n"
    assert clock(59.7) == "1:00"


def test_progress_can_be_silenced(capsys):
    small_comparison(repeats=1)
    assert capsys.readouterr().err == ""
    small_comparison(repeats=1, progress=True)
    assert "1 of 1 done" in capsys.readouterr().err


def test_processes_end_when_nobody_wants_more():
    """Ctrl-C between two results, say: busy workers must not go on without us."""
    jobs = [(0.0,), (60.0,), (60.0,)]
    results = Processes(None, 2).results(nap, jobs)
    next(results)
    ours = [child for child in multiprocessing.active_children() if ".loky." in type(child).__module__]
    assert ours
    results.close()
    assert not any(child.is_alive() for child in ours)


def nap(shared, seconds):
    time.sleep(seconds)
