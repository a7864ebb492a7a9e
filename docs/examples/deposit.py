import numpy as np

from ropewalk import Sph

random = np.random.default_rng(1)
particles, masses = random.uniform(0, 10, (2000, 2)), np.full(2000, 0.5)
x, y = np.meshgrid(0.5 + np.arange(10.0), 0.5 + np.arange(10.0), indexing="ij")
cells = np.stack([x.ravel(), y.ravel()], axis=1)
deposited = Sph("wendland_c2", radius=1.5).scatter(particles, cells).apply(masses)
print(np.isclose(deposited.sum(), masses.sum()))
