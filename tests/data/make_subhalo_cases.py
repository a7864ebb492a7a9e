#!/usr/bin/env python3
"""Writes p3m_64_subhalos.npz next to this file: AdaptaHOP structures of data/p3m_64.gadget2 by the published rules.

    pip install numpy==2.4.6 scipy==1.17.1
    python3 make_subhalo_cases.py       # the same arrays each time

The rules are those of Aubert, Pichon and Colombi 2004, appendix B, and of Tweed et al. 2009, section 2. Where these are incomplete,
the rules are those of their program. The tree of nodes is found from the root upwards, in steps of the threshold (`stepped`) and at
each saddle (`exact`).

Coordinates are f32 and multiples of 2^-48 of the box, so their differences are exact. Neighbours are sorted by (squared distance,
index), and in case of equal densities links go to the lowest index. Sums are computed by numpy. No comparison is closer to equality
than `nearest`, which is printed and is larger than rounding errors of sums (1e-13).

The archive holds, for each of two sets of parameters (`a_`: the defaults, `b_`: low thresholds, so that there are many levels):

- density: f64, that of every 64th particle;
- for the nodes of both trees (`stepped_`, `exact_`), parents first: parent (i16, -1 for a halo); saddle (f64); mass (i32); peak
  (i32), the densest particle; own (i32), the number of particles in the node and in no child; members (u64), the sum of SplitMix64
  of the indices of these, modulo 2^64;
- mass_of, density_of: i16 per node, the first node of the structure to which it belongs. The main child of a node is that of the
  largest mass without separate structures (MSM), or that of the largest density (DPM). HOP's selection consists of the nodes
  without a parent.
"""

import pathlib
import sys
import time

import numpy as np
from scipy.spatial import cKDTree

HERE = pathlib.Path(__file__).parent
sys.setrecursionlimit(100_000)

PARAMETERS = {
    "a": dict(n_density=20, n_hop=20, threshold=80.0, fudge=4.0, epsilon=0.05, alpha=1.0, members=20),
    "b": dict(n_density=16, n_hop=12, threshold=20.0, fudge=0.8, epsilon=0.01, alpha=0.5, members=12),
}
nearest = [np.inf]


def positions(path):
    """Returns positions and side of a Gadget-2 snapshot with one particle type."""
    data = path.read_bytes()
    side = np.frombuffer(data, "<f8", 1, 4 + 128)[0]
    size = np.frombuffer(data, "<u4", 1, 264)[0]
    return np.frombuffer(data, "<f4", size // 4, 268).reshape(-1, 3).astype("f8"), side


def neighbours(points, side, k):
    """Returns the k nearest others of each point, by squared distance and index, with these distances."""
    tree, n = cKDTree(points, boxsize=side), len(points)
    lists, squares = np.empty((n, k), "i8"), np.empty((n, k))
    for start in range(0, n, 1 << 14):
        rows = np.arange(start, min(start + (1 << 14), n))
        _, near = tree.query(points[rows], k + 8)
        d = np.abs(points[rows, None, :] - points[near])
        d = np.minimum(d, side - d) ** 2
        d2 = d[..., 0] + d[..., 1] + d[..., 2]
        d2[near == rows[:, None]] = -1.0
        order = np.lexsort((near, d2))
        near, d2 = (np.take_along_axis(x, order, 1) for x in (near, d2))
        assert np.all(near[:, 0] == rows)
        # No tie extends beyond the requested neighbours.
        assert np.all(d2[:, k] < d2[:, -1])
        lists[rows], squares[rows] = near[:, 1 : k + 1], d2[:, 1 : k + 1]
    return lists, squares


def densities(squares, side, n):
    """Returns densities in units of the mean. Half the distance to the last neighbour is h, and the particle itself counts 1."""
    h = np.sqrt(squares[:, -1:]) / 2.0
    q = np.sqrt(squares) / h
    kernel = np.where(q < 1.0, 1.0 - 1.5 * q**2 + 0.75 * q**3, 0.25 * np.maximum(2.0 - q, 0.0) ** 3)
    return (1.0 + kernel.sum(axis=1)) / (np.pi * h[:, 0] ** 3) / (n / side**3)


class Groups:
    """Particles above the threshold, grouped by the local maximum to which they are linked, and the saddles between groups."""

    def __init__(self, points, side, density, lists, p):
        self.points, self.side, self.density, self.p = points, side, density, p
        n = len(points)
        self.separation = side / n ** (1.0 / 3.0)
        own = np.arange(n)[:, None]
        candidates = np.sort(np.hstack([own, lists[:, : p["n_hop"]]]), axis=1)
        link = candidates[np.arange(n), np.argmax(density[candidates], axis=1)]
        while np.any(link[link] != link):
            link = link[link]
        self.inside = density > p["threshold"]
        peaks = np.unique(link[self.inside])
        self.peaks = peaks[np.lexsort((peaks, -density[peaks]))]
        number = np.full(n, -1)
        number[self.peaks] = np.arange(len(self.peaks))
        self.group = np.where(self.inside, number[link], -1)
        # Descending densities within a group.
        order = np.lexsort((np.arange(n), -density, self.group))
        order = order[self.group[order] >= 0]
        self.members = np.split(order, np.cumsum(np.bincount(self.group[order], minlength=len(peaks)))[:-1])
        self.saddles = self.find_saddles(lists[:, : p["n_hop"]])

    def find_saddles(self, lists):
        """Returns for each group its mutual neighbours, with the smaller of the two saddle densities."""
        seen = {}
        for i in np.flatnonzero(self.inside):
            for j in lists[i]:
                a, b = self.group[i], self.group[j]
                if b >= 0 and a != b:
                    seen[a, b] = max(seen.get((a, b), 0.0), min(self.density[i], self.density[j]))
        saddles = [{} for _ in self.peaks]
        for (a, b), one in seen.items():
            if (b, a) in seen:
                saddles[a][b] = min(one, seen[b, a])
        return saddles

    def components(self, groups, above):
        """Returns the groups with a peak above a density, connected by saddles above it."""
        left = {g for g in groups if self.density[self.peaks[g]] > above}
        components = []
        while left:
            component = [left.pop()]
            for g in component:
                joined = [other for other, saddle in self.saddles[g].items() if saddle > above and other in left]
                component += joined
                left.difference_update(joined)
            components.append(sorted(component))
        return sorted(components)

    def above(self, group, density):
        """Returns the members of a group that are denser."""
        members = self.members[group]
        return members[: np.searchsorted(-self.density[members], -density)]

    def particles(self, groups, density):
        return np.concatenate([self.above(g, density) for g in groups])

    def keep(self, groups, above):
        """Returns whether a component above a density counts."""
        p, inside = self.p, self.particles(groups, above)
        n, rho = len(inside), self.density[inside]
        if n < p["members"]:
            return False
        offset = self.points[inside] - self.points[inside[np.argmax(rho)]]
        offset -= self.side * np.round(offset / self.side)
        radius = np.sqrt(np.mean(np.sum((offset - offset.mean(axis=0)) ** 2, axis=1)))
        alone = [self.density[self.above(g, above)] for g in groups]
        ways = [(rho.mean(), n)] + [(own.mean(), len(own)) for own in alone if len(own)]
        tests = [(mean, above * (1.0 + p["fudge"] / np.sqrt(n))) for mean, n in ways]
        others = [(rho.max(), p["alpha"] * rho.mean()), (radius, p["epsilon"] * self.separation)]
        nearest[0] = min([nearest[0]] + [abs(a / b - 1.0) for a, b in tests + others if a != b])
        return any(a > b for a, b in tests) and all(a >= b for a, b in others)

    def stepped(self, groups, threshold):
        """Returns the children of a node with these groups: (groups, saddle, children)."""
        parts = self.components(groups, threshold)
        kept = [part for part in parts if self.keep(part, threshold)]

        def higher(part):
            return threshold * (1.0 + self.p["fudge"] / np.sqrt(max(len(self.above(g, threshold)) for g in part)))

        if len(kept) == 1:
            left = sum(parts, [])
            return self.stepped(left, higher(kept[0])) if len(left) > 1 else []
        return [(part, threshold, self.stepped(part, higher(part)) if len(part) > 1 else []) for part in kept]

    def exact(self, groups, above):
        """Returns whether a component counts above a density, and its children at the least dense saddle where several that count
        meet."""
        if len(groups) > 1:
            # The lowest density at which it splits: the weakest link of a spanning tree of the densest saddles.
            at = self.weakest(groups)
            parts = [(part, *self.exact(part, at)) for part in self.components(groups, at)]
            counting = [(part, at, children) for part, counts, children in parts if counts]
            if len(counting) > 1:
                return True, counting
            below = sum([children for _, _, children in parts], [])
            if below:
                return True, below
        return self.keep(groups, above), []

    def weakest(self, groups):
        """Finds the weakest link by Prim's algorithm for the densest saddles."""
        inside, best, weakest = set(groups[1:]), dict(self.saddles[groups[0]]), np.inf
        while inside:
            g = max((g for g in best if g in inside), key=best.get)
            weakest = min(weakest, best[g])
            inside.discard(g)
            for other, saddle in self.saddles[g].items():
                best[other] = max(best.get(other, 0.0), saddle)
        return weakest


def split_mix(x):
    """Returns SplitMix64 (Steele, Lea and Flood 2014) with each number as a seed."""
    x = x.astype("u8") + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def table(sky, hosts):
    """Returns the arrays of a tree."""
    parent, saddle, mass, peak = [], [], [], []
    label = np.full(len(sky.points), -1)

    def add(node, of):
        groups, density, children = node
        own, inside = len(parent), sky.particles(groups, density)
        parent.append(of)
        saddle.append(density)
        mass.append(len(inside))
        peak.append(sky.peaks[min(groups)])
        label[inside] = own
        for child in children:
            add(child, own)

    for host in hosts:
        add(host, -1)
    parent = np.array(parent)
    inside = np.flatnonzero(label >= 0)
    members = np.zeros(len(parent), "u8")
    np.add.at(members, label[inside], split_mix(inside))
    arrays = dict(
        parent=parent.astype("<i2"),
        saddle=np.array(saddle, "<f8"),
        mass=np.array(mass, "<i4"),
        peak=np.array(peak, "<i4"),
        own=np.bincount(label[inside], minlength=len(parent)).astype("<i4"),
        members=members.astype("<u8"),
    )
    densest = sky.density[peak]
    below = arrays["own"].copy()
    main = dict(mass=np.full(len(parent), -1), density=np.full(len(parent), -1))
    # From the leaves down: a structure is a node without its children, plus its main child.
    for node in range(len(parent) - 1, -1, -1):
        children = np.flatnonzero(parent == node)
        if len(children):
            main["mass"][node] = children[np.lexsort((-densest[children], -below[children]))[0]]
            main["density"][node] = children[np.argmax(densest[children])]
            below[node] += below[main["mass"][node]]
    for name, child in main.items():
        first = np.arange(len(parent))
        for node in range(len(parent)):
            if parent[node] >= 0 and child[parent[node]] == node:
                first[node] = first[parent[node]]
        arrays[f"{name}_of"] = first.astype("<i2")
    return arrays


def main():
    points, side = positions(HERE.parent.parent / "data/p3m_64.gadget2")
    assert np.all(points * (2.0**48 / side) % 1.0 == 0.0)
    arrays = {}
    for name, p in PARAMETERS.items():
        start = time.perf_counter()
        lists, squares = neighbours(points, side, max(p["n_density"], p["n_hop"]))
        density = densities(squares[:, : p["n_density"]], side, len(points))
        sky = Groups(points, side, density, lists, p)
        every, threshold = list(range(len(sky.peaks))), p["threshold"]
        hosts = []
        for part in sky.components(every, threshold):
            counts, children = sky.exact(part, threshold)
            hosts += [(part, threshold, children)] if counts else []
        arrays[f"{name}_density"] = density[::64]
        for tree, found in (("stepped", sky.stepped(every, threshold)), ("exact", hosts)):
            columns = table(sky, found)
            arrays |= {f"{name}_{tree}_{key}": value for key, value in columns.items()}
            structures = [len(np.unique(columns[f"{key}_of"])) for key in ("mass", "density")]
            print(name, tree, len(found), "halos,", len(columns["parent"]), "nodes,", structures, "structures", file=sys.stderr)
        print(f"{time.perf_counter() - start:.1f} s, {len(every)} groups, nearest {nearest[0]:.1e}", file=sys.stderr)
    np.savez_compressed(HERE / "p3m_64_subhalos.npz", **arrays)


main()
