"""Files of `Bvh.write`, read by small parsers and compared with the points."""

import re

import numpy as np
import pytest

from ropewalk import Bvh


def cloud(n, dim, dtype=np.float64):
    return np.random.default_rng(n + dim).random((n, dim)).astype(dtype)


def vtk(path):
    """Returns the corners of each cell, shape (cells, corners, 3), and the cell data by name."""
    words = iter(path.read_text().split("\n", 2)[2].split())

    def section(header, count, dtype):
        assert [next(words) for _ in header.split()] == header.split()
        return np.array([next(words) for _ in range(count)], dtype)

    section("ASCII DATASET UNSTRUCTURED_GRID POINTS", 0, int)
    points, number = int(next(words)), next(words)
    assert number in ("float", "double")
    points = section("", 3 * points, float).reshape(-1, 3)
    section("CELLS", 0, int)
    cells, length = int(next(words)), int(next(words))
    corners = section("", length, int).reshape(cells, -1)
    assert (corners[:, 0] == corners.shape[1] - 1).all()
    types = section(f"CELL_TYPES {cells}", cells, int)
    assert (types == {2: 3, 4: 9, 8: 12}[corners.shape[1] - 1]).all()
    section(f"CELL_DATA {cells}", 0, int)
    kinds = {"depth": "int", "leaf": "int", "primitives": "unsigned_int"}
    data = {name: section(f"SCALARS {name} {kind} 1 LOOKUP_TABLE default", cells, int) for name, kind in kinds.items()}
    assert next(words, None) is None
    return points[corners[:, 1:]], data


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_boxes_of_vtk(tmp_path, dim, dtype):
    points = cloud(500, dim, dtype)
    Bvh(points).write(tmp_path / "tree.vtk")
    corners, data = vtk(tmp_path / "tree.vtk")
    lo, hi = (ends[:, :dim].astype(dtype) for ends in (corners.min(1), corners.max(1)))
    np.testing.assert_array_equal(lo[0], points.min(0))
    np.testing.assert_array_equal(hi[0], points.max(0))
    assert data["depth"][0] == 0 and data["primitives"][0] == 500
    leaf = data["leaf"] == 1
    assert data["primitives"][leaf].sum() == 500 and data["primitives"][leaf].max() <= 32
    # Each point is in a leaf, and leaves hold as many points as they state, unless they touch.
    inside = ((lo[leaf, None] <= points) & (points <= hi[leaf, None])).all(-1)
    assert inside.any(0).all() and (inside.sum(1) >= data["primitives"][leaf]).all()


@pytest.mark.parametrize("dim", [1, 3, 7])
def test_graph_of_dot(tmp_path, dim):
    Bvh(cloud(300, dim)).write(str(tmp_path / "tree.dot"))
    text = (tmp_path / "tree.dot").read_text()
    assert text.startswith("digraph bvh {\n") and text.endswith("}\n")
    children = re.findall(r"n(\d+) -> n(\d+);", text)
    ropes = re.findall(r"n(\d+) -> (\w+) \[style=dashed", text)
    leaves = [tuple(map(int, match)) for match in re.findall(r"shape=box, label=\"\d+\\n(\d+)\.\.(\d+)\"", text)]
    nodes = 2 * len(leaves) - 1
    assert sorted(int(child) for _, child in children) == list(range(1, nodes))
    assert len(ropes) == nodes and ropes[0] == ("0", "end")
    ends = sorted(leaves)
    assert ends[0][0] == 0 and ends[-1][1] == 300
    assert all(before[1] == after[0] for before, after in zip(ends, ends[1:], strict=False))


@pytest.mark.parametrize("name", ["tree.tikz", "tree.TEX"])
def test_picture_of_tikz(tmp_path, name):
    points = np.array([[0.0, 0.0], [4.0, 1.0], [2.0, 0.5]])
    Bvh(points).write(tmp_path / name)
    text = (tmp_path / name).read_text()
    assert "\\draw[depth 0] (0, 0) rectangle (10, 2.5); % leaf 0: 0..3" in text
    drawn = re.findall(r"\\fill\[primitive\] \((\S+), (\S+)\) circle\[radius=0.03\]; % (\d+)", text)
    assert sorted((int(index), float(x), float(y)) for x, y, index in drawn) == [(0, 0, 0), (1, 10, 2.5), (2, 5, 1.25)]


def test_periodic_and_empty(tmp_path):
    Bvh([[2.0], [9.5], [12.0]], box_size=10.0).write(tmp_path / "tree.vtk")
    corners, _ = vtk(tmp_path / "tree.vtk")
    assert corners[0, :, 0].max() == 9.5
    Bvh(np.empty((0, 3))).write(tmp_path / "tree.gv")
    assert (tmp_path / "tree.gv").read_text() == "digraph bvh {\n}\n"


@pytest.mark.parametrize(
    ("dim", "name", "message"),
    [
        (3, "tree.tikz", "TikZ does not show trees of points with 3 coordinates; use Graphviz"),
        (4, "tree.vtk", "VTK does not show trees of points with 4 coordinates; use Graphviz"),
        (2, "tree.svg", "unknown extension; use .dot, .gv, .tikz, .tex or .vtk"),
        (2, "tree", "unknown extension"),
    ],
)
def test_errors(tmp_path, dim, name, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Bvh(cloud(10, dim)).write(tmp_path / name)
    assert not (tmp_path / name).exists()
    with pytest.raises(OSError, match="missing"):
        Bvh(cloud(10, 2)).write(tmp_path / "missing" / "tree.dot")
