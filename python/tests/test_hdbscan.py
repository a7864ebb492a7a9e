"""HDBSCAN*, compared with scikit-learn and the package hdbscan: stored results, data without ties, and with ties from the same
tree."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from ropewalk import HDBSCAN, dbscan

cluster = pytest.importorskip("sklearn.cluster")

RANDOM = np.random.default_rng(20261126)
CASES = Path(__file__).parents[2] / "tests" / "data" / "hdbscan_cases.txt"


def blobs(n, dim=2, scattered=0.2):
    centers = RANDOM.uniform(0.0, 1.0, (6, dim))
    points = centers[RANDOM.integers(0, 6, n)] + RANDOM.normal(0.0, 0.03, (n, dim))
    alone = RANDOM.uniform(size=n) < scattered
    points[alone] = RANDOM.uniform(0.0, 1.0, (alone.sum(), dim))
    return points


def same_partition(a, b):
    pairs = set(zip(np.asarray(a).tolist(), np.asarray(b).tolist(), strict=True))
    return len(pairs) == len({x for x, _ in pairs}) == len({y for _, y in pairs}) and all((x < 0) == (y < 0) for x, y in pairs)


def stored():
    """Returns the stored cases, each with its points. The script next to the file documents the format."""
    lines = iter(line for line in CASES.read_text().splitlines() if not line.startswith("#"))
    points, question = None, None
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "set":
            if question:
                yield points, question
            question = None
            _, dim, n = rest.split()
            points = np.array([next(lines).split() for _ in range(int(n))], float).reshape(int(n), int(dim))
        elif word == "ask":
            if question:
                yield points, question
            question = {"ask": rest.split(), "predict": []}
        elif word == "predict":
            question["predict"].append(np.array(rest.split(), float))
        else:
            question[word] = np.array(rest.split(), float)
    yield points, question


def test_stored_answers():
    if not CASES.exists():
        pytest.skip("the stored answers belong to the repository")
    seen = 0
    for points, question in stored():
        _, method, size, samples, epsilon, largest, single = question["ask"]
        found = HDBSCAN(
            int(size), int(samples), float(epsilon), int(largest) or None,
            cluster_selection_method=method, allow_single_cluster=single == "1", ties="sequential",
        ).fit(points)  # fmt: skip
        np.testing.assert_array_equal(found.labels_, question["labels"])
        np.testing.assert_allclose(found.probabilities_, question["probabilities"], rtol=1e-12)
        if "outliers" in question:
            expected = np.nan_to_num(question["outliers"], nan=1.0)
            np.testing.assert_allclose(found.outlier_scores_, expected, rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(found.cluster_persistence_, question.get("persistence", []), rtol=1e-9)
        for row in question["predict"]:
            label, probability = found.approximate_predict(row[None, :-2])
            assert label[0] == row[-2]
            np.testing.assert_allclose(probability, row[-1], rtol=1e-12)
        seen += 1
    assert seen >= 1000


@pytest.mark.parametrize("dim", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("method", ["eom", "leaf"])
def test_without_ties_labels_are_scikit_learns(dim, method):
    """With `min_samples` of 1, mutual reachability is the distance, and no two distances are equal."""
    for n, size in [(60, 3), (400, 5), (900, 12)]:
        X = blobs(n, dim)
        parameters = {"min_cluster_size": size, "min_samples": 1, "cluster_selection_method": method, "copy": True}
        expected = cluster.HDBSCAN(**parameters).fit(X)
        for n_jobs in [1, 2, -1]:
            found = HDBSCAN(**parameters, ties="sequential", n_jobs=n_jobs).fit(X)
            np.testing.assert_array_equal(found.labels_, expected.labels_)
            np.testing.assert_allclose(found.probabilities_, expected.probabilities_, rtol=1e-9)
        together = HDBSCAN(**parameters).fit(X)
        np.testing.assert_array_equal(together.labels_, numbered_by_smallest_member(expected.labels_))
        np.testing.assert_allclose(together.probabilities_, expected.probabilities_, rtol=1e-9)


def from_point_0(edges, n):
    """Returns each edge from its end nearer to point 0 in the tree: the order in which scikit-learn's own search finds edges."""
    sparse = pytest.importorskip("scipy.sparse")
    graph = sparse.coo_array((np.ones(len(edges)), edges.T), shape=(n, n)).tocsr()
    order, _ = sparse.csgraph.breadth_first_order(graph, 0, directed=False)
    depth = np.empty(n, int)
    depth[order] = np.arange(n)
    return np.where((depth[edges[:, 0]] < depth[edges[:, 1]])[:, None], edges, edges[:, ::-1])


@pytest.mark.parametrize("kind", ["blobs", "lattice", "copies"])
@pytest.mark.parametrize("samples", [1, 2, 5, 10])
def test_with_ties_labels_are_scikit_learns_of_the_same_tree(kind, samples):
    linkage = pytest.importorskip("sklearn.cluster._hdbscan._linkage")
    tree = pytest.importorskip("sklearn.cluster._hdbscan._tree")
    X = {"blobs": blobs(800), "lattice": RANDOM.integers(0, 30, (500, 2)) * 1.0, "copies": np.repeat(blobs(150, 3), 4, axis=0)}[
        kind
    ]
    for size, single, largest in [(5, False, None), (15, True, None), (5, False, 60)]:
        parameters = {"min_cluster_size": size, "allow_single_cluster": single, "max_cluster_size": largest}
        found = HDBSCAN(min_samples=samples, ties="sequential", **parameters).fit(X)
        edges, weights = found.minimum_spanning_tree_
        mst = np.empty(len(edges), linkage.MST_edge_dtype)
        mst["current_node"], mst["next_node"] = from_point_0(edges.astype(int), len(X)).T
        mst["distance"] = weights
        labels, probabilities = tree.tree_to_labels(linkage.make_single_linkage(mst), size, "eom", single, 0.0, largest)
        np.testing.assert_array_equal(found.labels_, labels)
        np.testing.assert_allclose(found.probabilities_, probabilities, rtol=1e-9)


def numbered_by_smallest_member(labels):
    numbers = {-1: -1}
    return np.array([numbers.setdefault(label, len(numbers) - 1) for label in labels.tolist()])


def test_of_different_trees_few_labels_differ():
    shares = []
    for size in range(3, 15):
        X = blobs(40 * size)
        expected = cluster.HDBSCAN(size, copy=True).fit_predict(X)
        found = HDBSCAN(size, ties="sequential").fit_predict(X)
        shares.append(np.mean(numbered_by_smallest_member(found) != numbered_by_smallest_member(expected)))
    assert np.median(shares) < 0.01, shares


@pytest.mark.parametrize("samples", [1, 4])
def test_spanning_tree_and_linkage(samples):
    csgraph, hierarchy = pytest.importorskip("scipy.sparse.csgraph"), pytest.importorskip("scipy.cluster.hierarchy")
    X = blobs(250, 3)
    found = HDBSCAN(min_samples=samples).fit(X)
    distance = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    core = np.sort(distance, axis=1)[:, samples - 1]
    reach = np.maximum(distance, np.maximum(core[:, None], core))
    np.fill_diagonal(reach, 0.0)
    expected = np.sort(csgraph.minimum_spanning_tree(reach).data)
    edges, weights = found.minimum_spanning_tree_
    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    np.testing.assert_allclose(weights, reach[edges[:, 0], edges[:, 1]], rtol=1e-12)
    assert (edges[:, 0] < edges[:, 1]).all() and (np.diff(weights) >= 0).all()
    merges = found.single_linkage_tree_
    assert hierarchy.is_valid_linkage(merges) and merges.shape == (249, 4)
    np.testing.assert_array_equal(merges[:, 2], weights)
    if samples == 1:
        np.testing.assert_allclose(merges, hierarchy.linkage(X, "single"), rtol=1e-12)


def test_condensed_tree_and_others_are_those_of_the_package():
    package = pytest.importorskip("hdbscan")
    X = blobs(300, 2)
    expected = package.HDBSCAN(min_cluster_size=6, min_samples=0 + 1, approx_min_span_tree=False).fit(X)
    # The package hdbscan does not count the point itself: its 1 is 2 here.
    found = HDBSCAN(min_cluster_size=6, min_samples=2, ties="together").fit(X)
    rows = found.condensed_tree_
    assert rows.dtype.names == expected.condensed_tree_.to_numpy().dtype.names
    assert sorted(rows["lambda_val"].round(9)) == pytest.approx(
        sorted(expected.condensed_tree_.to_numpy()["lambda_val"].round(9)), rel=1e-6
    )
    assert sorted(rows["child_size"]) == sorted(expected.condensed_tree_.to_numpy()["child_size"])
    assert same_partition(found.labels_, expected.labels_)
    np.testing.assert_allclose(found.outlier_scores_, expected.outlier_scores_, atol=1e-9)
    np.testing.assert_allclose(sorted(found.cluster_persistence_), sorted(expected.cluster_persistence_), rtol=1e-6)


def test_points_that_are_not_finite_are_scikit_learns():
    X = blobs(200)
    X[3, 0], X[50, 1], X[77] = np.inf, -np.inf, np.inf
    X[9, 1], X[120] = np.nan, np.nan
    X[121] = [np.nan, np.inf]
    with np.errstate(invalid="ignore"):
        expected = cluster.HDBSCAN(min_samples=1, copy=True).fit(X)
    for dtype in [np.float64, np.float32]:
        found = HDBSCAN(min_samples=1, ties="sequential").fit(X.astype(dtype))
        finite = HDBSCAN(min_samples=1, ties="sequential").fit(X.astype(dtype)[np.isfinite(X).all(axis=1)])
        assert found.labels_[[3, 50, 77]].tolist() == [-2] * 3 and found.labels_[[9, 120, 121]].tolist() == [-3] * 3
        np.testing.assert_array_equal(found.labels_[np.isfinite(X).all(axis=1)], finite.labels_)
        np.testing.assert_array_equal(np.isnan(found.probabilities_), found.labels_ == -3)
        np.testing.assert_array_equal(np.isnan(found.outlier_scores_), found.labels_ < -1)
        assert found.single_linkage_tree_.shape == (193, 4)
        assert found.dbscan_clustering(0.05)[[3, 9]].tolist() == [-2, -3]
    found = HDBSCAN(min_samples=1, ties="sequential").fit(X)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_allclose(found.probabilities_, expected.probabilities_, rtol=1e-9)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).dbscan_clustering(0.05), found.dbscan_clustering(0.05))
    nothing = HDBSCAN().fit([[np.nan], [np.inf]])
    assert nothing.labels_.tolist() == [-3, -2]
    for few in (nothing, HDBSCAN(min_samples=1).fit([[1.0, 2.0]])):
        again = pickle.loads(pickle.dumps(few))
        assert again.condensed_tree_.shape == few.condensed_tree_.shape
        assert again.minimum_spanning_tree_.n_points == few.minimum_spanning_tree_.n_points
    # Large finite numbers whose sum is not finite must count as finite.
    assert HDBSCAN(2).fit(np.array([[1e38], [1.1e38], [3e38], [3.1e38]], np.float32)).labels_.min() >= -1
    labels, probabilities = found.approximate_predict([[np.nan, 0.0], X[0], [0.0, -np.inf]])
    assert labels[[0, 2]].tolist() == [-3, -2] and labels[1] == found.predict(X[:1])[0]
    assert np.isnan(probabilities[0]) and probabilities[2] == 0.0


@pytest.mark.parametrize("which", ["centroid", "medoid", "both"])
def test_centers_are_scikit_learns(which):
    X = blobs(300, 3)
    expected = cluster.HDBSCAN(min_samples=1, store_centers=which, copy=True).fit(X)
    found = HDBSCAN(min_samples=1, ties="sequential", store_centers=which).fit(X)
    for name in ["centroids_", "medoids_"]:
        assert hasattr(found, name) == hasattr(expected, name)
        if hasattr(found, name):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9)
    assert not hasattr(found.set_params(store_centers=None).fit(X), "centroids_")
    noise = HDBSCAN(store_centers="both").fit(RANDOM.uniform(size=(4, 3)))
    assert noise.centroids_.shape == noise.medoids_.shape == (0, 3)


@pytest.mark.parametrize("samples", [1, 5])
def test_cuts_are_those_of_dbscan(samples):
    X = blobs(400)
    found = HDBSCAN(min_samples=samples).fit(X)
    theirs = cluster.HDBSCAN(min_samples=samples, copy=True).fit(X)
    for eps in [0.01, 0.03, 0.05, 0.2]:
        # The core points of DBSCAN, without border points.
        core, labels = dbscan(X, eps, min_samples=samples)
        star = np.full(len(X), -1)
        star[core] = labels[core]
        sizes = np.bincount(star[star >= 0], minlength=1)
        star = np.where((star >= 0) & (sizes[star] >= 5), star, -1)
        assert same_partition(found.dbscan_clustering(eps), star)
        assert same_partition(found.dbscan_clustering(eps, 2), theirs.dbscan_clustering(eps, 2))
    # The distance is inclusive.
    line = HDBSCAN(2, 1).fit([[0.0], [1.0], [9.0]])
    assert line.dbscan_clustering(1.0, 2).tolist() == [0, 0, -1]


def test_periodic_box_has_no_corner():
    X = blobs(300, 3, scattered=0.3) + 0.5
    one = HDBSCAN(box_size=2.0).fit(X)
    other = HDBSCAN(box_size=[2.0, 2.0, 2.0]).fit(X + [1.0, -0.75, 0.5])
    np.testing.assert_array_equal(other.labels_, one.labels_)
    np.testing.assert_allclose(other.probabilities_, one.probabilities_, rtol=1e-9)
    assert other.predict(X + 4.0).shape == (300,)
    with pytest.raises(ValueError, match="store_centers"):
        HDBSCAN(box_size=2.0, store_centers="both").fit(X)


def test_order_of_points_does_not_matter_where_ties_are_removed_together():
    X = np.round(blobs(400), 2)
    order = RANDOM.permutation(400)
    one, other = HDBSCAN().fit(X), HDBSCAN().fit(X[order])
    assert same_partition(one.labels_[order], other.labels_)
    np.testing.assert_array_equal(one.probabilities_[order], other.probabilities_)


def test_few_points():
    for n in range(1, 5):
        found = HDBSCAN().fit(np.arange(2.0 * n).reshape(n, 2))
        assert found.labels_.tolist() == [-1] * n and found.probabilities_.tolist() == [0.0] * n
        assert found.minimum_spanning_tree_.edges.shape == (n - 1, 2) and found.single_linkage_tree_.shape == (n - 1, 4)
        assert found.condensed_tree_.shape == (n,) and found.cluster_persistence_.shape == (0,)
    same = HDBSCAN(allow_single_cluster=True).fit(np.zeros((6, 2)))
    assert same.labels_.tolist() == [0] * 6 and same.probabilities_.tolist() == [1.0] * 6
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        HDBSCAN().fit(np.empty((0, 2)))


def test_what_is_found_later_is_of_the_last_fit():
    found = HDBSCAN().fit(blobs(100))
    shapes = [found.outlier_scores_.shape, found.condensed_tree_.shape, found.single_linkage_tree_.shape]
    found.fit(blobs(50))
    assert [found.outlier_scores_.shape[0], found.single_linkage_tree_.shape[0]] == [50, 49] and shapes[0] == (100,)
    restored = pickle.loads(pickle.dumps(found))
    for name in ["outlier_scores_", "single_linkage_tree_", "condensed_tree_", "cluster_persistence_", "labels_"]:
        np.testing.assert_array_equal(getattr(restored, name), getattr(found, name))
    np.testing.assert_array_equal(restored.predict([[0.5, 0.5]]), found.predict([[0.5, 0.5]]))


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"min_cluster_size": 1}, "min_cluster_size is 1.*at least 2"),
        ({"min_samples": 0}, "min_samples is 0"),
        ({"min_samples": 31}, "min_samples.*31.*at most the number of points"),
        ({"cluster_selection_epsilon": np.nan}, "cluster_selection_epsilon.*NaN"),
        ({"cluster_selection_epsilon": -1.0}, "cluster_selection_epsilon.*-1"),
        ({"max_cluster_size": 0}, "max_cluster_size is 0"),
        ({"alpha": 0.0}, "alpha.*0"),
        ({"alpha": np.inf}, "alpha.*inf"),
        ({"metric": "cityblock"}, "metric is 'cityblock'"),
        ({"metric": "minkowski", "metric_params": {"p": 3}}, "p is 3"),
        ({"metric_params": {"V": 1}}, "metric_params"),
        ({"cluster_selection_method": "best"}, "cluster_selection_method is 'best'; it must be one of 'eom', 'leaf'"),
        ({"store_centers": "mean"}, "store_centers is 'mean'"),
        ({"ties": True}, "ties is True"),
        ({"box_size": [1.0, 1.0, 1.0]}, "box_size has 3 sides"),
    ],
)
def test_parameters_that_are_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        HDBSCAN(**parameters).fit(blobs(30))
    assert HDBSCAN(metric="minkowski", metric_params={"p": 2}).fit(blobs(30)).labels_.shape == (30,)


def test_calls_that_are_refused():
    found = HDBSCAN().fit(blobs(30))
    for distance in [np.nan, -1.0]:
        with pytest.raises(ValueError, match="eps|cut_distance"):
            found.dbscan_clustering(distance)
    with pytest.raises(ValueError, match="min_cluster_size is 1"):
        found.dbscan_clustering(1.0, 1)
    with pytest.raises(ValueError, match="expecting 2 features"):
        found.predict([[0.0]])
