"""The search tree on a GPU: neighbours of the points that it is built of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, SupportsFloat, SupportsIndex

from numpy.typing import ArrayLike

from ropewalk._checks import integer, is_on_device, real
from ropewalk._placement import on_device

if TYPE_CHECKING:
    from ropewalk._native import DeviceArray


class DeviceLists(NamedTuple):
    """Many lists of indices in two arrays on a device: list ``i`` is ``indices[offsets[i]:offsets[i + 1]]``.

    Attributes
    ----------
    offsets : DeviceArray of int32, shape (lists + 1,)
        Where each list begins, and at last where the last one ends; ``uint32`` from 2**31 entries on.
    indices : DeviceArray of int32
        The lists, one after the other; ``uint32`` from 2**31 points on.

    Examples
    --------
    >>> lists = DeviceBvh(cupy.random.random((1000, 3))).neighbors(0.1)  # doctest: +SKIP
    >>> offsets, indices = map(cupy.from_dlpack, lists)  # doctest: +SKIP
    """

    offsets: DeviceArray
    indices: DeviceArray


class DeviceBvh:
    """A bounding volume hierarchy on an NVIDIA GPU: what `Bvh` is on the processor, with the same answers.

    Parameters
    ----------
    points : array of shape (n, d), d from 1 to 10
        ``float32`` or ``float64`` in C order. An array on a GPU (CuPy, PyTorch, JAX: with ``__dlpack__`` or
        ``__cuda_array_interface__``) is copied within the device; others go there from the host.
    box_size : float or sequence of floats, optional
        The sides of a periodic box, in the unit of the points. By default space is open.
    device : {"cuda", "cuda:1", ...}, optional
        Where to build it; by default where the points are, or on the first GPU.

    Raises
    ------
    RuntimeError
        If this build has no CUDA, or there is no GPU.
    ValueError
        If a coordinate is not finite, a side not positive, or a shape is none of points in 1 to 10 dimensions.

    Notes
    -----
    Radii are inclusive, ties are ordered by index, distances are ``float64``, as in `Bvh`. Results are `DeviceArray`, which CuPy,
    PyTorch and JAX take without a copy (``cupy.from_dlpack``). Queries are the stored points alone; for others use `Bvh`.

    Examples
    --------
    >>> bvh = DeviceBvh(cupy.random.random((1_000_000, 3)))  # doctest: +SKIP
    >>> counts = cupy.from_dlpack(bvh.count_neighbors(0.01))  # doctest: +SKIP
    """

    __slots__ = ("_tree",)

    def __init__(self, points: Any, box_size: ArrayLike | None = None, *, device: str | None = None) -> None:
        there = on_device(points, device if device is not None or is_on_device(points) else "cuda")
        if there is None:
            raise ValueError(f"device is {device!r}; on the processor the tree is Bvh")
        self._tree = there.bvh(points, box_size, device)

    def __len__(self) -> int:
        return len(self._tree)

    @property
    def dim(self) -> int:
        """Coordinates of a point."""
        return int(self._tree.dim)

    def neighbors(self, radius: SupportsFloat) -> DeviceLists:
        """The points within `radius` of each point, itself and the boundary included; the same in every run, but not ascending.

        Parameters
        ----------
        radius : float
            In the unit of the points.

        Returns
        -------
        DeviceLists
            ``offsets`` of shape (n + 1,) and ``indices``: the lists of `Bvh.neighbors`, which there ascend.
        """
        return DeviceLists(*self._tree.neighbors(real(radius, "radius")))

    def count_neighbors(self, radius: SupportsFloat) -> DeviceArray:
        """How many points are within `radius` of each point, itself and the boundary included.

        Parameters
        ----------
        radius : float
            In the unit of the points.

        Returns
        -------
        DeviceArray of int32, shape (n,)
            A number for each point.
        """
        counts: DeviceArray = self._tree.count_neighbors(real(radius, "radius"))
        return counts

    def count_pairs(self, radius: SupportsFloat) -> int:
        """How many pairs of points are within `radius` of each other, the boundary included.

        Parameters
        ----------
        radius : float
            In the unit of the points.

        Returns
        -------
        int
            Each pair counts once, and no point pairs with itself.
        """
        return int(self._tree.count_pairs(real(radius, "radius")))

    def nearest_neighbors(self, k: SupportsIndex, *, include_self: bool = False) -> tuple[DeviceArray, DeviceArray]:
        """The `k` nearest points to each of the points themselves, nearest first, ties by index.

        Parameters
        ----------
        k : int
            How many to find, at most the number of other points.
        include_self : bool
            Whether a point is its own neighbour. Copies of it are neighbours in any case.

        Returns
        -------
        distances : DeviceArray of float64, shape (n, k)
            In the unit of the points.
        indices : DeviceArray of int32, shape (n, k)
            The neighbours.
        """
        indices, distances = self._tree.nearest_neighbors(integer(k, "k", 0), include_self)
        return distances, indices
