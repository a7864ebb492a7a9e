"""Triangle meshes: what rays meet, the nearest triangle, inside and outside."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _native
from ropewalk._arrays import numbers, refuse_unit
from ropewalk._arrays import points as as_points
from ropewalk._checks import real, threads
from ropewalk._mesh_hits import HitLists, NearestTriangles, RayHits
from ropewalk._types import Floats


class MeshData(NamedTuple):
    """The triangles of a file: what `read_mesh` returns, and `Mesh` takes.

    Attributes
    ----------
    vertices : ndarray of shape (n, 3)
        ``float32`` from STL, and from PLY that has ``float``; otherwise ``float64``.
    faces : ndarray of uint32, shape (faces, 3)
        The corners of each triangle as indices into the vertices.

    Examples
    --------
    >>> from ropewalk import Mesh, MeshData
    >>> data = MeshData([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]])
    >>> Mesh(*data)
    Mesh(faces=1, vertices=3, dtype=float64)
    """

    vertices: Floats
    faces: NDArray[np.uint32]


class Mesh:
    """A mesh of triangles in space, with the tree that searches it; built once and not changed any more.

    Parameters
    ----------
    vertices : array_like of shape (n, 3)
        The corners. They and the faces are copied: what is written into the arrays later changes nothing.
    faces : array_like of integers, shape (faces, 3)
        The corners of each triangle as indices into `vertices`. There may be none.
    n_jobs : int, optional
        The number of threads that build the tree and answer; None is the number that `set_threads` set, -1 all processors.

    Raises
    ------
    ValueError
        If a vertex is not finite (or beyond 1e150), a face has a number that no vertex has, or a shape is another.

    Notes
    -----
    Nothing is asked of the mesh: it may be open, cross itself or have triangles without area, which no ray meets, and which are as near as
    the segments or points that they are. Answers are those of 64-bit arithmetic on the coordinates, whatever their type, and do not depend
    on `n_jobs`.

    Rays do not pass between triangles that share an edge or a corner, and both sides of a triangle are met. `t` is in units of the direction,
    which need not have length 1; its range is inclusive. Where a ray meets several triangles at one `t`, as on an edge, `first_hits` names the
    lowest index. `hits_all` counts each passage through a surface once, also through an edge or a corner, so that a line crosses a
    closed mesh an even number of times. A ray in the plane of a triangle does not meet it.

    This holds while numbers neither overflow nor vanish: rays begin within 1e150; of the numbers of a ray and a triangle, those below 1e-60 of
    the largest may count as 0 (from 1e200 away a mesh of size 1 is missed); and the triangles' areas, also times the longest part of the
    direction, are from 1e-290 to 1e290. Otherwise `t` and the weights may be those of another point of the triangle, as in a mesh of size 1e-150
    by directions of 1e-150.

    A mesh of ``float32`` that is asked with ``float64`` arrays keeps a copy of its tree for them from then on.

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

    def __init__(self, vertices: ArrayLike, faces: ArrayLike, *, n_jobs: int | None = None) -> None:
        rows = as_points(vertices, "vertices")
        if rows.shape[1] != 3:
            raise ValueError(f"vertices has the shape {rows.shape}; they have three coordinates")
        self._vertices, self._faces = rows.copy(), _corners(faces, len(rows)).copy()
        for own in (self._vertices, self._faces):
            own.flags.writeable = False
        self._n_jobs = threads(n_jobs)
        self._mesh = _native.Mesh(self._vertices, self._faces, self._n_jobs)

    @property
    def vertices(self) -> Floats:
        """The vertices as they were given, not to be written into."""
        return self._vertices.view()

    @property
    def faces(self) -> NDArray[np.uint32]:
        """The corners of each triangle, not to be written into."""
        return self._faces.view()

    @property
    def n_jobs(self) -> int | None:
        """The number of threads, as it was given."""
        return self._n_jobs

    @property
    def bounds(self) -> NDArray[np.float64]:
        """The box around all triangles, shape (2, 3): its lower and its upper corner; from ``inf`` to ``-inf`` if there are none."""
        return np.array(self._mesh.bounds())

    def __len__(self) -> int:
        return len(self._faces)

    def __repr__(self) -> str:
        return f"Mesh(faces={len(self)}, vertices={len(self._vertices)}, dtype={self._vertices.dtype})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._vertices, self._faces, self._n_jobs)

    def first_hits(self, origins: ArrayLike, directions: ArrayLike, *, t_min: ArrayLike = 0.0, t_max: ArrayLike = np.inf) -> RayHits:
        """What each ray meets first.

        Parameters
        ----------
        origins, directions : array_like of shape (m, 3) or (3,)
            Where rays begin, and where they go; one of either serves all rays.
        t_min, t_max : float or array_like of shape (m,)
            Only hits at ``t_min <= t <= t_max`` count: one range, or one for each ray. Nothing is met where `t_min` is above `t_max`.

        Returns
        -------
        RayHits
            ``triangle``, ``t`` and ``barycentric``: a row for each ray; for a single ray of shape (3,) no axis for rays.

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
        """Whether each ray meets anything: for shadows, or lines of sight.

        Parameters and errors are those of `first_hits`. The result is a boolean array of shape (m,), for a single ray a boolean.

        Examples
        --------
        >>> mesh = Mesh([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [[0, 1, 2]])
        >>> mesh.any_hits([0.1, 0.1, 0.0], [0.0, 0.0, 1.0]), mesh.any_hits([0.1, 0.1, 0.0], [0.0, 0.0, 1.0], t_max=0.5)
        (np.True_, np.False_)
        """
        rays, limits, shape = self._rays(origins, directions, t_min, t_max)
        return self._mesh.any_hits(rays, limits, self._n_jobs).reshape(shape)[()]

    def hits_all(self, origins: ArrayLike, directions: ArrayLike, *, t_min: ArrayLike = 0.0, t_max: ArrayLike = np.inf) -> HitLists:
        """All crossings of each ray and the surface, in ascending order of `t`, then of index.

        A ray through an edge or a corner crosses those of the triangles there that it would if it were moved by an infinitesimal step: each
        passage through a surface is one hit; where the ray touches an edge from outside, that is none or two.

        Parameters and errors are those of `first_hits`. The result is `HitLists`: ``offsets`` of shape (m + 1,), and what the lists hold.

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
        """The nearest triangle to each point; of several at one distance, as about an edge or a corner, that of the lowest index.

        There is none to points beyond 1e150 in ``float64``, where squares overflow. Distances and triangles below 1e-150 lose digits, as squares
        underflow; which triangle is the nearest is not told apart there, and from 1e-162 on distances are 0.

        Parameters
        ----------
        points : array_like of shape (m, 3) or (3,)
            Where to look from.
        radius : float
            None is farther than this; the boundary is included.

        Returns
        -------
        NearestTriangles
            ``triangle``, ``point``, ``distance`` and ``barycentric``: a row for each point; for a single point no axis for points.

        Raises
        ------
        ValueError
            If a point is not finite, or the radius negative or NaN.

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
        """How often the surface goes around each point.

        It is 1 inside of a closed surface whose faces turn counterclockwise as seen from outside, 0 outside of it, and in between about holes.
        On the surface it is any of the values beside it.

        It is approximate: triangles far away are taken together. That changed it by less than a hundredth for one surface (an octahedron, of
        8 to 20,000 triangles), but the errors of many nested ones add up, to 0.6 for 500 spheres. `contains` does not rely on it.

        Parameters
        ----------
        points : array_like of shape (m, 3) or (3,)
            The points.

        Returns
        -------
        ndarray of float64, shape (m,)
            For a single point a number.

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
        """Whether each point is inside: whether the surface goes around it more than half, whichever way its faces turn.

        For a closed mesh that does not cross itself this is the inside, and of nested ones whose faces turn alike, however many, the inside of
        any; about holes it is what is mostly enclosed, up to a tenth. For points on the surface it is either.

        Parameters and errors are those of `winding_number`. The result is a boolean array of shape (m,), for a single point a boolean.

        Triangles far away are taken together as far as that cannot change the answer: where hundreds of surfaces are nested, few are, and a point
        takes up to as long as a sum over all triangles.

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
        """The distance of each point to the surface, negative inside (`contains`).

        Parameters and errors are those of `winding_number`. The result is an array of shape (m,), for a single point a number; infinite if there
        is no triangle, NaN for points beyond 1e150 in ``float64``. What is below 1e-150 is as by `nearest`.

        Examples
        --------
        >>> mesh = Mesh([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]])
        >>> mesh.signed_distance([0.25, 0.25, 3.0])
        np.float64(3.0)
        """
        rows, shape = self._points(points)
        return self._mesh.signed_distance(rows, self._n_jobs).reshape(shape)[()]

    def _points(self, x: ArrayLike) -> tuple[Floats, tuple[int, ...]]:
        """Rows, and the shape of what stands before their axis."""
        array = _vectors(x, "points")
        return self._alike(array.reshape(-1, 3)), array.shape[:-1]

    def _alike(self, rows: Floats) -> Floats:
        """Of 64 bits about a mesh of 64 bits."""
        return rows.astype(np.float64, copy=False) if self._vertices.dtype == np.float64 else rows

    def _rays(
        self, origins: ArrayLike, directions: ArrayLike, t_min: ArrayLike, t_max: ArrayLike
    ) -> tuple[Floats, NDArray[np.float64] | None, tuple[int, ...]]:
        """Origins and directions in rows of six, the limits of each, and the shape of what stands before."""
        o, d = _vectors(origins, "origins"), _vectors(directions, "directions")
        zero = np.argwhere(~d.any(axis=-1))
        if len(zero):
            which = f"that of ray {_place(zero[0])}" if d.ndim > 1 else "it"
            raise ValueError(f"directions: {which} is zero; a ray needs a direction")
        try:
            shape = np.broadcast_shapes(o.shape, d.shape)[:-1]
        except ValueError:
            raise ValueError(f"origins has the shape {o.shape} and directions {d.shape}; one of either for each ray is needed") from None
        rays = np.empty((*shape, 6), np.result_type(o, d))
        rays[..., :3], rays[..., 3:] = o, d
        return self._alike(rays.reshape(-1, 6)), _limits(t_min, t_max, shape), shape


def read_mesh(path: str | os.PathLike[str]) -> MeshData:
    """Reads the triangles of an OBJ, PLY or STL file; the content decides, not the name.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    MeshData
        ``vertices`` and ``faces``, which `Mesh` takes. Polygons are cut into fans about their first corner. STL names no vertices: corners with
        the same coordinates become one. The parts of an OBJ file become one mesh.

    Raises
    ------
    OSError
        The file cannot be read.
    ValueError
        It is none of these, is cut off or contradicts itself, or names a vertex that is not there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ropewalk import Mesh, read_mesh
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "square.obj")
    ...     _ = path.write_text("v 0 0 0\\nv 1 0 0\\nv 1 1 0\\nv 0 1 0\\nf 1 2 3 4\\n")
    ...     data = read_mesh(path)
    >>> data.faces.tolist(), Mesh(*data)
    ([[0, 1, 2], [0, 2, 3]], Mesh(faces=2, vertices=4, dtype=float64))
    """
    return MeshData(*_native.read_mesh(os.fspath(path)))


def _rebuilt(vertices: Floats, faces: NDArray[np.uint32], n_jobs: int | None) -> Mesh:
    return Mesh(vertices, faces, n_jobs=n_jobs)


def _corners(faces: ArrayLike, n: int) -> NDArray[np.uint32]:
    """Rows of three indices of `n` vertices."""
    refuse_unit(faces, "faces")
    array: NDArray[Any] = np.asarray(faces)
    if array.shape == (0,):
        # An empty list has no rows whose length could be told.
        array = array.reshape(0, 3)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"faces has the shape {array.shape}; rows of three vertices, a triangle each, are needed")
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"faces holds {array.dtype}; indices of vertices are whole numbers")
    if array.dtype != np.uint32:
        # What 32 bits do not hold would become other numbers; the rest the library compares.
        outside = np.argwhere((array < 0) | (array >= n))
        if len(outside):
            row, column = outside[0]
            raise ValueError(f"face {row}: there is no vertex {array[row, column]}; there are {n}")
    return np.require(array, np.uint32, ["C", "A"])


def _vectors(x: ArrayLike, name: str) -> Floats:
    """Numbers whose last axis are three coordinates, all of them finite."""
    array = numbers(x, name)
    if array.ndim == 0 or array.shape[-1] != 3:
        raise ValueError(f"{name} has the shape {array.shape}; its last axis must be the three coordinates")
    finite = np.isfinite(array)
    if not finite.all():
        at = tuple(np.argwhere(~finite)[0])
        where = f" {_place(at[:-1])}" if at[:-1] else ""
        raise ValueError(f"{name}{where}: coordinate {at[-1]} is {array[at]}; coordinates must be finite")
    return array


def _place(at: Any) -> str:
    """The number of a row, or its numbers along several axes."""
    return ", ".join(str(number) for number in at)


def _limits(t_min: ArrayLike, t_max: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.float64] | None:
    """The range of `t` of each ray; None for all from 0 on."""
    ends = []
    for name, value in (("t_min", t_min), ("t_max", t_max)):
        array = numbers(value, name)
        if array.shape not in ((), shape):
            raise ValueError(f"{name} has the shape {array.shape}; one number, or one for each ray of the shape {shape}, is needed")
        if np.isnan(array).any():
            raise ValueError(f"{name} is NaN; it must be a number")
        ends.append(array)
    if ends[0].ndim == ends[1].ndim == 0 and ends[0] == 0.0 and ends[1] == np.inf:
        return None
    limits = np.empty((*shape, 2))
    limits[..., 0], limits[..., 1] = ends
    return limits.reshape(-1, 2)
