"""Interactive reports of halo catalogues, as pages for browsers and notebooks."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ropewalk import _native, plot
from ropewalk._arrays import points as points_of
from ropewalk._checks import integer
from ropewalk._figure import Figure
from ropewalk._snapshot import Snapshot

if TYPE_CHECKING:
    from ropewalk._halo_catalog import HaloCatalog

#: The height of a report in a notebook, in pixels.
_HEIGHT = 800


class Report:
    """An interactive page, as returned by `HaloCatalog.report`. Notebooks show it.

    The page is one HTML file that needs neither a network nor other files.

    Attributes
    ----------
    title : str
        The title of the page.

    Examples
    --------
    >>> import ropewalk
    >>> points = ropewalk.sample.mock_halos(20_000, box_size=50, seed=1)
    >>> report = ropewalk.halos(points, box_size=50).report(points, title="Mock halos")
    >>> report.html()[:15]
    '<!doctype html>'
    >>> report.save("report.html")  # doctest: +SKIP
    """

    __slots__ = ("_page", "title")

    def __init__(self, title: str, page: bytes) -> None:
        self.title = title
        self._page = page

    def html(self) -> str:
        """Returns the page."""
        return self._page.decode()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file. An existing file is replaced.

        Parameters
        ----------
        path : str or path
            The file, such as ``report.html``.
        """
        Path(path).write_bytes(self._page)

    def _repr_html_(self) -> str:
        # A frame of its own, so that the styles of page and notebook do not mix.
        page = escape(self.html(), quote=True)
        return f'<iframe title="{escape(self.title)}" style="width: 100%; height: {_HEIGHT}px; border: 0" srcdoc="{page}"></iframe>'

    def __repr__(self) -> str:
        return f"Report({self.title!r}, {len(self._page):,} bytes)"


def halo_report(
    catalog: HaloCatalog, positions: ArrayLike | Snapshot | None, masses: ArrayLike | None, title: str | None, max_points: int
) -> Report:
    """Returns the report of a catalogue; see `HaloCatalog.report`."""
    if positions is None:
        positions = catalog.particles
        if positions is None:
            raise ValueError("the catalogue is of an array; pass the array: catalog.report(positions)")
    most = integer(max_points, "max_points", least=1)
    projection = plot.projection(positions, catalog, masses=masses)
    heading = "Halos" if title is None else title
    page = {
        "title": heading,
        "subtitle": projection.title,
        "figures": _figures(catalog, projection),
        "settings": [(name.replace("_", " "), _text(value)) for name, value in catalog.meta.items() if name != "notes"],
        "max_points": most,
    }
    x = points_of(positions.positions if isinstance(positions, Snapshot) else positions, "positions")
    return Report(heading, _native.halo_report(catalog._halos, catalog._native, x, page))


def _figures(catalog: HaloCatalog, projection: Figure) -> list[tuple[str, bytes]]:
    """Draws the figures of a report; returns their captions and files."""
    found = [("Projected density and halos", projection.png())]
    if len(catalog) > 0:
        found.append(("Mass function", plot.mass_function(catalog).svg().encode()))
    if catalog.profiles is not None and len(catalog.profiles) > 0 and f"{catalog.prefix}_tag" in catalog:
        found.append(("Density profiles of the largest halos", plot.profiles(catalog).svg().encode()))
    if "AdaptaHOP" in str(catalog.meta["finder"]) and len(catalog) > 0:
        found.append(("Subhalos of the largest halo", plot.subhalos(catalog).svg().encode()))
    return found


def _text(value: Any) -> str:
    """Returns metadata as text."""
    if isinstance(value, list):
        return "; ".join(map(str, value))
    return f"{value:.10g}" if isinstance(value, (float, np.floating)) else str(value)
