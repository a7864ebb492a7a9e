"""Values at places of what is known at others: moving least squares, smoothed particles, inverse distances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _native
from ropewalk._arrays import box, numbers, vector
from ropewalk._arrays import points as as_points
from ropewalk._checks import choice, integer, real, threads
from ropewalk._interpolator import Interpolator
from ropewalk._types import InterpolationOptions

#: How much neighbours count for `MovingLeastSquares`.
WEIGHTS = (
    "wendland0",
    "wendland2",
    "wendland4",
    "wendland6",
    "wu2",
    "wu4",
    "buhmann2",
    "buhmann3",
    "buhmann4",
    "gaussian",
)
KERNELS = ("cubic_spline", "wendland_c2", "wendland_c4", "wendland_c6")
FALLBACKS = ("nan", "nearest", "inverse_distance")


class MovingLeastSquares:
    """Moving least squares: at each target a polynomial of its own, fitted to its neighbours.

    Parameters
    ----------
    degree : int
        0, 1 or 2. Polynomials of this degree are reproduced.
    k : int, optional
        The `k` nearest sources count; weights end at 1.1 times the distance of the last. By default twice as many as a polynomial has coefficients:
        20 of degree 2 in three dimensions.
    radius : float, optional
        Instead of `k`: all sources within it count, where weights end. Values are then as smooth a function of the target as weights are.
    weight : str
        How much neighbours count by their distance: "wendland0", "wendland2", "wendland4", "wendland6", "wu2", "wu4", "buhmann2",
        "buhmann3", "buhmann4" or "gaussian"; the number is how many continuous derivatives there are.
    fallback : {"nan", "nearest", "inverse_distance"}
        What a target gets that has no source within the radius.
    gradients : bool
        Whether `Interpolator.gradient` is prepared, too.
    box_size : float or sequence of floats, optional
        The sides of a periodic box. By default space is open.
    n_jobs : int, optional
        The number of threads; None is the number that `set_threads` set, -1 all processors.

    Raises
    ------
    ValueError
        If `degree`, `k`, `radius` or a word is out of range; `prepare` tells the rest.

    Notes
    -----
    Where sources are too few or lie so that they do not determine the value of a polynomial at the target (on a line, in a plane beside it),
    the degree is lower there, and `Interpolator.degrees` tells. Fits are by decompositions with pivoting in 64 bits [1]_.

    .. [1] Levin, D. (1998), "The approximation power of moving least-squares", Math. Comp. 67.

    Examples
    --------
    >>> import numpy as np
    >>> from ropewalk import MovingLeastSquares
    >>> sources = np.random.default_rng(0).random((1000, 2))
    >>> field = np.sin(3 * sources[:, 0]) + sources[:, 1]
    >>> MovingLeastSquares(degree=2, k=20).interpolate(sources, field, [[0.5, 0.5]]).round(3)
    array([1.497])
    """

    def __init__(
        self,
        degree: int = 2,
        k: int | None = None,
        radius: float | None = None,
        *,
        weight: str = "wendland2",
        fallback: str = "nan",
        gradients: bool = False,
        box_size: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.degree = integer(degree, "degree", 0, 2)
        self.k, self.radius = _reach(k, radius)
        self.weight = choice(weight, "weight", WEIGHTS)
        self.fallback = choice(fallback, "fallback", FALLBACKS)
        self.gradients = bool(gradients)
        self.box_size = box_size
        self.n_jobs = threads(n_jobs)

    def prepare(self, sources: ArrayLike, targets: ArrayLike) -> Interpolator:
        """The coefficients for each target, which any number of fields can be applied to.

        Parameters
        ----------
        sources : array_like of shape (n, dim)
            Where values are known, 1 to 10 coordinates each.
        targets : array_like of shape (m, dim)
            Where they are wanted.

        Returns
        -------
        Interpolator
            With `degrees`, `apply` and `gradient`.

        Raises
        ------
        ValueError
            If there are fewer neighbours than a polynomial has coefficients, a radius is more than half the periodic box, a coordinate is
            not finite, or targets have another dimension.
        """
        own = {"degree": self.degree, "weight": self.weight, "gradients": self.gradients}
        return _prepared(self, "moving_least_squares", sources, targets, own)

    def interpolate(self, sources: ArrayLike, values: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """The values at the targets: ``prepare(sources, targets).apply(values)``.

        Parameters
        ----------
        sources, targets
            As for `prepare`.
        values
            As for `Interpolator.apply`.
        """
        return self.prepare(sources, targets).apply(values)


class InverseDistance:
    """Inverse-distance weighting: each neighbour counts one over its distance to a power.

    Where a source is, the value is its own; where several are, their mean. Values are never beyond the least and the largest of the neighbours.

    Parameters
    ----------
    power : float
        The power of the distance.
    k : int, optional
        The `k` nearest sources count; 8 by default.
    radius : float, optional
        Instead of `k`: all sources within it count, the boundary included.
    fallback : {"nan", "nearest", "inverse_distance"}
        What a target gets that has no source within the radius.
    box_size : float or sequence of floats, optional
        The sides of a periodic box. By default space is open.
    n_jobs : int, optional
        The number of threads; None is the number that `set_threads` set, -1 all processors.

    Raises
    ------
    ValueError
        If `k`, `radius` or a word is out of range; `prepare` tells the rest.

    Examples
    --------
    >>> from ropewalk import InverseDistance
    >>> InverseDistance(k=2).interpolate([[0.0], [3.0], [9.0]], [10.0, 20.0, 0.0], [[1.0], [3.0]])
    array([12., 20.])
    """

    def __init__(
        self,
        power: float = 2.0,
        k: int | None = None,
        radius: float | None = None,
        *,
        fallback: str = "nan",
        box_size: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.power = real(power, "power")
        self.k, self.radius = _reach(k, radius)
        self.fallback = choice(fallback, "fallback", FALLBACKS)
        self.box_size = box_size
        self.n_jobs = threads(n_jobs)

    def prepare(self, sources: ArrayLike, targets: ArrayLike) -> Interpolator:
        """The coefficients for each target, which any number of fields can be applied to.

        Parameters
        ----------
        sources, targets
            As for `MovingLeastSquares.prepare`.

        Returns
        -------
        Interpolator
            Of degree 0.

        Raises
        ------
        ValueError
            If the power is not positive and finite, a radius is more than half the periodic box, a coordinate is not finite, or targets have
            another dimension.
        """
        return _prepared(self, "inverse_distance", sources, targets, {"power": self.power})

    def interpolate(self, sources: ArrayLike, values: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """The values at the targets: ``prepare(sources, targets).apply(values)``.

        Parameters
        ----------
        sources, targets
            As for `prepare`.
        values
            As for `Interpolator.apply`.
        """
        return self.prepare(sources, targets).apply(values)


class Sph:
    """Sums of a smoothing kernel: fields gathered from particles, and what particles scatter to places.

    Parameters
    ----------
    kernel : {"cubic_spline", "wendland_c2", "wendland_c4", "wendland_c6"}
        The kernel, whose integral is 1.
    k : int, optional
        Kernels end at 1.1 times the distance of the `k`-th neighbour; 32 by default.
    radius : float or array_like, optional
        Instead of `k`: where kernels end, one radius for all, or one for each target that gathers, or each source that scatters. The cubic
        spline's is 2h.
    volumes : array_like, optional
        The volume m/rho of each source, for `gather`; otherwise all are alike. A target whose sources all have a volume of 0 counts as one
        without sources, if `gather` divides by their sum.
    normalized : bool
        Whether `gather` divides by the sum of the kernel: then constants are reproduced, also near the boundary. Otherwise `volumes` are needed.
    fallback : {"nan", "nearest", "inverse_distance"}
        What a target gets that gathers and has no source within the radius. `scatter` takes neither this nor the two before.
    box_size : float or sequence of floats, optional
        The sides of a periodic box. By default space is open.
    n_jobs : int, optional
        The number of threads; None is the number that `set_threads` set, -1 all processors.

    Raises
    ------
    ValueError
        If `k`, `radius` or a word is out of range; `gather` and `scatter` tell the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from ropewalk import Sph
    >>> particles, cells = 0.1 * np.arange(100)[:, None], np.arange(12.0)[:, None]
    >>> Sph("wendland_c4", radius=0.5).gather(particles, [[5.0]]).apply(3 * particles[:, 0]).round(6)
    array([15.])
    >>> Sph(radius=2.0).scatter(particles, cells).apply(np.full(100, 0.5)).sum().round(9)       # what is scattered is all there is
    np.float64(50.0)
    """

    def __init__(
        self,
        kernel: str = "cubic_spline",
        k: int | None = None,
        radius: ArrayLike | None = None,
        *,
        volumes: ArrayLike | None = None,
        normalized: bool = True,
        fallback: str = "nan",
        box_size: ArrayLike | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = choice(kernel, "kernel", KERNELS)
        each = None if radius is None or np.ndim(radius) == 0 else numbers(radius, "radius").astype(np.float64)
        if each is not None and each.ndim != 1:
            raise ValueError(f"radius has the shape {each.shape}; one number, or one for each point, is needed")
        self.k, one = _reach(k, radius if each is None else 1.0)
        self.radius = one if each is None else each
        self.volumes = None if volumes is None else vector(volumes, np.size(volumes), "volumes")
        self.normalized = bool(normalized)
        self.fallback = choice(fallback, "fallback", FALLBACKS)
        self.box_size = box_size
        self.n_jobs = threads(n_jobs)

    def gather(self, sources: ArrayLike, targets: ArrayLike) -> Interpolator:
        """The coefficients for each target: its sum over sources, by its own radius.

        Parameters
        ----------
        sources, targets
            As for `MovingLeastSquares.prepare`.

        Returns
        -------
        Interpolator
            Of degree 0 if it is normed, otherwise -1.

        Raises
        ------
        ValueError
            If volumes are missing, negative or not one for each source; radii are not positive or not one for each target, or more than
            half the periodic box; a coordinate is not finite; targets have another dimension.
        """
        return _prepared(self, "gather", sources, targets, self._own())

    def scatter(self, sources: ArrayLike, targets: ArrayLike) -> Interpolator:
        """The coefficients with which each source shares its value among targets: the sum over all stays the same.

        A source with no target within its radius gives to the nearest.

        Parameters
        ----------
        sources, targets
            As for `MovingLeastSquares.prepare`.

        Returns
        -------
        Interpolator
            Targets without sources are 0.

        Raises
        ------
        ValueError
            If `volumes`, `normalized` or `fallback` are given, which are for `gather`; there is no target; radii are not positive or not one
            for each source, or more than half the periodic box; a coordinate is not finite; targets have another dimension.
        """
        own = {"volumes": self.volumes is None, "normalized": self.normalized, "fallback": self.fallback == "nan"}
        for name, is_default in own.items():
            if not is_default:
                raise ValueError(f"{name} is given, which is for gather; scatter shares all that a source has among targets")
        return _prepared(self, "scatter", sources, targets, self._own())

    def _own(self) -> dict[str, Any]:
        each = self.radius if isinstance(self.radius, np.ndarray) else None
        return {"kernel": self.kernel, "radii": each, "volumes": self.volumes, "normalized": self.normalized}


def _reach(k: int | None, radius: Any) -> tuple[int | None, float | None]:
    """How many neighbours count, or how far they are."""
    if k is not None and radius is not None:
        raise ValueError("k and radius are both given; either the k nearest count, or those within a radius")
    return None if k is None else integer(k, "k", 1), None if radius is None else real(radius, "radius")


def _prepared(
    options: MovingLeastSquares | InverseDistance | Sph, method: str, sources: ArrayLike, targets: ArrayLike, own: dict[str, Any]
) -> Interpolator:
    rows, places = as_points(sources, "sources"), as_points(targets, "targets")
    radius = options.radius if isinstance(options.radius, float) else None
    sides = box(options.box_size, rows, options.n_jobs)
    prepared = InterpolationOptions(method, options.k, radius, options.fallback, sides, **own)
    native = _native.prepare(prepared, rows, places, options.n_jobs)
    return Interpolator(native, options.n_jobs)
