"""Results on a device, compared with the processor. Run by `on_device.py`."""

from __future__ import annotations

import numpy as np
import ropewalk
from on_device_support import check, cloud, same, spacing, step
from ropewalk import _device


@step
def answers(name: str, library, n: int, dim: int, dtype, box) -> None:
    what = f"{name}, {n} points of {dim} {np.dtype(dtype)}, box {box}: "
    x = cloud(n, dim, dtype)
    there, eps = library.put(x), 0.3 * spacing(x)
    for samples in [1, 2, 5]:
        core, labels = ropewalk.dbscan(there, eps, min_samples=samples, box_size=box)
        own_core, own_labels = ropewalk.dbscan(x, eps, min_samples=samples, box_size=box)
        check(isinstance(labels, _device.DeviceArray) and labels.device == "cuda:0", what + "dbscan stays there")
        same(library.take(labels), own_labels, what + f"dbscan {samples} labels")
        same(library.take(core), own_core, what + f"dbscan {samples} core")
        same(labels.get(), own_labels, what + "get")
    groups = ropewalk.friends_of_friends(there, eps, min_members=5, box_size=box)
    own = ropewalk.friends_of_friends(x, eps, min_members=5, box_size=box)
    for field in ["labels", "offsets", "indices"]:
        same(library.take(getattr(groups, field)), getattr(own, field), what + f"friends_of_friends {field}")
    if dim in (2, 3):
        options = {"n_density": 24, "n_hop": 16, "box_size": box}
        groups, own = ropewalk.hop(there, 20.0, **options), ropewalk.hop(x, 20.0, **options)
        for field in ["labels", "offsets", "indices", "density"]:
            same(library.take(getattr(groups, field)), getattr(own, field), what + f"hop {field}")
        masses = np.linspace(1.0, 2.0, n)
        groups, own = ropewalk.hop(there, 20.0, masses=masses, **options), ropewalk.hop(x, 20.0, masses=masses, **options)
        same(library.take(groups.density), own.density, what + "hop density of masses")
    for alpha in [1.0, 0.7]:
        options = {"min_cluster_size": 20, "alpha": alpha, "box_size": box}
        found, own = ropewalk.HDBSCAN(**options).fit(there), ropewalk.HDBSCAN(**options, ties="together").fit(x)
        same(library.take(found.labels_), own.labels_, what + f"HDBSCAN labels, alpha {alpha}")
        same(library.take(found.probabilities_), own.probabilities_, what + f"HDBSCAN probabilities, alpha {alpha}")
        options = {"alpha": alpha, "box_size": box}
        tree, own = (ropewalk.minimum_spanning_tree(points, **options) for points in (there, x))
        same(library.take(tree.edges), own.edges, what + f"edges, alpha {alpha}")
        same(library.take(tree.weights), own.weights, what + f"weights, alpha {alpha}")
    neighbours(library, x, there, eps, box, what)


def neighbours(library, x, there, eps, box, what) -> None:
    tree, own = ropewalk.DeviceBvh(there, box), ropewalk.Bvh(x, box)
    same(library.take(tree.count_neighbors(eps)), own.count_neighbors(eps), what + "count_neighbors")
    check(tree.count_pairs(eps) == len(own.pairs(eps).indices), what + "count_pairs")
    (starts, indices), lists = (library.take(array) for array in tree.neighbors(eps)), own.neighbors(eps)
    same(starts, lists.offsets, what + "neighbors offsets")
    # Lists are in tree order on the device, and ascending on the processor.
    rows = np.repeat(np.arange(len(x)), np.diff(starts))
    same(indices[np.lexsort((indices, rows))], lists.indices, what + "neighbors indices")
    for k, include_self in [(4, False), (5, True)]:
        ours, theirs = (bvh.nearest_neighbors(k, include_self=include_self) for bvh in (tree, own))
        same(library.take(ours[0]), theirs[0], what + "distances of the nearest")
        same(library.take(ours[1]), theirs[1], what + "the nearest")
    check([array.shape for array in tree.nearest_neighbors(0)] == [(len(x), 0)] * 2, what + "shape of no neighbours")


@step
def from_numpy() -> None:
    x = cloud(3000, 3, np.float32)
    for device in ["cuda", "cuda:0"]:
        labels = ropewalk.dbscan(x, 0.01, device=device)[1]
        same(labels.get(), ropewalk.dbscan(x, 0.01)[1], f"NumPy's array with device={device!r}")
    same(ropewalk.dbscan(x.tolist(), 0.01, device="cuda")[1].get(), ropewalk.dbscan(x.tolist(), 0.01)[1], "a list")


@step
def small(library) -> None:
    for n in [0, 1, 2]:
        x = cloud(n, 2, np.float64) if n > 0 else np.zeros((0, 2))
        core, labels = ropewalk.dbscan(library.put(x), 0.5, min_samples=1)
        same(library.take(labels), np.zeros(n) if n < 2 else ropewalk.dbscan(x, 0.5, min_samples=1)[1], f"{n} points")
        check(len(core) == n, f"{n} points, core")
        groups = ropewalk.friends_of_friends(library.put(x), 0.5)
        same(library.take(groups.labels), ropewalk.friends_of_friends(x, 0.5).labels, f"{n} points, groups")
    x = np.zeros((5000, 3), np.float32)
    same(library.take(ropewalk.dbscan(library.put(x), 0.5)[1]), np.zeros(5000), "copies of one point")
