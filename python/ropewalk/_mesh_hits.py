"""Results of mesh queries: ray hits and nearest triangles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class RayHits(NamedTuple):
    """The first hit of each ray, as returned by `Mesh.first_hits`.

    Attributes
    ----------
    triangle : ndarray of int32
        The index of the face; -1 for a ray without a hit.

    t : ndarray of float64
        The hit is at ``origin + t * direction``; ``inf`` without a hit.

    barycentric : ndarray of float64, shape (.., 3)
        The barycentric weights of the face's corners at the hit; NaN without a hit. Their sum is 1. For a hit on an edge, the weight of
        the opposite corner is 0.

    Examples
    --------
    >>> from ropewalk import Mesh
    >>> mesh = Mesh([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]])
    >>> mesh.first_hits([[0.25, 0.25, 2.0], [3.0, 3.0, 2.0]], [0.0, 0.0, -1.0]).triangle
    array([ 0, -1], dtype=int32)
    """

    triangle: NDArray[np.int32]
    t: NDArray[np.float64]
    barycentric: NDArray[np.float64]


class HitLists(NamedTuple):
    """All crossings of each ray, as returned by `Mesh.hits_all`. Ray ``i`` has the hits ``offsets[i]:offsets[i + 1]``.

    Attributes
    ----------
    offsets : ndarray of int64, shape (rays + 1,)
        The start of the hits of each ray, and the end of the hits of the last ray.

    triangle : ndarray of int32
        The indices of the faces, for each ray in ascending order of `t`, then of index.

    t : ndarray of float64
        The hits are at ``origin + t * direction``.

    barycentric : ndarray of float64, shape (hits, 3)
        The barycentric weights of the face's corners at each hit.

    Examples
    --------
    >>> from ropewalk import Mesh
    >>> square = Mesh([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2], [0, 2, 3]])
    >>> hits = square.hits_all([[0.5, 0.5, 1.0], [0.5, 9.0, 1.0]], [0.0, 0.0, -1.0])     # the first ray passes through the diagonal
    >>> hits.offsets, hits.of(0).t
    (array([0, 1, 1]), array([1.]))
    """

    offsets: NDArray[np.int64]
    triangle: NDArray[np.int32]
    t: NDArray[np.float64]
    barycentric: NDArray[np.float64]

    def of(self, i: int) -> RayHits:
        """Returns the hits of ray `i` without a copy.

        Parameters
        ----------
        i : int
            The number of the ray; negative numbers count from the end.

        Raises
        ------
        IndexError
            If there is no such ray.
        """
        n = len(self.offsets) - 1
        at = i + n if i < 0 else i
        if not 0 <= at < n:
            raise IndexError(f"there is no ray {i}; there are {n}")
        own = slice(self.offsets[at], self.offsets[at + 1])
        return RayHits(self.triangle[own], self.t[own], self.barycentric[own])


class NearestTriangles(NamedTuple):
    """The nearest triangle to each point, as returned by `Mesh.nearest`.

    Attributes
    ----------
    triangle : ndarray of int32
        The index of the face; -1 if no triangle is within the radius.

    point : ndarray of float64, shape (.., 3)
        The nearest point of the face; NaN without a triangle.

    distance : ndarray of float64
        The distance to this point; ``inf`` without a triangle.

    barycentric : ndarray of float64, shape (.., 3)
        The barycentric weights of the face's corners at this point; NaN without a triangle.

    Examples
    --------
    >>> from ropewalk import Mesh
    >>> mesh = Mesh([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]])
    >>> near = mesh.nearest([2.0, 0.0, 0.0])
    >>> near.point, near.distance, near.barycentric
    (array([1., 0., 0.]), np.float64(1.0), array([0., 1., 0.]))
    """

    triangle: NDArray[np.int32]
    point: NDArray[np.float64]
    distance: NDArray[np.float64]
    barycentric: NDArray[np.float64]
