"""Figures: the contents of axes. PICTURES=folder saves them for inspection."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ropewalk
from ropewalk import halos, k_distances, plot, sample

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

ROOT = Path(__file__).parents[2]
N, SIDE = 5_000, 20.0
MASS = 0.3 * 27.7536627 * SIDE**3 / N


@pytest.fixture(scope="module")
def catalog() -> ropewalk.HaloCatalog:
    x = sample.mock_halos(N, box_size=SIDE)
    return halos(x, masses=MASS, box_size=SIDE, omega_m=0.3, h=0.7, redshift=0, overdensities="200c", profiles=2)


@pytest.fixture(autouse=True)
def pictures(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    folder = os.environ.get("PICTURES")
    for number in pyplot.get_fignums():
        if folder:
            pyplot.figure(number).savefig(os.path.join(folder, f"{request.node.name}_{number}.png"), dpi=80)
    pyplot.close("all")


def texts(ax: Any) -> str:
    return f"{ax.get_xlabel()} | {ax.get_ylabel()}"


def test_mass_function(catalog: ropewalk.HaloCatalog) -> None:
    ax = plot.mass_function(catalog, bins=8)
    assert "mass" in texts(ax) and "M$_\\odot$/h" in texts(ax) and "(Mpc/h)$^{-3}$" in texts(ax) and "comoving" in texts(ax)
    x, y = ax.containers[0].lines[0].get_data()
    mass = catalog["fof_halo_mass"]
    edges = np.geomspace(mass.min(), mass.max(), 9)
    edges[0], edges[-1] = 0.999 * edges[0], 1.001 * edges[-1]
    counts = np.histogram(mass, edges)[0]
    counts = counts[counts > 0]
    width = np.log10(mass.max() / mass.min()) / 8
    np.testing.assert_allclose(y, counts / width / SIDE**3, rtol=1e-6)
    upper = ax.containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose([segment[1][1] for segment in upper], y * (1 + 1 / np.sqrt(counts)), rtol=1e-6)
    own = pyplot.figure().subplots()
    assert plot.mass_function(catalog, own, bins=[1e3, 1e4, 1e5], volume=1.0) is own
    none = halos(np.zeros((0, 3)), box_size=1)
    assert plot.mass_function(none) is not None


def test_mass_function_of_all_types() -> None:
    path = ROOT / "tests" / "data" / "snapshots" / "gizmo.hdf5"
    if not path.is_file():
        pytest.skip("tests/data/snapshots is not there")
    catalog = halos(path, linking_length=1.0, min_members=2)
    total = catalog["fof_halo_mass_total"]
    assert (total > catalog["fof_halo_mass"]).any()
    largest = total.max()
    ax = plot.mass_function(catalog, bins=[0.999 * largest, 1.001 * largest], volume=1.0)
    assert len(ax.containers[0].lines[0].get_ydata()) == 1


def test_mass_function_of_subhalos() -> None:
    catalog = halos(sample.mock_halos(N), box_size=1, finder="adaptahop")
    ax = plot.mass_function(catalog)
    drawn = ax.containers[0].lines[0].get_ydata()
    assert len(drawn) > 0 and "unit of the particles" in texts(ax)


def test_projection(catalog: ropewalk.HaloCatalog) -> None:
    x = sample.mock_halos(N, box_size=SIDE)
    ax = plot.projection(x, catalog, pixels=128)
    assert texts(ax) == "x [Mpc/h, comoving] | y [Mpc/h, comoving]" and ax.get_xlim() == (0, SIDE)
    assert len(ax.patches) == min(50, int(np.isfinite(catalog["sod_halo_r200c"]).sum()))
    assert ax.images[0].get_array().max() > 1
    alone = plot.projection(x, slab=(0, 5), axis="x", pixels=64)
    shown = alone.images[0].get_array()
    assert texts(alone) == "y | z" and (shown[shown >= 1]).sum() == ((x[:, 0] <= 5) & (x[:, 0] >= 0)).sum()
    with pytest.raises(ValueError, match="axis is 'w'"):
        plot.projection(x, axis="w")  # type: ignore[arg-type]
    assert plot.projection(np.zeros((0, 3))) is not None


def test_profile(catalog: ropewalk.HaloCatalog) -> None:
    ax = plot.profile(catalog, 0)
    assert "radius [Mpc/h, comoving]" in texts(ax) and "density" in texts(ax)
    shells = catalog.profiles
    assert shells is not None
    rows = shells[(shells["fof_halo_tag"] == catalog["fof_halo_tag"][0]) & (shells["shell_count"] > 0)]
    np.testing.assert_array_equal(ax.containers[0].lines[0].get_ydata(), rows["shell_density"])
    with pytest.raises(ValueError, match="halo 2 has no profile; 2 halos have one"):
        plot.profile(catalog, 2)
    with pytest.raises(ValueError, match="profiles=1"):
        plot.profile(halos(np.zeros((30, 3)), eps=1), 0)


def test_clusters() -> None:
    x = np.random.default_rng(0).normal(np.repeat([[0, 0], [5, 5], [0, 5]], 100, axis=0), 0.5)
    labels = np.repeat([0, 1, -1], 100)
    ax = plot.clusters(x, labels)
    assert [len(drawn.get_offsets()) for drawn in ax.collections] == [100, 200]
    assert [drawn.get_label() for drawn in ax.collections] == ["noise: 100", "clusters: 2"]
    assert plot.clusters(np.zeros((0, 2)), []).collections is not None
    with pytest.raises(ValueError, match="labels has the shape"):
        plot.clusters(x, labels[:5])


def test_k_distances() -> None:
    x = sample.mock_halos(500)
    ax = plot.k_distances(x, 4, box_size=1)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), k_distances(x, 4, box_size=1)[::-1])
    spatial = pytest.importorskip("scipy.spatial")
    expected = np.sort(spatial.cKDTree(x.astype(float), boxsize=1.0).query(x.astype(float), 5)[0][:, 4])
    np.testing.assert_allclose(k_distances(x, 4, box_size=1), expected, rtol=1e-12)
    assert k_distances(x, 500).size == 0
    assert plot.k_distances(x, 500) is not None
    assert k_distances(x, 2**60).size == k_distances(x, 0).size == 0
    for wrong in (-1, -7):
        with pytest.raises(ValueError, match="k is"):
            k_distances(x, wrong)
    with pytest.raises(TypeError):
        k_distances(x, 1.5)  # type: ignore[arg-type]


def test_dendrogram() -> None:
    hierarchy = pytest.importorskip("scipy.cluster.hierarchy")
    x = np.random.default_rng(0).normal(size=(200, 2))
    ax = plot.dendrogram(hierarchy.linkage(x, "single"))
    assert len(ax.collections) > 0 and "distance" in texts(ax)
    with pytest.raises(ValueError, match=r"\(n - 1, 4\)"):
        plot.dendrogram(np.zeros((3, 2)))
