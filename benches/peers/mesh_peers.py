"""First hits of rays on meshes, beside embree (embreex) and trimesh's own search.

Meshes: a bumpy sphere, and tubes of long thin triangles. Rays: from all around, and those of a camera. Both programs run on one thread.
It prints times and how many hits differ: embree decides in 32 bits, so rays that pass close by an edge may meet another triangle.

    cargo build --release --bin first_hits           (here)
    python rays_peers.py [triangles] [rays]          (needs numpy, embreex; trimesh and rtree for a few rays more)
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from embreex import rtcore_scene
from embreex.mesh_construction import TriangleMesh

PROGRAM = Path(__file__).parent / "target/release/first_hits"


def sphere(n):
    """A bumpy sphere of about n triangles."""
    side = int((n / 2) ** 0.5)
    theta = np.linspace(0, np.pi, side + 1)[:, None]
    phi = np.linspace(0, 2 * np.pi, side, endpoint=False)[None, :]
    d = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta) + 0 * phi], -1)
    r = 1 + 0.2 * np.sin(5 * d[..., 0]) * np.cos(4 * d[..., 1]) + 0.01 * np.sin(97 * d[..., 1]) * np.cos(83 * d[..., 0])
    i, j = np.meshgrid(np.arange(side), np.arange(side), indexing="ij")
    at = lambda i, j: i * side + j % side
    quads = [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]]
    return (d * r[..., None]).reshape(-1, 3), np.concatenate([np.stack(q, -1).reshape(-1, 3) for q in quads])


def tubes(n, sides=500):
    """Tubes of long thin triangles, along the axes."""
    rng = np.random.default_rng(5)
    vertices, faces = [], []
    for tube in range(n // (2 * sides)):
        axis = tube % 3
        phi = 2 * np.pi * np.arange(sides) / sides
        ring = np.zeros((sides, 2, 3))
        radius, length = rng.uniform(0.01, 0.06), rng.uniform(0.1, 1)
        ring[:, :, (axis + 1) % 3] = radius * np.cos(phi)[:, None]
        ring[:, :, (axis + 2) % 3] = radius * np.sin(phi)[:, None]
        ring[:, 0, axis], ring[:, 1, axis] = -length / 2, length / 2
        a = 2 * np.arange(sides)
        c = np.roll(a, -1)
        faces += [2 * sides * tube + np.stack(f, -1) for f in ([a, c, a + 1], [a + 1, c, c + 1])]
        vertices.append((ring + rng.uniform(-1, 1, 3)).reshape(-1, 3))
    return np.concatenate(vertices), np.concatenate(faces)


def main():
    n, n_rays = (int(float(sys.argv[i])) if len(sys.argv) > i else 1_000_000 for i in (1, 2))
    rng = np.random.default_rng(9)
    unit = lambda: (lambda p: p / np.linalg.norm(p, axis=1)[:, None])(rng.normal(size=(n_rays, 3)))
    origins = 2 * unit()
    around = np.hstack([origins, 0.9 * unit() - origins])
    side = int(n_rays**0.5)
    y, x = np.meshgrid(*[np.linspace(-0.5, 0.5, side)] * 2, indexing="ij")
    ahead = np.stack([x.ravel(), y.ravel(), np.full(side * side, -1.0)], -1)
    camera = np.hstack([np.broadcast_to([0, 0, 3.0], ahead.shape), ahead])
    for name, (vertices, faces) in [("sphere", sphere(n)), ("tubes", tubes(n))]:
        vertices, faces = vertices.astype("<f4"), faces.astype("<u4")
        scene = rtcore_scene.EmbreeScene()
        mesh = TriangleMesh(scene, vertices, faces.astype(np.int32))
        for kind, rays in [("around", around), ("camera", camera)]:
            rays = np.ascontiguousarray(rays.astype("<f4"))
            o, d = np.ascontiguousarray(rays[:, :3]), np.ascontiguousarray(rays[:, 3:])
            scene.run(o, d)
            start = time.perf_counter()
            theirs = scene.run(o, d)
            taken = time.perf_counter() - start
            with tempfile.TemporaryDirectory() as folder:
                files = [f"{folder}/{at}" for at in ("vertices", "faces", "rays", "hits")]
                for file, array in zip(files, (vertices, faces, rays)):
                    array.tofile(file)
                told = subprocess.run([PROGRAM, *files], check=True, capture_output=True, text=True,
                                      env={**os.environ, "RAYON_NUM_THREADS": "1"}).stdout
                ours = np.fromfile(files[3], "<u4").astype(np.int64)
            ours[ours == 2**32 - 1] = -1
            own = float(told.split()[-2])
            print(f"{name}, {len(faces)} triangles, {len(rays)} rays {kind}: embree {taken:.3f} s, ropewalk {own:.3f} s"
                  f" ({own / taken:.2f}); {(ours != theirs).sum()} hits differ, {((ours < 0) != (theirs < 0)).sum()} of them in whether")
            check_with_trimesh(vertices, faces, rays[:50], ours[:50])


def check_with_trimesh(vertices, faces, rays, ours):
    """The same by trimesh's search without embree, for a few rays."""
    try:
        import rtree  # noqa: F401, what trimesh searches with
        import trimesh
        from trimesh.ray.ray_triangle import RayMeshIntersector
    except ImportError:
        return print("  trimesh or rtree is not there: not compared")
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    theirs = RayMeshIntersector(mesh).intersects_first(rays[:, :3], rays[:, 3:])
    print(f"  trimesh: {(theirs != ours).sum()} of {len(rays)} differ")


if __name__ == "__main__":
    main()
