#!/usr/bin/env python3
"""Compares `ropewalk convert` with h5py on generated HDF5 files.

    python3 tests/oracle/hdf5.py target/release/ropewalk FOLDER

1. Storage: some 600 snapshots of one dataset layout each. The layouts combine library version, shape, chunk shape, maximum shape, filters,
   number type, byte order, fill value, allocation time, user block, resizing and the order of writing. Positions, ids and masses must be
   equal bit for bit to what h5py reads, or the file must be refused for one of the reasons in `REASONS`. No other outcome is accepted.
2. Attributes: each header quantity in each kind of storage is read, or refused with its name.
3. Links, tables and parts: external, soft and broken links, tables without a header and their metadata, and single files of a split snapshot.

Random choices have a fixed seed. Needs h5py and numpy. Every temporary file is in FOLDER and is removed when its comparison succeeds.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import glob
import itertools
import os
import re
import subprocess
import warnings
from pathlib import Path

import h5py
import numpy as np

VERSIONS = ["earliest", "v108", "v110", "v112", "v114", "latest"]
FLOATS = ["<f4", ">f4", "<f8", ">f8", "<f2", ">f2"]
WHOLES = [order + sign + size for order in "<>" for sign in "ui" for size in "1248"]
GZIP, SHUFFLE, SUM, LZF = dict(compression="gzip"), dict(shuffle=True), dict(fletcher32=True), dict(compression="lzf")
FILTERS = [{}, GZIP, GZIP | SHUFFLE, SUM, GZIP | SHUFFLE | SUM, SHUFFLE, LZF, LZF | SHUFFLE, LZF | SUM, dict(compression="szip"),
           dict(compression="szip") | SHUFFLE]
# Reasons for which a storage layout may be rejected: a name, a pattern of the message, and the layouts to which the reason applies.
REASONS = dict(
    unwritten=(r"(were|was made but) never written", lambda case: case.order == "half" or case.resize is not None),
    width=(r"numbers of 16 bytes", lambda case: np.dtype(case.number).itemsize == 16),
)


def libhdf5():
    """Returns the HDF5 library that h5py has loaded, for properties that h5py does not offer."""
    folder = Path(h5py.__file__).parent.parent / "h5py.libs"
    found = glob.glob(str(folder / "libhdf5-*")) or [None]
    library = ctypes.CDLL(found[0])
    return library if hasattr(library, "H5Pset_chunk_opts") else None


LIBRARY = libhdf5()


def set_property(name, properties, *values):
    assert getattr(LIBRARY, name)(ctypes.c_int64(properties.id), *values) >= 0, name


def data(random, kind, shape):
    """Returns numbers that a type holds exactly."""
    kind = np.dtype(kind)
    if kind.kind == "f":
        return np.ldexp(random.integers(0, 1024, shape), -4).astype(kind)
    top = min(2**62, np.iinfo(kind).max)
    return random.integers(0, top, shape, dtype="i8").astype(kind)


class Case:
    """A layout of datasets. `make` writes one dataset of that layout."""

    def __init__(self, **options):
        base = dict(version="latest", rows=7, chunk=None, top=None, filters={}, number="<f4", order="forward", fill=None, time=None, partial=False,
                    masks=None, userblock=0, compact=False, resize=None, nbit=False, committed=False, attributes=0, track=False, scale=None)
        assert set(options) <= set(base), options
        self.__dict__.update(base | options)

    def __str__(self):
        return " ".join(f"{name}={value}" for name, value in self.__dict__.items())

    def open(self, path):
        return h5py.File(path, "w", libver=(self.version, "latest"), userblock_size=self.userblock, track_order=self.track)

    def make(self, group, name, values):
        rank = values.ndim
        chunk = tuple(self.chunk[:rank]) if self.chunk else None
        top = tuple(None if extent == -1 else values.shape[axis] + extent for axis, extent in enumerate(self.top[:rank])) if self.top else None
        filters = dict(self.filters)
        if self.scale is not None:
            filters = dict(scaleoffset=self.scale if values.dtype.kind == "f" else 0)
        kind = values.dtype
        if self.committed:
            file = group.file
            type_name = f"type_{kind.str[1:]}"
            if type_name not in file:
                file[type_name] = kind
            kind = file[type_name]
        options = h5py._hl.filters.fill_dcpl(
            h5py.h5p.create(h5py.h5p.DATASET_CREATE), values.shape, values.dtype, chunk or (bool(filters) or top is not None or None),
            filters.get("compression"), None, filters.get("shuffle"), filters.get("fletcher32"), top, filters.get("scaleoffset"), None, None)
        if self.compact:
            options.set_layout(h5py.h5d.COMPACT)
        if self.fill is not None:
            options.set_fill_value(np.array(self.fill, values.dtype))
        if self.time:
            options.set_alloc_time(dict(early=h5py.h5d.ALLOC_TIME_EARLY, late=h5py.h5d.ALLOC_TIME_LATE, incr=h5py.h5d.ALLOC_TIME_INCR)[self.time])
        if self.partial:
            set_property("H5Pset_chunk_opts", options, ctypes.c_uint(2))
        if self.nbit:
            set_property("H5Pset_nbit", options)
        # Resized datasets are created and written with another number of rows.
        start = (self.resize, *values.shape[1:]) if self.resize is not None else values.shape
        limits = tuple(h5py.h5s.UNLIMITED if extent is None else extent for extent in top) if top else start
        if self.resize is not None:
            limits = tuple(limit if limit == h5py.h5s.UNLIMITED else max(limit, extent) for limit, extent in zip(limits, start))
        space = h5py.h5s.create_simple(start, limits)
        raw = h5py.h5d.create(group.id, name.encode(), (kind.id if self.committed else h5py.h5t.py_create(kind, logical=True)), space, options)
        dataset = h5py.Dataset(raw)
        if self.resize is not None:
            dataset[...] = np.resize(values, start) if values.size else np.zeros(start, values.dtype)
            dataset.resize(values.shape)
        n = len(values)
        if self.masks is not None and dataset.chunks:
            direct(dataset, values, self.masks)
        elif self.order == "forward" or (self.order == "columns" and rank == 1):
            dataset[...] = values
        elif self.order == "backward":
            for row in range(n)[::-1]:
                dataset[row] = values[row]
        elif self.order == "columns" and rank == 2:
            for column in (2, 0, 1):
                dataset[:, column] = values[:, column]
        elif self.order == "half":
            dataset[: n // 2] = values[: n // 2]
        for k in range(self.attributes):
            dataset.attrs[f"attribute {k}"] = k
        return dataset


def direct(dataset, values, mask):
    """Writes the chunks of a dataset one by one. In every second chunk, filters with a bit in `mask` are skipped."""
    import zlib

    steps = [range(0, extent, chunk) for extent, chunk in zip(values.shape, dataset.chunks)]
    for k, start in enumerate(itertools.product(*steps)):
        block = np.zeros(dataset.chunks, values.dtype)
        part = values[tuple(slice(first, first + chunk) for first, chunk in zip(start, dataset.chunks))]
        block[tuple(slice(0, extent) for extent in part.shape)] = part
        raw, own = block.tobytes(), mask if k % 2 else 0
        filters = [dataset.id.get_create_plist().get_filter(i)[0] for i in range(dataset.id.get_create_plist().get_nfilters())]
        for i, number in enumerate(filters):
            if own >> i & 1:
                continue
            if number == h5py.h5z.FILTER_SHUFFLE:
                raw = np.frombuffer(raw, "u1").reshape(-1, values.dtype.itemsize).T.tobytes()
            elif number == h5py.h5z.FILTER_DEFLATE:
                raw = zlib.compress(raw)
            else:
                raise ValueError(number)
        dataset.id.write_direct_chunk(start, raw, own)


def write(case, path, random):
    n = case.rows
    positions = data(random, case.number, (n, 3))
    ids = data(random, WHOLES[random.integers(len(WHOLES))] if np.dtype(case.number).kind == "f" else case.number, (n,))
    masses = data(random, case.number, (n,))
    with case.open(path) as file:
        header(file, n)
        group = file.create_group("PartType1", track_order=case.track)
        case.make(group, "Coordinates", positions)
        case.make(group, "ParticleIDs", ids)
        case.make(group, "Masses", masses + masses.dtype.type(1) if masses.size else masses)
    with h5py.File(path) as file:
        group = file["PartType1"]
        return {name: group[name][...] for name in ("Coordinates", "ParticleIDs", "Masses")}


def header(file, n, **others):
    values = dict(NumPart_ThisFile=np.array([0, n], "u4"), NumPart_Total=np.array([0, n], "u4"), MassTable=np.zeros(2), Time=1.0,
                  Redshift=0.0, BoxSize=128.0, NumFilesPerSnapshot=1)
    file.create_group("Header").attrs.update(values | others)


def bits(array):
    """Returns the bytes of an array, for types of one width, since -0 and NaN are compared by their bits."""
    return np.ascontiguousarray(array).tobytes()


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode in (0, 1, 2), f"{arguments}: exit status {done.returncode}: {done.stderr}"
    assert "panicked" not in done.stderr, f"{arguments}: {done.stderr}"
    return done


def compare(program, case, path, theirs):
    """Returns `equal`, or the name of the reason for which the file is rejected."""
    out = path.with_suffix(".npz")
    done = run(program, "convert", path, out)
    if done.returncode != 0:
        for name, (pattern, is_right) in REASONS.items():
            if is_right(case) and re.search(pattern, done.stderr):
                return name
        return f"REFUSED: {done.stderr.strip()}"
    with np.load(out) as ours:
        ours = {name: ours[name] for name in ours.files}
    out.unlink()
    wide = "f8" if theirs["Coordinates"].dtype.itemsize == 8 else "f4"
    if bits(ours["positions"].reshape(-1, 3).astype(ours["positions"].dtype)) != bits(theirs["Coordinates"].astype(wide)):
        return f"WRONG positions {ours['positions'].reshape(-1, 3)[:5].tolist()} {theirs['Coordinates'][:5].tolist()}"
    if "ids" in ours:
        whole = theirs["ParticleIDs"]
        if bits(ours["ids"]) != bits(whole.astype(f"u{whole.dtype.itemsize}").astype("u8")):
            return f"WRONG ids {ours['ids'][:9]} {whole[:9]}"
    elif len(theirs["ParticleIDs"]):
        return "MISSING ids"
    masses = theirs["Masses"].astype("f8")
    found = np.broadcast_to(ours["masses"], masses.shape) if len(masses) else masses
    if bits(found.astype("f8")) != bits(masses):
        return f"WRONG masses {found[:9]} {masses[:9]}"
    return "equal"


def cases(random):
    """Yields all layouts."""
    for version, filters, number in itertools.product(VERSIONS, FILTERS, ("<f4", ">f8")):
        yield Case(version=version, filters=filters, number=number, rows=40, chunk=(16, 2), top=(-1, 0))
    tops = [None, (0, 3), (5, 0), (5, 3), (-1, 0), (0, -1), (-1, -1), (-1, 3), (40, 1)]
    for version, top, chunk, filters in itertools.product(("earliest", "v110", "latest"), tops, [(3, 3), (2, 2), (4, 1), (1, 3), (10, 5)], [{}, GZIP]):
        limits = [(7 if step == 0 else 10**6 if step == -1 else 7 + step) for step in (top or (0, 0))]
        if chunk[0] > limits[0] or chunk[1] > ((top or (0, 0))[1] % 10**6 + 3):
            continue
        yield Case(version=version, chunk=chunk, top=top, filters=filters)
    # Early allocation without filters uses the implicit index.
    for top, chunk in itertools.product([None, (5, 0), (5, 3), (0, 3)], [(3, 3), (2, 2), (1, 1)]):
        for version in ("earliest", "latest"):
            yield Case(version=version, chunk=chunk, top=top, time="early", number="<f8")
    # Many chunks: pages of fixed arrays, super blocks and pages of extensible arrays, and deep B-trees.
    for rows, chunk, top in itertools.product((1030, 2500, 9000), [(1, 3), (3, 2), (2, 1)], [None, (1000, 3), (-1, 0), (0, -1), (-1, -1)]):
        for version, filters in [("latest", {}), ("latest", GZIP | SHUFFLE), ("earliest", GZIP)]:
            if rows == 9000 and (filters or chunk == (2, 1)) and top != (-1, 0):
                continue
            yield Case(version=version, rows=rows, chunk=chunk, top=top, filters=filters, number="<f8")
    for rows, chunk, filters in [(70_000, (1, 3), {}), (70_000, (1, 3), SUM), (30_000, (1, 1), {})]:
        yield Case(rows=rows, chunk=chunk, top=(-1, 0), filters=filters)
    # Unfiltered chunks at the edge.
    for version, chunk, filters in itertools.product(("earliest", "v110", "latest"), [(3, 3), (3, 2), (4, 2)], [GZIP, GZIP | SHUFFLE | SUM]):
        for top in [None, (-1, 0), (-1, -1), (5, 3)]:
            if LIBRARY:
                yield Case(version=version, chunk=chunk, top=top, filters=filters, partial=True)
    for number in FLOATS:
        for version, options in itertools.product(("earliest", "latest"), [{}, dict(compact=True), dict(chunk=(3, 2)), dict(chunk=(3, 2), filters=GZIP | SHUFFLE | SUM)]):
            yield Case(version=version, number=number, **options)
    for order, fill, version in itertools.product(("backward", "columns", "half"), (None, 3), ("earliest", "latest")):
        yield Case(order=order, fill=fill, version=version, rows=50, chunk=(4, 2))
        yield Case(order=order, fill=fill, version=version, rows=50, chunk=(4, 2), top=(-1, 0), filters=GZIP)
        yield Case(order=order, fill=fill, version=version, rows=50)
    # Datasets that grew or shrank.
    for resize, top, filters, version in itertools.product((2, 19, 60, 0), [(-1, 0), (80, 0), (-1, -1)], [{}, GZIP], ("earliest", "latest")):
        yield Case(resize=resize, top=top, filters=filters, version=version, rows=33, chunk=(4, 2))
    for masks, filters, version in itertools.product((0, 1, 2, 3), [GZIP | SHUFFLE, GZIP], ("earliest", "latest")):
        yield Case(masks=masks, filters=filters, version=version, rows=50, chunk=(8, 3), top=(-1, 0), number="<f8")
    for options in [dict(userblock=512), dict(userblock=2048), dict(committed=True), dict(attributes=30), dict(track=True), dict(rows=0), dict(rows=1)]:
        for version, layout in itertools.product(VERSIONS, [{}, dict(chunk=(4, 3), top=(-1, 0), filters=GZIP)]):
            yield Case(version=version, **options, **layout)
    for scale, number, version in itertools.product((4, 2), ("<f4", "<f8"), ("earliest", "latest")):
        yield Case(scale=scale, number=number, version=version, rows=100, chunk=(16, 2))
    if LIBRARY:
        for number, version, filters in itertools.product(("<f4", ">f8"), ("earliest", "latest"), ({}, GZIP)):
            yield Case(nbit=True, number=number, version=version, rows=100, chunk=(16, 2), filters=filters)
    for _ in range(150):
        pick = lambda values: values[random.integers(len(values))]
        rows = int(random.integers(1, 60))
        top = pick([None, (0, 3), (9, 0), (9, 5), (-1, 0), (0, -1), (-1, -1)])
        limit = [rows if not top else rows + top[0] if top[0] >= 0 else 70, 3 if not top else 3 + top[1] if top[1] >= 0 else 7]
        yield Case(version=pick(VERSIONS), rows=rows, top=top, chunk=tuple(int(random.integers(1, extent + 1)) for extent in limit), filters=pick(FILTERS),
                   number=pick(FLOATS), order=pick(["forward", "forward", "backward", "columns"]), time=pick([None, None, "early", "late", "incr"]),
                   fill=pick([None, 5]), userblock=pick([0, 0, 1024]), track=bool(random.integers(2)), partial=bool(LIBRARY and random.integers(5) == 0))


def storage(program, folder):
    """Compares all layouts, each in a separate file."""
    random = np.random.default_rng(43)
    outcomes, skipped = collections.Counter(), 0

    def one(job):
        case, path, theirs = job
        found = compare(program, case, path, theirs)
        if found in ("equal", *REASONS):
            path.unlink()
        return case, path, found

    jobs = []
    for k, case in enumerate(cases(random)):
        path = folder / f"storage_{k}.hdf5"
        try:
            jobs.append((case, path, write(case, path, random)))
        except (ValueError, RuntimeError, OSError):
            # This build of HDF5 lacks an encoder, or the combination is invalid.
            path.unlink(missing_ok=True)
            skipped += 1
    bad = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, path, found in pool.map(one, jobs):
            outcomes[found if found in ("equal", *REASONS) else "bad"] += 1
            if found not in ("equal", *REASONS):
                bad.append(f"{path.name}: {found}\n    {case}")
    return outcomes, skipped, bad


def attribute_kinds():
    """Returns ways to store a number: a name, a function that writes `value` to an attribute, and whether it must be readable."""
    def put(kind=None, shape=()):
        return lambda attrs, name, value: attrs.create(name, np.full(shape, value), dtype=kind)

    def enum(attrs, name, value):
        attrs.create(name, int(value), dtype=h5py.enum_dtype({f"v{int(value)}": int(value), "other": 99}, "i4"))

    def array(attrs, name, value):
        attrs.create(name, np.full(3, value, "f8"), dtype=np.dtype(("f8", (3,))))

    def compound(attrs, name, value):
        attrs[name] = np.array((value, 1.0), dtype=[("a", "f8"), ("b", "f8")])

    def reference(attrs, name, value):
        attrs.create(name, h5py.Group(attrs._id).ref if h5py.h5i.get_type(attrs._id) == h5py.h5i.GROUP else h5py.Dataset(attrs._id).ref, dtype=h5py.ref_dtype)

    def longs(attrs, name, value):
        space = h5py.h5s.create(h5py.h5s.SCALAR)
        h5py.h5a.create(attrs._id, name.encode(), h5py.h5t.NATIVE_LDOUBLE, space).write(np.array(value, np.longdouble))

    def sequence(attrs, name, value):
        kind = h5py.vlen_dtype(np.dtype("f8"))
        cell = np.empty(1, object)
        cell[0] = np.array([value])
        attrs.create(name, cell, dtype=kind)

    for kind in ["f8", ">f8", "f4", ">f4", "f2", "i1", "i2", ">i4", "i8", "u1", ">u2", "u4", ">u8"]:
        yield f"scalar {kind}", put(kind), True
        yield f"array of one {kind}", put(kind, 1), True
    yield "long double", longs, False
    yield "text", lambda attrs, name, value: attrs.create(name, str(value)), True
    yield "bytes", lambda attrs, name, value: attrs.create(name, np.bytes_(str(value))), True
    yield "array of one text", lambda attrs, name, value: attrs.create(name, [str(value)], dtype=h5py.string_dtype()), True
    yield "words", lambda attrs, name, value: attrs.create(name, f"{value} somethings"), False
    yield "texts", lambda attrs, name, value: attrs.create(name, [str(value)] * 2, dtype=h5py.string_dtype()), False
    yield "enumeration", enum, True
    yield "two numbers", put("f8", 2), False
    yield "no elements", put("f8", 0), False
    yield "array type", array, False
    yield "compound", compound, False
    yield "reference", reference, False
    yield "sequence", sequence, False
    yield "opaque", lambda attrs, name, value: attrs.create(name, np.void(b"12345678")), False
    yield "null", lambda attrs, name, value: attrs.create(name, h5py.Empty("f8")), False


# Header quantities: a value that all kinds can store, the group, and the text of `info` that shows the value if it was read.
QUANTITIES = dict(BoxSize=(64, "Header", "box             64"), Time=(1, "Header", ""), Redshift=(0, "Header", "redshift        0"),
                  NumFilesPerSnapshot=(1, "Header", "files           1"), Omega0=(1, "Header", "Omega_m 1"), OmegaLambda=(0, "Header", "Omega_Lambda 0"),
                  HubbleParam=(1, "Header", "h 1"), UnitLength_in_cm=(100, "Header", ""), ComovingIntegrationOn=(1, "Parameters", ""),
                  a_scaling=(1, "PartType1/Coordinates", ""), h_scaling=(0, "PartType1/Coordinates", ""), to_cgs=(100, "PartType1/Coordinates", ""))


def attributes(program, folder):
    """Tests each header quantity in each kind of storage."""
    bad, read, refused = [], 0, 0
    jobs = []
    for version, (name, (value, group, shown)), (kind, put, must) in itertools.product(("earliest", "latest"), QUANTITIES.items(), attribute_kinds()):
        path = folder / f"attribute_{len(jobs)}.hdf5"
        with h5py.File(path, "w", libver=(version, "latest")) as file:
            header(file, 3, Omega0=1.0, HubbleParam=1.0)
            file["PartType1/Coordinates"] = np.arange(9.0).reshape(3, 3)
            owner = file.require_group(group) if group != "PartType1/Coordinates" else file[group]
            owner.attrs.pop(name, None)
            put(owner.attrs, name, value)
        jobs.append((path, f"{name} as {kind} ({version})", name, shown, must))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (path, what, name, shown, must), done in zip(jobs, pool.map(lambda job: run(program, "info", job[0]), jobs)):
            if must and done.returncode == 0 and shown in done.stdout:
                read += 1
            elif not must and done.returncode != 0 and name in done.stderr:
                refused += 1
            else:
                bad.append(f"{what}: {done.stdout}{done.stderr}")
                continue
            path.unlink()
    return read, refused, bad


def expect(program, arguments, *words, fails=True):
    done = run(program, *arguments)
    text = done.stderr if fails else done.stdout + done.stderr
    missing = [word for word in words if word not in text]
    return [f"{arguments}: {missing} are not in: {done.stdout}{done.stderr}"] if missing or (done.returncode != 0) != fails else []


def links(program, folder):
    """Links and external storage are followed, or rejected with their names."""
    bad = []
    for version in ("earliest", "latest"):
        for many in (0, 20):
            other = folder / "elsewhere.hdf5"
            with h5py.File(other, "w") as file:
                file["x"] = np.zeros((3, 3))
            for kind, word in dict(external="external link to /x of the file elsewhere.hdf5", dead="soft link to /nowhere", group="external link to /g of the file elsewhere.hdf5",
                                   raw="in external files", virtual="elsewhere").items():
                path = folder / "links.hdf5"
                with h5py.File(path, "w", libver=(version, "latest")) as file:
                    header(file, 3)
                    if kind == "group":
                        file["PartType1"] = h5py.ExternalLink("elsewhere.hdf5", "/g")
                    group = file.require_group("PartType1") if kind != "group" else file.create_group("PartType0")
                    for k in range(many):
                        group[f"extra{k}"] = np.zeros(3)
                    if kind != "group":
                        group["Coordinates"] = np.zeros((3, 3))
                    target = "Masses"
                    if kind == "external":
                        group[target] = h5py.ExternalLink("elsewhere.hdf5", "/x")
                    elif kind == "dead":
                        group[target] = h5py.SoftLink("/nowhere")
                    elif kind == "raw":
                        group.create_dataset(target, (3,), "f8", external=[(str(folder / "raw.bin"), 0, 24)])
                    elif kind == "virtual":
                        layout = h5py.VirtualLayout((3,), "f8")
                        layout[:] = h5py.VirtualSource("elsewhere.hdf5", "x", (3, 3))[:, 0]
                        group.create_virtual_dataset(target, layout)
                word = "virtual dataset" if kind == "virtual" else word
                bad += expect(program, ["convert", path, folder / "links.npy.npz"], "PartType1", word)
            # A soft link to a dataset of the same file is followed.
            with h5py.File(path, "w", libver=(version, "latest")) as file:
                header(file, 3)
                file["data"] = np.arange(9.0).reshape(3, 3)
                file["PartType1/Coordinates"] = h5py.SoftLink("/data")
            bad += expect(program, ["convert", path, folder / "links.npy"], fails=False)
            if not bad and not np.array_equal(np.load(folder / "links.npy"), np.arange(9.0).reshape(3, 3)):
                bad.append(f"{path}: a soft link leads to other numbers")
    return bad


def tables(program, folder):
    """Tables without a header: the values read equal those written, and ambiguous tables are rejected."""
    bad = []
    random = np.random.default_rng(5)
    points = random.normal(size=(50, 3))
    record = np.zeros(50, [("id", "i8"), ("x", "f4"), ("name", "S4"), ("y", ">f8"), ("z", "f8"), ("v", "f4", (2,))])
    record["x"], record["y"], record["z"], record["id"], record["v"] = *points.T, np.arange(50), points[:, :2]
    exact = points.copy()
    exact[:, 0] = record["x"]

    def check(path, expected, *options):
        out = folder / "table.npy"
        done = run(program, "convert", path, out, *options)
        if done.returncode != 0:
            bad.append(f"{path} {options}: {done.stderr}")
        elif not np.array_equal(np.load(out), expected):
            bad.append(f"{path} {options}: {np.load(out)[:3]} is not {expected[:3]}")

    for version, options in itertools.product(("earliest", "latest"), ({}, dict(chunks=True), dict(chunks=(7,), **GZIP | SHUFFLE), dict(chunks=(7,), maxshape=(None,), **LZF | SHUFFLE | SUM))):
        path = folder / "table.hdf5"
        wide = dict(options, chunks=(7, 2)) if isinstance(options.get("chunks"), tuple) else dict(options)
        wide.pop("maxshape", None)
        with h5py.File(path, "w", libver=(version, "latest")) as file:
            file.create_dataset("points", data=points, **wide)
        check(path, points)
        with h5py.File(path, "w", libver=(version, "latest")) as file:
            for k, name in enumerate("xyz"):
                file.create_dataset(name, data=points[:, k], **options)
        check(path, points)
        check(path, points[:, ::-1], "--coordinates", "z,y,x")
        with h5py.File(path, "w", libver=(version, "latest")) as file:
            file.create_dataset("run/stars", data=record, **options)
        check(path, exact)
        check(path, record["v"].astype("f4"), "--coordinates", "run/stars/v")
        check(path, points[:, :1].astype("f4") * 0 + record["x"][:, None], "--coordinates", "run/stars/x")
        with h5py.File(path, "w", libver=(version, "latest")) as file:
            file.create_dataset("a", data=points, **wide)
            file.create_dataset("b", data=points + 1, **wide)
            file["g/c"] = np.arange(4)
        bad.extend(expect(program, ["convert", path, folder / "table.npy"], "a (50 x 3 f64)", "b (50 x 3 f64)", "g/c (4 i64)", "--coordinates"))
        check(path, points + 1, "--coordinates", "b")
        bad.extend(expect(program, ["convert", path, folder / "table.npy", "--coordinates", "a,g/c"], "differ in length"))
        bad.extend(expect(program, ["info", path], "a: 3 x f64", "g/c: i64", fails=False))
        with h5py.File(path, "w", libver=(version, "latest")) as file:
            file["x"], file["y"], file["z"] = points[:, 0], points[:, 1], h5py.ExternalLink("elsewhere.hdf5", "/x")
        bad.extend(expect(program, ["convert", path, folder / "table.npy"], "external link", "elsewhere.hdf5"))
        with h5py.File(path, "w", libver=(version, "latest")) as file:
            file["x"], file["y"], file["z"] = points[:, 0], points[:, 1], points[:, 2].astype(np.longdouble)
        bad.extend(expect(program, ["convert", path, folder / "table.npy"], "z (", "16 bytes"))
    try:
        import pandas
        import tables as _
    except ImportError as error:
        print(f"tables of pandas are not compared: {error}")
        return bad
    path = folder / "pandas.h5"
    frames = [
        pandas.DataFrame(points, columns=["x", "y", "z"]),
        pandas.DataFrame(points[:, ::-1], columns=["z", "y", "x"]),
        pandas.DataFrame(dict(halo_id=np.arange(50.0), x=points[:, 0], y=points[:, 1], z=points[:, 2])),
        pandas.DataFrame(dict(n=np.arange(50), z=points[:, 2], x=points[:, 0], name=["a"] * 50, y=points[:, 1])),
    ]
    for frame, options in itertools.product(frames, (dict(format="fixed"), dict(format="table"), dict(format="table", data_columns=True))):
        with warnings.catch_warnings():
            # Text in the format "fixed" is pickled.
            warnings.simplefilter("ignore")
            frame.to_hdf(path, key="df", mode="w", **options)
        if options == dict(format="table"):
            # The names of the columns are pickled.
            bad.extend(expect(program, ["convert", path, folder / "table.npy"], "values_block_0", "data_columns=True"))
        else:
            check(path, points)
            check(path, points[:, ::-1], "--coordinates", "z,y,x")
    return bad


def roles(program, folder):
    """Velocities and names of chosen columns, omitted columns, and metadata, compared with numpy or mentioned in a note."""
    bad = []
    random = np.random.default_rng(6)
    path, out = folder / "roles.hdf5", folder / "roles.npz"

    def convert(*options, notes=()):
        """Returns the arrays that `convert` writes."""
        done = run(program, "convert", path, out, *options)
        if done.returncode != 0:
            bad.append(f"roles {options}: {done.stderr}")
            return {}
        bad.extend(f"roles {options}: no note of {note} in {done.stdout}{done.stderr}" for note in notes if note not in done.stdout + done.stderr)
        with np.load(out) as arrays:
            return {name: arrays[name] for name in arrays.files}

    own = {name: random.normal(size=40) for name in ("x", "y", "z", "vx", "vy", "vz")}
    with h5py.File(path, "w") as file:
        for name, values in own.items():
            file[name] = values
    for axes in itertools.chain.from_iterable(itertools.permutations("xyz", n) for n in (1, 2, 3)):
        arrays = convert("--coordinates", ",".join(axes))
        for name, prefix in (("positions", ""), ("velocities", "v")):
            expected = np.stack([own[prefix + axis] for axis in axes], axis=1)
            if not np.array_equal(arrays.get(name, np.empty(0)).reshape(-1, len(axes)), expected):
                bad.append(f"{name} of {axes}")
    # Names that consist of digits are names.
    with h5py.File(path, "w") as file:
        for k in range(5):
            file[str(k)] = np.full(40, float(k))
    for columns in itertools.permutations("01234", 2):
        arrays = convert("--coordinates", ",".join(columns))
        if not np.array_equal(arrays.get("positions"), np.full((40, 2), [float(name) for name in columns])):
            bad.append(f"columns {columns}: {arrays}")
    # Omitted columns are named in a note.
    with h5py.File(path, "w") as file:
        for name in ("x", "y", "z"):
            file[name] = own[name]
        file["density"], file["name"], file["word"], file["seed"] = own["vx"], np.array([b"a"] * 40), ["a"] * 40, 3
        file.attrs.update(Lbox=100.0, comment="none", run=7)
        file["elsewhere/names"] = np.array([b"a"] * 40)
        file["elsewhere"].attrs["lbox"] = 1
    arrays = convert(notes=["density (beside x, y, z)", "name (text)", "word (text)", "elsewhere/names (text)", "seed", "of the root group run", "of elsewhere lbox"])
    if arrays.get("box_size") != 100.0:
        bad.append(f"box of {arrays}")
    # Contradictory units and boxes are rejected.
    for name, key, value, words in [("y", "units", "kpc", ["column y has the unit kpc, but column x has none"]), ("x", "BoxSize", 1.0, ["BoxSize of x is 1"]),
                                    ("y", "scale_factor", 0.1, ["packed"]), ("y", "_FillValue", own["y"][3], ["row 4 of y", "missing value"])]:
        with h5py.File(path, "r+") as file:
            file[name].attrs[key] = value
        bad += expect(program, ["convert", path, out], *words)
        with h5py.File(path, "r+") as file:
            del file[name].attrs[key]
    convert()
    # More datasets than the reader examines.
    with h5py.File(path, "w", libver="latest") as file:
        for k in range(4097):
            file[f"d{k}"] = 0
    bad += expect(program, ["convert", path, out], "more than 4096 datasets")
    return bad


def parts(program, folder):
    """Tests one file of a split snapshot, several paths for `info`, and folders with other files."""
    bad = []
    place = folder / "snapdir"
    place.mkdir(exist_ok=True)
    for k, n in enumerate((3, 4)):
        with h5py.File(place / f"snap_009.{k}.hdf5", "w") as file:
            header(file, n, NumPart_Total=np.array([0, 7], "u4"), NumFilesPerSnapshot=2)
            file["PartType1/Coordinates"] = np.full((n, 3), k + 0.5)
    (place / "notes.txt").write_text("nothing")
    with h5py.File(place / "fof_subhalo_tab_009.0.hdf5", "w") as file:
        file.create_group("Header").attrs["Ngroups_ThisFile"] = 3
    out = folder / "part.npy"
    bad += expect(program, ["convert", place, out], "2 other files are ignored", "7 particles", fails=False)
    bad += expect(program, ["info", place / "snap_009.0.hdf5", place / "snap_009.1.hdf5"], "particles       7", fails=False)
    (place / "snap_009.1.hdf5").rename(folder / "away")
    bad += expect(program, ["convert", place / "snap_009.0.hdf5", out], "snap_009.1.hdf5", "is missing", "--single-part")
    bad += expect(program, ["convert", place / "snap_009.0.hdf5", out, "--single-part"], "one of 2 files", "3 particles", fails=False)
    bad += expect(program, ["info", place / "snap_009.0.hdf5"], "1 of 2 files of the snapshot are missing", "snap_009.1.hdf5", fails=False)
    with h5py.File(place / "other.hdf5", "w") as file:
        header(file, 1)
        file["PartType1/Coordinates"] = np.zeros((1, 3))
    bad += expect(program, ["info", place], "2 snapshots", "other.hdf5", "snap_009.0.hdf5")
    # Ids stored as floats: with a mantissa of n bits, 2^(n + 1) and the next integer are the same float.
    short = h5py.h5t.IEEE_F32LE.copy()
    short.set_fields(17, 9, 8, 0, 9)
    short.set_offset(0)
    short.set_precision(18)
    bounds = [("f8", 53), ("f4", 24), ("f2", 11), (short, 10)]
    cases = [(kind, [1, 2**bits - 1 + over], bool(over)) for kind, bits in bounds for over in (0, 1)]
    for kind, ids, note in cases + [("f8", [1, 2.5], True), ("f4", [1, 2**25], True), ("f8", [1, -1], True)]:
        path = folder / "ids.hdf5"
        with h5py.File(path, "w") as file:
            header(file, 2)
            file["PartType1/Coordinates"] = np.zeros((2, 3))
            if kind == short:
                dataset = h5py.h5d.create(file["PartType1"].id, b"ParticleIDs", short, h5py.h5s.create_simple((2,)))
                dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array(ids, "f8"), mtype=h5py.h5t.NATIVE_DOUBLE)
            else:
                file["PartType1/ParticleIDs"] = np.array(ids, kind)
        bad += expect(program, ["convert", path, folder / "ids.npz"], *["ids are left out"] if note else [], fails=False)
        with np.load(folder / "ids.npz") as arrays:
            if ("ids" in arrays) == note or (not note and arrays["ids"].tolist() != ids):
                bad.append(f"ids {ids} as {kind}: {arrays['ids'] if 'ids' in arrays else 'none'}")
    return bad


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    arguments.add_argument("program")
    arguments.add_argument("folder", type=Path)
    arguments = arguments.parse_args()
    program, folder = os.path.abspath(arguments.program), arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    outcomes, skipped, bad = storage(program, folder)
    read, refused, failed = attributes(program, folder)
    bad += failed + links(program, folder) + tables(program, folder) + roles(program, folder) + parts(program, folder)
    total = sum(outcomes.values())
    print(f"{total} files: {dict(outcomes)}; {skipped} combinations are no files of HDF5; attributes: {read} kinds read, {refused} refused by name")
    assert not bad, f"{len(bad)} differences:\n" + "\n".join(bad[:200])
    assert total >= 500 and skipped < 40 and outcomes["equal"] > 0.9 * total


if __name__ == "__main__":
    main()
