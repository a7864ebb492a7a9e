"""Checks of arguments: points, numbers, words and devices."""

from __future__ import annotations

import numbers
import operator
import sys
from typing import SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays
from ropewalk._types import Floats


def sample(X: ArrayLike, least: int) -> Floats:
    """Points for an estimator: at least so many, of at least one coordinate."""
    if hasattr(X, "toarray"):
        raise TypeError("Sparse data was passed for X, but dense data is required: use X.toarray()")
    # An array made of it has lost it.
    _arrays.refuse_unit(X, "X")
    given = X
    if not isinstance(X, np.ndarray):
        X = np.asarray(X)
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: the coordinates in X are real numbers")
    if X.ndim < 2:
        shape(X)
    if X.dtype == object:
        # What is no number is a `TypeError`, a text that is none a `ValueError`.
        X.astype(np.float64)
    array = _arrays.points(given if isinstance(given, (list, tuple)) or hasattr(given, "columns") else X)
    for size, what, needed in [(array.shape[0], "sample", least), (array.shape[1], "feature", 1)]:
        if size < needed:
            raise ValueError(f"Found array with 0 {what}(s) (shape={array.shape}) while a minimum of {needed} is required.")
    return array


def shape(X: ArrayLike) -> tuple[int, int]:
    """The number of points and of coordinates of each, in host or device memory."""
    lengths = np.shape(X)
    if len(lengths) != 2:
        raise ValueError(
            f"Expected a 2-dimensional array X, got one of {len(lengths)} dimensions instead. Reshape your data either using "
            "X.reshape(-1, 1) if it has a single feature, or X.reshape(1, -1) if it is a single sample."
        )
    return lengths


def feature_names(X: object) -> NDArray[np.object_] | None:
    """The names of a data frame's columns, if all are strings."""
    columns = getattr(X, "columns", None)
    if columns is None or isinstance(X, np.ndarray):
        return None
    names = list(columns)
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
    """A whole number that is at least so large, and no larger than the compiled part can take."""
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
    """A number of threads, as the compiled part can take it."""
    return None if n_jobs is None else integer(n_jobs, "n_jobs", -sys.maxsize)


def real(value: SupportsFloat, name: str) -> float:
    """A number, whose range the library checks."""
    if not isinstance(value, numbers.Real) and not (isinstance(value, np.ndarray) and value.shape == ()):
        raise TypeError(f"{name} is {value!r}; it must be a number")
    _arrays.refuse_rounded(value, np.asarray(value), name)
    return float(value)


def choice(value: object, name: str, known: tuple[str, ...]) -> str:
    """One of the words that a parameter may be."""
    for word in known:
        if isinstance(value, str) and value == word:
            return word
    raise ValueError(f"{name} is {value!r}; it may be {' or '.join(map(repr, known))}")


def device_number(device: str | None) -> int | None:
    """The number of a GPU that is named; `None` for "cuda", which is where the array lies, or the first."""
    if device is None:
        return None
    kind, colon, text = device.partition(":") if isinstance(device, str) else ("", "", "")
    if kind == "cuda" and (not colon or (text.isascii() and text.isdecimal() and len(text) < 10)):
        return int(text) if colon else None
    raise ValueError(f"device is {device!r}; it must be 'cpu', 'cuda', or 'cuda:1' and so on")


def euclidean(metric: object, p: object = 2, metric_params: object = None, *, other: str) -> None:
    """Refuses other distances than the Euclidean; `other` is what has them in scikit-learn."""
    if metric_params:
        raise ValueError(f"metric_params is {metric_params!r}; the Euclidean distance, the only one here, has none; use {other}")
    if isinstance(metric, str) and (metric in ("euclidean", "l2") or (metric == "minkowski" and p in (None, 2))):
        return
    if isinstance(metric, str) and metric == "minkowski":
        raise ValueError(f"p is {p!r}; of the metric 'minkowski' only p=2, the Euclidean distance, is supported; use {other}")
    raise ValueError(f"metric is {metric!r}; only 'euclidean' (or 'minkowski' with p=2) is supported; use {other}")


def weights(values: ArrayLike | None, n: int, name: str = "sample_weight") -> NDArray[np.float64] | None:
    """A weight for each point; one number is the weight of all."""
    if values is None:
        return None
    if isinstance(values, numbers.Real):
        return np.full(n, real(values, name))
    return _arrays.vector(values, n, name)


def is_on_device(X: object) -> bool:
    """Returns `True` if an array says that it lies on a GPU."""
    if isinstance(X, np.ndarray):
        return False
    if hasattr(X, "__cuda_array_interface__"):
        return True
    if not hasattr(X, "__dlpack_device__"):
        return False
    # Memory that the processor reads: its own, and such as is pinned for CUDA.
    return X.__dlpack_device__()[0] not in (1, 3)
