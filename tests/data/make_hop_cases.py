#!/usr/bin/env python3
"""Writes p3m_64_hop.npz next to this file: the result of yt's HOP for data/p3m_64.gadget2.

    pip install numpy==2.4.6 scipy==1.17.1 yt==4.4.3 yt_astro_analysis==1.1.4
    python3 make_hop_cases.py           # the same arrays each time

yt_astro_analysis includes the original code of Eisenstein and Hut (hop.c, regroup.c), which computes distances in f32 from f32
positions in the unit box. The side of the snapshot's box is a power of two, so these positions are exact. Distances across its
boundary are not, and densities there differ by up to 6.2e-5 from those in f64. The parameters are 64 neighbours for densities and
hops, 4 for boundaries, saddle and peak at 2.5 and 3 times the threshold, and groups of 10 or more.

The archive holds

- labels_80, labels_160: i32 per particle in file order for each threshold; groups are numbered by their smallest member, -1 is
  none;
- density: f32, that of every eighth particle in units of the mean density;
- exact: f64, that of every 32nd particle by the definition, with neighbours from scipy's cKDTree.
"""

import pathlib
import sys
import time

import numpy as np
from scipy.spatial import cKDTree
from yt_astro_analysis.halo_analysis.halo_finding.hop.EnzoHop import RunHOP

HERE = pathlib.Path(__file__).parent


def positions(path):
    """Returns positions and side of a Gadget-2 snapshot with one particle type."""
    data = path.read_bytes()
    side = np.frombuffer(data, "<f8", 1, 4 + 128)[0]
    size = np.frombuffer(data, "<u4", 1, 264)[0]
    return np.frombuffer(data, "<f4", size // 4, 268).reshape(-1, 3), side


def by_smallest_member(tags):
    """Renumbers tags by their smallest member."""
    labels = np.full(len(tags), -1, "<i4")
    inside = tags >= 0
    _, first, which = np.unique(tags[inside], return_index=True, return_inverse=True)
    labels[inside] = np.argsort(np.argsort(first))[which]
    return labels


def densities(points):
    """Returns the symmetric densities of particles in the periodic unit box."""
    tree, total = cKDTree(points, boxsize=1.0), np.zeros(len(points))
    for start in range(0, len(points), 1 << 14):
        distance, other = tree.query(points[start : start + (1 << 14)], 65)
        h = distance[:, 64:] / 2.0
        q = distance / h
        kernel = np.where(q < 1.0, 1.0 - 1.5 * q**2 + 0.75 * q**3, 0.25 * np.maximum(2.0 - q, 0.0) ** 3) / (np.pi * h**3)
        half = 0.5 * kernel / len(points)
        total[start : start + len(half)] += half.sum(axis=1)
        np.add.at(total, other.ravel(), half.ravel())
    return total


def main():
    points, side = positions(HERE.parent.parent / "data/p3m_64.gadget2")
    assert np.log2(side) % 1 == 0
    x, y, z = (np.ascontiguousarray(points[:, k] / side, "f8") for k in range(3))
    assert all(np.all((axis >= 0) & (axis < 1) & (axis == axis.astype("f4"))) for axis in (x, y, z))
    arrays = {}
    for threshold in (80, 160):
        start = time.perf_counter()
        density, tags = RunHOP(x, y, z, np.ones(len(x)), float(threshold))
        print(f"threshold {threshold}: {time.perf_counter() - start:.2f} s, {tags.max() + 1} groups", file=sys.stderr)
        arrays[f"labels_{threshold}"] = by_smallest_member(tags)
    arrays["density"] = density[::8].astype("<f4")
    arrays["exact"] = densities(np.stack([x, y, z], axis=1))[::32].astype("<f8")
    np.savez_compressed(HERE / "p3m_64_hop.npz", **arrays)


main()
