import subprocess
import sys

import numpy as np

from ropewalk import HDBSCAN

subprocess.run([sys.executable, "moons.py"], check=True)
X = np.loadtxt("moons.csv", delimiter=",", skiprows=1)
found = HDBSCAN(min_cluster_size=25, min_samples=10).fit(X)
for label in range(found.labels_.max() + 1):
    members = found.labels_ == label
    strength = found.probabilities_[members].mean()
    print(f"{label}: {members.sum()} {strength:.2f} {found.cluster_persistence_[label]:.2f}")
