"""The search tree on a GPU: neighbours of its own points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, SupportsFloat, SupportsIndex

from numpy.typing import ArrayLike

from ropewalk._checks import integer, is_on_device, real
from ropewalk._placement import device_backend

if TYPE_CHECKING:
    from ropewalk._native import DeviceArray


class DeviceLists(NamedTuple):
    """Lists of indices, stored in two arrays on a device: list ``i`` is ``indices[offsets[i]:offsets[i + 1]]``.

    Attributes
    ----------
    offsets : DeviceArray of int32, shape (lists + 1,)
        The start of each list in `indices`, and the end of the last list; ``uint32`` from 2**31 entries on.

    indices : DeviceArray of int32
        The concatenated lists; ``uint32`` from 2**31 points on.

    Examples
    --------
    >>> lists = DeviceBvh(cupy.random.random((1000, 3))).neighbors(0.1)  # doctest: +SKIP
    >>> offsets, indices = map(cupy.from_dlpack, lists)  # doctest: +SKIP
    """

    offsets: DeviceArray
    indices: DeviceArray


class DeviceBvh:
    """A bounding volume hierarchy on an NVIDIA GPU, with the same results as `Bvh` on the processor.

    Parameters
    ----------
    points : array of shape (n, d), d from 1 to 10
        The points, ``float32`` or ``float64`` in C order. An array on a GPU (CuPy, PyTorch, JAX: with ``__dlpack__`` or
        ``__cuda_array_interface__``) is copied within the device; other arrays are copied from the host to the device.

    box_size : float or sequence of floats, optional
        The sides of the periodic box, in the unit of the points. Default: open space.

    device : {"cuda", "cuda:1", ...}, optional
        The device of the tree. Default: the device that holds the points, or the first GPU if they are in host memory.

    Raises
    ------
    RuntimeError
        If this build has no CUDA, or there is no GPU.

    ValueError
        If a coordinate is not finite, a side is not positive, or the shape is not that of points with 1 to 10 coordinates.

    Notes
    -----
    Radii are inclusive, ties are ordered by index, and distances are ``float64``, as in `Bvh`. Results are `DeviceArray`, which CuPy,
    PyTorch and JAX accept without a copy (``cupy.from_dlpack``). Only the stored points can be queries; for other queries use `Bvh`.

    Examples
    --------
    >>> bvh = DeviceBvh(cupy.random.random((1_000_000, 3)))  # doctest: +SKIP
    >>> counts = cupy.from_dlpack(bvh.count_neighbors(0.01))  # doctest: +SKIP
    """

    __slots__ = ("_tree",)

    def __init__(self, points: Any, box_size: ArrayLike | None = None, *, device: str | None = None) -> None:
        backend = device_backend(points, device if device is not None or is_on_device(points) else "cuda")
        if backend is None:
            raise ValueError(f"device is {device!r}; use Bvh for a tree on the CPU")
        self._tree = backend.bvh(points, box_size, device)

    def __len__(self) -> int:
        return len(self._tree)

    @property
    def dim(self) -> int:
        """The number of coordinates per point."""
        return int(self._tree.dim)

    def neighbors(self, radius: SupportsFloat) -> DeviceLists:
        """Finds the points within `radius` of each point, the point itself and the boundary included.

        Lists are the same in every run, but not in ascending order.

        Parameters
        ----------
        radius : float
            The radius in the unit of the points.

        Returns
        -------
        DeviceLists
            ``offsets`` of shape (n + 1,) and ``indices``: the lists of `Bvh.neighbors` in another order.
        """
        return DeviceLists(*self._tree.neighbors(real(radius, "radius")))

    def count_neighbors(self, radius: SupportsFloat) -> DeviceArray:
        """Counts the points within `radius` of each point, the point itself and the boundary included.

        Parameters
        ----------
        radius : float
            The radius in the unit of the points.

        Returns
        -------
        DeviceArray of int32, shape (n,)
            The count for each point.
        """
        counts: DeviceArray = self._tree.count_neighbors(real(radius, "radius"))
        return counts

    def count_pairs(self, radius: SupportsFloat) -> int:
        """Counts the pairs of points within `radius` of each other, the boundary included.

        Parameters
        ----------
        radius : float
            The radius in the unit of the points.

        Returns
        -------
        int
            The number of pairs of different points, each pair counted once.
        """
        return int(self._tree.count_pairs(real(radius, "radius")))

    def nearest_neighbors(self, k: SupportsIndex, *, include_self: bool = False) -> tuple[DeviceArray, DeviceArray]:
        """Finds the `k` nearest points to each point of the tree, nearest first, ties by index.

        Parameters
        ----------
        k : int
            The number of neighbours, at most the number of other points.

        include_self : bool
            If `True`, a point is its own neighbour. Its copies are neighbours in either case.

        Returns
        -------
        distances : DeviceArray of float64, shape (n, k)
            The distances in the unit of the points.

        indices : DeviceArray of int32, shape (n, k)
            The indices of the neighbours.
        """
        indices, distances = self._tree.nearest_neighbors(integer(k, "k", 0), include_self)
        return distances, indices
