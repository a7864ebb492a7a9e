"""Figures. All functions except `dendrogram` return a `Figure`, which is drawn by the code of the program ``ropewalk``.

Notebooks show a `Figure`. ``figure.save("name.pdf")`` writes it as PNG, SVG or PDF, and ``figure.on(ax)`` shows it on axes of
matplotlib. matplotlib is needed only for that and for `dendrogram`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _native
from ropewalk._arrays import points as points_of
from ropewalk._base import not_fitted
from ropewalk._checks import feature_names, integer, optional_real, real
from ropewalk._dbscan import DBSCAN
from ropewalk._dendrogram import dendrogram
from ropewalk._figure import Figure
from ropewalk._halo_figures import gallery, mass_function, profiles, projection, subhalos
from ropewalk._hdbscan import HDBSCAN
from ropewalk._k_distances import k_distances as distances_of
from ropewalk._mesh import Mesh
from ropewalk._mesh_data import MeshData
from ropewalk._text import counted

__all__ = [
    "clusters",
    "condensed_tree",
    "dendrogram",
    "gallery",
    "k_distances",
    "mass_function",
    "mesh",
    "profiles",
    "projection",
    "subhalos",
    "value_map",
]


def clusters(
    X: ArrayLike,
    labels: Any,
    *,
    axes: tuple[int, ...] | None = None,
    eps: float = 0.0,
    box_size: float | None = None,
    title: str | None = None,
) -> Figure:
    """Draws points in the plane or in space in the colours of their clusters, with a legend. Noise is grey.

    Points in space are shown as three projections: along the third, the second and the first coordinate.

    Parameters
    ----------
    X : array of shape (n, d), with d of 2 or more
        The points. Points that are not finite are left out. The columns of a data frame name the axes.

    labels : array of shape (n,), or estimator
        The cluster of each point, or a fitted `DBSCAN`, `HDBSCAN`, `FriendsOfFriends` or `HOP`. Negative labels are noise.

    axes : tuple of two or three int, optional
        The coordinates to draw. Default: the first three, or both of points in the plane.

    eps : float
        A length to show as a bar. Default: that of a `DBSCAN`.

    box_size : float, optional
        The side of a periodic box.

    title : str, optional
        The heading line. Default: the numbers of points and clusters.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import ropewalk
    >>> points = ropewalk.sample.mock_halos(2000, seed=1)
    >>> figure = ropewalk.plot.clusters(points, ropewalk.DBSCAN(eps=0.02).fit(points), axes=(0, 2))
    >>> figure.save("clusters.png")  # doctest: +SKIP
    """
    x, found = points_of(X), np.asarray(getattr(labels, "labels_", labels))
    if hasattr(labels, "fit") and not hasattr(labels, "labels_"):
        raise not_fitted(labels)
    if found.shape != (len(x),) or found.dtype.kind not in "biu" and len(x) > 0:
        raise ValueError(f"labels has the shape {found.shape} and the type {found.dtype}; it must have one integer for each of {len(x)} points")
    if x.shape[1] < 2:
        raise ValueError(f"X has the shape {x.shape}; clusters are drawn in two or three coordinates")
    given = range(min(x.shape[1], 3)) if axes is None else axes
    chosen = [integer(axis, "axes", 0, x.shape[1] - 1) for axis in given]
    if not 2 <= len(chosen) <= 3:
        raise ValueError(f"axes has {len(chosen)} coordinates; it must have two or three")
    shown = np.ascontiguousarray(x[:, chosen], np.float64)
    finite = np.isfinite(shown).all(axis=1)
    shown, numbers = shown[finite], _numbers(found[finite])
    noise = int((numbers < 0).sum())
    heading = f"{len(shown):,} points, {counted(len(np.unique(numbers[numbers >= 0])), 'cluster')}"
    line = f"{noise:,} noise"
    if isinstance(labels, DBSCAN):
        eps = real(labels.eps, "eps") if eps == 0.0 else eps
        core = len(labels.core_sample_indices_)
        heading = f"DBSCAN: {heading}"
        line = f"eps {eps:.6g}, min_samples {labels.min_samples}; {core:,} core, {len(shown) - noise - core:,} border, {noise:,} noise"
    elif isinstance(labels, HDBSCAN):
        size = integer(labels.min_cluster_size, "min_cluster_size", 1)
        samples = min(size, max(len(found), 1)) if labels.min_samples is None else labels.min_samples
        heading, line = f"HDBSCAN*: {heading}", f"min_cluster_size {size}, min_samples {samples}; {noise:,} noise"
    lines = (heading if title is None else title, line)
    length, side = real(eps, "eps"), optional_real(box_size, "box_size")
    names = feature_names(X)
    named = [] if names is None else [str(names[axis]) for axis in chosen]
    return Figure(lines[0], lambda style: _native.draw_clusters(shown, numbers, named, length, side, lines, style), is_raster=True)


def condensed_tree(clusterer: HDBSCAN, *, title: str | None = None) -> Figure:
    """Draws the condensed tree of HDBSCAN, with the selected clusters marked.

    Parameters
    ----------
    clusterer : HDBSCAN
        A fitted estimator.

    title : str, optional
        The heading line. Default: the numbers of points and clusters.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import ropewalk
    >>> points = ropewalk.sample.mock_halos(2000, seed=1)
    >>> figure = ropewalk.plot.condensed_tree(ropewalk.HDBSCAN(min_cluster_size=20).fit(points))
    >>> figure.save("tree.svg")  # doctest: +SKIP
    """
    found = clusterer._found()
    count = len(clusterer.cluster_persistence_)
    heading = f"HDBSCAN*: {len(clusterer.labels_):,} points, {counted(count, 'cluster')}" if title is None else title
    return Figure(heading, lambda style: _native.draw_condensed_tree(found, heading, style))


def k_distances(
    X: ArrayLike, k: int, *, box_size: ArrayLike | None = None, n_jobs: int | None = None, title: str | None = None
) -> Figure:
    """Draws the distances to the `k`-th neighbours in ascending order, with their knee, a good `eps` of DBSCAN for
    ``min_samples = k + 1``.

    Parameters
    ----------
    X, k, box_size, n_jobs
        As for `ropewalk.k_distances`.

    title : str, optional
        The heading line. Default: the number of points, and the share of core points at the knee.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import ropewalk
    >>> figure = ropewalk.plot.k_distances(ropewalk.sample.mock_halos(2000, seed=1), k=4)
    >>> figure.save("k_distances.pdf")  # doctest: +SKIP
    """
    distances, k = distances_of(X, k, box_size=box_size, n_jobs=n_jobs), integer(k, "k", 0)
    eps, _ = _native.draw_k_distances(distances, k, "", None)
    found = "no clear knee"
    if eps is not None:
        share = 100.0 * np.searchsorted(distances, eps, "right") / len(distances)
        found = f"at the knee, {share:.1f}% are core with min_samples = {k + 1}"
    heading = f"{len(distances):,} points; {found}" if title is None else title

    def draw(style: tuple[str, float | None]) -> bytes:
        _, picture = _native.draw_k_distances(distances, k, heading, style)
        return picture or b""

    return Figure(heading, draw)


def mesh(
    mesh: Mesh | MeshData, *, azimuth: float = -60.0, elevation: float = 25.0, width: int = 1200, height: int = 900
) -> Figure:
    """Renders a mesh with a shadow, by ray casting. The picture shows the whole mesh; z points up.

    Parameters
    ----------
    mesh : Mesh or MeshData
        The triangles. Those of `read_mesh` are drawn in the colours of the file, if it has them.

    azimuth : float
        The azimuth of the eye in degrees about the z axis, from x towards y.

    elevation : float
        The elevation of the eye in degrees above the xy plane, from -90 to 90.

    width, height : int
        The number of pixels along each side, 1 to 16384.

    Returns
    -------
    Figure
        An image, which is saved only as PNG.

    Examples
    --------
    >>> import numpy as np, ropewalk
    >>> triangle = ropewalk.Mesh(np.eye(3), [[0, 1, 2]])
    >>> ropewalk.plot.mesh(triangle, width=64, height=48).png()[1:4]
    b'PNG'
    """
    view = (real(azimuth, "azimuth"), real(elevation, "elevation"), integer(width, "width", 1), integer(height, "height", 1))
    if isinstance(mesh, MeshData):
        surface, corners = Mesh(*mesh), None
        if mesh.colors is not None:
            colors, expected = np.asarray(mesh.colors), (len(mesh.vertices), 3)
            if colors.shape != expected or colors.dtype != np.uint8:
                raise ValueError(f"colors are {colors.dtype} of shape {colors.shape}; they must be uint8 of shape {expected}")
            corners = np.ascontiguousarray(colors[np.asarray(mesh.faces)])
    else:
        surface, corners = mesh, None
    native = surface._mesh
    heading = f"{len(surface):,} triangles"
    return Figure(heading, lambda style: _native.draw_mesh(native, corners, *view), is_raster=True, formats=("png",))


def value_map(
    values: ArrayLike, corners: ArrayLike, *, axes: Sequence[str] = ("x", "y"), name: str = "value", title: str | None = None
) -> Figure:
    """Draws values on a grid in the plane as colours, with a colour bar: the map of ``ropewalk interpolate --grid --plot``.

    Parameters
    ----------
    values : array-like of shape (nx, ny)
        One value per cell; the first axis is along x. Cells whose value is not finite are grey.

    corners : array-like of shape (2, 2)
        The lower and the upper corner of the grid, each as x and y.

    axes : sequence of two str
        The names of the axes.

    name : str
        The name of the values, at the colour bar.

    title : str, optional
        The heading line. Default: the name and the numbers of cells.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import numpy as np, ropewalk
    >>> x, y = np.meshgrid(np.linspace(0, 2, 40), np.linspace(0, 1, 20), indexing="ij")
    >>> figure = ropewalk.plot.value_map(np.sin(3 * x) * y, [[0, 0], [2, 1]], name="height")
    >>> figure.save("map.png")  # doctest: +SKIP
    """
    cells = np.array(values, np.float64, order="C")
    if cells.ndim != 2 or cells.size == 0:
        raise ValueError(f"values has the shape {cells.shape}; it must have two dimensions, and at least one cell")
    ends = np.asarray(corners, np.float64)
    if ends.shape != (2, 2):
        raise ValueError(f"corners has the shape {ends.shape}; it must be (2, 2): the lower and the upper corner")
    if not (np.isfinite(ends).all() and (ends[0] < ends[1]).all()):
        raise ValueError(f"corners are {ends[0].tolist()} and {ends[1].tolist()}; the second must be above the first along both axes")
    if len(names := [str(axis) for axis in axes]) != 2:
        raise ValueError(f"axes has {counted(len(names), 'name')}; it must have two")
    heading = f"{name}, {cells.shape[0]} x {cells.shape[1]} cells" if title is None else title
    (left, bottom), (right, top) = ends.tolist()
    at, axis_names = ((left, bottom), (right, top)), (names[0], names[1])

    def draw(style: tuple[str, float | None]) -> bytes:
        return _native.draw_value_map(cells, at, axis_names, str(name), heading, style)

    return Figure(heading, draw)


def _numbers(labels: NDArray[Any]) -> NDArray[np.int32]:
    """Returns labels with -1 for noise. Labels that are not below the number of points are renumbered in their order."""
    own = np.maximum(labels.astype(np.int64), -1)
    if own.max(initial=-1) >= len(own):
        is_member = own >= 0
        own[is_member] = np.unique(own[is_member], return_inverse=True)[1]
    return own.astype(np.int32)
