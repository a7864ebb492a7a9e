"""Halo finding with a catalogue, as in the program ``ropewalk halos``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, SupportsFloat, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropewalk import _native, _progress
from ropewalk._adaptahop import AdaptaHOP
from ropewalk._arrays import points, vector
from ropewalk._checks import choice, device_number, integer, is_on_device, optional_real, real, threads
from ropewalk._halo_catalog import HaloCatalog
from ropewalk._hop import HOP
from ropewalk._keywords import named
from ropewalk._particle_types import particle_types
from ropewalk._placement import device_backend
from ropewalk._read_snapshot import read_snapshot
from ropewalk._snapshot import Snapshot
from ropewalk._warnings import warn

if TYPE_CHECKING:
    #: The halos, their catalogue, and the profiles of the largest ones.
    _NativeResult = tuple[_native.Halos, _native.HaloTable, _native.HaloTable | None]

Finder = Literal["fof", "hop", "adaptahop"] | HOP | AdaptaHOP
Center = Literal["mbp", "mbp-brute", "mcp", "com", "shrinking-sphere"]

CENTERS = ("mbp", "mbp-brute", "mcp", "com", "shrinking-sphere")


class _Fields(NamedTuple):
    """The arrays of particle data other than positions, as given by the caller."""

    velocities: ArrayLike | None
    masses: ArrayLike | None
    ids: ArrayLike | None


#: Names of the command line and of other finders, and the parameters that they are here.
_OTHER_NAMES = {
    "so": "overdensities",
    "overdensity": "overdensities",
    "min_so": "min_so_particles",
    "box": "box_size",
    "boxsize": "box_size",
    "b": "linking_length",
    "link": "linking_length",
    "absolute": "eps",
    "nmin": "min_members",
    "min_particles": "min_members",
    "type": "read_snapshot(path, types=..)",
    "types": "read_snapshot(path, types=..)",
    "subsample": "read_snapshot(path, subsample=..)",
    "unbind": "finder=AdaptaHOP(unbind=True)",
    "centers": "center",
    "mass": "masses",
    "particle_mass": "masses",
    "z": "redshift",
    "hubble": "h",
    "threads": "n_jobs",
    "algorithm": "finder",
    "method": "finder",
}


@named(**_OTHER_NAMES)
def halos(
    positions: ArrayLike | Snapshot | str | os.PathLike[str],
    velocities: ArrayLike | None = None,
    masses: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    *,
    attach: int | str | Iterable[int | str] | None = None,
    box_size: float | None = None,
    open: bool = False,
    linking_length: float | None = None,
    eps: float | None = None,
    min_members: int = 20,
    finder: Finder = "fof",
    center: Center | Sequence[Center] | None = None,
    softening: float = 0.0,
    overdensities: str | Iterable[str] = (),
    min_so_particles: int = 20,
    profiles: int = 0,
    density: bool = False,
    redshift: float | None = None,
    omega_m: float | None = None,
    omega_lambda: float | None = None,
    h: float | None = None,
    length_unit: str | None = None,
    mass_unit: str | None = None,
    velocity_unit: str | None = None,
    units: Literal["h", "physical"] | None = None,
    columns: Sequence[str] = (),
    n_jobs: int | None = None,
    device: str | None = None,
    progress: Any = None,
) -> HaloCatalog:
    """Finds and measures the halos of particles, like the program ``ropewalk halos``.

    Parameters
    ----------
    positions : array of shape (n, 3), Snapshot, or path
        Coordinates, all comoving or all physical, ``float32`` or ``float64``; C-contiguous arrays are not copied. A `Snapshot` of
        `read_snapshot` provides velocities, masses, ids, box, units and cosmology. A path is read as ``read_snapshot(path)``.

        If a snapshot was read with `types`, these types are linked. If it was read without and has several types, type 1 (dark matter)
        is linked, as in the program, or all types if there is no type 1. If type 1 is chosen this way, labels and members index
        `HaloCatalog.particles` instead of the given snapshot, and a note and a warning report this.

    velocities : array of shape (n, 3), optional
        Peculiar velocities, required for mean velocities, velocity dispersions, spins, and ``AdaptaHOP(unbind=True)``.

    masses : float or array of shape (n,), optional
        The mass of each particle, or one mass for all, also for a file or a `Snapshot` without masses. Without masses, particles are
        counted instead, and overdensities are not available.

    ids : array of unsigned integers of shape (n,), optional
        The ids of the particles. Default: their indices.

    attach : int or str, or iterable of them, optional
        For a snapshot: particle types whose particles join the halo of their nearest linked particle, if it is within the linking
        length. Default: all types of the file that are not linked. ``()`` or ``"none"`` omits them, which is reported by a note, a
        warning and an entry of `HaloCatalog.meta`.

        The catalogue has the number and mass of each type and of all types. Spheres and profiles are over all types, the structure
        of halos over linked and attached particles. With AdaptaHOP, a particle joins the halo or
        subhalo of its nearest linked particle, and all that contain it; unbinding removes linked particles only.

    box_size : float, optional
        The side of the periodic cube ``[0, box_size]``, in the unit of the positions. Default: the box of the snapshot.

    open : bool
        If `True`, boundaries are open even if a box is known. The mean separation is still computed from the volume of the box.

    linking_length : float
        The maximum distance between linked particles, in mean separations ``(volume / n)^(1/3)``, where the volume is that of the box
        or of the smallest box around the particles. Default: 0.2.

        In zoom runs, the particles and the baryons that join their halos may be less than half of the matter in the volume. The mean
        separation is then that of such particles in the volume that they would fill at the mean density. A note and
        ``meta["share_of_matter"]`` report this. It requires masses, ``omega_m`` and units.

    eps : float, optional
        The linking length in the unit of the positions, instead of `linking_length`.

    min_members : int
        The minimum number of particles of a halo, at least 2.

    finder : {"fof", "hop", "adaptahop"}, HOP or AdaptaHOP
        The halo finder, as a name for default options, or as an object with options:

        - ``"fof"``: friends of friends, by `linking_length` or `eps`.
        - ``"hop"``, or a `HOP` with options, such as ``HOP(delta_outer=160)``: groups around density peaks (Eisenstein and Hut 1998).
          The name is the same as ``HOP(80)``. `halos` uses the thresholds, numbers of neighbours and kernel of the estimator, and does
          not change it. Other parameters of the estimator must have their defaults; give `min_members` and `box_size` to `halos`.
        - ``"adaptahop"``, or an `AdaptaHOP` with options, such as ``AdaptaHOP(unbind=True)``: halos with subhalos (Aubert, Pichon and
          Colombi 2004; Tweed et al. 2009). The members of a subhalo are also members of its host.

    center : str or sequence of str, optional
        The definition of halo centres: ``"mbp"``, the most bound particle, exact; ``"mbp-brute"``, the same by summing over all pairs;
        ``"mcp"``, the most connected particle; ``"com"``, the centre of mass; or ``"shrinking-sphere"``. ``"mcp"`` may follow
        another definition, and then has separate columns.

    softening : float
        The Plummer softening length of potentials, in the unit of the positions.

    overdensities : str or iterable of str
        Overdensities such as ``"200c"``, ``"500c"``, ``"200m"`` and ``"vir"``. The catalogue gets the mass, radius and count of the
        sphere around each centre (default: ``"mbp"``), over all particles, and the structure of each halo. Requires masses, units
        and `omega_m`.

    min_so_particles : int
        The minimum number of particles of a sphere. Smaller spheres have their count, and NaN for other values.

    profiles : int
        The number of largest halos with a density profile out to R200c and an NFW fit: `HaloCatalog.profiles`.

    density : bool
        If `True`, keeps the density of each particle, which HOP and AdaptaHOP compute.

    redshift, omega_m, omega_lambda, h : float, optional
        Cosmology of positions without a snapshot: the redshift, densities today over the critical density, and the Hubble constant in
        100 km/s/Mpc.

    length_unit, mass_unit, velocity_unit : str, optional
        The units of positions, masses and velocities: ``"kpc/h"``, with a prefix ``p`` for physical lengths; ``"1e10 Msun/h"``;
        ``"km/s"``. Unknown units of length and mass are inferred from the mean matter density of the box.

    units : {"h", "physical"}, optional
        The units of the catalogue: comoving Mpc/h, Msun/h and km/s, or physical Mpc, Msun and km/s. Default: the units of the particles.

    columns : sequence of str
        The columns to keep, in this order. Default: all.

    n_jobs : int, optional
        The number of threads. The result does not depend on it.

    device : str, optional
        ``"cpu"``, or ``"cuda"`` (``"cuda:1"``) if this build supports it. On a GPU, centres are ``"mbp"`` or ``"mcp"``.

    progress : bool or callable, optional
        The display of progress, as for `ropewalk.progress`: first of reading the file of a path, then of finding and measuring halos. A
        `Snapshot` reads its file with its own display. Default: a bar in notebooks.

    Returns
    -------
    HaloCatalog

    Raises
    ------
    ValueError
        If a number is not finite, a mass is negative, positions span more than the box, or a required argument is missing. The
        message names it. If `finder` is a `HOP` with a parameter that `halos` does not use.

    TypeError
        If an argument has the wrong type.

    RuntimeError
        If a device is missing or fails.

    Warns
    -----
    RopewalkWarning
        For each of `HaloCatalog.notes`. Notes of a snapshot are reported when it is read.

    Notes
    -----
    Friends of friends: Davis et al. 1985. Centres of mass are computed across the periodic boundary. Sums are 64-bit, so the rows are
    the same for any number of threads. Data of a snapshot are copied only if masses are given for it. Masses and ids in arrays are
    copied, 8 bytes each.

    Examples
    --------
    >>> import numpy as np, ropewalk
    >>> x = np.array([[0.5, 5, 5], [9.75, 5, 5], [3, 3, 3]])
    >>> catalog = ropewalk.halos(x, masses=2.0, box_size=10, eps=1, min_members=2)
    >>> catalog["fof_halo_mass"], catalog["fof_halo_mean_x"]
    (array([4.]), array([0.125]))
    >>> catalog.members(0)
    array([0, 1], dtype=int32)

    Another finder, with options:

    >>> x = ropewalk.sample.mock_halos(20_000, box_size=50, seed=1)
    >>> ropewalk.halos(x, box_size=50, finder=ropewalk.HOP(delta_outer=160)).meta["delta_peak"]
    480.0
    """
    arguments = {
        **_finder(finder),
        "linking_length": 0.2 if linking_length is None else real(linking_length, "linking_length"),
        "eps": optional_real(eps, "eps"),
        "min_members": integer(min_members, "min_members", 2),
        "box_size": optional_real(box_size, "box_size"),
        "open": bool(open),
        "center": _centers(center, device),
        "softening": real(softening, "softening"),
        "overdensities": [overdensities] if isinstance(overdensities, str) else [str(name) for name in overdensities],
        "min_so_particles": integer(min_so_particles, "min_so_particles", 0),
        "profiles": integer(profiles, "profiles", 0),
        "columns": [columns] if isinstance(columns, str) else [str(name) for name in columns],
        "density": bool(density),
        "units": None if units is None else choice(units, "units", ("h", "physical")),
        "device": _device(positions, device),
        "n_jobs": threads(n_jobs),
        "universe": {
            "redshift": optional_real(redshift, "redshift"),
            "omega_m": optional_real(omega_m, "omega_m"),
            "omega_lambda": optional_real(omega_lambda, "omega_lambda"),
            "h": optional_real(h, "h"),
            "length_unit": length_unit,
            "mass_unit": mass_unit,
            "velocity_unit": velocity_unit,
        },
    }
    if linking_length is not None and eps is not None:
        raise ValueError("linking_length and eps are both given; give linking_length in mean separations or eps in the unit of the positions")
    if density and arguments["finder"] == "fof":
        raise ValueError('density is for finder="hop" or "adaptahop"; the finder is "fof"')
    kinds = None if attach is None else particle_types("attach", () if isinstance(attach, str) and attach == "none" else attach)
    fields = _Fields(velocities, masses, ids)
    with _progress.shown_if_given(progress, "halos"):
        if isinstance(positions, str | os.PathLike):
            snapshot = read_snapshot(positions, open=bool(open), n_jobs=n_jobs, progress=progress)
            return _of_file(snapshot, None, fields, kinds, arguments)
        if isinstance(positions, Snapshot):
            return _of_file(positions, positions, fields, kinds, arguments)
        if kinds:
            raise ValueError("attach is for snapshots, which have particle types; the positions are an array")
        catalog = HaloCatalog(*_of_arrays(positions, fields, arguments))
    for note in catalog.notes:
        warn(note)
    return catalog


def _of_file(
    snapshot: Snapshot,
    given: Snapshot | None,
    fields: _Fields,
    attach: list[int] | None,
    arguments: dict[str, Any],
) -> HaloCatalog:
    """Returns the catalogue of a snapshot. `given` is the caller's own `Snapshot`, or None if only a path was given."""
    linked = snapshot._linked()
    catalog = HaloCatalog(*_of_snapshot(linked, fields, attach, arguments), linked)
    catalog.notes = (*_types_notes(linked, given), *catalog.notes)
    for note in catalog.notes:
        warn(note)
    # The snapshot has already warned about its notes when it was read.
    catalog.notes = linked._assumed + catalog.notes
    if linked is not given:
        # Only the catalogue refers to this snapshot, so its arrays are freed. They are read again if needed.
        linked._forget()
    return catalog


def _of_arrays(positions: ArrayLike, fields: _Fields, arguments: dict[str, Any]) -> _NativeResult:
    velocities, masses, ids = fields
    x = points(positions, "positions")
    n = len(x)
    v = None if velocities is None else points(velocities, "velocities")
    if v is not None and v.shape != x.shape:
        raise ValueError(f"velocities has the shape {v.shape}; it must be that of the positions, {x.shape}")
    return _native.halos_of_arrays(x, v, _masses(masses, n), _ids(ids, n), arguments)


def _masses(masses: ArrayLike | None, n: int) -> float | NDArray[np.float64] | None:
    """Returns one mass for all of `n` particles, or the mass of each."""
    if masses is None:
        return None
    if np.ndim(masses) > 0:
        return vector(masses, n, "masses")
    mass = real(cast("SupportsFloat", masses), "masses")
    if not 0 <= mass < np.inf:
        raise ValueError(f"masses is {mass}; it must be finite and not negative")
    return mass


def _of_snapshot(
    snapshot: Snapshot, fields: _Fields, attach: list[int] | None, arguments: dict[str, Any]
) -> _NativeResult:
    takes_masses = "masses" not in snapshot
    for name, value in fields._asdict().items():
        if value is not None and not (name == "masses" and takes_masses):
            why = "a snapshot has its own" if name in snapshot else "positions are a snapshot"
            raise ValueError(f"{name} is given, but {why}; to use others, pass arrays: halos(snapshot.positions, {name}=..)")
    if fields.masses is not None and snapshot._settings["subsample"] is not None:
        raise ValueError("masses: not with subsample, which changes the mass of a particle")
    masses = None if fields.masses is None else _masses(fields.masses, len(snapshot))
    # Conversion to peculiar velocities happens during reading, so that redshift and velocity unit must be given there.
    universe = arguments["universe"]
    z = universe["redshift"]
    if universe["velocity_unit"] is not None or (z is not None and snapshot.redshift not in (None, z)):
        name = "redshift" if universe["velocity_unit"] is None else "velocity_unit"
        raise ValueError(f"{name}: velocities are converted when they are read; specify it when reading: read_snapshot(path, {name}=..)")
    if attach is None:
        attach = snapshot._unread_types()
    if snapshot._settings["single_part"] and arguments["eps"] is None and (arguments["finder"] == "fof" or attach):
        raise ValueError("single_part: the mean separation depends on the particles of all files; give the linking length as eps")
    others = snapshot._others(attach, arguments["n_jobs"], bool(arguments["overdensities"])) if attach else None
    return _native.halos_of_particles(snapshot._whole(arguments["n_jobs"]), masses, others, str(snapshot.path), arguments)


def _device(positions: object, device: str | None) -> int | None:
    """Returns the number of the device that finds the halos, or None for the processor."""
    array = None if isinstance(positions, Snapshot) else positions
    if array is not None and is_on_device(array):
        raise ValueError("positions are on a device; halos accepts only arrays in host memory, also with device='cuda': copy them to the host")
    number = None if device == "cpu" else device_number(device)
    return None if device_backend(array, device) is None else number or 0


def _types_notes(linked: Snapshot, given: Snapshot | None) -> tuple[str, ...]:
    """Returns notes for snapshots without a choice of types: on several linked types, or on linked particles other than the given."""
    kinds = [str(kind.particle_type) for kind in linked.types if kind.particle_type is not None and kind.count > 0]
    if len(kinds) < 2:
        return ()
    names = ", ".join(kinds[:-1]) + " and " + kinds[-1]
    if not linked._settings["types"]:
        return (f"particles of types {names} are linked together; to link one type: read_snapshot(path, types=1)",)
    if given is None or linked is given:
        return ()
    return (
        f"the snapshot has particles of types {names}, and only type 1 is linked: labels and members index the particles of type 1, "
        "catalog.particles, not those of the snapshot; to select only type 1: read_snapshot(path, types=1)",
    )


def _ids(ids: ArrayLike | None, n: int) -> NDArray[np.uint64] | None:
    if ids is None:
        return None
    array = np.asarray(ids)
    if array.shape != (n,):
        raise ValueError(f"ids has the shape {array.shape}; it must have one id for each of {n} particles")
    if array.dtype.kind not in "iu" and n > 0:
        raise ValueError(f"ids has the type {array.dtype}; ids must be integers")
    if array.dtype.kind == "i" and n > 0 and (least := array.min()) < 0:
        raise ValueError(f"ids must not be negative, got {least}")
    return np.ascontiguousarray(array, np.uint64)


def _finder(finder: object) -> dict[str, Any]:
    """Returns the name of a finder, and its options for the compiled part: `None` for those of the other finders."""
    if isinstance(finder, str):
        name = choice(finder, "finder", ("fof", "hop", "adaptahop"))
        finder = HOP(80.0) if name == "hop" else AdaptaHOP() if name == "adaptahop" else None
    elif isinstance(finder, HOP | AdaptaHOP):
        name = "hop" if isinstance(finder, HOP) else "adaptahop"
    else:
        raise TypeError(f"finder is {finder!r}; it must be 'fof', 'hop', 'adaptahop', a HOP or an AdaptaHOP")
    hop = finder._options_of_halos() if isinstance(finder, HOP) else None
    return {"finder": name, "hop": hop, "adaptahop": finder if isinstance(finder, AdaptaHOP) else None}


def _centers(center: str | Sequence[str] | None, device: str | None) -> list[str]:
    names = [] if center is None else [center] if isinstance(center, str) else list(center)
    for place, name in enumerate(names):
        choice(name, "center", CENTERS)
        if place > 0 and name != "mcp":
            raise ValueError(f'center has "{name}" after another; only "mcp" may follow another center')
        if device not in (None, "cpu") and name not in ("mbp", "mcp"):
            raise ValueError(f'center is "{name}"; on the device {device} it must be "mbp" or "mcp"')
    return names
