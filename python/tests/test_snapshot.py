"""Snapshots: the values of fields, and the time at which they are read."""

from __future__ import annotations

import gzip
import os
import pickle
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropewalk import RopewalkWarning, _native, halos, read_snapshot

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOTS = ROOT / "tests" / "data" / "snapshots"
P3M = ROOT / "data" / "p3m_64.gadget2"
pytestmark = pytest.mark.skipif(not SNAPSHOTS.is_dir(), reason="tests/data/snapshots is not there")
needs_data = pytest.mark.skipif(not P3M.is_file(), reason="data/p3m_64.gadget2 is not there")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Returns a list that collects the fields of each reading."""
    made: list[tuple[str, ...]] = []
    read = _native.read_particles

    def count(path: str, settings: Any, positions: bool, others: list[str], n_jobs: int | None, report: Any) -> _native.Particles:
        made.append(("positions",) * positions + tuple(others))
        return read(path, settings, positions, others, n_jobs, report)

    monkeypatch.setattr(_native, "read_particles", count)
    return made


def test_only_what_is_asked_for_is_read(reads: list[tuple[str, ...]]) -> None:
    snapshot = read_snapshot(SNAPSHOTS / "gadget2.hdf5", types=(1, 2))
    assert len(snapshot) > 0 and snapshot.types and snapshot.files and "positions" in snapshot and reads == []
    assert snapshot.positions is not None and snapshot.positions.shape == (len(snapshot), 3)
    assert reads == [("positions",)]
    assert snapshot.ids.dtype == np.uint64
    assert reads == [("positions",), ("ids",)]
    snapshot.load("ids", "velocities", "masses")
    assert reads[2:] == [("velocities", "masses")]
    snapshot.velocities, snapshot.masses, snapshot.positions, snapshot["Coordinates"]
    assert len(reads) == 3
    # `halos` needs all fields in one object.
    halos(snapshot, min_members=2), halos(snapshot, min_members=3)
    assert reads[3:] == [("positions", "velocities", "masses", "ids")]
    assert "read: positions" in repr(snapshot)


@pytest.mark.filterwarnings("ignore:.*terms of the cosmology that are not used", "ignore:.*of the matter of the box")
def test_all_at_once(reads: list[tuple[str, ...]]) -> None:
    snapshot = read_snapshot(SNAPSHOTS / "swift.hdf5", types=(0, 1)).load()
    halos(snapshot, min_members=2)
    assert len(reads) == 1


def test_corrupt_velocities_do_not_matter_to_positions(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "corrupt.hdf5"
    shutil.copy(SNAPSHOTS / "gadget2.hdf5", path)
    with h5py.File(path, "r+") as file:
        group = next(name for name in file if name.startswith("PartType"))
        expected = file[group]["Coordinates"][:]
        del file[group]["Velocities"]
        file[group]["Velocities"] = np.zeros((2, 3), np.float32)  # too few
        kind = int(group[-1])
    snapshot = read_snapshot(path, types=kind)
    np.testing.assert_array_equal(snapshot.positions, expected)
    with pytest.warns(RopewalkWarning, match="velocities are left out"), pytest.raises(KeyError, match="has no velocities"):
        snapshot.velocities
    np.testing.assert_array_equal(snapshot["Coordinates"], expected)


@needs_data
def test_velocities_that_are_no_numbers(tmp_path: Path) -> None:
    data = bytearray(P3M.read_bytes())
    start = 264 + 4 + 262144 * 12 + 4 + 4
    data[start : start + 4] = np.float32(np.nan).tobytes()
    (tmp_path / "nan").write_bytes(data)
    snapshot = read_snapshot(tmp_path / "nan")
    assert np.isfinite(snapshot.positions).all() and np.isnan(snapshot.velocities[0, 0])
    with pytest.raises(ValueError, match="velocit.*0.*NaN"):
        halos(snapshot)


@needs_data
def test_gadget() -> None:
    snapshot = read_snapshot(str(P3M))
    assert (len(snapshot), snapshot.redshift, snapshot.box_size) == (262144, 0.0, 32.0)
    assert snapshot.cosmology == {"omega_m": 0.31, "omega_lambda": 0.69, "h": 0.68}
    assert snapshot.header is not None and snapshot.header["counts"] == [0, 262144, 0, 0, 0, 0]
    assert snapshot.units == {"length": None, "mass": None, "velocity": "km/s"} and snapshot.frame is None
    raw = np.fromfile(P3M, np.float32, 262144 * 3, offset=268).reshape(-1, 3)
    np.testing.assert_array_equal(snapshot.positions, raw)
    assert snapshot.positions.dtype == np.float32 and not snapshot.positions.flags.writeable
    # Each access returns the same memory, which outlives the snapshot.
    again = snapshot.positions
    assert np.shares_memory(again, snapshot.positions)
    masses = snapshot.masses
    assert masses.shape == (262144,) and masses.strides == (0,) and masses[0] == snapshot.types[0].mass
    assert (snapshot.particle_types == 1).all() and snapshot.particle_types.dtype == np.uint8
    del snapshot
    np.testing.assert_array_equal(again, raw)
    part = read_snapshot(P3M, subsample=0.25)
    assert 60_000 < len(part) < 70_000 and len(part.ids) == len(part) and part.masses[0] == masses[0] / 0.25


def test_types_of_hdf5() -> None:
    h5py = pytest.importorskip("h5py")
    path = SNAPSHOTS / "gizmo.hdf5"
    snapshot = read_snapshot(path)
    with h5py.File(path) as file:
        counts = {int(name[8:]): len(file[name]["Coordinates"]) for name in file if name.startswith("PartType")}
        assert {kind.particle_type: kind.count for kind in snapshot.types if kind.count} == counts
        assert len(snapshot) == sum(counts.values())
        for kind, count in counts.items():
            one = read_snapshot(path, types=[kind])
            assert len(one) == count
            np.testing.assert_array_equal(one.positions, file[f"PartType{kind}"]["Coordinates"][:])
            np.testing.assert_array_equal(snapshot.positions[snapshot.particle_types == kind], one.positions)
            np.testing.assert_array_equal(one["ParticleIDs"], file[f"PartType{kind}"]["ParticleIDs"][:])
    with pytest.raises(ValueError, match="no particles of type 6"):
        read_snapshot(path, types=6).positions
    for wrong, match in ((300, "types has 300"), ([1, 1], "types has 1 twice"), (-1, "types has -1"), ("wimps", "types has 'wimps'")):
        with pytest.raises(ValueError, match=match):
            read_snapshot(path, types=wrong)
    # The program accepts the same names.
    for name in ("dm", "DM", "dark", "dark-matter", "dark_matter", "dark matter", "halo"):
        np.testing.assert_array_equal(read_snapshot(path, types=name).ids, read_snapshot(path, types=1).ids)
    for name in ("bh", "black-hole", "black holes", "black_holes"):
        with pytest.raises(ValueError, match="no particles of type 5") if 5 not in counts else nullcontext():
            read_snapshot(path, types=name).load("ids")
    for name in ("neutrino", "neutrinos"):
        with pytest.raises(ValueError, match="no particles of type 6"):
            read_snapshot(path, types=name).load("ids")
    assert len(read_snapshot(os.fsencode(path), types=np.int64(counts.popitem()[0]))) > 0  # type: ignore[arg-type]


def test_fields_that_are_not_read() -> None:
    snapshot = read_snapshot(SNAPSHOTS / "tng.0.hdf5")
    other = next(field.name for kind in snapshot.types for field in kind.fields if field.role is None)
    with pytest.raises(KeyError, match="the field .* cannot be read; only positions"):
        snapshot[other]
    assert other not in snapshot
    with pytest.raises(KeyError, match="there is no field nothing; the fields are positions"):
        snapshot["nothing"]
    with pytest.raises(ValueError, match="there is no field 'nothing'"):
        snapshot.load("nothing")


def test_several_files() -> None:
    one = read_snapshot(SNAPSHOTS / "gadget4.0.hdf5")
    assert len(one.files) == 2
    for name in ("gadget4.1.hdf5", "gadget4.*.hdf5", "gadget4.hdf5"):
        np.testing.assert_array_equal(read_snapshot(SNAPSHOTS / name).positions, one.positions)


@pytest.mark.parametrize(
    "name, path, keys, note",
    [
        ("genericio", "genericio/little", ("pos", "vel"), None),
        ("tipsy_standard", "tipsy_standard/run.00080", ("pos", None), None),
        ("parquet", "parquet/pandas.parquet", ("pos", "vel"), "columns left out: __index_level_0__"),
        ("npz", "npz/stored.npz", ("pos", "vel"), "arrays that are not used: name, other"),
    ],
)
def test_other_formats(name: str, path: str, keys: tuple[str | None, str | None], note: str | None) -> None:
    """Checks numbers written by other programs against the values stored with the files, and the notes on omitted data."""
    expected = np.load(SNAPSHOTS / f"{name}.expected.npz")
    snapshot = read_snapshot(SNAPSHOTS / path)
    if note is not None:
        with pytest.warns(RopewalkWarning, match=note):
            snapshot.load()
    assert snapshot.format != "memory" and len(snapshot) == len(snapshot.positions)
    for key, array in zip(keys, (snapshot.positions, snapshot.velocities), strict=True):
        if key in expected:
            np.testing.assert_allclose(array, expected[key], rtol=1e-6)


def test_tables(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("x,y,z,vx,vy,vz,id,mass,age\n1,2,3,4,5,6,7,8,9\n11,12,13,14,15,16,17,18,19\n")
    snapshot = read_snapshot(path)
    with pytest.warns(RopewalkWarning, match="columns left out: age"):
        np.testing.assert_array_equal(snapshot.positions, [[1, 2, 3], [11, 12, 13]])
    np.testing.assert_array_equal(snapshot.velocities[1], [14, 15, 16])
    assert snapshot.ids.tolist() == [7, 17] and snapshot.masses.tolist() == [8, 18]
    # Values given by the caller are passed on to halos.
    told = read_snapshot(path, redshift=1, length_unit="kpc/h", mass_unit="Msun/h", velocity_unit="m/s")
    assert (told.redshift, told.box_size, told.units["length"], told.frame) == (1, None, "kpc/h", "comoving")
    with pytest.warns(RopewalkWarning, match="columns left out: age"):
        meta = halos(told, box_size=40, eps=18, min_members=2).meta
    with pytest.raises(ValueError, match="box"):
        halos(told, box_size=5, eps=18)
    assert (meta["redshift"], meta["box_size"]) == (1, 40) and "m/s" in str(meta["units"]) and "kpc" in str(meta["units"])
    np.testing.assert_array_equal(read_snapshot(path, columns=["y", "age"]).positions, [[2, 9], [12, 19]])
    np.testing.assert_array_equal(read_snapshot(path, columns=[9]).positions, [[9], [19]])
    with pytest.raises(KeyError, match="has no particle types"):
        snapshot.particle_types
    bare = tmp_path / "bare.npy"
    np.save(bare, np.zeros((4, 3)))
    with pytest.raises(KeyError, match="has no velocities"):
        read_snapshot(bare).velocities
    with gzip.open(tmp_path / "table.csv.gz", "wt") as file:
        file.write(path.read_text())
    with pytest.warns(RopewalkWarning, match="columns left out: age"):
        np.testing.assert_array_equal(read_snapshot(tmp_path / "table.csv.gz").positions, snapshot.positions)


def test_parquet_by_column() -> None:
    snapshot = read_snapshot(next((SNAPSHOTS / "parquet").iterdir()))
    names = [field.name for field in snapshot.types[0].fields if field.role == "positions"]
    if len(names) == 3:
        for k, name in enumerate(names):
            np.testing.assert_array_equal(snapshot[name], snapshot.positions[:, k])


def test_ids_that_are_no_numbers() -> None:
    snapshot = read_snapshot(SNAPSHOTS / "wrong_text_ids.hdf5")
    with pytest.warns(RopewalkWarning, match="holds strings, not numbers: ids are left out"), pytest.raises(KeyError):
        snapshot.ids


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        read_snapshot(tmp_path / "none.hdf5")
    assert raised.value.errno == 2 and "none.hdf5" in str(raised.value)
    with pytest.raises(ValueError, match="is a folder without Gadget snapshots"):
        read_snapshot(tmp_path)
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 8)
    with pytest.raises(ValueError, match="noise"):
        read_snapshot(tmp_path / "noise")
    for name in ("wrong_no_coordinates.hdf5", "wrong_no_header.hdf5", "wrong_total.hdf5"):
        with pytest.raises((ValueError, KeyError), match=name):
            read_snapshot(SNAPSHOTS / name).load()
    with pytest.raises(ValueError, match="subsample is 2"):
        read_snapshot(SNAPSHOTS / "swift.hdf5", subsample=2)
    with pytest.raises(ValueError, match="furlong"):
        read_snapshot(SNAPSHOTS / "swift.hdf5", length_unit="furlong").positions
    with pytest.raises(TypeError):
        read_snapshot(3)  # type: ignore[arg-type]


def test_a_file_that_changes(tmp_path: Path) -> None:
    path = tmp_path / "points.npy"
    np.save(path, np.zeros((4, 3)))
    snapshot = read_snapshot(path)
    np.save(path, np.ones((5, 3)))
    os.utime(path, (1, 1))
    with pytest.raises(ValueError, match="changed since it was opened"):
        snapshot.positions


@pytest.mark.filterwarnings("ignore:.*terms of the cosmology that are not used")
def test_units_and_quantities() -> None:
    units, cosmology = pytest.importorskip("astropy.units"), pytest.importorskip("astropy.cosmology.units")
    snapshot = read_snapshot(SNAPSHOTS / "swift.hdf5")
    assert snapshot.units["length"] is not None and snapshot.frame == "comoving" and snapshot.code
    assert snapshot.quantity("positions").unit.is_equivalent(units.Mpc)
    assert snapshot.quantity("velocities").unit.is_equivalent(units.km / units.s)
    with pytest.raises(ValueError, match="has no unit"):
        snapshot.quantity("ids")
    if P3M.is_file():
        gadget = read_snapshot(P3M)
        # Inferred from the mean matter density.
        assert gadget.quantity("positions").unit == units.Mpc / cosmology.littleh
        own = read_snapshot(P3M, length_unit="pkpc/h", mass_unit="Msun")
        assert own.frame == "physical" and own.quantity("positions").unit == units.kpc / cosmology.littleh
        np.testing.assert_array_equal(own.quantity("masses").value, own.masses)
    bare = read_snapshot(SNAPSHOTS / "npz" / next(iter(os.listdir(SNAPSHOTS / "npz"))))
    assert bare.units.keys() == {"length", "mass", "velocity"}


def test_quantity_of_unknown_unit(tmp_path: Path) -> None:
    pytest.importorskip("astropy")
    np.save(tmp_path / "x.npy", np.zeros((4, 3)))
    with pytest.raises(ValueError, match="length_unit="):
        read_snapshot(tmp_path / "x.npy").quantity("positions")


@pytest.mark.parametrize("name", ["out.hdf5", "out.gadget2", "out.npz", "out.ecsv", "out.parquet", "out.tipsy"])
def test_write(tmp_path: Path, name: str) -> None:
    snapshot = read_snapshot(SNAPSHOTS / "gadget2.hdf5", types=1)
    snapshot.write(tmp_path / name)
    back = read_snapshot(tmp_path / name)
    np.testing.assert_allclose(back.positions, snapshot.positions, rtol=1e-6)
    np.testing.assert_allclose(back.velocities, snapshot.velocities, rtol=1e-5)
    np.testing.assert_array_equal(back.ids, snapshot.ids)
    with pytest.raises(ValueError, match="unknown extension"):
        snapshot.write(tmp_path / "out.xyz")


def test_a_snapshot_brings_its_own(tmp_path: Path) -> None:
    snapshot = read_snapshot(SNAPSHOTS / "gadget2.hdf5", types=(1, 2))
    with pytest.raises(ValueError, match="masses is given, but a snapshot has its own"):
        halos(snapshot, masses=1.0)
    bare = tmp_path / "bare.npy"
    np.save(bare, np.eye(3))
    with pytest.raises(ValueError, match=r"velocities is given, but positions are a snapshot; .* halos\(snapshot.positions, velocities="):
        halos(bare, velocities=np.eye(3), eps=2, min_members=2)
    with pytest.raises(ValueError, match=r"read_snapshot\(path, velocity_unit="):
        halos(snapshot, velocity_unit="km/s")
    with pytest.raises(ValueError, match=r"read_snapshot\(path, redshift="):
        halos(snapshot, redshift=17.0)


def test_masses_for_a_file_without_masses(tmp_path: Path) -> None:
    bare = tmp_path / "bare.npy"
    np.save(bare, np.array([[1.0, 5, 5], [1.5, 5, 5], [8, 5, 5]]))
    options: dict[str, Any] = {"box_size": 10, "eps": 1, "min_members": 2}
    for source in (bare, read_snapshot(bare)):
        catalog = halos(source, masses=2.5, **options)
        assert catalog["fof_halo_mass"].tolist() == [5.0] and catalog.meta["particle_mass"] == 2.5
        assert halos(source, masses=[2.5, 1.5, 7.0], **options)["fof_halo_mass"].tolist() == [4.0]
    with pytest.raises(ValueError, match="masses is -1"):
        halos(bare, masses=-1, **options)
    with pytest.raises(ValueError, match=r"masses has the shape \(2,\)"):
        halos(bare, masses=[1.0, 2.0], **options)
    with pytest.raises(ValueError, match="masses: not with subsample"):
        halos(read_snapshot(bare, subsample=0.5), masses=2.5, **options)


def test_types_without_particles() -> None:
    with pytest.raises(ValueError, match=r"gadget2.hdf5: has no particles of type 4; types present: .*1 \(\d+\), 2 \(\d+\)"):
        read_snapshot(SNAPSHOTS / "gadget2.hdf5", types=(1, "stars"))


@needs_data
def test_another_box_than_that_of_the_file() -> None:
    """The note of the program is a warning here."""
    snapshot = read_snapshot(P3M, subsample=0.05)
    with pytest.warns(RopewalkWarning, match="the side of the box is 64 as specified, but 32 in the file"):
        catalog = halos(snapshot, box_size=64)
    assert any("as specified" in note for note in catalog.notes)
    assert not any("as specified" in note for note in halos(snapshot, box_size=32).notes)


def test_several_threads(reads: list[tuple[str, ...]]) -> None:
    """Each field is read once, whichever thread needs it first."""
    from concurrent.futures import ThreadPoolExecutor

    snapshot = read_snapshot(SNAPSHOTS / "gadget2.hdf5", types=(1, 2))
    with ThreadPoolExecutor(8) as pool:
        positions = list(pool.map(lambda _: snapshot.positions, range(16)))
        catalogs = list(pool.map(lambda _: halos(snapshot, min_members=2), range(4)))
    assert reads == [("positions",), ("positions", "velocities", "masses", "ids")]
    assert all(np.shares_memory(positions[0], other) for other in positions)
    assert all(np.array_equal(catalogs[0].labels, other.labels) for other in catalogs)


def block(data: bytes) -> bytes:
    length = len(data).to_bytes(4, "little")
    return length + data + length


def gadget(path: Path, time: float, redshift: float) -> Path:
    """Writes a Gadget 1 file of 8 particles whose time and redshift may contradict each other."""
    head = np.array([0, 8, 0, 0, 0, 0], "<u4").tobytes() + np.array([0, 1.0, 0, 0, 0, 0, time, redshift], "<f8").tobytes()
    head += bytes(8) + np.array([0, 8, 0, 0, 0, 0], "<u4").tobytes() + np.array([0, 1], "<u4").tobytes()
    head += np.array([10.0, 0.3, 0.7, 0.7], "<f8").tobytes()
    x = np.random.default_rng(0).random((8, 3), np.float32) * 10
    ids = np.arange(8, dtype="<u4")
    path.write_bytes(block(head.ljust(256, b"\0")) + block(x.tobytes()) + block(x.tobytes()) + block(ids.tobytes()))
    return path


def test_what_is_assumed_of_velocities_is_said(tmp_path: Path) -> None:
    path = gadget(tmp_path / "old", time=0.25, redshift=0.0)
    snapshot = read_snapshot(path)
    (doubt,) = snapshot.notes
    with pytest.warns(RopewalkWarning, match="velocit") as caught:
        assert snapshot.velocities.shape == (8, 3)
    assert [warning.filename for warning in caught] == [__file__]
    assert len(snapshot.notes) == 1 and snapshot.notes[0].startswith(doubt) and "velocity_unit=" in snapshot.notes[0]
    with pytest.warns(RopewalkWarning, match="velocit"):
        catalog = halos(read_snapshot(path), min_members=2, eps=5)
    assert catalog.notes[:1] == snapshot.notes
    known = read_snapshot(path, velocity_unit="km/s").load()
    assert halos(known, min_members=2, eps=5).notes == ()


def test_a_box_that_is_no_cube_is_read_as_an_open_one(tmp_path: Path) -> None:
    path = tmp_path / "points.npz"
    np.savez(path, positions=np.ones((4, 3)), box_size=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="sides of 1, 2, 3.*open=True"):
        read_snapshot(path).load()
    with pytest.warns(RopewalkWarning, match="treated as open"):
        snapshot = read_snapshot(path, open=True).load()
    assert snapshot.box_size is None and len(snapshot) == 4 and len(snapshot.notes) == 1
    with pytest.warns(RopewalkWarning, match="treated as open"):
        assert len(halos(path, open=True, eps=1, min_members=2)) == 1


def test_units_that_are_left_out_are_said(tmp_path: Path) -> None:
    path = tmp_path / "points.npz"
    np.savez(path, positions=np.ones((4, 3)), masses=np.ones(4))
    snapshot = read_snapshot(path, length_unit="Mpc", mass_unit="Msun")
    with pytest.warns(RopewalkWarning, match="units are not stored"):
        snapshot.write(tmp_path / "points.hdf5")
    snapshot.write(tmp_path / "points.ecsv")


def test_snapshots_are_not_pickled_and_say_so(tmp_path: Path) -> None:
    path = tmp_path / "points.npy"
    np.save(path, np.ones((4, 3)))
    with pytest.raises(TypeError, match="send its path"):
        pickle.dumps(read_snapshot(path))
