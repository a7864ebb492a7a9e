"""The options of AdaptaHOP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ropewalk import _checks


@dataclass(frozen=True, kw_only=True)
class AdaptaHOP:
    """Options of AdaptaHOP, which finds halos with their subhalos: ``halos(.., finder=AdaptaHOP(..))``.

    A structure is a set of particles around density peaks, above the density at which it meets a denser structure. Structures that are
    significant form a tree of halos and subhalos. `min_members` of `halos` is the minimum number of particles of a structure.

    Parameters
    ----------
    n_density : int, default 20
        The number of nearest other particles in a density estimate, less than the number of particles.

    n_hop : int, default 20
        The number of nearest other particles among which a hop goes to the densest, and among which boundaries are searched for.

    density_threshold : float, default 80
        The density at the edge of a halo, in units of the mean density. Particles that are not denser have no halo.

    fudge : float, default 4
        The significance of a structure, in standard deviations of its number of particles.

    fudge_epsilon : float, default 0.05
        The minimum root mean square radius of a structure, in mean separations.

    alpha : float, default 1
        The minimum ratio of a structure's peak density to its mean density. Values up to 1 have no effect.

    algorithm : {"exact", "stepped"}, default "exact"
        The construction of the tree of structures: exact, or in density steps, as published.

    selection : {"mass", "density"}, default "mass"
        The part that continues a structure where it splits: the most massive one, or the one with the densest peak. The other parts
        are subhalos.

    unbind : bool, default False
        If `True`, removes unbound particles: those of a subhalo join its parent, those of a halo become ungrouped. Requires
        velocities, masses and units.

    Raises
    ------
    TypeError
        If a numerical option is not a number.

    ValueError
        If a name is unknown, or a number of particles is less than 1. `halos` checks the ranges of the other numbers.

    See Also
    --------
    halos : Finds halos with these options.
    HOP : The options of HOP.

    Notes
    -----
    Sources: Aubert, Pichon and Colombi 2004; Tweed et al. 2009.

    Examples
    --------
    >>> from ropewalk import AdaptaHOP, halos, sample
    >>> x = sample.mock_halos(20_000, box_size=50, seed=1)
    >>> catalog = halos(x, box_size=50, finder=AdaptaHOP(density_threshold=160, selection="density"))
    >>> catalog.meta["density_threshold"], catalog.meta["selection"]
    (160.0, 'density')
    """

    n_density: int = 20
    n_hop: int = 20
    density_threshold: float = 80.0
    fudge: float = 4.0
    fudge_epsilon: float = 0.05
    alpha: float = 1.0
    algorithm: Literal["exact", "stepped"] = "exact"
    selection: Literal["mass", "density"] = "mass"
    unbind: bool = False

    def __post_init__(self) -> None:
        for name in ("n_density", "n_hop"):
            self._set(name, _checks.integer(getattr(self, name), name, 1))
        for name in ("density_threshold", "fudge", "fudge_epsilon", "alpha"):
            self._set(name, _checks.real(getattr(self, name), name))
        _checks.choice(self.algorithm, "algorithm", ("exact", "stepped"))
        _checks.choice(self.selection, "selection", ("mass", "density"))
        self._set("unbind", bool(self.unbind))

    def _set(self, name: str, value: object) -> None:
        # The fields are frozen. The compiled part reads them, so they are plain numbers.
        object.__setattr__(self, name, value)
