"""Progress of reading: callbacks, bars of tqdm, and a bar in notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ropewalk._optional import optional

#: Receives the number of bytes that are read, and of those to be read.
Report = Callable[[int, int], object]

#: The number of seconds after which a bar appears in a notebook.
_PATIENCE = 1.0


def check(progress: object) -> None:
    """Raises `TypeError` unless `progress` is None, a bool, or a callable."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise TypeError(f"progress is {progress!r}; it must be True, False, a function of (done, total), or tqdm")


@contextmanager
def reporting(progress: Any, what: str) -> Iterator[Report | None]:
    """Yields a function that receives the progress of reading `what`, or None if nobody is interested.

    `progress` is as documented for `read_snapshot`.
    """
    if progress is True:
        progress = optional("tqdm.auto", "progress=True").tqdm
    if progress is None:
        bar: _NotebookBar | _Tqdm | None = _NotebookBar(what) if _in_notebook() else None
    else:
        bar = _Tqdm(progress, what) if hasattr(progress, "update") else None
    if bar is None:
        yield progress or None
        return
    try:
        yield bar.report
    finally:
        bar.close()


class _Tqdm:
    """A bar of a class with the interface of tqdm, created once the total is known."""

    def __init__(self, kind: Any, what: str) -> None:
        self._kind, self._what = kind, what
        self._bar: Any = None

    def report(self, done: int, total: int) -> None:
        if self._bar is None:
            self._bar = self._kind(total=total, desc=self._what, unit="B", unit_scale=True)
        # The total grows while further columns of the file are found.
        self._bar.total = total
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def _in_notebook() -> bool:
    """Returns `True` in a kernel of Jupyter. Imports nothing."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return type(shell).__name__ == "ZMQInteractiveShell"


class _NotebookBar:
    """A bar in the output of a notebook's cell. It appears after a second and disappears at the end."""

    def __init__(self, what: str) -> None:
        self._what, self._start = what, time.monotonic()
        self._display = optional("IPython.display", "a progress bar")
        self._handle: Any = None

    def report(self, done: int, total: int) -> None:
        if time.monotonic() - self._start < _PATIENCE:
            return
        bar = self._display.ProgressBar(total)
        bar._progress = done
        bar.html_width = "20em"
        if self._handle is None:
            self._handle = self._display.display(bar, display_id=True)
        else:
            self._handle.update(bar)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.update(self._display.HTML(""))
