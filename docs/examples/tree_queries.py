import numpy as np

from ropewalk import Bvh

points = np.random.default_rng(0).random((10_000, 3), dtype=np.float32)
bvh = Bvh(points)
lists = bvh.query(points[:5], 0.05)
print(lists.offsets, lists.of(0)[:3])
print(bvh.count_neighbors(0.05).sum(), 2 * len(bvh.pairs(0.05).indices) + len(points))
distances, indices = bvh.nearest_neighbors(8)
print(distances.shape, indices.dtype)
