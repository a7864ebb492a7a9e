"""Density clustering, halo finding and geometric search on large point sets.

Answers are exact and do not depend on the number of threads: radii are inclusive, and distances are compared as 64-bit arithmetic
decides them, whatever the type of the points.

- Clusters: `DBSCAN`, `HDBSCAN` as in scikit-learn, `dbscan`; `k_distances` to choose `eps`.
- Groups of points: `FriendsOfFriends`, `friends_of_friends`; `HOP`, `hop` about peaks of density.
- Neighbours: `Bvh`, a search tree; `NearestNeighbors` as in scikit-learn.
- Meshes: `Mesh`, of triangles: rays, nearest triangles, inside and outside; `read_mesh`.
- Values between points: `MovingLeastSquares`, `Sph`, `InverseDistance`.
- Trees: `minimum_spanning_tree`, `linkage`.
- Halos of simulations: `read_snapshot`, `halos` with their catalogue, `halos_above` as theory expects them.
- `ropewalk.sample` has point sets to try things on, `ropewalk.plot` pictures; `set_threads` says how many threads work.
"""

from ropewalk import plot, sample
from ropewalk._base import NotFittedError
from ropewalk._bvh import Bvh, Lists, Pairs
from ropewalk._cosmology import halos_above
from ropewalk._dbscan import DBSCAN, dbscan
from ropewalk._device_bvh import DeviceBvh, DeviceLists
from ropewalk._fof import FriendsOfFriends, Groups, OwnedGroups, friends_of_friends
from ropewalk._halo_catalog import HaloCatalog
from ropewalk._halos import halos
from ropewalk._hdbscan import HDBSCAN
from ropewalk._hop import HOP, HopGroups, hop
from ropewalk._interpolate import InverseDistance, MovingLeastSquares, Sph
from ropewalk._interpolator import Interpolator
from ropewalk._k_distances import k_distances
from ropewalk._mesh import Mesh, MeshData, read_mesh
from ropewalk._mesh_hits import HitLists, NearestTriangles, RayHits
from ropewalk._native import __version__, set_threads, threads
from ropewalk._neighbors import NearestNeighbors
from ropewalk._read_snapshot import read_snapshot
from ropewalk._snapshot import Snapshot
from ropewalk._tables import Table
from ropewalk._trees import SpanningTree, linkage, minimum_spanning_tree
from ropewalk._warnings import RopewalkWarning

__all__ = [
    "Bvh",
    "DBSCAN",
    "DeviceBvh",
    "DeviceLists",
    "FriendsOfFriends",
    "Groups",
    "HDBSCAN",
    "HOP",
    "HaloCatalog",
    "HitLists",
    "HopGroups",
    "Interpolator",
    "InverseDistance",
    "Lists",
    "Mesh",
    "MeshData",
    "MovingLeastSquares",
    "NearestNeighbors",
    "NearestTriangles",
    "NotFittedError",
    "OwnedGroups",
    "Pairs",
    "RayHits",
    "RopewalkWarning",
    "Snapshot",
    "SpanningTree",
    "Sph",
    "Table",
    "__version__",
    "dbscan",
    "friends_of_friends",
    "halos",
    "halos_above",
    "hop",
    "k_distances",
    "linkage",
    "minimum_spanning_tree",
    "plot",
    "read_mesh",
    "read_snapshot",
    "sample",
    "set_threads",
    "threads",
]
