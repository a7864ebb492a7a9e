import numpy as np

import ropewalk

X = ropewalk.sample.mock_halos(20_000, seed=1)
ropewalk.set_threads(1)
one = ropewalk.HDBSCAN(min_cluster_size=20).fit(X)
ropewalk.set_threads(None)
all_threads = ropewalk.HDBSCAN(min_cluster_size=20).fit(X)
order = np.random.default_rng(0).permutation(len(X))
shuffled = ropewalk.HDBSCAN(min_cluster_size=20).fit(X[order])
print(np.array_equal(one.labels_, all_threads.labels_))
print(np.array_equal(np.sort(np.bincount(one.labels_ + 1)), np.sort(np.bincount(shuffled.labels_ + 1))))
