"""Halos, compared with the command line and with NumPy."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ropewalk
from halos_program import P3M, read_csv, run, same
from ropewalk import HOP, AdaptaHOP, RopewalkWarning, _native, halos, read_snapshot

# The mass of each of 5000 particles in a box of 20 Mpc/h, in 1e10 Msun/h, for the mean matter density.
MASS = 0.3 * 27.7536627 * 20**3 / 5000
OVERDENSITY: dict[str, Any] = {"overdensities": "200c", "omega_m": 0.3}
needs_data = pytest.mark.skipif(not P3M.is_file(), reason="data/p3m_64.gadget2 is not there")


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
        (np.zeros(5), {}, ValueError, "positions has 1 dimension;"),
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
        (np.eye(3), {**OVERDENSITY, "masses": 1.0, "box_size": 4}, ValueError, ", or give length_unit and mass_unit$"),
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


def test_catalogues_are_not_pickled_and_say_so() -> None:
    catalog = halos(np.ones((4, 3)), eps=0.1, min_members=2)
    with pytest.raises(TypeError, match="HaloCatalog cannot be pickled; send its `table`"):
        pickle.dumps(catalog)
