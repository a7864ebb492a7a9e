"""Figures with matplotlib. Each function draws on `ax`, or on new axes, and returns the axes.

Colours are those of Okabe and Ito (2008), which colour-blind people can distinguish, and of ``cividis``.
"""

from __future__ import annotations

import operator
import re
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk._arrays import points as points_of
from ropewalk._halo_catalog import HaloCatalog
from ropewalk._k_distances import k_distances as distances_of
from ropewalk._optional import optional
from ropewalk._tables import Table

__all__ = ["clusters", "dendrogram", "k_distances", "mass_function", "profile", "projection"]

BLUE, ORANGE, NOISE = "#0072b2", "#d55e00", "#bbbbbb"
COLOURS = (BLUE, "#e69f00", "#009e73", "#cc79a7", "#56b4e9", ORANGE, "#f0e442", "#000000")


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    _, ax = optional("matplotlib.pyplot", "a picture").subplots(layout="constrained")
    return ax


def _label(name: str, unit: str | None, frame: str = "") -> str:
    """Formats an axis label: a name with its unit in common notation, such as h for littleh, and the frame."""
    if unit is None:
        return name
    for word, sign in (("solMass", r"M$_\odot$"), ("littleh", "h"), (" / ", "/"), ("1e10 ", r"10$^{10}$ ")):
        unit = unit.replace(word, sign)
    unit = re.sub(r"(?<=[a-z])([23])\b", r"$^\1$", unit)
    return f"{name} [{unit}{', ' + frame if frame else ''}]"


def _ticks(*axes: Any) -> None:
    """Sets readable ticks on logarithmic axes: powers of ten, and also 2 and 5 times these if the range is below two decades."""
    ticker = optional("matplotlib.ticker", "a picture")
    for axis in axes:
        low, high = axis.get_view_interval()
        if 0 < low < high < 100 * low:
            axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(ticker.FuncFormatter(lambda x, _: f"{x:g}"))
        axis.set_minor_formatter(ticker.NullFormatter())


def _cubed(unit: str | None) -> str:
    """Formats the unit of a number density from a unit of length."""
    if unit is None:
        return ""
    length, _, h = unit.partition(" / ")
    return f" [({length}/h)$^{{-3}}$]" if h else f" [({length})$^{{-3}}$]"


def _frame(table: Table, column: str) -> str:
    return next((frame for frame in ("comoving", "physical") if table.descriptions[column].endswith(frame)), "")


def clusters(X: ArrayLike, labels: ArrayLike, ax: Any = None, *, axes: tuple[int, int] = (0, 1)) -> Any:
    """Draws points in the colours of their clusters. Noise, label -1, is grey and in the background.

    Parameters
    ----------
    X : array of shape (n, d), with d of 2 or more

    labels : array of shape (n,)

    ax : matplotlib.axes.Axes, optional

    axes : (int, int)
        The two coordinates to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    There are eight colours, assigned cyclically in the order of labels.

    Examples
    --------
    >>> import ropewalk
    >>> points = ropewalk.sample.mock_halos(2000, seed=1)
    >>> labels = ropewalk.DBSCAN(eps=0.02).fit_predict(points)
    >>> ax = ropewalk.plot.clusters(points, labels, axes=(0, 2))
    >>> ax.figure.savefig("clusters.png")  # doctest: +SKIP
    """
    x, found = points_of(X), np.asarray(labels)
    if found.shape != (len(x),):
        raise ValueError(f"labels has the shape {found.shape}; it must have one label for each of {len(x)} points")
    ax = _axes(ax)
    a, b = (x[:, axis] for axis in axes)
    size = float(np.clip(20 * (1000 / max(len(x), 1)) ** 0.7, 0.2, 20))
    noise = found < 0
    if noise.any():
        ax.scatter(a[noise], b[noise], s=size / 2, c=NOISE, linewidths=0, rasterized=True, label=f"noise: {noise.sum()}")
    if not noise.all():
        colours = np.array(COLOURS)[found[~noise] % len(COLOURS)]
        count = len(np.unique(found[~noise]))
        ax.scatter(a[~noise], b[~noise], s=size, c=colours, linewidths=0, rasterized=True, label=f"clusters: {count}")
    ax.set_aspect("equal", "datalim")
    ax.set_xlabel(f"coordinate {axes[0]}")
    ax.set_ylabel(f"coordinate {axes[1]}")
    return ax


def mass_function(catalog: HaloCatalog, ax: Any = None, *, bins: int | ArrayLike = 20, volume: float | None = None) -> Any:
    """Draws the mass function: the number density of halos per decade of mass, ``dn / dlog10 M``, with Poisson errors ``sqrt(N)``.

    Parameters
    ----------
    catalog : HaloCatalog
        The halos. Subhalos are not counted. Masses include all linked and attached types.

    ax : matplotlib.axes.Axes, optional

    bins : int or array
        The number of bins of equal logarithmic width, or the edges of bins in the unit of the catalogue's masses.

    volume : float, optional
        The volume in the catalogue's cubed unit of length. Default: that of `catalog`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, without points if there are no halos.

    Examples
    --------
    >>> import ropewalk
    >>> points = ropewalk.sample.mock_halos(20_000, box_size=50, seed=1)
    >>> ax = ropewalk.plot.mass_function(ropewalk.halos(points, box_size=50), bins=10)
    >>> ax.figure.savefig("mass_function.png")  # doctest: +SKIP
    """
    ax = _axes(ax)
    prefix = catalog.prefix
    total = f"{prefix}_mass_total"
    column = total if total in catalog else f"{prefix}_mass"
    mass: NDArray[np.float64] = catalog[column]
    if f"{prefix}_parent" in catalog:
        mass = mass[catalog[f"{prefix}_parent"] < 0]
    mass = mass[mass > 0]
    x_unit = catalog.units[column]
    x_name = "mass" if "solMass" in (x_unit or "") else "mass, in the unit of the particles' masses"
    ax.set_xlabel(_label(x_name, x_unit))
    center = f"{prefix}_mean_x"
    unit = catalog.units.get(center)
    frame = _frame(catalog, center) if center in catalog else ""
    ax.set_ylabel("dn/dlog$_{10}$M of halos" + _cubed(unit) + (f", {frame}" if frame else ""))
    if len(mass) == 0:
        return ax
    if np.ndim(bins) == 0:
        lowest, highest = np.log10(mass.min()), np.log10(mass.max())
        edges = 10 ** np.linspace(lowest - 1e-9, highest + 1e-9, operator.index(bins) + 1)  # type: ignore[arg-type]
    else:
        edges = np.asarray(bins, np.float64)
    counts, _ = np.histogram(mass, edges)
    has = counts > 0
    norm = (catalog.volume if volume is None else volume) * np.diff(np.log10(edges))[has]
    density, error = counts[has] / norm, np.sqrt(counts[has]) / norm
    middle = np.sqrt(edges[1:] * edges[:-1])[has]
    ax.set_xscale("log")
    ax.set_yscale("log")
    # The lower end of the error bar of a single halo would be 0, which a logarithmic axis cannot show.
    lower = np.where(counts[has] == 1, 0.99 * error, error)
    ax.errorbar(middle, density, yerr=[lower, error], fmt="o", color=BLUE, markersize=4, capsize=2, label="halos, Poisson errors")
    ax.set_ylim(0.3 * density.min(), 3 * density.max())
    _ticks(ax.xaxis, ax.yaxis)
    return ax


def projection(
    positions: ArrayLike,
    catalog: HaloCatalog | None = None,
    ax: Any = None,
    *,
    slab: tuple[float, float] | None = None,
    axis: Literal["x", "y", "z"] = "z",
    pixels: int = 256,
    most: int = 50,
) -> Any:
    """Draws the number of particles in each pixel of a projection along an axis, and circles around the largest halos.

    Parameters
    ----------
    positions : array of shape (n, 3)

    catalog : HaloCatalog, optional
        The catalogue of these positions, in the units of the positions. A circle has the radius of the first overdensity around the
        centre if the catalogue has it, otherwise the halo's root mean square radius around the centre of mass.

    ax : matplotlib.axes.Axes, optional

    slab : (float, float), optional
        The range of coordinates along `axis` to draw, inclusive at both ends.

    axis : {"x", "y", "z"}
        The line of sight.

    pixels : int
        The number of pixels along each side.

    most : int
        The maximum number of circles.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with a colour bar.

    Examples
    --------
    >>> import ropewalk
    >>> points = ropewalk.sample.mock_halos(20_000, box_size=50, seed=1)
    >>> ax = ropewalk.plot.projection(points, ropewalk.halos(points, box_size=50), slab=(10, 20))
    >>> ax.figure.savefig("projection.png")  # doctest: +SKIP
    """
    x = points_of(positions, "positions")
    if x.shape[1] != 3:
        raise ValueError(f"positions have {x.shape[1]} coordinates; they must have 3")
    if axis not in ("x", "y", "z"):
        raise ValueError(f"axis is {axis!r}; it must be 'x', 'y' or 'z'")
    ax = _axes(ax)
    along = "xyz".index(axis)
    a, b = (k for k in range(3) if k != along)
    if slab is not None:
        x = x[(x[:, along] >= slab[0]) & (x[:, along] <= slab[1])]
    box = None if catalog is None else catalog.meta.get("box_size")
    if isinstance(box, float):
        limits = [[0.0, box], [0.0, box]]
    else:
        limits = [[float(x[:, k].min()), float(x[:, k].max())] if len(x) else [0.0, 1.0] for k in (a, b)]
    image, *edges = np.histogram2d(x[:, a], x[:, b], pixels, limits)
    colors = optional("matplotlib.colors", "a picture")
    norm = colors.LogNorm(1, max(2.0, float(image.max())))
    extent = (edges[0][0], edges[0][-1], edges[1][0], edges[1][-1])
    shown = ax.imshow(np.maximum(image.T, 0.5), norm=norm, extent=extent, origin="lower", cmap="cividis", interpolation="nearest")
    ax.figure.colorbar(shown, ax=ax, label="particles in a pixel")
    unit, frame = None, ""
    if catalog is not None:
        column = f"{catalog.prefix}_mean_x"
        unit, frame = (catalog.units[column], _frame(catalog, column)) if column in catalog else (None, "")
        _circles(ax, catalog, (a, b, along), slab, most)
    ax.set_xlabel(_label("xyz"[a], unit, frame))
    ax.set_ylabel(_label("xyz"[b], unit, frame))
    ax.set_xlim(*limits[0])
    ax.set_ylim(*limits[1])
    return ax


def _circles(ax: Any, catalog: HaloCatalog, order: tuple[int, int, int], slab: tuple[float, float] | None, most: int) -> None:
    """Draws circles around the centres of halos if the catalogue has the columns for them."""
    prefix = catalog.prefix
    spheres = next((name for name in catalog.columns if name.startswith("sod_halo_r")), None)
    place, radius = ("mean", f"{prefix}_rms_radius") if spheres is None else ("center", spheres)
    names = [f"{prefix}_{place}_{'xyz'[k]}" for k in order]
    if any(name not in catalog for name in [*names, radius]):
        return
    patches = optional("matplotlib.patches", "a picture")
    drawn = 0
    for a, b, depth, r in zip(*(catalog[name] for name in [*names, radius]), strict=True):
        if drawn == most:
            break
        if np.isfinite(r) and (slab is None or slab[0] <= depth <= slab[1]):
            ax.add_patch(patches.Circle((a, b), r, fill=False, edgecolor="white", linewidth=0.8))
            drawn += 1


def profile(catalog: HaloCatalog, i: int, ax: Any = None) -> Any:
    """Draws the density profile of halo `i` with Poisson errors, and its NFW fit. A grey line marks the resolved radius.

    Parameters
    ----------
    catalog : HaloCatalog
        The result of ``halos(.., profiles=n)``, which has the profiles of the n largest halos.

    i : int
        The row of the halo.

    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        If the halo has no profile.

    Examples
    --------
    >>> import ropewalk
    >>> snapshot = ropewalk.read_snapshot("snap_099.hdf5", types=1)  # doctest: +SKIP
    >>> catalog = ropewalk.halos(snapshot, overdensities="200c", profiles=10)  # doctest: +SKIP
    >>> ax = ropewalk.plot.profile(catalog, 0)  # doctest: +SKIP
    >>> ax.figure.savefig("profile.png")  # doctest: +SKIP
    """
    shells = catalog.profiles
    if shells is None:
        raise ValueError(f"the catalogue has no profiles; request them: halos(.., profiles={i + 1})")
    tag = f"{catalog.prefix}_tag"
    tags = list(dict.fromkeys(shells[tag].tolist()))
    # Subhalos have rows but no profiles, and a halo without a sphere has no shells.
    if tag not in catalog or catalog[tag][i] not in tags:
        raise ValueError(f"halo {i} has no profile; {len(tags)} halos have one")
    rows = shells[shells[tag] == catalog[tag][i]]
    ax = _axes(ax)
    has = rows["shell_count"] > 0
    middle = np.sqrt(rows["shell_inner"] * rows["shell_outer"])
    density = rows["shell_density"]
    error = density[has] / np.sqrt(rows["shell_count"][has])
    lower = np.minimum(error, 0.99 * density[has])
    ax.errorbar(middle[has], density[has], yerr=[lower, error], fmt="o", color=BLUE, markersize=4, capsize=2, label="particles")
    fitted = rows["shell_fitted"] > 0
    if fitted.any():
        c, ce = rows["nfw_concentration"][0], rows["nfw_concentration_error"][0]
        ax.plot(middle[fitted], rows["nfw_density"][fitted], color=ORANGE, label=f"NFW, concentration {c:.1f} ± {ce:.1f}")
    ax.axvline(rows["resolved_radius"][0], color=NOISE, linestyle="--", zorder=0, label="resolved radius")
    ax.set_xscale("log")
    ax.set_yscale("log")
    frame = _frame(shells, "shell_outer")
    ax.set_xlabel(_label("radius", shells.units["shell_outer"], frame))
    ax.set_ylabel(_label("density", shells.units["shell_density"], frame))
    ax.legend(frameon=False)
    _ticks(ax.xaxis, ax.yaxis)
    return ax


def k_distances(
    X: ArrayLike, k: int, ax: Any = None, *, box_size: ArrayLike | None = None, n_jobs: int | None = None
) -> Any:
    """Draws the distances to the `k`-th neighbours in descending order. The line bends at a good `eps` of DBSCAN for
    ``min_samples = k + 1``.

    Parameters
    ----------
    X, k, box_size, n_jobs
        As for `ropewalk.k_distances`.

    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import ropewalk
    >>> ax = ropewalk.plot.k_distances(ropewalk.sample.mock_halos(2000, seed=1), k=4)
    >>> ax.figure.savefig("k_distances.png")  # doctest: +SKIP
    """
    distances = distances_of(X, k, box_size=box_size, n_jobs=n_jobs)[::-1]
    ax = _axes(ax)
    ax.plot(np.arange(1, len(distances) + 1), distances, color=BLUE)
    ax.set_xscale("log")
    if len(distances) and distances[-1] > 0:
        ax.set_yscale("log")
        _ticks(ax.xaxis, ax.yaxis)
    ax.set_xlabel("points, in descending order of distance")
    ax.set_ylabel(f"distance to neighbour {k}, in the unit of the points")
    return ax


def dendrogram(linkage: Any, ax: Any = None, *, most: int = 50) -> Any:
    """Draws a single-linkage tree with scipy, without names of leaves.

    Parameters
    ----------
    linkage : array of shape (n - 1, 4), or an estimator with ``single_linkage_tree_``
        The merges in the format of `scipy.cluster.hierarchy`.

    ax : matplotlib.axes.Axes, optional

    most : int
        The number of branches to draw: those that merge last. Smaller branches are condensed.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import ropewalk
    >>> points = ropewalk.sample.mock_halos(500, seed=1)
    >>> ax = ropewalk.plot.dendrogram(ropewalk.linkage(points), most=20)
    >>> ax.figure.savefig("dendrogram.png")  # doctest: +SKIP
    """
    hierarchy = optional("scipy.cluster.hierarchy", "a dendrogram")
    tree = np.asarray(getattr(linkage, "single_linkage_tree_", linkage), np.float64)
    if tree.ndim != 2 or tree.shape[1] != 4:
        raise ValueError(f"linkage has the shape {tree.shape}; it must be (n - 1, 4), as in scipy")
    ax = _axes(ax)
    hierarchy.dendrogram(
        tree, ax=ax, p=most, truncate_mode="lastp", no_labels=True, color_threshold=0, above_threshold_color=BLUE
    )
    ax.set_ylabel("distance at which branches join")
    ax.set_xlabel("branches")
    return ax
