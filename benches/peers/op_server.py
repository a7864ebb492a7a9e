"""The Rust program `op_server`, which runs an operation on request, and timing in turns."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PROGRAM = Path(__file__).parent / "target/release/op_server"


class OpServer:
    """Arrays in a folder, and the program that works on them."""

    def __init__(self, what, threads, **arrays):
        self.folder = tempfile.TemporaryDirectory()
        for name, array in arrays.items():
            array.tofile(f"{self.folder.name}/{name}")
        self.process = subprocess.Popen([PROGRAM, what, self.folder.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, "RAYON_NUM_THREADS": str(threads)})

    def run(self, library, op):
        """Runs an operation and returns the numbers printed: seconds and, for a build, the bytes of the result and the peak of
        allocated bytes."""
        print(library, op, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{library} {op}: the program exited")
        return [float(x) for x in line.split()]

    def answer(self):
        """Returns the results of the last operation: a number and a triangle for each query."""
        triangles = np.fromfile(f"{self.folder.name}/triangles", "<u4").astype(np.int64)
        triangles[triangles == 2**32 - 1] = -1
        return np.fromfile(f"{self.folder.name}/answer", "<f8"), triangles

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.folder.cleanup()


def in_turns(runs, reps):
    """Returns the shortest time in seconds of each of `{name: run}`, run in turns A B C A B C. The first round warms up and does
    not count."""
    seconds = {name: [] for name in runs}
    for _ in range(1 + reps):
        for name, run in runs.items():
            seconds[name].append(run())
    return {name: min(taken[1:]) for name, taken in seconds.items()}
