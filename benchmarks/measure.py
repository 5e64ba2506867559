"""Timing on a noisy machine: interleaved runs and medians; memory in a separate process."""

import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median


def interleaved(candidates: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each candidate.

    They take turns, so a slow minute affects all of them, in an order that is reversed every round, so cache effects
    do, too. The first round, which compiles and starts threads, is not counted.
    """
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for run in candidates.values():
        run()
    for turn in range(rounds):
        for name in list(candidates)[:: 1 - 2 * (turn % 2)]:
            start = time.perf_counter()
            candidates[name]()
            seconds[name].append(time.perf_counter() - start)
    return {name: median(times) for name, times in seconds.items()}


def peak_bytes() -> int:
    """Peak memory of this process. Linux's ru_maxrss would include the memory of the parent when it forked."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def in_child(code: str) -> dict[str, float]:
    """Run code that defines a dict `result` in a new interpreter; return it with its peak memory as `peak_bytes`."""
    code = (
        "from benchmarks.measure import peak_bytes\n"
        + code
        + "\nimport json\nresult['peak_bytes'] = peak_bytes()\nprint(json.dumps(result))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def versions(*packages: str) -> str:
    """Versions and machine in one line."""
    found = ", ".join(f"{name} {version(name)}" for name in packages)
    return f"Python {platform.python_version()}, {found}; {platform.machine()}, {cpu_count()} cores"


def cpu_count() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.2f} s"
