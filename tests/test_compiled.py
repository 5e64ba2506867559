"""Ctrl-C while numba loads a function: it arrives afterwards, and the function is complete."""

import signal
import subprocess
import sys

import pytest

from variegate.compiled import _HoldSignals, numba

INTERRUPTED_WHILE_LOADING = """
import signal
from numba.core.codegen import CPUCodeLibrary

load, left = CPUCodeLibrary._object_getbuffer_hook, [True]

def interrupted(cls, *arguments):
    if left:
        left.pop()
        signal.raise_signal(signal.{signal})
    return load(*arguments)

CPUCodeLibrary._object_getbuffer_hook = classmethod(interrupted)

from variegate.metrics import concordance

signal.signal(signal.{signal}, signal.default_int_handler)
try:
    concordance([1, 2], [True, True], [2, 1])
except KeyboardInterrupt:
    print("interrupted", concordance([1, 2], [True, True], [2, 1]))
"""


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_ctrl_c_while_compiled_code_is_loaded(number):
    script = INTERRUPTED_WHILE_LOADING.format(signal=number)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, "interrupted 1.0\n", "")


def test_handlers_are_restored():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    assert numba.njit(lambda x: x + 1)(1) == 2
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


@pytest.fixture
def arrived():
    """Signals that reached the handlers of this test."""
    found = []
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, frame: found.append(number)) for number in numbers]
    yield found
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def test_signals_wait_for_the_outermost_lock(arrived):
    held, before = _HoldSignals(), signal.getsignal(signal.SIGINT)
    held.on_start(None), held.on_start(None)
    signal.raise_signal(signal.SIGINT)
    held.on_end(None)
    assert arrived == []
    held.on_end(None)
    assert arrived == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) == before


def test_a_handler_that_raises_stays_the_handler(arrived):
    held = _HoldSignals()

    def interrupting(number, frame):
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupting)
    held.on_start(None)
    held.pending.append(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        held.on_end(None)
    assert signal.getsignal(signal.SIGINT) is interrupting
    held.on_start(None), held.on_end(None)
    assert signal.getsignal(signal.SIGINT) is interrupting
    assert held.pending == []
