"""Arrays on devices, as far as testable without a GPU: the choice of interface, and errors. `on_device.py` tests the rest."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
import ropewalk
from ropewalk import _native

on_gpu_build = pytest.mark.skipif(not hasattr(_native, "DeviceArray"), reason="this build has no CUDA support")


def has_device() -> bool:
    try:
        ropewalk.DeviceBvh(np.zeros((1, 2)))
    except RuntimeError:
        return False
    return True


class Interface:
    """An object with a CUDA array interface."""

    def __init__(self, **changes: Any) -> None:
        self.shape = (4, 2)
        own = {"version": 3, "shape": (4, 2), "typestr": "<f4", "data": (4096, False), "strides": None, "stream": None}
        self.__cuda_array_interface__ = {key: value for key, value in {**own, **changes}.items() if value != "absent"}


class Lender:
    """An object that supports DLPack and exports the capsule of another object."""

    def __init__(self, device: tuple[int, int], lends: Any = None) -> None:
        self.shape = (4, 2)
        self.device, self.lends = device, lends
        self.asked: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **asked: Any) -> Any:
        self.asked.append(asked)
        return self.lends.__dlpack__(max_version=asked.get("max_version"))


class Tensor(ctypes.Structure):
    """`DLManagedTensor` of DLPack 0.8, which begins with `DLTensor`."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


class Handmade:
    """An object that exports a tensor claimed to be on a GPU, and counts the calls of its deleter."""

    def __init__(self, shape: list[int], strides: list[int] | None = None, code: int = 2, bits: int = 32, lanes: int = 1) -> None:
        self.shape, self.returned = tuple(shape), 0
        self.sizes = (ctypes.c_int64 * len(shape))(*shape)
        self.steps = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self.tensor = Tensor(4096, 2, 0, len(shape), code, bits, lanes, self.sizes, self.steps, 0, None)
        self.tensor.deleter = self.deleter = type(self.tensor.deleter)(self.take_back)

    def take_back(self, _address: int) -> None:
        self.returned += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, **_asked: Any) -> Any:
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


@on_gpu_build
@pytest.mark.parametrize(
    ("made", "error", "sentence"),
    [
        (Handmade([4, 2], [4, 1]), ValueError, "not in C order: its strides are 4 and 1 numbers, not 2 and 1"),
        (Handmade([4, 2], [1, 4]), ValueError, "not in C order"),
        (Handmade([4, 2], [-2, 1]), ValueError, "not in C order"),
        (Handmade([4, 2], bits=16), TypeError, "16 bits; it must hold float32 or float64"),
        (Handmade([4, 2], code=0), TypeError, "it must hold float32 or float64"),
        (Handmade([4, 2], lanes=4), TypeError, "it must hold float32 or float64"),
        (Handmade([4, 2], bits=0), ValueError, None),
        (Handmade([8]), ValueError, "points must be a two-dimensional array"),
        (Handmade([2, 2, 2]), ValueError, "points must be a two-dimensional array"),
        (Handmade([4, 7]), ValueError, "7 coordinates per point"),
        (Handmade([-4, 2]), ValueError, None),
        (Handmade([1 << 40, 1 << 40]), ValueError, None),
        # Valid, except that there is no GPU or no memory at the address.
        (Handmade([4, 2]), (RuntimeError, ValueError), None),
        (Handmade([1, 2], [5, 1]), (RuntimeError, ValueError), None),
    ],
)
def test_what_is_lent_is_given_back_once(
    made: Handmade, error: type[Exception] | tuple[type[Exception], ...], sentence: str | None
) -> None:
    with pytest.raises(error, match=sentence):
        _native.device_dbscan(made, 0.5, 2, None, None)
    assert made.returned == 1


def test_builds_for_the_processor_say_so() -> None:
    if hasattr(_native, "DeviceArray"):
        pytest.skip("this build is for GPUs, too")
    with pytest.raises(RuntimeError, match="this build of ropewalk has no CUDA support; build with --features cuda"):
        ropewalk.dbscan(np.zeros((3, 2)), device="cuda")


@on_gpu_build
def test_without_a_driver() -> None:
    if has_device():
        pytest.skip("there is a GPU")
    with pytest.raises(RuntimeError, match="no CUDA device 0: no CUDA devices found"):
        ropewalk.dbscan(np.zeros((3, 2)), device="cuda")
    with pytest.raises(RuntimeError, match="no CUDA device 3: no CUDA devices found"):
        ropewalk.FriendsOfFriends(1.0, device="cuda:3").fit(np.zeros((3, 2)))
    with pytest.raises(RuntimeError, match="no CUDA device 0"):
        ropewalk.dbscan(Interface(), 0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("device", ["cuda:", "cuda:x", "cuda:-1", "cuda:99999999999", "gpu", "cudax", ""])
def test_names_of_devices(device: str) -> None:
    with pytest.raises(ValueError, match="it must be 'cpu', 'cuda' or 'cuda:N'"):
        ropewalk.dbscan(np.zeros((3, 2)), device=device)


@on_gpu_build
@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"typestr": "<i4"}, TypeError, "it must hold float32 or float64"),
        ({"typestr": ">f4"}, TypeError, "it must hold float32 or float64"),
        ({"typestr": "absent"}, ValueError, "has no \"typestr\""),
        ({"shape": (4,)}, ValueError, "points must be a two-dimensional array"),
        ({"shape": (4, 11)}, ValueError, "11 coordinates per point; it must be 1 to 10"),
        ({"shape": (-4, 2)}, ValueError, "the shape"),
        ({"shape": (1 << 62, 2)}, ValueError, "exceeds the address space"),
        ({"shape": "no"}, Exception, None),
        ({"strides": (4, 16)}, ValueError, "not in C order: its strides are 1 and 4 numbers, not 2 and 1"),
        ({"strides": (16, 4)}, ValueError, "not in C order"),
        ({"strides": (-8, 4)}, ValueError, "not in C order"),
        ({"strides": (9, 4)}, ValueError, "not in C order"),
        ({"strides": (8,)}, ValueError, "2 dimensions, but 1 strides"),
        ({"mask": 1}, ValueError, "mask"),
        ({"data": "absent"}, ValueError, "has no \"data\""),
        ({"data": 4096}, TypeError, None),
        ({"data": (-1, False)}, OverflowError, None),
        ({"version": "absent"}, ValueError, "has no \"version\""),
    ],
)
def test_interfaces_that_are_refused(changes: dict[str, Any], error: type[Exception], sentence: str | None) -> None:
    with pytest.raises(error, match=sentence):
        _native.device_dbscan(Interface(**changes), 0.5, 2, None, None)


@on_gpu_build
def test_memory_that_is_not_of_a_gpu() -> None:
    host = np.zeros((4, 2), np.float32)
    for kind in [3, 10, 14]:
        with pytest.raises(ValueError, match=f"DLPack's device type {kind}"):
            _native.device_dbscan(Lender((kind, 0), host), 0.5, 2, None, None)
    # A host array that claims to be on a GPU: the exported tensor has another device.
    with pytest.raises(ValueError, match="device changed"):
        ropewalk.dbscan(Lender((2, 0), host), 0.5)  # type: ignore[arg-type]


@on_gpu_build
def test_the_producer_is_asked_for_the_legacy_stream() -> None:
    lender = Lender((2, 0), np.zeros((4, 2), np.float32))
    with pytest.raises(ValueError):
        _native.device_dbscan(lender, 0.5, 2, None, None)
    assert lender.asked[-1]["stream"] == 1
    assert lender.asked[-1]["max_version"][0] == 1


@on_gpu_build
def test_what_devices_do_not_have() -> None:
    points = np.zeros((4, 2))
    with pytest.raises(ValueError, match="sample_weight is not supported on a device"):
        ropewalk.dbscan(points, 0.5, sample_weight=np.ones(4), device="cuda")
    with pytest.raises(ValueError, match="it must be 1 to 10"):
        ropewalk.dbscan(np.zeros((4, 11)), 0.5, device="cuda")
    with pytest.raises(ValueError, match="on a device it must be 'together'"):
        ropewalk.HDBSCAN(min_cluster_size=2, device="cuda").fit(points)
    with pytest.raises(TypeError, match="X is not an array of points"):
        _native.device_dbscan([[0.0, 1.0]], 0.5, 2, None, None)
    with pytest.raises(ValueError, match="sides"):
        ropewalk.dbscan(points, 0.5, box_size=[1.0, 2.0, 3.0], device="cuda")
