"""Prepared interpolation: weights of the sources of each target, which can be applied to any values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _native
from ropewalk._arrays import numbers
from ropewalk._types import Indices

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Interpolator:
    """A map from values at sources to values at targets: a sparse matrix with a row for each target.

    `MovingLeastSquares`, `Sph` and `InverseDistance` create it. It can be applied to any number of fields. It cannot be pickled, but
    `matrix` returns its coefficients.

    Attributes
    ----------
    n_sources : int
        The number of sources, which is the number of values of each field.

    n_lower : int
        The number of targets whose degree is lower than requested, including those without neighbours.

    n_without_neighbors : int
        The number of targets without neighbours, whose values are those of the fallback.

    Examples
    --------
    >>> import numpy as np
    >>> from ropewalk import InverseDistance
    >>> interpolator = InverseDistance(k=2).prepare([[0.0], [3.0], [9.0]], [[1.0], [3.0]])
    >>> interpolator
    Interpolator(targets=2, sources=3)
    >>> interpolator.apply([10.0, 20.0, 0.0])
    array([12., 20.])
    >>> interpolator.apply([[10.0, 1.0], [20.0, 1.0], [0.0, 1.0]])                  # two fields
    array([[12.,  1.],
           [20.,  1.]])
    """

    __slots__ = ("_n_jobs", "_native")

    def __init__(self, native: _native.Interpolator, n_jobs: int | None) -> None:
        self._native, self._n_jobs = native, n_jobs

    def __len__(self) -> int:
        return self._native.n_targets

    def __repr__(self) -> str:
        return f"Interpolator(targets={len(self)}, sources={self.n_sources})"

    def __reduce__(self) -> Any:
        raise TypeError("an Interpolator cannot be pickled; send its `matrix()`, which are arrays, or sources and targets, and prepare it there")

    @property
    def n_sources(self) -> int:
        """The number of sources, which is the number of values of each field."""
        return self._native.n_sources

    @property
    def n_lower(self) -> int:
        """The number of targets whose degree is lower than requested, including those without neighbours."""
        return self._native.n_lower

    @property
    def n_without_neighbors(self) -> int:
        """The number of targets without neighbours, whose values are those of the fallback."""
        return self._native.n_without_neighbors

    @property
    def degrees(self) -> NDArray[np.int8]:
        """The degree of polynomials whose values are reproduced at each target; -1 if not even constants are.

        The degree is -1 for sums that are not normalized, and for targets without sources. For gradients see `gradient`.
        """
        return self._native.degrees()

    def apply(self, values: ArrayLike) -> NDArray[np.float64]:
        """Computes the values at the targets, of one field or of several at once.

        Parameters
        ----------
        values : array_like of shape (sources,) or (sources, fields)
            The values at the sources, in the order of the sources.

        Returns
        -------
        ndarray of float64, shape (targets,) or (targets, fields)
            The values at the targets. For targets without sources they are NaN, or 0 if values are sums.

        Raises
        ------
        ValueError
            If there is not exactly one value or one row for each source, or a value is not finite.
        """
        array = self._values(values, (1, 2))
        rows = array if array.ndim == 2 else array[:, None]
        if rows.shape[1] == 0:
            return np.empty((len(self), 0))
        found = self._native.apply(np.ascontiguousarray(rows), self._n_jobs)
        return found[:, 0] if array.ndim == 1 else found

    def gradient(self, values: ArrayLike) -> NDArray[np.float64]:
        """Computes the gradient of a field at each target, which is the gradient of the polynomial fitted there.

        The gradient is 0 for degree 0. For a higher degree it is exact for polynomials of that degree, unless a nonzero polynomial of the
        degree vanishes at all neighbours. Such a polynomial exists if the neighbours are in a plane. For degree 2 it also exists if they
        are on a quadric, such as a sphere, a cylinder, or in two dimensions a circle.

        For neighbours on such a surface, values are reproduced, as `degrees` reports, but only the component of the gradient along the
        surface is exact. The component across the surface is not determined: it is 0 for a plane, and arbitrary for other surfaces. On a
        curved surface, degree 1 gives the whole gradient of linear functions.

        The result is not the derivative of the interpolated values with respect to the target, since the weights depend on the target,
        too.

        Parameters
        ----------
        values : array_like of shape (sources,)
            The values at the sources, in the order of the sources.

        Returns
        -------
        ndarray of float64, shape (targets, dim)
            The gradients.

        Raises
        ------
        ValueError
            As for `apply`, and if gradients were not prepared with ``MovingLeastSquares(gradients=True)``.

        Examples
        --------
        >>> import numpy as np
        >>> from ropewalk import MovingLeastSquares
        >>> x, y = sources = np.random.default_rng(0).random((2, 500))
        >>> found = MovingLeastSquares(gradients=True).prepare(sources.T, [[0.25, 0.5]])
        >>> found.gradient(x**2 - y).round(9)
        array([[ 0.5, -1. ]])
        """
        return self._native.gradient(np.ascontiguousarray(self._values(values, (1,))), self._n_jobs)

    def to_scipy(self) -> csr_array:
        """Returns the coefficients as a sparse matrix of scipy. Its product with the values at the sources equals `apply`.

        Returns
        -------
        scipy.sparse.csr_array of shape (targets, sources)
            The matrix. The sources of each row are ordered by distance, nearest first.
        """
        from scipy.sparse import csr_array

        offsets, sources, coefficients = self.matrix()
        # Arrays of the library are read-only, but callers may change a matrix.
        return csr_array((coefficients.copy(), sources, offsets), shape=(len(self), self.n_sources))

    def matrix(self) -> tuple[NDArray[np.int64], Indices, NDArray[np.float64]]:
        """Returns offsets, sources and coefficients. Target ``i`` has ``sources[offsets[i]:offsets[i + 1]]``, nearest first."""
        return self._native.matrix(self._n_jobs)

    def _values(self, values: ArrayLike, dims: tuple[int, ...]) -> NDArray[np.float64]:
        array = numbers(values, "values").astype(np.float64, copy=False)
        if array.ndim not in dims or len(array) != self.n_sources:
            rows = "one value" if 2 not in dims else "one value or a row of values"
            raise ValueError(f"values has the shape {array.shape}; it must have {rows} for each of {self.n_sources} sources")
        return array
