#!/usr/bin/env python3
"""Compares the halos of a snapshot in GenericIO and RAMSES format with those of the original.

    python3 tests/oracle/formats.py target/release/ropewalk FOLDER

No program converts into these formats, so the writers are those of tests/data/make_formats.py. Abacus keeps only 20 bits of a
coordinate, so its catalogue would differ. Needs numpy and astropy.
"""

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "data")]
import make_formats  # noqa: E402

SOURCE = HERE.parent.parent / "data" / "p3m_64.gadget2"
# In cgs units, as in the program.
MPC, MSUN = 3.085677581491367e24, 1.988409870698051e33


def table():
    rows = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0xC96C5795D7870F42 if crc & 1 else 0)
        rows.append(crc)
    return rows


ROWS = table()


def crc64(data):
    """Returns the checksum of make_formats, computed byte by byte."""
    crc = 0xFFFFFFFFFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ ROWS[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFFFFFFFFFF


def blocks(path):
    """Returns the records of the original."""
    raw, at, found = path.read_bytes(), 0, []
    while at < len(raw):
        (size,) = struct.unpack_from("<I", raw, at)
        found.append(raw[at + 4 : at + 4 + size])
        at += size + 8
    return found


def ramses(folder, x, v, ids, mass, head):
    """Writes an output of two processes with one particle type, in units in which the box is 1."""
    box, a, h, omega_m, omega_l = head
    unit_l, unit_t = box / h * a * MPC, 1e17
    unit_d = 1e45 / unit_l**3
    folder.mkdir(parents=True)
    numbers = dict(aexp=a, H0=100 * h, omega_m=omega_m, omega_l=omega_l, omega_k=0, omega_b=0.05, unit_l=unit_l, unit_d=unit_d, unit_t=unit_t)
    lines = ["ncpu        = 2", "ndim        = 3", "levelmin    = 7", "levelmax    = 12", "ngridmax    = 5000", "nstep_coarse= 10", ""]
    lines += ["boxlen      = 1.0", "time        = 0.0"] + [f"{name:12}= {value!r}" for name, value in numbers.items()]
    (folder / "info_00080.txt").write_text("\n".join(lines) + "\n\nordering type=hilbert\n")
    names = {"f8": "d", "i8": "q", "i4": "i", "i1": "b"}
    for cpu, own in enumerate(np.array_split(np.arange(len(x)), 2), 1):
        n = len(own)
        columns = {f"position_{axis}": x[own, k] / box for k, axis in enumerate("xyz")}
        columns |= {f"velocity_{axis}": v[own, k] * 1e5 / (unit_l / unit_t) for k, axis in enumerate("xyz")}
        columns |= {"mass": np.full(n, mass * 1e10 / h * MSUN / (unit_d * unit_l**3)), "identity": ids[own].astype("i8")}
        columns |= {"levelp": np.full(n, 9, "i4"), "family": np.ones(n, "i1"), "tag": np.zeros(n, "i1")}
        header = [struct.pack("<i", k) for k in [2, 3, n]] + [struct.pack("<4i", 1, 2, 3, 4)]
        header += [struct.pack("<i", 0), struct.pack("<d", 0.0), struct.pack("<d", 0.0), struct.pack("<i", 0)]
        records = header + [values.tobytes() for values in columns.values()]
        (folder / f"part_00080.out{cpu:05d}").write_bytes(b"".join(map(make_formats.record, records)))
    lines = ["# version:  1", "# ivar, variable_name, variable_type"]
    lines += [f"{k:3}, {name}, {names[values.dtype.str[1:]]}" for k, (name, values) in enumerate(columns.items(), 1)]
    (folder / "part_file_descriptor.txt").write_text("\n".join(lines) + "\n")


def halos(program, source, out, *said):
    options = ["--so", "200c", "--no-pictures", *said]
    subprocess.run([program, "halos", source, "--out", out, *options], check=True, stdout=subprocess.DEVNULL)
    return out / "halos.ecsv"


def main():
    program, folder = Path(sys.argv[1]), Path(sys.argv[2])
    sys.argv = [sys.argv[0], str(program), str(folder)]
    import outputs

    head, x, v, ids = blocks(SOURCE)
    x, v = (np.frombuffer(block, "<f4").reshape(-1, 3) for block in (x, v))
    ids = np.frombuffer(ids, "<u4" if len(ids) == 4 * len(x) else "<u8")
    (mass,) = struct.unpack_from("<d", head, 32)
    box, omega_m, omega_l, h = struct.unpack_from("<4d", head, 128)
    (a,) = struct.unpack_from("<d", head, 72)
    v = v.astype("f8") * np.sqrt(a)
    original = halos(program, SOURCE, folder / "original")

    make_formats.crc64 = crc64
    ranks = []
    for own in np.array_split(np.arange(len(x)), 3):
        columns = {axis: x[own, k] for k, axis in enumerate("xyz")} | {f"v{axis}": v[own, k].astype("f4") for k, axis in enumerate("xyz")}
        ranks.append(columns | {"id": ids[own].astype("i8"), "mass": np.full(len(own), mass * 1e10, "f4")})
    make_formats.genericio_file(folder / "snap.gio", ranks, scale=box)
    cosmology = ["--omega-m", str(omega_m), "--omega-lambda", str(omega_l), "--h", str(h), "--redshift", "0"]
    outputs.alike(halos(program, folder / "snap.gio", folder / "genericio", *cosmology), original)
    ramses(folder / "output_00080", x.astype("f8"), v, ids, mass, (box, a, h, omega_m, omega_l))
    outputs.alike(halos(program, folder / "output_00080", folder / "ramses"), original)
    print("GenericIO, RAMSES: the halos of the original")


if __name__ == "__main__":
    main()
