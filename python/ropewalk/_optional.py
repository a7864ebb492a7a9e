"""Packages that only some functions need."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def optional(name: str, what: str) -> Any:
    """Imports the module `name`, which `what` needs. Raises `ImportError` with an explanation if it is missing."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(f"{what} needs the package {package}: {error}", name=package) from error


def unit(text: str) -> Any:
    """Returns the astropy unit that `text` names. Little h is ``littleh``, as in `astropy.cosmology.units`."""
    units = optional("astropy.units", "a quantity")
    with units.add_enabled_units(optional("astropy.cosmology.units", "a quantity")):
        return units.Unit(text)
