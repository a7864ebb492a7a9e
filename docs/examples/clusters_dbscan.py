import subprocess
import sys

import numpy as np

from ropewalk import DBSCAN

subprocess.run([sys.executable, "moons.py"], check=True)
X = np.loadtxt("moons.csv", delimiter=",", skiprows=1)
found = DBSCAN(eps=0.2, min_samples=5).fit(X)
print(found.labels_.max() + 1, "clusters,", np.sum(found.labels_ < 0), "points of noise")
print(found.predict([[0.0, 1.0], [10.0, 10.0]]))
