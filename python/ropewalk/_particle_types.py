"""Particle types: their description in a file, and their names in arguments."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass

from ropewalk import _native


@dataclass(frozen=True)
class Field:
    """A field of particles as stored in a file."""

    name: str
    #: The number type in the file: ``"f32"``, ``"u64"``.
    number: str
    #: The number of values per particle.
    width: int
    #: The unit as named in the file; empty if the file names none.
    unit: str
    #: The field of `Snapshot`: ``"positions"``, ``"velocities"``, ``"masses"`` or ``"ids"``; None if it is not read.
    role: str | None


@dataclass(frozen=True)
class ParticleType:
    """The particles of one type in a file."""

    #: 0 gas, 1 dark matter, 2 and 3 others, 4 stars, 5 black holes, 6 neutrinos; None in formats without types.
    particle_type: int | None
    #: The name of the type in the file.
    name: str
    count: int
    #: The mass of each particle in the file's unit, if all particles of the type have the same.
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
    """Converts one particle type or several to numbers, and checks that they are distinct and from 0 to 6."""
    kinds = [_particle_type(name, kind) for kind in (types if isinstance(types, Iterable) and not isinstance(types, str) else [types])]
    for place, kind in enumerate(kinds):
        if not 0 <= kind <= 6:
            raise ValueError(f"{name} has {kind}; types are numbers from 0 to 6")
        if kind in kinds[:place]:
            raise ValueError(f"{name} has {kind} twice")
    return kinds
