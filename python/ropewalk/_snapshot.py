"""Snapshots of simulations. Opening reads no particles; each field is read at its first use."""

from __future__ import annotations

import os
from collections.abc import Sequence
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropewalk import _html, _native, _progress
from ropewalk._optional import unit
from ropewalk._particle_types import Field, ParticleType
from ropewalk._types import Floats
from ropewalk._warnings import warn

FIELDS = ("positions", "velocities", "masses", "ids")


class Snapshot:
    """A snapshot of a simulation, opened by `read_snapshot`.

    Positions and masses have the values and units of the file; lengths are usually comoving. Velocities are peculiar; those of Gadget
    and similar codes are converted. Arrays are in file order, read-only, and share the memory of the snapshot. A field is read
    once, at its first use. `load` reads several fields at once, which is faster, since each reading passes over the positions.

    Attributes
    ----------
    path : str

    format : str
        The format, recognized by content.

    code : str or None
        The simulation code, if the file names it.

    files : tuple of str
        The files of the snapshot, in the order of their particles.

    types : tuple of ParticleType
        All particle types in the file, including types that are not read.

    box_size : float or None
        The side of the periodic box, in the unit of the positions.

    redshift : float or None

    cosmology : dict
        ``omega_m`` and ``omega_lambda``, densities today over the critical density, and ``h``, the Hubble constant in 100
        km/s/Mpc, as far as the file has them.

    units : dict
        The units of ``length``, ``mass`` and ``velocity``, as the file or the caller names them (``"kpc/h"``), or None. `frame` tells
        comoving from physical lengths.

    frame : str or None
        ``"comoving"`` or ``"physical"``, if the unit of lengths is known.

    header : dict or None
        The header of a Gadget binary file that is not compressed.

    notes : tuple of str
        Ambiguities of the file (a box that is not a cube, an unknown unit of velocities) and assumptions made while reading. Each
        assumption is also issued as a `RopewalkWarning`.

    Examples
    --------
    >>> import os, tempfile, numpy as np, ropewalk
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "points.npz")
    ...     np.savez(path, positions=np.zeros((4, 3)), masses=np.full(4, 2.0), box_size=10.0)
    ...     snapshot = ropewalk.read_snapshot(path)
    ...     "velocities" in snapshot, snapshot.box_size, snapshot.masses
    (False, 10.0, array([2., 2., 2., 2.]))
    """

    def __init__(self, path: str, settings: dict[str, Any], n_jobs: int | None, progress: Any = None) -> None:
        self.path = path
        self._settings = settings
        self._n_jobs = n_jobs
        self._progress = progress
        self._lock = RLock()
        self._parts: dict[str, _native.Particles] = {}
        description = _native.inspect(path, settings)
        self.format: str = description["format"]
        self.code: str | None = description["code"]
        self.files: tuple[str, ...] = tuple(os.fspath(file) for file in description["files"])
        self.types = tuple(
            ParticleType(**{**kind, "fields": tuple(Field(**field) for field in kind["fields"])}) for kind in description["types"]
        )
        self.box_size: float | None = description["box_size"]
        self.redshift: float | None = description["redshift"]
        self.cosmology: dict[str, float | None] = description["cosmology"]
        self._units: dict[str, tuple[str, str, str] | None] = description["units"]
        self.header: dict[str, Any] | None = description["header"]
        self._ambiguities: list[str] = description["notes"]
        self._assumed: tuple[str, ...] = ()
        self._stamps = self._stamp()

    @property
    def notes(self) -> tuple[str, ...]:
        """Ambiguities of the file, and assumptions made while reading. Each assumption is also issued as a `RopewalkWarning`."""
        # The text of an assumption starts with the text of the ambiguity that it resolves.
        ambiguities = [ambiguity for ambiguity in self._ambiguities if not any(note.startswith(ambiguity) for note in self._assumed)]
        return (*ambiguities, *self._assumed)

    @property
    def units(self) -> dict[str, str | None]:
        """The units of lengths, masses and velocities, as the file or the caller names them, or None."""
        return {what: None if named is None else named[0] for what, named in self._units.items()}

    @property
    def frame(self) -> str | None:
        """``"comoving"`` or ``"physical"``, if the unit of lengths is known."""
        length = self._units["length"]
        return None if length is None else length[2]

    @property
    def positions(self) -> Floats:
        """Coordinates, shape (n, 3), or (n, d) for a table of d columns; ``float32`` or ``float64`` as in the file."""
        values: Floats = self._array("positions")
        return values

    @property
    def velocities(self) -> Floats:
        """Peculiar velocities, shape (n, 3). Raises `KeyError` if the file has no velocities."""
        values: Floats = self._array("velocities")
        return values

    @property
    def masses(self) -> NDArray[np.float64]:
        """The mass of each particle, shape (n,). Equal masses take no memory. Raises `KeyError` if the file has no masses."""
        values: NDArray[np.float64] = self._array("masses")
        return values

    @property
    def ids(self) -> NDArray[np.uint64]:
        """The id of each particle, shape (n,). Raises `KeyError` if the file has no ids."""
        values: NDArray[np.uint64] = self._array("ids")
        return values

    @property
    def particle_types(self) -> NDArray[np.uint8]:
        """The type of each particle, shape (n,), computed at each use. Raises `KeyError` in formats without types."""
        kinds, counts = self._any().types()
        if len(kinds) == 0 and len(self) > 0:
            raise KeyError(f"{self.path}: the format {self.format} has no particle types")
        return np.repeat(kinds, counts)

    def __len__(self) -> int:
        """Returns the number of selected particles. With `subsample`, this reads positions if no field has been read yet."""
        for part in self._parts.values():
            return part.len
        if self._settings["subsample"] is not None:
            return self._any().len
        return sum(kind.count for kind in self.types if self._selects(kind))

    def __getitem__(self, name: str) -> Any:
        """Returns a field by its name here or in the file: ``"positions"``, ``"Coordinates"``, ``"vx"``.

        Raises
        ------
        KeyError
            If there is no such field, or it is not one of the fields that are read.
        """
        if name in FIELDS:
            return self._array(name)
        fields = [field for kind in self.types for field in kind.fields if field.name == name]
        if not fields:
            known = dict.fromkeys(field.name for kind in self.types for field in kind.fields if field.role is not None)
            raise KeyError(f"{self.path}: there is no field {name}; the fields are {', '.join([*FIELDS, *known])}")
        role = fields[0].role
        if role is None:
            raise KeyError(f"{self.path}: the field {name} cannot be read; only {', '.join(FIELDS)} are read")
        array = self._array(role)
        if array.ndim == 2 and fields[0].width < array.shape[1]:
            return array[:, self._component(name, role)]
        return array

    def _component(self, name: str, role: str) -> int:
        """Returns the column of a field with one value per particle in the array that it is part of."""
        chosen = self._parts[role].columns() if role == "positions" else []
        names = chosen or [field.name for field in self.types[0].fields if field.role == role and field.width == 1]
        # A column that was chosen by number has no name in the list.
        if name not in names:
            raise KeyError(f"{self.path}: the column {name} is not selected; the selected columns are {', '.join(names)}")
        axis = "xyz".find(name[-1].lower()) if role == "velocities" else -1
        return axis if axis >= 0 else names.index(name)

    def __contains__(self, name: object) -> bool:
        return any(name == field.role or (name == field.name and field.role) for kind in self.types for field in kind.fields) or (
            name == "masses" and any(kind.mass is not None for kind in self.types)
        )

    def load(self, *fields: str) -> Snapshot:
        """Reads several fields at once, which is faster than one by one.

        Parameters
        ----------
        *fields : str
            Any of ``"positions"``, ``"velocities"``, ``"masses"``, ``"ids"``. Default: all. Fields that the file does not have, and
            fields that have been read, are skipped.

        Returns
        -------
        Snapshot
            This snapshot.
        """
        for field in fields:
            if field not in FIELDS:
                raise ValueError(f"there is no field {field!r}; the fields are {', '.join(FIELDS)}")
        with self._lock:
            missing = [field for field in FIELDS if field in (fields or FIELDS) and field not in self._parts]
            if missing:
                self._read(missing, self._n_jobs)
        return self

    def quantity(self, name: str) -> Any:
        """Returns a copy of a field as an `astropy.units.Quantity`: ``"positions"``, ``"velocities"`` or ``"masses"``.

        Units that neither the file nor the caller names are inferred from the mean matter density of the box, for which masses are
        read. Little h is ``littleh``. A quantity does not tell comoving from physical lengths; see `frame`.

        Parameters
        ----------
        name : {"positions", "velocities", "masses"}
            The field.

        Raises
        ------
        ValueError
            If the unit is not known.
        """
        what = {"positions": "length", "velocities": "velocity", "masses": "mass"}.get(name)
        if what is None:
            raise ValueError(f"{name!r} has no unit; name must be 'positions', 'velocities' or 'masses'")
        named, why = self._units[what], ""
        if named is None:
            self.load("masses")
            units, why = self._parts["masses"].units()
            named = units[what]
        if named is None:
            raise ValueError(f"{self.path}: the unit of {name} is unknown ({why}); specify it: read_snapshot(path, {what}_unit=..)")
        return self[name] * unit(named[1])

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes all fields to a file, like ``ropewalk convert``. The file extension selects the format.

        The extensions are ``.hdf5`` (Gadget's layout), ``.gadget1``, ``.gadget2``, ``.npz``, ``.npy`` (only positions), ``.csv``,
        ``.ecsv``, ``.tipsy`` and ``.parquet``. Fields that have not been read yet are read.

        Parameters
        ----------
        path : str or path
            The file. An existing file is replaced.

        Raises
        ------
        ValueError
            If the extension is unknown, or the format cannot store the particles.

        OSError
            If the file cannot be written. An existing file is unchanged in that case.

        Warns
        -----
        RopewalkWarning
            If known units cannot be stored in the file.
        """
        why = self._whole(None).write(os.fspath(path))
        if why is not None:
            warn(f"{os.fspath(path)}: units are not stored: {why}")

    def __repr__(self) -> str:
        kinds = ", ".join(
            kind.name if kind.particle_type is None else f"{kind.name} (type {kind.particle_type})" for kind in self.types
        )
        return f"Snapshot({self.path!r}, {self.format}: {self._size()}, {kinds}; read: {', '.join(self._parts) or 'none'})"

    def _repr_html_(self) -> str:
        """Returns the particle types as an HTML table for notebooks."""
        rows = [
            (
                "" if kind.particle_type is None else kind.particle_type,
                kind.name,
                kind.count,
                "yes" if self._selects(kind) else "no",
                ", ".join(field.name for field in kind.fields),
            )
            for kind in self.types
        ]
        return _html.table(f"{self.path}, {self.format}: {self._size()}", ("type", "name", "particles", "selected", "fields"), rows)

    def _selects(self, kind: ParticleType) -> bool:
        """Returns `True` if the particles of a type are selected in this snapshot."""
        selected = self._settings["types"]
        return not selected or kind.particle_type is None or kind.particle_type in selected

    def _size(self) -> str:
        """Describes the number of selected particles and of particles in the file. Reads nothing."""
        all_of_file = sum(kind.count for kind in self.types)
        if self._settings["subsample"] is not None and not self._parts:
            return f"a fraction {self._settings['subsample']} of {sum(kind.count for kind in self.types if self._selects(kind))} particles"
        own = len(self)
        return f"{own} particles" if own == all_of_file else f"{own} of {all_of_file} particles"

    def __reduce__(self) -> Any:
        raise TypeError(f"a Snapshot cannot be pickled; send its path and read it there, {self.path!r}, or its arrays")

    def _stamp(self) -> list[tuple[str, int, int]]:
        """Returns the size and modification time of each file, by which changes between two readings are detected."""
        found = []
        for file in self.files:
            status = os.stat(file)
            found.append((file, status.st_size, status.st_mtime_ns))
        return found

    def _read(self, fields: Sequence[str], n_jobs: int | None) -> _native.Particles:
        if self._stamp() != self._stamps:
            raise ValueError(f"{self.path}: changed since it was opened; open it again")
        others = [field for field in fields if field != "positions"]
        part = self._read_particles(self._settings, "positions" in fields, others, n_jobs)
        self._parts.update(dict.fromkeys(fields, part))
        self._add_notes(part.notes())
        return part

    def _read_particles(self, settings: dict[str, Any], positions: bool, others: list[str], n_jobs: int | None) -> _native.Particles:
        with _progress.reporting(self._progress, f"reading {os.path.basename(self.path)}") as report:
            return _native.read_particles(self.path, settings, positions, others, n_jobs, report)

    def _add_notes(self, notes: Sequence[str]) -> None:
        for note in notes:
            if note not in self._assumed:
                self._assumed += (note,)
                warn(f"{self.path}: {note}")

    def _any(self) -> _native.Particles:
        with self._lock:
            for part in self._parts.values():
                return part
            return self._read(["positions"], self._n_jobs)

    def _whole(self, n_jobs: int | None) -> _native.Particles:
        """Returns all fields in one object. Fields that were read separately are read again."""
        with self._lock:
            parts = list(dict.fromkeys(self._parts.values()))
            if len(parts) == 1 and len(self._parts) == len(FIELDS):
                return parts[0]
            return self._read(FIELDS, self._n_jobs if n_jobs is None else n_jobs)

    def _linked(self) -> Snapshot:
        """Returns the snapshot to find halos in: only type 1 if there are several types including it and the caller chose none."""
        kinds = [kind.particle_type for kind in self.types if kind.particle_type is not None and kind.count > 0]
        if self._settings["types"] or len(kinds) < 2 or 1 not in kinds:
            return self
        linked = Snapshot(self.path, {**self._settings, "types": [1]}, self._n_jobs, self._progress)
        if linked._stamps != self._stamps:
            raise ValueError(f"{self.path}: changed since it was opened; open it again")
        # Assumptions about the file hold for this snapshot, too.
        linked._assumed = self._assumed
        return linked

    def _forget(self) -> None:
        """Frees the fields that were read. They are read again at their next use."""
        with self._lock:
            self._parts = {}

    def _unread_types(self) -> list[int]:
        """Returns the types that have positions in the file and are not selected."""
        read = self._settings["types"]
        kinds = [kind for kind in self.types if kind.particle_type is not None and kind.count > 0]
        placed = [kind for kind in kinds if any(field.role == "positions" for field in kind.fields)] or kinds
        return [
            kind.particle_type
            for kind in placed
            if read and kind.particle_type is not None and kind.particle_type not in read
        ]

    def _others(self, types: list[int], n_jobs: int | None, velocities: bool) -> _native.Particles:
        """Reads particles of types that are not selected, with velocities if `velocities`. Assumptions become notes of this snapshot."""
        if all(kind.particle_type is None for kind in self.types):
            raise ValueError(f"attach: {self.path}: the format {self.format} has no particle types")
        linked = self._settings["types"] or [kind.particle_type for kind in self.types]
        if both := [kind for kind in types if kind in linked]:
            raise ValueError(f"attach: type {both[0]} is already linked; select the types to link: read_snapshot(path, types=..)")
        counts = {kind.particle_type: kind.count for kind in self.types if kind.count > 0}
        if absent := [kind for kind in types if kind not in counts]:
            present = ", ".join(f"{kind} ({count})" for kind, count in counts.items())
            names = ", ".join(map(str, absent))
            raise ValueError(f"attach: {self.path} has no particles of type {names}; types present: {present}")
        fields = ["masses", "ids", "partial_ids", *(["velocities"] if velocities else [])]
        try:
            others = self._read_particles({**self._settings, "types": types}, True, fields, n_jobs)
        except ValueError as error:
            raise ValueError(f"{error}; use attach=() to omit other types") from error
        self._add_notes(others.notes())
        return others

    def _array(self, field: str) -> Any:
        with self._lock:
            part = self._parts.get(field) or self._read([field], self._n_jobs)
        values = getattr(part, field)()
        if values is None:
            raise KeyError(f"{self.path}: has no {field}")
        return np.broadcast_to(np.float64(values), part.len) if isinstance(values, float) else values
