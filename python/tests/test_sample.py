"""Point sets, bit for bit equal to those of the command line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropewalk import sample

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "spec, points",
    [
        ("uniform:n=1000,seed=7,box=2.5", lambda n: sample.uniform(1000, seed=7, box_size=2.5, n_jobs=n)),
        ("lattice:n=10^3,jitter=0.3,seed=1", lambda n: sample.lattice(1000, jitter=0.3, seed=1, n_jobs=n)),
        ("nfw:n=500,concentration=7", lambda n: sample.nfw(500, concentration=7, n_jobs=n)),
        ("halos:n=5000,seed=18446744073709551615", lambda n: sample.mock_halos(5000, seed=2**64 - 1, n_jobs=n)),
        ("halos:n=5000,background=0.1,alpha=2.2,mmin=10,mmax=500,box=0.1", lambda n: sample.mock_halos(
            5000, background=0.1, alpha=2.2, min_mass=10, max_mass=500, box_size=0.1, n_jobs=n)),
    ],
)  # fmt: skip
def test_as_the_command_line(tmp_path: Path, spec: str, points: Any) -> None:
    one, two = points(1), points(2)
    assert one.dtype == np.float32 and one.shape[1] == 3 and one.flags.c_contiguous and one.flags.writeable
    np.testing.assert_array_equal(one, two)
    program = os.environ.get("ROPEWALK_PROGRAM") or str(ROOT / "target" / "release" / "ropewalk")
    if not os.access(program, os.X_OK):
        pytest.skip("the program ropewalk is not built; ROPEWALK_PROGRAM names it")
    subprocess.run([program, "sample", spec, "--out", str(tmp_path / "points.npy")], check=True, capture_output=True)
    np.testing.assert_array_equal(one, np.load(tmp_path / "points.npy"))


def test_seeds_and_none() -> None:
    assert not np.array_equal(sample.uniform(10), sample.uniform(10, seed=1))
    assert sample.uniform(0).shape == (0, 3)
    assert sample.uniform(100, box_size=3).max() > 1


@pytest.mark.parametrize(
    "call, error, match",
    [
        (lambda: sample.uniform(-1), ValueError, "^n is -1"),
        (lambda: sample.uniform(2.5), TypeError, "n is 2.5; it must be a whole number"),  # type: ignore[arg-type]
        (lambda: sample.uniform(10, seed=-1), ValueError, "^seed is -1"),
        (lambda: sample.uniform(10, box_size=float("nan")), ValueError, "box"),
        (lambda: sample.uniform(2**33), ValueError, "8589934592"),
        (lambda: sample.lattice(10), ValueError, "cube"),
        (lambda: sample.lattice(8, jitter=1), ValueError, "jitter"),
        (lambda: sample.nfw(8, concentration=0), ValueError, "concentration"),
        (lambda: sample.mock_halos(100, background=2), ValueError, "background"),
        (lambda: sample.mock_halos(100, min_mass=50, max_mass=20), ValueError, "mass"),
    ],
)
def test_bad_parameters(call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()
