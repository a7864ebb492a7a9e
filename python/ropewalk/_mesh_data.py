"""Triangles of files and of the meshes of other packages."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ropewalk import _native
from ropewalk._types import Floats


class _Triangles(NamedTuple):
    vertices: Floats
    faces: NDArray[np.uint32]


class MeshData(_Triangles):
    """The triangles of a file, as returned by `read_mesh`. As a tuple it has two items, the arguments of `Mesh`.

    Attributes
    ----------
    vertices : ndarray of shape (n, 3)
        The vertices: ``float32`` from STL, and from PLY with coordinates of type ``float``; otherwise ``float64``.

    faces : ndarray of uint32, shape (faces, 3)
        The corners of each triangle as indices into the vertices.

    colors : ndarray of uint8, shape (n, 3), or None
        The sRGB colour of each vertex. `plot.mesh` draws it. ``None`` unless all vertices of the file have one.

    Examples
    --------
    >>> from ropewalk import Mesh, MeshData
    >>> data = MeshData([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[0, 1, 2]])
    >>> Mesh(*data)
    Mesh(faces=1, vertices=3, dtype=float64)
    """

    colors: NDArray[np.uint8] | None = None

    def __new__(cls, vertices: Floats, faces: NDArray[np.uint32], colors: NDArray[np.uint8] | None = None) -> MeshData:
        self = super().__new__(cls, vertices, faces)
        self.colors = colors
        return self

    def _replace(self, **changed: Any) -> MeshData:
        new = {"vertices": self.vertices, "faces": self.faces, "colors": self.colors} | changed
        return type(self)(**new)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.vertices, self.faces, self.colors)


def read_mesh(path: str | os.PathLike[str]) -> MeshData:
    """Reads the triangles of an OBJ, PLY, STL, OFF or glTF file. The format is recognized by content, not by name.

    Parameters
    ----------
    path : str or path-like
        The file.

    Returns
    -------
    MeshData
        ``vertices`` and ``faces`` for `Mesh`, and the ``colors`` of vertices. Polygons are split into triangle fans around their first
        corner. STL files have no shared vertices: corners with equal coordinates are merged. The parts of an OBJ file become one mesh, and
        so do the meshes of a glTF scene.

    Raises
    ------
    OSError
        If the file cannot be read.

    ValueError
        If the format is unknown, or the file is truncated, inconsistent, or refers to a vertex that does not exist.

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


def parts(mesh: Any) -> tuple[Any, Any]:
    """Returns the vertices and the triangles of a mesh of trimesh, Open3D or this package, by the names of its attributes."""
    for name in ("faces", "triangles"):
        if hasattr(mesh, "vertices") and hasattr(mesh, name):
            return mesh.vertices, getattr(mesh, name)
    if hasattr(mesh, "geometry"):
        raise TypeError(f"a {type(mesh).__name__} may have several meshes; join them first, in trimesh by scene.to_mesh()")
    raise TypeError(
        f"Mesh() needs vertices and faces, or an object with both, such as a mesh of trimesh or Open3D; got only a {type(mesh).__name__}"
    )
