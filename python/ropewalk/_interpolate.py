"""Interpolation of scattered data: moving least squares, smoothed particles (SPH), inverse distances."""

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

#: The weight functions of `MovingLeastSquares`.
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
    """Moving least squares: a separate polynomial for each target, fitted to its neighbours.

    Parameters
    ----------
    degree : int
        The degree of the polynomials, from 0 to 4. Polynomials of this degree are reproduced.

    k : int, optional
        The number of nearest sources to fit. Weights fall to zero at 1.1 times the distance of the last one. Default: twice the number
        of coefficients of a polynomial, which is 20 for degree 2 in three dimensions.

    radius : float, optional
        Instead of `k`: fits all sources within this radius, where the weights fall to zero. Values are then as smooth a function of the
        target as the weights.

    weight : str
        The weight as a function of distance: "wendland0", "wendland2", "wendland4", "wendland6", "wu2", "wu4", "buhmann2",
        "buhmann3", "buhmann4" or "gaussian". The number in a name is that of continuous derivatives.

    fallback : {"nan", "nearest", "inverse_distance"}
        The value assigned to targets without sources within the radius.

    gradients : bool
        If `True`, also prepares `Interpolator.gradient`.

    box_size : float or sequence of floats, optional
        The sides of the periodic box. Default: open space.

    n_jobs : int, optional
        The number of threads; -1 means all processors. Default: the number set by `set_threads`.

    Raises
    ------
    ValueError
        If `degree`, `k`, `radius` or a word is invalid. `prepare` checks the rest.

    Notes
    -----
    The degree is reduced for a target whose sources are too few or do not determine the value of a polynomial there, such as sources on
    a line, or in a plane that does not contain the target. `Interpolator.degrees` reports the degrees. Fits use matrix decompositions
    with pivoting in 64-bit arithmetic [1]_.

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
        self.k, self.radius = _neighbor_choice(k, radius)
        self.weight = choice(weight, "weight", WEIGHTS)
        self.fallback = choice(fallback, "fallback", FALLBACKS)
        self.gradients = bool(gradients)
        self.box_size = box_size
        self.n_jobs = threads(n_jobs)

    def prepare(self, sources: ArrayLike, targets: ArrayLike) -> Interpolator:
        """Computes the coefficients of each target, which can be applied to any number of fields.

        Parameters
        ----------
        sources : array_like of shape (n, dim)
            The points with known values, of 1 to 10 coordinates.

        targets : array_like of shape (m, dim)
            The points at which values are computed.

        Returns
        -------
        Interpolator
            The interpolator, with `degrees`, `apply` and `gradient`.

        Raises
        ------
        ValueError
            If `k` is less than the number of coefficients of a polynomial, a radius is more than half the periodic box, a coordinate is
            not finite, or targets have another dimension than sources.
        """
        own = {"degree": self.degree, "weight": self.weight, "gradients": self.gradients}
        return _prepared(self, "moving_least_squares", sources, targets, own)

    def interpolate(self, sources: ArrayLike, values: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """Computes the values at the targets: ``prepare(sources, targets).apply(values)``.

        Parameters
        ----------
        sources, targets
            As for `prepare`.

        values
            As for `Interpolator.apply`.
        """
        return self.prepare(sources, targets).apply(values)


class InverseDistance:
    """Inverse-distance weighting: the weight of a neighbour is the inverse of a power of its distance.

    At the position of a source the value is that of the source, or the mean if several sources are there. Values are never outside the
    range of the neighbours' values.

    Parameters
    ----------
    power : float
        The power of the distance.

    k : int, optional
        The number of nearest sources to use. Default: 8.

    radius : float, optional
        Instead of `k`: uses all sources within this radius, inclusive.

    fallback : {"nan", "nearest", "inverse_distance"}
        The value assigned to targets without sources within the radius.

    box_size : float or sequence of floats, optional
        The sides of the periodic box. Default: open space.

    n_jobs : int, optional
        The number of threads; -1 means all processors. Default: the number set by `set_threads`.

    Raises
    ------
    ValueError
        If `k`, `radius` or a word is invalid. `prepare` checks the rest.

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
        self.k, self.radius = _neighbor_choice(k, radius)
        self.fallback = choice(fallback, "fallback", FALLBACKS)
        self.box_size = box_size
        self.n_jobs = threads(n_jobs)

    def prepare(self, sources: ArrayLike, targets: ArrayLike) -> Interpolator:
        """Computes the coefficients of each target, which can be applied to any number of fields.

        Parameters
        ----------
        sources, targets
            As for `MovingLeastSquares.prepare`.

        Returns
        -------
        Interpolator
            An interpolator of degree 0.

        Raises
        ------
        ValueError
            If the power is not positive and finite, a radius is more than half the periodic box, a coordinate is not finite, or targets
            have another dimension than sources.
        """
        return _prepared(self, "inverse_distance", sources, targets, {"power": self.power})

    def interpolate(self, sources: ArrayLike, values: ArrayLike, targets: ArrayLike) -> NDArray[np.float64]:
        """Computes the values at the targets: ``prepare(sources, targets).apply(values)``.

        Parameters
        ----------
        sources, targets
            As for `prepare`.

        values
            As for `Interpolator.apply`.
        """
        return self.prepare(sources, targets).apply(values)


class Sph:
    """Smoothed particles (SPH): fields gathered from particles, and quantities scattered from particles to targets.

    Parameters
    ----------
    kernel : {"cubic_spline", "wendland_c2", "wendland_c4", "wendland_c6"}
        The smoothing kernel. Its integral is 1.

    k : int, optional
        The number of the neighbour that sets the kernel's radius, 1.1 times its distance. Default: 32.

    radius : float or array_like, optional
        Instead of `k`: the radius at which kernels fall to zero. Either one radius for all, or one for each target in `gather` or for
        each source in `scatter`. For the cubic spline it is 2h.

    volumes : array_like, optional
        The volume m/rho of each source, for `gather`. Default: equal volumes. If `normalized`, a target whose sources all have a volume
        of 0 counts as a target without sources.

    normalized : bool
        If `True`, `gather` divides by the sum of kernel weights, so that constants are reproduced, also near the boundary. If `False`,
        `volumes` are required.

    fallback : {"nan", "nearest", "inverse_distance"}
        The value that `gather` assigns to targets without sources within the radius. `scatter` accepts none of `volumes`, `normalized`
        and `fallback`.

    box_size : float or sequence of floats, optional
        The sides of the periodic box. Default: open space.

    n_jobs : int, optional
        The number of threads; -1 means all processors. Default: the number set by `set_threads`.

    Raises
    ------
    ValueError
        If `k`, `radius` or a word is invalid. `gather` and `scatter` check the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from ropewalk import Sph
    >>> particles, cells = 0.1 * np.arange(100)[:, None], np.arange(12.0)[:, None]
    >>> Sph("wendland_c4", radius=0.5).gather(particles, [[5.0]]).apply(3 * particles[:, 0]).round(6)
    array([15.])
    >>> Sph(radius=2.0).scatter(particles, cells).apply(np.full(100, 0.5)).sum().round(9)       # the total is conserved
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
            raise ValueError(f"radius has the shape {each.shape}; it must be a number or have one axis, one radius for each point")
        self.k, one = _neighbor_choice(k, radius if each is None else 1.0)
        self.radius = one if each is None else each
        self.volumes = None if volumes is None else vector(volumes, np.size(volumes), "volumes")
        self.normalized = bool(normalized)
        self.fallback = choice(fallback, "fallback", FALLBACKS)
        self.box_size = box_size
        self.n_jobs = threads(n_jobs)

    def gather(self, sources: ArrayLike, targets: ArrayLike) -> Interpolator:
        """Computes the coefficients of each target for its sum over sources within its own radius.

        Parameters
        ----------
        sources, targets
            As for `MovingLeastSquares.prepare`.

        Returns
        -------
        Interpolator
            An interpolator of degree 0 if `normalized`, else of degree -1.

        Raises
        ------
        ValueError
            If volumes are missing, negative or not one for each source; if radii are not positive, not one for each target, or more than
            half the periodic box. Also if a coordinate is not finite, or targets have another dimension than sources.
        """
        return _prepared(self, "gather", sources, targets, self._own())

    def scatter(self, sources: ArrayLike, targets: ArrayLike) -> Interpolator:
        """Computes the coefficients that distribute the value of each source among targets, so that the total is conserved.

        The value of a source without a target within its radius goes to the nearest target.

        Parameters
        ----------
        sources, targets
            As for `MovingLeastSquares.prepare`.

        Returns
        -------
        Interpolator
            An interpolator whose values are 0 at targets without sources.

        Raises
        ------
        ValueError
            If `volumes`, `normalized` or `fallback` are given, which are for `gather`; if there is no target; if radii are not positive,
            not one for each source, or more than half the periodic box. Also if a coordinate is not finite, or targets have another
            dimension than sources.
        """
        own = {"volumes": self.volumes is None, "normalized": self.normalized, "fallback": self.fallback == "nan"}
        for name, is_default in own.items():
            if not is_default:
                raise ValueError(f"{name} is given, but only gather supports it; scatter distributes the whole value of each source")
        return _prepared(self, "scatter", sources, targets, self._own())

    def _own(self) -> dict[str, Any]:
        each = self.radius if isinstance(self.radius, np.ndarray) else None
        return {"kernel": self.kernel, "radii": each, "volumes": self.volumes, "normalized": self.normalized}


def _neighbor_choice(k: int | None, radius: Any) -> tuple[int | None, float | None]:
    """Checks the two alternatives for choosing neighbours: their number `k`, or a radius."""
    if k is not None and radius is not None:
        raise ValueError("k and radius are both given; give the number of neighbours or their maximum distance")
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
