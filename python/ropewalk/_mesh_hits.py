"""What searches at meshes find: hits of rays, and nearest triangles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class RayHits(NamedTuple):
    """What each ray meets first: what `Mesh.first_hits` returns.

    Attributes
    ----------
    triangle : ndarray of int32
        The index of the face, -1 for none.
    t : ndarray of float64
        The point is ``origin + t * direction``; ``inf`` for none.
    barycentric : ndarray of float64, shape (.., 3)
        The weights of the face's corners that give the point, NaN for none. Their sum is 1; the one across from an edge that is met is 0.

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
    """All that each ray crosses: what `Mesh.hits_all` returns. Ray ``i`` has the hits ``offsets[i]:offsets[i + 1]``.

    Attributes
    ----------
    offsets : ndarray of int64, shape (rays + 1,)
        Where the hits of each ray begin, and at last where those of the last one end.
    triangle : ndarray of int32
        The indices of the faces; of each ray in ascending order of `t`, then of index.
    t : ndarray of float64
        The points are ``origin + t * direction``.
    barycentric : ndarray of float64, shape (hits, 3)
        The weights of the face's corners that give each point.

    Examples
    --------
    >>> from ropewalk import Mesh
    >>> square = Mesh([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2], [0, 2, 3]])
    >>> hits = square.hits_all([[0.5, 0.5, 1.0], [0.5, 9.0, 1.0]], [0.0, 0.0, -1.0])     # the first one through the diagonal
    >>> hits.offsets, hits.of(0).t
    (array([0, 1, 1]), array([1.]))
    """

    offsets: NDArray[np.int64]
    triangle: NDArray[np.int32]
    t: NDArray[np.float64]
    barycentric: NDArray[np.float64]

    def of(self, i: int) -> RayHits:
        """The hits of ray `i`, not copied.

        Parameters
        ----------
        i : int
            Its number; negative numbers count from the end.

        Raises
        ------
        IndexError
            There is no such ray.
        """
        n = len(self.offsets) - 1
        at = i + n if i < 0 else i
        if not 0 <= at < n:
            raise IndexError(f"there is no ray {i}; there are {n}")
        own = slice(self.offsets[at], self.offsets[at + 1])
        return RayHits(self.triangle[own], self.t[own], self.barycentric[own])


class NearestTriangles(NamedTuple):
    """The nearest triangle to each point: what `Mesh.nearest` returns.

    Attributes
    ----------
    triangle : ndarray of int32
        The index of the face, -1 if none is within the radius.
    point : ndarray of float64, shape (.., 3)
        The point of the face that is the nearest, NaN for none.
    distance : ndarray of float64
        How far it is, ``inf`` for none.
    barycentric : ndarray of float64, shape (.., 3)
        The weights of the face's corners that give the point, NaN for none.

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
