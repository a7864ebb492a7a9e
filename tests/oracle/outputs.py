#!/usr/bin/env python3
"""Opens written files with other programs, and compares values and units.

    python3 tests/oracle/outputs.py target/release/ropewalk FOLDER

The snapshot data/p3m_64.gadget2 is read independently, and once more as if at redshift 1. `ropewalk convert` writes it in each
format. h5py, numpy, pandas, astropy, pyarrow, yt and pynbody must find the same numbers in the same units. `ropewalk halos` of each
file must give the catalogue of the original, byte for byte except for the lines named below. Catalogues are written in each format
and in other units; these must agree with each other, and with the conversions of astropy. FOLDER is for the files. Needs numpy,
h5py, pandas, astropy, pyarrow, yt and pynbody.
"""

import struct
import subprocess
import sys
import warnings
from pathlib import Path

import astropy.cosmology.units as cu
import astropy.units as u
import h5py
import numpy as np
import pandas
import pyarrow.parquet
import pynbody
import yt
from astropy.table import Table

u.add_enabled_units(cu)
yt.set_log_level(50)
warnings.simplefilter("ignore")

SOURCE = Path(__file__).parents[2] / "data/p3m_64.gadget2"
H = 0.68
# Lines of the catalogue's header that may differ: the name, and the origin of the units.
FREE = ("# - {snapshot:", "# - {units:")
# Values that formats cannot store, which are given again on the command line or are missing in the header.
SAID = ["--box", "32", "--omega-m", "0.31", "--omega-lambda", "0.69", "--h", "0.68", "--redshift", "0", "--velocity-unit", "km/s"]


class Particles:
    """A little-endian Gadget-2 snapshot of one type, with peculiar velocities."""

    def __init__(self, path):
        raw = path.read_bytes()
        blocks, at = [], 0
        while at < len(raw):
            (size,) = struct.unpack_from("<I", raw, at)
            blocks.append(raw[at + 4 : at + 4 + size])
            at += size + 8
        self.time, self.redshift = struct.unpack_from("<2d", blocks[0], 72)
        self.box, self.omega_m, self.omega_l, self.h = struct.unpack_from("<4d", blocks[0], 128)
        self.mass = struct.unpack_from("<6d", blocks[0], 24)[1]
        self.x, self.u = (np.frombuffer(block, "<f4").reshape(-1, 3) for block in blocks[1:3])
        self.v = (self.u.astype(float) * np.sqrt(self.time)).astype("f4")
        self.ids = np.frombuffer(blocks[3], "<u4").astype(np.uint64)


def at_redshift(source, target, z):
    raw = bytearray(source.read_bytes())
    struct.pack_into("<2d", raw, 4 + 72, 1 / (1 + z), z)
    target.write_bytes(raw)


def close(name, ours, theirs, tolerance):
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    same = np.isclose(ours, theirs, rtol=tolerance, atol=0, equal_nan=True)
    if ours.shape != theirs.shape or not same.all():
        sys.exit(f"{name}: {ours.shape} {theirs.shape}, {np.sum(~same)} differ")


def run(*arguments):
    return subprocess.run([str(argument) for argument in arguments], check=True, capture_output=True, text=True).stdout


def columns(table, data):
    """Compares a table of text or Parquet."""
    for k, axis in enumerate("xyz"):
        assert np.array_equal(table[axis], data.x[:, k].astype(float)), axis
        # The root of the scale factor may be rounded once more.
        close("v", table[f"v{axis}"], data.v[:, k], 2e-7)
    assert np.array_equal(table["id"], data.ids) and np.all(np.array(table["mass"]) == data.mass)


def hdf5(path, data):
    with h5py.File(path) as file:
        header, group = dict(file["Header"].attrs), file["PartType1"]
        assert np.array_equal(header["NumPart_ThisFile"], [0, len(data.x), 0, 0, 0, 0]) and header["MassTable"][1] == data.mass
        numbers = [header[name] for name in ["BoxSize", "Redshift", "Time", "Omega0", "OmegaLambda", "HubbleParam"]]
        assert numbers == [data.box, data.redshift, data.time, data.omega_m, data.omega_l, data.h], numbers
        assert np.array_equal(group["Coordinates"], data.x) and np.array_equal(group["ParticleIDs"], data.ids)
        close("stored velocities", group["Velocities"], data.u, 2e-7)
        assert [group["Velocities"].attrs[name] for name in ["a_scaling", "h_scaling", "to_cgs"]] == [0.5, 0, 1e5]
        units = {name: float(value) for name, value in header.items() if name.startswith("Unit")}
    simulation = pynbody.load(str(path))
    assert simulation.properties["z"] == data.redshift or abs(simulation.properties["z"] - data.redshift) < 1e-12
    kpc = {"a": data.time, "h": data.h}
    close("pynbody", simulation["pos"].in_units("Mpc a h**-1", **kpc), data.x, 1e-6)
    close("pynbody", simulation["vel"].in_units("km s**-1", **kpc), data.v, 1e-6)
    close("pynbody", simulation["mass"].in_units("1e10 Msol h**-1", **kpc), np.full(len(data.x), data.mass), 1e-5)
    assert np.array_equal(simulation["iord"], data.ids)
    ds = yt.load(str(path), unit_base=units)
    every = ds.all_data()
    order = np.argsort(np.array(every["PartType1", "ParticleIDs"]).astype(np.uint64))
    own = np.argsort(data.ids)
    close("yt", every["PartType1", "Coordinates"].to("Mpccm/h")[order].d, data.x[own], 1e-6)
    close("yt", every["PartType1", "Velocities"].to("km/s")[order].d, data.v[own], 1e-6)
    close("yt", every["PartType1", "Masses"].to("Msun/h")[order].d, np.full(len(own), data.mass * 1e10), 1e-5)


def npz(path, data):
    archive = np.load(path)
    assert np.array_equal(archive["positions"], data.x) and np.array_equal(archive["ids"], data.ids)
    close("npz", archive["velocities"], data.v, 2e-7)
    assert (archive["masses"], archive["box_size"], archive["redshift"]) == (data.mass, data.box, data.redshift)


def ecsv(path, data):
    table = Table.read(path)
    columns(table, data)
    assert (table["x"].unit, table["vx"].unit) == (u.Mpc / cu.littleh, u.km / u.s)
    assert table["mass"].unit == 1e10 * u.solMass / cu.littleh
    assert (table.meta["box_size"], table.meta["redshift"]) == (data.box, data.redshift)


def parquet(path, data):
    columns(pandas.read_parquet(path), data)
    table = Table.read(path)
    assert (table["x"].unit, table["vx"].unit) == (u.Mpc / cu.littleh, u.km / u.s)
    field = pyarrow.parquet.read_table(path).schema.field("mass")
    assert field.metadata[b"unit"] == b"1e10 solMass / littleh"


def tipsy(path, data):
    simulation = pynbody.load(str(path))
    assert np.array_equal(simulation["pos"].view(np.ndarray).astype("f4"), data.x)
    assert np.array_equal(simulation["iord"], data.ids)


CHECKS = {
    "hdf5": hdf5,
    "gadget1": lambda path, data: gadget(path, data, 0),
    "gadget2": lambda path, data: gadget(path, data, 16),
    "npz": npz,
    "npy": lambda path, data: np.testing.assert_array_equal(np.load(path), data.x),
    "csv": lambda path, data: columns(pandas.read_csv(path, float_precision="round_trip"), data),
    "ecsv": ecsv,
    "parquet": parquet,
    "tipsy": tipsy,
}


def gadget(path, data, label):
    """Compares a binary format, which has the blocks of the original, in format 2 with labels before them."""
    raw, original, at, own = path.read_bytes(), SOURCE.read_bytes(), 0, 0
    for name in [b"HEAD", b"POS ", b"VEL ", b"ID  "]:
        assert label == 0 or raw[at + 4 : at + 8] == name
        at += label
        (size,) = struct.unpack_from("<I", original, own)
        block, theirs = raw[at : at + size + 8], original[own : own + size + 8]
        if name == b"VEL ":
            close("velocities", np.frombuffer(block, "<f4")[1:-1], data.u.ravel(), 2e-7)
        elif name != b"HEAD" or data.redshift == 0:
            assert block == theirs, name
        at, own = at + size + 8, own + size + 8
    assert at == len(raw)


def catalog(program, snapshot, folder, *said):
    run(program, "halos", snapshot, "--out", folder, "--so", "200c", "--no-pictures", *said)
    return (folder / "halos.ecsv").read_text().splitlines()


def same_catalog(program, path, folder, original):
    ending = path.suffix[1:]
    said = SAID if ending in ("csv", "npz") else []
    try:
        lines = catalog(program, path, folder / f"halos_{ending}", *said)
    except subprocess.CalledProcessError as error:
        sys.exit(f"{path}: {error.stderr}")
    if ending == "tipsy":
        return alike(folder / "halos_tipsy/halos.ecsv", folder / "halos/halos.ecsv")
    free = FREE + ("# - {particle_mass:", "# - {matter_over") if ending in ("csv", "npz") else FREE
    bare = [[line for line in text if not line.startswith(free)] for text in (lines, original)]
    if bare[0] != bare[1]:
        differ = [pair for pair in zip(*bare) if pair[0] != pair[1]]
        sys.exit(f"{path}: another catalogue, {len(bare[0])} and {len(bare[1])} lines: {differ[:2]}")


def alike(path, original):
    """Compares a catalogue to a few digits: Tipsy has other units, and velocities are rounded to them."""
    ours, theirs = Table.read(path), Table.read(original)
    assert ours.colnames == theirs.colnames
    for name in theirs.colnames:
        if theirs[name].dtype.kind != "f":
            assert np.array_equal(ours[name], theirs[name]), name
            continue
        unit = theirs[name].unit or u.one
        values = (np.array(ours[name]) * (ours[name].unit or u.one)).to(unit, equivalencies=cu.with_H0(100 * H * u.km / u.s / u.Mpc))
        # Mean velocities are small differences of large numbers.
        apart = np.abs(values.value - theirs[name])
        least = 1e-3 if unit == u.km / u.s else 1e-12
        worst = np.nanmax(apart / (1e-5 * np.abs(theirs[name]) + least))
        assert worst <= 1 and np.array_equal(np.isnan(values.value), np.isnan(theirs[name])), (name, worst)


SYSTEMS = ["h", "physical"]


def tables(folder, z):
    """Compares the catalogues in each format, and in other units."""
    first = Table.read(folder / "halos.ecsv")
    plain = pandas.read_csv(folder / "halos.csv")
    rows = pandas.read_parquet(folder / "halos.parquet")
    fields = pyarrow.parquet.read_table(folder / "halos.parquet").schema
    text = (folder / "halos.csv").read_text()
    assert (folder / "halos.ecsv").read_text().endswith(text)
    with h5py.File(folder / "halos.hdf5") as file:
        assert [name for name in file if name != "members"] == sorted(first.colnames)
        for name in first.colnames:
            column, values = first[name], file[name][()]
            assert values.dtype == column.dtype == rows[name].dtype, name
            # Text has nine digits.
            close(name, column, values, 6e-9)
            assert np.array_equal(values, rows[name], equal_nan=values.dtype.kind == "f")
            assert np.array_equal(plain[name], column, equal_nan=column.dtype.kind == "f")
            unit = file[name].attrs.get("unit", b"").decode()
            assert (u.Unit(unit) if unit else None) == column.unit, name
            assert (fields.field(name).metadata or {}).get(b"unit", b"").decode() == unit
            said = [file[name].attrs.get(key, b"").decode() for key in ["description", "frame"]]
            assert "; ".join(part for part in said if part) == (column.description or ""), name
        for name, value in first.meta.items():
            ours = file.attrs[name]
            if isinstance(value, (int, float)):
                assert ours == value, name
            elif isinstance(value, str):
                assert ours.decode() == value, name
            else:
                assert [line.decode() for line in ours] == value, name
        offsets, ids = file["members/offsets"][()], file["members/ids"][()]
        lists = [ids[start:end] for start, end in zip(offsets, offsets[1:])]
        assert np.array_equal([len(one) for one in lists], first["fof_halo_count"]) and offsets[0] == 0 and offsets[-1] == len(ids)
        assert np.array_equal([one.min() for one in lists], first["fof_halo_tag"])
    little_h = cu.with_H0(100 * H * u.km / u.s / u.Mpc)
    # Astropy has no scale factor: a physical length is a times the comoving length.
    of_systems = [(u.Mpc / cu.littleh, u.Msun / cu.littleh, 1), (u.Mpc, u.Msun, 1 / (1 + z))]
    for name, (length, mass, a) in zip(SYSTEMS, of_systems):
        converted = Table.read(folder.parent / f"{name}{z}" / "halos.ecsv")
        kinds = [(u.Mpc / cu.littleh, length, a), (u.Msun / cu.littleh, mass, 1), (u.km / u.s, u.km / u.s, 1)]
        changed = 0
        for column in first.colnames:
            unit = first[column].unit
            if unit is None:
                assert np.array_equal(first[column], converted[column], equal_nan=first[column].dtype.kind == "f"), column
                continue
            kind, factor = next((to, factor) for own, to, factor in kinds if unit.is_equivalent(own))
            expected = (np.array(first[column]) * unit).to(kind, equivalencies=little_h) * factor
            assert converted[column].unit == kind, (column, converted[column].unit)
            close(column, converted[column], expected.value, 2e-8)
            changed += 1
        assert changed > 10
        box = (32 * u.Mpc / cu.littleh).to(length, equivalencies=little_h) * a
        close("box", converted.meta["box_size"], box.value, 1e-12)
        assert converted.meta["units"].startswith("lengths in comoving Mpc/h" if name == "h" else "lengths in physical Mpc,")
    print(f"redshift {z}: {len(first)} halos in ECSV, CSV, HDF5, Parquet and other units: equal")


def main():
    program, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    original = catalog(program, SOURCE, folder / "halos")
    for z in [0, 1]:
        source = folder / f"z{z}.gadget2"
        at_redshift(SOURCE, source, z)
        data = Particles(source)
        for ending, check in CHECKS.items():
            path = folder / f"z{z}_out.{ending}"
            run(program, "convert", source, path)
            check(path, data)
            # An npy file has neither ids nor velocities, so its catalogue differs.
            if z == 0 and ending != "npy":
                same_catalog(program, path, folder, original)
        print(f"redshift {z}: {', '.join(CHECKS)}: equal")
        catalogs = folder / f"catalogs{z}"
        halos = ["halos", source, "--so", "200c", "--no-pictures"]
        run(program, *halos, "--out", catalogs, "--members", "--catalog", "halos.ecsv,halos.csv,halos.hdf5,halos.parquet")
        # A folder holds the files of one run.
        for system in SYSTEMS:
            run(program, *halos, "--out", folder / f"{system}{z}", "--units", system)
        tables(catalogs, z)


if __name__ == "__main__":
    main()
