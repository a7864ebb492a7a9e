"""Compares two builds of the program: the bytes of their results, and the times of their operations.

    python benches/two_builds.py OLD NEW SNAPSHOT [--device cuda] [--rounds 5] [--threads N] [--times-only]

OLD and NEW are executables. Results: `halos` with each finder, `dbscan`, `hdbscan`, `emst` and `knn`; arrays are to be equal byte for byte,
and of catalogues the rows in all columns that both have. Times: rounds of `bench`, OLD and NEW in turn, each the first in half of the
rounds; the least time of each operation counts. Prints a table of ratios NEW / OLD. Exit status 1: some result differs.
"""

import argparse
import json
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
ON_CPU = "build,range_count,range_crs,half_count,knn,fof,dbscan_fdbscan,dbscan_densebox,emst,hdbscan,hop"
ON_DEVICE = "build,range_count,range_crs,half_count,knn,fof,dbscan_fdbscan,dbscan_densebox,emst,hop"


def run(program, arguments, folder):
    """Runs a program in a folder; ends this one if it fails."""
    done = subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{program} {' '.join(arguments)}: {done.stderr.strip()}")


def columns(path):
    """The columns of an ECSV table, by their names, as text."""
    rows = [line.split(",") for line in path.read_text().splitlines() if not line.startswith("#")]
    return {column[0]: column[1:] for column in zip(*rows)}


def differences(old, new):
    """Yields a sentence for each result in two folders that differs; nothing for files of one of them alone."""
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
    """Compares all results; returns whether they are equal."""
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


def least_times(programs, snapshot, arguments, rounds):
    """The least time of each operation for each program, in seconds."""
    best = [{}, {}]
    for turn in range(rounds):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            with tempfile.TemporaryDirectory() as scratch:
                run(programs[which], ["bench", snapshot, "--json", "times.json", *arguments], scratch)
                for row in json.loads((Path(scratch) / "times.json").read_text()):
                    best[which][row["op"]] = min(row["min_s"], best[which].get(row["op"], row["min_s"]))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("old", "new", "snapshot"):
        parser.add_argument(name, type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reps", default="5", help="repetitions in each round")
    parser.add_argument("--threads")
    parser.add_argument("--ops")
    parser.add_argument("--times-only", action="store_true")
    args = parser.parse_args()
    programs = (args.old, args.new)
    equal = args.times_only or compare_results(programs, args.snapshot)
    operations = args.ops or (ON_CPU if args.device == "cpu" else ON_DEVICE)
    arguments = ["--device", args.device, "--ops", operations, "--reps", args.reps]
    if args.threads:
        arguments += ["--threads", args.threads]
    old, new = least_times(programs, args.snapshot, arguments, args.rounds)
    print(f"\n{'operation':20} {'old, ms':>10} {'new, ms':>10} {'new / old':>10}")
    for name in old:
        print(f"{name:20} {1e3 * old[name]:10.3f} {1e3 * new[name]:10.3f} {new[name] / old[name]:10.3f}")
    sys.exit(not equal)


main()
