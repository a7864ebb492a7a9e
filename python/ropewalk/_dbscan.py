"""DBSCAN: clusters of dense points, and noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _base, _checks, _mpi, _native
from ropewalk._placement import on_device
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
    """The clusters of points: those of `sklearn.cluster.dbscan`, label for label.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Points of 1 to 10 coordinates. ``float32`` and ``float64`` in C order are not copied; other numbers become ``float64``.
    eps : float, default 0.5
        Neighbours are at most so far apart, inclusive; in the unit of `X`.
    min_samples : int, default 5
        A point is core if so many points, itself included, are within `eps`.
    metric : {"minkowski", "euclidean", "l2"}, default "minkowski"
        The distance: the Euclidean, by any of its names. Others are refused.
    metric_params : dict, optional
        Present for API consistency with scikit-learn; must be empty.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default "auto"
        Ignored; present for API consistency with scikit-learn.
    leaf_size : int, default 30
        Ignored; present for API consistency with scikit-learn.
    p : float, default 2
        Must be 2 if the metric is ``"minkowski"``; otherwise ignored.
    sample_weight : array_like of shape (n,), or float, optional
        A weight for each point, finite and not negative: a point is core if the weights within `eps` reach `min_samples`.
    box_size : float or array_like of shape (d,), optional
        The sides of a periodic box, each at least twice `eps`. Without, space is open.
    n_jobs : int, optional
        Threads: -1 for all processors, -2 for all but one; by default those of `ropewalk.set_threads`.
    device : {"cpu", "cuda", "cuda:1", ...}, optional
        Where to work; by default where `X` is.

    Returns
    -------
    core_samples : ndarray of int64
        The indices of the core points, ascending.
    labels : ndarray of int32, shape (n,)
        The cluster of each point, -1 for noise. Clusters are numbered by their smallest core point; a border point has the
        lowest number of those that it is near.

    Raises
    ------
    ValueError
        Points, a parameter or weights that are refused; the sentence names the value, and the point where it is one.

    See Also
    --------
    DBSCAN : The same as an estimator.

    Notes
    -----
    Whether two points are within `eps` is decided as 64-bit arithmetic decides it, also for ``float32``. The answer does not
    depend on `n_jobs`. Cost: about that of sorting the points, hardly more where clusters are dense; beside the tree some 20
    bytes a point. Source: Ester et al. 1996; Prokopenko et al. 2023 (FDBSCAN and DenseBox on a bounding volume hierarchy).

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
    """Refuses what scikit-learn has and this package has not, or what neither has."""
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
    there = on_device(X, device)
    if there is not None:
        found: tuple[NDArray[np.int64], NDArray[np.int32]] = there.dbscan(X, length, least, sample_weight, box_size, device)
        return found
    points = _arrays.points(X)
    weights = _checks.weights(sample_weight, len(points))
    return _native.dbscan(points, length, least, weights, _arrays.box(box_size, points, n_jobs), n_jobs)


class DBSCAN(_base.WeightedClusterer):
    """DBSCAN with scikit-learn's interface and answers: only the import changes.

    Parameters
    ----------
    eps : float, default 0.5
        Neighbours are at most so far apart, inclusive; in the unit of the points. 0 joins copies of a point.
    min_samples : int, default 5
        A point is core if so many points, itself included, are within `eps`.
    metric : {"euclidean", "l2", "minkowski"}, default "euclidean"
        The distance: the Euclidean, by any of its names. `fit` refuses others.
    metric_params : dict, optional
        For scikit-learn's sake; must be empty.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default "auto"
        Ignored; present for API consistency with scikit-learn.
    leaf_size : int, default 30
        Ignored; present for API consistency with scikit-learn.
    p : float, optional
        2 if the metric is ``"minkowski"``; else without effect.
    box_size : float or array_like of shape (n_features,), optional
        The sides of a periodic box, each at least twice `eps`. Without, space is open.
    n_jobs : int, optional
        Threads: -1 for all processors, -2 for all but one; by default those of `ropewalk.set_threads`, while scikit-learn takes
        one.
    device : {"cpu", "cuda", "cuda:1", ...}, optional
        Where to work; by default where the points are.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        The cluster of each point, -1 for noise; numbered by their smallest core point.
    core_sample_indices_ : ndarray of int64, shape (n_core_samples,)
        The indices of the core points, ascending.
    components_ : ndarray of shape (n_core_samples, n_features)
        Copies of the core points, in the type of `X`; not where the clusters were found on a device or across ranks.
    n_features_in_ : int
        How many coordinates the points have.
    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        The names of a data frame's columns, if all are strings.

    See Also
    --------
    dbscan : The same as a function.
    HDBSCAN : Clusters of varying density.

    Notes
    -----
    Differences to scikit-learn: only Euclidean distances, 1 to 10 coordinates, no sparse matrices, no negative weights; `eps`
    may be 0; `labels_` has 32 bits. `predict` is an addition. Cost, and what is exact: see `dbscan`. Source: Ester et al. 1996.

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
    _stale = ("components_",)

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
        """Finds the clusters of points, or of those of all ranks of a communicator.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Points. ``float32`` and ``float64`` in C order are not copied.
        y : ignored
            For scikit-learn's sake.
        sample_weight : array_like of shape (n_samples,), or float, optional
            A weight for each point, finite and not negative, not all zero: a point is core if the weights within `eps` reach
            `min_samples`. Not with `comm`.
        comm : mpi4py.MPI.Intracomm, optional
            The ranks that share the points, of which `X` are this rank's: any number, also none. All ranks call `fit`, with the same
            parameters, and one with no points still gives them as many coordinates and the same type: ``numpy.empty((0, 3))``.

        Returns
        -------
        self : DBSCAN
            The estimator, fitted.

        Raises
        ------
        ValueError
            Points, a parameter or weights that are refused. With `comm` on all ranks, also if it is one rank's, or if ranks differ in
            their parameters.
        TypeError
            `comm` is no communicator.
        RuntimeError
            The communicator fails.

        Notes
        -----
        Across ranks `labels_` and `core_sample_indices_` are those of this rank's points, and equal what one process finds for the
        points of all ranks, one rank's after the other's; there are no `components_`. See `docs/across_ranks.md`.
        """
        return self._fit(X, sample_weight, comm)

    def _find(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[dict[str, Any], int]:
        _check_scikit_learn(self.metric, self.p, self.metric_params, self.algorithm)
        points: Any = self._fit_points(X, self.device)
        weights = self._fit_weights(sample_weight, len(points))
        core, labels = _clusters(points, self.eps, self.min_samples, weights, self.box_size, self.n_jobs, self.device)
        found = {"core_sample_indices_": core, "labels_": labels}
        if on_device(X, self.device) is None:
            found["components_"] = points[core]
        return found, _checks.shape(points)[1]

    def _find_across(self, X: ArrayLike, sample_weight: ArrayLike | None, comm: _native.Comm) -> tuple[dict[str, Any], int]:
        def prepare() -> tuple[Floats, float, int, list[float] | None, int | None, int]:
            _check_scikit_learn(self.metric, self.p, self.metric_params, self.algorithm)
            points = _mpi.points(X, sample_weight, self.device)
            length, least = _checks.real(self.eps, "eps"), _checks.integer(self.min_samples, "min_samples", 1)
            sides = _arrays.sides(self.box_size, points.shape[1])
            return points, length, least, sides, _checks.threads(self.n_jobs), _mpi.names(X)

        ready = _mpi.prepared(comm, prepare)
        core, labels = _native.dbscan_across(comm, *ready)
        return {"core_sample_indices_": core, "labels_": labels}, ready[0].shape[1]

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """The clusters that new points fall into: for each that of the nearest core point within `eps`, or -1.

        Not in scikit-learn, since DBSCAN itself knows no new points: clustering all of them together could make some of the new
        ones core and join clusters. A border point of the old ones may be nearest to a core point of another cluster than its
        own.

        Parameters
        ----------
        X : array_like of shape (m, n_features)
            New points.

        Returns
        -------
        ndarray of int32, shape (m,)
            A label for each; of core points that are equally near the one with the lowest index decides.

        Raises
        ------
        NotFittedError
            There are no clusters yet.
        RuntimeError
            The clusters were found on a device or across ranks.
        ValueError
            Points that are refused.

        Notes
        -----
        Cost: a tree over the core points, and one search for each new point. `eps` and `box_size` are asked as they are now.
        """
        self._check_fitted()
        if "components_" not in self.__dict__:
            raise RuntimeError("the clusters were found on a device or across ranks; for new points fit with device='cpu' and without comm")
        new = self._points(X, fitting=False)
        labels = self.labels_[self.core_sample_indices_]
        eps, size = _checks.real(self.eps, "eps"), _arrays.sides(self.box_size, new.shape[1])
        return _native.dbscan_predict(self.components_, labels, eps, new, size, _checks.threads(self.n_jobs))
