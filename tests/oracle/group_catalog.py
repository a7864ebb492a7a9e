#!/usr/bin/env python3
"""Compares our group catalogues in GADGET-4's layout with numpy, yt and pynbody.

    python3 tests/oracle/group_catalog.py target/release/ropewalk data/p3m_64.gadget2

The example program writes catalogues of friends of friends and of AdaptaHOP. Their groups and subhalos must agree with the
ids of their members and with the snapshot, which this script reads independently. yt and pynbody must find the same numbers in the
same units. Needs numpy, h5py, yt and pynbody.
"""

import struct
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import h5py
import numpy as np
import pynbody
import yt

yt.set_log_level(50)
warnings.simplefilter("ignore")


def read(path):
    """Returns the header's numbers, positions, velocities and ids of a little-endian Gadget-2 snapshot at redshift 0."""
    raw = path.read_bytes()
    blocks, at = [], 0
    while at < len(raw):
        (size,) = struct.unpack_from("<I", raw, at)
        blocks.append(raw[at + 4 : at + 4 + size])
        at += size + 8
    head = dict(zip(["box", "omega_m", "omega_l", "h"], struct.unpack_from("<4d", blocks[0], 128)))
    head["mass"] = struct.unpack_from("<6d", blocks[0], 24)[1]
    vectors = [np.frombuffer(block, "<f4").reshape(-1, 3).astype(float) for block in blocks[1:3]]
    return head, *vectors, np.frombuffer(blocks[3], "<u4").astype(np.uint64)


def close(name, ours, theirs, tolerance=1e-9):
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    worst = np.max(np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1e-30), initial=0)
    if ours.shape != theirs.shape or not worst <= tolerance:
        sys.exit(f"{name}: {ours.shape} {theirs.shape} differ by {worst}")


def means(head, x, v, members):
    """Returns centre of mass, mean velocity and velocity dispersion of some particles of equal mass."""
    side = head["box"]
    offsets = (x[members] - x[members[0]] + side / 2) % side - side / 2
    center = (x[members[0]] + offsets.mean(axis=0)) % side
    mean = v[members].mean(axis=0)
    return center, mean, np.sqrt(np.sum((v[members] - mean) ** 2) / (3 * len(members)))


def measured(name, group, head, x, v, lists):
    """Compares the datasets whose names begin with `name` with values computed from lists of members."""
    lengths = np.array([len(members) for members in lists])
    assert np.array_equal(group[f"{name}Len"], lengths)
    by_type = np.zeros((len(lists), 6))
    by_type[:, 1] = lengths
    assert np.array_equal(group[f"{name}LenType"], by_type)
    close("mass", group[f"{name}Mass"], lengths * head["mass"])
    close("mass by type", group[f"{name}MassType"], by_type * head["mass"])
    expected = [means(head, x, v, members) for members in lists]
    apart = group[f"{name}CM"] - np.array([one[0] for one in expected])
    apart = (apart + head["box"] / 2) % head["box"] - head["box"] / 2
    assert np.max(np.abs(apart)) < 1e-9 * head["box"]
    close("velocity", group[f"{name}Vel"], [one[1] for one in expected], 1e-6)
    close("dispersion", group[f"{name}VelDisp"], [one[2] for one in expected])


def check(path, head, x, v, place):
    with h5py.File(path) as file:
        header, group, subhalo = dict(file["Header"].attrs), file["Group"], file["Subhalo"]
        groups = {key: values[()] for key, values in group.items()}
        subhalos = {key: values[()] for key, values in subhalo.items()}
        ids = file["IDs/ID"][()]
        assert dict(group["GroupMass"].attrs)["h_scaling"] == -1
        for where in ["Header", "Parameters"]:
            numbers = [file[where].attrs[key] for key in ["BoxSize", "Omega0", "OmegaLambda", "HubbleParam", "Redshift", "Time"]]
            assert numbers == [head["box"], head["omega_m"], head["omega_l"], head["h"], 0, 1]
        length, mass = (file["Parameters"].attrs[key] for key in ["UnitLength_in_cm", "UnitMass_in_g"])
        close("units", [length, mass], [3.0857e24, 1.989e43], 1e-3)
    assert header["Ngroups_Total"] == len(groups["GroupLen"]) and header["Nids_Total"] == len(ids)
    n_subhalos = len(subhalos.get("SubhaloLen", []))
    assert header["Nsubhalos_Total"] == header["Nsubgroups_Total"] == n_subhalos == groups["GroupNsubs"].sum()
    assert len(np.unique(ids)) == len(ids)
    members = place[ids]
    ends = np.cumsum(groups["GroupLen"]).astype(int)
    measured("Group", groups, head, x, v, np.split(members, ends[:-1]))
    assert np.all(np.diff(groups["GroupLen"].astype(int)) <= 0)
    # The mean density of this number of particles in the sphere is 200 times the critical density.
    filled = groups["Group_M_Crit200"] > 0
    assert filled.sum() > 100
    density = groups["Group_M_Crit200"][filled] / (4 / 3 * np.pi * groups["Group_R_Crit200"][filled] ** 3)
    close("density", density, np.full(filled.sum(), 200 * 27.7536627), 1e-8)
    for radius, heavy, center in list(zip(groups["Group_R_Crit200"], groups["Group_M_Crit200"], groups["GroupPos"]))[:20]:
        offsets = (x - center + head["box"] / 2) % head["box"] - head["box"] / 2
        inside = np.sum(np.sum(offsets**2, axis=1) <= (radius * (1 + 1e-9)) ** 2)
        close("sphere", heavy, inside * head["mass"])
    if n_subhalos:
        sub_ends = np.cumsum(subhalos["SubhaloLen"]).astype(int)
        measured("Subhalo", subhalos, head, x, v, np.split(members, sub_ends[:-1]))
        number = subhalos["SubhaloGroupNr"]
        assert np.array_equal(number, np.repeat(np.arange(len(ends)), groups["GroupNsubs"]))
        assert np.array_equal(groups["GroupFirstSub"], np.cumsum(groups["GroupNsubs"]) - groups["GroupNsubs"])
        rank, parent = subhalos["SubhaloRankInGr"], subhalos["SubhaloParentRank"]
        assert np.array_equal(rank, np.arange(n_subhalos) - groups["GroupFirstSub"][number])
        assert np.all(parent[rank > 0] < groups["GroupNsubs"][number[rank > 0]]) and np.any(parent > 0)
        assert np.array_equal(np.bincount(number, subhalos["SubhaloLen"]), groups["GroupLen"])
        # The first subhalo is at the centre of its group.
        assert np.array_equal(subhalos["SubhaloPos"][rank == 0], groups["GroupPos"])
    else:
        assert np.all(groups["GroupFirstSub"] == -1)
    return groups, subhalos, ids


def by_yt(path, groups, subhalos, ids):
    ds = yt.load(str(path))
    data = ds.all_data()
    for kind, sets in [("Group", groups), ("Subhalo", subhalos)]:
        if not sets:
            continue
        # yt has another value of the solar mass.
        close("yt mass", data[kind, "particle_mass"].to("Msun/h") / 1e10, sets[f"{kind}Mass"], 1e-5)
        for k, axis in enumerate("xyz"):
            place = data[kind, f"particle_position_{axis}"].to("Mpccm/h")
            close("yt position", place, sets[f"{kind}Pos"][:, k], 1e-6)
            close("yt velocity", data[kind, f"particle_velocity_{axis}"].to("km/s"), sets[f"{kind}Vel"][:, k], 1e-6)
        starts = np.cumsum(sets[f"{kind}Len"]) - sets[f"{kind}Len"]
        for i in [0, 1, len(starts) - 1]:
            own = ds.halo(kind, i)[kind, "member_ids"]
            start = int(starts[i])
            assert np.array_equal(own, ids[start : start + int(sets[f"{kind}Len"][i])]), (kind, i)


def by_pynbody(path, snapshot, groups, subhalos):
    simulation = pynbody.load(str(snapshot))
    catalog = simulation.halos(filename=str(path))
    assert len(catalog) == len(groups["GroupLen"])
    for i in [0, 1, len(catalog) - 1]:
        properties = catalog[i].properties
        close("pynbody mass", properties["GroupMass"].in_units("1e10 Msol h**-1"), groups["GroupMass"][i], 1e-5)
        position = properties["GroupPos"]
        close("pynbody position", position.in_units("Mpc a h**-1", a=1, h=simulation.properties["h"]), groups["GroupPos"][i], 1e-6)
        assert np.array_equal(properties["children"], np.flatnonzero(subhalos.get("SubhaloGroupNr", np.array([])) == i))


def main():
    program, source = sys.argv[1], Path(sys.argv[2])
    head, x, v, ids = read(source)
    place = np.zeros(int(ids.max()) + 1, int)
    place[ids] = np.arange(len(ids))
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        snapshot = folder / "snapshot.hdf5"
        subprocess.run([program, "convert", source, snapshot], check=True, stdout=subprocess.DEVNULL)
        for finder in ["fof", "adaptahop"]:
            options = ["--finder", finder, "--so", "200c", "--group-catalog", "--no-pictures"]
            subprocess.run([program, "halos", source, "--out", folder / finder, *options], check=True, stdout=subprocess.DEVNULL)
            path = folder / finder / "fof_subhalo_tab_000.0.hdf5"
            groups, subhalos, members = check(path, head, x, v, place)
            by_yt(path, groups, subhalos, members)
            by_pynbody(path, snapshot, groups, subhalos)
            print(f"{len(groups['GroupLen'])} groups, {len(subhalos.get('SubhaloLen', []))} subhalos: equal, to yt and pynbody, too")


main()
