"""Base classes of the estimators: scikit-learn's conventions, without importing scikit-learn."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _mpi
from ropewalk._checks import feature_names, is_on_device, sample, shape, weights
from ropewalk._placement import device_backend
from ropewalk._types import Floats
from ropewalk._warnings import warn

if TYPE_CHECKING:
    from typing_extensions import Self

    from ropewalk._native import Comm

#: The maximum length of a line of a representation, as in scikit-learn.
_WIDTH = 80


class NotFittedError(ValueError, AttributeError):
    """Raised if a method or attribute of an estimator is used before `fit`.

    If scikit-learn is imported, its class of the same name is raised instead. Both classes derive from `ValueError` and
    `AttributeError`, so code that catches one of these needs no import.

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
    """Returns the exception for an estimator that is not fitted."""
    message = f"This {type(estimator).__name__} instance is not fitted yet; call 'fit' first."
    theirs = sys.modules.get("sklearn.exceptions")
    return cast("type[Exception]", getattr(theirs, "NotFittedError", NotFittedError))(message)


class Estimator:
    """Base class of estimators: parameters named as the constructor's arguments, a representation, and checks of arguments."""

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    @classmethod
    def _parameters(cls) -> dict[str, inspect.Parameter]:
        """Returns the constructor's parameters in alphabetical order."""
        parameters = inspect.signature(cls).parameters
        return {name: parameters[name] for name in sorted(parameters)}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Returns the parameters by name.

        Parameters
        ----------
        deep : bool, default True
            Ignored, as there are no nested parameters; present for API consistency with scikit-learn.

        Returns
        -------
        dict
            The parameters as the caller set them.
        """
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Sets parameters.

        Parameters
        ----------
        **params
            New values, named as the constructor's arguments. `fit` checks the values.

        Returns
        -------
        estimator
            This estimator, so that calls can be chained.

        Raises
        ------
        ValueError
            If a name is not a parameter. In that case no parameter is set.
        """
        known = list(self._parameters())
        for name in params:
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {known!r}.")
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        """Returns the constructor call, with the parameters that differ from their defaults."""
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

    #: scikit-learn's estimator type; `None` for an estimator that only answers queries.
    _kind: str | None = None

    def __sklearn_tags__(self) -> Any:
        """Returns the estimator's tags for scikit-learn."""
        utils = import_module("sklearn.utils")
        return utils.Tags(
            estimator_type=self._kind,
            target_tags=utils.TargetTags(required=False),
            input_tags=utils.InputTags(allow_nan=self._allows_nan()),
        )

    @property
    def _estimator_type(self) -> str:
        """The estimator type for scikit-learn before 1.6."""
        return self._kind or ""

    def _allows_nan(self) -> bool:
        return False

    def _check_fitted(self) -> None:
        if "n_features_in_" not in self.__dict__:
            raise not_fitted(self)

    def _points(self, X: ArrayLike, *, fitting: bool) -> Floats:
        """Returns the points as an array in C order. Unless `fitting`, compares the number and names of features with the fit."""
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
        """Returns the points for `fit`: checked and converted, or unchanged if the work runs on a device."""
        if device_backend(X, device) is None:
            return self._points(X, fitting=True)
        shape(X)
        return X

    def _remember(self, X: ArrayLike, dim: int) -> None:
        """Stores the number and names of features. `fit` calls it last, so that a failed fit changes nothing."""
        names = feature_names(X)
        self.n_features_in_ = dim
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names

    def _fit_weights(self, sample_weight: ArrayLike | None, n: int) -> ArrayLike | None:
        """Returns the weights of `n` points for `fit`. As in scikit-learn, they must not all be zero."""
        if sample_weight is None or is_on_device(sample_weight):
            return sample_weight
        own = weights(sample_weight, n)
        if not np.any(own):
            raise ValueError("sample_weight is zero for all samples; at least one weight must be positive")
        return own

    def _compare_names(self, names: NDArray[np.object_] | None) -> None:
        """Warns if only the fitted or only the new points have feature names. Raises `ValueError` if the names differ."""
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
    """An estimator whose `fit` assigns a label to each point.

    `fit` calls `_fit`, which calls one of two hooks: `_find` on the processor and on devices, `_find_across` across ranks. Each hook
    returns the fitted attributes by name, and the number of coordinates.
    """

    _kind = "clusterer"
    labels_: NDArray[np.int32]

    #: Attributes that a fit may leave unset, and which are removed before a new fit's attributes are stored.
    _optional_attributes: tuple[str, ...] = ()

    if TYPE_CHECKING:

        def fit(self, X: ArrayLike, y: object = None) -> Self: ...

        def _find(self, X: ArrayLike, sample_weight: ArrayLike | None) -> tuple[dict[str, Any], int]: ...

        def _find_across(self, X: ArrayLike, sample_weight: ArrayLike | None, comm: Comm) -> tuple[dict[str, Any], int]: ...

    def _fit(self, X: ArrayLike, sample_weight: ArrayLike | None = None, comm: object = None) -> Self:
        """Finds the clusters, then replaces the attributes of an earlier fit, so that a failed fit changes nothing."""
        found, dim = self._find(X, sample_weight) if comm is None else self._find_across(X, sample_weight, _mpi.ranks(comm))
        for name in self._optional_attributes:
            self.__dict__.pop(name, None)
        self.__dict__.update(found)
        self._remember(X, dim)
        return self

    def fit_predict(self, X: ArrayLike, y: object = None) -> NDArray[np.int32]:
        """Finds the clusters of points and returns the labels.

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
    """A clusterer whose points may have weights."""

    if TYPE_CHECKING:

        def fit(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> Self: ...

    def fit_predict(self, X: ArrayLike, y: object = None, sample_weight: ArrayLike | None = None) -> NDArray[np.int32]:
        """Finds the clusters of points and returns the labels.

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
    """Returns a line for each of the first five names, and an ellipsis for the others."""
    return [f"- {name}" for name in names[:5]] + (["- ..."] if len(names) > 5 else [])
