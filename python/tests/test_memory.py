"""Each public call under a memory limit that it exceeds must return a result or raise: never abort or hang.

Each case runs in a separate process (`memory_runner.py`), since a memory limit cannot be lifted again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_cases import CASES

#: With a value other than 0, all limits and more points are tested.
WIDE = os.environ.get("ROPEWALK_MEMORY_WIDE", "0") != "0"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is Linux's")


def run(cases: list[str], shares: list[float], timeout: int, **environment: str) -> list[dict[str, object]]:
    """Returns the outcome of each case at each share of the memory that it needs."""
    command = [sys.executable, str(Path(__file__).parent / "memory_runner.py"), json.dumps([cases, shares])]
    # Without arenas of 64 MiB of address space per thread, the limits are close to what calls allocate.
    threads = {"MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env={**os.environ, **threads, **environment})
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


#: The exceptions that a call may raise. `ImportError`: a library that is loaded late does not fit into memory.
EXCEPTIONS = {"MemoryError", "ArrayMemoryError", "RuntimeError", "ImportError", "OSError", "MPLMemoryError"}


def check(rows: list[dict[str, object]]) -> None:
    bad = [row for row in rows if row["end"] not in ("returned", *EXCEPTIONS)]
    assert not bad, "\n".join(map(str, bad))


def test_no_call_aborts() -> None:
    shares = [0.02, 0.05, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95] if WIDE else [0.25, 0.6, 0.8, 0.9]
    rows = run(sorted(CASES), shares, 3600 if WIDE else 600)
    check(rows)
    # Checks that the limits take effect: calls with results as large as the input end with a MemoryError.
    failed = {row["case"] for row in rows if row["end"] == "MemoryError"}
    assert {"Bvh", "dbscan", "HDBSCAN.fit", "hop", "linkage", "Bvh.pairs", "Mesh", "halos"} <= failed


def test_a_call_succeeds_after_one_that_found_no_memory() -> None:
    code = """if True:
        import resource, numpy as np, ropewalk as rw
        rw.set_threads(2)
        x = np.random.default_rng(0).random((1_000_000, 3))
        small = x[:1000].copy()
        expected = rw.HDBSCAN().fit(small).labels_
        used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (100 << 20), resource.RLIM_INFINITY))
        for _ in range(3):
            try:
                rw.HDBSCAN().fit(x)
                raise SystemExit("there was memory")
            except MemoryError:
                pass
            assert np.array_equal(rw.HDBSCAN().fit(small).labels_, expected)
    """
    # The C library otherwise keeps address space of freed buffers, at most 64 MiB for each thread.
    environment = os.environ | {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "131072"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr


def test_no_hang_with_backtraces() -> None:
    # Printing a backtrace allocates under a lock. If the allocation fails while others wait for the lock, the call never ends.
    loops = 5 if WIDE else 2
    for _ in range(loops):
        rows = run(["HDBSCAN.fit", "linkage"], [0.4, 0.6, 0.8], 120, RUST_BACKTRACE="1")
        check(rows)
        assert any(row["end"] == "MemoryError" for row in rows)
