"""Checks of arguments: points, numbers, words and devices."""

from __future__ import annotations

import numbers
import operator
import sys
from typing import SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _frames
from ropewalk._text import counted
from ropewalk._types import Floats


def sample(X: ArrayLike, least: int) -> Floats:
    """Converts the points of an estimator, and checks that there are at least `least` points with at least one coordinate."""
    if hasattr(X, "toarray"):
        raise TypeError("Sparse data was passed for X, but dense data is required: use X.toarray()")
    # Checked first, since conversion to an array loses the unit.
    _arrays.refuse_unit(X, "X")
    given = X = _frames.unwrapped(X, "X")
    if not isinstance(X, np.ndarray):
        X = _frames.stacked(X, np.asarray(X), "X")
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: the coordinates in X are real numbers")
    if X.ndim < 2:
        shape(X)
    if X.dtype == object:
        # Raises `TypeError` for objects that are not numbers, and `ValueError` for text that is not a number.
        X.astype(np.float64)
    array = _arrays.points(given if isinstance(given, (list, tuple)) or hasattr(given, "columns") else X)
    for size, what, needed in [(array.shape[0], "sample", least), (array.shape[1], "feature", 1)]:
        if size < needed:
            raise ValueError(f"Found array with 0 {what}(s) (shape={array.shape}) while a minimum of {needed} is required.")
    return array


def shape(X: ArrayLike) -> tuple[int, int]:
    """Returns the number of points and the number of coordinates of an array in host or device memory."""
    lengths = np.shape(X)
    if len(lengths) != 2:
        raise ValueError(
            f"Expected a 2-dimensional array X, got one of {counted(len(lengths), 'dimension')} instead. Reshape your data either using "
            "X.reshape(-1, 1) if it has a single feature, or X.reshape(1, -1) if it is a single sample."
        )
    return lengths


def feature_names(X: object) -> NDArray[np.object_] | None:
    """Returns the column names of a data frame if all of them are strings, else `None`."""
    names = None if isinstance(X, np.ndarray) else _frames.names(_frames.unwrapped(X, "X"))
    if names is None:
        return None
    text = [isinstance(name, str) for name in names]
    if any(text) and not all(text):
        found = sorted({type(name).__name__ for name in names})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{found} as feature name / column name types. If you want feature names to be stored and validated, "
            "you must convert them all to strings, by using X.columns = X.columns.astype(str) for example. "
            "Otherwise you can remove feature / column names from your input data, or convert them all to a non-string data type."
        )
    return np.asarray(names, dtype=object) if names and all(text) else None


def integer(value: SupportsIndex, name: str, least: int, most: int = sys.maxsize) -> int:
    """Converts `value` to an integer from `least` to `most`, by default the largest that the compiled part accepts."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be a whole number") from None
    if number < least:
        raise ValueError(f"{name} is {number}; it must be at least {least}")
    if number > most:
        raise ValueError(f"{name} is {number}; it must be at most {most}")
    return number


def threads(n_jobs: SupportsIndex | None) -> int | None:
    """Converts a number of threads to an integer that the compiled part accepts."""
    return None if n_jobs is None else integer(n_jobs, "n_jobs", -sys.maxsize)


def real(value: SupportsFloat, name: str) -> float:
    """Converts `value` to a float. The compiled part checks its range."""
    if not isinstance(value, numbers.Real) and not (isinstance(value, np.ndarray) and value.shape == ()):
        raise TypeError(f"{name} is {value!r}; it must be a number")
    _arrays.refuse_rounded(value, np.asarray(value), name)
    return float(value)


def optional_real(value: SupportsFloat | None, name: str) -> float | None:
    """Converts `value` to a float unless it is `None`."""
    return None if value is None else real(value, name)


def choice(value: object, name: str, known: tuple[str, ...]) -> str:
    """Returns `value` if it is one of the words `known`, else raises `ValueError`."""
    for word in known:
        if isinstance(value, str) and value == word:
            return word
    raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(map(repr, known))}")


def device_number(device: str | None) -> int | None:
    """Returns the number of the named GPU; `None` for `None` and "cuda", the GPU of the array or else the first one."""
    if device is None:
        return None
    kind, colon, text = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind == "cuda" and (not colon or (text.isascii() and text.isdecimal() and len(text) < 10)):
        return int(text) if colon else None
    raise ValueError(f"device is {device!r}; it must be 'cpu', 'cuda' or 'cuda:N'")


def euclidean(metric: object, p: object = 2, metric_params: object = None, *, other: str) -> None:
    """Raises `ValueError` for metrics other than the Euclidean. `other` names the scikit-learn class that supports them."""
    if metric_params:
        raise ValueError(f"metric_params is {metric_params!r}; it must be empty for the Euclidean metric; for other metrics use {other}")
    if isinstance(metric, str) and (metric in ("euclidean", "l2") or (metric == "minkowski" and p in (None, 2))):
        return
    if isinstance(metric, str) and metric == "minkowski":
        raise ValueError(f"p is {p!r}; the metric 'minkowski' is supported only with p=2 (Euclidean); for other metrics use {other}")
    raise ValueError(f"metric is {metric!r}; only 'euclidean' (or 'minkowski' with p=2) is supported; for other metrics use {other}")


def weights(values: ArrayLike | None, n: int, name: str = "sample_weight") -> NDArray[np.float64] | None:
    """Returns a weight for each of `n` points. A single number is the weight of every point."""
    if values is None:
        return None
    if isinstance(values, numbers.Real):
        return np.full(n, real(values, name))
    return _arrays.vector(values, n, name)


def is_on_device(X: object) -> bool:
    """Returns `True` if an array reports that it is in GPU memory."""
    if isinstance(X, np.ndarray):
        return False
    if hasattr(X, "__cuda_array_interface__"):
        return True
    if not hasattr(X, "__dlpack_device__"):
        return False
    # 1 is host memory and 3 is host memory pinned for CUDA.
    return X.__dlpack_device__()[0] not in (1, 3)
