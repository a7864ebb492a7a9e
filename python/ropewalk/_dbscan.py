"""DBSCAN: density-based clusters and noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _base, _checks, _mpi, _native
from ropewalk._placement import device_backend
from ropewalk._types import Floats

if TYPE_CHECKING:
    from typing_extensions import Self


def dbscan(
    X: ArrayLike,
    eps: SupportsFloat = 0.5,
    *,
    min_samples: SupportsIndex = 5,
    metric: str = "minkowski",
    metric_params: dict[str, Any] | None = None,
    algorithm: str = "auto",
    leaf_size: int = 30,
    p: float | None = 2,
    sample_weight: ArrayLike | None = None,
    box_size: ArrayLike | None = None,
    n_jobs: int | None = None,
    device: str | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Clusters points by density, with the same labels as `sklearn.cluster.dbscan`.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Points of 1 to 10 coordinates. ``float32`` and ``float64`` in C order are not copied; other numbers become ``float64``.

    eps : float, default 0.5
        The maximum distance between neighbours, inclusive, in the unit of `X`.

    min_samples : int, default 5
        The minimum number of points within `eps` of a core point, the core point included.

    metric : {"minkowski", "euclidean", "l2"}, default "minkowski"
        The Euclidean distance, under any of its names. Other metrics are rejected.

    metric_params : dict, optional
        Present for API consistency with scikit-learn; must be empty.

    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default "auto"
        Ignored; present for API consistency with scikit-learn.

    leaf_size : int, default 30
        Ignored; present for API consistency with scikit-learn.

    p : float, default 2
        Must be 2 if the metric is ``"minkowski"``; otherwise ignored.

    sample_weight : array_like of shape (n,), or float, optional
        A weight for each point, finite and not negative. A point is core if the weights within `eps` sum to at least `min_samples`.

    box_size : float or array_like of shape (d,), optional
        The sides of the periodic box, each at least twice `eps`. Default: open space.

    n_jobs : int, optional
        The number of threads: -1 for all processors, -2 for all but one. Default: the number set by `ropewalk.set_threads`.

    device : {"cpu", "cuda", "cuda:1", ...}, optional
        The device to run on. Default: the device that holds `X`.

    Returns
    -------
    core_samples : ndarray of int64
        The indices of the core points, ascending.

    labels : ndarray of int32, shape (n,)
        The cluster of each point, -1 for noise. Clusters are numbered by their smallest core point. A border point within `eps`
        of several clusters belongs to the one with the lowest number.

    Raises
    ------
    ValueError
        If the points, a parameter or the weights are invalid. The message names the value, and the point if it concerns one.

    See Also
    --------
    DBSCAN : The estimator version.

    Notes
    -----
    Distances are compared with `eps` in 64-bit arithmetic, also for ``float32``. The result does not depend on `n_jobs`. Cost:
    time about that of sorting the points, hardly more for dense clusters; about 20 bytes per point in addition to the tree.
    Source: Ester et al. 1996; Prokopenko et al. 2023 (FDBSCAN and DenseBox on a bounding volume hierarchy).

    Examples
    --------
    >>> from ropewalk import dbscan
    >>> core_samples, labels = dbscan([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [9.0, 9.0]], eps=1.0, min_samples=3)
    >>> core_samples, labels
    (array([0]), array([ 0,  0,  0, -1], dtype=int32))
    """
    _check_scikit_learn(metric, p, metric_params, algorithm)
    core, labels = _clusters(X, eps, min_samples, sample_weight, box_size, n_jobs, device)
    return core, labels


def _check_scikit_learn(metric: object, p: object, metric_params: object, algorithm: object) -> None:
    """Rejects metrics that this package does not support, and values that scikit-learn rejects, too."""
    _checks.euclidean(metric, p, metric_params, other="sklearn.cluster.DBSCAN")
    _checks.choice(algorithm, "algorithm", ("auto", "ball_tree", "kd_tree", "brute"))


def _clusters(
    X: Any,
    eps: SupportsFloat,
    min_samples: SupportsIndex,
    sample_weight: ArrayLike | None,
    box_size: ArrayLike | None,
    n_jobs: int | None,
    device: str | None,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    length, least, n_jobs = _checks.real(eps, "eps"), _checks.integer(min_samples, "min_samples", 1), _checks.threads(n_jobs)
    backend = device_backend(X, device)
    if backend is not None:
        found: tuple[NDArray[np.int64], NDArray[np.int32]] = backend.dbscan(X, length, least, sample_weight, box_size, device)
        return found
    points = _arrays.points(X)
    weights = _checks.weights(sample_weight, len(points))
    return _native.dbscan(points, length, least, weights, _arrays.box(box_size, points, n_jobs), n_jobs)


class DBSCAN(_base.WeightedClusterer):
    """DBSCAN with scikit-learn's interface and results. Only the import changes.

    Parameters
    ----------
    eps : float, default 0.5
        The maximum distance between neighbours, inclusive, in the unit of the points. With 0 only copies of a point are neighbours.

    min_samples : int, default 5
        The minimum number of points within `eps` of a core point, the core point included.

    metric : {"euclidean", "l2", "minkowski"}, default "euclidean"
        The Euclidean distance, under any of its names. `fit` rejects other metrics.

    metric_params : dict, optional
        Present for API consistency with scikit-learn; must be empty.

    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default "auto"
        Ignored; present for API consistency with scikit-learn.

    leaf_size : int, default 30
        Ignored; present for API consistency with scikit-learn.

    p : float, optional
        Must be 2 if the metric is ``"minkowski"``; otherwise ignored.

    box_size : float or array_like of shape (n_features,), optional
        The sides of the periodic box, each at least twice `eps`. Default: open space.

    n_jobs : int, optional
        The number of threads: -1 for all processors, -2 for all but one. Default: the number set by `ropewalk.set_threads`
        (in scikit-learn: 1).

    device : {"cpu", "cuda", "cuda:1", ...}, optional
        The device to run on. Default: the device that holds the points.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        The cluster of each point, -1 for noise. Clusters are numbered by their smallest core point.

    core_sample_indices_ : ndarray of int64, shape (n_core_samples,)
        The indices of the core points, ascending.

    components_ : ndarray of shape (n_core_samples, n_features)
        Copies of the core points, in the type of `X`. Not set if the clusters were found on a device or across ranks.

    n_features_in_ : int
        The number of coordinates per point.

    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        The names of a data frame's columns, if all are strings.

    See Also
    --------
    dbscan : The function version.
    HDBSCAN : Clusters of varying density.

    Notes
    -----
    Differences from scikit-learn: only Euclidean distances, 1 to 10 coordinates, no sparse matrices, no negative weights. `eps`
    may be 0, `labels_` has 32 bits, and `predict` is an addition. For cost and exactness see `dbscan`. Source: Ester et al. 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from ropewalk import DBSCAN
    >>> X = np.array([[1, 2], [2, 2], [2, 3], [8, 7], [8, 8], [25, 80]])
    >>> clustering = DBSCAN(eps=3, min_samples=2).fit(X)
    >>> clustering.labels_
    array([ 0,  0,  0,  1,  1, -1], dtype=int32)
    >>> clustering
    DBSCAN(eps=3, min_samples=2)
    >>> clustering.predict([[9, 9], [40, 40]])
    array([ 1, -1], dtype=int32)
    """

    core_sample_indices_: NDArray[np.int64]
    components_: Floats
    _optional_attributes = ("components_",)

    def __init__(
        self,
        eps: SupportsFloat = 0.5,
        *,
        min_samples: SupportsIndex = 5,
        metric: str = "euclidean",
        metric_params: dict[str, Any] | None = None,
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float | None = None,
        box_size: ArrayLike | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.eps = eps
        self.min_samples = min_samples
        self.metric = metric
        self.metric_params = metric_params
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.box_size = box_size
        self.n_jobs = n_jobs
        self.device = device

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None, *, comm: object = None) -> Self:
        """Finds the clusters of points, or of the points of all ranks of a communicator.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Points. ``float32`` and ``float64`` in C order are not copied.

        y : ignored
            Ignored; present for API consistency with scikit-learn.

        sample_weight : array_like of shape (n_samples,), or float, optional
            A weight for each point, finite and not negative, not all zero. A point is core if the weights within `eps` sum to at
            least `min_samples`. Not supported with `comm`.

        comm : mpi4py.MPI.Intracomm, optional
            The communicator of the ranks that share the points. `X` holds the points of this rank, possibly none. All ranks call `fit`
            with the same parameters. A rank without points passes an empty array with the same number of coordinates and the same
            type: ``numpy.empty((0, 3))``.

        Returns
        -------
        self : DBSCAN
            The estimator, fitted.

        Raises
        ------
        ValueError
            If the points, a parameter or the weights are invalid. With `comm`, all ranks raise it if the arguments of one rank are
            invalid, or if the parameters differ between ranks.

        TypeError
            If `comm` is not a communicator.

        RuntimeError
            If the communicator fails.

        Notes
        -----
        Across ranks, `labels_` and `core_sample_indices_` describe the points of this rank. They equal the results of one process for
        the points of all ranks, concatenated in rank order. `components_` is not set. See `docs/across_ranks.md`.
        """
        return self._fit(X, sample_weight, comm)

    def _find(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[dict[str, Any], int]:
        _check_scikit_learn(self.metric, self.p, self.metric_params, self.algorithm)
        points: Any = self._fit_points(X, self.device)
        weights = self._fit_weights(sample_weight, len(points))
        core, labels = _clusters(points, self.eps, self.min_samples, weights, self.box_size, self.n_jobs, self.device)
        found = {"core_sample_indices_": core, "labels_": labels}
        if device_backend(X, self.device) is None:
            found["components_"] = points[core]
        return found, _checks.shape(points)[1]

    def _find_across(self, X: ArrayLike, sample_weight: ArrayLike | None, comm: _native.Comm) -> tuple[dict[str, Any], int]:
        def prepare() -> tuple[Floats, float, int, list[float] | None, int | None, int]:
            _check_scikit_learn(self.metric, self.p, self.metric_params, self.algorithm)
            points = _mpi.points(X, sample_weight, self.device)
            length, least = _checks.real(self.eps, "eps"), _checks.integer(self.min_samples, "min_samples", 1)
            sides = _arrays.sides(self.box_size, points.shape[1])
            return points, length, least, sides, _checks.threads(self.n_jobs), _mpi.feature_names_digest(X)

        ready = _mpi.prepared(comm, prepare)
        core, labels = _native.dbscan_across(comm, *ready)
        return {"core_sample_indices_": core, "labels_": labels}, ready[0].shape[1]

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """Assigns each new point to the cluster of its nearest core point within `eps`, or -1.

        Not part of scikit-learn, as DBSCAN does not define clusters of new points. Clustering old and new points together could
        make new points core and join clusters. A fitted border point may get another label than in `labels_`, if its nearest core
        point belongs to another cluster.

        Parameters
        ----------
        X : array_like of shape (m, n_features)
            New points.

        Returns
        -------
        ndarray of int32, shape (m,)
            The label of each new point. Of equally near core points, the one with the lowest index counts.

        Raises
        ------
        NotFittedError
            If `fit` has not been called.

        RuntimeError
            If the clusters were found on a device or across ranks.

        ValueError
            If the points are invalid.

        Notes
        -----
        Cost: building a tree of the core points, and one search per new point. The current values of `eps` and `box_size` are used.
        """
        self._check_fitted()
        if "components_" not in self.__dict__:
            raise RuntimeError("the clusters were found on a device or across ranks; for predict, fit with device='cpu' and without comm")
        new = self._points(X, fitting=False)
        labels = self.labels_[self.core_sample_indices_]
        eps, size = _checks.real(self.eps, "eps"), _arrays.sides(self.box_size, new.shape[1])
        return _native.dbscan_predict(self.components_, labels, eps, new, size, _checks.threads(self.n_jobs))
