import numpy as np

from ropewalk import Bvh

points = np.indices((10, 10, 10)).reshape(3, -1).T.astype(np.float32) * np.float32(0.1)
step = points.astype(np.float64)
print(len(Bvh(points).pairs(0.1).indices), len(Bvh(step).pairs(0.1).indices))
