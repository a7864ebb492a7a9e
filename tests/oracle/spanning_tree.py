#!/usr/bin/env python3
"""Compares `ropewalk emst` and `ropewalk linkage` with scipy, quitefastmst and Prim's algorithm in numpy.

    python3 tests/oracle/spanning_tree.py target/release/ropewalk [LARGEST]

Each tree must be a spanning tree with edges in ascending order of (squared weight, lower index, higher index), and with weights
that match their end points. The sorted weights of a minimum spanning tree are unique even if the tree is not, so they must be equal
to the last bit to

- lengths, open: the minimum spanning tree by scipy.sparse.csgraph of the Delaunay triangulation by scipy.spatial, in 2 and 3
  dimensions up to LARGEST (200,000) points; and quitefastmst.mst_euclid in 4 to 10;
- mutual reachability: quitefastmst.mst_euclid(X, M) with M = min_samples - 1, since it does not count the point itself;
- periodic boxes: Prim's algorithm on the matrix of minimum distances over all images. It uses the same order of edges, so the edges
  themselves must be equal, also on lattices.

Weights are square roots of squared distances that are summed in f64 in the order of the axes. The trees of scipy and quitefastmst
are compared by these roots. `ropewalk linkage` must give the heights of scipy.cluster.hierarchy.linkage(points, "single") to the
last bit, the same merges if no two heights are equal, and the same cophenetic distances. Needs numpy, scipy and quitefastmst.
"""

import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import quitefastmst
from scipy.cluster.hierarchy import cophenet, is_valid_linkage, linkage
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial import Delaunay
from scipy.spatial.distance import squareform

rng = np.random.default_rng(7)


def reaching(squares):
    """Returns the smallest radii whose squares are not below the given squares."""
    roots = np.sqrt(squares)
    return np.where(roots * roots < squares, np.nextafter(roots, np.inf), roots)


def clumps(n, dim):
    """Returns clumps of many densities, and 30% uniform points."""
    centers = rng.uniform(0.0, 1.0, (20, dim))
    widths = 10.0 ** rng.uniform(-3.0, -1.0, 20)
    which = rng.integers(0, 20, n)
    points = centers[which] + rng.normal(0.0, 1.0, (n, dim)) * widths[which, None]
    return np.where(rng.uniform(size=(n, 1)) < 0.3, rng.uniform(0.0, 1.0, (n, dim)), points)


CLOUDS = {"uniform": lambda n, dim: rng.uniform(0.0, 1.0, (n, dim)), "clumps": clumps}


def squares(points, i, j):
    """Returns squared distances of pairs, summed in the order of the axes."""
    total = np.zeros(len(i))
    for x in points.astype(float).T:
        total += (x[i] - x[j]) ** 2
    return total


def nearest_images(points, side):
    """Returns the matrix of squared distances in the periodic box [0, side) over all images, or in open space without a box."""
    total = np.zeros((len(points), len(points)))
    for x in points.astype(float).T:
        apart = x[:, None] - x[None, :]
        images = [0.0] if side is None else [0.0, -side, side]
        total += np.min([(apart + image) ** 2 for image in images], axis=0)
    return total


def reachability(d2, min_samples):
    """Returns the squared mutual reachability for a matrix of squared distances. Points count themselves."""
    core2 = np.sort(d2, axis=1)[:, min_samples - 1]
    return np.maximum(d2, np.maximum(core2[:, None], core2[None, :]))


def prim(w2):
    """Returns the unique spanning tree of a matrix of squared weights, with edges ordered by (squared weight, lower index, higher
    index)."""
    n = len(w2)
    all_points = np.arange(n)
    weight, end = np.full(n, np.inf), np.zeros(n, int)
    outside = np.ones(n, bool)
    edges, last = [], 0
    for _ in range(n - 1):
        outside[last] = False
        old, new = end, np.full(n, last)
        ranks = [np.minimum(all_points, ends) * n + np.maximum(all_points, ends) for ends in (old, new)]
        is_less = (w2[last] < weight) | ((w2[last] == weight) & (ranks[1] < ranks[0]))
        weight, end = np.where(is_less, w2[last], weight), np.where(is_less, new, old)
        rank = np.minimum(all_points, end) * n + np.maximum(all_points, end)
        least = np.flatnonzero(outside & (weight == weight[outside].min()))
        last = least[np.argmin(rank[least])]
        edges.append((weight[last], min(last, end[last]), max(last, end[last])))
    return sorted(edges)


def delaunay_weights(points):
    """Returns the sorted lengths of the minimum spanning tree, which is part of the Delaunay triangulation."""
    triangulation = Delaunay(points.astype(float))
    assert len(triangulation.coplanar) == 0, "qhull left points out"
    pairs = np.concatenate([triangulation.simplices[:, ends] for ends in itertools.combinations(range(points.shape[1] + 1), 2)])
    i, j = np.unique(np.sort(pairs, axis=1), axis=0).T
    n = len(points)
    tree = minimum_spanning_tree(coo_matrix((squares(points, i, j), (i, j)), (n, n)).tocsr())
    assert tree.nnz == n - 1
    return reaching(np.sort(tree.data))


class Program:
    def __init__(self, path, folder):
        self.path, self.folder = path, folder

    def write(self, points):
        np.save(self.folder / "points.npy", points)

    def ask(self, command, *options):
        words = [self.path, command, self.folder / "points.npy", *options]
        subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)

    def emst(self, points, *options):
        """Returns edges and weights, after checking that they form a tree."""
        self.write(points)
        edges, weights = self.folder / "edges.npy", self.folder / "weights.npy"
        self.ask("emst", "--out", edges, "--weights", weights, *options)
        edges, weights = np.load(edges), np.load(weights)
        n = len(points)
        assert edges.dtype == np.uint32 and edges.shape == (n - 1, 2) and weights.dtype == np.float64
        low, high = edges.T.astype(int)
        assert (low < high).all() and (np.diff(weights) >= 0).all()
        parts, _ = connected_components(coo_matrix((np.ones(n - 1), (low, high)), (n, n)), directed=False)
        assert parts == 1, f"{parts} components"
        return low, high, weights

    def linkage(self, points, *options):
        self.write(points)
        self.ask("linkage", "--out", self.folder / "z.npy", *options)
        return np.load(self.folder / "z.npy")


def equal(what, ours, theirs):
    if not np.array_equal(ours, theirs):
        differ = np.flatnonzero(ours != theirs) if np.shape(ours) == np.shape(theirs) else []
        sys.exit(f"{what}: {len(differ)} of {len(theirs)} differ, shapes {np.shape(ours)} and {np.shape(theirs)}")


def equal_or_above(what, ours, theirs):
    """Asserts equality, where ours may be rounded up because the nearest number is too small a radius."""
    equal(what, np.where(ours == np.nextafter(theirs, np.inf), theirs, ours), theirs)


def lengths(program, largest):
    cases = [(dim, n) for dim in (2, 3) for n in (5, 300, 20_000, largest)]
    for (dim, n), (name, cloud), scalar in itertools.product(cases, CLOUDS.items(), (np.float32, np.float64)):
        if n == largest and (name == "uniform") == (scalar is np.float32):
            continue
        points = cloud(n, dim).astype(scalar)
        low, high, weights = program.emst(points)
        what = f"{name}, {n} points, {dim} dimensions, {scalar.__name__}"
        w2 = squares(points, low, high)
        equal(f"{what}: lengths of edges", weights, reaching(w2))
        equal(f"{what}: order of edges", np.lexsort((high, low, w2)), np.arange(n - 1))
        equal(f"{what}: Delaunay and scipy", weights, delaunay_weights(points))
    for dim, (name, cloud) in itertools.product((4, 6, 10), CLOUDS.items()):
        points = cloud(2000, dim)
        equal_or_above(f"{name}, {dim} dimensions: quitefastmst", program.emst(points)[2], quitefastmst.mst_euclid(points)[0])
    print(f"lengths of up to {largest} points: equal")


def mutual_reachability(program):
    for dim, min_samples, (name, cloud) in itertools.product((2, 3, 5), (3, 6, 11, 33), CLOUDS.items()):
        points = cloud(5000, dim)
        weights = program.emst(points, "--min-samples", min_samples)[2]
        theirs = quitefastmst.mst_euclid(points, min_samples - 1)[0]
        equal_or_above(f"{name}, {dim} dimensions, min_samples {min_samples}: quitefastmst", weights, theirs)
    print("mutual reachability: equal")


def edges_and_boxes(program):
    sets = {f"{name} in {dim} dimensions": cloud(2000, dim) % 1.0 for dim in (1, 2, 3) for name, cloud in CLOUDS.items()}
    sets |= {f"lattice in {dim} dimensions": rng.integers(0, 16, (1500, dim)) / 16.0 for dim in (2, 3)}
    for (name, points), side, min_samples in itertools.product(sets.items(), (None, 1.0), (1, 5)):
        # Multiples of a power of two: distances to images are exact, however they are computed.
        points = (np.floor(points * 2**20) / 2**20).astype(np.float32)
        expected = prim(reachability(nearest_images(points, side), min_samples))
        box = [] if side is None else ["--periodic", side]
        low, high, weights = program.emst(points, "--min-samples", min_samples, *box)
        w2, i, j = (np.array(column) for column in zip(*expected))
        what = f"{name}, box {side}, min_samples {min_samples}"
        equal(f"{what}: weights", weights, reaching(w2))
        equal(f"{what}: edges", np.stack([low, high]), np.stack([i, j]))
    print("edges by Prim's algorithm, open and periodic: equal")


def dendrograms(program):
    for dim, min_samples, (name, cloud) in itertools.product((1, 2, 3), (1, 4), CLOUDS.items()):
        points = cloud(2000, dim)
        what = f"linkage of {name}, {dim} dimensions, min_samples {min_samples}"
        ours = program.linkage(points, "--min-samples", min_samples)
        matrix = np.sqrt(reachability(nearest_images(points, None), min_samples))
        # With one sample, scipy uses its own distances.
        theirs = linkage(points if min_samples == 1 else squareform(matrix, checks=False), "single")
        assert is_valid_linkage(ours), what
        equal_or_above(f"{what}: heights", ours[:, 2], theirs[:, 2])
        if min_samples == 1:
            assert (np.diff(theirs[:, 2]) > 0).all(), f"{what}: ties"
            equal_or_above(f"{what}: merges", ours, theirs)
        equal_or_above(f"{what}: cophenetic distances", cophenet(ours), cophenet(theirs))
    print("dendrograms: equal")


def main():
    largest = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    with tempfile.TemporaryDirectory() as folder:
        program = Program(sys.argv[1], Path(folder))
        lengths(program, largest)
        mutual_reachability(program)
        edges_and_boxes(program)
        dendrograms(program)


main()
