import subprocess
import sys

import numpy as np

from ropewalk import Mesh, read_mesh

subprocess.run([sys.executable, "torus.py"], check=True)
mesh = Mesh(*read_mesh("torus.obj"))
origins = [[-5.0, 0.0, 0.0], [0.0, 0.0, 5.0]]
directions = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]
first = mesh.first_hits(origins, directions)
print(first.triangle, first.t)
crossings = mesh.hits_all([[-5.0, 0.0, 0.0]], [1.0, 0.0, 0.0])
print(np.diff(crossings.offsets), crossings.t)
print(mesh.any_hits([0.0, 0.0, 5.0], [2.0, 0.0, -5.0], t_max=1.0))
