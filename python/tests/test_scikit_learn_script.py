"""A script for scikit-learn runs after its imports are changed, with the same results."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.3")
pytest.importorskip("pandas")

SCRIPT = Path(__file__).with_name("scikit_learn_script.py")
#: The lines that change.
IMPORTS = {
    "from sklearn.cluster import DBSCAN, HDBSCAN, dbscan\n": "from ropewalk import DBSCAN, HDBSCAN, dbscan\n",
    "from sklearn.neighbors import NearestNeighbors\n": "from ropewalk import NearestNeighbors\n",
}


def run(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    space: dict[str, Any] = {"__name__": "script"}
    with warnings.catch_warnings():
        # scikit-learn's own: a future change of a default, and graphs of several components, as the script wants them.
        warnings.simplefilter("ignore", FutureWarning)
        warnings.filterwarnings("ignore", "the number of connected components|Graph is not fully connected")
        exec(compile(text, str(SCRIPT), "exec"), space)
    return space["results"], space["clusterings"]


@pytest.fixture(scope="module")
def both() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    theirs = SCRIPT.read_text()
    ours = theirs
    for line, other in IMPORTS.items():
        assert ours.count(line) == 1
        ours = ours.replace(line, other)
    assert len(theirs.splitlines()) >= 300
    return [run(ours), run(theirs)]


def test_results_are_equal(both: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    (ours, _), (theirs, _) = both
    assert list(ours) == list(theirs) and len(theirs) > 90
    for name, expected in theirs.items():
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(ours[name], expected, rtol=1e-12, atol=1e-12, err_msg=name)
        elif name == "parameters: unknown":
            # The text of an estimator has other parameters that differ from their defaults.
            assert re.match("Invalid parameter 'epsilon' for estimator DBSCAN", str(ours[name]))
        else:
            np.testing.assert_array_equal(ours[name], expected, err_msg=name)


def test_clusterings_agree(both: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    from sklearn.metrics import adjusted_rand_score

    (_, ours), (_, theirs) = both
    assert list(ours) == list(theirs)
    for name, expected in theirs.items():
        assert set(ours[name]) == set(expected), name
        assert adjusted_rand_score(expected, ours[name]) > 0.97, name
