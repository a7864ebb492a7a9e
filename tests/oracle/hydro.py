#!/usr/bin/env python3
"""Compares halos of a hydrodynamical snapshot with an independent calculation by numpy and scipy.

    python3 tests/oracle/hydro.py target/release/ropewalk data/p3m_64.gadget2 [--mpi PROGRAM] [--python]

Writes a snapshot as IllustrisTNG lays it out: three HDF5 files, particle types 0 (gas), 1 (dark matter), 4 (stars) and 5 (black
holes), comoving kpc/h, redshift 0.5. Its dark matter is that of the given Gadget-2 snapshot; gas, stars and black holes are placed
around dark matter particles with a seeded generator, and all types together have the mean density of matter.

The calculation shares no code with ropewalk: friends of friends are the connected components of scipy's pairs, other types join the
halo of their nearest dark matter particle within the linking length, spheres and structure are sums over sorted arrays. Compared are
labels of all types, total and per-type masses, M200c and R200c, spin, vmax, half-mass radius, axis ratios and the mass function; with
`--attach none` the same for dark matter alone, and what the report and the catalogue say of the particles that were left out.
`--mpi PROGRAM` runs PROGRAM (built with MPI) on three ranks too and compares all files byte for byte; `--python` calls the installed
Python package and compares its arrays.
"""

import argparse
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import h5py
import numpy as np
from astropy.table import Table
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

REDSHIFT, OMEGA_M, OMEGA_L, OMEGA_B, HUBBLE = 0.5, 0.31, 0.69, 0.0486, 0.68
HALOS = 60
MIN_MEMBERS = 20


def read_dark_matter(path):
    """Side, positions and stored velocities of a little-endian Gadget-2 snapshot of one type."""
    raw = path.read_bytes()
    blocks, at = [], 0
    while at < len(raw):
        (size,) = struct.unpack_from("<I", raw, at)
        blocks.append(raw[at + 4 : at + 4 + size])
        at += size + 8
    (side,) = struct.unpack_from("<d", blocks[0], 128)
    x, v = (np.frombuffer(block, "<f4").reshape(-1, 3) for block in blocks[1:3])
    return side, x, v


def make(source, folder):
    """Writes the snapshot. Returns its side and, by type, the arrays in the order of its files."""
    rng = np.random.default_rng(20261125)
    side, x, v = read_dark_matter(source)
    side, x = 1000 * side, x.astype("f8") * 1000
    volume = (side / 1000) ** 3
    matter = OMEGA_M * 27.7536627 * volume  # 1e10 Msun/h
    baryons = matter * OMEGA_B / OMEGA_M
    # Gas and stars follow the dark matter that has the most neighbours within 150 kpc/h.
    tree = cKDTree(np.mod(x, side), boxsize=side)
    density = tree.query_ball_point(np.mod(x, side), 150.0, return_length=True)
    hosts = {
        0: rng.permutation(len(x))[: len(x) // 3],
        4: rng.choice(len(x), 21_000, replace=False, p=density / density.sum()),
        5: rng.choice(len(x), 300, replace=False, p=density / density.sum()),
    }
    jitter = {0: 40.0, 4: 15.0, 5: 1.0}
    particles = {}
    for kind, host in hosts.items():
        position = np.mod(x[host] + rng.normal(scale=jitter[kind], size=(len(host), 3)), side)
        velocity = v[host] + rng.normal(scale=30.0, size=(len(host), 3))
        mass = rng.uniform(0.5, 1.5, len(host))
        particles[kind] = dict(x=position, v=velocity, m=mass)
    share = {0: 0.85, 4: 0.149, 5: 0.001}
    for kind, table in particles.items():
        table["m"] *= baryons * share[kind] / table["m"].sum()
    particles[1] = dict(x=x, v=v.astype("f8"), m=np.full(len(x), (matter - baryons) / len(x)))
    numbers = rng.permutation(sum(len(table["m"]) for table in particles.values())).astype("u8") + 1
    at = 0
    for kind in sorted(particles):
        table = particles[kind]
        n = len(table["m"])
        wide = "f8" if kind == 4 else "f4"
        table.update(x=table["x"].astype(wide), v=table["v"].astype("f4"), ids=numbers[at : at + n])
        if kind != 1:
            table["m"] = table["m"].astype("f4")
        at += n
    write(folder, side, particles)
    return side, particles


def write(folder, side, particles):
    files = 3
    totals = [len(particles[kind]["m"]) if kind in particles else 0 for kind in range(6)]
    # Uneven parts, and one file without black holes.
    cuts = {kind: np.array([0, len(table["m"]) // 4, len(table["m"]) * 2 // 3, len(table["m"])]) for kind, table in particles.items()}
    cuts[5][1] = 0
    for part in range(files):
        with h5py.File(folder / f"snap_067.{part}.hdf5", "w") as file:
            here = [int(cuts[kind][part + 1] - cuts[kind][part]) if kind in cuts else 0 for kind in range(6)]
            header = file.create_group("Header").attrs
            header["NumPart_ThisFile"] = np.array(here, "i4")
            header["NumPart_Total"] = np.array(totals, "u4")
            header["NumPart_Total_HighWord"] = np.zeros(6, "u4")
            header["MassTable"] = np.array([0, particles[1]["m"][0], 0, 0, 0, 0])
            header["Time"], header["Redshift"], header["BoxSize"] = 1 / (1 + REDSHIFT), REDSHIFT, side
            header["NumFilesPerSnapshot"] = np.int32(files)
            header["Omega0"], header["OmegaLambda"], header["OmegaBaryon"], header["HubbleParam"] = OMEGA_M, OMEGA_L, OMEGA_B, HUBBLE
            header["UnitLength_in_cm"], header["UnitMass_in_g"], header["UnitVelocity_in_cm_per_s"] = 3.085678e21, 1.989e43, 1e5
            for name in ("Flag_Sfr", "Flag_Cooling", "Flag_StellarAge", "Flag_Metals", "Flag_Feedback"):
                header[name] = np.int32(1)
            header["Flag_DoublePrecision"] = np.int32(0)
            for kind, table in particles.items():
                rows = slice(cuts[kind][part], cuts[kind][part + 1])
                if rows.start == rows.stop:
                    continue
                group = file.create_group(f"PartType{kind}")
                group["Coordinates"], group["Velocities"], group["ParticleIDs"] = (table[name][rows] for name in ("x", "v", "ids"))
                if kind != 1:
                    group["Masses"] = table["m"][rows]


def friends_of_friends(x, side, length):
    """The connected components of two or more, numbered from 0 by their smallest member; -1 elsewhere."""
    pairs = cKDTree(x, boxsize=side).query_pairs(length, output_type="ndarray")
    n = len(x)
    _, component = connected_components(coo_matrix((np.ones(len(pairs), bool), pairs.T), shape=(n, n)), directed=False)
    sizes = np.bincount(component)
    first = np.full(len(sizes), n)
    np.minimum.at(first, component, np.arange(n))
    kept = np.flatnonzero(sizes >= 2)
    number = np.full(len(sizes), -1)
    number[kept[np.argsort(first[kept])]] = np.arange(len(kept))
    return number[component]


class Expected:
    """Halos of dark matter and of what joins them, by numpy."""

    def __init__(self, side, particles, attached):
        self.side, self.attached = side, attached
        wrapped = {kind: np.mod(table["x"].astype("f8"), side) for kind, table in particles.items()}
        # A remainder may round to the side itself.
        wrapped = {kind: np.where(x >= side, x - side, x) for kind, x in wrapped.items()}
        length = 0.2 * side / len(wrapped[1]) ** (1 / 3)
        self.labels = {1: friends_of_friends(wrapped[1], side, length)}
        tree = cKDTree(wrapped[1], boxsize=side)
        for kind in attached:
            distance, nearest = tree.query(wrapped[kind], distance_upper_bound=length * (1 + 1e-9))
            near = distance <= length
            self.labels[kind] = np.where(near, self.labels[1][np.where(near, nearest, 0)], -1)
        kinds = [1, *attached]
        self.kind = np.concatenate([np.full(len(wrapped[kind]), kind) for kind in kinds])
        self.x = np.concatenate([particles[kind]["x"].astype("f8") for kind in kinds])
        self.v = np.concatenate([particles[kind]["v"].astype("f8") for kind in kinds]) * np.sqrt(1 / (1 + REDSHIFT))
        self.m = np.concatenate([particles[kind]["m"].astype("f8") for kind in kinds])
        self.label = np.concatenate([self.labels[kind] for kind in kinds])

    def halo(self, label, center):
        """All numbers of one halo about a centre."""
        a = 1 / (1 + REDSHIFT)
        gravity = 43009.1727 / a  # (km/s)^2 kpc / 1e10 Msun, for comoving radii
        offset = (self.x - center + self.side / 2) % self.side - self.side / 2
        radius = np.linalg.norm(offset, axis=1)
        order = np.argsort(radius, kind="stable")
        enclosed = np.cumsum(self.m[order])
        expansion2 = OMEGA_M * (1 + REDSHIFT) ** 3 + OMEGA_L + (1 - OMEGA_M - OMEGA_L) * (1 + REDSHIFT) ** 2
        threshold = 200 * 27.7536627e-9 * expansion2 * a**3  # 1e10 Msun/h, (kpc/h)^-3, comoving
        reach = (3 * enclosed / (4 * np.pi * threshold)) ** (1 / 3)
        i = int(np.argmax(reach[:-1] < radius[order][1:]))
        found = dict(m200c=enclosed[i], r200c=reach[i], count200c=i + 1)

        own = order[self.label[order] == label]
        mass, distance = self.m[own], radius[own]
        total = mass.sum()
        found["mass"] = {kind: mass[self.kind[own] == kind].sum() for kind in [1, *self.attached]}
        found["count"] = {kind: int((self.kind[own] == kind).sum()) for kind in [1, *self.attached]}
        found["total"] = total
        within = np.cumsum(mass)
        with np.errstate(divide="ignore"):
            speed = np.sqrt(gravity * within / distance)
        speed[distance == 0] = 0
        best = 7 + np.argmax(speed[7:])
        found["vmax"], found["rvmax"] = speed[best], distance[best]
        found["half_mass_radius"] = distance[np.searchsorted(within, 0.5 * total * (1 - 1e-12))]
        values = np.sqrt(np.linalg.eigvalsh(np.einsum("n,ni,nj->ij", mass, offset[own], offset[own])))
        found["axis_ratio_b"], found["axis_ratio_c"] = values[1] / values[2], values[0] / values[2]
        # Bullock et al. 2001, equation 5: momentum and mass of the halo's own particles within R200c.
        inside = own[distance <= reach[i]]
        m, x, v = self.m[inside], offset[inside], self.v[inside]
        v = v - np.average(v, axis=0, weights=m)
        momentum = np.linalg.norm((m[:, None] * np.cross(x, v)).sum(axis=0))
        found["spin"] = momentum / (np.sqrt(2 * gravity * m.sum() * reach[i]) * m.sum())
        return found

    def totals(self):
        """The mass of each halo over all its types."""
        members = self.label >= 0
        groups = np.bincount(self.label[members], weights=self.m[members])
        return groups[np.bincount(self.labels[1][self.labels[1] >= 0], minlength=len(groups)) >= MIN_MEMBERS]


def run(program, folder, out, *options, ranks=None):
    """Runs `ropewalk halos`; returns what it prints."""
    command = [program, "halos", folder / "snap_067.0.hdf5", "--out", out, "--so", "200c", "--threads", "1", *options]
    env = dict(os.environ)
    if ranks:
        command = ["mpirun", "--oversubscribe", "-n", str(ranks), *command, "--mpi"]
        env |= dict(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1")
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check(name, ours, theirs, row, limit=1e-6):
    if not abs(ours - theirs) <= limit * abs(theirs):
        sys.exit(f"halo {row}: {name} is {ours}, should be {theirs}")


def compare(out, expected, particles):
    """Holds the files of one run against numpy."""
    catalog = Table.read(out / "halos.ecsv")
    attached = expected.attached
    assert np.array_equal(np.load(out / "labels.npy"), expected.labels[1]), "labels of dark matter"
    for kind in attached:
        labels, ids = np.load(out / f"labels_type{kind}.npy"), np.load(out / f"ids_type{kind}.npy")
        assert np.array_equal(labels, expected.labels[kind]), f"labels of type {kind}"
        assert np.array_equal(ids, particles[kind]["ids"]), f"ids of type {kind}"
    assert len(catalog) == len(expected.totals())
    for row in np.unique(np.r_[np.arange(HALOS), np.linspace(HALOS, len(catalog) - 1, HALOS).astype(int)]):
        halo = catalog[int(row)]
        center = np.array([halo[f"fof_halo_center_{axis}"] for axis in "xyz"]).astype("f4").astype(float)
        found = expected.halo(int(halo["fof_halo_label"]), center)
        check("mass of dark matter", halo["fof_halo_mass"], found["mass"][1], row)
        assert halo["fof_halo_count"] == found["count"][1], row
        if attached:
            check("total mass", halo["fof_halo_mass_total"], found["total"], row)
            assert halo["fof_halo_count_total"] == sum(found["count"].values()), row
            for kind in [1, *attached]:
                check(f"mass of type {kind}", halo[f"fof_halo_mass_type{kind}"], found["mass"][kind], row)
                assert halo[f"fof_halo_count_type{kind}"] == found["count"][kind], (row, kind)
        for name in ("vmax", "rvmax", "half_mass_radius", "axis_ratio_b", "axis_ratio_c"):
            check(name, halo[f"fof_halo_{name}"], found[name], row)
        if found["count200c"] >= MIN_MEMBERS:
            assert halo["sod_halo_count_200c"] == found["count200c"], row
            check("M200c", halo["sod_halo_m200c"], found["m200c"], row)
            check("R200c", halo["sod_halo_r200c"], found["r200c"], row)
            check("spin", halo["fof_halo_spin"], found["spin"], row)
        else:
            assert np.isnan(halo["sod_halo_m200c"]), row
    return catalog


def compare_mass_function(out, expected):
    table = Table.read(out / "mass_function.ecsv")
    totals = expected.totals()
    for line in table:
        # Edges are written with nine digits; no halo stands so near to one that it matters, which the two counts show.
        low, high = (np.sum(totals >= line["mass_min"] * factor) for factor in (1 - 1e-8, 1 + 1e-8))
        assert line["count_above"] in (low, high), (line["mass_min"], line["count_above"], low, high)
    assert table["count_above"][0] > 100


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("source", type=Path)
    parser.add_argument("--mpi", help="the program, built with MPI")
    parser.add_argument("--python", action="store_true", help="compare the installed Python package, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        side, particles = make(options.source, folder)
        mass = {kind: float(table["m"].astype("f8").sum()) for kind, table in particles.items()}
        share = 1 - mass[1] / sum(mass.values())

        whole = Expected(side, particles, [0, 4, 5])
        report = run(options.program, folder, folder / "whole")
        assert "not read" not in report, report
        catalog = compare(folder / "whole", whole, particles)
        compare_mass_function(folder / "whole", whole)
        lost = Table.read(folder / "whole" / "halos.ecsv").meta.get("mass_share_not_read")
        assert lost is None, lost

        alone = Expected(side, particles, [])
        report = run(options.program, folder, folder / "alone", "--attach", "none")
        assert "types 0, 4 and 5" in report and f"{100 * share:.1f}%" in report, report
        bare = compare(folder / "alone", alone, particles)
        compare_mass_function(folder / "alone", alone)
        check("mass share that was not read", bare.meta["mass_share_not_read"], share, "-")
        assert str(bare.meta["types_not_read"]) == "0, 4, 5", bare.meta
        lower = np.nanmedian(bare["sod_halo_m200c"] / catalog["sod_halo_m200c"])
        assert 0.7 < lower < 0.95, lower

        if options.mpi:
            run(options.mpi, folder, folder / "ranks", ranks=3)
            names = sorted(path.name for path in (folder / "whole").iterdir())
            assert names == sorted(path.name for path in (folder / "ranks").iterdir()), names
            for name in names:
                one, three = ((folder / out / name).read_bytes() for out in ("whole", "ranks"))
                assert one.replace(b"whole", b"") == three.replace(b"ranks", b""), f"{name} of three ranks differs"
            print(f"three ranks: {len(names)} files, byte for byte")
        if options.python:
            compare_python(folder, whole, catalog)
        print(f"hydrodynamical snapshot: {len(catalog)} halos; {100 * share:.1f}% of the mass is in types 0, 4 and 5: equal")


def compare_python(folder, expected, catalog):
    """Holds the arrays of the Python package against numpy and against the program's catalogue."""
    import ropewalk

    found = ropewalk.halos(str(folder / "snap_067.0.hdf5"), center="mbp", overdensities="200c")
    assert np.array_equal(found.labels, expected.labels[1])
    for kind in expected.attached:
        assert np.array_equal(found.attached_labels[kind], expected.labels[kind]), kind
    for name in catalog.colnames:
        ours, theirs = np.asarray(found[name]), np.asarray(catalog[name])
        assert np.allclose(ours, theirs, rtol=1e-8, atol=0, equal_nan=True), name
    print(f"Python: {len(catalog.colnames)} columns: equal")


if __name__ == "__main__":
    main()
