#!/usr/bin/env python3
"""Compares the Python package's `Mesh` with embreex, trimesh, libigl, and with --open3d also with Open3D.

    python tests/oracle/meshes.py [--open3d]

The script generates two closed meshes of about 100,000 triangles. One is a bumpy ball with triangles of all sizes. The other has
machine-like parts: cylinders of long slivers, and flat sides of many coplanar triangles. Their corners are multiples of 2^-20, so that rays aimed at a
corner or at the middle of an edge hit it exactly, also in 32 bits.

Comparisons and tolerances:
- First and any hits, with embreex and Open3D. Both compute in 32 bits: t (with directions shorter than 1) agrees within 2e-5.
  Coordinates are below 4, where such numbers are 2^-22 apart, and slanting triangles have errors of many times that. Rays that pass
  an edge more closely may hit another triangle there, or none. For a sample of the differing rays, and of others, exact rational
  arithmetic over all triangles decides. ropewalk must agree, with t within 1e-12 (64 bits, and triangles seen edge-on).
  Fewer than 1 in 1000 rays may differ, or 1 in 50 of those aimed at corners and edges, some of which pass between triangles in 32
  bits. ropewalk's own results in 32 and 64 bits must be equal.
- All hits of rays in general position, with trimesh's own engine and libigl's, in 64 bits: the same triangles, t within 1e-9
  (relative 1e-7 with libigl, which returns 32 bits).
- All hits of rays that pass exactly through corners and edges: their number is even, and the surface is entered and left
  alternately. Rational arithmetic over all triangles confirms each t of a sample. Where libigl's winding number changes, the number
  of hits is odd.
- Nearest triangles and distances with libigl in 64 bits, within 1e-12. A sample with trimesh, which treats squared distances within
  1e-8 as equal: its squares are never smaller, and larger by at most that tolerance. With Open3D within 1e-5.
- Winding numbers with libigl's exact sum within 0.01, as documented, also for a mesh with a hole; signed distances with libigl
  within 1e-12.
"""

import sys
import time
from fractions import Fraction

import embreex.mesh_construction
import embreex.rtcore_scene
import igl
import numpy as np
import trimesh
from scipy.spatial import ConvexHull

from ropewalk import Mesh

UNIT = 2.0**20
STEP = 2.0**-18


def rounded(x):
    return np.round(np.asarray(x) * UNIT) / UNIT


def bumpy():
    """Returns a ball with a varying radius, triangulated between directions of varying density."""
    random = np.random.default_rng(1)
    clustered = random.normal(size=(30_002, 3)) * [0.15, 0.15, 0.15] + random.choice(np.eye(3), 30_002)
    directions = np.concatenate([random.normal(size=(20_000, 3)), clustered])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    hull = ConvexHull(directions)
    faces = hull.simplices.copy()
    a, b, c = (directions[faces[:, k]] for k in range(3))
    turned = np.einsum("fk,fk->f", np.cross(b - a, c - a), a) < 0
    faces[turned] = faces[turned][:, ::-1]
    x, y, z = directions.T
    radius = 1 + 0.2 * np.sin(4 * x + 1) * np.cos(5 * y) + 0.05 * np.sin(25 * z) + 0.02 * np.sin(60 * x * y)
    return rounded(directions * radius[:, None]), faces


def cylinder(n, center, radius, height):
    """Returns a cylinder with slivers of its full length, and fans of slivers."""
    angle = 2 * np.pi * np.arange(n) / n
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle), 0 * angle], 1)
    vertices = np.concatenate([ring, ring + [0, 0, height], [[0, 0, 0], [0, 0, height]]]) + center
    i, j = np.arange(n), (np.arange(n) + 1) % n
    base, top = np.full(n, 2 * n), np.full(n, 2 * n + 1)
    rows = [[i, j, n + j], [i, n + j, n + i], [base, j, i], [top, n + i, n + j]]
    return rounded(vertices), np.concatenate([np.stack(row, 1) for row in rows])


def block(n, low, size, random):
    """Returns a box whose sides are grids of unevenly spaced lines, with diagonals in both directions."""
    lines = [np.concatenate([[0], np.sort(random.random(n - 1)), [1]]) for _ in range(3)]
    number, vertices, faces = {}, [], []

    def vertex(at):
        if at not in number:
            number[at] = len(vertices)
            vertices.append([low[k] + size[k] * lines[k][at[k]] for k in range(3)])
        return number[at]

    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for end in (0, n):
            for i in range(n):
                for j in range(n):
                    corners = []
                    for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1)):
                        at = [0, 0, 0]
                        at[axis], at[u], at[v] = end, i + di, j + dj
                        corners.append(vertex(tuple(at)))
                    a, b, c, d = corners if end else corners[::-1]
                    faces += [[a, b, c], [a, c, d]] if random.random() < 0.5 else [[a, b, d], [b, c, d]]
    return rounded(vertices), np.array(faces)


def parts():
    random = np.random.default_rng(2)
    own = [cylinder(1500, [-1.5 + 0.5 * i, -1.0, -0.8], 0.2, 1.6) for i in range(7)]
    own += [cylinder(2500, [0.0, 1.25, -1.25], 0.3, 2.5)]
    own += [block(32, [-1.7 + i * 0.9, -0.4, -1.0], [0.8, 0.7, 2.0], random) for i in range(4)]
    starts = np.cumsum([0] + [len(vertices) for vertices, _ in own])
    return np.concatenate([vertices for vertices, _ in own]), np.concatenate([f + s for s, (_, f) in zip(starts, own)])


def integers(x):
    """Returns coordinates as exact integers in units of 2^-21."""
    scaled = np.asarray(x, np.float64) * (2 * UNIT)
    assert (scaled == np.round(scaled)).all()
    return [int(value) for value in scaled]


def exact_hits(corners, origin, direction):
    """Returns each triangle that the line hits, edges included, with t, in integer arithmetic."""
    o, d = np.asarray(origin, np.float64), np.asarray(direction, np.float64)
    # 64-bit volumes that are far larger than their errors exclude most triangles.
    to = corners - o
    volumes = np.cross(to, np.roll(to, -1, axis=1)) @ d
    error = 1e-12 * np.linalg.norm(d) * (to**2).sum(-1).max(1)
    maybe = ~((volumes.min(1) < -error) & (volumes.max(1) > error))
    found = {}
    o, d = integers(o), integers(d)
    for face in np.flatnonzero(maybe):
        a, b, c = (integers(corner) for corner in corners[face])
        minus = lambda p, q: [x - y for x, y in zip(p, q)]
        cross = lambda p, q: [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]]
        dot = lambda p, q: sum(x * y for x, y in zip(p, q))
        normal = cross(minus(b, a), minus(c, a))
        across = dot(normal, d)
        if across == 0:
            continue
        volumes = [dot(d, cross(minus(p, o), minus(q, o))) for p, q in ((a, b), (b, c), (c, a))]
        if all(v >= 0 for v in volumes) or all(v <= 0 for v in volumes):
            found[int(face)] = Fraction(dot(normal, minus(a, o)), across)
    return found


class Case:
    def __init__(self, name, vertices, faces):
        self.name, self.vertices, self.faces = name, vertices, faces
        self.corners = vertices[faces]
        edges = np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1)
        self.edges, counts = np.unique(edges, axis=0, return_counts=True)
        assert (counts == 2).all() and (vertices.astype(np.float32) == vertices).all()
        self.random = np.random.default_rng(3)
        start = time.perf_counter()
        self.mesh = {dtype: Mesh(vertices.astype(dtype), faces) for dtype in ("f4", "f8")}
        self.say(f"{len(faces)} triangles, built twice in {time.perf_counter() - start:.2f} s")

    def say(self, text):
        print(f"{self.name}: {text}", file=sys.stderr)

    def outside(self, n):
        """Returns points on a sphere around the mesh, with few bits."""
        origins = self.random.normal(size=(n, 3))
        return np.round(origins * (3.0 / np.linalg.norm(origins, axis=1, keepdims=True)) / STEP) * STEP

    def rays(self, n):
        """Returns rays in general position, from outside and from inside, a quarter of them aimed at nothing."""
        origins = np.where(np.arange(n)[:, None] % 2 == 0, self.outside(n), self.random.uniform(-1.5, 1.5, (n, 3)))
        targets = self.random.uniform(-1.5, 1.5, (n, 3)) + np.where(np.arange(n)[:, None] % 4 == 3, 3.0 * self.outside(n), 0)
        origins, targets = np.round(origins / STEP) * STEP, np.round(targets / STEP) * STEP
        directions = targets - origins
        # No component is 0 in general position.
        directions[directions == 0] = STEP
        return origins, directions

    def aimed(self, n):
        """Returns rays from outside, aimed exactly at corners and at the middles of edges."""
        ends = self.vertices[self.edges[self.random.integers(0, len(self.edges), n)]]
        targets = np.where(np.arange(n)[:, None] % 2 == 0, ends[:, 0], ends.mean(1))
        origins = self.outside(n)
        return origins, targets - origins

    def first_hits(self, name, theirs, n):
        """Compares first hits. `theirs(origins, directions)` returns t and triangles of a program that computes in 32 bits."""
        for kind, (origins, directions) in (("any", self.rays(n)), ("aimed", self.aimed(n))):
            t, triangle = theirs(origins.astype("f4"), directions.astype("f4"))
            narrow, ours = (self.mesh[dtype].first_hits(origins.astype(dtype), directions.astype(dtype)) for dtype in ("f4", "f8"))
            any_hits = self.mesh["f8"].any_hits(origins, directions)
            for a, b in zip(narrow, ours):
                assert np.array_equal(a, b, equal_nan=True)
            assert np.array_equal(any_hits, ours.triangle >= 0) and np.array_equal(any_hits, np.isfinite(ours.t))
            with np.errstate(invalid="ignore"):
                length = np.linalg.norm(directions, axis=1)
                alike = (np.abs(ours.t - t) * length < 2e-5 * np.maximum(1, length)) | (np.isinf(ours.t) & np.isinf(t))
            differ = np.flatnonzero(~alike)
            assert len(differ) * (1000 if kind == "any" else 50) < n, (name, kind, len(differ))
            # Also a sample of the other rays.
            for ray in [*self.random.permutation(differ)[:50], *self.random.integers(0, n, 20)]:
                hits = {face: t for face, t in exact_hits(self.corners, origins[ray], directions[ray]).items() if t >= 0}
                least = min(hits.values(), default=None)
                if least is None:
                    assert ours.triangle[ray] == -1, (name, kind, ray)
                    continue
                # The lowest index of the triangles at the smallest t, which 64 bits cannot separate further.
                first = min(face for face, t in hits.items() if float(t) == float(least))
                assert abs(ours.t[ray] - float(least)) <= 1e-12, (name, kind, ray, ours.t[ray], float(least))
                assert ours.triangle[ray] == first or abs(hits[int(ours.triangle[ray])] - least) < 1e-12, (name, kind, ray)
            met = (triangle >= 0).mean()
            missed = np.count_nonzero((triangle[differ] < 0) & any_hits[differ])
            self.say(f"first hits, {name}, {kind}: {n} rays, {met:.0%} meet; {len(differ)} differ ({missed} missed there), where exact arithmetic is ours")

    def all_hits(self, n):
        """Compares all hits in general position, in 64 bits."""
        origins, directions = self.rays(n)
        lists = self.mesh["f8"].hits_all(origins, directions)
        theirs = trimesh.Trimesh(self.vertices, self.faces, process=False)
        engine = trimesh.ray.ray_triangle.RayMeshIntersector(theirs)
        triangles, rays, places = engine.intersects_id(origins, directions, multiple_hits=True, return_locations=True)
        t = np.einsum("rk,rk->r", places - origins[rays], directions[rays]) / (directions[rays] ** 2).sum(1)
        order = np.lexsort((triangles, t, rays))
        own = np.repeat(np.arange(n), np.diff(lists.offsets))
        assert len(triangles) == len(own), (len(triangles), len(own))
        assert np.array_equal(rays[order], own) and np.abs(t[order] - lists.t).max() < 1e-9
        assert set(zip(rays.tolist(), triangles.tolist())) == set(zip(own.tolist(), lists.triangle.tolist()))
        apart = 0.0
        for ray in range(0, n, 4):
            hits = igl.ray_mesh_intersect(origins[ray], directions[ray], self.vertices, self.faces)
            hits = sorted((hit[1], hit[0]) for hit in hits or [])
            ours = lists.of(ray)
            assert sorted(face for _, face in hits) == sorted(ours.triangle.tolist()), ray
            if hits:
                apart = max(apart, np.abs(np.array([t for t, _ in hits]) / ours.t - 1).max())
        assert apart < 1e-7, apart
        self.say(f"all hits: {len(own)} of {n} rays as trimesh; those of {len(range(0, n, 4))} as libigl, within {apart:.1e}")

    def crossings(self, n, judged):
        """Tests rays through corners and edges."""
        origins, directions = self.aimed(n)
        normals = np.cross(self.corners[:, 1] - self.corners[:, 0], self.corners[:, 2] - self.corners[:, 0])
        both = [self.mesh[dtype].hits_all(origins.astype(dtype), directions.astype(dtype)) for dtype in ("f4", "f8")]
        for a, b in zip(*both):
            assert np.array_equal(a, b)
        lists = both[0]
        counts = np.diff(lists.offsets)
        assert (counts % 2 == 0).all(), np.flatnonzero(counts % 2)
        # 1 where a hit enters. After all hits at one t, the number of entries equals that of exits, or exceeds it by one.
        own = np.repeat(np.arange(n), counts)
        signs = -np.sign(np.einsum("rk,rk->r", normals[lists.triangle], directions[own])).astype(int)
        depth = np.cumsum(signs)
        last = np.ones(len(own), bool)
        last[:-1] = (own[1:] != own[:-1]) | (lists.t[1:] != lists.t[:-1])
        assert np.isin(depth[last], (0, 1)).all() and (depth[lists.offsets[1:][counts > 0] - 1] == 0).all()
        touched = 0
        for ray in range(0, n, n // judged):
            exact = exact_hits(self.corners, origins[ray], directions[ray])
            ours = lists.of(ray)
            for face, t in zip(ours.triangle.tolist(), ours.t):
                assert abs(float(exact[face]) - t) <= 1e-12, (ray, face)
            times = sorted(set(exact.values()))
            assert 1 in times, (ray, "is not met where it aims")
            middles = [float(a + b) / 2 for a, b in zip([Fraction(0), *times], [*times, 2 * times[-1] + 1])]
            winding = igl.winding_number(self.vertices, self.faces, origins[ray] + np.outer(middles, directions[ray]))
            inside = np.round(winding).astype(int)
            assert np.abs(winding - inside).max() < 1e-3 and np.isin(inside, (0, 1)).all()
            for k, t in enumerate(times):
                passes = sum(exact[face] == t for face in ours.triangle.tolist())
                assert passes % 2 == (inside[k] != inside[k + 1]), (ray, float(t), passes)
                touched += passes == 0
        self.say(f"through corners and edges: {n} rays, {len(own)} hits, even and in turn; {judged} judged exactly, {touched} touch from outside")

    def distances(self, n, sample):
        random = self.random
        near = self.vertices[random.integers(0, len(self.vertices), n)] + random.normal(0, 0.02, (n, 3))
        points = np.where(np.arange(n)[:, None] % 2 == 0, near, random.uniform(-2.5, 2.5, (n, 3)))
        points = points.astype(np.float32).astype(np.float64)
        distance2, triangle, _ = igl.point_mesh_squared_distance(points, self.vertices, self.faces)
        distance = np.sqrt(distance2)
        ours = self.mesh["f8"].nearest(points)
        narrow = self.mesh["f4"].nearest(points.astype("f4"))
        assert np.array_equal(ours.triangle, narrow.triangle) and np.array_equal(ours.distance, narrow.distance)
        apart = np.abs(ours.distance - distance).max()
        assert apart < 1e-12, apart
        # If several triangles are equally near, libigl may return another one. That ours is right follows from its point.
        other = np.flatnonzero(triangle != ours.triangle)
        assert np.allclose(np.linalg.norm(ours.point - points, axis=1), ours.distance, atol=1e-12)
        weighed = np.einsum("pkx,pk->px", self.corners[ours.triangle], ours.barycentric)
        assert np.allclose(weighed, ours.point, atol=1e-12)
        self.say(f"nearest: {n} points within {apart:.1e} of libigl, {len(other)} of another triangle at the same distance")
        theirs = trimesh.Trimesh(self.vertices, self.faces, process=False)
        _, apart, _ = trimesh.proximity.closest_point(theirs, points[:sample])
        farther2 = apart**2 - ours.distance[:sample] ** 2
        assert farther2.min() > -1e-12 and farther2.max() < 1.01e-8, (farther2.min(), farther2.max())
        # With fast winding numbers, libigl's distances have 32 bits.
        kind = igl.SignedDistanceType.SIGNED_DISTANCE_TYPE_PSEUDONORMAL
        signed = igl.signed_distance(points, self.vertices, self.faces, kind)[0]
        own = self.mesh["f8"].signed_distance(points)
        # On the surface the sign may be either.
        differ = np.abs(np.where(distance < 1e-9, np.abs(own) - np.abs(signed), own - signed))
        assert differ.max() < 1e-12, (differ.argmax(), differ.max())
        self.say(f"signed distances: within {differ.max():.1e} of libigl, {np.mean(own < 0):.0%} inside")

    def winding(self, n):
        points = self.random.uniform(-1.6, 1.6, (n, 3))
        # The whole mesh, and the part of it below a plane.
        for what, faces in (("closed", self.faces), ("open", self.faces[self.corners.mean(1)[:, 2] < 0.3])):
            exact = igl.winding_number(self.vertices, faces, points)
            mesh = Mesh(self.vertices, faces)
            apart = np.abs(mesh.winding_number(points) - exact).max()
            assert apart < 0.01, apart
            clear = np.abs(np.abs(exact) - 0.5) > 0.01
            assert np.array_equal(mesh.contains(points)[clear], np.abs(exact[clear]) > 0.5)
            fast = np.abs(igl.fast_winding_number(self.vertices, faces, points) - exact).max()
            self.say(f"winding numbers, {what}: within {apart:.1e} of the exact sum (libigl's fast ones within {fast:.1e})")


def embree(case):
    scene = embreex.rtcore_scene.EmbreeScene(robust=True)
    embreex.mesh_construction.TriangleMesh(scene, case.vertices.astype("f4"), case.faces.astype("i4"))

    def first(origins, directions):
        found = scene.run(origins, directions, output=True)
        return np.where(found["primID"] >= 0, found["tfar"], np.inf), found["primID"]

    return first


def open3d(case):
    import open3d

    scene = open3d.t.geometry.RaycastingScene()
    scene.add_triangles(open3d.core.Tensor(case.vertices.astype("f4")), open3d.core.Tensor(case.faces.astype("u4")))

    def first(origins, directions):
        found = scene.cast_rays(open3d.core.Tensor(np.concatenate([origins, directions], axis=1)))
        t = found["t_hit"].numpy()
        return t, np.where(np.isfinite(t), found["primitive_ids"].numpy().astype(np.int64), -1)

    def distances(n):
        points = case.random.uniform(-2, 2, (n, 3)).astype("f4")
        for name, ours in (("compute_distance", case.mesh["f4"].nearest(points).distance), ("compute_signed_distance", case.mesh["f4"].signed_distance(points))):
            theirs = getattr(scene, name)(open3d.core.Tensor(points), **({"nsamples": 11} if "signed" in name else {})).numpy()
            differ = np.flatnonzero(np.abs(theirs - ours) > 1e-5)
            # The signs of Open3D come from rays in 32 bits, by majority.
            assert len(differ) * 1000 < n, (name, len(differ))
        case.say(f"Open3D: {n} distances within 1e-5; {len(differ)} of other sign")

    return first, distances


def main():
    for name, (vertices, faces) in (("bumpy", bumpy()), ("parts", parts())):
        case = Case(name, vertices, faces)
        case.first_hits("embreex", embree(case), 200_000)
        if "--open3d" in sys.argv:
            first, distances = open3d(case)
            case.first_hits("Open3D", first, 200_000)
            distances(20_000)
        case.all_hits(500)
        case.crossings(100_000, 50)
        case.distances(20_000, 300)
        case.winding(600)


main()
