"""Friends of friends, and the groups that this and other finders return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _base, _checks, _mpi, _native
from ropewalk._placement import device_backend
from ropewalk._types import Floats, Indices

if TYPE_CHECKING:
    from typing_extensions import Self


class Groups:
    """Groups of points in descending order of size, ties by the smallest member.

    `len`, indexing and iteration are over groups: ``groups[i]`` is ``groups.members(i)``. The arrays of groups that were found on a
    device are on the device. To get sizes and members, copy them first: ``Groups(labels.get(), offsets.get(), indices.get())``.

    Attributes
    ----------
    labels : ndarray of int32, shape (n,)
        The group of each point, -1 for none.

    offsets : ndarray of int64, shape (n_groups + 1,)
        Group i has the members ``indices[offsets[i]:offsets[i + 1]]``.

    indices : ndarray of int32 (int64 from 2**31 points on)
        The members of all groups, group by group, ascending within each group.

    Examples
    --------
    >>> from ropewalk import friends_of_friends
    >>> groups = friends_of_friends([[7.0], [0.0], [7.5], [0.5], [1.0], [3.0]], 0.5)
    >>> groups
    <Groups: 2 groups of 5 points among 6>
    >>> groups.labels
    array([ 1,  0,  1,  0,  0, -1], dtype=int32)
    >>> groups.sizes, groups.members(0)
    (array([3, 2]), array([1, 3, 4], dtype=int32))
    """

    def __init__(self, labels: NDArray[np.int32], offsets: NDArray[np.int64], indices: Indices) -> None:
        self.labels = labels
        self.offsets = offsets
        self.indices = indices

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of members of each group, in descending order."""
        self._check_host()
        return np.diff(self.offsets)

    def members(self, group: SupportsIndex) -> Indices:
        """Returns the members of a group.

        Parameters
        ----------
        group : int
            The number of the group; negative numbers count from the end.

        Returns
        -------
        ndarray of int32 (int64 from 2**31 points on)
            The indices of the points of the group, ascending: a view of `indices`.

        Raises
        ------
        IndexError
            If there is no such group.
        """
        self._check_host()
        return self._members_at(_checked(group.__index__(), self.n_groups))

    def _members_at(self, at: int) -> Indices:
        return self.indices[self.offsets[at] : self.offsets[at + 1]]

    def _check_host(self) -> None:
        """Raises `RuntimeError` if the arrays are on a device."""
        if not isinstance(self.offsets, np.ndarray):
            copies = ", ".join(f"groups.{name}.get()" for name in vars(self))
            name = type(self).__name__
            raise RuntimeError(f"these groups are on a device; copy them to the host first: {name}({copies})")

    def __len__(self) -> int:
        return self.n_groups

    def __getitem__(self, group: SupportsIndex) -> Indices:
        return self.members(group)

    def __iter__(self) -> Iterator[Indices]:
        self._check_host()
        return map(self._members_at, range(self.n_groups))

    def __repr__(self) -> str:
        text = f"{self.n_groups} groups of {len(self.indices)} points among {len(self.labels)}"
        return f"<{type(self).__name__}: {text}>"


def _checked(number: int, n: int) -> int:
    """Returns the number of one of `n` groups from 0 on, given a number that may count from the end."""
    counted = number + n if number < 0 else number
    if not 0 <= counted < n:
        raise IndexError(f"there is no group {number}; there are {n}")
    return counted


class OwnedGroups(Groups):
    """The groups that this rank owns, of the groups found across ranks. Each group is owned by one rank, with all of its members.

    `len` and iteration are over the groups of this rank, the largest first. `numbers` holds their numbers among the groups of all ranks.
    Indexing and `members` take such a number, as in `labels` and `numbers`, and raise `IndexError` for a group of another rank. Members
    are indices into the concatenated points of all ranks, not into an array of this rank.

    Attributes
    ----------
    labels : ndarray of int32, shape (n,)
        The group of each point of this rank, as a number among the groups of all ranks; -1 for none.

    numbers : ndarray of int64, shape (n_groups,)
        The number of each owned group among those of all ranks, ascending.

    offsets : ndarray of int64, shape (n_groups + 1,)
        Owned group i has the members ``indices[offsets[i]:offsets[i + 1]]``.

    indices : ndarray of int64
        The members of owned groups, group by group, ascending within each group: indices into the points of all ranks, concatenated
        in rank order.

    n_all : int
        The number of groups of all ranks.

    See Also
    --------
    FriendsOfFriends : `fit` with `comm` sets `groups_` to such groups.

    Examples
    --------
    >>> import numpy as np
    >>> from ropewalk import OwnedGroups
    >>> labels, offsets, indices = np.array([0, 1], np.int32), np.array([0, 3]), np.array([0, 2, 5])
    >>> owned = OwnedGroups(labels, offsets, indices, numbers=np.array([0]), n_all=2)
    >>> owned
    <OwnedGroups: 1 of 2 groups, with 3 points>
    >>> [members.tolist() for members in owned], owned.numbers
    ([[0, 2, 5]], array([0]))
    >>> owned.members(owned.labels[0])
    array([0, 2, 5])
    >>> owned.members(owned.labels[1])
    Traceback (most recent call last):
        ...
    IndexError: group 1 is owned by another rank; `numbers` lists the groups of this rank
    """

    def __init__(
        self,
        labels: NDArray[np.int32],
        offsets: NDArray[np.int64],
        indices: NDArray[np.int64],
        numbers: NDArray[np.int64],
        n_all: int,
    ) -> None:
        super().__init__(labels, offsets, indices)
        self.numbers = numbers
        self.n_all = n_all

    def members(self, group: SupportsIndex) -> Indices:
        """Returns the members of a group of this rank.

        Parameters
        ----------
        group : int
            The number of the group among the groups of all ranks, as in `labels` and `numbers`; negative numbers count from the end.

        Returns
        -------
        ndarray of int64
            The indices of the group's points among the points of all ranks, ascending: a view of `indices`.

        Raises
        ------
        IndexError
            If there is no such group, or another rank owns it.

        Notes
        -----
        Cost: logarithmic in the number of groups.
        """
        number = _checked(group.__index__(), self.n_all)
        at = int(np.searchsorted(self.numbers, number))
        if at == self.n_groups or self.numbers[at] != number:
            raise IndexError(f"group {number} is owned by another rank; `numbers` lists the groups of this rank")
        return self._members_at(at)

    def __repr__(self) -> str:
        """Returns the number of owned groups, of all groups and of members."""
        return f"<OwnedGroups: {self.n_groups} of {self.n_all} groups, with {len(self.indices)} points>"


def friends_of_friends(
    X: ArrayLike,
    linking_length: SupportsFloat,
    *,
    min_members: SupportsIndex = 2,
    box_size: ArrayLike | None = None,
    n_jobs: int | None = None,
    device: str | None = None,
) -> Groups:
    """Finds friends-of-friends groups: two points at most `linking_length` apart are friends, and chains of friends form a group.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Points of 1 to 10 coordinates. ``float32`` and ``float64`` in C order are not copied; other numbers become ``float64``.

    linking_length : float
        The maximum distance between friends, inclusive, in the unit of `X`. A common choice in cosmology is 0.2 mean separations,
        ``0.2 * (volume / n) ** (1 / 3)``.

    min_members : int, default 2
        The minimum number of members of a group, at least 2. Points of smaller groups have no group.

    box_size : float or array_like of shape (d,), optional
        The sides of the periodic box, each at least twice `linking_length`. Default: open space.

    n_jobs : int, optional
        The number of threads: -1 for all processors, -2 for all but one. Default: the number set by `ropewalk.set_threads`.

    device : {"cpu", "cuda", "cuda:1", ...}, optional
        The device to run on. Default: the device that holds `X`.

    Returns
    -------
    Groups
        Labels and members of the groups, the largest first.

    Raises
    ------
    ValueError
        If the points or a parameter are invalid. The message names the value, and the point if it concerns one.

    See Also
    --------
    FriendsOfFriends : The estimator version.

    Notes
    -----
    Exact, and independent of `n_jobs`. Groups are connected components, the same as those of `dbscan` with ``min_samples=2``
    except for their numbers. Cost: about that of sorting the points. Source: Davis et al. 1985.

    Examples
    --------
    >>> from ropewalk import friends_of_friends
    >>> friends_of_friends([[0.0, 0.0], [9.9, 0.0], [5.0, 5.0]], 0.2, box_size=10.0).members(0)
    array([0, 1], dtype=int32)
    """
    length, least = _checks.real(linking_length, "linking_length"), _checks.integer(min_members, "min_members", 2)
    n_jobs, backend = _checks.threads(n_jobs), device_backend(X, device)
    if backend is not None:
        return Groups(*backend.friends_of_friends(X, length, least, box_size, device))
    points = _arrays.points(X)
    return Groups(*_native.friends_of_friends(points, length, least, _arrays.box(box_size, points, n_jobs), n_jobs))


class FriendsOfFriends(_base.Clusterer):
    """Friends-of-friends groups as an estimator.

    Parameters
    ----------
    linking_length : float
        The maximum distance between friends, inclusive, in the unit of the points.

    min_members : int, default 2
        The minimum number of members of a group, at least 2. Points of smaller groups have no group.

    box_size : float or array_like of shape (n_features,), optional
        The sides of the periodic box, each at least twice `linking_length`. Default: open space.

    n_jobs : int, optional
        The number of threads: -1 for all processors, -2 for all but one. Default: the number set by `ropewalk.set_threads`.

    device : {"cpu", "cuda", "cuda:1", ...}, optional
        The device to run on. Default: the device that holds the points.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        The group of each point, -1 for none. Group 0 is the largest.

    groups_ : Groups
        The groups with their members; across ranks the `OwnedGroups` of this rank.

    n_features_in_ : int
        The number of coordinates per point.

    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        The names of a data frame's columns, if all are strings.

    See Also
    --------
    friends_of_friends : The function version, with notes.

    Examples
    --------
    >>> from ropewalk import FriendsOfFriends
    >>> FriendsOfFriends(0.5).fit_predict([[7.0], [0.0], [7.5], [0.5], [1.0], [3.0]])
    array([ 1,  0,  1,  0,  0, -1], dtype=int32)
    """

    groups_: Groups

    def __init__(
        self,
        linking_length: SupportsFloat,
        *,
        min_members: SupportsIndex = 2,
        box_size: ArrayLike | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.linking_length = linking_length
        self.min_members = min_members
        self.box_size = box_size
        self.n_jobs = n_jobs
        self.device = device

    def fit(self, X: ArrayLike, y: object = None, *, comm: object = None) -> Self:
        """Finds the groups of points, or of the points of all ranks of a communicator.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Points. ``float32`` and ``float64`` in C order are not copied.

        y : ignored
            Ignored; present for API consistency with scikit-learn.

        comm : mpi4py.MPI.Intracomm, optional
            The communicator of the ranks that share the points. `X` holds the points of this rank, possibly none. All ranks call `fit`
            with the same parameters. A rank without points passes an empty array with the same number of coordinates and the same
            type: ``numpy.empty((0, 3))``.

        Returns
        -------
        self : FriendsOfFriends
            The estimator, fitted.

        Raises
        ------
        ValueError
            If the points or a parameter are invalid. With `comm`, all ranks raise it if the arguments of one rank are invalid, or if
            the parameters differ between ranks.

        TypeError
            If `comm` is not a communicator.

        RuntimeError
            If the communicator fails.

        Notes
        -----
        Across ranks, `labels_` describes the points of this rank. The labels equal those of one process for the points of all ranks,
        concatenated in rank order. See `docs/across_ranks.md`.
        """
        return self._fit(X, comm=comm)

    def _find(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[dict[str, Any], int]:
        points = self._fit_points(X, self.device)
        groups = friends_of_friends(
            points,
            self.linking_length,
            min_members=self.min_members,
            box_size=self.box_size,
            n_jobs=self.n_jobs,
            device=self.device,
        )
        return {"groups_": groups, "labels_": groups.labels}, _checks.shape(points)[1]

    def _find_across(self, X: ArrayLike, sample_weight: ArrayLike | None, comm: _native.Comm) -> tuple[dict[str, Any], int]:
        def prepare() -> tuple[Floats, float, int, list[float] | None, int | None, int]:
            points = _mpi.points(X, sample_weight, self.device)
            length = _checks.real(self.linking_length, "linking_length")
            least = _checks.integer(self.min_members, "min_members", 2)
            sides = _arrays.sides(self.box_size, points.shape[1])
            return points, length, least, sides, _checks.threads(self.n_jobs), _mpi.feature_names_digest(X)

        ready = _mpi.prepared(comm, prepare)
        owned, n_all = _native.friends_of_friends_across(comm, *ready)
        groups = OwnedGroups(*owned, n_all)
        return {"groups_": groups, "labels_": groups.labels}, ready[0].shape[1]
