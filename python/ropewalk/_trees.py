"""Minimum spanning trees and single linkage."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _native
from ropewalk._arrays import box, points
from ropewalk._checks import integer, real, threads
from ropewalk._placement import on_device


class _Edges(NamedTuple):
    edges: NDArray[np.int64]
    weights: NDArray[np.float64]


class SpanningTree(_Edges):
    """The edges of a minimum spanning tree, in ascending order; what `minimum_spanning_tree` returns.

    Attributes
    ----------
    edges : ndarray of shape (n - 1, 2), int64
        The points that each edge joins, the lower index first.
    weights : ndarray of shape (n - 1,), float64
        The weight of each edge, in the unit of the points, ascending.
    n_points : int
        How many points it spans.

    Examples
    --------
    >>> from ropewalk import minimum_spanning_tree
    >>> tree = minimum_spanning_tree([[0.0], [1.0], [9.0], [3.0]])
    >>> edges, weights = tree
    >>> tree.cut(2.0)
    array([ 0,  0, -1,  0], dtype=int32)
    """

    _stored: _native.SpanningTree | None = None
    _n_jobs: int | None = None

    @property
    def _tree(self) -> _native.SpanningTree:
        if self._stored is None:
            kept = "is made of two arrays alone" if isinstance(self.edges, np.ndarray) else "was found on a device"
            raise RuntimeError(f"the tree {kept}, so it has edges and weights only; minimum_spanning_tree on the processor gives more")
        return self._stored

    @property
    def n_points(self) -> int:
        """How many points it spans."""
        return len(self.edges) + 1 if self._stored is None else self._stored.n_points

    def cut(self, length: float) -> NDArray[np.int32]:
        """The cluster of each point if edges of at most `length` join points; -1 for points that are alone.

        Clusters are numbered by their smallest member. Of a tree with ``min_samples=1`` they are the groups of friends-of-friends with
        this linking length and at least two members. An edge joins its ends if its weight, rounded up as in `weights` or to the
        nearest number as scipy's ``fcluster`` has it, is at most `length`; so friends-of-friends may leave out an edge whose length is
        `length` but for rounding.

        Parameters
        ----------
        length : float
            In the unit of the points, inclusive.

        Raises
        ------
        ValueError
            If the length is negative or NaN.
        """
        return self._tree.cut(real(length, "length"), self._n_jobs)

    def cut_into(self, n_clusters: int) -> NDArray[np.int32]:
        """The cluster of each point if so many clusters are wanted: those that are left without the heaviest edges.

        Clusters are numbered by their smallest member.

        Parameters
        ----------
        n_clusters : int
            From 1 to the number of points; points that are alone are clusters, too.

        Raises
        ------
        ValueError
            If there are not so many points, or no cluster is wanted.
        """
        return self._tree.cut_into(integer(n_clusters, "n_clusters", 1), self._n_jobs)

    def linkage(self) -> NDArray[np.float64]:
        """The merges of single linkage, as `linkage` gives them."""
        return self._tree.linkage(self._n_jobs)

    def __reduce__(self) -> tuple[Any, ...]:
        # Squared weights: their roots are rounded.
        return _rebuilt, (self.n_points, *self._tree.state(self._n_jobs), self._n_jobs)


def minimum_spanning_tree(
    X: ArrayLike,
    *,
    min_samples: int = 1,
    alpha: float = 1.0,
    box_size: ArrayLike | None = None,
    n_jobs: int | None = None,
    device: str | None = None,
) -> SpanningTree:
    """The minimum spanning tree of points: Euclidean, or by mutual reachability.

    Parameters
    ----------
    X : array_like of shape (n, dim)
        The points, 1 to 10 coordinates each; not copied if `float32` or `float64` in C order.
    min_samples : int
        With more than 1 edges weigh by mutual reachability, the largest of their length over `alpha` and the core distances of their ends;
        the core distance of a point is the distance to the `min_samples`-th nearest, itself counted [1]_.
    alpha : float
        Lengths are divided by this, core distances are not [2]_.
    box_size : float or sequence of `dim` floats, optional
        The sides of a periodic box, in the unit of the points. By default space is open.
    n_jobs : int, optional
        The number of threads; None is the number that `set_threads` set, -1 all processors.
    device : str, optional
        "cpu", "cuda" or "cuda:1"; by default where the points are.

    Returns
    -------
    SpanningTree
        ``edges`` of shape (n - 1, 2), the lower index first, and ``weights``, in ascending order of (weight, lower index, higher
        index), which makes the tree unique. On a device both are `DeviceArray`, and the tree has no methods.

    Raises
    ------
    ValueError
        If a coordinate is not finite, `min_samples` not from 1 to n, or `alpha` not positive.

    Notes
    -----
    Cost: O(n log n) for ordinary points; some 90 bytes a point beside the points and the result, up to 50 more by mutual reachability. The
    result takes 40 bytes a point.

    .. [1] Campello, R., Moulavi, D. and Sander, J. (2013), "Density-Based Clustering Based on Hierarchical Density Estimates", PAKDD.
    .. [2] Chaudhuri, K. and Dasgupta, S. (2010), "Rates of Convergence for the Cluster Tree", NIPS.

    Examples
    --------
    >>> edges, weights = minimum_spanning_tree([[0.0], [1.0], [3.0], [9.5]], box_size=10.0)
    >>> edges.tolist(), weights.tolist()
    ([[0, 3], [0, 1], [1, 2]], [0.5, 1.0, 2.0])
    """
    samples, divisor, n_jobs = integer(min_samples, "min_samples", 1), real(alpha, "alpha"), threads(n_jobs)
    there = on_device(X, device)
    if there is not None:
        return SpanningTree(*there.minimum_spanning_tree(X, samples, divisor, box_size, device))
    rows = points(X)
    native = _native.minimum_spanning_tree(rows, samples, divisor, box(box_size, rows, n_jobs), n_jobs)
    return spanning_tree(native, n_jobs)


def linkage(
    X: ArrayLike,
    *,
    min_samples: int = 1,
    alpha: float = 1.0,
    box_size: ArrayLike | None = None,
    n_jobs: int | None = None,
    device: str | None = None,
) -> NDArray[np.float64]:
    """Single linkage of points, as ``scipy.cluster.hierarchy.linkage(X, "single")`` has it.

    Parameters and errors are those of `minimum_spanning_tree`; with `min_samples` of more than 1 it is the hierarchy of HDBSCAN.

    Returns
    -------
    ndarray of shape (n - 1, 4), float64
        For each merge the two clusters, the lower number first, the height in the unit of the points, and the number of points. Points are
        clusters 0 to n - 1, merge ``i`` makes the cluster ``n + i``. Merges of equal height are in the order of the tree's edges, which may
        differ from scipy's.

    Notes
    -----
    Cost: that of the tree, and O(n log n) at worst; scipy's takes O(n**2) time and memory.

    Examples
    --------
    >>> linkage([[0.0], [1.0], [9.0], [11.0]])
    array([[0., 1., 1., 2.],
           [2., 3., 2., 2.],
           [4., 5., 8., 4.]])
    """
    tree = minimum_spanning_tree(X, min_samples=min_samples, alpha=alpha, box_size=box_size, n_jobs=n_jobs, device=device)
    return tree.linkage()


def spanning_tree(native: _native.SpanningTree, n_jobs: int | None) -> SpanningTree:
    """A tree of the library, with its edges as arrays."""
    tree = SpanningTree(*native.edges(n_jobs))
    tree._stored = native
    tree._n_jobs = n_jobs
    return tree


def _rebuilt(n: int, edges: NDArray[np.int64], weights2: NDArray[np.float64], n_jobs: int | None) -> SpanningTree:
    return spanning_tree(_native.SpanningTree(n, edges, weights2, n_jobs), n_jobs)
