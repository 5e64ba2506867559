"""Ctrl-C while numba loads a function: it arrives afterwards, and the function is complete."""

import signal
import subprocess
import sys

import pytest

from variegate.compiled import numba

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
