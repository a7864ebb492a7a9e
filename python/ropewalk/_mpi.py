"""Points that processes of MPI share, which talk through a communicator of mpi4py."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from numpy.typing import ArrayLike

from ropewalk import _base, _native
from ropewalk._arrays import Floats
from ropewalk._optional import optional

if TYPE_CHECKING:
    from ropewalk._native import Comm

T = TypeVar("T")

#: The most bytes of a message, for tests; `None` is as many as the compiled part takes.
_message_bytes: int | None = None


def ranks(comm: object) -> Comm:
    """A communicator as the compiled part takes it. What is none is refused here alone: there is no way to tell other ranks."""
    mpi = optional("mpi4py.MPI", "comm")
    if not isinstance(comm, mpi.Intracomm) or comm == mpi.COMM_NULL:
        raise TypeError(f"comm is {comm!r}; it must be an intracommunicator of mpi4py, as mpi4py.MPI.COMM_WORLD")
    if mpi.Query_thread() < mpi.THREAD_SERIALIZED:
        raise RuntimeError("mpi4py has started MPI for one thread alone; leave mpi4py.rc.thread_level at 'multiple'")
    return comm, _message_bytes


def prepared(comm: Comm, prepare: Callable[[], T]) -> T:
    """What this rank makes of its arguments. Where it refuses them, all ranks get to know: collective with what the others call next."""
    try:
        return prepare()
    except Exception as error:
        _native.refuse_across(comm, str(error))
        raise


def points(X: ArrayLike, sample_weight: ArrayLike | None, device: str | None) -> Floats:
    """This rank's points, any number of them."""
    if sample_weight is not None:
        raise ValueError("sample_weight is given with comm; across ranks points have no weights, so leave out one of the two")
    if device not in (None, "cpu"):
        raise ValueError(f"device is {device!r} with comm; across ranks the processor works, so leave out one of the two")
    if _base.is_on_device(X):
        raise ValueError("X lies on a device; across ranks the processor works, so copy X to the host")
    # Names that are no names are refused before ranks talk.
    _base.feature_names(X)
    return _base.sample(X, least=0)
