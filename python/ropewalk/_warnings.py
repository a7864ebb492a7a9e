"""What a caller should know beside the answer."""

from __future__ import annotations


class RopewalkWarning(UserWarning):
    """An answer is right, but not all that was asked for: a halo without a centre, a redshift that is taken to be 0."""
