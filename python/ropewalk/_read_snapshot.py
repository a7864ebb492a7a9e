"""Opens snapshots."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from ropewalk._checks import real, threads
from ropewalk._particle_types import particle_types
from ropewalk._snapshot import Snapshot


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
) -> Snapshot:
    """Opens what a simulation wrote, or a table of points. Particles are read when they are asked for.

    The content tells the format: Gadget 1 and 2, HDF5 of Gadget, AREPO, GIZMO, EAGLE and SWIFT, Tipsy, GenericIO, RAMSES,
    Abacus; ``.npy``, ``.npz``, CSV, enhanced CSV, Parquet; any of them compressed by gzip.

    Parameters
    ----------
    path : str or path
        A file; of a snapshot in several files any of them, what they have in common (``snap_005``, ``snap_099.hdf5``,
        ``snap_099.*.hdf5``), or a folder with the files of one snapshot, whose other files are ignored.
    types : int or str, or iterable of them, optional
        The particle types to read: 0 ``"gas"``, 1 ``"dm"`` or ``"dark matter"``, 2 and 3 others, 4 ``"stars"``, 5 ``"bh"`` or
        ``"black holes"``, 6 ``"neutrinos"``. Default: all. Formats without types ignore it.
    subsample : float, optional
        About this part of the particles, the same in each run; their masses are divided by it.
    columns : sequence of str or int
        Which columns of a table are coordinates, by name or by number from 1; in HDF5 by name or path, as ``"group/x"``.
    open : bool
        Reads a box that is no cube, too, as an open one; otherwise it is refused, for only cubes are periodic here.
    single_part : bool
        Reads one file of a split snapshot alone, without the others. `Snapshot.notes` names the part.
    redshift, length_unit, mass_unit, velocity_unit : optional
        What the caller knows better than the file (a box goes to `halos`): ``"kpc/h"``, ``"pkpc"`` for physical lengths,
        ``"1e10 Msun/h"``, ``"km/s"``, ``"gadget"`` for velocities over the root of the scale factor.
    n_jobs : int, optional
        The number of threads that read.

    Returns
    -------
    Snapshot

    Raises
    ------
    FileNotFoundError, OSError
        If the file is not there, or cannot be read.
    ValueError
        If it is of no known format, cut short, or contradicts itself; if a type is not there.

    Warns
    -----
    RopewalkWarning
        When a field is read, of what is assumed: see `Snapshot.notes`.

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
    how = {
        "types": [] if types is None else particle_types("types", types),
        "subsample": None if subsample is None else real(subsample, "subsample"),
        "columns": [columns] if isinstance(columns, str) else [str(column) for column in columns],
        "open": bool(open),
        "single_part": bool(single_part),
        "redshift": None if redshift is None else real(redshift, "redshift"),
        "length_unit": length_unit,
        "mass_unit": mass_unit,
        "velocity_unit": velocity_unit,
    }
    return Snapshot(os.fsdecode(path), how, threads(n_jobs))
