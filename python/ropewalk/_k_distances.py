"""Distances of the k-th neighbours, from which `eps` of DBSCAN is chosen."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _native
from ropewalk._arrays import box, points
from ropewalk._checks import integer, threads


def k_distances(
    X: ArrayLike, k: int, *, box_size: ArrayLike | None = None, n_jobs: int | None = None
) -> NDArray[np.float64]:
    """The distance of each point to its `k`-th neighbour, itself not counted, ascending.

    With `eps` at least that, a point has `k` neighbours within `eps`, as clustering compares them. Sorted distances of the
    ``min_samples - 1``-th neighbours bend where clusters turn into noise (Ester et al. 1996, section 4.2):
    `ropewalk.plot.k_distances`.

    Parameters
    ----------
    X : array of shape (n, d)
        1 to 10 coordinates.
    k : int
        Which neighbour.
    box_size : float or array of shape (d,), optional
        The sides of a periodic box.
    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    numpy.ndarray of float64
        Shape (n,), or (0,) with `k` of n or more, or of 0: such neighbours there are not.

    Examples
    --------
    >>> import ropewalk
    >>> ropewalk.k_distances([[0.0], [1.0], [3.0], [9.5]], 1)
    array([1. , 1. , 2. , 6.5])
    """
    x, jobs = points(X), threads(n_jobs)
    return _native.k_distances(x, integer(k, "k", 0), box(box_size, x, jobs), jobs)
