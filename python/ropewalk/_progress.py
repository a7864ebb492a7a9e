"""Progress of readers and computations: callbacks, bars of tqdm, and a bar in notebooks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from ropewalk._optional import optional

#: Receives the number of bytes that are read, and of those to be read.
Report = Callable[[int, int], object]

#: The number of seconds after which a bar appears in a notebook.
_PATIENCE = 1.0


class _Display(NamedTuple):
    """The display that `progress` asks for, and the name of what is computed."""

    kind: Any
    what: str


#: The display of calls in this context; None outside of `progress`.
_DISPLAY: ContextVar[_Display | None] = ContextVar("display", default=None)


@contextmanager
def progress(display: Any = True, *, desc: str = "ropewalk") -> Iterator[None]:
    """Shows the progress of the calls within a `with` statement.

    Parameters
    ----------
    display : bool or callable, default True
        `True` shows a bar of tqdm, and `False` nothing. A class with tqdm's interface, such as ``tqdm``, is called as
        ``display(total=.., desc=..)`` in each call that takes longer than 0.05 s. Any other callable is called as
        ``display(done, total)`` on the calling thread: about 20 times per second, and at the end of a call of more than 0.05 s. An
        exception ends the call.

    desc : str, default "ropewalk"
        The name before the bar.

    Returns
    -------
    context manager

    Raises
    ------
    TypeError
        If `display` is neither a bool nor callable.

    ImportError
        If `display` is `True`, and tqdm is not installed.

    See Also
    --------
    read_snapshot, halos : Have a parameter `progress`.

    Notes
    -----
    A computation consists of steps, whose number is not known in advance. The bar restarts with each step, and `done` and `total` are
    tasks of the current step; while a file is read, they are bytes. Without this function, a bar appears in notebooks for calls that
    take longer than a second. Calls on a GPU show no progress. Of MPI ranks each shows its own. The setting applies to the calling
    thread.

    Examples
    --------
    >>> import ropewalk
    >>> points = ropewalk.sample.uniform(100_000, seed=1)
    >>> shares = []
    >>> with ropewalk.progress(lambda done, total: shares.append(done / total)):
    ...     labels = ropewalk.DBSCAN(eps=0.02).fit_predict(points)
    >>> all(0 <= share <= 1 for share in shares)
    True
    """
    check(display)
    with _shown(display, desc):
        yield


@contextmanager
def shown_if_given(progress: Any, what: str) -> Iterator[None]:
    """Shows the calls within the statement as `progress` does. With None it changes nothing."""
    check(progress)
    if progress is None:
        yield
        return
    with _shown(progress, what):
        yield


@contextmanager
def _shown(display: Any, what: str) -> Iterator[None]:
    token = _DISPLAY.set(_Display(_tqdm() if display is True else display, what))
    try:
        yield
    finally:
        _DISPLAY.reset(token)


def check(progress: object) -> None:
    """Raises `TypeError` unless `progress` is None, a bool, or a callable."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise TypeError(f"progress is {progress!r}; it must be True, False, a function of (done, total), or tqdm")


def _tqdm() -> Any:
    return optional("tqdm.auto", "progress=True").tqdm


@contextmanager
def reporting(progress: Any, what: str) -> Iterator[Report | None]:
    """Yields a function that receives the progress of reading `what`, or None if nobody is interested.

    `progress` is as documented for `read_snapshot`.
    """
    if progress is None and (display := _DISPLAY.get()) is not None:
        progress = display.kind
    bar = _bar(progress, what)
    if bar is None:
        yield progress or None
        return
    try:
        yield bar.report
    finally:
        bar.close()


def of_call() -> _Steps | None:
    """Returns the display of a computation that begins in this context, or None if nobody is interested."""
    kind, what = _DISPLAY.get() or _Display(None, "ropewalk")
    bar = _bar(kind, what)
    if bar is not None:
        return _Steps(bar.report, bar)
    return _Steps(kind, None) if kind else None


def _bar(progress: Any, what: str) -> _Tqdm | _NotebookBar | None:
    """Returns a bar, or None if a function or nothing shows the progress."""
    if progress is None:
        return _NotebookBar(what) if _in_notebook() else None
    if progress is True:
        progress = _tqdm()
    return _Tqdm(progress, what) if hasattr(progress, "update") else None


class _Steps:
    """The steps of a computation. The compiled part calls `report` while it runs, and `close` at its end."""

    def __init__(self, display: Report, bar: _Tqdm | _NotebookBar | None) -> None:
        self._display, self._bar = display, bar

    def report(self, number: int, done: int, total: int) -> None:
        """Shows the number of the step, and the numbers of its tasks that are done and in all."""
        if self._bar is not None:
            self._bar.begin(number)
        self._display(done, total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class _Tqdm:
    """A bar of a class with the interface of tqdm, created once the total is known."""

    def __init__(self, kind: Any, what: str) -> None:
        self._kind, self._what = kind, what
        self._step = 0
        self._bar: Any = None

    def begin(self, step: int) -> None:
        """Removes the bar of an earlier step."""
        if step != self._step:
            self.close()
            self._step, self._bar = step, None

    def report(self, done: int, total: int) -> None:
        if self._bar is None:
            # Bars of steps follow each other too fast to be kept.
            bytes_ = {"desc": self._what, "unit": "B", "unit_scale": True}
            tasks = {"desc": f"{self._what}, step {self._step}", "leave": False}
            self._bar = self._kind(total=total, **(tasks if self._step else bytes_))
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

    def begin(self, step: int) -> None:
        """Begins a step, which the same bar shows."""

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
