#!/usr/bin/env python3
"""First hits of rays on a mesh by NVIDIA's Warp, for the mesh and rays that `device_rays` wrote to a folder.

    cargo bench -p ropewalk-benches --features cuda --bench device_rays -- 1000000 16777216 /tmp/rays
    python3 benches/peers/warp_rays.py /tmp/rays        # needs numpy and warp-lang

Prints the number of hits, which equals that of `device_rays` except for rounding in 32 bits, and the shortest time of seven runs.
"""

import sys
import time

import numpy as np
import warp as wp


@wp.kernel
def cast(mesh: wp.uint64, rays: wp.array2d(dtype=wp.float32), face: wp.array(dtype=wp.int32), t: wp.array(dtype=wp.float32)):
    i = wp.tid()
    origin = wp.vec3(rays[i, 0], rays[i, 1], rays[i, 2])
    direction = wp.vec3(rays[i, 3], rays[i, 4], rays[i, 5])
    found = wp.mesh_query_ray(mesh, origin, wp.normalize(direction), 1.0e6)
    if found.result:
        face[i] = found.face
        t[i] = found.t
    else:
        face[i] = -1


def main(folder):
    wp.init()
    vertices = np.fromfile(f"{folder}/vertices.f32", "<f4").reshape(-1, 3)
    faces = np.fromfile(f"{folder}/faces.u32", "<u4").astype(np.int32)
    rays = np.fromfile(f"{folder}/rays.f32", "<f4").reshape(-1, 6)
    points, indices = wp.array(vertices, dtype=wp.vec3, device="cuda"), wp.array(faces, dtype=wp.int32, device="cuda")
    # The tree built with the surface area heuristic gives the fastest rays.
    for how in ("sah", "lbvh"):
        mesh = wp.Mesh(points=points, indices=indices, bvh_constructor=how)
        asked = wp.array(rays, dtype=wp.float32, device="cuda")
        face, t = wp.empty(len(rays), dtype=wp.int32, device="cuda"), wp.empty(len(rays), dtype=wp.float32, device="cuda")
        times = []
        for _ in range(8):
            wp.synchronize()
            began = time.perf_counter()
            wp.launch(cast, dim=len(rays), inputs=[mesh.id, asked, face, t], device="cuda")
            wp.synchronize()
            times.append(time.perf_counter() - began)
        # The first run compiles.
        least = min(times[1:])
        hit = int((face.numpy() >= 0).sum())
        print(f"warp, {how}: {hit} hit, {1e3 * least:.3f} ms, {len(rays) / least / 1e6:.1f} million per second")


main(sys.argv[1])
