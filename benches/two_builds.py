"""Compares two builds of the program: the bytes of their results, and the times of their operations.

    python benches/two_builds.py OLD NEW SNAPSHOT [--device cuda] [--rounds 5] [--threads N] [--times-only]

OLD and NEW are executables. Results: `halos` with each finder, `dbscan`, `hdbscan`, `emst` and `knn`. Arrays must be equal byte for
byte, and catalogues in all columns that both have. Times: rounds of `bench` and, on the CPU, of `raycast` for a wavy square of
180,000 triangles and a box of 12. OLD and NEW run in turns, each first in half of the rounds, and the shortest time of each
operation counts. Prints a table of ratios NEW / OLD. Exit status 1: a result differs.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

FINDERS = {
    "fof": [],
    "hop": ["--finder", "hop"],
    "adaptahop": ["--finder", "adaptahop"],
    "centers": ["--center", "mbp,mcp", "--so", "200c,vir"],
}
OF_POINTS = {
    "dbscan": ["--eps", "0.1", "--min-pts", "10", "--out", "labels.npy"],
    "hdbscan": ["--min-cluster-size", "20", "--out", "labels.npy", "--probabilities", "probabilities.npy"],
    "emst": ["--out", "edges.npy", "--weights", "weights.npy"],
    "knn": ["--k", "8", "--out", "neighbors.npy", "--distances", "distances.npy"],
}
# Operations that had another name in earlier builds.
EARLIER_NAMES = {"range_csr": "range_crs"}
ON_CPU = "build,range_count,range_csr,half_count,knn,fof,dbscan_fdbscan,dbscan_densebox,emst,hdbscan,hop"
ON_DEVICE = "build,range_count,range_csr,half_count,knn,fof,dbscan_fdbscan,dbscan_densebox,emst,hop"


def run(program, arguments, folder):
    """Runs a program in a folder, and exits if it fails."""
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{program} {' '.join(arguments)}: {done.stderr.strip()}")


def columns(path):
    """Returns the columns of an ECSV table as text, by name."""
    rows = [line.split(",") for line in path.read_text().splitlines() if not line.startswith("#")]
    return {column[0]: column[1:] for column in zip(*rows)}


def differences(old, new):
    """Yields a description of each difference between the results in two folders. Files in only one of them are ignored."""
    names = sorted(path.name for path in old.iterdir() if path.suffix in (".npy", ".ecsv") and (new / path.name).exists())
    if not names:
        yield "no results"
    for name in names:
        if name.endswith(".npy"):
            if (old / name).read_bytes() != (new / name).read_bytes():
                yield f"{name} differs"
            continue
        a, b = columns(old / name), columns(new / name)
        if not a.keys() & b.keys():
            yield f"{name}: no column in common"
        for column in a.keys() & b.keys():
            if a[column] != b[column]:
                rows = sum(x != y for x, y in zip(a[column], b[column]))
                yield f"{name}: {column} differs in {rows} of {len(a[column])} rows"


def compare_results(programs, snapshot):
    """Compares all results, and returns `True` if they are equal."""
    calls = {f"halos {name}": ["halos", snapshot, "--out", ".", "--no-pictures", *options] for name, options in FINDERS.items()}
    calls |= {name: [name, snapshot, *options] for name, options in OF_POINTS.items()}
    equal = True
    for name, arguments in calls.items():
        with tempfile.TemporaryDirectory() as scratch:
            folders = [Path(scratch) / which for which in ("old", "new")]
            for program, folder in zip(programs, folders):
                folder.mkdir()
                run(program, arguments, folder)
            different = list(differences(*folders))
        print(f"{name:20} {'; '.join(different) or 'equal'}", flush=True)
        equal &= not different
    return equal


def write_meshes(folder):
    """Writes a wavy square and a box as OBJ files, and returns their paths by name."""
    n = 300
    square = [f"v {i / n} {j / n} {0.05 * math.sin(37 * i / n) * math.cos(41 * j / n)}" for i in range(n + 1) for j in range(n + 1)]
    first = [i * (n + 1) + j + 1 for i in range(n) for j in range(n)]
    square += [f"f {a} {a + 1} {a + n + 2} {a + n + 1}" for a in first]
    box = [f"v {i & 1} {i >> 1 & 1} {0.7 * (i >> 2)}" for i in range(8)]
    box += [f"f {face}" for face in ("1 2 4 3", "5 6 8 7", "1 2 6 5", "3 4 8 7", "1 3 7 5", "2 4 8 6")]
    for name, lines in (("square", square), ("box", box)):
        (folder / f"{name}.obj").write_text("\n".join(lines) + "\n")
    return {name: str(folder / f"{name}.obj") for name in ("square", "box")}


def earlier_names(program, snapshot):
    """Returns the names of operations that a program does not know by their name of today."""
    known = subprocess.run([program, "bench", snapshot, "--ops", "unknown"], capture_output=True, text=True).stderr
    return {name: old for name, old in EARLIER_NAMES.items() if name not in known}


def operations(program, snapshot, meshes, arguments, threads, folder, earlier):
    """Returns the times of operations in seconds, by name."""
    arguments = [",".join(earlier.get(name, name) for name in argument.split(",")) for argument in arguments]
    run(program, ["bench", snapshot, "--json", "times.json", *arguments, *threads], folder)
    name_today = {old: name for name, old in earlier.items()}
    times = {name_today.get(row["op"], row["op"]): row["min_s"] for row in json.loads((folder / "times.json").read_text())}
    for name, path in meshes.items():
        run(program, ["raycast", path, "--out", "picture.png", "--json", "rays.json", *threads], folder)
        times[f"rays, {name}"] = json.loads((folder / "rays.json").read_text())["seconds"]["rays"]
    return times


def least_times(programs, snapshot, arguments, threads, rounds, with_rays):
    """Returns the shortest time of each operation for each program, in seconds."""
    best, earlier = [{}, {}], [earlier_names(program, snapshot) for program in programs]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        meshes = write_meshes(folder) if with_rays else {}
        for turn in range(rounds):
            for which in (0, 1) if turn % 2 == 0 else (1, 0):
                for name, time in operations(programs[which], snapshot, meshes, arguments, threads, folder, earlier[which]).items():
                    best[which][name] = min(time, best[which].get(name, time))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("old", "new", "snapshot"):
        parser.add_argument(name, type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reps", default="5", help="repetitions in each round")
    parser.add_argument("--threads")
    parser.add_argument("--ops", help="operations of `bench`; rays are then left out")
    parser.add_argument("--times-only", action="store_true")
    args = parser.parse_args()
    programs = (args.old, args.new)
    equal = args.times_only or compare_results(programs, args.snapshot)
    wanted = args.ops or (ON_CPU if args.device == "cpu" else ON_DEVICE)
    arguments = ["--device", args.device, "--ops", wanted, "--reps", args.reps]
    threads = ["--threads", args.threads] if args.threads else []
    old, new = least_times(programs, args.snapshot, arguments, threads, args.rounds, args.device == "cpu" and not args.ops)
    print(f"\n{'operation':20} {'old, ms':>10} {'new, ms':>10} {'new / old':>10}")
    for name in old:
        print(f"{name:20} {1e3 * old[name]:10.3f} {1e3 * new[name]:10.3f} {new[name] / old[name]:10.3f}")
    sys.exit(not equal)


main()
