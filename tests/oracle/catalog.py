#!/usr/bin/env python3
"""Compares the catalogue of `ropewalk halos` with numpy, scipy and astropy: units, redshift, spheres, structure, profiles, fits.

    python3 tests/oracle/catalog.py target/release/ropewalk data/p3m_64.gadget2

The snapshot is read independently, and written again with other redshifts in its header, so that its comoving coordinates and
stored velocities mean another state. For 50 halos each, masses, radii, circular velocities, spins and profiles are computed with
units by astropy. They must equal the program's to one part in a million. NFW profiles are fitted to the same shells by
scipy.optimize.curve_fit, outside of the radius of Power et al. 2003 or of three softening lengths.

The catalogue is read by astropy and by pandas, which must find the same numbers. The same follows for `--finder adaptahop`: the
columns of parents, hosts, members and sizes must be consistent with labels.npy and the positions. Needs numpy, scipy, astropy and
pandas.
"""

import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import astropy.cosmology.units as cu
import astropy.units as u
import numpy as np
import pandas
from astropy.constants import G
from astropy.cosmology import LambdaCDM
from astropy.table import Table
from scipy.optimize import curve_fit

u.add_enabled_units(cu)
HALOS = 50
LEAST = 20
SOFTENING = 0.02


def read(path):
    """Returns the header's numbers, positions and stored velocities of a little-endian Gadget-2 snapshot with one particle type."""
    raw = path.read_bytes()
    blocks, at = [], 0
    while at < len(raw):
        (size,) = struct.unpack_from("<I", raw, at)
        blocks.append(raw[at + 4 : at + 4 + size])
        at += size + 8
    head = blocks[0]
    numbers = dict(zip(["box", "omega_m", "omega_l", "h"], struct.unpack_from("<4d", head, 128)))
    numbers["mass"] = struct.unpack_from("<6d", head, 24)[1]
    vectors = [np.frombuffer(block, "<f4").reshape(-1, 3).astype(float) for block in blocks[1:3]]
    return numbers, *vectors


def at_redshift(source, target, z):
    raw = bytearray(source.read_bytes())
    struct.pack_into("<2d", raw, 4 + 72, 1 / (1 + z), z)
    target.write_bytes(raw)


def check(name, ours, theirs, row):
    same = abs(ours - theirs) <= 1e-6 * abs(theirs) or (np.isnan(ours) and np.isnan(theirs))
    if not same:
        sys.exit(f"halo {row}: {name} is {ours}, should be {theirs}")


def main():
    program, source = sys.argv[1], Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        for z in [0, 1, 9]:
            snapshot, out = Path(folder) / "snapshot", Path(folder) / "out"
            at_redshift(source, snapshot, z)
            softening = SOFTENING if z == 1 else 0
            options = ["--so", "200c,200m", "--profiles", str(HALOS), "--no-pictures", "--softening", str(softening)]
            subprocess.run([program, "halos", snapshot, "--out", out, *options], check=True, stdout=subprocess.DEVNULL)
            compare(snapshot, out, z, softening)
        out = Path(folder) / "subhalos"
        subprocess.run(
            [program, "halos", source, "--out", out, "--finder", "adaptahop", "--no-pictures"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        compare_subhalos(source, out)


def read_twice(path):
    """Reads a catalogue by astropy, after checking that pandas reads the same."""
    catalog = Table.read(path)
    plain = pandas.read_csv(path, comment="#")
    for name in catalog.colnames:
        assert np.array_equal(plain[name], catalog[name], equal_nan=catalog[name].dtype.kind == "f"), name
    return catalog


def compare_subhalos(source, out):
    numbers, x, _ = read(source)
    side = numbers["box"]
    catalog, labels = read_twice(out / "halos.ecsv"), np.load(out / "labels.npy")
    assert (catalog.meta["finder"], catalog["halo_parent"].dtype, catalog["halo_label"].min()) == ("AdaptaHOP", "int64", 0)
    parent = {int(row["halo_label"]): int(row["halo_parent"]) for row in catalog}

    def upwards(label):
        while label >= 0:
            yield label
            label = parent[label]

    above = {label: list(upwards(label)) for label in parent}
    for row in catalog:
        label = int(row["halo_label"])
        assert (row["halo_level"], row["halo_host"]) == (len(above[label]), above[label][-1])
        assert row["halo_n_children"] == sum(other == label for other in parent.values())
        assert row["halo_own_count"] == np.sum(labels == label)
        inside = np.isin(labels, [other for other, chain in above.items() if label in chain])
        assert row["halo_count"] == inside.sum()
        check("mass", row["halo_mass"], inside.sum() * numbers["mass"], label)
        first = x[inside][0]
        offsets = (x[inside] - first + side / 2) % side - side / 2
        drift = offsets.mean(axis=0)
        rms = np.sqrt(np.sum((offsets - drift) ** 2, axis=1).mean())
        check("rms_radius", row["halo_rms_radius"], rms, label)
        mean = np.array([row[f"halo_mean_{axis}"] for axis in "xyz"])
        apart = (mean - first - drift + side / 2) % side - side / 2
        assert np.max(np.abs(apart)) < 1e-6, (label, apart)
    deep = np.sum(catalog["halo_level"] > 1)
    assert deep > 50
    print(f"AdaptaHOP: {len(catalog) - deep} halos, {deep} subhalos: equal")


def compare(snapshot, out, z, softening):
    numbers, x, stored = read(snapshot)
    a, side, h = 1 / (1 + z), numbers["box"], numbers["h"]
    universe = LambdaCDM(H0=100 * h, Om0=numbers["omega_m"], Ode0=numbers["omega_l"], Tcmb0=0)
    velocities = stored * np.sqrt(a) * u.km / u.s
    mass = numbers["mass"] * 1e10 / h * u.Msun
    little_h = cu.with_H0(universe.H0)
    catalog, profiles = read_twice(out / "halos.ecsv"), Table.read(out / "profiles.ecsv")
    assert (catalog.meta["redshift"], catalog["sod_halo_r200c"].unit) == (z, u.Mpc / cu.littleh)
    labels = np.load(out / "labels.npy")
    measured = fitted = 0

    for row, halo in enumerate(catalog[:HALOS]):
        # Nine digits are enough to identify the single-precision numbers of the particle.
        center = np.array([halo[f"fof_halo_center_{axis}"] for axis in "xyz"]).astype("f4").astype(float)
        offsets = (x - center + side / 2) % side - side / 2
        # Physical, without h.
        radius = np.linalg.norm(offsets, axis=1) * a / h * u.Mpc
        order = np.argsort(radius, kind="stable")
        sorted_radius, enclosed = radius[order], mass * np.arange(1, len(x) + 1)

        def physical(name, power=1):
            return (halo[name] * catalog[name].unit).to(power, equivalencies=little_h)

        mean = numbers["omega_m"] * universe.critical_density0 / a**3
        for name, density in [("200c", 200 * universe.critical_density(z)), ("200m", 200 * mean)]:
            # The first radius, going outwards, within which the mean density falls to the threshold.
            reach = (3 * enclosed / (4 * np.pi * density)).to(u.Mpc**3) ** (1 / 3)
            i = int(np.argmax(reach[:-1] < sorted_radius[1:]))
            count = i + 1 if reach[0] >= sorted_radius[0] else 0
            assert halo[f"sod_halo_count_{name}"] == count, (row, name, count)
            few = count < LEAST
            measured += not few
            check(name, physical(f"sod_halo_m{name}", u.Msun).value, np.nan if few else enclosed[i].value, row)
            r = physical(f"sod_halo_r{name}", u.Mpc).value * a
            check(name, r, np.nan if few else reach[i].value, row)
            if name == "200c":
                sphere = (enclosed[i], reach[i], few)

        members = labels == halo["fof_halo_label"]
        assert members.sum() == halo["fof_halo_count"]
        own = np.sort(radius[members])
        speed = np.sqrt(G * mass * np.arange(1, len(own) + 1) / np.where(own > 0, own, np.inf)).to(u.km / u.s)
        best = 7 + np.argmax(speed[7:])
        check("vmax", halo["fof_halo_vmax"], speed[best].value, row)
        check("rvmax", physical("fof_halo_rvmax", u.Mpc).value * a, own[best].value, row)

        m, r, few = sphere
        inside = members & (radius <= r)
        # Bullock et al. 2001, equation 5, with the mass of the particles that have this angular momentum.
        m = mass * inside.sum()
        v = velocities[inside] - velocities[inside].mean(axis=0)
        momentum = (mass * np.cross(offsets[inside] * a / h * u.Mpc, v)).sum(axis=0)
        spin = np.linalg.norm(momentum) / (np.sqrt(2) * m * r * np.sqrt(G * m / r))
        check("spin", halo["fof_halo_spin"], np.nan if few else spin.to(u.one).value, row)

        shells = profiles[profiles["fof_halo_tag"] == halo["fof_halo_tag"]]
        assert len(shells) == (0 if few else 20)
        for shell in shells:
            lo, hi = [(shell[key] * u.Mpc / h * a) for key in ["shell_inner", "shell_outer"]]
            # Radii are written with nine digits, the last of them rounded.
            count = int(((radius > lo * (1 + 1e-9)) & (radius <= hi * (1 + 1e-9))).sum())
            assert abs(int(shell["shell_count"]) - count) == 0, (row, shell["shell_count"], count)
            density = (mass * count / (4 / 3 * np.pi * (hi**3 - lo**3))).to(u.Msun / u.Mpc**3).value
            # Comoving, with h.
            ours = (shell["shell_density"] * profiles["shell_density"].unit).to(
                u.Msun / u.Mpc**3, equivalencies=little_h
            )
            check("shell_density", ours.value, density * a**3, row)
        if len(shells):
            critical = (universe.critical_density(z) * a**3 / h**2).to(u.Msun / u.Mpc**3).value / 1e10
            distances = np.sort(np.linalg.norm(offsets, axis=1))
            fitted += check_fit(shells, distances, numbers["mass"], critical, softening, row)
    assert fitted > 10
    print(f"redshift {z}: {HALOS} halos, {measured} spheres of {LEAST} particles or more, {fitted} fits: equal")


def check_fit(shells, distances, mass, critical, softening, row):
    """Checks the most likely NFW profile by repeated least squares with variances from the previous profile."""
    lo, hi, count = (np.asarray(shells[name], float) for name in ["shell_inner", "shell_outer", "shell_count"])
    if softening:
        resolved = 3 * softening
    else:
        # Power et al. 2003, equation 20, at each particle within R200c.
        inside = distances[distances <= hi[-1] * (1 + 1e-9)]
        n = np.arange(1, len(inside) + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            density = mass * n / (4 / 3 * np.pi * inside**3)
            relaxed = ~(np.sqrt(200) / 8 * n / np.log(n) / np.sqrt(density / critical) >= 0.6)
        relaxed[0] = True
        resolved = inside[np.flatnonzero(relaxed)[-1]]
    check("resolved_radius", shells["resolved_radius"][0], resolved, row)
    use = lo >= resolved * (1 - 1e-8)
    if shells["nfw_shells"][0] == 0:
        assert np.isnan(shells["nfw_chi2"][0]) and not shells["shell_fitted"].any()
        return False
    assert np.array_equal(shells["shell_fitted"], use) and shells["nfw_shells"][0] == use.sum()
    lo, hi, count, end = lo[use], hi[use], count[use], hi[-1]

    def within(x):
        return np.log1p(x) - x / (1 + x)

    def model(_, scale, density):
        scale, density = np.exp(scale), np.exp(density)
        return 4 * np.pi * density * scale**3 * (within(hi / scale) - within(lo / scale)) / mass

    best = np.log([end / 5, mass * count.sum() / (end / 5) ** 3 / 10])
    sigma = np.sqrt(count + 1)
    for _ in range(100):
        before = best
        best, covariance = curve_fit(
            model, lo, count, best, sigma, absolute_sigma=True, xtol=1e-14, ftol=1e-14, gtol=1e-14
        )
        sigma = np.sqrt(model(lo, *best))
        if np.max(np.abs(best - before)) < 1e-12:
            break
    (scale, density), errors = np.exp(best), np.sqrt(np.diag(covariance))
    expected = {
        "nfw_scale_radius": scale,
        "nfw_scale_radius_error": scale * errors[0],
        "nfw_characteristic_density": density,
        "nfw_characteristic_density_error": density * errors[1],
        "nfw_concentration": end / scale,
        "nfw_concentration_error": end / scale * errors[0],
        "nfw_chi2": np.sum(((count - model(lo, *best)) / sigma) ** 2),
    }
    for name, value in expected.items():
        # Ignores digits far below the error of a poorly determined parameter.
        error = expected.get(f"{name}_error", 0)
        limit = 1e-3 * value if name.endswith("error") else 1e-5 * value + 1e-4 * error
        if not abs(shells[name][0] - value) <= limit:
            sys.exit(f"halo {row}: {name} is {shells[name][0]}, should be {value}")
    return True


main()
