"""Writes torus.obj: a torus of 8,192 triangles around the z axis."""

import numpy as np

m, n = 128, 32
u, v = np.meshgrid(2 * np.pi * np.arange(m) / m, 2 * np.pi * np.arange(n) / n, indexing="ij")
radius = 2 + 0.7 * np.cos(v)
corners = np.stack([radius * np.cos(u), radius * np.sin(u), 0.7 * np.sin(v)], axis=-1)
with open("torus.obj", "w") as file:
    for x, y, z in corners.reshape(-1, 3):
        file.write(f"v {x:.7f} {y:.7f} {z:.7f}\n")
    for i in range(m):
        for j in range(n):
            a, b = i * n + j, (i + 1) % m * n + j
            c, d = (i + 1) % m * n + (j + 1) % n, i * n + (j + 1) % n
            file.write(f"f {a + 1} {b + 1} {c + 1} {d + 1}\n")
