"""What is accepted as points, boxes and weights; all else is refused with a sentence."""

from __future__ import annotations

import numbers as abstract
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _native
from ropewalk._types import Floats


def points(x: ArrayLike, name: str = "X") -> Floats:
    """An array of two dimensions in C order, ``float32`` or ``float64``; what is that already is not copied.

    Integers and long doubles become ``float64``, ``float16`` becomes ``float32``. Raises `ValueError` for other dimensions, complex
    numbers, quantities with a unit, text, and numbers that ``float64`` does not hold exactly.
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
        found: Floats = np.require(array, np.float32 if narrow else np.float64, ["C", "A"])
    except OverflowError as error:
        raise ValueError(f"{name} has a number that is too large for float64: {error}") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} does not hold numbers: {error}") from error
    refuse_rounded(x, array, name)
    return found


#: Whole numbers up to this are exact in ``float64``.
_EXACT = 2**53


def refuse_rounded(x: object, array: NDArray[Any], name: str) -> None:
    """Refuses numbers that ``float64`` would round: whole numbers beyond 2**53, long doubles. `array` is what NumPy makes of `x`."""
    at = _first_rounded(array)
    if at is not None:
        _refuse(name, list(at), array[at])
    if isinstance(x, np.ndarray) or array.dtype != np.float64:
        return
    # NumPy makes float64 of whole numbers beside others, so these are looked at before that.
    for place, column in enumerate(_columns(x)):
        at = _first_rounded(column) if column.ndim == 1 else None
        if at is not None:
            _refuse(name, [*at, place], column[at])
    if isinstance(x, (list, tuple)):
        given = np.asarray(x, object)
        at = _first_rounded(given)
        if at is not None:
            _refuse(name, list(at), given[at])


def _columns(x: Any) -> Iterator[NDArray[Any]]:
    """The columns of a data frame or table of pandas, polars or pyarrow; none of anything else."""
    if hasattr(x, "iloc"):
        # By place, since names may repeat.
        for place in range(len(getattr(x, "columns", ()))):
            yield np.asarray(x.iloc[:, place])
    elif hasattr(x, "column_names") and hasattr(x, "column"):
        for place in range(len(x.column_names)):
            column = x.column(place)
            # Beside nulls NumPy makes float64 of whole numbers, too.
            yield np.array(column.to_pylist(), object) if column.null_count else np.asarray(column)
    elif hasattr(x, "dtypes") and hasattr(x, "columns"):
        for name in x.columns:
            yield np.asarray(x[name])


def _refuse(name: str, at: list[int], value: object) -> None:
    place = f"[{', '.join(str(index) for index in at)}]" if at else ""
    raise ValueError(f"{name}{place} is {value}, which float64 does not hold exactly; subtract an offset, or round it yourself")


#: So many numbers are looked at together, which bounds the memory that takes.
_BLOCK = 1 << 12


def _first_rounded(array: NDArray[Any]) -> tuple[int, ...] | None:
    """The index of the first number that ``float64`` does not hold exactly."""
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
    """The same of a few numbers."""
    kind = array.dtype.kind
    if kind in "iu":
        if array.max() <= _EXACT and array.min() >= -_EXACT:
            return None
        # Without the zeros at its end a number is exact if it has at most 53 bits.
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
        # In the range of float64, without the zeros at its end, a number is exact if it has at most 53 bits.
        return abs(whole).bit_length() > 1024 or abs(whole) // max(whole & -whole, 1) > _EXACT
    return isinstance(value, np.longdouble) and bool(np.float64(value) != value and value == value)


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


def box(box_size: ArrayLike | None, points: Floats, n_jobs: int | None) -> list[float] | None:
    """The sides of the periodic box that points lie in. Raises `ValueError` for points that span more than the box.

    Points may have any origin, and lie on both faces. Wider ones are of another box or in another unit, and wrapping them would lay
    unrelated points upon each other. The command line decides the same (`Points::check_sides`).
    """
    found = sides(box_size, points.shape[1])
    if found is not None:
        _native.check_box(points, found, n_jobs)
    return found
