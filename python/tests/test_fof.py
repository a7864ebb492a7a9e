"""Friends of friends, compared with connected components of SciPy, and with other finders if they are installed."""

from __future__ import annotations

import numpy as np
import pytest
import ropewalk
from ropewalk import DBSCAN, FriendsOfFriends, OwnedGroups, dbscan, friends_of_friends

RANDOM = np.random.default_rng(20261124)


def components(X, linking_length, box_size=None):
    """Returns the groups of at least two points as sets, the largest first, ties by the smallest member."""
    spatial, sparse = pytest.importorskip("scipy.spatial"), pytest.importorskip("scipy.sparse")
    X = np.asarray(X, np.float64)
    n = len(X)
    pairs = spatial.cKDTree(X, boxsize=box_size).query_pairs(linking_length, output_type="ndarray")
    graph = sparse.coo_array((np.ones(len(pairs)), pairs.T), shape=(n, n))
    _, component = sparse.csgraph.connected_components(graph, directed=False)
    order = np.argsort(component, kind="stable")
    lists = np.split(order, np.flatnonzero(np.diff(component[order])) + 1)
    return sorted([list(own) for own in lists if len(own) > 1], key=lambda own: (-len(own), own[0]))


def check(groups, expected, n):
    assert [members.tolist() for members in groups] == expected
    assert groups.sizes.tolist() == [len(members) for members in expected]
    assert groups.offsets.tolist() == np.cumsum([0] + groups.sizes.tolist()).tolist()
    labels = np.full(n, -1)
    for number, members in enumerate(expected):
        labels[members] = number
    np.testing.assert_array_equal(groups.labels, labels)


@pytest.mark.parametrize("dim", range(1, 11))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_components(dim, dtype):
    X = (RANDOM.uniform(0.0, 6.0, (12, dim))[RANDOM.integers(0, 12, 400)] + RANDOM.normal(0.0, 0.25, (400, dim))).astype(dtype)
    for length in [0.05, 0.2, 0.4]:
        expected = components(X, length)
        for n_jobs in [1, 2, -1]:
            check(friends_of_friends(X, length, n_jobs=n_jobs), expected, len(X))
        fitted = FriendsOfFriends(length, min_members=5).fit(X)
        check(fitted.groups_, [own for own in expected if len(own) >= 5], len(X))
        assert fitted.labels_ is fitted.groups_.labels


@pytest.mark.parametrize("side", [1.0, np.sqrt(2.0), np.sqrt(3.0)])
def test_ties_are_inclusive(side):
    X = RANDOM.permutation(np.indices((7, 7, 7)).reshape(3, -1).T)[:120] * 1.0
    check(friends_of_friends(X, side), components(X, side), len(X))


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_periodic(dim):
    side = np.arange(5.0, 5.0 + dim)
    X = RANDOM.uniform(0.0, 1.0, (300, dim)) * side
    length = 0.4 * (side.prod() / 300) ** (1.0 / dim)
    check(friends_of_friends(X, length, box_size=side), components(X, length, side), len(X))
    # A box may have any origin.
    outside = X + side * RANDOM.integers(-2, 3)
    sizes = friends_of_friends(outside, length * (1.0 + 1e-9), box_size=side).sizes
    np.testing.assert_array_equal(sizes, [len(own) for own in components(X, length * (1.0 + 1e-9), side)])


def test_it_is_dbscan_of_two():
    X = RANDOM.uniform(0.0, 10.0, (500, 2))
    ours, theirs = friends_of_friends(X, 0.3).labels, dbscan(X, 0.3, min_samples=2)[1]
    assert len(set(zip(ours.tolist(), theirs.tolist(), strict=True))) == len(set(theirs.tolist()))
    np.testing.assert_array_equal(ours < 0, DBSCAN(0.3, min_samples=2).fit_predict(X) < 0)


def test_hfof():
    hfof = pytest.importorskip("hfof")
    X = RANDOM.uniform(0.0, 1.0, (2000, 3))
    for length in [0.02, 0.05]:
        theirs = np.asarray(hfof.fof(X, length))
        sizes = np.sort(np.bincount(theirs))[::-1]
        np.testing.assert_array_equal(friends_of_friends(X, length).sizes, sizes[sizes > 1])


def test_kdcount():
    cluster, models = pytest.importorskip("kdcount.cluster"), pytest.importorskip("kdcount.models")
    X = RANDOM.uniform(0.0, 1.0, (2000, 3))
    for length in [0.02, 0.05]:
        theirs = cluster.fof(models.points(X), length)
        sizes = np.sort(np.asarray(theirs.length))[::-1]
        np.testing.assert_array_equal(friends_of_friends(X, length).sizes, sizes[sizes > 1])


def test_groups_are_a_sequence():
    groups = friends_of_friends([[7.0], [0.0], [7.5], [0.5], [1.0], [3.0]], 0.5)
    assert len(groups) == groups.n_groups == 2
    assert groups[-1].tolist() == groups.members(1).tolist() == [0, 2]
    assert [members.tolist() for members in groups] == [[1, 3, 4], [0, 2]]
    for number in [2, -3]:
        with pytest.raises(IndexError, match=f"no group {number}; there are 2"):
            groups[number]
    assert groups.indices.base is not None and groups.members(0).base is not None


def test_nothing():
    groups = friends_of_friends(np.empty((0, 3)), 1.0)
    assert (len(groups), groups.labels.shape, groups.offsets.tolist()) == (0, (0,), [0])
    assert friends_of_friends([[0.0], [5.0]], 1.0).labels.tolist() == [-1, -1]
    assert friends_of_friends([[0.0], [0.0], [5.0]], 0.0).labels.tolist() == [0, 0, -1]


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"linking_length": np.nan}, "linking_length.*NaN"),
        ({"linking_length": -1.0}, "linking_length.*-1"),
        ({"linking_length": np.inf}, "linking_length.*inf"),
        ({"linking_length": 1.0, "min_members": 1}, "min_members is 1.*at least 2"),
        ({"linking_length": 1.0, "box_size": 1.9}, "twice linking_length"),
        ({"linking_length": 1.0, "box_size": -4.0}, "periodic box"),
        ({"linking_length": 1.0, "box_size": [4.0, 4.0, 4.0]}, "box_size has 3 sides"),
    ],
)
def test_parameters_that_are_refused(parameters, words):
    X = [[0.0, 0.0], [1.0, 1.0]]
    for call in [lambda: friends_of_friends(X, **parameters), lambda: FriendsOfFriends(**parameters).fit(X)]:
        with pytest.raises(ValueError, match=words):
            call()


def test_points_that_are_refused():
    with pytest.raises(ValueError, match="point 1: coordinate 0 is NaN"):
        friends_of_friends([[0.0], [np.nan]], 1.0)
    with pytest.raises(TypeError, match="linking_length is '1'"):
        friends_of_friends([[0.0]], "1")


def test_members_can_be_subtracted():
    groups = friends_of_friends(np.array([[0.0], [9.0], [0.1], [9.1]]), 0.5)
    assert groups.indices.dtype == groups.members(0).dtype == np.int32
    assert (groups.members(0) - groups.members(1)).tolist() == [-1, -1]
    assert ropewalk.hop(np.random.default_rng(1).random((200, 3)), 1.0).indices.dtype == np.int32


class Elsewhere:
    def __len__(self):
        return 3


@pytest.mark.parametrize("ask", [
    lambda groups: groups.sizes, lambda groups: groups.members(0), lambda groups: groups[0], lambda groups: list(groups),
])  # fmt: skip
def test_groups_on_a_device_say_what_to_do(ask):
    groups = ropewalk.Groups(Elsewhere(), Elsewhere(), Elsewhere())
    assert len(groups) == 2
    with pytest.raises(RuntimeError, match=r"Groups\(groups.labels.get\(\), groups.offsets.get\(\), groups.indices.get\(\)\)"):
        ask(groups)


def test_owned_groups_are_found_by_their_number():
    X = RANDOM.integers(0, 60, (90, 1)).astype(float)
    whole = friends_of_friends(X, 1.0)
    assert len(whole) > 4
    numbers = np.arange(1, len(whole), 2)
    offsets = np.cumsum([0, *whole.sizes[numbers]])
    indices = np.concatenate([whole.members(number) for number in numbers]).astype(np.int64)
    owned = OwnedGroups(whole.labels, offsets, indices, numbers, len(whole))
    assert [members.tolist() for members in owned] == [whole.members(number).tolist() for number in numbers]
    for number in [*range(-len(whole), len(whole)), *whole.labels[whole.labels >= 0]]:
        if number % len(whole) in numbers:
            np.testing.assert_array_equal(owned.members(number), whole.members(number))
            np.testing.assert_array_equal(owned[number], whole[number])
        else:
            with pytest.raises(IndexError, match="another rank"):
                owned.members(number)
    for number in [len(whole), -len(whole) - 1]:
        with pytest.raises(IndexError, match=f"there is no group {number}; there are {len(whole)}"):
            owned.members(number)
    with pytest.raises(IndexError, match="another rank"):
        OwnedGroups(whole.labels, np.zeros(1, np.int64), indices[:0], numbers[:0], len(whole)).members(0)
