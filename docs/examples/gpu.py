# needs: cuda cupy
import cupy as cp

import ropewalk

X = cp.random.random((1_000_000, 3), dtype=cp.float32)
found = ropewalk.DBSCAN(eps=0.01, min_samples=5).fit(X)
labels = cp.from_dlpack(found.labels_)
print(int(labels.max()) + 1, "clusters")
