"""Arguments of calls across MPI ranks, which communicate through a communicator of mpi4py."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from numpy.typing import ArrayLike

from ropewalk import _checks, _native
from ropewalk._optional import optional
from ropewalk._types import Floats

if TYPE_CHECKING:
    from ropewalk._native import Comm

T = TypeVar("T")


class Limits(NamedTuple):
    """Limits on messages: bytes per message, bytes gathered on all ranks at once, and ranks that one rank sends to at a time."""

    piece: int
    gathered: int
    partners: int


#: Set by tests; `None` selects the limits of the compiled part.
_limits: Limits | None = None


def ranks(comm: object) -> Comm:
    """Converts a communicator for the compiled part. An invalid one raises on this rank only, as it cannot reach other ranks."""
    mpi = optional("mpi4py.MPI", "comm")
    if not isinstance(comm, mpi.Intracomm) or comm == mpi.COMM_NULL:
        raise TypeError(f"comm is {comm!r}; it must be an intracommunicator of mpi4py, such as mpi4py.MPI.COMM_WORLD")
    if mpi.Query_thread() < mpi.THREAD_SERIALIZED:
        raise RuntimeError("mpi4py has initialized MPI for a single thread; leave mpi4py.rc.thread_level at 'multiple'")
    return comm, _limits


def prepared(comm: Comm, prepare: Callable[[], T]) -> T:
    """Returns ``prepare()``. If it raises, the error is sent to all ranks: collective with the next call of the other ranks."""
    try:
        return prepare()
    except Exception as error:
        _native.refuse_across(comm, _sentence(error))
        raise


def _sentence(error: Exception) -> str:
    """Returns the message of an exception as text that can be sent. It must not fail, since other ranks wait for the message."""
    try:
        text = str(error)
    except Exception:
        text = ""
    return (text or type(error).__name__).encode(errors="backslashreplace").decode()


def points(X: ArrayLike, sample_weight: ArrayLike | None, device: str | None) -> Floats:
    """Checks and converts the points of this rank, possibly none."""
    if sample_weight is not None:
        raise ValueError("sample_weight is not supported with comm")
    if device not in (None, "cpu"):
        raise ValueError(f"device is {device!r}; with comm it must be 'cpu' or None")
    if _checks.is_on_device(X):
        raise ValueError("X is on a device; with comm it must be in host memory")
    return _checks.sample(X, least=0)


def feature_names_digest(X: ArrayLike) -> int:
    """Returns a digest of a data frame's column names in order, with which ranks compare them; 0 if there are no names."""
    found = _checks.feature_names(X)
    if found is None:
        return 0
    return int.from_bytes(hashlib.blake2b(repr([str(name) for name in found]).encode(), digest_size=8).digest(), "little")
