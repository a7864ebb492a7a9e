import subprocess
import sys

import numpy as np

from ropewalk import Mesh, read_mesh

subprocess.run([sys.executable, "torus.py"], check=True)
mesh = Mesh(*read_mesh("torus.obj"))
points = np.array([[2.0, 0.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 1.0]])
near = mesh.nearest(points)
print(mesh.contains(points), mesh.signed_distance(points).round(3))
print(near.triangle, near.point.round(2))
