"""Halos, compared with the command line and with NumPy."""

from __future__ import annotations

import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ropewalk
from ropewalk import HOP, AdaptaHOP, RopewalkWarning, _native, halos, read_snapshot

ROOT = Path(__file__).resolve().parents[2]
P3M = ROOT / "data" / "p3m_64.gadget2"
# The mass of each of 5000 particles in a box of 20 Mpc/h, in 1e10 Msun/h, for the mean matter density.
MASS = 0.3 * 27.7536627 * 20**3 / 5000
needs_data = pytest.mark.skipif(not P3M.is_file(), reason="data/p3m_64.gadget2 is not there")


def program() -> str:
    """Returns the path of the command-line program: ROPEWALK_PROGRAM, or that of a release build."""
    path = os.environ.get("ROPEWALK_PROGRAM") or str(ROOT / "target" / "release" / "ropewalk")
    if not os.access(path, os.X_OK):
        pytest.skip("the program ropewalk is not built; ROPEWALK_PROGRAM names it")
    return path


def run(tmp_path: Path, *options: str) -> Path:
    command = [program(), "halos", str(P3M), "--out", str(tmp_path / "out"), "--no-pictures", "--subsample", "0.1", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return tmp_path / "out"


def read_csv(path: Path) -> tuple[list[str], dict[str, str], np.ndarray[Any, Any]]:
    """Reads names, units and numbers of an enhanced CSV file without astropy."""
    lines = path.read_text().splitlines()
    heads = [line for line in lines if line.startswith("# - {name: ")]
    units = {head.split("name: ")[1].split(",")[0]: head.split("unit: ")[1].split(",")[0] for head in heads if "unit: " in head}
    body = [line for line in lines if not line.startswith("#")]
    names = body[0].split(",")
    rows = [[line.split(",")[k] for k in range(len(names))] for line in body[1:]]
    return names, units, np.array(rows, dtype=object)


def same(catalog: ropewalk.Table, path: Path) -> None:
    """Checks that all numbers of a catalogue equal those of a file, which has nine digits."""
    names, units, rows = read_csv(path)
    assert catalog.columns == tuple(names)
    assert {name: unit for name, unit in catalog.units.items() if unit is not None} == units
    assert len(catalog) == len(rows)
    for k, name in enumerate(names):
        column = catalog[name]
        if column.dtype.kind in "iu":
            assert column.tolist() == [int(text) for text in rows[:, k]], name
        else:
            mine = [float(f"{value:.8e}") for value in column]
            np.testing.assert_array_equal(mine, rows[:, k].astype(float), err_msg=name)


@needs_data
@pytest.mark.parametrize(
    "options, arguments",
    [
        ("", {}),
        (
            "--so 200c,vir --center mbp,mcp --profiles 4",
            {"overdensities": ("200c", "vir"), "center": ("mbp", "mcp"), "profiles": 4},
        ),
        ("--so 200m --units physical --min-members 50", {"overdensities": "200m", "units": "physical", "min_members": 50}),
        ("--eps 0.3 --open --center com", {"eps": 0.3, "open": True, "center": "com"}),
        ("--finder hop --delta-outer 120", {"finder": HOP(120)}),
        ("--finder adaptahop --unbind --softening 0.01", {"finder": AdaptaHOP(unbind=True), "softening": 0.01}),
        ("--columns fof_halo_mass,fof_halo_tag", {"columns": ["fof_halo_mass", "fof_halo_tag"]}),
    ],
)
def test_the_numbers_of_the_command_line(tmp_path: Path, options: str, arguments: dict[str, Any]) -> None:
    out = run(tmp_path, *options.split())
    # A tenth of the particles, since sums over all pairs are slow in builds without optimization.
    catalog = halos(read_snapshot(P3M, types=1, subsample=0.1), **arguments)
    same(catalog, out / "halos.ecsv")
    np.testing.assert_array_equal(catalog.labels, np.load(out / "labels.npy"))
    if catalog.profiles is not None:
        same(catalog.profiles, out / "profiles.ecsv")
    # The files are byte for byte equal, since also the path of the snapshot is the same.
    catalog.write(tmp_path / "own.ecsv")
    assert (tmp_path / "own.ecsv").read_bytes() == (out / "halos.ecsv").read_bytes()


@needs_data
def test_arrays_are_as_good_as_a_snapshot() -> None:
    snapshot = read_snapshot(P3M, subsample=0.1).load()
    more: dict[str, Any] = {"overdensities": ("200c",), "min_members": 30}
    of_file = halos(snapshot, **more)
    of_arrays = halos(
        snapshot.positions, snapshot.velocities, snapshot.masses[0], snapshot.ids,
        box_size=32, redshift=0, omega_m=0.31, h=0.68, velocity_unit="km/s", n_jobs=2, **more,
    )  # fmt: skip
    assert of_arrays.columns == of_file.columns
    for name in of_file.columns:  # NaN is NaN
        np.testing.assert_array_equal(of_arrays[name], of_file[name], err_msg=name)
    np.testing.assert_array_equal(of_arrays.labels, of_file.labels)
    wide = halos(snapshot.positions.astype(float), ids=snapshot.ids, box_size=32, min_members=30)
    np.testing.assert_array_equal(wide["fof_halo_tag"], of_file["fof_halo_tag"])


def by_hand(x: np.ndarray[Any, Any], v: np.ndarray[Any, Any], m: np.ndarray[Any, Any], box: float) -> tuple[Any, Any, Any]:
    """Computes centre of mass, mean velocity and dispersion of particles that may be on both sides of the boundary."""
    offsets = x - x[0]
    offsets -= box * np.round(offsets / box)
    mean = (x[0] + (m[:, None] * offsets).sum(0) / m.sum()) % box
    motion = (m[:, None] * v).sum(0) / m.sum()
    return mean, motion, np.sqrt((m * ((v - motion) ** 2).sum(1)).sum() / (3 * m.sum()))


def test_a_halo_across_the_boundary_by_hand() -> None:
    random = np.random.default_rng(1)
    x = np.concatenate([random.normal(0, 0.1, (200, 3)) % 10, random.normal(5, 0.1, (100, 3))])
    v, m, ids = random.normal(3, 2, x.shape), random.uniform(1, 2, 300), random.permutation(300) + 1000
    catalog = halos(x, v, m, ids, box_size=10, eps=0.2)
    assert len(catalog) == 2 and catalog.meta["boundaries"] == "periodic"
    assert np.array_equal(catalog.members(0), np.flatnonzero(catalog.labels == catalog["fof_halo_label"][0]))
    for i in range(2):
        who = catalog.members(i)
        mean, motion, dispersion = by_hand(x[who], v[who], m[who], 10)
        np.testing.assert_allclose([catalog[f"fof_halo_mean_{axis}"][i] for axis in "xyz"], mean, rtol=1e-12)
        np.testing.assert_allclose([catalog[f"fof_halo_mean_v{axis}"][i] for axis in "xyz"], motion, rtol=1e-12)
        np.testing.assert_allclose(catalog["fof_halo_vel_disp"][i], dispersion, rtol=1e-12)
        np.testing.assert_allclose(catalog["fof_halo_mass"][i], m[who].sum(), rtol=1e-13)
        assert catalog["fof_halo_tag"][i] == ids[who].min()
    # No unit is known.
    assert set(catalog.units.values()) == {None}


def test_members_and_offsets() -> None:
    x = np.repeat([[1.0, 1, 1], [4, 4, 4], [7, 7, 7]], [3, 5, 3], axis=0)
    # Halos of equal size are ordered by tag.
    ids = np.arange(11)[::-1]
    catalog = halos(x, ids=ids, eps=0.1, min_members=2)
    assert catalog["fof_halo_tag"].tolist() == [3, 0, 8]
    assert catalog.offsets.tolist() == [0, 5, 8, 11] and catalog.offsets.dtype == np.int64
    assert catalog.indices.tolist() == [3, 4, 5, 6, 7, 8, 9, 10, 0, 1, 2]
    for i in range(3):
        assert np.array_equal(catalog.members(i), catalog.indices[catalog.offsets[i] : catalog.offsets[i + 1]])
    assert np.array_equal(catalog.members(-1), [0, 1, 2])
    for wrong in (3, -4):
        with pytest.raises(IndexError, match="there are 3"):
            catalog.members(wrong)
    for array in (catalog.labels, catalog.members(0), catalog.table):
        assert not array.flags.writeable
    members = catalog.members(0)
    del catalog
    assert members.tolist() == [3, 4, 5, 6, 7]  # the array keeps the catalogue's memory alive


def test_none_and_few() -> None:
    for x in (np.empty((0, 3)), np.zeros((1, 3), np.float32)):
        catalog = halos(x, box_size=1)
        assert len(catalog) == 0 and len(catalog.labels) == len(x) and catalog.offsets.tolist() == [0]
        assert len(catalog.to_pandas()) == 0
    assert "particle_mass" not in halos(np.zeros((1, 3)), masses=[2.0], box_size=1).meta
    assert halos(np.zeros((1, 3)), masses=2.0, box_size=1).meta["particle_mass"] == 2
    with pytest.raises(ValueError, match="give eps"):
        halos(np.zeros((2, 3)))


def test_notes_are_warnings() -> None:
    x = ropewalk.sample.mock_halos(5_000, box_size=20)
    with pytest.warns(RopewalkWarning, match="unknown redshift"):
        catalog = halos(x, masses=MASS, box_size=20, omega_m=0.3, overdensities="200c")
    assert any("redshift" in note for note in catalog.notes)
    assert catalog.units["sod_halo_m200c"] is not None


@pytest.mark.parametrize(
    "positions, arguments, error, match",
    [
        (np.zeros((5, 2)), {}, ValueError, "3"),
        (np.zeros(5), {}, ValueError, "dimensions"),
        (np.zeros((5, 3)), {"velocities": np.zeros((4, 3))}, ValueError, r"velocities has the shape \(4, 3\)"),
        (np.zeros((5, 3)), {"velocities": np.zeros((5, 2))}, ValueError, "velocities has the shape"),
        (np.eye(3), {"velocities": np.full((3, 3), np.nan), "eps": 2, "min_members": 2}, ValueError, "velocit.*0.*NaN"),
        (np.full((5, 3), np.nan), {"eps": 1}, ValueError, "0"),
        (np.eye(3), {"masses": [1.0, 2.0]}, ValueError, r"masses has the shape \(2,\)"),
        (np.eye(3), {"masses": [1.0, -2.0, 3.0], "eps": 2, "min_members": 2}, ValueError, "-2"),
        (np.eye(3), {"masses": -1.0}, ValueError, "masses is -1"),
        (np.eye(3), {"masses": np.nan}, ValueError, "masses is nan"),
        (np.eye(3), {"ids": [1, 2]}, ValueError, r"ids has the shape \(2,\)"),
        (np.eye(3), {"ids": [1, -2, 3]}, ValueError, "ids must not be negative, got -2"),
        (np.eye(3), {"ids": [1.5, 2, 3]}, ValueError, "ids must be integers"),
        (np.eye(3), {"box_size": 0.5}, ValueError, "box"),
        (np.eye(3), {"box_size": -1}, ValueError, "box_size is -1"),
        (np.eye(3), {"h": 70}, ValueError, "h is 70; .* in units of 100 km/s/Mpc"),
        (np.eye(3), {"box_size": [1, 2, 3]}, TypeError, "box_size"),
        (np.eye(3), {"overdensities": "200c"}, ValueError, "give omega_m"),
        (np.eye(3), {"overdensities": "200c", "omega_m": 0.3}, ValueError, "give masses"),
        (np.eye(3), {"overdensities": "200c", "omega_m": 0.3, "masses": 1.0}, ValueError, "give length_unit and mass_unit"),
        (np.eye(3), {"overdensities": "300x"}, ValueError, "300x"),
        (np.eye(3), {"overdensities": ["200c", "200c"]}, ValueError, "twice"),
        (np.eye(3), {"linking_length": 0.2, "eps": 1}, ValueError, "linking_length and eps are both given"),
        (np.eye(3), {"eps": np.nan}, ValueError, "linking_length is NaN"),
        (np.eye(3), {"min_members": 0}, ValueError, "min_members is 0"),
        (np.eye(3), {"attach": 7}, ValueError, "attach has 7"),
        (np.eye(3), {"masses": "heavy"}, TypeError, "masses is 'heavy'"),
        (np.eye(3), {"profiles": -1}, ValueError, "profiles is -1"),
        (np.eye(3), {"profiles": 1, "eps": 2}, ValueError, "give omega_m"),
        (np.eye(3), {"redshift": -2}, ValueError, "redshift"),
        (np.eye(3), {"softening": -1}, ValueError, "softening is -1"),
        (np.eye(3), {"min_members": 2.5}, TypeError, "min_members is 2.5"),
        (np.eye(3), {"finder": "rockstar"}, ValueError, "'fof', 'hop', 'adaptahop'"),
        (np.eye(3), {"density": True}, ValueError, 'density is for finder="hop" or "adaptahop"; the finder is "fof"'),
        (np.eye(3), {"finder": AdaptaHOP(unbind=True)}, ValueError, "give masses"),
        (np.eye(3), {"finder": AdaptaHOP(unbind=True), "masses": 1.0}, ValueError, "give velocities"),
        (np.eye(3), {"center": "middle"}, ValueError, "center is 'middle'"),
        (np.eye(3), {"center": ["mbp", "com"]}, ValueError, "only"),
        (np.eye(3), {"columns": ["nothing"]}, ValueError, "nothing"),
        (np.eye(3), {"length_unit": "furlong"}, ValueError, "furlong"),
        (np.eye(3), {"units": "cgs"}, ValueError, "'h', 'physical'"),
        (np.eye(3), {"units": "h", "eps": 2}, ValueError, "give length_unit"),
        (np.eye(3), {"device": "gpu"}, ValueError, "device is"),
        (np.eye(3), {"n_jobs": 0}, ValueError, "n_jobs is 0"),
        (np.eye(3).astype(complex), {}, ValueError, "complex"),
        (np.array([["a", "b", "c"]]), {}, ValueError, "numbers"),
    ],
)
def test_bad_input(positions: Any, arguments: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        halos(positions, **arguments)


def test_types_that_are_converted() -> None:
    x = np.array([[0.5, 5, 5], [9.75, 5, 5], [3, 3, 3]])
    expected = halos(x, box_size=10, eps=1, min_members=2)
    strided = np.repeat(x, 2, axis=1)[:, ::2]
    others = (x.astype(np.float16), x.astype(np.float32), x.astype(">f8"), np.asfortranarray(x), x.tolist(), strided)
    for other in others:
        np.testing.assert_array_equal(halos(other, box_size=10, eps=1, min_members=2).table, expected.table)
    velocities = x.astype(np.float32)
    assert halos(x, velocities, box_size=10, eps=1, min_members=2)["fof_halo_mean_vy"] == 5


def test_tables(tmp_path: Path) -> None:
    x = ropewalk.sample.mock_halos(5_000, box_size=20)
    catalog = halos(x, masses=MASS, box_size=20, omega_m=0.3, redshift=1, h=0.7, overdensities="200c", profiles=1)
    assert catalog[0]["fof_halo_count"] == catalog["fof_halo_count"][0]
    assert len(catalog[catalog["fof_halo_count"] > 100]) < len(catalog)
    assert catalog[["fof_halo_tag", "fof_halo_mass"]].dtype.names == ("fof_halo_tag", "fof_halo_mass")
    assert list(dict(catalog)) == list(catalog.columns) and "fof_halo_tag" in catalog and "x" not in catalog
    assert "comoving" in catalog.descriptions["fof_halo_mean_x"]
    with pytest.raises(KeyError, match="there is no column mass"):
        catalog["mass"]
    physical = halos(x, masses=MASS, box_size=20, omega_m=0.3, redshift=1, h=0.7, units="physical")
    np.testing.assert_allclose(physical["fof_halo_mean_x"], catalog["fof_halo_mean_x"] / 0.7 / 2, rtol=1e-13)
    np.testing.assert_allclose([physical.volume, physical.linking_length], [(20 / 1.4) ** 3, catalog.linking_length / 1.4])

    pandas = pytest.importorskip("pandas")
    frame = catalog.to_pandas()
    assert frame["fof_halo_mass"].sum() == catalog["fof_halo_mass"].sum() and frame.attrs["units"] == catalog.units
    for name in ("c.ecsv", "c.csv"):
        catalog.write(tmp_path / name)
        read = pandas.read_csv(tmp_path / name, comment="#")
        np.testing.assert_allclose(read["sod_halo_m200c"], frame["sod_halo_m200c"], rtol=1e-8)
    with pytest.raises(ValueError, match="unknown extension"):
        catalog.write(tmp_path / "c.txt")
    with pytest.raises(FileNotFoundError):
        catalog.write(tmp_path / "none" / "c.csv")


def test_files_with_all_digits(tmp_path: Path) -> None:
    x = ropewalk.sample.mock_halos(5_000)
    catalog = halos(x, box_size=1)
    catalog.write(tmp_path / "c.parquet")
    catalog.write(tmp_path / "c.hdf5")
    assert (tmp_path / "c.parquet").read_bytes()[:4] == b"PAR1" and (tmp_path / "c.hdf5").read_bytes()[1:4] == b"HDF"
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "c.hdf5") as file:
        np.testing.assert_array_equal(file["fof_halo_rms_radius"], catalog["fof_halo_rms_radius"])
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(tmp_path / "c.parquet")
    np.testing.assert_array_equal(table["fof_halo_rms_radius"], catalog["fof_halo_rms_radius"])


def test_astropy(tmp_path: Path) -> None:
    tables = pytest.importorskip("astropy.table")
    units, cosmology = pytest.importorskip("astropy.units"), pytest.importorskip("astropy.cosmology.units")
    x = ropewalk.sample.mock_halos(5_000, box_size=20)
    catalog = halos(x, masses=MASS, box_size=20, omega_m=0.3, redshift=1, overdensities="200c", profiles=1)
    own = catalog.to_astropy()
    assert own["fof_halo_mean_x"].unit.is_equivalent(units.Mpc / cosmology.littleh)
    mass = own["fof_halo_mass"].to(units.solMass, cosmology.with_H0(70 * units.km / units.s / units.Mpc))
    np.testing.assert_allclose(mass.value, catalog["fof_halo_mass"] * own["fof_halo_mass"].unit.scale / 0.7)
    catalog.write(tmp_path / "c.ecsv")
    with units.add_enabled_units(cosmology):
        read = tables.QTable.read(tmp_path / "c.ecsv")
    assert read.colnames == own.colnames and dict(read.meta) == own.meta
    for name in own.colnames:
        np.testing.assert_allclose(read[name], own[name], rtol=1e-8)
        assert getattr(read[name], "unit", None) == getattr(own[name], "unit", None)
        assert read[name].info.description == own[name].info.description
    assert catalog.profiles is not None and catalog.profiles.to_astropy()["shell_density"].unit is not None


def test_density_and_device() -> None:
    x = ropewalk.sample.mock_halos(5_000)
    catalog = halos(x, finder="hop", box_size=1, density=True)
    assert catalog.density is not None and catalog.density.shape == (5_000,) and (catalog.density > 0).all()
    assert halos(x, finder="hop", box_size=1).density is None
    if not hasattr(_native, "DeviceArray"):
        with pytest.raises(RuntimeError, match="this build of ropewalk has no CUDA support; build with --features cuda"):
            halos(x, box_size=1, device="cuda")


def test_attached_types(tmp_path: Path) -> None:
    path = ROOT / "tests" / "data" / "snapshots" / "gizmo.hdf5"
    if not path.is_file():
        pytest.skip("tests/data/snapshots is not there")
    kinds = {kind.particle_type: kind.count for kind in read_snapshot(path).types}
    linked, *others = [kind for kind, count in kinds.items() if count and kind is not None]
    more = {"linking_length": 1.0, "min_members": 2}
    snapshot = read_snapshot(path, types=linked)
    catalog = halos(snapshot, attach=others, **more)  # type: ignore[arg-type]
    assert {kind: len(labels) for kind, labels in catalog.attached_labels.items()} == {kind: kinds[kind] for kind in others}
    for kind in others:
        assert f"fof_halo_count_type{kind}" in catalog
    out = tmp_path / "out"
    options = ["--linking-length", "1", "--min-members", "2", "--no-pictures", "--out", str(out)]
    options += ["--type", str(linked), "--attach", ",".join(map(str, others))]
    subprocess.run([program(), "halos", str(path), *options], check=True, capture_output=True)
    same(catalog, out / "halos.ecsv")
    for kind in others:
        np.testing.assert_array_equal(catalog.attached_labels[kind], np.load(out / f"labels_type{kind}.npy"))
        np.testing.assert_array_equal(catalog.attached_ids[kind], np.load(out / f"ids_type{kind}.npy"))
    # By default, all types that are not linked are attached.
    assert list(halos(snapshot, **more).attached_labels) == others  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=rf"attach: .*gizmo.hdf5 has no particles of type 6; types present: {linked} \("):
        halos(snapshot, attach=6, **more)  # type: ignore[arg-type]
    for nothing in ((), "none"):
        with pytest.warns(ropewalk.RopewalkWarning, match="not read"):
            alone = halos(snapshot, attach=nothing, **more)  # type: ignore[arg-type]
        assert alone.attached_labels == {} and alone.meta["types_not_read"] == ", ".join(map(str, others))
    for wrong, match in ((linked, "is already linked"), ((linked, 4), "is already linked")):
        with pytest.raises(ValueError, match=match):
            halos(snapshot, attach=wrong)
    for adaptahop in ("adaptahop", AdaptaHOP()):
        with pytest.raises(ValueError, match="attach is for finder"):
            halos(snapshot, attach=6, finder=adaptahop)
    with pytest.raises(ValueError, match="attach is for snapshots"):
        halos(snapshot.positions, attach=0)


def test_memory_is_shared() -> None:
    """Arrays of the size of the particles are not copied into Python's memory, and each field has one array."""
    import tracemalloc

    x = np.ascontiguousarray(ropewalk.sample.lattice(40**3))
    x.flags.writeable = False
    tracemalloc.start()
    catalog = halos(x, eps=0.001)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < x.nbytes / 4
    assert np.shares_memory(catalog.labels, catalog._halos.labels())


def test_differences_of_counts_labels_and_members_are_whole_numbers() -> None:
    x = ropewalk.sample.mock_halos(5000, box_size=20, seed=1)
    catalog = halos(x, box_size=20, min_members=10)
    assert (np.diff(catalog["fof_halo_count"]) <= 0).all()
    assert catalog["fof_halo_label"].dtype == np.int64 and catalog["fof_halo_tag"].dtype == np.uint64
    members = catalog.members(0)
    assert members.dtype == catalog.indices.dtype == np.int32 and (members[:-1] - members[1:] < 0).all()
    assert np.array_equal(catalog.indices[: catalog.offsets[1]], members) and not members.flags.writeable


def test_units_that_are_named_are_kept() -> None:
    x = np.array([[0.5, 0.5, 0.5], [0.51, 0.5, 0.5]])
    catalog = halos(x, masses=1e10, length_unit="Mpc", mass_unit="Msun", box_size=1, eps=0.1, min_members=2)
    assert catalog.units["fof_halo_mass"] == "solMass" and catalog.units["fof_halo_mean_x"] == "Mpc"
    assert catalog.notes == () and "the Hubble constant h is not known" in str(catalog.meta["units"])
    catalog = halos(x, masses=1e10, length_unit="Mpc", box_size=1, eps=0.1, min_members=2)
    assert catalog.units["fof_halo_mass"] is None and catalog.units["fof_halo_mean_x"] == "Mpc"
    assert halos(x, masses=1e10, length_unit="Mpc", mass_unit="Msun", h=0.7, box_size=1, eps=0.1, min_members=2).notes == ()


def test_quantities_with_a_unit_are_refused() -> None:
    u = pytest.importorskip("astropy.units")
    x = np.array([[0.5, 0.5, 0.5], [0.51, 0.5, 0.5]])
    with pytest.raises(ValueError, match=r"positions has the unit Mpc.*to_value"):
        halos(x * u.Mpc, eps=0.1, min_members=2)
    with pytest.raises(ValueError, match="box_size has the unit kpc"):
        ropewalk.friends_of_friends(x, 0.1, box_size=1000 * u.kpc)
    assert len(halos(x * u.dimensionless_unscaled, eps=0.1, min_members=2)) == 1


@pytest.mark.parametrize("device", ["cuda:99999999999999999999", "cuda:", "cuda:-1", "cuda:x", "gpu", "cudaa"])
def test_devices_by_names_that_are_none(device: str) -> None:
    with pytest.raises(ValueError, match="device is"):
        halos(np.ones((4, 3)), device=device)


def test_numbers_are_numbers_and_halos_have_two_members() -> None:
    x = np.ones((4, 3))
    with pytest.raises(TypeError, match="eps is '0.1'"):
        halos(x, eps="0.1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="min_members is 1; it must be at least 2"):
        halos(x, eps=0.1, min_members=1)


def test_positions_on_a_device_are_refused() -> None:
    class Array:
        __cuda_array_interface__ = {"shape": (4, 3)}

    with pytest.raises(ValueError, match="positions are on a device"):
        halos(Array())  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:.*low-resolution dark matter in zoom runs")
def test_type_1_is_linked_where_none_is_chosen() -> None:
    path = ROOT / "tests" / "data" / "snapshots" / "gadget2.hdf5"
    snapshot = read_snapshot(path)
    others = [kind.particle_type for kind in snapshot.types if kind.count and kind.particle_type != 1]
    with pytest.warns(RopewalkWarning, match="labels and members index the particles of type 1, catalog.particles, not those of the snapshot"):
        catalog = halos(snapshot, min_members=2)
    assert len(catalog.labels) == len(read_snapshot(path, types=1)) and list(catalog.attached_labels) == others
    assert any("catalog.particles" in note for note in catalog.notes)
    assert catalog.meta["linked_types"] == "1" and catalog.meta["attached_types"] == ", ".join(map(str, others))
    # All types that the caller reads are linked.
    assert len(halos(read_snapshot(path, types=[1, *others]), min_members=2).labels) == len(snapshot)


#: Positions of gas, dark matter, stars and black holes by type: a pair, a group of three, and some distant particles.
PLACES: dict[int, list[list[float]]] = {
    0: [[1, 1, 0.5], [8, 8, 8]],
    1: [[5, 5, 5], [1, 1, 1], [9, 1, 9], [1, 1, 2], [5, 5, 6], [5, 5, 7]],
    4: [[1, 1.5, 2], [5, 5, 5.5], [3, 3, 3]],
    5: [[5, 5, 6]],
}


def snapshot_file(path: Path, **changes: Any) -> Path:
    """Writes an HDF5 snapshot of four types. `changes` replaces data sets, such as `ids4`, or omits them if None."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        header = file.create_group("Header").attrs
        counts = [len(PLACES.get(kind, [])) for kind in range(6)]
        header["NumPart_ThisFile"], header["NumPart_Total"] = np.array(counts, "i4"), np.array(counts, "u4")
        header["NumPart_Total_HighWord"], header["MassTable"] = np.zeros(6, "u4"), np.zeros(6)
        header["Time"], header["Redshift"], header["BoxSize"], header["NumFilesPerSnapshot"] = 1.0, 0.0, 10.0, 1
        header["Omega0"], header["OmegaLambda"], header["HubbleParam"] = 0.3, 0.7, 0.7
        for kind, places in PLACES.items():
            n = len(places)
            sets: dict[str, Any] = {"x": np.array(places, "f4"), "v": np.zeros((n, 3), "f4"), "ids": 100 * kind + np.arange(n, dtype="u8")}
            sets["m"] = np.full(n, 1.0 + kind)
            sets |= {name: changes[f"{name}{kind}"] for name in sets if f"{name}{kind}" in changes}
            group = file.create_group(f"PartType{kind}")
            for name, field in (("x", "Coordinates"), ("v", "Velocities"), ("ids", "ParticleIDs"), ("m", "Masses")):
                if sets[name] is not None:
                    group[field] = sets[name]
    return path


@needs_data
@pytest.mark.parametrize("finder", ["fof", "hop", "adaptahop"])
def test_one_number_for_a_halo(finder: Any) -> None:
    catalog = halos(P3M, finder=finder, profiles=2)
    prefix = "fof_halo" if finder == "fof" else "halo"
    column = lambda name: catalog[f"{prefix}_{name}"]  # noqa: E731
    n = len(catalog)
    assert np.array_equal(column("label"), np.arange(n)) and catalog.labels.max() < n
    parent = column("parent") if finder == "adaptahop" else np.full(n, -1)
    assert catalog.particles is not None and catalog.particles.ids is not None
    for row in range(n):
        # A member of a row is in the structures of which the row is a parent, directly or not.
        own = np.flatnonzero(catalog.labels == row)
        above = [row]
        while parent[above[-1]] >= 0:
            above.append(parent[above[-1]])
        for outer in above:
            assert np.isin(own, catalog.members(outer)).all()
        assert column("tag")[row] == catalog.particles.ids[own].min()
    counts = np.bincount(catalog.labels[catalog.labels >= 0], minlength=n)
    assert np.array_equal(counts, column("own_count" if finder == "adaptahop" else "count"))
    assert catalog.profiles is not None
    shells = np.unique(catalog.profiles[f"{prefix}_label"])
    assert np.array_equal(shells, np.flatnonzero(parent < 0)[:2])
    assert np.array_equal(np.unique(catalog.profiles[f"{prefix}_tag"]), np.unique(column("tag")[shells]))


def test_labels_and_members_index_the_linked_particles(tmp_path: Path) -> None:
    path = snapshot_file(tmp_path / "snap.hdf5")
    given = read_snapshot(path)
    assert given.positions.shape == (12, 3)
    with pytest.warns(RopewalkWarning, match="catalog.particles"):
        warned = halos(given, eps=1, min_members=2)
    alone = read_snapshot(path, types="dark")
    # If the caller has the linked particles, there are no notes, and nothing is read twice.
    same = halos(alone, eps=1, min_members=2)
    assert same.particles is alone and same.notes == ()
    by_path = halos(path, eps=1, min_members=2)
    assert by_path.notes == ()
    for catalog in (warned, same, by_path):
        particles = catalog.particles
        assert particles is not None and len(particles) == len(catalog.labels) == 6
        assert particles.ids[catalog.members(0)].tolist() == [100, 104, 105]
        assert particles.ids[catalog.members(1)].tolist() == [101, 103]
        assert particles.positions[catalog.members(1)].tolist() == [[1, 1, 1], [1, 1, 2]]
        rows = np.full(len(particles), -1)
        for row in range(len(catalog)):
            rows[catalog.members(row)] = row
        assert rows.tolist() == [0, 1, -1, 1, 0, 0]
        assert np.array_equal(catalog["fof_halo_label"][rows[rows >= 0]], catalog.labels[rows >= 0])
        largest = int(catalog["fof_halo_label"][0])
        assert catalog.attached_ids[4][catalog.attached_labels[4] == largest].tolist() == [401]
        assert catalog.attached_ids[5][catalog.attached_labels[5] == largest].tolist() == [500]
    # All types are linked, and `particles` holds those of the snapshot.
    every = halos(read_snapshot(path, types=(0, 1, 4, 5)), eps=1, min_members=2)
    assert every.particles is not None and len(every.labels) == len(every.particles) == 12
    assert halos(np.array(PLACES[1], float), eps=1, min_members=2).particles is None


@pytest.mark.filterwarnings("ignore:.*have no readable ids")
def test_notes_of_attached_particles_are_warned_of(tmp_path: Path) -> None:
    path = snapshot_file(tmp_path / "snap.hdf5", ids4=np.array([0.5, 1.5, 2.5]))
    for given in (path, read_snapshot(path, types=1)):
        with pytest.warns(RopewalkWarning, match="PartType4/ParticleIDs.*ids of type 4 are left out") as caught:
            catalog = halos(given, eps=1, min_members=2)
        assert len(caught) == 2 and len([note for note in catalog.notes if "ids of type 4 are left out" in note]) == 1
        assert sorted(catalog.attached_ids) == [0, 5]
        assert catalog.attached_labels[4].tolist().count(-1) == 1
    # Types without ids are attached, too.
    path = snapshot_file(tmp_path / "none.hdf5", ids4=None)
    with pytest.warns(RopewalkWarning, match=r"attached particles \(type 4\) have no readable ids"):
        catalog = halos(path, eps=1, min_members=2)
    assert sorted(catalog.attached_ids) == [0, 5] and [len(labels) for labels in catalog.attached_labels.values()] == [2, 3, 1]
    every = snapshot_file(tmp_path / "every.hdf5", ids0=None, ids4=None, ids5=None)
    with pytest.warns(RopewalkWarning, match=r"attached particles \(types 0, 4 and 5\) have no readable ids"):
        assert halos(every, eps=1, min_members=2).attached_ids == {}


@pytest.mark.filterwarnings("ignore:.*mass functions divide by the volume")
def test_what_cannot_be_attached_says_how_to_leave_it_out(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({"m5": None}, {}, "has masses, but none of type 5"),
        ({"v5": None}, {"overdensities": "200c", "length_unit": "Mpc/h", "mass_unit": "1e10 Msun/h"}, "PartType5"),
        ({"m0": None, "m4": None, "m5": None}, {}, "the linked particles have masses, and the attached particles do not"),
        ({"x4": np.full((3, 3), np.nan, "f4")}, {}, "NaN"),
        ({"m0": np.array([1.0, -2.0])}, {}, "its mass is -2"),
    ]
    for changes, options, match in cases:
        path = snapshot_file(tmp_path / "snap.hdf5", **changes)
        with pytest.raises(ValueError, match=rf"{match}.*; use attach=\(\) to omit other types"):
            halos(path, eps=1, min_members=2, **options)
        with pytest.warns(RopewalkWarning, match="not read"):
            halos(path, eps=1, min_members=2, attach="none", **options)


def test_parts_of_a_snapshot_have_no_mean_separation(tmp_path: Path) -> None:
    part = read_snapshot(snapshot_file(tmp_path / "snap.hdf5"), types=1, single_part=True)
    for finder, options in (("fof", {"attach": ()}), ("fof", {}), ("hop", {}), (HOP(80, n_density=4, n_hop=4), {})):
        with pytest.raises(ValueError, match="single_part: the mean separation .* give the linking length as eps"):
            halos(part, finder=finder, **options)  # type: ignore[arg-type]
    assert len(halos(part, eps=1, min_members=2)) == 2
    with pytest.warns(RopewalkWarning, match="not read"):
        halos(part, finder=HOP(80, n_density=4, n_hop=4), attach=(), min_members=2)


def test_catalogues_are_not_pickled_and_say_so() -> None:
    catalog = halos(np.ones((4, 3)), eps=0.1, min_members=2)
    with pytest.raises(TypeError, match="HaloCatalog cannot be pickled; send its `table`"):
        pickle.dumps(catalog)
