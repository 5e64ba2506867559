"""Parallel work: all of it is done, errors are raised, and the number of cores does not change the result."""

import os
import signal
import threading

import numpy as np
import pytest

from variegate import design, threads


@pytest.fixture
def cores(monkeypatch):
    """Pretend to have a number of cores."""

    def pretend(n):
        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(n)), raising=False)

    return pretend


def test_parts_run_at_the_same_time_where_there_are_cores(cores):
    cores(2)
    both_here = threading.Barrier(2, timeout=10)
    threads.side_by_side(lambda part: both_here.wait(), [0, 1])  # one after the other would break it


def test_one_core_does_the_parts_in_turn(cores):
    cores(1)
    seen = []
    threads.side_by_side(lambda part: seen.append((part, threading.current_thread())), [0, 1, 2])
    assert seen == [(part, threading.current_thread()) for part in (0, 1, 2)]


def test_many_processes_may_forbid_it(cores, monkeypatch):
    cores(8)
    assert threads.allowed() == 8
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert threads.allowed() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert threads.allowed() == 8


def test_an_error_in_a_part_arrives(cores):
    cores(2)
    with pytest.raises(ZeroDivisionError):
        threads.side_by_side(lambda part: 1 // part, [1, 0])


def test_how_numpy_treats_overflow_is_inherited(cores):
    cores(2)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        threads.side_by_side(lambda part: np.square(np.array([part])), [1.0, 1e300])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("M", [1, 2, 301])
@pytest.mark.parametrize("rough", [False, True])
def test_products_do_not_depend_on_the_number_of_cores(cores, monkeypatch, order, dtype, M, rough):
    monkeypatch.setattr(design, "LARGE_PRODUCT", 0)
    rng = np.random.default_rng(0)
    X = np.asarray(3 + rng.normal(size=(40, M)), dtype=dtype, order=order)
    A, T = rng.normal(size=(7, 40)), rng.random((3, 40))
    table = design.Design.of(X, np.ones(40))
    table = table.roughly() if rough else table
    found = []
    for n in (1, 2):
        cores(n)
        found.append(table.cross_and_squares(A, T))
    Z = (X - X.mean(axis=0, dtype=np.float64)) / X.std(axis=0, dtype=np.float64)
    for one, two, by_hand in zip(*found, (A @ Z, T @ Z**2), strict=True):
        np.testing.assert_array_equal(one, two)
        np.testing.assert_allclose(one, by_hand, atol=1e-4 if rough else 1e-10)


def test_background_work_can_be_interrupted():
    started, end = threading.Event(), threading.Event()

    def work():
        started.set()
        end.wait(60)

    def interrupt():
        started.wait(10)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            threads.in_background(work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not end.is_set()  # it did not wait for the work
    end.set()


def test_background_work_raises_its_errors():
    with pytest.raises(ZeroDivisionError):
        threads.in_background(lambda: 1 // 0)
