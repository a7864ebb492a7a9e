"""The choice between the processor and a device."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from ropewalk._checks import device_number, is_on_device


def device_backend(X: object, device: str | None) -> ModuleType | None:
    """Returns the functions for arrays on a device (`ropewalk._device`), or `None` if the work runs on the processor.

    Arrays in host memory are processed on the processor unless a device is named. No other function makes this choice.
    """
    if device is not None and not isinstance(device, str):
        raise TypeError(f"device is {device!r}; it must be 'cpu', 'cuda' or 'cuda:N'")
    if device == "cpu" or (device is None and not is_on_device(X)):
        return None
    device_number(device)
    try:
        return import_module("ropewalk._device")
    except ModuleNotFoundError:
        place = "X is on a device" if device is None else f"device is {device!r}"
        raise RuntimeError(f"{place}, but this build of ropewalk has no CUDA support; build with --features cuda") from None
