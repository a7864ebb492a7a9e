"""Times on a device, compared with the program. Run by `on_device.py`."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import ropewalk
from on_device_support import calls, cloud, spacing, step


def best(call, times: int = 7) -> float:
    """Returns the shortest of several times, in milliseconds."""
    call()
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return 1e3 * min(taken)


def of_program(program, x, eps) -> dict[str, float]:
    """Returns the Rust program's times for points on the device, in milliseconds: the shortest of seven."""
    with tempfile.TemporaryDirectory() as folder:
        points, out = Path(folder) / "points.npy", Path(folder) / "times.json"
        np.save(points, x)
        command = [program, "bench", points, "--eps", repr(float(eps)), "--min-pts", "5", "--device", "cuda", "--reps", "7"]
        command += ["--ops", ",".join(NAMES.values()), "--json", out]
        quiet = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
        subprocess.run([str(part) for part in command], env=quiet, check=True, stdout=subprocess.DEVNULL)
        return {row["op"]: 1e3 * row["min_s"] for row in json.loads(out.read_text())}


#: The Rust program's names of Python functions.
NAMES = {"friends_of_friends": "fof", "dbscan": "dbscan_densebox", "minimum_spanning_tree": "emst"}


@step
def times(library, path, length, program) -> None:
    sets = {"a million": (cloud(1_000_000, 3, np.float32), None)}
    if path is not None:
        points = np.ascontiguousarray(np.load(path))
        sets[Path(path).name] = (points, length)
    print(f"{'':24}{'points':>12}{'on the device':>16}{'program':>14}{'ratio':>14}{'from NumPy':>14}{'processor':>14}   (ms)")
    for name, (x, length) in sets.items():
        there, eps = library.put(x), length or 0.2 * spacing(x)
        theirs = of_program(program, x, eps) if program else {}
        for what, call in calls(eps).items():
            if what in NAMES:
                row = [best(lambda: call(there))]
                rust = theirs.get(NAMES[what], float("nan"))
                row += [rust, row[0] / rust]
                if what != "minimum_spanning_tree":
                    function = getattr(ropewalk, what)
                    row += [best(lambda: function(x, eps, device="cuda"), 3), best(lambda: function(x, eps), 1)]
                print(f"{what:24}{len(x):>12}" + "".join(f"{t:>15.2f}" for t in row) + f"   {name}")
