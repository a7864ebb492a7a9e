#!/usr/bin/env python3
"""Estimates time, memory and traffic of friends of friends with a catalogue across ranks. benches/model.md explains each line.

    python3 benches/model.py [--particles 1e12] [--ranks 1e4] [--network 1e9]

The constants are measured, the network is assumed. Work is the time of `bench --ops fof` (benches/ranks.sh), without measuring halos for
the catalogue."""
import argparse
from math import log2

NANOSECONDS = 567  # per particle of a rank, for p3m_336 on 16 ranks that use the whole machine
AT = 37.9e6 / 16  # the number of particles per rank in that run
BYTES_SENT = 21.7  # per particle in random order: nearly all particles are sent to their regions, and their labels back
MEMORY = 58  # peak bytes per particle of a rank
GROUPS = 2.63e6 / 37.9e6  # groups of two or more, per particle
HALOS = 69_346 / 37.9e6  # halos of 20 or more, per particle
SENT = 15 * 8  # bytes sent per row of the catalogue
ROW = SENT + 13 * 8 * 2  # bytes per row on rank 0, with its 13 columns before and after sorting
CALLS = 89  # collective calls of a run on 16 ranks
SHARE = 1 << 20  # maximum number of boxes, and of samples, of all ranks; 16 boxes per rank from 65,536 ranks on

a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
a.add_argument("--particles", type=float, default=1e12)
a.add_argument("--ranks", type=float, default=1e4)
a.add_argument("--network", type=float, default=1e9, help="bytes per second that a rank sends while all ranks send")
a.add_argument("--latency", type=float, default=2e-6, help="seconds per message in addition to its bytes")
a.add_argument("--memory", type=float, default=4e9, help="bytes of memory per rank")
a.add_argument("--rank-0", type=float, default=64e9, help="bytes of memory of rank 0")
o = a.parse_args()
N, P, n = o.particles, o.ranks, o.particles / o.ranks
boxes = min(1 << 10, max(16, SHARE // int(P))) * P
print(f"{N:.0e} particles on {P:.0f} ranks, {n:.1e} on each")
# The number of passes of sorts and traversals is proportional to the number of levels of the tree.
print(f"  work          {n * NANOSECONDS * 1e-9 * log2(n) / log2(AT):10.1f} s")
print(f"  moving        {n * BYTES_SENT / o.network:10.1f} s      {n * BYTES_SENT / 1e9:8.2f} GB sent by a rank; 0 if particles are in place")
# Ghosts at six faces of a cube, a fifth of a mean separation deep, and twice that number because of the corners of boxes.
ghosts = 6 * n ** (2 / 3) * 0.2 * 2
print(f"  ghosts        {ghosts * 2.5 * 12 / o.network:10.3f} s      {ghosts:8.1e} per rank; 2.5 times their positions are sent")
print(f"  calls         {CALLS * P * o.latency:10.2f} s      {CALLS} with a message to each rank")
print(f"  boxes         {boxes * 24 / o.network:10.3f} s      {boxes * 64 / 1e9:8.2f} GB per rank, including their tree")
print(f"  memory                          {(n * MEMORY + boxes * 64 + SHARE * 16) / 1e9:8.1f} GB per rank")
print(f"  catalogue     {N * HALOS * SENT / o.network:10.1f} s      {N * HALOS * ROW / 1e9:8.1f} GB on rank 0: {N * HALOS:.1e} rows")
print("limits as the number of particles grows on the same ranks:")
for what, limit in sorted(
    {
        "labels of 32 bits in labels.npy": (2**31 - 1) / GROUPS,
        f"rows in {o.rank_0 / 1e9:.0f} GB of rank 0": o.rank_0 / (HALOS * ROW),
        f"particles in {o.memory / 1e9:.0f} GB of a rank": (o.memory - boxes * 64) / MEMORY * P,
        "32-bit indices on a rank": 2.0**32 * P,
    }.items(),
    key=lambda item: item[1],
):
    print(f"  {limit:8.1e}  {what}")
