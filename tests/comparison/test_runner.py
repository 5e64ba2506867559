"""The same table, however it was computed and whatever died on the way."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
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
from variegate.comparison import StoreError, run_jobs

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
        with suppress(TimeoutError):  # Dask does not replace a worker whose connection broke
            client.wait_for_workers(2, timeout=30)  # one that is being replaced cannot be closed


# what joblib and distributed leave open or deprecate is theirs
@pytest.mark.real
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_dask_cluster_is_sent_the_data_once(cluster):
    Counted.sent = 0
    serial = small_comparison(similarity=Counted())
    with joblib.parallel_config(backend="dask"):
        assert_same(serial, small_comparison(similarity=Counted()))
        assert Counted.sent == 1


@pytest.mark.real
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_dask_cluster_whose_workers_die_ends_the_run(cluster, tmp_path):
    with joblib.parallel_config(backend="dask"), pytest.raises(RuntimeError, match="worker process died"):
        small_comparison({**METHODS, "deadly": kills}, store=tmp_path / "run.jsonl")
    assert_same(small_comparison(store=tmp_path / "run.jsonl"), small_comparison())


@pytest.mark.real
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_dask_cluster_without_workers_is_not_waited_for_for_ever(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("variegate.comparison.runner.PATIENCE", 0.5)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as local,
        distributed.Client(local),
        joblib.parallel_config(backend="dask"),
        pytest.raises(TimeoutError, match=r"no worker for 0\.5 seconds"),
    ):
        small_comparison(repeats=1)


# --- dying and going on -------------------------------------------------------------------------------------------


@pytest.mark.real
def test_run_ends_with_a_worker_that_dies_and_continues(tmp_path):
    methods = {**METHODS, "deadly": KillsOnce(str(tmp_path / "killed"))}
    with pytest.raises(RuntimeError, match="worker process died"):
        small_comparison(methods, n_jobs=2, store=tmp_path / "run.jsonl")
    assert_same(small_comparison(methods, n_jobs=2, store=tmp_path / "run.jsonl"), small_comparison(methods))


SLOW = {**METHODS, "slow": Correlated(level=0.1, seconds=0.15)}
SCRIPT = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
from comparison_methods import *
small_comparison({{**METHODS, "slow": Correlated(level=0.1, seconds=0.15)}}, repeats=40, store=sys.argv[1])
"""


def stored(path):
    """Return how many results a store holds."""
    lines = path.read_text().split("\n")[1:-1] if path.exists() else []
    return len({key for line in lines for key in json.loads(line)["results"]})


@pytest.mark.real
@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_killed_in_the_middle_and_resumed(tmp_path, how):
    path = tmp_path / "run.jsonl"
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
    path = tmp_path / "run.jsonl"
    first = small_comparison(store=path)
    monkeypatch.setattr("variegate.comparison.study.Study.part", lambda *_: pytest.fail("it was computed again"))
    assert_same(first, small_comparison(store=path))
    assert first.table["seconds"].tolist() == small_comparison(store=path).table["seconds"].tolist()


def test_store_takes_more_repeats_and_more_methods(tmp_path):
    path = tmp_path / "run.jsonl"
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
        found = small_comparison({**METHODS, "broken": broken}, store=tmp_path / "run.jsonl")
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
    path = tmp_path / "run.jsonl"
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
    path = tmp_path / "run.jsonl"
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
    path = tmp_path / "run.jsonl"
    first = small_comparison(store=path)
    whole = path.read_bytes()
    start = whole.index(b'"R2": ')
    flipped = [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(start, start + 60, 5)]
    for damaged in (b"nonsense" * 1000, b"nonsense\n", bytes(range(256)), whole[whole.index(b"\n") + 1 :], *flipped):
        path.write_bytes(damaged)
        with pytest.raises(StoreError, match=r"run\.jsonl (is damaged|must be)"):
            small_comparison(store=path)
        assert path.read_bytes() == damaged
    path.write_bytes(whole)
    assert_same(small_comparison(store=path), first)
    path.write_bytes(b"")  # killed before the first word
    assert_same(small_comparison(store=path), first)
    with pytest.raises(StoreError, match="existing folder"):
        small_comparison(store=tmp_path / "nowhere" / "run.jsonl")


def test_a_line_that_was_cut_is_written_again(tmp_path):
    path = tmp_path / "run.jsonl"
    first = small_comparison(store=path)
    whole = path.read_bytes()
    for end in (len(whole) - 1, len(whole) - 20, whole.index(b"\n") + 3):
        path.write_bytes(whole[:end])
        assert_same(small_comparison(store=path), first)
        assert stored(path) == 18


def test_full_disk_is_reported_and_what_was_written_stays(tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "run.jsonl"
    run_jobs(_long, 10, lambda known: [("a",)], store=path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, before[1]))
    try:
        with pytest.raises(StoreError, match=r"cannot be used .*large"):
            run_jobs(_long, 100_000, lambda known: [("b",)], store=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(run_jobs(_long, 10, lambda known: [], store=path)) == ["a"]


def _long(n, key):
    return {key: "x" * n}


def test_two_processes_may_begin_a_store_at_once(tmp_path):
    path = tmp_path / "run.jsonl"
    first = small_comparison(store=path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *lines, *lines[1:]]))
    assert_same(small_comparison(store=path), first)
    with pytest.raises(StoreError, match="another call"):
        small_comparison(store=path, random_state=4)


# --- progress -------------------------------------------------------------------------------------------------------


def test_progress_can_be_silenced(capsys):
    small_comparison(repeats=1)
    assert capsys.readouterr().err == ""
    small_comparison(repeats=1, progress=True)
    assert "1 of 1 done" in capsys.readouterr().err


def test_processes_end_when_nobody_wants_more(monkeypatch):
    """Ctrl-C between two results, say: busy workers must not go on without us."""
    started = time.monotonic()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("variegate.comparison.runner.ProgressLine.show", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_jobs(nap, None, lambda _: [(0.0,), (60.0,), (60.0,)], n_jobs=2, progress=True)
    assert time.monotonic() - started < 50
    assert not [child for child in multiprocessing.active_children() if "Loky" in child.name and child.is_alive()]


@pytest.mark.real
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
def test_processes_end_with_a_killed_parent(tmp_path):
    script = PARENT.format(tests=str(TESTS), path=str(tmp_path / "pid"))
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    while not (tmp_path / "pid").exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.wait()
    worker, patience = Path("/proc") / (tmp_path / "pid").read_text(), time.monotonic() + 20
    while worker.exists() and "State:\tZ" not in (worker / "status").read_text():
        assert time.monotonic() < patience, "the worker goes on"
        time.sleep(0.1)


PARENT = """
import sys
sys.path.insert(0, {tests!r})
from comparison_methods import says_who
from variegate.comparison import run_jobs
run_jobs(says_who, {path!r}, lambda _: [(60.0,), (60.0,)], n_jobs=2)
"""


def nap(shared, seconds):
    time.sleep(seconds)
    return {}
