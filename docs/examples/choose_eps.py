import numpy as np

import ropewalk

X = ropewalk.sample.mock_halos(20_000, seed=3, box_size=10.0)
min_samples = 6
distances = ropewalk.k_distances(X, min_samples - 1, box_size=10.0)
eps = np.quantile(distances, 0.7)
labels = ropewalk.DBSCAN(eps=eps, min_samples=min_samples, box_size=10.0).fit_predict(X)
print(f"eps {eps:.3f} gives {labels.max() + 1} clusters and {np.mean(labels < 0):.2f} noise")
