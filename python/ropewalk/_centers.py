"""Centres of clusters, defined as in scikit-learn's `HDBSCAN`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ropewalk._types import Floats

#: The maximum number of coordinate differences in memory at once.
_BLOCK = 1 << 20


def centroids(points: Floats, labels: NDArray[np.int32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the weighted mean of each cluster. Cost: O(n)."""
    member, n = labels >= 0, int(labels.max(initial=-1)) + 1
    own, share = labels[member], weights[member]
    total = np.bincount(own, share, n)
    sums = [np.bincount(own, share * points[member, axis], n) for axis in range(points.shape[1])]
    return np.stack(sums, axis=1) / total[:, None]


def medoids(points: Floats, labels: NDArray[np.int32], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the member of each cluster with the minimum sum of weighted distances to the others; the first one in case of ties.

    Cost: time quadratic in the size of a cluster, as in scikit-learn. Unlike there, memory is not quadratic.
    """
    order = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]
    ends = np.flatnonzero(np.diff(labels[order], append=-1)) + 1
    found = np.empty((len(ends), points.shape[1]))
    for cluster, members in enumerate(np.split(order, ends[:-1]) if len(ends) else []):
        own, share = points[members].astype(np.float64), weights[members]
        rows = max(1, _BLOCK // own.size)
        sums = [np.linalg.norm(own[start : start + rows, None] - own[None], axis=2) @ share for start in range(0, len(own), rows)]
        found[cluster] = own[np.argmin(np.concatenate(sums))]
    return found
