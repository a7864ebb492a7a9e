"""Point sets to try things on: the same bits for a seed on every machine, for any number of threads.

They are those of ``ropewalk sample``. Coordinates are ``float32`` in ``[0, box_size)``, in an order that says nothing about
where points are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ropewalk import _native
from ropewalk._checks import integer, real, threads

__all__ = ["lattice", "mock_halos", "nfw", "uniform"]


def uniform(n: int, *, seed: int = 0, box_size: float = 1.0, n_jobs: int | None = None) -> NDArray[np.float32]:
    """Independent uniform points in a cube.

    Parameters
    ----------
    n : int
        How many, at most 2^32 - 2.
    seed : int
        From 0 to 2^64 - 1.
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
        If a parameter is out of its range.

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
    """A cubic lattice, each point moved a little; in random order.

    Parameters
    ----------
    n : int
        How many: a cube such as ``100**3``.
    jitter : float
        How far a coordinate moves at most, either way and uniformly, in units of the spacing: from 0 to 0.5.
    seed, box_size, n_jobs
        As of `uniform`.

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
    """A spherical halo in the middle of a cube, out to its faces, with the profile of Navarro, Frenk and White (1997).

    Parameters
    ----------
    n : int
        How many.
    concentration : float
        The outermost radius over the scale radius, from 0.1 to 100.
    seed, box_size, n_jobs
        As of `uniform`.

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
    """What a snapshot of a simulation looks like: halos of NFW profiles on Rayleigh-Lévy flights in a periodic cube, and
    uniform points.

    Parameters
    ----------
    n : int
        How many points.
    background : float
        The part of them that is in no halo, from 0 to 1.
    alpha : float
        Halos of M points are as frequent as ``M**-alpha``.
    min_mass, max_mass : int
        The points of the smallest and of the largest halo; ``n // 50`` unless said otherwise.
    seed, box_size, n_jobs
        As of `uniform`.

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
    """Parameters as the library reads them: whole numbers, and others with all digits."""
    names = {"box": "box_size", "mmin": "min_mass", "mmax": "max_mass"}
    values: list[str] = []
    for key, value in parameters.items():
        own = names.get(key, key)
        whole = key in ("n", "seed", "mmin", "mmax")
        number = integer(value, own, 0, 2**64 - 1) if whole else real(value, own)  # type: ignore[arg-type]
        values.append(f"{key}={number!r}")
    return _native.sample(f"{name}:" + ",".join(values), threads(n_jobs))
