"""Density clustering, halo finding and geometric search on large point sets.

Results are exact and do not depend on the number of threads. Radii are inclusive, and distances are compared in 64-bit arithmetic,
whatever the type of the points.

- Clusters: `DBSCAN` and `HDBSCAN` with scikit-learn's interface, `dbscan`, and `k_distances` to choose `eps`.
- Groups of points: `FriendsOfFriends`, `friends_of_friends`, and `HOP`, `hop` around density peaks.
- Neighbours: `Bvh`, a search tree, and `NearestNeighbors` with scikit-learn's interface.
- Triangle meshes: `Mesh` for ray casting, nearest triangles and inside-outside tests, and `read_mesh`.
- Interpolation of scattered data: `MovingLeastSquares`, `Sph`, `InverseDistance`.
- Trees: `minimum_spanning_tree`, `linkage`.
- Halos of simulations: `read_snapshot`, `halos` for a catalogue by friends of friends, `HOP` or `AdaptaHOP`, and `halos_above` for the
  expected number of halos.
- `ropewalk.sample` generates point sets for experiments, `ropewalk.plot` draws figures (`Figure`), `HaloCatalog.report` creates
  interactive pages (`Report`), `set_threads` sets the number of threads, and `progress` shows bars.
"""

from ropewalk._loading import require_native

require_native()

from ropewalk import plot, sample
from ropewalk._adaptahop import AdaptaHOP
from ropewalk._base import NotFittedError
from ropewalk._bvh import Bvh
from ropewalk._cosmology import halos_above
from ropewalk._dbscan import DBSCAN, dbscan
from ropewalk._device_bvh import DeviceBvh, DeviceLists
from ropewalk._figure import Figure
from ropewalk._fof import FriendsOfFriends, Groups, OwnedGroups, friends_of_friends
from ropewalk._halo_catalog import HaloCatalog
from ropewalk._halos import halos
from ropewalk._hdbscan import HDBSCAN
from ropewalk._hop import HOP, HopGroups, hop
from ropewalk._interpolate import InverseDistance, MovingLeastSquares, Sph
from ropewalk._interpolator import Interpolator
from ropewalk._k_distances import k_distances
from ropewalk._lists import Lists, Pairs
from ropewalk._mesh import Mesh
from ropewalk._mesh_data import MeshData, read_mesh
from ropewalk._mesh_hits import HitLists, NearestTriangles, RayHits
from ropewalk._native import __version__, set_threads, threads
from ropewalk._neighbors import NearestNeighbors
from ropewalk._progress import progress
from ropewalk._read_snapshot import read_snapshot
from ropewalk._report import Report
from ropewalk._snapshot import Snapshot
from ropewalk._tables import Table
from ropewalk._trees import SpanningTree, linkage, minimum_spanning_tree
from ropewalk._warnings import RopewalkWarning

__all__ = [
    "AdaptaHOP",
    "Bvh",
    "DBSCAN",
    "DeviceBvh",
    "DeviceLists",
    "Figure",
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
    "Report",
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
    "progress",
    "read_mesh",
    "read_snapshot",
    "sample",
    "set_threads",
    "threads",
]
