"""The search tree: neighbours within a radius, nearest neighbours, and pairs of points."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _html, _native
from ropewalk._arrays import box, numbers
from ropewalk._arrays import points as as_points
from ropewalk._checks import integer, real, threads
from ropewalk._lists import Lists, Pairs
from ropewalk._types import Floats, Indices


class Bvh:
    """A bounding volume hierarchy of points. It does not change after construction.

    Parameters
    ----------
    points : array_like of shape (n, dim)
        Points of 1 to 10 coordinates. ``float32`` and ``float64`` arrays in C order are not copied, other arrays are copied once.
        Later changes of the array do not affect results of the tree. `points` shows them, though, and pickles and copies of the
        tree are rebuilt from the changed array.

    box_size : float or sequence of `dim` floats, optional
        The sides of the periodic box, in the unit of the points. Distances are to the nearest periodic image, and points and queries
        may lie outside the box. Default: open space.

    n_jobs : int, optional
        The number of threads for building the tree and for queries; -1 means all processors. Default: the number set by `set_threads`.

    Raises
    ------
    ValueError
        If a coordinate is not finite, a side is not positive, or an array has the wrong shape.

    Notes
    -----
    Radii are inclusive. Distances are ``float64``; they are computed and compared with radii in 64-bit arithmetic, whatever the type of
    the points. Points at equal distance are ordered by index. Results do not depend on `n_jobs`.

    Indices in lists and pairs are ``int32`` (``int64`` from 2**31 points on), the library's own type, so that no copy is needed. Convert
    them with ``astype(np.int64)`` before arithmetic such as ``i * n + j``. Indices of nearest neighbours are ``int64``.

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
        """The points, as a read-only view of the given array."""
        view = self._points.view()
        view.flags.writeable = False
        return view

    @property
    def box_size(self) -> list[float] | None:
        """The side of the periodic box along each axis, or None."""
        return None if self._box_size is None else list(self._box_size)

    @property
    def n_jobs(self) -> int | None:
        """The `n_jobs` of the constructor."""
        return self._n_jobs

    @property
    def dim(self) -> int:
        """The number of coordinates per point."""
        return int(self._points.shape[1])

    def __len__(self) -> int:
        return len(self._points)

    def __repr__(self) -> str:
        return f"Bvh(n={len(self)}, dim={self.dim}, dtype={self._points.dtype}, box_size={self._box_size})"

    def _repr_html_(self) -> str:
        """Returns the range of each coordinate as an HTML table for notebooks."""
        sides = [None] * self.dim if self._box_size is None else self._box_size
        ends = [("", "")] * self.dim
        if len(self) > 0:
            ends = [(f"{low:.6g}", f"{high:.6g}") for low, high in zip(self._points.min(axis=0), self._points.max(axis=0), strict=True)]
        rows = [(axis, *ends[axis], "open" if side is None else f"{side:.6g}") for axis, side in enumerate(sides)]
        return _html.table(f"Bvh of {len(self)} points, {self._points.dtype}", ["coordinate", "least", "largest", "box"], rows)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._points, self._box_size, self._n_jobs)

    def query(self, centers: ArrayLike, radius: ArrayLike) -> Any:
        """Finds the points within `radius` of each center, the boundary included.

        Parameters
        ----------
        centers : array_like of shape (m, dim) or (dim,)
            The centers.

        radius : float or array_like of shape (m,)
            One radius for all centers, or one for each.

        Returns
        -------
        Lists
            ``offsets`` of shape (m + 1,) and ``indices``, ascending within each list. For a single center of shape (dim,), an array of
            indices instead.

        Raises
        ------
        ValueError
            If a center is not finite, or a radius is negative or not finite.

        Notes
        -----
        The same points as ``scipy.spatial.cKDTree.query_ball_point(centers, radius, return_sorted=True)``.

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
        """Counts the points within `radius` of each center, the boundary included.

        Parameters and errors are those of `query`. Returns an integer array of shape (m,), or a number for a single center.

        Examples
        --------
        >>> Bvh([[0.0], [1.0], [5.0]]).query_count([[0.5], [4.0]], 1.0)
        array([2, 1], dtype=int32)
        """
        rows, shape = self._queries(centers, "centers")
        return self._tree.query_count(rows, _radii(radius, shape), self._n_jobs).reshape(shape)[()]

    def nearest(self, queries: ArrayLike, k: int = 1, *, radius: float = np.inf) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Finds the `k` nearest points to each query, nearest first, ties by index.

        Parameters
        ----------
        queries : array_like of shape (m, dim) or (dim,)
            The query points.

        k : int
            The number of neighbours.

        radius : float
            The maximum distance of a neighbour, inclusive.

        Returns
        -------
        distances : ndarray of shape (m, k), float64
            Distances in the unit of the points, padded with ``inf`` if there are fewer than `k` neighbours. The shape is (k,) for a
            single query of shape (dim,).

        indices : ndarray of the same shape, int64
            Indices of the neighbours, padded with ``len(bvh)`` as in scipy.

        Raises
        ------
        ValueError
            If a query is not finite, or if `k` or `radius` is negative.

        Notes
        -----
        The result equals that of ``scipy.spatial.cKDTree.query(queries, k)``, except for the order of ties and the shape for ``k=1``,
        which keeps the last axis.

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
        """Finds the `k` nearest points to each point of the tree, nearest first, ties by index.

        Parameters
        ----------
        k : int
            The number of neighbours.

        include_self : bool
            If `True`, a point is its own neighbour. Its copies are neighbours in either case.

        radius : float
            The maximum distance of a neighbour, inclusive.

        Returns
        -------
        distances : ndarray of shape (n, k), float64
            Distances in the unit of the points, padded with ``inf`` if there are fewer than `k` neighbours.

        indices : ndarray of shape (n, k), int64
            Indices of the neighbours, padded with ``len(bvh)``.

        Notes
        -----
        Much faster than `nearest` with the same points as queries, since the search handles a whole leaf at a time.

        Examples
        --------
        >>> Bvh([[0.0], [1.0], [3.0]]).nearest_neighbors(1)[1].ravel()
        array([1, 0, 1])
        """
        k = integer(k, "k", 0)
        distances, indices = self._tree.nearest(None, k, real(radius, "radius"), not include_self, self._n_jobs)
        return distances.reshape(len(self), k), indices.reshape(len(self), k)

    def neighbors(self, radius: float) -> Lists:
        """Finds the points within `radius` of each point, the point itself and the boundary included; ascending within each list.

        Parameters
        ----------
        radius : float
            The radius in the unit of the points.

        Examples
        --------
        >>> lists = Bvh([[0.0], [5.0], [1.0]]).neighbors(1.0)
        >>> [list.tolist() for list in lists.split()]
        [[0, 2], [1], [0, 2]]
        """
        return Lists(*self._tree.neighbors(real(radius, "radius"), self._n_jobs))

    def count_neighbors(self, radius: float) -> Indices:
        """Counts the points within `radius` of each point, the point itself and the boundary included.

        scipy's ``count_neighbors`` returns the sum over all points; this method returns a number for each point.

        Parameters
        ----------
        radius : float
            The radius in the unit of the points.

        Examples
        --------
        >>> Bvh([[0.0], [5.0], [1.0]]).count_neighbors(1.0)
        array([2, 1, 2], dtype=int32)
        """
        return self._tree.count_neighbors(real(radius, "radius"), self._n_jobs)

    def pairs(self, radius: float) -> Pairs:
        """Finds all pairs of points within `radius` of each other, the boundary included, each pair once.

        Parameters
        ----------
        radius : float
            The radius in the unit of the points.

        Returns
        -------
        Pairs
            ``indices`` of shape (pairs, 2), the lower index first, in ascending order, and ``distances``, ``float64``, in the unit of
            the points.

        Raises
        ------
        ValueError
            If the radius is negative or not finite.

        MemoryError
            If the pairs do not fit into memory. This is detected before any pair is stored.

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
        """Returns offsets, distances and indices of the points within `radius` of each query, nearest first, ties by index.

        Parameters
        ----------
        queries : array_like of shape (m, dim), optional
            The query points. Default: the points of the tree.

        radius : float
            The radius, inclusive.

        include_self : bool
            If `True`, a point is in its own list. Ignored if `queries` is given.

        Examples
        --------
        >>> offsets, distances, indices = Bvh([[0.0], [5.0], [1.0]]).query_distances([[0.9]], 1.0)
        >>> indices
        array([2, 0])
        """
        rows = None if queries is None else self._queries(queries, "queries")[0]
        return self._tree.query_distances(rows, real(radius, "radius"), not include_self, self._n_jobs)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the nodes of the tree for programs that draw it. The file extension selects the format.

        - ``.dot`` or ``.gv``: the graph of the nodes for Graphviz, for points of any dimension. Ellipses are inner nodes, boxes are
          leaves with their ranges of points, and dashed edges are ropes.
        - ``.tikz`` or ``.tex``: a ``tikzpicture`` of boxes and points in one or two dimensions, for ``\\input`` in a LaTeX document with
          the package ``tikz``.
        - ``.vtk``: the boxes in one to three dimensions, for ParaView and PyVista. Cell data are ``depth``, ``leaf`` and
          ``primitives``, the number of points.

        Parameters
        ----------
        path : str or path
            The file. An existing file is replaced.

        Raises
        ------
        ValueError
            If the extension is unknown, or the format does not show points with so many coordinates.

        OSError
            If the file cannot be written. An existing file is unchanged in that case.

        Notes
        -----
        Nodes are numbered from the root, 0, in depth-first order. Graphs and TikZ pictures of more than a few thousand points are too
        dense to read.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "tree.dot"
        >>> Bvh([[0.0, 0.0], [4.0, 1.0]]).write(path)
        >>> print(path.read_text().splitlines()[1])
          n0 [shape=box, label="0\\n0..2"];
        """
        self._tree.write(os.fspath(path), self._n_jobs)

    def _queries(self, x: ArrayLike, name: str) -> tuple[Floats, tuple[int, ...]]:
        """Returns the queries as an array of rows, and the shape of the leading axes."""
        array = numbers(x, name)
        if array.ndim == 0 or array.shape[-1] != self.dim:
            hint = "; reshape it to (m, 1) if it holds m points" if array.ndim == self.dim == 1 else ""
            raise ValueError(f"{name} has the shape {array.shape}; its last axis must have length {self.dim}, the number of coordinates{hint}")
        return array.reshape(-1, self.dim), array.shape[:-1]


def _rebuilt(points: Floats, box_size: list[float] | None, n_jobs: int | None) -> Bvh:
    return Bvh(points, box_size, n_jobs=n_jobs)


def _radii(radius: ArrayLike, shape: tuple[int, ...]) -> float | NDArray[np.float64]:
    array = numbers(radius, "radius").astype(np.float64, copy=False)
    if array.ndim == 0:
        return float(array)
    if array.shape != shape:
        raise ValueError(
            f"radius has the shape {array.shape}; it must be a number or have the shape {shape}, one radius for each center"
        )
    return np.ravel(array)
