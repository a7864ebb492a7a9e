"""Functions for arrays on NVIDIA GPUs. Other modules reach them through `ropewalk._placement.device_backend`.

Arrays of CuPy, PyTorch, JAX and other libraries with DLPack or the CUDA array interface stay on the device; NumPy arrays are copied to
it. Results are `DeviceArray`, which these libraries accept without a copy. Every function runs on the device that holds the array, and
returns when its results are complete.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from ropewalk import _arrays, _checks, _native
from ropewalk._types import HdbscanOptions, HopOptions

if not hasattr(_native, "DeviceArray"):
    raise ModuleNotFoundError("this build of ropewalk has no CUDA support; build with --features cuda")

from ropewalk._native import DeviceArray, DeviceBvh

__all__ = ["DeviceArray", "DeviceBvh", "bvh", "dbscan", "friends_of_friends", "hdbscan", "hop", "minimum_spanning_tree"]


def ready(X: Any) -> Any:
    """Returns an array on a device unchanged, and other points as a NumPy array that can be copied to the device."""
    return X if _checks.is_on_device(X) else _arrays.points(X)


def box(X: Any, box_size: ArrayLike | None) -> list[float] | None:
    """Returns the side of the box along each axis. The compiled part rejects points that span more, once they are on the device."""
    return _arrays.sides(box_size, _checks.shape(X)[1])


def dbscan(
    X: Any, eps: float, min_samples: int, sample_weight: ArrayLike | None, box_size: ArrayLike | None, device: str | None
) -> tuple[DeviceArray, DeviceArray]:
    """Returns the indices of the core points, ascending, and the labels, -1 for noise."""
    if sample_weight is not None:
        raise ValueError("sample_weight is not supported on a device; omit it or use device='cpu'")
    points = ready(X)
    return _native.device_dbscan(points, eps, min_samples, box(points, box_size), _checks.device_number(device))


def friends_of_friends(
    X: Any, linking_length: float, min_members: int, box_size: ArrayLike | None, device: str | None
) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
    """Returns the group of each point (-1 for none), the offset of each group in the list of members, and the list of members."""
    points = ready(X)
    return _native.device_friends_of_friends(points, linking_length, min_members, box(points, box_size), _checks.device_number(device))


def hop(
    X: Any, masses: ArrayLike | None, options: HopOptions, device: str | None
) -> tuple[DeviceArray, DeviceArray, DeviceArray, DeviceArray]:
    """Returns the arrays of `friends_of_friends`, and the density of each point. Masses are in host memory."""
    points = ready(X)
    return _native.device_hop(points, _checks.weights(masses, len(points), "masses"), options, _checks.device_number(device))


def hdbscan(X: Any, options: HdbscanOptions, device: str | None) -> tuple[DeviceArray, DeviceArray]:
    """Returns the labels, -1 for noise, and the probabilities."""
    if options.sequential:
        raise ValueError("ties is 'sequential'; on a device it must be 'together'")
    return _native.device_hdbscan(ready(X), options, _checks.device_number(device))


def minimum_spanning_tree(
    X: Any, min_samples: int, alpha: float, box_size: ArrayLike | None, device: str | None
) -> tuple[DeviceArray, DeviceArray]:
    """Returns the two ends of each edge, the lower index first, and the weights. Edges are in ascending order."""
    points = ready(X)
    return _native.device_minimum_spanning_tree(points, min_samples, alpha, box(points, box_size), _checks.device_number(device))


def bvh(X: Any, box_size: ArrayLike | None = None, device: str | None = None) -> DeviceBvh:
    """Builds a tree on the device, which answers queries about neighbours of its points."""
    points = ready(X)
    return DeviceBvh(points, box(points, box_size), _checks.device_number(device))
