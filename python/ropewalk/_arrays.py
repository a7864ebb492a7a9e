"""Conversion and validation of arguments that hold points, boxes and weights."""

from __future__ import annotations

import numbers as abstract
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _frames, _native
from ropewalk._text import counted
from ropewalk._types import Floats


def points(x: ArrayLike, name: str = "X") -> Floats:
    """Converts points to a two-dimensional ``float32`` or ``float64`` array in C order. Such an array is not copied.

    Integers and long doubles become ``float64``, ``float16`` becomes ``float32``. Raises `ValueError` for arrays that are not
    two-dimensional, complex numbers, quantities with a unit, text, and numbers that ``float64`` does not hold exactly.
    """
    array = numbers(x, name)
    if array.ndim != 2:
        hint = "; reshape it to (n, 1) if it is one coordinate of n points" if array.ndim == 1 else ""
        raise ValueError(f"{name} has {counted(array.ndim, 'dimension')}; points must be a two-dimensional array, (points, coordinates){hint}")
    return array


def numbers(x: ArrayLike, name: str) -> Floats:
    """Converts an array of any number of dimensions to ``float32`` or ``float64``, with the same rules as `points`."""
    refuse_unit(x, name)
    if hasattr(x, "toarray"):
        raise ValueError(f"{name} is a sparse matrix; pass a dense array: {name}.toarray()")
    if np.ma.isMaskedArray(x):
        raise ValueError(f"{name} is a masked array; drop or fill the masked entries")
    x = _frames.unwrapped(x, name)
    array: NDArray[Any] = _frames.stacked(x, np.asarray(x), name)
    if np.issubdtype(array.dtype, np.complexfloating):
        raise ValueError(f"{name} is complex; it must be real")
    if array.dtype.kind in "mM":
        raise ValueError(f"{name} holds times ({array.dtype}); convert them to numbers: {name}.astype(float)")
    if array.dtype.kind in "SU":
        raise ValueError(f"{name} holds text, not numbers")
    narrow = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    try:
        # Copies unless the array has native byte order and is contiguous and aligned.
        found: Floats = np.require(array, np.float32 if narrow else np.float64, ["C", "A"])
    except OverflowError as error:
        raise ValueError(f"{name} has a number that is too large for float64: {error}") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} does not hold numbers: {error}") from error
    refuse_rounded(x, array, name)
    return found


#: All integers up to this one are exact in ``float64``.
_EXACT = 2**53


def refuse_rounded(x: object, array: NDArray[Any], name: str) -> None:
    """Raises `ValueError` for numbers that ``float64`` would round: large integers and long doubles. `array` is ``numpy.asarray(x)``."""
    at = _first_rounded(array)
    if at is not None:
        _refuse(name, list(at), array[at])
    if isinstance(x, np.ndarray) or array.dtype != np.float64:
        return
    # NumPy converts integers that are mixed with floats to float64, so integers are checked before that conversion.
    for place, column in enumerate(_frames.columns(x)):
        at = _first_rounded(column) if column.ndim == 1 else None
        if at is not None:
            _refuse(name, [*at, place], column[at])
    if isinstance(x, (list, tuple)):
        given = np.asarray(x, object)
        at = _first_rounded(given)
        if at is not None:
            _refuse(name, list(at), given[at])


def _refuse(name: str, at: list[int], value: object) -> None:
    place = f"[{', '.join(str(index) for index in at)}]" if at else ""
    raise ValueError(f"{name}{place} is {value}, which float64 does not hold exactly; subtract an offset or round it")


#: The number of values that are checked at a time, which bounds the memory of the check.
_BLOCK = 1 << 12


def _first_rounded(array: NDArray[Any]) -> tuple[int, ...] | None:
    """Returns the index of the first number that ``float64`` does not hold exactly, or `None`."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if array.size == 0 or not (kind == "O" or (kind in "iu" and size == 8) or (kind == "f" and size > 8)):
        return None
    if array.ndim == 0:
        return _first_rounded_of(array)
    step = max(_BLOCK * len(array) // array.size, 1)
    for start in range(0, len(array), step):
        found = _first_rounded_of(array[start : start + step])
        if found is not None:
            return (start + found[0], *found[1:])
    return None


def _first_rounded_of(array: NDArray[Any]) -> tuple[int, ...] | None:
    """Does the work of `_first_rounded` for one block."""
    kind = array.dtype.kind
    if kind in "iu":
        if array.max() <= _EXACT and array.min() >= -_EXACT:
            return None
        # An integer is exact if it has at most 53 bits without its trailing zero bits.
        bits = array.astype(array.dtype.newbyteorder("="))
        bits = (np.abs(bits) if kind == "i" else bits).view(np.uint64)
        rounded = bits // np.maximum(bits & (~bits + np.uint64(1)), np.uint64(1)) > _EXACT
    elif kind == "f":
        rounded = (array.astype(np.float64) != array) & ~np.isnan(array)
    else:
        rounded = np.fromiter((_is_rounded(value) for value in array.flat), bool, array.size).reshape(array.shape)
    if not rounded.any():
        return None
    return tuple(int(index) for index in np.unravel_index(rounded.argmax(), array.shape))


def _is_rounded(value: object) -> bool:
    if isinstance(value, abstract.Integral):
        whole = int(value)
        # An integer in the range of float64 is exact if it has at most 53 bits without its trailing zero bits.
        return abs(whole).bit_length() > 1024 or abs(whole) // max(whole & -whole, 1) > _EXACT
    return isinstance(value, np.longdouble) and bool(np.float64(value) != value and value == value)


def refuse_unit(x: object, name: str) -> None:
    """Raises `ValueError` for a quantity with a unit, since the unit would be lost."""
    unit = _unit(x)
    if unit:
        raise ValueError(f"{name} has the unit {unit}; pass plain numbers, with all lengths in one unit: {name}.to_value(unit)")


def _unit(x: object) -> str:
    """Returns the unit of a quantity of astropy, unyt or pint, and an empty string for a pure number."""
    for attribute in ("unit", "units"):
        # A data frame may have a column of this name, hence the look at the type.
        if isinstance(x, np.ndarray) or hasattr(type(x), attribute):
            text = str(getattr(x, attribute, None) or "")
            return "" if text in ("", "dimensionless") else text
    return ""


def vector(x: ArrayLike, n: int, name: str) -> NDArray[np.float64]:
    """Converts `x` to an array with one ``float64`` for each of `n` points."""
    array = np.ascontiguousarray(numbers(x, name), np.float64)
    if array.shape != (n,):
        raise ValueError(f"{name} has the shape {array.shape}; it must have one number for each of {n} points")
    return array


def sides(box_size: ArrayLike | None, dim: int) -> list[float] | None:
    """Returns the side of the periodic box along each of `dim` axes, from one number for all axes or one for each."""
    if box_size is None:
        return None
    array = np.ravel(numbers(box_size, "box_size"))
    if array.size == 1:
        array = np.repeat(array, dim)
    if array.size != dim:
        raise ValueError(f"box_size has {array.size} sides; the points have {dim} coordinates")
    return [float(side) for side in array]


def box(box_size: ArrayLike | None, points: Floats, n_jobs: int | None) -> list[float] | None:
    """Returns the sides of the periodic box of points. Raises `ValueError` if the points span more than the box.

    Points may have any origin and may lie on both faces. Points that span more belong to another box or have another unit, and
    wrapping them would put unrelated points at the same place. The command line applies the same rule (`Points::check_sides`).
    """
    found = sides(box_size, points.shape[1])
    if found is not None:
        _native.check_box(points, found, n_jobs)
    return found
