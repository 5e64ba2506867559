"""A real cluster of three processes: the same answer to the last digit, and no chunk moves."""

import os
import signal

import numpy as np
import pytest

import variegate as vg
from large_tables import genotypes, write_bed
from variegate.cli import main
from variegate.large import as_large_table, cluster, open_on_cluster

pytestmark = [
    pytest.mark.real,
    pytest.mark.filterwarnings("ignore::variegate.ConvergenceWarning", "ignore::DeprecationWarning"),
    # what distributed leaves open is its own
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
dask_array, distributed = pytest.importorskip("dask.array"), pytest.importorskip("distributed")
N, M, CHUNKS = 120, 1000, (40, 125)
WORKERS = 3
QUICK = {"random_state": 0, "max_iter": 2, "screen": 30}
# As in a table of gigabytes: what a worker may hold (managed memory, in bytes) is less than half of the table.
MOST_HELD = 8 * N * M // 2


def make_chunk(block_info=None):
    """A chunk as workers make it, of double precision."""
    (top, bottom), (left, right) = block_info[None]["array-location"]
    rng = np.random.default_rng([top, left])
    return rng.normal(size=(bottom - top, right - left))


def table():
    chunks = ((CHUNKS[0],) * (N // CHUNKS[0]), (CHUNKS[1],) * (M // CHUNKS[1]))
    return dask_array.map_blocks(make_chunk, chunks=chunks, dtype=np.float64, meta=np.empty((0, 0)))


@pytest.fixture(scope="module")
def outcome():
    X = table().compute(scheduler="synchronous")
    return X[:, 70] - X[:, 700] + 0.6 * X[:, 901] + 0.5 * np.random.default_rng(0).normal(size=N)


@pytest.fixture(scope="module")
def alone(outcome):
    """The answer of this process."""
    return vg.DiverseRegressor(**QUICK).fit(table(), outcome)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("dask"))
    options = {"n_workers": WORKERS, "threads_per_worker": 1, "memory_limit": "1GB", "dashboard_address": ":0"}
    with (
        pytest.MonkeyPatch.context() as patch,
        distributed.LocalCluster(local_directory=folder, silence_logs=50, **options) as local,
        distributed.Client(local) as found,
    ):
        patch.setattr(cluster, "WAIT", 0.5)
        yield found
        found.wait_for_workers(WORKERS)


def moved(client):
    """Keys that workers got from each other, by their own logs."""
    logs = client.run(lambda dask_worker: [list(entry["keys"]) for entry in dask_worker.transfer_incoming_log])
    return [key for log in logs.values() for keys in log for key in keys]


def chunks_among(keys, X):
    return [key for key in keys if isinstance(key, tuple) and key[0] == X.name]


def held(client):
    """The most bytes of chunks that a worker holds."""
    found = client.run(lambda dask_worker: sum(dask_worker.data[key].nbytes for key in dask_worker.data
                                               if isinstance(dask_worker.data[key], np.ndarray)))  # fmt: skip
    return max(found.values())


def assert_identical(model, other):
    np.testing.assert_array_equal(model.inclusion_probabilities_, other.inclusion_probabilities_)
    np.testing.assert_array_equal(model.coef_, other.coef_)
    assert model.selection_.certificate == other.selection_.certificate


def test_chunks_in_the_memory_of_workers_stay_there(client, outcome, alone):
    X = table().persist()
    distributed.wait(X)
    assert 0 < held(client) < 8 * N * M  # on several workers
    model = vg.DiverseRegressor(**QUICK).fit(X, outcome)
    assert_identical(model, alone)
    assert model.selection_.certificate.left_out > M / 2
    names = moved(client)
    assert names  # what was found travels,
    assert not chunks_among(names, X)  # chunks do not;
    chunk = distributed.futures_of(X)[0]
    ((here,),) = client.who_has([chunk]).values()
    other = next(address for address in client.nthreads() if address != here)
    client.submit(len, chunk, workers=[other]).result()
    assert chunks_among(moved(client), X)  # and the logs would tell
    np.testing.assert_array_equal(model.predict(X), alone.predict(table()))


def test_chunks_that_are_made_when_needed_are_not_kept(client, outcome, alone):
    X = table() + 0.0  # of another name than the one before
    model = vg.DiverseRegressor(**QUICK).fit(X, outcome)
    assert_identical(model, alone)
    assert held(client) < MOST_HELD
    assert not chunks_among(moved(client), X)


class KillsOnce:
    """A first look during which a worker dies, once."""

    def __init__(self, work, path):
        self.work, self.path = work, path

    def of_block(self, values, block):
        if block.columns.start == 500 and block.rows.start == 40:
            try:
                os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return self.work.of_block(values, block)

    def together(self, upper, lower):
        return self.work.together(upper, lower)

    def of_columns(self, found, columns):
        return self.work.of_columns(found, columns)


@pytest.mark.parametrize("persisted", [True, False])
def test_one_worker_killed_in_the_middle(client, outcome, alone, persisted, tmp_path, monkeypatch):
    X = table().persist() if persisted else table()
    distributed.wait(X)
    before = set(client.run(os.getpid).values())
    assert len(before) == WORKERS
    plain = cluster.DaskTable.over_columns
    flag = str(tmp_path / "killed")
    monkeypatch.setattr(cluster.DaskTable, "over_columns", lambda self, work: plain(self, KillsOnce(work, flag)))
    model = vg.DiverseRegressor(**QUICK).fit(X, outcome)
    assert os.path.exists(flag)
    assert_identical(model, alone)
    client.wait_for_workers(WORKERS)
    assert before - set(client.run(os.getpid).values()), "no worker was killed"


@pytest.mark.parametrize("kind", ["bed", "npy", "zarr"])
def test_files_are_read_by_the_workers(client, kind, tmp_path):
    X = genotypes(60, 400)
    y = X[:, 30] + 0.3 * np.random.default_rng(0).normal(size=60)
    path = tmp_path / f"table.{kind}"
    if kind == "bed":
        write_bed(path, X)
    elif kind == "npy":
        np.save(path, X)
    else:
        import zarr

        zarr.create_array(str(path), data=X, chunks=(30, 100))
    there = open_on_cluster(path)
    model = vg.DiverseRegressor(**QUICK).fit(there, y)
    memory = vg.DiverseRegressor(**QUICK).fit(as_large_table(X), y)
    np.testing.assert_allclose(model.inclusion_probabilities_, memory.inclusion_probabilities_, atol=1e-6)
    assert model.support_[30]


def test_the_command_line_reads_on_the_cluster(client, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X = genotypes(60, 200)
    write_bed(tmp_path / "scan.bed", X)
    y = X[:, 30] + 0.3 * np.random.default_rng(0).normal(size=60)
    rows = "".join(f"s{i}\t{value}\n" for i, value in enumerate(y))
    (tmp_path / "trait.tsv").write_text(f"id\theight\n{rows}")
    options = ["--outcome", "trait.tsv:height", "--max-iter", "4", "--screen", "20", "--quiet"]
    tables = []
    for where in (["--cluster", client.scheduler.address, "--out", "there"], ["--out", "here"]):
        assert main(["select", "scan.bed", *options, *where]) == 0, capsys.readouterr().err
        tables.append((tmp_path / where[-1] / "selection.csv").read_text())
    assert tables[0] == tables[1]
    assert "v30" in tables[0]


def test_a_cluster_without_workers_is_not_waited_for_for_ever(monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 0.2)
    monkeypatch.setattr(cluster, "WAIT", 0.1)
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as local,
        distributed.Client(local),
        pytest.raises(TimeoutError, match=r"no worker for 0\.2 seconds; start some with `dask worker ADDRESS`"),
    ):
        vg.DiverseRegressor(**QUICK).fit(table(), np.arange(N, dtype=float))
