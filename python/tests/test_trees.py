"""Spanning trees and single linkage, compared with scipy."""

import copy
import pickle

import numpy as np
import pytest
from scipy.cluster import hierarchy
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.csgraph import minimum_spanning_tree as tree_of_graph
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist, squareform

import ropewalk
from ropewalk import linkage, minimum_spanning_tree


def cloud(n, dim, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).random((n, dim)).astype(dtype)


def distances(points, box_size=None):
    apart = np.abs(points.astype(np.float64)[:, None] - points.astype(np.float64)[None])
    if box_size is not None:
        apart %= box_size
        apart = np.minimum(apart, box_size - apart)
    return np.sqrt((apart**2).sum(-1))


def reachability(points, min_samples, alpha=1.0, box_size=None):
    apart = distances(points, box_size)
    core = np.sort(apart, axis=1)[:, min_samples - 1]
    return np.maximum(np.maximum(core[:, None], core[None]), apart / alpha)


@pytest.mark.parametrize("dim", range(1, 11))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("box_size", [None, 1.0])
def test_as_scipy(dim, dtype, box_size):
    points = cloud(200, dim, dtype)
    edges, weights = minimum_spanning_tree(points, box_size=box_size)
    assert edges.shape == (199, 2) and edges.dtype == np.int64 and weights.dtype == np.float64
    assert (edges[:, 0] < edges[:, 1]).all() and (np.diff(weights) >= 0).all()
    full = distances(points, box_size)
    np.testing.assert_allclose(weights, full[tuple(edges.T)], rtol=1e-12)
    expected = tree_of_graph(full).tocoo()
    ends = np.sort(np.stack([expected.row, expected.col], 1), axis=1)
    # Distances are distinct, except for rounding in the reference.
    assert set(map(tuple, ends.tolist())) == set(map(tuple, edges.tolist()))


@pytest.mark.parametrize("min_samples, alpha", [(1, 1.0), (2, 1.0), (5, 1.0), (5, 1.7), (60, 0.5)])
def test_mutual_reachability(min_samples, alpha):
    points = cloud(60, 3)
    tree = minimum_spanning_tree(points, min_samples=min_samples, alpha=alpha)
    full = reachability(points, min_samples, alpha)
    np.testing.assert_allclose(tree.weights, np.sort(tree_of_graph(full).data), rtol=1e-12)
    np.testing.assert_allclose(tree.weights, full[tuple(tree.edges.T)], rtol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3, 5, 10])
def test_linkage_as_scipy(dim):
    points = cloud(300, dim)
    np.testing.assert_allclose(linkage(points), hierarchy.linkage(points, "single"), rtol=1e-12)
    ours = linkage(points, min_samples=4, box_size=1.0)
    full = reachability(points, 4, box_size=1.0)
    np.fill_diagonal(full, 0.0)
    theirs = hierarchy.linkage(squareform(full, checks=False), "single")
    np.testing.assert_allclose(ours[:, 2], theirs[:, 2], rtol=1e-12)
    hierarchy.is_valid_linkage(ours, throw=True)


def test_linkage_with_ties():
    points = np.stack(np.meshgrid(*[np.arange(5.0)] * 3), -1).reshape(-1, 3)
    ours = linkage(points)
    hierarchy.is_valid_linkage(ours, throw=True)
    assert (ours[:, 2] == 1).all() and ours[-1, 3] == 125
    copies = np.repeat(cloud(20, 2), 3, axis=0)
    ours = linkage(copies)
    np.testing.assert_allclose(ours[:, 2], hierarchy.linkage(copies, "single")[:, 2])
    np.testing.assert_allclose(hierarchy.cophenet(ours), hierarchy.cophenet(hierarchy.linkage(copies, "single")))


def test_ties_are_ordered_by_index():
    """The tree of a lattice equals Kruskal's with edges in the order of (weight, lower index, higher index)."""
    points = np.stack(np.meshgrid(*[np.arange(4.0)] * 2), -1).reshape(-1, 2)
    pairs = np.stack(np.triu_indices(16, 1), 1)
    lengths = pdist(points)
    joined, expected = np.arange(16), []
    for at in np.lexsort((pairs[:, 1], pairs[:, 0], lengths)):
        a, b = joined[pairs[at]]
        if a != b:
            joined[joined == b] = a
            expected.append(pairs[at].tolist())
    for n_jobs in [1, 2]:
        assert minimum_spanning_tree(points, n_jobs=n_jobs).edges.tolist() == expected


@pytest.mark.parametrize("box_size", [None, 4.0])
def test_cuts(box_size):
    points = cloud(500, 3) * 4
    tree = minimum_spanning_tree(points, box_size=box_size)
    for length in [0.0, 0.2, 0.4, 10.0, float(tree.weights[100])]:
        pairs = cKDTree(points, boxsize=box_size).query_pairs(length, output_type="ndarray")
        graph = csr_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(500, 500))
        _, parts = connected_components(graph, directed=False)
        labels = tree.cut(length)
        assert labels.dtype == np.int32
        np.testing.assert_array_equal(labels >= 0, np.bincount(parts)[parts] > 1)
        # The same points are joined, and clusters are numbered by their smallest member.
        firsts = [np.flatnonzero(labels == label)[0] for label in range(labels.max() + 1)]
        assert firsts == sorted(firsts)
        assert len(np.unique(parts[labels >= 0])) == len(firsts)
        assert len(np.unique(np.stack([labels, parts])[:, labels >= 0], axis=1).T) == len(firsts)
    flat = hierarchy.fcluster(tree.linkage(), 7, "maxclust")
    labels = tree.cut_into(7)
    assert labels.min() == 0 and len(np.unique(np.stack([labels, flat]), axis=1).T) == 7
    assert (tree.cut_into(1) == 0).all() and tree.cut_into(500).tolist() == list(range(500))


def test_cuts_at_the_weight_of_an_edge():
    """The weight, the root of 3, is rounded up. A cut at the weight, or at the nearest number below the root, keeps the edge."""
    tree = minimum_spanning_tree([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    again = pickle.loads(pickle.dumps(tree))
    for same in [tree, again]:
        root = float(same.weights[0])
        assert root == np.nextafter(np.sqrt(3.0), 2)
        assert same.cut(root).tolist() == [0, 0]
        assert same.cut(np.sqrt(3.0)).tolist() == [0, 0]
        assert same.cut(np.nextafter(np.sqrt(3.0), 0)).tolist() == [-1, -1]


def test_pickled_and_copied():
    tree = minimum_spanning_tree(cloud(50, 2), n_jobs=1)
    for again in [pickle.loads(pickle.dumps(tree)), copy.deepcopy(tree)]:
        assert type(again) is type(tree) and again.n_points == 50
        np.testing.assert_array_equal(again.edges, tree.edges)
        np.testing.assert_array_equal(again.weights, tree.weights)
        np.testing.assert_array_equal(again.linkage(), tree.linkage())
        np.testing.assert_array_equal(again.cut(0.2), tree.cut(0.2))


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_points(n):
    for dim in range(1, 11):
        points = np.arange(n * dim, dtype=float).reshape(n, dim)
        tree = minimum_spanning_tree(points)
        rows = max(n - 1, 0)
        assert tree.edges.shape == (rows, 2) and tree.weights.shape == (rows,) and tree.n_points == n
        assert linkage(points).shape == (rows, 4)
        assert tree.cut(1e9).tolist() == ([0, 0] if n == 2 else [-1] * n)
        again = pickle.loads(pickle.dumps(tree))
        assert again.edges.shape == (rows, 2) and again.n_points == n


def test_results_are_the_librarys_memory():
    tree = minimum_spanning_tree(cloud(100, 3))
    for array in [*tree, linkage(cloud(100, 3)), tree.cut(0.1), tree.cut_into(3)]:
        assert array.base is not None and not array.flags.owndata
        assert array.flags.c_contiguous and array.flags.writeable


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_any_number_of_threads(n_jobs):
    points = cloud(3000, 3, np.float32)
    expected = minimum_spanning_tree(points, n_jobs=1)
    found = minimum_spanning_tree(points, n_jobs=n_jobs)
    np.testing.assert_array_equal(found.edges, expected.edges)
    np.testing.assert_array_equal(found.weights, expected.weights)


POINTS = cloud(4, 3)
BAD = np.where(np.arange(12).reshape(4, 3) == 7, np.nan, 0.0)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: minimum_spanning_tree(BAD), ValueError, "point 2: coordinate 1 is NaN"),
        (lambda: linkage(BAD), ValueError, "point 2: coordinate 1 is NaN"),
        (lambda: minimum_spanning_tree(POINTS, min_samples=0), ValueError, "min_samples is 0"),
        (lambda: minimum_spanning_tree(POINTS, min_samples=5), ValueError, "min_samples is 5"),
        (lambda: minimum_spanning_tree(POINTS, min_samples=1.5), TypeError, "min_samples is 1.5"),
        (lambda: minimum_spanning_tree(POINTS, alpha=0.0), ValueError, "alpha is 0"),
        (lambda: minimum_spanning_tree(POINTS, alpha="a"), TypeError, "alpha is 'a'"),
        (lambda: minimum_spanning_tree(POINTS, alpha=np.nan), ValueError, "alpha is NaN"),
        (lambda: minimum_spanning_tree(POINTS, box_size=-1.0), ValueError, "box"),
        (lambda: minimum_spanning_tree(POINTS, box_size=[1.0] * 2), ValueError, "box_size has 2 sides"),
        (lambda: minimum_spanning_tree(POINTS, n_jobs=0), ValueError, "n_jobs is 0"),
        (lambda: minimum_spanning_tree(POINTS, device="tpu"), ValueError, "device is 'tpu'"),
        (lambda: minimum_spanning_tree(np.zeros((4, 11))), ValueError, "1 to 10"),
        (lambda: minimum_spanning_tree(np.zeros(4)), ValueError, "X has 1 dimension;"),
        (lambda: minimum_spanning_tree(POINTS).cut(-1.0), ValueError, "length is -1"),
        (lambda: minimum_spanning_tree(POINTS).cut(np.nan), ValueError, "length is NaN"),
        (lambda: minimum_spanning_tree(POINTS).cut_into(0), ValueError, "n_clusters is 0"),
        (lambda: minimum_spanning_tree(POINTS).cut_into(5), ValueError, "clusters is 5"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_trees_of_two_arrays():
    found = ropewalk.minimum_spanning_tree([[0.0], [1.0], [9.0], [3.0]])
    tree = ropewalk.SpanningTree(found.edges, found.weights)
    assert tree.n_points == found.n_points == 4
    with pytest.raises(RuntimeError, match="built from edges and weights only"):
        tree.cut(1.0)
    with pytest.raises(RuntimeError, match="was found on a device"):
        ropewalk.SpanningTree("there", "there").cut(1.0)


def test_a_tree_is_described_without_its_edges() -> None:
    tree = minimum_spanning_tree(np.array([[0.0], [1.0], [9.0], [3.0]]))
    assert repr(tree) == "SpanningTree(4 points, 3 edges, weights 1 to 6)"
    assert repr(minimum_spanning_tree(np.zeros((1, 2)))) == "SpanningTree(0 edges)"
