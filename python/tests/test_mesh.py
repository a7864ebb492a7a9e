"""Meshes, compared with independent loops over all triangles in NumPy, and with known properties of solids."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest

import ropewalk
from ropewalk import Mesh, read_mesh


def sphere(n=12, dtype=np.float64):
    """Returns a closed surface around the origin, oriented outwards, with triangles of many sizes and corners of few digits."""
    theta, phi = np.linspace(0, np.pi, n + 1)[1:-1], np.arange(2 * n) * np.pi / n
    ring = np.stack([np.outer(np.sin(theta), np.cos(phi)), np.outer(np.sin(theta), np.sin(phi)), np.outer(np.cos(theta), phi * 0 + 1)], -1)
    rough = 1 + 0.2 * np.sin(3 * phi)[None, :, None] * np.sin(theta)[:, None, None]
    vertices = np.concatenate([(ring * rough).reshape(-1, 3), [[0, 0, 1], [0, 0, -1]]]).astype(np.float32).astype(dtype)
    faces, top, bottom = [], len(vertices) - 2, len(vertices) - 1
    at = lambda i, j: i * 2 * n + j % (2 * n)
    for j in range(2 * n):
        faces += [[top, at(0, j), at(0, j + 1)], [bottom, at(n - 2, j + 1), at(n - 2, j)]]
        for i in range(n - 2):
            faces += [[at(i, j), at(i + 1, j), at(i + 1, j + 1)], [at(i, j), at(i + 1, j + 1), at(i, j + 1)]]
    return vertices, np.array(faces)


def cube(n):
    """Returns the cube from 0 to n, with each side split into 2 n^2 triangles with integer corners."""
    grid = np.stack(np.meshgrid(*[np.arange(n + 1)] * 3, indexing="ij"), -1)
    index = np.ravel_multi_index(tuple(np.moveaxis(grid, -1, 0)), (n + 1,) * 3)
    faces = []
    for axis in range(3):
        for end, turned in ((0, True), (n, False)):
            side = np.take(index, end, axis)
            a, b, c, d = side[:-1, :-1], side[1:, :-1], side[1:, 1:], side[:-1, 1:]
            own = np.concatenate([np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)])
            # For the y axis, the other two axes in ascending order are left-handed.
            faces.append(own[:, ::-1] if turned != (axis == 1) else own)
    return grid.reshape(-1, 3).astype(np.float64), np.concatenate(faces)


def wide(*arrays):
    return [np.asarray(array, np.float64) for array in arrays]


def crossings(vertices, faces, origins, directions):
    """Returns `t` and weights for each ray and triangle by Cramer's rule; infinite if they do not meet."""
    v, o, d = wide(vertices, origins, directions)
    a, b, c = (v[faces[:, k]] for k in range(3))
    e, f = b - a, c - a
    p = np.cross(d[:, None], f[None])
    det = np.einsum("rfk,fk->rf", p, e)
    to = o[:, None] - a[None]
    q = np.cross(to, e[None])
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.einsum("rfk,rfk->rf", to, p) / det
        w = np.einsum("rk,rfk->rf", d, q) / det
        t = np.einsum("fk,rfk->rf", f, q) / det
    inside = (det != 0) & (u >= 0) & (w >= 0) & (u + w <= 1)
    return np.where(inside, t, np.inf), np.stack([1 - u - w, u, w], -1)


def closest(vertices, faces, points):
    """Returns the distance from each point to each triangle: to the plane if the foot is inside, else to the three edges."""
    v, p = wide(vertices, points)
    corners = v[faces]
    least = np.full((len(p), len(faces)), np.inf)
    for k in range(3):
        a, b = corners[:, k], corners[:, (k + 1) % 3]
        edge = b - a
        length2 = (edge**2).sum(-1)
        to = p[:, None] - a[None]
        part = np.clip(np.einsum("pfk,fk->pf", to, edge) / np.where(length2 > 0, length2, 1), 0, 1)
        least = np.minimum(least, np.linalg.norm(to - part[..., None] * edge, axis=-1))
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normal, axis=-1)
    solid = area > 0
    normal = normal / np.where(solid, area, 1)[:, None]
    height = np.einsum("pfk,fk->pf", p[:, None] - corners[None, :, 0], normal)
    foot = p[:, None] - height[..., None] * normal
    inside = np.broadcast_to(solid, height.shape).copy()
    for k in range(3):
        a, b = corners[:, k], corners[:, (k + 1) % 3]
        inside &= np.einsum("pfk,fk->pf", np.cross((b - a)[None], foot - a[None]), normal) >= 0
    return np.where(inside, np.abs(height), least)


def angles(vertices, faces, points):
    """Returns the winding number as the sum of the solid angles of all triangles, from the angles between their planes."""
    v, p = wide(vertices, points)
    total = np.zeros(len(p))
    for face in faces:
        rays = v[face][None] - p[:, None]
        rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
        normals = [np.cross(rays[:, k], rays[:, (k + 1) % 3]) for k in range(3)]
        normals = [normal / np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-300) for normal in normals]
        excess = -np.pi
        for k in range(3):
            excess = excess + np.arccos(np.clip(-(normals[k] * normals[(k + 1) % 3]).sum(-1), -1, 1))
        total += np.sign((rays[:, 0] * np.cross(rays[:, 1], rays[:, 2])).sum(-1)) * excess
    return total / (4 * np.pi)


def rays(n, seed, dtype=np.float64):
    random = np.random.default_rng(seed)
    origins = random.normal(0, 1.5, (n, 3)).astype(np.float32)
    return origins.astype(dtype), (random.normal(0, 0.4, (n, 3)).astype(np.float32) - origins).astype(dtype)


@pytest.mark.parametrize("stored", [np.float32, np.float64])
@pytest.mark.parametrize("asked", [np.float32, np.float64])
def test_rays_as_by_brute_force(stored, asked):
    vertices, faces = sphere(dtype=stored)
    mesh = Mesh(vertices, faces)
    origins, directions = rays(400, 1, asked)
    t, weights = crossings(vertices, faces, origins, directions)
    for t_min, t_max in [(0.0, np.inf), (0.3, 0.9), (-np.inf, np.inf), (0.9, 0.3), (np.linspace(-1, 1, 400), np.full(400, 1.25))]:
        own = np.where((t >= np.reshape(t_min, (-1, 1))) & (t <= np.reshape(t_max, (-1, 1))), t, np.inf)
        first = mesh.first_hits(origins, directions, t_min=t_min, t_max=t_max)
        assert first.triangle.dtype == np.int32 and first.t.dtype == first.barycentric.dtype == np.float64
        expected = np.where(np.isfinite(own.min(1)), own.argmin(1), -1)
        np.testing.assert_array_equal(first.triangle, expected)
        np.testing.assert_allclose(first.t, own.min(1), rtol=1e-9, atol=1e-12)
        met = expected >= 0
        np.testing.assert_allclose(first.barycentric[met], weights[met, expected[met]], atol=1e-7)
        assert np.isnan(first.barycentric[~met]).all()
        np.testing.assert_array_equal(mesh.any_hits(origins, directions, t_min=t_min, t_max=t_max), met)
        lists = mesh.hits_all(origins, directions, t_min=t_min, t_max=t_max)
        np.testing.assert_array_equal(np.diff(lists.offsets), np.isfinite(own).sum(1))
        for i in range(400):
            hits = lists.of(i)
            order = np.argsort(own[i], kind="stable")[: len(hits.t)]
            np.testing.assert_array_equal(hits.triangle, order)
            np.testing.assert_allclose(hits.t, own[i, order], rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(hits.barycentric, weights[i, order], atol=1e-7)


@pytest.mark.parametrize("stored", [np.float32, np.float64])
@pytest.mark.parametrize("asked", [np.float32, np.float64])
def test_distances_as_by_brute_force(stored, asked):
    vertices, faces = sphere(dtype=stored)
    mesh = Mesh(vertices, faces)
    points = rays(300, 2, asked)[0]
    apart = closest(vertices, faces, points)
    near = mesh.nearest(points)
    np.testing.assert_allclose(near.distance, apart.min(1), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(np.take_along_axis(apart, near.triangle[:, None], 1)[:, 0], apart.min(1), rtol=1e-12)
    corners = vertices[faces[near.triangle]].astype(np.float64)
    np.testing.assert_allclose(np.einsum("pkx,pk->px", corners, near.barycentric), near.point, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(near.point - points, axis=-1), near.distance, rtol=1e-12)
    radius = float(np.median(near.distance))
    within = mesh.nearest(points, radius=radius)
    far = near.distance > radius
    assert 100 < far.sum() < 200
    np.testing.assert_array_equal(within.triangle, np.where(far, -1, near.triangle))
    assert np.isinf(within.distance[far]).all() and np.isnan(within.point[far]).all() and np.isnan(within.barycentric[far]).all()
    exact = angles(vertices, faces, points)
    np.testing.assert_allclose(exact, np.round(exact), atol=1e-6)
    np.testing.assert_allclose(mesh.winding_number(points), exact, atol=1e-2)
    np.testing.assert_array_equal(mesh.contains(points), exact > 0.5)
    assert 20 < (exact > 0.5).sum() < 280
    np.testing.assert_array_equal(mesh.signed_distance(points), np.where(exact > 0.5, -near.distance, near.distance))


def test_an_open_mesh():
    """A bowl: the part of a sphere below the equator."""
    vertices, faces = sphere()
    faces = faces[vertices[faces].mean(1)[:, 2] < 0]
    points = rays(300, 3)[0]
    exact = angles(vertices, faces, points)
    assert ((exact > 0.2) & (exact < 0.8)).sum() > 10
    np.testing.assert_allclose(Mesh(vertices, faces).winding_number(points), exact, atol=1e-2)
    # Inverting the orientation changes the sign.
    np.testing.assert_allclose(Mesh(vertices, faces[:, ::-1]).winding_number(points), -exact, atol=1e-2)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_inside_of_many_nested_surfaces(dtype):
    """Nested octahedra whose errors of winding numbers add up to more than one half, so that `contains` must not rely on these."""
    n, corners, faces = 4, {}, []
    at = lambda *place: corners.setdefault(place, len(corners))
    for x, y, z in np.ndindex(2, 2, 2):
        x, y, z = 2 * x - 1, 2 * y - 1, 2 * z - 1
        corner = lambda i, j: at(x * i, y * j, z * (n - i - j))
        own = [[corner(i, j), corner(i + 1, j), corner(i, j + 1)] for i in range(n) for j in range(n - i)]
        own += [[corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)] for i in range(n) for j in range(n - i - 1)]
        faces += own if x * y * z > 0 else [face[::-1] for face in own]
    sizes = 1 + 1e-6 * np.arange(500)
    vertices = (np.array(list(corners)) / n * sizes[:, None, None]).reshape(-1, 3)
    mesh = Mesh(vertices.astype(dtype), np.concatenate([np.array(faces) + len(corners) * i for i in range(500)]))
    points, sums = rays(401, 8, dtype)[0], np.linspace(0.5, 2, 401)
    points *= (sums / np.abs(points).sum(1))[:, None].astype(dtype)
    inside = sums < 1
    is_wrong = (np.abs(mesh.winding_number(points)) > 0.5) != inside
    assert is_wrong.any()
    some = is_wrong | (np.arange(401) % 10 == 5)
    np.testing.assert_array_equal(mesh.contains(points[some]), inside[some])
    np.testing.assert_array_equal(mesh.signed_distance(points[some]) < 0, inside[some])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_edges_and_corners_count_once(dtype):
    """Lines through corners, edges and diagonals of a cube's grid cross its surface twice, at places that are known as
    fractions."""
    n = 6
    vertices, faces = cube(n)
    mesh = Mesh(vertices.astype(dtype), faces)
    random = np.random.default_rng(4)
    # Lines from lattice points outside to points strictly inside, so that no line is in a side.
    origins = random.integers(-8, n + 9, (3000, 3))
    origins = origins[((origins < 0) | (origins > n)).any(1)]
    targets = random.integers(1, n, origins.shape)
    directions = targets - origins
    lists = mesh.hits_all(origins.astype(dtype), directions.astype(dtype))
    np.testing.assert_array_equal(np.diff(lists.offsets), 2)
    first = mesh.first_hits(origins.astype(dtype), directions.astype(dtype))
    for i, (origin, direction) in enumerate(zip(origins.tolist(), directions.tolist())):
        slabs = [sorted(Fraction(side - o, d) for side in (0, n)) for o, d in zip(origin, direction) if d != 0]
        enter, leave = max(slab[0] for slab in slabs), min(slab[1] for slab in slabs)
        np.testing.assert_allclose(lists.of(i).t, [float(enter), float(leave)], rtol=1e-14)
        np.testing.assert_allclose(first.t[i], float(enter), rtol=1e-14)
    # Lines next to the cube and along its sides have an even number of hits.
    offsets = mesh.hits_all(origins.astype(dtype), random.integers(-3, 4, origins.shape) | 1, t_min=-np.inf).offsets
    assert (np.diff(offsets) % 2 == 0).all()


def test_ties_are_the_lowest_index():
    vertices, faces = cube(3)
    mesh = Mesh(vertices, faces)
    at = np.array([1.0, 2.0, 0.0])
    own = np.flatnonzero((vertices[faces] == at).all(-1).any(-1))
    assert len(own) == 6
    assert mesh.first_hits([1.0, 2.0, -5.0], [0.0, 0.0, 1.0]).triangle == own[0]
    assert mesh.nearest([1.0, 2.0, -5.0]).triangle == own[0]


def test_one_query_and_many_axes():
    mesh = Mesh(*sphere())
    origins, directions = rays(24, 5)
    all_of_them = mesh.first_hits(origins, directions)
    one = mesh.first_hits(origins[0], directions[0])
    assert one.triangle == all_of_them.triangle[0] and one.t == all_of_them.t[0] and one.barycentric.shape == (3,)
    grid = mesh.first_hits(origins.reshape(2, 3, 4, 3), directions.reshape(2, 3, 4, 3))
    assert grid.t.shape == (2, 3, 4) and grid.barycentric.shape == (2, 3, 4, 3)
    np.testing.assert_array_equal(grid.triangle.ravel(), all_of_them.triangle)
    assert isinstance(mesh.any_hits(origins[0], directions[0]), np.bool_)
    from_one = mesh.first_hits([5.0, 0.0, 0.0], directions)
    np.testing.assert_array_equal(from_one.t, mesh.first_hits(np.tile([5.0, 0.0, 0.0], (24, 1)), directions).t)
    near = mesh.nearest(origins.reshape(4, 6, 3))
    assert near.distance.shape == (4, 6) and near.point.shape == (4, 6, 3)
    assert mesh.nearest(origins[0]).distance == near.distance[0, 0]
    assert mesh.contains(origins.reshape(4, 6, 3)).shape == mesh.signed_distance(origins.reshape(4, 6, 3)).shape == (4, 6)
    assert mesh.winding_number(origins[3]) == mesh.winding_number(origins)[3]
    assert mesh.hits_all(origins[0], directions[0]).offsets.shape == (2,)
    with pytest.raises(IndexError, match="there is no ray 24; there are 24"):
        mesh.hits_all(origins, directions).of(24)


def test_no_triangles_and_no_queries():
    empty = [Mesh(np.zeros((0, 3)), np.zeros((0, 3), int)), Mesh(np.zeros((5, 3), np.float32), np.zeros((0, 3), np.uint32)), Mesh(ONE, [])]
    for mesh in empty:
        assert len(mesh) == 0 and mesh.bounds.tolist() == [[np.inf] * 3, [-np.inf] * 3]
        assert mesh.first_hits([[0.0, 0.0, 0.0]], [1.0, 0.0, 0.0]).triangle.tolist() == [-1]
        assert mesh.hits_all([[0.0, 0.0, 0.0]], [1.0, 0.0, 0.0]).offsets.tolist() == [0, 0]
        assert not mesh.any_hits([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
        assert mesh.nearest([0.0, 0.0, 0.0]).triangle == -1 and mesh.nearest([0.0, 0.0, 0.0]).distance == np.inf
        assert mesh.winding_number([0.0, 0.0, 0.0]) == 0 and mesh.signed_distance([0.0, 0.0, 0.0]) == np.inf
    mesh, none = Mesh(*sphere()), np.zeros((0, 3))
    assert mesh.first_hits(none, none).barycentric.shape == (0, 3) and mesh.hits_all(none, none).offsets.tolist() == [0]
    assert mesh.any_hits(none, [1.0, 0.0, 0.0]).shape == mesh.nearest(none).distance.shape == mesh.contains(none).shape == (0,)


def test_triangles_without_area():
    """A point and a folded segment: no ray hits them, and distances are those to the point and the segment."""
    vertices = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]]
    mesh = Mesh(vertices, [[0, 0, 0], [0, 1, 2]])
    assert mesh.first_hits([2.0, 0.0, 1.0], [0.0, 0.0, -1.0]).triangle == -1
    assert mesh.hits_all([[0.0, 0.0, 1.0]], [0.0, 0.0, -1.0], t_min=-np.inf).offsets.tolist() == [0, 0]
    near = mesh.nearest([[-1.0, 0.0, 0.0], [2.5, 0.0, 2.0], [5.0, 0.0, 0.0]])
    assert near.triangle.tolist() == [0, 1, 1] and near.distance.tolist() == [1.0, 2.0, 2.0]
    assert near.point.tolist() == [[0.0, 0.0, 0.0], [2.5, 0.0, 0.0], [3.0, 0.0, 0.0]]
    assert (mesh.winding_number([[1.0, 1.0, 1.0], [1.5, 0.0, 0.0]]) == 0).all()


def test_immutable_and_pickled():
    vertices, faces = sphere(dtype=np.float32)
    mesh = Mesh(vertices, faces, n_jobs=2)
    assert repr(mesh) == f"Mesh(faces={len(faces)}, vertices={len(vertices)}, dtype=float32)" and len(mesh) == len(faces)
    np.testing.assert_array_equal(mesh.bounds, [vertices[faces].min((0, 1)), vertices[faces].max((0, 1))])
    assert mesh.n_jobs == 2 and not np.shares_memory(mesh.vertices, vertices)
    for array in (mesh.vertices, mesh.faces):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
    for name in ["vertices", "faces", "n_jobs", "anything"]:
        with pytest.raises(AttributeError):
            setattr(mesh, name, 1)
    again = pickle.loads(pickle.dumps(mesh))
    origins, directions = rays(50, 6)
    np.testing.assert_array_equal(again.first_hits(origins, directions).t, mesh.first_hits(origins, directions).t)
    # Later changes of the arrays do not affect results, the mesh's properties, or copies of the mesh.
    before = mesh.nearest(origins.astype(np.float32)).distance
    faces = faces.astype(np.uint32)
    mesh, kept = Mesh(vertices, faces), (vertices.copy(), faces.copy())
    vertices += 100
    faces[:] = 0
    for one in (mesh, pickle.loads(pickle.dumps(mesh)), copy.copy(mesh)):
        np.testing.assert_array_equal(one.nearest(origins.astype(np.float32)).distance, before)
        np.testing.assert_array_equal(one.nearest(origins).distance, before)
        np.testing.assert_array_equal(one.vertices, kept[0])
        np.testing.assert_array_equal(one.faces, kept[1])


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_any_number_of_threads(n_jobs):
    vertices, faces = sphere(40)
    many, one = Mesh(vertices, faces, n_jobs=n_jobs), Mesh(vertices, faces, n_jobs=1)
    origins, directions = rays(5000, 7)
    for call in [
        lambda mesh: mesh.first_hits(origins, directions),
        lambda mesh: mesh.hits_all(origins, directions),
        lambda mesh: mesh.nearest(origins),
        lambda mesh: [mesh.winding_number(origins)],
    ]:
        for a, b in zip(call(many), call(one)):
            np.testing.assert_array_equal(a, b)


def test_other_arrays():
    vertices, faces = cube(2)
    expected = Mesh(vertices, faces).first_hits([0.5, 0.25, -1.0], [0.0, 0.0, 1.0])
    for v, f in [
        (vertices.astype(int), faces.tolist()),
        (np.asfortranarray(vertices), np.asfortranarray(faces.astype(np.int32))),
        (vertices[::-1], len(vertices) - 1 - faces.astype(np.uint16)),
        (vertices.astype(">f8"), faces.astype(np.uint64)),
        (vertices.astype(np.float16), faces.astype(np.uint32)),
    ]:
        found = Mesh(v, f).first_hits([0.5, 0.25, -1], [0, 0, 1])
        assert found.triangle == expected.triangle and found.t == expected.t == 1.0


def test_files(tmp_path):
    vertices, faces = cube(2)
    path = tmp_path / "cube.obj"
    path.write_text("".join(f"v {x} {y} {z}\n" for x, y, z in vertices) + "".join(f"f {a} {b} {c}\n" for a, b, c in faces + 1))
    for name in (path, str(path)):
        data = read_mesh(name)
        assert data.vertices.dtype == np.float64 and data.faces.dtype == np.uint32
        np.testing.assert_array_equal(data.vertices[data.faces], vertices[faces])
    assert len(Mesh(*read_mesh(path))) == len(faces)
    with pytest.raises(FileNotFoundError, match="none.obj"):
        read_mesh(tmp_path / "none.obj")
    path.write_text("v 0 0 0\nf 1 2 3\n")
    with pytest.raises(ValueError, match="cube.obj"):
        read_mesh(path)
    path.write_text("# nothing\n")
    assert len(Mesh(*read_mesh(path))) == 0


def test_beyond_the_range():
    """Without a nearest triangle if squares overflow; with a distance of 0 if they underflow."""
    mesh = Mesh(ONE, [[0, 1, 2]])
    near = mesh.nearest([[1e150, 0.0, 0.0], [1.1e150, 0.0, 0.0]])
    assert near.triangle.tolist() == [0, -1] and near.distance.tolist() == [1e150, np.inf]
    assert np.isnan(mesh.signed_distance([1.1e150, 0.0, 0.0])) and not mesh.contains([1.1e150, 0.0, 0.0])
    assert mesh.nearest([[0.25, 0.25, 1e-150], [0.25, 0.25, 1e-163]]).distance.tolist() == [pytest.approx(1e-150, rel=1e-6, abs=0), 0.0]
    assert mesh.first_hits([[0.25, 0.25, 1e60], [0.25, 0.25, 1e200]], [0.0, 0.0, -1.0]).triangle.tolist() == [0, -1]


ONE = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
NAN = np.where(np.arange(9).reshape(3, 3) == 5, np.nan, 1.0)


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: Mesh(NAN, [[0, 1, 2]]), ValueError, "1: coordinate 2 is NaN"),
        (lambda: Mesh(NAN.astype(np.float32), [[0, 1, 2]]), ValueError, "1: coordinate 2 is NaN"),
        (lambda: Mesh(np.where(np.isnan(NAN), -np.inf, 0.0), [[0, 1, 2]]), ValueError, "1: coordinate 2 is -inf"),
        (lambda: Mesh(ONE, [[0, 1, 2], [0, 1, 3]]), ValueError, "face 1: there is no vertex 3; there are 3"),
        (lambda: Mesh(ONE, [[0, 1, -1]]), ValueError, "face 0: there is no vertex -1; there are 3"),
        (lambda: Mesh(ONE, [[0, 1, 2**32]]), ValueError, "face 0: there is no vertex 4294967296; there are 3"),
        (lambda: Mesh(ONE, np.array([[0, 1, 3]], np.uint32)), ValueError, "face 0.* 3"),
        (lambda: Mesh(ONE, [[0, 1, 2, 0]]), ValueError, r"faces has the shape \(1, 4\)"),
        (lambda: Mesh(ONE, [0, 1, 2]), ValueError, r"faces has the shape \(3,\)"),
        (lambda: Mesh(ONE, [[0.0, 1.0, 2.0]]), ValueError, "faces holds float64"),
        (lambda: Mesh(np.zeros((3, 2)), [[0, 1, 2]]), ValueError, r"vertices has the shape \(3, 2\)"),
        (lambda: Mesh([["a"] * 3], [[0, 0, 0]]), ValueError, "vertices holds text, not numbers"),
        (lambda: Mesh(ONE, [[0, 1, 2]], n_jobs=0), ValueError, "n_jobs is 0"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).first_hits(NAN, ONE[1]), ValueError, "origins 1: coordinate 2 is nan"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).any_hits(ONE, NAN), ValueError, "directions 1: coordinate 2 is nan"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).hits_all(ONE, [np.inf, 0, 0]), ValueError, "directions: coordinate 0 is inf"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).first_hits(ONE, ONE), ValueError, "that of ray 0 is zero"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).first_hits(ONE, ONE[0]), ValueError, "directions: it is zero; a direction must not be"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).first_hits(ONE, np.ones((2, 3))), ValueError, "one origin and one direction for each ray"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).first_hits([[0.0, 0.0]], ONE[1]), ValueError, "last axis must have length 3"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).any_hits(ONE, ONE[1], t_min=np.nan), ValueError, "t_min is NaN"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).any_hits(ONE, ONE[1], t_max=[1.0, 2.0]), ValueError, "t_max has the shape"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).nearest(NAN), ValueError, "points 1: coordinate 2 is nan"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).nearest(ONE, radius=-1.0), ValueError, "radius is -1"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).nearest(ONE, radius=np.nan), ValueError, "radius is nan"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).nearest(ONE, radius="a"), TypeError, "radius"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).winding_number(NAN), ValueError, "points 1: coordinate 2 is nan"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).contains(1.0), ValueError, "last axis must have length 3"),
        (lambda: Mesh(ONE, [[0, 1, 2]]).signed_distance(NAN), ValueError, "points 1: coordinate 2 is nan"),
        (lambda: ropewalk.read_mesh(3), TypeError, "int"),
    ],
)
def test_bad_input(call, error, words):
    with pytest.raises(error, match=words):
        call()
