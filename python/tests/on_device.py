"""Tests that need an NVIDIA GPU, with CuPy, PyTorch and JAX, or some of them.

    PYTHONPATH=<an unpacked wheel built with the feature cuda> python3 on_device.py [--points p.npy] [--linking-length 0.01]
        [--program ropewalk]

Compares every function on the device with the processor, array for array; passes invalid arrays; runs other streams while arrays
are exchanged; counts the bytes copied between host and device; measures times. The exit code is 1 if any check fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

COUNTER = "ROPEWALK_TRANSFERS"

if __name__ == "__main__" and COUNTER not in os.environ:
    # The counter must be loaded before all other libraries.
    library = Path(tempfile.mkdtemp()) / "transfers.so"
    source = Path(__file__).with_name("transfers.c")
    subprocess.run(["gcc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    os.environ[COUNTER] = os.environ["LD_PRELOAD"] = str(library)
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    os.execv(sys.executable, [sys.executable, *sys.argv])

import numpy as np
from on_device_answers import answers, from_numpy, small
from on_device_input import wrong_input, wrong_input_of_torch
from on_device_streams import bytes_moved, memory, order_of_streams, threads
from on_device_support import failures, libraries, passed
from on_device_times import times


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", help="a .npy file to take times on")
    parser.add_argument("--linking-length", type=float)
    parser.add_argument("--program", help="the program ropewalk, built with the feature cuda, for its times")
    arguments = parser.parse_args()
    found = libraries()
    for name, library in found.items():
        for dtype in [np.float32, np.float64]:
            for dim in [2, 3]:
                for box in [None, 1.0]:
                    answers(name, library, 4000, dim, dtype, box)
            # One dimension with its own f64 kernels, and some that are padded to a larger one.
            for dim, box in [(1, 1.0), (5, None), (6, 1.0), (9, None)]:
                answers(name, library, 4000, dim, dtype, box)
        small(library)
        threads(library)
    from_numpy()
    if "CuPy" in found:
        library = found["CuPy"]
        answers("CuPy", library, 200_000, 3, np.float32, 1.0)
        wrong_input(library)
        order_of_streams(library)
        memory(library)
        bytes_moved(library)
        times(library, arguments.points, arguments.linking_length, arguments.program)
    if "Torch" in found:
        wrong_input_of_torch(found["Torch"])
    print(f"{len(passed)} checks passed, {len(failures)} failed")
    for failure in failures:
        print("FAILED:", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
