"""What all estimators are: scikit-learn's conventions, without scikit-learn."""

from __future__ import annotations

import inspect
import numbers
import operator
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, SupportsFloat, SupportsIndex, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays
from ropewalk._arrays import Floats
from ropewalk._warnings import warn

if TYPE_CHECKING:
    from typing_extensions import Self

#: Lines of a representation are at most so long, as scikit-learn's.
_WIDTH = 80


class NotFittedError(ValueError, AttributeError):
    """An estimator is asked for what only `fit` finds. Where scikit-learn is imported, its class of this name is raised.

    Both are a `ValueError` and an `AttributeError`, so code that catches one of these needs no import.

    Examples
    --------
    >>> from ropewalk import DBSCAN
    >>> try:
    ...     DBSCAN().predict([[0.0]])
    ... except ValueError as error:
    ...     print(error)
    This DBSCAN instance is not fitted yet; call 'fit' first.
    """


def not_fitted(estimator: object) -> Exception:
    """The exception for an estimator that is not fitted."""
    message = f"This {type(estimator).__name__} instance is not fitted yet; call 'fit' first."
    theirs = sys.modules.get("sklearn.exceptions")
    return cast("type[Exception]", getattr(theirs, "NotFittedError", NotFittedError))(message)


class Estimator:
    """Parameters by the names of the constructor's arguments, a representation, and checks of what `fit` and others are given."""

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    @classmethod
    def _parameters(cls) -> dict[str, inspect.Parameter]:
        """The constructor's parameters, in alphabetical order."""
        parameters = inspect.signature(cls).parameters
        return {name: parameters[name] for name in sorted(parameters)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by their names.

        Parameters
        ----------
        deep : bool, default True
            As in scikit-learn; there are no parameters below others.

        Returns
        -------
        dict
            Each parameter as it was given.
        """
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Sets parameters.

        Parameters
        ----------
        **params
            New values by the names of the constructor's arguments. They are checked by `fit`.

        Returns
        -------
        estimator
            This estimator, so that calls can be chained.

        Raises
        ------
        ValueError
            A name is no parameter; then none is set.
        """
        known = list(self._parameters())
        for name in params:
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {known!r}.")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """The call that makes it, with the parameters that are not the default ones."""
        changed = []
        for name, parameter in self._parameters().items():
            value = repr(getattr(self, name))
            if parameter.default is parameter.empty or value != repr(parameter.default):
                changed.append(f"{name}={value}")
        start = f"{type(self).__name__}("
        lines = [start]
        for at, text in enumerate(changed):
            text += ")" if at + 1 == len(changed) else ","
            if at > 0 and len(lines[-1]) + 1 + len(text) > _WIDTH:
                lines.append(" " * len(start) + text)
            else:
                lines[-1] += f" {text}" if at > 0 else text
        return "\n".join(lines) + ("" if changed else ")")

    #: scikit-learn's word for what it is: `None` for what only answers questions.
    _kind: str | None = None

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks about estimators."""
        utils = import_module("sklearn.utils")
        return utils.Tags(
            estimator_type=self._kind,
            target_tags=utils.TargetTags(required=False),
            input_tags=utils.InputTags(allow_nan=self._allows_nan()),
        )

    @property
    def _estimator_type(self) -> str:
        """What scikit-learn before 1.6 asks."""
        return self._kind or ""

    def _allows_nan(self) -> bool:
        return False

    def _check_fitted(self) -> None:
        if "n_features_in_" not in self.__dict__:
            raise not_fitted(self)

    def _points(self, X: ArrayLike, *, fitting: bool) -> Floats:
        """The points as an array in C order. All but `fit` compare how many features they have, and their names."""
        names = feature_names(X)
        array = sample(X, least=1 if fitting else 0)
        if fitting:
            return array
        self._compare_names(names)
        if array.shape[1] != self.n_features_in_:
            name = type(self).__name__
            expected = self.n_features_in_
            raise ValueError(f"X has {array.shape[1]} features, but {name} is expecting {expected} features as input.")
        return array

    def _fit_points(self, X: ArrayLike, device: str | None) -> ArrayLike:
        """What `fit` works on: arrays on a device stay there."""
        if on_device(X, device) is None:
            return self._points(X, fitting=True)
        shape(X)
        return X

    def _remember(self, X: ArrayLike, dim: int) -> None:
        """Keeps how many features there are, and their names. `fit` does it last, so that one that fails changes nothing."""
        names = feature_names(X)
        self.n_features_in_ = dim
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names

    def _fit_weights(self, sample_weight: ArrayLike | None, n: int) -> ArrayLike | None:
        """Weights for `fit` to `n` points, which as in scikit-learn must not all be zero."""
        if sample_weight is None or is_on_device(sample_weight):
            return sample_weight
        own = weights(sample_weight, n)
        if not np.any(own):
            raise ValueError("sample_weight is zero for all samples; at least one weight must not be")
        return own

    def _compare_names(self, names: NDArray[np.object_] | None) -> None:
        """Warns where only one side has names, and refuses other names than `fit` was given."""
        own = self.__dict__.get("feature_names_in_")
        name = type(self).__name__
        if own is None and names is not None:
            warn(f"X has feature names, but {name} was fitted without feature names", UserWarning)
        elif own is not None and names is None:
            warn(f"X does not have valid feature names, but {name} was fitted with feature names", UserWarning)
        elif own is not None and names is not None and list(own) != list(names):
            lines = ["The feature names should match those that were passed during fit."]
            unseen, missing = sorted(set(names) - set(own)), sorted(set(own) - set(names))
            if unseen:
                lines += ["Feature names unseen at fit time:", *shortened(unseen)]
            if missing:
                lines += ["Feature names seen at fit time, yet now missing:", *shortened(missing)]
            if not unseen and not missing:
                lines.append("Feature names must be in the same order as they were in fit.")
            raise ValueError("\n".join(lines) + "\n")


class Clusterer(Estimator):
    """An estimator whose `fit` finds a label for each point."""

    _kind = "clusterer"
    labels_: NDArray[np.int32]

    if TYPE_CHECKING:

        def fit(self, X: ArrayLike, y: object = None) -> Self: ...

    def fit_predict(self, X: ArrayLike, y: object = None) -> NDArray[np.int32]:
        """Finds the clusters of points, and returns their labels.

        Parameters
        ----------
        X, y
            As for `fit`.

        Returns
        -------
        ndarray of int32, shape (n_samples,)
            `labels_`.
        """
        return self.fit(X, y).labels_


class WeightedClusterer(Clusterer):
    """One whose points may have weights."""

    if TYPE_CHECKING:

        def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self: ...

    def fit_predict(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> NDArray[np.int32]:
        """Finds the clusters of points, and returns their labels.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.

        Returns
        -------
        ndarray of int32, shape (n_samples,)
            `labels_`.
        """
        return self.fit(X, y, sample_weight).labels_


def shortened(names: list[str]) -> list[str]:
    """A line for each of the first five names, and dots for the rest."""
    return [f"- {name}" for name in names[:5]] + (["- ..."] if len(names) > 5 else [])


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
    """How many points there are, and how many coordinates each has, wherever they lie."""
    lengths = np.shape(X)
    if len(lengths) != 2:
        raise ValueError(
            f"Expected a 2-dimensional array X, got one of {len(lengths)} dimensions instead. Reshape your data either using "
            "X.reshape(-1, 1) if it has a single feature, or X.reshape(1, -1) if it is a single sample."
        )
    return lengths


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


def on_device(X: object, device: str | None) -> ModuleType | None:
    """The functions for arrays on a device (`ropewalk._device`), or `None` if the work is the processor's.

    That is so for arrays in host memory unless a device is named. Here, and only here, it is decided.
    """
    if device is not None and not isinstance(device, str):
        raise TypeError(f"device is {device!r}; it must be 'cpu', 'cuda', or 'cuda:1' and so on")
    if device == "cpu" or (device is None and not is_on_device(X)):
        return None
    device_number(device)
    try:
        return import_module("ropewalk._device")
    except ModuleNotFoundError:
        place = "X lies on a device" if device is None else f"device is {device!r}"
        raise RuntimeError(f"{place}, but this build of ropewalk is for the processor only") from None


def is_on_device(X: object) -> bool:
    """Whether an array says that it lies on a GPU."""
    if isinstance(X, np.ndarray):
        return False
    if hasattr(X, "__cuda_array_interface__"):
        return True
    if not hasattr(X, "__dlpack_device__"):
        return False
    # Memory that the processor reads: its own, and such as is pinned for CUDA.
    return X.__dlpack_device__()[0] not in (1, 3)
