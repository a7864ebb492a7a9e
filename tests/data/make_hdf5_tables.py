"""Writes the small HDF5 tables of tests/data/snapshots/hdf5_tables, which have no header of a snapshot.

    python make_hdf5_tables.py [FOLDER]        needs h5py 3.16, numpy 2.4

Column k of a table of N rows has the numbers 10 k, 10 k + 1, .., unless the function that writes it states otherwise.
"""
import pathlib
import sys

import h5py
import numpy as np

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "snapshots" / "hdf5_tables")
N = 6
TEXT = np.array([b"a", b"b", b"c", b"d", b"e", b"f"])


def column(k, kind="f8"):
    return (10 * k + np.arange(N)).astype(kind)


def table(title, columns="xyz", **others):
    """Creates a file with these columns in its root group, and other datasets by name."""
    file = h5py.File(FOLDER / f"{title}.hdf5", "w", libver="latest")
    for k, own in enumerate(columns):
        file[own] = column(k)
    for own, values in others.items():
        file[own] = values
    return file


def names():
    """Writes tables with special column names: digits, velocities, labels, text, and several groups."""
    table("digits", "012").close()
    table("order", ["x", "y", "z", "vx", "vy", "vz", "mass", "id"]).close()
    table("text_x", "yz", x=np.array([b"1.0"] * N)).close()
    table("text_speed", ["x", "y", "vy"], vx=TEXT).close()
    table("flag_x", "yz", x=np.arange(N) % 2 == 0).close()
    table("left", ["feature_1", "feature_2", "label"], name=TEXT, words=["a"] * N, flag=np.arange(N) < 2).close()
    table("beside", ["x", "y", "density"], spin=np.zeros((N, 2)), short=np.zeros(2), id=TEXT).close()
    with h5py.File(FOLDER / "groups.hdf5", "w", libver="latest") as file:
        for k, name in enumerate("xyz"):
            file[f"a/{name}"], file[f"b/{name}"] = column(k), TEXT
    table("array_of_clusters", "", cluster=np.stack([column(k) for k in range(3)], axis=1), name=TEXT).close()
    with h5py.File(FOLDER / "twins.hdf5", "w", libver="latest") as file:
        for k, group in enumerate("ab"):
            for j, name in enumerate(["x", "y", "vx", "vy"]):
                file[f"{group}/{name}"] = column(4 * k + j)
    table("lengths", "xy", mass=np.ones(2), vx=np.zeros(N)).close()
    record = np.zeros(N, [("feature_b", "f8"), ("feature_a", "f8")])
    record["feature_b"], record["feature_a"] = column(0), column(1)
    with h5py.File(FOLDER / "fields_in_order.hdf5", "w", libver="latest") as file:
        file["t"] = record
    table("fields", ["x", "y", "z", "temperature", "density"], name=TEXT, pair=np.stack([column(5), column(6)], axis=1)).close()
    table("ids_single", id=np.array([1, 2, 3, 4, 5, 2**24 - 1], "f4")).close()
    table("ids_single_large", id=np.array([1, 2, 3, 4, 5, 2**24], "f4")).close()
    table("ids_half_large", id=np.array([1, 2, 3, 4, 5, 2048], "f2")).close()


def units():
    def of(name, *units, key="unit", columns=("x", "y", "z", "vx", "vy", "vz", "mass")):
        with table(f"units_{name}", columns) as file:
            for own, unit in zip(columns, units):
                if unit is not None:
                    file[own].attrs[key] = unit

    speeds = ["km/s"] * 3
    of("all", *["kpc"] * 3, *speeds, "Msun", key="Units")
    of("mixed", "Mpc", "kpc", "Mpc")
    of("one", None, None, "kpc")
    of("speeds", *["Mpc"] * 3, "km/s", "m/s", "km/s")
    of("unknown", *["furlong"] * 3, *speeds)
    of("number", 1.0, 1.0, 1.0)
    of("empty", "", "", "")


def quantities():
    """Writes boxes, redshifts and cosmologies in attributes and small datasets."""
    def of(name, place="", **attributes):
        path = f"{place}/" if place else ""
        with h5py.File(FOLDER / f"quantities_{name}.hdf5", "w", libver="latest") as file:
            for k, own in enumerate("xyz"):
                file[path + own] = column(k)
            for own, value in attributes.items():
                group, _, key = own.rpartition("__")
                owner = file["/" + group.replace("__", "/")]
                owner.attrs[key] = value

    of("names", Lbox=100.0, REDSHIFT=0.5, omega_m=0.3, Omega_Lambda=0.7, HubbleParam=0.7, seed=1)
    of("above", "g/h", g__BoxSize=100.0)
    of("conflict", BoxSize=100.0, x__BoxSize=200.0)
    of("same", BoxSize=100.0, x__boxsize=[100.0, 100.0, 100.0])
    of("text", BoxSize="ten")
    of("sides", BoxSize=[1.0, 1.0, 2.0])
    of("many", BoxSize=np.ones(6))
    of("negative", BoxSize=-1.0)
    of("nan", Redshift=np.nan)
    of("negative_h", h=-0.7)
    of("none", BoxSize=0.0, omega_m=0.0)
    of("group", units="kpc", scale_factor=0.5)
    of("unused", "g", g__seed=1, g__x__valid_max=3.0, g__x__long_name="abscissa")
    with table("quantities_datasets", BoxSize=100.0, Redshift=[0.5], h="0.7", seed=3) as file:
        file["elsewhere/BoxSize"] = 200.0
        file["elsewhere"].attrs["lbox"] = 1.0
    table("quantities_bad_dataset", BoxSize="ten").close()
    with table("quantities_other_unit", BoxSize=100.0) as file:
        for own, unit in dict(x="Mpc", y="Mpc", z="Mpc", BoxSize="kpc").items():
            file[own].attrs["units"] = unit
    table("quantities_column", ["x", "y", "h"]).close()


def packing():
    def of(name, kind="i2", **attributes):
        values = np.array([1000, 2000, 3000, -999, 4000, 5000], kind)
        with table(f"packing_{name}", [], lon=values, lat=column(1, kind)) as file:
            for own, value in attributes.items():
                file["lon"].attrs[own] = value

    of("scaled", scale_factor=0.01)
    of("shifted", add_offset=5.0)
    of("neutral", scale_factor=1.0, add_offset=0.0, _FillValue=np.int16(-1))
    of("missing", _FillValue=np.int16(-999))
    of("nan", "f4", _FillValue=np.float32(np.nan))
    of("unsigned", _Unsigned="true")


def pandas():
    """Writes frames in pandas's layout, without its other attributes."""
    values = np.stack([column(k) for k in range(4)], axis=1)
    frame = np.zeros(N, [("index", "i8"), ("values_block_0", "f8", (4,))])
    frame["values_block_0"] = values
    named = np.zeros(N, [("index", "i8"), ("halo_id", "f8"), ("x", "f8"), ("y", "f8")])
    named["x"], named["y"] = column(1), column(2)
    for name, kind, own in [("table", "frame_table", frame), ("data_columns", "frame_table", named)]:
        with h5py.File(FOLDER / f"pandas_{name}.hdf5", "w", libver="latest") as file:
            file["df/table"] = own
            file["df"].attrs["pandas_type"] = np.bytes_(kind)
    for name, items in [("fixed", [b"halo_id", b"x", b"y", b"z"]), ("numbers", [0, 1, 2, 3]), ("nameless", [b"x"])]:
        with h5py.File(FOLDER / f"pandas_{name}.hdf5", "w", libver="latest") as file:
            file["df/axis0"], file["df/axis1"] = items, np.arange(N)
            file["df/block0_items"], file["df/block0_values"] = items, values
            if name == "fixed":
                file["df/block1_items"], file["df/block1_values"] = [b"count"], column(9, "i8")[:, None]
            file["df"].attrs["pandas_type"] = np.bytes_("frame")


def limits():
    """Writes datasets and groups that are expensive for a reader that trusts their sizes."""
    with table("limits_text", "xy") as file:
        file.create_dataset("names", shape=(1, 2**40), dtype="S1", chunks=(1, 1024))
    with h5py.File(FOLDER / "limits_wide.hdf5", "w", libver="latest") as file:
        file.create_dataset("t", shape=(0,), dtype=np.dtype([(f"a{k}", "i1", (65536,)) for k in range(300)]))
    for name, depth in [("deep", 12), ("too_deep", 34)]:
        with table(f"limits_{name}", "q" if name == "too_deep" else "") as file:
            group = "/".join("g" * depth)
            for k, own in enumerate("xyz"):
                file[f"{group}/{own}"] = column(k)
    # Headers of this version have no checksum, so that a test can change a byte.
    with h5py.File(FOLDER / "array.hdf5", "w") as file:
        kind = h5py.h5t.array_create(h5py.h5t.IEEE_F64LE, (3,))
        points = np.ascontiguousarray(np.stack([column(k) for k in range(3)], axis=1))
        dataset = h5py.h5d.create(file.id, b"points", kind, h5py.h5s.create_simple((N,)))
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, points, mtype=kind)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for make in (names, units, quantities, packing, pandas, limits):
        make()
