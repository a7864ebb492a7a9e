"""The expected numbers of halos, compared with the fits' formulas and an independent power spectrum."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from ropewalk import halos_above

OMEGA_M, OMEGA_B, H, SIGMA_8, N_S = 0.31, 0.049, 0.68, 0.82, 0.965
#: The mean matter density in Msun/h per (Mpc/h)^3.
MEAN = OMEGA_M * 2.77536627e11


def transfer(k: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the transfer function of Eisenstein and Hu 1998, equations 26 and 28 to 31; wavenumbers in h/Mpc."""
    matter, baryons, part = OMEGA_M * H**2, OMEGA_B * H**2, OMEGA_B / OMEGA_M
    sound = 44.5 * np.log(9.83 / matter) / np.sqrt(1 + 10 * baryons**0.75)
    alpha = 1 - 0.328 * np.log(431 * matter) * part + 0.38 * np.log(22.3 * matter) * part**2
    shape = OMEGA_M * H * (alpha + (1 - alpha) / (1 + (0.43 * k * H * sound) ** 4))
    q = k * (2.7255 / 2.7) ** 2 / shape
    logarithm = np.log(2 * np.e + 1.8 * q)
    result: NDArray[np.float64] = logarithm / (logarithm + (14.2 + 731 / (1 + 62.5 * q)) * q**2)
    return result


def expected(fit: str, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns halos per bin and (Mpc/h)^3 by the trapezoidal rule over dn/dlnM, where the library sums over ln(1/sigma)."""
    ln_k = np.linspace(-11, 9, 8001)
    k = np.exp(ln_k)

    def sigma(radius: NDArray[np.float64]) -> NDArray[np.float64]:
        x = radius[:, None] * k
        window = 3 * (np.sin(x) - x * np.cos(x)) / x**3
        window[x < 1e-2] = 1
        return np.sqrt(np.sum(k ** (3 + N_S) * (transfer(k) * window) ** 2, axis=1))

    masses = np.geomspace(edges[0], edges[-1], 40 * (len(edges) - 1) + 1)
    s = sigma((3 * masses / (4 * np.pi * MEAN)) ** (1 / 3)) * SIGMA_8 / sigma(np.array([8.0]))
    if fit == "warren2006":
        fraction = 0.7234 * (s**-1.625 + 0.2538) * np.exp(-1.1982 / s**2)
    else:
        fraction = 0.186 * ((s / 2.57) ** -1.47 + 1) * np.exp(-1.19 / s**2)
    density = fraction * MEAN / masses * np.gradient(-np.log(s), np.log(masses))
    steps = 0.5 * (density[1:] + density[:-1]) * np.diff(np.log(masses))
    summed: NDArray[np.float64] = steps.reshape(len(edges) - 1, 40).sum(axis=1)
    return summed


@pytest.mark.parametrize("fit", ["warren2006", "tinker2008"])
def test_halos_in_bins_are_the_fits_with_the_same_power_spectrum(fit: str) -> None:
    edges = np.geomspace(1e11, 1e15, 9)
    np.testing.assert_allclose(-np.diff(halos_above(edges, fit)), expected(fit, edges), rtol=1e-2)


def test_there_are_fewer_halos_at_earlier_times_and_above_larger_masses() -> None:
    now, then = halos_above([1e12, 1e13]), halos_above([1e12, 1e13], redshift=2)
    assert now[0] > now[1] > 0 and (now > then).all()
    np.testing.assert_allclose(halos_above(1e12), now[:1], rtol=1e-5)
    assert halos_above([]).shape == (0,)


def test_what_cannot_be_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="a mass is 1000000000000; it must be positive"):
        halos_above([1e13, 1e12])
    with pytest.raises(ValueError, match="sigma_8 is 0"):
        halos_above([1e13], sigma_8=0)
    with pytest.raises(ValueError, match="h is 70"):
        halos_above([1e13], h=70)
    with pytest.raises(ValueError, match="fit is 'tinker'"):
        halos_above([1e13], "tinker")
    with pytest.raises(TypeError, match="h is 'big'"):
        halos_above([1e13], h="big")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one axis"):
        halos_above([[1e13]])
