"""The search tree, compared with scipy's independent one."""

import pickle

import numpy as np
import pytest
from scipy.spatial import cKDTree

from ropewalk import Bvh


def cloud(n, dim, dtype=np.float64, seed=0):
    """Returns points in a unit cube, with some copies. 64-bit points have few digits, so that 32 bits hold them exactly."""
    points = np.random.default_rng(seed).random((n, dim)).astype(np.float32)
    points[n // 2 : n // 2 + n // 10] = points[: n // 10]
    return points.astype(dtype)


def lattice(side, dim=3):
    axes = np.meshgrid(*[np.arange(side)] * dim, indexing="ij")
    return np.stack(axes, -1).reshape(-1, dim).astype(np.float64)


def brute(points, queries, box_size=None):
    """Returns all squared distances in 64 bits."""
    apart = np.abs(queries.astype(np.float64)[:, None] - points.astype(np.float64)[None])
    if box_size is not None:
        apart %= box_size
        apart = np.minimum(apart, box_size - apart)
    return (apart**2).sum(-1)


def nearest_by_brute(points, queries, k, box_size=None):
    distances2 = brute(points, queries, box_size)
    # The sort is stable, so ties are ordered by index.
    indices = np.argsort(distances2, axis=1, kind="stable")[:, :k]
    return np.sqrt(np.take_along_axis(distances2, indices, 1)), indices


@pytest.mark.parametrize("dim", range(1, 11))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("box_size", [None, 1.0])
def test_as_scipy(dim, dtype, box_size):
    points, queries = cloud(400, dim, dtype), cloud(50, dim, dtype, seed=1)
    tree, bvh = cKDTree(points, boxsize=box_size), Bvh(points, box_size)
    radius = 0.4 * dim**0.5
    if box_size is not None:
        radius = min(radius, 0.49)

    distances, indices = bvh.nearest(queries, 7)
    expected, _ = tree.query(queries, 7)
    np.testing.assert_allclose(distances, expected, rtol=1e-12)
    by_brute = nearest_by_brute(points, queries, 7, box_size)
    np.testing.assert_array_equal(indices, by_brute[1])

    lists = bvh.query(queries, radius)
    expected = tree.query_ball_point(queries, radius, return_sorted=True)
    assert [own.tolist() for own in lists.split()] == expected.tolist()
    np.testing.assert_array_equal(bvh.query_count(queries, radius), np.diff(lists.offsets))
    np.testing.assert_array_equal(bvh.query_count(queries, radius), tree.query_ball_point(queries, radius, return_length=True))

    pairs = bvh.pairs(radius)
    expected = tree.query_pairs(radius, output_type="ndarray")
    expected = expected[np.lexsort(expected.T[::-1])]
    np.testing.assert_array_equal(pairs.indices, expected)
    squared = brute(points, points, box_size)[tuple(expected.T)]
    np.testing.assert_allclose(pairs.distances, np.sqrt(squared), rtol=1e-12)

    own = bvh.neighbors(radius)
    expected = tree.query_ball_point(points, radius, return_sorted=True)
    assert [list.tolist() for list in own.split()] == expected.tolist()
    np.testing.assert_array_equal(bvh.count_neighbors(radius), np.diff(own.offsets))


def test_types_and_owners():
    points = cloud(100, 3)
    bvh = Bvh(points)
    lists = bvh.query(points, 0.3)
    distances, near = bvh.nearest(points, 3)
    pairs = bvh.pairs(0.3)
    results = [*lists, distances, near, *pairs, *bvh.neighbors(0.2), bvh.count_neighbors(0.2), bvh.query_count(points, 0.2)]
    for array in results:
        assert array.base is not None and not array.flags.owndata
        assert array.flags.c_contiguous and array.flags.writeable and array.flags.aligned
    assert lists.offsets.dtype == np.int64 and lists.indices.dtype == np.int32
    assert distances.dtype == np.float64 and near.dtype == np.int64
    assert pairs.indices.dtype == np.int32 and pairs.distances.dtype == np.float64
    assert isinstance(bvh.query_count(points[0], 0.1), np.int32)
    # Indices of either type can index arrays.
    np.testing.assert_array_equal(points[lists.of(4)], points[lists.indices[lists.offsets[4] : lists.offsets[5]]])


def test_results_outlive_the_tree():
    points = cloud(1000, 3)
    distances, indices = Bvh(points).nearest(points, 2)
    lists = Bvh(points).query(points, 0.1)
    expected = cKDTree(points).query(points, 2)
    del points
    np.testing.assert_allclose(distances, expected[0])
    assert lists.offsets[-1] == len(lists.indices)


def test_one_query_is_squeezed_as_scipy_does():
    points = cloud(60, 3)
    tree, bvh = cKDTree(points), Bvh(points)
    at = [0.5, 0.5, 0.5]
    distances, indices = bvh.nearest(at, 4)
    expected = tree.query(at, 4)
    np.testing.assert_allclose(distances, expected[0])
    np.testing.assert_array_equal(indices, nearest_by_brute(points, np.array([at]), 4)[1][0])
    assert bvh.query(at, 0.4).tolist() == sorted(tree.query_ball_point(at, 0.4))
    assert bvh.query_count(at, 0.4) == tree.query_ball_point(at, 0.4, return_length=True)
    # Further leading axes are kept.
    grid = points[:24].reshape(2, 3, 4, 3)
    assert bvh.nearest(grid, 5)[0].shape == tree.query(grid, 5)[0].shape == (2, 3, 4, 5)
    assert bvh.query_count(grid, 0.3).shape == (2, 3, 4)


def test_ties_are_ordered_by_index():
    points = lattice(5)
    for box_size in [None, 5.0]:
        bvh = Bvh(points, box_size)
        for dtype in [np.float32, np.float64]:
            for k in [1, 6, 7, 27, 40, 70]:
                expected = nearest_by_brute(points, points, k, box_size)
                found = Bvh(points.astype(dtype), box_size).nearest(points.astype(dtype), k)
                np.testing.assert_array_equal(found[1], expected[1])
                np.testing.assert_allclose(found[0], expected[0], rtol=1e-15)
        _, indices = bvh.nearest_neighbors(6)
        without_self = nearest_by_brute(points, points, 7, box_size)
        np.testing.assert_array_equal(indices, without_self[1][:, 1:])
        # Points on the boundary are inside, and those at the next smaller radius outside.
        counts = np.count_nonzero(brute(points, points, box_size) <= 1.0, axis=1)
        np.testing.assert_array_equal(bvh.count_neighbors(1.0), counts)
        assert (bvh.count_neighbors(np.nextafter(1.0, 0.0)) == 1).all()


def test_copies():
    points = np.repeat(cloud(3, 2), 50, axis=0)
    bvh = Bvh(points)
    distances, indices = bvh.nearest_neighbors(49)
    assert (distances == 0).all()
    for i in range(len(points)):
        own = np.arange(i // 50 * 50, i // 50 * 50 + 50)
        assert indices[i].tolist() == own[own != i].tolist()
    assert len(bvh.pairs(0.0).indices) == 3 * 50 * 49 // 2
    assert (bvh.count_neighbors(0) == 50).all()
    assert bvh.query(points[70], 0).tolist() == list(range(50, 100))
    # A copy with a lower index precedes the point itself.
    assert bvh.nearest_neighbors(1, include_self=True)[1].ravel().tolist() == [0] * 50 + [50] * 50 + [100] * 50


@pytest.mark.parametrize("k", [0, 1, 4, 5, 6, 50])
def test_more_neighbours_than_points(k):
    points = cloud(5, 2)
    tree, bvh = cKDTree(points), Bvh(points)
    queries = cloud(8, 2, seed=3)
    distances, indices = bvh.nearest(queries, k)
    assert distances.shape == indices.shape == (8, k)
    if k > 0:
        expected = tree.query(queries, range(1, k + 1))
        np.testing.assert_allclose(distances, expected[0])
        np.testing.assert_array_equal(indices == 5, expected[1] == 5)
    own = bvh.nearest_neighbors(k)
    assert own[0].shape == (5, k)
    assert np.isinf(own[0][:, 4:]).all() and (own[1][:, 4:] == 5).all() and np.isfinite(own[0][:, :4]).all()
    assert (bvh.nearest_neighbors(k, include_self=True)[1][:, :1] == np.arange(5)[:, None])[:, : k and 1].all()


def test_neighbours_within_a_radius():
    points = lattice(4, 2)
    bvh = Bvh(points)
    distances, indices = bvh.nearest(points, 9, radius=1.0)
    expected = cKDTree(points).query(points, 9, distance_upper_bound=np.nextafter(1.0, 2.0))
    np.testing.assert_allclose(distances, expected[0])
    assert ((indices == 16) == (expected[1] == 16)).all()
    assert (bvh.nearest_neighbors(9, radius=0.5)[1] == 16).all()
    offsets, distances, indices = bvh.query_distances(points, 1.5)
    lists = bvh.query(points, 1.5)
    np.testing.assert_array_equal(offsets, lists.offsets)
    for i in range(16):
        own = slice(offsets[i], offsets[i + 1])
        assert sorted(indices[own]) == lists.of(i).tolist()
        np.testing.assert_allclose(distances[own], np.linalg.norm(points[indices[own]] - points[i], axis=1))
        order = np.lexsort((indices[own], distances[own]))
        assert (order == np.arange(len(order))).all()
    without, _, _ = bvh.query_distances(None, 1.5)
    np.testing.assert_array_equal(np.diff(without), np.diff(offsets) - 1)
    np.testing.assert_array_equal(bvh.query_distances(None, 1.5, include_self=True)[2], indices)


def test_a_radius_for_each_center():
    points = cloud(200, 3)
    bvh, tree = Bvh(points), cKDTree(points)
    radii = np.linspace(0.0, 0.5, 30)
    lists = bvh.query(points[:30], radii)
    expected = tree.query_ball_point(points[:30], radii, return_sorted=True)
    assert [own.tolist() for own in lists.split()] == expected.tolist()
    np.testing.assert_array_equal(bvh.query_count(points[:30], radii), np.diff(lists.offsets))
    # The lists have the layout of a sparse matrix.
    from scipy.sparse import csr_array

    graph = csr_array((np.ones(len(lists.indices)), lists.indices, lists.offsets), shape=(30, 200))
    graph.check_format()
    np.testing.assert_array_equal(graph.sum(1), np.diff(lists.offsets))


@pytest.mark.parametrize("sides", [2.0, [2.0, 3.0, 0.5]])
def test_a_box_with_sides(sides):
    points = cloud(300, 3) * sides
    # Points and queries outside of the box are wrapped.
    bvh = Bvh(points + np.multiply([3, -2, 7], sides), sides)
    queries = cloud(40, 3, seed=5) * sides
    tree = cKDTree(points % sides, boxsize=sides)
    distances, _ = bvh.nearest(queries - np.multiply([1, 1, 4], sides), 5)
    np.testing.assert_allclose(distances, tree.query(queries % sides, 5)[0], rtol=1e-9)
    lists = bvh.query(queries, 0.2)
    assert [own.tolist() for own in lists.split()] == tree.query_ball_point(queries, 0.2, return_sorted=True).tolist()
    assert bvh.box_size == np.broadcast_to(sides, 3).tolist()


@pytest.mark.parametrize("stored", [np.float32, np.float64])
@pytest.mark.parametrize("asked", [np.float32, np.float64])
def test_types_mix(stored, asked):
    """Comparisons are in 64 bits for all types: 0.1 in 32 bits is farther from 0 than 0.1 in 64 bits."""
    narrow, wide = float(np.float32(0.1)), 0.1
    points = np.array([[narrow, 0.0], [1.0, 1.0]], stored)
    at = np.array([[wide - narrow, 0.0]], asked)
    exact = np.sqrt(brute(points, at))
    np.testing.assert_array_equal(Bvh(points).nearest(at, 2)[0], exact)
    assert Bvh(points).query_count(at, float(exact[0, 0])) == 1
    assert Bvh(points).query_count(at, np.nextafter(exact[0, 0], 0)) == 0


def test_no_points_and_no_queries():
    for dim in range(1, 11):
        bvh = Bvh(np.empty((0, dim)))
        assert len(bvh) == 0 and bvh.dim == dim
        at = np.zeros((4, dim))
        assert bvh.query(at, 1.0).offsets.tolist() == [0] * 5
        assert bvh.nearest(at, 2)[1].tolist() == [[0, 0]] * 4 and np.isinf(bvh.nearest(at, 2)[0]).all()
        assert bvh.pairs(1.0).indices.shape == (0, 2) and bvh.neighbors(1.0).offsets.tolist() == [0]
        assert bvh.nearest_neighbors(3)[0].shape == (0, 3)
        assert bvh.count_neighbors(1.0).shape == (0,)
        assert bvh.neighbors(1.0).split() == []
        full = Bvh(np.zeros((3, dim)))
        none = np.empty((0, dim))
        assert full.query(none, 1.0).offsets.tolist() == [0] and full.query(none, []).indices.shape == (0,)
        assert full.nearest(none, 2)[0].shape == (0, 2) and full.query_count(none, 1.0).shape == (0,)


def test_immutable_and_pickled():
    points = cloud(50, 3, np.float32)
    bvh = Bvh(points, [1.0, 2.0, 3.0], n_jobs=2)
    assert repr(bvh) == "Bvh(n=50, dim=3, dtype=float32, box_size=[1.0, 2.0, 3.0])"
    assert bvh.n_jobs == 2 and np.shares_memory(bvh.points, points)
    with pytest.raises(ValueError, match="read-only"):
        bvh.points[0] = 1.0
    for name in ["points", "box_size", "dim", "n_jobs", "anything"]:
        with pytest.raises(AttributeError):
            setattr(bvh, name, 1)
    again = pickle.loads(pickle.dumps(bvh))
    assert repr(again) == repr(bvh) and again.n_jobs == 2
    np.testing.assert_array_equal(again.pairs(0.2).indices, bvh.pairs(0.2).indices)


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1, -100])
def test_any_number_of_threads(n_jobs):
    points = cloud(3000, 3)
    bvh, one = Bvh(points, n_jobs=n_jobs), Bvh(points, n_jobs=1)
    for a, b in [
        (bvh.query(points, 0.1), one.query(points, 0.1)),
        (bvh.nearest(points, 5), one.nearest(points, 5)),
        (bvh.pairs(0.1), one.pairs(0.1)),
    ]:
        for x, y in zip(a, b):
            np.testing.assert_array_equal(x, y)


POINTS = np.zeros((4, 3))
BAD = np.where(np.arange(12).reshape(4, 3) == 7, np.nan, 0.0)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: Bvh(BAD), ValueError, "point 2: coordinate 1 is NaN"),
        (lambda: Bvh(np.where(np.isnan(BAD[::-1]), -np.inf, 0.0)), ValueError, "point 1: coordinate 1 is -inf"),
        (lambda: Bvh(POINTS).nearest(BAD, 1), ValueError, "2.*coordinate 1 is NaN"),
        (lambda: Bvh(POINTS).query(BAD, 1.0), ValueError, "2.*coordinate 1 is NaN"),
        (lambda: Bvh(POINTS).query_count(BAD, 1.0), ValueError, "2.*coordinate 1 is NaN"),
        (lambda: Bvh(POINTS).query_distances(BAD, 1.0), ValueError, "2.*coordinate 1 is NaN"),
        (lambda: Bvh(POINTS).nearest(BAD.astype(np.float32), 1), ValueError, "2.*coordinate 1 is NaN"),
        (lambda: Bvh(POINTS).query(POINTS, -1.0), ValueError, "radius is -1"),
        (lambda: Bvh(POINTS).query(POINTS, np.nan), ValueError, "radius is NaN"),
        (lambda: Bvh(POINTS).query(POINTS, [1.0, 1.0, -2.0, 1.0]), ValueError, "radius.* is -2"),
        (lambda: Bvh(POINTS).query(POINTS, [1.0, 1.0]), ValueError, "radius has the shape"),
        (lambda: Bvh(POINTS).pairs(-1.0), ValueError, "radius is -1"),
        (lambda: Bvh(POINTS).pairs(np.inf), ValueError, "radius is inf; it must be finite and not negative"),
        (lambda: Bvh(POINTS).neighbors(np.nan), ValueError, "radius is NaN; it must be finite and not negative"),
        (lambda: Bvh(POINTS).count_neighbors("a"), TypeError, "radius"),
        (lambda: Bvh(POINTS).nearest(POINTS, -1), ValueError, "k is -1"),
        (lambda: Bvh(POINTS).nearest(POINTS, 1.5), TypeError, "k is 1.5"),
        (lambda: Bvh(POINTS).nearest(POINTS, 1, radius=-1.0), ValueError, "radius is -1"),
        (lambda: Bvh(POINTS).nearest(np.zeros((4, 2)), 1), ValueError, "queries has the shape .4, 2."),
        (lambda: Bvh(POINTS).nearest(1.0, 1), ValueError, "queries has the shape"),
        (lambda: Bvh(np.zeros((4, 1))).nearest(np.zeros(4), 1), ValueError, r"reshape it to \(m, 1\)"),
        (lambda: Bvh(np.zeros((4, 0))), ValueError, "1 to 10"),
        (lambda: Bvh(np.zeros((4, 11))), ValueError, "1 to 10"),
        (lambda: Bvh(np.zeros(4)), ValueError, "points has 1 dimension;"),
        (lambda: Bvh(POINTS, 0.0), ValueError, "box"),
        (lambda: Bvh(POINTS, [1.0, 2.0]), ValueError, "box_size has 2 sides"),
        (lambda: Bvh(POINTS, np.nan), ValueError, "box"),
        (lambda: Bvh(POINTS, n_jobs=0), ValueError, "n_jobs is 0"),
        (lambda: Bvh(POINTS, n_jobs=1.5), TypeError, "n_jobs is 1.5"),
        (lambda: Bvh([["a"]]), ValueError, "points holds text, not numbers"),
        (lambda: Bvh(POINTS).nearest(POINTS, 2**61), MemoryError, f"cannot allocate {len(POINTS)} x {2**61} neighbours"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_lists_that_are_not_there():
    lists = Bvh([[0.0], [5.0], [1.0]]).neighbors(1.0)
    assert lists.of(-1).tolist() == lists.of(2).tolist() == [0, 2]
    for i in [3, -4]:
        with pytest.raises(IndexError, match=f"there is no list {i}; there are 3"):
            lists.of(i)


def test_a_tree_is_not_changed_with_its_points():
    for dtype in [np.float32, np.float64]:
        points = np.array([[0.0], [5.0], [1.0]], dtype)
        bvh = Bvh(points)
        points += 100.0 * np.arange(3)[:, None]
        assert bvh.neighbors(1.0).of(0).tolist() == bvh.query(np.array([0.1]), 1.0).tolist() == [0, 2]
        assert pickle.loads(pickle.dumps(bvh)).neighbors(1.0).of(0).tolist() == [0]
