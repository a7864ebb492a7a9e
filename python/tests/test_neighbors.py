"""NearestNeighbors, compared with scikit-learn."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn import neighbors as theirs
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import estimator_checks_generator

from ropewalk import NearestNeighbors


def cloud(n, dim, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).random((n, dim)).astype(dtype)


with warnings.catch_warnings():
    # The warning that it does not inherit from BaseEstimator, which would require scikit-learn.
    warnings.filterwarnings("ignore", message=".*does not inherit")
    CHECKS = [check for _, check in estimator_checks_generator(NearestNeighbors())]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: getattr(check, "func", check).__name__)
def test_scikit_learns_checks(check):
    check(NearestNeighbors())


def assert_same_graph(ours, expected):
    assert type(ours) is type(expected) and ours.shape == expected.shape and ours.dtype == expected.dtype
    ours.check_format()
    np.testing.assert_array_equal(ours.indptr, expected.indptr)
    apart = abs(ours - expected)
    assert apart.nnz == 0 or apart.max() < 1e-7


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 6, 10])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("queried", [True, False])
def test_as_scikit_learn(dim, dtype, queried):
    points = cloud(300, dim, dtype)
    queries = cloud(40, dim, dtype, seed=1) if queried else None
    radius = 0.25 * dim**0.5
    ours = NearestNeighbors(n_neighbors=4, radius=radius).fit(points)
    reference = theirs.NearestNeighbors(n_neighbors=4, radius=radius, algorithm="kd_tree").fit(points)
    for k in [None, 1, 9, 40]:
        found, expected = ours.kneighbors(queries, k), reference.kneighbors(queries, k)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(found[1], expected[1])
        assert found[0].dtype == expected[0].dtype and found[1].dtype == expected[1].dtype
        np.testing.assert_array_equal(ours.kneighbors(queries, k, return_distance=False), found[1])
        for mode in ["connectivity", "distance"]:
            assert_same_graph(ours.kneighbors_graph(queries, k, mode), reference.kneighbors_graph(queries, k, mode))
    for r in [None, 0.0, radius * 0.7]:
        # scikit-learn cannot sort lists if all of them are empty.
        found, expected = ours.radius_neighbors(queries, r, sort_results=True), reference.radius_neighbors(queries, r)
        for a, b in zip(found, expected):
            assert a.dtype == b.dtype == object and a.shape == b.shape
        for distances, indices, their_distances, their_indices in zip(*found, *expected):
            order = np.lexsort((their_indices, their_distances))
            np.testing.assert_allclose(distances, their_distances[order], rtol=1e-6, atol=1e-7)
            np.testing.assert_array_equal(indices, their_indices[order])
            assert indices.dtype == their_indices.dtype
        alone = ours.radius_neighbors(queries, r, return_distance=False)
        for a, b in zip(alone, found[1]):
            np.testing.assert_array_equal(a, b)
        for mode in ["connectivity", "distance"]:
            found = ours.radius_neighbors_graph(queries, r, mode)
            assert_same_graph(found, reference.radius_neighbors_graph(queries, r, mode))


def test_lists_of_equal_length():
    """Arrays of arrays remain such if all lists have the same length, where NumPy could form one array."""
    for n in [1, 2, 3]:
        ours = NearestNeighbors(radius=10.0).fit(np.arange(float(n))[:, None])
        lists = ours.radius_neighbors([[0.0]] * n, return_distance=False)
        assert lists.shape == (n,) and lists.dtype == object
        assert all(own.tolist() == list(range(n)) for own in lists)


def test_ties_by_index():
    points = np.stack(np.meshgrid(*[np.arange(4.0)] * 3, indexing="ij"), -1).reshape(-1, 3)
    distances2 = ((points[:, None] - points[None]) ** 2).sum(-1)
    expected = np.argsort(distances2, axis=1, kind="stable")
    ours = NearestNeighbors().fit(points)
    np.testing.assert_array_equal(ours.kneighbors(points, 20, return_distance=False), expected[:, :20])
    # Without the first neighbour, which is the point itself, since no two points coincide.
    np.testing.assert_array_equal(ours.kneighbors(n_neighbors=20, return_distance=False), expected[:, 1:21])
    _, indices = ours.radius_neighbors(points, 1.5)
    for i, own in enumerate(indices):
        assert own.tolist() == expected[i][distances2[i][expected[i]] <= 2.25].tolist()


def test_copies_are_neighbours():
    points = np.repeat(cloud(2, 3), 3, axis=0)
    ours = NearestNeighbors(n_neighbors=2, radius=0.0).fit(points)
    assert ours.kneighbors()[1].tolist() == [[1, 2], [0, 2], [0, 1], [4, 5], [3, 5], [3, 4]]
    assert [own.tolist() for own in ours.radius_neighbors(return_distance=False)] == ours.kneighbors()[1].tolist()


def test_periodic_box():
    points = cloud(200, 3)
    ours = NearestNeighbors(n_neighbors=3, box_size=1.0).fit(points)
    images = np.concatenate([points + shift for shift in np.ndindex(3, 3, 3)]) - 1.0
    expected = theirs.NearestNeighbors(n_neighbors=4).fit(images).kneighbors(points)
    np.testing.assert_allclose(ours.kneighbors()[0], expected[0][:, 1:], rtol=1e-9)
    np.testing.assert_array_equal(ours.kneighbors()[1], expected[1][:, 1:] % 200)


def test_graph_feeds_scikit_learn():
    points = cloud(300, 2)
    graph = NearestNeighbors(radius=0.07).fit(points).radius_neighbors_graph(points, mode="distance", sort_results=True)
    labels = DBSCAN(eps=0.07, min_samples=4, metric="precomputed").fit_predict(graph)
    np.testing.assert_array_equal(labels, DBSCAN(eps=0.07, min_samples=4).fit_predict(points))


def test_attributes():
    ours = NearestNeighbors(n_neighbors=2).fit(cloud(10, 3))
    assert ours.n_samples_fit_ == 10 and ours.n_features_in_ == 3
    assert ours.effective_metric_ == "euclidean" and ours.effective_metric_params_ == {}
    assert repr(clone(ours)) == "NearestNeighbors(n_neighbors=2)"
    again = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(again.kneighbors()[1], ours.kneighbors()[1])
    assert set(ours.get_params()) >= set(theirs.NearestNeighbors().get_params())


def test_shares_memory():
    for dtype in [np.float32, np.float64]:
        points = cloud(10, 3, dtype)
        assert np.shares_memory(NearestNeighbors().fit(points).bvh_.points, points)


def fitted(**params):
    return NearestNeighbors(**params).fit(cloud(6, 3))


BAD = [[0.0, 0.0, 0.0], [0.0, np.nan, 0.0]]


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: NearestNeighbors().kneighbors(), NotFittedError, "not fitted"),
        (lambda: NearestNeighbors().radius_neighbors_graph(), NotFittedError, "not fitted"),
        (lambda: fitted(metric="manhattan"), ValueError, "metric is 'manhattan'"),
        (lambda: fitted(p=1), ValueError, "p is 1|p=1"),
        (lambda: fitted(n_jobs=0), ValueError, "n_jobs is 0"),
        (lambda: fitted(box_size=0.0), ValueError, "box"),
        (lambda: fitted(device="tpu"), ValueError, "device is 'tpu'"),
        (lambda: fitted().kneighbors(n_neighbors=6), ValueError, "Expected n_neighbors < n_samples_fit"),
        (lambda: fitted().kneighbors(cloud(1, 3), 7), ValueError, "Expected n_neighbors <= n_samples_fit"),
        (lambda: fitted().kneighbors(n_neighbors=0), ValueError, "n_neighbors is 0"),
        (lambda: fitted().kneighbors(n_neighbors=1.5), TypeError, "n_neighbors is 1.5"),
        (lambda: fitted().kneighbors(cloud(4, 2)), ValueError, "X has 2 features"),
        (lambda: fitted().kneighbors(BAD), ValueError, "1.*coordinate 1 is NaN"),
        (lambda: fitted().radius_neighbors(BAD), ValueError, "1.*coordinate 1 is NaN"),
        (lambda: fitted().radius_neighbors(radius=-1.0), ValueError, "radius is -1"),
        (lambda: fitted().radius_neighbors(radius=np.nan), ValueError, "radius is NaN"),
        (lambda: fitted().radius_neighbors(sort_results=True, return_distance=False), ValueError, "return_distance"),
        (lambda: fitted().kneighbors_graph(mode="other"), ValueError, "mode is 'other'"),
        (lambda: fitted().radius_neighbors_graph(mode="other"), ValueError, "mode is 'other'"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()
