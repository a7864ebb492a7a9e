"""Snapshots of simulations: opened without reading particles; fields are read when they are asked for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropewalk import _native
from ropewalk._optional import unit
from ropewalk._particle_types import Field, ParticleType
from ropewalk._types import Floats
from ropewalk._warnings import warn

FIELDS = ("positions", "velocities", "masses", "ids")


class Snapshot:
    """What a simulation wrote: made by `read_snapshot`.

    Positions and masses are as the file has them, in its units: usually comoving lengths. Velocities are peculiar: those of
    Gadget and its like are converted. Arrays are in the order of the file, read-only, and share the memory of the snapshot; a
    field is read once, when it is first asked for. Several are read in one go by `load`, which is faster than one after the
    other, for each reading passes over the positions.

    Attributes
    ----------
    path : str
    format : str
        The format that the content shows.
    code : str or None
        The code that wrote it, if the file tells.
    files : tuple of str
        The files that it is made of, in the order of their particles.
    types : tuple of ParticleType
        All that is in the file, also types that are not read.
    box_size : float or None
        The side of the periodic box, in the unit of the positions.
    redshift : float or None
    cosmology : dict
        ``omega_m`` and ``omega_lambda``, densities of today over the critical one, and ``h``, the Hubble constant in 100
        km/s/Mpc; as far as the file has them.
    units : dict
        ``length``, ``mass`` and ``velocity``, as the file or the caller names them, or None: ``"kpc/h"``. `frame` says whether
        lengths are comoving.
    frame : str or None
        ``"comoving"`` or ``"physical"``, if the unit of lengths is known.
    header : dict or None
        The header of a Gadget binary that is not compressed.
    notes : tuple of str
        What the file leaves in doubt (a box that is no cube, what velocities are in), and what was assumed of it in reading,
        which is a `RopewalkWarning`, too.

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

    def __init__(self, path: str, how: dict[str, Any], n_jobs: int | None) -> None:
        self.path = path
        self._how = how
        self._n_jobs = n_jobs
        self._lock = RLock()
        self._parts: dict[str, _native.Particles] = {}
        about = _native.inspect(path, how)
        self.format: str = about["format"]
        self.code: str | None = about["code"]
        self.files: tuple[str, ...] = tuple(os.fspath(file) for file in about["files"])
        self.types = tuple(
            ParticleType(**{**kind, "fields": tuple(Field(**field) for field in kind["fields"])}) for kind in about["types"]
        )
        self.box_size: float | None = about["box_size"]
        self.redshift: float | None = about["redshift"]
        self.cosmology: dict[str, float | None] = about["cosmology"]
        self._units: dict[str, tuple[str, str, str] | None] = about["units"]
        self.header: dict[str, Any] | None = about["header"]
        self._doubts: list[str] = about["notes"]
        self._assumed: tuple[str, ...] = ()
        self._stamps = self._stamp()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the file leaves in doubt, and what was assumed in reading it; the latter is a `RopewalkWarning`, too."""
        # What is assumed begins with the doubt.
        doubts = [doubt for doubt in self._doubts if not any(note.startswith(doubt) for note in self._assumed)]
        return (*doubts, *self._assumed)

    @property
    def units(self) -> dict[str, str | None]:
        """What lengths, masses and velocities are in, as the file or the caller names it, or None."""
        return {what: None if named is None else named[0] for what, named in self._units.items()}

    @property
    def frame(self) -> str | None:
        """``"comoving"`` or ``"physical"``, if the unit of lengths is known."""
        length = self._units["length"]
        return None if length is None else length[2]

    @property
    def positions(self) -> Floats:
        """Coordinates, shape (n, 3), or as many columns as a table has; ``float32`` or ``float64`` as the file has them."""
        values: Floats = self._array("positions")
        return values

    @property
    def velocities(self) -> Floats:
        """Peculiar velocities, shape (n, 3). Raises `KeyError` if the file has none."""
        values: Floats = self._array("velocities")
        return values

    @property
    def masses(self) -> NDArray[np.float64]:
        """The mass of each particle, shape (n,); one number that is repeated takes no memory. Raises `KeyError` if the file has
        none."""
        values: NDArray[np.float64] = self._array("masses")
        return values

    @property
    def ids(self) -> NDArray[np.uint64]:
        """The id of each particle, shape (n,). Raises `KeyError` if the file has none."""
        values: NDArray[np.uint64] = self._array("ids")
        return values

    @property
    def particle_types(self) -> NDArray[np.uint8]:
        """The type of each particle, shape (n,); made anew each time. Raises `KeyError` in formats without types."""
        kinds, counts = self._any().types()
        if len(kinds) == 0 and len(self) > 0:
            raise KeyError(f"{self.path}: a {self.format} has no particle types")
        return np.repeat(kinds, counts)

    def __len__(self) -> int:
        """The number of particles that are read; of a part (`subsample`) it is known when something is read."""
        for part in self._parts.values():
            return part.len
        if self._how["subsample"] is not None:
            return self._any().len
        return sum(kind.count for kind in self.types if self._selects(kind))

    def __getitem__(self, name: str) -> Any:
        """A field by its name here or in the file: ``"positions"``, ``"Coordinates"``, ``"vx"``.

        Raises
        ------
        KeyError
            If there is no such field, or it is one of those that are not read.
        """
        if name in FIELDS:
            return self._array(name)
        fields = [field for kind in self.types for field in kind.fields if field.name == name]
        if not fields:
            known = dict.fromkeys(field.name for kind in self.types for field in kind.fields if field.role is not None)
            raise KeyError(f"{self.path}: there is no field {name}; those that are read are {', '.join([*FIELDS, *known])}")
        role = fields[0].role
        if role is None:
            raise KeyError(f"{self.path}: the field {name} is none of {', '.join(FIELDS)}, and only these are read")
        array = self._array(role)
        if array.ndim == 2 and fields[0].width < array.shape[1]:
            return array[:, self._component(name, role)]
        return array

    def _component(self, name: str, role: str) -> int:
        """Which column of an array a field of one value is."""
        chosen = self._parts[role].columns() if role == "positions" else []
        names = chosen or [field.name for field in self.types[0].fields if field.role == role and field.width == 1]
        # A column that was chosen by its number has no name there.
        if name not in names:
            raise KeyError(f"{self.path}: the field {name} is not one of the columns that are read, {', '.join(names)}")
        axis = "xyz".find(name[-1].lower()) if role == "velocities" else -1
        return axis if axis >= 0 else names.index(name)

    def __contains__(self, name: object) -> bool:
        return any(name == field.role or (name == field.name and field.role) for kind in self.types for field in kind.fields) or (
            name == "masses" and any(kind.mass is not None for kind in self.types)
        )

    def load(self, *fields: str) -> Snapshot:
        """Reads fields in one go, which is faster than one after the other.

        Parameters
        ----------
        *fields : str
            Some of ``"positions"``, ``"velocities"``, ``"masses"``, ``"ids"``; all of them if none is named. What the file does not
            have, and what has been read, is left out.

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
        """A field as an `astropy.units.Quantity`, copied: ``"positions"``, ``"velocities"`` or ``"masses"``.

        Units that neither the file nor the caller names are those in which the masses of all particles in the box make the mean
        density of matter; to tell them masses are read. Little h is ``littleh``. Whether lengths are comoving a quantity does
        not know: `frame` does.

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
            raise ValueError(f"{name!r} has no unit; positions, velocities and masses have one")
        named, why = self._units[what], ""
        if named is None:
            self.load("masses")
            units, why = self._parts["masses"].units()
            named = units[what]
        if named is None:
            raise ValueError(f"{self.path}: the unit of {name} is not known ({why}); say it: read_snapshot(path, {what}_unit=..)")
        return self[name] * unit(named[1])

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes all that was or can be read in the format of the name's ending, as ``ropewalk convert`` does: ``.hdf5``
        (Gadget's layout), ``.gadget1``, ``.gadget2``, ``.npz``, ``.npy`` (positions alone), ``.csv``, ``.ecsv``, ``.tipsy``,
        ``.parquet``.

        Parameters
        ----------
        path : str or path
            The file, which is replaced if it is there.

        Raises
        ------
        ValueError
            If the ending is another, or the format has no place for the particles.
        OSError
            If the file cannot be written; one that was there stays as it was.

        Warns
        -----
        RopewalkWarning
            Where units that are known have no place in the file.
        """
        why = self._whole(None).write(os.fspath(path))
        if why is not None:
            warn(f"{os.fspath(path)}: units are left out: {why}")

    def __repr__(self) -> str:
        kinds = ", ".join(
            kind.name if kind.particle_type is None else f"{kind.name} (type {kind.particle_type})" for kind in self.types
        )
        return f"Snapshot({self.path!r}, {self.format}: {self._size()}, {kinds}; read: {', '.join(self._parts) or 'none'})"

    def _repr_html_(self) -> str:
        """The particle types as a table, for notebooks."""
        head = f"<p>{escape(self.path)}, {escape(self.format)}: {self._size()}</p>"
        rows = "".join(
            f"<tr><td>{'' if kind.particle_type is None else kind.particle_type}</td><td>{escape(kind.name)}</td><td>{kind.count}</td>"
            f"<td>{'yes' if self._selects(kind) else 'no'}</td><td>{escape(', '.join(field.name for field in kind.fields))}</td></tr>"
            for kind in self.types
        )
        names = "".join(f"<th>{name}</th>" for name in ("type", "name", "particles", "selected", "fields"))
        return f"{head}<table><tr>{names}</tr>{rows}</table>"

    def _selects(self, kind: ParticleType) -> bool:
        """Whether particles of a type are among those of this snapshot."""
        wanted = self._how["types"]
        return not wanted or kind.particle_type is None or kind.particle_type in wanted

    def _size(self) -> str:
        """How many particles there are, and of how many in the file. Reads nothing."""
        all_of_file = sum(kind.count for kind in self.types)
        if self._how["subsample"] is not None and not self._parts:
            return f"a part ({self._how['subsample']}) of {sum(kind.count for kind in self.types if self._selects(kind))} particles"
        own = len(self)
        return f"{own} particles" if own == all_of_file else f"{own} of {all_of_file} particles"

    def __reduce__(self) -> Any:
        raise TypeError(f"a Snapshot cannot be pickled; send its path and read it there, {self.path!r}, or its arrays")

    def _stamp(self) -> list[tuple[str, int, int]]:
        """What the files are like: of one that is read in several goes they must stay so."""
        found = []
        for file in self.files:
            status = os.stat(file)
            found.append((file, status.st_size, status.st_mtime_ns))
        return found

    def _read(self, fields: Sequence[str], n_jobs: int | None) -> _native.Particles:
        if self._stamp() != self._stamps:
            raise ValueError(f"{self.path}: changed since it was opened; open it again")
        others = [field for field in fields if field != "positions"]
        part = _native.read_particles(self.path, self._how, "positions" in fields, others, n_jobs)
        self._parts.update(dict.fromkeys(fields, part))
        self._add_notes(part.notes())
        return part

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
        """All fields in one piece: what was read one by one is read again."""
        with self._lock:
            parts = list(dict.fromkeys(self._parts.values()))
            if len(parts) == 1 and len(self._parts) == len(FIELDS):
                return parts[0]
            return self._read(FIELDS, self._n_jobs if n_jobs is None else n_jobs)

    def _linked(self) -> Snapshot:
        """The snapshot that halos are found in: of several types type 1, if the caller chose none and it is there."""
        kinds = [kind.particle_type for kind in self.types if kind.particle_type is not None and kind.count > 0]
        if self._how["types"] or len(kinds) < 2 or 1 not in kinds:
            return self
        linked = Snapshot(self.path, {**self._how, "types": [1]}, self._n_jobs)
        if linked._stamps != self._stamps:
            raise ValueError(f"{self.path}: changed since it was opened; open it again")
        # What the caller assumed of the file holds for this, too.
        linked._assumed = self._assumed
        return linked

    def _forget(self) -> None:
        """Frees what was read. It is read again where it is asked for."""
        with self._lock:
            self._parts = {}

    def _unread_types(self) -> list[int]:
        """The types with positions that are in the file and not read."""
        read = self._how["types"]
        kinds = [kind for kind in self.types if kind.particle_type is not None and kind.count > 0]
        placed = [kind for kind in kinds if any(field.role == "positions" for field in kind.fields)] or kinds
        return [
            kind.particle_type
            for kind in placed
            if read and kind.particle_type is not None and kind.particle_type not in read
        ]

    def _others(self, types: list[int], n_jobs: int | None, velocities: bool) -> _native.Particles:
        """Particles of types that are not read, with velocities if these are asked for. What is assumed in reading them becomes a note of
        this snapshot."""
        if all(kind.particle_type is None for kind in self.types):
            raise ValueError(f"attach: {self.path}: a {self.format} has no particle types")
        linked = self._how["types"] or [kind.particle_type for kind in self.types]
        if both := [kind for kind in types if kind in linked]:
            raise ValueError(f"attach: type {both[0]} is linked; read others: read_snapshot(path, types=..)")
        counts = {kind.particle_type: kind.count for kind in self.types if kind.count > 0}
        if absent := [kind for kind in types if kind not in counts]:
            present = ", ".join(f"{kind} ({count})" for kind, count in counts.items())
            names = ", ".join(map(str, absent))
            raise ValueError(f"attach: {self.path} has no particles of type {names}; types present: {present}")
        fields = ["masses", "ids", "partial_ids", *(["velocities"] if velocities else [])]
        try:
            others = _native.read_particles(self.path, {**self._how, "types": types}, True, fields, n_jobs)
        except ValueError as error:
            raise ValueError(f"{error}; attach=() leaves other types out") from error
        self._add_notes(others.notes())
        return others

    def _array(self, field: str) -> Any:
        with self._lock:
            part = self._parts.get(field) or self._read([field], self._n_jobs)
        values = getattr(part, field)()
        if values is None:
            raise KeyError(f"{self.path}: has no {field}")
        return np.broadcast_to(np.float64(values), part.len) if isinstance(values, float) else values
