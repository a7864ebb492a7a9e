#!/usr/bin/env python3
"""Compares Parquet tables as read by the program with pyarrow: codecs, pages, encodings, number types, nulls, metadata.

    python3 tests/oracle/parquet.py target/release/ropewalk FOLDER

`ropewalk convert` writes the data that it has read as .npz, whose arrays are compared bit by bit. Columns that cannot be read must
be rejected by name, or named in a note. Needs numpy, pandas and pyarrow.
"""

import datetime
import decimal
import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])
FOLDER.mkdir(parents=True, exist_ok=True)
RANDOM = np.random.default_rng(1)
N = 5000
checked = 0


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)


def read(path, *more):
    """Returns the arrays that the program reads, and its report."""
    out = FOLDER / "out.npz"
    out.unlink(missing_ok=True)
    result = run("convert", path, out, *more)
    if result.returncode:
        return None, result.stderr
    return dict(np.load(out)), result.stdout


def expect(name, table, wanted, notes=(), write={}, more=()):
    global checked
    path = FOLDER / "table.parquet"
    pq.write_table(table, path, **write)
    arrays, report = read(path, *more)
    assert arrays is not None, f"{name}: {report}"
    for key, values in wanted.items():
        assert key in arrays, f"{name}: {key} is not in {list(arrays)}"
        got = arrays[key]
        assert got.shape == values.shape and np.array_equal(got.astype("f8"), values.astype("f8")), f"{name}: {key}"
    for note in notes:
        assert note in report, f"{name}: {note!r} is not in {report}"
    checked += 1


def refuse(name, table, said, more=()):
    global checked
    path = FOLDER / "table.parquet"
    pq.write_table(table, path)
    arrays, report = read(path, *more)
    assert arrays is None, f"{name} is read: {report}"
    for text in said:
        assert text in report, f"{name}: {text!r} is not in {report}"
    checked += 1


def cloud(kind="f8", n=N):
    return {axis: RANDOM.normal(size=n).astype(kind) for axis in "xyz"}


def stack(columns):
    return np.column_stack([columns[axis] for axis in "xyz"])


# Codecs, pages, encodings, row groups.
for codec, version, dictionary, kind in itertools.product(
    ["none", "snappy", "gzip", "zstd", "brotli", "lz4"], ["1.0", "2.0"], [True, False], ["f4", "f8"]
):
    columns = cloud(kind) | {"mass": RANDOM.integers(1, 5, N).astype("f8"), "id": RANDOM.integers(0, 2**63, N)}
    write = dict(compression=codec, data_page_version=version, use_dictionary=dictionary, row_group_size=1234, data_page_size=3000)
    wanted = {"positions": stack(columns), "masses": columns["mass"]}
    expect(f"{codec} {version} {dictionary} {kind}", pa.table(columns), wanted, write=write)
    assert (np.load(FOLDER / "out.npz")["ids"] == columns["id"].astype("u8")).all()
columns = cloud()
for encoding in ["PLAIN", "BYTE_STREAM_SPLIT"]:
    write = dict(use_dictionary=False, column_encoding={axis: encoding for axis in "xyz"}, compression="zstd")
    expect(encoding, pa.table(columns), {"positions": stack(columns)}, write=write)
whole = {axis: RANDOM.integers(-1000, 1000, N) for axis in "xyz"}
for encoding, codec in itertools.product(["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"], ["none", "zstd", "brotli"]):
    write = dict(use_dictionary=False, column_encoding={axis: encoding for axis in "xyz"}, compression=codec)
    expect(f"{encoding} {codec}", pa.table(whole), {"positions": stack(whole)}, write=write)
constant = {axis: np.full(N, 7.0) for axis in "xyz"}
for codec in ["zstd", "brotli", "gzip"]:
    expect(f"constant {codec}", pa.table(constant), {"positions": stack(constant)}, write=dict(compression=codec, use_dictionary=False))
for level in [1, 3, 9, 19, 22]:
    expect(f"level {level}", pa.table(columns), {"positions": stack(columns)}, write=dict(compression="zstd", compression_level=level))

# Number types.
for kind in ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]:
    own = {axis: RANDOM.integers(0, 100, N).astype(kind) for axis in "xyz"}
    if kind == "f2":
        own = {axis: RANDOM.normal(size=N).astype(kind) for axis in "xyz"}
        own["x"][:6] = [0, 6e-8, 6.1e-5, 65504, -5.96e-8, 1e-7]
    expect(kind, pa.table(own), {"positions": stack(own)})
mixed = cloud() | {"z": RANDOM.integers(0, 100, N).astype("u4")}
expect("mixed", pa.table(mixed), {"positions": stack(mixed)})
for value in [2**53 + 1, -(2**53) - 1, 2**62 + 1]:
    refuse(f"{value}", pa.table({"x": [0.0], "y": [0.0], "z": pa.array([value])}), ["column z", str(value), "2^53"])
for precision, scale in [(5, 2), (9, 0), (9, 9), (12, 3), (18, 18), (20, 5), (38, 10), (38, 37)]:
    digits = [int("".join(map(str, RANDOM.integers(0, 10, precision - 1))) or 0) * (-1) ** k for k in range(200)]
    if scale == 0:
        digits = [digit % 10**9 for digit in digits]
    values = [decimal.Decimal(digit).scaleb(-scale, decimal.Context(prec=40)) for digit in digits]
    z = pa.array(values, pa.decimal128(precision, scale))
    own = {"x": RANDOM.normal(size=200), "y": RANDOM.normal(size=200), "z": np.array([float(str(value)) for value in values])}
    expect(f"decimal({precision}, {scale})", pa.table(own | {"z": z}), {"positions": stack(own)})
expect("dictionary", pa.table(columns | {"z": pa.array(columns["z"]).dictionary_encode()}), {"positions": stack(columns)})

# Columns that are not numeric: rejected as a coordinate, noted as another column.
others = {
    "time": pa.array([datetime.datetime(2020, 1, 1)] * N),
    "date": pa.array([datetime.date(2020, 1, 1)] * N),
    "clock": pa.array([datetime.time(1)] * N),
    "duration": pa.array([datetime.timedelta(1)] * N),
    "flag": pa.array([True] * N),
    "text": pa.array(["1.5"] * N),
    "category": pa.array(["a"] * N).dictionary_encode(),
    "bytes": pa.array([b"a"] * N),
    "nothing": pa.nulls(N),
    "list": pa.array([[1.0, 2.0]] * N),
    "fixed list": pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(3 * N)), 3),
    "wide decimal": pa.array([decimal.Decimal(1)] * N, pa.decimal256(60, 2)),
}
for name, values in others.items():
    for axis in "xyz":
        refuse(f"{name} as {axis}", pa.table(columns | {axis: values}), [f"column {axis}"])
    refuse(f"{name} as vx", pa.table(columns | {"vx": values, "vy": columns["x"], "vz": columns["x"]}), ["column vx"])
    refuse(f"{name} as mass", pa.table(columns | {"mass": values}), ["column mass"])
    expect(f"{name} beside", pa.table(columns | {"a": values}), {"positions": stack(columns)}, ["left out: a"])
    refuse(f"{name} chosen", pa.table(columns | {"a": values}), ["column a"], ["--coordinates", "x,a"])
    rest = pa.table({"p": columns["x"], "q": columns["y"], "r": values})
    pq.write_table(rest, FOLDER / "table.parquet")
    arrays, report = read(FOLDER / "table.parquet")
    assert (arrays is None and "column r" in report) or "left out: r" in report, f"{name}: {report}"
int96 = FOLDER / "table.parquet"
pq.write_table(pa.table(columns | {"z": others["time"]}), int96, use_deprecated_int96_timestamps=True)
arrays, report = read(int96)
assert arrays is None and "column z" in report, report

# Nulls, and members of structures.
for axis in "xyz":
    holes = pa.array(columns[axis], mask=np.arange(N) == 1234)
    refuse(f"null in {axis}", pa.table(columns | {axis: holes}), [f"column {axis}", "row 1235"])
refuse("null in mass", pa.table(columns | {"mass": pa.array(columns["x"], mask=np.arange(N) == 0)}), ["column mass", "row 1"])
expect("nulls beside", pa.table(columns | {"a": pa.array([None] * N, "f8")}), {"positions": stack(columns)}, ["left out: a"])
members = pa.StructArray.from_arrays([pa.array(columns[axis]) for axis in "xyz"], ["x", "y", "z"])
expect("structure", pa.table({"pos": members}), {"positions": stack(columns)}, more=["--coordinates", "pos.x,pos.y,pos.z"])
holes = pa.StructArray.from_arrays([pa.array([1.0, None]), pa.array([1.0, 2.0])], ["a", "b"], mask=pa.array([False, False]))
refuse("null in a structure", pa.table({"pos": holes}), ["row 2"], ["--coordinates", "pos.a,pos.b"])
empty = pa.table({axis: pa.array([], "f8") for axis in "xyz"})
expect("empty", empty, {"positions": np.zeros((0, 3))})

# pandas: an index is not a coordinate.
frame = pd.DataFrame(columns)
for name, index in {
    "range": frame,
    "unnamed": frame.iloc[RANDOM.permutation(N)],
    "named": frame.set_index(pd.Index(RANDOM.integers(0, 99, N), name="row")),
    "two": frame.set_index([pd.Index(np.arange(N), name="row"), pd.Index(np.arange(N), name="other")]),
    "float": frame.set_index(pd.Index(RANDOM.normal(size=N), name="phase")),
}.items():
    table = pa.Table.from_pandas(index)
    expect(f"index {name}", table, {"positions": stack(index)})
    other = index.rename(columns={"x": "a", "y": "b", "z": "c"})
    notes = [] if name == "range" else ["an index of a pandas table"]
    expect(f"index {name} of others", pa.Table.from_pandas(other), {"positions": stack(index)}, notes)
own = RANDOM.permutation(N)
ids = frame.set_index(pd.Index(own, name="id"))
expect("index of ids", pa.Table.from_pandas(ids), {"positions": stack(columns), "ids": own})
refuse("index x", pa.Table.from_pandas(frame.set_index("x")), ["column x holds an index of a pandas table"])

# Metadata.
def with_metadata(**entries):
    return pa.table(columns).replace_schema_metadata({key: str(value) for key, value in entries.items()})


wanted = {"positions": stack(columns), "box_size": np.array(10.0), "redshift": np.array(0.5)}
expect("metadata", with_metadata(box_size=10, redshift=0.5), wanted)
expect("metadata in capitals", with_metadata(BoxSize=10, Redshift=0.5), wanted)
expect("other metadata", with_metadata(finder="a"), {"positions": stack(columns)}, ["metadata that are not used: finder"])
for key, value in [("box_size", -5), ("box_size", "nan"), ("box_size", "[1, 2, 3]"), ("redshift", "high"), ("h", -1), ("omega_m", "x")]:
    refuse(f"{key} = {value}", with_metadata(**{key: value}), [f"metadata {key}", "must be"])
for key in ["box_size", "h", "omega_m"]:
    expect(f"{key} = 0", with_metadata(**{key: 0}), {"positions": stack(columns)})
    assert key not in np.load(FOLDER / "out.npz"), key

# Ids in floats with an n-bit mantissa: 2^n and the next integer are the same float.
few = cloud(n=2)
for kind, bits in [("f2", 11), ("f4", 24), ("f8", 53)]:
    exact = np.array([1, 2**bits - 1])
    expect(f"ids in {kind}", pa.table(few | {"id": exact.astype(kind)}), {"positions": stack(few), "ids": exact})
    refuse(f"large ids in {kind}", pa.table(few | {"id": (exact + 1).astype(kind)}), ["column id holds", "an id"])

fields = [pa.field(axis, "f8", metadata={"unit": "kpc"}) for axis in "xyz"]
path = FOLDER / "units.parquet"
pq.write_table(pa.table(columns, schema=pa.schema(fields)), path, compression="zstd")
text = FOLDER / "units.ecsv"
assert run("convert", path, text).returncode == 0
assert text.read_text().count("unit: kpc") == 3, text.read_text()[:1000]
# Tables written by the program itself.
mass = pa.field("mass", "f8", metadata={"unit": "Msun"})
pq.write_table(pa.table(columns | {"mass": np.ones(N)}, schema=pa.schema([*fields, mass], metadata={"h": "0.7", "box_size": "10"})), path)
own = FOLDER / "own.parquet"
assert run("convert", path, own).returncode == 0
first, second = run("info", path).stdout, run("info", own).stdout
for line in first.splitlines():
    if any(word in line for word in ["kpc", "Msun", "box", "h "]):
        assert line in second, f"{line!r} is not in\n{second}"
assert pq.read_table(own).column("x").to_numpy().tobytes() == columns["x"].tobytes()

# Tables with labels keep all columns, rows and missing values. Columns of a Parquet table are copied as they are stored.
few = 300
mixed = pa.table({
    "name": pa.array([None if i % 7 == 0 else f"a, \"{i}\"" for i in range(few)]),
    "x": RANDOM.normal(size=few),
    "y": pa.array(RANDOM.normal(size=few).astype("f4")),
    "count": pa.array([None if i % 5 == 0 else 2**60 + i for i in range(few)]),
    "large": pa.array([2**64 - 1 - i for i in range(few)], pa.uint64()),
    "flag": pa.array([None if i % 3 == 0 else i % 2 == 0 for i in range(few)]),
    "when": pa.array([datetime.datetime(2020, 1, 1 + i % 28) for i in range(few)], pa.timestamp("us")),
    "kind": pa.array([f"k{i % 3}" for i in range(few)]).dictionary_encode(),
    "list": pa.array([[i, i + 1] for i in range(few)]),
})
for compression, out in itertools.product(["none", "snappy", "zstd", "gzip", "brotli"], ["parquet", "csv", "ecsv"]):
    path, own, labels = FOLDER / "mixed.parquet", FOLDER / f"labelled.{out}", FOLDER / "labels.npy"
    pq.write_table(mixed, path, compression=compression, row_group_size=77)
    command = ["dbscan", path, "--coordinates", "x,y", "--eps", 0.2, "--min-samples", 4, "--out"]
    for target in (own, labels):
        result = run(*command, target)
        assert result.returncode == 0, result.stderr
    expected = np.load(labels)
    assert len(np.unique(expected)) > 2
    if out == "parquet":
        found = pq.read_table(own)
        assert found.column_names == [*mixed.column_names, "label"], found.column_names
        for name in mixed.column_names:
            assert found[name].to_pylist() == mixed[name].to_pylist(), name
        assert found["label"].to_pylist() == expected.tolist()
    else:
        frame = pd.read_csv(own, comment="#", dtype={"count": "Int64", "large": "uint64"})
        assert list(frame.columns) == [name for name in mixed.column_names if name != "list"] + ["label"], frame.columns
        assert "columns of lists are left out: list" in run(*command, own).stdout
        for name in ("name", "x", "count", "large", "kind"):
            got = [None if pd.isna(value) else value for value in frame[name]]
            assert got == mixed[name].to_pylist(), name
        assert np.array_equal(frame["y"].astype("f4"), mixed["y"].to_numpy())
        assert np.array_equal(frame["label"], expected)
        assert [str(flag).lower() for flag in frame["flag"]] == [
            "nan" if flag is None else str(flag).lower() for flag in mixed["flag"].to_pylist()
        ]
    checked += 1
# Text becomes Parquet with the kinds of its values, and nulls in coordinates can be skipped.
text = FOLDER / "kinds.csv"
text.write_text("x,y,n,zip,name,flag\n0,0,1,007,a,true\n0,0.5,NA,110,,false\n,1,3,2,c,TRUE\n")
own = FOLDER / "kinds.parquet"
assert run("dbscan", text, "--columns", "x,y", "--eps", 1, "--min-samples", 1, "--skip-missing", "--out", own).returncode == 0
assert pq.read_table(own).to_pydict() == {
    "x": [0, 0, None], "y": [0.0, 0.5, 1.0], "n": [1, None, 3], "zip": ["007", "110", "2"], "name": ["a", None, "c"],
    "flag": [True, False, True], "label": [0, 0, -1],
}
labels = FOLDER / "kinds.npy"
assert run("dbscan", own, "--columns", "x,y", "--eps", 1, "--min-samples", 1, "--out", labels).returncode != 0
assert run("dbscan", own, "--columns", "x,y", "--eps", 1, "--min-samples", 1, "--skip-missing", "--out", labels).returncode == 0
assert np.load(labels).tolist() == [0, 0, -1]
print(f"{checked} Parquet tables are as pyarrow has them, or refused by name")
