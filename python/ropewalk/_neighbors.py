"""Nearest neighbours with scikit-learn's interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk._base import Estimator
from ropewalk._bvh import Bvh
from ropewalk._checks import euclidean, integer, real
from ropewalk._placement import device_backend

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


class NearestNeighbors(Estimator):
    """Neighbour searches with the interface of `sklearn.neighbors.NearestNeighbors`.

    Parameters
    ----------
    n_neighbors : int
        The number of neighbours that `kneighbors` finds.

    radius : float
        The radius of `radius_neighbors`, inclusive.

    algorithm, leaf_size : object
        Ignored; present for API consistency with scikit-learn.

    metric : str
        "euclidean", or the equivalent "minkowski" with ``p=2``. Other metrics are rejected.

    p : float
        Must be 2.

    metric_params : None
        Must be `None`.

    n_jobs : int, optional
        The number of threads; -1 means all processors. Default: the number set by `set_threads`.

    box_size : float or sequence of floats, optional
        The sides of the periodic box, in the unit of the points. Default: open space. scikit-learn has no such parameter.

    device : str, optional
        "cpu" or None. Points on a GPU are rejected.

    Attributes
    ----------
    n_features_in_ : int
        The number of coordinates per point.

    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of a data frame's columns, if all are strings.

    n_samples_fit_ : int
        The number of fitted points.

    effective_metric_ : str
        "euclidean".

    effective_metric_params_ : dict
        Empty.

    bvh_ : Bvh
        The search tree.

    Notes
    -----
    The points are not copied if they are ``float32`` or ``float64`` in C order. Distances are ``float64``. Points at equal distance are
    ordered by index; scikit-learn does not specify the order. If the fitted points are the queries (`X=None`), a point is not its own
    neighbour, but its copies are.

    Examples
    --------
    >>> from ropewalk import NearestNeighbors
    >>> neighbors = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
    >>> distances, indices = neighbors.kneighbors([[1.2]])
    >>> indices
    array([[1, 0]])
    >>> neighbors.kneighbors_graph(mode="distance").toarray()
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: str = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        box_size: ArrayLike | None = None,
        device: str | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.box_size = box_size
        self.device = device

    def fit(self, X: ArrayLike, y: object = None) -> NearestNeighbors:
        """Builds the search tree of the points.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Points of 1 to 10 coordinates.

        y : object
            Ignored; present for API consistency with scikit-learn.

        Raises
        ------
        ValueError
            If a coordinate is not finite, a parameter is out of range, or the metric is not supported.
        """
        euclidean(self.metric, self.p, self.metric_params, other="sklearn.neighbors.NearestNeighbors")
        if device_backend(X, self.device):
            raise ValueError(
                "NearestNeighbors runs only on the CPU: omit device, and copy X to host memory if it is on a device"
            )
        points = self._points(X, fitting=True)
        self.bvh_ = Bvh(points, self.box_size, n_jobs=self.n_jobs)
        self.n_samples_fit_ = len(points)
        self.effective_metric_ = "euclidean"
        self.effective_metric_params_: dict[str, Any] = {}
        self._remember(X, points.shape[1])
        return self

    def kneighbors(self, X: ArrayLike | None = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Finds the nearest points to each query, nearest first, ties by index.

        Parameters
        ----------
        X : array_like of shape (n_queries, n_features), optional
            The queries. Default: the fitted points, where no point is its own neighbour.

        n_neighbors : int, optional
            The number of neighbours. Default: that of the estimator.

        return_distance : bool
            If `True`, also returns distances.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), float64
            The distances, only with `return_distance`.

        indices : ndarray of shape (n_queries, n_neighbors), int64
            The indices of the neighbours.

        Raises
        ------
        ValueError
            If there are fewer points than `n_neighbors`.
        """
        bvh = self._fitted()
        k = integer(self.n_neighbors if n_neighbors is None else n_neighbors, "n_neighbors", 1)
        others = self.n_samples_fit_ - (X is None)
        if k > others:
            sign = "<" if X is None else "<="
            raise ValueError(
                f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, n_samples_fit = {self.n_samples_fit_}"
            )
        found = bvh.nearest_neighbors(k) if X is None else bvh.nearest(self._points(X, fitting=False), k)
        return found if return_distance else found[1]

    def radius_neighbors(
        self,
        X: ArrayLike | None = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """Finds the points within a radius of each query, the boundary included.

        Parameters
        ----------
        X : array_like of shape (n_queries, n_features), optional
            The queries. Default: the fitted points, where no point is its own neighbour.

        radius : float, optional
            The radius. Default: that of the estimator.

        return_distance : bool
            If `True`, also returns distances.

        sort_results : bool
            Has no effect on the order, as neighbours are always sorted by distance, ties by index. As in scikit-learn, `True` without
            `return_distance` is an error.

        Returns
        -------
        distances : ndarray of shape (n_queries,) of arrays, float64
            The distances, only with `return_distance`.

        indices : ndarray of shape (n_queries,) of arrays, int64
            The indices of the neighbours.
        """
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        offsets, distances, indices = self._within(X, radius)
        lists = _arrays(offsets, indices)
        return (_arrays(offsets, distances), lists) if return_distance else lists

    def kneighbors_graph(
        self, X: ArrayLike | None = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> csr_matrix:
        """Returns the graph from queries to their nearest points as a sparse matrix.

        Parameters
        ----------
        X, n_neighbors
            As for `kneighbors`.

        mode : {"connectivity", "distance"}
            The weight of an edge: 1, or its length.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit)
            The matrix. The neighbours of each row are ordered by distance, nearest first.
        """
        connectivity = _is_connectivity(mode)
        distances, indices = self.kneighbors(X, n_neighbors)
        offsets = np.arange(len(indices) + 1, dtype=np.int64) * indices.shape[1]
        return self._graph(offsets, np.ones(indices.size) if connectivity else distances.ravel(), indices.ravel())

    def radius_neighbors_graph(
        self,
        X: ArrayLike | None = None,
        radius: float | None = None,
        mode: str = "connectivity",
        sort_results: bool = False,
    ) -> csr_matrix:
        """Returns the graph from queries to the points within a radius as a sparse matrix.

        Parameters
        ----------
        X, radius
            As for `radius_neighbors`.

        mode : {"connectivity", "distance"}
            The weight of an edge: 1, or its length.

        sort_results : bool
            Ignored: the neighbours of each row are always sorted by distance, ties by index.

        Returns
        -------
        scipy.sparse.csr_matrix of shape (n_queries, n_samples_fit)
        """
        connectivity = _is_connectivity(mode)
        offsets, distances, indices = self._within(X, radius)
        return self._graph(offsets, np.ones(len(indices)) if connectivity else distances, indices)

    def _fitted(self) -> Bvh:
        self._check_fitted()
        return self.bvh_

    def _within(
        self, X: ArrayLike | None, radius: float | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        bvh = self._fitted()
        queries = None if X is None else self._points(X, fitting=False)
        return bvh.query_distances(queries, real(self.radius if radius is None else radius, "radius"))

    def _graph(self, offsets: NDArray[np.int64], weights: NDArray[np.float64], indices: NDArray[np.int64]) -> csr_matrix:
        from scipy.sparse import csr_matrix

        return csr_matrix((weights, indices, offsets), shape=(len(offsets) - 1, self.n_samples_fit_))


def _is_connectivity(mode: str) -> bool:
    if mode not in ("connectivity", "distance"):
        raise ValueError(f'mode is {mode!r}; it must be "connectivity" or "distance"')
    return mode == "connectivity"


def _arrays(offsets: NDArray[np.int64], values: NDArray[Any]) -> NDArray[np.object_]:
    """Splits `values` into an array of arrays without copies."""
    arrays = np.empty(len(offsets) - 1, dtype=object)
    if len(arrays) > 0:
        arrays[:] = np.split(values, offsets[1:-1])
    return arrays
