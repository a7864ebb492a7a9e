#!/usr/bin/env python3
"""Compares HDF5 snapshots as read by `ropewalk convert` with h5py, pynbody, swiftsimio and yt.

    python3 tests/oracle/snapshots.py target/release/ropewalk FOLDER

Writes the snapshots of tests/data/make_snapshots.py to FOLDER, which must not be that of the repository, and larger ones with all
filters and layouts that h5py writes, whole and split. Positions, ids and masses must be equal to the last bit. Velocities are the
file's numbers times a power of the scale factor, within one part in 10^12 in double precision, and within one unit in the last
place in single precision. yt 4.4 does not open SWIFT's files with numpy 2. swiftsimio 12 writes wrong powers of the scale factor,
so its files are compared with its input. Needs h5py, numpy, pynbody, swiftsimio and yt.
"""

import argparse
import os
import subprocess
import sys
import warnings
from pathlib import Path

import h5py
import numpy as np

MAKER = Path(__file__).resolve().parent.parent / "data" / "make_snapshots.py"
FIELDS = dict(positions=("Coordinates",), velocities=("Velocities", "Velocity"), ids=("ParticleIDs",), masses=("Masses", "Mass"))
FILTERS = dict(gzip=dict(compression="gzip"), shuffle=dict(compression="gzip", shuffle=True), fletcher32=dict(fletcher32=True),
               all=dict(compression="gzip", shuffle=True, fletcher32=True), chunks=dict(chunks=True), auto=dict(chunks=True, compression="gzip"),
               plain={}, szip=dict(compression="szip"), digits=dict(scaleoffset=5))


def converted(program, path, folder):
    """Returns the arrays that ropewalk reads, by name."""
    out = folder / "converted.npz"
    done = subprocess.run([program, "convert", path, out], capture_output=True, text=True)
    assert done.returncode == 0, f"{path}: {done.stderr}"
    with np.load(out) as arrays:
        ours = {name: arrays[name] for name in arrays.files}
    for name in ("positions", "velocities"):
        if name in ours:
            ours[name] = ours[name].reshape(-1, 3)
    ours["masses"] = np.broadcast_to(ours["masses"], len(ours["positions"]))
    # Scalars may be stored as a number or as an array of one.
    return ours | {name: float(np.ravel(ours[name])[0]) for name in ("box_size", "redshift") if name in ours}


def parts(path):
    """Returns the files of a snapshot, ordered by name."""
    name, number = path.name.removesuffix(".hdf5").rsplit(".", 1) if path.name.count(".") == 2 else (None, None)
    return sorted(path.parent.glob(f"{name}.[0-9].hdf5")) if number is not None else [path]


def by_h5py(path):
    """Returns the file's own numbers, file by file and type by type."""
    columns = {name: [] for name in FIELDS}
    for part in parts(path):
        with h5py.File(part) as file:
            table = file["Header"].attrs["MassTable"]
            for t in range(len(file["Header"].attrs["NumPart_ThisFile"])):
                group = file.get(f"PartType{t}")
                if group is None or "Coordinates" not in group:
                    continue
                for name, candidates in FIELDS.items():
                    found = [candidate for candidate in candidates if candidate in group]
                    if found:
                        columns[name].append(group[found[0]][...])
                    elif name == "masses":
                        columns[name].append(np.full(len(group["Coordinates"]), table[t]))
    return {name: np.concatenate(columns) for name, columns in columns.items() if columns}


def same(ours, theirs, name, what, close=0.0):
    """Asserts equality, or equality within `close` times the value."""
    ours, theirs = np.asarray(ours, "f8"), np.asarray(theirs, "f8")
    assert ours.shape == theirs.shape, f"{what} {name}: {ours.shape} and {theirs.shape}"
    apart = np.max(np.abs(ours - theirs) / np.maximum(np.abs(theirs), 1e-300), initial=0.0)
    assert apart <= close, f"{what} {name}: apart by {apart}"



def check(what, ours, ids, close_velocity, **columns):
    """Compares columns of another program, in its order, with ours."""
    mine = np.argsort(ours["ids"])
    other = np.argsort(np.asarray(ids))
    assert np.array_equal(ours["ids"][mine], np.asarray(ids)[other].astype("u8")), f"{what}: ids"
    for name, theirs in columns.items():
        same(ours[name][mine], np.asarray(theirs)[other], name, what, dict(velocities=close_velocity, masses=1e-15).get(name, 0.0))


def with_pynbody(path, ours, close):
    import pynbody

    # The common name of the parts.
    name = path if len(parts(path)) == 1 else path.with_name(path.name.split(".")[0])
    snapshot = pynbody.load(str(name))
    velocities = snapshot["vel"].in_units("km s**-1", **snapshot.conversion_context())
    check(f"pynbody, {path.name}", ours, snapshot["iord"], close, positions=snapshot["pos"], velocities=velocities, masses=snapshot["mass"])


def with_yt(path, ours, close):
    import yt

    yt.set_log_level(50)
    data = yt.load(str(path))
    data.index
    types = [kind for kind in data.particle_types_raw if (kind, "Coordinates") in data.field_list]
    all_data = data.all_data()
    gather = lambda field, unit: np.concatenate([np.asarray(all_data[kind, field].to(unit)) for kind in types])
    check(f"yt, {path.name}", ours, gather("particle_index", "dimensionless"), close,
          positions=gather("particle_position", "code_length"), velocities=gather("particle_velocity", "km/s"),
          **({} if path.name == "eagle.hdf5" else dict(masses=gather("particle_mass", "code_mass"))))
    assert abs(float(data.current_redshift) - ours["redshift"]) < 1e-12 or not data.cosmological_simulation


def with_swiftsimio(path, ours, close):
    import swiftsimio

    data = swiftsimio.load(path)
    groups = [getattr(data, name) for name in ("gas", "dark_matter", "neutrinos") if hasattr(data, name)]
    gather = lambda get: np.concatenate([np.asarray(get(group)) for group in groups])
    check(f"swiftsimio, {path.name}", ours, gather(lambda group: group.particle_ids), close,
          positions=gather(lambda group: group.coordinates.to_comoving()),
          # In the file's own unit, which is km/s except for swiftsimio's rounding of years.
          velocities=gather(lambda group: group.velocities.to_physical().value),
          masses=gather(lambda group: group.masses))
    assert abs(data.metadata.redshift - ours["redshift"]) < 1e-12


def filters(folder):
    """Writes random particles through every filter and layout, in one file of each kind, and big-endian."""
    random = np.random.default_rng(7)
    for libver in ("earliest", "latest"):
        for name, options in FILTERS.items():
            for kind in ("<f4", ">f8"):
                if name == "digits" and kind == ">f8":
                    continue
                path = folder / f"filters_{libver}_{name}_{'single' if kind == '<f4' else 'double'}.hdf5"
                n = [3000, 7777]
                try:
                    with h5py.File(path, "w", libver=libver) as file:
                        file.create_group("Header").attrs.update(
                            NumPart_ThisFile=np.array(n, "u4"), NumPart_Total=np.array(n, "u4"), MassTable=np.zeros(2), Time=0.2,
                            Redshift=4.0, BoxSize=100.0, NumFilesPerSnapshot=1, Omega0=0.3, OmegaLambda=0.7, HubbleParam=0.7)
                        for t in (0, 1):
                            group = file.create_group(f"PartType{t}")
                            group.create_dataset("Coordinates", data=random.uniform(0, 100, (n[t], 3)).astype(kind), **options)
                            group.create_dataset("Velocities", data=random.normal(0, 300, (n[t], 3)).astype(kind), **options)
                            group.create_dataset("Masses", data=random.uniform(1, 2, n[t]).astype(kind), **options)
                            whole = dict(options, scaleoffset=0) if "scaleoffset" in options else options
                            ids = random.permutation(n[t]) + sum(n[:t]) + 2**33
                            group.create_dataset("ParticleIDs", data=ids.astype(kind[0] + "u8"), **whole)
                except ValueError as error:
                    # A build of HDF5 may lack szip's encoder.
                    assert name == "szip", error
                    path.unlink()
                    continue
                yield path, 0.2**0.5


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    arguments.add_argument("program")
    arguments.add_argument("folder", type=Path)
    arguments = arguments.parse_args()
    program, folder = os.path.abspath(arguments.program), arguments.folder.resolve()
    assert folder != MAKER.parent / "snapshots"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, MAKER, folder], check=True, capture_output=True)
    warnings.filterwarnings("ignore")

    root, files = 0.5**0.5, 0
    own = [("gadget2.hdf5", root, [with_pynbody, with_yt]), ("gadget4.0.hdf5", 0.5, [with_pynbody, with_yt]),
           ("tng.0.hdf5", root, [with_pynbody, with_yt]), ("eagle.hdf5", root, [with_pynbody, with_yt]),
           ("gizmo.hdf5", 1.0, [with_pynbody, with_yt]), ("swift.hdf5", 1.0, [with_swiftsimio]), ("view.hdf5", 1.0, [with_swiftsimio]),
           ("swift_writer.hdf5", 1.0, [])]
    cases = [(folder / name, factor, others) for name, factor, others in own]
    cases += [(path, factor, []) for path, factor in filters(folder)]
    for path, factor, others in cases:
        ours = converted(program, path, folder)
        theirs = by_h5py(folder / "view.0.hdf5" if path.name == "view.hdf5" else path)
        assert np.array_equal(ours["ids"], theirs["ids"].astype("u8")), path
        for name in ("positions", "masses"):
            same(ours[name], theirs[name], name, f"h5py, {path.name}")
        # The product is computed in double precision, and then rounded to the type of the file.
        kind = theirs["velocities"].dtype
        scaled = (theirs["velocities"].astype("f8") * factor).astype(kind)
        close = 1e-12 if kind.itemsize == 8 else 1.2e-7
        same(ours["velocities"], scaled, "velocities", f"h5py, {path.name}", 0.0 if factor in (1.0, 0.5) else 1e-15)
        for other in others:
            other(path, ours, close)
        files += 1
    print(f"{files} snapshots are read as h5py, pynbody, swiftsimio and yt read them")


if __name__ == "__main__":
    main()
