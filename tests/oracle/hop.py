#!/usr/bin/env python3
"""Compares `ropewalk halos --finder hop` with yt's HOP, the original code of Eisenstein and Hut.

    python3 tests/oracle/hop.py target/release/ropewalk SNAPSHOT [THRESHOLD ..]

SNAPSHOT is a Gadget-2 snapshot with one particle type, in a box whose side is a power of two, so that its positions are exact in
yt's unit box. For each threshold (80 and 160) the groups must be the same, particle by particle.

Distances in yt have 32 bits, so densities may differ by one part in 10,000. Particles whose density is that close to the threshold
may be in a group of only one program. If a low chain borders on two groups over the same boundary, the result depends in yt on the
order of boundaries, and here on the neighbour's group. Such chains may be in different groups: at most one in 10,000 of the grouped
particles. The times of both programs are printed. Needs numpy, yt
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from yt_astro_analysis.halo_analysis.halo_finding.hop.EnzoHop import RunHOP

CLOSE = 1e-4


def positions(path):
    """Returns positions in the unit box."""
    data = path.read_bytes()
    side = np.frombuffer(data, "<f8", 1, 4 + 128)[0]
    assert np.log2(side) % 1 == 0
    size = np.frombuffer(data, "<u4", 1, 264)[0]
    return np.frombuffer(data, "<f4", size // 4, 268).reshape(-1, 3) / side


def main():
    program, snapshot = sys.argv[1], Path(sys.argv[2])
    axes = [np.ascontiguousarray(axis, "f8") for axis in positions(snapshot).T]
    for threshold in map(float, sys.argv[3:] or ["80", "160"]):
        with tempfile.TemporaryDirectory() as folder:
            command = [program, "halos", snapshot, "--out", folder, "--finder", "hop", "--delta-outer", str(threshold)]
            start = time.perf_counter()
            subprocess.run(command + ["--min-members", "10", "--density", "--no-pictures"], check=True, capture_output=True)
            ours_took = time.perf_counter() - start
            density = np.load(Path(folder, "density.npy"))
            labels = np.load(Path(folder, "labels.npy"))
        start = time.perf_counter()
        theirs, tags = RunHOP(*axes, np.ones(len(axes[0])), threshold)
        theirs_took = time.perf_counter() - start
        apart = np.max(np.abs(theirs / density - 1.0))
        assert apart < CLOSE, apart
        sure = np.abs(density / threshold - 1.0) > CLOSE
        pairs = np.unique(np.stack([labels, tags], axis=1)[sure], axis=0)
        assert np.all((pairs[:, 0] < 0) == (pairs[:, 1] < 0)), pairs
        # The group of yt that contains most members of each group here.
        grouped = sure & (labels >= 0)
        pairs, counts = np.unique(np.stack([labels, tags], axis=1)[grouped], axis=0, return_counts=True)
        twin = np.zeros(labels.max() + 1, int)
        order = np.argsort(counts)
        twin[pairs[order, 0]] = pairs[order, 1]
        assert len(np.unique(twin[np.unique(pairs[:, 0])])) == len(np.unique(pairs[:, 0])) == len(np.unique(pairs[:, 1]))
        other = grouped & (twin[labels] != tags)
        assert np.sum(other) <= 1e-4 * np.sum(grouped) and np.all(density[other] < 3.0 * threshold), np.sum(other)
        print(
            f"\n{snapshot.name}, threshold {threshold}: {tags.max() + 1} groups, densities within {apart:.2e}, "
            f"{np.sum(~sure)} particles not compared, {np.sum(other)} by another pass, {ours_took:.2f} s, yt {theirs_took:.2f} s",
            file=sys.stderr,
        )


main()
