#!/usr/bin/env python3
"""Writes hdbscan_cases.txt next to this file: small random sets with the results of other programs.

    pip install numpy==2.4.6 scikit-learn==1.9.1 hdbscan==0.8.44
    python3 make_hdbscan_cases.py           # the same bytes each time

Clusters depend on the order of ties among the edges of the spanning tree. Here edges are ordered by (squared weight, lower index,
higher index), which makes the tree unique. The tree is computed below in plain f64, and passed to the programs' own functions for
all later steps. Each edge is passed from its end nearer to point 0 in the tree. Results are therefore comparable number by number.

The file is text with tokens separated by single spaces. Lines that start with # are comments. It consists of repetitions of

    set KIND DIM N          a set of N points
    ...                     N lines of DIM coordinates, decimals: parse them as f64
    ask PROGRAM METHOD MIN_CLUSTER_SIZE MIN_SAMPLES EPSILON MAX_CLUSTER_SIZE SINGLE
                            a question about the set above. PROGRAM is who answers: scikit-learn from the tree, "raw" for scikit-learn
                            from the points, hdbscan from the tree. METHOD is eom or leaf, MIN_SAMPLES counts the point itself,
                            MAX_CLUSTER_SIZE 0 is none, SINGLE is 1 where one cluster of all is allowed
    labels L ...            the answer: N labels, -1 for noise
    probabilities P ...     N probabilities
    outliers P ...          maybe: GLOSH scores
    persistence P ...       maybe: one number a cluster
    predict X ... L P       maybe, some lines: a new point, its label and probability

hdbscan compares the sum of stabilities below a cluster as a 32-bit float. If its result without epsilon differs from
scikit-learn's, its questions are omitted and counted.
"""

import pathlib

import numpy as np
from hdbscan._hdbscan_linkage import label as hdbscan_linkage
from hdbscan._hdbscan_tree import compute_stability, condense_tree, get_clusters, outlier_scores
from hdbscan.prediction import _find_cluster_and_probability
from sklearn.cluster import HDBSCAN
from sklearn.cluster._hdbscan._linkage import MST_edge_dtype, make_single_linkage
from sklearn.cluster._hdbscan._tree import tree_to_labels

SETS = 330
OUT = pathlib.Path(__file__).with_name("hdbscan_cases.txt")
rng = np.random.default_rng(20261122)


def blobs(n, dim):
    centers = rng.uniform(0.0, 1.0, (rng.integers(1, 6), dim))
    points = centers[rng.integers(0, len(centers), n)] + rng.normal(0.0, 0.06, (n, dim))
    scattered = rng.uniform(size=n) < 0.2
    points[scattered] = rng.uniform(0.0, 1.0, (scattered.sum(), dim))
    return points


def side(n, dim):
    return max(2, int(np.ceil((2.0 * n) ** (1.0 / dim))))


def copies(n, dim):
    places = blobs(n, dim)
    return rng.permutation(np.repeat(places, rng.integers(1, 7, n), axis=0)[:n])


def lumps(n, dim):
    """Returns integers in lumps: clusters of equal weights that split."""
    return rng.integers(0, 4, (n, 1)) ** 2 * 4.0 + rng.integers(0, 3, (n, dim))


KINDS = {
    "blobs": (blobs, 4),
    "lattice": (lambda n, dim: rng.integers(0, side(n, dim), (n, dim)).astype(float), 0),
    "copies": (copies, 2),
    "uniform": (lambda n, dim: rng.uniform(0.0, 1.0, (n, dim)), 3),
    "lumps": (lumps, 0),
    "coarse": (blobs, 1),
}


def squares(a, b):
    """Returns squared distances, summed in the order of the axes."""
    total = np.zeros((len(a), len(b)))
    for x, y in zip(a.T, b.T):
        difference = x[:, None] - y[None, :]
        total = total + difference * difference
    return total


def spanning_tree(points, samples):
    """Returns (low, high, squared weight) by Kruskal's algorithm on all pairs in order, and the squared core distances."""
    d2 = squares(points, points)
    core2 = np.sort(d2, axis=1)[:, samples - 1]
    weight2 = np.maximum(d2, np.maximum(core2[:, None], core2[None, :]))
    low, high = np.triu_indices(len(points), 1)
    order = np.lexsort((high, low, weight2[low, high]))
    part = np.arange(len(points))
    edges = []
    for i, j in zip(low[order], high[order]):
        if part[i] != part[j]:
            part[part == part[j]] = part[i]
            edges.append((i, j, weight2[i, j]))
    return edges, core2


def from_point_0(edges, n):
    """Returns each edge from its end nearer to point 0 in the tree, with its weight."""
    neighbors = [[] for _ in range(n)]
    for i, j, _ in edges:
        neighbors[i].append(j)
        neighbors[j].append(i)
    depth, open_ = {0: 0}, [0]
    while open_:
        at = open_.pop()
        for other in neighbors[at]:
            if other not in depth:
                depth[other] = depth[at] + 1
                open_.append(other)
    return [(i, j, np.sqrt(w)) if depth[i] < depth[j] else (j, i, np.sqrt(w)) for i, j, w in edges]


def scikit_learn(edges, size, method, single, most):
    mst = np.empty(len(edges), MST_edge_dtype)
    mst["current_node"], mst["next_node"], mst["distance"] = zip(*edges)
    return tree_to_labels(make_single_linkage(mst), size, method, single, 0.0, most or None)


def hdbscan(edges, size, method, single, epsilon, most):
    tree = condense_tree(hdbscan_linkage(np.array(edges, float)), size)
    labels, probabilities, persistence = get_clusters(
        tree, compute_stability(tree), method, single, False, epsilon, most
    )
    return tree, labels, probabilities, persistence


class Tree:
    def __init__(self, raw):
        self._raw_tree = raw


def predict(tree, labels, points, core2, new, samples):
    """Computes hdbscan's approximate_predict, with core distances that count the point itself."""
    clusters = tree[tree["child_size"] > 1]
    n = len(points)
    above = {int(row["child"]): int(row["parent"]) for row in tree}
    # The selected cluster of a label is the topmost one that has only points of this label.
    members = {}
    for point in range(n):
        at = point
        while at in above:
            at = above[at]
            members.setdefault(at, set()).add(int(labels[point]))
    label_of = {c: next(iter(own)) for c, own in members.items() if len(own) == 1 and -1 not in own}
    largest = {}
    for cluster in label_of:
        top = cluster
        while above.get(top) in label_of and label_of[above[top]] == label_of[cluster]:
            top = above[top]
        largest[cluster] = tree["lambda_val"][tree["parent"] == top].max()
    d2 = squares(new, points)
    found = []
    for row in d2:
        order = np.lexsort((np.arange(n), row))[: 2 * samples]
        distances = np.sqrt(row[order])
        # The core distance of a new point is that to its (samples - 1)-th neighbour. For one sample the nearest is used, which
        # makes no difference.
        label, probability, _ = _find_cluster_and_probability(
            Tree(tree), clusters, order, distances, np.sqrt(core2), label_of, largest, max(samples - 2, 0)
        )
        found.append((label, probability))
    return found


def shortest(x):
    return repr(float(x)).removesuffix(".0")


def question(program, method, size, samples, epsilon, most, single, labels, probabilities):
    return [
        f"ask {program} {method} {size} {samples} {shortest(epsilon)} {most} {int(single)}",
        "labels " + " ".join(map(str, labels)),
        "probabilities " + " ".join(shortest(p) if p in (0.0, 1.0) else f"{p:.14g}" for p in probabilities),
    ]


def main():
    lines = ["# Made by make_hdbscan_cases.py, which documents the format. Do not edit."]
    seen = dict.fromkeys(
        ["scikit-learn", "raw", "hdbscan", "floats", "crashes", "leaf", "sizes", "single", "one cluster", "many clusters", "tied", "predicted"], 0
    )
    for number in range(SETS):
        kind = list(KINDS)[number % len(KINDS)]
        make, digits = KINDS[kind]
        dim = int(rng.integers(1, 4))
        n = [2, 3, 4, 120][number // len(KINDS)] if number < 4 * len(KINDS) else 5 + int(75.0 * rng.uniform() ** 2.0)
        points = np.round(make(n, dim), digits) + 0.0
        lines.append(f"set {kind} {dim} {n}")
        lines += [" ".join(map(shortest, point)) for point in points]

        def options():
            size = int(min(rng.integers(2, 7), max(2, n // 2)))
            samples = int(min(rng.choice([1, 2, 3, 5]), n))
            method = "leaf" if rng.uniform() < 0.3 else "eom"
            most = int(rng.integers(size, n + 1)) if rng.uniform() < 0.3 else 0
            return size, samples, method, most, bool(rng.uniform() < 0.3)

        for _ in range(2):
            size, samples, method, most, single = options()
            squared, _ = spanning_tree(points, samples)
            edges = from_point_0(squared, n)
            try:
                labels, probabilities = scikit_learn(edges, size, method, single, most)
            except KeyError:
                # scikit-learn fails if a single cluster is selected that may be the root but is not.
                seen["crashes"] += 1
                continue
            lines += question("scikit-learn", method, size, samples, 0.0, most, single, labels, probabilities)
            seen["scikit-learn"] += 1
            seen["leaf"] += method == "leaf"
            seen["sizes"] += most > 0
            seen["single"] += single
            seen["one cluster"] += labels.max() == 0
            seen["many clusters"] += labels.max() > 0
            seen["tied"] += len({w for _, _, w in squared}) < len(squared)

        # From the points only, for data without ties.
        squared, _ = spanning_tree(points, 1)
        if len({w for _, _, w in squared}) == len(squared) and n > 4:
            size, _, method, most, _ = options()
            found = HDBSCAN(
                min_cluster_size=size, min_samples=1, cluster_selection_method=method, max_cluster_size=most or None,
                algorithm="kd_tree", copy=True,
            ).fit(points)
            lines += question("raw", method, size, 1, 0.0, most, False, found.labels_, found.probabilities_)
            seen["raw"] += 1

        # Epsilon, outliers, persistence, prediction.
        if number % 2 == 0:
            continue
        size, samples, method, most, single = options()
        squared, core2 = spanning_tree(points, samples)
        edges = from_point_0(squared, n)
        _, labels, probabilities, _ = hdbscan(edges, size, method, single, 0.0, most)
        expected, _ = scikit_learn(edges, size, method, single, most) if not single else (labels, None)
        if not np.array_equal(labels, expected):
            seen["floats"] += 1
            continue
        weights = np.array([w for _, _, w in edges])
        for epsilon in [0.0, float(rng.choice(weights) * rng.uniform(0.6, 1.6))]:
            tree, labels, probabilities, persistence = hdbscan(edges, size, method, single, epsilon, most)
            lines += question("hdbscan", method, size, samples, epsilon, most, single, labels, probabilities)
            seen["hdbscan"] += 1
            if epsilon > 0.0:
                continue
            lines.append("outliers " + " ".join(f"{score:.14g}" for score in outlier_scores(tree)))
            if len(persistence):
                lines.append("persistence " + " ".join(f"{share:.14g}" for share in persistence))
            if labels.max() >= 0 and not single and 2 * samples <= n:
                new = np.round(points[rng.integers(0, n, 6)] + rng.normal(0.0, 0.1, (6, dim)), max(digits, 2)) + 0.0
                # If a new point equals an old one, hdbscan uses the largest float instead of infinity.
                new = new[squares(new, points).min(axis=1) > 0.0]
                for point, (label, probability) in zip(new, predict(tree, labels, points, core2, new, samples)):
                    lines.append("predict " + " ".join(map(shortest, point)) + f" {label} {probability:.14g}")
                    seen["predicted"] += 1
    OUT.write_text("\n".join(lines) + "\n")
    print(f"{SETS} sets, {OUT.stat().st_size} bytes;", ", ".join(f"{count} {name}" for name, count in seen.items()))


if __name__ == "__main__":
    main()
