"""Contents of arrays: numbers that float64 does not hold exactly, points that do not fit their periodic box, writable results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ropewalk as rw

BIG = 2**53
X = np.random.default_rng(3).random((60, 3))


def with_field(array: Any) -> Any:
    return rw.InverseDistance(k=3).interpolate(X, array, X)


#: All calls that take points, as functions of an array of three columns.
POINTS: dict[str, Callable[[Any], Any]] = {
    "Bvh": rw.Bvh,
    "Bvh.query": lambda x: rw.Bvh(X).query(x, 0.1),
    "Bvh.nearest": lambda x: rw.Bvh(X).nearest(x, 1),
    "dbscan": lambda x: rw.dbscan(x, 0.1),
    "DBSCAN": lambda x: rw.DBSCAN().fit(x),
    "DBSCAN.predict": lambda x: rw.DBSCAN(2.0).fit(X).predict(x),
    "HDBSCAN": lambda x: rw.HDBSCAN().fit(x),
    "FriendsOfFriends": lambda x: rw.FriendsOfFriends(0.1).fit(x),
    "friends_of_friends": lambda x: rw.friends_of_friends(x, 0.1),
    "hop": lambda x: rw.hop(x, 80.0, n_density=8, n_hop=8),
    "HOP": lambda x: rw.HOP(80.0, n_density=8, n_hop=8).fit(x),
    "halos": lambda x: rw.halos(x, eps=0.1),
    "k_distances": lambda x: rw.k_distances(x, 1),
    "linkage": rw.linkage,
    "minimum_spanning_tree": rw.minimum_spanning_tree,
    "NearestNeighbors": lambda x: rw.NearestNeighbors().fit(x),
    "NearestNeighbors.kneighbors": lambda x: rw.NearestNeighbors().fit(X).kneighbors(x),
    "MovingLeastSquares": lambda x: rw.MovingLeastSquares(1).prepare(X, x),
    "InverseDistance": lambda x: rw.InverseDistance().prepare(x, X),
    "Sph": lambda x: rw.Sph(k=8).gather(x, X),
    "Mesh": lambda x: rw.Mesh(x, [[0, 1, 2]]),
    "Mesh.nearest": lambda x: rw.Mesh(X, [[0, 1, 2]]).nearest(x),
    "plot.k_distances": lambda x: rw.plot.k_distances(x, 1),
}

#: All calls that take one number for each point.
VECTORS: dict[str, Callable[[Any], Any]] = {
    "dbscan": lambda w: rw.dbscan(X, 0.1, sample_weight=w),
    "DBSCAN": lambda w: rw.DBSCAN().fit(X, sample_weight=w),
    "DBSCAN.predict": lambda w: rw.DBSCAN().fit_predict(X, sample_weight=w),
    "hop": lambda w: rw.hop(X, 80.0, n_density=8, n_hop=8, masses=w),
    "HOP": lambda w: rw.HOP(80.0, n_density=8, n_hop=8).fit(X, sample_weight=w),
    "halos": lambda w: rw.halos(X, masses=w, eps=0.1),
    "interpolate": with_field,
    "Bvh.query": lambda w: rw.Bvh(X).query(X, w),
}


def integers(dtype: Any, value: int) -> Any:
    array = np.arange(180).reshape(60, 3).astype(dtype)
    array[7, 1] = value
    return array


@pytest.mark.parametrize("name", POINTS)
def test_points_that_would_be_rounded_are_refused(name: str) -> None:
    inexact: list[Any] = [integers(np.int64, BIG + 1), integers(np.int64, -BIG - 1), integers(np.uint64, 2**64 - 1)]
    inexact += [integers(object, BIG + 1), integers(">i8", BIG + 1), integers(object, 10**30 + 1), integers(np.int64, BIG + 1).tolist()]
    if np.finfo(np.longdouble).nmant > 52:
        inexact.append(X.astype(np.longdouble))
        inexact[-1][7, 1] += np.longdouble(2) ** -60
    for array in inexact:
        with pytest.raises(ValueError, match=r"\[7, 1\] is .*, which float64 does not hold exactly"):
            POINTS[name](array)
    mixed = X.tolist()
    mixed[7][1] = BIG + 1
    with pytest.raises(ValueError, match=r"\[7, 1\] is 9007199254740993"):
        POINTS[name](mixed)


@pytest.mark.parametrize("name", VECTORS)
def test_numbers_of_points_that_would_be_rounded_are_refused(name: str) -> None:
    for array in [integers(np.int64, BIG + 1)[:, 1], integers(object, BIG + 1)[:, 1], integers(np.uint64, 2**64 - 1)[:, 1].tolist()]:
        with pytest.raises(ValueError, match=r"\[7\] is \d+, which float64 does not hold exactly"):
            VECTORS[name](array)


def test_columns_of_tables_that_would_be_rounded_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": np.arange(60.0), "id": np.arange(60) + BIG, "z": np.arange(60.0)})
    for name in ("Bvh", "dbscan", "HDBSCAN", "NearestNeighbors", "linkage"):
        with pytest.raises(ValueError, match=r"\[1, 1\] is 9007199254740993"):
            POINTS[name](frame)
    polars = pytest.importorskip("polars")
    with pytest.raises(ValueError, match=r"\[1, 1\] is 9007199254740993"):
        rw.Bvh(polars.DataFrame({"x": np.arange(60.0), "id": np.arange(60) + BIG}))


def test_columns_of_any_name_are_looked_at() -> None:
    pandas = pytest.importorskip("pandas")
    for names in (["a", "a"], [0, 0], [("a", "x"), ("a", "x")]):
        frame = pandas.concat([pandas.Series(np.arange(60.0)), pandas.Series(np.arange(60) + BIG)], axis=1)
        frame.columns = pandas.MultiIndex.from_tuples(names) if isinstance(names[0], tuple) else names
        with pytest.raises(ValueError, match=r"\[1, 1\] is 9007199254740993"):
            rw.halos(frame.iloc[:, [0, 1, 1]], eps=0.1)
        with pytest.raises(ValueError, match=r"\[1, 1\] is 9007199254740993"):
            rw.Bvh(frame)
        frame.iloc[:, 1] -= BIG
        assert np.array_equal(rw.Bvh(frame).points, np.stack([np.arange(60.0)] * 2, axis=1))


def test_tables_of_pyarrow() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"x": np.arange(60.0), "y": np.arange(60), "z": np.arange(60.0) / 4})
    for call in (rw.Bvh, lambda x: rw.dbscan(x, 0.5), lambda x: rw.DBSCAN(0.5).fit(x), lambda x: rw.halos(x, eps=0.1), rw.linkage):
        call(table)
    assert np.array_equal(rw.Bvh(table).points, np.stack([np.arange(60.0), np.arange(60.0), np.arange(60.0) / 4], axis=1))
    with pytest.raises(ValueError, match=r"\[1, 1\] is 9007199254740993"):
        rw.Bvh(table.set_column(1, "y", pyarrow.array(np.arange(60) + BIG)))
    whole = [None, *(BIG + at for at in range(1, 60))]
    with pytest.raises(ValueError, match=r"\[1, 1\] is 9007199254740993"):
        rw.HDBSCAN(min_cluster_size=5).fit(table.set_column(1, "y", pyarrow.array(whole)))


def test_integers_that_are_exact_are_taken() -> None:
    for dtype in (np.int64, np.uint64, object):
        exact = integers(dtype, 2**60 + 2**10)
        assert rw.Bvh(exact).points[7, 1] == 2**60 + 2**10
    lowest = integers(np.int64, -(2**63))
    assert rw.Bvh(lowest).points[7, 1] == -(2.0**63)
    assert np.array_equal(rw.Bvh(X.astype(np.longdouble)).points, X)
    assert rw.Bvh([[1, 2**53], [2, 3.5]]).points[0, 1] == 2**53


def test_a_number_far_down_is_found() -> None:
    for shape in ((50_000, 3), (3, 50_000)):
        array = np.zeros(shape, np.int64)
        at = (shape[0] - 1, shape[1] - 1)
        array[at] = BIG + 1
        with pytest.raises(ValueError, match=rf"\[{at[0]}, {at[1]}\] is {BIG + 1}"):
            rw.Bvh(array)


def test_numbers_that_would_be_rounded_are_refused() -> None:
    for call in (lambda: rw.dbscan(X, BIG + 1), lambda: rw.dbscan(X, 1, sample_weight=BIG + 1), lambda: rw.Bvh(X, box_size=BIG + 1)):
        with pytest.raises(ValueError, match="is 9007199254740993, which float64 does not hold exactly"):
            call()
    with pytest.raises(ValueError, match="eps is 10+, which"):
        rw.dbscan(X, 10**400)


def test_ids_stay_whole() -> None:
    x = np.array([[0.1, 0.1, 0.1], [0.1, 0.1, 0.2]])
    ids = np.array([2**64 - 1, 2**53 + 1], np.uint64)
    assert rw.halos(x, ids=ids, eps=0.2, min_members=2)["fof_halo_tag"].tolist() == [2**53 + 1]
    with pytest.raises(ValueError, match="ids"):
        rw.halos(x, ids=[2**64 - 1, -1], eps=0.2)


#: All calls that take points and a periodic box.
BOXED: dict[str, Callable[[Any, Any], Any]] = {
    "Bvh": lambda x, side: rw.Bvh(x, side),
    "dbscan": lambda x, side: rw.dbscan(x, 0.1, box_size=side),
    "DBSCAN": lambda x, side: rw.DBSCAN(0.1, box_size=side).fit(x),
    "HDBSCAN": lambda x, side: rw.HDBSCAN(box_size=side).fit(x),
    "FriendsOfFriends": lambda x, side: rw.FriendsOfFriends(0.1, box_size=side).fit(x),
    "friends_of_friends": lambda x, side: rw.friends_of_friends(x, 0.1, box_size=side),
    "hop": lambda x, side: rw.hop(x, 80.0, n_density=8, n_hop=8, box_size=side),
    "HOP": lambda x, side: rw.HOP(80.0, n_density=8, n_hop=8, box_size=side).fit(x),
    "k_distances": lambda x, side: rw.k_distances(x, 1, box_size=side),
    "linkage": lambda x, side: rw.linkage(x, box_size=side),
    "minimum_spanning_tree": lambda x, side: rw.minimum_spanning_tree(x, box_size=side),
    "NearestNeighbors": lambda x, side: rw.NearestNeighbors(box_size=side).fit(x),
    "MovingLeastSquares": lambda x, side: rw.MovingLeastSquares(1, box_size=side).prepare(x, x),
    "InverseDistance": lambda x, side: rw.InverseDistance(box_size=side).prepare(x, x),
    "Sph": lambda x, side: rw.Sph(k=8, box_size=side).gather(x, x),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", BOXED)
def test_points_wider_than_their_box_are_refused(name: str, dtype: type) -> None:
    call = BOXED[name]
    faces = X.copy()
    faces[:2] = [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    for x in (faces, faces - 0.5, faces + 7.0):
        call(x.astype(dtype), 1.0)
    wide = (100.0 * X).astype(dtype)
    for side in (1.0, [200.0, 200.0, 1.0], [1.0, 200.0, 200.0]):
        with pytest.raises(ValueError, match="the periodic box is 1, but along axis [02] the points run from"):
            call(wide, side)
    call(wide, [100.0, 100.0, 100.0])


def test_sparse_matrices_can_be_changed() -> None:
    pytest.importorskip("scipy")
    nearest = rw.NearestNeighbors(n_neighbors=3, radius=0.3).fit(X)
    matrices = {
        "to_scipy": lambda: rw.InverseDistance(k=4).prepare(X, X).to_scipy(),
        "kneighbors_graph": lambda: nearest.kneighbors_graph(X),
        "kneighbors_graph, distances": lambda: nearest.kneighbors_graph(X, mode="distance"),
        "radius_neighbors_graph": lambda: nearest.radius_neighbors_graph(X),
        "radius_neighbors_graph, distances": lambda: nearest.radius_neighbors_graph(X, mode="distance"),
    }
    for name, make in matrices.items():
        matrix = make()
        dense = matrix.toarray()
        assert all(array.flags.writeable for array in (matrix.data, matrix.indices, matrix.indptr)), name
        matrix.sort_indices()
        matrix.eliminate_zeros()
        matrix *= 2
        matrix.data[:] += 0.0
        np.testing.assert_array_equal(abs(matrix).toarray(), 2 * abs(dense))
        np.testing.assert_array_equal(make().toarray(), dense)


def test_version() -> None:
    assert rw.__version__.split(".")[:2] == ["0", "1"]
