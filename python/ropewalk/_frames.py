"""Data frames of pandas, polars, pyarrow and others, without importing any of these packages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropewalk._optional import optional


def unwrapped(x: Any, name: str) -> Any:
    """Returns the frame in a frame of narwhals, a table of an Arrow stream, and other objects as they are.

    Raises `ValueError` for lazy frames, which would have to be computed.
    """
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "collect") and hasattr(x, "collect_schema"):
        raise ValueError(f"{name} is a lazy frame; compute it: {name}.collect()")
    if hasattr(x, "to_native"):
        return unwrapped(x.to_native(), name)
    if hasattr(x, "__arrow_c_stream__") and not hasattr(x, "__array__"):
        return optional("pyarrow", f"{name}, which is an Arrow stream,").table(x)
    return x


def names(x: Any) -> list[Any] | None:
    """Returns the names of the columns of a frame, and `None` for other objects."""
    if isinstance(x, np.ndarray):
        return None
    found = getattr(x, "column_names", None)
    if found is None:
        found = getattr(x, "columns", None)
    return None if found is None or callable(found) else list(found)


def columns(x: Any) -> Iterator[NDArray[Any]]:
    """Yields the columns of a frame or table of pandas, polars or pyarrow, and nothing for other objects."""
    if hasattr(x, "iloc"):
        # By position, since names may repeat.
        for place in range(len(getattr(x, "columns", ()))):
            column = x.iloc[:, place]
            is_nullable = not isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf"
            # Objects, since float64 would round large integers.
            has_nulls = is_nullable and bool(column.isna().any())
            yield column.to_numpy(object, na_value=np.nan) if has_nulls else np.asarray(column)
    elif hasattr(x, "column_names") and hasattr(x, "column"):
        for place in range(len(x.column_names)):
            column = x.column(place)
            # NumPy also converts integers to float64 if the column has nulls.
            yield np.array(column.to_pylist(), object) if column.null_count else np.asarray(column)
    elif hasattr(x, "dtypes") and hasattr(x, "columns"):
        for name in x.columns:
            yield np.asarray(x[name])


def stacked(x: Any, array: NDArray[Any], name: str) -> NDArray[Any]:
    """Returns the numbers of `x`. `array` is ``numpy.asarray(x)``, which is not numeric for frames with columns of several types.

    Raises `ValueError` for the first column of a frame that does not hold numbers.
    """
    called = names(x) if array.dtype.kind not in "biuf" and array.ndim == 2 else None
    if called is None:
        return array
    found = []
    for at, (title, column) in enumerate(zip(called, columns(x), strict=False)):
        try:
            if column.dtype.kind not in "biufO":
                raise ValueError("not a number")
            # None becomes NaN.
            found.append(np.asarray(column, np.float64))
        except (TypeError, ValueError):
            others = [other for place, other in enumerate(called) if place != at]
            example = f"; select the columns with coordinates, such as {name}[{others[:3]}]" if others else ""
            raise ValueError(f"{name}: the column {title!r} does not hold numbers{example}") from None
    return np.stack(found, axis=1) if found else array
