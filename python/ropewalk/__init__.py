"""Density clustering, halo finding and geometric search on large point sets.

Answers are exact and do not depend on the number of threads: radii are inclusive, and distances are compared as 64-bit arithmetic
decides them, whatever the type of the points.
"""

from ropewalk._base import NotFittedError
from ropewalk._dbscan import DBSCAN, dbscan
from ropewalk._fof import FriendsOfFriends, Groups, friends_of_friends
from ropewalk._hdbscan import HDBSCAN, SpanningTree
from ropewalk._hop import HOP, HopGroups, hop
from ropewalk._native import set_threads, threads

__all__ = [
    "DBSCAN",
    "FriendsOfFriends",
    "Groups",
    "HDBSCAN",
    "HOP",
    "HopGroups",
    "NotFittedError",
    "SpanningTree",
    "dbscan",
    "friends_of_friends",
    "hop",
    "set_threads",
    "threads",
]
