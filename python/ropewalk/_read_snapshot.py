"""The function that opens snapshots."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from typing import Any

from ropewalk import _progress
from ropewalk._checks import real, threads
from ropewalk._keywords import named
from ropewalk._particle_types import particle_types
from ropewalk._snapshot import Snapshot


@named(type="types", particle_type="types", fraction="subsample", box_size="halos(snapshot, box_size=..)", threads="n_jobs", z="redshift")
def read_snapshot(
    path: str | os.PathLike[str],
    *,
    types: int | str | Iterable[int | str] | None = None,
    subsample: float | None = None,
    columns: Sequence[str | int] = (),
    open: bool = False,
    single_part: bool = False,
    redshift: float | None = None,
    length_unit: str | None = None,
    mass_unit: str | None = None,
    velocity_unit: str | None = None,
    n_jobs: int | None = None,
    progress: Any = None,
) -> Snapshot:
    """Opens a snapshot of a simulation, or a table of points. Particles are read at their first use.

    The format is recognized by content: Gadget 1 and 2, HDF5 of Gadget, AREPO, GIZMO, EAGLE and SWIFT, Tipsy, GenericIO, RAMSES,
    Abacus, ``.npy``, ``.npz``, CSV, enhanced CSV and Parquet. Files of any of these formats may be compressed by gzip.

    Parameters
    ----------
    path : str or path
        A file. For a snapshot in several files: one of the files, their common name (``snap_005``, ``snap_099.hdf5``,
        ``snap_099.*.hdf5``), or the folder of one snapshot, in which other files are ignored.

    types : int or str, or iterable of them, optional
        The particle types to read: 0 ``"gas"``, 1 ``"dm"`` or ``"dark matter"``, 2 and 3 others, 4 ``"stars"``, 5 ``"bh"`` or
        ``"black holes"``, 6 ``"neutrinos"``. Default: all. Formats without types ignore it.

    subsample : float, optional
        Keeps about this fraction of the particles, the same ones in each run. Masses are divided by the fraction.

    columns : sequence of str or int
        The columns of a table that hold coordinates, by name or by number from 1; in HDF5 by name or path, as in ``"group/x"``.

    open : bool
        If `True`, accepts a box that is not a cube and treats it as open. Otherwise such a box is an error, since periodic boxes
        must be cubes.

    single_part : bool
        If `True`, reads one file of a split snapshot without the others. `Snapshot.notes` names the part.

    redshift, length_unit, mass_unit, velocity_unit : optional
        Values that override those of the file (the box is an argument of `halos`): ``"kpc/h"``, ``"pkpc"`` for physical lengths,
        ``"1e10 Msun/h"``, ``"km/s"``, ``"gadget"`` for velocities over the root of the scale factor.

    n_jobs : int, optional
        The number of threads for reading.

    progress : bool or callable, optional
        The display of progress while particles are read. `True` shows a bar of tqdm. A class with its interface, such as ``tqdm``, is
        called as ``progress(total=.., desc=.., unit="B", unit_scale=True)``. Any other callable is called as ``progress(done, total)``
        with numbers of bytes, on the calling thread; an exception ends the reading. `False` shows nothing. Default: a bar in notebooks,
        if reading takes longer than a second.

    Returns
    -------
    Snapshot

    Raises
    ------
    FileNotFoundError, OSError
        If the file does not exist, or cannot be read.

    ValueError
        If the file has an unknown format, is truncated or inconsistent, or does not contain a requested type.

    Warns
    -----
    RopewalkWarning
        For each assumption made while a field is read: see `Snapshot.notes`.

    Examples
    --------
    >>> import tempfile, pathlib, numpy as np, ropewalk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "points.npy"
    ...     np.save(path, np.zeros((4, 3), np.float32))
    ...     snapshot = ropewalk.read_snapshot(path)
    ...     len(snapshot), snapshot.positions.dtype, snapshot.box_size
    (4, dtype('float32'), None)
    """
    chosen = [] if types is None else particle_types("types", types)
    settings = {
        "types": chosen,
        "subsample": None if subsample is None else real(subsample, "subsample"),
        "columns": [columns] if isinstance(columns, str) else [str(column) for column in columns],
        "open": bool(open),
        "single_part": bool(single_part),
        "redshift": None if redshift is None else real(redshift, "redshift"),
        "length_unit": length_unit,
        "mass_unit": mass_unit,
        "velocity_unit": velocity_unit,
    }
    _progress.check(progress)
    snapshot = Snapshot(os.fsdecode(path), settings, threads(n_jobs), progress)
    counts = {kind.particle_type: kind.count for kind in snapshot.types if kind.particle_type is not None and kind.count > 0}
    if absent := [kind for kind in chosen if counts and kind not in counts]:
        present = ", ".join(f"{kind} ({count})" for kind, count in counts.items())
        raise ValueError(f"{snapshot.path}: has no particles of type {absent[0]}; types present: {present}")
    return snapshot
