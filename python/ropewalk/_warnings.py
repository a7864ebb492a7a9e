"""What a caller should know beside the answer."""

from __future__ import annotations


class RopewalkWarning(UserWarning):
    """An answer is right, but not all that was asked for: a halo without a centre, a redshift that is taken to be 0.

    Examples
    --------
    >>> import warnings
    >>> from ropewalk import RopewalkWarning
    >>> warnings.simplefilter("error", RopewalkWarning)  # such an answer is an exception from now on
    >>> warnings.simplefilter("default", RopewalkWarning)
    """
