"""Warnings of the package."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)


class RopewalkWarning(UserWarning):
    """A correct but incomplete result, or an assumption: a halo without a centre, a redshift that is assumed to be 0.

    Examples
    --------
    >>> import warnings
    >>> from ropewalk import RopewalkWarning
    >>> warnings.simplefilter("error", RopewalkWarning)  # raise an exception instead of a warning
    >>> warnings.simplefilter("default", RopewalkWarning)
    """


def warn(text: str, category: type[Warning] = RopewalkWarning) -> None:
    """Issues a warning whose location is the line that called this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
