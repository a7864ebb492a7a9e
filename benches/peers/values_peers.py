"""Moving least squares of degree 2 with 20 neighbours: ropewalk and a threaded program with scipy.

scipy's program uses cKDTree with all threads, then pieces of targets on the same number of threads. For each piece, it solves the
weighted least squares of all targets at once, by normal equations (numpy.linalg.solve) or by QR (numpy.linalg.qr), which has
smaller rounding errors. The weight is Wendland's of second order, which falls to zero at 1.1 times the distance of the last
neighbour, as in ropewalk. Values are compared first, some of them also with scipy.linalg.lstsq, which pivots.

    cargo build --release --bin op_server               (here)
    python values_peers.py                           (needs numpy and scipy)
"""

import argparse
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the only parallelism is over pieces

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy.linalg import lstsq
from scipy.spatial import cKDTree

from op_server import OpServer, in_turns

K = 20
PIECE = 1 << 12


def rows(sources, targets, distances, indices):
    """Returns the monomials of offsets in units of the radius, and the weights."""
    radius = 1.1 * distances[:, -1:]
    d = (sources[indices] - targets[:, None, :]) / radius[..., None]
    x, y, z = d[..., 0], d[..., 1], d[..., 2]
    monomials = np.stack([np.ones_like(x), x, y, z, x * x, x * y, x * z, y * y, y * z, z * z], -1)
    r = distances / radius
    return monomials, (1 - r) ** 4 * (4 * r + 1)


def by_normal_equations(monomials, weights, values):
    weighted = np.swapaxes(monomials * weights[..., None], 1, 2)
    return np.linalg.solve(weighted @ monomials, weighted @ values[..., None])[:, 0, 0]


def by_qr(monomials, weights, values):
    roots = np.sqrt(weights)
    q, r = np.linalg.qr(monomials * roots[..., None])
    return np.linalg.solve(r, np.swapaxes(q, 1, 2) @ (values * roots)[..., None])[:, 0, 0]


def moving_least_squares(fit, sources, targets, values, threads):
    tree = cKDTree(sources)
    found = np.empty(len(targets))

    def piece(first):
        own = slice(first, first + PIECE)
        monomials, weights = rows(sources, targets[own], distances[own], indices[own])
        found[own] = fit(monomials, weights, values[indices[own]])

    distances, indices = tree.query(targets, K, workers=threads)
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(piece, range(0, len(targets), PIECE)))
    return found


def by_lstsq(sources, targets, values):
    distances, indices = cKDTree(sources).query(targets, K)
    monomials, weights = rows(sources, targets, distances, indices)
    roots = np.sqrt(weights)
    fitted = [lstsq(m * r[:, None], r * v)[0][0] for m, r, v in zip(monomials, roots, values[indices])]
    return np.array(fitted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=float, default=1e6)
    parser.add_argument("--targets", type=float, default=1e6)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--reps", type=int, default=3, help="repetitions after one warm-up; the minimum is reported")
    options = parser.parse_args()
    rng = np.random.default_rng(11)
    sources, targets = rng.random((int(options.sources), 3)), rng.random((int(options.targets), 3))
    values = np.sin(5 * sources[:, 0]) * np.cos(4 * sources[:, 1]) + sources[:, 2] ** 2
    print(f"{len(sources)} sources, {len(targets)} targets; threads {options.threads}; load {os.getloadavg()[0]:.2f}", flush=True)

    server = OpServer("values", options.threads, sources=sources, targets=targets, values=values)
    server.run("ropewalk", "moving_least_squares")
    ours = server.answer()[0]
    fits = {"normal equations": by_normal_equations, "QR": by_qr}
    run = lambda fit: moving_least_squares(fit, sources, targets, values, options.threads)
    worst = {f"scipy, {name}": np.abs(run(fit) - ours).max() for name, fit in fits.items()}
    some = slice(0, 1000)
    worst["1000 by scipy.linalg.lstsq"] = np.abs(by_lstsq(sources, targets[some], values) - ours[some]).max()
    print("  values differ by at most: " + ", ".join(f"{name} {most:.1g}" for name, most in worst.items()), flush=True)
    if not max(worst.values()) < 1e-6:
        raise SystemExit("values differ by 1e-6 or more")

    def timed(fit):
        start = time.perf_counter()
        run(fit)
        return time.perf_counter() - start

    runs = {"ropewalk": lambda: server.run("ropewalk", "moving_least_squares")[0]}
    runs |= {f"scipy, {name}": lambda fit=fit: timed(fit) for name, fit in fits.items()}
    taken = in_turns(runs, options.reps)
    print("  tree, neighbours and fits: " + ", ".join(f"{name} {s:.2f} s ({s / taken['ropewalk']:.2f})" for name, s in taken.items()))
    server.close()


if __name__ == "__main__":
    main()
