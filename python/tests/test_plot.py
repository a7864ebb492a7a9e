"""Figures: formats, texts and errors. They are compared with those of the program where it is built."""

from __future__ import annotations

import io
import os
import pickle
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ropewalk
from halos_program import P3M, program
from ropewalk import DBSCAN, HDBSCAN, Mesh, halos, k_distances, plot, read_snapshot, sample

N, SIDE = 5_000, 20.0
MASS = 0.3 * 27.7536627 * SIDE**3 / N


@pytest.fixture(scope="module")
def catalog() -> ropewalk.HaloCatalog:
    x = sample.mock_halos(N, box_size=SIDE)
    return halos(x, masses=MASS, box_size=SIDE, omega_m=0.3, h=0.7, redshift=0, overdensities="200c", profiles=2)


def texts(figure: ropewalk.Figure) -> str:
    """Returns all texts of a figure, after a check that its SVG is well-formed."""
    root = xml.etree.ElementTree.fromstring(figure.svg())
    return " | ".join("".join(element.itertext()) for element in root.iter() if element.tag.endswith("text"))


def size(png: bytes) -> tuple[int, int]:
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    return struct.unpack(">II", png[16:24])  # type: ignore[return-value]


def blobs() -> tuple[Any, Any]:
    x = np.random.default_rng(0).normal(np.repeat([[0, 0], [5, 5], [0, 5]], 100, axis=0), 0.5)
    return x, np.repeat([0, 1, -1], 100)


def test_formats_and_files(tmp_path: Path) -> None:
    figure = plot.k_distances(sample.mock_halos(500), 4)
    assert size(figure.png(dpi=72))[0] == 720 and figure.pdf().startswith(b"%PDF")
    assert repr(figure) == f"Figure({figure.title!r})" and figure.title in texts(figure)
    for name, start in (("a.png", b"\x89PNG"), ("a.PDF", b"%PDF"), ("a.svg", b"<svg")):
        figure.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(ValueError, match=r"a.jpg: unknown extension; use .png or .svg or .pdf"):
        figure.save(tmp_path / "a.jpg")
    assert not (tmp_path / "a.jpg").exists()
    for dpi, error in ((1e5, ValueError), (float("nan"), ValueError), ("72", TypeError)):
        with pytest.raises(error, match="dpi"):
            figure.png(dpi)  # type: ignore[arg-type]


def test_a_notebook_shows_one_format() -> None:
    x, labels = blobs()
    vectors, image = plot.k_distances(x, 4), plot.clusters(x, labels)
    assert vectors._repr_png_() is None and (vectors._repr_svg_() or "").startswith("<svg")
    assert image._repr_svg_() is None and len(image._repr_png_() or b"") < 200_000


def test_beside_other_plots() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    _, (left, right) = pyplot.subplots(1, 2)
    figure = plot.k_distances(sample.mock_halos(500), 4)
    assert figure.on(right, dpi=72) is right and not left.images
    height, width, _ = right.images[0].get_array().shape
    assert (width, height) == size(figure.png(72)) and not right.axison
    # New axes show each pixel of the picture once.
    [image] = (alone := figure.on()).images
    height, width = image.get_array().shape[:2]
    assert alone.get_window_extent().bounds == pytest.approx((0, 0, width, height))
    pyplot.close("all")


def test_clusters() -> None:
    x, labels = blobs()
    figure = plot.clusters(x, labels, title="three blobs")
    assert figure.title == "three blobs" and "100 noise" in texts(figure)
    assert plot.clusters(x, labels).title == "300 points, 2 clusters"
    frame = pytest.importorskip("pandas").DataFrame(x, columns=["lon", "lat"])
    assert ">lon<" in plot.clusters(frame, labels).svg() and ">lat<" in plot.clusters(frame, labels).svg()
    # As in scikit-learn, an infinite coordinate has the label -2 and NaN -3.
    x[0], x[1] = np.inf, np.nan
    found = plot.clusters(x, HDBSCAN(min_cluster_size=20).fit(x))
    assert found.title == "HDBSCAN*: 298 points, 3 clusters" and "min_cluster_size 20, min_samples 20; " in texts(found)
    assert "min_cluster_size 20, min_samples 4; " in texts(plot.clusters(x, HDBSCAN(min_cluster_size=20, min_samples=4).fit(x)))
    # Labels of a selection may be larger than the number of points.
    assert plot.clusters(x[2:5], [900, 7, -1]).title == "3 points, 2 clusters"
    # Labels may have gaps.
    assert plot.clusters(x[2:7], [4, 4, 1, -1, 1]).title == "5 points, 2 clusters"
    assert plot.clusters(np.zeros((0, 2)), []).png()
    x, _ = blobs()
    own = plot.clusters(x, DBSCAN(eps=0.5).fit(x))
    assert own.title.startswith("DBSCAN: 300 points") and "eps 0.5, min_samples 5" in texts(own)
    for wrong in (labels[:5], labels + 0.5, labels[:, None]):
        with pytest.raises(ValueError, match="labels has the shape"):
            plot.clusters(x, wrong)
    with pytest.raises(ValueError, match="not fitted"):
        plot.clusters(x, DBSCAN())
    with pytest.raises(ValueError, match="axes is 2; it must be at most 1"):
        plot.clusters(x, labels, axes=(0, 2))


def test_clusters_in_space() -> None:
    flat, labels = blobs()
    x = np.column_stack([flat, np.arange(300) % 7, np.arange(300)])
    frame = pytest.importorskip("pandas").DataFrame(x, columns=list("abcd"))
    shown = plot.clusters(frame, labels)
    # Three projections: two have each axis at their sides, with names only there.
    assert shown.svg().count("<image") == 3 and all(f"| {name} " in texts(shown) for name in "abc") and "| d " not in texts(shown)
    chosen = plot.clusters(frame, labels, axes=(3, 0, 1))
    assert chosen.svg() == plot.clusters(frame[["d", "a", "b"]], labels).svg() != shown.svg()
    assert plot.clusters(frame, labels, axes=(3, 0)).svg().count("<image") == 1
    for axes in ((0,), (0, 1, 2, 3)):
        with pytest.raises(ValueError, match=f"axes has {len(axes)} coordinates; it must have two or three"):
            plot.clusters(x, labels, axes=axes)
    with pytest.raises(ValueError, match=r"X has the shape \(300, 1\)"):
        plot.clusters(x[:, :1], labels)


def test_a_condensed_tree() -> None:
    x, _ = blobs()
    figure = plot.condensed_tree(HDBSCAN(min_cluster_size=20).fit(x))
    assert figure.title == "HDBSCAN*: 300 points, 3 clusters" and figure.title in texts(figure)
    with pytest.raises(ValueError, match="not fitted"):
        plot.condensed_tree(HDBSCAN())


def test_k_distances() -> None:
    x = sample.mock_halos(500)
    assert "500 points" in texts(plot.k_distances(x, 4, box_size=1))
    # Of two blobs in noise, about the points of the blobs are core at the knee.
    random = np.random.default_rng(0)
    clear = np.concatenate([random.normal(0, 0.01, (500, 2)), random.normal(1, 0.01, (400, 2)), random.uniform(-3, 3, (100, 2))])
    share = re.search(r"at the knee, (\d+\.\d)% are core with min_samples = 5", plot.k_distances(clear, 4).title)
    assert share is not None and 85 < float(share[1]) < 93
    spatial = pytest.importorskip("scipy.spatial")
    expected = np.sort(spatial.cKDTree(x.astype(float), boxsize=1.0).query(x.astype(float), 5)[0][:, 4])
    np.testing.assert_allclose(k_distances(x, 4, box_size=1), expected, rtol=1e-12)
    assert k_distances(x, 500).size == 0
    assert plot.k_distances(x, 500).svg()
    assert k_distances(x, 2**60).size == k_distances(x, 0).size == 0
    for wrong in (-1, -7):
        with pytest.raises(ValueError, match="k is"):
            k_distances(x, wrong)
    with pytest.raises(TypeError):
        k_distances(x, 1.5)  # type: ignore[arg-type]


def test_a_mass_function(catalog: ropewalk.HaloCatalog) -> None:
    shown = texts(plot.mass_function(catalog))
    words = f"{len(catalog)} halos of 20 or more particles, linking length 0.2339 comoving Mpc/h (b = 0.2), redshift 0"
    fits = "fits: Ωm 0.3, h 0.7; assumed: ΩΛ 0.7, Ωb 0.049, σ8 0.82, n_s 0.965"
    for word in (words, fits, "Warren et al. 2006", "corrected to M (1 − N⁻⁰·⁶)", "Tinker et al. 2008"):
        assert word in shown, shown
    # Numbers are per comoving volume.
    x = sample.mock_halos(N, box_size=SIDE)
    physical = texts(plot.mass_function(halos(x, masses=MASS, box_size=SIDE, omega_m=0.3, h=0.7, redshift=1, units="physical")))
    assert "n(≥ M)  [(comoving Mpc)⁻³]" in physical and "physical Mpc (b = 0.2), redshift 1" in physical
    alone = halos(sample.mock_halos(N, box_size=SIDE), box_size=SIDE)
    assert "Warren" not in texts(plot.mass_function(alone)) and "particles" in texts(plot.mass_function(alone))
    assert plot.mass_function(halos(np.zeros((0, 3)), box_size=1)).svg()


def test_profiles(catalog: ropewalk.HaloCatalog) -> None:
    shown = texts(plot.profiles(catalog))
    tags = catalog["fof_halo_tag"]
    assert f"halo 0 (tag {tags[0]})" in shown and f"halo 1 (tag {tags[1]})" in shown and "R200c" in shown
    assert "Density profiles of the largest halos, redshift 0" in shown
    assert "Density profiles of 2 halos, redshift 0" in texts(plot.profiles(catalog, [1, 0]))
    one = texts(plot.profiles(catalog, 1))
    assert "Density profile of halo 1, redshift 0" in one
    assert f"halo 1 (tag {tags[1]})" in one and "halo 0 (tag" not in one
    with pytest.raises(ValueError, match="halo 2 has no profile; 2 halos have one"):
        plot.profiles(catalog, [0, 2])
    with pytest.raises(IndexError, match="there is no halo -999"):
        plot.profiles(catalog, -999)
    with pytest.raises(ValueError, match="profiles=10"):
        plot.profiles(halos(np.zeros((30, 3)), eps=1))


def test_a_projection(catalog: ropewalk.HaloCatalog) -> None:
    x = sample.mock_halos(N, box_size=SIDE)
    figure = plot.projection(x, catalog)
    assert size(figure.png()) == (1366, 1290)
    assert figure.title == f"5,000 particles, box 20 comoving Mpc/h, redshift 0, {len(catalog)} halos"
    # A slab counts itself.
    for options in ({}, {"axis": "x"}):
        slab = plot.projection(x, catalog, slab=(2, 4), **options)
        assert slab.title == "Slab, box 20 comoving Mpc/h, redshift 0"
        assert re.search(rf"\| [\d,]+ particles, \d+ halos with 2 ≤ {options.get('axis', 'z')} ≤ 4 comoving Mpc/h \|", texts(slab)), texts(slab)
    assert "x" in texts(figure) and "Mpc" in texts(figure)
    # The picture of a slab has the particles of the slab only, also across the faces of the box.
    shifted = (x + [0, 0, 4]) % SIDE
    whole, moved = (plot.projection(own, box_size=SIDE, slab=ends).png() for own, ends in ((x, (-2, 2)), (shifted, (2, 6))))
    empty = plot.projection(x[:0], box_size=SIDE).png()
    assert whole != empty and abs(len(whole) - len(moved)) < 0.05 * len(whole)
    along = texts(plot.projection(x, axis="x"))
    assert "| y  [" in along and "| z  [" in along and "5,000 particles" in along and "halos with" not in along, along
    assert plot.projection(x, axis="x", box_size=SIDE).title == "5,000 particles, box 20"
    # The whole box, seen along each axis, has all particles.
    everything = plot.projection(x, axis="x", box_size=SIDE, slab=(0, SIDE), title="t").png()
    assert plot.projection(x, axis="x", box_size=SIDE, title="t").png() != everything != plot.projection(x, box_size=SIDE, title="t").png()
    assert plot.projection(np.ones((3, 3)), axis="y").png() and plot.projection(x[:0], axis="y").png()
    with pytest.raises(ValueError, match="axis is 'w'"):
        plot.projection(x, axis="w")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the catalogue is of 5000"):
        plot.projection(x[:10], catalog)
    with pytest.raises(ValueError, match="2 coordinates"):
        plot.projection(x[:, :2])


def test_a_gallery(catalog: ropewalk.HaloCatalog) -> None:
    x = sample.mock_halos(N, box_size=SIDE)
    figure = plot.gallery(catalog, positions=x)
    tags, counts = catalog["fof_halo_tag"], catalog["fof_halo_count"]
    assert figure.title == "The 6 largest halos, seen along z, redshift 0"
    assert all(f"halo {row} (tag {tags[row]})" in texts(figure) for row in range(6))
    assert f"{counts[0]:,} members" in texts(figure) and f"R200c {catalog['sod_halo_r200c'][0]:.3g}" in texts(figure)
    assert "most bound particle" in texts(figure)
    # A halo does not depend on the place of the box's faces.
    last = plot.gallery(catalog, -1, positions=x)
    assert last.title == f"Halo {len(catalog) - 1}, seen along z, redshift 0" and f"(tag {tags[-1]})" in texts(last)
    assert plot.gallery(catalog, [], positions=x, title="none").title == "none"
    with pytest.raises(ValueError, match="the halos are of an array; pass it"):
        plot.gallery(catalog)
    with pytest.raises(ValueError, match=r"positions has the shape \(4999, 3\); the catalogue needs \(5000, 3\)"):
        plot.gallery(catalog, positions=x[1:])
    with pytest.raises(IndexError, match="there is no halo 9999"):
        plot.gallery(catalog, [0, 9999], positions=x)
    with pytest.raises(ValueError, match="no particles of type 0 were attached"):
        plot.gallery(catalog, positions=x, attached={0: x})


def test_a_gallery_shows_halos_without_subhalos() -> None:
    x = sample.mock_halos(N)
    nested = halos(x, box_size=1, finder="adaptahop")
    inner = np.flatnonzero(nested["halo_parent"] >= 0)
    shown = texts(plot.gallery(nested, positions=x))
    assert len(inner) > 0 and not any(f"halo {row} (" in shown for row in inner)
    assert f"halo {inner[0]} (" in texts(plot.gallery(nested, int(inner[0]), positions=x))


def test_subhalos(catalog: ropewalk.HaloCatalog) -> None:
    nested = halos(sample.mock_halos(N), box_size=1, finder="adaptahop")
    shown = texts(plot.subhalos(nested))
    members = len(nested.members(0))
    # Without masses, only particles are counted.
    assert f"halo 0: {members:,} particles" in shown and "mass" not in shown.split("halo 0:")[1].split("|")[0]
    massive = halos(sample.mock_halos(N, box_size=SIDE), masses=MASS, box_size=SIDE, omega_m=0.3, h=0.7, finder="adaptahop")
    mass = 1e10 * massive["halo_mass"][0]
    power = int(np.floor(np.log10(mass)))
    raised = str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    assert f"particles, mass {round(mass / 10**power, 2):g}×10{raised} Msun/h" in texts(plot.subhalos(massive))
    with pytest.raises(ValueError, match="by friends of friends have no subhalos"):
        plot.subhalos(catalog)


def test_a_map_is_that_of_the_program(tmp_path: Path) -> None:
    """A grid of 12 by 9 cells, with its values from the program."""
    x = np.random.default_rng(2).uniform(0, [3, 2], (500, 2))
    table = np.column_stack([x, np.sin(3 * x[:, 0]) * x[:, 1]])
    np.savetxt(tmp_path / "a.csv", table, "%.17g", ",", header="east,north,height", comments="")
    command = [program(), "interpolate", "a.csv", "--values-columns", "height", "--columns", "east,north"]
    command += ["--grid", "12x9", "--out", "a.npy", "--plot", "a.svg", "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    values, corners = np.load(tmp_path / "a.npy"), [x.min(axis=0), x.max(axis=0)]
    expected = (tmp_path / "a.svg").read_text()
    title = "height of 500 points by moving least squares"
    assert title in expected
    figure = plot.value_map(values, corners, axes=["east", "north"], name="height", title=title)
    assert figure.svg() == expected
    assert plot.value_map(values, corners, name="height").title == "height, 12 x 9 cells"
    for wrong, words in [
        (lambda: plot.value_map(values[0], corners), r"values has the shape \(9,\)"),
        (lambda: plot.value_map(values, corners[0]), r"corners has the shape \(2,\)"),
        (lambda: plot.value_map(values, corners[::-1]), "the second must be above the first"),
        (lambda: plot.value_map(values, corners, axes="xyz"), "axes has 3 names; it must have two"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()


def test_a_mesh_in_its_colors(tmp_path: Path) -> None:
    """A triangle with a red, a green and a blue corner, from a file, and without its colours."""
    path = tmp_path / "colors.obj"
    path.write_text("v 0 0 0 1 0 0\nv 3 0 0 0 1 0\nv 0 3 0 0 0 1\nf 1 2 3\n")
    data = ropewalk.read_mesh(path)
    assert data.colors is not None and data.colors.dtype == np.uint8
    assert data.colors.tolist() == [[255, 0, 0], [0, 255, 0], [0, 0, 255]]
    vertices, faces = data
    assert len(vertices) == 3 and faces.tolist() == [[0, 1, 2]]
    again = pickle.loads(pickle.dumps(data))
    assert np.array_equal(again.colors, data.colors) and np.array_equal(again.faces, faces)

    def pixels(mesh: Mesh | ropewalk.MeshData) -> NDArray[Any]:
        png = plot.mesh(mesh, azimuth=-90, elevation=90, width=60, height=60).png()
        image = pytest.importorskip("matplotlib.image")
        return np.round(255 * image.imread(io.BytesIO(png))[..., :3]).astype(int)

    colored, plain = pixels(data), pixels(Mesh(*data))
    for (row, column), channel in {(55, 4): 0, (55, 54): 1, (6, 4): 2}.items():
        assert colored[row, column].argmax() == channel and colored[row, column].max() > 2 * np.median(colored[row, column])
        assert np.ptp(plain[row, column]) < 60
    turned = data._replace(vertices=data.vertices[:, [1, 0, 2]])
    assert turned.colors is data.colors and plot.mesh(turned, width=40, height=30).png()
    for colors in (data.colors / 255, data.colors[:2], np.zeros((3, 4), np.uint8)):
        with pytest.raises(ValueError, match=r"they must be uint8 of shape \(3, 3\)"):
            plot.mesh(ropewalk.MeshData(vertices, faces, colors))
    path.write_text("v 0 0 0\nv 3 0 0 0 1 0\nv 0 3 0 0 0 1\nf 1 2 3\n")
    assert ropewalk.read_mesh(path).colors is None
    assert ropewalk.MeshData(vertices, faces).colors is None


def test_a_mesh(tmp_path: Path) -> None:
    figure = plot.mesh(Mesh(np.eye(3), [[0, 1, 2]]), width=64, height=48)
    assert size(figure.png()) == size(figure._repr_png_() or b"") == (64, 48)
    with pytest.raises(ValueError, match="use png"):
        figure.svg()
    with pytest.raises(ValueError, match="use .png"):
        figure.save(tmp_path / "mesh.svg")
    with pytest.raises(ValueError, match="width"):
        plot.mesh(Mesh(np.eye(3), [[0, 1, 2]]), width=0)


def test_a_dendrogram() -> None:
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    x = np.random.default_rng(0).normal(size=(200, 2))
    ax = plot.dendrogram(hierarchy.linkage(x, "single"))
    assert len(ax.collections) > 0 and "distance" in ax.get_ylabel()
    with pytest.raises(ValueError, match=r"\(n - 1, 4\)"):
        plot.dendrogram(np.zeros((3, 2)))
    pyplot.close("all")


@pytest.mark.skipif(not P3M.is_file(), reason="data/p3m_64.gadget2 is not there")
def test_the_gallery_is_that_of_the_program(tmp_path: Path) -> None:
    options = ["--gallery", "4", "--so", "200c", "--center", "mcp", "--subsample", "0.1", "--format", "svg", "--out", str(tmp_path / "out")]
    subprocess.run([program(), "halos", str(P3M), *options], check=True, capture_output=True)
    catalog = halos(read_snapshot(P3M, subsample=0.1), overdensities="200c", center=["mbp", "mcp"])
    assert plot.gallery(catalog, range(4), title="The 4 largest halos, seen along z, redshift 0").svg() == (tmp_path / "out/gallery.svg").read_text()


@pytest.mark.skipif(not P3M.is_file(), reason="data/p3m_64.gadget2 is not there")
def test_figures_are_those_of_the_program(tmp_path: Path) -> None:
    """The same figures, with their titles."""
    out = tmp_path / "out"
    options = ["--units", "h", "--subsample", "0.1", "--format", "svg", "--out", str(out)]
    subprocess.run([program(), "halos", str(P3M), *options], check=True, capture_output=True)
    snapshot = read_snapshot(P3M, subsample=0.1)
    catalog = halos(snapshot, units="h")
    assert (out / "mass_function.svg").read_text() == plot.mass_function(catalog).svg()
    assert (out / "projection.svg").read_text() == plot.projection(snapshot, catalog).svg()


def test_all_functions_work_without_matplotlib(tmp_path: Path) -> None:
    (tmp_path / "matplotlib.py").write_text("raise ImportError('matplotlib is not here')\n")
    code = "import ropewalk; print(len(ropewalk.plot.k_distances(ropewalk.sample.mock_halos(300), 4).png()))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(ropewalk.__file__).parents[1])])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0 and int(done.stdout) > 1000, done.stderr
