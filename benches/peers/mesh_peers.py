"""First hits of rays on meshes and nearest triangles to points: ropewalk, parry3d, bvh and embree (embreex).

Meshes: a bumpy sphere, and tubes of long thin triangles. Rays: from all directions, and of a camera. Points: all around, and near
the surface. Results are compared first. Then the libraries run in turns in one run with the same number of threads, and the
shortest time of each counts. Like parry3d and bvh, embree computes in 32 bits, so rays close to an edge may hit another triangle or
none.

    cargo build --release --bin op_server               (here)
    python mesh_peers.py                             (needs numpy; embreex and trimesh with rtree, if they are there and asked for)
"""

import argparse
import os
import time

import numpy as np

from op_server import OpServer, in_turns


def sphere(n):
    """Returns a bumpy sphere of about n triangles."""
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
    """Returns tubes of long thin triangles along the axes."""
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


def queries(vertices, faces, n):
    """Returns two sets of rays, each with a set of points."""
    rng = np.random.default_rng(9)
    unit = lambda: (lambda p: p / np.linalg.norm(p, axis=1)[:, None])(rng.normal(size=(n, 3)))
    origins = 2 * unit()
    around = np.hstack([origins, 0.9 * unit() - origins])
    side = int(n**0.5)
    y, x = np.meshgrid(*[np.linspace(-0.5, 0.5, side)] * 2, indexing="ij")
    ahead = np.stack([x.ravel(), y.ravel(), np.full(side * side, -1.0)], -1)
    camera = np.hstack([np.broadcast_to([0, 0, 3.0], ahead.shape), ahead])
    by = vertices[faces[rng.integers(len(faces), size=n)]].mean(1) + 0.01 * rng.normal(size=(n, 3))
    return {"around": (around, rng.uniform(-1.2, 1.2, (n, 3))), "camera": (camera, by)}


def embree(vertices, faces, rays):
    """Returns a function that returns embree's triangles of the rays, or None if embreex is not installed."""
    try:
        from embreex import rtcore_scene
        from embreex.mesh_construction import TriangleMesh
    except ImportError:
        return print("embreex is not installed; skipped")
    scene = rtcore_scene.EmbreeScene()
    mesh = TriangleMesh(scene, vertices, faces.astype(np.int32))
    o, d = np.ascontiguousarray(rays[:, :3]), np.ascontiguousarray(rays[:, 3:])
    return lambda _mesh=mesh: scene.run(o, d)


def check_with_trimesh(vertices, faces, rays, ours):
    """Compares first hits with trimesh's own search for a few rays. It takes minutes if triangles are long."""
    try:
        import rtree  # noqa: F401, what trimesh searches with
        import trimesh
        from trimesh.ray.ray_triangle import RayMeshIntersector
    except ImportError:
        return print("trimesh or rtree is not installed; skipped")
    mesh = trimesh.Trimesh(vertices, faces, process=False)
    theirs = RayMeshIntersector(mesh).intersects_first(rays[:, :3], rays[:, 3:])
    print(f"trimesh: {(theirs != ours).sum()} of {len(rays)} triangles differ")


def compare(what, found, theirs, close):
    """Prints the number of differences beyond rounding in f32, and of hits that only one library has. Returns False if there are
    many."""
    whether = np.isinf(found) != np.isinf(theirs)
    both = np.isfinite(found) & np.isfinite(theirs)
    apart = np.abs(found[both] - theirs[both])
    differ = (apart > close).sum()
    print(f"  {what}: {whether.sum()} of {len(found)} differ in hit or miss, {differ} by more than {close}; the others by at most {apart[apart <= close].max(initial=0):.1g}")
    return whether.sum() + differ <= len(found) // 1000


def report(title, taken, first):
    """Prints the seconds of each run, and their ratio to those of the run `first`."""
    print(f"  {title}: " + ", ".join(f"{name} {s:.3f} s ({s / taken[first]:.2f})" for name, s in taken.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--triangles", type=float, default=1e6)
    parser.add_argument("--queries", type=float, default=1e6, help="number of rays, and of points")
    parser.add_argument("--threads", type=int, default=1, help="number of threads; embree is skipped if there is more than one")
    parser.add_argument("--reps", type=int, default=5, help="repetitions after one warm-up; the minimum is reported")
    parser.add_argument("--meshes", default="sphere,tubes")
    parser.add_argument("--kinds", default="around,camera", help="kinds of rays: around (with points everywhere), camera (with points near the surface)")
    parser.add_argument("--ops", default="build,first_hits,nearest")
    parser.add_argument("--trimesh", action="store_true", help="also compare 50 rays with the search of trimesh")
    options = parser.parse_args()
    agree = True
    for name in options.meshes.split(","):
        vertices, faces = {"sphere": sphere, "tubes": tubes}[name](int(options.triangles))
        vertices, faces = vertices.astype("<f4"), faces.astype("<u4")
        for kind, (rays, points) in queries(vertices, faces, int(options.queries)).items():
            if kind not in options.kinds.split(","):
                continue
            rays, points = np.ascontiguousarray(rays.astype("<f4")), points.astype("<f4")
            print(f"{name}, {len(faces)} triangles; {kind}, {len(rays)} rays, {len(points)} points; threads {options.threads};"
                  f" load {os.getloadavg()[0]:.2f}", flush=True)
            server = OpServer("mesh", options.threads, vertices=vertices, faces=faces, rays=rays, points=points)
            libraries = ["ropewalk", "parry3d", "bvh"]
            built = {library: server.run(library, "build") for library in libraries}
            traced = embree(vertices, faces, rays) if options.threads == 1 else None

            server.run("ropewalk", "first_hits")
            t, triangles = server.answer()
            rivals = [("parry3d", "first_hit"), ("bvh", "first_hit_by_walk"), ("bvh", "first_hit_in_order")]
            for library, op in rivals:
                server.run(library, op)
                agree &= compare(f"{library} {op}", t, server.answer()[0], 1e-5)
            if "nearest" in options.ops:
                server.run("ropewalk", "nearest_all")
                distances = server.answer()[0]
                server.run("parry3d", "nearest")
                agree &= compare("parry3d nearest", distances, server.answer()[0], 1e-5)
            if traced:
                theirs = traced()
                print(f"  embree: {(triangles != theirs).sum()} triangles differ, {((triangles < 0) != (theirs < 0)).sum()} in hit or miss")
            if options.trimesh:
                check_with_trimesh(vertices, faces, rays[:50], triangles[:50])

            def ask(library, op):
                return lambda: server.run(library, op)[0]

            def timed(run):
                start = time.perf_counter()
                run()
                return time.perf_counter() - start

            ops = options.ops.split(",")
            if "build" in ops:
                report("build", in_turns({library: ask(library, "build") for library in libraries}, 2), "ropewalk")
            print("  bytes per triangle, result and peak: "
                  + ", ".join(f"{library} {kept / len(faces):.0f}, {most / len(faces):.0f}" for library, (_, kept, most) in built.items()))
            runs = {"ropewalk first_hits": ask("ropewalk", "first_hits"), "ropewalk first_hit": ask("ropewalk", "first_hit")}
            runs |= {f"{library} {op}": ask(library, op) for library, op in rivals}
            if traced:
                runs["embree"] = lambda: timed(traced)
            if "first_hits" in ops:
                report("first hits", in_turns(runs, options.reps), "ropewalk first_hits")
            asked = [("ropewalk", "nearest_all"), ("ropewalk", "nearest"), ("parry3d", "nearest")]
            runs = {f"{library} {op}": ask(library, op) for library, op in asked}
            if "nearest" in ops:
                report("nearest", in_turns(runs, options.reps), "ropewalk nearest_all")
            server.close()
    if not agree:
        raise SystemExit("more than 0.1% of the results of a library differ")


if __name__ == "__main__":
    main()
