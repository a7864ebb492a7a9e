"""What is accepted as points, boxes and weights; all else is refused with a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float32] | NDArray[np.float64]


def points(x: ArrayLike, name: str = "X") -> Floats:
    """An array of two dimensions in C order, ``float32`` or ``float64``; what is that already is not copied.

    Integers become ``float64``, ``float16`` becomes ``float32``. Raises `ValueError` for other dimensions, complex numbers, quantities
    with a unit, and text.
    """
    array = numbers(x, name)
    if array.ndim != 2:
        hint = "; reshape it to (n, 1) if it is one coordinate of n points" if array.ndim == 1 else ""
        raise ValueError(f"{name} has {array.ndim} dimensions; points are an array of two: (points, coordinates){hint}")
    return array


def numbers(x: ArrayLike, name: str) -> Floats:
    """The same for any number of dimensions."""
    refuse_unit(x, name)
    if hasattr(x, "toarray"):
        raise ValueError(f"{name} is a sparse matrix; a dense array is needed: {name}.toarray()")
    if np.ma.isMaskedArray(x):
        raise ValueError(f"{name} is a masked array; leave out what is masked, or fill it")
    array: NDArray[Any] = np.asarray(x)
    if np.issubdtype(array.dtype, np.complexfloating):
        raise ValueError(f"{name} is complex; real numbers are needed")
    if array.dtype.kind in "mM":
        raise ValueError(f"{name} holds times ({array.dtype}); numbers are needed: {name}.astype(float)")
    if array.dtype.kind in "SU":
        raise ValueError(f"{name} does not hold numbers: it is text; could not convert string to float without being told to")
    narrow = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    try:
        # Native byte order, one piece, aligned: otherwise a copy.
        return np.require(array, np.float32 if narrow else np.float64, ["C", "A"])
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} does not hold numbers: {error}") from error


def refuse_unit(x: object, name: str) -> None:
    """Refuses a quantity with a unit, which would be lost."""
    unit = _unit(x)
    if unit:
        raise ValueError(f"{name} has the unit {unit}; numbers have none here: give all lengths in one unit, {name}.to_value(unit)")


def _unit(x: object) -> str:
    """The unit of a quantity of astropy, unyt or pint; empty for a pure number."""
    for attribute in ("unit", "units"):
        # A data frame may have a column of that name.
        if isinstance(x, np.ndarray) or hasattr(type(x), attribute):
            text = str(getattr(x, attribute, None) or "")
            return "" if text in ("", "dimensionless") else text
    return ""


def vector(x: ArrayLike, n: int, name: str) -> NDArray[np.float64]:
    """One 64-bit number for each of `n` points."""
    array = np.ascontiguousarray(numbers(x, name), np.float64)
    if array.shape != (n,):
        raise ValueError(f"{name} has the shape {array.shape}; one number for each of {n} points is needed")
    return array


def sides(box_size: ArrayLike | None, dim: int) -> list[float] | None:
    """The sides of a periodic box: one for all axes, or one for each."""
    if box_size is None:
        return None
    array = np.ravel(numbers(box_size, "box_size"))
    if array.size == 1:
        array = np.repeat(array, dim)
    if array.size != dim:
        raise ValueError(f"box_size has {array.size} sides; the points have {dim} coordinates")
    return [float(side) for side in array]
