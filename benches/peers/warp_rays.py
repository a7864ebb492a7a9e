#!/usr/bin/env python3
"""Rays and nearest triangles by NVIDIA's Warp, for the mesh and rays of `device_rays`.

    cargo bench -p ropewalk-benches --features cuda --bench device_rays -- 1000000 16777216
    python3 benches/peers/warp_rays.py 1000000 16777216        # needs numpy and warp-lang

Trees are Warp's default, that of the surface area heuristic, and cuBQL's, if Warp has it.

The mesh is the same bumpy sphere, the rays have the same bits up to rounding of sines: incoherent rays
between two random points of [-1.5, 1.5]^3, and a camera. Rays are not of unit length; the first hit of the whole ray
counts. Times are medians of 5 after one warm-up, with the device synchronized.
"""

import sys
import time

import numpy as np
import warp as wp

TURNS = 5


def bumpy(triangles):
    n = max(int(np.sqrt(triangles / 4.0)), 2)
    theta = (np.arange(n + 1) / n * np.pi)[:, None]
    phi = (np.arange(2 * n) / n * np.pi)[None, :]
    at = np.stack(
        [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta) + 0 * phi], axis=-1
    ).reshape(-1, 3)
    bumps = 0.1 * np.sin(9 * at[:, 0]) * np.cos(7 * at[:, 1]) + 0.05 * np.sin(31 * at[:, 2])
    vertices = (at * (1 + bumps)[:, None]).astype(np.float32)
    i, j = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(2 * n), indexing="ij"))
    k = (j + 1) % (2 * n)
    a, b, c, d = i * 2 * n + j, (i + 1) * 2 * n + j, (i + 1) * 2 * n + k, i * 2 * n + k
    faces = np.stack([a, b, c, a, c, d], axis=-1).reshape(-1, 3).astype(np.int32)
    return vertices, faces


def numbers(count):
    """The random numbers of `device_rays`."""
    mask = (1 << 64) - 1
    multiplier, increment = 6364136223846793005, 1442695040888963407
    states = np.empty(count, np.uint64)
    states[0] = (multiplier + increment) & mask  # the first step from 1
    done = 1
    while done < count:
        # After `done` steps a state s is multiplier * s + increment.
        more = min(done, count - done)
        states[done : done + more] = states[:more] * np.uint64(multiplier) + np.uint64(increment)
        increment = (multiplier * increment + increment) & mask
        multiplier = multiplier * multiplier & mask
        done += more
    return ((states >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24) - np.float32(0.5)) * np.float32(3)


def incoherent(n):
    places = numbers(6 * n).reshape(n, 2, 3)
    return np.ascontiguousarray(places[:, 0]), places[:, 1] - places[:, 0]


def camera(n):
    width = int(np.sqrt(n))
    i = np.arange(n)
    x = (i % width).astype(np.float32) / np.float32(width) - np.float32(0.5)
    y = (i // width).astype(np.float32) / np.float32(width) - np.float32(0.5)
    origins = np.tile(np.array([0, -3, 0], np.float32), (n, 1))
    return origins, np.stack([x, np.ones_like(x), y], axis=-1)


@wp.kernel(enable_backward=False)
def first_hits(
    mesh: wp.uint64,
    origins: wp.array(dtype=wp.vec3),
    directions: wp.array(dtype=wp.vec3),
    faces: wp.array(dtype=wp.int32),
    distances: wp.array(dtype=wp.float32),
):
    i = wp.tid()
    hit = wp.mesh_query_ray(mesh, origins[i], directions[i], 1.0e30)
    if hit.result:
        faces[i] = hit.face
        distances[i] = hit.t
    else:
        faces[i] = -1
        distances[i] = 0.0


@wp.kernel(enable_backward=False)
def any_hits(
    mesh: wp.uint64,
    origins: wp.array(dtype=wp.vec3),
    directions: wp.array(dtype=wp.vec3),
    faces: wp.array(dtype=wp.int32),
    distances: wp.array(dtype=wp.float32),
):
    i = wp.tid()
    distances[i] = 0.0
    if wp.mesh_query_ray_anyhit(mesh, origins[i], directions[i], 1.0e30):
        faces[i] = 0
    else:
        faces[i] = -1


@wp.kernel(enable_backward=False)
def nearest_signed(
    mesh: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    faces: wp.array(dtype=wp.int32),
    distances: wp.array(dtype=wp.float32),
):
    i = wp.tid()
    near = wp.mesh_query_point(mesh, points[i], 1.0e6)
    faces[i] = -1
    distances[i] = 0.0
    if near.result:
        faces[i] = near.face
        distances[i] = wp.length(wp.mesh_eval_position(mesh, near.face, near.u, near.v) - points[i])


@wp.kernel(enable_backward=False)
def nearest(
    mesh: wp.uint64,
    points: wp.array(dtype=wp.vec3),
    faces: wp.array(dtype=wp.int32),
    distances: wp.array(dtype=wp.float32),
):
    i = wp.tid()
    near = wp.mesh_query_point_no_sign(mesh, points[i], 1.0e6)
    faces[i] = -1
    distances[i] = 0.0
    if near.result:
        faces[i] = near.face
        distances[i] = wp.length(wp.mesh_eval_position(mesh, near.face, near.u, near.v) - points[i])


def median(work, device):
    times = []
    for turn in range(TURNS + 1):
        wp.synchronize_device(device)
        began = time.perf_counter()
        work()
        wp.synchronize_device(device)
        if turn > 0:
            times.append(time.perf_counter() - began)
    return sorted(times)[TURNS // 2]


def main():
    triangles = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 24
    wp.init()
    device = wp.get_device(sys.argv[3] if len(sys.argv) > 3 else "cuda:0")
    began = time.perf_counter()
    vertices, faces = bumpy(triangles)
    queries = {"incoherent": incoherent(n), "camera": camera(n)}
    took = time.perf_counter() - began
    print(f"Warp {wp.__version__} on {device}, {len(faces)} triangles, {n} rays; arrays made in {took:.1f} s")
    with wp.ScopedDevice(device):
        points = wp.array(vertices, dtype=wp.vec3)
        indices = wp.array(faces.ravel(), dtype=wp.int32)
        near = wp.array(queries["incoherent"][0][: 1 << 20], dtype=wp.vec3)
        queries = {
            name: (wp.array(origins, dtype=wp.vec3), wp.array(directions, dtype=wp.vec3))
            for name, (origins, directions) in queries.items()
        }
        found = wp.empty(n, dtype=wp.int32)
        distances = wp.empty(n, dtype=wp.float32)
        began = time.perf_counter()
        wp.load_module(device=device)
        print(f"kernels compiled or loaded in {time.perf_counter() - began:.1f} s")
        constructors = [None, "sah"]
        available = getattr(wp, "is_cubql_available", None)
        if available is not None and available():
            constructors.append("cubql")
        for constructor in constructors:
            name = constructor or "default"
            try:
                meshes = []

                def build():
                    meshes.clear()
                    meshes.append(wp.Mesh(points=points, indices=indices, bvh_constructor=constructor))

                took = median(build, device)
                mesh = meshes[0]
                print(f"{name}: build {1e3 * took:.3f} ms")
                took = median(mesh.refit, device)
                print(f"{name}: refit {1e3 * took:.3f} ms")
                for what, (origins, directions) in queries.items():
                    for kind, kernel in (("first", first_hits), ("any", any_hits)):
                        arguments = [mesh.id, origins, directions, found, distances]
                        took = median(lambda: wp.launch(kernel, dim=n, inputs=arguments), device)
                        hits = int((found.numpy() >= 0).sum())
                        total = float(distances.numpy().sum(dtype=np.float64))
                        print(
                            f"{name}, {what}, {kind}: {1e3 * took:.3f} ms, {n / took / 1e6:.1f} million per second, "
                            f"{hits} hits, sum of t {total:.6f}",
                            flush=True,
                        )
                m = len(near)
                for kind, kernel in (("mesh_query_point_no_sign", nearest), ("mesh_query_point", nearest_signed)):
                    arguments = [mesh.id, near, found, distances]
                    took = median(lambda: wp.launch(kernel, dim=m, inputs=arguments), device)
                    total = float(distances.numpy()[:m].sum(dtype=np.float64))
                    hits = int((found.numpy()[:m] >= 0).sum())
                    print(
                        f"{name}, {kind}: {1e3 * took:.3f} ms, {m / took / 1e6:.1f} million points per second, "
                        f"{hits} found, sum of distances {total:.6f}",
                        flush=True,
                    )
            except Exception as error:  # the other constructors still count
                print(f"{name}: failed: {error!r}", flush=True)


if __name__ == "__main__":
    main()
