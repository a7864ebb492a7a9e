"""What a caller should know beside the answer."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)


class RopewalkWarning(UserWarning):
    """An answer is right, but not all that was asked for: a halo without a centre, a redshift that is taken to be 0.

    Examples
    --------
    >>> import warnings
    >>> from ropewalk import RopewalkWarning
    >>> warnings.simplefilter("error", RopewalkWarning)  # such an answer is an exception from now on
    >>> warnings.simplefilter("default", RopewalkWarning)
    """


def warn(text: str, category: type[Warning] = RopewalkWarning) -> None:
    """A warning that names the line which called this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
