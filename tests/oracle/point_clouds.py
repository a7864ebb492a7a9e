#!/usr/bin/env python3
"""Compares the points that the program reads from FITS, LAS, PCD, PLY and OBJ files with independent readers.

    python3 tests/oracle/point_clouds.py target/release/ropewalk FOLDER

Files are written and read by astropy, laspy, plyfile and trimesh. PCD files are written and read by this script with NumPy,
including LZF. The program converts each file to .npy. Points must be equal bit for bit, except where a note says otherwise. Invalid
files must be rejected with a message that names the error. Needs numpy, astropy, laspy, plyfile and trimesh.
"""

import gzip
import struct
import subprocess
import sys
import warnings
from pathlib import Path

import laspy
import numpy as np
import plyfile
import trimesh
from astropy.io import fits
from astropy.table import Table

PROGRAM, FOLDER = sys.argv[1], Path(sys.argv[2])
RANDOM = np.random.default_rng(7)
compared = refused = 0


def run(*args):
    return subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True)


def compare(path, expected, *options, says=()):
    """Compares the points of a file in the precision that the reader keeps."""
    global compared
    out = path.with_name(path.name + ".npy")
    done = run("convert", path, out, *options)
    assert done.returncode == 0, f"{path}: {done.stderr}"
    points = np.load(out)
    expected = np.asarray(expected)
    expected = expected.reshape(len(expected), -1)
    assert points.shape == expected.shape, f"{path}: {points.shape}, not {expected.shape}"
    wrong = np.argwhere(points.astype("f8") != expected.astype("f8"))
    assert not len(wrong), f"{path}: {wrong[0]} {points[tuple(wrong[0])]!r} {expected[tuple(wrong[0])]!r}"
    for text in says:
        assert text in done.stdout, f"{path}: no '{text}' in {done.stdout}"
    info = run("info", path)
    assert info.returncode == 0, f"{path}: {info.stderr}"
    compared += 1


def refuse(path, *says, options=()):
    global refused
    done = run("convert", path, path.with_name(path.name + ".npy"), *options)
    assert done.returncode != 0, f"{path} was read: {done.stdout}"
    for text in [path.name, *says]:
        assert text in done.stderr, f"{path}: no '{text}' in {done.stderr}"
    refused += 1


def fits_files(folder):
    n = 500
    xyz = RANDOM.normal(size=(n, 3))
    ints = RANDOM.integers(-100, 100, size=(n, 3))

    def write(name, columns, table=fits.BinTableHDU, extra=(), header=(), **options):
        hdu = table.from_columns([fits.Column(**column) for column in columns])
        for key, value in header:
            hdu.header[key] = value
        path = folder / f"{name}.fits"
        fits.HDUList([fits.PrimaryHDU(), hdu, *extra]).writeto(path, overwrite=True, **options)
        return path

    def axes(form, values, **more):
        return [dict(name=axis, format=form, array=values[:, k], **more) for k, axis in enumerate("xyz")]

    def own(path, names="xyz", hdu=1):
        with fits.open(path) as file:
            data = file[hdu].data
            return np.stack([np.asarray(data[name]) for name in names], 1)

    # Every number type, plain, unsigned and scaled.
    for form in "EDIJKB":
        path = write(f"plain_{form}", axes(form, np.abs(ints) if form == "B" else xyz if form in "ED" else ints))
        compare(path, own(path))
    for form, zero, kind in [("I", 2**15, "u2"), ("J", 2**31, "u4"), ("K", 2**63, "u8"), ("B", -128, "i1")]:
        info = np.iinfo(kind)
        edge = np.array([info.min, info.max if kind != "u8" else 2**53, 1], kind)
        values = np.stack([edge, edge[::-1], edge], 1)
        path = write(f"unsigned_{kind}", axes(form, values, bzero=zero))
        with fits.open(path, uint=True) as file:
            stored = np.stack([file[1].data[axis] for axis in "xyz"], 1)
        assert (stored == values).all()
        compare(path, values)
    for form, scale, zero in [("I", 0.01, 5.0), ("J", 2.0, 0.0), ("K", 0.5, -3.25), ("B", 0.1, 1.0), ("D", 2.0, 1.5)]:
        raw = np.abs(ints) if form == "B" else xyz if form == "D" else ints
        # astropy would scale values on writing, so the keywords are inserted afterwards.
        keys = [(f"{letter}{k}", value) for k in (1, 2, 3) for letter, value in [("QSCAL", scale), ("QZERO", zero)]]
        path = write(f"scaled_{form}", axes(form, raw), header=keys)
        path.write_bytes(path.read_bytes().replace(b"QSCAL", b"TSCAL").replace(b"QZERO", b"TZERO"))
        # astropy cannot read scaled 64-bit integers.
        assert form == "K" or np.allclose(own(path), raw * scale + zero, rtol=1e-6)
        compare(path, raw.astype("f8") * scale + zero)
    # Vectors, by name and by choice, and with velocities.
    path = write("vector", [dict(name="POS", format="3D", array=xyz), dict(name="name", format="8A", array=np.array(["a"] * n))])
    compare(path, xyz, says=["columns that are not read: name"])
    compare(path, xyz, "--coordinates", "POS")
    compare(path, xyz[:, [1]], "--coordinates", "pos[2]")
    path = write("vectors", [dict(name="Velocity", format="3E", array=xyz), dict(name="Position", format="3E", array=xyz * 2)])
    compare(path, (xyz.astype("f4") * 2).astype("f4"))
    path = write("wide", [dict(name="F", format="5D", array=RANDOM.normal(size=(n, 5)))])
    compare(path, own(path, ["F"])[:, 0], "--coordinates", "F")
    # Columns of all kinds that are not coordinates.
    more = [
        dict(name="flag", format="L", array=np.arange(n) % 2 == 0),
        dict(name="bits", format="11X", array=RANDOM.integers(0, 2, (n, 11)).astype(bool)),
        dict(name="wave", format="C", array=np.ones(n, "c8")),
        dict(name="list", format="PJ()", array=np.array([np.arange(k % 3) for k in range(n)], dtype=object)),
    ]
    for k in range(len(more)):
        path = write(f"beside_{more[k]['name']}", [more[k], *axes("D", xyz)])
        compare(path, xyz)
    path = write("beside_all", [*more, *axes("E", xyz)])
    compare(path, own(path), says=["columns that are not read: flag, bits, wave, list"])
    for name, what in [("flag", "truth values"), ("bits", "bits"), ("wave", "complex numbers"), ("list", "lists of variable length")]:
        refuse(path, name, what, options=["--coordinates", f"x,{name}"])
    # Units, other HDUs, keywords, gzip.
    path = write("units", axes("D", xyz, unit="Mpc"), header=[("BOXSIZE", 100.0), ("REDSHIFT", 0.5), ("TELESCOP", "none")])
    compare(path, xyz, says=["TELESCOP"])
    info = run("info", path).stdout
    assert "Mpc" in info and "100, periodic" in info and "redshift" in info, info
    sky = [dict(name="RA", format="D", array=xyz[:, 0], unit="deg"), dict(name="DEC", format="D", array=xyz[:, 1], unit="deg")]
    path = write("sky", sky)
    compare(path, own(path, ["RA", "DEC"]), "--coordinates", "RA,DEC", says=["RA in deg, DEC in deg"])
    other = fits.BinTableHDU.from_columns([fits.Column(name="a", format="D", array=[1.0])], name="STARS")
    image = fits.ImageHDU(np.zeros((3, 1000)))
    path = write("several", axes("D", xyz), extra=[other, image])
    compare(path, xyz, says=["HDU 2 (STARS)", "images that are not read: 1"])
    fits.HDUList([fits.PrimaryHDU(np.ones((70, 70))), image, fits.BinTableHDU.from_columns([fits.Column(**c) for c in axes("D", xyz)])]).writeto(
        folder / "behind_images.fits", overwrite=True
    )
    compare(folder / "behind_images.fits", xyz)
    zipped = folder / "zipped.fits.gz"
    zipped.write_bytes(gzip.compress((folder / "plain_D.fits").read_bytes()))
    compare(zipped, xyz)
    path = write("checked", axes("D", xyz), checksum=True)
    compare(path, xyz)
    Table({"x": xyz[:, 0], "y": xyz[:, 1], "z": xyz[:, 2], "long_name" * 7: xyz[:, 0]}).write(folder / "table.fits", overwrite=True)
    compare(folder / "table.fits", xyz)
    # Text tables.
    for form in ["E16.8", "F16.8", "D25.17", "I10"]:
        values = ints if form == "I10" else xyz
        path = write(f"text_{form.replace('.', '_')}", axes(form, values), table=fits.TableHDU)
        compare(path, own(path).astype("f8"))
    path = write("text_mixed", [dict(name="id", format="I8", array=np.arange(n)), dict(name="who", format="A5", array=np.array(["me"] * n)), *axes("D25.17", xyz)], table=fits.TableHDU)
    compare(path, own(path), says=["who"])
    # Missing values in a column that is not read, and comments.
    weights = dict(name="w", format="I4", null=-99, array=np.where(np.arange(n) % 2, -99, 3))
    path = write("text_missing", [*axes("D25.17", xyz), weights], table=fits.TableHDU, header=[("COMMENT", "box size: 10 kpc")])
    compare(path, own(path), says=["box size: 10 kpc"])
    refuse(path, "row 2, column w: has no value", options=["--coordinates", "x,w"])
    # Rejected files.
    path = write("null", axes("J", np.where(ints == ints[7, 1], -99, ints), null=-99))
    refuse(path, "column", "has no value")
    bad = xyz.copy()
    bad[7, 1] = np.nan
    refuse(write("nan", axes("D", bad)), "row 8", "column y", "NaN")
    refuse(write("mixed_units", axes("D", xyz, unit="Mpc")[:1] + axes("D", xyz, unit="kpc")[1:]), "Mpc", "kpc")
    fits.PrimaryHDU(xyz).writeto(folder / "image.fits", overwrite=True)
    refuse(folder / "image.fits", "without tables")
    fits.HDUList([fits.PrimaryHDU(), fits.CompImageHDU(np.zeros((50, 50), "i4"))]).writeto(folder / "packed_image.fits", overwrite=True)
    refuse(folder / "packed_image.fits", "without tables")
    refuse(write("packed_table", axes("D", xyz), header=[("ZTABLE", True)]), "compressed table")
    refuse(write("box", axes("D", xyz), header=[("BOXSIZE", "large")]), "BOXSIZE", "large")
    whole = (folder / "plain_D.fits").read_bytes()
    cut = folder / "cut.fits"
    cut.write_bytes(whole[: 2880 * 2 + 1000])
    refuse(cut, "truncated")
    refuse(write("list", [more[3]]), "list")


def las_files(folder):
    n = 300
    for version, formats in [("1.2", [0, 1, 2, 3]), ("1.3", [0, 3]), ("1.4", [0, 1, 2, 3, 6, 7, 8])]:
        for form in formats:
            header = laspy.LasHeader(point_format=form, version=version)
            header.scales, header.offsets = [0.001, 0.01, 0.25], [1e6, -5.5, 0.1]
            las = laspy.LasData(header)
            las.x, las.y, las.z = (RANDOM.normal(size=n) * 100 + [1e6, 0, 0][k] for k in range(3))
            las.intensity = RANDOM.integers(0, 65536, n).astype("u2")
            path = folder / f"v{version.replace('.', '_')}_{form}.las"
            las.write(str(path))
            read = laspy.read(str(path))
            compare(path, np.stack([read.x, read.y, read.z], 1), says=["intensity", "withheld"])
            compare(path, np.asarray(read.intensity), "--coordinates", "intensity")
    las = laspy.read(str(folder / "v1_4_7.las"))
    las.add_extra_dim(laspy.ExtraBytesParams(name="height", type=np.float64))
    las.header.vlrs.append(laspy.vlrs.known.WktCoordinateSystemVlr('PROJCS["somewhere"]'))
    las.write(str(folder / "extra.las"))
    compare(folder / "extra.las", np.stack([las.x, las.y, las.z], 1), says=["extra_bytes", 'PROJCS[\\"somewhere'])
    las = laspy.read(str(folder / "v1_4_6.las"))
    las.evlrs = laspy.vlrs.vlrlist.VLRList()
    wkt = b'PROJCS["somewhere else",UNIT["US survey foot",0.3048006]]\0'
    las.evlrs.append(laspy.vlrs.vlr.VLR("LASF_Projection", 2112, "system", wkt))
    las.write(str(folder / "extended.las"))
    says = ["somewhere else", "(units: US survey foot)"]
    compare(folder / "extended.las", np.stack([las.x, las.y, las.z], 1), says=says)
    las.write(str(folder / "packed.laz"))
    refuse(folder / "packed.laz", "LAZ")
    whole = (folder / "v1_2_3.las").read_bytes()
    (folder / "cut.las").write_bytes(whole[:-1])
    refuse(folder / "cut.las", "truncated")
    (folder / "head.las").write_bytes(whole[:200])
    refuse(folder / "head.las", "truncated")


def lzf(data):
    """Compresses data by literals, and by references of 3 bytes or more to the last occurrence of the same 3 bytes."""
    out, literal, last, at = bytearray(), bytearray(), {}, 0

    def flush():
        for start in range(0, len(literal), 32):
            part = literal[start : start + 32]
            out.append(len(part) - 1)
            out.extend(part)
        literal.clear()

    while at < len(data):
        key = data[at : at + 3]
        before = last.get(key)
        last[key] = at
        if len(key) < 3 or before is None or at - before > 8192:
            literal.append(data[at])
            at += 1
            continue
        length = 3
        while at + length < len(data) and length < 264 and data[before + length] == data[at + length]:
            length += 1
        flush()
        back, code = at - before - 1, length - 2
        if code < 7:
            out.extend([code << 5 | back >> 8, back & 255])
        else:
            out.extend([7 << 5 | back >> 8, code - 7, back & 255])
        at += length
    flush()
    return bytes(out)


def pcd(path, record, encoding, header=(), points=None):
    """Returns a structured array as a PCD file."""
    kinds = {"f": "F", "i": "I", "u": "U"}
    fields = [(name, *(record.dtype[name].subdtype or (record.dtype[name], ()))) for name in record.dtype.names]
    lines = dict(
        VERSION="0.7",
        FIELDS=" ".join("_" if name.startswith("pad") else name for name, *_ in fields),
        SIZE=" ".join(str(base.itemsize) for _, base, _ in fields),
        TYPE=" ".join(kinds[base.kind] for _, base, _ in fields),
        COUNT=" ".join(str(int(np.prod(shape))) for *_, shape in fields),
        WIDTH=str(len(record)),
        HEIGHT="1",
        VIEWPOINT="0 0 0 1 0 0 0",
        POINTS=str(len(record) if points is None else points),
        DATA=encoding,
    )
    lines.update(header)
    text = "# .PCD v0.7 - Point Cloud Data file format\n" + "".join(f"{key} {value}\n" for key, value in lines.items() if value is not None)
    data = b""
    if encoding == "ascii":
        rows = (" ".join(repr(value) for value in np.hstack([np.ravel(row[name]) for name in record.dtype.names]).tolist()) for row in record)
        text += "\n".join(rows) + "\n"
    elif encoding == "binary":
        data = record.tobytes()
    else:
        whole = b"".join(np.ascontiguousarray(record[name]).tobytes() for name in record.dtype.names)
        packed = lzf(whole)
        data = struct.pack("<II", len(packed), len(whole)) + packed
    path.write_bytes(text.encode() + data)
    return path


def pcd_files(folder):
    n = 400
    xyz = RANDOM.normal(size=(n, 3))
    layouts = {
        "f4": [(axis, "<f4") for axis in "xyz"],
        "f8": [(axis, "<f8") for axis in "xyz"],
        "i2": [(axis, "<i2") for axis in "xyz"],
        "color": [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("pad", "u1", (4,)), ("rgb", "<u4"), ("label", "u1")],
        "late": [("normal_x", "<f4"), ("histogram", "<f4", (5,)), ("z", "<f8"), ("y", "<f8"), ("x", "<f8")],
    }
    for name, layout in layouts.items():
        record = np.zeros(n, layout)
        for k, axis in enumerate("xyz"):
            record[axis] = xyz[:, k] * 100
        for other in set(record.dtype.names) - set("xyz"):
            record[other] = RANDOM.integers(0, 100, record[other].shape)
        expected = np.stack([record[axis] for axis in "xyz"], 1)
        for encoding in ["ascii", "binary", "binary_compressed"]:
            if encoding == "ascii" and name == "color":
                record = record[[name for name in record.dtype.names if name != "pad"]]
            path = pcd(folder / f"{name}_{encoding}.pcd", record, encoding)
            compare(path, expected, says=["label"] if name == "color" else [])
            record = record if name != "color" else np.zeros(n, layout)
            if name == "color":
                for k, axis in enumerate("xyz"):
                    record[axis] = expected[:, k]
    record = np.zeros(n, layouts["f4"])
    for k, axis in enumerate("xyz"):
        record[axis] = xyz[:, k]
    expected = np.stack([record[axis] for axis in "xyz"], 1)
    compare(pcd(folder / "organized.pcd", record, "binary", dict(WIDTH=20, HEIGHT=20)), expected)
    compare(pcd(folder / "turned.pcd", record, "binary", dict(VIEWPOINT="1 2 3 1 0 0 0")), expected, says=["VIEWPOINT 1 2 3"])
    compare(pcd(folder / "old.pcd", record, "binary", dict(VERSION=".5", VIEWPOINT=None, COUNT=None)), expected)
    compare(pcd(folder / "chosen.pcd", record, "binary"), expected[:, [2, 0]], "--coordinates", "z,x")
    record["y"][11] = np.nan
    for encoding in ["ascii", "binary", "binary_compressed"]:
        refuse(pcd(folder / f"nan_{encoding}.pcd", record, encoding), "row 12" if encoding != "ascii" else "line 23", "column y")
    record["y"][11] = 0
    refuse(pcd(folder / "short.pcd", record[:-1], "binary", dict(WIDTH=n, POINTS=n)), "truncated")
    refuse(pcd(folder / "short_text.pcd", record[:-1], "ascii", dict(WIDTH=n, POINTS=n)), "truncated")
    refuse(pcd(folder / "both.pcd", record, "binary", points=n - 1), "POINTS")
    refuse(pcd(folder / "kind.pcd", record, "binary", dict(TYPE="F F Q")), "TYPE Q")


def ply_files(folder):
    n = 350
    xyz = RANDOM.normal(size=(n, 3))
    faces = np.array([([0, 1, 2],), ([2, 3, 4],)], dtype=[("vertex_indices", "i4", (3,))])
    layouts = {
        "f4": [(axis, "f4") for axis in "xyz"],
        "f8": [(axis, "f8") for axis in "xyz"],
        "i4": [(axis, "i4") for axis in "xyz"],
        "color": [("red", "u1"), ("x", "f4"), ("y", "f8"), ("z", "f4"), ("nx", "f4"), ("label", "i2")],
    }
    for name, layout in layouts.items():
        record = np.zeros(n, layout)
        for k, axis in enumerate("xyz"):
            record[axis] = xyz[:, k] * 100
        vertex = plyfile.PlyElement.describe(record, "vertex")
        face = plyfile.PlyElement.describe(faces, "face")
        for text, order in [(True, "="), (False, "<"), (False, ">")]:
            for elements in [[vertex], [vertex, face], [face, vertex]]:
                kind = "text" if text else {"<": "little", ">": "big"}[order]
                path = folder / f"{name}_{kind}_{'_'.join(element.name for element in elements)}.ply"
                plyfile.PlyData(elements, text=text, byte_order=order, comments=["made here"]).write(str(path))
                read = plyfile.PlyData.read(str(path))["vertex"]
                # Text is read in 64 bits.
                expected = np.stack([record[axis] if text else read[axis] for axis in "xyz"], 1)
                if text:
                    out = path.with_name(path.name + ".npy")
                    assert run("convert", path, out).returncode == 0
                    assert (np.load(out).astype("f4") == expected.astype("f4")).all()
                    expected = np.load(out)
                says = ["made here", *(["face (2)"] if len(elements) == 2 else []), *(["red, nx, label"] if name == "color" else [])]
                compare(path, expected, says=says)
    cloud = trimesh.PointCloud(xyz)
    (folder / "trimesh.ply").write_bytes(cloud.export(file_type="ply"))
    compare(folder / "trimesh.ply", trimesh.load(folder / "trimesh.ply").vertices)
    mesh = trimesh.creation.icosphere(2)
    for name, options in [("mesh_binary", {}), ("mesh_text", dict(encoding="ascii"))]:
        path = folder / f"{name}.ply"
        path.write_bytes(mesh.export(file_type="ply", **options))
        expected = trimesh.load(path, process=False).vertices
        if options:
            # trimesh reads text in 32 bits.
            at = path.read_text().splitlines().index("end_header") + 1
            rounded, expected = expected, np.loadtxt(path, skiprows=at, max_rows=len(expected), usecols=(0, 1, 2))
            assert (rounded.astype("f4") == expected.astype("f4")).all()
        compare(path, expected)
    header = b"ply\r\nformat ascii 1.0\r\ncomment Gr\xf6\xdfe\r\nobj_info num_cols 3\r\nelement vertex 2\r\nproperty float32 x\r\nproperty float32 y\r\nproperty float32 z\r\nend_header\r\n"
    (folder / "latin.ply").write_bytes(header + b"1 2 3\r\n4 5 6\r\n")
    compare(folder / "latin.ply", [[1, 2, 3], [4, 5, 6]], says=["obj_info num_cols 3"])
    (folder / "nan.ply").write_bytes(header + b"1 2 3\r\n4 nan 6\r\n")
    refuse(folder / "nan.ply", "line 11", "column y")
    (folder / "short.ply").write_bytes(header + b"1 2 3\r\n")
    refuse(folder / "short.ply", "truncated")
    (folder / "flat.ply").write_bytes(header.replace(b"property float32 z\r\n", b"") + b"1 2\r\n3 4\r\n")
    refuse(folder / "flat.ply", "no property z")


def obj_files(folder):
    mesh = trimesh.creation.icosphere(2)
    path = folder / "sphere.obj"
    path.write_text(mesh.export(file_type="obj", digits=17))
    compare(path, trimesh.load(path, process=False).vertices, says=["lines f (320)"])
    text = "# made here\nmtllib none.mtl\no part\nv 1 2 3\nv 4 5 \\\n6\nvn nan 0 0\nv -1.5e3 .5 0 # last\nv 7 8 9 0.1 0.2 0.3\nf 1 2 3\n"
    (folder / "syntax.obj").write_text(text)
    compare(folder / "syntax.obj", [[1, 2, 3], [4, 5, 6], [-1500, 0.5, 0], [7, 8, 9]], says=["colours of vertices (1)", "lines vn (1)"])
    (folder / "weight.obj").write_text("v 1 2 3 1\nv 2 4 6 2\n")
    compare(folder / "weight.obj", [[1, 2, 3], [1, 2, 3]])
    (folder / "nan.obj").write_text("v 1 2 3\nv 1 nan 3\n")
    refuse(folder / "nan.obj", "line 2", "column y")
    (folder / "flat.obj").write_text("v 1 2 3\nv 1 2\n")
    refuse(folder / "flat.obj", "line 2", "2 numbers")


def main():
    warnings.simplefilter("ignore")
    for write in [fits_files, las_files, pcd_files, ply_files, obj_files]:
        folder = FOLDER / write.__name__
        folder.mkdir(parents=True, exist_ok=True)
        write(folder)
    unknown = FOLDER / "unknown.bin"
    unknown.write_bytes(bytes(range(256)) * 40)
    refuse(unknown, "in an unsupported format", "FITS tables, LAS, PCD, PLY")
    assert compared >= 60, compared
    print(f"{compared} files read as independent readers read them, {refused} refused")


main()
