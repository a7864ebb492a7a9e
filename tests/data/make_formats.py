#!/usr/bin/env python3
"""Writes small snapshots and tables in formats other than HDF5 with other programs, and the arrays that these programs read.

    pip install numpy==2.4.6 pynbody==2.8.0 asdf==6.0.0 abacusutils==2.1.2 pyarrow==26.0.1 pandas==3.1.1 astropy
    python3 make_formats.py [tipsy genericio npz ramses abacus parquet parquet_kinds parquet_bombs]        # all, unless some are named

Each format has a folder or file in snapshots/, and next to it NAME.expected.npz with the arrays that a reader must find, in file
order.
"""

import pathlib
import shutil
import struct
import sys
import warnings
import zipfile

import numpy as np

HERE = pathlib.Path(__file__).parent / "snapshots"


def fresh(name):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def expected(name, **arrays):
    np.savez_compressed(HERE / f"{name}.expected.npz", **arrays)


PARAM = """# a run in a box of 50 Mpc
achInFile       = ics.std
dKpcUnit        = 50000     # of the box
dMsolUnit       = 1.84793e16
bComove         = 1
bPeriodic       = 1
dHubble0        = 2.894405
dOmega0         = 0.24
dLambda         = 0.76
"""


def tipsy():
    """Writes files with pynbody: big-endian with ids, little-endian with positions of 64 bits, and without a parameter file."""
    import pynbody
    from pynbody.snapshot.tipsy import TipsySnap

    for name, swap, wide, param in [
        ("tipsy_standard", True, False, PARAM),
        ("tipsy_native", False, True, PARAM + "bDoublePos = 1\n"),
        ("tipsy_bare", True, False, None),
    ]:
        folder = fresh(name)
        rng = np.random.default_rng(17)
        made = pynbody.new(gas=40, dm=60, star=25)
        made._byteswap = swap
        made["pos"] = rng.random((125, 3)) - 0.5
        made["vel"] = rng.normal(size=(125, 3))
        made["mass"] = rng.random(125)
        made["eps"] = np.full(125, 0.01)
        made["phi"] = np.zeros(125)
        made["iord"] = rng.permutation(10_000)[:125].astype(np.int32)
        for key in ["rho", "temp", "metals"]:
            made.gas[key] = rng.random(40)
        for key in ["metals", "tform"]:
            made.star[key] = rng.random(25)
        path = folder / "run.00080"
        made.properties["a"] = 0.4
        if param:
            (folder / "run.param").write_text(param)
        # pynbody writes more files than needed: ids as text in one case, as binary in the other.
        made.write(fmt=TipsySnap, filename=str(path), double_pos=wide, cosmological=True, binary_aux_arrays=wide)
        for extra in folder.glob("*.pynbody-meta"):
            extra.unlink()
        if param is None:
            (folder / "run.00080.iord").unlink()

        found = pynbody.load(str(path))
        arrays = {key: np.asarray(found[key]).copy() for key in ["pos", "vel", "mass"]}
        if param:
            arrays["iord"] = np.asarray(found["iord"]).astype("<u8")
            arrays["h"] = np.float64(found.properties["h"])
            arrays["box_kpc"] = np.float64(found.properties["boxsize"].in_units("kpc a", a=0.4))
            arrays["km_s"] = np.asarray(found["vel"].in_units("km s^-1"))
            arrays["a"] = np.float64(found.properties["a"])
        expected(name, **arrays)


def crc64(data):
    """Returns the checksum with ECMA-182's polynomial, bits reversed, all ones before and after, computed bit by bit."""
    crc = 0xFFFFFFFFFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xC96C5795D7870F42 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFFFFFFFFFF


def with_crc(data):
    """Appends GenericIO's check bytes: the complement, least significant byte first, whatever the order of the data."""
    return data + struct.pack("<Q", crc64(data) ^ 0xFFFFFFFFFFFFFFFF)


def genericio_file(path, ranks, *, big=False, origin=0.0, scale=0.0, blocks=False, flags=None, global_ranks=None):
    """Writes a GenericIO file from columns, given as a dictionary of arrays for each rank.

    From the structures in GenericIO.cxx (ANL-15-066, GenericIO 2015-2019): GlobalHeader {char Magic[8]; uint64 HeaderSize, NElems,
    Dims[3], NVars, VarsSize, VarsStart, NRanks, RanksSize, RanksStart, GlobalHeaderSize; double PhysOrigin[3], PhysScale[3]; uint64
    BlocksSize, BlocksStart}, VariableHeader {char Name[256]; uint64 Flags, Size, ElementSize}, RankHeader {uint64 Coords[3], NElems,
    Start, GlobalRank}, BlockHeader {char Filters[4][8]; uint64 Start, Size}; then each rank's variables, each with its check bytes.
    Flags: 1 float, 2 signed, 4, 8, 16 coordinates x, y, z.
    """
    order = ">" if big else "<"
    first = ranks[0]
    n_vars, n_ranks = len(first), len(ranks)
    vars_start = 168
    ranks_start = vars_start + 280 * n_vars
    blocks_start = ranks_start + 48 * n_ranks
    size = blocks_start + (48 * n_vars * n_ranks if blocks else 0)
    variables = b""
    for name, values in first.items():
        kind = values.dtype.kind
        flag = {"f": 1 | 2, "i": 2, "u": 0}[kind] | (flags or {}).get(name, 0)
        variables += struct.pack(order + "256sQQQ", name.encode(), flag, values.dtype.itemsize, values.dtype.itemsize)
    headers, block_headers, body, at = b"", b"", b"", size + 8
    for k, rank in enumerate(ranks):
        rows = len(next(iter(rank.values())))
        number = global_ranks[k] if global_ranks else k
        headers += struct.pack(order + "6Q", k, 0, 0, rows, at, number)
        for values in rank.values():
            data = values.astype(values.dtype.newbyteorder(order)).tobytes()
            block_headers += struct.pack(order + "32sQQ", b"", at, len(data))
            body += with_crc(data)
            at += len(data) + 8
    total = sum(len(next(iter(rank.values()))) for rank in ranks)
    head = b"HACC01B\0" if big else b"HACC01L\0"
    head += struct.pack(order + "12Q", size, total, n_ranks, 1, 1, n_vars, 280, vars_start, n_ranks, 48, ranks_start, 168)
    head += struct.pack(order + "6d2Q", *[origin] * 3, *[scale] * 3, 48 if blocks else 0, blocks_start if blocks else 0)
    path.write_bytes(with_crc(head + variables + headers + (block_headers if blocks else b"")) + body)


def genericio():
    """Writes files from the published description: both byte orders, with and without block headers, in one file and in two with a
    map."""
    rng = np.random.default_rng(20)

    def rank(n, wide=False):
        columns = {axis: (rng.random(n) * 64).astype("f8" if wide else "f4") for axis in "xyz"}
        columns |= {"v" + axis: rng.normal(0, 300, n).astype("f4") for axis in "xyz"}
        columns["phi"] = rng.random(n).astype("f4")
        columns["id"] = rng.integers(0, 1 << 60, n).astype("i8")
        columns["mask"] = rng.integers(0, 1 << 16, n).astype("u2")
        return columns

    def write_expected(name, ranks):
        joined = {key: np.concatenate([rank[key] for rank in ranks]) for key in ranks[0]}
        vectors = {"pos": "xyz", "vel": ["vx", "vy", "vz"]}
        arrays = {key: np.stack([joined[axis] for axis in axes], 1).astype("f8") for key, axes in vectors.items()}
        if "mass" in joined:
            arrays["mass"] = joined["mass"].astype("f8")
        expected(name, id=joined["id"].astype("u8"), **arrays)

    ranks = [rank(50), rank(0), rank(70)]
    genericio_file(fresh("genericio") / "little", ranks, scale=64.0)
    genericio_file(HERE / "genericio" / "blocks", ranks, scale=64.0, blocks=True)
    write_expected("genericio", ranks)

    # Coordinates with other names, masses, most significant byte first.
    ranks = [rank(30, True), rank(20, True)]
    for columns in ranks:
        columns["mass"] = rng.random(len(columns["id"])).astype("f4")
    write_expected("genericio_big", ranks)
    renamed = [{f"center_{key}" if key in "xyz" else key: values for key, values in columns.items()} for columns in ranks]
    genericio_file(fresh("genericio_big") / "big", renamed, big=True, scale=64.0, flags={"center_x": 4, "center_y": 8, "center_z": 16})

    folder = fresh("genericio_split")
    ranks = [rank(25), rank(15), rank(10)]
    genericio_file(folder / "base#0", [ranks[0], ranks[2]], scale=64.0, global_ranks=[0, 2])
    genericio_file(folder / "base#1", [ranks[1]], scale=64.0, global_ranks=[1])
    genericio_file(folder / "base", [{"$rank": np.arange(3, dtype="i4"), "$partition": np.array([0, 1, 0], "i4")}])
    write_expected("genericio_split", [ranks[0], ranks[2], ranks[1]])


def npz():
    """Writes archives with numpy: stored, deflated, and with separate columns."""
    rng = np.random.default_rng(30)
    folder = fresh("npz")
    n = 200
    arrays = {
        "positions": rng.random((n, 3)).astype("f4"),
        "velocities": rng.normal(size=(n, 3)),
        "ids": rng.permutation(10 * n)[:n],
        "masses": rng.random(n).astype("f4"),
    }
    wanted = {"pos": arrays["positions"].astype("f8"), "vel": arrays["velocities"], "id": arrays["ids"].astype("u8")}
    expected("npz", mass=arrays["masses"].astype("f8"), **wanted)
    more = {"box_size": 10.0, "redshift": np.array([0.5]), "name": np.array(["a", "b"]), "other": rng.random((2, 3, 4))}
    np.savez(folder / "stored.npz", **arrays, **more)
    fortran = {"Coordinates": np.asfortranarray(arrays["positions"]), "Velocity": arrays["velocities"].astype(">f8")}
    np.savez_compressed(folder / "deflated.npz", **fortran, ID=arrays["ids"].astype("u4"), mass=arrays["masses"], BoxSize=np.full(3, 10.0), redshift=0.5)
    axes = {axis: arrays["positions"][:, k] for k, axis in enumerate("xyz")}
    axes |= {f"v{axis}": arrays["velocities"][:, k] for k, axis in enumerate("xyz")}
    np.savez_compressed(folder / "columns.npz", **axes, id=arrays["ids"], m=arrays["masses"])
    np.savez(folder / "only.npz", arrays["positions"])
    # A seed of the fuzz targets.
    np.savez(folder / "tiny.npz", x=np.array([1.5, 2.0], "f4"), y=np.array([3, 4], "i2"), id=np.array([7, 8]))
    with zipfile.ZipFile(folder / "tiny.npz", "a", zipfile.ZIP_DEFLATED) as archive, archive.open("mass.npy", "w") as file:
        np.save(file, np.array([0.5, 0.25]))


def record(data):
    """Returns a Fortran record: the data between two copies of their length."""
    return struct.pack("<i", len(data)) + data + struct.pack("<i", len(data))


INFO = """ncpu        =          {cpus}
ndim        =          3
levelmin    =          7
levelmax    =         12
ngridmax    =       5000
nstep_coarse=         10

boxlen      =  0.{boxlen}00000000000000E+01
time        = {time}
aexp        =  0.400000000000000E+00
H0          =  0.700000000000000E+02
omega_m     =  0.300000000000000E+00
omega_l     =  0.700000000000000E+00
omega_k     =  0.000000000000000E+00
omega_b     =  0.450000000000000E-01
unit_l      =  0.440811083070190E+26
unit_d      =  0.431225411000000E-28
unit_t      =  0.705352000000000E+17

ordering type=hilbert
"""


def ramses():
    """Writes particle files by RAMSES's documentation and output_part.f90 (the order of records), which pynbody reads."""
    import pynbody

    def part(path, cpus, n, columns, stars):
        header = [struct.pack("<i", k) for k in [cpus, 3, n]] + [struct.pack("<4i", 1, 2, 3, 4)]
        header += [struct.pack("<i", stars), struct.pack("<d", 0.0), struct.pack("<d", 0.0), struct.pack("<i", 0)]
        path.write_bytes(b"".join(map(record, header + [values.tobytes() for values in columns.values()])))

    for name, explicit, wide in [("ramses_families", True, True), ("ramses_old", False, False)]:
        rng = np.random.default_rng(40)
        folder = fresh(name) / "output_00080"
        folder.mkdir()
        cpus, boxlen = 3, 2
        (folder / "info_00080.txt").write_text(INFO.format(cpus=cpus, boxlen=boxlen, time="-0.100000000000000E+01"))
        wanted = []
        for cpu, n in enumerate([60, 0, 45], 1):
            columns = {f"position_{axis}": rng.random(n) * 0.2 for axis in "xyz"}
            columns |= {f"velocity_{axis}": rng.normal(size=n) for axis in "xyz"}
            columns["mass"] = rng.random(n)
            columns["identity"] = rng.permutation(1000)[:n].astype("i8" if wide else "i4")
            columns["levelp"] = np.full(n, 9, "i4")
            kind = rng.choice([1, 2, 3, 0] if explicit else [1, 2], n, p=[0.6, 0.2, 0.1, 0.1] if explicit else [0.7, 0.3])
            if explicit:
                columns["family"] = kind.astype("i1")
                columns["tag"] = np.zeros(n, "i1")
            columns["birth_time"] = np.where(kind == 2, -rng.random(n) - 0.1, 0.0)
            columns["metallicity"] = rng.random(n)
            part(folder / f"part_00080.out{cpu:05d}", cpus, n, columns, int((kind == 2).sum()))
            # In each file ordered by type: dark matter, tracers, stars, clouds.
            types = np.array([3, 1, 4, 5])[kind]
            order = np.argsort(types, kind="stable")
            wanted.append({key: values[order] for key, values in columns.items()} | {"type": types[order]})
        letters = {"f8": "d", "i8": "q", "i4": "i", "i1": "b"}
        if explicit:
            lines = ["# version:  1", "# ivar, variable_name, variable_type"]
            lines += [f"{k:3}, {key}, {letters[values.dtype.str[1:]]}" for k, (key, values) in enumerate(columns.items(), 1)]
            (folder / "part_file_descriptor.txt").write_text("\n".join(lines) + "\n")
        else:
            (folder / "header_00080.txt").write_text(" Total number of particles\n 105\n Particle fields\n pos vel mass iord level tform metal\n")
        joined = {key: np.concatenate([own[key] for own in wanted]) for key in wanted[0]}
        found = pynbody.load(str(folder))
        units = {"kpc": found["x"].units.in_units("kpc"), "km_s": found["vx"].units.in_units("km s^-1"), "msol": found["mass"].units.in_units("Msol")}
        # pynbody's particles, in its own order.
        for family, types in [(found.dm, [1]), (found.star, [4])]:
            own = np.isin(joined["type"], types)
            assert (np.sort(family["iord"]) == np.sort(joined["identity"][own])).all()
            order, there = np.argsort(joined["identity"][own], kind="stable"), np.argsort(family["iord"], kind="stable")
            for key, theirs in [("position_x", "x"), ("velocity_z", "vz"), ("mass", "mass")]:
                assert (np.sort(joined[key][own]) == np.sort(np.asarray(family[theirs]))).all(), key
        vectors = {key: np.stack([joined[f"{long}_{axis}"] for axis in "xyz"], 1) for key, long in [("pos", "position"), ("vel", "velocity")]}
        rest = {"mass": joined["mass"], "id": joined["identity"].astype("u8"), "type": joined["type"].astype("u1")}
        box = np.float64(found.properties["boxsize"].in_units("kpc"))
        expected(name, **vectors, **rest, box_kpc=box, h=np.float64(found.properties["h"]), a=np.float64(found.properties["a"]), **units)


def abacus():
    """Writes files with asdf and the extension of abacusutils, and the arrays that abacusutils reads."""
    import asdf
    from abacusnbody.data.read_abacus import read_asdf

    rng = np.random.default_rng(50)
    folder = fresh("abacus")
    n = 800
    # Coordinates and velocities that do not use all bits, so that they can be compressed.
    position = np.cumsum(rng.integers(-3, 40, (n, 3)), 0).astype("i4") - 8000
    rvint = (position << 12 | 16 * rng.integers(100, 150, (n, 3)).astype("i4")).astype("i4")
    lattice = np.arange(n, dtype="u8")
    pid = lattice % 10 | lattice // 10 % 10 << 16 | lattice // 100 << 32 | rng.integers(0, 2, n).astype("u8") << 48
    header = {"BoxSize": 500.0, "Redshift": 0.5, "H0": 67.36, "Omega_M": 0.315192, "Omega_DE": 0.684808, "ParticleMassHMsun": 2.1e9}
    header |= {"SimName": "Abacus_test", "ppd": 10.0, "SubsampleFraction": 0.03, "OutputType": "TimeSlice"}

    def write(path, data, compression=None, **options):
        path.parent.mkdir(exist_ok=True)
        options |= {"all_array_compression": compression} if compression else {"all_array_compression": None}
        asdf.AsdfFile({"data": data, "header": header}).write_to(path, **options)

    def blosc(typesize, **options):
        # Containers that end within a row, with several blocks in each.
        return {"compression": "blsc", "compression_kwargs": dict(typesize=typesize, compression_block_size=7000, blosc_block_size=2048, **options)}

    write(folder / "plain.asdf", {"rvint": rvint})
    for name, options in {
        "zstd": {},
        "bits": {"shuffle": "bitshuffle"},
        "lz4": {"cname": "lz4"},
        "zlib": {"cname": "zlib", "shuffle": "bitshuffle"},
        "unshuffled": {"shuffle": None, "cname": "lz4hc", "clevel": 9},
        "blosclz": {"cname": "blosclz"},
    }.items():
        write(folder / f"{name}.asdf", {"rvint": rvint}, **blosc(4, **options))
    write(folder / "halo_rv_A" / "halo_rv_A_000.asdf", {"rvint": rvint}, **blosc(12))
    write(folder / "halo_pid_A" / "halo_pid_A_000.asdf", {"packedpid": pid}, **blosc(8))
    write(folder / "tiny.asdf", {"rvint": rvint[:40]}, **blosc(4, cname="lz4"))

    found = read_asdf(folder / "zstd.asdf", verbose=False)
    ids = read_asdf(folder / "halo_pid_A" / "halo_pid_A_000.asdf", verbose=False)
    expected("abacus", pos=found["pos"].astype("f8"), vel=found["vel"].astype("f8"), id=np.asarray(ids["pid"]).astype("u8"))


    # Cells of a header and particles, with six numbers of 12 bits in nine bytes each.
    def pack(rows):
        rows = (rows + 2048).reshape(-1, 3, 2)
        low, high = rows[..., 0], rows[..., 1]
        return np.stack([low >> 4, low & 15 | high >> 4 & 240, high & 255], -1).reshape(-1, 9).astype("u1")

    cells, rows = 20, []
    for cell in range(15):
        rows.append(np.array([2047, cells - 2000, 900 - 2000, *(rng.integers(0, cells, 3) - 2000)]))
        rows.extend(rng.integers(-1000, 1001, (rng.integers(0, 120), 6)))
    packed = pack(np.array(rows))
    header["VelZSpace_to_kms"] = 61234.5
    write(folder / "pack9.asdf", {"pack9": packed})
    write(folder / "pack9_blosc.asdf", {"pack9": packed}, **blosc(9))
    write(folder / "pack9_headless.asdf", {"pack9": packed[1:]})
    found = read_asdf(folder / "pack9.asdf", dtype=np.float64, verbose=False)
    expected("abacus_pack9", pos=found["pos"].astype("f8"), vel=found["vel"].astype("f8"))


def tables():
    """Writes Parquet with pyarrow, pandas and astropy."""
    import astropy.units as u
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq
    from astropy.table import Table

    rng = np.random.default_rng(60)
    folder = fresh("parquet")
    n = 150
    pos, vel = rng.random((n, 3)), rng.normal(size=(n, 3))
    columns = {axis: pos[:, k] for k, axis in enumerate("xyz")} | {f"v{axis}": vel[:, k].astype("f4") for k, axis in enumerate("xyz")}
    columns |= {"id": rng.integers(0, 1 << 63, n).astype("u8") * 2, "mass": rng.integers(1, 9, n).astype("i4")}
    wanted = {"pos": pos, "vel": vel.astype("f4").astype("f8"), "id": columns["id"], "mass": columns["mass"].astype("f8")}
    expected("parquet", **wanted)
    units = {"x": "kpc", "y": "kpc", "z": "kpc", "vx": "km/s", "vy": "km/s", "vz": "km/s", "mass": "Msun"}
    fields = [pa.field(key, pa.array(values).type, metadata={"unit": units[key]} if key in units else None) for key, values in columns.items()]
    arrow = pa.table(list(columns.values()), schema=pa.schema(fields, metadata={"redshift": "0.5", "box_size": "1"}))
    arrow = arrow.append_column("name", pa.array(["text"] * n))
    for name, options in {
        "snappy": {"compression": "snappy"},
        "gzip": {"compression": "gzip", "data_page_version": "2.0", "use_dictionary": False},
        "lz4": {"compression": "lz4", "use_byte_stream_split": ["x", "y", "vx"], "use_dictionary": ["mass"]},
        "none": {"compression": "none", "row_group_size": 64},
        "zstd": {"compression": "zstd"},
    }.items():
        pq.write_table(arrow, folder / f"{name}.parquet", **options)
    frame = pd.DataFrame(columns, index=np.arange(n) * 3)
    frame.to_parquet(folder / "pandas.parquet", compression="gzip")
    table = Table({key: columns[key] for key in ["x", "y", "z", "mass"]}, units={"x": u.Mpc, "y": u.Mpc, "z": u.Mpc, "mass": u.Msun}, meta={"redshift": 2.0})
    table.write(folder / "astropy.parquet")
    frame.loc[6, "y"] = np.nan
    hole = pa.Table.from_pandas(frame[["x", "y"]], preserve_index=False)
    pq.write_table(hole, folder / "hole.parquet")
    pq.write_table(arrow.select(["x", "y", "id"]).slice(0, 3), folder / "tiny.parquet", compression="snappy", store_schema=False)


def kinds():
    """Writes Parquet with pyarrow and pandas: rare codecs and number types, and indexes."""
    import datetime
    import decimal

    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = fresh("parquet_kinds")
    n = 40
    k = np.arange(n)
    x, z, ids = (k / 7 - 3).astype("f2"), (k * 100_000_007).astype("u4"), (1 << 63) + k.astype("u8")
    y = [decimal.Decimal(int(i) * 123_457 - 10**6).scaleb(-4) for i in k]
    pos = np.column_stack([x.astype("f8"), [float(str(value)) for value in y], z.astype("f8")])
    expected("parquet_kinds", pos=pos, id=ids)
    numbers = {
        "x": pa.array(x),
        "y": pa.array(y, pa.decimal128(12, 4)),
        "z": pa.array(z),
        "id": pa.array([decimal.Decimal(int(i)) for i in ids], pa.decimal128(20, 0)),
    }
    others = {
        "flag": pa.array([True] * n),
        "when": pa.array([datetime.datetime(2020, 1, 1)] * n),
        "name": pa.array(["text"] * n),
        "list": pa.array([[1.0, 2.0]] * n),
        "void": pa.nulls(n),
    }
    for codec in ["zstd", "brotli"]:
        for version in ["1.0", "2.0"]:
            pq.write_table(pa.table(numbers | others), folder / f"{codec}_{version[0]}.parquet", compression=codec, data_page_version=version)
    for name, values in others.items():
        pq.write_table(pa.table(numbers | {"z": values}), folder / f"z_{name}.parquet")
    frame = pd.DataFrame({"a": k * 0.5, "b": k * 0.25}, index=pd.Index(k * 3.0, name="t"))
    frame.to_parquet(folder / "index.parquet")
    frame.rename(columns={"a": "y", "b": "z"}).rename_axis("x").to_parquet(folder / "index_x.parquet")
    frame.rename_axis("id").astype("f4").to_parquet(folder / "index_id.parquet")
    said = [("box_size", "-5"), ("box_size", "wide"), ("redshift", "[1, 2]"), ("BoxSize", "10"), ("finder", "x")]
    for place, (key, value) in enumerate(said):
        table = pa.table({axis: pa.array(k * 1.0) for axis in "xyz"}).replace_schema_metadata({key: value})
        pq.write_table(table, folder / f"said_{place}.parquet")


def bombs():
    """Writes Parquet with pyarrow, with the first page replaced by one of equal length that decompresses to far more."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = fresh("parquet_bombs")
    n, random = 200, np.random.default_rng(3)
    table = pa.table({"x": np.frombuffer(random.bytes(8 * n), "f8"), "y": np.zeros(n)})

    def packed_size(header):
        # Integers of Thrift: a byte for the field, then 7 bits per byte. The third is the compressed size of the page.
        numbers, at = [], 0
        for _ in range(3):
            value, shift, at = 0, 0, at + 1
            while True:
                byte = header[at]
                value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
                if byte < 128:
                    break
            numbers.append(value >> 1)
        return numbers[2]

    def zstd(length):
        # A window of 128 KiB, a raw block for padding, and blocks that repeat a byte 128 Ki times.
        start, block = b"\x28\xb5\x2f\xfd\x00" + bytes([7 << 3]), struct.Struct("<I")
        fill = (length - len(start) - 3) % 4
        repeats = (length - len(start) - 3 - fill) // 4
        blocks = [block.pack(last | 1 << 1 | 1 << 20)[:3] + b"\0" for last in [0] * (repeats - 1) + [1]]
        return start + block.pack(fill << 3)[:3] + bytes(fill) + b"".join(blocks)

    def packed(codec):
        def page(length):
            # Random bytes at the end adjust the length.
            for more in range(length // 2, length):
                for zeros in range(1 << 18, (1 << 18) + 5):
                    packed = pa.Codec(codec).compress(bytes(zeros) + random.bytes(more), asbytes=True)
                    if len(packed) == length:
                        return packed
            raise ValueError(length)
        return page

    for codec, page in {"zstd": zstd, "gzip": packed("gzip"), "brotli": packed("brotli")}.items():
        path = folder / f"{codec}.parquet"
        pq.write_table(table, path, compression=codec, use_dictionary=False, write_statistics=False)
        column = pq.ParquetFile(path).metadata.row_group(0).column(0)
        bytes_, start, length = bytearray(path.read_bytes()), column.data_page_offset, column.total_compressed_size
        own = packed_size(bytes_[start:start + 16])
        bytes_[start + length - own:start + length] = page(own)
        path.write_bytes(bytes_)


MAKERS = {"tipsy": tipsy, "genericio": genericio, "npz": npz, "ramses": ramses, "abacus": abacus, "parquet": tables, "parquet_kinds": kinds, "parquet_bombs": bombs}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for wanted in sys.argv[1:] or MAKERS:
        MAKERS[wanted]()
