"""Density clustering, halo finding and geometric search on large point sets.

Answers are exact and do not depend on the number of threads: radii are inclusive, and distances are compared as 64-bit arithmetic
decides them, whatever the type of the points.
"""

from ropewalk._native import set_threads, threads

__all__ = ["set_threads", "threads"]
