"""Messages that name the way out: unknown keywords, metrics, meshes, and a package without its compiled part."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ropewalk
from ropewalk import DBSCAN, HDBSCAN, Mesh, MeshData, NearestNeighbors, dbscan, halos, read_mesh, read_snapshot

X = np.random.default_rng(0).random((30, 3))


@pytest.mark.parametrize(
    "name, right",
    [
        ("so", "overdensities"),
        ("b", "linking_length"),
        ("boxsize", "box_size"),
        ("linkinglength", "linking_length"),
        ("min_member", "min_members"),
        ("overdensitys", "overdensities"),
        ("types", r"read_snapshot\(path, types=..\)"),
    ],
)
def test_unknown_keywords_of_halos(name: str, right: str) -> None:
    with pytest.raises(TypeError, match=rf"^halos\(\) got an unexpected keyword argument '{name}'; use {right}$"):
        halos(X, **{name: 1})  # type: ignore[arg-type]


def test_unknown_keywords_without_a_likely_one() -> None:
    with pytest.raises(TypeError, match="'qqqq'; the parameters are path, types, subsample"):
        read_snapshot("a", qqqq=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'type'; use types"):
        read_snapshot("a", type=1)  # type: ignore[call-arg]
    assert halos.__name__ == "halos" and "eps" in (halos.__doc__ or "")


@pytest.mark.parametrize(
    "call, other",
    [
        (lambda metric: dbscan(X, metric=metric), "sklearn.cluster.DBSCAN"),
        (lambda metric: DBSCAN(metric=metric).fit(X), "sklearn.cluster.DBSCAN"),
        (lambda metric: HDBSCAN(metric=metric).fit(X), "sklearn.cluster.HDBSCAN"),
        (lambda metric: NearestNeighbors(metric=metric).fit(X), "sklearn.neighbors.NearestNeighbors"),
    ],
)
@pytest.mark.parametrize("metric", ["manhattan", "haversine", "cosine", "precomputed", max])
def test_other_metrics(call: Any, other: str, metric: Any) -> None:
    with pytest.raises(ValueError, match=rf"metric is .*; only 'euclidean' .* use {other}"):
        call(metric)


def test_the_function_takes_the_keywords_of_scikit_learn() -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    arguments: dict[str, Any] = {
        "eps": 0.2, "min_samples": 3, "metric": "minkowski", "metric_params": None, "algorithm": "auto", "leaf_size": 30, "p": 2,
        "sample_weight": np.ones(30), "n_jobs": 1,
    }  # fmt: skip
    for ours, theirs in zip(dbscan(X, **arguments), cluster.dbscan(X, **arguments), strict=True):
        np.testing.assert_array_equal(ours, theirs)


CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def test_meshes_of_other_packages() -> None:
    given = [
        MeshData(CORNERS, FACES.astype(np.uint32)),
        SimpleNamespace(vertices=CORNERS, faces=FACES),
        SimpleNamespace(vertices=CORNERS.tolist(), triangles=FACES.astype(np.int32)),
    ]
    for mesh in given:
        own = Mesh(mesh, n_jobs=1)
        assert np.array_equal(own.vertices, CORNERS) and np.array_equal(own.faces, FACES) and own.n_jobs == 1
    with pytest.raises(TypeError, match="needs vertices and faces, .* trimesh or Open3D; got only a ndarray"):
        Mesh(CORNERS)
    with pytest.raises(TypeError, match="join them first, in trimesh by scene.to_mesh"):
        Mesh(SimpleNamespace(geometry={}))


def test_meshes_of_trimesh() -> None:
    trimesh = pytest.importorskip("trimesh")
    sphere = trimesh.creation.icosphere(2)
    mesh = Mesh(sphere)
    assert len(mesh) == len(sphere.faces)
    places = np.random.default_rng(0).uniform(-1.5, 1.5, (200, 3))
    # The sphere is convex: a point is inside if it is behind all faces.
    behind = ((places[:, None] - sphere.triangles_center) * sphere.face_normals).sum(axis=2) < 0
    np.testing.assert_array_equal(mesh.contains(places), behind.all(axis=1))
    scene = trimesh.Scene([sphere])
    with pytest.raises(TypeError, match="a Scene may have several meshes"):
        Mesh(scene)
    assert len(Mesh(scene.to_mesh())) == len(sphere.faces)


def test_gltf_of_trimesh(tmp_path: Path) -> None:
    """Two spheres in different places, one with colours, as trimesh writes them: in text and in binary."""
    trimesh = pytest.importorskip("trimesh")
    scene, moved = trimesh.Scene(), trimesh.transformations.rotation_matrix(0.3, [1, 2, 3], [4, 5, 6])
    sphere = trimesh.creation.icosphere(1)
    sphere.visual.vertex_colors = np.random.default_rng(1).integers(0, 256, (len(sphere.vertices), 4))
    scene.add_geometry(sphere, transform=moved)
    scene.add_geometry(trimesh.creation.icosphere(2), geom_name="bare")
    expected = scene.to_mesh()
    for name, files in ("a.glb", {"a.glb": scene.export(file_type="glb")}), ("model.gltf", scene.export(file_type="gltf")):
        for file, content in files.items():
            (tmp_path / file).write_bytes(content)
        data = read_mesh(tmp_path / name)
        corners = data.vertices[data.faces].reshape(len(data.faces), 9)
        triangles = expected.triangles.reshape(len(expected.faces), 9)
        order, other = (np.lexsort(np.round(rows, 3).T) for rows in (corners, triangles))
        np.testing.assert_allclose(corners[order], triangles[other], atol=1e-5)
        # trimesh writes bytes as linear intensities; those of the bare sphere are full.
        linear = np.asarray(sphere.visual.vertex_colors)[:, :3] / 255
        encoded = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
        assert data.colors is not None and len(data.colors) == len(data.vertices)
        first = np.argmax([np.array_equal(data.colors[i], np.round(255 * encoded[0])) for i in range(len(data.colors))])
        np.testing.assert_array_equal(data.colors[first : first + len(encoded)], np.round(255 * encoded))


def test_meshes_of_open3d() -> None:
    open3d = pytest.importorskip("open3d")
    sphere = open3d.geometry.TriangleMesh.create_sphere()
    mesh = Mesh(sphere)
    assert len(mesh) == len(sphere.triangles) and np.array_equal(mesh.vertices, np.asarray(sphere.vertices))


def test_the_source_folder_says_what_to_do(tmp_path: Path) -> None:
    source = Path(ropewalk.__file__).parent
    shutil.copytree(source, tmp_path / "ropewalk", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    done = subprocess.run([sys.executable, "-c", "import ropewalk"], cwd=tmp_path, capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1 and last.startswith("ImportError: ") and f"pip install {tmp_path}" in last, done.stderr
    assert "start Python in another folder" in last


def test_numpy_is_enough(tmp_path: Path) -> None:
    """Imports the package where all other packages are missing."""
    code = """
import sys

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"scipy", "pandas", "sklearn", "matplotlib", "astropy", "polars", "pyarrow", "narwhals", "tqdm", "IPython"}:
            raise ImportError(name)

sys.meta_path.insert(0, Nothing())
import ropewalk
assert ropewalk.DBSCAN().fit([[0.0]] * 5).labels_.tolist() == [0] * 5
print(ropewalk.__version__)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == ropewalk.__version__, done.stderr
