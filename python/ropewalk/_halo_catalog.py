"""The halo catalogue, with the members of halos."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _native
from ropewalk._report import Report, halo_report
from ropewalk._tables import Table

if TYPE_CHECKING:
    from ropewalk._snapshot import Snapshot
    from ropewalk._types import Indices


class HaloCatalog(Table):
    """Halos, largest first, ties by tag, as returned by `halos`.

    Columns are named ``fof_halo_*`` (friends of friends) or ``halo_*``; ``sod_halo_*`` are properties of spheres. `units`,
    `descriptions` and `meta` describe them. Unless `halos` was called with `units`, lengths are in the frame of the particles, which is
    comoving for a cosmological snapshot.

    Attributes
    ----------
    particles : Snapshot or None
        The linked particles, or ``None`` if the positions are an array. `labels`, `density` and the result of `members` index its
        arrays, as in ``catalog.particles.positions[catalog.members(0)]``. It is the given snapshot or, if that has several types,
        another snapshot of type 1 only, which reads a field at its first use.

    labels : numpy.ndarray of int32, shape (n_particles,)
        The row of each linked particle, in the order of `particles` or of the array of positions. Particles in no halo have -1, also
        those in groups with fewer than `min_members` particles. With subhalos, it is the row of the smallest structure that contains the particle. The
        column ``*_label`` has the number of the row, as do ``*_parent`` and ``*_host``; ``*_tag`` is the same in runs with other halos.

    notes : tuple of str
        Remarks on the result, those of the snapshot first. Each is also issued as a `RopewalkWarning`.

    profiles : Table or None
        The density profiles of the largest halos, a row for each shell, if requested.

    density : numpy.ndarray of float64, shape (n_particles,), or None
        The density of each linked particle in units of the mean density, if requested.

    attached_labels : dict of int to numpy.ndarray of int32
        For each attached type, the row of each of its particles, -1 for none. The order is that of the type in the file, such as
        ``PartType0``, with the files of a split snapshot concatenated. Empty if no type was attached.

    attached_ids : dict of int to numpy.ndarray of uint64
        The ids of the particles of each attached type that has ids in the file.

    linking_length : float
        The linking length, in the unit of the catalogue's lengths.

    volume : float
        The volume of the box, or of the smallest box around the particles, in the cubed unit of the catalogue's lengths.

    n_wrapped : int
        The number of particles outside the periodic box ``[0, box_size]``; they are wrapped into it.

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
        """Returns the indices of the linked particles of halo `i`, ascending, including those of its subhalos. Nothing is copied.

        The indices refer to `particles`, or to the array of positions. They do not refer to a given snapshot of several types of
        which only type 1 was linked.

        Parameters
        ----------
        i : int
            The row of the halo, 0 for the largest; negative numbers count from the end.

        Raises
        ------
        IndexError
            If there is no such halo.
        """
        return self._halos.members(self._row(i))

    def _row(self, i: SupportsIndex) -> int:
        """Returns the row of a halo; negative numbers count from the end."""
        row = operator.index(i)
        if not -len(self) <= row < len(self):
            raise IndexError(f"there is no halo {row}; there are {len(self)}")
        return row % len(self)

    def report(
        self,
        positions: ArrayLike | Snapshot | None = None,
        *,
        masses: ArrayLike | None = None,
        title: str | None = None,
        max_points: int = 2_000_000,
    ) -> Report:
        """Creates an interactive page: the particles coloured by halo, the catalogue, figures and settings. Notebooks show it.

        The page is that of ``ropewalk halos --report``, in one HTML file without a network. A halo that is clicked shows its members and
        its row; the table can be sorted and filtered.

        Parameters
        ----------
        positions : array of shape (n, 3), or Snapshot, optional
            The particles of the catalogue. Default: `particles`; required if the halos are of an array.

        masses : float or array of shape (n,), optional
            The mass of each particle, for the projected density. Default: those of a snapshot, or equal masses.

        title : str, optional
            The title of the page. Default: "Halos".

        max_points : int, default 2_000_000
            The maximum number of particles in the view. Beyond it a reproducible part is shown, and the page says so.

        Returns
        -------
        Report
            A page with the methods `html` and ``save(path)``.

        Raises
        ------
        ValueError
            If positions are missing, or their number is not that of the labels.

        Examples
        --------
        >>> import ropewalk
        >>> points = ropewalk.sample.mock_halos(20_000, box_size=50, seed=1)
        >>> report = ropewalk.halos(points, box_size=50).report(points)
        >>> report.save("report.html")  # doctest: +SKIP
        """
        return halo_report(self, positions, masses, title, max_points)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """The start of each halo's members in `indices`, shape (n_halos + 1,): halo i has ``indices[offsets[i]:offsets[i + 1]]``."""
        return self._csr()[0]

    @property
    def indices(self) -> Indices:
        """The members of all halos, concatenated; built at its first use, 4 bytes per member (8 from 2**31 particles on)."""
        return self._csr()[1]

    def _csr(self) -> tuple[NDArray[np.int64], Indices]:
        if self._lists is None:
            self._lists = self._halos.lists()
        return self._lists

    @property
    def prefix(self) -> str:
        """The prefix of the names of halo columns: ``fof_halo`` or ``halo``."""
        return "fof_halo" if self.meta["finder"] == "friends of friends" else "halo"

    def _title(self) -> str:
        return f"HaloCatalog of {len(self)} halos by {self.meta['finder']}"
