"""Minimum spanning trees and single linkage."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _html, _native
from ropewalk._arrays import box, points
from ropewalk._checks import integer, real, threads
from ropewalk._placement import device_backend


class _Edges(NamedTuple):
    edges: NDArray[np.int64]
    weights: NDArray[np.float64]


class SpanningTree(_Edges):
    """The edges of a minimum spanning tree in ascending order, as returned by `minimum_spanning_tree`.

    Attributes
    ----------
    edges : ndarray of shape (n - 1, 2), int64
        The two points of each edge, the lower index first.

    weights : ndarray of shape (n - 1,), float64
        The weight of each edge, in the unit of the points, ascending.

    n_points : int
        The number of points that the tree spans.

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
            kept = "was built from edges and weights only" if isinstance(self.edges, np.ndarray) else "was found on a device"
            raise RuntimeError(f"the tree {kept}, so this is not available; compute the tree by minimum_spanning_tree(X, device='cpu')")
        return self._stored

    @property
    def n_points(self) -> int:
        """The number of points that the tree spans."""
        return len(self.edges) + 1 if self._stored is None else self._stored.n_points

    def cut(self, length: float) -> NDArray[np.int32]:
        """Returns the cluster of each point if only edges of at most `length` are kept; -1 for single points.

        Clusters are numbered by their smallest member. If the tree has ``min_samples=1``, they are the friends-of-friends groups with
        this linking length and at least two members.

        An edge is kept if its weight is at most `length`, where the weight is either rounded up, as in `weights`, or rounded to the
        nearest number, as in scipy's ``fcluster``. Friends-of-friends may therefore miss an edge that equals `length` up to rounding.

        Parameters
        ----------
        length : float
            The maximum weight of an edge, inclusive, in the unit of the points.

        Raises
        ------
        ValueError
            If the length is negative or NaN.
        """
        return self._tree.cut(real(length, "length"), self._n_jobs)

    def cut_into(self, n_clusters: int) -> NDArray[np.int32]:
        """Returns the cluster of each point after cutting the heaviest edges, so that `n_clusters` clusters remain.

        Clusters are numbered by their smallest member.

        Parameters
        ----------
        n_clusters : int
            The number of clusters, from 1 to the number of points. Single points are clusters, too.

        Raises
        ------
        ValueError
            If `n_clusters` is 0 or larger than the number of points.
        """
        return self._tree.cut_into(integer(n_clusters, "n_clusters", 1), self._n_jobs)

    def linkage(self) -> NDArray[np.float64]:
        """Returns the merges of single linkage in the format of the function `linkage`."""
        return self._tree.linkage(self._n_jobs)

    def __repr__(self) -> str:
        """Returns the number of points and the range of weights; the edges are in `edges`."""
        if not isinstance(self.weights, np.ndarray) or len(self.weights) == 0:
            return f"SpanningTree({len(self.edges)} edges)"
        low, high = (f"{self.weights[at]:.5g}" for at in (0, -1))
        return f"SpanningTree({self.n_points} points, {len(self.edges)} edges, weights {low} to {high})"

    def _repr_html_(self) -> str:
        """Returns the number of points and the range of weights as an HTML table for notebooks."""
        head = f"SpanningTree of {self.n_points} points"
        if not isinstance(self.weights, np.ndarray) or len(self.weights) == 0:
            return _html.table(head, ["edges"], [[len(self.edges)]])
        low, middle, high = (f"{self.weights[at]:.5g}" for at in (0, len(self.weights) // 2, -1))
        row = [len(self.edges), low, middle, high]
        return _html.table(head, ["edges", "least weight", "median weight", "largest weight"], [row])

    def __reduce__(self) -> tuple[Any, ...]:
        # The state holds squared weights, which are exact, unlike their roots.
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
    """Computes the minimum spanning tree of points, by Euclidean distance or mutual reachability.

    Parameters
    ----------
    X : array_like of shape (n, dim)
        Points of 1 to 10 coordinates; not copied if ``float32`` or ``float64`` in C order.

    min_samples : int
        If larger than 1, the weight of an edge is the mutual reachability of its ends: the maximum of the edge's length over `alpha` and
        the core distances of both ends. The core distance of a point is the distance to the `min_samples`-th nearest point, the point
        itself counted [1]_.

    alpha : float
        Divisor of lengths, but not of core distances [2]_.

    box_size : float or sequence of `dim` floats, optional
        The sides of the periodic box, in the unit of the points. Default: open space.

    n_jobs : int, optional
        The number of threads; -1 means all processors. Default: the number set by `set_threads`.

    device : str, optional
        The device to run on: "cpu", "cuda", "cuda:1" and so on. Default: the device that holds the points.

    Returns
    -------
    SpanningTree
        ``edges`` of shape (n - 1, 2), the lower index first, and ``weights``. Edges are in ascending order of (weight, lower index,
        higher index), and this order makes the tree unique. On a device both are `DeviceArray`, and the tree's methods are unavailable.

    Raises
    ------
    ValueError
        If a coordinate is not finite, `min_samples` is not from 1 to n, or `alpha` is not positive.

    Notes
    -----
    Cost: O(n log n) time for typical points. In addition to the points and the result, about 90 bytes per point, with mutual
    reachability up to 50 more. The result takes 40 bytes per point.

    .. [1] Campello, R., Moulavi, D. and Sander, J. (2013), "Density-Based Clustering Based on Hierarchical Density Estimates", PAKDD.
    .. [2] Chaudhuri, K. and Dasgupta, S. (2010), "Rates of Convergence for the Cluster Tree", NIPS.

    Examples
    --------
    >>> edges, weights = minimum_spanning_tree([[0.0], [1.0], [3.0], [9.5]], box_size=10.0)
    >>> edges.tolist(), weights.tolist()
    ([[0, 3], [0, 1], [1, 2]], [0.5, 1.0, 2.0])
    """
    samples, divisor, n_jobs = integer(min_samples, "min_samples", 1), real(alpha, "alpha"), threads(n_jobs)
    backend = device_backend(X, device)
    if backend is not None:
        return SpanningTree(*backend.minimum_spanning_tree(X, samples, divisor, box_size, device))
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
    """Computes the single linkage of points in the format of ``scipy.cluster.hierarchy.linkage(X, "single")``.

    Parameters and errors are those of `minimum_spanning_tree`. With a `min_samples` of more than 1, the result is the hierarchy of
    HDBSCAN.

    Returns
    -------
    ndarray of shape (n - 1, 4), float64
        For each merge the two clusters, the lower number first, the height in the unit of the points, and the number of points. Points
        are clusters 0 to n - 1, and merge ``i`` creates the cluster ``n + i``. Merges of equal height are in the order of the tree's
        edges, which may differ from scipy's order.

    Notes
    -----
    Cost: that of the tree plus at most O(n log n). scipy's function takes O(n**2) time and memory.

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
    """Wraps a tree of the compiled part, with the edges as arrays."""
    tree = SpanningTree(*native.edges(n_jobs))
    tree._stored = native
    tree._n_jobs = n_jobs
    return tree


def _rebuilt(n: int, edges: NDArray[np.int64], weights2: NDArray[np.float64], n_jobs: int | None) -> SpanningTree:
    return spanning_tree(_native.SpanningTree(n, edges, weights2, n_jobs), n_jobs)
