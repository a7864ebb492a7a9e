import numpy as np

from ropewalk import DBSCAN, NearestNeighbors, sample

X = sample.mock_halos(5000, seed=3)
labels = DBSCAN(eps=0.01, min_samples=5).fit_predict(X)
distances, indices = NearestNeighbors(n_neighbors=5).fit(X).kneighbors(X[:3])
print(np.unique(labels).size, distances.shape)
