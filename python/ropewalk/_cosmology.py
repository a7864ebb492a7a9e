"""The expected number density of halos, for comparison with a catalogue."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _checks, _native
from ropewalk._arrays import numbers


def halos_above(
    masses: ArrayLike,
    fit: str = "warren2006",
    *,
    redshift: float = 0.0,
    omega_m: float = 0.31,
    omega_lambda: float | None = None,
    omega_b: float = 0.049,
    h: float = 0.68,
    sigma_8: float = 0.82,
    n_s: float = 0.965,
) -> NDArray[np.float64]:
    """Computes the expected number density of halos above given masses: the cumulative mass function of a fit to simulations.

    Parameters
    ----------
    masses : float or array of shape (n,)
        Masses in Msun/h, positive and ascending.

    fit : {"warren2006", "tinker2008"}
        The fit: Warren et al. 2006 for friends of friends with a linking length of 0.2 mean separations, or Tinker et al. 2008 for
        spheres of 200 times the mean density (``"200m"``).

    redshift : float
        The redshift, above -1.

    omega_m, omega_lambda, omega_b : float
        The densities of matter, of the cosmological constant and of baryons today, over the critical density. Matter includes the
        baryons. Default of `omega_lambda`: a flat universe.

    h : float
        The Hubble constant in 100 km/s/Mpc.

    sigma_8 : float
        The standard deviation of the linear density today in spheres of 8 Mpc/h.

    n_s : float
        The slope of the primordial power spectrum.

    Returns
    -------
    numpy.ndarray of float64, shape (n,)
        The number of halos per comoving (Mpc/h)^3.

    Raises
    ------
    ValueError
        If masses are not ascending, or a parameter is out of range.

    Notes
    -----
    The power spectrum is that of Eisenstein and Hu 1998, section 4.2, without wiggles; the defaults are close to Planck
    Collaboration 2020. For halos per bin, take differences: ``-numpy.diff(halos_above(edges))``.

    Examples
    --------
    >>> import ropewalk
    >>> clusters = ropewalk.halos_above([1e14, 1e15])
    >>> clusters[0] * 500**3 > 1000 > clusters[1] * 500**3
    np.True_
    """
    values = np.atleast_1d(numbers(masses, "masses")).astype(np.float64)
    if values.ndim != 1:
        raise ValueError(f"masses has the shape {values.shape}; it must have one axis")
    universe = {
        "omega_m": _checks.real(omega_m, "omega_m"),
        "omega_lambda": 1.0 - float(omega_m) if omega_lambda is None else _checks.real(omega_lambda, "omega_lambda"),
        "omega_b": _checks.real(omega_b, "omega_b"),
        "h": _checks.real(h, "h"),
        "sigma_8": _checks.real(sigma_8, "sigma_8"),
        "n_s": _checks.real(n_s, "n_s"),
        "redshift": _checks.real(redshift, "redshift"),
    }
    by_spheres = _checks.choice(fit, "fit", ("warren2006", "tinker2008")) == "tinker2008"
    return _native.halos_above(values.tolist(), universe, by_spheres)
