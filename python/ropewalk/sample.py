"""Random point sets for experiments, equal to those of ``ropewalk sample``.

For a given seed the bits are the same on every machine and for any number of threads. Coordinates are ``float32`` in
``[0, box_size)``. The order of points is unrelated to their positions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ropewalk import _native
from ropewalk._checks import integer, real, threads

__all__ = ["lattice", "mock_halos", "nfw", "uniform"]


def uniform(n: int, *, seed: int = 0, box_size: float = 1.0, n_jobs: int | None = None) -> NDArray[np.float32]:
    """Samples independent uniform points in a cube.

    Parameters
    ----------
    n : int
        The number of points, at most 2^32 - 2.

    seed : int
        The seed, from 0 to 2^64 - 1.

    box_size : float
        The side of the cube, from 1e-15 to 1e15.

    n_jobs : int, optional
        The number of threads.

    Returns
    -------
    numpy.ndarray of float32, shape (n, 3)

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> from ropewalk import sample
    >>> sample.uniform(1000, seed=7, box_size=2).shape
    (1000, 3)
    """
    return _sample("uniform", n_jobs, n=n, seed=seed, box=box_size)


def lattice(
    n: int, *, jitter: float = 0.0, seed: int = 0, box_size: float = 1.0, n_jobs: int | None = None
) -> NDArray[np.float32]:
    """Samples a cubic lattice with random displacements, in random order.

    Parameters
    ----------
    n : int
        The number of points: a cubic number such as ``100**3``.

    jitter : float
        The maximum displacement of a coordinate in units of the spacing, from 0 to 0.5. Displacements are uniform in both directions.

    seed, box_size, n_jobs
        As for `uniform`.

    Returns
    -------
    numpy.ndarray of float32, shape (n, 3)

    Examples
    --------
    >>> from ropewalk import sample
    >>> sorted(sample.lattice(8, box_size=4).tolist())[:2]
    [[1.0, 1.0, 1.0], [1.0, 1.0, 3.0]]
    """
    return _sample("lattice", n_jobs, n=n, jitter=jitter, seed=seed, box=box_size)


def nfw(
    n: int, *, concentration: float = 10.0, seed: int = 0, box_size: float = 1.0, n_jobs: int | None = None
) -> NDArray[np.float32]:
    """Samples a spherical halo at the centre of a cube, out to its faces, with the profile of Navarro, Frenk and White (1997).

    Parameters
    ----------
    n : int
        The number of points.

    concentration : float
        The outer radius over the scale radius, from 0.1 to 100.

    seed, box_size, n_jobs
        As for `uniform`.

    Returns
    -------
    numpy.ndarray of float32, shape (n, 3)

    Examples
    --------
    >>> from ropewalk import sample
    >>> points = sample.nfw(1000, concentration=5, seed=1, box_size=2)
    >>> bool(abs(points.mean(axis=0) - 1).max() < 0.1)
    True
    """
    return _sample("nfw", n_jobs, n=n, concentration=concentration, seed=seed, box=box_size)


def mock_halos(
    n: int,
    *,
    background: float = 0.3,
    alpha: float = 1.9,
    min_mass: int = 20,
    max_mass: int | None = None,
    seed: int = 0,
    box_size: float = 1.0,
    n_jobs: int | None = None,
) -> NDArray[np.float32]:
    """Samples points similar to a simulation snapshot: halos with NFW profiles on Rayleigh-Lévy flights in a periodic cube, and
    uniform points.

    Parameters
    ----------
    n : int
        The number of points.

    background : float
        The fraction of uniform points outside halos, from 0 to 1.

    alpha : float
        The exponent of the mass function: the frequency of halos of M points is proportional to ``M**-alpha``.

    min_mass, max_mass : int
        The number of points of the smallest and of the largest halo. Default of `max_mass`: ``n // 50``.

    seed, box_size, n_jobs
        As for `uniform`.

    Returns
    -------
    numpy.ndarray of float32, shape (n, 3)

    Examples
    --------
    >>> from ropewalk import friends_of_friends, sample
    >>> points = sample.mock_halos(10_000, seed=1, box_size=10)
    >>> friends_of_friends(points, 0.2 * 10 / 10_000 ** (1 / 3), min_members=100, box_size=10).sizes.max() > 100
    np.True_
    """
    most = {} if max_mass is None else {"mmax": max_mass}
    return _sample("halos", n_jobs, n=n, background=background, alpha=alpha, mmin=min_mass, **most, seed=seed, box=box_size)


def _sample(name: str, n_jobs: int | None, **parameters: float) -> NDArray[np.float32]:
    """Samples the named set. Parameters are passed as text: integers, and other numbers with all digits."""
    names = {"box": "box_size", "mmin": "min_mass", "mmax": "max_mass"}
    values: list[str] = []
    for key, value in parameters.items():
        own = names.get(key, key)
        whole = key in ("n", "seed", "mmin", "mmax")
        number = integer(value, own, 0, 2**64 - 1) if whole else real(value, own)  # type: ignore[arg-type]
        values.append(f"{key}={number!r}")
    return _native.sample(f"{name}:" + ",".join(values), threads(n_jobs))
