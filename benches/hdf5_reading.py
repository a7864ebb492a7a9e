#!/usr/bin/env python3
"""Times the reading of a large HDF5 snapshot by ropewalk with two threads and by h5py, which uses one.

    python3 benches/hdf5_reading.py target/release/ropewalk FOLDER [--gigabytes 2] [--times 3]

Writes FOLDER/large.hdf5 if it does not exist. The file has clustered positions and velocities in single precision, shuffled ids
of 64 bits, and masses. Its chunks of 65,536 rows are compressed by shuffle and gzip. `ropewalk convert` also writes what it has read to /dev/null, which is a
disadvantage. Both programs run in turns in separate processes. The best time and the memory peak of each are reported. Requires
h5py and numpy.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

FIELDS = ("Coordinates", "Velocities", "ParticleIDs", "Masses")
#: Bytes of a particle in memory, of ropewalk: masses are of double precision.
BYTES = 12 + 12 + 8 + 8
ROWS = 1 << 16
BY_H5PY = f"""
import sys, h5py
with h5py.File(sys.argv[1]) as file:
    arrays = [file["PartType1/" + name][...] for name in {FIELDS}]
"""


def write(path, n):
    import h5py
    import numpy as np

    random = np.random.default_rng(1)
    with h5py.File(path, "w") as file:
        counts = np.array([0, n, 0, 0, 0, 0], "u4")
        file.create_group("Header").attrs.update(
            NumPart_ThisFile=counts, NumPart_Total=counts, NumPart_Total_HighWord=np.zeros(6, "u4"), MassTable=np.zeros(6), Time=0.5,
            Redshift=1.0, BoxSize=100.0, NumFilesPerSnapshot=1, Omega0=0.3, OmegaLambda=0.7, HubbleParam=0.7)
        group = file.create_group("PartType1")
        kinds = ((3,), "f4"), ((3,), "f4"), ((), "u8"), ((), "f4")
        columns = [group.create_dataset(name, (n, *tail), kind, chunks=(ROWS, *tail), compression="gzip", compression_opts=1, shuffle=True)
                   for name, (tail, kind) in zip(FIELDS, kinds)]
        for start in range(0, n, 64 * ROWS):
            i = np.arange(start, min(start + 64 * ROWS, n))
            # Near the cell of a grid in whose order particles are stored, as in files of simulation codes.
            cell = np.stack([i >> 18 & 511, i >> 9 & 511, i & 511], axis=1)
            values = (cell * 0.19 + random.normal(0, 0.3, (len(i), 3)), random.normal(0, 200, (len(i), 3)), random.permutation(i) + 1,
                      np.full(len(i), 0.05))
            for column, own in zip(columns, values):
                column[i[0]:i[-1] + 1] = own


def run(command):
    """Returns wall-clock seconds, processor seconds, and the memory peak in bytes."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0, command
    return time.perf_counter() - start, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    arguments.add_argument("program")
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("--gigabytes", type=float, default=2.0)
    arguments.add_argument("--times", type=int, default=3)
    arguments = arguments.parse_args()
    path, n = arguments.folder / "large.hdf5", int(arguments.gigabytes * 1e9 / 36)
    if not path.exists():
        # Runs in a separate process, so that its memory does not count for the processes started afterwards.
        writer = multiprocessing.Process(target=write, args=(path, n))
        writer.start()
        writer.join()
    ours = [arguments.program, "convert", str(path), "/dev/null", "--format", "npz", "--threads", "2"]
    theirs = [sys.executable, "-c", BY_H5PY, str(path)]
    rows = [(run(ours), run(theirs)) for _ in range(arguments.times)]
    best = [min(column) for column in zip(*rows)]
    memory = max(row[0][2] for row in rows) / (n * BYTES)
    for name, (clock, processors, most) in zip(("ropewalk, 2 threads", "h5py, 1 thread"), best):
        print(f"{name}: {clock:.2f} s, {processors:.2f} s of processor time, {most / 1e6:.0f} MB")
    print(f"{best[1][0] / best[0][0]:.2f} times as fast; memory {memory:.3f} times that of the arrays")


if __name__ == "__main__":
    main()
