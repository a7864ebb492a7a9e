"""Figures. All functions except `dendrogram` return a `Figure`, which is drawn by the code of the program ``ropewalk``.

Notebooks show a `Figure`. ``figure.save("name.pdf")`` writes it as PNG, SVG or PDF, and ``figure.on(ax)`` shows it on axes of
matplotlib. matplotlib is needed only for that and for `dendrogram`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _native
from ropewalk._arrays import points as points_of
from ropewalk._arrays import vector
from ropewalk._base import not_fitted
from ropewalk._checks import feature_names, integer, optional_real, real
from ropewalk._dbscan import DBSCAN
from ropewalk._dendrogram import dendrogram
from ropewalk._figure import Figure
from ropewalk._hdbscan import HDBSCAN
from ropewalk._k_distances import k_distances as distances_of
from ropewalk._mesh import Mesh
from ropewalk._snapshot import Snapshot

if TYPE_CHECKING:
    from ropewalk._halo_catalog import HaloCatalog

__all__ = ["clusters", "condensed_tree", "dendrogram", "k_distances", "mass_function", "mesh", "profiles", "projection", "subhalos"]


def clusters(
    X: ArrayLike,
    labels: Any,
    *,
    axes: tuple[int, int] = (0, 1),
    eps: float = 0.0,
    box_size: float | None = None,
    title: str | None = None,
) -> Figure:
    """Draws points in the plane in the colours of their clusters, with a legend. Noise is grey.

    Parameters
    ----------
    X : array of shape (n, d), with d of 2 or more
        The points. Points that are not finite are left out. The columns of a data frame name the axes.

    labels : array of shape (n,), or estimator
        The cluster of each point, or a fitted `DBSCAN`, `HDBSCAN`, `FriendsOfFriends` or `HOP`. Negative labels are noise.

    axes : (int, int)
        The two coordinates to draw.

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
    a, b = (integer(axis, "axes", 0, x.shape[1] - 1) for axis in axes)
    plane = np.ascontiguousarray(x[:, [a, b]], np.float64)
    finite = np.isfinite(plane).all(axis=1)
    plane, numbers = plane[finite], _numbers(found[finite])
    noise = int((numbers < 0).sum())
    heading = f"{len(plane):,} points, {_counted(len(np.unique(numbers[numbers >= 0])), 'cluster')}"
    line = f"{noise:,} noise"
    if isinstance(labels, DBSCAN):
        eps = real(labels.eps, "eps") if eps == 0.0 else eps
        core = len(labels.core_sample_indices_)
        heading = f"DBSCAN: {heading}"
        line = f"eps {eps:.6g}, min_samples {labels.min_samples}; {core:,} core, {len(plane) - noise - core:,} border, {noise:,} noise"
    elif isinstance(labels, HDBSCAN):
        heading, line = f"HDBSCAN*: {heading}", f"min_cluster_size {labels.min_cluster_size}; {noise:,} noise"
    lines = (heading if title is None else title, line)
    length, side = real(eps, "eps"), optional_real(box_size, "box_size")
    names = feature_names(X)
    shown = [] if names is None else [str(names[axis]) for axis in (a, b)]
    return Figure(lines[0], lambda style: _native.draw_clusters(plane, numbers, shown, length, side, lines, style), is_raster=True)


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
    heading = f"HDBSCAN*: {len(clusterer.labels_):,} points, {_counted(count, 'cluster')}" if title is None else title
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


def mass_function(catalog: HaloCatalog, *, title: str | None = None) -> Figure:
    """Draws the cumulative mass function: the number of halos per volume at or above each mass, with Poisson errors.

    If the cosmology and the units are known, the expected numbers of Warren et al. 2006 and Tinker et al. 2008 are drawn, too, with
    the deviations from them.

    Parameters
    ----------
    catalog : HaloCatalog
        The halos. Subhalos are not counted. Masses include all linked and attached types.

    title : str, optional
        The heading line. Default: the number of halos, and the finder.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import ropewalk
    >>> points = ropewalk.sample.mock_halos(20_000, box_size=50, seed=1)
    >>> figure = ropewalk.plot.mass_function(ropewalk.halos(points, box_size=50))
    >>> figure.save("mass_function.pdf")  # doctest: +SKIP
    """
    meta = catalog.meta
    how = "friends of friends" if catalog.prefix == "fof_halo" else meta["finder"]
    separations = meta.get("linking_length_in_mean_separations")
    if isinstance(separations, float) and catalog.prefix == "fof_halo":
        how = f"linking length {separations:.6g} mean separations"
    default = f"{_halos(catalog)} of {meta['min_members']:g} or more particles, {how}{_redshift(catalog)}"
    heading = default if title is None else title
    native = catalog._halos
    return Figure(heading, lambda style: _native.draw_mass_function(native, heading, style))


def profiles(catalog: HaloCatalog, rows: int | Sequence[int] | None = None, *, title: str | None = None) -> Figure:
    """Draws density profiles with Poisson errors, their NFW fits and the resolved radii, a panel for each halo.

    Parameters
    ----------
    catalog : HaloCatalog
        The result of ``halos(.., profiles=n)``, which has the profiles of the n largest halos.

    rows : int or sequence of int, optional
        The rows of the halos. Default: all that have profiles, at most 100.

    title : str, optional
        The heading line.

    Returns
    -------
    Figure

    Raises
    ------
    ValueError
        If a halo has no profile.

    Examples
    --------
    >>> import ropewalk
    >>> snapshot = ropewalk.read_snapshot("snap_099.hdf5", types=1)  # doctest: +SKIP
    >>> catalog = ropewalk.halos(snapshot, overdensities="200c", profiles=10)  # doctest: +SKIP
    >>> ropewalk.plot.profiles(catalog).save("profiles.pdf")  # doctest: +SKIP
    """
    shells = catalog.profiles
    if shells is None:
        raise ValueError("the catalogue has no profiles; request them: halos(.., profiles=10)")
    tag = f"{catalog.prefix}_tag"
    if tag not in catalog:
        raise ValueError(f"the catalogue has no column {tag}, by which profiles are found")
    known = set(shells[tag].tolist())
    has = [row for row, own in enumerate(catalog[tag].tolist()) if own in known]
    given = has[:100] if rows is None else rows if isinstance(rows, Iterable) else [rows]
    chosen = [_row(catalog, row) for row in given]
    for row in chosen:
        # Subhalos have rows but no profiles, and a halo without a sphere has no shells.
        if row not in has:
            raise ValueError(f"halo {row} has no profile; {len(has)} halos have one")
    heading = f"Density profiles of the largest halos{_redshift(catalog)}" if title is None else title
    native = catalog._halos
    return Figure(heading, lambda style: _native.draw_profiles(native, chosen, heading, style))


def projection(
    positions: ArrayLike | Snapshot,
    catalog: HaloCatalog | None = None,
    *,
    masses: ArrayLike | None = None,
    box_size: float | None = None,
    slab: tuple[float, float] | None = None,
    axis: Literal["x", "y", "z"] = "z",
    title: str | None = None,
) -> Figure:
    """Draws the density of particles, projected along an axis, with circles around the largest halos.

    Parameters
    ----------
    positions : array of shape (n, 3), or Snapshot
        The particles. A snapshot provides masses and box.

    catalog : HaloCatalog, optional
        The catalogue of these positions. Circles are at the farthest member, and across the faces of a periodic box.

    masses : float or array of shape (n,), optional
        The mass of each particle. Default: those of a snapshot, or equal masses.

    box_size : float, optional
        The side of the periodic box. Default: that of the catalogue or the snapshot.

    slab : (float, float), optional
        The range of coordinates along `axis` to draw, inclusive at both ends. In a periodic box it is wrapped.

    axis : {"x", "y", "z"}
        The line of sight.

    title : str, optional
        The heading line. Default: the numbers of particles and halos.

    Returns
    -------
    Figure

    Examples
    --------
    >>> import ropewalk
    >>> points = ropewalk.sample.mock_halos(20_000, box_size=50, seed=1)
    >>> figure = ropewalk.plot.projection(points, ropewalk.halos(points, box_size=50), slab=(10, 20))
    >>> figure.save("projection.png")  # doctest: +SKIP
    """
    if axis not in ("x", "y", "z"):
        raise ValueError(f"axis is {axis!r}; it must be 'x', 'y' or 'z'")
    side = optional_real(box_size, "box_size")
    if isinstance(positions, Snapshot):
        side = positions.box_size if side is None else side
        if masses is None and "masses" in positions:
            masses = positions.masses
        positions = positions.positions
    x = points_of(positions, "positions")
    if x.shape[1] != 3:
        raise ValueError(f"positions have {x.shape[1]} coordinates; they must have 3")
    if catalog is not None and len(catalog.labels) != len(x):
        raise ValueError(f"positions has {len(x)} particles, and the catalogue is of {len(catalog.labels)}; pass catalog.particles")
    weights: float | NDArray[np.float64] | None = None
    if masses is not None:
        weights = real(masses, "masses") if np.ndim(masses) == 0 else vector(masses, len(x), "masses")  # type: ignore[arg-type]
    along = "xyz".index(axis)
    if slab is None and axis != "z" and len(x) > 0:
        slab = _around(x[:, along])
    ends = None if slab is None else (along, real(slab[0], "slab"), real(slab[1], "slab"))
    heading = f"{len(x):,} particles"
    if catalog is not None:
        heading += f", {_halos(catalog)}{_redshift(catalog)}"
    heading = heading if title is None else title
    native = None if catalog is None else catalog._halos
    return Figure(heading, lambda style: _native.draw_projection(native, x, weights, side, ends, heading, style), is_raster=True)


def subhalos(catalog: HaloCatalog, i: int = 0, *, title: str | None = None) -> Figure:
    """Draws a halo of AdaptaHOP with its subhalos as a tree, by density.

    Parameters
    ----------
    catalog : HaloCatalog
        The result of ``halos(.., finder="adaptahop")``.

    i : int
        The row of the halo.

    title : str, optional
        The heading line. Default: the row and the number of members.

    Returns
    -------
    Figure

    Raises
    ------
    ValueError
        If the catalogue has no subhalos.

    Examples
    --------
    >>> import ropewalk
    >>> catalog = ropewalk.halos(ropewalk.sample.mock_halos(5000, seed=1), box_size=1, finder="adaptahop")
    >>> ropewalk.plot.subhalos(catalog).save("subhalos.svg")  # doctest: +SKIP
    """
    if "AdaptaHOP" not in str(catalog.meta["finder"]):
        raise ValueError(f"the halos by {catalog.meta['finder']} have no subhalos; find them by halos(.., finder='adaptahop')")
    row = _row(catalog, i)
    heading = f"halo {row}: {len(catalog.members(row)):,} particles{_redshift(catalog)}" if title is None else title
    native = catalog._halos
    return Figure(heading, lambda style: _native.draw_subhalos(native, row, heading, style))


def mesh(mesh: Mesh, *, azimuth: float = -60.0, elevation: float = 25.0, width: int = 1200, height: int = 900) -> Figure:
    """Renders a mesh with a shadow, by ray casting. The picture shows the whole mesh; z points up.

    Parameters
    ----------
    mesh : Mesh

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
    native = mesh._mesh
    heading = f"{len(mesh):,} triangles"
    return Figure(heading, lambda style: _native.draw_mesh(native, *view), is_raster=True, formats=("png",))


def _numbers(labels: NDArray[Any]) -> NDArray[np.int32]:
    """Returns labels with -1 for noise. Labels that are not below the number of points are renumbered in their order."""
    own = np.maximum(labels.astype(np.int64), -1)
    if own.max(initial=-1) >= len(own):
        is_member = own >= 0
        own[is_member] = np.unique(own[is_member], return_inverse=True)[1]
    return own.astype(np.int32)


def _around(values: NDArray[Any]) -> tuple[float, float]:
    """Returns ends around all values, rounded to about three digits of their range."""
    low, high = float(values.min()), float(values.max())
    if not np.isfinite(high - low):
        # The compiled part names the point.
        return 0.0, 1.0
    digits = 2 - int(np.floor(np.log10(high - low if high > low else max(abs(high), 1.0))))
    unit = 10.0**-digits
    return round((np.floor(low / unit) - 1) * unit, digits), round((np.ceil(high / unit) + 1) * unit, digits)


def _counted(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _halos(catalog: HaloCatalog) -> str:
    """Describes the numbers of halos and subhalos."""
    column = f"{catalog.prefix}_parent"
    nested = int((catalog[column] >= 0).sum()) if column in catalog else 0
    halos = _counted(len(catalog) - nested, "halo")
    return f"{halos}, {_counted(nested, 'subhalo')}" if nested else halos


def _redshift(catalog: HaloCatalog) -> str:
    redshift = catalog.meta.get("redshift")
    return f", redshift {redshift:.4g}" if isinstance(redshift, float) else ""


def _row(catalog: HaloCatalog, i: Any) -> int:
    """Returns the row of a halo; negative numbers count from the end."""
    row = operator.index(i)
    if not -len(catalog) <= row < len(catalog):
        raise IndexError(f"there is no halo {row}; there are {len(catalog)}")
    return row % len(catalog)
