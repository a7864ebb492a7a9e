"""Triangle meshes: ray casting, nearest triangles, and inside-outside tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _native
from ropewalk._arrays import numbers, refuse_unit
from ropewalk._arrays import points as as_points
from ropewalk._checks import real, threads
from ropewalk._mesh_data import parts
from ropewalk._mesh_hits import HitLists, NearestTriangles, RayHits
from ropewalk._types import Floats


class Mesh:
    """A triangle mesh in space, with its search tree. It does not change after construction.

    Parameters
    ----------
    vertices : array_like of shape (n, 3), or mesh
        The vertices. They and the faces are copied, so that later changes of the arrays have no effect. Without `faces`, an object with
        vertices and triangles: `MeshData`, a mesh of trimesh (``vertices`` and ``faces``) or of Open3D (``vertices`` and ``triangles``).

    faces : array_like of integers, shape (faces, 3), optional
        The corners of each triangle as indices into `vertices`. May be empty.

    n_jobs : int, optional
        The number of threads for building the tree and for queries; -1 means all processors. Default: the number set by `set_threads`.

    Raises
    ------
    ValueError
        If a vertex is not finite (or beyond 1e150), a face refers to a vertex that does not exist, or an array has the wrong shape.

    Notes
    -----
    Any mesh is valid: it may be open or intersect itself. Triangles without area are never hit by a ray; for nearest-triangle queries
    they are segments or points. Results are computed in 64-bit arithmetic from the coordinates, whatever their type, and do not
    depend on `n_jobs`.

    Rays do not slip through between triangles that share an edge or a corner, and hit both sides of a triangle. `t` is in units of the
    direction, which need not have length 1, and its range is inclusive. If a ray hits several triangles at the same `t`, as on an edge,
    `first_hits` returns the lowest index. `hits_all` counts each passage through the surface once, also through an edge or a corner, so
    that a line crosses a closed mesh an even number of times. A ray in the plane of a triangle does not hit it.

    These guarantees require that numbers neither overflow nor underflow:

    - Rays start within 1e150 of the origin.
    - Of the coordinates of a ray and a triangle, those below 1e-60 times the largest may count as 0. For example, a ray from a distance
      of 1e200 misses a mesh of size 1.
    - The areas of triangles, and these times the largest component of the direction, are from 1e-290 to 1e290. Otherwise `t` and the
      weights may belong to another point of the triangle, as for a mesh of size 1e-150 and directions of length 1e-150.

    A ``float32`` mesh that is queried with ``float64`` arrays keeps a ``float64`` copy of its tree from then on.

    Examples
    --------
    >>> from ropewalk import Mesh
    >>> corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    >>> mesh = Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> mesh
    Mesh(faces=4, vertices=4, dtype=float64)
    >>> mesh.first_hits([0.25, 0.25, -1.0], [0.0, 0.0, 2.0])
    RayHits(triangle=np.int32(0), t=np.float64(0.5), barycentric=array([0.5 , 0.25, 0.25]))
    >>> mesh.hits_all([[0.25, 0.25, -1.0]], [0.0, 0.0, 2.0]).t
    array([0.5 , 0.75])
    >>> mesh.signed_distance([[0.25, 0.25, 0.125], [0.25, 0.25, -1.0]])
    array([-0.125,  1.   ])
    """

    __slots__ = ("_faces", "_mesh", "_n_jobs", "_vertices")
    _faces: NDArray[np.uint32]
    _mesh: _native.Mesh
    _n_jobs: int | None
    _vertices: Floats

    def __init__(self, vertices: ArrayLike | Any, faces: ArrayLike | None = None, *, n_jobs: int | None = None) -> None:
        if faces is None:
            vertices, faces = parts(vertices)
        rows = as_points(vertices, "vertices")
        if rows.shape[1] != 3:
            raise ValueError(f"vertices has the shape {rows.shape}; it must be (n, 3)")
        self._vertices, self._faces = rows.copy(), _corners(faces, len(rows)).copy()
        for own in (self._vertices, self._faces):
            own.flags.writeable = False
        self._n_jobs = threads(n_jobs)
        self._mesh = _native.Mesh(self._vertices, self._faces, self._n_jobs)

    @property
    def vertices(self) -> Floats:
        """The vertices, as a read-only array."""
        return self._vertices.view()

    @property
    def faces(self) -> NDArray[np.uint32]:
        """The corners of each triangle, as a read-only array."""
        return self._faces.view()

    @property
    def n_jobs(self) -> int | None:
        """The `n_jobs` of the constructor."""
        return self._n_jobs

    @property
    def bounds(self) -> NDArray[np.float64]:
        """The bounding box of all triangles, shape (2, 3): lower and upper corner; ``inf`` and ``-inf`` if there are no triangles."""
        return np.array(self._mesh.bounds())

    def __len__(self) -> int:
        return len(self._faces)

    def __repr__(self) -> str:
        return f"Mesh(faces={len(self)}, vertices={len(self._vertices)}, dtype={self._vertices.dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._vertices, self._faces, self._n_jobs)

    def first_hits(self, origins: ArrayLike, directions: ArrayLike, *, t_min: ArrayLike = 0.0, t_max: ArrayLike = np.inf) -> RayHits:
        """Finds the first hit of each ray.

        Parameters
        ----------
        origins, directions : array_like of shape (m, 3) or (3,)
            The origins and directions of the rays. A single origin or direction is used for all rays.

        t_min, t_max : float or array_like of shape (m,)
            The range of `t`, one for all rays or one for each: only hits at ``t_min <= t <= t_max`` count. A ray with `t_min` above
            `t_max` has no hits.

        Returns
        -------
        RayHits
            ``triangle``, ``t`` and ``barycentric``, with a row for each ray. For a single ray of shape (3,) there is no axis of rays.

        Raises
        ------
        ValueError
            If an origin or a direction is not finite, a direction is zero, or `t_min` or `t_max` is NaN.

        Examples
        --------
        >>> mesh = Mesh([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [[0, 1, 2]])
        >>> mesh.first_hits([0.0, 0.0, 0.0], [[0.25, 0.25, 1.0], [1.0, 1.0, 1.0]]).triangle
        array([ 0, -1], dtype=int32)
        """
        rays, limits, shape = self._rays(origins, directions, t_min, t_max)
        triangle, t, weights = self._mesh.first_hits(rays, limits, self._n_jobs)
        return RayHits(triangle.reshape(shape)[()], t.reshape(shape)[()], weights.reshape(*shape, 3))

    def any_hits(self, origins: ArrayLike, directions: ArrayLike, *, t_min: ArrayLike = 0.0, t_max: ArrayLike = np.inf) -> Any:
        """Returns `True` for each ray that hits any triangle: for shadows, or lines of sight.

        Parameters and errors are those of `first_hits`. Returns a boolean array of shape (m,), or a boolean for a single ray.

        Examples
        --------
        >>> mesh = Mesh([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [[0, 1, 2]])
        >>> mesh.any_hits([0.1, 0.1, 0.0], [0.0, 0.0, 1.0]), mesh.any_hits([0.1, 0.1, 0.0], [0.0, 0.0, 1.0], t_max=0.5)
        (np.True_, np.False_)
        """
        rays, limits, shape = self._rays(origins, directions, t_min, t_max)
        return self._mesh.any_hits(rays, limits, self._n_jobs).reshape(shape)[()]

    def hits_all(self, origins: ArrayLike, directions: ArrayLike, *, t_min: ArrayLike = 0.0, t_max: ArrayLike = np.inf) -> HitLists:
        """Finds all crossings of each ray with the surface, in ascending order of `t`, then of index.

        A ray through an edge or a corner crosses the triangles there as if it were displaced by an infinitesimal step. Each passage
        through the surface is therefore one hit. If the ray touches an edge from outside, there are no hits or two.

        Parameters and errors are those of `first_hits`. Returns `HitLists` with ``offsets`` of shape (m + 1,) and the concatenated hits.

        Examples
        --------
        >>> corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        >>> mesh = Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
        >>> lists = mesh.hits_all([[-1.0, 0.25, 0.25], [-1.0, 1.5, 0.25]], [1.0, 0.0, 0.0])
        >>> lists.offsets, lists.triangle, lists.t
        (array([0, 2, 2]), array([2, 3], dtype=int32), array([1. , 1.5]))
        """
        rays, limits, _ = self._rays(origins, directions, t_min, t_max)
        offsets, hits = self._mesh.hits_all(rays, limits, self._n_jobs)
        return HitLists(offsets, *hits)

    def nearest(self, points: ArrayLike, *, radius: float = np.inf) -> NearestTriangles:
        """Finds the nearest triangle to each point. Ties, as at an edge or a corner, go to the lowest index.

        Points beyond 1e150 in ``float64`` have no nearest triangle, since squares overflow. Distances and triangles below 1e-150 lose
        digits, since squares underflow. At that scale the returned triangle may not be the nearest one, and distances below 1e-162
        are 0.

        Parameters
        ----------
        points : array_like of shape (m, 3) or (3,)
            The query points.

        radius : float
            The maximum distance of a triangle, inclusive.

        Returns
        -------
        NearestTriangles
            ``triangle``, ``point``, ``distance`` and ``barycentric``, with a row for each point. For a single point there is no axis of
            points.

        Raises
        ------
        ValueError
            If a point is not finite, or the radius is negative or NaN.

        Examples
        --------
        >>> mesh = Mesh([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]])
        >>> mesh.nearest([[0.25, 0.25, 2.0], [0.25, 0.25, 9.0]], radius=2.0).distance
        array([ 2., inf])
        """
        rows, shape = self._points(points)
        radius = real(radius, "radius")
        if not radius >= 0.0:
            raise ValueError(f"radius is {radius}; it must not be negative")
        (triangle, distance, weights), places = self._mesh.nearest(rows, radius, self._n_jobs)
        return NearestTriangles(
            triangle.reshape(shape)[()], places.reshape(*shape, 3), distance.reshape(shape)[()], weights.reshape(*shape, 3)
        )

    def winding_number(self, points: ArrayLike) -> Any:
        """Computes the generalized winding number of the surface around each point.

        The number is 1 inside a closed surface whose faces are counterclockwise as seen from outside, 0 outside, and in between near
        holes. On the surface it is one of the adjacent values.

        The number is approximate, since distant triangles are combined. For one surface (an octahedron of 8 to 20,000 triangles) the
        error was below 0.01. The errors of nested surfaces add up, to 0.6 for 500 spheres. `contains` does not rely on this number.

        Parameters
        ----------
        points : array_like of shape (m, 3) or (3,)
            The query points.

        Returns
        -------
        ndarray of float64, shape (m,)
            The winding number of each point; a number for a single point.

        Raises
        ------
        ValueError
            If a point is not finite.

        Notes
        -----
        The method is that of Barill et al. (2018), "Fast winding numbers for soups and clouds", with dipoles.

        Examples
        --------
        >>> corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        >>> mesh = Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
        >>> mesh.winding_number([[0.1, 0.1, 0.1], [1.0, 1.0, 1.0]]).round(6) + 0.0
        array([1., 0.])
        """
        rows, shape = self._points(points)
        return self._mesh.winding_number(rows, self._n_jobs).reshape(shape)[()]

    def contains(self, points: ArrayLike) -> Any:
        """Returns `True` for each point inside the surface: where the winding number is above one half, for either orientation of faces.

        For a closed mesh that does not intersect itself this is the interior. For any number of nested surfaces of equal orientation it
        is the interior of any of them. Near holes it is the mostly enclosed region, up to a tenth. Points on the surface may be
        either.

        Parameters and errors are those of `winding_number`. Returns a boolean array of shape (m,), or a boolean for a single point.

        Distant triangles are combined only if this cannot change the result. Among hundreds of nested surfaces few are combined, and a
        point may take as long as a sum over all triangles.

        Examples
        --------
        >>> corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        >>> mesh = Mesh(corners, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
        >>> mesh.contains([[0.1, 0.1, 0.1], [1.0, 1.0, 1.0]])
        array([ True, False])
        """
        rows, shape = self._points(points)
        return self._mesh.contains(rows, self._n_jobs).reshape(shape)[()]

    def signed_distance(self, points: ArrayLike) -> Any:
        """Computes the distance of each point to the surface, negative inside (see `contains`).

        Parameters and errors are those of `winding_number`. Returns an array of shape (m,), or a number for a single point. The distance
        is infinite if there are no triangles, and NaN for points beyond 1e150 in ``float64``. For distances below 1e-150 see `nearest`.

        Examples
        --------
        >>> mesh = Mesh([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]])
        >>> mesh.signed_distance([0.25, 0.25, 3.0])
        np.float64(3.0)
        """
        rows, shape = self._points(points)
        return self._mesh.signed_distance(rows, self._n_jobs).reshape(shape)[()]

    def _points(self, x: ArrayLike) -> tuple[Floats, tuple[int, ...]]:
        """Returns the points as an array of rows, and the shape of the leading axes."""
        array = _vectors(x, "points")
        return self._alike(array.reshape(-1, 3)), array.shape[:-1]

    def _alike(self, rows: Floats) -> Floats:
        """Converts rows to ``float64`` if the mesh is ``float64``."""
        return rows.astype(np.float64, copy=False) if self._vertices.dtype == np.float64 else rows

    def _rays(
        self, origins: ArrayLike, directions: ArrayLike, t_min: ArrayLike, t_max: ArrayLike
    ) -> tuple[Floats, NDArray[np.float64] | None, tuple[int, ...]]:
        """Returns rays as rows of six numbers (origin, direction), the limits of `t`, and the shape of the leading axes."""
        o, d = _vectors(origins, "origins"), _vectors(directions, "directions")
        zero = np.argwhere(~d.any(axis=-1))
        if len(zero):
            which = f"that of ray {_place(zero[0])}" if d.ndim > 1 else "it"
            raise ValueError(f"directions: {which} is zero; a direction must not be zero")
        try:
            shape = np.broadcast_shapes(o.shape, d.shape)[:-1]
        except ValueError:
            raise ValueError(f"origins has the shape {o.shape} and directions {d.shape}; they must have one origin and one direction for each ray") from None
        rays = np.empty((*shape, 6), np.result_type(o, d))
        rays[..., :3], rays[..., 3:] = o, d
        return self._alike(rays.reshape(-1, 6)), _limits(t_min, t_max, shape), shape


def _rebuilt(vertices: Floats, faces: NDArray[np.uint32], n_jobs: int | None) -> Mesh:
    return Mesh(vertices, faces, n_jobs=n_jobs)


def _corners(faces: ArrayLike, n: int) -> NDArray[np.uint32]:
    """Converts faces to rows of three indices, each below `n`."""
    refuse_unit(faces, "faces")
    array: NDArray[Any] = np.asarray(faces)
    if array.shape == (0,):
        # An empty list has no row length.
        array = array.reshape(0, 3)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"faces has the shape {array.shape}; it must be (n, 3), three vertices for each triangle")
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"faces holds {array.dtype}; indices of vertices must be integers")
    if array.dtype != np.uint32:
        # Conversion to uint32 would wrap these numbers. The compiled part checks arrays that are uint32 already.
        outside = np.argwhere((array < 0) | (array >= n))
        if len(outside):
            row, column = outside[0]
            raise ValueError(f"face {row}: there is no vertex {array[row, column]}; there are {n}")
    return np.require(array, np.uint32, ["C", "A"])


def _vectors(x: ArrayLike, name: str) -> Floats:
    """Converts to an array whose last axis has three coordinates, and checks that all are finite."""
    array = numbers(x, name)
    if array.ndim == 0 or array.shape[-1] != 3:
        raise ValueError(f"{name} has the shape {array.shape}; its last axis must have length 3, the number of coordinates")
    finite = np.isfinite(array)
    if not finite.all():
        at = tuple(np.argwhere(~finite)[0])
        where = f" {_place(at[:-1])}" if at[:-1] else ""
        raise ValueError(f"{name}{where}: coordinate {at[-1]} is {array[at]}; coordinates must be finite")
    return array


def _place(at: Any) -> str:
    """Formats the index of a row, with one number per leading axis."""
    return ", ".join(str(number) for number in at)


def _limits(t_min: ArrayLike, t_max: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    """Returns the range of `t` of each ray, or None if all rays start at 0 without an end."""
    ends = []
    for name, value in (("t_min", t_min), ("t_max", t_max)):
        array = numbers(value, name)
        if array.shape not in ((), shape):
            raise ValueError(f"{name} has the shape {array.shape}; it must be a number or have the shape {shape}, one for each ray")
        if np.isnan(array).any():
            raise ValueError(f"{name} is NaN; it must be a number")
        ends.append(array)
    if ends[0].ndim == ends[1].ndim == 0 and ends[0] == 0.0 and ends[1] == np.inf:
        return None
    limits = np.empty((*shape, 2))
    limits[..., 0], limits[..., 1] = ends
    return limits.reshape(-1, 2)
