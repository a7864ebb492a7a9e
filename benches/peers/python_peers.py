#!/usr/bin/env python3
"""Times ropewalk and Python libraries on the same file, in the same run, with the same number of threads, and compares their
results.

Each library runs in a separate process, so that its memory peak can be measured. The process does one repetition on each request.
For ropewalk it is the Rust program of this folder with --serve. Repetitions are interleaved (A B C A B C ...), so that drift of the machine affects
all libraries alike. See README.md.
"""

import argparse
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OPS = ["build", "range_count", "knn", "fof", "dbscan", "emst", "mutual_reachability", "hdbscan"]
THREADS = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "PARLAY_NUM_THREADS", "RAYON_NUM_THREADS"]
THREADS += ["NUMBA_NUM_THREADS"]
COLUMNS = ["op", "library", "threads", "median s", "min s", "ratio", "beyond input MB", "agrees"]


def read(path):
    """Returns positions as an (N, 3) array of f32, from .npy or Gadget-2 (format 1)."""
    import numpy as np

    if path.endswith(".npy"):
        points = np.load(path)
    else:
        with open(path, "rb") as file:
            if np.fromfile(file, "<u4", 1)[0] != 256:
                sys.exit(f"{path}: unknown format; use .npy or little-endian Gadget-2 of format 1")
            n = int(np.fromfile(file, "<u4", 6).sum())
            file.seek(4 + 256 + 4)
            if np.fromfile(file, "<u4", 1)[0] != 12 * n:
                sys.exit(f"{path}: positions must be float32")
            points = np.fromfile(file, "<f4", 3 * n).reshape(n, 3)
    if points.dtype != np.float32 or points.ndim != 2 or points.shape[1] != 3:
        sys.exit(f"{path}: points must be float32 of shape (N, 3)")
    return points


# The libraries. For each operation, a function returns the function to be timed and one that computes the check from its result.
# Preparation before that is not timed, including the conversion to f64 for libraries that require it.


def groups(labels, singles=False):
    """Returns the check of labels. Labels below 0, and if `singles` those of only one point, are noise."""
    import numpy as np

    labels = np.asarray(labels)
    _, sizes = np.unique(labels[labels >= 0], return_counts=True)
    sizes = sizes[sizes >= (2 if singles else 1)]
    return {"groups": len(sizes), "noise": int(len(labels) - sizes.sum()), "largest": int(sizes.max(initial=0))}


def neighbors(counts):
    return {"neighbors": int(counts.sum())}


def distances(result):
    return {"distances": float(result[0].sum(dtype="f8"))}


def weights(tree):
    return {"weights": float(tree.sum(dtype="f8"))}


def ropewalk_(op, points, to):
    """The package of this repository, called as by its users."""
    import ropewalk

    ropewalk.set_threads(to.threads)
    samples = {"min_samples": to.min_pts}
    if op == "build":
        return lambda: ropewalk.Bvh(points), lambda tree: {"points": len(tree)}
    if op in ("range_count", "knn"):
        tree = ropewalk.Bvh(points)
        if op == "knn":
            return lambda: tree.nearest_neighbors(to.k, include_self=True), distances
        return lambda: tree.count_neighbors(to.radius), neighbors
    if op == "fof":
        return lambda: ropewalk.friends_of_friends(points, to.eps).labels, lambda labels: groups(labels, singles=True)
    if op == "dbscan":
        return lambda: ropewalk.DBSCAN(eps=to.eps, **samples).fit(points).labels_, groups
    if op == "hdbscan":
        return lambda: ropewalk.HDBSCAN(min_cluster_size=to.min_cluster_size, ties="together", **samples).fit(points).labels_, groups
    samples = samples if op == "mutual_reachability" else {}
    return lambda: ropewalk.minimum_spanning_tree(points, **samples).weights, weights


def scipy_(op, points, to):
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree
    import numpy as np

    n, points = len(points), points.astype("f8")
    if op == "build":
        return lambda: cKDTree(points), lambda tree: {"points": int(tree.n)}
    if op == "fof":

        def fof():
            pairs = cKDTree(points).query_pairs(to.eps, output_type="ndarray")
            graph = coo_matrix((np.ones(len(pairs), "i1"), (pairs[:, 0], pairs[:, 1])), (n, n))
            return connected_components(graph, directed=False)[1]

        return fof, lambda labels: groups(labels, singles=True)
    if op in ("range_count", "knn"):
        tree = cKDTree(points)
        if op == "knn":
            return lambda: tree.query(points, to.k, workers=to.threads), distances
        return lambda: tree.query_ball_point(points, to.radius, workers=to.threads, return_length=True), neighbors


def sklearn_(op, points, to):
    from sklearn.cluster import DBSCAN
    from sklearn.neighbors import KDTree, NearestNeighbors

    if op == "build":
        return lambda: KDTree(points), lambda tree: {"points": len(tree.idx_array)}
    if op == "range_count":
        tree = KDTree(points)
        return lambda: tree.query_radius(points, to.radius, count_only=True), neighbors
    if op == "knn":
        # Only this class has threads. The tree is built before timing.
        near = NearestNeighbors(n_neighbors=to.k, algorithm="kd_tree", n_jobs=to.threads).fit(points)
        return lambda: near.kneighbors(points), distances
    min_pts = 2 if op == "fof" else to.min_pts
    dbscan = DBSCAN(eps=to.eps, min_samples=min_pts, algorithm="kd_tree", n_jobs=to.threads)
    return lambda: dbscan.fit(points).labels_, groups


def pykdtree_(op, points, to):
    from pykdtree.kdtree import KDTree

    if op == "build":
        return lambda: KDTree(points), lambda tree: {"points": int(tree.n)}
    if op == "knn":
        tree = KDTree(points)
        return lambda: tree.query(points, k=to.k), distances


def wang(op, points, to):
    """Wang, Gu and Shun."""
    from dbscan import DBSCAN

    if op in ("fof", "dbscan"):
        points, min_pts = points.astype("f8"), 2 if op == "fof" else to.min_pts
        return lambda: DBSCAN(points, to.eps, min_pts)[0], groups


def kdcount_(op, points, to):
    import kdcount

    points = points.astype("f8")
    if op == "build":
        # Trees are built at their first use.
        return lambda: kdcount.KDTree(points).root, lambda root: {"points": len(points)}
    if op == "fof":
        return lambda: kdcount.KDTree(points).root.fof(to.eps), lambda labels: groups(labels, singles=True)


def hfof_(op, points, to):
    from hfof import fof

    if op == "fof":
        points = points.astype("f8")
        return lambda: fof(points, to.eps), lambda labels: groups(labels, singles=True)


def pyfof_(op, points, to):
    import numpy as np
    import pyfof

    if op == "fof":
        points = points.astype("f8")

        def check(lists):
            labels = np.empty(len(points), "i8")
            for label, members in enumerate(lists):
                labels[members] = label
            return groups(labels, singles=True)

        return lambda: pyfof.friends_of_friends(points, to.eps), check


def quitefastmst_(op, points, to):
    import quitefastmst

    quitefastmst.omp_set_num_threads(to.threads)
    points = points.astype("f8")
    # The library does not count the point itself; 0 selects the plain length.
    samples = to.min_pts - 1 if op == "mutual_reachability" else 0
    return lambda: quitefastmst.mst_euclid(points, samples)[0], weights


def hdbscan_(op, points, to):
    from hdbscan import HDBSCAN

    points = points.astype("f8")
    # The library does not count the point itself, and is approximate by default.
    found = HDBSCAN(
        min_cluster_size=to.min_cluster_size,
        min_samples=to.min_pts - 1,
        algorithm="boruvka_kdtree",
        approx_min_span_tree=False,
        core_dist_n_jobs=to.threads,
    )
    return lambda: found.fit(points).labels_, groups


def fast_hdbscan_(op, points, to):
    from fast_hdbscan import HDBSCAN
    import numba

    numba.set_num_threads(to.threads)
    # Like hdbscan, the library does not count the point itself.
    found = HDBSCAN(min_cluster_size=to.min_cluster_size, min_samples=to.min_pts - 1)
    # Functions are compiled at their first call.
    found.fit(points[:1000])
    return lambda: found.fit(points).labels_, groups


# Name: function, package, operations, and the operations that always use one thread.
LIBRARIES = {
    "ropewalk.py": (ropewalk_, "ropewalk", " ".join(OPS), ""),
    "scipy": (scipy_, "scipy", "build range_count knn fof", "build fof"),
    "scikit-learn": (sklearn_, "scikit-learn", "build range_count knn fof dbscan", "build range_count"),
    "pykdtree": (pykdtree_, "pykdtree", "build knn", "build"),
    "dbscan": (wang, "dbscan", "fof dbscan", ""),
    "kdcount": (kdcount_, "kdcount", "build fof", "build fof"),
    "hfof": (hfof_, "hfof", "fof", "fof"),
    "pyfof": (pyfof_, "pyfof", "fof", "fof"),
    "quitefastmst": (quitefastmst_, "quitefastmst", "emst mutual_reachability", ""),
    "hdbscan": (hdbscan_, "hdbscan", "hdbscan", ""),
    "fast_hdbscan": (fast_hdbscan_, "fast_hdbscan", "hdbscan", ""),
}


def peak_bytes():
    """Returns the memory peak of this process. getrusage is not used, since it includes the parent's peak."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))


def serve(library, op, to):
    """The worker process; answers like `--serve` of the Rust program."""
    # Redirects the library's own output to stderr, so that it is not mistaken for an answer.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    say = lambda **answer: print(json.dumps(answer), file=answers)
    enter = LIBRARIES[library][0]
    try:
        points = read(to.file)
        # Runs with few points first, so that imports do not count as memory of the operation.
        enter(op, points[: max(64, to.k)].copy(), to)
        before = peak_bytes()
        entered = enter(op, points, to)
    except ImportError as error:
        return say(skipped=f"not installed ({error})")
    if entered is None:
        return say(skipped="no such operation")
    run, check = entered
    say(ready=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        result = run()
        seconds = time.perf_counter() - start
        peak = peak_bytes() - before
        say(seconds=seconds, check=check(result), peak_bytes=peak)
        del result


class Worker:
    """A library in a separate process."""

    def __init__(self, library, op, to, command, threads):
        self.library, self.op, self.threads = library, op, threads
        self.seconds, self.check, self.peak, self.skipped = [], None, None, None
        environment = os.environ | {name: str(to.threads) for name in THREADS} | {"OMP_WAIT_POLICY": "passive"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env=environment
        )
        self.skipped = self.answer().get("skipped")

    def answer(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"skipped": f"died (exit status {self.process.wait()})"}

    def run(self, timed):
        try:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.answer()
        if "skipped" in answer:
            self.skipped = answer["skipped"]
            return 0.0
        if self.check is None:
            self.check, self.peak = answer["check"], answer["peak_bytes"]
            print(f"{self.op} {self.library}: {self.check}", file=sys.stderr)
        if timed:
            self.seconds.append(answer["seconds"])
        return answer["seconds"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def agreement(op, expected, got):
    """Compares a check with the reference, as in answer.rs, which gives the reasons."""
    if expected == got:
        return "yes"
    if expected.keys() != got.keys():
        return f"NO: {got}"
    for sum in got.keys() & {"distances", "weights"}:
        relative = got[sum] / expected[sum] - 1
        return "yes" if abs(relative) <= 1e-5 else f"NO: {relative:+.1e} of the sum"
    apart = {name: got[name] - expected[name] for name in got}
    text = ", ".join(f"{difference:+} {name}" for name, difference in apart.items())
    if op == "dbscan" and apart["groups"] == apart["noise"] == 0:
        harmless, why = abs(apart["largest"]) <= 0.01 * expected["largest"], "border points"
    else:
        total = expected.get("neighbors") or expected.get("groups", 0) + expected.get("noise", 0)
        harmless, why = all(abs(difference) <= 2 + 2e-6 * total for difference in apart.values()), "rounding"
    return f"{text} ({why})" if harmless else f"NO: {text}"


def race(op, libraries, to, rust):
    """Returns the rows of one operation."""
    command = ["--ops", op, "--eps", to.eps, "--radius", to.radius, "--min-pts", to.min_pts, "--k", to.k]
    command += ["--min-cluster-size", to.min_cluster_size, "--threads", to.threads]
    command = [str(word) for word in [to.file, *command]]
    workers = []
    for name in to.rust:
        workers.append(Worker(name, op, to, [rust, *command, "--peers", name, "--serve"], to.threads))
    for name in libraries:
        if op in LIBRARIES[name][2].split():
            threads = 1 if op in LIBRARIES[name][3].split() else to.threads
            python = [sys.executable, os.path.abspath(__file__), *command, "--serve", name]
            workers.append(Worker(name, op, to, python, threads))
    slow = set()
    for repetition in range(to.reps + 1):
        for worker in workers:
            if not worker.skipped and worker not in slow:
                # The first repetition is for warming up, unless it is the only one.
                if worker.run(timed=repetition > 0) > to.cap and repetition == 0:
                    slow.add(worker)
                    worker.run(timed=True)
    rows = [row(op, worker, [w for w in workers if w.seconds]) for worker in workers]
    for worker in workers:
        worker.close()
    return [row for row in rows if row["skipped"] != "no such operation"]


def row(op, worker, timed):
    package = LIBRARIES[worker.library][1] if worker.library in LIBRARIES else None
    try:
        version = importlib.metadata.version(package) if package else ""
    except importlib.metadata.PackageNotFoundError:
        version = ""
    found = {"op": op, "library": worker.library, "version": version, "threads": worker.threads}
    found |= {"reps": len(worker.seconds), "skipped": worker.skipped}
    if worker.seconds and not worker.skipped:
        median, first = statistics.median(worker.seconds), timed[0]
        found |= {"median_s": median, "min_s": min(worker.seconds), "versus": first.library}
        found |= {"ratio": median / statistics.median(first.seconds), "check": worker.check}
        found |= {"peak_bytes": worker.peak, "agrees": agreement(op, first.check, worker.check)}
    return found


def markdown(rows):
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for row in rows:
        cells = [row["op"], f"{row['library']} {row['version']}".strip(), str(row["threads"])]
        if row["skipped"] or "median_s" not in row:
            cells += ["-"] * 4 + [f"skipped: {row['skipped']}"]
        else:
            versus = "" if row["versus"] == "ropewalk" else f" of {row['versus']}"
            memory = "-" if row["peak_bytes"] is None else f"{row['peak_bytes'] / 1e6:.1f}"
            cells += [f"{row['median_s']:.4f}", f"{row['min_s']:.4f}", f"{row['ratio']:.2f}{versus}", memory]
            cells += [row["agrees"] + (" (one repetition)" if row["reps"] == 1 else "")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def build_rust():
    """Returns the path of the Rust program, after building it if necessary."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", f"{HERE}/Cargo.toml"]
    subprocess.run(command, check=True)
    metadata = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--manifest-path", f"{HERE}/Cargo.toml"]
    target = json.loads(subprocess.run(metadata, check=True, capture_output=True).stdout)["target_directory"]
    return os.path.join(target, "release", "ropewalk-peers")


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="points: .npy of shape (N, 3) and type float32, or Gadget-2")
    parser.add_argument("--ops", default=",".join(OPS))
    parser.add_argument("--peers", default=",".join(LIBRARIES), help="Python libraries [default: all]")
    parser.add_argument("--rust", default="ropewalk", help="libraries of the Rust program; others are compared with the first")
    parser.add_argument("--radius", type=float, help="radius of range_count [default: eps]")
    parser.add_argument("--eps", type=float, help="linking length of fof and dbscan [default: 0.2 mean separations]")
    parser.add_argument("--min-pts", type=int, default=10, help="min_samples of dbscan, mutual_reachability and hdbscan, including the point itself")
    parser.add_argument("--min-cluster-size", type=int, default=10, help="minimum cluster size of hdbscan")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--reps", type=int, default=5, help="repetitions after one warm-up; the minimum is reported")
    parser.add_argument("--cap", type=float, default=120.0, help="run a library only once more after this many seconds")
    parser.add_argument("--json", help="write the table as JSON lines")
    parser.add_argument("--serve", choices=LIBRARIES, help=argparse.SUPPRESS)
    to = parser.parse_args()
    to.ops, to.rust = to.ops.split(","), to.rust.split(",")
    if unknown := set(to.ops) - set(OPS) or set(to.peers.split(",")) - set(LIBRARIES):
        parser.error(f"unknown operation or library: {', '.join(unknown)}")
    return to


def main():
    to = options()
    if to.serve:
        return serve(to.serve, to.ops[0], to)
    rust = build_rust()
    points = read(to.file)
    n = len(points)
    if to.eps is None:
        low, high = points.min(axis=0).astype("f8"), points.max(axis=0).astype("f8")
        to.eps = float(0.2 * ((high - low).prod() / n) ** (1 / 3))
    to.radius = to.eps if to.radius is None else to.radius
    del points
    rows = [row for op in to.ops for row in race(op, to.peers.split(","), to, rust)]
    settings = f"radius {to.radius}, eps {to.eps}, min_pts {to.min_pts}, min_cluster_size {to.min_cluster_size}"
    settings += f", k {to.k}, threads {to.threads}"
    print(f"{os.path.basename(to.file)}: {n} points, {settings}\n\n{markdown(rows)}")
    if to.json:
        with open(to.json, "w") as file:
            file.writelines(json.dumps(row | {"n": n}) + "\n" for row in rows)


if __name__ == "__main__":
    main()
