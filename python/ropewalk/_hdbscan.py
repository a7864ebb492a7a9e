"""HDBSCAN*: clusters of varying density."""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _base, _checks, _native
from ropewalk._centers import centroids, medoids
from ropewalk._placement import device_backend
from ropewalk._trees import SpanningTree, spanning_tree
from ropewalk._types import Floats, HdbscanOptions

if TYPE_CHECKING:
    from typing_extensions import Self

#: The labels of points with an infinite coordinate and with a NaN coordinate, as in scikit-learn.
_INFINITE, _MISSING = -2, -3

#: Attributes that are computed at their first use.
_LAZY_ATTRIBUTES = ("outlier_scores_", "minimum_spanning_tree_", "single_linkage_tree_", "condensed_tree_")

#: The columns of a condensed tree.
_CONDENSED = np.dtype([("parent", np.int64), ("child", np.int64), ("lambda_val", np.float64), ("child_size", np.int64)])


class HDBSCAN(_base.Clusterer):
    """HDBSCAN* with scikit-learn's interface, and some attributes of the package ``hdbscan``.

    Parameters
    ----------
    min_cluster_size : int, default 5
        The minimum number of points of a cluster, at least 2.

    min_samples : int, optional
        The core distance of a point is the distance to its `min_samples`-th nearest point, the point itself counted. Larger values
        give more noise. Default: `min_cluster_size`, or the number of points if there are fewer. (The package ``hdbscan`` does not
        count the point itself.)

    cluster_selection_epsilon : float, default 0.0
        A selected cluster that splits off at less than this distance is replaced by its first ancestor that splits off at more.

    max_cluster_size : int, optional
        The maximum size of a selected cluster with the method ``"eom"``.

    metric : {"euclidean", "l2", "minkowski"}, default "euclidean"
        The Euclidean distance, under any of its names. `fit` rejects other metrics.

    metric_params : dict, optional
        Present for API consistency with scikit-learn; may be ``{"p": 2}`` with the metric ``"minkowski"``.

    alpha : float, default 1.0
        Divisor of the distances between points. Core distances are not divided.

    algorithm, leaf_size
        Ignored; present for API consistency with scikit-learn.

    n_jobs : int, optional
        The number of threads: -1 for all processors, -2 for all but one. Default: the number set by `ropewalk.set_threads`
        (in scikit-learn: 1).

    cluster_selection_method : {"eom", "leaf"}, default "eom"
        The method for selecting clusters of the hierarchy. Excess of mass, ``"eom"``: the clusters whose total persistence is the
        largest, which favours large clusters over their parts. ``"leaf"``: the clusters that do not split any further.

    allow_single_cluster : bool, default False
        If `True`, all points may form a single cluster.

    store_centers : {"centroid", "medoid", "both"}, optional
        The cluster centres that `fit` computes. Not supported in a periodic box.

    copy : bool, default False
        Ignored, as `X` is never changed; present for API consistency with scikit-learn.

    ties : {"together", "sequential"}, default "together"
        The order of removal of edges of equal weight, which are frequent. ``"together"``: at once, as the paper defines it. Clusters do
        not depend on the order of the points, and are numbered by their smallest member. This is also the default of the command
        line, the Rust library and devices. ``"sequential"``: one by one, which gives scikit-learn's labels and numbers. Not supported
        on a device.

    box_size : float or array_like of shape (n_features,), optional
        The sides of the periodic box. Default: open space.

    device : {"cpu", "cuda", "cuda:1", ...}, optional
        The device to run on. Default: the device that holds the points.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        The cluster of each point: -1 for noise, -2 for points with an infinite coordinate, -3 for points with a NaN coordinate.
        Points with labels -2 and -3 are excluded from all other results.

    probabilities_ : ndarray of float64, shape (n_samples,)
        The strength of each point's membership in its cluster, from 0 to 1. 0 for noise and label -2, NaN for label -3.

    centroids_, medoids_ : ndarray of float64, shape (n_clusters, n_features)
        The means weighted by probability, and the members with the minimum sum of distances weighted by probability. Set if
        `store_centers` requests them.

    n_features_in_ : int
        The number of coordinates per point.

    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        The names of a data frame's columns, if all are strings.

    See Also
    --------
    DBSCAN : Faster, for clusters of one known density.

    Notes
    -----
    Without ties, clusters and probabilities equal scikit-learn's, and only the numbers of the clusters differ. With
    ``ties="sequential"`` the numbers are equal, too. A `min_samples` of more than 1 creates ties in any data. In that case
    ``"sequential"`` gives scikit-learn's result for the spanning tree whose edges of equal weight are ordered by their ends.
    In scikit-learn's own tree they are in the order of construction. The labels were compared for 30 random sets of 200 to 2,000
    points with the default `min_samples`. The median adjusted Rand index was 0.998 with ``"sequential"``, 0.995 with ``"together"``.

    Other differences from scikit-learn:

    - Fewer points than `min_cluster_size`, or a single point, are noise: neither an error nor a single cluster.
    - The default of `min_samples` is limited to the number of points.
    - Only Euclidean distances and 1 to 10 coordinates are supported, and no sparse matrices.

    The other attributes are computed at their first use and then kept. The estimator keeps a reference to the array that it was
    fitted to, for `predict`.

    Cost: that of the spanning tree, O(n log n) in practice; about 50 bytes per point are kept. Source: Campello, Moulavi and Sander
    2013; Campello, Moulavi, Zimek and Sander 2015 (outliers); Malzer and Baum 2020 (`cluster_selection_epsilon`).

    Examples
    --------
    >>> from ropewalk import HDBSCAN
    >>> X = [[0.0], [1.0], [2.0], [3.0], [30.0], [30.1], [30.2], [30.4], [90.0]]
    >>> found = HDBSCAN(min_cluster_size=3, min_samples=2).fit(X)
    >>> found.labels_
    array([ 0,  0,  0,  0,  1,  1,  1,  1, -1], dtype=int32)
    >>> found.probabilities_.round(2)
    array([1. , 1. , 1. , 1. , 1. , 1. , 1. , 0.5, 0. ])
    >>> found.predict([[1.5], [70.0]])
    array([ 0, -1], dtype=int32)
    >>> found.dbscan_clustering(1.0, min_cluster_size=4)
    array([ 0,  0,  0,  0,  1,  1,  1,  1, -1], dtype=int32)
    """

    probabilities_: NDArray[np.float64]
    centroids_: NDArray[np.float64]
    medoids_: NDArray[np.float64]
    _optional_attributes = (*_LAZY_ATTRIBUTES, "_clusters", "_fit_X", "centroids_", "medoids_")

    def __init__(
        self,
        min_cluster_size: SupportsIndex = 5,
        min_samples: SupportsIndex | None = None,
        cluster_selection_epsilon: SupportsFloat = 0.0,
        max_cluster_size: SupportsIndex | None = None,
        metric: str = "euclidean",
        metric_params: dict[str, Any] | None = None,
        alpha: SupportsFloat = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 40,
        n_jobs: int | None = None,
        cluster_selection_method: str = "eom",
        allow_single_cluster: bool = False,
        store_centers: str | None = None,
        copy: bool = False,
        *,
        ties: str = "together",
        box_size: ArrayLike | None = None,
        device: str | None = None,
    ) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.cluster_selection_epsilon = cluster_selection_epsilon
        self.max_cluster_size = max_cluster_size
        self.metric = metric
        self.metric_params = metric_params
        self.alpha = alpha
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.n_jobs = n_jobs
        self.cluster_selection_method = cluster_selection_method
        self.allow_single_cluster = allow_single_cluster
        self.store_centers = store_centers
        self.copy = copy
        self.ties = ties
        self.box_size = box_size
        self.device = device

    def _allows_nan(self) -> bool:
        return True

    def _options(self, dim: int) -> HdbscanOptions:
        """Returns the parameters after the checks that the compiled part does not make."""
        metric_params = dict(self.metric_params or {})
        _checks.euclidean(self.metric, metric_params.pop("p", 2), metric_params, other="sklearn.cluster.HDBSCAN")
        if self.store_centers is not None:
            _checks.choice(self.store_centers, "store_centers", ("centroid", "medoid", "both"))
            if self.box_size is not None:
                raise ValueError("store_centers is not supported with box_size: a periodic box has no mean")
        samples, largest = self.min_samples, self.max_cluster_size
        return HdbscanOptions(
            min_cluster_size=_checks.integer(self.min_cluster_size, "min_cluster_size", 2),
            min_samples=None if samples is None else _checks.integer(samples, "min_samples", 1),
            cluster_selection_epsilon=_checks.real(self.cluster_selection_epsilon, "cluster_selection_epsilon"),
            max_cluster_size=None if largest is None else _checks.integer(largest, "max_cluster_size", 1),
            alpha=_checks.real(self.alpha, "alpha"),
            leaf=_checks.choice(self.cluster_selection_method, "cluster_selection_method", ("eom", "leaf")) == "leaf",
            allow_single_cluster=bool(self.allow_single_cluster),
            sequential=_checks.choice(self.ties, "ties", ("sequential", "together")) == "sequential",
            box_size=_arrays.sides(self.box_size, dim),
        )

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Finds the clusters of points.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Points. ``float32`` and ``float64`` in C order are not copied, unless some are not finite.

        y : ignored
            Ignored; present for API consistency with scikit-learn.

        Returns
        -------
        self : HDBSCAN
            The estimator, fitted.

        Raises
        ------
        ValueError
            If the points or a parameter are invalid.
        """
        return self._fit(X)

    def _find(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[dict[str, Any], int]:
        backend = device_backend(X, self.device)
        return self._fit_on_cpu(X) if backend is None else self._fit_on_device(X, backend)

    def _fit_on_device(self, X: ArrayLike, backend: ModuleType) -> tuple[dict[str, Any], int]:
        """Clusters points on a device. Returns the fitted attributes and the number of coordinates."""
        dim = _checks.shape(X)[1]
        options = self._options(dim)
        if self.store_centers is not None:
            raise ValueError("store_centers is not supported on a device; use device='cpu'")
        labels, probabilities = backend.hdbscan(X, options, self.device)
        return {"labels_": labels, "probabilities_": probabilities, "_clusters": None}, dim

    def _fit_on_cpu(self, X: ArrayLike) -> tuple[dict[str, Any], int]:
        """Clusters points on the processor. Returns the fitted attributes and the number of coordinates."""
        points = self._points(X, fitting=True)
        options = self._options(points.shape[1])
        non_finite = _not_finite(points)
        finite = points if non_finite is None else points[non_finite == 0]
        _arrays.box(self.box_size, finite, _checks.threads(self.n_jobs))
        clusters = _native.hdbscan(finite, options, _checks.threads(self.n_jobs))
        labels, probabilities = clusters.labels(), clusters.probabilities()
        found: dict[str, Any] = {"_fitted_options": options, "_non_finite_labels": non_finite, "_fit_X": finite, "_clusters": clusters}
        if self.store_centers in ("centroid", "both"):
            found["centroids_"] = centroids(finite, labels, probabilities)
        if self.store_centers in ("medoid", "both"):
            found["medoids_"] = medoids(finite, labels, probabilities)
        found["labels_"] = _labels_of_all(labels, non_finite)
        found["probabilities_"] = _probabilities_of_all(probabilities, non_finite)
        return found, points.shape[1]

    def dbscan_clustering(self, cut_distance: SupportsFloat, min_cluster_size: SupportsIndex = 5) -> NDArray[np.int32]:
        """Returns the clusters of DBSCAN* at a distance: core points linked by steps of at most this distance.

        Parameters
        ----------
        cut_distance : float
            The distance, inclusive (in scikit-learn exclusive).

        min_cluster_size : int, default 5
            The minimum size of a cluster, at least 2. Smaller clusters are noise.

        Returns
        -------
        ndarray of int32, shape (n_samples,)
            Labels as in `labels_`. Clusters are numbered by their smallest member (in scikit-learn the order is not documented).

        Raises
        ------
        ValueError
            If the distance is NaN or negative, or the size is below 2.
        """
        size = _checks.integer(min_cluster_size, "min_cluster_size", 2)
        labels = self._found().dbscan_labels(_checks.real(cut_distance, "cut_distance"), size, _checks.threads(self.n_jobs))
        return _labels_of_all(labels, self._non_finite_labels)

    def predict(self, X: ArrayLike) -> NDArray[np.int32]:
        """Returns the clusters of new points; see `approximate_predict`.

        Parameters
        ----------
        X : array_like of shape (m, n_features)
            New points. Points that are not finite get the same labels and probabilities as in `fit`.

        Returns
        -------
        ndarray of int32, shape (m,)
            The label of each new point, -1 for noise.
        """
        return self.approximate_predict(X)[0]

    def approximate_predict(self, X: ArrayLike) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Returns the cluster that each new point would join if it were added alone to the fitted points, whose clusters stay.

        Parameters
        ----------
        X : array_like of shape (m, n_features)
            New points. Points that are not finite get the same labels and probabilities as in `fit`.

        Returns
        -------
        labels : ndarray of int32, shape (m,)
            The label of each new point, -1 for noise.

        probabilities : ndarray of float64, shape (m,)
            The strength of each new point's membership in its cluster.

        Raises
        ------
        NotFittedError
            If `fit` has not been called.

        ValueError
            If the points are invalid.

        Notes
        -----
        Like the function of this name in the package ``hdbscan``, which counts `min_samples` differently; scikit-learn has no such
        method. Clustering old and new points together could give other clusters. Cost: building a tree of the fitted points, and two
        searches per new point.
        """
        clusters, new = self._found(), self._points(X, fitting=False)
        non_finite = _not_finite(new)
        found = clusters.predict(self._fit_X, new if non_finite is None else new[non_finite == 0], _checks.threads(self.n_jobs))
        return _labels_of_all(found[0], non_finite), _probabilities_of_all(found[1], non_finite)

    @cached_property
    def outlier_scores_(self) -> NDArray[np.float64]:
        """The GLOSH outlier score of each point, from 0 for the densest to 1; NaN for points that are not finite."""
        scores = self._found().outlier_scores(_checks.threads(self.n_jobs))
        if self._non_finite_labels is None:
            return scores
        values = np.full(len(self._non_finite_labels), np.nan)
        values[self._non_finite_labels == 0] = scores
        return values

    @property
    def cluster_persistence_(self) -> NDArray[np.float64]:
        """The persistence of each cluster, from 0 to 1."""
        return self._found().persistence()

    @cached_property
    def minimum_spanning_tree_(self) -> SpanningTree:
        """The spanning tree by mutual reachability. This and the other trees number only the finite points."""
        return spanning_tree(self._found().tree(), _checks.threads(self.n_jobs))

    @cached_property
    def single_linkage_tree_(self) -> NDArray[np.float64]:
        """The merges in the format of `scipy.cluster.hierarchy.linkage`, shape (n - 1, 4): two clusters, height and size."""
        return self._found().tree().linkage(_checks.threads(self.n_jobs))

    @cached_property
    def condensed_tree_(self) -> NDArray[np.void]:
        """The hierarchy of clusters: a row for each point, in order, then a row for each cluster except the root.

        Fields: ``parent``, ``child``, ``lambda_val`` (the inverse of the distance at which the child splits off) and ``child_size``.
        Points have the numbers 0 to n - 1; the root cluster has the number n.
        """
        columns = self._found().condensed()
        rows = np.empty(len(columns[0]), _CONDENSED)
        for name, column in zip(_CONDENSED.names or (), columns, strict=True):
            rows[name] = column
        return rows

    def __getstate__(self) -> dict[str, Any]:
        """Returns the state for pickling, with the spanning tree in place of the clusters, which are recomputed from it."""
        state = {name: value for name, value in self.__dict__.items() if name not in _LAZY_ATTRIBUTES}
        if state.get("_clusters") is not None:
            tree, n_jobs = state.pop("_clusters").tree(), _checks.threads(self.n_jobs)
            state["_stored_tree"] = (tree.n_points, *tree.state(n_jobs))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        tree = state.pop("_stored_tree", None)
        self.__dict__.update(state)
        if tree is not None:
            (n_points, edges, weights2), n_jobs = tree, _checks.threads(self.n_jobs)
            native = _native.SpanningTree(n_points, edges, weights2, n_jobs)
            self._clusters = _native.hdbscan_of_tree(native, self._fitted_options, n_jobs)

    _fit_X: Floats
    _fitted_options: HdbscanOptions
    _non_finite_labels: NDArray[np.int32] | None
    #: None if the clusters were found on a device.
    _clusters: _native.Clusters | None

    def _found(self) -> _native.Clusters:
        self._check_fitted()
        if self._clusters is None:
            raise RuntimeError("the clusters were found on a device, which returns only labels and probabilities; fit with device='cpu'")
        return self._clusters


def _not_finite(points: Floats) -> NDArray[np.int32] | None:
    """Returns 0 for each finite point and the label of each other point, or `None` if all points are finite."""
    with np.errstate(all="ignore"):
        if np.isfinite(points.sum()):
            return None
    missing, finite = np.isnan(points).any(axis=1), np.isfinite(points).all(axis=1)
    if finite.all():
        return None
    return np.where(finite, 0, np.where(missing, _MISSING, _INFINITE)).astype(np.int32)


def _labels_of_all(labels: NDArray[np.int32], non_finite: NDArray[np.int32] | None) -> NDArray[np.int32]:
    """Extends the labels of the finite points to all points."""
    if non_finite is None:
        return labels
    values = non_finite.copy()
    values[non_finite == 0] = labels
    return values


def _probabilities_of_all(probabilities: NDArray[np.float64], non_finite: NDArray[np.int32] | None) -> NDArray[np.float64]:
    """Extends the probabilities of the finite points to all points: 0 for infinite points, NaN for points with a NaN coordinate."""
    if non_finite is None:
        return probabilities
    values = np.where(non_finite == _MISSING, np.nan, 0.0)
    values[non_finite == 0] = probabilities
    return values
