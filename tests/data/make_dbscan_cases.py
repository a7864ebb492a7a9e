#!/usr/bin/env python3
"""Writes dbscan_cases.txt next to this file: small random sets with the results of scikit-learn's DBSCAN.

    python3 make_dbscan_cases.py            # numpy 2.4, scikit-learn 1.9; the same bytes each time

The file is text with tokens separated by single spaces. Lines that start with # are comments. It consists of repetitions of

    set KIND TYPE DIM N      a set of N points; TYPE is f32 or f64
    ...                      N lines of DIM coordinates, as shortest decimals of TYPE, which are exact when parsed as TYPE
    ask EPS MIN              a question about the set above: eps (f64, shortest decimal) and min_samples
    weights W ...            only if there are weights: N integers or multiples of 1/2
    labels L ...             the answer: N labels, -1 for noise; a * after a label marks a core point

A set has several questions. Each answer is that of scikit-learn, and is written only if it equals the definition computed here in
plain f64: two points are neighbours if the sum of the squares of their differences is at most eps * eps. scikit-learn's trees
accept or reject whole nodes by distances with a square root, so its result may differ for distances that equal eps. Such questions
are omitted, and their number is in the last lines of the output.
"""

import pathlib

import numpy as np
from sklearn.cluster import DBSCAN

SETS = 420
QUESTIONS = 3
OUT = pathlib.Path(__file__).with_name("dbscan_cases.txt")
rng = np.random.default_rng(20231121)


def count_of_points():
    """Returns a size from 1 to 200, small ones with a higher probability."""
    return 1 + int(200.0 * rng.uniform() ** 2.5)


def blobs(n, dim):
    centers = rng.uniform(0.0, 1.0, (rng.integers(1, 6), dim))
    points = centers[rng.integers(0, len(centers), n)] + rng.normal(0.0, 0.05, (n, dim))
    scattered = rng.uniform(size=n) < 0.15
    points[scattered] = rng.uniform(0.0, 1.0, (scattered.sum(), dim))
    return points


def line(n, dim):
    """Returns points along a line in random order, most of them in runs of equal steps."""
    at = rng.choice(np.arange(2 * n), n, replace=True) * rng.choice([0.1, 0.25, 1.0])
    return at[:, None] * rng.normal(size=dim)


def copies(n, dim):
    """Returns up to 50 copies of each position."""
    places = blobs(n, dim)
    many = rng.integers(1, 51, n)
    return rng.permutation(np.repeat(places, many, axis=0)[:n])


def side(n, dim):
    return max(2, int(np.ceil((2.0 * n) ** (1.0 / dim))))


KINDS = {
    "uniform": lambda n, dim: rng.uniform(0.0, 1.0, (n, dim)),
    "blobs": blobs,
    # Integers, whose distances tie exactly. About half of the positions are occupied, some of them twice.
    "grid": lambda n, dim: rng.integers(0, side(n, dim), (n, dim)).astype(float),
    # Tenths, which are not binary numbers: distances that should tie differ in their last bits.
    "tenths": lambda n, dim: rng.integers(0, side(n, dim), (n, dim)) * 0.1,
    "copies": copies,
    "line": line,
    "flat": lambda n, dim: np.hstack([blobs(n, dim - 1), np.full((n, 1), 0.7)]),
    "scales": lambda n, dim: blobs(n, dim) * rng.choice([1.0, 1e-3, 1e-6], (n, 1)),
    "tiny": lambda n, dim: blobs(n, dim) * 1e-30,
    "huge": lambda n, dim: (blobs(n, dim) - 0.5) * 1e30,
    # There, the spacing of f32 is 1/16 and that of f64 1e-10.
    "far": lambda n, dim: blobs(n, dim) * 4.0 + 1e6,
    "far grid": lambda n, dim: rng.integers(0, side(n, dim), (n, dim)) * 0.25 - 1e6,
}


def squared_distances(points):
    """Returns squared distances as in the definition, summed in the order of the axes."""
    total = np.zeros((len(points), len(points)))
    for x in points.T:
        difference = x[:, None] - x[None, :]
        total = total + difference * difference
    return total


def radius(kind, d2, least):
    """Returns an eps for no, few, many or all neighbours, often exactly a distance, or the next number below one."""
    distances = np.sqrt(np.unique(d2[d2 > 0.0]))
    if len(distances) == 0:
        return float(rng.choice([1e-300, 0.5, 3.0]))
    style = rng.choice(["step", "tie", "below", "between", "all", "none"], p=[0.25, 0.25, 0.1, 0.3, 0.05, 0.05])
    if style == "step" and "grid" in kind or kind == "tenths":
        step = {"grid": 1.0, "far grid": 0.25, "tenths": 0.1}[kind]
        return float(step * rng.choice([1.0, np.sqrt(2.0), np.sqrt(3.0), 2.0, 3.0]))
    if style == "all":
        return float(distances[-1] * rng.choice([1.0, 1.0000001, 10.0]))
    if style == "none":
        return float(distances[0] * rng.choice([0.5, 0.9999999]))
    # The distance to some point's k-th neighbour, often the one that decides whether the point is core.
    k = min(len(d2) - 1, int(rng.choice([1, 2, 4, least - 1, least - 1, least, least + 1])))
    near = np.sqrt(np.sort(d2, axis=1)[:, k])
    eps = float(rng.choice(near[near > 0.0])) if (near > 0.0).any() else float(distances[0])
    if style == "below":
        return float(np.nextafter(eps, 0.0))
    return eps * float(rng.uniform(0.7, 1.5)) if style == "between" else eps


def definition(d2, eps, least, weights):
    """Returns the clusters of Ester et al. 1996, numbered by the smallest core point. A border point joins the lowest-numbered
    cluster."""
    close = d2 <= eps * eps
    weights = np.ones(len(d2)) if weights is None else weights
    core = np.array([weights[row].sum() for row in close]) >= least
    labels = np.full(len(d2), -1)
    clusters = 0
    for start in np.flatnonzero(core):
        if labels[start] >= 0:
            continue
        reached = [start]
        labels[start] = clusters
        while reached:
            for other in np.flatnonzero(close[reached.pop()] & core & (labels < 0)):
                labels[other] = clusters
                reached.append(other)
        clusters += 1
    joined = labels.copy()
    contested = 0
    for point in np.flatnonzero(~core):
        near = labels[close[point] & core]
        if len(near):
            joined[point] = near.min()
            contested += near.min() != near.max()
    return joined, core, contested


def shortest(x):
    """Returns the shortest decimal that parses to x in its own type."""
    text = np.format_float_scientific(x, trim="-") if x != 0.0 and not 1e-4 <= abs(x) < 1e9 else repr(x.item())
    if isinstance(x, np.float32) and "e" not in text:
        text = np.format_float_positional(x, trim="-")
    return text.removesuffix(".0").replace("e+", "e").replace("e0", "e").replace("e-0", "e-")


def main():
    lines = ["# Made by make_dbscan_cases.py, which documents the format. Do not edit."]
    seen = dict.fromkeys(["questions", "departures", "weighted", "f32", "ties", "all noise", "one cluster", "contested"], 0)
    for number in range(SETS):
        kind = list(KINDS)[number % len(KINDS)]
        n = [1, 2, 200][number // len(KINDS)] if number < 3 * len(KINDS) else count_of_points()
        dim = int(rng.integers(2, 6))
        scalar = np.float32 if rng.uniform() < 0.5 else np.float64
        stored = KINDS[kind](n, dim).astype(scalar)
        points = stored.astype(np.float64)
        d2 = squared_distances(points)
        lines.append(f"set {kind.replace(' ', '-')} {stored.dtype.name.replace('loat', '')} {dim} {n}")
        lines += [" ".join(map(shortest, point)) for point in stored]
        for question in range(QUESTIONS):
            least = int(rng.choice([1, 2, 3, 5, 10, n, n + 1], p=[0.06, 0.12, 0.26, 0.28, 0.2, 0.04, 0.04]))
            eps = radius(kind, d2, least)
            weights = None
            if question == number % QUESTIONS:
                # Multiples of 1/2, so that sums are exact. A third of them are 0, but not all, which scikit-learn rejects.
                weights = rng.integers(1, 7, n) * 0.5 * (rng.uniform(size=n) < 0.67)
                weights[0] = weights[0] if weights.any() else 0.5
            # 'brute' computes distances by dot products, which are rounded differently; the trees use differences.
            method = str(rng.choice(["kd_tree", "ball_tree"]))
            found = DBSCAN(eps=eps, min_samples=least, algorithm=method).fit(points, sample_weight=weights)
            labels, core, contested = definition(d2, eps, least, weights)
            seen["questions"] += 1
            if not (np.array_equal(found.labels_, labels) and np.array_equal(found.core_sample_indices_, np.flatnonzero(core))):
                seen["departures"] += 1
                print(f"departs: set {number} ({kind}, n {n}), {method}, eps {eps!r}, min_samples {least}")
                continue
            seen["weighted"] += weights is not None
            seen["f32"] += scalar is np.float32
            seen["ties"] += bool((np.sqrt(d2) == eps).any())
            seen["all noise"] += bool((labels < 0).all())
            seen["one cluster"] += bool((labels == 0).all())
            seen["contested"] += contested > 0
            lines.append(f"ask {shortest(np.float64(eps))} {least}")
            if weights is not None:
                lines.append("weights " + " ".join(f"{weight:g}" for weight in weights))
            marks = (f"{label}{'*' if is_core else ''}" for label, is_core in zip(found.labels_, core))
            lines.append("labels " + " ".join(marks))
    OUT.write_text("\n".join(lines) + "\n")
    print(f"{SETS} sets, {OUT.stat().st_size} bytes;", ", ".join(f"{count} {name}" for name, count in seen.items()))


if __name__ == "__main__":
    main()
