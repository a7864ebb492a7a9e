"""Writes the small HDF5 snapshots of tests/data/snapshots: each in the layout of its code, and some invalid ones.

    python make_snapshots.py [FOLDER]        needs h5py 3.16, numpy 2.4, unyt, swiftsimio 12.4

Particle data are computed by formula, so that tests need no further files. Particle i is counted over all types and files in the
order of reading; see `coordinates` and the functions below it. All numbers are exact in single precision.

Layouts: Springel, Users guide for GADGET-2, section 6.3 (`gadget2`); documentation of GADGET-4, "Snapshot format" (`gadget4`), of
IllustrisTNG, "Data specifications" (`tng`), of GIZMO (`gizmo`), of SWIFT, "Snapshots" and "Lossy compression filters" (`swift`);
the EAGLE team 2017, arXiv:1706.09899 (`eagle`).
"""
import pathlib
import sys

import h5py
import numpy as np

FOLDER = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "snapshots")
BOX = 64.0
KPC, MSUN10, KM_S = 3.085678e21, 1.989e43, 1e5
ALL = dict(compression="gzip", compression_opts=4, shuffle=True, fletcher32=True)


def coordinates(i):
    return np.stack([(i * (37 + 2 * k) + 11 * k) % 4096 / 64.0 for k in range(3)], axis=1)


def velocities(i):
    return np.stack([i * (53 + 2 * k) % 2048 / 8.0 - 128.0 for k in range(3)], axis=1)


def masses(i):
    return 1.0 + i % 16 / 16.0


def ids(i):
    return 1000 + 7 * i


class Counter:
    """Assigns consecutive numbers to particles."""

    def __init__(self):
        self.n = 0

    def next(self, n):
        self.n += n
        return np.arange(self.n - n, self.n)


def header(file, here, totals, **others):
    group = file.create_group("Header")
    group.attrs["NumPart_ThisFile"] = np.array(here, dtype="i4")
    group.attrs["NumPart_Total"] = np.array(totals, dtype="u4")
    for name, value in others.items():
        group.attrs[name] = value
    return group


def gadget2():
    """Writes GADGET-2: single precision, contiguous datasets, a mass table, ids of 32 bits, no units."""
    with h5py.File(FOLDER / "gadget2.hdf5", "w") as file:
        n, i = [0, 100, 20, 0, 0, 0], Counter()
        header(file, n, n, NumPart_Total_HW=np.zeros(6, "u4"), MassTable=np.array([0, 0.5, 0.25, 0, 0, 0]), Time=0.5, Redshift=1.0,
               BoxSize=BOX, NumFilesPerSnapshot=np.int32(1), Omega0=0.3, OmegaLambda=0.7, HubbleParam=0.7)
        for t in (1, 2):
            group, own = file.create_group(f"PartType{t}"), i.next(n[t])
            group["Coordinates"] = coordinates(own).astype("f4")
            group["Velocities"] = velocities(own).astype("f4")
            group["ParticleIDs"] = ids(own).astype("u4")


def gadget4():
    """Writes GADGET-4: two files, double precision in chunks of the newest layout, ids of 64 bits, units among the parameters."""
    here = [[30, 50], [10, 70]]
    i = Counter()
    for k, n in enumerate(here):
        with h5py.File(FOLDER / f"gadget4.{k}.hdf5", "w", libver="latest") as file:
            group = file.create_group("Header")
            group.attrs.update(NumPart_ThisFile=np.array(n, "u8"), NumPart_Total=np.array([40, 120], "u8"), MassTable=np.array([0, 0.5]),
                               Time=0.25, Redshift=3.0, BoxSize=BOX, NumFilesPerSnapshot=np.int32(2), Git_commit=np.bytes_("abc"))
            file.create_group("Parameters").attrs.update(
                Omega0=0.31, OmegaLambda=0.69, HubbleParam=0.68, UnitLength_in_cm=1e3 * KPC, UnitMass_in_g=MSUN10,
                UnitVelocity_in_cm_per_s=KM_S, ComovingIntegrationOn=np.int32(1), BoxSize=BOX)
            # So many attributes that they do not fit into the group's own header.
            file["Parameters"].attrs.update({f"Parameter{k}": float(k) for k in range(20)})
            file.create_group("Config").attrs["NTYPES"] = np.bytes_("2")
            for t in (0, 1):
                group, own = file.create_group(f"PartType{t}"), i.next(n[t])
                # Appended to during the run: extensible arrays.
                group.create_dataset("Coordinates", data=coordinates(own), maxshape=(None, 3), chunks=(16, 3), compression="gzip")
                group.create_dataset("Velocities", data=velocities(own).astype("f4"), maxshape=(None, 3), chunks=(8, 3))
                group.create_dataset("ParticleIDs", data=(ids(own) + 2**40).astype("u8"), maxshape=(None,), chunks=(16,), **ALL)
                if t == 0:
                    group["Masses"] = masses(own).astype("f4")
                scale(group["Coordinates"], 1, -1, 1e3 * KPC)
                scale(group["Velocities"], 0.5, 0, KM_S)


def scale(dataset, a, h, cgs):
    """Writes the scaling attributes of AREPO and GADGET-4."""
    dataset.attrs.update(a_scaling=float(a), h_scaling=float(h), to_cgs=float(cgs), length_scaling=0.0)


def tng():
    """Writes IllustrisTNG: three files, positions in double precision, tracers without positions, black holes, a file without
    stars."""
    here = [[20, 30, 0, 9, 5, 1], [20, 30, 0, 8, 0, 0], [10, 40, 0, 7, 3, 1]]
    totals = [50, 100, 0, 24, 8, 2]
    i = Counter()
    for k, n in enumerate(here):
        with h5py.File(FOLDER / f"tng.{k}.hdf5", "w") as file:
            header(file, n, totals, NumPart_Total_HighWord=np.zeros(6, "u4"), MassTable=np.array([0, 0.5, 0, 0, 0, 0]), Time=0.5,
                   Redshift=1.0, BoxSize=BOX, NumFilesPerSnapshot=np.int32(3), Omega0=0.3089, OmegaLambda=0.6911, HubbleParam=0.6774,
                   UnitLength_in_cm=KPC, UnitMass_in_g=MSUN10, UnitVelocity_in_cm_per_s=KM_S, Git_commit=np.bytes_("def"),
                   Composition_vector_length=np.int32(10))
            for t in (0, 1, 3, 4, 5):
                if n[t] == 0:
                    continue
                group = file.create_group(f"PartType{t}")
                if t == 3:
                    group["TracerID"] = np.arange(n[t], dtype="u8")
                    group["ParentID"] = np.arange(n[t], dtype="u8")
                    continue
                own = i.next(n[t])
                group["Coordinates"] = coordinates(own)
                group["Velocities"] = velocities(own).astype("f4")
                group["ParticleIDs"] = ids(own).astype("u8")
                scale(group["Coordinates"], 1, -1, KPC)
                scale(group["Velocities"], 0.5, 0, KM_S)
                if t != 1:
                    group["Masses"] = masses(own).astype("f4")
                    scale(group["Masses"], 0, -1, MSUN10)


def eagle():
    """Writes EAGLE: all filters, `Velocity` and `Mass`, the time in another unit."""
    with h5py.File(FOLDER / "eagle.hdf5", "w") as file:
        n, i = [40, 60, 0, 0, 20, 0], Counter()
        header(file, n, n, NumPart_Total_HighWord=np.zeros(6, "u4"), MassTable=np.array([0, 0.5, 0, 0, 0, 0]), Time=0.0063,
               ExpansionFactor=0.5, Redshift=1.0, BoxSize=BOX, NumFilesPerSnapshot=np.int32(1), Omega0=0.307, OmegaLambda=0.693,
               HubbleParam=0.6777, RunLabel=np.bytes_("L0064"))
        file.create_group("Units").attrs.update(UnitLength_in_cm=1e3 * KPC, UnitMass_in_g=MSUN10, UnitVelocity_in_cm_per_s=KM_S)
        for t in (0, 1, 4):
            group, own = file.create_group(f"PartType{t}"), i.next(n[t])
            group.create_dataset("Coordinates", data=coordinates(own), chunks=(16, 3), **ALL)
            group.create_dataset("Velocity", data=velocities(own).astype("f4"), chunks=(16, 3), **ALL)
            group.create_dataset("ParticleIDs", data=ids(own).astype("i8"), chunks=(16,), **ALL)
            if t != 1:
                group.create_dataset("Mass", data=masses(own).astype("f4"), chunks=(16,), **ALL)
            for name, (a, h, cgs, text) in dict(
                    Coordinates=(1, -1, 1e3 * KPC, "Co-moving coordinates. Physical: r = a x = Coordinates h^-1 a U_L [cm]"),
                    Velocity=(0.5, 0, KM_S, "Co-moving velocities. Physical v_p = a dx/dt  = Velocities a^1/2 U_V [cm/s]"),
                    Mass=(0, -1, MSUN10, "Particle mass. Physical m = Mass h^-1 U_M [g]")).items():
                if name in group:
                    group[name].attrs.update({"aexp-scale-exponent": np.float32(a), "h-scale-exponent": np.float32(h),
                                              "CGSConversionFactor": cgs, "VarDescription": np.bytes_(text)})


def gizmo():
    """Writes GIZMO: big-endian throughout, after a user block."""
    with h5py.File(FOLDER / "gizmo.hdf5", "w", userblock_size=512) as file:
        n, i = [60, 40, 0, 0, 0, 0], Counter()
        group = file.create_group("Header")
        # A run that is not cosmological: velocities are not scaled.
        for name, value in dict(NumPart_ThisFile=n, NumPart_Total=n, NumPart_Total_HighWord=[0] * 6, NumFilesPerSnapshot=1).items():
            group.attrs[name] = np.array(value, ">i4")
        for name, value in dict(MassTable=[0.0] * 6, Time=0.7, Redshift=0.0, BoxSize=BOX, UnitLength_In_CGS=KPC,
                                UnitMass_In_CGS=MSUN10, UnitVelocity_In_CGS=KM_S, HubbleParam=1.0, GIZMO_version=2022.0).items():
            group.attrs[name] = np.array(value, ">f8")
        group.attrs["ComovingIntegrationOn"] = np.array(0, ">i4")
        for t in (0, 1):
            group, own = file.create_group(f"PartType{t}"), i.next(n[t])
            group.create_dataset("Coordinates", data=coordinates(own).astype(">f8"), chunks=(16, 1), shuffle=True, compression="gzip")
            group["Velocities"] = velocities(own).astype(">f4")
            group["ParticleIDs"] = ids(own).astype(">u4")
            group["Masses"] = masses(own).astype(">f8")


def types_ids():
    """Writes clumps of dark matter, with gas and stars in and near them and one black hole. Ids of stars are not integers."""
    with h5py.File(FOLDER / "types_ids.hdf5", "w") as file:
        n = [60, 120, 0, 0, 20, 1]
        header(file, n, n, NumPart_Total_HighWord=np.zeros(6, "u4"), MassTable=np.array([0, 4000.0, 0, 0, 0, 0]), Time=0.5, Redshift=1.0,
               BoxSize=BOX, NumFilesPerSnapshot=np.int32(1), Omega0=0.3, OmegaLambda=0.7, HubbleParam=0.7,
               UnitLength_in_cm=1000 * KPC, UnitMass_in_g=MSUN10, UnitVelocity_in_cm_per_s=KM_S)
        first = 0
        for t, in_clump, step in ((0, 3, (0, 0.75, 0)), (1, 6, (0.25, 0, 0)), (4, 1, (0, 0, 0.25)), (5, 1, (0.125, 0, 0))):
            own = np.arange(n[t])
            group = file.create_group(f"PartType{t}")
            group["Coordinates"] = (coordinates(10 * (own // in_clump)) + (own % in_clump + 1)[:, None] * np.array(step)).astype("f4") % BOX
            group["Velocities"] = velocities(first + own).astype("f4")
            group["ParticleIDs"] = ids(first + own) + 0.5 if t == 4 else ids(first + own).astype("u8")
            if t != 1:
                group["Masses"] = (500 * masses(own)).astype("f4")
            first += n[t]


def floats(bits, exponent, size):
    """Returns a float type with a shorter mantissa, as used by SWIFT."""
    kind = (h5py.h5t.IEEE_F32LE if size == 4 else h5py.h5t.IEEE_F64LE).copy()
    kind.set_fields(bits + exponent, bits, exponent, 0, bits)
    kind.set_offset(0)
    kind.set_precision(bits + exponent + 1)
    kind.set_size(size)
    kind.set_ebias(2 ** (exponent - 1) - 1)
    return kind


def wholes(bits):
    kind = h5py.h5t.STD_U64LE.copy()
    kind.set_precision(bits)
    kind.set_offset(0)
    return kind


def lossy(group, name, values, chunk, kind=None, digits=None):
    """Writes a dataset through n-bit or scale-offset, then shuffle, gzip and Fletcher32."""
    space = h5py.h5s.create_simple(values.shape)
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk(chunk)
    if digits is not None:
        plist.set_scaleoffset(h5py.h5z.SO_FLOAT_DSCALE, digits)
    elif kind is not None:
        plist.set_filter(h5py.h5z.FILTER_NBIT, h5py.h5z.FLAG_OPTIONAL, ())
    plist.set_shuffle()
    plist.set_deflate(4)
    plist.set_fletcher32()
    kind = kind or h5py.h5t.py_create(values.dtype)
    dataset = h5py.h5d.create(group.id, name.encode(), kind, space, plist)
    dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(values))


SWIFT_CGS = "Conversion factor to CGS (not including cosmological corrections)"


def swift_file(file, n, totals, files, a=0.5):
    group = header(file, n, totals, NumPart_Total_HighWord=np.zeros(7, "u4"), MassTable=np.zeros(7), Time=np.array([0.01]),
                   Redshift=np.array([1 / a - 1]), BoxSize=np.full(3, BOX), NumFilesPerSnapshot=np.array([files], "i4"),
                   Code=np.bytes_("SWIFT"), Dimension=np.array([3], "i4"), Virtual=np.array([0], "i4"))
    group.attrs["Scale-factor"] = np.array([a])
    file.create_group("Code").attrs.update({"Code": np.bytes_("SWIFT"), "Code Version": np.bytes_("2025.10")})
    file.create_group("Cosmology").attrs.update({"Cosmological run": np.array([1], "i4"), "Omega_m": np.array([0.3046]), "Omega_lambda":
                                                 np.array([0.694]), "h": np.array([0.681]), "Redshift": np.array([1 / a - 1])})
    # Attributes that other readers require, by the same rules.
    for name, value in {"H0 [internal units]": 68.1, "Scale-factor": a, "Omega_b": 0.0486, "Omega_cdm": 0.256, "Omega_k": 0.0,
                        "Omega_r": 7.8e-5, "Omega_nu": 0.0, "Omega_nu_0": 0.0, "N_ur": 3.046, "N_nu": 0.0, "N_eff": 3.046, "T_CMB_0 [K]": 2.7255, "w_0": -1.0,
                        "w_a": 0.0, "w": -1.0}.items():
        file["Cosmology"].attrs[name] = np.array([value])
    for name in ("HydroScheme", "SubgridScheme"):
        file.create_group(name)
    file.create_group("Units").attrs.update({"Unit length in cgs (U_L)": np.array([1e3 * KPC]), "Unit mass in cgs (U_M)":
                                             np.array([MSUN10]), "Unit time in cgs (U_t)": np.array([1e3 * KPC / KM_S]),
                                             "Unit current in cgs (U_I)": np.array([1.0]), "Unit temperature in cgs (U_T)": np.array([1.0])})
    file.copy("Units", "InternalCodeUnits")
    file.create_group("Policy").attrs.update({"cosmological integration": np.array([1], "i4"), "self gravity": np.array([1], "i4"),
                                              "hydro": np.array([1], "i4")})
    file.create_group("Parameters").attrs["MetaData:run_name"] = np.bytes_("test")


def swift_scales(group):
    """Writes the attributes of SWIFT: powers of its units of length, mass and time, of a and h, and the total factor."""
    for name, (a, cgs, powers) in dict(Coordinates=(1, 1e3 * KPC, dict(L=1)), Velocities=(0, KM_S, dict(L=1, t=-1)),
                                       Masses=(0, MSUN10, dict(M=1)), ParticleIDs=(0, 1.0, {})).items():
        attributes = {f"U_{unit} exponent": np.array([float(powers.get(unit, 0))], "f4") for unit in "ILMTt"}
        group[name].attrs.update(attributes | {"a-scale exponent": np.array([a], "f4"), "h-scale exponent": np.zeros(1, "f4"),
                                               SWIFT_CGS: np.array([cgs])})


def swift():
    """Writes SWIFT: lossy filters (which keep all bits of these numbers), vectors as attributes, links by name."""
    with h5py.File(FOLDER / "swift.hdf5", "w") as file:
        n, i = [50, 70, 0, 0, 0, 0, 0], Counter()
        swift_file(file, n, n, 1)
        for t in (0, 1):
            group, own = file.create_group(f"PartType{t}"), i.next(n[t])
            lossy(group, "Coordinates", coordinates(own), (32, 3), digits=6)
            lossy(group, "Velocities", velocities(own).astype("f4"), (32, 3), digits=3)
            lossy(group, "ParticleIDs", ids(own).astype("u8"), (32,), kind=wholes(40))
            # Without the plain class, h5py names a float type by its HDF5 type.
            lossy(group, "Masses", masses(own).astype("f4"), (32,), kind=floats(9, 8, 4))
            swift_scales(group)
        file["DMParticles"] = h5py.SoftLink("/PartType1")
        file["GasParticles"] = h5py.SoftLink("/PartType0")


def swift_parts():
    """Writes SWIFT: two files, and a file with virtual datasets of both."""
    here, totals, i = [[0, 40, 0, 0, 0, 0, 8], [0, 30, 0, 0, 0, 0, 2]], [0, 70, 0, 0, 0, 0, 10], Counter()
    for k, n in enumerate(here):
        with h5py.File(FOLDER / f"view.{k}.hdf5", "w") as file:
            swift_file(file, n, totals, 2)
            for t in (1, 6):
                group, own = file.create_group(f"PartType{t}"), i.next(n[t])
                group.create_dataset("Coordinates", data=coordinates(own), chunks=(2, 3), **ALL)
                group["Velocities"] = velocities(own).astype("f4")
                group["ParticleIDs"] = ids(own).astype("i8")
                group["Masses"] = masses(own).astype("f4")
                swift_scales(group)
    with h5py.File(FOLDER / "view.hdf5", "w", libver="latest") as file:
        swift_file(file, totals, totals, 1)
        file["Header"].attrs["Virtual"] = np.array([1], "i4")
        for t in (1, 6):
            group = file.create_group(f"PartType{t}")
            for name, tail, kind in (("Coordinates", (3,), "f8"), ("Velocities", (3,), "f4"), ("ParticleIDs", (), "i8"), ("Masses", (), "f4")):
                layout = h5py.VirtualLayout((totals[t], *tail), kind)
                start = 0
                for k, n in enumerate(here):
                    source = h5py.VirtualSource(f"view.{k}.hdf5", f"/PartType{t}/{name}", (n[t], *tail))
                    layout[start:start + n[t]] = source
                    start += n[t]
                group.create_virtual_dataset(name, layout)
            swift_scales(group)


def swift_writer():
    """Writes initial conditions with swiftsimio."""
    import unyt
    from swiftsimio import Writer
    from swiftsimio.objects import cosmo_array
    from swiftsimio.metadata.writer.unit_systems import cosmo_units

    i, a = np.arange(40), 0.5
    box = cosmo_array([BOX] * 3, unyt.Mpc, comoving=True, scale_factor=a, scale_exponent=1)
    writer = Writer(unit_system=cosmo_units, boxsize=box, scale_factor=a)
    dark = writer.dark_matter
    dark.coordinates = cosmo_array(coordinates(i), unyt.Mpc, comoving=True, scale_factor=a, scale_exponent=1)
    dark.velocities = cosmo_array(velocities(i), unyt.km / unyt.s, comoving=True, scale_factor=a, scale_exponent=0)
    dark.masses = cosmo_array(masses(i), 1e10 * unyt.msun, comoving=True, scale_factor=a, scale_exponent=0)
    dark.particle_ids = ids(i)
    writer.write(FOLDER / "swift_writer.hdf5")


def indexes():
    """Writes a type for each kind of chunk index, new and old, and chunks that split rows."""
    for name, libver in (("indexes_old", "earliest"), ("indexes_new", "latest")):
        with h5py.File(FOLDER / f"{name}.hdf5", "w", libver=libver) as file:
            n, i = [70, 70, 70, 70, 70, 70], Counter()
            header(file, n, n, MassTable=np.full(6, 0.5), Time=1.0, Redshift=0.0, BoxSize=BOX)
            ways = [
                dict(chunks=(16, 3), compression="gzip"),  # fixed array
                dict(chunks=(7, 2), maxshape=(None, None), compression="gzip", shuffle=True),  # B-tree version 2
                dict(chunks=(9, 3), maxshape=(None, 3), fletcher32=True),  # extensible array
                dict(chunks=(70, 3), compression="gzip", shuffle=True),  # single chunk
                dict(chunks=(32, 1), alloc=True),  # implicit
                dict(chunks=(1, 3), maxshape=(None, 3), compression="gzip"),
            ]
            for t, way in enumerate(ways):
                group, values = file.create_group(f"PartType{t}"), coordinates(i.next(n[t]))
                if not way.pop("alloc", False):
                    group.create_dataset("Coordinates", data=values, **way)
                    continue
                plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
                plist.set_chunk(way["chunks"])
                plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
                space = h5py.h5s.create_simple(values.shape)
                dataset = h5py.h5d.create(group.id, b"Coordinates", h5py.h5t.IEEE_F64LE, space, plist)
                dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.ascontiguousarray(values))


def wrong():
    """Writes files that are valid HDF5 but invalid snapshots."""
    own = np.arange(8)

    def make(name, change, prefix="wrong_", **others):
        with h5py.File(FOLDER / f"{prefix}{name}.hdf5", "w", libver="latest") as file:
            n = [0, 8, 0, 0, 0, 0]
            said = dict(MassTable=np.array([0, 0.5, 0, 0, 0, 0]), Time=1.0, Redshift=0.0, BoxSize=BOX, NumFilesPerSnapshot=1)
            header(file, n, n, **(said | others))
            group = file.create_group("PartType1")
            group["Coordinates"] = coordinates(own).astype("f4")
            group["Velocities"] = velocities(own).astype("f4")
            group["ParticleIDs"] = ids(own).astype("u4")
            change(file, group)

    def replace(name, **how):
        def change(_, group):
            del group[name]
            group.create_dataset(name, **how)
        return change

    make("no_header", lambda file, _: file.pop("Header"))
    make("no_group", lambda file, _: file.pop("PartType1"))
    make("no_coordinates", lambda _, group: group.pop("Coordinates"))
    make("no_counts", lambda file, _: file["Header"].attrs.pop("NumPart_ThisFile"))
    make("rows", replace("Velocities", data=velocities(own)[:7]))
    make("width", replace("Coordinates", data=coordinates(own)[:, :2]))
    make("rank", replace("Coordinates", data=coordinates(own)[:, :, None]))
    make("whole", replace("Coordinates", data=coordinates(own).astype("i4")))
    make("float_ids", replace("ParticleIDs", data=ids(own).astype("f8")), prefix="")
    make("half_ids", replace("ParticleIDs", data=ids(own).astype("f8") + 0.5), prefix="")
    make("text_ids", replace("ParticleIDs", data=np.array([b"a"] * 8)))
    make("unwritten", replace("Velocities", shape=(8, 3), dtype="f4"))
    make("hole", replace("Velocities", shape=(8, 3), dtype="f4", chunks=(4, 3)))
    make("lzf", replace("Velocities", data=velocities(own).astype("f4"), compression="lzf", shuffle=True, chunks=(4, 3)), prefix="")
    for kind, put in box_kinds():
        def change(file, _, put=put):
            del file["Header"].attrs["BoxSize"]
            put(file["Header"].attrs, "BoxSize")
        make(kind, change, prefix="box_")

    def as_dataset(file, _):
        del file["Header"].attrs["BoxSize"]
        file["Header/BoxSize"] = 64.0
    make("dataset", as_dataset, prefix="box_")
    for kind, link in [("external", h5py.ExternalLink("elsewhere.hdf5", "/masses")), ("soft", h5py.SoftLink("/nowhere"))]:
        make(f"{kind}_link", lambda _, group, link=link: group.__setitem__("Masses", link))
    make("wide_float", replace("Coordinates", data=coordinates(own).astype("f16")))
    make("sides", lambda *_: None, BoxSize=np.array([64.0, 64.0, 32.0]))
    make("mass", lambda *_: None, MassTable=np.array([0, -1.0, 0, 0, 0, 0]))
    make("split", lambda *_: None, NumFilesPerSnapshot=2)
    make("total", lambda file, _: file["Header"].attrs.modify("NumPart_Total", np.array([0, 9, 0, 0, 0, 0], "u4")))
    with h5py.File(FOLDER / "wrong_hole.hdf5", "r+") as file:
        file["PartType1/Velocities"][:4] = 1.0


def box_kinds():
    """Writes the side of the box in all kinds of storage; the first seven hold the number 64."""
    def long_double(attrs, name):
        space = h5py.h5s.create(h5py.h5s.SCALAR)
        h5py.h5a.create(attrs._id, name.encode(), h5py.h5t.NATIVE_LDOUBLE, space).write(np.array(64.0, np.longdouble))

    yield "text", lambda attrs, name: attrs.create(name, "64.0")
    yield "bytes", lambda attrs, name: attrs.create(name, np.bytes_("64"))
    yield "half", lambda attrs, name: attrs.create(name, 64.0, dtype=">f2")
    yield "byte", lambda attrs, name: attrs.create(name, [64], dtype="u1")
    yield "enum", lambda attrs, name: attrs.create(name, 64, dtype=h5py.enum_dtype({"SIDE": 64}, "i4"))
    yield "three", lambda attrs, name: attrs.create(name, [64.0] * 3)
    yield "texts", lambda attrs, name: attrs.create(name, ["64"], dtype=h5py.string_dtype())
    yield "words", lambda attrs, name: attrs.create(name, "64 Mpc")
    yield "two", lambda attrs, name: attrs.create(name, [64.0] * 2)
    yield "none", lambda attrs, name: attrs.create(name, np.zeros(0))
    yield "null", lambda attrs, name: attrs.create(name, h5py.Empty("f8"))
    yield "record", lambda attrs, name: attrs.create(name, np.array((64.0,), [("side", "f8")]))
    yield "wide", long_double


def tops():
    """Writes maximum shapes wider than the shape, and edge chunks without filters, with a layout for each type."""
    import ctypes
    import glob

    library = ctypes.CDLL(glob.glob(str(pathlib.Path(h5py.__file__).parent.parent / "h5py.libs" / "libhdf5-*"))[0])
    # Chunk, maximum shape, compression, early allocation, unfiltered edges.
    layouts = [((3, 3), (7, 6), False, False, False), ((2, 2), (12, 6), True, False, False), ((2, 2), (12, 6), False, True, False),
               ((3, 2), (None, 6), True, False, True), ((3, 2), (12, None), True, False, True), ((3, 2), (7, 3), True, False, True)]
    with h5py.File(FOLDER / "tops.hdf5", "w", libver="latest") as file:
        n, i = [7] * 6, Counter()
        header(file, n, n, MassTable=np.full(6, 0.5), Time=1.0, Redshift=0.0, BoxSize=BOX, NumFilesPerSnapshot=1)
        for t, (chunk, top, is_deflated, is_early, has_plain_edges) in enumerate(layouts):
            options = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            options.set_chunk(chunk)
            if is_deflated:
                options.set_shuffle()
                options.set_deflate(4)
            if is_early:
                options.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            if has_plain_edges:
                assert library.H5Pset_chunk_opts(ctypes.c_int64(options.id), ctypes.c_uint(2)) >= 0
            limits = tuple(h5py.h5s.UNLIMITED if extent is None else extent for extent in top)
            group = file.create_group(f"PartType{t}")
            dataset = h5py.h5d.create(group.id, b"Coordinates", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((7, 3), limits), options)
            h5py.Dataset(dataset)[...] = coordinates(i.next(7))


def tables():
    """Writes tables without a header."""
    own = np.arange(20)
    with h5py.File(FOLDER / "table_columns.hdf5", "w") as file:
        for k, name in enumerate("xyz"):
            file[name] = coordinates(own)[:, k].astype(">f4")
        file["ID"], file["mass"] = ids(own), masses(own)
        file["name"] = np.array([b"a"] * 20)
        file.attrs.update(BoxSize=BOX, Redshift=1.0)
    record = np.zeros(20, [("ID", "u4"), ("x", "f8"), ("y", ">f8"), ("z", "f4"), ("spin", "f4", (3,))])
    record["x"], record["y"], record["z"] = coordinates(own).T
    record["ID"], record["spin"] = ids(own), velocities(own)
    with h5py.File(FOLDER / "table_records.hdf5", "w", libver="latest") as file:
        file.create_dataset("run/stars", data=record, chunks=(6,), maxshape=(None,), shuffle=True, compression="gzip")
    with h5py.File(FOLDER / "table_points.hdf5", "w") as file:
        file["a"], file["b"], file["c/short"] = coordinates(own), velocities(own).astype("f4"), np.arange(4)
    with h5py.File(FOLDER / "table_link.hdf5", "w") as file:
        file["x"], file["y"], file["z"] = coordinates(own)[:, 0], coordinates(own)[:, 1], h5py.ExternalLink("elsewhere.hdf5", "/z")


def epochs():
    """Writes GADGET's layout with headers that do not determine whether the run is comoving, or that are impossible."""
    own = np.arange(8)
    cosmology = dict(Omega0=0.3, OmegaLambda=0.7, HubbleParam=0.7)
    comoving = dict(ComovingIntegrationOn=np.int32(1))
    for name, said, parameters in [
        ("time", dict(Time=0.25, **cosmology), {}),
        ("flag", dict(Time=0.25), comoving),
        ("only_redshift", dict(Redshift=3.0, **cosmology), {}),
        ("apart", dict(Time=5.0, Redshift=3.0, **cosmology), {}),
        ("zero", dict(Time=0.25, Redshift=0.0, **cosmology), {}),
        ("isolated", dict(Time=5.0, Redshift=0.0), {}),
        ("static", dict(Time=0.25, Redshift=3.0, **cosmology), dict(ComovingIntegrationOn=np.int32(0))),
    ]:
        with h5py.File(FOLDER / f"epoch_{name}.hdf5", "w", libver="latest") as file:
            n = [0, 8, 0, 0, 0, 0]
            header(file, n, n, MassTable=np.array([0, 0.5, 0, 0, 0, 0]), BoxSize=BOX, NumFilesPerSnapshot=1, **said)
            if parameters:
                file.create_group("Parameters").attrs.update(parameters)
            group = file.create_group("PartType1")
            group["Coordinates"] = coordinates(own).astype("f4")
            group["Velocities"] = velocities(own).astype("f4")
            group["ParticleIDs"] = ids(own).astype("u4")


def headers():
    """Writes headers whose groups repeat each other, particles that no header counts, masses of two units, and ids in floats."""
    own = np.arange(8)
    # The oldest layout has no checksums, so that tests can change numbers. The numbers of the two groups differ in their last
    # digits.
    with h5py.File(FOLDER / "groups.hdf5", "w", libver="earliest") as file:
        n = [0, 8, 0, 0, 0, 0]
        header(file, n, n, NumFilesPerSnapshot=1.0, MassTable=np.array([0, 0.5, 0, 0, 0, 0]), Time=0.4, Redshift=1.5, BoxSize=BOX, Omega0=0.3,
               OmegaLambda=0.7, HubbleParam=0.68, UnitLength_in_cm=KPC)
        # A cut-out keeps the parameters of the whole.
        file.create_group("Parameters").attrs.update(
            NumFilesPerSnapshot=600.0, Redshift=1.5001, BoxSize=BOX + 2**-16, Omega0=0.3001, OmegaLambda=0.7001, HubbleParam=0.6801)
        group = file.create_group("PartType1")
        group["Coordinates"] = coordinates(own).astype("f4")
        group["Velocities"] = velocities(own).astype("f4")

    def make(name, n, groups):
        with h5py.File(FOLDER / f"{name}.hdf5", "w", libver="latest") as file:
            header(file, n, n, MassTable=np.zeros(6), Time=1.0, Redshift=0.0, BoxSize=BOX, NumFilesPerSnapshot=1)
            for t, fields in groups.items():
                group = file.create_group(f"PartType{t}")
                for name, (values, cgs) in fields.items():
                    group[name] = values
                    if cgs:
                        scale(group[name], 0, -1, cgs)

    at, one = (coordinates(own).astype("f4"), None), np.ones(8)
    make("uncounted", [0, 8, 0, 0, 0, 0], {1: {"Coordinates": at, "Masses": (one, None)}, 4: {"Coordinates": (at[0][:6], None)}})
    make("mixed_masses", [8, 8, 0, 0, 0, 0], {0: {"Coordinates": at, "Masses": (one, MSUN10)}, 1: {"Coordinates": at, "Masses": (one, MSUN10 / 1e10)}})
    for name, kind in dict(single="f4", short="f2").items():
        make(f"{name}_ids", [0, 8, 0, 0, 0, 0], {1: {"Coordinates": at, "ParticleIDs": (ids(own).astype(kind), None)}})
    with h5py.File(FOLDER / "table_ids.hdf5", "w", libver="latest") as file:
        file["table"] = np.rec.fromarrays([own / 2.0, own / 4.0, ids(own)], dtype=[("x", "f4"), ("y", "f4"), ("id", "f4")])


def ids_of_some():
    """Writes gas, dark matter and a star, close to each other, with one fault: the star has no id, ids are fractional, or the
    velocity of the star is missing or not finite."""
    places = {0: [[1, 1, 0.5], [8, 8, 8]], 1: [[1, 1, 1], [1, 1, 2], [5, 5, 5]], 4: [[1, 1.5, 2]]}

    def make(name, change):
        with h5py.File(FOLDER / f"{name}.hdf5", "w", libver="latest") as file:
            n, i = [2, 3, 0, 0, 1, 0], Counter()
            header(file, n, n, MassTable=np.array([0, 4.0, 0, 0, 0, 0]), Time=1.0, Redshift=0.0, BoxSize=10.0, NumFilesPerSnapshot=1,
                   Omega0=0.3, OmegaLambda=0.7, HubbleParam=0.7)
            for t, rows in places.items():
                own, group = i.next(len(rows)), file.create_group(f"PartType{t}")
                group["Coordinates"] = np.array(rows, "f4")
                group["Velocities"] = velocities(own).astype("f4")
                group["ParticleIDs"] = ids(own).astype("u4")
                if t != 1:
                    group["Masses"] = np.full(len(rows), 0.5)
            change(file["PartType4"])

    def fractions(group):
        del group["ParticleIDs"]
        group["ParticleIDs"] = np.array([0.5])

    def nan(group):
        group["Velocities"][0, 2] = np.nan

    make("stars_without_ids", lambda group: group.pop("ParticleIDs"))
    make("stars_with_float_ids", fractions)
    make("stars_without_velocities", lambda group: group.pop("Velocities"))
    make("stars_with_nan", nan)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for make in (gadget2, gadget4, tng, eagle, gizmo, types_ids, swift, swift_parts, swift_writer, indexes, wrong, tops, tables, epochs, headers, ids_of_some):
        make()
