"""The compiled part. Arrays of points are in C order; nothing here checks more than types."""

import numpy as np
from numpy.typing import NDArray

from ropewalk._arrays import Floats

def set_threads(n_jobs: int | None = None) -> None: ...
def threads() -> int: ...
def dbscan(
    points: Floats,
    eps: float,
    min_samples: int,
    weights: NDArray[np.float64] | None,
    box_size: list[float] | None,
    n_jobs: int | None,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...
