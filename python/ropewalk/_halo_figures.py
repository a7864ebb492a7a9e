"""Figures of halo catalogues: mass function, profiles, projection, gallery, subhalos."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _native
from ropewalk._arrays import points as points_of
from ropewalk._arrays import vector
from ropewalk._checks import integer, optional_real, real
from ropewalk._figure import Figure
from ropewalk._snapshot import Snapshot
from ropewalk._text import counted
from ropewalk._types import Floats

if TYPE_CHECKING:
    from ropewalk._halo_catalog import HaloCatalog


def gallery(
    catalog: HaloCatalog,
    rows: int | Sequence[int] | None = None,
    *,
    positions: ArrayLike | Snapshot | None = None,
    attached: Mapping[int, ArrayLike] | None = None,
    title: str | None = None,
) -> Figure:
    """Draws halos side by side, seen along z: their members, centres and R200c.

    A halo across the faces of a periodic box is not split. The centres are those of the columns ``*_center_*`` and ``*_mcp_*``, and R200c
    is drawn if the catalogue has it.

    Parameters
    ----------
    catalog : HaloCatalog

    rows : int or sequence of int, optional
        The rows of the halos. Default: the six largest halos, without subhalos.

    positions : array of shape (n, 3), or Snapshot, optional
        The particles of the catalogue. Default: ``catalog.particles``; required if the halos are of an array.

    attached : dict of int to array of shape (n, 3), optional
        The positions of attached particles by type, each in the order of ``catalog.attached_labels``, to draw in other colours.

    title : str, optional
        The heading line. Default: the number of halos.

    Returns
    -------
    Figure

    Raises
    ------
    IndexError
        If there is no such halo.
    ValueError
        If positions are missing, or their number is not that of the labels.

    Examples
    --------
    >>> import ropewalk
    >>> points = ropewalk.sample.mock_halos(20_000, box_size=50, seed=1)
    >>> catalog = ropewalk.halos(points, box_size=50)
    >>> ropewalk.plot.gallery(catalog, rows=range(3), positions=points)
    Figure('3 halos, seen along z')
    """
    chosen = positions if positions is not None else catalog.particles
    if chosen is None:
        raise ValueError("the halos are of an array; pass it: gallery(catalog, positions=..)")
    x = _positions(chosen.positions if isinstance(chosen, Snapshot) else chosen, len(catalog.labels), "positions")
    given = {} if attached is None else {integer(kind, "attached", 0): value for kind, value in attached.items()}
    unknown = sorted(given.keys() - catalog.attached_labels.keys())
    if unknown:
        raise ValueError(f"attached: no particles of type {unknown[0]} were attached; attached types: {sorted(catalog.attached_labels)}")
    others = [(kind, _positions(given[kind], len(catalog.attached_labels[kind]), f"attached[{kind}]")) for kind in sorted(given)]
    if rows is None:
        column = f"{catalog.prefix}_parent"
        hosts = np.flatnonzero(catalog[column] < 0) if column in catalog else np.arange(len(catalog))
        shown = [int(row) for row in hosts[:6]]
        what = "The largest halo" if len(shown) == 1 else f"The {len(shown)} largest halos"
    else:
        shown = [catalog._row(row) for row in (rows if isinstance(rows, Iterable) else [rows])]
        what = f"Halo {shown[0]}" if len(shown) == 1 else f"{len(shown)} halos"
    default = f"{what}, seen along z{_redshift(catalog)}" if shown else "no halos"
    heading = default if title is None else title
    centers = [("center", str(catalog.meta.get("center", ""))), ("mcp", "most connected particle")]
    native = catalog._halos
    return Figure(heading, lambda style: _native.draw_gallery(native, shown, x, others, centers, heading, style), is_raster=True)


def mass_function(catalog: HaloCatalog, *, title: str | None = None) -> Figure:
    """Draws the mass function, cumulative and differential: the number of halos per volume at or above each mass and per ln mass, with
    the Poisson errors of Gehrels 1986.

    If the cosmology and the units are known, the expected numbers of Tinker et al. 2008 are drawn, too, with the deviations from them.
    For friends of friends with about 0.2 mean separations, so are those of Warren et al. 2006. Their fit is of masses that are corrected
    for the number N of particles, ``M (1 - N**-0.6)``, and is drawn at the masses before this correction. The figure names the assumed
    parameters of the cosmology. Numbers are per comoving volume.

    Parameters
    ----------
    catalog : HaloCatalog
        The halos. Subhalos are not counted. Masses include all linked and attached types.

    title : str, optional
        The heading line. Default: the number of halos, and the finder with its linking length.

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
    native = catalog._halos
    how, _ = _native.describe_halos(native)
    halos = counted(len(catalog) - _nested(catalog), "halo")
    default = f"{halos} of {catalog.meta['min_members']:g} or more particles, {how}{_redshift(catalog)}"
    heading = default if title is None else title
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
        The heading line. Default: the halos, and the redshift.

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
    chosen = [catalog._row(row) for row in given]
    for row in chosen:
        # Subhalos have rows but no profiles, and a halo without a sphere has no shells.
        if row not in has:
            raise ValueError(f"halo {row} has no profile; {len(has)} halos have one")
    heading = f"{_profiled(chosen, has)}{_redshift(catalog)}" if title is None else title
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
        The heading line. Default: the box and, without `slab`, the numbers of particles and halos. With `slab`, the line below it has
        the numbers of particles and halos in the slab.

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
    ends = None if slab is None else (real(slab[0], "slab"), real(slab[1], "slab"))
    native = None if catalog is None else catalog._halos
    # The picture itself counts the particles and halos of a slab.
    parts = [counted(len(x), "particle") if slab is None else "Slab"]
    if catalog is not None and native is not None:
        parts.append(_native.describe_halos(native)[1] + _redshift(catalog))
        parts += [_halos(catalog)] if slab is None else []
    elif side is not None:
        parts.append(f"box {float(f'{side:.4g}'):.10g}")
    heading = ", ".join(parts) if title is None else title
    return Figure(heading, lambda style: _native.draw_projection(native, x, weights, side, along, ends, heading, style), is_raster=True)


def subhalos(catalog: HaloCatalog, i: int = 0, *, title: str | None = None) -> Figure:
    """Draws a halo of AdaptaHOP with its subhalos as a tree, by density.

    Parameters
    ----------
    catalog : HaloCatalog
        The result of ``halos(.., finder="adaptahop")``.

    i : int
        The row of the halo.

    title : str, optional
        The heading line. Default: the row, the number of members and the mass.

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
    row = catalog._row(i)
    native = catalog._halos
    default = f"halo {row}: {counted(len(catalog.members(row)), 'particle')}{_native.describe_mass(native, row)}{_redshift(catalog)}"
    heading = default if title is None else title
    return Figure(heading, lambda style: _native.draw_subhalos(native, row, heading, style))


def _positions(values: ArrayLike, n: int, name: str) -> Floats:
    """Returns positions of `n` particles in space."""
    x = points_of(values, name)
    if x.shape != (n, 3):
        raise ValueError(f"{name} has the shape {x.shape}; the catalogue needs ({n}, 3), the particles that it was found in")
    return x


def _halos(catalog: HaloCatalog) -> str:
    """Describes the numbers of halos and subhalos."""
    nested = _nested(catalog)
    halos = counted(len(catalog) - nested, "halo")
    return f"{halos}, {counted(nested, 'subhalo')}" if nested else halos


def _nested(catalog: HaloCatalog) -> int:
    """Returns the number of subhalos."""
    column = f"{catalog.prefix}_parent"
    return int((catalog[column] >= 0).sum()) if column in catalog else 0


def _profiled(chosen: list[int], has: list[int]) -> str:
    """Names the halos in a figure of profiles; `has` are those that have one."""
    if len(chosen) == 1:
        return f"Density profile of halo {chosen[0]}"
    which = "the largest halos" if chosen == has[: len(chosen)] else f"{len(chosen)} halos"
    return f"Density profiles of {which}"


def _redshift(catalog: HaloCatalog) -> str:
    redshift = catalog.meta.get("redshift")
    return f", redshift {redshift:.4g}" if isinstance(redshift, float) else ""
