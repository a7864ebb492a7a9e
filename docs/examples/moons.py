"""Writes moons.csv: two crescents, a blob and a little noise in the plane."""

import numpy as np

random = np.random.default_rng(0)
angle = random.uniform(0, np.pi, (2, 400))
moons = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
moons[1] = [1.0, 0.5] - moons[1]
blob = random.normal([3.5, 0.5], 0.3, (300, 2))
noise = random.uniform([-2, -1.5], [5, 2], (60, 2))
points = np.concatenate([*(moons + random.normal(0, 0.05, moons.shape)), blob, noise])
np.savetxt("moons.csv", points, fmt="%.6f", delimiter=",", header="x,y", comments="")
