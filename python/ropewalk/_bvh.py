"""The search tree: neighbours within a radius, nearest neighbours and pairs of one set of points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _native
from ropewalk._arrays import box, numbers
from ropewalk._arrays import points as as_points
from ropewalk._checks import integer, real, threads
from ropewalk._types import Floats, Indices


class Lists(NamedTuple):
    """Many lists of indices in two arrays: list ``i`` is ``indices[offsets[i]:offsets[i + 1]]``.

    This is the layout of `scipy.sparse.csr_array`: ``csr_array((ones, lists.indices, lists.offsets), shape)``.

    Attributes
    ----------
    offsets : ndarray of int64, shape (lists + 1,)
        Where each list begins, and at last where the last one ends.
    indices : ndarray of int32 (int64 from 2**31 points on)
        The lists, one after the other.

    Examples
    --------
    >>> from ropewalk import Bvh
    >>> lists = Bvh([[0.0], [5.0], [1.0]]).neighbors(1.0)
    >>> lists.offsets, lists.indices, lists.of(2)
    (array([0, 2, 3, 5]), array([0, 2, 1, 0, 2], dtype=int32), array([0, 2], dtype=int32))
    """

    offsets: NDArray[np.int64]
    indices: Indices

    def of(self, i: int) -> Indices:
        """List `i`, not copied.

        Parameters
        ----------
        i : int
            Its number; negative numbers count from the end.

        Raises
        ------
        IndexError
            There is no such list.
        """
        n = len(self.offsets) - 1
        at = i + n if i < 0 else i
        if not 0 <= at < n:
            raise IndexError(f"there is no list {i}; there are {n}")
        return self.indices[self.offsets[at] : self.offsets[at + 1]]

    def split(self) -> list[Indices]:
        """Each list as an array of its own, not copied."""
        return [self.of(i) for i in range(len(self.offsets) - 1)]


class Pairs(NamedTuple):
    """Pairs of points, in ascending order: what `Bvh.pairs` returns.

    Attributes
    ----------
    indices : ndarray of int32 (int64 from 2**31 points on), shape (pairs, 2)
        The points of each pair, the lower index first.
    distances : ndarray of float64, shape (pairs,)
        How far they are apart, in the unit of the points.

    Examples
    --------
    >>> from ropewalk import Bvh
    >>> indices, distances = Bvh([[0.0], [5.0], [1.0]]).pairs(1.0)
    >>> indices, distances
    (array([[0, 2]], dtype=int32), array([1.]))
    """

    indices: Indices
    distances: NDArray[np.float64]


class Bvh:
    """A bounding volume hierarchy of points, built once and not changed any more.

    Parameters
    ----------
    points : array_like of shape (n, dim)
        The points, 1 to 10 coordinates each. ``float32`` and ``float64`` arrays in C order are not copied, others are copied once.
        What is written into them later changes no answer of the tree; but `points` shows it, and pickles and copies of the tree are
        built anew from it.
    box_size : float or sequence of `dim` floats, optional
        The sides of a periodic box, in the unit of the points: distances are to the nearest image, and points and queries may lie
        outside. By default space is open.
    n_jobs : int, optional
        The number of threads that build the tree and answer queries; None is the number that `set_threads` set, -1 all processors.

    Raises
    ------
    ValueError
        If a coordinate is not finite, a side not positive, or a shape is none of points.

    Notes
    -----
    Radii are inclusive. Whether two points are within a radius is decided in 64-bit arithmetic whatever the type of the points, and so are
    distances, which are `float64`. What is equally far is ordered by index. Results do not depend on `n_jobs`.

    Indices in lists and pairs are ``int32``, which is how the library has them, so that they are handed over without a copy (``int64`` if
    there are 2**31 points or more); arithmetic such as ``i * n + j`` wants ``astype(np.int64)`` first. Those of nearest neighbours are
    ``int64``.

    Building costs O(n log n), mostly a radix sort of Morton codes [1]_; the hierarchy is that of Apetrei [2]_.

    .. [1] Karras, T. (2012), "Maximizing Parallelism in the Construction of BVHs, Octrees, and k-d Trees", HPG.
    .. [2] Apetrei, C. (2014), "Fast and Simple Agglomerative LBVH Construction", CGVC.

    Examples
    --------
    >>> import numpy as np
    >>> from ropewalk import Bvh
    >>> bvh = Bvh(np.array([[0.0], [1.0], [3.0], [9.5]]), box_size=10.0)
    >>> bvh
    Bvh(n=4, dim=1, dtype=float64, box_size=[10.0])
    >>> bvh.query([0.0], 1.0)
    array([0, 1, 3], dtype=int32)
    >>> distances, indices = bvh.nearest([[2.5], [9.0]], 2)
    >>> indices
    array([[2, 1],
           [3, 0]])
    >>> bvh.pairs(1.0).indices.tolist()
    [[0, 1], [0, 3]]
    """

    __slots__ = ("_box_size", "_n_jobs", "_points", "_tree")
    _box_size: list[float] | None
    _n_jobs: int | None
    _points: Floats
    _tree: _native.Bvh

    def __init__(self, points: ArrayLike, box_size: ArrayLike | None = None, *, n_jobs: int | None = None) -> None:
        self._points = as_points(points, "points")
        self._n_jobs = threads(n_jobs)
        self._box_size = box(box_size, self._points, self._n_jobs)
        self._tree = _native.Bvh(self._points, self._box_size, self._n_jobs)

    @property
    def points(self) -> Floats:
        """The points as they were given, not to be written into."""
        view = self._points.view()
        view.flags.writeable = False
        return view

    @property
    def box_size(self) -> list[float] | None:
        """The side of the periodic box along each axis, or None."""
        return None if self._box_size is None else list(self._box_size)

    @property
    def n_jobs(self) -> int | None:
        """The number of threads, as it was given."""
        return self._n_jobs

    @property
    def dim(self) -> int:
        """Coordinates of a point."""
        return int(self._points.shape[1])

    def __len__(self) -> int:
        return len(self._points)

    def __repr__(self) -> str:
        return f"Bvh(n={len(self)}, dim={self.dim}, dtype={self._points.dtype}, box_size={self._box_size})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._points, self._box_size, self._n_jobs)

    def query(self, centers: ArrayLike, radius: ArrayLike) -> Any:
        """The points within `radius` of each center, the boundary included.

        Parameters
        ----------
        centers : array_like of shape (m, dim) or (dim,)
            The centers.
        radius : float or array_like of shape (m,)
            One radius, or one for each center.

        Returns
        -------
        Lists
            ``offsets`` of shape (m + 1,) and ``indices``, ascending within each list. For a single center of shape (dim,) the array of its
            indices alone.

        Raises
        ------
        ValueError
            If a center is not finite, or a radius is negative or not finite.

        Notes
        -----
        As ``scipy.spatial.cKDTree.query_ball_point(centers, radius, return_sorted=True)`` finds them.

        Examples
        --------
        >>> bvh = Bvh([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
        >>> lists = bvh.query([[0.0, 0.0], [6.0, 7.0]], [5.0, 1.0])
        >>> lists.offsets.tolist(), lists.indices.tolist()
        ([0, 2, 3], [0, 1, 2])
        >>> lists.of(1)
        array([2], dtype=int32)
        """
        rows, shape = self._queries(centers, "centers")
        lists = Lists(*self._tree.query(rows, _radii(radius, shape), self._n_jobs))
        return lists if shape else lists.indices

    def query_count(self, centers: ArrayLike, radius: ArrayLike) -> Any:
        """How many points are within `radius` of each center, the boundary included.

        Parameters and errors are those of `query`. The result is an integer array of shape (m,), for a single center a number.

        Examples
        --------
        >>> Bvh([[0.0], [1.0], [5.0]]).query_count([[0.5], [4.0]], 1.0)
        array([2, 1], dtype=int32)
        """
        rows, shape = self._queries(centers, "centers")
        return self._tree.query_count(rows, _radii(radius, shape), self._n_jobs).reshape(shape)[()]

    def nearest(self, queries: ArrayLike, k: int = 1, *, radius: float = np.inf) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The `k` nearest points to each query, nearest first, ties by index.

        Parameters
        ----------
        queries : array_like of shape (m, dim) or (dim,)
            Where to look from.
        k : int
            How many to find.
        radius : float
            None is farther than this; the boundary is included.

        Returns
        -------
        distances : ndarray of shape (m, k), float64
            In the unit of the points; ``inf`` where there are fewer than `k`. For a single query of shape (dim,) of shape (k,).
        indices : ndarray of the same shape, int64
            ``len(bvh)`` where there are fewer than `k`, as scipy has it.

        Raises
        ------
        ValueError
            If a query is not finite, or `k` or `radius` negative.

        Notes
        -----
        As ``scipy.spatial.cKDTree.query(queries, k)`` finds them, but for the order of ties, and that the axis of `k` stays for ``k=1``.

        Examples
        --------
        >>> distances, indices = Bvh([[0.0], [1.0], [3.0]]).nearest([[1.5]], 4)
        >>> distances, indices
        (array([[0.5, 1.5, 1.5, inf]]), array([[1, 0, 2, 3]]))
        """
        rows, shape = self._queries(queries, "queries")
        k = integer(k, "k", 0)
        distances, indices = self._tree.nearest(rows, k, real(radius, "radius"), False, self._n_jobs)
        return distances.reshape(*shape, k), indices.reshape(*shape, k)

    def nearest_neighbors(
        self, k: int, *, include_self: bool = False, radius: float = np.inf
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The `k` nearest points to each of the points themselves, nearest first, ties by index.

        Parameters
        ----------
        k : int
            How many to find.
        include_self : bool
            Whether a point is its own neighbour. Copies of it are neighbours in any case.
        radius : float
            None is farther than this; the boundary is included.

        Returns
        -------
        distances : ndarray of shape (n, k), float64
            As `nearest` gives them, ``inf`` where there are fewer than `k`.
        indices : ndarray of shape (n, k), int64
            ``len(bvh)`` where there are fewer than `k`.

        Notes
        -----
        Much faster than `nearest` of the same points: neighbours are searched for leaf by leaf.

        Examples
        --------
        >>> Bvh([[0.0], [1.0], [3.0]]).nearest_neighbors(1)[1].ravel()
        array([1, 0, 1])
        """
        k = integer(k, "k", 0)
        distances, indices = self._tree.nearest(None, k, real(radius, "radius"), not include_self, self._n_jobs)
        return distances.reshape(len(self), k), indices.reshape(len(self), k)

    def neighbors(self, radius: float) -> Lists:
        """The points within `radius` of each point, itself and the boundary included; ascending within each list.

        Parameters
        ----------
        radius : float
            In the unit of the points.

        Examples
        --------
        >>> lists = Bvh([[0.0], [5.0], [1.0]]).neighbors(1.0)
        >>> [list.tolist() for list in lists.split()]
        [[0, 2], [1], [0, 2]]
        """
        return Lists(*self._tree.neighbors(real(radius, "radius"), self._n_jobs))

    def count_neighbors(self, radius: float) -> Indices:
        """How many points are within `radius` of each point, itself and the boundary included.

        Unlike scipy's ``count_neighbors``, which is the sum over all points, this gives a number for each.

        Parameters
        ----------
        radius : float
            In the unit of the points.

        Examples
        --------
        >>> Bvh([[0.0], [5.0], [1.0]]).count_neighbors(1.0)
        array([2, 1, 2], dtype=int32)
        """
        return self._tree.count_neighbors(real(radius, "radius"), self._n_jobs)

    def pairs(self, radius: float) -> Pairs:
        """All pairs of points within `radius` of each other, the boundary included, each once.

        Parameters
        ----------
        radius : float
            In the unit of the points.

        Returns
        -------
        Pairs
            ``indices`` of shape (pairs, 2), the lower index first, in ascending order; and ``distances``, float64, in the unit of the
            points.

        Raises
        ------
        ValueError
            If the radius is negative or not finite.
        MemoryError
            If memory does not hold the pairs; nothing is listed then.

        Examples
        --------
        >>> pairs = Bvh([[0.0], [5.0], [1.0], [2.0]]).pairs(1.0)
        >>> pairs.indices.tolist(), pairs.distances.tolist()
        ([[0, 2], [2, 3]], [1.0, 1.0])
        """
        return Pairs(*self._tree.pairs(real(radius, "radius"), self._n_jobs))

    def query_distances(
        self, queries: ArrayLike | None, radius: float, *, include_self: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """Offsets, distances and indices of the points within `radius` of each query, nearest first, ties by index.

        Parameters
        ----------
        queries : array_like of shape (m, dim), optional
            Where to look from; by default the points themselves.
        radius : float
            The radius; the boundary is included.
        include_self : bool
            Without `queries`: whether a point is in its own list.

        Examples
        --------
        >>> offsets, distances, indices = Bvh([[0.0], [5.0], [1.0]]).query_distances([[0.9]], 1.0)
        >>> indices
        array([2, 0])
        """
        rows = None if queries is None else self._queries(queries, "queries")[0]
        return self._tree.query_distances(rows, real(radius, "radius"), not include_self, self._n_jobs)

    def _queries(self, x: ArrayLike, name: str) -> tuple[Floats, tuple[int, ...]]:
        """Rows, and the shape of what stands before their axis."""
        array = numbers(x, name)
        if array.ndim == 0 or array.shape[-1] != self.dim:
            hint = "; reshape it to (m, 1) if it is m of them" if array.ndim == self.dim == 1 else ""
            raise ValueError(f"{name} has the shape {array.shape}; its last axis must be the {self.dim} coordinates{hint}")
        return array.reshape(-1, self.dim), array.shape[:-1]


def _rebuilt(points: Floats, box_size: list[float] | None, n_jobs: int | None) -> Bvh:
    return Bvh(points, box_size, n_jobs=n_jobs)


def _radii(radius: ArrayLike, shape: tuple[int, ...]) -> float | NDArray[np.float64]:
    array = numbers(radius, "radius").astype(np.float64, copy=False)
    if array.ndim == 0:
        return float(array)
    if array.shape != shape:
        raise ValueError(
            f"radius has the shape {array.shape}; one radius, or one for each center of the shape {shape}, is needed"
        )
    return np.ravel(array)
