"""Distances to the k-th neighbours, for choosing `eps` of DBSCAN."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _native
from ropewalk._arrays import box, points
from ropewalk._checks import integer, threads


def k_distances(
    X: ArrayLike, k: int, *, box_size: ArrayLike | None = None, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """Returns the distance of each point to its `k`-th neighbour, the point itself not counted, in ascending order.

    If `eps` is at least this distance, the point has `k` neighbours within `eps` in the comparison that clustering uses. The sorted
    distances to the ``min_samples - 1``-th neighbours bend where clusters turn into noise (Ester et al. 1996, section 4.2). See
    `ropewalk.plot.k_distances`.

    Parameters
    ----------
    X : array of shape (n, d)
        Points of 1 to 10 coordinates.

    k : int
        The number of the neighbour; 1 is the nearest.

    box_size : float or array of shape (d,), optional
        The sides of the periodic box.

    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    numpy.ndarray of float64
        Shape (n,). If `k` is 0, or n or more, there is no such neighbour and the shape is (0,).

    Examples
    --------
    >>> import ropewalk
    >>> ropewalk.k_distances([[0.0], [1.0], [3.0], [9.5]], 1)
    array([1. , 1. , 2. , 6.5])
    """
    x, jobs = points(X), threads(n_jobs)
    return _native.k_distances(x, integer(k, "k", 0), box(box_size, x, jobs), jobs)
