"""Words for messages and titles."""

from __future__ import annotations


def counted(n: int, what: str) -> str:
    """Returns a number of things in words, such as "1 halo" or "1,234 halos"."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
