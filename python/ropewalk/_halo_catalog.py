"""The catalogue of halos, with their members."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ropewalk import _native
from ropewalk._tables import Table

if TYPE_CHECKING:
    from ropewalk._snapshot import Snapshot
    from ropewalk._types import Indices


class HaloCatalog(Table):
    """Halos, largest first, ties by tag: what `halos` returns.

    Columns are called ``fof_halo_*`` (friends of friends) or ``halo_*``; ``sod_halo_*`` are of spheres. `units`, `descriptions`
    and `meta` say what they are; lengths are in the frame of the particles, comoving for a cosmological snapshot, unless
    `halos` was asked for others.

    Attributes
    ----------
    particles : Snapshot or None
        The linked particles, if they come from a snapshot: `labels`, `density` and what `members` returns index their arrays, as
        ``catalog.particles.positions[catalog.members(0)]``. The snapshot that was given, or another one of type 1 alone where the
        given one has several types; that one reads a field when it is first used. ``None`` if the positions are an array.
    labels : numpy.ndarray of int32, shape (n_particles,)
        The group of each linked particle, in the order of `particles` or of the array of positions; -1 for none. Groups with fewer
        than `min_members` particles have labels, too. With subhalos the label is that of the smallest structure that holds the
        particle. The column ``*_label`` has the label of each row.
    notes : tuple of str
        What to know beside the numbers, those of the snapshot first; each is a `RopewalkWarning`, too.
    profiles : Table or None
        The density profiles of the largest halos, a row for each shell, if they were asked for.
    density : numpy.ndarray of float64, shape (n_particles,), or None
        The density of each linked particle in units of the mean density, if it was asked for.
    attached_labels : dict of int to numpy.ndarray of int32
        For each attached type the group of each of its particles, in the order of that type in the file, -1 for none: the order in
        which ``PartType0`` of all files of a snapshot has them, one file after the other. Empty if no type was attached.
    attached_ids : dict of int to numpy.ndarray of uint64
        For each attached type whose particles have ids in the file these ids.
    linking_length : float
        In the unit of the catalogue's lengths.
    volume : float
        Of the box, or of the smallest box around the particles, in the unit of the catalogue's lengths.
    n_wrapped : int
        How many particles were outside of the periodic box ``[0, box_size]``; they are wrapped into it.

    Arrays share the memory of the catalogue, and are read-only.

    Examples
    --------
    >>> import ropewalk
    >>> catalog = ropewalk.halos(ropewalk.sample.mock_halos(20_000, box_size=50, seed=1), box_size=50, min_members=100)
    >>> largest = catalog.members(0)
    >>> bool((catalog.labels[largest] == catalog["fof_halo_label"][0]).all()), len(largest) == catalog["fof_halo_count"][0]
    (True, np.True_)
    """

    def __init__(
        self,
        native: _native.Halos,
        table: _native.HaloTable,
        profiles: _native.HaloTable | None,
        particles: Snapshot | None = None,
    ) -> None:
        super().__init__(table)
        self._halos = native
        self.particles = particles
        self._lists: tuple[NDArray[np.int64], Indices] | None = None
        self.labels: NDArray[np.int32] = native.labels()
        self.density: NDArray[np.float64] | None = native.density()
        attached = native.attached()
        self.attached_labels: dict[int, NDArray[np.int32]] = {kind: labels for kind, labels, _ in attached}
        self.attached_ids: dict[int, NDArray[np.uint64]] = {kind: ids for kind, _, ids in attached if ids is not None}
        self.notes: tuple[str, ...] = tuple(native.notes)
        self.profiles: Table | None = None if profiles is None else Table(profiles)
        self.linking_length: float = native.linking_length
        self.volume: float = native.volume
        self.n_wrapped: int = native.n_wrapped

    def members(self, i: int) -> Indices:
        """The indices of the linked particles of halo `i`, ascending; a halo with subhalos includes their particles. Nothing is copied.

        Indices are those of `particles`, or of the array of positions. A snapshot of several types of which type 1 is linked has
        other indices.

        Parameters
        ----------
        i : int
            The row of the halo, 0 for the largest; negative numbers count from the end.

        Raises
        ------
        IndexError
            If there is no such halo.
        """
        row = operator.index(i)
        if not -len(self) <= row < len(self):
            raise IndexError(f"there is no halo {row}; there are {len(self)}")
        return self._halos.members(row % len(self))

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where the members of each halo begin in `indices`: halo i has ``indices[offsets[i]:offsets[i + 1]]``. Shape (n_halos
        + 1,)."""
        return self._csr()[0]

    @property
    def indices(self) -> Indices:
        """The members of all halos, one after the other; made when it is asked for, 4 bytes a member (8 from 2**31 particles)."""
        return self._csr()[1]

    def _csr(self) -> tuple[NDArray[np.int64], Indices]:
        if self._lists is None:
            self._lists = self._halos.lists()
        return self._lists

    @property
    def prefix(self) -> str:
        """How the names of columns of halos begin: ``fof_halo`` or ``halo``."""
        return "fof_halo" if self.meta["finder"] == "friends of friends" else "halo"

    def __repr__(self) -> str:
        return f"HaloCatalog of {len(self)} halos by {self.meta['finder']}: {', '.join(self.columns)}"
