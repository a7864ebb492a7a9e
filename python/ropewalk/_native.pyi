"""The compiled part. Arrays of points are in C order; nothing here checks more than types."""

import numpy as np
from numpy.typing import NDArray

from ropewalk._arrays import Floats
from ropewalk._hdbscan import HdbscanOptions
from ropewalk._hop import HopOptions

def set_threads(n_jobs: int | None = None) -> None: ...
def threads() -> int: ...
def dbscan(
    points: Floats,
    eps: float,
    min_samples: int,
    weights: NDArray[np.float64] | None,
    box_size: list[float] | None,
    n_jobs: int | None,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
def dbscan_predict(
    core: Floats,
    labels: NDArray[np.int32],
    eps: float,
    new: Floats,
    box_size: list[float] | None,
    n_jobs: int | None,
) -> NDArray[np.int32]: ...
def friends_of_friends(
    points: Floats,
    linking_length: float,
    min_members: int,
    box_size: list[float] | None,
    n_jobs: int | None,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint32]]: ...
def hop(
    points: Floats,
    masses: NDArray[np.float64] | None,
    options: HopOptions,
    n_jobs: int | None,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]: ...
def hdbscan(points: Floats, options: HdbscanOptions, n_jobs: int | None) -> Clusters: ...
def hdbscan_of_tree(
    edges: NDArray[np.uint32],
    squared_weights: NDArray[np.float64],
    options: HdbscanOptions,
    n_jobs: int | None,
) -> Clusters: ...

class Clusters:
    def labels(self) -> NDArray[np.int32]: ...
    def probabilities(self) -> NDArray[np.float64]: ...
    def persistence(self) -> NDArray[np.float64]: ...
    def outlier_scores(self, n_jobs: int | None) -> NDArray[np.float64]: ...
    def edges(self) -> tuple[NDArray[np.uint32], NDArray[np.float64]]: ...
    def linkage(self, n_jobs: int | None) -> NDArray[np.float64]: ...
    def condensed(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]: ...
    def dbscan_labels(self, eps: float, min_cluster_size: int, n_jobs: int | None) -> NDArray[np.int32]: ...
    def predict(self, points: Floats, new: Floats, n_jobs: int | None) -> tuple[NDArray[np.int32], NDArray[np.float64]]: ...
