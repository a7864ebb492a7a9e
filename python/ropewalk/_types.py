"""Types that the compiled part and the modules around it share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Coordinates and other numbers, in the precision of the caller's array.
Floats = NDArray[np.float32] | NDArray[np.float64]

#: Indices of points: 32 bits where these suffice.
Indices = NDArray[np.int32] | NDArray[np.int64]


@dataclass(frozen=True)
class HdbscanOptions:
    """The options of HDBSCAN. The compiled part reads the fields by name."""

    min_cluster_size: int
    min_samples: int | None
    cluster_selection_epsilon: float
    max_cluster_size: int | None
    alpha: float
    leaf: bool
    allow_single_cluster: bool
    sequential: bool
    box_size: list[float] | None


@dataclass(frozen=True)
class HopOptions:
    """The options of HOP. The compiled part reads the fields by name."""

    delta_outer: float
    delta_saddle: float | None
    delta_peak: float | None
    n_density: int
    n_hop: int
    n_merge: int
    min_members: int
    kernel: str
    unit: str
    volume: float | None
    box_size: list[float] | None


@dataclass(frozen=True)
class InterpolationOptions:
    """The options of interpolation. The compiled part reads the fields by name."""

    method: str
    k: int | None
    radius: float | None
    fallback: str
    box_size: list[float] | None
    degree: int = 2
    weight: str = "wendland2"
    kernel: str = "cubic_spline"
    power: float = 2.0
    radii: NDArray[np.float64] | None = None
    volumes: NDArray[np.float64] | None = None
    normalized: bool = True
    gradients: bool = False
