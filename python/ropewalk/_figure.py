"""Figures of the program: pictures that notebooks show, and that are saved as PNG, SVG or PDF."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ropewalk._checks import optional_real
from ropewalk._optional import optional

#: A format, by its file extension, and a resolution in pixels per inch.
Style = tuple[str, float | None]

_FORMATS = ("png", "svg", "pdf")
#: The pixels per inch of PNG files.
_DEFAULT_DPI = 153.6


class Figure:
    """A figure, as returned by the functions of `ropewalk.plot`. Notebooks show it.

    The figures are those of the program ``ropewalk``: drawn by the same code, in comoving Mpc/h and Msun/h if units are known and no
    others were requested. Each use draws the figure again from its data, which it keeps.

    Attributes
    ----------
    title : str
        The heading line.

    Examples
    --------
    >>> import ropewalk
    >>> points = ropewalk.sample.mock_halos(2000, seed=1)
    >>> figure = ropewalk.plot.k_distances(points, k=4)
    >>> figure
    Figure('2,000 points; at the knee, 66.6% are core with min_samples = 5')
    >>> figure.svg().startswith("<svg"), figure.png(dpi=72)[1:4]
    (True, b'PNG')
    >>> figure.save("k_distances.pdf")  # doctest: +SKIP
    """

    __slots__ = ("_draw", "_formats", "_is_raster", "title")

    def __init__(
        self, title: str, draw: Callable[[Style], bytes], *, is_raster: bool = False, formats: tuple[str, ...] = _FORMATS
    ) -> None:
        self.title = title
        self._draw = draw
        self._is_raster = is_raster
        self._formats = formats

    def png(self, dpi: float | None = None) -> bytes:
        """Returns the figure as a PNG file.

        Parameters
        ----------
        dpi : float, optional
            The pixels per inch, from 10 to 1200. Default: 153.6.
        """
        return self._encoded("png", dpi)

    def svg(self, dpi: float | None = None) -> str:
        """Returns the figure as an SVG file. Millions of points are a raster image in it.

        Parameters
        ----------
        dpi : float, optional
            The pixels per inch of raster images, from 10 to 1200. Default: 300.
        """
        return self._encoded("svg", dpi).decode()

    def pdf(self, dpi: float | None = None) -> bytes:
        """Returns the figure as a PDF file with an embedded font.

        Parameters
        ----------
        dpi : float, optional
            The pixels per inch of raster images, from 10 to 1200. Default: 300.
        """
        return self._encoded("pdf", dpi)

    def save(self, path: str | os.PathLike[str], *, dpi: float | None = None) -> None:
        """Writes the figure to a file.

        Parameters
        ----------
        path : str or path
            The file: ``.png``, ``.svg`` or ``.pdf``. An existing file is replaced.

        dpi : float, optional
            The pixels per inch, from 10 to 1200.

        Raises
        ------
        ValueError
            If the extension is unknown, or the resolution out of range.
        """
        kind = Path(path).suffix.lower().removeprefix(".")
        if kind not in self._formats:
            raise ValueError(f"{os.fspath(path)}: unknown extension; use {' or '.join(f'.{name}' for name in self._formats)}")
        picture = self._encoded(kind, dpi)
        Path(path).write_bytes(picture)

    def on(self, ax: Any = None, *, dpi: float | None = None) -> Any:
        """Shows the figure on axes of matplotlib, beside other plots.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes, which scale the figure with its text to their size. Default: axes that fill a new matplotlib figure of the
            same width and height as this one.

        dpi : float, optional
            The pixels per inch of the image. Default: 153.6.

        Returns
        -------
        matplotlib.axes.Axes
            The axes, which hold the figure as an image and show no ticks.
        """
        pyplot = optional("matplotlib.pyplot", "Figure.on")
        image = pyplot.imread(io.BytesIO(self.png(dpi)), format="png")
        if ax is None:
            height, width = image.shape[:2]
            per_inch = dpi or _DEFAULT_DPI
            ax = pyplot.figure(figsize=(width / per_inch, height / per_inch), dpi=per_inch).add_axes((0, 0, 1, 1))
        ax.imshow(image)
        ax.set_axis_off()
        return ax

    def _encoded(self, kind: str, dpi: float | None) -> bytes:
        if kind not in self._formats:
            raise ValueError(f"this figure is an image; use {' or '.join(self._formats)}")
        return self._draw((kind, optional_real(dpi, "dpi")))

    def _repr_svg_(self) -> str | None:
        return None if self._is_raster else self.svg()

    def _repr_png_(self) -> bytes | None:
        # A notebook that is stored with both formats would be twice as large.
        return self.png(100.0 if len(self._formats) > 1 else None) if self._is_raster else None

    def __repr__(self) -> str:
        return f"Figure({self.title!r})"
