"""Interpolation that is prepared: weights of sources for each target, to be applied to any values."""

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
    """What makes values at targets of values at sources: a sparse matrix with a row for each target.

    `MovingLeastSquares`, `Sph` and `InverseDistance` prepare one; it takes any number of fields. It cannot be pickled, but `matrix` has
    its coefficients.

    Attributes
    ----------
    n_sources : int
        How many sources there are: each field has as many values.
    n_lower : int
        How many targets have a lower degree than was asked for, those without a neighbour included.
    n_without_neighbors : int
        How many targets have no source near enough to count: their values are those of the fallback.

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
        """How many sources there are: each field has as many values."""
        return self._native.n_sources

    @property
    def n_lower(self) -> int:
        """How many targets have a lower degree than was asked for, those without a neighbour included."""
        return self._native.n_lower

    @property
    def n_without_neighbors(self) -> int:
        """How many targets have no source near enough to count: their values are those of the fallback."""
        return self._native.n_without_neighbors

    @property
    def degrees(self) -> NDArray[np.int8]:
        """The degree of the polynomials whose values are reproduced at each target; -1 where not even constants are.

        `gradient` says what of gradients is. Without a degree are sums that are not normed, and targets that take from no source.
        """
        return self._native.degrees()

    def apply(self, values: ArrayLike) -> NDArray[np.float64]:
        """The values at the targets of a field, or of several at once.

        Parameters
        ----------
        values : array_like of shape (sources,) or (sources, fields)
            The values at the sources, in their order.

        Returns
        -------
        ndarray of float64, shape (targets,) or (targets, fields)
            What they are at the targets. Those without sources have NaN, sums 0.

        Raises
        ------
        ValueError
            If there is other than one value, or one row, for each source, or a value is not finite.
        """
        array = self._values(values, (1, 2))
        rows = array if array.ndim == 2 else array[:, None]
        if rows.shape[1] == 0:
            return np.empty((len(self), 0))
        found = self._native.apply(np.ascontiguousarray(rows), self._n_jobs)
        return found[:, 0] if array.ndim == 1 else found

    def gradient(self, values: ArrayLike) -> NDArray[np.float64]:
        """The gradient of a field at each target: that of the polynomial which is fitted there.

        It is 0 for a degree of 0; otherwise that of the field for polynomials of the degree that is reproduced, if no other one of that degree is 0
        at all neighbours. There is such a one where neighbours lie in a plane, and of degree 2 on any quadric: a sphere, a cylinder, in two
        dimensions a circle. Values on it are reproduced, which `degrees` tells; of the gradient only the part along the surface is. The part
        across it is not determined: it is 0 for a plane, and says nothing of the field for others. Degree 1 has the whole gradient of linear
        functions on these.

        It is not the exact derivative of the values as a function of the target, of which weights are a part.

        Parameters
        ----------
        values : array_like of shape (sources,)
            The values at the sources, in their order.

        Returns
        -------
        ndarray of float64, shape (targets, dim)
            The gradients.

        Raises
        ------
        ValueError
            As `apply`, and if gradients were not prepared: ``MovingLeastSquares(gradients=True)``.

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
        """The coefficients as a sparse matrix of scipy: its product with the values at the sources is `apply`.

        Returns
        -------
        scipy.sparse.csr_array of shape (targets, sources)
            The sources of each row are the nearest first.
        """
        from scipy.sparse import csr_array

        offsets, sources, coefficients = self.matrix()
        # Arrays of the library are read-only; a matrix may be changed.
        return csr_array((coefficients.copy(), sources, offsets), shape=(len(self), self.n_sources))

    def matrix(self) -> tuple[NDArray[np.int64], Indices, NDArray[np.float64]]:
        """Offsets, sources and coefficients: target ``i`` is made of ``sources[offsets[i]:offsets[i + 1]]``, the nearest first."""
        return self._native.matrix(self._n_jobs)

    def _values(self, values: ArrayLike, dims: tuple[int, ...]) -> NDArray[np.float64]:
        array = numbers(values, "values").astype(np.float64, copy=False)
        if array.ndim not in dims or len(array) != self.n_sources:
            rows = "one value for each of" if 2 not in dims else "one value, or a row of values, for each of"
            raise ValueError(f"values has the shape {array.shape}; {rows} {self.n_sources} sources is needed")
        return array
