"""Checks that the compiled part of the package is there, and explains what to do if it is not."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def require_native() -> None:
    """Raises `ImportError` if the package has no compiled part, as in a clone of the repository."""
    if find_spec("ropewalk._native") is not None:
        return
    folder = Path(__file__).resolve().parent
    raise ImportError(
        f"{folder} has no compiled part (ropewalk._native): it is the source of ropewalk, not an installation. If ropewalk is installed, "
        f"start Python in another folder, since Python looks for packages in the current folder first. Otherwise install it: "
        f"pip install {folder.parent}",
        name="ropewalk._native",
    )
