"""HOP: groups of particles around density peaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _base, _checks, _native
from ropewalk._fof import Groups
from ropewalk._placement import device_backend
from ropewalk._types import HopOptions, Indices

if TYPE_CHECKING:
    from typing_extensions import Self


class HopGroups(Groups):
    """The `Groups` that `hop` returns, with the densities of the points.

    Attributes
    ----------
    density : ndarray of float64, shape (n,)
        The density of each point.

    Examples
    --------
    >>> import numpy as np
    >>> from ropewalk import hop
    >>> clump = np.indices((3, 3, 3)).reshape(3, -1).T
    >>> groups = hop(np.concatenate([clump, clump + 10.0]), 4.0, n_density=12, n_hop=12)
    >>> groups, int(groups.density[:27].argmax())
    (<HopGroups: 2 groups of 54 points among 54>, 13)
    """

    def __init__(
        self,
        labels: NDArray[np.int32],
        offsets: NDArray[np.int64],
        indices: Indices,
        density: NDArray[np.float64],
    ) -> None:
        super().__init__(labels, offsets, indices)
        self.density = density


def hop(
    X: ArrayLike,
    delta_outer: SupportsFloat,
    *,
    delta_saddle: SupportsFloat | None = None,
    delta_peak: SupportsFloat | None = None,
    n_density: SupportsIndex = 64,
    n_hop: SupportsIndex = 64,
    n_merge: SupportsIndex = 4,
    min_members: SupportsIndex = 10,
    masses: ArrayLike | None = None,
    kernel: str = "symmetric",
    unit: str = "mean",
    volume: SupportsFloat | None = None,
    box_size: ArrayLike | None = None,
    n_jobs: int | None = None,
    device: str | None = None,
) -> HopGroups:
    """Finds groups around density peaks: from each point, hops lead to the densest near neighbour until a peak is reached.

    Parameters
    ----------
    X : array_like of shape (n, 2) or (n, 3)
        Points. ``float32`` and ``float64`` in C order are not copied; other numbers become ``float64``.

    delta_outer : float
        The minimum density of a group member. In units of the mean density of particles, 80 and 160 are common.

    delta_saddle : float, optional
        Two groups are merged if the boundary between them has at least this density. Default: 2.5 times `delta_outer`.

    delta_peak : float, optional
        The minimum density of a group's peak. Default: 3 times `delta_outer`.

    n_density : int, default 64
        The number of nearest points in a density estimate, the point itself counted; less than the number of points.

    n_hop : int, default 64
        The number of nearest points, the point itself counted, among which a hop goes to the densest. The authors recommend 16.

    n_merge : int, default 4
        The number of nearest other points among which boundaries between groups are searched for.

    min_members : int, default 10
        The minimum number of members of a group. Points of smaller groups have no group.

    masses : array_like of shape (n,), or float, optional
        The masses of the points, finite and not negative. Default: 1 each.

    kernel : {"symmetric", "gather", "top_hat"}, default "symmetric"
        The density estimate. ``"gather"``: a spline kernel as wide as the point's neighbourhood. ``"symmetric"``: the mean of this
        kernel and one as wide as the neighbour's neighbourhood. ``"top_hat"``: the neighbours' mass over the volume of the sphere
        around them.

    unit : {"mean", "absolute"}, default "mean"
        The unit of densities: the mean density, or mass over volume in the units of `masses` and `X`.

    volume : float, optional
        The volume (in the plane the area) for the mean density. Default: that of the periodic box, or of the smallest box around
        the points.

    box_size : float or array_like of shape (d,), optional
        The sides of the periodic box. Default: open space.

    n_jobs : int, optional
        The number of threads: -1 for all processors, -2 for all but one. Default: the number set by `ropewalk.set_threads`.

    device : {"cpu", "cuda", "cuda:1", ...}, optional
        The device to run on. Default: the device that holds `X`.

    Returns
    -------
    HopGroups
        The labels and members of the groups, the largest group first, and the density of each point.

    Raises
    ------
    ValueError
        If the points, the masses or a parameter are invalid. The message names the value, and the point if it concerns one.

    See Also
    --------
    HOP : The estimator version.

    Notes
    -----
    Exact, and independent of `n_jobs`. Cost: about 60 times that of building the tree; about 70 bytes per point. Source:
    Eisenstein and Hut 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from ropewalk import hop
    >>> clump = np.indices((3, 3, 3)).reshape(3, -1).T
    >>> groups = hop(np.concatenate([clump, clump + 10.0, [[6.0, 6.0, 6.0]]]), 4.0, n_density=12, n_hop=12)
    >>> groups.sizes, groups.labels[54]
    (array([27, 27]), np.int32(-1))
    """
    n_jobs, backend = _checks.threads(n_jobs), device_backend(X, device)
    points = X if backend is not None else _arrays.points(X)
    n, dim = _checks.shape(points)
    options = HOP(
        delta_outer,
        delta_saddle=delta_saddle,
        delta_peak=delta_peak,
        n_density=n_density,
        n_hop=n_hop,
        n_merge=n_merge,
        min_members=min_members,
        kernel=kernel,
        unit=unit,
        volume=volume,
        box_size=box_size,
    )._options(dim)
    if backend is not None:
        return HopGroups(*backend.hop(X, masses, options, device))
    rows = _arrays.points(points)
    _arrays.box(box_size, rows, n_jobs)
    return HopGroups(*_native.hop(rows, _checks.weights(masses, n, "masses"), options, n_jobs))


class HOP(_base.WeightedClusterer):
    """HOP as an estimator, for points of two or three coordinates, and as the finder of `halos`: ``halos(.., finder=HOP(160))``.

    Parameters
    ----------
    delta_outer : float
        The minimum density of a group member. In units of the mean density of particles, 80 and 160 are common.

    delta_saddle, delta_peak : float, optional
        The minimum density of a boundary for merging two groups, and of a group's peak. Default: 2.5 and 3 times `delta_outer`.

    n_density, n_hop : int, default 64
        The number of nearest points in a density estimate, and that among which a hop goes to the densest; both count the point itself.

    n_merge : int, default 4
        The number of nearest other points among which boundaries between groups are searched for.

    min_members : int, default 10
        The minimum number of members of a group. Points of smaller groups have no group.

    kernel : {"symmetric", "gather", "top_hat"}, default "symmetric"
        The density estimate; see `hop`.

    unit : {"mean", "absolute"}, default "mean"
        The unit of densities: the mean density, or mass over volume.

    volume : float, optional
        The volume for the mean density. Default: that of the periodic box, or of the smallest box around the points.

    box_size : float or array_like of shape (n_features,), optional
        The sides of the periodic box. Default: open space.

    n_jobs : int, optional
        The number of threads: -1 for all processors, -2 for all but one. Default: the number set by `ropewalk.set_threads`.

    device : {"cpu", "cuda", "cuda:1", ...}, optional
        The device to run on. Default: the device that holds the points.

    Attributes
    ----------
    labels_ : ndarray of int32, shape (n_samples,)
        The group of each point, -1 for none. Group 0 is the largest.

    density_ : ndarray of float64, shape (n_samples,)
        The density of each point.

    groups_ : HopGroups
        The groups with their members.

    n_features_in_ : int
        The number of coordinates per point.

    feature_names_in_ : ndarray of str, shape (n_features_in_,)
        The names of a data frame's columns, if all are strings.

    See Also
    --------
    hop : The function version, with notes.
    halos : Finds and measures halos, with the thresholds, numbers of neighbours and kernel of this estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from ropewalk import HOP
    >>> clump = np.indices((3, 3, 3)).reshape(3, -1).T
    >>> found = HOP(4.0, n_density=12, n_hop=12).fit(np.concatenate([clump, clump + 10.0]))
    >>> np.bincount(found.labels_)
    array([27, 27])
    """

    density_: NDArray[np.float64]
    groups_: HopGroups

    def __init__(
        self,
        delta_outer: SupportsFloat,
        *,
        delta_saddle: SupportsFloat | None = None,
        delta_peak: SupportsFloat | None = None,
        n_density: SupportsIndex = 64,
        n_hop: SupportsIndex = 64,
        n_merge: SupportsIndex = 4,
        min_members: SupportsIndex = 10,
        kernel: str = "symmetric",
        unit: str = "mean",
        volume: SupportsFloat | None = None,
        box_size: ArrayLike | None = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.delta_outer = delta_outer
        self.delta_saddle = delta_saddle
        self.delta_peak = delta_peak
        self.n_density = n_density
        self.n_hop = n_hop
        self.n_merge = n_merge
        self.min_members = min_members
        self.kernel = kernel
        self.unit = unit
        self.volume = volume
        self.box_size = box_size
        self.n_jobs = n_jobs
        self.device = device

    def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Finds the groups of points.

        Parameters
        ----------
        X : array_like of shape (n_samples, n_features)
            Points of two or three coordinates. ``float32`` and ``float64`` in C order are not copied.

        y : ignored
            Ignored; present for API consistency with scikit-learn.

        sample_weight : array_like of shape (n_samples,), or float, optional
            The masses of the points, finite and not negative, not all zero. Default: 1 each.

        Returns
        -------
        self : HOP
            The estimator, fitted.

        Raises
        ------
        ValueError
            If the points, the masses or a parameter are invalid.
        """
        return self._fit(X, sample_weight)

    def _options(self, dim: int) -> HopOptions:
        """Returns the checked parameters for points of `dim` coordinates."""
        return HopOptions(
            delta_outer=_checks.real(self.delta_outer, "delta_outer"),
            delta_saddle=_checks.optional_real(self.delta_saddle, "delta_saddle"),
            delta_peak=_checks.optional_real(self.delta_peak, "delta_peak"),
            n_density=_checks.integer(self.n_density, "n_density", 1),
            n_hop=_checks.integer(self.n_hop, "n_hop", 1),
            n_merge=_checks.integer(self.n_merge, "n_merge", 0),
            min_members=_checks.integer(self.min_members, "min_members", 1),
            kernel=_checks.choice(self.kernel, "kernel", ("symmetric", "gather", "top_hat")),
            unit=_checks.choice(self.unit, "unit", ("mean", "absolute")),
            volume=_checks.optional_real(self.volume, "volume"),
            box_size=_arrays.sides(self.box_size, dim),
        )

    def _options_of_halos(self) -> HopOptions:
        """Returns the checked parameters for `halos`. Raises `ValueError` for parameters that `halos` does not use."""
        options = self._options(3)
        checked = vars(self) | vars(options)
        reasons = {name: f"halos has its own {name}; use halos(.., {name}=..)" for name in ("min_members", "box_size", "n_jobs", "device")}
        reasons["unit"] = "halos measures densities in units of the mean; use unit='mean'"
        reasons["volume"] = "halos uses the volume of its box; use halos(.., box_size=..)"
        for name, reason in reasons.items():
            if checked[name] != self._parameters()[name].default:
                raise ValueError(f"finder=HOP(.., {name}={getattr(self, name)!r}): {reason}")
        return options

    def _find(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[dict[str, Any], int]:
        points = self._fit_points(X, self.device)
        n, dim = _checks.shape(points)
        masses = self._fit_weights(sample_weight, n)
        if dim not in (2, 3):
            raise ValueError(f"X has {n} sample(s) with {dim} feature(s); HOP requires 2 or 3")
        groups = hop(points, masses=masses, **self.get_params())
        return {"groups_": groups, "labels_": groups.labels, "density_": groups.density}, dim
