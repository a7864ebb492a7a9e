"""Lists of neighbours, and pairs of points."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ropewalk._types import Indices


class Lists(NamedTuple):
    """Lists of indices, stored in two arrays: list ``i`` is ``indices[offsets[i]:offsets[i + 1]]``.

    This is the layout of `scipy.sparse.csr_array`: ``csr_array((ones, lists.indices, lists.offsets), shape)``.

    Attributes
    ----------
    offsets : ndarray of int64, shape (lists + 1,)
        The start of each list in `indices`, and the end of the last list.

    indices : ndarray of int32 (int64 from 2**31 points on)
        The concatenated lists.

    Examples
    --------
    >>> from ropewalk import Bvh
    >>> lists = Bvh([[0.0], [5.0], [1.0]]).neighbors(1.0)
    >>> lists.offsets, lists.indices, lists.of(2)
    (array([0, 2, 3, 5]), array([0, 2, 1, 0, 2], dtype=int32), array([0, 2], dtype=int32))
    """

    offsets: NDArray[np.int64]
    indices: Indices

    def of(self, i: int) -> Indices:
        """Returns list `i` without a copy.

        Parameters
        ----------
        i : int
            The number of the list; negative numbers count from the end.

        Raises
        ------
        IndexError
            If there is no such list.
        """
        n = len(self.offsets) - 1
        at = i + n if i < 0 else i
        if not 0 <= at < n:
            raise IndexError(f"there is no list {i}; there are {n}")
        return self.indices[self.offsets[at] : self.offsets[at + 1]]

    def split(self) -> list[Indices]:
        """Returns each list as a separate array, without copies."""
        return [self.of(i) for i in range(len(self.offsets) - 1)]


class Pairs(NamedTuple):
    """Pairs of points in ascending order, as returned by `Bvh.pairs`.

    Attributes
    ----------
    indices : ndarray of int32 (int64 from 2**31 points on), shape (pairs, 2)
        The points of each pair, the lower index first.

    distances : ndarray of float64, shape (pairs,)
        The distance between the points of each pair, in the unit of the points.

    Examples
    --------
    >>> from ropewalk import Bvh
    >>> indices, distances = Bvh([[0.0], [5.0], [1.0]]).pairs(1.0)
    >>> indices, distances
    (array([[0, 2]], dtype=int32), array([1.]))
    """

    indices: Indices
    distances: NDArray[np.float64]
