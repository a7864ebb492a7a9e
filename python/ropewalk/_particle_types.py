"""Particle types: what a file has of each, and how callers name them."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass

from ropewalk import _native


@dataclass(frozen=True)
class Field:
    """A field of particles, as a file has it."""

    name: str
    #: What its values are in the file: ``"f32"``, ``"u64"``.
    number: str
    #: Values of a particle.
    width: int
    #: What the file says of its unit; empty if it says nothing.
    unit: str
    #: What `Snapshot` makes of it: ``"positions"``, ``"velocities"``, ``"masses"``, ``"ids"``, or None: it is not read.
    role: str | None


@dataclass(frozen=True)
class ParticleType:
    """The particles of a type in a file."""

    #: 0 gas, 1 dark matter, 2 and 3 others, 4 stars, 5 black holes, 6 neutrinos; None in formats without types.
    particle_type: int | None
    #: What the file calls them.
    name: str
    count: int
    #: Their mass, in the file's unit, if all have one.
    mass: float | None
    fields: tuple[Field, ...]


def _particle_type(name: str, kind: object) -> int:
    if isinstance(kind, str):
        number = _native.particle_type(kind)
        if number is None:
            raise ValueError(f"{name} has {kind!r}; types are numbers from 0 to 6, or 'gas' (0), 'dm' (1), 'stars' (4), 'bh' (5), 'neutrinos' (6)")
        return number
    try:
        return operator.index(kind)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} has {kind!r}; types are numbers from 0 to 6, or names such as 'dm'") from None


def particle_types(name: str, types: int | str | Iterable[int | str]) -> list[int]:
    """One type or several, as numbers."""
    kinds = [_particle_type(name, kind) for kind in (types if isinstance(types, Iterable) and not isinstance(types, str) else [types])]
    for place, kind in enumerate(kinds):
        if not 0 <= kind <= 6:
            raise ValueError(f"{name} has {kind}; types are numbers from 0 to 6")
        if kind in kinds[:place]:
            raise ValueError(f"{name} has {kind} twice")
    return kinds
