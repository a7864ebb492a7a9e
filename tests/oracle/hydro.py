#!/usr/bin/env python3
"""Compares halos of a hydrodynamical snapshot with an independent calculation by numpy and scipy.

    python3 tests/oracle/hydro.py target/release/ropewalk data/p3m_64.gadget2 [--python]
    python3 tests/oracle/hydro.py - data/p3m_64.gadget2 --python
    python3 tests/oracle/hydro.py target/release/ropewalk data/p3m_64.gadget2 --mpi PROGRAM

Writes a snapshot in the layout of IllustrisTNG: three HDF5 files, particle types 0 (gas), 1 (dark matter), 4 (stars) and 5 (black
holes), comoving kpc/h, redshift 0.5. Its dark matter is that of the given Gadget-2 snapshot. A seeded generator places gas, stars and
black holes around dark matter particles. All types together have the mean density of matter.

The calculation shares no code with ropewalk. Friends of friends are the connected components of scipy's pairs. Other types join the
halo of their nearest dark matter particle within the linking length. Spheres and structure are sums over sorted arrays. Compared are:

- labels and ids of all types, and the most connected particle
- total masses and masses by type, M200c and R200c, spin, vmax, half-mass radius, and axis ratios
- density profiles and the mass function
- the group catalogue in GADGET-4's layout: numbers, and over linked and attached particles masses, centres of mass, velocities and
  dispersions, and ids by type
- with `--attach none` the same for dark matter alone, and the statements of report, catalogue and group catalogue about particles left
  out
- `--finder adaptahop`: halos of dark matter alone, spheres and profiles over all types
- a zoom snapshot, in which dark matter has three resolutions (types 1, 2 and 3): the contamination of each halo.

`--python` calls the installed Python package and compares its arrays. With `-` for the program, only the package runs, and is
compared with numpy. With `--mpi PROGRAM`, PROGRAM (built with MPI) runs on three ranks. Its files are compared byte for byte with
those of one process, and not with numpy.
"""

import argparse
import json
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
PROFILES = 5
GROUPS = "fof_subhalo_tab_000.0.hdf5"
OPTIONS = ["--center", "mbp,mcp", "--so", "200c", "--profiles", str(PROFILES)]


def read_dark_matter(path):
    """Returns side, positions and stored velocities of a little-endian Gadget-2 snapshot of one type."""
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
    # Gas and stars are placed around the dark matter particles with most neighbours within 150 kpc/h.
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
    folder.mkdir(exist_ok=True)
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


def zoom(folder, side, particles):
    """Writes the same snapshot with three types of dark matter: 1 in the middle of the box, 2 around that, and 3 elsewhere."""
    table = particles[1]
    distance = np.max(np.abs(np.mod(table["x"].astype("f8"), side) - side / 2), axis=1) / side
    kinds = np.select([distance < 0.3, distance < 0.4], [1, 2], 3)
    parts = {kind: {name: values[kinds == kind] for name, values in table.items()} for kind in (1, 2, 3)}
    for kind in (2, 3):
        parts[kind]["m"] = parts[kind]["m"].astype("f4")
    both = {**particles, **parts}
    write(folder, side, both)
    return both


def friends_of_friends(x, side, length):
    """Returns the connected components of two or more points, numbered from 0 by their smallest member; -1 for other points."""
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


def rows_of(groups, ids):
    """Returns the row of the catalogue of each particle: groups of enough members, the largest first, ties by the smallest id."""
    member = groups >= 0
    counts = np.bincount(groups[member])
    tags = np.full(len(counts), np.iinfo("u8").max, "u8")
    np.minimum.at(tags, groups[member], ids[member].astype("u8"))
    halos = np.flatnonzero(counts >= MIN_MEMBERS)
    halos = halos[np.lexsort((tags[halos], -counts[halos]))]
    row = np.full(len(counts) + 1, -1)
    row[halos] = np.arange(len(halos))
    return row[groups]


class Expected:
    """Halos of linked and attached particles, computed by numpy."""

    def __init__(self, side, particles, attached, length=None, linked=None):
        """Particles of the types `attached` join halos of type 1, whose rows are `linked`, or those of friends of friends."""
        self.side, self.attached = side, attached
        wrapped = {kind: np.mod(table["x"].astype("f8"), side) for kind, table in particles.items()}
        # A remainder may be rounded to the side itself.
        self.wrapped = {kind: np.where(x >= side, x - side, x) for kind, x in wrapped.items()}
        self.tree = cKDTree(self.wrapped[1], boxsize=side)
        self.length = 0.2 * side / len(self.wrapped[1]) ** (1 / 3) if length is None else length
        if linked is None:
            linked = rows_of(friends_of_friends(self.wrapped[1], side, self.length), particles[1]["ids"])
        self.labels = {1: linked}
        for kind in attached:
            distance, nearest = self.tree.query(self.wrapped[kind], distance_upper_bound=self.length * (1 + 1e-9))
            near = distance <= self.length
            self.labels[kind] = np.where(near, self.labels[1][np.where(near, nearest, 0)], -1)
        kinds = [1, *attached]
        self.kind = np.concatenate([np.full(len(self.wrapped[kind]), kind) for kind in kinds])
        self.x = np.concatenate([particles[kind]["x"].astype("f8") for kind in kinds])
        self.v = np.concatenate([particles[kind]["v"].astype("f8") for kind in kinds]) * np.sqrt(1 / (1 + REDSHIFT))
        self.m = np.concatenate([particles[kind]["m"].astype("f8") for kind in kinds])
        self.ids = np.concatenate([particles[kind]["ids"] for kind in kinds])
        self.label = np.concatenate([self.labels[kind] for kind in kinds])

    def members(self, label):
        return np.flatnonzero(self.label == label)

    def offsets(self, center):
        return (self.x - center + self.side / 2) % self.side - self.side / 2

    def halo(self, members, center):
        """Returns all quantities of one halo around a centre."""
        a = 1 / (1 + REDSHIFT)
        gravity = 43009.1727 / a  # (km/s)^2 kpc / 1e10 Msun, for comoving radii
        offset = self.offsets(center)
        radius = np.linalg.norm(offset, axis=1)
        expansion2 = OMEGA_M * (1 + REDSHIFT) ** 3 + OMEGA_L + (1 - OMEGA_M - OMEGA_L) * (1 + REDSHIFT) ** 2
        threshold = 200 * 27.7536627e-9 * expansion2 * a**3  # 1e10 Msun/h, (kpc/h)^-3, comoving
        # All particles are sorted only if the sphere ends far outside of the members.
        for cut in 1.5 * radius[members].max(), np.inf:
            order = np.flatnonzero(radius <= cut)
            order = order[np.argsort(radius[order], kind="stable")]
            enclosed = np.cumsum(self.m[order])
            reach = (3 * enclosed / (4 * np.pi * threshold)) ** (1 / 3)
            ends = reach[:-1] < radius[order][1:]
            if ends.any():
                break
        i = int(np.argmax(ends))
        count = i + 1 if reach[0] >= radius[order[0]] else 0
        found = dict(m200c=enclosed[i], r200c=reach[i], count200c=count)

        own = np.zeros(len(self.x), bool)
        own[members] = True
        own = order[own[order]]
        mass, distance = self.m[own], radius[own]
        total = mass.sum()
        found["mass"] = {kind: mass[self.kind[own] == kind].sum() for kind in [1, *self.attached]}
        found["count"] = {kind: int((self.kind[own] == kind).sum()) for kind in [1, *self.attached]}
        found["total"] = total
        found["contamination"] = sum(found["mass"].get(kind, 0) for kind in (2, 3)) / total
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
        if len(inside):
            v = v - np.average(v, axis=0, weights=m)
            momentum = np.linalg.norm((m[:, None] * np.cross(x, v)).sum(axis=0))
            found["spin"] = momentum / (np.sqrt(2 * gravity * m.sum() * reach[i]) * m.sum())
        return found

    def means(self, members):
        """Returns centre of mass, mean velocity and one-dimensional velocity dispersion, weighted by mass."""
        mass, first = self.m[members], self.x[members[0]]
        offset = (self.x[members] - first + self.side / 2) % self.side - self.side / 2
        velocity = np.average(self.v[members], axis=0, weights=mass)
        spread = np.average(np.sum((self.v[members] - velocity) ** 2, axis=1), weights=mass)
        return (first + np.average(offset, axis=0, weights=mass)) % self.side, velocity, np.sqrt(spread / 3)

    def most_connected(self, label):
        """Returns the linked members with the most other members within the linking length, and their number of neighbours."""
        own = np.flatnonzero(self.labels[1] == label)
        friends = self.tree.query_ball_point(self.wrapped[1][own], self.length, return_length=True) - 1
        return own[friends == friends.max()], friends.max()

    def totals(self):
        """Returns the mass of each halo over all its types."""
        members = self.label >= 0
        return np.bincount(self.label[members], weights=self.m[members])


def run(program, folder, out, *options, ranks=None):
    """Runs `ropewalk halos` and returns its output."""
    command = [program, "halos", folder / "snap_067.0.hdf5", "--out", out, "--threads", "1", *options]
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


def some(rows):
    """Returns the rows of the largest halos, and a sample of the others."""
    return [int(row) for row in np.unique(np.r_[np.arange(min(HALOS, rows)), np.linspace(0, rows - 1, HALOS).astype(int)])]


def apart(a, b, side):
    """Returns the largest distance along an axis in a periodic box."""
    return np.max(np.abs((np.asarray(a) - b + side / 2) % side - side / 2))


def compare(out, expected, particles):
    """Compares the files of one run with numpy."""
    attached = expected.attached
    for kind in attached:
        labels, ids = np.load(out / f"labels_type{kind}.npy"), np.load(out / f"ids_type{kind}.npy")
        assert np.array_equal(labels, expected.labels[kind]), f"labels of type {kind}"
        assert np.array_equal(ids, particles[kind]["ids"]), f"ids of type {kind}"
    catalog = Table.read(out / "halos.ecsv")
    compare_rows(catalog, np.load(out / "labels.npy"), expected, particles)
    compare_profiles(catalog, Table.read(out / "profiles.ecsv"), expected)
    return catalog


def compare_rows(catalog, labels, expected, particles):
    attached, side = expected.attached, expected.side
    assert np.array_equal(labels, expected.labels[1]), "labels of dark matter"
    assert len(catalog) == len(expected.totals())
    has_contamination = any(kind in attached for kind in (2, 3))
    assert ("fof_halo_contamination" in catalog.colnames) == has_contamination
    for row in some(len(catalog)):
        halo = catalog[row]
        label = int(halo["fof_halo_label"])
        center = np.array([halo[f"fof_halo_center_{axis}"] for axis in "xyz"]).astype("f4").astype(float)
        found = expected.halo(expected.members(label), center)
        check("mass of dark matter", halo["fof_halo_mass"], found["mass"][1], row)
        assert halo["fof_halo_count"] == found["count"][1], row
        if attached:
            check("total mass", halo["fof_halo_mass_total"], found["total"], row)
            assert halo["fof_halo_count_total"] == sum(found["count"].values()), row
            for kind in [1, *attached]:
                check(f"mass of type {kind}", halo[f"fof_halo_mass_type{kind}"], found["mass"][kind], row)
                assert halo[f"fof_halo_count_type{kind}"] == found["count"][kind], (row, kind)
        if has_contamination:
            check("contamination", halo["fof_halo_contamination"], found["contamination"], row)
        linked = np.flatnonzero(expected.labels[1] == label)
        mean, velocity, dispersion = expected.means(linked)
        assert apart([halo[f"fof_halo_mean_{axis}"] for axis in "xyz"], mean, side) < 1e-6 * side, row
        assert np.allclose([halo[f"fof_halo_mean_v{axis}"] for axis in "xyz"], velocity, rtol=1e-6, atol=1e-4), row
        check("dispersion of dark matter", halo["fof_halo_vel_disp"], dispersion, row)
        most, friends = expected.most_connected(label)
        assert (halo["fof_halo_mcp_friends"], halo["fof_halo_mcp_ties"]) == (friends, len(most)), row
        place = np.flatnonzero(particles[1]["ids"] == np.uint64(halo["fof_halo_mcp_id"]))
        assert len(place) == 1 and place[0] in most, row
        assert apart([halo[f"fof_halo_mcp_{axis}"] for axis in "xyz"], particles[1]["x"][place[0]], side) < 1e-6 * side, row
        for name in ("vmax", "rvmax", "half_mass_radius", "axis_ratio_b", "axis_ratio_c"):
            check(name, halo[f"fof_halo_{name}"], found[name], row)
        compare_sphere(halo, found, row, "fof_halo")


def compare_sphere(halo, found, row, prefix):
    assert halo["sod_halo_count_200c"] == found["count200c"], row
    if found["count200c"] >= MIN_MEMBERS:
        check("M200c", halo["sod_halo_m200c"], found["m200c"], row)
        check("R200c", halo["sod_halo_r200c"], found["r200c"], row)
        check("spin", halo[f"{prefix}_spin"], found["spin"], row)
    else:
        assert np.isnan(halo["sod_halo_m200c"]), row


def compare_profiles(catalog, profiles, expected, prefix="fof_halo"):
    """Compares profiles, whose shells include all particles that were read."""
    tags = list(dict.fromkeys(profiles[f"{prefix}_tag"]))
    assert len(tags) == PROFILES, tags
    rows = {tag: row for row, tag in enumerate(catalog[f"{prefix}_tag"])}
    for tag in tags:
        halo = catalog[rows[tag]]
        center = np.array([halo[f"{prefix}_center_{axis}"] for axis in "xyz"]).astype("f4").astype(float)
        radius = np.linalg.norm(expected.offsets(center), axis=1)
        shells = profiles[profiles[f"{prefix}_tag"] == tag]
        check("the outermost shell", shells["shell_outer"][-1], halo["sod_halo_r200c"], tag)
        kinds = set()
        for shell in shells:
            # Radii are written with nine digits, the last of them rounded.
            lo, hi = shell["shell_inner"], shell["shell_outer"]
            inside = (radius > lo * (1 + 1e-9)) & (radius <= hi * (1 + 1e-9))
            mass = expected.m[inside].sum()
            kinds |= set(expected.kind[inside].tolist())
            assert shell["shell_count"] == inside.sum(), (tag, shell["shell_count"], inside.sum())
            check("the mass of a shell", shell["shell_mass"], mass, tag)
            check("the density of a shell", shell["shell_density"], mass / (4 / 3 * np.pi * (hi**3 - lo**3)), tag)
        assert kinds >= set(expected.kind.tolist()) - {2, 3, 5}, kinds


def compare_groups(path, catalog, expected, particles, unread, share):
    """Compares a group catalogue in GADGET-4's layout with numpy: comoving Mpc/h, 1e10 Msun/h, km/s."""
    side = expected.side / 1000
    with h5py.File(path) as file:
        header = dict(file["Header"].attrs)
        group = {name: values[()] for name, values in file["Group"].items()}
        ids = file["IDs/ID"][()]
    assert len(group["GroupLen"]) == len(catalog) and header["Nids_Total"] == len(ids) == group["GroupLen"].sum()
    assert type_list(header["linked_types"]) == [1], header
    assert type_list(header.get("types_not_read", "")) == unread, header
    if unread:
        check("mass share that was not read", float(header["mass_share_not_read"]), share, "-")
    else:
        assert "mass_share_not_read" not in header, header
    ends = np.cumsum(group["GroupLen"]).astype(int)
    for row in some(len(catalog)):
        halo = catalog[row]
        members = expected.members(int(halo["fof_halo_label"]))
        own = np.split(members, np.searchsorted(members, np.cumsum([len(expected.labels[kind]) for kind in expected.labels])[:-1]))
        by_type = {kind: part for kind, part in zip(expected.labels, own)}
        counts = [len(by_type.get(kind, ())) for kind in range(6)]
        assert group["GroupLenType"][row].tolist() == counts and group["GroupLen"][row] == len(members), row
        for kind in by_type:
            check(f"GroupMassType {kind}", group["GroupMassType"][row][kind], expected.m[by_type[kind]].sum(), row, 1e-5)
        check("GroupMass", group["GroupMass"][row], expected.m[members].sum(), row)
        center, velocity, dispersion = expected.means(members)
        assert apart(group["GroupCM"][row], center / 1000, side) < 1e-6 * side, (row, group["GroupCM"][row], center / 1000)
        assert np.allclose(group["GroupVel"][row], velocity, rtol=1e-6, atol=1e-4), (row, group["GroupVel"][row], velocity)
        check("GroupVelDisp", group["GroupVelDisp"][row], dispersion, row)
        place = np.array([halo[f"fof_halo_center_{axis}"] for axis in "xyz"]) / 1000
        assert apart(group["GroupPos"][row], place, side) < 1e-7 * side, row
        if not np.isnan(halo["sod_halo_m200c"]):
            check("Group_M_Crit200", group["Group_M_Crit200"][row], halo["sod_halo_m200c"], row)
        listed = np.split(ids[ends[row] - len(members) : ends[row]], np.cumsum(counts)[:-1])
        for kind in by_type:
            assert np.array_equal(np.sort(listed[kind]), np.sort(expected.ids[by_type[kind]])), (row, kind)
    print(f"group catalogue: {len(catalog)} groups, {len(ids)} ids: equal")


def type_list(attribute):
    """Returns the types of an attribute that lists them as text or as numbers."""
    if isinstance(attribute, bytes):
        attribute = attribute.decode()
    if isinstance(attribute, str):
        return [int(word) for word in attribute.replace(",", " ").split()]
    return [int(number) for number in np.atleast_1d(attribute)]


def compare_subhalos(out, expected, particles, report):
    """Compares particles of other types that join halos and subhalos, given the labels of dark matter."""
    assert "not read" not in report, report
    catalog = Table.read(out / "halos.ecsv")
    assert str(catalog.meta["linked_types"]) == "1" and catalog.meta["attached_types"] == "0, 4, 5", catalog.meta
    for kind in expected.attached:
        labels, ids = np.load(out / f"labels_type{kind}.npy"), np.load(out / f"ids_type{kind}.npy")
        assert np.array_equal(labels, expected.labels[kind]), f"labels of type {kind}"
        assert np.array_equal(ids, particles[kind]["ids"]), f"ids of type {kind}"
    parent = catalog["halo_parent"].tolist()
    # The rows of a row and of all subhalos in it.
    inside = [[row] for row in range(len(catalog))]
    for row in range(len(catalog)):
        above = parent[row]
        while above >= 0:
            inside[above].append(row)
            above = parent[above]
    rows = some(len(catalog))
    for row in rows:
        halo = catalog[row]
        members = np.flatnonzero(np.isin(expected.label, inside[row]))
        center = np.array([halo[f"halo_center_{axis}"] for axis in "xyz"]).astype("f4").astype(float)
        found = expected.halo(members, center)
        assert halo["halo_count"] == found["count"][1], row
        check("mass of dark matter", halo["halo_mass"], found["mass"][1], row)
        check("total mass", halo["halo_mass_total"], found["total"], row)
        assert halo["halo_count_total"] == len(members), row
        for kind in [1, *expected.attached]:
            check(f"mass of type {kind}", halo[f"halo_mass_type{kind}"], found["mass"][kind], row)
            assert halo[f"halo_count_type{kind}"] == found["count"][kind], (row, kind)
        for name in ("vmax", "rvmax", "half_mass_radius", "axis_ratio_b", "axis_ratio_c"):
            check(name, halo[f"halo_{name}"], found[name], row)
        compare_sphere(halo, found, row, "halo")
    assert max(parent[row] for row in rows) >= 0 and max(catalog["halo_count_type0"][row] for row in rows if parent[row] >= 0) > 20
    compare_profiles(catalog, Table.read(out / "profiles.ecsv"), expected, "halo")
    compare_subhalo_groups(out / GROUPS, parent, inside, expected)
    print(f"AdaptaHOP: {len(catalog)} halos and subhalos, with particles of all types: equal")


def compare_subhalo_groups(path, parent, inside, expected):
    """Compares groups and subhalos of a group catalogue: numbers, masses and motions of all types, and ids by type."""
    with h5py.File(path) as file:
        group = {name: values[()] for name, values in file["Group"].items()}
        subhalo = {name: values[()] for name, values in file["Subhalo"].items()}
        ids = file["IDs/ID"][()]
    hosts = [row for row in range(len(parent)) if parent[row] < 0]
    # In a group the halo itself comes first, then its subhalos as in the catalogue.
    order = [row for host in hosts for row in sorted(inside[host], key=lambda row: (row != host, row))]
    assert len(group["GroupLen"]) == len(hosts) and len(subhalo["SubhaloLen"]) == len(order)
    by_type = [np.flatnonzero(expected.kind == kind) for kind in range(6)]

    def check_row(name, found, place, members, row):
        counts = [int(np.sum(expected.kind[members] == kind)) for kind in range(6)]
        assert found[f"{name}LenType"][place].tolist() == counts and found[f"{name}Len"][place] == len(members), (name, row)
        masses = np.bincount(expected.kind[members], expected.m[members], minlength=6)
        assert np.allclose(found[f"{name}MassType"][place], masses, rtol=1e-5), (name, row)
        check(f"{name}Mass", found[f"{name}Mass"][place], masses.sum(), row, 1e-5)
        center, velocity, dispersion = expected.means(members)
        assert apart(found[f"{name}CM"][place], center / 1000, expected.side / 1000) < 1e-6 * expected.side, (name, row)
        assert np.allclose(found[f"{name}Vel"][place], velocity, rtol=1e-6, atol=1e-4), (name, row)
        check(f"{name}VelDisp", found[f"{name}VelDisp"][place], dispersion, row)
        return counts

    for place in some(len(hosts)):
        check_row("Group", group, place, np.flatnonzero(np.isin(expected.label, inside[hosts[place]])), hosts[place])
    # Ids are sorted by subhalo, then by type.
    ends = np.cumsum(subhalo["SubhaloLen"]).astype(int)
    assert len(ids) == ends[-1] == group["GroupLen"].sum()
    for place in some(len(order)):
        members = expected.members(order[place])
        if len(members) == 0:
            continue
        counts = check_row("Subhalo", subhalo, place, members, order[place])
        listed = np.split(ids[ends[place] - len(members) : ends[place]], np.cumsum(counts)[:-1])
        for kind in range(6):
            own = np.intersect1d(members, by_type[kind], assume_unique=True)
            assert np.array_equal(np.sort(listed[kind]), np.sort(expected.ids[own])), (place, kind)


def compare_mass_function(out, expected):
    table = Table.read(out / "mass_function.ecsv")
    totals = expected.totals()
    for line in table:
        # Edges are written with nine digits. No halo is so close to an edge that this matters, as the two counts show.
        low, high = (np.sum(totals >= line["mass_min"] * factor) for factor in (1 - 1e-8, 1 + 1e-8))
        assert line["count_above"] in (low, high), (line["mass_min"], line["count_above"], low, high)
    assert table["count_above"][0] > 100


def compare_whole(options, folder, side, particles, share):
    """Compares a run over all types, which is the default."""
    whole = Expected(side, particles, [0, 4, 5])
    report = run(options.program, folder, folder / "whole", *OPTIONS, "--group-catalog")
    assert "not read" not in report, report
    catalog = compare(folder / "whole", whole, particles)
    compare_mass_function(folder / "whole", whole)
    lost = Table.read(folder / "whole" / "halos.ecsv").meta.get("mass_share_not_read")
    assert lost is None, lost
    compare_groups(folder / "whole" / GROUPS, catalog, whole, particles, [], 0.0)

    alone = Expected(side, particles, [])
    report = run(options.program, folder, folder / "alone", *OPTIONS, "--group-catalog", "--attach", "none")
    assert "types 0, 4 and 5" in report and f"{100 * share:.1f}%" in report, report
    bare = compare(folder / "alone", alone, particles)
    compare_mass_function(folder / "alone", alone)
    check("mass share that was not read", bare.meta["mass_share_not_read"], share, "-")
    assert str(bare.meta["types_not_read"]) == "0, 4, 5", bare.meta
    lower = np.nanmedian(bare["sod_halo_m200c"] / catalog["sod_halo_m200c"])
    assert 0.7 < lower < 0.95, lower
    compare_groups(folder / "alone" / GROUPS, bare, alone, particles, [0, 4, 5], share)

    subhalos = ["--finder", "adaptahop", "--so", "200c", "--profiles", str(PROFILES), "--group-catalog", "--no-pictures"]
    for more in [], ["--unbind"]:
        out = folder / "-".join(["subhalos", *more])
        report = run(options.program, folder, out, *subhalos, *more)
        expected = Expected(side, particles, [0, 4, 5], linked=np.load(out / "labels.npy"))
        compare_subhalos(out, expected, particles, report)
    print(f"hydrodynamical snapshot: {len(catalog)} halos; {100 * share:.1f}% of the mass is in types 0, 4 and 5: equal")


def compare_zoom(options, folder, side, particles):
    """Compares halos that contain low-resolution dark matter."""
    both = zoom(folder / "zoom", side, particles)
    length = 0.2 * side / len(particles[1]["m"]) ** (1 / 3)
    expected = Expected(side, both, [0, 2, 3, 4, 5], length)
    run(options.program, folder / "zoom", folder / "zoomed", *OPTIONS, "--eps", repr(length), "--no-pictures")
    catalog = compare(folder / "zoomed", expected, both)
    contaminated = int(np.sum(catalog["fof_halo_contamination"] > 0))
    assert 5 < contaminated < len(catalog) / 2, contaminated
    print(f"zoom snapshot: {len(catalog)} halos, {contaminated} of them contaminated: equal")


def compare_ranks(options, folder):
    """Compares files of three ranks with those of one process. Ranks write no group catalogue, and a different summary."""
    run(options.mpi, folder, folder / "ranks", *OPTIONS, ranks=3)
    names = sorted(path.name for path in (folder / "whole").iterdir() if path.name != GROUPS)
    assert names == sorted(path.name for path in (folder / "ranks").iterdir()), names
    for name in names:
        one, three = ((folder / out / name).read_bytes() for out in ("whole", "ranks"))
        if name == "summary.json":
            one, three = (
                {key: json.loads(text).get(key) for key in ("linked_types", "attached_types", "types_not_read", "notes")}
                for text in (one, three)
            )
        assert one == three, f"{name} of three ranks differs"
    print(f"three ranks: {len(names)} files, byte for byte")


def compare_python(folder, side, particles, program_catalog):
    """Compares the arrays of the Python package with numpy, and its columns with the program's catalogue if it exists."""
    import ropewalk

    path = folder / "snap_067.0.hdf5"
    for given in (str(path), ropewalk.read_snapshot(path, types=1)):
        expected = Expected(side, particles, [0, 4, 5])
        found = ropewalk.halos(given, center=["mbp", "mcp"], overdensities="200c", profiles=PROFILES)
        assert found.notes == (), found.notes
        compare_catalog(found, expected, particles)
        if program_catalog is not None:
            for name in program_catalog.colnames:
                ours, theirs = np.asarray(found[name]), np.asarray(program_catalog[name])
                assert np.allclose(ours, theirs, rtol=1e-8, atol=0, equal_nan=True), name
    print(f"Python: {len(found)} halos, {len(found.columns)} columns: equal")


def compare_catalog(found, expected, particles):
    table = Table({name: np.asarray(found[name]) for name in found.columns}, meta=dict(found.meta))
    compare_rows(table, found.labels, expected, particles)
    profiles = Table({name: np.asarray(found.profiles[name]) for name in found.profiles.columns})
    compare_profiles(table, profiles, expected)
    for kind in expected.attached:
        assert np.array_equal(found.attached_labels[kind], expected.labels[kind]), kind
        assert np.array_equal(found.attached_ids[kind], particles[kind]["ids"]), kind
    # Members and labels index the linked particles.
    assert np.array_equal(found.particles.ids, particles[1]["ids"])
    for row in some(len(found)):
        own = expected.labels[1] == int(found["fof_halo_label"][row])
        assert np.array_equal(found.particles.ids[found.members(row)], particles[1]["ids"][own]), row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", help="the program; - for none")
    parser.add_argument("source", type=Path)
    parser.add_argument("--mpi", help="compare only the files of this program, built with MPI")
    parser.add_argument("--python", action="store_true", help="compare the installed Python package, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        side, particles = make(options.source, folder)
        mass = {kind: float(table["m"].astype("f8").sum()) for kind, table in particles.items()}
        program_catalog = None
        if options.mpi:
            run(options.program, folder, folder / "whole", *OPTIONS)
            compare_ranks(options, folder)
            return
        if options.program != "-":
            compare_whole(options, folder, side, particles, 1 - mass[1] / sum(mass.values()))
            compare_zoom(options, folder, side, particles)
            program_catalog = Table.read(folder / "whole" / "halos.ecsv")
        if options.python:
            compare_python(folder, side, particles, program_catalog)


if __name__ == "__main__":
    main()
