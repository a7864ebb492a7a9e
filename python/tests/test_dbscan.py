"""DBSCAN, compared with scikit-learn label for label, and with copies of a periodic box."""

from __future__ import annotations

import numpy as np
import pytest
from ropewalk import DBSCAN, dbscan

cluster = pytest.importorskip("sklearn.cluster")
datasets = pytest.importorskip("sklearn.datasets")

RANDOM = np.random.default_rng(20261123)


def lattice(side, dim, dtype=np.float64):
    axes = np.meshgrid(*[np.arange(side)] * dim)
    points = np.stack([axis.ravel() for axis in axes], axis=1).astype(dtype)
    return RANDOM.permutation(points)[: int(0.8 * len(points))]


def clouds():
    yield "blobs", datasets.make_blobs(700, centers=6, cluster_std=0.4, random_state=1)[0], 0.3, 5
    yield "moons", datasets.make_moons(600, noise=0.06, random_state=2)[0], 0.1, 5
    yield "noise", RANDOM.uniform(0.0, 10.0, (500, 2)), 0.4, 4
    # At the radii 1, sqrt(2) and sqrt(5) there are distances equal to the radius, which rounding must not exclude.
    for eps in [1.0, np.sqrt(2.0), np.sqrt(5.0)]:
        yield f"lattice {eps:.3}", lattice(18, 2), eps, 5
    yield "lattice of tenths", lattice(15, 2) / 10.0, 0.1, 3
    yield "lattice in space", lattice(8, 3), 1.0, 6
    yield "copies", np.repeat(RANDOM.uniform(0.0, 4.0, (60, 2)), 7, axis=0), 0.2, 8
    yield "one", np.array([[1.0, 2.0]]), 0.5, 1
    yield "pairs", RANDOM.uniform(0.0, 30.0, (400, 2)), 0.9, 2
    yield "singles", RANDOM.uniform(0.0, 30.0, (400, 2)), 0.9, 1
    for dim in range(1, 11):
        yield (
            f"{dim} dimensions",
            datasets.make_blobs(300, dim, centers=4, cluster_std=0.5, random_state=dim)[0],
            0.45 * dim**0.5,
            4,
        )
        yield f"lattice of {dim} dimensions", RANDOM.integers(0, 3, (250, dim)) * 1.0, 1.0, 3


CLOUDS = {name: rest for name, *rest in clouds()}


def compare(X, eps, min_samples, sample_weight=None, **parameters):
    expected = cluster.DBSCAN(eps=eps, min_samples=min_samples).fit(X, sample_weight=sample_weight)
    found = DBSCAN(eps=eps, min_samples=min_samples, **parameters).fit(X, sample_weight=sample_weight)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.core_sample_indices_, expected.core_sample_indices_)
    np.testing.assert_array_equal(found.components_, expected.components_)
    core, labels = dbscan(X, eps, min_samples=min_samples, sample_weight=sample_weight)
    np.testing.assert_array_equal(core, expected.core_sample_indices_)
    np.testing.assert_array_equal(labels, expected.labels_)
    return found


@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_scikit_learns_labels(name, n_jobs):
    compare(*CLOUDS[name], n_jobs=n_jobs)


@pytest.mark.parametrize("name", CLOUDS)
def test_32_bits_are_decided_in_64(name):
    X, eps, min_samples = CLOUDS[name]
    X = X.astype(np.float32)
    expected = cluster.DBSCAN(eps=eps, min_samples=min_samples).fit(X.astype(np.float64))
    found = DBSCAN(eps=eps, min_samples=min_samples).fit(X)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.core_sample_indices_, expected.core_sample_indices_)
    assert found.components_.dtype == np.float32


@pytest.mark.parametrize("name", ["blobs", "moons", "lattice 1.0", "copies", "5 dimensions"])
def test_weights(name):
    X, eps, min_samples = CLOUDS[name]
    halves = RANDOM.integers(0, 7, len(X)) / 2.0
    compare(X, eps, min_samples, halves)
    assert set(dbscan(X, eps, min_samples=min_samples, sample_weight=0)[1]) == {-1}
    compare(X, eps, min_samples, np.full(len(X), float(min_samples)))
    by_number = DBSCAN(eps=eps, min_samples=min_samples).fit(X, sample_weight=2)
    np.testing.assert_array_equal(by_number.labels_, compare(X, eps, min_samples, np.full(len(X), 2.0)).labels_)
    # Integer weights are equivalent to copies.
    times = RANDOM.integers(1, 4, len(X))
    repeated = DBSCAN(eps=eps, min_samples=min_samples).fit_predict(np.repeat(X, times, axis=0))
    first = np.concatenate([[0], np.cumsum(times)[:-1]])
    np.testing.assert_array_equal(compare(X, eps, min_samples, times).labels_, repeated[first])


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_periodic_box_against_copies(dim):
    n, side, eps = 150, np.arange(4.0, 4.0 + dim), 0.25 * 2.0 ** (dim - 1)
    eps = min(eps, 1.0)
    X = RANDOM.uniform(0.0, 1.0, (n, dim)) * side
    shifts = np.stack(np.meshgrid(*[[0.0, -1.0, 1.0]] * dim, indexing="ij"), -1).reshape(-1, dim) * side
    all_labels = cluster.DBSCAN(eps=eps, min_samples=4).fit(np.concatenate([X + shift for shift in shifts]))
    core, labels = dbscan(X, eps, min_samples=4, box_size=side)
    own = all_labels.core_sample_indices_
    np.testing.assert_array_equal(core, own[own < n])
    # Points that share a cluster among the copies share one in the periodic box: links between copies are links.
    copies = all_labels.labels_.reshape(-1, n)
    is_core = np.isin(np.arange(copies.size), own).reshape(-1, n)
    parent = np.arange(all_labels.labels_.max() + 1)

    def root(a):
        while parent[a] != a:
            a = parent[a]
        return a

    for point in core:
        for a in copies[is_core[:, point], point]:
            parent[root(a)] = root(copies[0, point])
    expected = {}
    for point in core:
        number = expected.setdefault(root(copies[0, point]), len(expected))
        assert labels[point] == number
    assert set(np.flatnonzero(labels >= 0)) == set(np.flatnonzero(copies[0] >= 0))
    # The origin of the box affects only the numbers of clusters. Here the order of points is kept.
    np.testing.assert_array_equal(dbscan((X + 0.5 * side) % side, eps, min_samples=4, box_size=side)[1] >= 0, labels >= 0)
    fitted = DBSCAN(eps=eps, min_samples=4, box_size=side).fit(X)
    np.testing.assert_array_equal(fitted.labels_, labels)
    np.testing.assert_array_equal(fitted.predict(X[core] + side), labels[core])


def test_one_side_for_all_axes():
    X = [[0.1, 5.0], [9.9, 5.0], [5.0, 0.1], [5.0, 9.9]]
    assert dbscan(X, 0.5, min_samples=2, box_size=10.0)[1].tolist() == [0, 0, 1, 1]
    assert dbscan(X, 0.5, min_samples=2, box_size=[10.0, 100.0])[1].tolist() == [0, 0, -1, -1]
    assert dbscan(X, 0.5, min_samples=2, box_size=np.float32(10))[1].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("name", ["blobs", "lattice 1.0", "3 dimensions", "7 dimensions"])
@pytest.mark.parametrize(
    "dtypes", [(np.float64, np.float64), (np.float32, np.float64), (np.float64, np.float32), (np.float32, np.float32)]
)
def test_predict_is_the_nearest_core_point(name, dtypes):
    X, eps, min_samples = CLOUDS[name]
    X = X.astype(dtypes[0])
    new = (X[:200] + RANDOM.integers(-2, 3, X[:200].shape) * eps / 2.0).astype(dtypes[1])
    fitted = DBSCAN(eps=eps, min_samples=min_samples).fit(X)
    core = X[fitted.core_sample_indices_].astype(np.float64)
    d2 = ((new[:, None].astype(np.float64) - core[None]) ** 2).sum(axis=2)
    nearest = d2.argmin(axis=1)
    at = np.arange(len(new))
    expected = np.where(d2[at, nearest] <= eps * eps, fitted.labels_[fitted.core_sample_indices_][nearest], -1)
    sure = np.abs(d2[at, nearest] - eps * eps) > 1e-12
    np.testing.assert_array_equal(fitted.predict(new)[sure], expected[sure])


def test_predict_without_core_points():
    fitted = DBSCAN(eps=0.1).fit([[0.0, 0.0], [1.0, 1.0]])
    assert fitted.components_.shape == (0, 2)
    assert fitted.predict([[0.0, 0.0]]).tolist() == [-1]
    assert fitted.predict(np.empty((0, 2))).shape == (0,)


@pytest.mark.parametrize(
    "metric, p, params",
    [("euclidean", None, None), ("l2", None, {}), ("minkowski", None, None), ("minkowski", 2, None), ("euclidean", 7, None)],
)
def test_names_of_the_metric(metric, p, params):
    X, eps, min_samples = CLOUDS["blobs"]
    expected = cluster.DBSCAN(eps=eps, min_samples=min_samples).fit_predict(X)
    found = DBSCAN(eps=eps, min_samples=min_samples, metric=metric, p=p, metric_params=params, algorithm="brute", leaf_size=1)
    np.testing.assert_array_equal(found.fit_predict(X), expected)


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"metric": "cityblock"}, "metric is 'cityblock'.*euclidean"),
        ({"metric": "precomputed"}, "metric is 'precomputed'"),
        ({"metric": lambda a, b: 0.0}, "metric is <function"),
        ({"metric": "minkowski", "p": 1}, "p is 1"),
        ({"metric_params": {"w": 1}}, "metric_params"),
        ({"eps": np.nan}, "eps.*NaN"),
        ({"eps": np.inf}, "eps.*inf"),
        ({"eps": -0.5}, "eps.*-0.5"),
        ({"min_samples": 0}, "min_samples is 0.*at least 1"),
        ({"min_samples": -3}, "min_samples is -3"),
        ({"box_size": 0.0}, "periodic box"),
        ({"box_size": [1.0, 2.0, 3.0]}, "box_size has 3 sides.*2 coordinates"),
        ({"box_size": 1.5, "eps": 0.8}, "twice eps"),
        ({"box_size": 0.9}, "periodic box is 0.9, but along axis 0 the points run from 0 to 1"),
        ({"box_size": np.nan}, "periodic box"),
    ],
)
def test_parameters_that_are_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        DBSCAN(**parameters).fit([[0.0, 0.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"eps": "0.5"}, "eps is '0.5'"),
        ({"eps": None}, "eps is None"),
        ({"min_samples": 2.5}, "min_samples is 2.5"),
        ({"min_samples": "2"}, "min_samples"),
    ],
)
def test_types_that_are_refused(parameters, words):
    with pytest.raises(TypeError, match=words):
        DBSCAN(**parameters).fit([[0.0, 0.0], [1.0, 1.0]])


def test_numbers_of_other_types():
    X, eps, min_samples = CLOUDS["blobs"]
    expected = dbscan(X, eps, min_samples=min_samples)[1]
    for length in [np.float64(eps), np.array(eps)]:
        np.testing.assert_array_equal(dbscan(X, length, min_samples=np.int64(min_samples))[1], expected)
    assert dbscan([[0.0], [0.0], [1.0]], 0, min_samples=2)[1].tolist() == [0, 0, -1]
    assert dbscan([[0.0], [0.0], [1.0]], np.True_ + 0, min_samples=2)[1].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "weights, words",
    [
        ([1.0, 2.0], r"sample_weight has the shape \(2,\).*3 points"),
        ([[1.0], [2.0], [3.0]], "sample_weight has the shape"),
        ([1.0, -2.0, 1.0], "weight of point 1 is -2"),
        ([1.0, 2.0, np.nan], "weight of point 2 is NaN"),
        ([1.0, np.inf, 1.0], "weight of point 1 is inf"),
        (["a", "b", "c"], "sample_weight holds text, not numbers"),
    ],
)
def test_weights_that_are_refused(weights, words):
    for call in [
        lambda: DBSCAN().fit([[0.0], [1.0], [2.0]], sample_weight=weights),
        lambda: dbscan([[0.0], [1.0], [2.0]], sample_weight=weights),
    ]:
        with pytest.raises(ValueError, match=words):
            call()


X = RANDOM.normal(size=(60, 3))


@pytest.mark.parametrize(
    "same",
    [
        X.tolist(),
        np.asfortranarray(X),
        X[::-1][::-1],
        X.astype(">f8"),
        X.astype(object),
        X.astype(np.longdouble),
        np.ma.masked_array(X).filled(),
        memoryview(X),
        np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float64).reshape(X.shape),
        np.array(X.astype(str), dtype=object),
        X.view(np.ndarray),
    ],
    ids=["lists", "Fortran", "strides", "big-endian", "objects", "long", "filled", "memoryview", "unaligned", "texts", "view"],
)
def test_other_memory(same):
    np.testing.assert_array_equal(
        DBSCAN(eps=0.7, min_samples=3).fit_predict(same), cluster.DBSCAN(eps=0.7, min_samples=3).fit_predict(X)
    )


def test_negative_strides_and_slices():
    big = RANDOM.normal(size=(200, 8)).astype(np.float32)
    for view in [big[::-1, ::-1], big[::3, 1:4], big.T[:5].T, np.broadcast_to(big[:1], (30, 8))]:
        np.testing.assert_array_equal(dbscan(view, 1.5, min_samples=3)[1], dbscan(view.copy(), 1.5, min_samples=3)[1])


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.int64, np.float16])
def test_other_numbers(dtype):
    X = RANDOM.integers(0, 2 if dtype is bool else 12, (80, 2)).astype(dtype)
    np.testing.assert_array_equal(
        dbscan(X, 1.0, min_samples=4)[1], cluster.DBSCAN(eps=1.0, min_samples=4).fit_predict(X.astype(float))
    )


@pytest.mark.parametrize(
    "X, words",
    [
        ([1.0, 2.0, 3.0], "reshape|Reshape your data"),
        (1.0, "dimensions"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        ([["a", "b"], ["c", "d"]], "X holds text, not numbers"),
        (np.array([["1", "x"]], dtype=object), "could not convert string"),
        ([[0.0, 1.0], [2.0, np.nan], [0.0, 0.0]], "point 1: coordinate 1 is NaN"),
        ([[0.0, 1.0], [-np.inf, 0.0]], "point 1: coordinate 0 is -inf"),
        (np.zeros((3, 2), complex), "omplex"),
        (np.ma.masked_array(np.zeros((3, 2)), mask=[[0, 1]] * 3), "masked"),
        (np.zeros((4, 11)), "11"),
        ([[0.0], [1.0, 2.0]], "inhomogeneous|sequence|Reshape|dimensions"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "times"),
    ],
)
def test_points_that_are_refused(X, words):
    for call in [lambda: DBSCAN().fit(X), lambda: dbscan(X)]:
        with pytest.raises((ValueError, TypeError), match=words):
            call()


def test_no_points():
    for empty in [np.empty((0, 3)), np.empty((0, 2), np.float32)]:
        core, labels = dbscan(empty)
        assert core.shape == labels.shape == (0,)
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            DBSCAN().fit(empty)
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        DBSCAN().fit(np.empty((5, 0)))
    with pytest.raises(ValueError):
        dbscan(np.empty((5, 0)))
    with pytest.raises(ValueError):
        dbscan([])


def test_sparse_matrices():
    sparse = pytest.importorskip("scipy.sparse")
    for call in [lambda: DBSCAN().fit(sparse.csr_matrix(np.eye(3))), lambda: dbscan(sparse.csr_array(np.eye(3)))]:
        with pytest.raises((TypeError, ValueError), match="parse.*toarray"):
            call()
