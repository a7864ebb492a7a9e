import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np

from ropewalk import Mesh, read_mesh

subprocess.run([sys.executable, "torus.py"], check=True)
mesh = Mesh(*read_mesh("torus.obj"))
x, z = np.meshgrid(np.linspace(-3.5, 3.5, 281), np.linspace(-1.5, 1.5, 121), indexing="ij")
points = np.stack([x, np.zeros_like(x), z], axis=-1).reshape(-1, 3)
distance = mesh.signed_distance(points).reshape(x.shape)
fig, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
drawn = ax.contourf(x, z, distance, levels=21, cmap="cividis")
ax.contour(x, z, distance, levels=[0], colors="white")
ax.set_aspect("equal")
fig.colorbar(drawn, label="signed distance")
fig.savefig("signed_distance.png", dpi=110)
